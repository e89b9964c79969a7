//! What the Models view knows of a model, as plain data that is made on the keeper's thread ([`crate::gui::models::made`]) and only read by panels.

use std::path::PathBuf;

use atelier_core::recipe::ModelFiles;
use atelier_library::{CardState, Licence, Runnable};

/// What a model is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It makes pictures.
    Model,
    /// It adds a style or a subject to a model.
    Lora,
    /// It enlarges pictures.
    Upscaler,
    /// A part that other models need.
    Part,
}

impl Kind {
    /// All of them, models first.
    pub const ALL: [Self; 4] = [Self::Model, Self::Lora, Self::Upscaler, Self::Part];

    /// The word shown, for one of them.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Model => "Model",
            Self::Lora => "LoRA",
            Self::Upscaler => "Upscaler",
            Self::Part => "Part",
        }
    }

    /// The word shown, for all of them.
    #[must_use]
    pub const fn plural(self) -> &'static str {
        match self {
            Self::Model => "Models",
            Self::Lora => "LoRAs",
            Self::Upscaler => "Upscalers",
            Self::Part => "Parts",
        }
    }
}

/// Where a model is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
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
    Catalogue,
}

impl Place {
    /// The word shown.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::BuiltIn => "built-in",
            Self::OnDisk => "on disk",
            Self::Damaged => "damaged",
            Self::InPlace => "in place",
            Self::Incomplete => "incomplete",
            Self::Listed => "listed",
            Self::Catalogue => "catalogue",
        }
    }

    /// What it means.
    #[must_use]
    pub const fn tooltip(self) -> &'static str {
        match self {
            Self::BuiltIn => "It came with Atelier and is always there.",
            Self::OnDisk => "Atelier downloaded it; it can be used.",
            Self::Damaged => "A file is missing or is not as it should be. Get it again.",
            Self::InPlace => "It is used where it is, in a folder of yours, and never changed.",
            Self::Incomplete => "It still needs other files before it can be used.",
            Self::Listed => "It is on this disk and cannot be used here; its details say why.",
            Self::Catalogue => "It can be downloaded.",
        }
    }

    /// Whether it can be used now.
    #[must_use]
    pub const fn is_ready(self) -> bool {
        matches!(self, Self::BuiltIn | Self::OnDisk | Self::InPlace)
    }

    /// Whether some of it is on this machine.
    #[must_use]
    pub const fn is_here(self) -> bool {
        !matches!(self, Self::Catalogue)
    }
}

impl From<CardState> for Place {
    fn from(state: CardState) -> Self {
        match state {
            CardState::OnDisk => Self::OnDisk,
            CardState::Damaged => Self::Damaged,
            CardState::InPlace => Self::InPlace,
            CardState::Incomplete => Self::Incomplete,
            CardState::Catalogue => Self::Catalogue,
        }
    }
}

/// The terms that a model comes under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// What they are called.
    pub name: String,
    /// Where they stand.
    pub url: Option<String>,
    /// Whether an account must have accepted them before the files can be had.
    pub gated: bool,
    /// Whether they forbid earning money with the pictures or the model.
    pub non_commercial: bool,
    /// Whether they were accepted when it was downloaded.
    pub accepted: bool,
}

impl Terms {
    pub(crate) fn of(licence: &Licence) -> Self {
        Self {
            name: licence.name().to_owned(),
            url: licence.url().map(str::to_owned),
            gated: licence.is_gated(),
            non_commercial: matches!(licence, Licence::Named { non_commercial: true, .. }),
            accepted: matches!(licence, Licence::Named { accepted: true, .. }),
        }
    }

    /// Whether a person should see them once before the model is used.
    #[must_use]
    pub const fn asks(&self) -> bool {
        (self.gated || self.non_commercial) && !self.accepted
    }

    /// What is special about them, in a word or two.
    #[must_use]
    pub const fn notes(&self) -> Option<&'static str> {
        match (self.gated, self.non_commercial) {
            (true, true) => Some("needs an account, non-commercial"),
            (true, false) => Some("needs an account"),
            (false, true) => Some("non-commercial"),
            (false, false) => None,
        }
    }
}

/// A file of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLine {
    /// What it is for, in a word or two.
    pub role: &'static str,
    /// What it is called, which may have folders in it.
    pub name: String,
    /// Where it is, if it is on this disk.
    pub path: Option<PathBuf>,
    /// Its size in bytes, if only about.
    pub bytes: Option<u64>,
    /// What its header tells, in a few words.
    pub facts: Option<String>,
}

/// A part that is not on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingLine {
    /// What to call it: `a text encoder (Qwen3-4B)`.
    pub what: String,
    /// The file that would fill the gap, where one is known.
    pub file: Option<String>,
    /// How much would have to be downloaded, in bytes, if only about.
    pub bytes: Option<u64>,
    /// The model of the catalogue that it comes with, whose terms it is under.
    pub of: Option<String>,
}

/// The same model in another size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariantLine {
    /// What tells it from the others: `Q4_K_M`; empty for the usual one.
    pub name: String,
    /// The id that it has on the disk.
    pub id: String,
    /// What tells it apart, for people.
    pub description: String,
    /// What it takes, in bytes, if only about.
    pub bytes: Option<u64>,
    /// Whether it is on the disk already.
    pub here: bool,
}

/// A model in the Models view.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelCard {
    /// What programs call it; of a loose LoRA or upscaler its path.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// What it is for.
    pub kind: Kind,
    /// The family it belongs to.
    pub family: Option<String>,
    /// What it is good for.
    pub description: String,
    /// Its terms, where they are known.
    pub terms: Option<Terms>,
    /// Where it is.
    pub place: Place,
    /// Its files.
    pub files: Vec<FileLine>,
    /// What it takes on disk, or would, if only about; `None` where a file does not say.
    pub bytes: Option<u64>,
    /// What it still needs.
    pub missing: Vec<MissingLine>,
    /// What is wrong, in sentences.
    pub problems: Vec<String>,
    /// Its sizes, the usual one first; empty where there is one only.
    pub variants: Vec<VariantLine>,
    /// The settings that suit it, as words and numbers.
    pub defaults: Vec<(&'static str, String)>,
    /// Whether the exact size and sum of each of its files is known.
    pub checked: bool,
    /// Whether it is a good first model.
    pub recommended: bool,
    /// When its newest file came, in nanoseconds since 1970.
    pub added: Option<u64>,
    /// Words that call up what was trained.
    pub triggers: Vec<String>,
    /// What else its trainer wrote down, as heads and texts.
    pub told: Vec<(&'static str, String)>,
    /// Its folder, where it is on this disk.
    pub folder: Option<PathBuf>,
    /// Whether Atelier downloaded it, so that it can be checked and taken away.
    pub ours: bool,
    /// Bytes on disk that another model has in common with it.
    pub shared: u64,
    /// The names that downloads of it have in the queue.
    pub jobs: Vec<String>,
    /// The file with its diffusion module.
    pub main: Option<PathBuf>,
    /// What the engine needs to run it, where it can be used now.
    pub runnable: Option<Runnable>,
    /// Everything that a search looks at, in small letters.
    pub(crate) hay: String,
}

impl ModelCard {
    /// Whether every one of these words, in small letters, is somewhere in it.
    #[must_use]
    pub fn has(&self, words: &[String]) -> bool {
        words.iter().all(|word| self.hay.contains(word))
    }

    /// Whether these are its files: the one with the diffusion module tells.
    #[must_use]
    pub fn is_of(&self, files: &ModelFiles) -> bool {
        let main = files.main();
        self.kind == Kind::Model && main.is_some() && main == self.main.as_deref()
    }

    /// How much the missing files take, in bytes; `None` where one of them does not say.
    #[must_use]
    pub fn missing_bytes(&self) -> Option<u64> {
        self.missing.iter().try_fold(0u64, |sum, it| Some(sum.saturating_add(it.bytes?)))
    }

    /// Whether something of what is missing can be downloaded.
    #[must_use]
    pub fn can_be_completed(&self) -> bool {
        self.missing.iter().any(|it| it.file.is_some())
    }

    pub(crate) fn with_hay(mut self) -> Self {
        let terms = self.terms.as_ref().map_or("", |it| it.name.as_str());
        let family = self.family.as_deref().unwrap_or_default();
        let mut hay = [&self.id, &self.name, family, &self.description, terms, self.kind.label()].join("\n");
        for text in self.files.iter().map(|it| &it.name).chain(&self.triggers) {
            hay.push('\n');
            hay.push_str(text);
        }
        self.hay = hay.to_lowercase();
        self
    }
}

/// The id of the built-in model's card; no id of the library has a space.
pub const BUILTIN: &str = "built in";

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::gui::models::made::empty;

    /// A card of the catalogue, for tests.
    pub(in crate::gui::models) fn card(id: &str, name: &str, bytes: Option<u64>) -> ModelCard {
        ModelCard { id: id.into(), name: name.into(), kind: Kind::Model, bytes, jobs: vec![id.into()], ..empty() }.with_hay()
    }
}
