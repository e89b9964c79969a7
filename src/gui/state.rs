//! The state of the window: what the panels read and only `dispatch` and `events` change.
//!
//! Plain data and texture handles; nothing here reads a file, waits, or knows the engine's thread.

use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use eframe::egui::{TextureHandle, Vec2, vec2};

use crate::gui::create::progress::Progress;
use crate::gui::create::session::Session;
use crate::gui::create::viewport::View;
use crate::gui::devices::board::{Board, Remedy};
use crate::gui::memory::Memory;
use crate::gui::models::ModelsView;
use atelier_core::recipe::{FileRole, Recipe};
use atelier_engine::{JobId, PreviewOptions, Residency};
use atelier_library::{Builtin, PreviewWay};

pub use crate::gui::create::session::PictureId;

/// The state of the window.
pub struct State {
    /// What the window shows.
    pub screen: Screen,
    /// Where everything runs, and what that takes.
    pub board: Board,
    /// The models that there are, and what comes in.
    pub models: ModelsView,
    /// The settings of the next picture.
    pub recipe: Recipe,
    /// The model that comes with the program; where it cannot be used, a sentence that says why.
    pub builtin: Result<Arc<Builtin>, String>,
    /// The recipe as it was with the person's own files, while the built-in model is used.
    pub own: Option<Box<Recipe>>,
    /// The seed that was used last, to be kept on demand.
    pub last_seed: Option<i64>,
    /// How pictures are shown while they form.
    pub preview: PreviewChoice,
    /// Light, dark, or as the system has it.
    pub theme: ThemeChoice,
    /// Where finished pictures are kept.
    pub pictures_folder: PathBuf,
    /// What runs and waits.
    pub jobs: Jobs,
    /// The pictures of this session.
    pub session: Session,
    /// The forming picture as it looks now.
    pub forming: Option<Forming>,
    /// How the canvas looks at the picture.
    pub view: View,
    /// What went wrong last.
    pub error: Option<ErrorCard>,
    /// A short line that goes away by itself.
    pub notice: Option<Notice>,
    /// Whether the window is being closed.
    pub closing: Closing,
    /// Whether a file dialog is open.
    pub dialog_open: bool,
    /// The path that is being typed, where the field for it is open.
    pub typed_path: Option<String>,
    /// Files whose role could not be guessed; the person is asked.
    pub unplaced: Vec<PathBuf>,
    /// Files in use that are not where they were.
    pub missing: BTreeSet<PathBuf>,
    /// Small looks at the start picture and the mask.
    pub thumbnails: Vec<(PathBuf, TextureHandle)>,
    /// The models in memory.
    pub residency: Residency,
    /// What is set about models in memory.
    pub memory: Memory,
    /// Asks the prompt to take the keyboard in the next frame.
    pub focus_prompt: bool,
}

impl State {
    /// Whether the next picture is made by the built-in model.
    #[must_use]
    pub fn uses_builtin(&self) -> bool {
        self.builtin.as_ref().is_ok_and(|builtin| builtin.is_in(&self.recipe))
    }

    /// How the next picture is shown while it forms.
    #[must_use]
    pub fn preview_options(&self) -> PreviewOptions {
        let own_colours =
            |builtin: &Arc<Builtin>| builtin.is_in(&self.recipe) && builtin.manifest().defaults.preview == Some(PreviewWay::Tae);
        match self.preview {
            PreviewChoice::Off => PreviewOptions::Off,
            PreviewChoice::Quick if self.builtin.as_ref().is_ok_and(own_colours) => PreviewOptions::Adaptive,
            PreviewChoice::Quick => PreviewOptions::Projection { every: 1 },
            PreviewChoice::Fine => PreviewOptions::TinyAutoencoder { every: 1 },
        }
    }

    /// Whether a picture can be made; where not, what is missing.
    ///
    /// # Errors
    /// A sentence for a person that says what is missing.
    pub fn ready(&self) -> Result<(), &'static str> {
        use FileRole::{ClipG, ClipL, Diffusion, Llm, Model, T5xxl};
        let files = &self.recipe.files;
        if files.get(Model).is_none() && files.get(Diffusion).is_none() {
            return Err("Choose a model to start.");
        }
        if files.get(Model).is_none() && [Llm, ClipL, ClipG, T5xxl].iter().all(|role| files.get(*role).is_none()) {
            return Err("Add the text encoder that belongs to this model.");
        }
        // The built-in model has an idea of its own where nothing is said.
        if self.recipe.prompt.trim().is_empty() && self.recipe.init.is_none() && !self.uses_builtin() {
            return Err("Describe the picture first.");
        }
        Ok(())
    }

    /// Something that is worth knowing before a picture is made, though it may well work.
    #[must_use]
    pub fn advice(&self) -> Option<&'static str> {
        use FileRole::{Diffusion, Model, Taesd, Vae};
        let files = &self.recipe.files;
        let lone = files.get(Model).is_none() && files.get(Diffusion).is_some();
        (lone && files.get(Vae).is_none() && files.get(Taesd).is_none()).then_some("Most models like this one need a VAE too.")
    }

    /// The size, in pixels, of what the canvas shows.
    #[must_use]
    pub fn canvas_size_px(&self) -> Option<Vec2> {
        if self.session.following()
            && let Some(forming) = &self.forming
        {
            return Some(vec2(forming.width as f32, forming.height as f32));
        }
        self.session.shown().map(|picture| vec2(picture.width as f32, picture.height as f32))
    }

    /// The thumbnail of this file, once it has been read.
    #[must_use]
    pub fn thumbnail(&self, path: &Path) -> Option<&TextureHandle> {
        self.thumbnails.iter().find(|(of, _)| of == path).map(|(_, texture)| texture)
    }
}

/// The forming picture as it looks now.
pub struct Forming {
    /// Which job.
    pub job: JobId,
    /// Its pixels; often smaller than the picture will be.
    pub texture: TextureHandle,
    /// Width of the picture in pixels.
    pub width: u32,
    /// Height of the picture in pixels.
    pub height: u32,
}

/// What the window shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Screen {
    /// Prompt and pictures.
    #[default]
    Create,
    /// Where everything runs.
    Devices,
    /// The models that there are.
    Models,
}

impl Screen {
    /// All of them, in the order of their keys.
    pub const ALL: [Self; 3] = [Self::Create, Self::Devices, Self::Models];

    /// The word shown.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Create => "Create",
            Self::Devices => "Devices",
            Self::Models => "Models",
        }
    }

    /// What is there.
    #[must_use]
    pub const fn tooltip(self) -> &'static str {
        match self {
            Self::Create => "Describe a picture and watch it form.",
            Self::Models => "See which models you have, get more, and keep them tidy.",
            Self::Devices => "See where each part of the model runs, what that takes, and change it.",
        }
    }
}

/// How pictures are shown while they form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PreviewChoice {
    /// Not at all.
    Off,
    /// Rough and free.
    #[default]
    Quick,
    /// Through the tiny autoencoder.
    Fine,
}

impl PreviewChoice {
    /// All of them, from nothing to most.
    pub const ALL: [Self; 3] = [Self::Off, Self::Quick, Self::Fine];

    /// The word shown.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Off => "Off",
            Self::Quick => "Quick",
            Self::Fine => "Fine",
        }
    }

    /// What it means.
    #[must_use]
    pub const fn tooltip(self) -> &'static str {
        match self {
            Self::Off => "Show the picture only when it is finished.",
            Self::Quick => "A rough look while it forms. Costs next to nothing.",
            Self::Fine => "A sharper look after each step, through the tiny autoencoder where there is one. A little slower.",
        }
    }
}

/// Light, dark, or as the system has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThemeChoice {
    /// As the system has it.
    #[default]
    System,
    /// Dark text on light.
    Light,
    /// Light text on dark.
    Dark,
}

impl ThemeChoice {
    /// The words on the button that leads to it.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::System => "System theme",
            Self::Light => "Light theme",
            Self::Dark => "Dark theme",
        }
    }

    /// What it means.
    #[must_use]
    pub const fn tooltip(self) -> &'static str {
        match self {
            Self::System => "Light or dark, as your system has it.",
            Self::Light => "Dark text on a light ground.",
            Self::Dark => "Light text on a dark ground, easy on the eyes beside pictures.",
        }
    }

    /// The one that the theme button leads to.
    #[must_use]
    pub const fn next(self) -> Self {
        match self {
            Self::System => Self::Light,
            Self::Light => Self::Dark,
            Self::Dark => Self::System,
        }
    }
}

/// A job that waits or runs.
pub struct Job {
    /// Its number.
    pub id: JobId,
    /// What it makes.
    pub recipe: Recipe,
    /// Whether the engine has begun it.
    pub begun: bool,
    /// Whether it was asked to stop.
    pub stopping: bool,
    /// How far it is.
    pub progress: Progress,
}

/// What runs and waits, in the order in which the engine takes it.
#[derive(Default)]
pub struct Jobs(VecDeque<Job>);

impl Jobs {
    /// A job was submitted.
    pub fn push(&mut self, id: JobId, recipe: Recipe) {
        self.0.push_back(Job { id, recipe, begun: false, stopping: false, progress: Progress::default() });
    }

    /// The job with this number.
    pub fn get_mut(&mut self, id: JobId) -> Option<&mut Job> {
        self.0.iter_mut().find(|job| job.id == id)
    }

    /// The job is over.
    pub fn remove(&mut self, id: JobId) -> Option<Job> {
        let at = self.0.iter().position(|job| job.id == id)?;
        self.0.remove(at)
    }

    /// The job whose picture is shown while it forms: the first that the engine is at, also in the moment before it says so.
    #[must_use]
    pub fn running(&self) -> Option<&Job> {
        self.at_work().next()
    }

    /// The jobs that the engine is at, each on devices of its own.
    pub fn at_work(&self) -> impl Iterator<Item = &Job> {
        self.0.iter().enumerate().filter(|(n, job)| self.is_at_work(*n, job)).map(|(_, job)| job)
    }

    /// The jobs behind those.
    pub fn waiting(&self) -> impl Iterator<Item = &Job> {
        self.0.iter().enumerate().filter(|(n, job)| !self.is_at_work(*n, job)).map(|(_, job)| job)
    }

    /// The first one is also in the moment before the engine says so.
    fn is_at_work(&self, at: usize, job: &Job) -> bool {
        job.begun || (at == 0 && !self.0.iter().any(|job| job.begun))
    }

    /// Every job, in the order in which they were asked for.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Job> {
        self.0.iter_mut()
    }

    /// Whether nothing runs and nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// What went wrong, in words for a person.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorCard {
    /// What went wrong.
    pub sentence: String,
    /// What to do next.
    pub hint: String,
    /// What helps somebody who mends it.
    pub details: Vec<String>,
    /// What would help, with a button each.
    pub remedies: Vec<Remedy>,
    /// The recipe that failed, with the seed that it had.
    pub failed: Option<Box<Recipe>>,
}

impl ErrorCard {
    /// A card without details.
    #[must_use]
    pub fn new(sentence: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), hint: hint.into(), details: Vec::new(), remedies: Vec::new(), failed: None }
    }

    /// All of it as text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!("{}\n{}\n", self.sentence, self.hint);
        for line in &self.details {
            text.push_str(line);
            text.push('\n');
        }
        text
    }
}

/// A short line that goes away by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    /// The line.
    pub text: String,
    /// When it goes away, in seconds of `egui`'s clock.
    pub until_secs: f64,
}

/// Whether the window is being closed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Closing {
    /// It is open.
    #[default]
    No,
    /// The person is asked whether to stop the forming picture.
    Asking,
    /// Jobs end and files are written; not later than this, in seconds of `egui`'s clock, the window closes.
    Stopping {
        /// When it closes whatever happens.
        until_secs: f64,
    },
    /// Nothing holds the window any more.
    Now,
}
