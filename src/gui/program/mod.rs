//! The program itself: the menu, About, and the report of a window that crashed.

pub mod command;
pub mod state;
pub(crate) mod update;
pub(crate) mod view;

pub use command::Command;
pub use state::State;
