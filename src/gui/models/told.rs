//! What the view is told by the keeper, and what it asks the person, as plain data.

use std::collections::BTreeSet;
use std::path::PathBuf;

use atelier_library::{Licence, ModelCard};
use atelier_library::downloads::{HubFile, Repository};

/// What the keeper knows, as a whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shelf {
    /// The models: the built-in one, then what is here, then what can be had.
    pub cards: Vec<ModelCard>,
    /// The families that they belong to.
    pub families: Vec<String>,
    /// The folders that are looked through, Atelier's own first.
    pub folders: Vec<FolderLine>,
    /// What could not be read, in sentences.
    pub problems: Vec<String>,
    /// Whether every folder was listed.
    pub listed: bool,
    /// Whether every file was looked into, too.
    pub complete: bool,
    /// Ids of good first models for this machine.
    pub first_choices: Vec<String>,
    /// What all model files take on disk, in bytes, once it was counted.
    pub total_bytes: Option<u64>,
    /// What the person chose.
    pub choices: Choices,
}

/// What a person chose for the library.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// Where downloaded models go.
    pub models_root: PathBuf,
    /// Whether that is the usual folder.
    pub usual_root: bool,
    /// How many files come at the same time.
    pub at_once: usize,
    /// Whether a token is known.
    pub token: TokenState,
    /// Models whose terms the person accepted.
    pub accepted: BTreeSet<String>,
}

/// Whether a token for Hugging Face is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TokenState {
    /// None.
    #[default]
    None,
    /// One that was pasted here.
    Kept,
    /// One that another program or the environment has.
    Around,
}

/// A folder with models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderLine {
    /// Where it is.
    pub path: PathBuf,
    /// Who laid it out, in a word.
    pub layout: &'static str,
    /// How many model files are in it.
    pub files: usize,
    /// What they take, in bytes.
    pub bytes: u64,
    /// Whether it is Atelier's own.
    pub own: bool,
}

/// Whether downloads can be had.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DownloadsState {
    /// They are starting.
    #[default]
    Starting,
    /// They work.
    Ready,
    /// They cannot be used, and why.
    Refused(String),
}

/// What Hugging Face was asked, and what it answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hub {
    /// What was searched for; `None`: the page is not shown.
    pub text: Option<String>,
    /// What was found, or why nothing; `None` while the answer is on its way.
    pub found: Option<Result<Vec<Repository>, String>>,
    /// The repository that is looked into.
    pub repo: Option<String>,
    /// Its model files, or why there are none; `None` while the answer is on its way.
    pub files: Option<Result<Vec<HubFile>, String>>,
}

/// A question about terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The model.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// Its terms.
    pub terms: Licence,
    /// What follows once they are accepted.
    pub then: Then,
}

/// What follows once terms are accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Then {
    /// Download it, by this name.
    Get(String),
    /// Download what this model of loose files still needs.
    GetMissing(String),
    /// Use it.
    Use,
}

/// What would go, where a model is taken away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Farewell {
    /// The model.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// Names of the files that go.
    pub going: Vec<String>,
    /// Names of the files that stay, with why.
    pub staying: Vec<(String, String)>,
    /// What goes, in bytes.
    pub bytes: u64,
}

/// Whether a model's files are what they should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Check {
    /// They are being read.
    Running {
        /// Bytes that were read.
        bytes: u64,
        /// Bytes to read, where that is known.
        total: Option<u64>,
    },
    /// Each file's name, whether it is right, and what there is to say.
    Done(Vec<(String, bool, String)>),
}
