//! Links that a person pastes or drops: a file or a repository on Hugging Face, or a file anywhere.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use atelier_core::advice::Advice;
use atelier_downloads::link_text::{name_in, unescaped};
use atelier_downloads::{DownloadJob, FileRequest, Source};
use atelier_language::tr;

use super::disk::{ONNX_ENDING, has_model_ending, is_model_file};
use super::header::{Fault, HeaderError, file_name, other_than_onnx, read_from};
use super::manifest::{FileName, Sha256};
use super::naming::{letters, slug};
use super::sniff;

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
/// The hosts of Civitai.
const CIVITAI_HOSTS: [&str; 3] = ["civitai.com", "www.civitai.com", "civitai.red"];
/// What texts put around a link.
const WRAPPERS: [(char, char); 8] = [
    ('"', '"'),
    ('\'', '\''),
    ('`', '`'),
    ('<', '>'),
    ('(', ')'),
    ('\u{201c}', '\u{201d}'),
    ('\u{201e}', '\u{201c}'),
    ('\u{300c}', '\u{300d}'),
];

impl Link {
    /// Reads a link; `None` where the text is none, or leads to a page that holds no file.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let text = with_scheme(bare(text));
        let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"))?;
        if rest.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return None;
        }
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let path = path.split(['?', '#']).next().unwrap_or(path).trim_end_matches('/');
        if is_one_of(host, &CIVITAI_HOSTS)
            && let Some(file) = civitai_file(rest)
        {
            return Some(Self::Direct(file));
        }
        if !is_one_of(host, &HOSTS) {
            return path.rsplit('/').next().filter(|it| !it.is_empty()).map(|_| Self::Direct(text.as_ref().to_owned()));
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
        Some(DownloadJob { id: job_id(&folder, &place), folder: folder.into(), name, files, manifest: None, licence_url: None })
    }
}

fn job_id(folder: &str, place: &str) -> String {
    format!("{folder}--{}", letters(place))
}

/// Id of the job by which a link brought this file into the folder of models.
#[must_use]
pub fn link_id(models_root: &Path, file: &Path) -> Option<String> {
    let mut parts = file.strip_prefix(models_root).ok()?.components().map(|part| part.as_os_str().to_str());
    let folder = parts.next()??;
    let place = parts.collect::<Option<Vec<_>>>()?.join("/");
    (!place.is_empty()).then(|| job_id(folder, &place))
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

/// Looks at what a link brought; the file may lie under another name.
///
/// # Errors
/// If no model of this name has these bytes, as where a server answered with an error's text.
pub fn check_arrived(file: &File, name: &str) -> Result<(), Advice> {
    let path = Path::new(name);
    if !has_model_ending(path) {
        return Ok(());
    }
    let is_onnx = path.extension().is_some_and(|it| it.eq_ignore_ascii_case(ONNX_ENDING));
    match header_error(file, &file_name(path), is_onnx) {
        // A disk that cannot be read now is no fault of the server's.
        Ok(Some(error)) if matches!(error.fault, Fault::NotAModel | Fault::Empty) => Err(error.advice),
        Ok(_) | Err(_) => Ok(()),
    }
}

fn header_error(mut file: &File, name: &str, is_onnx: bool) -> io::Result<Option<HeaderError>> {
    let bytes = file.metadata()?.len();
    file.seek(SeekFrom::Start(0))?;
    if bytes > 0 && is_onnx {
        let mut start = Vec::new();
        file.take(sniff::BYTES as u64).read_to_end(&mut start)?;
        return Ok(other_than_onnx(&start, name));
    }
    Ok(read_from(&mut file, bytes, name).err())
}

/// True if a file of this name can be a model, or an archive of one.
fn can_hold_a_model(name: &str) -> bool {
    let name = Path::new(name);
    is_model_file(name) || name.extension().is_some_and(|it| it.eq_ignore_ascii_case("zip"))
}

/// A link without what stands around it in a text.
fn bare(text: &str) -> &str {
    let mut text = text.trim().trim_end_matches([',', ';']);
    while let Some(inner) = WRAPPERS.iter().find_map(|(open, close)| text.strip_prefix(*open)?.strip_suffix(*close)) {
        text = inner.trim();
    }
    text
}

/// A link that was copied without its scheme, with it.
fn with_scheme(text: &str) -> Cow<'_, str> {
    let (host, path) = text.split_once('/').unwrap_or((text, ""));
    let path = path.split(['?', '#']).next().unwrap_or(path);
    let ends = host.rsplit('.').next().unwrap_or(host);
    let is_name = host.contains('.') && ends.len() > 1 && ends.chars().all(|c| c.is_ascii_alphabetic());
    let is_link = is_one_of(host, &HOSTS) || is_one_of(host, &CIVITAI_HOSTS) || (is_name && can_hold_a_model(path));
    if is_link { format!("https://{text}").into() } else { text.into() }
}

fn is_one_of(host: &str, hosts: &[&str]) -> bool {
    hosts.iter().any(|it| host.eq_ignore_ascii_case(it))
}

/// Address of the file of a version, whose number the address of a model's page has.
fn civitai_file(page: &str) -> Option<String> {
    let (place, query) = page.split('#').next()?.split_once('?')?;
    let (host, path) = place.split_once('/')?;
    path.strip_prefix("models/")?;
    let value = |key: &str| query.split('&').find_map(|part| part.strip_prefix(key)?.strip_prefix('='));
    let version = value("modelVersionId").filter(|it| !it.is_empty() && it.bytes().all(|c| c.is_ascii_digit()))?;
    let token = value("token").map_or_else(String::new, |token| format!("?token={token}"));
    Some(format!("https://{host}/api/download/models/{version}{token}"))
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
    use std::io::Write;

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
    fn a_link_is_found_in_what_texts_put_around_it() {
        let direct = |url: &str| Some(Link::Direct(url.into()));
        for text in [
            "\"https://example.org/x/c.gguf\"",
            "'https://example.org/x/c.gguf'",
            "<https://example.org/x/c.gguf>",
            " (https://example.org/x/c.gguf), ",
            "\u{201e}https://example.org/x/c.gguf\u{201c}",
            "example.org/x/c.gguf",
            "`<example.org/x/c.gguf>`",
        ] {
            assert_eq!(Link::read(text), direct("https://example.org/x/c.gguf"), "{text}");
        }
        let file = Some(Link::File { repo: "a/b".into(), path: "c.gguf".into(), revision: "main".into() });
        assert_eq!(Link::read("huggingface.co/a/b/blob/main/c.gguf"), file);
        assert_eq!(Link::read("<hf.co/a/b>"), Some(Link::Repository("a/b".into())));
        for text in ["models/c.gguf", "./c.gguf", "../a.b/c.gguf", "v1.5/c.gguf", "a.b/readme", "flux.dev", "\"", "<>", ""] {
            assert_eq!(Link::read(text), None, "{text}");
        }
    }

    #[test]
    fn the_page_of_a_version_leads_to_its_file() {
        let file = |number: &str| Some(Link::Direct(format!("https://civitai.com/api/download/models/{number}")));
        assert_eq!(Link::read("https://civitai.com/models/12/a-lake?modelVersionId=345"), file("345"));
        assert_eq!(Link::read("civitai.com/models/12?modelVersionId=345&token=s#top"), file("345?token=s"));
        for same in [
            "https://civitai.com/models/12",
            "https://civitai.com/models/12?modelVersionId=x",
            "https://civitai.com/images/1?modelVersionId=2",
        ] {
            assert_eq!(Link::read(same), Some(Link::Direct(same.into())));
        }
    }

    #[test]
    fn what_a_link_brought_has_to_begin_as_its_name_ends() {
        let arrived = |name: &str, bytes: &[u8]| {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(bytes).unwrap();
            check_arrived(&file, name)
        };
        let text = b"{\"detail\":\"Not authenticated\"}";
        for name in ["a.safetensors", "b/c.GGUF", "c.ckpt", "d.onnx", "e.sft"] {
            assert!(arrived(name, text).unwrap_err().sentence.contains("is a text, not a"), "{name}");
            assert!(arrived(name, b"").is_err(), "{name}");
            assert!(arrived(name, b"\x89PNG\r\n\x1a\n").is_err(), "{name}");
        }
        for (name, bytes) in [
            ("config.json", &text[..]),
            ("both.zip", b"PK\x03\x04"),
            ("a.ckpt", b"\x80\x02}q\x00"),
            ("a.gguf", b"GGUF\x03\0\0\0"),
            ("a.safetensors", b"\xc8\0\0\0\0\0\0\0{\"a\""),
            ("a.onnx", b"\x08\x07\x12\x01x"),
        ] {
            assert_eq!(arrived(name, bytes), Ok(()), "{name}");
        }
    }

    #[test]
    fn a_link_to_a_file_becomes_a_job_that_stays_in_its_folder() {
        let job = Link::read("https://huggingface.co/A/b/blob/main/c/Model%20X.gguf").unwrap().job(None).unwrap();
        assert_eq!((job.name.as_str(), job.folder.to_str()), ("Model X.gguf", Some("a--b")));
        assert_eq!((job.id.as_str(), job.files[0].filename.as_str()), ("a--b--c-model-x.gguf", "c/Model X.gguf"));
        assert_eq!(link_id(Path::new("/m"), Path::new("/m/a--b/c/Model X.gguf")), Some(job.id));
        assert_eq!((link_id(Path::new("/m"), Path::new("/m/x.gguf")), link_id(Path::new("/m"), Path::new("/n/a/x.gguf"))), (None, None));
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
        assert!(check_probed_name("notes".into()).unwrap_err().sentence.contains("\"notes\", which is not a model"));
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
