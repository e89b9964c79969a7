//! Names of models, LoRAs and upscalers turned into files: for faces whose callers name them. Reads
//! folders and headers, so everything here blocks.

use std::path::{Path, PathBuf, absolute};
use std::sync::Arc;

use atelier_core::paths::Paths;
use atelier_library::disk::{ScanResult, Scanner, ScannerOptions};
use atelier_library::{
    Builtin, Catalogue, LibraryConfig, LibraryConfigError, Manifest, ModelCard, Models, Problem, Role, Runnable, builtin_card, downloaded,
    model_cards,
};

/// The library as this person's settings have it.
pub struct Library {
    options: ScannerOptions,
    catalogue: Catalogue,
    downloads: PathBuf,
    /// Faults of catalogues, in sentences.
    pub problems: Vec<String>,
    /// The settings.
    pub config: LibraryConfig,
}

impl Library {
    /// Reads settings and catalogues. `models_root`: folder of downloaded models in place of the one
    /// in the settings; `catalogues`: those beside the usual ones.
    ///
    /// # Errors
    /// If the settings cannot be read.
    pub fn open(paths: &Paths, models_root: Option<&Path>, catalogues: &[PathBuf]) -> Result<Self, LibraryConfigError> {
        let config = LibraryConfig::read(&paths.library_file())?;
        let mut options = config.scanner(paths, false);
        if let Some(root) = models_root {
            // Paths are remembered, and must hold from anywhere.
            options.models_root = absolute(root).unwrap_or_else(|_| root.to_owned());
        }
        let (catalogue, problems) = Catalogue::open(&paths.catalogues(), catalogues);
        let problems = problems.iter().map(ToString::to_string).collect();
        Ok(Self { options, catalogue, downloads: paths.downloads(), problems, config })
    }

    /// The folder of downloaded models.
    #[must_use]
    pub fn models_root(&self) -> &Path {
        &self.options.models_root
    }

    /// The catalogues as one.
    #[must_use]
    pub const fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// The downloaded models; other folders are not scanned.
    #[must_use]
    pub fn downloaded(&self) -> Models {
        Models::new(self.models_root(), self.catalogue.clone(), &ScanResult::default())
    }

    /// All models on the disk, with headers read. Stops early once `go_on` is false.
    pub fn all(&self, go_on: &dyn Fn() -> bool) -> (Models, Arc<ScanResult>) {
        let scan = Scanner::start(self.options.clone(), || ()).complete(go_on);
        (Models::new(self.models_root(), self.catalogue.clone(), &scan), scan)
    }

    /// One folder alone, with headers read.
    pub fn only(&self, folder: &Path, go_on: &dyn Fn() -> bool) -> ScanResult {
        let options = ScannerOptions { models_root: PathBuf::new(), added: vec![folder.to_owned()], ..self.options.clone() };
        ScanResult::clone(&Scanner::start(options, || ()).complete(go_on))
    }

    /// A card of everything on this machine and in the catalogue; the built-in model last.
    #[must_use]
    pub fn cards(&self, models: &Models, scan: &ScanResult, builtin: Option<&Builtin>) -> Vec<ModelCard> {
        let downloads = downloaded(&self.downloads).into_iter().map(|it| (it.path, it.sha256)).collect();
        let mut cards = model_cards(models, scan, None, &downloads);
        cards.extend(builtin.map(builtin_card));
        cards
    }

    /// The model of this name. Other folders are scanned only where it was not downloaded.
    ///
    /// # Errors
    /// If there is none, or it is not whole.
    pub fn runnable(&self, name: &str) -> Result<Runnable, Problem> {
        let downloaded = self.downloaded();
        if downloaded.installed_as(name).is_some() {
            return downloaded.runnable(name);
        }
        self.all(&|| true).0.runnable(name)
    }

    /// The catalogue's entry of this name, where no model of this name is on this disk.
    #[must_use]
    pub fn missing(&self, name: &str) -> Option<Manifest> {
        let entry = self.catalogue.find(name)?;
        self.runnable(name).is_err().then_some(entry)
    }
}

/// The LoRAs of a scan.
#[must_use]
pub fn lora_files(scan: &ScanResult) -> Vec<PathBuf> {
    scan.files.iter().filter(|file| file.role() == Some(Role::Lora)).map(|file| file.path.clone()).collect()
}
