//! Messages to the engine.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::address::ServerAddress;
use super::rates::MeasureDevices;
use super::residency::ResidentId;
use atelier_core::placement::Reserve;
use atelier_core::recipe::{ImageSource, PlacementText, Recipe};

/// Number of a job, unique within a [`Handle`](crate::Handle).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobId(pub u64);

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A message to the engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// Work with an end: `Event::Begin`, any number of its events, and exactly one `Event::End`.
    Job {
        /// The number that its events carry.
        job: JobId,
        /// The work.
        task: Task,
    },
    /// A question with one answer, found out beside running jobs.
    Query(Query),
    /// A change of the engine's state, or of a job's.
    Control(Control),
}

/// A question to the engine. A newer one of the same kind replaces one that is not answered yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Query {
    /// The memory that a recipe takes; answered by `Event::Estimated`.
    Estimate(Box<Recipe>),
    /// The devices, after the controls before it were carried out; answered by `Event::Devices`.
    Devices,
}

/// A command to the engine that has no end of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Control {
    /// Stop a job. One that waits ends at once, one that runs as soon as the engine can stop; one
    /// that has ended is left alone.
    Cancel(JobId),
    /// Connect to a server; its devices are named RPC0, RPC1... in the order in which servers are
    /// added. Answered by `Event::Server`.
    AddServer(ServerAddress),
    /// Free every model that no job uses; answered by `Event::Residency`.
    UnloadAll,
    /// Free one model, unless a job uses it; answered by `Event::Residency`.
    Unload(ResidentId),
    /// Exempt a model from eviction, or no longer; answered by `Event::Residency`.
    Keep {
        /// The model.
        model: ResidentId,
        /// True exempts it.
        keep: bool,
    },
    /// Memory of each device that stays free for other programs.
    SetReserve(Reserve),
    /// True, as at first: recipes without a placement get the quickest that fits; false: the
    /// engine's default device.
    PlaceAutomatically(bool),
    /// Look at the devices every few seconds, or no longer, beside all jobs; `Event::Devices` comes
    /// whenever their memory differs by what a person sees.
    WatchDevices(bool),
    /// Load the model of a recipe while no job needs its devices; `None` stops a preload.
    /// `Event::Residency` follows.
    Preload(Option<Box<Recipe>>),
    /// Measure devices while no job runs; gives way to any job and goes on after it. `None` stops
    /// it. `Event::Rates` follows after each device.
    Measure(Option<MeasureDevices>),
}

/// Work of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Task {
    /// Generate the pictures of a recipe.
    Generate {
        /// The recipe.
        recipe: Box<Recipe>,
        /// Previews while a picture forms.
        preview: PreviewOptions,
        /// Steps that a picture before had in common with this one are taken from there where they
        /// are kept: the bytes are the same, and the time is not that of a whole picture.
        #[serde(default)]
        shares_steps: bool,
    },
    /// Upscale a picture with an ESRGAN model.
    Upscale {
        /// The picture.
        image: ImageSource,
        /// The upscaler's file; it determines the factor.
        model: PathBuf,
        /// A pickled file (`.pth`) may be opened: no header says what it is before the engine reads
        /// it, so a person must agree.
        #[serde(default)]
        allow_pickle: bool,
        /// The device that the upscaler runs on.
        placement: PlacementText,
        /// CPU threads; `None`: every core, or all but one where there are more than four.
        threads: Option<u32>,
    },
}

/// Previews that a job sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PreviewOptions {
    /// None.
    Off,
    /// A linear projection of the latents: small, rough, free.
    Projection {
        /// Steps between previews, at least 1.
        every: u32,
    },
    /// Decoded by the tiny autoencoder; by the projection where the model has none.
    TinyAutoencoder {
        /// Steps between previews, at least 1.
        every: u32,
    },
    /// Decoded by the tiny autoencoder, as large and as often as less than a fifth of the picture's
    /// time pays for; by the projection after each step where the model has none. For models whose
    /// latents the projection shows in wrong colours.
    Adaptive,
}

impl PreviewOptions {
    /// Replaces the tiny autoencoder by the projection for a model that has none.
    #[must_use]
    pub const fn supported(self, has_tiny_autoencoder: bool) -> Self {
        match self {
            Self::TinyAutoencoder { every } if !has_tiny_autoencoder => Self::Projection { every },
            Self::Adaptive if !has_tiny_autoencoder => Self::Projection { every: 1 },
            Self::Off | Self::Projection { .. } | Self::TinyAutoencoder { .. } | Self::Adaptive => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_without_a_tiny_autoencoder_previews_by_projection() {
        use PreviewOptions::{Adaptive, Off, Projection, TinyAutoencoder};
        let all = [Off, Projection { every: 3 }, TinyAutoencoder { every: 2 }, Adaptive];
        assert_eq!(all.map(|it| it.supported(true)), all);
        assert_eq!(all.map(|it| it.supported(false)), [Off, Projection { every: 3 }, Projection { every: 2 }, Projection { every: 1 }]);
    }
}
