//! How a chore ends early.

/// Early end of a chore: message, `None` if the program that failed has printed it, and exit
/// status.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) message: Option<String>,
    pub(crate) code: u8,
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: Some(message.into()), code: 1 }
    }

    pub(crate) fn from_status(code: Option<i32>) -> Self {
        Self { message: None, code: code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1) }
    }
}
