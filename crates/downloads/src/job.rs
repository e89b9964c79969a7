//! Download jobs: the files of one model, and their folder.
//!
//! These types are the journal's format too. Fields may be added with a default; none may change
//! its meaning.

use std::collections::HashSet;
use std::path::PathBuf;

use atelier_language::tr;
use serde::{Deserialize, Serialize};

use crate::names::{FileName, Sha256};

/// The name of the file that a job's manifest becomes once all its files are there.
pub const MANIFEST: &str = "manifest.json";

/// The files of a model, which are downloaded together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DownloadJob {
    /// Its id; one job of an id at a time.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// Folder of its files, beneath the folder of models.
    pub folder: PathBuf,
    /// Its files.
    pub files: Vec<FileRequest>,
    /// The text of the folder's `manifest.json`, which is written once all files are there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<String>,
    /// Page of its licence, for a person who has yet to accept it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub licence_url: Option<String>,
}

/// A file that is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRequest {
    /// Its source.
    pub source: Source,
    /// Its place in the job's folder.
    pub filename: FileName,
    /// Its size in bytes; `None` where only the server knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Its SHA-256; `None` where only the server knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Sha256>,
    /// Files to unpack, of an archive. The archive itself is not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unpack: Option<UnpackList>,
}

/// Source of a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// An address, `https` or `http`.
    Url(String),
    /// A file on Hugging Face.
    HuggingFace {
        /// Owner and name of the repository.
        repo: String,
        /// The file's path in it.
        path: String,
        /// A commit, tag or branch; `None` is the main branch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        revision: Option<String>,
    },
}

/// Files to unpack from an archive. Everything else in it is left alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnpackList {
    /// Names as they stand in the archive, with `/`.
    pub names: Vec<FileName>,
    /// True if the files go into the job's folder itself, without the archive's own folders.
    #[serde(default)]
    pub flat: bool,
}

impl UnpackList {
    /// Path of an entry in the job's folder.
    pub(super) fn place(&self, name: &FileName) -> Result<FileName, String> {
        let inner = name.as_str();
        let place = if self.flat { inner.rsplit('/').next().unwrap_or(inner) } else { inner };
        FileName::try_from(place.to_owned())
    }
}

impl DownloadJob {
    /// Checks that there are files, and that no two of them have the same path.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.id.is_empty() || self.files.is_empty() {
            return Err(tr!("downloads-there-is-nothing-to").into());
        }
        let mut places = HashSet::new();
        for wanted in &self.files {
            let mut take = |place: FileName| {
                let name = place.as_str().to_owned();
                let reserved = name.ends_with(PART) || name.ends_with(NOTE) || name == MANIFEST && self.manifest.is_some();
                // Some systems take `A` and `a` for one file.
                if reserved || !places.insert(name.to_lowercase()) {
                    return Err(tr!("downloads-two-files-of-are", name = self.name, name_2 = name));
                }
                Ok(())
            };
            take(wanted.filename.clone())?;
            if let Some(list) = &wanted.unpack {
                for name in &list.names {
                    take(list.place(name)?)?;
                }
            }
        }
        Ok(())
    }
}

/// Extension of a file that is not complete.
pub(super) const PART: &str = ".part";
/// Extension of the metadata file beside it.
pub(super) const NOTE: &str = ".part.json";

#[cfg(test)]
mod tests {
    use super::*;

    fn job(names: &[&str]) -> DownloadJob {
        let wanted = |name: &&str| FileRequest {
            source: Source::Url("http://127.0.0.1/x".into()),
            filename: FileName::try_from((*name).to_owned()).unwrap(),
            size: None,
            sha256: None,
            unpack: None,
        };
        let files = names.iter().map(wanted).collect();
        DownloadJob { id: "a".into(), name: "A".into(), folder: "a".into(), files, manifest: Some("{}".into()), licence_url: None }
    }

    #[test]
    fn a_job_is_refused_where_files_would_meet() {
        assert!(job(&["a.gguf", "b/a.gguf"]).check().is_ok());
        for bad in [&["a.gguf", "A.gguf"][..], &[], &["manifest.json"], &["a.part"], &["a.part.json"]] {
            assert!(job(bad).check().is_err(), "{bad:?}");
        }
        let mut archive = job(&["a.zip", "x.txt"]);
        let names = vec![FileName::try_from("deep/x.txt".to_owned()).unwrap()];
        archive.files[0].unpack = Some(UnpackList { names, flat: false });
        assert!(archive.check().is_ok());
        archive.files[0].unpack.as_mut().unwrap().flat = true;
        assert!(archive.check().is_err());
    }

    #[test]
    fn a_job_comes_back_from_its_stored_form() {
        let mut job = job(&["a.gguf"]);
        job.files[0].source = Source::HuggingFace { repo: "o/n".into(), path: "a b.gguf".into(), revision: None };
        let text = serde_json::to_string(&job).unwrap();
        assert_eq!(serde_json::from_str::<DownloadJob>(&text).unwrap(), job);
    }
}
