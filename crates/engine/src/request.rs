//! What callers ask of the engine. Plain data: it could cross a pipe to another process unchanged.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::cache::ResidentId;
use super::remote::ServerAddress;
use atelier_core::placement::Reserve;
use atelier_core::recipe::{ImageSource, PlacementText, Recipe};

/// A job's number, unique while the engine lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobId(pub u64);

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Everything that can be asked of the engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// Run a job; answered by `Begin`, any number of the others, and exactly one `End`.
    Run {
        /// The number that its events carry.
        job: JobId,
        /// What to do.
        task: Task,
    },
    /// What a recipe takes, found out beside whatever runs; answered by `Event::Estimated`. Only the newest question is answered.
    Estimate(Box<Recipe>),
    /// Name the devices; answered by `Event::Devices`.
    ListDevices,
    /// Make the devices of a server usable, as RPC0, RPC1... in the order in which servers are added; answered by `Event::Server`.
    AddServer(ServerAddress),
    /// Give back the memory of every model that no job uses; answered by `Event::Residency`.
    Unload,
    /// Give back the memory of one model, unless a job uses it; answered by `Event::Residency`.
    UnloadModel(ResidentId),
    /// Let a model stay in memory whatever others need, or no longer; answered by `Event::Residency`.
    KeepModel(ResidentId, bool),
    /// Leave so much of each device to other programs.
    SetReserve(Reserve),
    /// Begin to load the model of a recipe while no job needs what it needs; `None` stops that. `Event::Residency` follows.
    Preload(Option<Box<Recipe>>),
}

/// A job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Task {
    /// Make the pictures of a recipe.
    Generate {
        /// What to make.
        recipe: Box<Recipe>,
        /// Whether to show the picture while it forms.
        preview: PreviewOptions,
    },
    /// Enlarge a picture with an ESRGAN model.
    Upscale {
        /// The picture.
        image: ImageSource,
        /// The upscaler's file; it says by what factor it enlarges.
        model: PathBuf,
        /// Whether the person agreed that a pickled file (`.pth`) is opened: no header tells what it is before the engine reads it.
        #[serde(default)]
        allow_pickle: bool,
        /// Where the upscaler runs.
        placement: PlacementText,
        /// CPU threads; `None`: every core, or all but one where there are more than four.
        threads: Option<u32>,
    },
}

/// Whether, how and how often a forming picture is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PreviewOptions {
    /// Not at all.
    Off,
    /// A linear projection of the latents: small, rough, free.
    Projection {
        /// Steps between previews, at least 1.
        every: u32,
    },
    /// Through the tiny autoencoder where there is one, else the projection.
    TinyAutoencoder {
        /// Steps between previews, at least 1.
        every: u32,
    },
    /// Through the tiny autoencoder where there is one, as large and as often as less than a fifth of the picture's time pays for; else the
    /// projection after each step. For models whose latents the projection shows in wrong colours.
    Adaptive,
}
