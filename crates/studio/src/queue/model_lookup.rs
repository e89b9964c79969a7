//! Models that come while jobs wait for them.

use std::path::PathBuf;

use atelier_core::paths::Paths;
use atelier_library::disk::ScanResult;
use atelier_library::{Catalogue, Defaults, LibraryConfig, Models, Runnable};

/// Finds downloaded models by their names in the catalogue.
#[derive(Clone, Debug)]
pub struct ModelLookup {
    paths: Paths,
    /// Folder of downloaded models, in place of the one in the settings.
    models_root: Option<PathBuf>,
    /// Catalogues beside the usual ones.
    catalogues: Vec<PathBuf>,
}

impl ModelLookup {
    /// The lookup in this person's folders.
    #[must_use]
    pub const fn new(paths: Paths) -> Self {
        Self { paths, models_root: None, catalogues: Vec::new() }
    }

    /// The same with another folder of models, and with more catalogues.
    #[must_use]
    pub fn with(self, models_root: Option<PathBuf>, catalogues: Vec<PathBuf>) -> Self {
        Self { models_root, catalogues, ..self }
    }

    /// The settings that suit a model of the catalogue. Blocks.
    #[must_use]
    pub fn defaults(&self, name: &str) -> Option<Defaults> {
        Some(Catalogue::open(&self.paths.catalogues(), &self.catalogues).0.find(name)?.defaults)
    }

    /// The model of this name, where all its files are here. Blocks.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Runnable> {
        let config = LibraryConfig::read(&self.paths.library_file()).ok()?;
        let root = self.models_root.clone().unwrap_or_else(|| config.scanner(&self.paths, false).models_root);
        let (catalogue, _) = Catalogue::open(&self.paths.catalogues(), &self.catalogues);
        let models = Models::new(&root, catalogue, &ScanResult::default());
        models.installed_as(name).filter(|model| model.files.is_ok())?;
        models.runnable(name).ok()
    }
}
