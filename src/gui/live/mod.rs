//! Live: the picture follows words, settings and strokes.
//!
//! Its jobs go past the queue, so that nothing of them is kept on the disk; a picture that is
//! accepted becomes a layer, or is kept like any other.

pub mod command;
pub mod follower;
pub(crate) mod looks;
pub mod state;
pub(crate) mod update;
pub(crate) mod view;

pub use command::Command;
pub use state::State;
