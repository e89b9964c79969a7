//! Size, time and hash of a file: what tells whether it changed, and by what it is known again
//! elsewhere.

use std::fmt;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use atelier_language::tr;
use sha2::{Digest, Sha256};

use crate::GalleryError;

/// Bytes that are hashed at the beginning of a file, and at its end.
const HASHED_BYTES: u64 = 16 << 10;

/// Hash of a picture file: of its length, its first 16 KiB and its last 16 KiB. Picture formats end
/// in sums over the pixels, so two different pictures do not share it, and a scan reads 32 KiB of a
/// file of any size. Not for what an adversary may choose.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileHash(pub [u8; 16]);

impl FileHash {
    /// The hash from its text of 32 hexadecimal digits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() != 32 || !text.is_ascii() {
            return None;
        }
        let mut bytes = [0; 16];
        for (byte, at) in bytes.iter_mut().zip((0..).step_by(2)) {
            *byte = u8::from_str_radix(text.get(at..at + 2)?, 16).ok()?;
        }
        Some(Self(bytes))
    }
}

impl fmt::Display for FileHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for FileHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Size, time and hash of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileIdentity {
    /// Size in bytes.
    pub bytes: u64,
    /// Time of the last change, in nanoseconds since 1970; 0 where the system does not tell, or for
    /// a time before.
    pub modified_ns: i64,
    /// Hash of the file.
    pub hash: FileHash,
}

impl FileIdentity {
    /// Reads at most 32 KiB of the file. Blocks.
    ///
    /// # Errors
    /// If it cannot be read, or is no file.
    pub fn read(path: &Path) -> Result<Self, GalleryError> {
        let failed = |error| GalleryError::file(path, error);
        let metadata = std::fs::metadata(path).map_err(failed)?;
        if !metadata.is_file() {
            return Err(failed(std::io::Error::other(tr!("media-it-is-not-a"))));
        }
        let mut file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        let bytes = metadata.len();
        let mut hash = Sha256::new();
        hash.update(bytes.to_le_bytes());
        let mut part = Vec::new();
        (&mut file).take(HASHED_BYTES).read_to_end(&mut part).map_err(failed)?;
        hash.update(&part);
        file.seek(SeekFrom::Start(bytes.saturating_sub(HASHED_BYTES).max(part.len() as u64))).map_err(failed)?;
        part.clear();
        file.take(HASHED_BYTES).read_to_end(&mut part).map_err(failed)?;
        hash.update(&part);
        let mut short = [0; 16];
        short.copy_from_slice(&hash.finalize()[..16]);
        Ok(Self { bytes, modified_ns: modified_ns(&metadata), hash: FileHash(short) })
    }
}

/// Time of the last change, in nanoseconds since 1970; 0 where the system does not tell, or for a
/// time before.
pub(crate) fn modified_ns(metadata: &std::fs::Metadata) -> i64 {
    let since = metadata.modified().unwrap_or(UNIX_EPOCH).duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// Now, in milliseconds since 1970; also the number of a batch that begins now.
#[must_use]
pub fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| i64::try_from(it.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_of_length_beginning_and_end() {
        let folder = tempfile::tempdir().unwrap();
        let hash = |bytes: &[u8]| {
            let path = folder.path().join("a.png");
            std::fs::write(&path, bytes).unwrap();
            let identity = FileIdentity::read(&path).unwrap();
            assert_eq!(identity.bytes, bytes.len() as u64);
            identity.hash
        };
        let mut large = vec![7; 100_000];
        let first = hash(&large);
        assert_eq!(first, hash(&large));
        large[99_999] = 8;
        assert_ne!(first, hash(&large));
        assert_ne!(hash(&large[..20_000]), hash(&large[..20_001]));
        assert_ne!(hash(b""), hash(b"a"));
        assert_eq!(FileHash::parse(&first.to_string()), Some(first));
        assert_eq!(FileHash::parse("zz"), None);
        assert!(FileIdentity::read(folder.path()).is_err());
    }
}
