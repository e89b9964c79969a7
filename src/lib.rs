//! Atelier: a desktop studio in which artists make images on the devices they own.
//!
//! How a prompt travels: a panel in [`gui`] sends a command, [`gui`] turns it into an [`atelier_engine::Request`], the engine's thread runs it and
//! answers with [`atelier_engine::Event`]s, [`gui`] folds those into the state that the panels draw. The command line ([`cli`]) is another
//! caller of the same [`atelier_engine::Handle`].

pub mod cli;

#[cfg(feature = "gui")]
pub mod gui;
#[cfg(feature = "gui")]
pub mod settings;
pub mod studio;
