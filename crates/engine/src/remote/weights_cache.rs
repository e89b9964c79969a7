//! Weights that a lender keeps, so that they travel once: files named by the SHA-256 of their
//! bytes.
//!
//! Whoever uploads weights chooses their bytes, never their name. A file is believed only where its
//! size and its hash are those that a borrower asks for. The folder has a limit; the files that
//! were used last stay.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use crate::ffi::{SHA256_BYTES, WeightsStore};
use atelier_core::paths::write_atomic;

/// A folder of weights, and the bytes that it may hold.
pub(super) struct WeightsCache {
    folder: PathBuf,
    limit_bytes: u64,
    /// Borrowers come one after the other, but one may leave while the next begins.
    writing: Mutex<()>,
}

impl WeightsCache {
    pub(super) fn new(folder: PathBuf, limit_bytes: u64) -> Self {
        Self { folder, limit_bytes, writing: Mutex::default() }
    }

    fn path(&self, hash: &[u8]) -> PathBuf {
        self.folder.join(hash.iter().fold(String::new(), |name, byte| format!("{name}{byte:02x}")))
    }

    /// Removes the files that were used longest ago, so that `more` bytes find room.
    fn make_room(&self, more: u64) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
            .filter(|entry| is_ours(&entry.file_name().to_string_lossy()))
            .filter_map(|entry| {
                let metadata = entry.metadata().ok()?;
                Some((metadata.modified().ok()?, metadata.len(), entry.path()))
            })
            .collect();
        files.sort();
        let mut total: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
        for (_, bytes, path) in files {
            if total.saturating_add(more) <= self.limit_bytes {
                return;
            }
            if fs::remove_file(&path).is_ok() {
                total = total.saturating_sub(bytes);
            }
        }
    }
}

impl WeightsStore for WeightsCache {
    fn store(&self, bytes: &[u8]) {
        let size = bytes.len() as u64;
        let path = self.path(&Sha256::digest(bytes));
        let _writing = self.writing.lock();
        if size > self.limit_bytes || path.metadata().is_ok_and(|it| it.len() == size) {
            return;
        }
        self.make_room(size);
        if let Err(error) = write_atomic(&path, |file| file.write_all(bytes)) {
            tracing::warn!("weights could not be kept in {}: {error}", self.folder.display());
        }
    }

    fn contains(&self, hash: &[u8; SHA256_BYTES], size: u64) -> bool {
        self.path(hash).metadata().is_ok_and(|it| it.is_file() && it.len() == size)
    }

    fn load(&self, hash: &[u8; SHA256_BYTES], bytes: &mut [u8]) -> bool {
        let path = self.path(hash);
        let is_whole = read_exactly(&path, bytes) && Sha256::digest(&*bytes)[..] == hash[..];
        if is_whole {
            // The time of the last use; where it cannot be set, the file goes a little earlier.
            let _ = File::options().append(true).open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        } else {
            // Spoilt: the borrower sends it again.
            let _ = fs::remove_file(&path);
        }
        is_whole
    }
}

fn read_exactly(path: &Path, bytes: &mut [u8]) -> bool {
    File::open(path).and_then(|mut file| file.read_exact(bytes)).is_ok()
}

/// The name of a file of this cache, also of an earlier version's, whose hashes were shorter.
fn is_ours(name: &str) -> bool {
    matches!(name.len(), 16 | 64) && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(limit_bytes: u64) -> (tempfile::TempDir, WeightsCache) {
        let folder = tempfile::tempdir().unwrap();
        let cache = WeightsCache::new(folder.path().to_owned(), limit_bytes);
        (folder, cache)
    }

    fn hash(bytes: &[u8]) -> [u8; SHA256_BYTES] {
        Sha256::digest(bytes).into()
    }

    fn load(cache: &WeightsCache, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut found = vec![0; bytes.len()];
        (cache.contains(&hash(bytes), bytes.len() as u64) && cache.load(&hash(bytes), &mut found)).then_some(found)
    }

    #[test]
    fn weights_are_found_by_hash_and_size_alone() {
        let (_folder, cache) = cache(100);
        cache.store(b"weights");
        assert_eq!(load(&cache, b"weights").as_deref(), Some(&b"weights"[..]));
        assert!(!cache.contains(&hash(b"weights"), 6), "another size");
        assert!(load(&cache, b"other..").is_none());
    }

    #[test]
    fn a_file_that_does_not_hold_what_its_name_says_is_not_used_and_goes() {
        let (_folder, cache) = cache(100);
        fs::write(cache.path(&hash(b"weights")), b"planted").unwrap();
        assert!(load(&cache, b"weights").is_none());
        assert!(!cache.contains(&hash(b"weights"), 7));
        cache.store(b"weights");
        assert!(load(&cache, b"weights").is_some());
    }

    #[test]
    fn the_folder_stays_below_its_limit_and_what_was_used_last_stays() {
        let (folder, cache) = cache(30);
        let at = |seconds| SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        for (age, bytes) in [(1, b"aaaaaaaaaa"), (2, b"bbbbbbbbbb"), (3, b"cccccccccc")] {
            cache.store(bytes);
            File::options().append(true).open(cache.path(&hash(bytes))).unwrap().set_modified(at(age)).unwrap();
        }
        fs::write(folder.path().join("notes.txt"), b"a person's own").unwrap();
        assert!(load(&cache, b"aaaaaaaaaa").is_some(), "used again");
        cache.store(b"dddddddddd");
        assert!(load(&cache, b"bbbbbbbbbb").is_none());
        assert!(load(&cache, b"aaaaaaaaaa").is_some() && load(&cache, b"cccccccccc").is_some() && load(&cache, b"dddddddddd").is_some());
        cache.store(&[0; 31]);
        assert!(load(&cache, &[0; 31]).is_none(), "larger than the folder may be");
        assert!(folder.path().join("notes.txt").exists());
    }
}
