//! Sharing this computer's models with other programs, people and phones: the server of
//! [`crate::http`], started and stopped here, with who is there, who asks, and codes for phones.

pub mod command;
pub mod state;
pub(crate) mod update;
pub(crate) mod view;
mod work;

pub use command::Command;
pub use state::State;
