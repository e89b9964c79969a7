//! Redrawn tiles of pictures that are not finished, on the disk: a job that was stopped or
//! interrupted goes on with them.
//!
//! A tile is known by a hash of everything that it is made from, the tiles beside it included. A
//! file that is damaged or cannot be written costs the time of its tile, and nothing else.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::steps::StepsKey;
use atelier_core::paths::write_atomic_bytes;
use atelier_core::recipe::Rgb8;

/// First bytes of a file: the form and its version.
const MAGIC: &[u8; 8] = b"ATLTILE1";
/// Bytes before the pixels: [`MAGIC`], width, height.
const HEAD_BYTES: usize = 16;
const ENDING: &str = "tile";
/// Bytes of all files; the oldest go first.
const MAX_BYTES: u64 = 1 << 30;

/// The stored tiles of a folder.
#[derive(Clone, Default)]
pub(crate) struct TileStore {
    /// Its folder, and how the processor computes: other arithmetic makes other bytes. `None`:
    /// nothing is stored.
    folder: Option<(PathBuf, &'static str)>,
}

impl TileStore {
    /// The store of this folder, which need not be there yet. `arithmetic` is a part of file names.
    pub(crate) const fn new(folder: PathBuf, arithmetic: &'static str) -> Self {
        Self { folder: Some((folder, arithmetic)) }
    }

    /// The tile of this key, where it was redrawn before.
    pub(crate) fn get(&self, key: &StepsKey) -> Option<Rgb8> {
        let bytes = fs::read(self.file(key)?).ok()?;
        let head = bytes.get(..HEAD_BYTES)?;
        let number = |at: usize| Some(u32::from_le_bytes(head.get(at..at + 4)?.try_into().ok()?));
        let (width, height) = (number(8)?, number(12)?);
        if head.get(..8)? != MAGIC {
            return None;
        }
        Rgb8::new(width, height, bytes.get(HEAD_BYTES..)?.to_vec())
    }

    /// Stores a tile, in the place of the oldest where there are too many.
    pub(crate) fn insert(&self, key: &StepsKey, tile: &Rgb8) {
        let (Some((folder, _)), Some(file)) = (&self.folder, self.file(key)) else { return };
        let mut bytes = MAGIC.to_vec();
        bytes.extend(tile.width().to_le_bytes());
        bytes.extend(tile.height().to_le_bytes());
        bytes.extend(tile.pixels());
        make_room(folder, MAX_BYTES.saturating_sub(bytes.len() as u64));
        if let Err(error) = fs::create_dir_all(folder).and_then(|()| write_atomic_bytes(&file, &bytes)) {
            tracing::warn!("a redrawn tile could not be stored: {error}");
        }
    }

    /// Removes tiles of a picture that is finished.
    pub(crate) fn remove(&self, keys: &[StepsKey]) {
        for file in keys.iter().filter_map(|key| self.file(key)) {
            // One that was not stored is not there.
            let _ = fs::remove_file(file);
        }
    }

    fn file(&self, key: &StepsKey) -> Option<PathBuf> {
        let (folder, arithmetic) = self.folder.as_ref()?;
        Some(folder.join(format!("{}-{arithmetic}.{ENDING}", key.hex())))
    }
}

/// Removes the oldest tiles of a folder until all others have no more than `most` bytes.
fn make_room(folder: &Path, most: u64) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut files: Vec<(SystemTime, PathBuf, u64)> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == ENDING))
        .filter_map(|path| {
            let metadata = path.metadata().ok()?;
            Some((metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH), path, metadata.len()))
        })
        .collect();
    files.sort();
    let mut bytes: u64 = files.iter().map(|(_, _, bytes)| bytes).sum();
    for (_, path, its_bytes) in files {
        if bytes <= most {
            break;
        }
        if fs::remove_file(path).is_ok() {
            bytes -= its_bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tile_comes_back_and_a_damaged_one_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let store = TileStore::new(folder.path().join("tiles"), "exact");
        let (key, other) = (StepsKey::of_number(1), StepsKey::of_number(2));
        let tile = Rgb8::new(2, 1, vec![1, 2, 3, 4, 5, 6]).unwrap();
        assert_eq!(store.get(&key), None);
        store.insert(&key, &tile);
        assert_eq!((store.get(&key), store.get(&other)), (Some(tile.clone()), None));
        let file = store.file(&key).unwrap();
        let whole = fs::read(&file).unwrap();
        for damaged in [&whole[..whole.len() - 1], &whole[..5], &[&whole[..], &[0]].concat()[..], b"ATLTILE2\x02\0\0\0\x01\0\0\0abcdef"] {
            fs::write(&file, damaged).unwrap();
            assert_eq!(store.get(&key), None);
        }
        store.insert(&other, &tile);
        store.remove(&[key, other]);
        assert_eq!(fs::read_dir(folder.path().join("tiles")).unwrap().count(), 0);
        let nowhere = TileStore::default();
        nowhere.insert(&key, &tile);
        assert_eq!(nowhere.get(&key), None);
    }

    #[test]
    fn the_oldest_tiles_make_room_and_files_of_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, age: u64| {
            let path = folder.path().join(name);
            fs::write(&path, [0; 100]).unwrap();
            let time = SystemTime::now() - std::time::Duration::from_secs(age);
            fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        };
        for (name, age) in [("a.tile", 30), ("b.tile", 20), ("c.tile", 10), ("notes.txt", 99)] {
            file(name, age);
        }
        make_room(folder.path(), 250);
        let names = || {
            let mut names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
            names.sort();
            names
        };
        assert_eq!(names(), ["b.tile", "c.tile", "notes.txt"]);
        make_room(folder.path(), 0);
        assert_eq!(names(), ["notes.txt"]);
    }
}
