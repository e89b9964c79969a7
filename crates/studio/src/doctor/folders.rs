//! Folders: there, writable, with room.

use std::io;
use std::path::Path;

use super::finding::Finding;
use atelier_core::format::file_size;
use atelier_core::paths::Paths;
use atelier_downloads::free_bytes;
use atelier_library::LibraryConfig;

/// Less room than this is as good as none, in bytes.
const MIN_FREE: u64 = 64 << 20;
/// Room under which the next pictures or settings may not be kept, in bytes.
const ROOM_FOR_PICTURES: u64 = 1 << 30;
/// Room under which a downloaded model may not fit, in bytes.
const ROOM_FOR_MODELS: u64 = 8 << 30;

pub(super) fn check(paths: &Paths, report: &mut dyn FnMut(Finding)) {
    let models = LibraryConfig::read(&paths.library_file()).ok().and_then(|it| it.models_root).unwrap_or_else(|| paths.models.clone());
    if let Some(settings) = paths.settings_file.parent() {
        report(folder("Settings folder", settings, MIN_FREE));
    }
    report(folder("Data folder", &paths.data, MIN_FREE));
    report(folder("Pictures folder", &paths.pictures, ROOM_FOR_PICTURES));
    report(folder("Models folder", &models, ROOM_FOR_MODELS));
}

/// Finding about a folder that Atelier writes to; `room` is what it should have free, in bytes.
pub(super) fn folder(topic: &'static str, path: &Path, room: u64) -> Finding {
    let shown = path.display();
    if path.exists() && !path.is_dir() {
        let hint = "Rename or move that file, or choose another folder in the settings.";
        return Finding::broken(topic, format!("{shown} is a file where a folder should be."), hint);
    }
    if let Err(error) = try_to_write(path) {
        let hint = "Change the permissions, or choose another folder in the settings.";
        return Finding::broken(topic, format!("{shown} is not writable: {error}."), hint);
    }
    let made = if path.is_dir() { "" } else { " The folder is created when first needed." };
    match free_bytes(path) {
        Ok(free) if free < MIN_FREE => {
            Finding::broken(topic, format!("The disk of {shown} is full: {} are free.", file_size(free)), "Free some space on that disk.")
        }
        Ok(free) if free < room => {
            let sentence = format!("The disk of {shown} is nearly full: {} are free.", file_size(free));
            Finding::attention(topic, sentence, "Free some space on that disk, or choose another folder in the settings.")
        }
        Ok(free) => Finding::ok(topic, format!("{shown} is writable; {} are free.{made}", file_size(free))),
        Err(error) => Finding::attention(topic, format!("The free space of {shown} is unknown: {error}."), ""),
    }
}

/// Makes and removes an empty file, in the nearest folder that is there.
fn try_to_write(path: &Path) -> io::Result<()> {
    let there = path.ancestors().find(|it| it.exists()).ok_or(io::ErrorKind::NotFound)?;
    tempfile::Builder::new().prefix(".atelier-").suffix(".check").tempfile_in(there)?.close()
}
