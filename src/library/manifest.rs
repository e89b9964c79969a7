//! The library's format for a model: one JSON object, beside a model's files (`manifest.json`), in a catalogue, or written by a person.
//!
//! Invariants: fields that this version does not know survive a round trip; a wrong entry is refused with the line it stands on; the
//! name of a file never leads out of the model's folder, neither by its words nor by a link. Not here: downloads, and what is on the
//! disk beyond the files of one folder.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Map, Value};
use sha2::Digest as _;

use crate::recipe::{FileRole, ModelFiles, Recipe, Sampler, Scheduler};

/// The name of the file that says what a folder's model is.
pub const MANIFEST: &str = "manifest.json";
/// A file larger than this is no manifest.
const MOST_BYTES: u64 = 4 << 20;
/// Bytes that are hashed at a time.
const BLOCK_BYTES: usize = 1 << 20;

/// A model: its files, and the settings that suit it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// What programs call it: small letters, digits, `.`, `-` and `_`.
    #[serde(deserialize_with = "id")]
    pub id: String,
    /// What people call it.
    #[serde(deserialize_with = "words")]
    pub name: String,
    /// The family it belongs to (`Z-Image`), for people; the files' headers decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<String>,
    /// What it is good for, in a sentence or two.
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
    /// The same model in other sizes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<Variant>,
    /// What this version does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The terms that a model comes under.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Licence {
    /// An SPDX expression, such as `MIT OR Apache-2.0`.
    Spdx(String),
    /// Terms of its own.
    Named {
        /// Their name.
        name: String,
        /// Where they stand.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        url: Option<String>,
        /// Whether they must be accepted, with an account, before the files can be had.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        gated: bool,
        /// What this version does not know.
        #[serde(flatten)]
        other: Map<String, Value>,
    },
}

/// A file of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelFile {
    /// What it is for.
    pub role: Role,
    /// Where it is in the model's folder.
    pub filename: FileName,
    /// Its size in bytes; `None` where nobody has written it down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Its SHA-256; `None` where nobody has written it down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Sha256>,
    /// Where it can be downloaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Where it is on Hugging Face.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hf: Option<HuggingFace>,
    /// What this version does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A file on Hugging Face.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HuggingFace {
    /// Owner and name of the repository.
    pub repo: String,
    /// The file's path in it.
    pub path: String,
    /// A commit, tag or branch; `None` is the main branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// What this version does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The same model in another size, such as a quantisation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// What tells it from the others: `Q4_K_M`.
    #[serde(deserialize_with = "words")]
    pub name: String,
    /// The files that take the place of those of the same roles.
    pub files: Vec<ModelFile>,
    /// What this version does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// What a file of a model is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A part that the engine loads.
    Part(FileRole),
    /// A low-rank adapter.
    Lora,
    /// A word that was taught to a text encoder.
    Embedding,
}

impl Role {
    fn key(self) -> &'static str {
        match self {
            Self::Part(FileRole::Taesd) => "tae",
            Self::Part(role) => role.key(),
            Self::Lora => "lora",
            Self::Embedding => "embedding",
        }
    }

    fn from_key(key: &str) -> Option<Self> {
        match key {
            "tae" => Some(Self::Part(FileRole::Taesd)),
            // Where nothing more is said, the encoder is a language model, as new families have it.
            "text_encoder" => Some(Self::Part(FileRole::Llm)),
            "lora" => Some(Self::Lora),
            "embedding" => Some(Self::Embedding),
            _ => FileRole::from_key(key).map(Self::Part),
        }
    }
}

impl Serialize for Role {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.key())
    }
}

impl<'de> Deserialize<'de> for Role {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let key = String::deserialize(deserializer)?;
        Self::from_key(&key).ok_or_else(|| de::Error::custom(format!("there is no role \"{key}\"")))
    }
}

/// A file's place in its model's folder: a relative path with `/`, which cannot lead out of it on any system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FileName(String);

impl FileName {
    /// The name, as it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The file in this folder.
    #[must_use]
    pub fn in_folder(&self, folder: &Path) -> PathBuf {
        folder.join(self.0.split('/').collect::<PathBuf>())
    }
}

impl TryFrom<String> for FileName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let odd = |c: char| c.is_control() || matches!(c, '\\' | ':' | '<' | '>' | '"' | '|' | '?' | '*');
        // Windows leaves dots and spaces at the end of a name out, so that `.. ` would be `..` there.
        let part = |it: &str| !it.is_empty() && !it.starts_with(' ') && !it.ends_with(['.', ' ']) && !it.contains(odd);
        if name.len() <= 512 && name.split('/').all(part) {
            Ok(Self(name))
        } else {
            Err(format!("{name:?} is no file name inside the model's folder"))
        }
    }
}

impl From<FileName> for String {
    fn from(name: FileName) -> Self {
        name.0
    }
}

/// A SHA-256 sum; written as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Sha256([u8; 32]);

impl Sha256 {
    /// The sum of everything that can be read.
    ///
    /// # Errors
    /// Where reading fails.
    pub fn of(mut from: impl Read) -> io::Result<Self> {
        let (mut sum, mut block) = (sha2::Sha256::new(), vec![0; BLOCK_BYTES]);
        loop {
            match from.read(&mut block) {
                Ok(0) => return Ok(Self(sum.finalize().into())),
                Ok(bytes) => sum.update(block.get(..bytes).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl TryFrom<String> for Sha256 {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong = || format!("\"{text}\" is no SHA-256: 64 hexadecimal digits are expected");
        let digits: Option<Vec<u8>> = text.chars().map(|c| c.to_digit(16).and_then(|it| u8::try_from(it).ok())).collect();
        let digits = digits.filter(|it| it.len() == 64).ok_or_else(wrong)?;
        let mut sum = [0; 32];
        for (byte, pair) in sum.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = pair.iter().fold(0, |byte, digit| byte << 4 | digit);
        }
        Ok(Self(sum))
    }
}

impl From<[u8; 32]> for Sha256 {
    fn from(sum: [u8; 32]) -> Self {
        Self(sum)
    }
}

impl From<Sha256> for String {
    fn from(sum: Sha256) -> Self {
        sum.to_string()
    }
}

/// The settings that suit a model; what is `None` stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Defaults {
    /// Denoising steps.
    #[serde(deserialize_with = "steps", skip_serializing_if = "Option::is_none")]
    pub steps: Option<u32>,
    /// Classifier-free guidance; 1 switches it off.
    #[serde(deserialize_with = "number", skip_serializing_if = "Option::is_none")]
    pub cfg: Option<f32>,
    /// Guidance that distilled models take as an input.
    #[serde(deserialize_with = "number", skip_serializing_if = "Option::is_none")]
    pub distilled_guidance: Option<f32>,
    /// Width in pixels.
    #[serde(deserialize_with = "side", skip_serializing_if = "Option::is_none")]
    pub width: Option<u32>,
    /// Height in pixels.
    #[serde(deserialize_with = "side", skip_serializing_if = "Option::is_none")]
    pub height: Option<u32>,
    /// Sampler.
    #[serde(deserialize_with = "named", skip_serializing_if = "Option::is_none")]
    pub sampler: Option<Sampler>,
    /// Scheduler.
    #[serde(deserialize_with = "named", skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<Scheduler>,
    /// Timestep shift of flow models.
    #[serde(deserialize_with = "number", skip_serializing_if = "Option::is_none")]
    pub flow_shift: Option<f32>,
    /// Noise added back at each step by ancestral samplers.
    #[serde(deserialize_with = "number", skip_serializing_if = "Option::is_none")]
    pub eta: Option<f32>,
    /// CLIP layers left out from the end.
    #[serde(deserialize_with = "layers", skip_serializing_if = "Option::is_none")]
    pub clip_skip: Option<u32>,
    /// How its pictures are best shown while they form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<PreviewWay>,
    /// What this version does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// How a model's pictures are best shown while they form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PreviewWay {
    /// The engine's projection of the latents has the right colours.
    Proj,
    /// Only its tiny autoencoder has the right colours.
    Tae,
}

impl Defaults {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Puts a recipe to the settings that suit the model. Sampler, scheduler, shift and the like that are not named become the model's own.
    pub fn apply(&self, recipe: &mut Recipe) {
        let usual = Recipe::default();
        recipe.steps = self.steps.unwrap_or(usual.steps);
        recipe.guidance = self.cfg.unwrap_or(usual.guidance);
        recipe.distilled_guidance = self.distilled_guidance.unwrap_or(usual.distilled_guidance);
        recipe.width = self.width.unwrap_or(usual.width);
        recipe.height = self.height.unwrap_or(usual.height);
        recipe.sampler = self.sampler;
        recipe.scheduler = self.scheduler;
        recipe.flow_shift = self.flow_shift;
        recipe.eta = self.eta;
        recipe.clip_skip = self.clip_skip;
    }
}

/// A manifest could not be used.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// It could not be read.
    #[error("{path} could not be read: {source}. Check that the file is there and may be read.", path = path.display())]
    Read {
        /// The manifest.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Something in it is wrong.
    #[error("{path}, line {line}: {what}. Correct this line, or get the model again.", path = path.display())]
    Wrong {
        /// The manifest.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong, without a full stop.
        what: String,
    },
}

/// A file of a model is not as its manifest says.
#[derive(Debug, thiserror::Error)]
pub enum FaultyFile {
    /// It is not there, or may not be read.
    #[error("{path} could not be read: {source}. Get the model again.", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A link leads out of the model's folder.
    #[error("{path} leads out of the model's folder. Put the file itself there, or get the model again.", path = path.display())]
    Outside {
        /// The file.
        path: PathBuf,
    },
    /// It has another size.
    #[error("{path} has {found} bytes and should have {expected}. It is damaged or not whole: get the model again.", path = path.display())]
    Size {
        /// The file.
        path: PathBuf,
        /// Bytes it should have.
        expected: u64,
        /// Bytes it has.
        found: u64,
    },
    /// It has other contents.
    #[error("{path} is not the file that its manifest names. It is damaged: get the model again.", path = path.display())]
    Contents {
        /// The file.
        path: PathBuf,
    },
}

impl Manifest {
    /// Reads a manifest.
    ///
    /// # Errors
    /// Where it cannot be read, or something in it is wrong.
    pub fn read(path: &Path) -> Result<Self, ManifestError> {
        let failed = |source| ManifestError::Read { path: path.to_owned(), source };
        let mut text = String::new();
        File::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_string(&mut text)).map_err(failed)?;
        if text.len() as u64 > MOST_BYTES {
            return Err(failed(io::Error::new(io::ErrorKind::InvalidData, "it is too large")));
        }
        Self::parse(&text, path)
    }

    /// Reads the text of a manifest; `path` is only named in errors.
    ///
    /// # Errors
    /// Where something in it is wrong.
    pub fn parse(text: &str, path: &Path) -> Result<Self, ManifestError> {
        let wrong = |line: usize, what: String| ManifestError::Wrong { path: path.to_owned(), line: line.max(1), what };
        let manifest: Self = serde_json::from_str(text).map_err(|error| {
            let what = error.to_string();
            let what = what.split_once(" at line ").map_or(what.as_str(), |(what, _)| what);
            wrong(error.line(), what.to_owned())
        })?;
        for files in std::iter::once(&manifest.files).chain(manifest.variants.iter().map(|it| &it.files)) {
            for (n, file) in files.iter().enumerate() {
                let before = files.get(..n).unwrap_or_default();
                let same_role = |it: &&ModelFile| it.role == file.role && matches!(file.role, Role::Part(_));
                if let Some(other) = before.iter().find(|it| same_role(it) || it.filename == file.filename) {
                    let line = line_of(text, file.filename.as_str());
                    let (one, two) = (other.filename.as_str(), file.filename.as_str());
                    return Err(wrong(line, format!("\"{one}\" and \"{two}\" stand for the same part of the model")));
                }
            }
        }
        Ok(manifest)
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
    /// Where one is missing, has another size, or lies outside.
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

    /// Compares every file in this folder with its SHA-256. Reads all of them.
    ///
    /// # Errors
    /// Where one is missing or is another.
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

impl ModelFile {
    fn check_size(&self, folder: &Path) -> Result<PathBuf, FaultyFile> {
        let path = self.filename.in_folder(folder);
        let failed = |source| FaultyFile::Unreadable { path: path.clone(), source };
        let found = fs::metadata(&path).map_err(failed)?;
        if !found.is_file() {
            return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, "it is no file")));
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

/// What the model of these files is called, where a manifest beside them says so.
#[must_use]
pub fn model_name(files: &ModelFiles) -> Option<String> {
    let main = files.get(FileRole::Model).or(files.get(FileRole::Diffusion))?;
    Some(Manifest::beside(main)?.name)
}

/// The last line on which this text stands in quotation marks, counted from 1.
fn line_of(text: &str, word: &str) -> usize {
    let before = text.rfind(&format!("\"{word}\"")).and_then(|at| text.get(..at)).unwrap_or_default();
    before.matches('\n').count() + 1
}

fn id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let id = String::deserialize(deserializer)?;
    let known = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '-' | '_');
    if id.is_empty() || id.starts_with('.') || !id.chars().all(known) {
        return Err(de::Error::custom(format!("\"{id}\" is no id; use small letters, digits, dots and hyphens")));
    }
    Ok(id)
}

fn words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let name = String::deserialize(deserializer)?;
    if name.trim().is_empty() { Err(de::Error::custom("the name is empty")) } else { Ok(name) }
}

fn within<'de, D: Deserializer<'de>>(deserializer: D, range: std::ops::RangeInclusive<u32>, what: &str) -> Result<Option<u32>, D::Error> {
    let value = Option::<u32>::deserialize(deserializer)?;
    match value.filter(|it| !range.contains(it)) {
        Some(wrong) => Err(de::Error::custom(format!("{wrong} {what} cannot be; {} to {} can", range.start(), range.end()))),
        None => Ok(value),
    }
}

fn steps<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    within(deserializer, 1..=1000, "steps")
}

fn side<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    within(deserializer, 64..=16_384, "pixels")
}

fn layers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    within(deserializer, 1..=12, "layers")
}

fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f32>, D::Error> {
    let value = Option::<f32>::deserialize(deserializer)?;
    match value.filter(|it| !(0.0..=100.0).contains(it)) {
        Some(wrong) => Err(de::Error::custom(format!("{wrong} cannot be; 0 to 100 can"))),
        None => Ok(value),
    }
}

fn named<'de, D: Deserializer<'de>, T: std::str::FromStr<Err: fmt::Display>>(deserializer: D) -> Result<Option<T>, D::Error> {
    Option::<String>::deserialize(deserializer)?.map(|name| name.parse().map_err(de::Error::custom)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: &str = r#"{
  "id": "z-image-turbo",
  "name": "Z-Image Turbo",
  "family": "Z-Image",
  "description": "Fast and sharp.",
  "licence": { "name": "Its own", "url": "https://example.org/terms", "gated": true, "since": 2025 },
  "files": [
    {
      "role": "diffusion",
      "filename": "parts/z.gguf",
      "size": 3,
      "sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
      "url": "https://example.org/z.gguf",
      "mirror": "b"
    },
    { "role": "llm", "filename": "q.gguf", "hf": { "repo": "a/b", "path": "q.gguf", "revision": "main", "lfs": true } },
    { "role": "tae", "filename": "t.safetensors" },
    { "role": "lora", "filename": "ink.safetensors" },
    { "role": "lora", "filename": "oil.safetensors" }
  ],
  "defaults": { "steps": 8, "cfg": 1.5, "width": 256, "height": 192, "sampler": "euler", "scheduler": "simple", "flow_shift": 3.0,
    "preview": "tae", "mood": "calm" },
  "variants": [ { "name": "Q4", "files": [ { "role": "diffusion", "filename": "z4.gguf", "size": 2 } ], "checked": true } ],
  "checked": false
}"#;

    fn parse(text: &str) -> Result<Manifest, ManifestError> {
        Manifest::parse(text, Path::new("folder/manifest.json"))
    }

    fn refused(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    /// A folder with the file that `FULL` describes by size and sum, and its other files empty.
    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("parts")).unwrap();
        fs::write(folder.path().join("parts/z.gguf"), "abc").unwrap();
        for name in ["q.gguf", "t.safetensors", "ink.safetensors", "oil.safetensors"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        folder
    }

    #[test]
    fn everything_survives_a_round_trip_also_what_is_not_known() {
        let manifest = parse(FULL).unwrap();
        let written = manifest.to_json().unwrap();
        assert_eq!(parse(&written).unwrap(), manifest);
        let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(value(&written), value(FULL));
    }

    #[test]
    fn roles_are_read_by_the_formats_words_and_by_the_recipes() {
        let files = parse(FULL).unwrap().files;
        let roles: Vec<Role> = files.iter().map(|it| it.role).collect();
        let part = Role::Part;
        assert_eq!(roles, [part(FileRole::Diffusion), part(FileRole::Llm), part(FileRole::Taesd), Role::Lora, Role::Lora]);
        for role in FileRole::ALL {
            assert_eq!(Role::from_key(role.key()), Some(Role::Part(role)));
            assert_eq!(Role::from_key(Role::Part(role).key()), Some(Role::Part(role)));
        }
        assert_eq!(Role::from_key("text_encoder"), Some(Role::Part(FileRole::Llm)));
    }

    #[test]
    fn a_wrong_entry_is_refused_with_file_and_line() {
        let cases = [
            ("\"role\": \"llm\"", "\"role\": \"brain\"", 16, "there is no role \"brain\""),
            ("\"size\": 3", "\"size\": -3", 11, "-3"),
            ("ba7816", "xx7816", 12, "no SHA-256"),
            ("\"z-image-turbo\"", "\"../turbo\"", 2, "no id"),
            ("\"Z-Image Turbo\"", "\" \"", 3, "the name is empty"),
            ("\"steps\": 8", "\"steps\": 0", 21, "0 steps cannot be"),
            ("\"width\": 256", "\"width\": 99999", 21, "99999 pixels cannot be"),
            ("\"cfg\": 1.5", "\"cfg\": -1.5", 21, "-1.5 cannot be"),
            ("\"euler\"", "\"eular\"", 21, "\"eular\""),
            ("\"filename\": \"q.gguf\"", "\"filename\": \"../q.gguf\"", 16, "inside the model's folder"),
            ("\"role\": \"tae\"", "\"role\": \"llm\"", 17, "the same part"),
            ("\"oil.safetensors\"", "\"ink.safetensors\"", 19, "the same part"),
        ];
        for (right, wrong, line, what) in cases {
            assert!(FULL.contains(right), "{right}");
            let sentence = refused(&FULL.replace(right, wrong));
            assert!(sentence.starts_with(&format!("folder/manifest.json, line {line}: ")), "{wrong}: {sentence}");
            assert!(sentence.contains(what) && sentence.ends_with('.'), "{sentence}");
        }
        assert!(refused("{").contains("line 1"));
        assert!(refused(r#"{"id": "x", "name": "x"}"#).contains("files"));
    }

    #[test]
    fn a_filename_never_leads_out_of_the_folder() {
        let name = |text: &str| FileName::try_from(text.to_owned());
        for bad in [
            "",
            "/",
            "/etc/passwd",
            "..",
            "../x",
            "a/../../x",
            "a/..",
            ".",
            "./x",
            "a//b",
            "a/",
            "C:\\x",
            "C:x",
            "..\\x",
            "a\\b",
            ".. /x",
            "x.",
            "a\0b",
            "a\nb",
            "\\\\server\\x",
        ] {
            assert!(name(bad).is_err(), "{bad:?}");
        }
        assert!(name(&"x".repeat(513)).is_err());
        for good in ["x.gguf", "a/b c/x-1.0.safetensors", ".hidden", "湖.gguf"] {
            let path = name(good).unwrap().in_folder(Path::new("/models/m"));
            assert!(path.starts_with("/models/m") && path.ends_with(good), "{good}");
        }
    }

    #[test]
    fn files_are_found_by_role_and_one_of_another_size_or_sum_is_named() {
        let (folder, manifest) = (folder(), parse(FULL).unwrap());
        let files = manifest.locate(folder.path()).unwrap();
        assert_eq!(files.iter().count(), 3);
        assert_eq!(files.get(FileRole::Diffusion), Some(folder.path().join("parts/z.gguf").as_path()));
        manifest.verify(folder.path()).unwrap();

        let path = folder.path().join("parts/z.gguf");
        fs::write(&path, "abd").unwrap();
        assert!(manifest.locate(folder.path()).is_ok(), "the size is right");
        assert!(matches!(manifest.verify(folder.path()), Err(FaultyFile::Contents { path: it }) if it == path));
        fs::write(&path, "abcd").unwrap();
        let error = manifest.locate(folder.path()).unwrap_err().to_string();
        assert!(error.contains("has 4 bytes and should have 3"), "{error}");
        fs::remove_file(&path).unwrap();
        assert!(matches!(manifest.locate(folder.path()), Err(FaultyFile::Unreadable { .. })));
        fs::create_dir(&path).unwrap();
        assert!(matches!(manifest.locate(folder.path()), Err(FaultyFile::Unreadable { .. })));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_out_of_the_folder_is_refused_and_one_inside_is_followed() {
        let (folder, elsewhere, manifest) = (folder(), tempfile::tempdir().unwrap(), parse(FULL).unwrap());
        let path = folder.path().join("parts/z.gguf");
        fs::rename(&path, folder.path().join("real.gguf")).unwrap();
        std::os::unix::fs::symlink("../real.gguf", &path).unwrap();
        assert!(manifest.locate(folder.path()).is_ok());
        fs::remove_file(&path).unwrap();
        fs::write(elsewhere.path().join("z.gguf"), "abc").unwrap();
        std::os::unix::fs::symlink(elsewhere.path().join("z.gguf"), &path).unwrap();
        assert!(matches!(manifest.locate(folder.path()), Err(FaultyFile::Outside { .. })));
        assert!(matches!(manifest.verify(folder.path()), Err(FaultyFile::Outside { .. })));
        fs::remove_file(&path).unwrap();
        fs::remove_dir(folder.path().join("parts")).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), folder.path().join("parts")).unwrap();
        assert!(matches!(manifest.locate(folder.path()), Err(FaultyFile::Outside { .. })), "a folder may be a link too");
    }

    #[test]
    fn a_model_is_called_by_the_manifest_that_names_its_file() {
        let folder = folder();
        let main = |name: &str| ModelFiles::from_iter([(FileRole::Model, folder.path().join(name))]);
        assert_eq!(model_name(&main("q.gguf")), None);
        fs::write(folder.path().join(MANIFEST), FULL).unwrap();
        assert_eq!(model_name(&main("q.gguf")).as_deref(), Some("Z-Image Turbo"));
        assert_eq!(model_name(&main("another.gguf")), None, "a file that happens to lie there");
        fs::write(folder.path().join(MANIFEST), "not JSON").unwrap();
        assert_eq!(model_name(&main("q.gguf")), None);
    }

    #[test]
    fn defaults_leave_prompt_and_seed_alone() {
        let mut recipe = Recipe { prompt: "a lake".into(), seed: 7, eta: Some(1.0), steps: 99, ..Recipe::default() };
        parse(FULL).unwrap().defaults.apply(&mut recipe);
        assert_eq!((recipe.prompt.as_str(), recipe.seed, recipe.eta), ("a lake", 7, None));
        assert_eq!((recipe.steps, recipe.guidance, recipe.width, recipe.height), (8, 1.5, 256, 192));
        assert_eq!((recipe.sampler, recipe.scheduler, recipe.flow_shift), (Some(Sampler::Euler), Some(Scheduler::Simple), Some(3.0)));
    }

    proptest::proptest! {
        #[test]
        fn whatever_a_filename_says_it_stays_inside(name in "\\PC{0,40}|[./\\\\a:]{0,12}") {
            if let Ok(name) = FileName::try_from(name) {
                let path = name.in_folder(Path::new("/m"));
                proptest::prop_assert!(path.starts_with("/m") && path != Path::new("/m"));
                let plain = path.components().skip(1).all(|it| matches!(it, std::path::Component::Normal(_)));
                proptest::prop_assert!(plain, "{}", path.display());
            }
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in "\\PC*") {
            let _ = parse(&text);
        }
    }
}
