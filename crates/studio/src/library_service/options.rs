//! Options of the library service.

use std::path::Path;
use std::sync::Arc;

use atelier_core::paths::Paths;
use atelier_downloads::{Options, TokenStore};
use atelier_library::LibraryConfig;

/// Folders and collaborators of the library service; tests replace some of them.
#[derive(Clone)]
pub struct LibraryOptions {
    /// The folders of this person.
    pub paths: Paths,
    /// Watch the folders for changes.
    pub watch: bool,
    /// Changes the options of the download queue before it starts.
    pub downloads: Arc<dyn Fn(&mut Options) + Send + Sync>,
    /// Token store, by the folder of the downloads' journal; a test must not touch a person's
    /// keyring.
    pub tokens: fn(&Path) -> TokenStore,
    /// Moves a file or folder to the trash.
    pub trash: fn(&Path) -> Result<(), String>,
}

impl std::fmt::Debug for LibraryOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LibraryOptions").field("paths", &self.paths).finish_non_exhaustive()
    }
}

impl LibraryOptions {
    /// Options of the shipped program for these folders.
    #[must_use]
    pub fn usual(paths: Paths) -> Self {
        Self { paths, watch: true, downloads: Arc::new(|_| ()), tokens: TokenStore::new, trash: atelier_library::to_trash }
    }

    /// Settings as saved, or default ones and a sentence where the file cannot be read.
    pub(super) fn read_config(&self) -> (LibraryConfig, Option<String>) {
        match LibraryConfig::read(&self.paths.library_file()) {
            Ok(config) => (config, None),
            Err(error) => (LibraryConfig::default(), Some(error.to_string())),
        }
    }
}
