//! How a stored recipe names files: on this machine by paths, in pictures by names and sizes alone.

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};

use super::Part;

/// The form in which a stored recipe names a file.
pub trait FileForm: Clone + Debug + PartialEq + Serialize + DeserializeOwned {
    /// Pixels that are in no file; `None` where they are left out.
    fn of_pixels() -> Option<Self>;

    /// True for a part of the settings that is stored.
    fn stores(part: Part) -> bool;

    /// Renames the fields of earlier versions.
    fn upgrade(fields: &mut Map<String, Value>);
}

/// A file of this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LocalFile {
    path: PathBuf,
}

impl LocalFile {
    /// The form of a path.
    #[must_use]
    pub fn of(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// The path.
    #[must_use]
    pub fn into_path(self) -> PathBuf {
        self.path
    }
}

impl<'de> Deserialize<'de> for LocalFile {
    /// Reads a path, or an object with one.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = match Value::deserialize(deserializer)? {
            Value::Object(mut fields) => fields.remove("path").unwrap_or_default(),
            value => value,
        };
        serde_json::from_value(value).map(|path| Self { path }).map_err(D::Error::custom)
    }
}

impl FileForm for LocalFile {
    fn of_pixels() -> Option<Self> {
        None
    }

    fn stores(_: Part) -> bool {
        true
    }

    fn upgrade(fields: &mut Map<String, Value>) {
        if let Some(pictures) = fields.remove("reference_pictures") {
            fields.entry("reference_images").or_insert(pictures);
        }
        for (picture, strength, new) in [("start_picture", "start_strength", "init"), ("control_picture", "control_strength", "control")] {
            let strength = fields.remove(strength);
            if let Some(path) = fields.remove(picture).filter(|path| !path.is_null()) {
                fields.entry(new).or_insert_with(|| match strength {
                    Some(strength) => json!({"path": path, "strength": strength}),
                    None => json!({"path": path}),
                });
            }
        }
        for (prefix, keys, new) in [
            ("person_", &["pictures", "style_strength", "id_embedding"] as &[&str], "person"),
            ("", &["backend", "params_backend", "max_vram", "stream_layers", "split_batch"], "placement"),
        ] {
            let mut parts = Map::new();
            for key in keys {
                if let Some(value) = fields.remove(&format!("{prefix}{key}")) {
                    parts.insert(if *key == "pictures" { "images".to_owned() } else { (*key).to_owned() }, value);
                }
            }
            if !parts.is_empty() {
                fields.entry(new).or_insert(Value::Object(parts));
            }
        }
    }
}

/// A file, known by its name and size.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoredFile {
    /// Its name, without folders. Empty: pixels that were in no file.
    pub name: String,
    /// Its size in bytes; 0 where not known.
    pub bytes: u64,
}

impl FileForm for StoredFile {
    fn of_pixels() -> Option<Self> {
        Some(Self::default())
    }

    fn stores(part: Part) -> bool {
        part.is_portable() && part != Part::Count
    }

    fn upgrade(_: &mut Map<String, Value>) {}
}

/// The name, where it is one and not a way into some folder; whichever system's separators it uses.
#[must_use]
pub fn bare_name(name: &str) -> Option<&str> {
    let name = name.rsplit(['/', '\\']).next()?;
    (!name.is_empty() && name != "." && name != ".." && !name.contains(['\0', ':'])).then_some(name)
}
