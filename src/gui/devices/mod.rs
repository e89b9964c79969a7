//! The Devices view: the devices that the modules of the recipe run on and that their weights live
//! in.
//!
//! [`board`] is the pure part of the state: placement, prediction, suggestion. Requests to the
//! engine are in [`requests`], effects of commands in [`update`].

pub mod board;
pub mod command;
pub(crate) mod requests;
pub mod state;
pub(crate) mod trials;
pub(crate) mod update;
pub(crate) mod view;

pub use command::Command;
pub use state::State;
