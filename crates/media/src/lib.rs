//! Picture files: writing them with what is needed to make them again, reading that back, and reading pictures to start from.
//!
//! Invariants: a picture file is never overwritten unless its exact name was asked for; no file holds a path of the machine it was made
//! on; nothing read from a file is trusted. Not here: the index of all pictures, and anything of the interface.

#![forbid(unsafe_code)]

pub mod a1111;
mod error;
mod image_in;
mod names;
mod png;
mod stored;

pub use error::GalleryError;
pub use image_in::{MAX_SIDE, fit_image, image_size, read_image, read_mask};
pub use png::{Metadata, read_metadata, save_picture, write_picture};
pub use stored::{Missing, Need, Restored, StoredFile, StoredRecipe};
