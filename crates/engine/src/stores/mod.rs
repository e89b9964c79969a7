//! What an engine keeps from one job to the next, in memory and on the disk.
//!
//! Not here: models ([`crate::cache`]) and rates of devices ([`crate::rates`]).

pub(crate) mod faults;
pub(crate) mod finite_adapters;
pub(crate) mod history;
pub(crate) mod steps;
pub(crate) mod tile_store;
