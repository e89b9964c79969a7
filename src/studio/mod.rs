//! The product without a face: window and command line both use it.

pub mod debounce;
#[cfg(feature = "gui")]
pub mod library_service;
pub mod preloading;
