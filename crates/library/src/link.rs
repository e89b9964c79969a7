//! Links that a person pastes or drops: a file or a repository on Hugging Face, or a file anywhere.

use std::path::Path;

use atelier_core::advice::Advice;
use atelier_downloads::link_text::{name_in, unescaped};
use atelier_downloads::{DownloadJob, FileRequest, Source};
use atelier_language::tr;

use super::disk::is_model_file;
use super::manifest::{FileName, Sha256};
use super::naming::{letters, slug};

/// Target of a link.
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

/// Letters of an address's sum that tell its folder from others.
const SUM_LETTERS: usize = 8;
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

    /// True if its address names the file. Otherwise its server is probed first
    /// ([`atelier_downloads::Downloads::probe`]).
    #[must_use]
    pub fn names_a_file(&self) -> bool {
        match self {
            Self::File { .. } => true,
            Self::Repository(_) => false,
            Self::Direct(url) => name_in(url).is_some_and(|name| can_hold_a_model(&name)),
        }
    }

    /// The job that brings the file. `name` is what its server calls it, where it was asked. What
    /// it is, its header tells then. `None` for a repository, and where the name would be no file's
    /// name.
    ///
    /// Files of other addresses never meet: each has a place of its own in the folder of models,
    /// however many are called `diffusion_pytorch_model.safetensors`.
    #[must_use]
    pub fn job(&self, name: Option<&str>) -> Option<DownloadJob> {
        let (source, folder, place) = match self {
            Self::Repository(_) => return None,
            Self::File { repo, path, revision } => {
                let source = Source::HuggingFace { repo: repo.clone(), path: path.clone(), revision: Some(revision.clone()) };
                let of = if revision == "main" { String::new() } else { format!("--{}", letters(revision)) };
                (source, format!("{}{of}", letters(&repo.replace('/', "--"))), path.clone())
            }
            Self::Direct(url) => {
                let name = name.map_or_else(|| name_in(url), |name| Some(name.to_owned()))?;
                let sum = Sha256::of(without_token(url).as_bytes()).ok()?.to_string();
                let folder = format!("{}-{}", slug(Path::new(&name)), sum.get(..SUM_LETTERS)?);
                (Source::Url(url.clone()), folder, name)
            }
        };
        let filename = FileName::try_from(place.clone()).ok()?;
        let files = vec![FileRequest { source, filename, size: None, sha256: None, unpack: None }];
        let name = place.rsplit('/').next()?.to_owned();
        Some(DownloadJob {
            id: format!("{folder}--{}", letters(&place)),
            folder: folder.into(),
            name,
            files,
            manifest: None,
            licence_url: None,
        })
    }
}

/// The name of the file behind an address, as its server calls it.
///
/// # Errors
/// If a file of this name cannot be a model.
pub fn check_probed_name(name: String) -> Result<String, Advice> {
    if can_hold_a_model(&name) {
        return Ok(name);
    }
    Err(Advice::new(tr!("library-this-link-leads-to", name), tr!("library-models-end-in-safetensors")))
}

/// True if a file of this name can be a model, or an archive of one.
fn can_hold_a_model(name: &str) -> bool {
    let name = Path::new(name);
    is_model_file(name) || name.extension().is_some_and(|it| it.eq_ignore_ascii_case("zip"))
}

/// The address without the secret that some servers want in it.
fn without_token(url: &str) -> String {
    let Some((path, query)) = url.split_once('?') else { return url.to_owned() };
    let kept: Vec<&str> = query.split('&').filter(|it| !it.starts_with("token=")).collect();
    if kept.is_empty() { path.to_owned() } else { format!("{path}?{}", kept.join("&")) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

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
        let job = Link::read("https://huggingface.co/A/b/blob/main/c/Model%20X.gguf").unwrap().job(None).unwrap();
        assert_eq!((job.name.as_str(), job.folder.to_str()), ("Model X.gguf", Some("a--b")));
        assert_eq!((job.id.as_str(), job.files[0].filename.as_str()), ("a--b--c-model-x.gguf", "c/Model X.gguf"));
        let job = Link::read("https://example.org/x/c.gguf?key=1").unwrap().job(None).unwrap();
        let folder = job.folder.to_str().unwrap();
        assert!(folder.starts_with("c-") && folder.len() == 10 && job.files[0].filename.as_str() == "c.gguf", "{folder}");
        assert!(Link::read("https://example.org/%2e%2e").unwrap().job(None).is_none());
        assert!(Link::read("https://example.org/a%2f..%2fb.gguf").unwrap().job(None).is_none());
        assert!(Link::read("https://huggingface.co/a/b/blob/main/../x.gguf").unwrap().job(None).is_none());
        assert!(Link::Repository("a/b".into()).job(None).is_none());
    }

    #[test]
    fn what_a_server_calls_a_file_has_to_be_able_to_be_a_model() {
        for name in ["dream 8.safetensors", "ink.GGUF", "both.zip"] {
            assert_eq!(check_probed_name(name.into()).as_deref(), Ok(name));
        }
        assert!(check_probed_name("notes".into()).unwrap_err().sentence.contains("\"notes\", which is no model"));
    }

    #[test]
    fn files_of_the_same_name_never_meet() {
        let links = [
            "https://huggingface.co/a/b/blob/main/unet/model.safetensors",
            "https://huggingface.co/a/b/blob/main/vae/model.safetensors",
            "https://huggingface.co/a/b/blob/v2/vae/model.safetensors",
            "https://huggingface.co/a/c/blob/main/vae/model.safetensors",
            "https://example.org/a/model.safetensors",
            "https://example.org/b/model.safetensors",
            "https://example.org/b/model.safetensors?size=full",
        ];
        let jobs = links.map(|it| Link::read(it).unwrap().job(None).unwrap());
        let ids: BTreeSet<&String> = jobs.iter().map(|it| &it.id).collect();
        let places: BTreeSet<_> = jobs.iter().map(|it| it.files[0].filename.in_folder(&it.folder)).collect();
        assert_eq!((ids.len(), places.len()), (links.len(), links.len()));
        let folder = |url: &str| Link::Direct(url.into()).job(None).unwrap().folder;
        assert_eq!(folder("https://x.org/m.gguf?token=1"), folder("https://x.org/m.gguf"), "a new token is no new file");
    }

    #[test]
    fn a_name_that_the_address_does_not_say_comes_from_the_server() {
        let link = Link::read("https://example.org/api/download/models/128713?format=SafeTensor").unwrap();
        assert!(!link.names_a_file());
        let job = link.job(Some("Dream Shaper.safetensors")).unwrap();
        assert!(job.folder.to_str().unwrap().starts_with("dream-shaper-") && job.name == "Dream Shaper.safetensors");
        assert!(link.job(Some("../x.safetensors")).is_none());
        assert!(Link::read("https://example.org/x.gguf").unwrap().names_a_file());
    }
}
