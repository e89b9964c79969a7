//! Messages from the engine.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::address::ServerAddress;
use super::failure::Failure;
use super::rates::{MeasuredDevice, MeasuredPlacement};
use super::remote_error::RemoteError;
use super::request::JobId;
use super::residency::Residency;
use atelier_core::canvas::PixelRect;
use atelier_core::device::Device;
use atelier_core::format::{memory_size, seconds};
use atelier_core::picture_note::PictureNote;
use atelier_core::placement::{self, Alternative, Module, Needs, Placement, PlanTime, Prediction};
use atelier_core::recipe::{PictureInfo, Recipe, Rgb8, Seed};
use atelier_core::time::{MachineRates, MissingRates, PictureWork, TimeCorrections, TimePrediction, phase_works, predict_time};
use atelier_language::tr;

/// A message from the engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// The start of a job.
    Begin {
        /// The job.
        job: JobId,
        /// Its parameters as they are used.
        begin: Begin,
    },
    /// A job entered a phase, or advanced in it.
    Phase {
        /// The job.
        job: JobId,
        /// The phase.
        phase: JobPhase,
    },
    /// Progress of denoising.
    Step {
        /// The job.
        job: JobId,
        /// The progress.
        step: Step,
    },
    /// A preview of the forming picture. A newer one of the same job replaces one that is unread.
    Preview {
        /// The job.
        job: JobId,
        /// The preview.
        preview: Preview,
    },
    /// A finished picture; others of the same job may follow.
    Picture {
        /// The job.
        job: JobId,
        /// The picture.
        picture: Picture,
    },
    /// A line of the engine's log. The oldest unread are dropped where there are many.
    Log {
        /// The job that was running, if one was.
        job: Option<JobId>,
        /// Its severity.
        level: LogLevel,
        /// The line, without its line break.
        text: String,
    },
    /// The answer to `Query::Estimate`.
    Estimated {
        /// The recipe of the query.
        recipe: Box<Recipe>,
        /// Its memory, or the reason why that is unknown.
        estimate: Result<Estimate, Failure>,
    },
    /// Peak memory of a job, just before its `End`, and what was copied for it.
    Measured {
        /// The job.
        job: JobId,
        /// By device and phase.
        peaks: Vec<Peak>,
        /// By module, for all pictures of the job together; without modules of which nothing was
        /// copied.
        copies: Vec<Copies>,
        /// Evaluations of the diffusion module that samplers asked for and that were computed; of
        /// kept steps none is.
        #[serde(default)]
        evaluations: u64,
    },
    /// A job waits for memory that models of other jobs use.
    Waiting {
        /// The job.
        job: JobId,
        /// Names of those models.
        behind: Vec<String>,
    },
    /// The models in memory, after each change.
    Residency(Residency),
    /// The devices: the answer to `Query::Devices`, and at the beginning of each job.
    Devices(Vec<Device>),
    /// The answer to `Control::AddServer`.
    Server {
        /// The server.
        server: ServerAddress,
        /// Its devices by their names in this process, or the reason why it cannot be used.
        added: Result<Vec<Device>, RemoteError>,
    },
    /// The devices of a measurement that are done.
    Rates {
        /// In the order in which they were measured.
        devices: Vec<MeasuredDevice>,
        /// False: it has ended.
        is_measuring: bool,
    },
    /// The end of a job. Comes exactly once for each job, whatever happens.
    End {
        /// The job.
        job: JobId,
        /// The outcome.
        end: End,
    },
}

impl Event {
    /// The job of this event; of a log line, the job that ran then, if one did.
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
            Self::Devices(_) | Self::Server { .. } | Self::Estimated { .. } | Self::Residency(_) | Self::Rates { .. } => None,
        }
    }

    /// True for a part of a step, of what is read, or of what is upscaled, and for the log of a job:
    /// dozens may come in a second, and none needs an answer.
    #[must_use]
    pub const fn is_part(&self) -> bool {
        match self {
            Self::Step { step, .. } => step.fraction > 0.0,
            Self::Phase { phase: JobPhase::Loading { bytes_done, .. }, .. } => *bytes_done > 0,
            Self::Phase { phase: JobPhase::Upscaling { tile, .. }, .. } => *tile > 0,
            Self::Log { job, .. } => job.is_some(),
            _ => false,
        }
    }
}

/// Memory and work of a recipe, and memory of variants of it that take less.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Memory of its modules.
    pub needs: Needs,
    /// Variants that a planner may offer where it does not fit: smaller sizes, decoding in tiles,
    /// other quantisations on disk.
    pub alternatives: Vec<Alternative>,
    /// Overhead of each device in use (context, pools, workspaces), in bytes by its whole name: the
    /// median of measurements.
    pub slack_bytes: BTreeMap<String, u64>,
    /// Work of one picture.
    pub work: PictureWork,
    /// Rates of the devices that were measured.
    pub rates: MachineRates,
    /// What was learned from pictures of this model.
    pub corrections: TimeCorrections,
    /// Placements with which such pictures were made, whatever their steps; the quickest first.
    #[serde(default)]
    pub trials: Vec<MeasuredPlacement>,
    /// The model looks at no reference pictures.
    pub ignores_references: bool,
    /// The model is given a control picture without a `ControlNet`.
    #[serde(default)]
    pub reads_control: bool,
}

impl Estimate {
    /// Times by which a planner ranks.
    #[must_use]
    pub const fn plan_time(&self) -> PlanTime<'_> {
        PlanTime { work: &self.work, rates: &self.rates, corrections: &self.corrections }
    }

    /// Predicted time of a picture of this recipe under a placement, whose prediction of memory
    /// this is. The recipe may differ in its steps from that of the estimate.
    ///
    /// # Errors
    /// Devices that were not measured.
    pub fn time(&self, recipe: &Recipe, placement: &Placement, prediction: &Prediction) -> Result<TimePrediction, MissingRates> {
        let phases = phase_works(&self.work.with_steps_of(recipe), &self.needs, placement, prediction);
        predict_time(&phases, &self.rates, &self.corrections)
    }
}

/// Peak memory of a device in a phase of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peak {
    /// The device's whole name.
    pub device: String,
    /// The phase.
    pub phase: placement::Phase,
    /// Bytes that Atelier allocated there, for this job's model and for others that stayed loaded.
    pub bytes: u64,
    /// The part of these bytes that belongs to other models.
    pub others_bytes: u64,
    /// The prediction, other models included; `None` where there was none.
    pub predicted_bytes: Option<u64>,
}

/// Weights that were copied from where they live to the device that a module runs on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Copies {
    /// The module.
    pub module: Module,
    /// Bytes, each time counted.
    pub bytes: u64,
    /// Number of copies: of whole modules, or of pieces.
    pub count: u64,
    /// Seconds for which the device computed nothing.
    pub waited_secs: f64,
    /// Seconds of copying beside computing.
    pub hidden_secs: f64,
}

impl Copies {
    /// A sentence for a person, without a full stop.
    #[must_use]
    pub fn words(&self) -> String {
        let Self { module, bytes, count, waited_secs, hidden_secs } = self;
        let (module, bytes, waited) = (module.noun(), memory_size(*bytes), seconds(*waited_secs));
        let beside =
            if *hidden_secs > 0.0 { tr!("engine-copied-beside-computing", seconds = seconds(*hidden_secs)) } else { String::new() };
        let copies = if *count == 1 { tr!("engine-1-copy").to_owned() } else { format!("{count} copies") };
        tr!("engine-weights-of-the-in", module, bytes, copies, waited, beside)
    }
}

/// Parameters of a job after sizes are snapped and seeds drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Begin {
    /// Width of the pictures in pixels; of an upscale, of its input.
    pub width: u32,
    /// Height of the pictures in pixels; of an upscale, of its input.
    pub height: u32,
    /// Denoising steps of each picture, in all of its parts.
    pub steps: u32,
    /// The seed of each picture.
    pub seeds: Vec<Seed>,
    /// Parameters that were changed or ignored, in sentences for a person.
    pub notes: Vec<String>,
}

/// Phase of a job, with its progress.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum JobPhase {
    /// Reading headers or weights.
    Loading {
        /// The module whose weights are read; `None` while headers are.
        module: Option<Module>,
        /// Bytes read of this module.
        bytes_done: u64,
        /// Bytes of this module; 0 where not known.
        bytes_total: u64,
    },
    /// Encoding the prompt, or the init image.
    Encoding,
    /// Denoising.
    Denoising {
        /// Index of the picture in the batch, from 0.
        picture: u32,
    },
    /// Decoding latents to pixels.
    Decoding {
        /// Index of the picture in the batch, from 0.
        picture: u32,
    },
    /// Upscaling.
    Upscaling {
        /// Tiles done.
        tile: u32,
        /// All tiles; 0 where not known.
        tiles: u32,
    },
}

/// Progress of denoising.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Index of the picture in the batch, from 0. Of a batch that is split over devices, the sum of
    /// their progress, as if one picture followed the other.
    pub picture: u32,
    /// Steps finished.
    pub done: u32,
    /// Steps in all.
    pub total: u32,
    /// Progress of the running step, 0 to 1.
    pub fraction: f32,
    /// Duration of the last finished step in seconds; 0 before the first.
    pub step_secs: f32,
}

/// A preview of a forming picture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Preview {
    /// Index of the picture in the batch, from 0.
    pub picture: u32,
    /// The number of finished steps.
    pub step: u32,
    /// The part of the picture that it shows, in pixels of the picture; `None`: the whole.
    pub place: Option<PixelRect>,
    /// The pixels; fewer than in the picture where the preview is a projection.
    pub image: Arc<Rgb8>,
}

/// A finished picture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Picture {
    /// Its index in the batch, and its seed.
    pub info: PictureInfo,
    /// What a person should know of it; what `Begin` said of its job comes first.
    pub notes: Vec<PictureNote>,
    /// The pixels.
    pub image: Arc<Rgb8>,
}

/// Severity of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum LogLevel {
    /// For developers.
    Debug,
    /// Normal operation.
    Info,
    /// Something was ignored or replaced.
    Warn,
    /// A failure.
    Error,
}

/// Outcome of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum End {
    /// All pictures are finished and were sent.
    Done {
        /// The pictures.
        pictures: Vec<PictureInfo>,
        /// Time spent in each phase.
        timings: Timings,
        /// Notes on the job that are about no picture, in sentences for a person.
        notes: Vec<String>,
    },
    /// Cancelled; pictures sent before are whole.
    Cancelled,
    /// Failed; pictures sent before are whole.
    Failed(Failure),
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
