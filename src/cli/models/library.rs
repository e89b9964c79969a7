//! Finding the library, for every command that needs it.

use std::fs;
use std::path::{Path, PathBuf, absolute};

use crate::cli::flags::LibraryFlags;
use crate::cli::usage_error::UsageError;
use atelier_core::paths::{NoHome, Paths};
use atelier_core::recipe::{embedding_word, names_embedding};
use atelier_library::{Builtin, BuiltinError, LibraryConfig, LibraryConfigError, Manifest, Problem, Runnable, lora_named};
use atelier_studio::model_names::{Library, lora_files};
use atelier_studio::opened_picture::{KnownModels, OpenedPicture, read_opened_picture};

/// The library as the flags and the settings have it.
pub(in crate::cli) fn open_library(flags: &LibraryFlags, paths: &Paths) -> Result<Library, LibraryConfigError> {
    Library::open(paths, flags.models_root.as_deref(), &flags.catalogue)
}

/// The model of this name, for `--model`.
pub(in crate::cli) fn find(
    name: &str,
    flags: &LibraryFlags,
    paths: impl FnOnce() -> Result<Paths, NoHome>,
) -> Result<Runnable, UsageError> {
    Ok(open_library(flags, &paths()?)?.runnable(name)?)
}

/// The catalogue's entry of this name, where no model of this name is on this disk.
pub(in crate::cli) fn missing_model(name: &str, flags: &LibraryFlags, paths: &Paths) -> Option<Manifest> {
    open_library(flags, paths).ok()?.missing(name)
}

/// The LoRAs that a prompt names, in this folder; without one, in the library. A path of a file is
/// taken as it is.
pub(in crate::cli) fn find_loras(
    names: &[String],
    folder: Option<&Path>,
    flags: &LibraryFlags,
    paths: impl FnOnce() -> Result<Paths, NoHome>,
) -> Result<Vec<PathBuf>, UsageError> {
    let library = open_library(flags, &paths()?)?;
    let files = if let Some(folder) = folder {
        let folder = absolute(folder).unwrap_or_else(|_| folder.to_owned());
        library.only(&folder, &|| true).files.iter().map(|file| file.path.clone()).collect()
    } else {
        lora_files(&library.all(&|| true).1)
    };
    let find = |name: &String| {
        let is_file = Path::new(name).is_file().then(|| PathBuf::from(name));
        let known = || lora_named(name, files.iter().map(PathBuf::as_path)).map(Path::to_owned);
        is_file.or_else(known).ok_or_else(|| {
            let hint = "Set its folder with --lora-model-dir, or its file with --lora FILE:STRENGTH.";
            Problem::new(format!("There is no LoRA named {name}."), hint).into()
        })
    };
    names.iter().map(find).collect()
}

/// The embeddings in this folder that one of the prompts names.
///
/// # Errors
/// A folder that cannot be read, or a named embedding that sd-cli reads and Atelier does not.
pub(in crate::cli) fn find_embeddings(folder: &Path, prompts: &[&str]) -> Result<Vec<PathBuf>, UsageError> {
    let entries = fs::read_dir(folder).map_err(|error| {
        Problem::new(format!("The folder {} cannot be read: {error}.", folder.display()), "Choose another folder with --embd-dir.")
    })?;
    let ends = |path: &Path, endings: &[&str]| path.extension().is_some_and(|it| endings.iter().any(|ending| it == *ending));
    let is_named = |path: &PathBuf| prompts.iter().any(|prompt| names_embedding(prompt, &embedding_word(path)));
    let (mut found, others): (Vec<PathBuf>, Vec<PathBuf>) =
        entries.flatten().map(|entry| entry.path()).filter(is_named).partition(|path| ends(path, &["safetensors", "gguf"]));
    let is_found = |path: &Path| found.iter().any(|it| embedding_word(it).eq_ignore_ascii_case(&embedding_word(path)));
    if let Some(pickle) = others.iter().find(|path| ends(path, &["pt"]) && !is_found(path)) {
        let name = pickle.file_name().unwrap_or_default().display();
        let hint = "Save it as .safetensors, or leave its word out of the prompt.";
        return Err(Problem::new(format!("The prompt names the embedding {name}, a pickle, which Atelier does not open."), hint).into());
    }
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
    let library = open_library(flags, &paths)?;
    let (models, scan) = library.all(&|| true);
    let cards = library.cards(&models, &scan, builtin().ok().as_ref());
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
    let library = open_library(flags, &paths()?)?;
    Ok(library.downloaded().upscaler(name)?)
}

/// True where the person agreed that pickles are opened.
pub(in crate::cli) fn allows_pickles(paths: impl FnOnce() -> Result<Paths, NoHome>) -> Result<bool, UsageError> {
    Ok(LibraryConfig::read(&paths()?.library_file())?.allow_pickles)
}
