//! The window's settings file before its fields are looked at: whether it is there, can be read
//! now, and is of a version that is known.
//!
//! Invariant: only what was read and makes no sense counts as damaged. What a newer Atelier wrote,
//! and what cannot be read at the moment, is somebody's and is left alone.

use std::cmp::Ordering;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use atelier_core::advice::Advice;
use atelier_core::json::has_more_values;
use atelier_core::stored_file::{Unreadable, read_stored};
use atelier_language::tr;

/// Version of the format that this program reads and writes.
pub const VERSION: u32 = 1;
/// Largest settings file that is read, in bytes.
const MAX_BYTES: u64 = 4 << 20;
/// Values of a settings file that is read: in memory they take a hundred times their bytes.
const MAX_VALUES: usize = 1 << 17;

/// Settings that this program cannot use.
#[derive(Debug, thiserror::Error)]
pub enum SettingsProblem {
    /// A newer program wrote them.
    #[error("{}", tr!("studio-your-settings-in-were", path = path.display(), version, version_2 = VERSION))]
    Newer { path: PathBuf, version: u64 },
    /// The system does not give them now.
    #[error("{}", tr!("studio-your-settings-in-cannot", path = path.display(), source))]
    Unreadable { path: PathBuf, source: io::Error },
    /// They were read and make no sense.
    #[error("{}", tr!("studio-your-settings-in-are", path = path.display(), reason))]
    Damaged {
        path: PathBuf,
        /// What makes no sense.
        reason: String,
    },
}

impl SettingsProblem {
    /// The sentence, and what is done and to be done about it.
    #[must_use]
    pub fn advice(&self) -> Advice {
        let hint = match self {
            Self::Newer { .. } => {
                tr!("studio-this-atelier-leaves-the")
            }
            Self::Unreadable { .. } => {
                tr!("studio-atelier-leaves-the-file")
            }
            Self::Damaged { .. } => {
                tr!("studio-the-window-starts-with")
            }
        };
        Advice::new(self.to_string(), hint)
    }
}

/// The settings in this file, of a version that is known; `None` where there is no file.
///
/// # Errors
/// Where this program cannot use them.
pub fn read_settings_file(path: &Path) -> Result<Option<Value>, SettingsProblem> {
    let mut version = 0;
    let read = read_stored(path, MAX_BYTES, |text| {
        if has_more_values(text, MAX_VALUES) {
            return Err(Unreadable::damaged(tr!("studio-the-file-has-too")));
        }
        let settings: Value = serde_json::from_slice(text).map_err(Unreadable::damaged)?;
        version = settings.get("version").and_then(Value::as_u64).unwrap_or_default();
        match version.cmp(&u64::from(VERSION)) {
            Ordering::Equal => Ok(settings),
            Ordering::Greater => Err(Unreadable::Newer),
            Ordering::Less => Err(Unreadable::damaged(tr!("studio-they-name-no-version"))),
        }
    });
    let path = path.to_owned();
    read.map_err(|problem| match problem {
        Unreadable::Newer => SettingsProblem::Newer { path, version },
        Unreadable::Now(source) => SettingsProblem::Unreadable { path, source },
        Unreadable::Damaged(reason) => SettingsProblem::Damaged { path, reason: reason.to_string() },
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn newer_unreadable_and_damaged_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        assert!(read_settings_file(&path).unwrap().is_none());
        let problem = |text: &[u8]| {
            fs::write(&path, text).unwrap();
            read_settings_file(&path).unwrap_err()
        };
        for text in [r#"{"version": 2, "theme": {"new": "form"}}"#, r#"{"version": 18446744073709551615}"#] {
            assert!(matches!(problem(text.as_bytes()), SettingsProblem::Newer { .. }), "{text}");
        }
        let long = [b"{\"version\": 1, \"prompts\": [\"".as_slice(), &vec![b'a'; 5 << 20], b"\"]}"].concat();
        for text in [b"{ not json".as_slice(), b"[]", b"{}", br#"{"version": 0}"#, br#"{"version": "2"}"#, b"", &long] {
            assert!(matches!(problem(text), SettingsProblem::Damaged { .. }));
        }
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(matches!(read_settings_file(&path), Err(SettingsProblem::Unreadable { .. })), "a folder with this name exists");
    }
}
