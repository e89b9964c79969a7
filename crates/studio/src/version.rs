//! Version of the program.

/// The version that packages and updates compare: `0.1.0`.
pub const NUMBER: &str = env!("CARGO_PKG_VERSION");

/// The version with the commit that it was built from: `0.1.0 (5984685)`.
pub const FULL: &str = env!("ATELIER_VERSION");

/// The system and the processor that this program was built for.
#[must_use]
pub fn system() -> String {
    format!("{} on {}", std::env::consts::OS, std::env::consts::ARCH)
}
