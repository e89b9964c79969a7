//! The database of pictures and jobs: index, search, marks, and the queue on disk.
//!
//! Invariants: picture files are only read here; whatever the index knows of a file can be read from the file again, and whatever a person
//! said of it is also written beside the pictures, so a lost database costs a rescan. Not here: pixels for the screen, threads, interface.

#![forbid(unsafe_code)]

mod database;
mod error;
mod picture;
pub mod queue;
mod schema;

pub use database::{Database, DatabaseState};
pub use error::GalleryError;
pub use picture::{NewPicture, PictureFlag, PictureId, PictureKind, PictureState};
