//! Atelier: a desktop studio in which artists make images on the devices they own.
//!
//! How a prompt travels: a panel in [`ui`] sends a command, [`app`] turns it into an [`engine::Request`], the engine's thread runs it and
//! answers with [`engine::Event`]s, [`app`] folds those into the state that the panels draw. The command line ([`cli`]) is another
//! caller of the same [`engine::Handle`].

pub mod devices;
pub mod recipe;
pub mod words;

pub mod engine;
pub mod placement;
pub mod sd_cli;

pub mod gallery;
pub mod library;
pub mod paths;

pub mod cli;

#[cfg(feature = "gui")]
pub mod app;
#[cfg(feature = "gui")]
pub mod settings;
#[cfg(feature = "gui")]
pub mod ui;
