//! Finding the library, for every command that needs it.

use std::path::{Path, PathBuf, absolute};
use std::sync::Arc;

use crate::cli::flags::LibraryFlags;
use crate::cli::usage_error::UsageError;
use atelier_core::paths::{NoHome, Paths};
use atelier_library::disk::{ScanResult, Scanner, ScannerOptions};
use atelier_library::{Catalogue, LibraryConfig, LibraryConfigError, Models, Problem, Runnable};

/// The library as the flags and the settings have it.
pub(in crate::cli) struct Library {
    options: ScannerOptions,
    catalogue: Catalogue,
    /// Faults of catalogues, in sentences.
    pub(in crate::cli) problems: Vec<String>,
    pub(in crate::cli) places: LibraryConfig,
}

impl Library {
    pub(in crate::cli) fn find(flags: &LibraryFlags, paths: &Paths) -> Result<Self, LibraryConfigError> {
        let places = LibraryConfig::read(&paths.library_file())?;
        let mut options = places.scanner(paths, false);
        if let Some(root) = &flags.models_root {
            // Paths are remembered, and must hold from anywhere.
            options.models_root = absolute(root).unwrap_or_else(|_| root.clone());
        }
        let (catalogue, problems) = Catalogue::open(&paths.catalogues(), &flags.catalogue);
        Ok(Self { options, catalogue, problems: problems.iter().map(ToString::to_string).collect(), places })
    }

    pub(in crate::cli) fn models_root(&self) -> &Path {
        &self.options.models_root
    }

    pub(in crate::cli) const fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// The downloaded models; other folders are not scanned.
    pub(in crate::cli) fn downloaded(&self) -> Models {
        Models::new(self.models_root(), self.catalogue.clone(), &ScanResult::default())
    }

    /// All models on the disk, with headers read. Stops early once `go_on` is false.
    pub(in crate::cli) fn all(&self, go_on: &dyn Fn() -> bool) -> (Models, Arc<ScanResult>) {
        let stock = Scanner::start(self.options.clone(), || ()).complete(go_on);
        (Models::new(self.models_root(), self.catalogue.clone(), &stock), stock)
    }

    /// One folder alone, with headers read.
    pub(in crate::cli) fn only(&self, folder: &Path, go_on: &dyn Fn() -> bool) -> ScanResult {
        let options = ScannerOptions { models_root: PathBuf::new(), added: vec![folder.to_owned()], ..self.options.clone() };
        ScanResult::clone(&Scanner::start(options, || ()).complete(go_on))
    }

    /// The model of this name. Other folders are scanned only where it was not downloaded.
    pub(in crate::cli) fn runnable(&self, name: &str) -> Result<Runnable, Problem> {
        let downloaded = self.downloaded();
        if downloaded.installed_as(name).is_some() {
            return downloaded.runnable(name);
        }
        self.all(&|| true).0.runnable(name)
    }
}

/// The model of this name, for `--model`.
pub(in crate::cli) fn find(
    name: &str,
    flags: &LibraryFlags,
    paths: impl FnOnce() -> Result<Paths, NoHome>,
) -> Result<Runnable, UsageError> {
    Ok(Library::find(flags, &paths()?)?.runnable(name)?)
}

/// The file of the upscaler of this name.
pub(in crate::cli) fn find_upscaler(
    name: &str,
    flags: &LibraryFlags,
    paths: impl FnOnce() -> Result<Paths, NoHome>,
) -> Result<PathBuf, UsageError> {
    let library = Library::find(flags, &paths()?)?;
    Ok(library.downloaded().upscaler(name)?)
}

/// True where the person agreed that pickles are opened.
pub(in crate::cli) fn allows_pickles(paths: impl FnOnce() -> Result<Paths, NoHome>) -> Result<bool, UsageError> {
    Ok(LibraryConfig::read(&paths()?.library_file())?.allow_pickles)
}
