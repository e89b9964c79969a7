//! Atelier: a desktop studio in which artists make images on the devices they own.
//!
//! A view of [`gui`] pushes a command, its feature submits a job to [`atelier_engine::Handle`], and
//! folds the [`atelier_engine::Event`]s that come back into the state that the view draws. The
//! command line ([`cli`]) is another caller of the same handle, and [`http`] serves other programs,
//! knowing neither; [`atelier_studio`] is what all three share.

pub mod cli;
pub mod http;
pub mod logging;

#[cfg(feature = "gui")]
pub mod gui;
#[cfg(feature = "gui")]
pub mod settings;
