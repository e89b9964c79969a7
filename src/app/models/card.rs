//! What the Models view knows of a model, as plain data that is made on the keeper's thread and only read by panels.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use crate::library::disk::{DiskFile, Stock, Training};
use crate::library::{Builtin, Card, CardFile, CardState, Defaults, Licence, ModelUse, Models, Role, Usage};
use crate::recipe::{FileRole, ModelFiles};

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
    fn of(licence: &Licence) -> Self {
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
    /// Whether its entry in the catalogue was looked at by a person, with exact sizes.
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
    /// Its files as the engine takes them, where it is known by them.
    pub main: Option<PathBuf>,
    /// Everything that a search looks at, in small letters.
    hay: String,
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
        let main = files.get(FileRole::Model).or(files.get(FileRole::Diffusion));
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

    fn with_hay(mut self) -> Self {
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

/// The card of the model that comes with the program.
#[must_use]
pub fn builtin_card(builtin: &Builtin) -> ModelCard {
    let manifest = builtin.manifest();
    let files = builtin.files().iter().map(|(role, path)| FileLine {
        role: role.label(),
        name: name_of(path),
        path: Some(path.to_owned()),
        bytes: manifest.files.iter().find(|it| it.role == Role::Part(role)).and_then(crate::library::ModelFile::bytes),
        facts: None,
    });
    ModelCard {
        id: BUILTIN.into(),
        name: manifest.name.clone(),
        kind: Kind::Model,
        family: manifest.family.clone(),
        description: manifest.description.clone(),
        terms: manifest.licence.as_ref().map(Terms::of),
        place: Place::BuiltIn,
        files: files.collect(),
        bytes: manifest.bytes(),
        defaults: defaults(&manifest.defaults),
        main: main_of(builtin.files()),
        ..empty()
    }
    .with_hay()
}

/// The id of the built-in model's card; no id of the library has a space.
pub const BUILTIN: &str = "built in";

/// Every model of the library as a card: what is here first, then what can be had.
#[must_use]
pub fn cards(models: &Models, stock: &Stock, usage: Option<&Usage>) -> Vec<ModelCard> {
    let on_disk: HashMap<&Path, &DiskFile> = stock.files.iter().map(|it| (it.path.as_path(), it.as_ref())).collect();
    let used: BTreeMap<&str, &ModelUse> = usage.iter().flat_map(|it| &it.models).map(|it| (it.id.as_str(), it)).collect();
    let mut cards: Vec<ModelCard> = models.cards().iter().map(|it| of_library(it, models, &on_disk, &used)).collect();
    let own = |path: &Path| models.installed.iter().any(|it| path.starts_with(&it.folder));
    let small = stock.files.iter().filter(|it| !own(&it.path)).filter_map(|it| of_small(it));
    let at = cards.iter().position(|it| !it.place.is_here()).unwrap_or(cards.len());
    cards.splice(at..at, small);
    cards
}

fn of_library(card: &Card, models: &Models, on_disk: &HashMap<&Path, &DiskFile>, used: &BTreeMap<&str, &ModelUse>) -> ModelCard {
    let entry = models.catalogue.find(&card.id);
    let installed = models.installed.iter().find(|it| it.manifest.id == card.id && card.state != CardState::InPlace);
    let loose = models.loose.iter().find(|it| it.id == card.id && installed.is_none());
    let known = |file: &CardFile| file.path.as_deref().and_then(|path| on_disk.get(path)).copied();
    let here: Vec<&DiskFile> = card.files.iter().filter_map(known).collect();
    let missing = loose.iter().flat_map(|it| &it.assembly.missing).map(|it| MissingLine {
        what: it.what.clone(),
        file: it.offer.as_ref().map(|offer| name_of(Path::new(offer.file.filename.as_str()))),
        bytes: it.bytes(),
    });
    let training: Vec<&Training> = here.iter().filter_map(|it| Some(&it.facts()?.training)).collect();
    let main = card.files.iter().find(|it| matches!(it.role, Role::Part(FileRole::Model | FileRole::Diffusion)));
    let missing: Vec<MissingLine> = missing.collect();
    ModelCard {
        id: card.id.clone(),
        name: card.name.clone(),
        kind: kind_of(&card.files),
        family: card.family.clone(),
        description: card.description.clone(),
        terms: card.licence.as_ref().map(Terms::of),
        place: card.state.into(),
        files: card.files.iter().map(|it| file_line(it, known(it))).collect(),
        bytes: card.bytes,
        // What is missing has lines of its own.
        problems: if missing.is_empty() { card.problems.clone() } else { Vec::new() },
        missing,
        variants: variants(card, models),
        defaults: defaults(&card.defaults),
        checked: card.state != CardState::Catalogue || entry.as_ref().and_then(|it| it.checked) == Some(true),
        recommended: entry.as_ref().is_some_and(|it| it.recommended),
        added: here.iter().filter_map(|it| it.modified).max(),
        triggers: training.iter().flat_map(|it| it.trigger_words.clone()).collect(),
        told: training.iter().flat_map(|it| told(it)).collect(),
        folder: installed.map(|it| it.folder.clone()).or_else(|| Some(loose?.main.path.parent()?.to_owned())),
        ours: installed.is_some(),
        shared: used.get(card.id.as_str()).map_or(0, |it| it.shared),
        jobs: jobs_of(card, models),
        main: main.and_then(|it| it.path.clone()),
        ..empty()
    }
    .with_hay()
}

/// A LoRA or an upscaler that lies by itself in a folder.
fn of_small(file: &DiskFile) -> Option<ModelCard> {
    let kind = match file.role()? {
        Role::Lora => Kind::Lora,
        Role::Part(FileRole::Upscaler) => Kind::Upscaler,
        Role::Part(_) | Role::Embedding => return None,
    };
    let facts = file.facts();
    let training = facts.map(|it| &it.training);
    let stem = file.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let card = CardFile { role: file.role()?, name: name_of(&file.path), path: Some(file.path.clone()), bytes: Some(file.bytes) };
    Some(
        ModelCard {
            id: file.path.to_string_lossy().into_owned(),
            name: training.and_then(|it| it.title.clone()).unwrap_or(stem),
            kind,
            family: facts.and_then(|it| it.family).map(|it| it.label().to_owned()),
            description: training.and_then(|it| it.usage.clone()).unwrap_or_default(),
            place: Place::InPlace,
            files: vec![file_line(&card, Some(file))],
            bytes: Some(file.bytes),
            added: file.modified,
            triggers: training.map(|it| it.trigger_words.clone()).unwrap_or_default(),
            told: training.map(told).unwrap_or_default(),
            folder: file.path.parent().map(Path::to_owned),
            ..empty()
        }
        .with_hay(),
    )
}

fn empty() -> ModelCard {
    ModelCard {
        id: String::new(),
        name: String::new(),
        kind: Kind::Part,
        family: None,
        description: String::new(),
        terms: None,
        place: Place::Catalogue,
        files: Vec::new(),
        bytes: None,
        missing: Vec::new(),
        problems: Vec::new(),
        variants: Vec::new(),
        defaults: Vec::new(),
        checked: true,
        recommended: false,
        added: None,
        triggers: Vec::new(),
        told: Vec::new(),
        folder: None,
        ours: false,
        shared: 0,
        jobs: Vec::new(),
        main: None,
        hay: String::new(),
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

fn main_of(files: &ModelFiles) -> Option<PathBuf> {
    files.get(FileRole::Model).or(files.get(FileRole::Diffusion)).map(Path::to_owned)
}

fn kind_of(files: &[CardFile]) -> Kind {
    let some = |is: fn(Role) -> bool| files.iter().any(|it| is(it.role));
    if some(|it| matches!(it, Role::Part(FileRole::Model | FileRole::Diffusion))) {
        Kind::Model
    } else if some(|it| it == Role::Lora) {
        Kind::Lora
    } else if some(|it| it == Role::Part(FileRole::Upscaler)) {
        Kind::Upscaler
    } else {
        Kind::Part
    }
}

fn file_line(file: &CardFile, known: Option<&DiskFile>) -> FileLine {
    let facts = known.and_then(|it| it.facts()).map(|it| {
        let billions = it.parameters as f64 / 1e9;
        let parameters = if billions >= 1.0 { format!("{billions:.1} B") } else { format!("{:.0} M", billions * 1e3) };
        format!("{}, {parameters} parameters, {}", it.name, it.quantisation)
    });
    FileLine { role: file.role.label(), name: file.name.clone(), path: file.path.clone(), bytes: file.bytes, facts }
}

fn variants(card: &Card, models: &Models) -> Vec<VariantLine> {
    let Some(entry) = models.catalogue.entry(&card.id).filter(|it| !it.variants.is_empty()) else { return Vec::new() };
    let is_here = |id: &str| models.installed.iter().any(|it| it.manifest.id == id && it.files.is_ok());
    let usual = VariantLine {
        name: String::new(),
        id: entry.id.clone(),
        description: String::new(),
        bytes: entry.bytes(),
        here: is_here(&entry.id),
    };
    let others = entry.variants.iter().filter_map(|variant| {
        let whole = entry.as_variant(&variant.name)?;
        Some(VariantLine {
            name: variant.name.clone(),
            description: variant.description.clone(),
            bytes: whole.bytes(),
            here: is_here(&whole.id),
            id: whole.id,
        })
    });
    std::iter::once(usual).chain(others).collect()
}

fn jobs_of(card: &Card, models: &Models) -> Vec<String> {
    let mut jobs = vec![card.id.clone()];
    if card.state == CardState::Incomplete {
        jobs.push(format!("parts-of-{}", card.id));
    }
    let entry = models.catalogue.entry(&card.id);
    jobs.extend(entry.iter().flat_map(|entry| entry.variants.iter().filter_map(|it| Some(entry.as_variant(&it.name)?.id))));
    jobs
}

fn told(training: &Training) -> Vec<(&'static str, String)> {
    let tags: Vec<&str> = training.tags.iter().take(12).map(|(tag, _)| tag.as_str()).collect();
    [
        ("Author", training.author.clone()),
        ("Made for", training.base_model.clone()),
        ("Rank", training.rank.map(|it| it.to_string())),
        ("Usage", training.usage.clone()),
        ("Trained on", (!tags.is_empty()).then(|| tags.join(", "))),
    ]
    .into_iter()
    .filter_map(|(head, text)| Some((head, text?)))
    .collect()
}

fn defaults(it: &Defaults) -> Vec<(&'static str, String)> {
    let size = it.width.zip(it.height).map(|(width, height)| format!("{width} × {height}"));
    [
        ("Size", size),
        ("Steps", it.steps.map(|it| it.to_string())),
        ("Guidance", it.cfg.map(|it| it.to_string())),
        ("Distilled guidance", it.distilled_guidance.map(|it| it.to_string())),
        ("Sampler", it.sampler.map(|it| it.label().to_owned())),
        ("Scheduler", it.scheduler.map(|it| it.label().to_owned())),
        ("Flow shift", it.flow_shift.map(|it| it.to_string())),
    ]
    .into_iter()
    .filter_map(|(head, text)| Some((head, text?)))
    .collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A card of the catalogue, for tests.
    pub(in crate::app::models) fn card(id: &str, name: &str, bytes: Option<u64>) -> ModelCard {
        ModelCard { id: id.into(), name: name.into(), kind: Kind::Model, bytes, jobs: vec![id.into()], ..empty() }.with_hay()
    }

    #[test]
    fn the_shipped_catalogue_becomes_cards_with_their_variants_and_what_they_are_for() {
        let models =
            Models { catalogue: crate::library::Catalogue::shipped(), installed: Vec::new(), loose: Vec::new(), problems: Vec::new() };
        let cards = cards(&models, &Stock::default(), None);
        let by = |id: &str| cards.iter().find(|it| it.id == id).unwrap();
        let turbo = by("z-image-turbo");
        assert_eq!((turbo.kind, turbo.place, turbo.checked, turbo.recommended), (Kind::Model, Place::Catalogue, false, true));
        assert_eq!(turbo.variants.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["", "Q4_K"]);
        assert_eq!(turbo.jobs, ["z-image-turbo", "z-image-turbo-q4_k"]);
        assert!(turbo.defaults.contains(&("Steps", "8".into())));
        assert_eq!((by("taesd").kind, by("realesrgan-x4plus-anime-6b").kind), (Kind::Part, Kind::Upscaler));
        assert!(by("flux.1-dev").terms.as_ref().is_some_and(Terms::asks) && !turbo.terms.as_ref().is_some_and(Terms::asks));
        assert!(turbo.has(&["apache".into(), "turbo".into()]) && !turbo.has(&["flux".into()]));
    }
}
