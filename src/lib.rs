//! Atelier: a desktop studio in which artists make images on the devices they own.
//!
//! A view of [`gui`] pushes a command, its feature submits a job to [`atelier_engine::Handle`], and folds the [`atelier_engine::Event`]s that
//! come back into the state that the view draws. The command line ([`cli`]) is another caller of the same handle; [`studio`] is what both
//! share.

/// Version and commit, such as `0.1.0 (5984685)`.
pub const VERSION: &str = env!("ATELIER_VERSION");

pub mod cli;
pub mod logging;
pub mod studio;

#[cfg(feature = "gui")]
pub mod gui;
#[cfg(feature = "gui")]
pub mod settings;
