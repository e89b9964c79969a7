//! The Gallery view: every picture that was made here, and those of other folders; found by word,
//! looked at, compared, used again.

pub mod command;
pub mod compare;
mod layout;
pub mod state;
pub mod thumbnails;
pub(crate) mod update;
pub(crate) mod view;

pub use command::Command;
pub use state::State;
