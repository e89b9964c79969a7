//! Small files of who may come in: each is read and written whole, and its owner's alone.

use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use atelier_core::advice::Advice;
use atelier_core::paths::write_private;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The largest one in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// What a file says; nothing where there is none. Blocks.
pub(super) fn read<T: DeserializeOwned + Default>(file: &Path) -> io::Result<T> {
    match std::fs::metadata(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(T::default()),
        Err(error) => return Err(error),
        Ok(about) if about.len() > MAX_BYTES => return Err(io::Error::other("it is too large")),
        Ok(_) => {}
    }
    Ok(serde_json::from_slice(&std::fs::read(file)?)?)
}

/// Replaces what a file says. Blocks.
pub(super) fn write<T: Serialize>(file: &Path, kept: &T) -> io::Result<()> {
    write_private(file, &serde_json::to_vec_pretty(kept)?)
}

/// By what a file is known to be the one that was read; `None` where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp(Option<(Option<SystemTime>, u64, u64)>);

impl Stamp {
    fn of(file: &Path) -> Self {
        let about = std::fs::metadata(file).ok();
        Self(about.map(|about| (about.modified().ok(), about.len(), number(&about))))
    }
}

/// The number of a file on its disk: each is written anew, so that two of one second differ.
#[cfg(unix)]
fn number(about: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(about)
}

#[cfg(not(unix))]
fn number(_: &Metadata) -> u64 {
    0
}

/// A file that other processes change too.
#[derive(Debug)]
pub(super) struct Followed {
    file: PathBuf,
    read: Option<Stamp>,
    /// The one that could not be read, which is told once.
    unread: Option<Stamp>,
}

impl Followed {
    /// A file that was not read yet.
    pub(super) const fn new(file: PathBuf) -> Self {
        Self { file, read: None, unread: None }
    }

    /// Reads the file where it is not the one that was read before; true where it was read. Blocks.
    pub(super) fn refresh(&mut self, read: impl FnOnce(&Path) -> Result<(), Advice>) -> bool {
        // Before it is read: what changes meanwhile is read the next time.
        let stamp = Stamp::of(&self.file);
        if self.read == Some(stamp) {
            return false;
        }
        match read(&self.file) {
            Ok(()) => self.read = Some(stamp),
            // What it said before holds, and it is tried again.
            Err(advice) if self.unread != Some(stamp) => {
                tracing::warn!("{advice}");
                self.unread = Some(stamp);
            }
            Err(_) => {}
        }
        self.read == Some(stamp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_again_once_it_was_changed_or_could_not_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("list.json");
        let mut followed = Followed::new(file.clone());
        let mut said = vec![7];
        let mut refresh = |said: &mut Vec<u32>| {
            followed.refresh(|file| {
                *said = read(file).map_err(|error| Advice::new(error.to_string(), ""))?;
                Ok(())
            })
        };
        assert_eq!((refresh(&mut said), said.len()), (true, 0), "there is no file yet");
        for number in [1, 2] {
            write(&file, &[number]).unwrap();
            assert_eq!([refresh(&mut said), refresh(&mut said)], [true, false]);
            assert_eq!(said, [number]);
        }
        std::fs::write(&file, b"[").unwrap();
        assert_eq!([refresh(&mut said), refresh(&mut said)], [false, false]);
        assert_eq!(said, [2], "what was read before holds");
        std::fs::remove_file(&file).unwrap();
        assert_eq!((refresh(&mut said), said.len()), (true, 0));
    }
}
