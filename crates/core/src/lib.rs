//! The vocabulary of Atelier: recipes, devices, placement, text forms of other programs, formats
//! and sentences for people, folders and atomic files.
//!
//! Pure but for [`paths`], [`owner_only`], [`reading`] and [`stored_file`]. No engine, no network,
//! no interface, no picture or model formats.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod advice;
pub mod bounded_reader;
pub mod canvas;
pub mod cpu_math;
pub mod device;
pub mod format;
pub mod grid;
pub mod json;
pub mod mailbox;
pub mod module;
mod module_names;
pub mod module_set;
pub mod owner_only;
pub mod picture_note;
pub mod plain_text;
pub mod processor;
pub mod reading;
pub mod recipe;
pub mod sentences;
pub mod stored_file;
pub mod time;
pub mod words;

pub mod placement;
pub mod sd_cli;

pub mod paths;
