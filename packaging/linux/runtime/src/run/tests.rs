//! Tests of the cache folder, with small images that are made here.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::SystemTime;

use super::*;
use crate::fixture::{Entry, image};

/// An AppImage's contents; the number is its version.
fn version(number: u32) -> Image {
    let long: Vec<u8> = (0..10_000_u32).map(|n| (n % 251) as u8).collect();
    let tree = [
        Entry::File("AppRun", 0o755, format!("#!/bin/sh\necho {number}\n").into_bytes()),
        Entry::Link("atelier.desktop", "usr/share/atelier.desktop"),
        Entry::Folder(
            "usr",
            vec![
                Entry::File("library.so", 0o644, long),
                Entry::Folder(
                    "share",
                    vec![Entry::File("atelier.desktop", 0o644, b"[Desktop Entry]\n".to_vec()), Entry::File("empty", 0o644, Vec::new())],
                ),
            ],
        ),
    ];
    let mut file = tempfile::tempfile().unwrap();
    // Something else stands before it, as in an AppImage.
    io::Write::write_all(&mut file, &[&[7; 100][..], &image(number, &tree)].concat()).unwrap();
    Image::open(file, 100).unwrap()
}

/// Everything in a folder but the lock: path, and what it is.
fn contents(folder: &Path) -> Vec<(String, String)> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(at) = folders.pop() {
        for path in fs::read_dir(&at).unwrap().map(|entry| entry.unwrap().path()) {
            let about = fs::symlink_metadata(&path).unwrap();
            let what = if about.is_dir() {
                folders.push(path.clone());
                "folder".to_owned()
            } else if about.is_symlink() {
                format!("-> {}", fs::read_link(&path).unwrap().display())
            } else {
                format!("{:o} {:016x}", about.permissions().mode() & 0o777, hash(&fs::read(&path).unwrap()))
            };
            found.push((path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned(), what));
        }
    }
    found.retain(|(name, _)| name != LOCK);
    found.sort();
    found
}

fn names(cache: &Path) -> Vec<String> {
    fs::read_dir(cache).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn set_age(path: &Path, age: Duration) {
    File::open(path).unwrap().set_modified(SystemTime::now() - age).unwrap();
}

#[test]
fn a_version_is_unpacked_once_and_held() {
    let home = tempfile::tempdir().unwrap();
    let cache = home.path().join("deep/cache");
    let (folder, lock) = unpacked(&mut version(1), &cache).unwrap();
    let whole = contents(&folder);
    assert_eq!(whole.len(), 7, "{whole:?}");
    assert_eq!(fs::read_to_string(folder.join("AppRun")).unwrap(), "#!/bin/sh\necho 1\n");
    assert_eq!(fs::read_to_string(folder.join("atelier.desktop")).unwrap(), "[Desktop Entry]\n");
    let inode = fs::metadata(folder.join("usr/library.so")).unwrap().ino();
    let (again, second) = unpacked(&mut version(1), &cache).unwrap();
    assert_eq!((&again, contents(&again)), (&folder, whole));
    assert_eq!(fs::metadata(folder.join("usr/library.so")).unwrap().ino(), inode, "nothing is written twice");
    // Another version lets it be while it runs.
    let (other, _held) = unpacked(&mut version(2), &cache).unwrap();
    assert!(folder.is_dir() && other != folder);
    drop((lock, second));
    unpacked(&mut version(3), &cache).unwrap();
    assert!(!folder.exists() && other.is_dir());
    assert!(names(&cache).iter().all(|name| !name.ends_with(PART_ENDING)), "{:?}", names(&cache));
}

#[test]
fn what_a_cleaner_removed_or_a_power_cut_emptied_is_put_back() {
    let cache = tempfile::tempdir().unwrap();
    let (folder, lock) = unpacked(&mut version(1), cache.path()).unwrap();
    let whole = contents(&folder);
    drop(lock);
    let remove = |name: &str| fs::remove_file(folder.join(name)).unwrap();
    let damages: [(&str, &dyn Fn()); 8] = [
        ("the program", &|| remove("AppRun")),
        ("a folder", &|| fs::remove_dir_all(folder.join("usr/share")).unwrap()),
        ("a link", &|| remove("atelier.desktop")),
        ("a link's target", &|| {
            remove("atelier.desktop");
            symlink("/nowhere", folder.join("atelier.desktop")).unwrap();
        }),
        ("the bytes", &|| File::create(folder.join("usr/library.so")).map(drop).unwrap()),
        ("the right to run", &|| fs::set_permissions(folder.join("AppRun"), fs::Permissions::from_mode(0o644)).unwrap()),
        ("a file in place of a folder", &|| {
            fs::remove_dir_all(folder.join("usr")).unwrap();
            fs::write(folder.join("usr"), "x").unwrap();
        }),
        ("the lock", &|| remove(LOCK)),
    ];
    for (what, damage) in damages {
        damage();
        let (again, _lock) = unpacked(&mut version(1), cache.path()).unwrap();
        assert_eq!((again, contents(&folder)), (folder.clone(), whole.clone()), "{what}");
        assert!(folder.join(LOCK).is_file(), "{what}");
    }
}

#[test]
fn what_is_put_back_does_not_disturb_who_runs() {
    let cache = tempfile::tempdir().unwrap();
    let (folder, _lock) = unpacked(&mut version(1), cache.path()).unwrap();
    let whole = contents(&folder);
    let open = File::open(folder.join("usr/library.so")).unwrap();
    fs::remove_file(folder.join("AppRun")).unwrap();
    unpacked(&mut version(1), cache.path()).unwrap();
    assert_eq!(contents(&folder), whole);
    assert_eq!(open.metadata().unwrap().ino(), fs::metadata(folder.join("usr/library.so")).unwrap().ino());
}

#[test]
fn what_an_ended_start_left_goes_and_what_one_writes_stays() {
    let cache = tempfile::tempdir().unwrap();
    let [begun, left, early, late, foreign] =
        ["aa.part", "bb.part", "4711.part", "4712.part", "foreign"].map(|name| cache.path().join(name));
    for folder in [&begun, &left, &early, &late, &foreign] {
        fs::create_dir_all(folder.join("whole")).unwrap();
        fs::write(folder.join("whole/AppRun"), "x").unwrap();
    }
    let _held = hold(&begun).unwrap().unwrap();
    drop(hold(&left).unwrap());
    set_age(&early, PART_MAX_AGE * 2);
    set_age(&foreign, PART_MAX_AGE * 2);
    unpacked(&mut version(1), cache.path()).unwrap();
    assert!(begun.exists() && late.exists() && foreign.exists());
    assert!(!left.exists() && !early.exists());
}

#[test]
fn parts_have_names_of_their_own() {
    let names: std::collections::BTreeSet<String> = (0..1000).map(|_| new_part_name()).collect();
    assert_eq!(names.len(), 1000);
}

#[test]
fn a_folder_that_is_removed_while_its_lock_is_waited_for_is_not_held() {
    let cache = tempfile::tempdir().unwrap();
    let folder = cache.path().join("old");
    fs::create_dir(&folder).unwrap();
    let remover = File::create(folder.join(LOCK)).unwrap();
    remover.lock().unwrap();
    let waiting = {
        let folder = folder.clone();
        thread::spawn(move || hold(&folder).unwrap().is_some())
    };
    // As `remove_unused` does it: renamed and removed under the lock. Whether the other thread
    // waits for it already is all the same.
    remove(&folder);
    drop(remover);
    assert!(!waiting.join().unwrap());
    assert!(!folder.exists());
}

#[test]
fn starts_of_two_versions_at_once_all_get_a_whole_folder() {
    let cache = tempfile::tempdir().unwrap();
    let expected: Vec<_> = [1, 2].map(|number| contents(&unpacked(&mut version(number), &cache.path().join("other")).unwrap().0)).into();
    let together = Arc::new(Barrier::new(8));
    let starts: Vec<_> = (0..8_u32)
        .map(|n| {
            let (together, cache) = (Arc::clone(&together), cache.path().to_owned());
            thread::spawn(move || {
                let mut image = version(n % 2 + 1);
                together.wait();
                (0..20).map(|_| unpacked(&mut image, &cache).map(|(folder, _lock)| contents(&folder))).collect::<Result<Vec<_>, _>>()
            })
        })
        .collect();
    for (n, start) in starts.into_iter().enumerate() {
        for found in start.join().unwrap().unwrap() {
            assert_eq!(found, expected[n % 2]);
        }
    }
}

#[test]
fn versions_that_run_stay_and_others_go() {
    let cache = tempfile::tempdir().unwrap();
    let [running, old, foreign] = ["running", "old", "foreign"].map(|name| cache.path().join(name));
    for folder in [&running, &old, &foreign] {
        fs::create_dir(folder).unwrap();
    }
    let held = File::create(running.join(LOCK)).unwrap();
    held.lock_shared().unwrap();
    File::create(old.join(LOCK)).unwrap();
    remove_unused(cache.path());
    assert!(running.exists() && foreign.exists() && !old.exists());
}

#[test]
fn this_test_ends_where_its_sections_do() {
    let itself = env::current_exe().unwrap();
    let end = end_of_elf(&mut File::open(&itself).unwrap()).unwrap();
    assert_eq!(end, fs::metadata(&itself).unwrap().len());
}

#[test]
fn what_is_no_image_is_an_error() {
    let file = tempfile::tempfile().unwrap();
    assert!(Image::open(file.try_clone().unwrap(), 0).is_err());
    file.set_len(4096).unwrap();
    assert!(Image::open(file, 0).is_err());
}
