//! The command palette: every command of the program with its key, found by typing; and the list of
//! all keys.

pub mod command;
pub(crate) mod search;
pub(crate) mod shortcuts;
pub mod state;
mod synonyms;
pub(crate) mod update;
pub(crate) mod view;

pub use command::Command;
pub use state::State;
