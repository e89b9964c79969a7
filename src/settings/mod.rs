//! Settings of the window, kept from one start to the next.
//!
//! The file has its own types (`stored`), converted by hand, so that the rest of the program can
//! change without losing anybody's prompt. Invariants: a damaged file is kept beside as `.bad` and
//! never overwritten; one of a newer program and one that cannot be read now are left alone; one
//! unknown word loses one setting, not all.

mod file;
mod stored;
mod zoom;

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use atelier_core::cpu_math::CpuMath;
use atelier_core::placement::{Module, Reserve};
use atelier_core::recipe::{PlacementText, Recipe};
use atelier_language::Language;
use atelier_studio::studio_model::StudioModel;
use atelier_studio::updates::UpdateSettings;

use crate::http::{DiskQuota, Retention};

pub use file::{LoadedSettings, SettingsError, load, look, save};
pub use zoom::Zoom;

/// Settings of the window.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Light, dark, or as the system has it.
    pub theme: ThemeChoice,
    /// Language of the window; `None` follows the system.
    pub language: Option<Language>,
    /// Preview of forming pictures.
    pub preview: PreviewChoice,
    /// Folder of finished pictures; `None` is the usual one.
    pub pictures_folder: Option<PathBuf>,
    /// Draw with wgpu instead of OpenGL.
    pub wgpu: bool,
    /// Last place of the window.
    pub window: Option<WindowPlace>,
    /// Factor by which everything in the window is larger than the system has it.
    pub zoom: Zoom,
    /// The model is the built-in one, wherever that is. The recipe's files are then the person's
    /// own, to go back to.
    pub builtin: bool,
    /// The settings of the next picture.
    pub recipe: Recipe,
    /// As many pictures are made at once as are quick, whatever the recipe says. So at the first
    /// start; a person who has settings keeps their number.
    pub counts_automatically: bool,
    /// The parts of the settings that are unfolded. None at the first start; a person who has
    /// settings keeps what was in sight before they could be folded.
    pub open_folds: BTreeSet<Fold>,
    /// The panel on the left is hidden, also where the window has room for it.
    pub hides_side_panel: bool,
    /// The modules that the planner leaves where they are; `None`: those that the placement's text
    /// names.
    pub pins: Option<BTreeSet<Module>>,
    /// Placements with names.
    pub placements: Vec<NamedPlacement>,
    /// Other machines whose devices are borrowed, `host:port`.
    pub servers: Vec<String>,
    /// Recipes without a placement get the quickest that fits.
    pub places_automatically: bool,
    /// Preload the chosen model before a picture is asked for.
    pub preload: bool,
    /// Memory of each device that is left to other programs.
    pub reserve: Reserve,
    /// How the processor computes, from the next start on; `None` is as fast as it can.
    pub cpu_math: Option<CpuMath>,
    /// Whether new versions are looked for, and what was found.
    pub updates: UpdateSettings,
    /// In the gallery a star, pick or reject moves the cursor on to the next picture.
    pub auto_advance: bool,
    /// Phrases of the prompt under the pointer show what they did.
    pub shows_phrases: bool,
    /// How this computer's models are shared.
    pub sharing: SharingSettings,
    /// The model of another studio that is used in place of the recipe's files.
    pub studio: Option<ChosenStudio>,
    /// Prompts of earlier pictures, newest first.
    pub prompts: Vec<String>,
    /// The last settings of models of the person's own, the latest first.
    pub recent_models: Vec<Recipe>,
    /// Names of the commands that were run last from the palette, the last one first.
    pub recent_commands: Vec<String>,
    /// Names of the settings that were changed last in the panel, the last one first.
    pub recent_settings: Vec<String>,
}

/// The model of another studio that is in use.
#[derive(Clone, Debug, PartialEq)]
pub struct ChosenStudio {
    pub model: StudioModel,
    /// The settings of this computer's model, to go back to; its files are those of the recipe.
    pub own_recipe: Recipe,
}

/// How this computer's models are shared with others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharingSettings {
    /// Sharing begins by itself at each start.
    pub at_start: bool,
    /// Other devices of the network may come too.
    pub network: bool,
    /// Programs of this computer need a token too.
    pub require_token: bool,
    /// Disk space of the pictures of each person.
    pub quota: DiskQuota,
    /// How long pictures of others are kept.
    pub retention: Retention,
    /// The network is told of it, where other devices may come.
    pub announce: bool,
    /// The name under which it is announced; empty: that of the account.
    pub studio_name: String,
}

/// A placement with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPlacement {
    /// The names of the model's files.
    pub model: String,
    /// Its name.
    pub name: String,
    /// Devices and weight locations of all modules.
    pub text: PlacementText,
    /// The modules that the planner leaves where they are.
    pub pins: BTreeSet<Module>,
}

/// Place of the window, in points of the system: without [`Zoom`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WindowPlace {
    /// Left edge; `None` where the system does not tell.
    pub x: Option<f32>,
    /// Top edge; `None` where the system does not tell.
    pub y: Option<f32>,
    /// Width of its inside.
    pub width: f32,
    /// Height of its inside.
    pub height: f32,
    /// It filled the screen.
    #[serde(default)]
    pub maximized: bool,
    /// Pixels per point of its monitor, by which `x` and `y` become pixels of the desktop. Older
    /// versions wrote none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<f32>,
}

impl WindowPlace {
    /// The place, if a screen can have such numbers.
    #[must_use]
    pub fn sane(self) -> Option<Self> {
        let numbers = [self.x.unwrap_or(0.0), self.y.unwrap_or(0.0)];
        let near = numbers.iter().all(|it| (-20_000.0..20_000.0).contains(it));
        let size = (200.0..20_000.0).contains(&self.width) && (200.0..20_000.0).contains(&self.height);
        let scale = self.scale.filter(|it| (0.25..=16.0).contains(it));
        (near && size).then_some(Self { scale, ..self })
    }
}

/// A part of the settings that can be folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fold {
    /// Sampler, scheduler and what goes with them.
    Sampling,
    /// The second pass at a larger size, and what finishes a picture.
    Upscale,
    /// What guides a picture beside its words.
    Guides,
    /// LoRAs.
    Loras,
    /// What few pictures need.
    More,
    /// The ruler of steps under the picture.
    Steps,
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

/// Preview of forming pictures, as a person chooses it.
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
