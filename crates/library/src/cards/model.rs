//! Cards of models: the built-in one, those that Atelier downloaded, those that loose files make,
//! and those of the catalogue.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use super::card::{Availability, BUILTIN_CARD_ID, CardFile, CardVariant, FileFacts, ModelCard, ModelKind};
use crate::builtin::Builtin;
use crate::disk::{DiskFile, Facts, Training};
use crate::header::file_name;
use crate::kind::kind_words;
use crate::manifest::{Manifest, ModelFile, Role, Sha256};
use crate::models::{Installed, Loose, Models, Runnable};
use crate::naming::name_of;
use crate::shards;
use crate::usage::ModelUse;
use atelier_core::format::decimal;
use atelier_core::recipe::FileRole;
use atelier_language::tr;

/// The card of the model that comes with the program.
#[must_use]
pub fn builtin_card(builtin: &Builtin) -> ModelCard {
    let manifest = builtin.manifest();
    let files = builtin.files().iter().map(|(role, path)| CardFile {
        role: Role::Part(role),
        name: file_name(path),
        path: Some(path.to_owned()),
        bytes: manifest.files.iter().find(|it| it.role == Role::Part(role)).and_then(ModelFile::bytes),
        facts: None,
        sha256: manifest.files.iter().find(|it| it.role == Role::Part(role)).and_then(|it| it.sha256),
    });
    ModelCard {
        id: BUILTIN_CARD_ID.into(),
        name: manifest.name.clone(),
        kind: ModelKind::Model,
        family: manifest.family.clone(),
        description: manifest.description.clone(),
        licence: manifest.licence.clone(),
        availability: Availability::BuiltIn,
        files: files.collect(),
        bytes: manifest.bytes(),
        defaults: manifest.defaults.clone(),
        examples: manifest.examples.clone(),
        main_file: builtin.files().main().map(Path::to_owned),
        runnable: Some(Runnable {
            id: manifest.id.clone(),
            name: manifest.name.clone(),
            files: builtin.files().clone(),
            loras: Vec::new(),
            defaults: manifest.defaults.clone(),
        }),
        ..ModelCard::default()
    }
    .with_search_text()
}

/// The card of this name: `ID`, `ID:VARIANT`, or the path of a loose main file. Without what only a
/// scan of the disk can add.
#[must_use]
pub fn card_named(models: &Models, name: &str) -> Option<ModelCard> {
    let downloaded = BTreeMap::new();
    let sources = Sources { models, on_disk: HashMap::new(), used: BTreeMap::new(), downloaded: &downloaded };
    if let Some(it) = models.installed_as(name) {
        return Some(sources.of_installed(it));
    }
    let loose = models.loose.iter().find(|it| it.id == name || it.main.path == Path::new(name));
    loose.map(|it| sources.of_loose(it)).or_else(|| models.catalogue.find(name).map(|it| sources.of_entry(&it)))
}

/// Facts about files beyond the models themselves, from which cards are filled in.
pub(super) struct Sources<'a> {
    pub(super) models: &'a Models,
    pub(super) on_disk: HashMap<&'a Path, &'a DiskFile>,
    pub(super) used: BTreeMap<&'a str, &'a ModelUse>,
    pub(super) downloaded: &'a BTreeMap<PathBuf, Option<Sha256>>,
}

impl Sources<'_> {
    pub(super) fn of_installed(&self, it: &Installed) -> ModelCard {
        let manifest = &it.manifest;
        let mut card = Self::of_manifest(manifest);
        card.availability = if it.files.is_ok() { Availability::OnDisk } else { Availability::Damaged };
        card.problems = it.files.as_ref().err().map(ToString::to_string).into_iter().collect();
        for (file, card_file) in manifest.files.iter().zip(&mut card.files) {
            let path = file.filename.in_folder(&it.folder);
            if let Ok(about) = fs::metadata(&path) {
                (card_file.bytes, card_file.path) = (Some(about.len()), Some(path));
            }
        }
        card.bytes = sum(&card.files);
        card.variants = self.models.catalogue.entry(&manifest.id).map_or_else(|| self.variants(manifest), |it| self.variants(it));
        if card.examples.is_empty() {
            // An earlier version brought it, which knew none.
            card.examples = self.models.catalogue.find(&manifest.id).map(|it| it.examples).unwrap_or_default();
        }
        card.folder = Some(it.folder.clone());
        card.downloaded = true;
        card.runnable = it.runnable().ok();
        self.completed(card)
    }

    pub(super) fn of_loose(&self, it: &Loose) -> ModelCard {
        let facts = it.main.facts();
        let title = facts.and_then(|it| it.training.title.clone());
        let files = it.assembly.files.iter().map(|(part, path)| CardFile {
            role: Role::Part(part),
            name: file_name(path),
            path: Some(path.to_owned()),
            bytes: shards::whole_bytes(path, (path == it.main.path).then_some(it.main.bytes)),
            facts: None,
            sha256: None,
        });
        let files: Vec<CardFile> = files.collect();
        let quantisation = facts.map(|it| it.quantisation.as_str()).unwrap_or_default();
        let downloaded = self.downloaded.contains_key(&it.main.path);
        let mut card = ModelCard {
            id: it.id.clone(),
            name: title.unwrap_or_else(|| name_of(&it.main.path)),
            family: Some(it.assembly.family.label().into()),
            description: tr!("library-in-used-where-it", facts = facts.map(|it| kind_words(&it.name)).unwrap_or_default(), quantisation),
            availability: match it.assembly.missing.is_empty() {
                true if downloaded => Availability::OnDisk,
                true => Availability::InPlace,
                false => Availability::Incomplete,
            },
            bytes: sum(&files),
            files,
            missing: it.assembly.missing.clone(),
            defaults: self.models.catalogue.defaults_for(it.assembly.family, &file_name(&it.main.path)),
            examples: self.models.catalogue.examples_for(it.assembly.family, &file_name(&it.main.path)),
            folder: it.main.path.parent().map(Path::to_owned),
            downloaded,
            runnable: it.runnable(&self.models.catalogue).ok(),
            ..ModelCard::default()
        };
        if card.availability == Availability::Incomplete {
            card.job_ids.push(format!("parts-of-{}", card.id));
        }
        self.completed(card)
    }

    pub(super) fn of_entry(&self, entry: &Manifest) -> ModelCard {
        let mut card = Self::of_manifest(entry);
        card.variants = self.variants(entry);
        card.is_estimate = self.models.catalogue.find(&card.id).and_then(|it| it.checked) != Some(true);
        self.completed(card)
    }

    /// The part of a card that its manifest says.
    fn of_manifest(manifest: &Manifest) -> ModelCard {
        let file = |it: &ModelFile| CardFile {
            role: it.role,
            name: it.filename.as_str().into(),
            path: None,
            bytes: it.bytes(),
            facts: None,
            sha256: it.sha256,
        };
        ModelCard {
            id: manifest.id.clone(),
            name: manifest.shown_name(),
            family: manifest.family.clone(),
            description: manifest.shown_description(),
            licence: manifest.licence.clone(),
            files: manifest.files.iter().map(file).collect(),
            bytes: manifest.bytes(),
            defaults: manifest.defaults.clone(),
            examples: manifest.examples.clone(),
            ..ModelCard::default()
        }
    }

    /// Fills in what follows from a card's id and files.
    fn completed(&self, mut card: ModelCard) -> ModelCard {
        card.kind = kind_of(&card.files);
        let is_main = |it: &&CardFile| matches!(it.role, Role::Part(FileRole::Model | FileRole::Diffusion));
        card.main_file = card.files.iter().find(is_main).and_then(|it| it.path.clone());
        for file in &mut card.files {
            let known: Option<&DiskFile> = file.path.as_deref().and_then(|path| self.on_disk.get(path)).copied();
            let Some(known) = known else { continue };
            card.added_nanos = card.added_nanos.max(known.modified);
            if let Some(facts) = known.facts() {
                file.facts = Some(file_facts(facts));
                card.trigger_words.extend(facts.training.trigger_words.iter().cloned());
                card.trainer_notes.extend(trainer_notes(&facts.training));
            }
        }
        card.recommended = self.models.catalogue.find(&card.id).is_some_and(|it| it.recommended);
        card.shared_bytes = self.used.get(card.id.as_str()).map_or(0, |it| it.shared);
        card.job_ids.insert(0, card.id.clone());
        let entry = self.models.catalogue.entry(&card.id);
        let variant_ids = entry.iter().flat_map(|entry| entry.variants.iter().filter_map(|it| Some(entry.as_variant(&it.name)?.id)));
        card.job_ids.extend(variant_ids);
        card.with_search_text()
    }

    fn variants(&self, entry: &Manifest) -> Vec<CardVariant> {
        if entry.variants.is_empty() {
            return Vec::new();
        }
        let on_disk = |id: &str| self.models.installed.iter().any(|it| it.manifest.id == id && it.files.is_ok());
        let usual = CardVariant {
            name: String::new(),
            id: entry.id.clone(),
            description: String::new(),
            bytes: entry.bytes(),
            on_disk: on_disk(&entry.id),
        };
        let others = entry.variants.iter().map(|variant| {
            let whole = entry.as_variant(&variant.name);
            CardVariant {
                name: variant.name.clone(),
                description: variant.description.clone(),
                bytes: whole.as_ref().and_then(Manifest::bytes),
                on_disk: whole.as_ref().is_some_and(|it| on_disk(&it.id)),
                id: whole.map(|it| it.id).unwrap_or_default(),
            }
        });
        std::iter::once(usual).chain(others).collect()
    }
}

fn kind_of(files: &[CardFile]) -> ModelKind {
    let some = |is: fn(Role) -> bool| files.iter().any(|it| is(it.role));
    if some(|it| matches!(it, Role::Part(FileRole::Model | FileRole::Diffusion))) {
        ModelKind::Model
    } else if some(|it| it == Role::Lora) {
        ModelKind::Lora
    } else if some(|it| it == Role::Part(FileRole::Upscaler)) {
        ModelKind::Upscaler
    } else if some(|it| it == Role::Cutout) {
        ModelKind::Cutout
    } else if some(|it| it == Role::Detector) {
        ModelKind::Detector
    } else {
        ModelKind::Part
    }
}

/// What the card of a file says of its header.
pub(super) fn file_facts(facts: &Facts) -> FileFacts {
    let parameters = match facts.parameters as f64 {
        few if few < 1e6 => format!("{:.0} k", few / 1e3),
        some if some < 1e9 => format!("{:.0} M", some / 1e6),
        many => format!("{} B", decimal(many / 1e9, 1)),
    };
    let words = tr!("library-parameters", name = kind_words(&facts.name), parameters, quantisation = facts.quantisation);
    FileFacts { words, reads_faces: facts.reads_faces }
}

/// The trainer's notes beside the trigger words, as heads and texts.
pub(super) fn trainer_notes(training: &Training) -> Vec<(&'static str, String)> {
    let tags: Vec<&str> = training.tags.iter().take(12).map(|(tag, _)| tag.as_str()).collect();
    [
        (tr!("library-author"), training.author.clone()),
        (tr!("library-made-for"), training.base_model.clone()),
        (tr!("library-rank"), training.rank.map(|it| it.to_string())),
        (tr!("library-usage"), training.usage.clone()),
        (tr!("library-trained-on"), (!tags.is_empty()).then(|| tags.join(", "))),
    ]
    .into_iter()
    .filter_map(|(head, text)| Some((head, text?)))
    .collect()
}

fn sum(files: &[CardFile]) -> Option<u64> {
    files.iter().try_fold(0u64, |sum, it| Some(sum.saturating_add(it.bytes?)))
}
