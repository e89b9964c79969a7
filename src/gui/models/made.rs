//! Makes the cards of the Models view from what the library knows.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::gui::models::alone::card_of_file;
use crate::gui::models::card::{BUILTIN, FileLine, Kind, MissingLine, ModelCard, Place, Terms, VariantLine};
use atelier_core::recipe::{FileRole, ModelFiles};
use atelier_library::disk::{DiskFile, Stock, Training};
use atelier_library::{Builtin, Card, CardFile, CardState, Defaults, ModelUse, Models, Role, Runnable, Usage, file_name};

/// The card of the model that comes with the program.
#[must_use]
pub fn builtin_card(builtin: &Builtin) -> ModelCard {
    let manifest = builtin.manifest();
    let files = builtin.files().iter().map(|(role, path)| FileLine {
        role: role.label(),
        name: file_name(path),
        path: Some(path.to_owned()),
        bytes: manifest.files.iter().find(|it| it.role == Role::Part(role)).and_then(atelier_library::ModelFile::bytes),
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
        runnable: Some(Runnable {
            id: manifest.id.clone(),
            name: manifest.name.clone(),
            files: builtin.files().clone(),
            loras: Vec::new(),
            defaults: manifest.defaults.clone(),
        }),
        ..empty()
    }
    .with_hay()
}

/// Every model of the library as a card: what is here first, then what can be had. `ours` are the files that Atelier downloaded.
#[must_use]
pub fn cards(models: &Models, stock: &Stock, usage: Option<&Usage>, ours: &BTreeSet<PathBuf>) -> Vec<ModelCard> {
    let on_disk: HashMap<&Path, &DiskFile> = stock.files.iter().map(|it| (it.path.as_path(), it.as_ref())).collect();
    let used: BTreeMap<&str, &ModelUse> = usage.iter().flat_map(|it| &it.models).map(|it| (it.id.as_str(), it)).collect();
    let mut cards: Vec<ModelCard> = models.cards().iter().map(|it| of_library(it, models, &on_disk, &used, ours)).collect();
    let own = |path: &Path| models.installed.iter().any(|it| path.starts_with(&it.folder));
    let mains: HashSet<&Path> = models.loose.iter().map(|it| it.main.path.as_path()).collect();
    let alone = stock.files.iter().filter(|it| !own(&it.path) && !mains.contains(it.path.as_path()));
    let alone = alone.map(|it| card_of_file(it, ours.contains(&it.path)));
    let at = cards.iter().position(|it| !it.place.is_here()).unwrap_or(cards.len());
    cards.splice(at..at, alone);
    cards
}

fn of_library(
    card: &Card,
    models: &Models,
    on_disk: &HashMap<&Path, &DiskFile>,
    used: &BTreeMap<&str, &ModelUse>,
    ours: &BTreeSet<PathBuf>,
) -> ModelCard {
    let entry = models.catalogue.find(&card.id);
    let installed = models.installed.iter().find(|it| it.manifest.id == card.id && card.state != CardState::InPlace);
    let loose = models.loose.iter().find(|it| it.id == card.id && installed.is_none());
    let ours = installed.is_some() || loose.is_some_and(|it| ours.contains(&it.main.path));
    let known = |file: &CardFile| file.path.as_deref().and_then(|path| on_disk.get(path)).copied();
    let here: Vec<&DiskFile> = card.files.iter().filter_map(known).collect();
    let missing = loose.iter().flat_map(|it| &it.assembly.missing).map(|it| MissingLine {
        what: it.what.clone(),
        file: it.offer.as_ref().map(|offer| file_name(Path::new(offer.file.filename.as_str()))),
        bytes: it.bytes(),
        of: it.offer.as_ref().map(|offer| offer.model.clone()),
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
        // What came by a link is Atelier's as much as what came from the catalogue.
        place: if ours && card.state == CardState::InPlace { Place::OnDisk } else { card.state.into() },
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
        ours,
        shared: used.get(card.id.as_str()).map_or(0, |it| it.shared),
        jobs: jobs_of(card, models),
        main: main.and_then(|it| it.path.clone()),
        runnable: match (installed, loose) {
            (Some(it), _) => it.runnable().ok(),
            (None, Some(it)) => it.runnable(&models.catalogue).ok(),
            (None, None) => None,
        },
        ..empty()
    }
    .with_hay()
}

pub(crate) fn empty() -> ModelCard {
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
        runnable: None,
        hay: String::new(),
    }
}

fn main_of(files: &ModelFiles) -> Option<PathBuf> {
    files.main().map(Path::to_owned)
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

pub(crate) fn file_line(file: &CardFile, known: Option<&DiskFile>) -> FileLine {
    let facts = known.and_then(|it| it.facts()).map(|it| {
        let parameters = match it.parameters as f64 {
            few if few < 1e6 => format!("{:.0} k", few / 1e3),
            some if some < 1e9 => format!("{:.0} M", some / 1e6),
            many => format!("{:.1} B", many / 1e9),
        };
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

pub(crate) fn told(training: &Training) -> Vec<(&'static str, String)> {
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
mod tests {
    use super::*;

    #[test]
    fn the_shipped_catalogue_becomes_cards_with_their_variants_and_what_they_are_for() {
        let models =
            Models { catalogue: atelier_library::Catalogue::shipped(), installed: Vec::new(), loose: Vec::new(), problems: Vec::new() };
        let cards = cards(&models, &Stock::default(), None, &BTreeSet::new());
        let by = |id: &str| cards.iter().find(|it| it.id == id).unwrap();
        let turbo = by("z-image-turbo");
        assert_eq!((turbo.kind, turbo.place, turbo.checked, turbo.recommended), (Kind::Model, Place::Catalogue, true, true));
        assert_eq!(turbo.variants.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["", "Q8_0", "Q4_K", "Q3_K"]);
        assert_eq!(turbo.jobs, ["z-image-turbo", "z-image-turbo-q8_0", "z-image-turbo-q4_k", "z-image-turbo-q3_k"]);
        assert!(turbo.defaults.contains(&("Steps", "8".into())));
        assert_eq!((by("taesd").kind, by("realesrgan-x4plus-anime-6b").kind), (Kind::Part, Kind::Upscaler));
        assert!(by("flux.1-dev").terms.as_ref().is_some_and(Terms::asks) && !turbo.terms.as_ref().is_some_and(Terms::asks));
        assert!(turbo.has(&["apache".into(), "turbo".into()]) && !turbo.has(&["flux".into()]));
    }
}
