//! Sheets of pictures that differ along axes: the dialog that plans one, and the view of the one
//! that is made.

pub mod command;
pub mod state;
pub(crate) mod update;
pub(crate) mod view;

pub use command::Command;
pub use state::State;
