//! Dialogs of the system for files.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use atelier_language::tr;
use atelier_media::PICTURE_ENDINGS;

/// A dialog that closes faster than this was never seen: no person is so quick.
const NEVER_SEEN: Duration = Duration::from_millis(150);

const MODEL_ENDINGS: &[&str] = &["safetensors", "gguf", "ckpt", "pth", "pt", "bin"];

/// A file dialog.
#[derive(Clone, Debug)]
pub(crate) struct FileDialog {
    title: String,
    picks: Picks,
    /// Kinds of files: their name, and the endings.
    filters: Vec<(&'static str, &'static [&'static str])>,
}

/// What a file dialog lets a person choose.
#[derive(Clone, Debug)]
enum Picks {
    File,
    Files,
    Folder,
    /// A file to write; this name is proposed.
    Target(String),
}

/// Result of a file dialog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// These were chosen.
    Paths(Vec<PathBuf>),
    Cancelled,
    /// It never opened: the system has no file dialog.
    NoDialog,
}

impl FileDialog {
    /// For one file.
    pub(crate) fn file(title: impl Into<String>) -> Self {
        Self { title: title.into(), picks: Picks::File, filters: Vec::new() }
    }

    /// For several files.
    pub(crate) fn files(title: &str) -> Self {
        Self { picks: Picks::Files, ..Self::file(title) }
    }

    /// For a folder.
    pub(crate) fn folder(title: &str) -> Self {
        Self { picks: Picks::Folder, ..Self::file(title) }
    }

    /// For a file to write, with this name where the person types no other.
    pub(crate) fn target(title: &str, name: impl Into<String>) -> Self {
        Self { picks: Picks::Target(name.into()), ..Self::file(title) }
    }

    /// Shows files of this kind alone.
    pub(crate) fn filter(mut self, name: &'static str, endings: &'static [&'static str]) -> Self {
        self.filters.push((name, endings));
        self
    }

    /// Shows model files alone.
    pub(crate) fn models(self) -> Self {
        self.filter(tr!("window-model-files"), MODEL_ENDINGS)
    }

    /// Shows pictures alone.
    pub(crate) fn pictures(self) -> Self {
        self.filter(tr!("window-pictures"), &PICTURE_ENDINGS)
    }
}

/// Shows the dialog until the person has answered. Blocks.
pub(crate) fn show(dialog: FileDialog) -> Choice {
    let opened = Instant::now();
    let FileDialog { title, picks, filters } = dialog;
    let dialog = rfd::FileDialog::new().set_title(title);
    let dialog = filters.into_iter().fold(dialog, |dialog, (name, endings)| dialog.add_filter(name, endings));
    let one = |path: Option<PathBuf>| path.map(|path| vec![path]);
    let paths = match picks {
        Picks::File => one(dialog.pick_file()),
        Picks::Files => dialog.pick_files(),
        Picks::Folder => one(dialog.pick_folder()),
        Picks::Target(name) => one(dialog.set_file_name(name).save_file()),
    };
    match paths {
        Some(paths) => Choice::Paths(paths),
        None if opened.elapsed() < NEVER_SEEN => Choice::NoDialog,
        None => Choice::Cancelled,
    }
}
