//! Headers that were read, so that checking the same files again costs nothing.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::header::{Header, HeaderError, read_header};
use super::kind::{FileKind, identify};

/// A file whose header was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentifiedFile {
    /// Its header.
    pub header: Header,
    /// Its kind.
    pub kind: FileKind,
}

/// Headers that were read, so that generating again costs nothing. A file that changed its size or
/// time is read again.
#[derive(Clone, Debug, Default)]
pub struct HeaderCache {
    known: HashMap<PathBuf, (u64, Option<SystemTime>, Arc<IdentifiedFile>)>,
}

/// A person tries a few models and LoRAs in a session; a header takes a few hundred kilobytes.
const CACHED_FILES: usize = 64;

impl HeaderCache {
    /// The header of a file and what the file is, read where it is not known.
    ///
    /// # Errors
    /// As [`read_header`].
    pub fn get(&mut self, path: &Path) -> Result<Arc<IdentifiedFile>, HeaderError> {
        // A file that cannot be asked is read, so that the error says why.
        let stamp = fs::metadata(path).ok().map(|it| (it.len(), it.modified().ok()));
        if let (Some((bytes, time)), Some((known_bytes, known_time, known))) = (stamp, self.known.get(path))
            && (bytes, time) == (*known_bytes, *known_time)
        {
            return Ok(Arc::clone(known));
        }
        self.known.remove(path);
        let header = read_header(path)?;
        let kind = identify(&header);
        let known = Arc::new(IdentifiedFile { header, kind });
        if let Some((bytes, time)) = stamp {
            if self.known.len() >= CACHED_FILES {
                self.known.clear();
            }
            self.known.insert(path.to_owned(), (bytes, time, Arc::clone(&known)));
        }
        Ok(known)
    }

    /// Takes over what another cache has read.
    pub fn merge(&mut self, other: Self) {
        self.known.extend(other.known);
        if self.known.len() > CACHED_FILES {
            self.known.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use testkit::tiny::{self, Options};

    use super::*;

    #[test]
    fn a_header_is_read_once_until_its_file_changes() {
        let dir = tempfile::tempdir().unwrap();
        let path = &tiny::zimage(dir.path(), &Options::default()).unwrap().llm;
        let mut cache = HeaderCache::default();
        let first = cache.get(path).unwrap();
        assert!(Arc::ptr_eq(&first, &cache.get(path).unwrap()));
        tiny::zimage(dir.path(), &Options { encoder_width: 16, ..Options::default() }).unwrap();
        assert_eq!(cache.get(path).unwrap().kind.text_width, Some(16));
        fs::remove_file(path).unwrap();
        assert!(cache.get(path).is_err());
    }
}
