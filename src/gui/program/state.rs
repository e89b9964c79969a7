//! State of what concerns the program itself.

use std::path::PathBuf;

use atelier_core::paths::Paths;
use atelier_studio::crash_report::{LastCrash, Watch};
use atelier_studio::updates::{Feed, Release, UpdateSettings};

/// State of what concerns the program itself.
#[derive(Debug, Default)]
pub struct State {
    /// This person's folders; `None` keeps nothing.
    pub paths: Option<Paths>,
    pub is_about_open: bool,
    /// The page of licences; `None` until it is found.
    pub licences: Option<PathBuf>,
    /// The crash of the last window, until it is dismissed.
    pub crash: Option<LastCrash>,
    /// Looking for new versions.
    pub updates: Updates,
    /// The watch of this window; `None` where it is not this person's only one.
    pub(crate) watch: Option<Watch>,
}

impl State {
    /// The state at the start.
    #[must_use]
    pub fn new(paths: Option<Paths>, feed: Option<Feed>, settings: UpdateSettings) -> Self {
        Self { paths, updates: Updates { feed, settings, ..Updates::default() }, ..Self::default() }
    }
}

/// Looking for new versions.
#[derive(Debug, Default)]
pub struct Updates {
    /// Where they are published; `None`: this build asks nobody, and says nothing of it.
    pub feed: Option<Feed>,
    /// The person's answer, and what was found.
    pub settings: UpdateSettings,
    /// A newer version, until it is dismissed.
    pub release: Option<Release>,
    pub is_checking: bool,
    /// A check failed since the start; the next start tries again.
    pub has_failed: bool,
}
