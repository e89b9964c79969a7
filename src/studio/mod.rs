//! The product without a face: window and command line both use it.

#[cfg(feature = "gui")]
pub mod library_service;
