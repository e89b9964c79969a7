//! The engine: contexts of models, and the threads that turn requests into pictures.
//!
//! Callers hold a [`Handle`]; they send [`Request`]s and read [`Event`]s, both plain data. Not
//! here: egui, the command line, files that a person sees. Only `ffi` below contains `unsafe`.

mod cache;
mod conversion;
mod cpu_math;
mod devices;
mod drivers;
mod engine_end;
mod estimate;
mod event_mailbox;
mod failure;
mod ffi;
mod fingerprint;
mod handle;
mod job;
mod outside;
mod placement;
mod preprocess;
mod processor;
pub mod protocol;
mod rates;
mod remote;
mod scheduler;
mod start;
mod state;
mod stores;
mod threads;
mod tokens;

pub use conversion::{Conversion, NotConverted};
pub use cpu_math::{choose_cpu_math, cpu_math, kernels_names};
pub use devices::{NotAdded, simulate_devices};
pub use engine_end::{Busy, EngineEnd, EventSender, NextQuery, QueryReceiver};
pub use estimate::EstimateKey;
pub use event_mailbox::UnreadEvents;
pub use handle::{Handle, channel};
pub use outside::OutsideJob;
pub use preprocess::read_control;
pub use processor::{choose_processor, processor};
pub use protocol::{
    Begin, Cause, Control, Copies, DEFAULT_PORT, End, Estimate, Event, Failure, JobId, JobPhase, LogLevel, MeasureDevices, MeasuredDevice,
    MeasuredPlacement, MeasuredRates, OutOfMemory, Peak, PhaseKind, Picture, Preview, PreviewOptions, Query, RememberedTexts, RemoteError,
    Request, Residency, Resident, ResidentId, ResidentPart, ServerAddress, Step, Task, Timings,
};
pub use remote::{Confinement, RemoteReport, ServeError, ServeEvent, ServeOptions, probe, serve};
pub use start::{start, start_remembering};
pub use tokens::{EncoderTokens, NotCounted, PromptTokens, Reach, TokenCounter};

/// Name and version of the C++ engine that is linked.
#[must_use]
pub fn version() -> &'static str {
    ffi::version()
}
