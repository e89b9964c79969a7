//! Version of the program.

/// The version that packages and updates compare: `0.1.0`.
pub const NUMBER: &str = env!("CARGO_PKG_VERSION");

/// The version with the commit that it was built from, where the build knew it.
#[must_use]
pub fn full() -> &'static str {
    option_env!("ATELIER_VERSION").unwrap_or(NUMBER)
}

/// The system and the processor that this program was built for.
#[must_use]
pub fn system() -> String {
    format!("{} on {}", std::env::consts::OS, std::env::consts::ARCH)
}
