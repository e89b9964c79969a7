//! Finding the library, for every command that needs it.

use std::fs;
use std::path::{Path, PathBuf, absolute};
use std::sync::Arc;

use crate::cli::flags::LibraryFlags;
use crate::cli::usage_error::UsageError;
use atelier_core::paths::{NoHome, Paths};
use atelier_core::recipe::{embedding_word, names_embedding};
use atelier_library::disk::{ScanResult, Scanner, ScannerOptions};
use atelier_library::{
    Builtin, BuiltinError, Catalogue, LibraryConfig, LibraryConfigError, Manifest, Models, Problem, Role, Runnable, builtin_card,
    downloaded, lora_named, model_cards,
};
use atelier_studio::opened_picture::{KnownModels, OpenedPicture, read_opened_picture};

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
        let scan = Scanner::start(self.options.clone(), || ()).complete(go_on);
        (Models::new(self.models_root(), self.catalogue.clone(), &scan), scan)
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

/// The catalogue's entry of this name, where no model of this name is on this disk.
pub(in crate::cli) fn missing_model(name: &str, flags: &LibraryFlags, paths: &Paths) -> Option<Manifest> {
    let library = Library::find(flags, paths).ok()?;
    let entry = library.catalogue().find(name)?;
    library.runnable(name).is_err().then_some(entry)
}

/// The LoRAs that a prompt names, in this folder; without one, in the library. A path of a file is
/// taken as it is.
pub(in crate::cli) fn find_loras(
    names: &[String],
    folder: Option<&Path>,
    flags: &LibraryFlags,
    paths: impl FnOnce() -> Result<Paths, NoHome>,
) -> Result<Vec<PathBuf>, UsageError> {
    let files = if let Some(folder) = folder {
        let folder = absolute(folder).unwrap_or_else(|_| folder.to_owned());
        Library::find(flags, &paths()?)?.only(&folder, &|| true).files
    } else {
        let library = Library::find(flags, &paths()?)?;
        let (_, scan) = library.all(&|| true);
        scan.files.iter().filter(|file| file.role() == Some(Role::Lora)).cloned().collect()
    };
    let find = |name: &String| {
        let is_file = Path::new(name).is_file().then(|| PathBuf::from(name));
        let known = || lora_named(name, files.iter().map(|file| file.path.as_path())).map(Path::to_owned);
        is_file.or_else(known).ok_or_else(|| {
            let hint = "Set its folder with --lora-model-dir, or its file with --lora FILE:STRENGTH.";
            Problem::new(format!("There is no LoRA named {name}."), hint).into()
        })
    };
    names.iter().map(find).collect()
}

/// The embeddings in this folder that one of the prompts names.
pub(in crate::cli) fn find_embeddings(folder: &Path, prompts: &[&str]) -> Result<Vec<PathBuf>, UsageError> {
    let entries = fs::read_dir(folder).map_err(|error| {
        Problem::new(format!("The folder {} cannot be read: {error}.", folder.display()), "Choose another folder with --embd-dir.")
    })?;
    let is_model = |path: &Path| path.extension().is_some_and(|it| it == "safetensors" || it == "gguf");
    let is_named = |path: &Path| prompts.iter().any(|prompt| names_embedding(prompt, &embedding_word(path)));
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| is_model(path) && is_named(path)).collect();
    found.sort();
    Ok(found)
}

/// The settings of a picture, with its model and LoRAs among those of the library.
pub(in crate::cli) fn open_picture(
    path: &Path,
    flags: &LibraryFlags,
    paths: impl FnOnce() -> Result<Paths, NoHome>,
    builtin: &dyn Fn() -> Result<Builtin, BuiltinError>,
) -> Result<OpenedPicture, UsageError> {
    let paths = paths()?;
    let (models, scan) = Library::find(flags, &paths)?.all(&|| true);
    let downloads = downloaded(&paths.downloads()).into_iter().map(|it| (it.path, it.sha256)).collect();
    let mut cards = model_cards(&models, &scan, None, &downloads);
    cards.extend(builtin().ok().map(|builtin| builtin_card(&builtin)));
    let files: Vec<PathBuf> = cards.iter().flat_map(|card| &card.files).filter_map(|file| file.path.clone()).collect();
    let known = KnownModels { files: &files, cards: &cards };
    read_opened_picture(path, &known).ok_or_else(|| UsageError::NoSettings(path.to_owned()))
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
