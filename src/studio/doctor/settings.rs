//! The settings files and what they name: readable, of a known version, and there.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::finding::Finding;
use atelier_core::json::has_more_values;
use atelier_core::paths::Paths;
use atelier_library::LibraryConfig;
use atelier_library::disk::{FileStatus, inspect_file};

const TOPIC: &str = "Settings";
/// Largest settings file that is read, in bytes, and values in it; as the window reads it.
const MAX_BYTES: u64 = 4 << 20;
const MAX_VALUES: usize = 1 << 17;
/// Version of the settings that this program reads.
const VERSION: u64 = 1;

pub(super) fn check(paths: &Paths, report: &mut dyn FnMut(Finding)) {
    match read(&paths.settings_file) {
        Ok(None) => report(Finding::ok(TOPIC, "There are none yet; the usual ones hold.")),
        Ok(Some(settings)) => {
            report(Finding::ok(TOPIC, format!("{} can be read.", paths.settings_file.display())));
            chosen_files(&settings, report);
        }
        Err(sentence) => report(Finding::broken(
            TOPIC,
            format!("{} {sentence}", paths.settings_file.display()),
            "The window would start with the usual settings and keep this file beside, as .bad. Repair it, or leave it to that.",
        )),
    }
    if let Some(folder) = paths.settings_file.parent()
        && let Some(kept) = kept_aside(folder)
    {
        let hint = "It holds settings that could not be read once. Delete it if you miss nothing.";
        report(Finding::attention(TOPIC, format!("{} is there.", kept.display()), hint));
    }
    match LibraryConfig::read(&paths.library_file()) {
        Ok(config) => {
            report(Finding::ok("Library settings", "They can be read."));
            for folder in config.folders.iter().filter(|it| !it.exists()) {
                let hint = "Plug its disk in, or stop using it in the Models view.";
                report(Finding::attention("Folders of models", format!("{} is not there.", folder.display()), hint));
            }
        }
        Err(error) => report(Finding::broken("Library settings", error.to_string(), "")),
    }
}

fn read(path: &Path) -> Result<Option<Value>, String> {
    let text = match fs::metadata(path).and_then(|file| if file.len() > MAX_BYTES { Ok(None) } else { fs::read(path).map(Some) }) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("cannot be read: {error}.")),
        Ok(None) => return Err("is too large for settings.".into()),
        Ok(Some(text)) => text,
    };
    if has_more_values(&text, MAX_VALUES) {
        return Err("has too many values for settings.".into());
    }
    let settings: Value = serde_json::from_slice(&text).map_err(|error| format!("is damaged: {error}."))?;
    match settings.get("version").and_then(Value::as_u64) {
        Some(VERSION) => Ok(Some(settings)),
        Some(version) => Err(format!("was written by another version of Atelier ({version}).")),
        None => Err("is damaged: it names no version.".into()),
    }
}

/// The files of the chosen model. The built-in one is checked by itself.
fn chosen_files(settings: &Value, report: &mut dyn FnMut(Finding)) {
    const TOPIC: &str = "Chosen model";
    let Some(files) = settings.pointer("/recipe/files").and_then(Value::as_object) else { return };
    for path in files.values().filter_map(Value::as_str).map(Path::new) {
        if !path.is_file() {
            let hint = "Put it back, or choose another file in the Create view.";
            report(Finding::attention(TOPIC, format!("{} is not there any more.", path.display()), hint));
        } else if let FileStatus::Faulty { advice, .. } = inspect_file(path) {
            report(Finding::broken(TOPIC, advice.sentence, advice.hint));
        } else {
            report(Finding::ok(TOPIC, format!("{} can be read.", file_name(path))));
        }
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// A settings file that was put aside because it could not be read.
fn kept_aside(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?;
    entries.flatten().map(|entry| entry.path()).find(|path| file_name(path).starts_with("settings.json.bad"))
}
