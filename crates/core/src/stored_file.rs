//! Files of Atelier's own that are read at a start: which of them is damaged, and what becomes of
//! it.
//!
//! One rule for all of them: only what was read and makes no sense is damaged, and is put aside
//! under another name. What cannot be read now, and what a newer Atelier wrote, stays as it is, and
//! nothing is written in its place.

use std::error::Error;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use atelier_language::tr;

/// Names that are tried for a file that is put aside.
const MAX_ASIDE: u32 = 1000;

/// EIO, ENXIO and ENODEV: what a Unix says of a disk that was pulled out.
const GONE: [i32; 3] = [5, 6, 19];

/// Reason for which a file tells nothing.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// It cannot be read now; it may be whole.
    #[error("{}", tr!("core-it-cannot-be-read", reason = _0))]
    Now(io::Error),
    /// A newer Atelier wrote it.
    #[error("{}", tr!("core-a-newer-version-of"))]
    Newer,
    /// It was read and makes no sense.
    #[error("{}", tr!("core-it-is-invalid", reason = _0))]
    Damaged(Box<dyn Error + Send + Sync>),
}

impl Unreadable {
    /// A file that was read and makes no sense.
    pub fn damaged(reason: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Damaged(reason.into())
    }
}

/// Reads a file of at most `max_bytes`; `None` where there is none. Blocks.
///
/// # Errors
/// If it cannot be read now, is damaged, or `parse` says so.
pub fn read_stored<T>(path: &Path, max_bytes: u64, parse: impl FnOnce(&[u8]) -> Result<T, Unreadable>) -> Result<Option<T>, Unreadable> {
    let mut bytes = Vec::new();
    match File::open(path).and_then(|file| file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)) {
        Ok(_) if bytes.len() as u64 > max_bytes => Err(Unreadable::damaged(tr!("core-it-is-too-large"))),
        Ok(_) => parse(&bytes).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Unreadable::Now(error)),
    }
}

/// Gives a damaged file the name [`aside_name`], and returns it.
pub fn put_aside(path: &Path) -> io::Result<PathBuf> {
    let aside = aside_name(path);
    fs::rename(path, &aside)?;
    Ok(aside)
}

/// `NAME.bad`, or `NAME.bad2` and so on where that is taken: nothing that was kept is overwritten.
#[must_use]
pub fn aside_name(path: &Path) -> PathBuf {
    let name = |number: u32| {
        let mut name = OsString::from(path);
        name.push(if number == 1 { ".bad".to_owned() } else { format!(".bad{number}") });
        PathBuf::from(name)
    };
    (1..MAX_ASIDE).map(name).find(|it| it.symlink_metadata().is_err()).unwrap_or_else(|| name(MAX_ASIDE))
}

/// True where the same may succeed later without anything changed but the disk: it is full,
/// protected against changes, or away.
#[must_use]
pub fn is_disk_trouble(error: &io::Error) -> bool {
    if cfg!(unix) && error.raw_os_error().is_some_and(|number| GONE.contains(&number)) {
        return true;
    }
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::ReadOnlyFilesystem
            | io::ErrorKind::StaleNetworkFileHandle
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(bytes: &[u8]) -> Result<u32, Unreadable> {
        let number: u32 =
            std::str::from_utf8(bytes).ok().and_then(|text| text.parse().ok()).ok_or_else(|| Unreadable::damaged("no number"))?;
        if number > 9 { Err(Unreadable::Newer) } else { Ok(number) }
    }

    #[test]
    fn only_what_was_read_and_makes_no_sense_is_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        assert!(matches!(read_stored(&path, 4, number), Ok(None)));
        for (text, holds) in [
            ("7", (|read| matches!(read, Ok(Some(7)))) as fn(Result<Option<u32>, Unreadable>) -> bool),
            ("x", |read| matches!(read, Err(Unreadable::Damaged(_)))),
            ("55", |read| matches!(read, Err(Unreadable::Newer))),
            ("00007", |read| matches!(read, Err(Unreadable::Damaged(_)))),
        ] {
            fs::write(&path, text).unwrap();
            assert!(holds(read_stored(&path, 4, number)), "{text}");
        }
        // A folder is there and cannot be read as a file.
        assert!(matches!(read_stored(folder.path(), 4, number), Err(Unreadable::Now(_))));
    }

    #[test]
    fn nothing_that_was_put_aside_is_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        for (text, name) in [("one", "a.json.bad"), ("two", "a.json.bad2"), ("three", "a.json.bad3")] {
            fs::write(&path, text).unwrap();
            assert_eq!(put_aside(&path).unwrap(), folder.path().join(name));
        }
        assert_eq!(fs::read_to_string(folder.path().join("a.json.bad")).unwrap(), "one");
        assert!(put_aside(&path).is_err());
    }
}
