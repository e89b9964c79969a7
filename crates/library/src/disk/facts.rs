//! Facts from a file's header, short enough to be cached for thousands of files.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;

use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::walk::ONNX_ENDING;
use crate::check::expected_width;
use crate::embedding::{embedding_family, is_embedding};
use crate::family::Family;
use crate::header::{Fault, Header, file_name, read_header};
use crate::kind::identify;
use crate::manifest::Role;
use crate::onnx::{OnnxHeader, read_onnx_header};
use atelier_core::advice::Advice;
use atelier_core::recipe::FileRole;
use atelier_language::{english, tr};

/// The most tags of a LoRA that are kept; a person reads a line of them.
const MAX_TAGS: usize = 24;
/// The longest text of a file's metadata that is kept, in characters.
const MAX_CHARACTERS: usize = 300;
/// Entries of a list in the cache that are read; a text of [`MAX_CHARACTERS`] has no more words.
const MAX_ENTRIES: usize = MAX_CHARACTERS;
/// Endings of files that Python pickled, which can run programs where they are opened.
const PICKLES: [&str; 5] = ["ckpt", "pt", "pth", "bin", "pkl"];

/// Result of the inspection of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileStatus {
    /// Nothing yet.
    Unread,
    /// The facts of its header.
    Known(Arc<Facts>),
    /// It is a pickle: opening it can run a program that its author chose, so it is listed and not
    /// looked into.
    Pickle,
    /// It cannot be used.
    Faulty {
        /// The kind of fault.
        fault: Fault,
        /// The fault, with the file's name, and a remedy.
        #[serde(flatten)]
        advice: Advice,
    },
}

/// Facts from a header.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Role of the file.
    pub role: Option<Role>,
    /// The family, where the file alone tells.
    pub family: Option<Family>,
    /// Its name in English: `Qwen3-4B text encoder`.
    pub name: String,
    /// Number of values in all tensors.
    pub parameters: u64,
    /// The number type that most of its bytes have: `F16`, `Q4_K`.
    pub quantisation: String,
    /// The modules in it.
    #[serde(deserialize_with = "first_entries")]
    pub contains: Vec<FileRole>,
    /// Width of a text encoder.
    pub text_width: Option<u64>,
    /// Rows of a text encoder's table of tokens.
    pub vocabulary: Option<u64>,
    /// Channels of the latents that a VAE or tiny autoencoder decodes.
    pub latent_channels: Option<u64>,
    /// True of a `PhotoMaker` v2, which reads features of faces beside pictures.
    pub reads_faces: bool,
    /// The text encoder that a diffusion module reads, by its role and width.
    pub reads: Option<(FileRole, u64)>,
    /// Notes of its trainer.
    pub training: Training,
}

/// Notes of the trainer of a model or LoRA, in the metadata of kohya's scripts (`ss_...`) and of
/// the `modelspec` convention.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Training {
    /// Title.
    pub title: Option<String>,
    /// Author.
    pub author: Option<String>,
    /// Words that call up what was trained.
    #[serde(deserialize_with = "first_entries")]
    pub trigger_words: Vec<String>,
    /// Words of the pictures that it was trained on, the most frequent first, with how often they
    /// came.
    #[serde(deserialize_with = "first_entries")]
    pub tags: Vec<(String, u64)>,
    /// The model that it was trained on.
    pub base_model: Option<String>,
    /// Rank of a LoRA.
    pub rank: Option<u64>,
    /// Instructions, in its author's words.
    pub usage: Option<String>,
}

/// Reads a file's header and says what it is. A pickle is not opened.
#[must_use]
pub fn inspect_file(path: &Path) -> FileStatus {
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    if PICKLES.contains(&extension.as_str()) {
        return FileStatus::Pickle;
    }
    if extension == ONNX_ENDING {
        return inspect_onnx(path);
    }
    match read_header(path) {
        Ok(header) => FileStatus::Known(Arc::new(Facts::of(&header))),
        // By its contents, whatever it is called.
        Err(error) if error.fault == Fault::Pickle => FileStatus::Pickle,
        Err(error) => FileStatus::Faulty { fault: error.fault, advice: error.advice },
    }
}

fn inspect_onnx(path: &Path) -> FileStatus {
    match read_onnx_header(path) {
        Ok(header) if header.is_quantised && header.role().is_some() => FileStatus::Faulty {
            fault: Fault::Unsupported,
            advice: Advice::new(tr!("library-is-quantised-to-8", path = file_name(path)), tr!("library-get-its-16-or")),
        },
        Ok(header) => FileStatus::Known(Arc::new(Facts::of_onnx(&header))),
        Err(error) => FileStatus::Faulty { fault: error.fault, advice: error.advice },
    }
}

impl Facts {
    /// The facts of a model that looks at pictures.
    fn of_onnx(header: &OnnxHeader) -> Self {
        Self {
            role: header.role(),
            name: header.name(),
            parameters: header.parameters,
            quantisation: header.quantisation.to_owned(),
            ..Self::default()
        }
    }

    /// The facts of this header.
    #[must_use]
    pub fn of(header: &Header) -> Self {
        let kind = identify(header);
        let embedding = kind.role.is_none() && !kind.is_lora && is_embedding(header);
        let role = match kind.role {
            Some(role) => Some(Role::Part(role)),
            None if kind.is_lora => Some(Role::Lora),
            None => embedding.then_some(Role::Embedding),
        };
        let diffusion = matches!(kind.role, Some(FileRole::Model | FileRole::Diffusion));
        Self {
            role,
            reads: kind.family.filter(|_| diffusion).and_then(|family| expected_width(header, family)),
            family: if embedding { embedding_family(header) } else { kind.family },
            name: if embedding { english("library-kind-embedding").into() } else { kind.name },
            parameters: kind.parameters,
            quantisation: kind.quantisation,
            contains: kind.contains,
            text_width: kind.text_width,
            vocabulary: kind.vocabulary,
            latent_channels: kind.latent_channels,
            reads_faces: kind.reads_faces,
            training: training(&header.metadata),
        }
    }
}

fn training(metadata: &BTreeMap<String, String>) -> Training {
    let text = |keys: &[&str]| {
        let found = keys.iter().filter_map(|key| metadata.get(*key)).map(|it| short(it));
        found.into_iter().find(|it| !it.is_empty() && it != "None")
    };
    let list = |text: String| text.split(',').map(|it| it.trim().to_owned()).filter(|it| !it.is_empty()).collect();
    Training {
        title: text(&["modelspec.title", "general.name", "ss_output_name"]),
        author: text(&["modelspec.author", "general.author"]),
        trigger_words: text(&["modelspec.trigger_phrase"]).map(list).unwrap_or_default(),
        tags: metadata.get("ss_tag_frequency").map(|it| tags(it)).unwrap_or_default(),
        base_model: text(&["ss_sd_model_name", "ss_base_model_version", "modelspec.architecture"]),
        rank: metadata.get("ss_network_dim").and_then(|it| it.parse().ok()),
        usage: text(&["modelspec.usage_hint", "modelspec.description", "general.description"]),
    }
}

/// The first entries of a list in the cache, which could be long without end.
fn first_entries<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    struct First<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for First<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
            let mut entries = Vec::new();
            while entries.len() < MAX_ENTRIES {
                match list.next_element()? {
                    Some(entry) => entries.push(entry),
                    None => return Ok(entries),
                }
            }
            while list.next_element::<IgnoredAny>()?.is_some() {}
            Ok(entries)
        }
    }

    deserializer.deserialize_seq(First(PhantomData))
}

/// kohya's table of tags: for each folder of pictures, how often each word came.
fn tags(text: &str) -> Vec<(String, u64)> {
    let Ok(folders) = serde_json::from_str::<BTreeMap<String, BTreeMap<String, u64>>>(text) else { return Vec::new() };
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for (tag, count) in folders.into_values().flatten() {
        let sum = sums.entry(short(&tag)).or_default();
        *sum = sum.saturating_add(count);
    }
    let mut tags: Vec<(String, u64)> = sums.into_iter().filter(|(tag, _)| !tag.is_empty()).collect();
    tags.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    tags.truncate(MAX_TAGS);
    tags
}

/// A text on one line, of bounded length.
fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().filter(|c| !c.is_control()).take(MAX_CHARACTERS).collect()
}

#[cfg(test)]
mod tests;
