//! The Create view: a prompt, its settings, and the pictures that come of them.

pub mod command;
pub(crate) mod open;
pub(crate) mod pictures;
pub mod progress;
pub mod session;
pub mod state;
pub(crate) mod update;
pub(crate) mod view;

pub use command::Command;
pub use state::State;
