//! The command palette: every command of the program with its key, found by typing.

pub mod command;
pub mod state;
pub(crate) mod update;
pub(crate) mod view;

pub use command::Command;
pub use state::State;
