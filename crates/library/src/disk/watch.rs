//! Notices changes in folders, as the system tells them.

use std::path::Path;

use notify::event::{EventKind, ModifyKind};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};

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

/// Our own reading is told too and changes nothing; a download that grows is not a model yet.
fn matters(event: &Event) -> bool {
    let kind = match event.kind {
        EventKind::Access(_) | EventKind::Modify(ModifyKind::Metadata(_)) => false,
        EventKind::Any | EventKind::Create(_) | EventKind::Modify(_) | EventKind::Remove(_) | EventKind::Other => true,
    };
    // A folder that was moved in or out is told by its own name alone.
    let named = |path: &Path| is_model_file(path) || path.ends_with(MANIFEST) || path.extension().is_none() || path.is_dir();
    kind && (event.paths.is_empty() || event.need_rescan() || event.paths.iter().any(|it| named(it)))
}

#[cfg(test)]
mod tests {
    use notify::event::{AccessKind, CreateKind, MetadataKind, RemoveKind};

    use super::*;

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
