//! State that several features read and change: the recipe of the next picture, the jobs, the models in memory, the screen.
//!
//! Plain data. What one feature alone changes is in that feature's `state`. Not here: files, threads, the engine, drawing.

use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::gui::create::progress::Progress;
use crate::gui::devices::board::Remedy;
pub use crate::gui::history::History;
pub use crate::gui::screen::Screen;
use crate::settings::{ThemeChoice, Zoom};
use crate::studio::library_service::LibrarySnapshot;
use crate::studio::queue::QueueSnapshot;
use atelier_core::advice::Advice;
use atelier_core::recipe::{FileRole, ImageSource, Lora, ModelFiles, PartialRecipe, Person, RecallPart, Recipe, take_loras, take_loras_if};
use atelier_engine::{JobId, Residency, Resident};
use atelier_library::{Builtin, Family, ModelCard, ModelKind, Role, lora_named};

/// Seeds that are drawn stay short enough to be read out.
const SEEDS: std::ops::Range<i64> = 0..1_000_000_000;

/// A seed that is drawn.
pub(crate) fn random_seed() -> i64 {
    rand::random_range(SEEDS)
}

/// Models whose settings are remembered while the window is open.
const MAX_RECIPES: usize = 32;

/// State that several features read and change.
pub struct Shared {
    /// The view that is shown.
    pub screen: Screen,
    /// The settings of the next picture.
    pub recipe: Recipe,
    /// Changes of these settings, to be undone.
    pub history: History,
    /// The model that comes with the program; where it cannot be used, a sentence that says why.
    pub builtin: Result<Arc<Builtin>, String>,
    /// The recipe as it was with the person's own files, while the built-in model is used.
    pub custom_recipe: Option<Box<Recipe>>,
    /// The last recipe of each model that was used.
    pub recent_recipes: RecentRecipes,
    /// The LoRAs of the library, by which a prompt can name them.
    pub lora_files: Vec<PathBuf>,
    /// The library, among whose models a picture finds its own.
    pub library: Arc<LibrarySnapshot>,
    /// Files whose role could not be guessed; the person is asked.
    pub unplaced: Vec<PathBuf>,
    /// Files in use that are not where they were.
    pub missing_files: BTreeSet<PathBuf>,
    /// Jobs that the engine has.
    pub jobs: Jobs,
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
    /// Size of everything in the window.
    pub zoom: Zoom,
}

impl Shared {
    /// True if the recipe has the built-in model.
    #[must_use]
    pub fn uses_builtin(&self) -> bool {
        self.builtin.as_ref().is_ok_and(|builtin| builtin.is_in(&self.recipe))
    }

    /// `Ok` if a picture can be made.
    ///
    /// # Errors
    /// The first requirement that is not met.
    pub fn ready(&self) -> Result<(), UnmetRequirement> {
        use FileRole::{ClipG, ClipL, Diffusion, Llm, Model, T5xxl};
        let files = &self.recipe.files;
        if files.get(Model).is_none() && files.get(Diffusion).is_none() {
            return Err(UnmetRequirement::Model);
        }
        if files.get(Model).is_none() && [Llm, ClipL, ClipG, T5xxl].iter().all(|role| files.get(*role).is_none()) {
            return Err(UnmetRequirement::TextEncoder);
        }
        if self.recipe.control.is_some() && files.get(FileRole::Controlnet).is_none() {
            return Err(UnmetRequirement::Controlnet);
        }
        match (self.recipe.has_photomaker(), self.recipe.person.is_empty()) {
            (true, true) => return Err(UnmetRequirement::Person),
            (false, false) => return Err(UnmetRequirement::Photomaker),
            (true, false) | (false, true) => {}
        }
        if !self.unknown_loras().is_empty() {
            return Err(UnmetRequirement::Lora);
        }
        // The built-in model was trained with empty prompts too.
        if self.recipe.prompt.trim().is_empty() && self.recipe.init.is_none() && !self.uses_builtin() {
            return Err(UnmetRequirement::Prompt);
        }
        self.recipe.check_person_word().map_err(|_| UnmetRequirement::PersonWord)
    }

    /// Names in `<lora:name:strength>` of the prompt that no known file has.
    #[must_use]
    pub fn unknown_loras(&self) -> Vec<String> {
        take_loras(&self.recipe.prompt).1.into_iter().map(|(name, _)| name).collect()
    }

    /// Takes the LoRAs that the prompt names, and whose files are known, into the recipe's list.
    pub fn take_prompt_loras(&mut self) {
        let mut named: Vec<Lora> = Vec::new();
        let known = || self.recipe.loras.iter().map(|lora| &lora.path).chain(&self.lora_files).map(PathBuf::as_path);
        let prompt = take_loras_if(&self.recipe.prompt, |name, strength| {
            let Some(path) = lora_named(name, known()) else { return false };
            match named.iter_mut().find(|lora| lora.path == path) {
                // Named twice, it counts with both strengths.
                Some(lora) => lora.strength += strength,
                None => named.push(Lora { path: path.to_owned(), strength }),
            }
            true
        });
        if named.is_empty() {
            return;
        }
        self.recipe.prompt = prompt;
        for lora in named {
            match self.recipe.loras.iter_mut().find(|it| it.path == lora.path) {
                Some(it) => it.strength = lora.strength,
                None => self.recipe.loras.push(lora),
            }
        }
    }

    /// Uses a LoRA, with strength 1 where it is new.
    pub fn use_lora(&mut self, path: PathBuf) {
        let Recipe { loras, disabled_loras, .. } = &mut self.recipe;
        if loras.iter().any(|lora| lora.path == path) {
            return;
        }
        let disabled = disabled_loras.iter().position(|lora| lora.path == path);
        loras.push(disabled.map_or(Lora { path, strength: 1.0 }, |at| disabled_loras.remove(at)));
    }

    /// Has an embedding at hand.
    pub fn use_embedding(&mut self, path: PathBuf) {
        if !self.recipe.embeddings.contains(&path) {
            self.recipe.embeddings.push(path);
        }
    }

    /// Cards of this kind that have a file on this disk, with the first of them.
    pub fn cards_with_file(&self, kind: ModelKind) -> impl Iterator<Item = (&ModelCard, &Path)> {
        let cards = self.library.cards.iter().filter(move |card| card.kind == kind);
        cards.filter_map(|card| Some((card, card.files.iter().find_map(|file| file.path.as_deref())?)))
    }

    /// Family of the chosen model, where the library knows it.
    #[must_use]
    pub fn model_family(&self) -> Option<&str> {
        let main = self.recipe.files.main()?;
        self.library.cards.iter().find(|card| card.main_file.as_deref() == Some(main))?.family.as_deref()
    }

    /// `Ok` unless it is known that the chosen model looks at no reference pictures.
    ///
    /// # Errors
    /// The sentence for a person.
    pub fn takes_references(&self) -> Result<(), &'static str> {
        let ignores = self.without_references.as_ref() == Some(&self.recipe.files);
        if ignores {
            Err("This model does not use reference pictures. Edit models do, such as Flux Kontext and Qwen-Image-Edit.")
        } else {
            Ok(())
        }
    }

    /// The `PhotoMaker`s of the library that are on this disk.
    pub fn photomakers(&self) -> impl Iterator<Item = &Path> {
        let files = self.library.cards.iter().flat_map(|card| &card.files);
        files.filter(|file| file.role == Role::Part(FileRole::Photomaker)).filter_map(|file| file.path.as_deref())
    }

    /// `Ok` where the chosen model can bring a person into the picture.
    ///
    /// # Errors
    /// The sentence for a person.
    pub fn takes_person(&self) -> Result<(), &'static str> {
        if self.recipe.has_photomaker() {
            return Ok(());
        }
        if self.model_family() != Some(Family::Sdxl.label()) {
            return Err("PhotoMaker works only with SDXL. Choose an SDXL model.");
        }
        self.photomakers().next().map(drop).ok_or("Pictures of a person need a PhotoMaker: add its file to the model.")
    }

    /// Adds pictures of the person, as far as there is room, and the library's `PhotoMaker` where the model has none.
    pub fn add_person_pictures(&mut self, images: impl IntoIterator<Item = ImageSource>) {
        let found = self.photomakers().next().map(Path::to_owned).filter(|_| !self.recipe.has_photomaker());
        if let Some(path) = found {
            self.recipe.files.set(FileRole::Photomaker, path);
        }
        let pictures = &mut self.recipe.person.images;
        pictures.extend(images);
        pictures.truncate(Person::MOST_IMAGES);
    }

    /// Removes a picture of the person, and after the last one a `PhotoMaker` that the library has at hand.
    pub fn remove_person_picture(&mut self, index: usize) {
        let pictures = &mut self.recipe.person.images;
        if index < pictures.len() {
            pictures.remove(index);
        }
        let is_at_hand = self.recipe.files.get(FileRole::Photomaker).is_some_and(|path| self.photomakers().any(|it| it == path));
        if self.recipe.person.is_empty() && is_at_hand {
            self.recipe.files.remove(FileRole::Photomaker);
        }
    }

    /// Makes these files the model, in place of the one that was there.
    pub fn replace_model(&mut self, files: ModelFiles) {
        if self.uses_builtin() {
            self.use_own_files();
        }
        self.recipe.files = files;
        self.recipe.negative_in_prompt = false;
        self.recipe.drop_unusable_guides();
    }

    /// Something that is worth knowing before a picture is made, though it may well work.
    #[must_use]
    pub fn advice(&self) -> Option<&'static str> {
        use FileRole::{Diffusion, Model, Taesd, Vae};
        let files = &self.recipe.files;
        let lone = files.get(Model).is_none() && files.get(Diffusion).is_some();
        (lone && files.get(Vae).is_none() && files.get(Taesd).is_none()).then_some("Most models of this kind also need a VAE.")
    }

    /// True if the recipe has these files.
    #[must_use]
    pub fn is_chosen(&self, files: &ModelFiles) -> bool {
        same_paths(files, &self.recipe.files)
    }

    /// True if these are the files of the built-in model.
    #[must_use]
    pub fn is_builtin(&self, files: &ModelFiles) -> bool {
        self.builtin.as_ref().is_ok_and(|builtin| same_paths(builtin.files(), files))
    }

    /// The name of the model of these files: the built-in one's, else its main file's.
    #[must_use]
    pub fn model_name(&self, files: &ModelFiles) -> String {
        if let Some(builtin) = self.builtin.as_ref().ok().filter(|_| self.is_builtin(files)) {
            return builtin.manifest().name.clone();
        }
        let main = files.main();
        let stem = main.or_else(|| files.iter().next().map(|(_, path)| path)).and_then(Path::file_stem);
        stem.map_or_else(|| "No files".to_owned(), |stem| stem.to_string_lossy().into_owned())
    }

    /// The model of the next picture, where it is in memory.
    #[must_use]
    pub fn chosen_resident(&self) -> Option<&Resident> {
        self.residency.models.iter().find(|model| self.is_chosen(&model.files))
    }

    /// Makes the built-in model the one in use. The person's own files and their settings are remembered, so that one can go back.
    pub fn use_builtin(&mut self) {
        let Ok(builtin) = &self.builtin else { return };
        self.custom_recipe = Some(Box::new(self.recipe.clone()));
        builtin.apply(&mut self.recipe);
        // They were made for another model.
        self.recipe.loras.clear();
        self.recipe.drop_unusable_guides();
    }

    /// Goes from the built-in model back to the person's own files.
    pub fn use_own_files(&mut self) {
        let own = self.custom_recipe.take().map(|own| *own).unwrap_or_default();
        let now = std::mem::take(&mut self.recipe);
        self.recipe = with_model_of(now, own);
    }

    /// Takes a part of a picture's settings over; where it is computed stays as it is.
    pub fn recall(&mut self, part: RecallPart, from: &PartialRecipe) {
        self.apply_settings(&part.select(from));
    }

    /// Takes settings over, of a picture or a preset.
    pub fn apply_settings(&mut self, settings: &PartialRecipe) {
        if let Some(files) = &settings.files {
            self.change_sides(files);
            if *files != self.recipe.files && settings.loras.is_none() {
                // They were made for another model.
                self.recipe.loras.clear();
            }
        }
        settings.apply(&mut self.recipe);
        self.follow_builtin();
        self.recipe.drop_unusable_guides();
        self.take_prompt_loras();
    }

    /// Reads the negative prompt as the built-in model does where it is the one in use: earlier versions of it, whose settings may come from
    /// files, read it in another way.
    fn follow_builtin(&mut self) {
        if let Ok(builtin) = &self.builtin
            && self.uses_builtin()
        {
            self.recipe.negative_in_prompt = builtin.manifest().defaults.negative_in_prompt;
        }
    }

    /// Remembers the person's own files beside the built-in model, and the other way round, before these files become the model.
    fn change_sides(&mut self, files: &ModelFiles) {
        match (self.uses_builtin(), self.is_builtin(files)) {
            (false, true) => self.use_builtin(),
            (true, false) => self.use_own_files(),
            _ => {}
        }
    }

    /// Sets the file of a role. The first one after the built-in model begins a model of one's own.
    pub fn use_file(&mut self, role: FileRole, path: PathBuf) {
        if self.uses_builtin() {
            self.use_own_files();
        }
        self.recipe.files.set(role, path);
    }
}

/// The first requirement of a picture that is not met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnmetRequirement {
    /// There is neither a whole model nor a diffusion model.
    Model,
    /// A diffusion model has no text encoder.
    TextEncoder,
    /// The prompt is empty, and there is no start picture.
    Prompt,
    /// There is a control picture and no ControlNet.
    Controlnet,
    /// There is a `PhotoMaker` and no picture of a person.
    Person,
    /// There are pictures of a person and no `PhotoMaker`.
    Photomaker,
    /// The prompt does not say where the person is.
    PersonWord,
    /// The prompt names a LoRA whose file is not known.
    Lora,
}

impl UnmetRequirement {
    /// The next step for the person, as a sentence.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Model => "Choose a model to start.",
            Self::TextEncoder => "Add the text encoder that belongs to this model.",
            Self::Prompt => "Write a prompt first.",
            Self::Controlnet => "The control picture needs a ControlNet: add one to the model, or remove the picture.",
            Self::Person => "PhotoMaker needs pictures of a person: add one among the guides, or take its file out of the model.",
            Self::Photomaker => "The pictures of a person need a PhotoMaker: add its file to the model, or remove the pictures.",
            Self::PersonWord => "Write the word img once in the prompt, after the word for the person: a woman img by a lake.",
            Self::Lora => "The prompt uses an unknown LoRA: add its file, or remove its tag.",
        }
    }
}

/// The recipe `other`, with prompt, seed, pictures and placement of `now`: everything that does not depend on the model.
#[must_use]
pub fn with_model_of(now: Recipe, other: Recipe) -> Recipe {
    Recipe {
        prompt: now.prompt,
        negative_prompt: now.negative_prompt,
        seed: now.seed,
        rng: now.rng,
        batch_count: now.batch_count,
        init: now.init,
        mask: now.mask,
        start_fit: now.start_fit,
        area: now.area,
        outpaint: now.outpaint,
        hires: now.hires,
        reference_images: now.reference_images,
        placement: now.placement,
        threads: now.threads,
        ..other
    }
}

/// True if these are the same files, in whatever roles: the engine corrects roles.
#[must_use]
pub fn same_paths(one: &ModelFiles, other: &ModelFiles) -> bool {
    let paths = |files: &ModelFiles| files.iter().map(|(_, path)| path.to_owned()).collect::<BTreeSet<_>>();
    paths(one) == paths(other)
}

/// The last recipe of each model that was used, the latest first.
#[derive(Debug, Default)]
pub struct RecentRecipes(Vec<Recipe>);

impl RecentRecipes {
    /// Remembers the settings that a model is used with.
    pub fn remember(&mut self, recipe: &Recipe) {
        self.0.retain(|it| !same_paths(&it.files, &recipe.files));
        self.0.insert(0, recipe.clone());
        self.0.truncate(MAX_RECIPES);
    }

    /// The last recipe of the model of these files.
    #[must_use]
    pub fn of(&self, files: &ModelFiles) -> Option<&Recipe> {
        self.0.iter().find(|it| same_paths(&it.files, files))
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

    /// The job whose picture is shown while it forms: the first that the engine is at, also in the moment before it says so.
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

/// An error as it is shown: over the canvas, until it is dismissed.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorCard {
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
    /// A card without details.
    #[must_use]
    pub fn new(sentence: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::of(Advice::new(sentence, hint))
    }

    /// A card of this advice, without details.
    #[must_use]
    pub fn of(advice: Advice) -> Self {
        Self { advice, details: Vec::new(), remedies: Vec::new(), failed: None }
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

/// State of closing the window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Closing {
    #[default]
    No,
    /// The person is asked whether to stop the forming picture.
    Confirming,
    /// What was painted and set is written; not later than this, in seconds of `egui`'s clock, the person is told what is not.
    Saving {
        until_secs: f64,
        /// The system asked the program to end, not a person.
        is_ending: bool,
    },
    /// The person is asked whether to close although something could not be written.
    Unsaved {
        /// When it closes without an answer, in seconds of `egui`'s clock: the system asked the program to end.
        until_secs: Option<f64>,
    },
    /// Jobs end and files are written; not later than this, in seconds of `egui`'s clock, the window closes.
    Stopping {
        /// When it closes whatever happens.
        until_secs: f64,
    },
    /// Nothing holds the window any more.
    Now,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_the_same_whatever_its_files_are_said_to_be_for() {
        let (mut one, mut other) = (ModelFiles::default(), ModelFiles::default());
        one.set(FileRole::Model, "/m/a.safetensors");
        other.set(FileRole::Diffusion, "/m/a.safetensors");
        assert!(same_paths(&one, &other));
        other.set(FileRole::Vae, "/m/b.safetensors");
        assert!(!same_paths(&one, &other));
    }
}
