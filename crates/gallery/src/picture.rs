//! Pictures of the index.

use std::path::PathBuf;

use atelier_media::PictureSettings;

/// Number of a picture in the index. Newer pictures have higher numbers, as far as their times are known when they are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PictureId(pub i64);

/// Origin of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureKind {
    /// Made by Atelier and kept.
    Kept,
    /// Made by Atelier as one of several to choose from.
    Candidate,
    /// Found in a folder.
    Import,
}

/// State of a picture's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureState {
    /// It is where the index says.
    Here,
    /// It is not, or its folder is not.
    Missing,
    /// It is in the system's trash.
    Trashed,
    /// It is there and no picture can be read from it.
    Damaged,
}

/// Mark of a person who goes through pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureFlag {
    /// Chosen.
    Pick,
    /// Sorted out.
    Reject,
}

/// A picture that is added to the index.
#[derive(Clone, Debug, PartialEq)]
pub struct NewPicture {
    /// Its file.
    pub path: PathBuf,
    /// Its origin.
    pub kind: PictureKind,
    /// What its file says of how it was made.
    pub settings: PictureSettings,
    /// The picture that it was made from, where that is known.
    pub parent: Option<PathBuf>,
    /// Number that the pictures of one job share.
    pub batch: Option<i64>,
}
