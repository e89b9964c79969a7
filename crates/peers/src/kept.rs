//! The studios that a person keeps, with their tokens, in a file that is its owner's alone.

use std::io;
use std::path::Path;

use atelier_core::paths::write_private;
use atelier_core::stored_file::{Unreadable, read_stored};
use serde::{Deserialize, Serialize};

use crate::{AccessToken, StudioAddress, clean_name};

/// Version of the file.
const VERSION: u32 = 1;
/// Largest file in bytes, and most studios.
const MAX_FILE_BYTES: u64 = 1 << 20;
const MAX_KEPT: usize = 100;

/// A studio that a person keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptStudio {
    pub name: String,
    pub address: StudioAddress,
    pub token: Option<AccessToken>,
}

/// The studios that a person keeps, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptStudios(Vec<KeptStudio>);

#[derive(Default, Serialize, Deserialize)]
struct StoredStudios {
    #[serde(default)]
    version: u32,
    #[serde(default)]
    studios: Vec<serde_json::Value>,
}

#[derive(Serialize, Deserialize)]
struct StoredStudio {
    name: String,
    address: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token: Option<String>,
}

impl KeptStudios {
    /// Reads the file; none is kept where there is no file. An entry that makes no sense costs itself
    /// alone.
    ///
    /// # Errors
    /// If it cannot be read now, is of a newer version, or makes no sense as a whole.
    pub fn read(path: &Path) -> Result<Self, Unreadable> {
        let read = read_stored(path, MAX_FILE_BYTES, |bytes| {
            let stored: StoredStudios = serde_json::from_slice(bytes).map_err(Unreadable::damaged)?;
            if stored.version > VERSION {
                return Err(Unreadable::Newer);
            }
            let mut kept = Self::default();
            for stored in stored.studios.into_iter().take(MAX_KEPT).filter_map(|value| serde_json::from_value::<StoredStudio>(value).ok()) {
                let Ok(address) = stored.address.parse() else { continue };
                let token = stored.token.as_deref().and_then(AccessToken::new);
                // A full list passes over what is too many.
                let _ = kept.keep(KeptStudio { name: stored.name, address, token });
            }
            Ok(kept)
        })?;
        Ok(read.unwrap_or_default())
    }

    /// Writes the file.
    ///
    /// # Errors
    /// If the folder cannot be written to.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let stored = |studio: &KeptStudio| StoredStudio {
            name: studio.name.clone(),
            address: studio.address.to_string(),
            token: studio.token.as_ref().map(|token| token.secret().to_owned()),
        };
        let studios = self.0.iter().map(|studio| serde_json::to_value(stored(studio))).collect::<Result<_, _>>()?;
        write_private(path, &serde_json::to_vec_pretty(&StoredStudios { version: VERSION, studios })?)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &KeptStudio> {
        self.0.iter()
    }

    /// The one of this name, in small letters or large ones.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&KeptStudio> {
        self.0.iter().find(|studio| is_same_name(&studio.name, name))
    }

    /// The one at this address.
    #[must_use]
    pub fn at(&self, address: &StudioAddress) -> Option<&KeptStudio> {
        self.0.iter().find(|studio| studio.address == *address)
    }

    /// Keeps a studio in place of those of the same name or address; false where there are too many.
    pub fn keep(&mut self, studio: KeptStudio) -> bool {
        let name = clean_name(&studio.name);
        let name = if name.is_empty() { studio.address.host().to_owned() } else { name };
        self.0.retain(|other| !is_same_name(&other.name, &name) && other.address != studio.address);
        if self.0.len() >= MAX_KEPT {
            return false;
        }
        self.0.push(KeptStudio { name, ..studio });
        true
    }

    /// Forgets the studio of this name; false where there is none.
    pub fn forget(&mut self, name: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|studio| !is_same_name(&studio.name, name));
        self.0.len() < before
    }
}

fn is_same_name(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.trim().to_lowercase()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn studio(name: &str, address: &str, token: Option<&str>) -> KeptStudio {
        KeptStudio { name: name.into(), address: address.parse().unwrap(), token: token.and_then(AccessToken::new) }
    }

    #[test]
    fn studios_are_kept_for_their_owner_alone_and_found_by_name_and_address() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/studios.json");
        let mut kept = KeptStudios::read(&path).unwrap();
        assert_eq!(kept, KeptStudios::default());
        assert!(kept.keep(studio("Studio of Anna", "192.168.1.5", Some("0123456789abcdef"))));
        assert!(kept.keep(studio("\u{7}", "10.0.0.2:80", None)));
        kept.write(&path).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        let mut read = KeptStudios::read(&path).unwrap();
        assert_eq!(read, kept);
        assert_eq!(read.named("studio of anna"), read.at(&"http://192.168.1.5:7860".parse().unwrap()));
        assert!(read.named("10.0.0.2").is_some(), "one without a name has that of its host");
        assert!(read.keep(studio("STUDIO OF ANNA", "192.168.1.6", None)));
        assert_eq!((read.iter().count(), read.named("Studio of Anna").unwrap().token.clone()), (2, None), "the new one takes its place");
        assert!(read.forget("studio of anna") && !read.forget("studio of anna"));
    }

    #[test]
    fn an_entry_that_makes_no_sense_costs_itself_alone_and_a_newer_file_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("studios.json");
        fs::write(&path, r#"{"version":1,"studios":[7,{"name":"a"},{"name":"b","address":"ftp://x"},{"name":"c","address":"10.0.0.1"}]}"#)
            .unwrap();
        assert_eq!(KeptStudios::read(&path).unwrap().iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["c"]);
        fs::write(&path, r#"{"version":2}"#).unwrap();
        assert!(matches!(KeptStudios::read(&path), Err(Unreadable::Newer)));
        fs::write(&path, "[").unwrap();
        assert!(matches!(KeptStudios::read(&path), Err(Unreadable::Damaged(_))));
        let mut kept = KeptStudios::default();
        for n in 0..MAX_KEPT {
            assert!(kept.keep(studio(&format!("{n}"), &format!("10.0.0.{n}"), None)));
        }
        assert!(!kept.keep(studio("one more", "10.0.1.0", None)));
    }
}
