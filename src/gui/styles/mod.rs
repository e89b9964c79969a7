//! Styles: settings under a name, applied to whatever is being made, and imported from A1111's
//! list.

pub mod command;
pub mod state;
pub(crate) mod update;
pub(crate) mod view;

pub use command::Command;
pub use state::State;
