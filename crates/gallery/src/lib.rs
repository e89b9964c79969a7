//! The database of pictures and jobs: index, search, marks, and the queue on disk.
//!
//! Invariants: picture files are only read here, but where a person moves one to the trash;
//! whatever the index knows of a file can be read from the file again, and whatever a person said
//! of it is also written beside the pictures, so a lost database costs a rescan. Everything here
//! blocks. Not here: pixels for the screen, threads, interface.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod checked_name;
mod database;
mod error;
mod file_identity;
#[cfg(test)]
mod fixture;
mod folders;
mod groups;
mod journal;
mod journaling;
mod marks;
mod picture;
mod query;
pub mod queue;
mod record;
mod rows;
mod scan;
mod schema;
mod search;
mod search_key;
mod stored_path;
mod thumbnails;
mod trash;
mod use_lock;

pub use database::{Database, DatabaseState, DatabaseVersion};
pub use error::GalleryError;
pub use file_identity::{FileHash, FileIdentity, now_ms};
pub use folders::{Folder, FolderId, FolderKind};
pub use groups::{Grouping, PictureGroup};
pub use marks::{Board, SavedSearch};
pub use picture::{NewPicture, PictureDetails, PictureFlag, PictureId, PictureKind, PictureState, PictureSummary};
pub use query::{Chip, FIELDS, Field, Query, field_term};
pub use rows::LatestPictures;
pub use scan::ScanReport;
pub use search::Order;
pub use thumbnails::{ThumbnailSize, Thumbnails};
pub use trash::{SystemTrash, Trash, TrashReport};
