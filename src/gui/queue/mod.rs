//! The queue: a panel beside every view with the jobs that run, wait and ended, and what can be
//! done with them.

pub mod command;
pub mod state;
pub(crate) mod update;
pub(crate) mod view;

pub use command::Command;
pub use state::State;
