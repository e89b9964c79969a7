//! The library's format for a model: one JSON object, beside a model's files (`manifest.json`), in
//! a catalogue, or written by a person.
//!
//! Invariants: fields that this version does not know survive a round trip; a wrong entry is
//! refused with the line it stands on; the name of a file never leads out of the model's folder,
//! neither by its words nor by a link. Not here: downloads, and what is on the disk beyond the
//! files of one folder.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::{Map, Value};

use super::diffusers;
use super::naming::name_of;
use atelier_core::json::has_more_values;
use atelier_core::recipe::{ModelFiles, Seed, SeedNumber};
pub use atelier_downloads::{FileName, MANIFEST, Sha256};
use atelier_language::{catalogue_english, tr};

mod defaults;
mod faults;
mod licence;
mod role;

pub use defaults::{Defaults, PreviewWay};
pub use faults::{FaultyFile, ManifestError};
pub use licence::Licence;
pub use role::Role;

/// A file larger than this is no manifest.
const MAX_BYTES: u64 = 4 << 20;
/// Values of a text that is read: fields that are not known are kept, and take a hundred times
/// their bytes.
pub(crate) const MAX_VALUES: usize = 1 << 17;
/// Files of a model or of a variant, and variants of a model: each is compared with the others.
const MAX_FILES: usize = 256;
const MAX_VARIANTS: usize = 256;
/// Examples of a model: a view shows them at once.
const MAX_EXAMPLES: usize = 12;

/// A model: its files, and the settings that suit it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Its id: small letters, digits, `.`, `-` and `_`.
    #[serde(deserialize_with = "id")]
    pub id: String,
    /// Its name for people.
    #[serde(deserialize_with = "words")]
    pub name: String,
    /// The family it belongs to (`Z-Image`), for people; the files' headers decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<String>,
    /// Its use, in a sentence or two.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The terms it comes under.
    #[serde(default, alias = "license", skip_serializing_if = "Option::is_none")]
    pub licence: Option<Licence>,
    /// Its files, each role at most once; adapters and embeddings as often as there are some.
    pub files: Vec<ModelFile>,
    /// The settings that suit it.
    #[serde(default, skip_serializing_if = "Defaults::is_empty")]
    pub defaults: Defaults,
    /// The work of a picture with these settings; `None` where nobody has counted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<PictureOperations>,
    /// The same model in other sizes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<Variant>,
    /// Name of the variant, in the manifest of a downloaded one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// True if the exact size and sum of every file is known, from two places that do not depend on
    /// each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked: Option<bool>,
    /// True if it is a good first model, for those with the memory for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recommended: bool,
    /// What it is good at, to begin with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Example>,
    /// Fields unknown to this version.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A prompt that a model does well with, and the picture that it has made of it, where there is one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Example {
    /// The prompt.
    #[serde(deserialize_with = "words")]
    pub prompt: String,
    /// Width in pixels that suits the prompt; `None` where any does.
    #[serde(default, deserialize_with = "defaults::side", skip_serializing_if = "Option::is_none")]
    pub width: Option<u32>,
    /// Height in pixels that suits the prompt; `None` where any does.
    #[serde(default, deserialize_with = "defaults::side", skip_serializing_if = "Option::is_none")]
    pub height: Option<u32>,
    /// Seed of the picture.
    #[serde(default, deserialize_with = "seed", skip_serializing_if = "Option::is_none")]
    pub seed: Option<Seed>,
    /// Path in the model's folder of the picture, made with the settings that suit the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub picture: Option<FileName>,
}

/// Work of a picture, in million million floating point operations, at the size and with the prompt
/// that suit a model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PictureOperations {
    /// Reading a prompt.
    pub encode: f64,
    /// One evaluation of the diffusion module.
    pub step: f64,
    /// Decoding.
    pub decode: f64,
}

/// A file of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelFile {
    /// Its role.
    pub role: Role,
    /// Its path in the model's folder.
    pub filename: FileName,
    /// Its size in bytes; `None` where nobody has written it down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// About how many bytes it has, for people, where the exact number is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<u64>,
    /// Its SHA-256; `None` where nobody has written it down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Sha256>,
    /// Its address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(deserialize_with = "address")]
    pub url: Option<String>,
    /// Its repository and path on Hugging Face.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hf: Option<HuggingFace>,
    /// Files to unpack, of a zip archive. The archive itself is not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unpack: Option<Unpack>,
    /// Fields unknown to this version.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Files to unpack from an archive; everything else in it is left alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unpack {
    /// The files.
    pub files: Vec<Packed>,
    /// True if they go into the model's folder itself, without the archive's own folders.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flat: bool,
    /// Fields unknown to this version.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A file in an archive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Packed {
    /// Its name as it stands in the archive, with `/`.
    pub name: FileName,
    /// Its role.
    pub role: Role,
    /// Fields unknown to this version.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A file on Hugging Face.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HuggingFace {
    /// Owner and name of the repository.
    #[serde(deserialize_with = "repository")]
    pub repo: String,
    /// The file's path in it.
    #[serde(deserialize_with = "inner_path")]
    pub path: String,
    /// A commit, tag or branch; `None` is the main branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Fields unknown to this version.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The same model in another size, such as a quantisation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// Its name among the variants: `Q4_K_M`.
    #[serde(deserialize_with = "words")]
    pub name: String,
    /// The files that take the place of those of the same roles.
    pub files: Vec<ModelFile>,
    /// The difference, for people: `half the size, nearly as good`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// True if the exact size and sum of every file is known, from two places that do not depend on
    /// each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked: Option<bool>,
    /// Fields unknown to this version.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Manifest {
    /// Reads a manifest.
    ///
    /// # Errors
    /// If it cannot be read, or something in it is wrong.
    pub fn read(path: &Path) -> Result<Self, ManifestError> {
        Self::parse(&read_text(path)?, path)
    }

    /// Reads the text of a manifest; `path` is only named in errors.
    ///
    /// # Errors
    /// If something in it is wrong.
    pub fn parse(text: &str, path: &Path) -> Result<Self, ManifestError> {
        Self::parse_at(text, path, 1)
    }

    /// Reads the text of a manifest that begins on this line of a file.
    pub(crate) fn parse_at(text: &str, path: &Path, first_line: usize) -> Result<Self, ManifestError> {
        let wrong = |line: usize, what: String| ManifestError::Wrong { path: path.to_owned(), line: line.max(1) + first_line - 1, what };
        if has_more_values(text.as_bytes(), MAX_VALUES) {
            return Err(too_many_values(path, first_line));
        }
        let manifest: Self = serde_json::from_str(text).map_err(|error| {
            let what = error.to_string();
            let what = what.split_once(" at line ").map_or(what.as_str(), |(what, _)| what);
            // A text that its line ends is found by the first character of the next line, of which
            // no column was read.
            let line = if error.column() == 0 && !error.is_eof() { error.line().saturating_sub(1) } else { error.line() };
            wrong(line, what.to_owned())
        })?;
        if manifest.examples.len() > MAX_EXAMPLES {
            return Err(wrong(1, tr!("library-it-has-examples-and", examples = manifest.examples.len(), max_examples = MAX_EXAMPLES)));
        }
        if manifest.variants.len() > MAX_VARIANTS {
            return Err(wrong(1, tr!("library-it-has-variants-and", variants = manifest.variants.len(), max_variants = MAX_VARIANTS)));
        }
        for files in std::iter::once(&manifest.files).chain(manifest.variants.iter().map(|it| &it.files)) {
            if files.len() > MAX_FILES {
                return Err(wrong(1, tr!("library-it-has-files-and", files = files.len(), max_files = MAX_FILES)));
            }
            for (n, file) in files.iter().enumerate() {
                let before = files.get(..n).unwrap_or_default();
                let same_role = |it: &&ModelFile| it.role == file.role && matches!(file.role, Role::Part(_));
                if let Some(other) = before.iter().find(|it| same_role(it) || it.filename == file.filename) {
                    let line = line_of(text, file.filename.as_str());
                    let (one, two) = (other.filename.as_str(), file.filename.as_str());
                    return Err(wrong(line, tr!("library-and-stand-for-the", one, two)));
                }
            }
        }
        Ok(manifest)
    }

    /// The manifest with English in the place of the ids by which our own catalogue and the
    /// built-in model name their texts.
    #[must_use]
    pub(crate) fn in_english(mut self) -> Self {
        let descriptions = self.variants.iter_mut().map(|it| &mut it.description).chain([&mut self.description]);
        let terms = self.licence.as_mut().map(Licence::name_mut);
        for said in descriptions.chain(terms) {
            if let Some(english) = catalogue_english(said) {
                english.clone_into(said);
            }
        }
        self
    }

    /// The text of the manifest.
    ///
    /// # Errors
    /// Never in practice: every field has a form in JSON.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self)
    }

    /// The manifest beside a model's file, where there is one that names this file.
    #[must_use]
    pub fn beside(file: &Path) -> Option<Self> {
        let folder = file.parent()?;
        let path = folder.join(MANIFEST);
        // Most folders have none.
        if !path.is_file() {
            return None;
        }
        let manifest = Self::read(&path).ok()?;
        manifest.files.iter().any(|it| it.filename.in_folder(folder) == file).then_some(manifest)
    }

    /// The model's parts in this folder, by role. Looks at names, links and sizes, not at contents.
    ///
    /// # Errors
    /// If one is missing, has another size, or lies outside.
    pub fn locate(&self, folder: &Path) -> Result<ModelFiles, FaultyFile> {
        let mut parts = ModelFiles::default();
        for file in &self.files {
            let path = file.check_size(folder)?;
            if let Role::Part(role) = file.role {
                parts.set(role, path);
            }
        }
        Ok(parts)
    }

    /// The model as this variant of it: the variant's files take the place of those of the same
    /// roles. Names are compared without case.
    #[must_use]
    pub fn as_variant(&self, name: &str) -> Option<Self> {
        let variant = self.variants.iter().find(|it| it.name.eq_ignore_ascii_case(name))?;
        let mut model = self.clone();
        model.files.retain(|it| !variant.files.iter().any(|other| other.role == it.role));
        // The main file stays the first.
        model.files.splice(0..0, variant.files.iter().cloned());
        model.id = variant_id(&self.id, &variant.name);
        model.name = format!("{} ({})", self.name, variant.name);
        model.variants = Vec::new();
        model.variant = Some(variant.name.clone());
        model.checked = variant.checked;
        Some(model)
    }

    /// The model as it is on the disk: what was taken out of archives stands in their place.
    #[must_use]
    pub fn unpacked(&self) -> Self {
        let mut model = self.clone();
        model.files = Vec::new();
        for file in &self.files {
            let Some(list) = &file.unpack else {
                model.files.push(file.clone());
                continue;
            };
            for packed in &list.files {
                let name = packed.name.as_str();
                let place = if list.flat { name.rsplit('/').next().unwrap_or(name) } else { name };
                // The last part of a name inside the folder is one too.
                let filename = FileName::try_from(place.to_owned()).unwrap_or_else(|_| packed.name.clone());
                model.files.push(ModelFile {
                    role: packed.role,
                    filename,
                    size: None,
                    about: None,
                    sha256: None,
                    url: None,
                    hf: None,
                    unpack: None,
                    other: packed.other.clone(),
                });
            }
        }
        model
    }

    /// Bytes of its files together, estimated where not exact; `None` if one is unknown.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        self.files.iter().map(ModelFile::bytes).try_fold(0u64, |sum, it| Some(sum.saturating_add(it?)))
    }

    /// Compares every file in this folder with its SHA-256. Reads all of them.
    ///
    /// # Errors
    /// If one is missing or is another.
    pub fn verify(&self, folder: &Path) -> Result<(), FaultyFile> {
        for file in &self.files {
            let path = file.check_size(folder)?;
            let Some(expected) = file.sha256 else { continue };
            let found = File::open(&path).and_then(Sha256::of);
            if found.map_err(|source| FaultyFile::Unreadable { path: path.clone(), source })? != expected {
                return Err(FaultyFile::Contents { path });
            }
        }
        Ok(())
    }
}

/// Origin of a file. Files of the same origin are the same file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Origin<'a> {
    /// A direct link.
    Url(&'a str),
    /// A file of a repository on Hugging Face.
    HuggingFace {
        /// Owner and name.
        repo: &'a str,
        /// Its path there.
        path: &'a str,
        /// A commit, tag or branch.
        revision: &'a str,
    },
}

impl ModelFile {
    /// Its size in bytes, if only about.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        self.size.or(self.about)
    }

    /// Its origin; a repository goes before a link, because it takes a token.
    #[must_use]
    pub fn origin(&self) -> Option<Origin<'_>> {
        let hf = self.hf.as_ref().map(|hf| Origin::HuggingFace {
            repo: &hf.repo,
            path: &hf.path,
            revision: hf.revision.as_deref().unwrap_or("main"),
        });
        hf.or(self.url.as_deref().map(Origin::Url))
    }

    /// True if the other one is the same file: by its sum, else by where it comes from.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        match (self.sha256, other.sha256) {
            (Some(one), Some(two)) => one == two,
            _ => self.origin().is_some() && self.origin() == other.origin(),
        }
    }

    pub(crate) fn check_size(&self, folder: &Path) -> Result<PathBuf, FaultyFile> {
        let path = self.filename.in_folder(folder);
        let failed = |source| FaultyFile::Unreadable { path: path.clone(), source };
        let found = fs::metadata(&path).map_err(failed)?;
        if !found.is_file() {
            return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, tr!("library-it-is-not-a"))));
        }
        let inside = fs::canonicalize(folder).and_then(|folder| Ok(fs::canonicalize(&path)?.starts_with(folder)));
        if !inside.map_err(failed)? {
            return Err(FaultyFile::Outside { path });
        }
        match self.size {
            Some(expected) if expected != found.len() => Err(FaultyFile::Size { path, expected, found: found.len() }),
            _ => Ok(path),
        }
    }
}

/// Name of the model of these files, by the manifest beside them.
#[must_use]
pub fn model_name(files: &ModelFiles) -> Option<String> {
    let main = files.main()?;
    Manifest::beside(main).map(|it| it.name).or_else(|| diffusers::is_diffusion(main).then(|| name_of(main)))
}

/// The last line on which this text stands in quotation marks, counted from 1.
fn line_of(text: &str, word: &str) -> usize {
    let before = text.rfind(&format!("\"{word}\"")).and_then(|at| text.get(..at)).unwrap_or_default();
    before.matches('\n').count() + 1
}

/// The id of a variant: the model's, a hyphen, and the variant's name in the letters that an id
/// has.
fn variant_id(model: &str, variant: &str) -> String {
    let letter = |c: char| match c.to_ascii_lowercase() {
        c if c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '_') => c,
        _ => '-',
    };
    format!("{model}-{}", variant.chars().map(letter).collect::<String>().trim_matches(['.', '-']))
}

/// The error of a text with more values than are read.
pub(crate) fn too_many_values(path: &Path, line: usize) -> ManifestError {
    ManifestError::Wrong { path: path.to_owned(), line, what: tr!("library-it-has-more-than", max_values = MAX_VALUES) }
}

/// Reads a text of bounded length.
pub(crate) fn read_text(path: &Path) -> Result<String, ManifestError> {
    let failed = |source| ManifestError::Read { path: path.to_owned(), source };
    let mut text = String::new();
    File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text)).map_err(failed)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(failed(io::Error::new(io::ErrorKind::InvalidData, tr!("library-it-is-too-large"))));
    }
    Ok(text)
}

/// An id names a folder too, so it is a file name on every system.
fn id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let id = String::deserialize(deserializer)?;
    let known = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '-' | '_');
    if id.starts_with('.') || id.len() > 100 || !id.chars().all(known) || FileName::try_from(id.clone()).is_err() {
        return Err(de::Error::custom(tr!("library-is-not-an-id", id)));
    }
    Ok(id)
}

fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let address = Option::<String>::deserialize(deserializer)?;
    let rest = |it: &String| it.strip_prefix("https://").or_else(|| it.strip_prefix("http://")).map(str::to_owned);
    match &address {
        Some(it) if rest(it).is_none_or(|rest| rest.is_empty() || rest.contains(|c: char| c.is_whitespace() || c.is_control())) => {
            Err(de::Error::custom(tr!("library-is-not-a-url", text = format!("{it:?}"))))
        }
        _ => Ok(address),
    }
}

fn repository<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let repo = String::deserialize(deserializer)?;
    let part = |it: &str| !it.is_empty() && !it.starts_with('.') && it.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    match repo.split_once('/') {
        Some((owner, name)) if part(owner) && part(name) => Ok(repo),
        _ => Err(de::Error::custom(tr!("library-is-not-a-repository", repo = format!("{repo:?}")))),
    }
}

fn inner_path<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    FileName::try_from(String::deserialize(deserializer)?).map(String::from).map_err(de::Error::custom)
}

fn words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let name = String::deserialize(deserializer)?;
    if name.trim().is_empty() { Err(de::Error::custom(tr!("library-the-name-is-empty"))) } else { Ok(name) }
}

/// A negative one is none.
fn seed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Seed>, D::Error> {
    SeedNumber::deserialize(deserializer).map(|number| number.0)
}

#[cfg(test)]
mod tests;
