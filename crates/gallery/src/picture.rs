//! Pictures of the index.

use std::path::{Path, PathBuf};

use atelier_media::{PictureSettings, StoredRecipe, Tool, read_settings};

use crate::GalleryError;
use crate::file_identity::{FileHash, FileIdentity};
use crate::queue::Owner;

/// Number of a picture in the index. Newer pictures have higher numbers.
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

impl PictureKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Kept, Self::Candidate, Self::Import];

    /// Name in the database and in searches.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Candidate => "candidate",
            Self::Import => "import",
        }
    }

    pub(crate) fn from_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.key() == key)
    }
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

impl PictureState {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::Here, Self::Missing, Self::Trashed, Self::Damaged];

    /// Name in the database and in searches.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Here => "here",
            Self::Missing => "missing",
            Self::Trashed => "trashed",
            Self::Damaged => "damaged",
        }
    }

    pub(crate) fn from_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.key() == key)
    }
}

/// Mark of a person who goes through pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureFlag {
    /// Chosen.
    Pick,
    /// Sorted out.
    Reject,
}

impl PictureFlag {
    /// Both flags.
    pub const ALL: [Self; 2] = [Self::Pick, Self::Reject];

    /// Name in the database, in searches and in journals.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Pick => "pick",
            Self::Reject => "reject",
        }
    }

    pub(crate) fn from_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.key() == key)
    }
}

/// The program of this name.
pub(crate) fn tool_from_key(key: &str) -> Option<Tool> {
    Tool::ALL.into_iter().find(|it| it.key() == key)
}

/// A picture that is added to the index.
#[derive(Clone, Debug, PartialEq)]
pub struct NewPicture {
    /// Its file, absolute.
    pub path: PathBuf,
    /// Size, time and hash of the file.
    pub identity: FileIdentity,
    /// Its origin.
    pub kind: PictureKind,
    /// What its file says of how it was made; `None` where no picture can be read from it.
    pub settings: Option<PictureSettings>,
    /// The picture that it was made from, where that is known.
    pub parent: Option<PathBuf>,
    /// Number that the pictures of one job share.
    pub batch: Option<i64>,
    /// Who asked for it. Its file does not tell.
    pub owner: Owner,
}

impl NewPicture {
    /// Reads what the index needs of a file: its headers, and 32 KiB for its hash. A file that is
    /// no picture has no settings. Blocks.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(path: &Path, kind: PictureKind) -> Result<Self, GalleryError> {
        let picture = Self::without_settings(path, kind)?;
        Ok(Self { settings: read_settings(&picture.path).ok(), ..picture })
    }

    /// A file whose contents are not looked into, as one that is damaged. Blocks.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn without_settings(path: &Path, kind: PictureKind) -> Result<Self, GalleryError> {
        let path = std::path::absolute(path).map_err(|error| GalleryError::file(path, error))?;
        let identity = FileIdentity::read(&path)?;
        Ok(Self { path, identity, kind, settings: None, parent: None, batch: None, owner: Owner::person() })
    }
}

/// A picture as a grid shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct PictureSummary {
    /// Its number.
    pub id: PictureId,
    /// Its file.
    pub path: PathBuf,
    /// Hash of its file, by which thumbnails are kept.
    pub file_hash: FileHash,
    /// Size of its file in bytes.
    pub bytes: u64,
    /// Width in pixels; 0 where it is damaged.
    pub width: u32,
    /// Height in pixels; 0 where it is damaged.
    pub height: u32,
    /// State of its file.
    pub state: PictureState,
    /// Its origin.
    pub kind: PictureKind,
    /// The program that made it, where its file says so.
    pub tool: Option<Tool>,
    /// 0 (none) to 5.
    pub rating: u8,
    /// The person's flag.
    pub flag: Option<PictureFlag>,
    /// Time at which the file was made, in milliseconds since 1970.
    pub created_ms: i64,
    /// The beginning of its prompt, at most 200 characters.
    pub prompt_start: String,
    /// It stopped before its last step and can be finished.
    pub is_draft: bool,
}

/// Everything that the index knows of a picture.
#[derive(Clone, Debug, PartialEq)]
pub struct PictureDetails {
    /// The picture.
    pub summary: PictureSummary,
    /// How it was made, without the file's own texts (`raw_texts`, `not_understood`), which are
    /// read from the file.
    pub settings: PictureSettings,
    /// Name of the model's main file, where Atelier made the picture.
    pub model_file: Option<String>,
    /// Tags, by name.
    pub tags: Vec<String>,
    /// Boards that it is on, by name.
    pub boards: Vec<String>,
    /// The person's note.
    pub note: String,
    /// Who asked for it; the person at the machine also where that is not known.
    pub owner: Owner,
    /// The picture that it was made from.
    pub parent: Option<PictureId>,
    /// Pictures that were made from it, newest first.
    pub children: Vec<PictureId>,
    /// Other pictures of the same job, newest first.
    pub batch: Vec<PictureId>,
}

impl PictureDetails {
    /// The recipe, where Atelier made the picture.
    #[must_use]
    pub const fn recipe(&self) -> Option<&StoredRecipe> {
        self.settings.recipe.as_ref()
    }
}
