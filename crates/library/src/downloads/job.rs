//! What can be downloaded: a job is the files of one model, and where they go.
//!
//! These types are the journal's format too. Fields may be added with a default; none may change its meaning.

use std::collections::HashSet;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{FileName, Sha256};

/// The files of a model, which are downloaded together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// What programs call it; one job of a name at a time.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// Where its files go: a folder beneath the folder of models.
    pub folder: PathBuf,
    /// Its files.
    pub files: Vec<FileRequest>,
    /// The text of the folder's `manifest.json`, which is written once all files are there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<String>,
    /// Where its licence can be read, for a person who has yet to accept it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub licence_url: Option<String>,
}

/// A file that is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRequest {
    /// Where it comes from.
    pub source: Source,
    /// Its place in the job's folder.
    pub filename: FileName,
    /// Its size in bytes; `None` where only the server knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Its SHA-256; `None` where only the server knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Sha256>,
    /// Where it is an archive: what is unpacked from it. The archive itself is not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unpack: Option<UnpackList>,
}

/// Where a file comes from.
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

/// What is unpacked from an archive. Everything else in it is left alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnpackList {
    /// Names as they stand in the archive, with `/`.
    pub names: Vec<FileName>,
    /// Whether the files go into the job's folder itself, without the archive's own folders.
    #[serde(default)]
    pub flat: bool,
}

impl UnpackList {
    /// Where an entry goes, as a place in the job's folder.
    pub(super) fn place(&self, name: &FileName) -> Result<FileName, String> {
        let inner = name.as_str();
        let place = if self.flat { inner.rsplit('/').next().unwrap_or(inner) } else { inner };
        FileName::try_from(place.to_owned())
    }
}

impl Job {
    /// Whether it can be done at all: something is wanted, and no two files have the same place.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.id.is_empty() || self.files.is_empty() {
            return Err("There is nothing to download.".into());
        }
        let mut places = HashSet::new();
        for wanted in &self.files {
            let mut take = |place: FileName| {
                let name = place.as_str().to_owned();
                let reserved = name.ends_with(PART) || name.ends_with(NOTE) || name == crate::MANIFEST && self.manifest.is_some();
                // Some systems take `A` and `a` for one file.
                if reserved || !places.insert(name.to_lowercase()) {
                    return Err(format!("Two files of {} are called \"{name}\", or it is a name that Atelier needs itself.", self.name));
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

/// What the name of a file has at its end while it is not whole.
pub(super) const PART: &str = ".part";
/// What the name of the note beside it has at its end.
pub(super) const NOTE: &str = ".part.json";

#[cfg(test)]
mod tests {
    use super::*;

    fn job(names: &[&str]) -> Job {
        let wanted = |name: &&str| FileRequest {
            source: Source::Url("http://127.0.0.1/x".into()),
            filename: FileName::try_from((*name).to_owned()).unwrap(),
            size: None,
            sha256: None,
            unpack: None,
        };
        let files = names.iter().map(wanted).collect();
        Job { id: "a".into(), name: "A".into(), folder: "a".into(), files, manifest: Some("{}".into()), licence_url: None }
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
        assert_eq!(serde_json::from_str::<Job>(&text).unwrap(), job);
    }
}
