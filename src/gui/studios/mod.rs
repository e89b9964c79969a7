//! Other studios of the network: found while the dialog is open, kept with their tokens, and asked
//! for their models.

pub mod command;
pub mod state;
pub(crate) mod update;
pub(crate) mod view;
mod work;

pub use command::Command;
pub use state::State;
