//! A card: everything that a list of models shows of one of them. Plain data.

use std::path::{Path, PathBuf};

use crate::assemble::Missing;
use crate::manifest::{Defaults, Example, Licence, Role, Sha256};
use crate::models::Runnable;
use atelier_core::recipe::{FileRole, ModelFiles};
use atelier_language::{catalogue_text, tr};

/// The id of the built-in model's card; no id of the library has a space.
pub const BUILTIN_CARD_ID: &str = "built in";

/// The purpose of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ModelKind {
    /// It makes pictures.
    Model,
    /// It adds a style or a subject to a model.
    Lora,
    /// It upscales pictures.
    Upscaler,
    /// It cuts out what is in front of a background.
    Cutout,
    /// It finds things in pictures.
    Detector,
    /// A part that other models need.
    #[default]
    Part,
}

impl ModelKind {
    /// All kinds, models first.
    pub const ALL: [Self; 6] = [Self::Model, Self::Lora, Self::Upscaler, Self::Cutout, Self::Detector, Self::Part];

    /// The word shown, for one of them.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Model => tr!("library-model"),
            Self::Lora => "LoRA",
            Self::Upscaler => tr!("library-upscaler"),
            Self::Cutout => tr!("library-cut-out-model-2"),
            Self::Detector => tr!("library-detector"),
            Self::Part => tr!("library-part"),
        }
    }

    /// The word shown, for all of them.
    #[must_use]
    pub fn plural(self) -> &'static str {
        match self {
            Self::Model => tr!("library-models"),
            Self::Lora => tr!("library-loras"),
            Self::Upscaler => tr!("library-upscalers"),
            Self::Cutout => tr!("library-cut-out-models"),
            Self::Detector => tr!("library-detectors"),
            Self::Part => tr!("library-parts"),
        }
    }
}

/// Place of a model, and its readiness.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Availability {
    /// It came with Atelier.
    BuiltIn,
    /// Downloaded, and whole as far as names and sizes tell.
    OnDisk,
    /// Downloaded, and a file is missing or another.
    Damaged,
    /// In a folder of the person's.
    InPlace,
    /// A loose file that still needs others.
    Incomplete,
    /// It lies in a folder, and cannot be used.
    Listed,
    /// It can be downloaded.
    #[default]
    Catalogue,
}

impl Availability {
    /// The word for programs.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::BuiltIn => "built_in",
            Self::OnDisk => "on_disk",
            Self::Damaged => "damaged",
            Self::InPlace => "in_place",
            Self::Incomplete => "incomplete",
            Self::Listed => "listed",
            Self::Catalogue => "catalogue",
        }
    }

    /// The word shown.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::BuiltIn => tr!("library-is-built-in"),
            Self::OnDisk => tr!("library-on-disk"),
            Self::Damaged => tr!("library-card-damaged"),
            Self::InPlace => tr!("library-in-place"),
            Self::Incomplete => tr!("library-card-incomplete"),
            Self::Listed => tr!("library-is-listed"),
            Self::Catalogue => tr!("library-is-catalogue"),
        }
    }

    /// The sentence shown beside the word.
    #[must_use]
    pub fn tooltip(self) -> &'static str {
        match self {
            Self::BuiltIn => tr!("library-included-with-atelier"),
            Self::OnDisk => tr!("library-downloaded-by-atelier-and"),
            Self::Damaged => tr!("library-a-file-is-missing"),
            Self::InPlace => tr!("library-used-in-place-in"),
            Self::Incomplete => tr!("library-other-files-are-needed"),
            Self::Listed => tr!("library-on-this-disk-but"),
            Self::Catalogue => tr!("library-can-be-downloaded"),
        }
    }

    /// True if it can be used now.
    #[must_use]
    pub const fn is_ready(self) -> bool {
        matches!(self, Self::BuiltIn | Self::OnDisk | Self::InPlace)
    }

    /// True if some of it is on this machine.
    #[must_use]
    pub const fn is_here(self) -> bool {
        !matches!(self, Self::Catalogue)
    }
}

/// What a file's header says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFacts {
    /// Contents, parameters and number type, in a few words.
    pub words: String,
    /// True of a `PhotoMaker` v2, which reads features of faces beside pictures.
    pub reads_faces: bool,
}

/// A file of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardFile {
    /// Its purpose.
    pub role: Role,
    /// Its name, which may have folders in it.
    pub name: String,
    /// Its path, if it is on this disk.
    pub path: Option<PathBuf>,
    /// Its size in bytes, estimated if not on this disk.
    pub bytes: Option<u64>,
    /// What its header says; `None` where it was not read.
    pub facts: Option<FileFacts>,
    /// Its SHA-256, as its manifest or its download says; `None` where nobody has written it down.
    pub sha256: Option<Sha256>,
}

impl CardFile {
    /// False of a `PhotoMaker` whose header says that it reads no features of faces.
    #[must_use]
    pub fn may_read_faces(&self) -> bool {
        self.facts.as_ref().is_none_or(|facts| facts.reads_faces)
    }
}

/// The same model in another size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardVariant {
    /// The part of its name that differs: `Q4_K_M`; empty for the usual one.
    pub name: String,
    /// Its id on the disk.
    pub id: String,
    /// The difference, for people.
    pub description: String,
    /// Bytes on disk, estimated if not downloaded; `None` if unknown.
    pub bytes: Option<u64>,
    /// True if it is on this disk.
    pub on_disk: bool,
}

impl CardVariant {
    /// The name as a person reads it: those of number types are the same in every language.
    #[must_use]
    pub fn words(&self) -> &str {
        if self.name == "small" { tr!("library-size-small") } else { &self.name }
    }
}

/// A model, or a loose file, in a list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelCard {
    /// The name that commands use; the path of a loose file that belongs to no model.
    pub id: String,
    /// True if it is a file that belongs to no model; its id is its path.
    pub is_loose_file: bool,
    /// The name for people.
    pub name: String,
    /// Its purpose.
    pub kind: ModelKind,
    /// Its family.
    pub family: Option<String>,
    /// Its use, in a sentence or two.
    pub description: String,
    /// Its terms, where they are known.
    pub licence: Option<Licence>,
    /// Its place and readiness.
    pub availability: Availability,
    /// Its files.
    pub files: Vec<CardFile>,
    /// Bytes on disk, estimated if not downloaded; `None` if unknown.
    pub bytes: Option<u64>,
    /// Parts that are not on this disk.
    pub missing: Vec<Missing>,
    /// Faults, in sentences, without the missing parts.
    pub problems: Vec<String>,
    /// Its sizes, the usual one first; empty where there is one only.
    pub variants: Vec<CardVariant>,
    /// The settings that suit it.
    pub defaults: Defaults,
    /// What it is good at.
    pub examples: Vec<Example>,
    /// True if the catalogue lacks the exact size or sum of one of its files.
    pub is_estimate: bool,
    /// True if it is a good first model.
    pub recommended: bool,
    /// Time of its newest file, in nanoseconds since 1970.
    pub added_nanos: Option<u64>,
    /// Words of a prompt that evoke the trained subject.
    pub trigger_words: Vec<String>,
    /// The trainer's other notes, as heads and texts.
    pub trainer_notes: Vec<(&'static str, String)>,
    /// Its folder, where it is on this disk.
    pub folder: Option<PathBuf>,
    /// True if Atelier downloaded it, so that it can be checked and deleted.
    pub downloaded: bool,
    /// Bytes on disk that another model has in common with it.
    pub shared_bytes: u64,
    /// The ids of jobs that download it.
    pub job_ids: Vec<String>,
    /// The file with its diffusion module.
    pub main_file: Option<PathBuf>,
    /// Its files and settings for the engine, where it can be used now.
    pub runnable: Option<Runnable>,
    /// Everything that a search compares, in small letters: set by [`Self::with_search_text`].
    pub search_text: String,
}

impl ModelCard {
    /// True if every one of these words, in small letters, is somewhere in its id, name, family,
    /// description, licence, kind, trigger words or files' names.
    #[must_use]
    pub fn has(&self, words: &[String]) -> bool {
        words.iter().all(|word| self.search_text.contains(word))
    }

    /// The word for its kind; where nobody knows a use for the file, that.
    #[must_use]
    pub fn kind_label(&self) -> &'static str {
        let is_unknown = self.is_loose_file && self.files.is_empty() && matches!(self.kind, ModelKind::Part);
        if is_unknown { tr!("library-unknown-file") } else { self.kind.label() }
    }

    /// The file of which a smaller copy can be made: the one with its diffusion module, or the text
    /// encoder that it is.
    #[must_use]
    pub fn copied_file(&self) -> Option<&Path> {
        let is_encoder = |it: &&CardFile| {
            let Role::Part(role) = it.role else { return false };
            matches!(role, FileRole::Llm | FileRole::ClipL | FileRole::ClipG | FileRole::T5xxl)
        };
        let file = match self.kind {
            ModelKind::Model => self.main_file.as_deref(),
            ModelKind::Part => self.files.iter().find(is_encoder).and_then(|it| it.path.as_deref()),
            ModelKind::Lora | ModelKind::Upscaler | ModelKind::Cutout | ModelKind::Detector => None,
        };
        file.filter(|_| self.availability.is_here() && !matches!(self.availability, Availability::BuiltIn | Availability::Damaged))
    }

    /// True if every word of this text is somewhere in it, as with [`Self::has`].
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        text.to_lowercase().split_whitespace().all(|word| self.search_text.contains(word))
    }

    /// True if a model of these files is this one: the file with the diffusion module decides.
    #[must_use]
    pub fn is_of(&self, files: &ModelFiles) -> bool {
        let main = files.main();
        self.kind == ModelKind::Model && main.is_some() && main == self.main_file.as_deref()
    }

    /// Sum of the missing files, in bytes; `None` where one is unknown.
    #[must_use]
    pub fn missing_bytes(&self) -> Option<u64> {
        self.missing.iter().try_fold(0u64, |sum, it| Some(sum.saturating_add(it.bytes()?)))
    }

    /// True if one of the missing parts can be downloaded.
    #[must_use]
    pub fn can_be_completed(&self) -> bool {
        self.missing.iter().any(|it| it.offer.is_some())
    }

    /// Faults and missing parts, in sentences.
    #[must_use]
    pub fn problem_sentences(&self) -> Vec<String> {
        self.problems.iter().cloned().chain(self.missing.iter().map(Missing::sentence)).collect()
    }

    /// The settings that suit it, as words and numbers.
    #[must_use]
    pub fn default_lines(&self) -> Vec<(&'static str, String)> {
        let it = &self.defaults;
        let size = it.width.zip(it.height).map(|(width, height)| format!("{width} × {height}"));
        [
            (tr!("common-size"), size),
            (tr!("library-steps"), it.steps.map(|it| it.to_string())),
            (tr!("library-guidance"), it.cfg.map(|it| it.to_string())),
            (tr!("library-distilled-guidance"), it.distilled_guidance.map(|it| it.to_string())),
            (tr!("library-sampler"), it.sampler.map(|it| it.label().to_owned())),
            (tr!("library-scheduler"), it.scheduler.map(|it| it.label().to_owned())),
            (tr!("library-flow-shift"), it.flow_shift.map(|it| it.to_string())),
        ]
        .into_iter()
        .filter_map(|(head, text)| Some((head, text?)))
        .collect()
    }

    /// Fills [`Self::search_text`] from the other fields.
    #[must_use]
    pub fn with_search_text(mut self) -> Self {
        let licence = self.licence.as_ref().map_or("", |it| it.name());
        let family = self.family.as_deref().unwrap_or_default();
        // Its English too: names of things that a person knows from elsewhere stand in it.
        let (shown, shown_licence) = (catalogue_text(&self.description), catalogue_text(licence));
        let words: [&str; 8] = [&self.id, &self.name, family, &self.description, shown, licence, shown_licence, self.kind.label()];
        let mut text = words.join("\n");
        for line in self.files.iter().map(|it| &it.name).chain(&self.trigger_words) {
            text.push('\n');
            text.push_str(line);
        }
        self.search_text = text.to_lowercase();
        self
    }
}
