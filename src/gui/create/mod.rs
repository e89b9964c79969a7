//! The Create view: what to make, and the pictures that came of it.

pub mod panels;
pub mod progress;
pub mod session;
pub mod viewport;
