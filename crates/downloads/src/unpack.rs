//! Archives: the files that a list names, and nothing else.
//!
//! Invariants: only plain files that the list names are written, only inside the job's folder,
//! whole or not at all. What an archive says of sizes is checked before a byte is unpacked, and
//! held to while unpacking.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use sha2::Digest as _;
use zip::ZipArchive;
use zip::result::ZipError;

use super::failure::{Cause, Failure};
use super::index::is_inside;
use super::job::UnpackList;
use super::transfer_error::{TransferError, is_full};

use crate::names::{FileName, Sha256};
use atelier_core::bounded_reader::BoundedReader;
use atelier_core::paths;
use atelier_language::tr;

/// No file of a model packs better than this; deflate itself reaches 1032.
const MAX_RATIO: u64 = 100;
/// Small files may pack as well as they like.
const SMALL_BYTES: u64 = 1 << 20;
/// Bytes that an archive's list of contents is read from.
const MAX_CONTENTS_BYTES: u64 = 16 << 20;
/// Bytes that are unpacked at a time.
const BLOCK_BYTES: usize = 256 << 10;

#[derive(Debug, thiserror::Error)]
pub(super) enum UnpackError {
    /// Something in it is wrong.
    #[error("{0}")]
    Wrong(String),
    /// The disk has no room for what is in it.
    #[error("{}", tr!("downloads-the-disk-is-full-2"))]
    Full {
        /// Bytes that are to be unpacked.
        needed: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// Its job does not want it now.
    #[error("{}", tr!("downloads-stopped"))]
    Stopped,
    /// The disk.
    #[error(transparent)]
    Disk(#[from] io::Error),
}

impl From<ZipError> for UnpackError {
    fn from(error: ZipError) -> Self {
        match error {
            ZipError::Io(error) if error.raw_os_error().is_some() => Self::Disk(error),
            other => Self::Wrong(other.to_string()),
        }
    }
}

impl UnpackError {
    /// The error of the transfer. A faulty archive is removed: it would be faulty the next time
    /// too.
    pub(super) fn file_error(self, archive: &Path) -> TransferError {
        let failed = |sentence: String, hint: &str, cause| TransferError::Failed(Failure::new(cause, sentence, hint));
        let name = archive.file_name().unwrap_or_default().display();
        match self {
            Self::Stopped => TransferError::Stopped,
            Self::Full { needed, free } => TransferError::Full { needed, free },
            Self::Disk(error) => {
                failed(tr!("downloads-could-not-be-unpacked", name, error), tr!("downloads-check-that-the-folder-is-writable"), Cause::Disk)
            }
            Self::Wrong(what) => {
                // Best effort: it is of no use, and in nobody's way.
                let _ = fs::remove_file(archive);
                failed(tr!("downloads-was-not-unpacked", name, what), tr!("downloads-the-archive-was-removed"), Cause::Archive)
            }
        }
    }
}

/// Limits and callbacks of unpacking.
pub(super) struct Around<'a> {
    /// Free space of the disk, in bytes.
    pub(super) free: u64,
    /// True once the job was stopped.
    pub(super) stopped: &'a dyn Fn() -> bool,
    /// Puts a file aside that is in the place of a new one.
    pub(super) make_room: &'a dyn Fn(&Path) -> io::Result<()>,
}

/// Unpacks what the list names into the folder. Returns the files, and their sums.
pub(super) fn unpack(archive: &Path, folder: &Path, list: &UnpackList, around: &Around<'_>) -> Result<Vec<(PathBuf, Sha256)>, UnpackError> {
    let (file, bound) = BoundedReader::new(File::open(archive)?, MAX_CONTENTS_BYTES);
    let mut zip = ZipArchive::new(io::BufReader::new(file))?;
    bound.lift();
    let (mut entries, mut needed) = (Vec::new(), 0u64);
    for name in &list.names {
        let entry = check(&mut zip, name, folder, list)?;
        needed = needed.saturating_add(entry.bytes);
        entries.push(entry);
    }
    if needed > around.free {
        return Err(UnpackError::Full { needed, free: around.free });
    }
    let (mut all, mut written) = (Vec::new(), Vec::new());
    for entry in entries {
        let done = unpack_one(&mut zip, &entry, around);
        match done {
            Ok((sum, now)) => {
                if now {
                    written.push(entry.target.clone());
                }
                all.push((entry.target, sum));
            }
            Err(error) => {
                for path in written {
                    let _ = fs::remove_file(path);
                }
                return Err(match error {
                    UnpackError::Disk(error) if is_full(&error) => UnpackError::Full { needed, free: 0 },
                    other => other,
                });
            }
        }
    }
    Ok(all)
}

/// Brings a file to its place; and says whether it was written, and not there already: the process
/// may have ended half-way before.
fn unpack_one<R: Read + io::Seek>(
    zip: &mut ZipArchive<R>,
    entry: &ArchiveEntry,
    around: &Around<'_>,
) -> Result<(Sha256, bool), UnpackError> {
    if fs::symlink_metadata(&entry.target).is_ok_and(|it| it.is_file() && it.len() == entry.bytes) {
        let packed = copy(zip, entry, around.stopped, &mut io::sink())?;
        if File::open(&entry.target).and_then(Sha256::of)? == packed {
            return Ok((packed, false));
        }
    }
    (around.make_room)(&entry.target)?;
    let mut went = None;
    let done = paths::write_atomic(&entry.target, |file| {
        let sum = copy(zip, entry, around.stopped, file);
        let failed = sum.is_err();
        went = Some(sum);
        if failed { Err(io::ErrorKind::Other.into()) } else { Ok(()) }
    });
    match (went, done) {
        (Some(Err(error)), _) => Err(error),
        (_, Err(error)) => Err(error.into()),
        (Some(Ok(sum)), Ok(())) => Ok((sum, true)),
        (None, Ok(())) => Err(io::Error::other(tr!("downloads-it-was-not-written")).into()),
    }
}

struct ArchiveEntry {
    index: usize,
    name: String,
    bytes: u64,
    target: PathBuf,
}

fn check<R: Read + io::Seek>(
    zip: &mut ZipArchive<R>,
    name: &FileName,
    folder: &Path,
    list: &UnpackList,
) -> Result<ArchiveEntry, UnpackError> {
    let wrong = |what: &str| UnpackError::Wrong(tr!("downloads-in-it", name = name.as_str(), what));
    let target = list.place(name).map_err(UnpackError::Wrong)?.in_folder(folder);
    let index = zip.index_for_name(name.as_str()).ok_or_else(|| wrong(tr!("downloads-is-missing")))?;
    let file = zip.by_index_raw(index)?;
    if file.encrypted() {
        return Err(wrong(tr!("downloads-is-password-protected")));
    }
    if file.is_symlink() || !file.is_file() {
        return Err(wrong(tr!("downloads-is-not-a-plain")));
    }
    let (bytes, packed) = (file.size(), file.compressed_size());
    if bytes > SMALL_BYTES && bytes / MAX_RATIO > packed {
        return Err(wrong(tr!("downloads-claims-to-unpack-to")));
    }
    if !is_inside(folder, &target)? {
        return Err(wrong(tr!("downloads-would-leave-the-models")));
    }
    Ok(ArchiveEntry { index, name: name.as_str().to_owned(), bytes, target })
}

/// Copies what is packed, and returns its sum.
fn copy<R: Read + io::Seek>(
    zip: &mut ZipArchive<R>,
    entry: &ArchiveEntry,
    stopped: &dyn Fn() -> bool,
    to: &mut dyn Write,
) -> Result<Sha256, UnpackError> {
    let wrong = |what: &str| UnpackError::Wrong(tr!("downloads-in-it", name = entry.name, what));
    // One byte more than it said shows that it lied.
    let mut packed = zip.by_index(entry.index)?.take(entry.bytes.saturating_add(1));
    let (mut block, mut bytes, mut sum) = (vec![0; BLOCK_BYTES], 0, sha2::Sha256::new());
    loop {
        if stopped() {
            return Err(UnpackError::Stopped);
        }
        let read = match packed.read(&mut block) {
            Err(error) if error.raw_os_error().is_none() => return Err(wrong(tr!("downloads-is-damaged"))),
            other => other?,
        };
        bytes += read as u64;
        if bytes > entry.bytes || read == 0 && bytes < entry.bytes {
            return Err(wrong(tr!("downloads-has-the-wrong-size")));
        }
        let Some(read) = block.get(..read).filter(|it| !it.is_empty()) else { break };
        sum.update(read);
        to.write_all(read)?;
    }
    Ok(Sha256::from(<[u8; 32]>::from(sum.finalize())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use zip::write::{SimpleFileOptions, ZipWriter};

    fn names(names: &[&str]) -> Vec<FileName> {
        names.iter().map(|name| FileName::try_from((*name).to_owned()).unwrap()).collect()
    }

    fn archive(folder: &Path, fill: impl FnOnce(&mut ZipWriter<File>)) -> PathBuf {
        let path = folder.join("a.zip");
        let mut zip = ZipWriter::new(File::create(&path).unwrap());
        fill(&mut zip);
        zip.finish().unwrap();
        path
    }

    fn add(zip: &mut ZipWriter<File>, name: &str, bytes: &[u8]) {
        zip.start_file(name, SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }

    type Unpacked = Result<Vec<(PathBuf, Sha256)>, UnpackError>;

    fn around(free: u64) -> Around<'static> {
        let make_room = |path: &Path| if path.exists() { fs::rename(path, path.with_extension("old")) } else { Ok(()) };
        Around { free, stopped: &|| false, make_room: Box::leak(Box::new(make_room)) }
    }

    /// Unpacks into `model` beside the archive, and gives what is there then.
    fn result(path: &Path, list: &UnpackList, free: u64) -> (Unpacked, Vec<String>) {
        let folder = path.parent().unwrap().join("model");
        let result = unpack(path, &folder, list, &around(free));
        let mut found = Vec::new();
        let mut folders = vec![folder.clone()];
        while let Some(inner) = folders.pop() {
            for entry in fs::read_dir(inner).into_iter().flatten().flatten() {
                if entry.path().is_dir() {
                    folders.push(entry.path());
                } else {
                    found.push(entry.path().strip_prefix(&folder).unwrap().to_str().unwrap().to_owned());
                }
            }
        }
        found.sort();
        (result, found)
    }

    #[test]
    fn only_what_the_list_names_is_unpacked() {
        let dir = tempfile::tempdir().unwrap();
        let path = archive(dir.path(), |zip| {
            add(zip, "weights/model.bin", b"model");
            add(zip, "../evil", b"evil");
            add(zip, "readme", b"words");
        });
        let list = UnpackList { names: names(&["weights/model.bin"]), flat: false };
        let (done, found) = result(&path, &list, u64::MAX);
        done.unwrap();
        assert_eq!(found, ["weights/model.bin"]);
        let list = UnpackList { flat: true, ..list };
        let place = dir.path().join("model/model.bin");
        let sum = Sha256::of(&b"model"[..]).unwrap();
        assert_eq!(result(&path, &list, u64::MAX).0.unwrap(), [(place.clone(), sum)]);
        let (done, found) = result(&path, &list, u64::MAX);
        assert_eq!(done.unwrap(), [(place.clone(), sum)]);
        assert_eq!(found, ["model.bin", "weights/model.bin"], "what is there already is left as it is");
        fs::write(&place, b"other").unwrap();
        let (done, found) = result(&path, &list, u64::MAX);
        assert_eq!(done.unwrap(), [(place.clone(), sum)]);
        assert_eq!(found, ["model.bin", "model.old", "weights/model.bin"], "another file is put aside");
        assert_eq!(fs::read(place).unwrap(), b"model");
        assert!(!dir.path().join("evil").exists());
    }

    #[test]
    fn a_link_a_folder_and_a_missing_name_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = archive(dir.path(), |zip| {
            zip.add_symlink("link", "/etc/passwd", SimpleFileOptions::default()).unwrap();
            zip.add_directory("folder", SimpleFileOptions::default()).unwrap();
            add(zip, "good", b"good");
        });
        for name in ["link", "folder", "missing"] {
            let (done, found) = result(&path, &UnpackList { names: names(&["good", name]), flat: false }, u64::MAX);
            assert!(matches!(done, Err(UnpackError::Wrong(_))), "{name}: {done:?}");
            assert!(found.is_empty(), "{name}: {found:?}");
        }
    }

    #[test]
    fn a_bomb_is_refused_before_a_byte_is_unpacked() {
        let dir = tempfile::tempdir().unwrap();
        let path = archive(dir.path(), |zip| add(zip, "bomb", &vec![0; 64 << 20]));
        assert!(fs::metadata(&path).unwrap().len() < 1 << 20);
        let list = UnpackList { names: names(&["bomb"]), flat: true };
        let (done, found) = result(&path, &list, u64::MAX);
        assert!(matches!(&done, Err(UnpackError::Wrong(what)) if what.contains("more than any")), "{done:?}");
        assert!(found.is_empty());
    }

    #[test]
    fn an_archive_that_lies_about_sizes_or_is_damaged_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let body: Vec<u8> = (0..100_000u32).flat_map(|it| it.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        let path = archive(dir.path(), |zip| {
            add(zip, "first", b"first");
            add(zip, "second", &body);
        });
        let whole = fs::read(&path).unwrap();
        let list = UnpackList { names: names(&["first", "second"]), flat: true };
        result(&path, &list, u64::MAX).0.unwrap();
        fs::remove_dir_all(dir.path().join("model")).unwrap();
        // The size in the central directory: 24 bytes after the signature of the last entry.
        let central = whole.windows(4).rposition(|it| it == b"PK\x01\x02").unwrap();
        for size in [body.len() as u32 - 1, body.len() as u32 + 1, 10] {
            let mut lying = whole.clone();
            lying[central + 24..central + 28].copy_from_slice(&size.to_le_bytes());
            fs::write(&path, &lying).unwrap();
            let (done, found) = result(&path, &list, u64::MAX);
            assert!(matches!(done, Err(UnpackError::Wrong(_))), "{size}: {done:?}");
            assert!(found.is_empty(), "{found:?}");
        }
        let mut damaged = whole.clone();
        damaged[whole.len() / 2] ^= 0x55;
        fs::write(&path, &damaged).unwrap();
        let (done, found) = result(&path, &list, u64::MAX);
        assert!(matches!(done, Err(UnpackError::Wrong(_))), "{done:?}");
        assert!(found.is_empty());
        fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        assert!(matches!(result(&path, &list, u64::MAX).0, Err(UnpackError::Wrong(_))));
    }

    #[test]
    fn what_does_not_fit_waits_and_what_is_stopped_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = archive(dir.path(), |zip| add(zip, "a", &[7; 1000]));
        let list = UnpackList { names: names(&["a"]), flat: true };
        let (done, found) = result(&path, &list, 999);
        assert!(matches!(done, Err(UnpackError::Full { needed: 1000, free: 999 })), "{done:?}");
        assert!(found.is_empty() && path.exists());
        let folder = dir.path().join("model");
        assert!(matches!(unpack(&path, &folder, &list, &Around { stopped: &|| true, ..around(u64::MAX) }), Err(UnpackError::Stopped)));
        assert!(!folder.join("a").exists());
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_is_a_link_is_not_followed_out() {
        let dir = tempfile::tempdir().unwrap();
        let path = archive(dir.path(), |zip| add(zip, "deep/a", b"a"));
        fs::create_dir_all(dir.path().join("model")).unwrap();
        fs::create_dir_all(dir.path().join("outside")).unwrap();
        std::os::unix::fs::symlink(dir.path().join("outside"), dir.path().join("model/deep")).unwrap();
        let (done, _) = result(&path, &UnpackList { names: names(&["deep/a"]), flat: false }, u64::MAX);
        assert!(matches!(done, Err(UnpackError::Wrong(_))), "{done:?}");
        assert!(!dir.path().join("outside/a").exists());
    }
}
