//! How a call into the engine can fail.

use super::callbacks::phase_kind;
use crate::event::{OutOfMemory, PhaseKind};

/// What kind of failure it was, which decides whether the context can be used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// The engine said no.
    Failed,
    /// The job's flag was set.
    Cancelled,
    /// An assert or exception was caught: the context must not be used again.
    Aborted,
    /// An allocation failed: the context must not be used again.
    NoMemory,
    /// The connection to a remote device broke: the context must not be used again.
    Lost,
}

/// A call that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct CallError {
    pub(crate) status: Status,
    /// The engine's own words.
    pub(crate) message: String,
    /// Which device had no room, where that is why.
    pub(crate) out_of_memory: Option<OutOfMemory>,
    /// The server that was lost.
    pub(crate) lost: Option<String>,
}

impl CallError {
    /// The job's flag was set while it waited.
    pub(crate) fn cancelled() -> Self {
        Self { status: Status::Cancelled, ..Self::new("cancelled") }
    }

    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { status: Status::Failed, message: message.into(), out_of_memory: None, lost: None }
    }

    /// Turns a status into a result, with the sentence that the shim keeps for this thread.
    pub(super) fn check(status: ggml_sys::atelier_status) -> Result<(), Self> {
        let status = match status {
            ggml_sys::ATELIER_OK => return Ok(()),
            ggml_sys::ATELIER_CANCELLED => Status::Cancelled,
            ggml_sys::ATELIER_ABORTED => Status::Aborted,
            ggml_sys::ATELIER_NO_MEMORY => Status::NoMemory,
            ggml_sys::ATELIER_LOST => Status::Lost,
            _ => Status::Failed,
        };
        // SAFETY: the pointer is to a string of this thread that the shim keeps until the next call, which comes later than this copy.
        let message = super::text(unsafe { ggml_sys::atelier_last_error() });
        let out_of_memory = if status == Status::NoMemory { last_shortage() } else { None };
        // SAFETY: as above.
        let lost = (status == Status::Lost).then(|| super::text(unsafe { ggml_sys::atelier_last_lost() }));
        Err(Self { status, message, out_of_memory, lost })
    }
}

/// What was missing at this thread's last call.
fn last_shortage() -> Option<OutOfMemory> {
    let mut raw = ggml_sys::atelier_shortage { device: std::ptr::null(), phase: 0, bytes_wanted: 0, bytes_free: 0 };
    // SAFETY: `raw` is a whole struct of ours; the shim fills it where it returns true.
    if !unsafe { ggml_sys::atelier_last_shortage(&raw mut raw) } {
        return None;
    }
    let device = super::text(raw.device);
    // ggml does not count the computer's own memory.
    let bytes_free = if raw.bytes_free == 0 && device == "CPU" { super::ram().1 } else { raw.bytes_free };
    let phase = phase_kind(raw.phase).unwrap_or(PhaseKind::Loading);
    Some(OutOfMemory { device, phase, bytes_wanted: raw.bytes_wanted, bytes_free })
}
