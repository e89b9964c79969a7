//! Links that a person pastes or drops: a file or a repository on Hugging Face, or a file anywhere.

use super::downloads::{Job, Source, Wanted};
use super::manifest::FileName;
use super::models::slug;

/// What a link leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// A file of a repository on Hugging Face.
    File {
        /// Owner and name.
        repo: String,
        /// The file's path there.
        path: String,
        /// A commit, tag or branch.
        revision: String,
    },
    /// A repository on Hugging Face: the person chooses among its files.
    Repository(String),
    /// A file elsewhere.
    Direct(String),
}

/// The hosts of Hugging Face.
const HOSTS: [&str; 3] = ["huggingface.co", "www.huggingface.co", "hf.co"];

impl Link {
    /// Reads a link; `None` where the text is none, or leads to a page that holds no file.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"))?;
        if rest.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return None;
        }
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let path = path.split(['?', '#']).next().unwrap_or(path).trim_end_matches('/');
        if !HOSTS.iter().any(|it| host.eq_ignore_ascii_case(it)) {
            return path.rsplit('/').next().filter(|it| !it.is_empty()).map(|_| Self::Direct(text.to_owned()));
        }
        let parts: Vec<&str> = path.split('/').collect();
        match parts.as_slice() {
            [owner @ ("datasets" | "spaces" | "docs" | "models" | "api" | "settings"), ..] if !owner.is_empty() => None,
            [owner, name] | [owner, name, "tree", ..] if !owner.is_empty() => Some(Self::Repository(format!("{owner}/{name}"))),
            [owner, name, "blob" | "resolve" | "raw", revision, file @ ..] if !file.is_empty() => {
                Some(Self::File { repo: format!("{owner}/{name}"), path: unescaped(&file.join("/"))?, revision: unescaped(revision)? })
            }
            _ => None,
        }
    }

    /// The job that brings the file into a folder of its own. What it is, its header tells then. `None` for a repository, and where the
    /// name would be no file's name.
    #[must_use]
    pub fn job(&self) -> Option<Job> {
        let (source, name) = match self {
            Self::Repository(_) => return None,
            Self::File { repo, path, revision } => (
                Source::HuggingFace { repo: repo.clone(), path: path.clone(), revision: Some(revision.clone()) },
                path.rsplit('/').next()?.to_owned(),
            ),
            Self::Direct(url) => {
                let path = url.split(['?', '#']).next()?;
                (Source::Url(url.clone()), unescaped(path.rsplit('/').next()?)?)
            }
        };
        let filename = FileName::try_from(name.clone()).ok()?;
        let id = slug(name.as_ref());
        let files = vec![Wanted { source, filename, size: None, sha256: None, unpack: None }];
        Some(Job { folder: (&id).into(), id, name, files, manifest: None, licence_url: None })
    }
}

/// A part of an address in plain text: `%20` is a space.
fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digit = |it: Option<u8>| char::from(it?).to_digit(16);
            bytes.push(u8::try_from(digit(rest.next())? << 4 | digit(rest.next())?).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_hugging_face_are_told_from_others() {
        let file = |path: &str, revision: &str| Some(Link::File { repo: "a/b".into(), path: path.into(), revision: revision.into() });
        let repo = Some(Link::Repository("a/b".into()));
        for (text, link) in [
            ("https://huggingface.co/a/b", repo.clone()),
            (" https://hf.co/a/b/ ", repo.clone()),
            ("https://huggingface.co/a/b/tree/main/deep", repo),
            ("https://huggingface.co/a/b/blob/main/c/d%20e.gguf", file("c/d e.gguf", "main")),
            ("https://huggingface.co/a/b/resolve/v1/c.gguf?download=true", file("c.gguf", "v1")),
            ("https://example.org/x/c.gguf?key=1", Some(Link::Direct("https://example.org/x/c.gguf?key=1".into()))),
            ("https://huggingface.co/datasets/a/b", None),
            ("https://huggingface.co", None),
            ("https://example.org/", None),
            ("file:///etc/passwd", None),
            ("a lake", None),
            ("https://huggingface.co/a/b/blob/main/%zz", None),
        ] {
            assert_eq!(Link::read(text), link, "{text}");
        }
    }

    #[test]
    fn a_link_to_a_file_becomes_a_job_that_stays_in_its_folder() {
        let job = Link::read("https://huggingface.co/a/b/blob/main/c/Model%20X.gguf").unwrap().job().unwrap();
        assert_eq!((job.id.as_str(), job.folder.to_str(), job.files[0].filename.as_str()), ("model-x", Some("model-x"), "Model X.gguf"));
        assert!(Link::read("https://example.org/%2e%2e").unwrap().job().is_none());
        assert!(Link::read("https://example.org/a%2f..%2fb.gguf").unwrap().job().is_none());
        assert!(Link::Repository("a/b".into()).job().is_none());
    }
}
