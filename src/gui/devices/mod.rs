//! The Devices view: where each module runs and its weights live.

pub mod board;
pub(crate) mod state;
pub(crate) mod update;
pub(crate) mod view;

pub use state::State;
