//! The engine: one thread that owns every context and turns requests into pictures.
//!
//! Callers hold a [`Handle`]; they send [`Request`]s and read [`Event`]s, both plain data. Nothing here knows egui or the
//! command line, and only `ffi` below is allowed to be `unsafe`.

mod batch;
mod cache;
mod channel;
mod drivers;
mod estimate;
mod event;
mod failure;
mod ffi;
mod measured;
mod places;
mod remote;
mod request;
mod run;
mod sink;
mod thread;

pub use cache::{RememberedTexts, Residency, Resident, ResidentId, ResidentPart};
pub use channel::{Busy, EngineEnd, EventSender, Handle, QueryReceiver, channel};
pub use event::{
    Begin, Cause, End, Estimate, Event, Failure, LogLevel, OutOfMemory, Peak, Phase, PhaseKind, Picture, Preview, Step, Timings,
};
pub use remote::{DEFAULT_PORT, RemoteError, RemoteReport, ServeError, ServeEvent, ServeOptions, ServerAddress, probe, serve};
pub use request::{JobId, PreviewOptions, Request, Task};
pub use thread::{NotAdded, simulate_devices, start, start_remembering};
