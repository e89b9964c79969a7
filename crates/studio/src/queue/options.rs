//! Options of the queue's thread.

use std::path::PathBuf;

use atelier_core::paths::Paths;
use atelier_peers::Network;

use super::model_lookup::ModelLookup;

/// Treatment of jobs that ran when the program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashedJobs {
    /// A person is asked.
    Ask,
    /// A job that ended the program once is begun again; one that did so twice is held.
    BeginAgain,
}

/// Options of the queue's thread.
#[derive(Clone, Debug)]
pub struct QueueOptions {
    /// The database; `None` keeps nothing beyond the process.
    pub database: Option<PathBuf>,
    /// Folder of pictures that waiting jobs start from and that are in no file; `None` keeps none.
    pub sources: Option<PathBuf>,
    /// Finds models that come while jobs wait for them; `None` finds none.
    pub models: Option<ModelLookup>,
    /// File of the other studios that are kept, for jobs of their models; `None` knows none.
    pub studios: Option<PathBuf>,
    /// Where one of them is looked for that has another address now.
    pub studios_network: Network,
    /// Treatment of jobs that ran when the program ended.
    pub crashed: CrashedJobs,
    /// A window: it takes the engine over from a command, which hands it over after the forming
    /// picture.
    pub is_window: bool,
}

impl QueueOptions {
    /// Options of the window; without folders of this person nothing is kept beyond the process.
    #[must_use]
    pub fn of_window(paths: Option<&Paths>) -> Self {
        Self { crashed: CrashedJobs::Ask, is_window: true, ..Self::of(paths) }
    }

    /// Options of a command that runs the queue.
    #[must_use]
    pub fn of_command(paths: &Paths) -> Self {
        Self::of(Some(paths))
    }

    fn of(paths: Option<&Paths>) -> Self {
        Self {
            database: paths.map(Paths::gallery_file),
            sources: paths.map(|paths| paths.data.join("queue")),
            models: paths.map(|paths| ModelLookup::new(paths.clone())),
            studios: paths.map(Paths::studios_file),
            studios_network: Network::default(),
            crashed: CrashedJobs::BeginAgain,
            is_window: false,
        }
    }
}
