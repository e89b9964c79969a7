//! Files that were downloaded before, so that another model that has the same one need not fetch it
//! again.
//!
//! A file is known by its hash; it is used only while its size and time are as they were when its
//! hash was checked.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use sha2::Digest;

use super::job::Source;
use super::part::{self, Part, PartError, PartMetadata};
use super::progress_counter::ProgressCounter;
use crate::names::Sha256;
use atelier_core::paths;

/// Bytes that are read at a time.
const BLOCK_BYTES: usize = 1 << 20;
/// Files that are remembered; the oldest are forgotten first.
const MAX_FILES: usize = 4096;

/// A file that was downloaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DownloadedFile {
    /// Its source.
    pub source: Source,
    /// Its hash, as it was checked or found.
    pub sha256: Sha256,
    /// Its size in bytes.
    pub size: u64,
    /// Its path.
    pub path: PathBuf,
    /// When it was last changed.
    pub modified: Option<SystemTime>,
    /// The server's `ETag`, where it names bytes.
    #[serde(default)]
    pub etag: Option<String>,
    /// True if it was taken out of an archive, which is what the source and the `ETag` are of.
    #[serde(default)]
    pub unpacked: bool,
}

impl DownloadedFile {
    /// A file in its place.
    pub(super) fn of(path: &Path, source: &Source, sha256: Sha256, etag: Option<String>) -> io::Result<Self> {
        let there = fs::metadata(path)?;
        Ok(Self {
            source: source.clone(),
            sha256,
            size: there.len(),
            path: path.to_owned(),
            modified: there.modified().ok(),
            etag,
            unpacked: false,
        })
    }

    /// A file that was taken out of the archive of this name.
    pub(super) fn unpacked(path: &Path, archive: &Self, sha256: Sha256) -> io::Result<Self> {
        Ok(Self { unpacked: true, ..Self::of(path, &archive.source, sha256, archive.etag.clone())? })
    }

    fn is_there(&self) -> bool {
        let there = fs::metadata(&self.path);
        there.is_ok_and(|it| it.is_file() && it.len() == self.size && self.modified.is_some() && it.modified().ok() == self.modified)
    }
}

/// The files that were downloaded.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct DownloadIndex {
    kept: Vec<DownloadedFile>,
}

impl DownloadIndex {
    pub(super) fn add(&mut self, kept: DownloadedFile) {
        self.kept.retain(|it| it.path != kept.path);
        if self.kept.len() >= MAX_FILES {
            self.kept.remove(0);
        }
        self.kept.push(kept);
    }

    pub(super) fn into_kept(self) -> Vec<DownloadedFile> {
        self.kept
    }

    /// True if Atelier downloaded the file of this name.
    pub(super) fn holds(&self, path: &Path) -> bool {
        self.kept.iter().any(|it| it.path == path)
    }

    /// Files that have this hash; without one, files of this source, and of this version where the
    /// note names one. Those that were changed since are left out.
    pub(super) fn duplicates(&self, sha256: Option<Sha256>, metadata: Option<&PartMetadata>) -> Vec<DownloadedFile> {
        let same_version = |it: &DownloadedFile| {
            metadata.is_some_and(|metadata| {
                let asked = metadata.total.is_some() || metadata.etag.is_some();
                let version = !asked || metadata.strong_etag().is_some() && metadata.strong_etag() == it.etag.as_deref();
                !it.unpacked && metadata.source.as_ref() == Some(&it.source) && version
            })
        };
        let duplicate = |it: &&DownloadedFile| sha256.map_or_else(|| same_version(it), |sum| it.sha256 == sum);
        self.kept.iter().filter(duplicate).filter(|it| it.is_there()).cloned().collect()
    }
}

/// Gives a file a second name, or copies it where the disk cannot do that. `None` where it turned
/// out to be another file.
pub(super) fn link_or_copy(
    duplicate: &DownloadedFile,
    target: &Path,
    counter: &ProgressCounter,
    stopped: impl Fn() -> bool,
) -> Result<Option<DownloadedFile>, PartError> {
    if let Some(folder) = target.parent() {
        fs::create_dir_all(folder)?;
    }
    let second = part::beside(target, ".twin.part");
    let _ = fs::remove_file(&second);
    if fs::hard_link(&duplicate.path, &second).is_ok() {
        paths::rename_whole(&second, target)?;
        part::remove_part(target);
        return Ok(Some(DownloadedFile { path: target.to_owned(), ..duplicate.clone() }));
    }
    copy_to(duplicate, target, counter, stopped)
}

fn copy_to(
    duplicate: &DownloadedFile,
    target: &Path,
    counter: &ProgressCounter,
    stopped: impl Fn() -> bool,
) -> Result<Option<DownloadedFile>, PartError> {
    let mut copy = Part::open(target, counter, &stopped)?;
    copy.begin(PartMetadata { source: Some(duplicate.source.clone()), wanted: Some(duplicate.sha256), ..PartMetadata::default() })?;
    read_blocks(&duplicate.path, &stopped, |block| {
        copy.append(block)?;
        counter.set_bytes(copy.bytes());
        Ok(())
    })?;
    if copy.sum() != duplicate.sha256 {
        copy.clear()?;
        return Ok(None);
    }
    copy.settle()?;
    Ok(Some(DownloadedFile::of(target, &duplicate.source, duplicate.sha256, duplicate.etag.clone())?))
}

/// The hash of a file.
pub(super) fn sum_of(path: &Path, counter: &ProgressCounter, stopped: impl Fn() -> bool) -> Result<Sha256, PartError> {
    let (mut sum, mut bytes) = (sha2::Sha256::new(), 0);
    read_blocks(path, stopped, |block| {
        sum.update(block);
        bytes += block.len() as u64;
        counter.set_bytes(bytes);
        Ok(())
    })?;
    Ok(Sha256::from(<[u8; 32]>::from(sum.finalize())))
}

fn read_blocks(path: &Path, stopped: impl Fn() -> bool, mut each: impl FnMut(&[u8]) -> io::Result<()>) -> Result<(), PartError> {
    let (mut file, mut block) = (fs::File::open(path)?, vec![0; BLOCK_BYTES]);
    loop {
        if stopped() {
            return Err(PartError::Stopped);
        }
        let read = match file.read(&mut block) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => other?,
        };
        let Some(read) = block.get(..read).filter(|it| !it.is_empty()) else { return Ok(()) };
        each(read)?;
    }
}

/// True if a path lies beneath the folder of models, links considered; the folder itself is made.
pub(super) fn is_inside(root: &Path, path: &Path) -> io::Result<bool> {
    fs::create_dir_all(root)?;
    let root = fs::canonicalize(root)?;
    // A path that does not exist yet cannot be a link: the nearest folder that exists decides.
    let mut there = path;
    let mut rest = Vec::new();
    loop {
        match fs::canonicalize(there) {
            Ok(real) => {
                let plain = rest.iter().all(|part: &&std::ffi::OsStr| *part != ".." && *part != ".");
                return Ok(plain && real.starts_with(&root));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // A link to nowhere would be followed once its end is made.
                if fs::symlink_metadata(there).is_ok() {
                    return Ok(false);
                }
                let (Some(name), Some(parent)) = (there.file_name(), there.parent()) else { return Ok(false) };
                rest.push(name);
                there = parent;
            }
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source() -> Source {
        Source::Url("http://127.0.0.1/a".into())
    }

    #[test]
    fn a_twin_is_used_while_it_is_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (folder.path().join("one/a"), folder.path().join("two/a"));
        fs::create_dir_all(first.parent().unwrap()).unwrap();
        fs::write(&first, "contents").unwrap();
        let sum = Sha256::of(&b"contents"[..]).unwrap();
        let mut index = DownloadIndex::default();
        index.add(DownloadedFile::of(&first, &source(), sum, Some("\"v1\"".into())).unwrap());
        let duplicate = index.duplicates(Some(sum), None).pop().unwrap();
        let kept = link_or_copy(&duplicate, &second, &ProgressCounter::default(), || false).unwrap().unwrap();
        assert_eq!((fs::read(&second).unwrap().as_slice(), kept.size), (&b"contents"[..], 8));
        assert_eq!(fs::read_dir(second.parent().unwrap()).unwrap().count(), 1);
        let metadata = |etag: &str| PartMetadata { source: Some(source()), etag: Some(etag.into()), ..PartMetadata::default() };
        assert_eq!(index.duplicates(None, Some(&metadata("\"v1\""))).len(), 1);
        assert_eq!(index.duplicates(None, Some(&metadata("\"v2\""))).len(), 0);
        fs::write(&first, "something else").unwrap();
        assert_eq!(index.duplicates(Some(sum), None).len(), 0);
    }

    #[test]
    fn a_copy_is_checked_before_it_has_a_name() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (folder.path().join("a"), folder.path().join("b"));
        fs::write(&first, "contents").unwrap();
        let sum = Sha256::of(&b"contents"[..]).unwrap();
        let duplicate = DownloadedFile::of(&first, &source(), sum, None).unwrap();
        let copy = |stop: bool| copy_to(&duplicate, &second, &ProgressCounter::default(), || stop);
        assert!(matches!(copy(true), Err(PartError::Stopped)) && !second.exists());
        assert_eq!(copy(false).unwrap().unwrap().path, second);
        assert_eq!(fs::read(&second).unwrap(), b"contents");
        fs::remove_file(&second).unwrap();
        fs::write(&first, "tampered").unwrap();
        assert!(copy(false).unwrap().is_none() && !second.exists());
    }

    #[cfg(unix)]
    #[test]
    fn a_place_is_inside_only_if_no_link_leads_out() {
        let folder = tempfile::tempdir().unwrap();
        let (root, outside) = (folder.path().join("models"), folder.path().join("outside"));
        fs::create_dir_all(root.join("a")).unwrap();
        fs::create_dir_all(&outside).unwrap();
        std::os::unix::fs::symlink(&outside, root.join("link")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("later"), root.join("nowhere")).unwrap();
        let inside = |path: &str| is_inside(&root, &root.join(path)).unwrap();
        assert!(inside("a") && inside("b/c/d.gguf"));
        for bad in ["link/x", "nowhere/x", "..", "../outside/x", "a/../../outside", "b/../../x"] {
            assert!(!inside(bad), "{bad}");
        }
        assert!(!is_inside(&root, &outside).unwrap());
    }
}
