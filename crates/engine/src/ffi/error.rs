//! Error of a call into the engine.

use super::callbacks::phase_kind;
use super::ram::ram;
use super::text::text;
use crate::protocol::{OutOfMemory, PhaseKind};

/// Kind of failure; decides whether the context can be used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// The engine reported a failure.
    Failed,
    /// `JobCallbacks::cancelled` returned true.
    Cancelled,
    /// An assert or exception was caught: the context must be freed.
    Aborted,
    /// An allocation failed: the context must be freed.
    NoMemory,
    /// The connection to a remote device broke: the context must be freed.
    Lost,
    /// A device stopped answering, and stays lost as long as the process lives: the context must be
    /// freed.
    DeviceLost,
}

/// Failed call: status, the engine's message, and the device or server that caused it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct CallError {
    pub(crate) status: Status,
    /// The engine's or the shim's message.
    pub(crate) message: String,
    /// The allocation that failed, for `Status::NoMemory` on a device.
    pub(crate) out_of_memory: Option<OutOfMemory>,
    /// Address of the server, for `Status::Lost`; name of the device, for `Status::DeviceLost`.
    pub(crate) lost: Option<String>,
}

impl CallError {
    /// Error of a job that was cancelled before its call.
    pub(crate) fn cancelled() -> Self {
        Self { status: Status::Cancelled, ..Self::new("cancelled") }
    }

    /// Error of a call that could not be made.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { status: Status::Failed, message: message.into(), out_of_memory: None, lost: None }
    }

    /// Result of a call that returned `status`, with the message that the shim stores for this
    /// thread.
    pub(super) fn check(status: ggml_sys::atelier_status) -> Result<(), Self> {
        let status = match status {
            ggml_sys::ATELIER_OK => return Ok(()),
            ggml_sys::ATELIER_CANCELLED => Status::Cancelled,
            ggml_sys::ATELIER_ABORTED => Status::Aborted,
            ggml_sys::ATELIER_NO_MEMORY => Status::NoMemory,
            ggml_sys::ATELIER_CONNECTION_LOST => Status::Lost,
            ggml_sys::ATELIER_DEVICE_LOST => Status::DeviceLost,
            _ => Status::Failed,
        };
        // SAFETY: a string of this thread that lives until its next call; it is copied here.
        let message = unsafe { text(ggml_sys::atelier_last_error()) };
        let out_of_memory = if status == Status::NoMemory { last_shortage() } else { None };
        // SAFETY: as above.
        let (server, device) = unsafe { (text(ggml_sys::atelier_last_lost_server()), text(ggml_sys::atelier_last_lost_device())) };
        let lost = match status {
            Status::Lost => Some(server),
            Status::DeviceLost => Some(device),
            Status::Failed | Status::Cancelled | Status::Aborted | Status::NoMemory => None,
        };
        Err(Self { status, message, out_of_memory, lost })
    }
}

/// The allocation that failed in this thread's last call.
fn last_shortage() -> Option<OutOfMemory> {
    let mut raw = ggml_sys::atelier_shortage { device: std::ptr::null(), phase: 0, bytes_wanted: 0, bytes_free: 0 };
    // SAFETY: `raw` is a local to be written; the shim fills it where it returns true.
    if !unsafe { ggml_sys::atelier_last_shortage(&raw mut raw) } {
        return None;
    }
    // SAFETY: a device's name, which lives as long as the process.
    let device = unsafe { text(raw.device) };
    // ggml does not report the free memory of the CPU.
    let bytes_free = if raw.bytes_free == 0 && device == "CPU" { ram().1 } else { raw.bytes_free };
    let phase = phase_kind(raw.phase).unwrap_or(PhaseKind::Loading);
    Some(OutOfMemory { device, phase, bytes_wanted: raw.bytes_wanted, bytes_free })
}
