//! What the view is told by the keeper, and what it asks the person, as plain data.

use atelier_library::Licence;
use atelier_library::downloads::{HubFile, Repository};

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
