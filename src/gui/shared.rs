//! State that several features read and change: the recipe of the next picture, the jobs, the
//! models in memory, the screen.
//!
//! Plain data. What one feature alone changes is in that feature's `state`. Not here: files,
//! threads, the engine, drawing.

use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::gui::create::progress::Progress;
use crate::gui::devices::board::Remedy;
pub use crate::gui::history::History;
pub use crate::gui::screen::Screen;
use crate::gui::side_panel::SidePanel;
use crate::settings::{ThemeChoice, Zoom};
use atelier_core::advice::Advice;
use atelier_core::recipe::{CacheMode, FamilySetting, FileRole, ImageSource, ModelFiles, Person, Recipe, Seed};
use atelier_engine::{JobId, Residency, Resident};
use atelier_gallery::queue::{JobState, PauseMode};
use atelier_language::{Language, choose_language, tr};
use atelier_library::{CardFile, Defaults, Example, Family, ModelCard, ModelKind, Role};
use atelier_studio::library_service::LibrarySnapshot;
use atelier_studio::next_recipe::NextRecipe;
use atelier_studio::queue::QueueSnapshot;

/// Seeds that are drawn stay short enough to be read out.
const SEEDS: std::ops::Range<u64> = 0..1_000_000_000;

/// A seed that is drawn.
pub(crate) fn random_seed() -> Seed {
    Seed(rand::random_range(SEEDS))
}

/// State that several features read and change.
pub struct Shared {
    /// The view that is shown.
    pub screen: Screen,
    /// The recipe of the next picture.
    pub next: NextRecipe,
    /// As many pictures are made at once as are quick, whatever the recipe says.
    pub counts_automatically: bool,
    /// How many pictures are quick, as predicted.
    pub quick_count: u32,
    /// Changes of these settings, to be undone.
    pub history: History,
    /// The library, among whose models a picture finds its own.
    pub library: Arc<LibrarySnapshot>,
    /// Files whose role could not be guessed; the person is asked.
    pub unplaced: Vec<PathBuf>,
    /// Files in use that are not where they were.
    pub missing_files: BTreeSet<PathBuf>,
    /// Jobs of this person that the engine has.
    pub jobs: Jobs,
    /// Those of people who ask over the network: only the queue shows them.
    pub jobs_of_others: Jobs,
    pub queue: Arc<QueueSnapshot>,
    /// The models in memory.
    pub residency: Residency,
    /// Files of a model that looks at no reference pictures, as the engine has found.
    pub without_references: Option<ModelFiles>,
    /// The last error, until it is dismissed.
    pub error: Option<ErrorCard>,
    /// True while a file dialog is open.
    pub dialog_open: bool,
    /// Light, dark, or as the system has it.
    pub theme: ThemeChoice,
    pub language: LanguageChoice,
    /// Size of everything in the window.
    pub zoom: Zoom,
    /// What a person wants of the panel on the left.
    pub(crate) side_panel: SidePanel,
}

impl Shared {
    /// Cards of this kind that have a file on this disk, with the first of them.
    pub fn cards_with_file(&self, kind: ModelKind) -> impl Iterator<Item = (&ModelCard, &Path)> {
        let cards = self.library.cards.iter().filter(move |card| card.kind == kind);
        cards.filter_map(|card| Some((card, card.files.iter().find_map(|file| file.path.as_deref())?)))
    }

    /// How many pictures are made at once.
    #[must_use]
    pub const fn picture_count(&self) -> u32 {
        // How quick another studio is, is not known.
        let quick_count = if self.next.studio.is_some() { 1 } else { self.quick_count };
        if self.counts_automatically { quick_count } else { self.next.recipe.batch_count }
    }

    /// True where the engine has jobs, of this person or of others.
    #[must_use]
    pub fn has_jobs_of_anybody(&self) -> bool {
        !self.jobs.is_empty() || !self.jobs_of_others.is_empty()
    }

    /// Whether left and right, top and bottom of the next picture continue each other.
    #[must_use]
    pub const fn seamless(&self) -> [bool; 2] {
        [self.next.recipe.seamless_x, self.next.recipe.seamless_y]
    }

    /// The settings that suit the chosen model, all others as usual.
    #[must_use]
    pub fn usual_recipe(&self) -> Recipe {
        let mut usual = Recipe::default();
        if self.next.studio.is_some() {
            self.next.studio_defaults.apply(&mut usual);
        } else if let Some(defaults) = self.model_defaults() {
            defaults.apply(&mut usual);
        }
        usual
    }

    /// True where the settings that suit the chosen model are known.
    #[must_use]
    pub fn knows_usual_recipe(&self) -> bool {
        if self.next.studio.is_some() { !self.next.studio_defaults.is_empty() } else { self.model_defaults().is_some() }
    }

    /// Number of jobs that wait for their turn.
    #[must_use]
    pub fn waiting_count(&self) -> usize {
        self.queue.waiting().filter(|row| row.job.state != JobState::Held).count()
    }

    /// True where jobs wait, and none of them begins before the queue is resumed.
    #[must_use]
    pub fn is_queue_standing(&self) -> bool {
        self.queue.pause != PauseMode::No && self.jobs.is_empty() && self.waiting_count() > 0
    }

    /// Width and height in pixels that suit the chosen model.
    #[must_use]
    pub fn usual_size(&self) -> (u32, u32) {
        let usual = self.usual_recipe();
        (usual.width, usual.height)
    }

    /// Settings that suit the recipe's own model, where they are known.
    fn model_defaults(&self) -> Option<&Defaults> {
        let recipe = &self.next.recipe;
        let builtin = self.next.builtin.as_ref().ok().filter(|builtin| builtin.is_in(recipe));
        let of_card = || self.library.cards.iter().filter_map(|card| card.runnable.as_ref()).find(|it| it.files == recipe.files);
        builtin.map(|builtin| &builtin.manifest().defaults).or_else(|| Some(&of_card()?.defaults))
    }

    /// Family of the chosen model, where the library knows it.
    #[must_use]
    pub fn model_family(&self) -> Option<&str> {
        self.model_card()?.family.as_deref()
    }

    /// What the chosen model is good at, as far as that is known; of another studio's nothing is.
    #[must_use]
    pub fn examples(&self) -> &[Example] {
        if self.next.studio.is_some() {
            return &[];
        }
        if let Some(builtin) = self.next.builtin.as_ref().ok().filter(|builtin| builtin.is_in(&self.next.recipe)) {
            return &builtin.manifest().examples;
        }
        self.model_card().map_or(&[], |card| card.examples.as_slice())
    }

    /// The names that the chosen model may have in another studio, the surest first.
    #[must_use]
    pub fn model_names(&self) -> Vec<String> {
        if let Some(chosen) = &self.next.studio {
            return vec![chosen.model.clone()];
        }
        let files = &self.next.recipe.files;
        let card = self.model_card().map(|card| card.name.clone());
        card.into_iter().chain((!files.is_empty()).then(|| self.next.model_name(files))).collect()
    }

    /// The library's card of the chosen model.
    fn model_card(&self) -> Option<&ModelCard> {
        let main = self.next.recipe.files.main()?;
        self.library.cards.iter().find(|card| card.main_file.as_deref() == Some(main))
    }

    /// True unless it is known that the chosen model has no use for a setting.
    #[must_use]
    pub fn uses(&self, setting: FamilySetting) -> bool {
        self.known_family().is_none_or(|family| family.uses(setting, true))
    }

    /// True where it is known that the chosen model uses a setting.
    #[must_use]
    pub fn is_known_to_use(&self, setting: FamilySetting) -> bool {
        self.known_family().is_some_and(|family| family.uses(setting, true))
    }

    /// True unless it is known that a step cache of this kind does not work with the chosen model.
    #[must_use]
    pub fn uses_cache(&self, mode: CacheMode) -> bool {
        self.known_family().is_none_or(|family| family.uses_cache(mode))
    }

    /// Family of the chosen model, where the library knows it and the engine has it.
    pub(crate) fn known_family(&self) -> Option<Family> {
        self.model_family().and_then(Family::from_label)
    }

    /// True where `AND` may join prompts: on the chosen model, or as long as its family is not known.
    pub(crate) fn may_join_prompts(&self) -> bool {
        self.known_family().is_none_or(Family::joins_prompts)
    }

    /// `Ok` unless it is known that the chosen model looks at no reference pictures.
    ///
    /// # Errors
    /// The sentence for a person.
    pub fn takes_references(&self) -> Result<(), &'static str> {
        let ignores = self.without_references.as_ref() == Some(&self.next.recipe.files);
        if ignores { Err(tr!("window-this-model-does-not")) } else { Ok(()) }
    }

    /// The `PhotoMaker`s of the library that are on this disk.
    pub fn photomakers(&self) -> impl Iterator<Item = &Path> {
        let files = self.library.cards.iter().flat_map(|card| &card.files);
        files.filter(|file| file.role == Role::Part(FileRole::Photomaker)).filter_map(|file| file.path.as_deref())
    }

    /// False where it is known that the chosen `PhotoMaker` reads no features of faces: the first
    /// version does not.
    #[must_use]
    pub fn may_read_faces(&self) -> bool {
        let Some(chosen) = self.next.recipe.files.get(FileRole::Photomaker) else { return true };
        let mut files = self.library.cards.iter().flat_map(|card| &card.files);
        files.find(|file| file.path.as_deref() == Some(chosen)).is_none_or(CardFile::may_read_faces)
    }

    /// `Ok` where the chosen model can bring a person into the picture.
    ///
    /// # Errors
    /// The sentence for a person.
    pub fn takes_person(&self) -> Result<(), &'static str> {
        if self.next.recipe.has_photomaker() {
            return Ok(());
        }
        if self.model_family() != Some(Family::Sdxl.label()) {
            return Err(tr!("window-photomaker-works-only-with"));
        }
        self.photomakers().next().map(drop).ok_or(tr!("window-pictures-of-a-person"))
    }

    /// Adds pictures of the person, as far as there is room, and the library's `PhotoMaker` where
    /// the model has none.
    pub fn add_person_pictures(&mut self, images: impl IntoIterator<Item = ImageSource>) {
        let found = self.photomakers().next().map(Path::to_owned).filter(|_| !self.next.recipe.has_photomaker());
        if let Some(path) = found {
            self.next.recipe.files.set(FileRole::Photomaker, path);
        }
        let pictures = &mut self.next.recipe.person.images;
        pictures.extend(images);
        pictures.truncate(Person::MAX_IMAGES);
    }

    /// Removes a picture of the person, and after the last one a `PhotoMaker` that the library has
    /// at hand.
    pub fn remove_person_picture(&mut self, index: usize) {
        let pictures = &mut self.next.recipe.person.images;
        if index < pictures.len() {
            pictures.remove(index);
        }
        let is_at_hand = self.next.recipe.files.get(FileRole::Photomaker).is_some_and(|path| self.photomakers().any(|it| it == path));
        if self.next.recipe.person.is_empty() && is_at_hand {
            self.next.recipe.files.remove(FileRole::Photomaker);
        }
    }

    /// The error card, where it belongs to the view that is shown.
    #[must_use]
    pub fn error_here(&self) -> Option<&ErrorCard> {
        self.error.as_ref().filter(|card| card.screen == self.screen)
    }

    /// The error card that is not shown, since it belongs to another view.
    #[must_use]
    pub fn error_elsewhere(&self) -> Option<&ErrorCard> {
        self.error.as_ref().filter(|card| card.screen != self.screen)
    }

    /// The view that errors of making pictures belong to: they are asked for in two.
    #[must_use]
    pub const fn screen_of_making(&self) -> Screen {
        match self.screen {
            Screen::Devices => Screen::Devices,
            Screen::Create | Screen::Models | Screen::Gallery => Screen::Create,
        }
    }

    /// The model of the next picture, where it is in memory.
    #[must_use]
    pub fn chosen_resident(&self) -> Option<&Resident> {
        self.residency.models.iter().find(|model| self.next.is_chosen(&model.files))
    }
}

/// A job that the engine has.
pub struct EngineJob {
    pub id: JobId,
    pub recipe: Recipe,
    /// True once the engine has begun it.
    pub begun: bool,
    /// True once it is cancelled; it ends at the next step.
    pub stopping: bool,
    pub progress: Progress,
}

/// Jobs that the engine has, in the order in which they were submitted.
#[derive(Default)]
pub struct Jobs(VecDeque<EngineJob>);

impl Jobs {
    /// A job was submitted.
    pub fn push(&mut self, id: JobId, recipe: Recipe) {
        self.0.push_back(EngineJob { id, recipe, begun: false, stopping: false, progress: Progress::default() });
    }

    /// The job with this number.
    pub fn get_mut(&mut self, id: JobId) -> Option<&mut EngineJob> {
        self.0.iter_mut().find(|job| job.id == id)
    }

    /// The job is over.
    pub fn remove(&mut self, id: JobId) -> Option<EngineJob> {
        let at = self.0.iter().position(|job| job.id == id)?;
        self.0.remove(at)
    }

    /// The job whose picture is shown while it forms: the first that the engine is at, also in the
    /// moment before it says so.
    #[must_use]
    pub fn running(&self) -> Option<&EngineJob> {
        self.at_work().next()
    }

    /// The jobs that the engine is at, each on devices of its own.
    pub fn at_work(&self) -> impl Iterator<Item = &EngineJob> {
        self.0.iter().enumerate().filter(|(n, job)| self.is_at_work(*n, job)).map(|(_, job)| job)
    }

    /// The first one is also in the moment before the engine says so.
    fn is_at_work(&self, at: usize, job: &EngineJob) -> bool {
        job.begun || (at == 0 && !self.0.iter().any(|job| job.begun))
    }

    /// Every job, in the order in which they were asked for.
    pub fn iter(&self) -> impl Iterator<Item = &EngineJob> {
        self.0.iter()
    }

    /// True without running or waiting jobs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// An error as it is shown: over the lower edge of its view, until it is dismissed.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorCard {
    /// The view that it belongs to; the tab of that view announces it in all others.
    pub screen: Screen,
    /// The error and what to do about it.
    pub advice: Advice,
    /// The engine's last log lines, for somebody who can help.
    pub details: Vec<String>,
    /// Changes of the placement that would help, with a button each.
    pub remedies: Vec<Remedy>,
    /// The recipe that failed, with the seed that it had.
    pub failed: Option<Box<Recipe>>,
}

impl ErrorCard {
    /// A card of Create without details.
    #[must_use]
    pub fn new(sentence: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::of(Advice::new(sentence, hint))
    }

    /// A card of Create with this advice, without details.
    #[must_use]
    pub fn of(advice: Advice) -> Self {
        Self { screen: Screen::Create, advice, details: Vec::new(), remedies: Vec::new(), failed: None }
    }

    /// The card, belonging to this view.
    #[must_use]
    pub fn at(self, screen: Screen) -> Self {
        Self { screen, ..self }
    }

    /// All of it as text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!("{}\n{}\n", self.advice.sentence, self.advice.hint);
        for line in &self.details {
            text.push_str(line);
            text.push('\n');
        }
        text
    }
}

/// The language of the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LanguageChoice {
    /// What this person chose; `None` follows the system.
    pub chosen: Option<Language>,
    /// The language of the system, where Atelier speaks it.
    pub system: Option<Language>,
}

impl LanguageChoice {
    /// Says all from now on in it.
    pub(crate) fn apply(self) {
        choose_language(self.chosen.or(self.system).unwrap_or_default());
    }
}

/// State of closing the window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Closing {
    #[default]
    No,
    /// The person is asked whether to stop the forming picture.
    Confirming,
    /// What was painted and set is written; not later than this, in seconds of `egui`'s clock, the
    /// person is told what is not.
    Saving {
        until_secs: f64,
        /// The system asked the program to end, not a person.
        is_ending: bool,
    },
    /// The person is asked whether to close although something could not be written.
    Unsaved {
        /// When it closes without an answer, in seconds of `egui`'s clock: the system asked the
        /// program to end.
        until_secs: Option<f64>,
    },
    /// Jobs end and files are written; not later than this, in seconds of `egui`'s clock, the
    /// window closes.
    Stopping {
        /// When it closes whatever happens.
        until_secs: f64,
    },
    /// Nothing holds the window any more.
    Now,
}
