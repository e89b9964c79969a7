//! What the engine says. Plain data: it could cross a pipe from another process unchanged.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::cache::Residency;
use super::remote::{RemoteError, ServerAddress};
use super::request::JobId;
use atelier_core::device::Device;
pub use atelier_core::placement::PhaseKind;
use atelier_core::placement::{self, Alternative, Module, Needs};
use atelier_core::recipe::{PictureInfo, Recipe, Rgb8};

/// Everything the engine can say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// The job has started.
    Begin {
        /// The job.
        job: JobId,
        /// What it will really do.
        begin: Begin,
    },
    /// The job has come to another phase, or further in this one.
    Phase {
        /// The job.
        job: JobId,
        /// Where it is.
        phase: Phase,
    },
    /// Progress while denoising.
    Step {
        /// The job.
        job: JobId,
        /// How far it is.
        step: Step,
    },
    /// The forming picture. Only the newest is kept for a slow reader.
    Preview {
        /// The job.
        job: JobId,
        /// How it looks.
        preview: Preview,
    },
    /// A picture is finished; others of the same job may follow.
    Picture {
        /// The job.
        job: JobId,
        /// The picture.
        picture: Picture,
    },
    /// A line of the engine's log. The oldest are dropped for a slow reader.
    Log {
        /// The job that was running, if one was.
        job: Option<JobId>,
        /// How grave it is.
        level: LogLevel,
        /// The line, without its line break.
        text: String,
    },
    /// What a recipe takes, in answer to `Request::Estimate`.
    Estimated {
        /// The recipe that was asked about.
        recipe: Box<Recipe>,
        /// What it takes, or why that cannot be said.
        estimate: Result<Estimate, Failure>,
    },
    /// What a job took of each device, just before its `End`.
    Measured {
        /// The job.
        job: JobId,
        /// By device and phase.
        peaks: Vec<Peak>,
    },
    /// The job waits for memory that models of other jobs hold.
    Waiting {
        /// The job.
        job: JobId,
        /// What those models are called.
        behind: Vec<String>,
    },
    /// Which models are in memory, whenever that has changed.
    Residency(Residency),
    /// The devices, in answer to `Request::ListDevices`, and as they were found before each job.
    Devices(Vec<Device>),
    /// What came of `Request::AddServer`.
    Server {
        /// The server.
        server: ServerAddress,
        /// Its devices as they are named here, or why it cannot be used.
        added: Result<Vec<Device>, RemoteError>,
    },
    /// The job is over. Comes exactly once for each job, whatever happens.
    End {
        /// The job.
        job: JobId,
        /// How it went.
        end: End,
    },
}

impl Event {
    /// The job that it is about; of a log line, the one that ran then, if one did.
    #[must_use]
    pub const fn job(&self) -> Option<JobId> {
        match self {
            Self::Begin { job, .. }
            | Self::Phase { job, .. }
            | Self::Step { job, .. }
            | Self::Preview { job, .. }
            | Self::Picture { job, .. }
            | Self::Measured { job, .. }
            | Self::Waiting { job, .. }
            | Self::End { job, .. } => Some(*job),
            Self::Log { job, .. } => *job,
            Self::Devices(_) | Self::Server { .. } | Self::Estimated { .. } | Self::Residency(_) => None,
        }
    }
}

/// What a recipe takes, and what it could be instead.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// What its modules take.
    pub needs: Needs,
    /// Smaller sizes, decoding in tiles, other quantisations at hand: what a planner may offer where it does not fit.
    pub alternatives: Vec<Alternative>,
    /// What each device takes for itself as soon as it is used, in bytes, by its whole name: learned from what was measured.
    pub slack_bytes: BTreeMap<String, u64>,
}

/// The most that a device held in a phase of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peak {
    /// The device's whole name.
    pub device: String,
    /// When.
    pub phase: placement::Phase,
    /// Bytes that Atelier held there, of this job's model and of others that stayed loaded.
    pub bytes: u64,
    /// How many of these bytes were those of other models.
    pub others_bytes: u64,
    /// What was predicted, other models included; `None` where nothing was.
    pub predicted_bytes: Option<u64>,
}

/// What a job will really do, once sizes are snapped and seeds drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Begin {
    /// Width of the pictures in pixels; where one is enlarged, of that one.
    pub width: u32,
    /// Height of the pictures in pixels; where one is enlarged, of that one.
    pub height: u32,
    /// Denoising steps that will run for each picture.
    pub steps: u32,
    /// One seed for each picture.
    pub seeds: Vec<i64>,
    /// What was changed or ignored, in sentences for a person.
    pub notes: Vec<String>,
}

/// Where a job is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Phase {
    /// Reading headers or weights.
    Loading {
        /// The module whose weights are read; `None` while headers are.
        module: Option<Module>,
        /// Bytes read of this module.
        bytes_done: u64,
        /// Bytes of this module; 0 where not known.
        bytes_total: u64,
    },
    /// The text encoder reads the prompt, or the VAE the init image.
    Encoding,
    /// The picture forms.
    Denoising {
        /// Which picture of the batch, from 0.
        picture: u32,
    },
    /// The VAE turns latents into pixels.
    Decoding {
        /// Which picture of the batch, from 0.
        picture: u32,
    },
    /// The upscaler works.
    Upscaling {
        /// Tiles done.
        tile: u32,
        /// All tiles; 0 where not known.
        tiles: u32,
    },
}

/// Progress while denoising.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Which picture of the batch, from 0. Where several devices make the batch, steps tell how far they are together, as if one picture
    /// followed the other.
    pub picture: u32,
    /// Steps finished.
    pub done: u32,
    /// Steps in all.
    pub total: u32,
    /// How much of the step now running is done, 0 to 1.
    pub fraction: f32,
    /// Seconds that the last finished step took; 0 before the first.
    pub step_secs: f32,
}

/// A forming picture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Preview {
    /// Which picture of the batch, from 0.
    pub picture: u32,
    /// After which step, from 1.
    pub step: u32,
    /// The pixels; smaller than the picture where the preview is a projection.
    pub image: Arc<Rgb8>,
}

/// A finished picture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Picture {
    /// Which picture of the batch, and its seed.
    pub info: PictureInfo,
    /// The pixels.
    pub image: Arc<Rgb8>,
}

/// How grave a log line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum LogLevel {
    /// For whoever mends the engine.
    Debug,
    /// What it does.
    Info,
    /// It goes on, but not as asked.
    Warn,
    /// It failed.
    Error,
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum End {
    /// All pictures were made and have been sent.
    Done {
        /// Which pictures.
        pictures: Vec<PictureInfo>,
        /// Where the time went.
        timings: Timings,
        /// What a person should know of the pictures, in sentences.
        notes: Vec<String>,
    },
    /// It was cancelled; pictures sent before are whole.
    Cancelled,
    /// It could not be done; pictures sent before are whole.
    Failed(Failure),
}

/// Why a job failed, in words for a person.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What went wrong, in one sentence.
    pub sentence: String,
    /// What to do next.
    pub hint: String,
    /// The engine's last log lines.
    pub log: Vec<String>,
    /// What a program can act on, where the engine knows it.
    #[serde(default)]
    pub cause: Option<Cause>,
}

/// A cause of failure that has remedies of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// A device had no room.
    OutOfMemory(OutOfMemory),
    /// A remote device could not be reached, or went away.
    Remote(RemoteError),
}

/// Memory that a device did not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutOfMemory {
    /// The device's name.
    pub device: String,
    /// When it was wanted.
    pub phase: PhaseKind,
    /// Bytes asked for at once.
    pub bytes_wanted: u64,
    /// Bytes that were free then.
    pub bytes_free: u64,
}

/// Seconds spent in each phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timings {
    /// Reading headers and weights.
    pub load_secs: f64,
    /// Reading the prompt and the init image.
    pub encode_secs: f64,
    /// Denoising.
    pub denoise_secs: f64,
    /// Decoding.
    pub decode_secs: f64,
    /// From `Begin` to `End`.
    pub total_secs: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PreviewOptions, Request, Task};
    use atelier_core::recipe::ImageSource;

    #[test]
    fn requests_and_events_could_cross_a_pipe() {
        let image = Rgb8::new(1, 2, vec![1, 2, 3, 4, 5, 6]);
        let recipe = Recipe { mask: image.clone().map(ImageSource::Pixels), eta: Some(0.5), ..Recipe::default() };
        let task = Task::Generate { recipe: Box::new(recipe), preview: PreviewOptions::TinyAutoencoder { every: 2 } };
        for request in [Request::Run { job: JobId(7), task }, Request::ListDevices, Request::Unload] {
            let text = serde_json::to_string(&request).unwrap();
            assert_eq!(serde_json::from_str::<Request>(&text).unwrap(), request);
        }
        let (job, info) = (JobId(7), PictureInfo { index: 1, seed: i64::MAX });
        let timings = Timings { load_secs: 0.25, ..Timings::default() };
        let events = [
            Event::Phase { job, phase: Phase::Loading { module: Some(Module::Te), bytes_done: 1, bytes_total: 2 } },
            Event::Picture { job, picture: Picture { info, image: Arc::new(image.unwrap()) } },
            Event::Log { job: None, level: LogLevel::Warn, text: "\"quoted\"\n".into() },
            Event::End { job, end: End::Done { pictures: vec![info], timings, notes: vec!["Hm.".into()] } },
        ];
        for event in events {
            let text = serde_json::to_string(&event).unwrap();
            assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event);
        }
    }
}
