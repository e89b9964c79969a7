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
