//! Notices changes in folders, as the system tells them.

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
            let missing = places.iter().filter(|place| !place.is_dir());
            let parents = missing.filter_map(|place| place.ancestors().find(|it| it.is_dir()));
            // Those that are watched as a whole come last: one may be the parent of another, too.
            let whole = places.iter().map(PathBuf::as_path).filter(|place| place.is_dir());
            let parents = parents.map(|folder| (folder, RecursiveMode::NonRecursive));
            for (folder, mode) in parents.chain(whole.map(|folder| (folder, RecursiveMode::Recursive))) {
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
mod tests {
    use std::fs;
    use std::sync::mpsc::{Sender, channel};
    use std::time::Duration;

    use notify::event::{AccessKind, CreateKind, MetadataKind, RemoveKind};

    use super::*;

    #[test]
    fn a_folder_that_comes_is_told_and_what_lies_beside_it_is_not() {
        let data = tempfile::tempdir().unwrap();
        let [lists, tags] = ["wildcards", "more/tags"].map(|name| data.path().join(name));
        let (sender, told) = channel();
        let watch = |sender: Sender<()>| {
            FolderWatch::new(&[lists.clone(), tags.clone()], move || {
                // The last ones come when nobody listens any more.
                let _ = sender.send(());
            })
        };
        let comes = || told.recv_timeout(Duration::from_mins(1)).is_ok();
        let mut watching = watch(sender.clone());
        fs::write(data.path().join("queue.db"), "x").unwrap();
        fs::create_dir_all(&lists).unwrap();
        assert!(comes());
        for path in [lists.join("colour.txt"), tags.join("anime.csv")] {
            drop(watching);
            while told.try_recv().is_ok() {}
            watching = watch(sender.clone());
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "red\n").unwrap();
            assert!(comes(), "{}", path.display());
        }
        let about = |path: PathBuf| is_about(&Event::new(EventKind::Any).add_path(path), &[lists.clone(), tags.clone()]);
        assert!(about(lists.join("a/b.txt")) && about(data.path().join("more")));
        assert!(!about(data.path().join("queue.db")) && !about(data.path().join("wildcards.txt")));
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_may_be_a_link_and_links_in_it_are_not_followed() {
        use std::os::unix::fs::symlink;
        let data = tempfile::tempdir().unwrap();
        let [lists, elsewhere, link] = ["lists", "elsewhere", "wildcards"].map(|name| data.path().join(name));
        fs::create_dir(&lists).unwrap();
        fs::create_dir(&elsewhere).unwrap();
        symlink(&elsewhere, lists.join("more")).unwrap();
        symlink(&lists, &link).unwrap();
        let places = [link.join("not/yet"), link].map(|folder| resolved(&folder));
        let (sender, told) = channel();
        let _watching = FolderWatch::of(&places, move |event: notify::Result<Event>| {
            // The last ones come when nobody listens any more.
            let _ = sender.send(event.unwrap());
        });
        fs::write(elsewhere.join("of another.txt"), "x").unwrap();
        fs::write(lists.join("colour.txt"), "red\n").unwrap();
        let has = |event: &Event, name: &str| event.paths.iter().any(|path| path.ends_with(name));
        loop {
            let event = told.recv_timeout(Duration::from_mins(1)).unwrap();
            assert!(!has(&event, "of another.txt"), "{event:?}");
            if has(&event, "colour.txt") {
                assert!(is_about(&event, &places), "{event:?}");
                break;
            }
        }
        let of_missing = Event::new(EventKind::Any).add_path(lists.canonicalize().unwrap().join("not"));
        assert!(is_about(&of_missing, &places[..1]));
    }

    #[test]
    fn reading_is_no_change_and_a_growing_download_is_no_model() {
        let told = |kind, path: &str| matters(&Event::new(kind).add_path(path.into()));
        assert!(told(EventKind::Create(CreateKind::File), "/m/a.gguf"));
        assert!(told(EventKind::Remove(RemoveKind::Folder), "/m/z-image.turbo") || !told(EventKind::Remove(RemoveKind::Any), "/m/x.part"));
        assert!(told(EventKind::Remove(RemoveKind::Folder), "/m/folder"));
        assert!(told(EventKind::Create(CreateKind::File), "/m/x/manifest.json"));
        assert!(!told(EventKind::Access(AccessKind::Any), "/m/a.gguf"));
        assert!(!told(EventKind::Modify(ModifyKind::Metadata(MetadataKind::AccessTime)), "/m/a.gguf"));
        assert!(!told(EventKind::Modify(ModifyKind::Any), "/m/a.gguf.part"));
        assert!(!told(EventKind::Create(CreateKind::File), "/m/notes.txt"));
    }
}
