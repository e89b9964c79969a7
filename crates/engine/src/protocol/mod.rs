//! The messages between the engine and its callers: [`Request`] to it, [`Event`] from it.
//!
//! Invariants: plain data, all of which crosses a pipe and arrives equal (`wire` says how); a
//! request is a job, a query or a control, and nothing else reaches the engine; every type here can
//! be built and read without the engine. Not here: how messages are queued (`handle`,
//! `engine_end`), and what the engine does with them.

#![warn(missing_docs)]

mod address;
mod event;
mod failure;
mod rates;
mod remote_error;
mod request;
mod residency;
pub mod wire;

pub use address::{DEFAULT_PORT, NotAnAddress, ServerAddress};
pub use atelier_core::placement::PhaseKind;
pub use event::{Begin, Copies, End, Estimate, Event, JobPhase, LogLevel, Peak, Picture, Preview, Step, Timings};
pub use failure::{Cause, Failure, OutOfMemory};
pub use rates::{MeasureDevices, MeasuredDevice, MeasuredPlacement, MeasuredRates};
pub use remote_error::RemoteError;
pub use request::{Control, JobId, PreviewOptions, Query, Request, Task};
pub use residency::{RememberedTexts, Residency, Resident, ResidentId, ResidentPart};
