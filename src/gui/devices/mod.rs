//! The Devices view: where each module runs and its weights live.

pub mod board;
pub(crate) mod link;
pub(crate) mod view;
