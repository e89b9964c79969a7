//! What the phrases of a prompt did: a phrase under the pointer shows where the picture shown would
//! be another one without it.
//!
//! Two small drafts with the picture's seed, with the phrase and without it, are made past the
//! queue while nothing else is asked for, and compared. Nothing of them is on the disk.

pub mod command;
pub(crate) mod drafts;
pub(crate) mod effect;
pub mod state;
pub(crate) mod update;
pub(crate) mod view;

pub use command::Command;
pub use state::State;
