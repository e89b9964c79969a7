//! The studios that a person keeps, with their tokens, in a file that is its owner's alone.

use std::fmt;
use std::io;
use std::path::Path;

use atelier_core::paths::write_private;
use atelier_core::stored_file::{Unreadable, read_stored};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{AccessToken, StudioAddress, StudioId, clean_name};

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
    /// By which it is found again at another address.
    pub id: Option<StudioId>,
}

/// The studios that a person keeps, in their order.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct KeptStudios {
    studios: Vec<KeptStudio>,
    /// Entries of the file that are no studio here: they are written as they were read.
    unread: Vec<Value>,
}

impl fmt::Debug for KeptStudios {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // An entry that was not understood may hold a token.
        f.debug_list().entries(&self.studios).finish()
    }
}

#[derive(Default, Serialize, Deserialize)]
struct StoredStudios {
    #[serde(default)]
    version: u32,
    #[serde(default)]
    studios: Vec<Value>,
}

#[derive(Serialize, Deserialize)]
struct StoredStudio {
    name: String,
    address: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
}

impl StoredStudio {
    /// The studio of an entry; `None` where it makes no sense.
    fn read(entry: &Value) -> Option<KeptStudio> {
        let Self { name, address, token, id } = Self::deserialize(entry).ok()?;
        let (token, id) = (token.as_deref().and_then(AccessToken::new), id.as_deref().and_then(StudioId::new));
        Some(KeptStudio { name, address: address.parse().ok()?, token, id })
    }
}

impl KeptStudios {
    /// Reads the file; none is kept where there is no file. An entry that makes no sense costs itself
    /// alone, and stays in the file.
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
            for entry in stored.studios {
                // A full list passes over what is too many.
                let is_kept = StoredStudio::read(&entry).is_some_and(|studio| kept.keep(studio));
                if !is_kept {
                    kept.unread.push(entry);
                }
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
            id: studio.id.as_ref().map(|id| id.as_str().to_owned()),
        };
        let known = self.studios.iter().map(|studio| serde_json::to_value(stored(studio)));
        let studios = known.chain(self.unread.iter().cloned().map(Ok)).collect::<Result<_, _>>()?;
        write_private(path, &serde_json::to_vec_pretty(&StoredStudios { version: VERSION, studios })?)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &KeptStudio> {
        self.studios.iter()
    }

    /// The one of this name, in small letters or large ones.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&KeptStudio> {
        self.studios.iter().find(|studio| is_same_name(&studio.name, name))
    }

    /// The one at this address.
    #[must_use]
    pub fn at(&self, address: &StudioAddress) -> Option<&KeptStudio> {
        self.studios.iter().find(|studio| studio.address == *address)
    }

    /// Keeps a studio in place of those of the same name or address; false where there are too many.
    pub fn keep(&mut self, studio: KeptStudio) -> bool {
        let name = clean_name(&studio.name);
        let name = if name.is_empty() { studio.address.host().to_owned() } else { name };
        self.studios.retain(|other| !is_same_name(&other.name, &name) && other.address != studio.address);
        if self.studios.len() >= MAX_KEPT {
            return false;
        }
        self.studios.push(KeptStudio { name, ..studio });
        true
    }

    /// Gives the studio at an address another one; false where none is there, or another studio is
    /// kept for the new address.
    pub(crate) fn move_to(&mut self, from: &StudioAddress, to: &StudioAddress) -> bool {
        if self.at(to).is_some() {
            return false;
        }
        let Some(studio) = self.studios.iter_mut().find(|studio| studio.address == *from) else { return false };
        studio.address = to.clone();
        true
    }

    /// Forgets the studio of this name; false where there is none.
    pub fn forget(&mut self, name: &str) -> bool {
        let before = self.studios.len();
        self.studios.retain(|studio| !is_same_name(&studio.name, name));
        self.studios.len() < before
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
        KeptStudio { name: name.into(), address: address.parse().unwrap(), token: token.and_then(AccessToken::new), id: None }
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
    fn a_studio_gets_another_address_in_its_place_with_its_token_and_identity() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("studios.json");
        let mut kept = KeptStudios::default();
        let anna = KeptStudio { id: Some(StudioId::draw()), ..studio("Anna", "10.0.0.1", Some("0123456789abcdef")) };
        assert!(kept.keep(anna.clone()) && kept.keep(studio("Ben", "10.0.0.2", None)));
        let at = |text: &str| text.parse::<StudioAddress>().unwrap();
        assert!(kept.move_to(&at("10.0.0.1"), &at("10.0.0.9")));
        assert!(!kept.move_to(&at("10.0.0.1"), &at("10.0.0.8")), "nobody is there any more");
        assert!(!kept.move_to(&at("10.0.0.9"), &at("10.0.0.2")), "Ben is there");
        kept.write(&path).unwrap();
        let read = KeptStudios::read(&path).unwrap();
        assert_eq!(read.iter().next(), Some(&KeptStudio { address: at("10.0.0.9"), ..anna }));
    }

    #[test]
    fn an_entry_that_was_not_understood_stays_in_the_file_and_is_not_shown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("studios.json");
        let strange = r#"{"name":"b","address":"ftp://x","token":"0123456789abcdef"}"#;
        fs::write(&path, format!(r#"{{"version":1,"studios":[{strange},{{"name":"c","address":"10.0.0.1"}}]}}"#)).unwrap();
        let mut kept = KeptStudios::read(&path).unwrap();
        assert!(!format!("{kept:?}").contains("0123456789"), "{kept:?}");
        assert!(kept.forget("c") && kept.keep(studio("d", "10.0.0.2", None)));
        kept.write(&path).unwrap();
        let written: StoredStudios = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(written.studios.len(), 2);
        assert!(written.studios.contains(&serde_json::from_str(strange).unwrap()), "{:?}", written.studios);
        assert_eq!(KeptStudios::read(&path).unwrap(), kept);
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
