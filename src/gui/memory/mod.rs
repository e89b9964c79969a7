//! Resident models: the list of them with its commands, and preloading of the chosen one. A section
//! of the Create and Devices views.

pub mod command;
pub mod state;
pub(crate) mod update;
pub(crate) mod view;

pub use command::Command;
pub use state::State;
