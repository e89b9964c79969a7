//! Cards of models: one plain, typed description of each model and loose file, for every list of
//! them.
//!
//! The window and `atelier models` show the same cards; neither builds its own. Building asks the
//! disk for the sizes of files and reads nothing else, so it is for worker threads and the command
//! line. Not here: texts of buttons, filters, whether a model fits into memory.

mod card;
mod file;
mod model;

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use crate::disk::ScanResult;
use crate::manifest::Sha256;
use crate::models::Models;
use crate::usage::Usage;

pub use card::{Availability, BUILTIN_CARD_ID, CardFile, CardVariant, FileFacts, ModelCard, ModelKind};
pub use file::why_no_pickles;
use model::Sources;
pub use model::{builtin_card, card_named};

/// The cards of all models and loose files: those on this machine first, then the rest of the
/// catalogue. `downloaded` are the files that Atelier downloaded by a link, with their sums.
#[must_use]
pub fn model_cards(
    models: &Models,
    scan: &ScanResult,
    usage: Option<&Usage>,
    downloaded: &BTreeMap<PathBuf, Option<Sha256>>,
) -> Vec<ModelCard> {
    let sources = Sources {
        models,
        on_disk: scan.files.iter().map(|it| (it.path.as_path(), it.as_ref())).collect(),
        used: usage.iter().flat_map(|it| &it.models).map(|it| (it.id.as_str(), it)).collect(),
        downloaded,
    };
    let mut cards: Vec<ModelCard> = models.installed.iter().map(|it| sources.of_installed(it)).collect();
    cards.extend(models.loose.iter().map(|it| sources.of_loose(it)));
    let in_own_folder = |path: &Path| models.installed.iter().any(|it| path.starts_with(&it.folder));
    let mains: HashSet<&Path> = models.loose.iter().map(|it| it.main.path.as_path()).collect();
    let alone = scan.files.iter().filter(|it| !in_own_folder(&it.path) && !mains.contains(it.path.as_path()));
    cards.extend(alone.map(|it| file::card_of_file(it, downloaded.contains_key(&it.path))));
    let here: HashSet<&str> = models.installed.iter().map(|it| it.manifest.id.as_str()).collect();
    let offered = models.catalogue.entries().iter().filter(|it| !here.contains(it.id.as_str()));
    cards.extend(offered.map(|it| sources.of_entry(it)));
    for file in cards.iter_mut().flat_map(|card| &mut card.files).filter(|file| file.sha256.is_none()) {
        file.sha256 = file.path.as_ref().and_then(|path| downloaded.get(path).copied().flatten());
    }
    cards
}

#[cfg(test)]
mod tests;
