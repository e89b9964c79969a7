//! The product without a face: window and command line both call it. No egui, no clap.

pub mod debounce;
mod engine;
pub mod library_service;
pub mod preloading;
pub mod results;

pub use engine::{EngineWake, start_engine};
