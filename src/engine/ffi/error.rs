//! How a call into the engine can fail.

/// What kind of failure it was, which decides whether the context can be used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Status {
    /// The engine said no.
    Failed,
    /// The job's flag was set.
    Cancelled,
    /// An assert or exception was caught: the context must not be used again.
    Aborted,
    /// An allocation failed: the context must not be used again.
    NoMemory,
}

/// A call that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(in crate::engine) struct CallError {
    pub(in crate::engine) status: Status,
    /// The engine's own words.
    pub(in crate::engine) message: String,
}

impl CallError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { status: Status::Failed, message: message.into() }
    }

    /// Turns a status into a result, with the sentence that the shim keeps for this thread.
    pub(super) fn check(status: ggml_sys::atelier_status) -> Result<(), Self> {
        let status = match status {
            ggml_sys::ATELIER_OK => return Ok(()),
            ggml_sys::ATELIER_CANCELLED => Status::Cancelled,
            ggml_sys::ATELIER_ABORTED => Status::Aborted,
            ggml_sys::ATELIER_NO_MEMORY => Status::NoMemory,
            _ => Status::Failed,
        };
        // SAFETY: the pointer is to a string of this thread that the shim keeps until the next call, which comes later than this copy.
        let message = super::text(unsafe { ggml_sys::atelier_last_error() });
        Err(Self { status, message })
    }
}
