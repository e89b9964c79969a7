//! The settings files and what they name: readable, of a known version, and there.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::finding::Finding;
use crate::settings_file::read_settings_file;
use atelier_core::paths::Paths;
use atelier_language::tr;
use atelier_library::LibraryConfig;
use atelier_library::disk::{FileStatus, inspect_file};

const TOPIC: &str = "Settings";

pub(super) fn check(paths: &Paths, report: &mut dyn FnMut(Finding)) {
    match read_settings_file(&paths.settings_file) {
        Ok(None) => report(Finding::ok(TOPIC, tr!("studio-no-settings-file-yet"))),
        Ok(Some(settings)) => {
            report(Finding::ok(TOPIC, tr!("studio-is-readable-2", settings_file = paths.settings_file.display())));
            chosen_files(&settings, report);
        }
        Err(problem) => {
            let advice = problem.advice();
            report(Finding::broken(TOPIC, advice.sentence, advice.hint));
        }
    }
    if let Some(folder) = paths.settings_file.parent()
        && let Some(kept) = kept_aside(folder)
    {
        let hint = tr!("studio-this-file-holds-settings");
        report(Finding::attention(TOPIC, tr!("studio-exists", kept = kept.display()), hint));
    }
    match LibraryConfig::read(&paths.library_file()) {
        Ok(config) => {
            report(Finding::ok("Library settings", "Readable."));
            for folder in config.folders.iter().filter(|it| !it.exists()) {
                let hint = tr!("studio-connect-its-disk-or");
                report(Finding::attention("Folders of models", tr!("studio-does-not-exist", folder = folder.display()), hint));
            }
        }
        Err(error) => report(Finding::broken("Library settings", error.to_string(), "")),
    }
}

/// The files of the chosen model. The built-in one is checked by itself.
fn chosen_files(settings: &Value, report: &mut dyn FnMut(Finding)) {
    const TOPIC: &str = "Chosen model";
    let Some(files) = settings.pointer("/recipe/files").and_then(Value::as_object) else { return };
    for path in files.values().filter_map(Value::as_str).map(Path::new) {
        if !path.is_file() {
            let hint = tr!("studio-restore-the-file-or");
            report(Finding::attention(TOPIC, tr!("studio-no-longer-exists", path = path.display()), hint));
        } else if let FileStatus::Faulty { advice, .. } = inspect_file(path) {
            report(Finding::broken(TOPIC, advice.sentence, advice.hint));
        } else {
            report(Finding::ok(TOPIC, tr!("studio-is-readable", path = file_name(path))));
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
