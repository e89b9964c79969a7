//! Makes the shelf: everything that the window shows of the library, from what is known of the disk and the catalogue.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::gui::models::{Choices, FolderLine, Shelf, TokenState};
use atelier_core::paths::Paths;
use atelier_library::disk::{About, Layout, Stock};
use atelier_library::{ModelCard, Models, Places, Usage, model_cards};

/// Sentences about what could not be read that are shown at most.
const MOST_PROBLEMS: usize = 50;

/// What a shelf is made of.
pub(crate) struct Parts<'a> {
    pub(crate) builtin: Option<&'a ModelCard>,
    pub(crate) paths: &'a Paths,
    pub(crate) places: &'a Places,
    pub(crate) models: &'a Models,
    pub(crate) stock: &'a Stock,
    pub(crate) usage: Option<&'a Usage>,
    /// The files that Atelier downloaded.
    pub(crate) ours: &'a BTreeSet<PathBuf>,
    pub(crate) token: TokenState,
    pub(crate) memory: Option<u64>,
    /// What is wrong with catalogues and with the file of the places, in sentences.
    pub(crate) problems: &'a [String],
}

pub(crate) fn shelf(parts: &Parts<'_>) -> Shelf {
    let mut cards = model_cards(parts.models, parts.stock, parts.usage, parts.ours);
    cards.splice(0..0, parts.builtin.cloned());
    let faulty = parts.stock.files.iter().filter_map(|it| match &it.about {
        About::Faulty { sentence, hint, .. } => Some(format!("{sentence} {hint}")),
        About::Unread | About::Known(_) | About::Pickle => None,
    });
    let said = parts.problems.iter().chain(&parts.models.problems).chain(&parts.stock.problems).cloned();
    let first = parts.memory.map(|memory| parts.models.catalogue.first_choices(memory)).unwrap_or_default();
    Shelf {
        families: families(&cards),
        folders: folders(parts.stock),
        problems: said.chain(faulty).take(MOST_PROBLEMS).collect(),
        listed: parts.stock.listed,
        complete: parts.stock.complete,
        first_choices: first.into_iter().map(|it| it.id.clone()).collect(),
        total_bytes: parts.usage.map(|it| it.total),
        choices: Choices {
            models_root: parts.places.models_root(parts.paths),
            usual_root: parts.places.models_root.is_none(),
            at_once: parts.places.at_once(),
            token: parts.token,
            accepted: parts.places.accepted.clone(),
        },
        cards,
    }
}

fn families(cards: &[ModelCard]) -> Vec<String> {
    let families: BTreeSet<&String> = cards.iter().filter_map(|it| it.family.as_ref()).collect();
    families.into_iter().cloned().collect()
}

fn folders(stock: &Stock) -> Vec<FolderLine> {
    let lines = stock.folders.iter().map(|folder| {
        let inside = |path: &Path| folder.roots.iter().any(|(root, _)| path.starts_with(root));
        let files: Vec<u64> = stock.files.iter().filter(|it| inside(&it.path)).map(|it| it.bytes).collect();
        FolderLine {
            path: folder.path.clone(),
            layout: folder.layout.label(),
            files: files.len(),
            bytes: files.iter().sum(),
            own: folder.layout == Layout::Own,
        }
    });
    lines.collect()
}
