//! Notices changes in folders, as the system tells them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use notify::event::{EventKind, ModifyKind};
use notify::{Config, Event, EventHandler, RecommendedWatcher, RecursiveMode, Watcher};

use super::walk::is_model_file;
use crate::manifest::MANIFEST;

/// Watches folders until it is dropped.
pub(super) struct Watch {
    watcher: Option<RecommendedWatcher>,
}

impl Watch {
    /// Calls `changed`, from a thread of its own, whenever a model file in one of the watched
    /// folders comes, goes or changes.
    pub(super) fn new(changed: impl Fn() + Send + 'static) -> Self {
        let told = move |event: notify::Result<Event>| {
            // An error of the system may stand for any change.
            if event.map_or(true, |event| matters(&event)) {
                changed();
            }
        };
        // A system without such a service leaves looking again to the person.
        Self { watcher: notify::recommended_watcher(told).ok() }
    }

    /// Watches this folder too. False: changes in it are not noticed.
    pub(super) fn add(&mut self, folder: &Path) -> bool {
        self.watcher.as_mut().is_some_and(|it| it.watch(folder, RecursiveMode::Recursive).is_ok())
    }
}

/// Watches folders that need not be there yet, until it is dropped.
#[derive(Debug)]
pub struct FolderWatch {
    _watcher: Option<RecommendedWatcher>,
}

impl FolderWatch {
    /// Calls `changed`, from a thread of its own, whenever something in one of these folders comes,
    /// goes or changes, or one of them comes. What such a folder holds is watched by the next one:
    /// make another once something changed. Blocks.
    #[must_use]
    pub fn new(folders: &[PathBuf], changed: impl Fn() + Send + 'static) -> Self {
        let places: Vec<PathBuf> = folders.iter().map(|folder| resolved(folder)).collect();
        let of_events = places.clone();
        Self::of(&places, move |event: notify::Result<Event>| {
            if event.map_or(true, |event| is_change(event.kind) && is_about(&event, &of_events)) {
                changed();
            }
        })
    }

    /// Watches places without links.
    fn of(places: &[PathBuf], told: impl EventHandler) -> Self {
        // What a folder holds may be a stranger's: a link in it leads to nothing that is read, and
        // would have all that it leads to watched.
        let config = Config::default().with_follow_symlinks(false);
        let mut watcher = RecommendedWatcher::new(told, config).ok();
        if let Some(watcher) = &mut watcher {
            let (whole, missing): (Vec<&PathBuf>, Vec<&PathBuf>) = places.iter().partition(|place| place.is_dir());
            let parents = missing.into_iter().filter_map(|place| place.ancestors().find(|it| it.is_dir()));
            // Each is watched once: several may have one parent, which may be watched as a whole too.
            let mut folders: BTreeMap<&Path, RecursiveMode> = parents.map(|folder| (folder, RecursiveMode::NonRecursive)).collect();
            folders.extend(whole.into_iter().map(|folder| (folder.as_path(), RecursiveMode::Recursive)));
            for (folder, mode) in folders {
                // What cannot be watched is read again at the next start.
                let _ = watcher.watch(folder, mode);
            }
        }
        Self { _watcher: watcher }
    }
}

/// The folder without links, as some systems tell its path, also where its end is not there yet.
fn resolved(folder: &Path) -> PathBuf {
    let without_links = || {
        let there = folder.ancestors().find(|it| it.is_dir())?;
        Some(there.canonicalize().ok()?.join(folder.strip_prefix(there).ok()?))
    };
    without_links().unwrap_or_else(|| folder.to_owned())
}

/// True where something happened in one of these places, or to a folder that leads to it.
fn is_about(event: &Event, places: &[PathBuf]) -> bool {
    let is_near = |path: &PathBuf| places.iter().any(|place| path.starts_with(place) || place.starts_with(path));
    event.paths.is_empty() || event.need_rescan() || event.paths.iter().any(is_near)
}

/// Our own reading is told too and changes nothing.
const fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(_) | EventKind::Modify(ModifyKind::Metadata(_)) => false,
        EventKind::Any | EventKind::Create(_) | EventKind::Modify(_) | EventKind::Remove(_) | EventKind::Other => true,
    }
}

/// A download that grows is not a model yet.
fn matters(event: &Event) -> bool {
    // A folder that was moved in or out is told by its own name alone.
    let named = |path: &Path| is_model_file(path) || path.ends_with(MANIFEST) || path.extension().is_none() || path.is_dir();
    is_change(event.kind) && (event.paths.is_empty() || event.need_rescan() || event.paths.iter().any(|it| named(it)))
}

#[cfg(test)]
mod tests;
