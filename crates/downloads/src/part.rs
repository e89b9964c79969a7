//! A file that is not whole yet: its bytes, their hash, and the note that says whose bytes they
//! are.
//!
//! Invariants: the note is on the disk before the first byte is, and is gone before the bytes of
//! another version come, so bytes beside a note are a beginning of what it names, whenever the
//! process dies. The hash is that of the bytes in the file. A file gets its name only when its size
//! and hash are right and it is flushed.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::Digest;

use super::job::{NOTE, PART, Source};
use super::progress_counter::ProgressCounter;
use crate::names::Sha256;
use atelier_core::paths;
use atelier_language::tr;

/// Bytes that are read at a time.
const BLOCK_BYTES: usize = 1 << 20;
/// A note longer than this is not ours.
const MAX_NOTE_BYTES: u64 = 64 << 10;

/// Source and version of the bytes of a part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PartMetadata {
    pub(super) source: Option<Source>,
    /// The hash that was wanted.
    pub(super) wanted: Option<Sha256>,
    /// The hash that the server named.
    pub(super) linked: Option<Sha256>,
    /// The server's `ETag`, as it was sent.
    pub(super) etag: Option<String>,
    /// The server's `Last-Modified`, as it was sent.
    pub(super) modified: Option<String>,
    /// The size of the whole file in bytes.
    pub(super) total: Option<u64>,
}

impl PartMetadata {
    /// An `ETag` that names bytes, not only a meaning (RFC 9110, 8.8.1).
    pub(super) fn strong_etag(&self) -> Option<&str> {
        self.etag.as_deref().filter(|it| it.starts_with('"'))
    }

    /// True if bytes of this version can be gone on with: something will tell if the server has
    /// another one by then.
    pub(super) fn can_resume(&self) -> bool {
        self.linked.is_some() || self.wanted.is_some() || self.strong_etag().is_some() || self.modified.is_some()
    }

    /// True if a server that says `now` still has the same version, as far as the two can be
    /// compared.
    pub(super) fn is_same(&self, now: &Self) -> bool {
        if self.total.is_some() && now.total.is_some() && self.total != now.total {
            return false;
        }
        if let (Some(one), Some(other)) = (self.linked, now.linked) {
            return one == other;
        }
        let bare = |it: &str| it.trim_start_matches("W/").to_owned();
        match (&self.etag, &now.etag) {
            (Some(one), Some(other)) => bare(one) == bare(other),
            _ => self.modified.is_none() || now.modified.is_none() || self.modified == now.modified,
        }
    }

    /// True if a server that says `now` certainly has the same version: it is named by what stands
    /// for the bytes.
    pub(super) fn is_surely(&self, now: &Self) -> bool {
        let linked = self.linked.is_some() && self.linked == now.linked;
        self.is_same(now) && (linked || self.strong_etag().is_some() && self.strong_etag() == now.strong_etag())
    }
}

/// Reason for which a part cannot be continued.
#[derive(Debug, thiserror::Error)]
pub(super) enum PartError {
    /// Another process, or another job, writes it.
    #[error("{}", tr!("downloads-it-is-being-downloaded"))]
    InUse,
    /// It was stopped by its job.
    #[error("{}", tr!("downloads-stopped"))]
    Stopped,
    /// The disk.
    #[error(transparent)]
    Disk(#[from] io::Error),
}

/// A file that is not whole yet. Its bytes belong to this object alone while it lives.
pub(super) struct Part {
    path: PathBuf,
    note_path: PathBuf,
    target: PathBuf,
    file: File,
    hash: sha2::Sha256,
    bytes: u64,
    metadata: Option<PartMetadata>,
}

impl Part {
    /// Opens what is there of a file, or begins it, and reads the bytes that are there.
    pub(super) fn open(target: &Path, counter: &ProgressCounter, stopped: impl Fn() -> bool) -> Result<Self, PartError> {
        let (path, note_path) = (beside(target, PART), beside(target, NOTE));
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder)?;
        }
        // A link would lead the bytes somewhere else.
        if fs::symlink_metadata(&path).is_ok_and(|it| it.is_symlink()) {
            fs::remove_file(&path)?;
        }
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => return Err(PartError::InUse),
            // Some network disks know no locks.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        let metadata = read_metadata(&note_path);
        let mut part = Self { path, note_path, target: target.to_owned(), file, hash: sha2::Sha256::new(), bytes: 0, metadata };
        let there = part.file.metadata()?.len();
        if part.metadata.is_none() || part.metadata.as_ref().and_then(|metadata| metadata.total).is_some_and(|total| there > total) {
            part.clear()?;
            return Ok(part);
        }
        let mut block = vec![0; BLOCK_BYTES];
        loop {
            if stopped() {
                return Err(PartError::Stopped);
            }
            let read = match part.file.read(&mut block) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            let Some(read) = block.get(..read).filter(|it| !it.is_empty()) else { return Ok(part) };
            part.hash.update(read);
            part.bytes += read.len() as u64;
            counter.set_bytes(part.bytes);
        }
    }

    /// Bytes that are there.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whose bytes they are.
    pub(super) fn metadata(&self) -> Option<&PartMetadata> {
        self.metadata.as_ref()
    }

    /// The folder it is in.
    pub(super) fn folder(&self) -> &Path {
        self.target.parent().unwrap_or(Path::new("."))
    }

    /// Forgets what is there.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        paths::remove_if_there(&self.note_path)?;
        self.metadata = None;
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0))?;
        (self.hash, self.bytes) = (sha2::Sha256::new(), 0);
        Ok(())
    }

    /// Begins anew with the bytes of this version.
    pub(super) fn begin(&mut self, metadata: PartMetadata) -> io::Result<()> {
        self.clear()?;
        let text = serde_json::to_vec(&metadata).map_err(io::Error::other)?;
        // The source may have a key of the person's in it.
        paths::write_private(&self.note_path, &text)?;
        self.metadata = Some(metadata);
        Ok(())
    }

    /// Adds bytes. After an error those that were there are still there.
    pub(super) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Err(error) = self.file.write_all(bytes) {
            self.file.set_len(self.bytes)?;
            self.file.seek(SeekFrom::Start(self.bytes))?;
            return Err(error);
        }
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// The hash of the bytes that are there.
    pub(super) fn sum(&self) -> Sha256 {
        Sha256::from(<[u8; 32]>::from(self.hash.clone().finalize()))
    }

    /// The bytes that are there. Some systems let nobody else read them.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Gives the file its name. Its size and hash have been found right.
    pub(super) fn settle(self) -> io::Result<()> {
        self.file.sync_all()?;
        paths::rename_whole(&self.path, &self.target)?;
        paths::remove_if_there(&self.note_path)
    }

    /// Removes what is there.
    pub(super) fn discard(self) -> io::Result<()> {
        drop(self.file);
        paths::remove_if_there(&self.note_path)?;
        paths::remove_if_there(&self.path)
    }
}

/// Removes what was left of a file that is not wanted any longer; what cannot be removed stays.
pub(super) fn remove_part(target: &Path) {
    for end in [NOTE, PART] {
        if let Err(error) = paths::remove_if_there(&beside(target, end)) {
            tracing::warn!(path = %target.display(), %error, "a part of a download could not be removed");
        }
    }
}

/// Bytes of a file that is not whole, without reading them, and of the whole, where the server has
/// told.
pub(super) fn bytes_there(target: &Path) -> (u64, Option<u64>) {
    let Some(metadata) = read_metadata(&beside(target, NOTE)) else { return (0, None) };
    (fs::metadata(beside(target, PART)).map_or(0, |it| it.len()), metadata.total)
}

fn read_metadata(path: &Path) -> Option<PartMetadata> {
    let mut text = Vec::new();
    File::open(path).ok()?.take(MAX_NOTE_BYTES).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

pub(super) fn beside(target: &Path, end: &str) -> PathBuf {
    let mut name = target.as_os_str().to_owned();
    name.push(end);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(etag: &str) -> PartMetadata {
        PartMetadata { etag: Some(etag.into()), total: Some(10), ..PartMetadata::default() }
    }

    fn open(target: &Path) -> Part {
        Part::open(target, &ProgressCounter::default(), || false).unwrap()
    }

    #[test]
    fn a_part_is_gone_on_with_and_hashed_as_if_it_had_come_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("deep/model.gguf");
        let mut part = open(&target);
        part.begin(metadata("\"a\"")).unwrap();
        part.append(b"01234").unwrap();
        drop(part);
        assert_eq!(bytes_there(&target), (5, Some(10)));
        let mut part = open(&target);
        assert_eq!((part.bytes(), part.metadata()), (5, Some(&metadata("\"a\""))));
        part.append(b"56789").unwrap();
        assert_eq!(part.sum(), Sha256::of(&b"0123456789"[..]).unwrap());
        part.settle().unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"0123456789");
        assert_eq!(fs::read_dir(target.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn bytes_that_nobody_vouches_for_are_not_gone_on_with() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a");
        fs::write(beside(&target, PART), b"who knows").unwrap();
        assert_eq!((bytes_there(&target), open(&target).bytes()), ((0, None), 0));
        fs::write(beside(&target, NOTE), b"{ broken").unwrap();
        assert_eq!(open(&target).bytes(), 0);
        // More bytes than the file has.
        let mut part = open(&target);
        part.begin(metadata("\"a\"")).unwrap();
        part.append(b"0123456789!").unwrap();
        drop(part);
        assert_eq!(open(&target).bytes(), 0);
    }

    #[test]
    fn beginning_anew_forgets_the_old_version_first() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a");
        let mut part = open(&target);
        part.begin(metadata("\"a\"")).unwrap();
        part.append(b"01234").unwrap();
        part.begin(metadata("\"b\"")).unwrap();
        part.append(b"9").unwrap();
        assert_eq!(part.sum(), Sha256::of(&b"9"[..]).unwrap());
        drop(part);
        assert_eq!(open(&target).metadata(), Some(&metadata("\"b\"")));
        open(&target).discard().unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_part_belongs_to_one_writer() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a");
        let first = open(&target);
        assert!(matches!(Part::open(&target, &ProgressCounter::default(), || false), Err(PartError::InUse)));
        drop(first);
        open(&target);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_the_place_of_a_part_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (target, victim) = (folder.path().join("a"), folder.path().join("victim"));
        fs::write(&victim, "mine").unwrap();
        std::os::unix::fs::symlink(&victim, beside(&target, PART)).unwrap();
        let mut part = open(&target);
        part.append(b"x").unwrap();
        assert_eq!(fs::read(&victim).unwrap(), b"mine");
    }

    #[test]
    fn versions_are_told_apart_by_what_both_sides_know() {
        let linked = |text: &str| PartMetadata { linked: Some(Sha256::of(text.as_bytes()).unwrap()), ..PartMetadata::default() };
        assert!(metadata("\"a\"").is_same(&metadata("W/\"a\"")) && !metadata("\"a\"").is_same(&metadata("\"b\"")));
        assert!(!metadata("\"a\"").is_same(&PartMetadata { total: Some(11), ..metadata("\"a\"") }));
        assert!(linked("a").is_same(&linked("a")) && !linked("a").is_same(&linked("b")));
        assert!(metadata("\"a\"").is_surely(&metadata("\"a\"")) && !metadata("W/\"a\"").is_surely(&metadata("W/\"a\"")));
        assert!(linked("a").is_surely(&linked("a")) && !PartMetadata::default().is_surely(&PartMetadata::default()));
        assert!(!PartMetadata::default().can_resume() && !metadata("W/\"a\"").can_resume() && metadata("\"a\"").can_resume());
    }
}
