//! The guides of the next picture: what it is made from beside its words. A picture to start from,
//! a mask, pictures to look at or to steer by, and a person.

pub mod command;
pub mod state;
pub(crate) mod update;
pub(crate) mod view;
pub(crate) mod work;

pub use command::Command;
pub use state::State;
