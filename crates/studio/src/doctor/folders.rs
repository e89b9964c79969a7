//! Folders: there, writable, with room.

use std::io;
use std::path::Path;

use super::finding::Finding;
use atelier_core::format::file_size;
use atelier_core::paths::Paths;
use atelier_downloads::free_bytes;
use atelier_language::tr;
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
        let hint = tr!("studio-rename-or-move-that");
        return Finding::broken(topic, tr!("studio-is-a-file-where", shown), hint);
    }
    if let Err(error) = try_to_write(path) {
        let hint = tr!("studio-change-the-permissions-or");
        return Finding::broken(topic, tr!("studio-is-not-writable", shown, error), hint);
    }
    let made = if path.is_dir() { "" } else { tr!("studio-the-folder-is-created") };
    match free_bytes(path) {
        Ok(free) if free < MIN_FREE => Finding::broken(
            topic,
            tr!("studio-the-disk-of-is-full-are", shown, free = file_size(free)),
            tr!("studio-free-some-space-on-that-disk"),
        ),
        Ok(free) if free < room => {
            let sentence = tr!("studio-the-disk-of-is", shown, free = file_size(free));
            Finding::attention(topic, sentence, tr!("studio-free-some-space-on"))
        }
        Ok(free) => Finding::ok(topic, format!("{shown} is writable; {} are free.{made}", file_size(free))),
        Err(error) => Finding::attention(topic, tr!("studio-the-free-space-of", shown, error), ""),
    }
}

/// Makes and removes an empty file, in the nearest folder that is there.
fn try_to_write(path: &Path) -> io::Result<()> {
    let there = path.ancestors().find(|it| it.exists()).ok_or(io::ErrorKind::NotFound)?;
    tempfile::Builder::new().prefix(".atelier-").suffix(".check").tempfile_in(there)?.close()
}
