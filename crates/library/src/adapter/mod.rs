//! Adapters (LoRA and its relatives): which tensor of one changes which rows of which weight, in
//! the engine's names.
//!
//! Pure: headers in, an answer out. One rule serves the check and the engine: a tensor has a place,
//! with the shape that its place has, or it has none.

mod aliases;
mod alphas;
mod layers;
mod shapes;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::adapter_endings::{EMBEDDING_TABLE, Ending, MAGNITUDE_PART, split};
use super::cache::IdentifiedFile;
use super::container::{TensorInfo, shown};
use super::family::Family;
use super::problem::Problem;
use alphas::Alphas;
pub(crate) use alphas::PEFT;
use atelier_core::recipe::FileRole;
use atelier_language::{text, tr};
use layers::Layers;
use shapes::damaged;

/// Names of the tensors of an adapter's file, each with the engine's: `lora.<weight>#<first
/// row>.<part>`, or `lora.<weight>#<first row>@<alpha>.<part>` where no tensor says the alpha, which
/// is an f32 by its bits.
pub type AdapterNames = Vec<(String, String)>;

/// The adapters of a recipe, by their files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Adapters(BTreeMap<PathBuf, Arc<AdapterNames>>);

impl Adapters {
    /// Those of a recipe without LoRAs.
    pub const NONE: &'static Self = &Self(BTreeMap::new());

    /// The names of the tensors of this file that have a place in the model.
    #[must_use]
    pub fn names(&self, path: &Path) -> Option<&AdapterNames> {
        self.0.get(path).map(|names| &**names)
    }

    /// Takes those of another recipe with the same model too.
    pub fn merge(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    pub(crate) fn insert(&mut self, path: PathBuf, names: AdapterNames) {
        self.0.insert(path, Arc::new(names));
    }
}

/// Finds the places of an adapter's tensors in the files of a model.
///
/// # Errors
/// If nothing of it has a place, something is of another shape than its place, or the engine does
/// not compute its kind.
pub(crate) fn place(
    name: &str,
    adapter: &IdentifiedFile,
    family: Family,
    model: &[(FileRole, &IdentifiedFile)],
) -> Result<AdapterNames, Problem> {
    if !adapter.kind.is_lora {
        let is_unknown = adapter.kind.role.is_none() && adapter.kind.family.is_none();
        // Endings that models' own tensors have too tell the kind of what is no model.
        if let Err(problem) = changes(name, adapter)
            && is_unknown
        {
            return Err(problem);
        }
        return Err(Problem::new(
            tr!("library-is-not-a-lora", name, described = adapter.kind.described()),
            tr!("library-remove-it-from-the-loras-or-choose-another-file"),
        ));
    }
    let made_for = tr!("library-choose-a-lora-made", family = family.label());
    if let (Some(of), true) = (adapter.kind.family, family.is_unet())
        && of != family
    {
        return Err(Problem::new(tr!("library-was-made-for-and-the-model", name, of = of.label(), family = family.label()), made_for));
    }
    if family == Family::HidreamO1 {
        return Err(Problem::new(
            tr!("library-would-have-no-effect", name, family = family.label()),
            tr!("library-remove-it-from-the-loras-or-choose-another"),
        ));
    }
    let changes = changes(name, adapter)?;
    let layers = Layers::new(family, model);
    let alphas = Alphas::of(&adapter.header.metadata);
    let mut names = Vec::new();
    let mut taken = HashSet::new();
    for (layer, tensors) in &changes {
        if let Some((_, tensor)) = tensors.first().filter(|_| aliases::is_table(layer)) {
            return Err(uncomputed(name, &tensor.name, EMBEDDING_TABLE));
        }
        let Some(place) = layers.find(layer) else { continue };
        if place.is_swapped() && tensors.iter().any(|(ending, _)| *ending == Ending::Weight(MAGNITUDE_PART)) {
            continue;
        }
        let says_alpha = tensors.iter().any(|(ending, _)| matches!(ending, Ending::Weight("alpha" | "scale")));
        for (ending, tensor) in shapes::fitted(name, layer, tensors, &place, &made_for)? {
            let new_name = match ending {
                Ending::Weight(part) => {
                    // A part with an alpha is multiplied by it over its rank.
                    let has_rank = ["lora_down", "hada_w1_b", "lokr_w2_b"].contains(&part)
                        || (part == "lokr_w1_b" && !tensors.iter().any(|(other, _)| *other == Ending::Weight("lokr_w2_b")));
                    let rank = tensor.shape.first().copied().filter(|_| has_rank && !says_alpha);
                    let alpha = rank.and_then(|rank| alphas.alpha(layer, rank));
                    let alpha = alpha.map(|alpha| format!("@{}", alpha.to_bits())).unwrap_or_default();
                    format!("lora.{}.weight#{}{alpha}.{part}", place.layer.name, place.first_row())
                }
                Ending::Bias => format!("lora.{}.bias#{}.diff", place.layer.name, place.first_row()),
                Ending::Unknown(_) => continue,
            };
            if !taken.insert(new_name.clone()) {
                return Err(damaged(name, &tr!("library-it-changes-twice", shown = shown(layer))));
            }
            names.push((tensor.name.clone(), new_name));
        }
    }
    if names.is_empty() {
        return Err(Problem::new(tr!("library-was-made-for-another", name, family = family.label()), made_for));
    }
    Ok(names)
}

/// What is to be said of an adapter whose own settings are understood in part.
pub(crate) fn note(name: &str, adapter: &IdentifiedFile) -> Option<String> {
    let has_own = adapter.header.tensors.iter().any(|it| matches!(split(&it.name), Some((_, Ending::Weight("alpha")))));
    let unread = Alphas::of(&adapter.header.metadata).unread().filter(|_| !has_own)?;
    Some(tr!("library-the-lora-is-stronger", name, shown = shown(&unread)))
}

/// The tensors of an adapter by the layer that they change, in the file's order of layers.
type Changes<'a> = Vec<(&'a str, Vec<(Ending, &'a TensorInfo)>)>;

fn changes<'a>(name: &str, adapter: &'a IdentifiedFile) -> Result<Changes<'a>, Problem> {
    let mut changes: Changes<'a> = Vec::new();
    let mut index: HashMap<&str, usize> = HashMap::new();
    for tensor in &adapter.header.tensors {
        let Some((layer, ending)) = split(&tensor.name) else { continue };
        if let Ending::Unknown(what) = ending {
            return Err(uncomputed(name, &tensor.name, what));
        }
        let at = *index.entry(layer).or_insert_with(|| {
            changes.push((layer, Vec::new()));
            changes.len() - 1
        });
        if let Some((_, tensors)) = changes.get_mut(at) {
            tensors.push((ending, tensor));
        }
    }
    Ok(changes)
}

fn uncomputed(name: &str, tensor: &str, what: &'static str) -> Problem {
    Problem::new(tr!("library-is-of-a-kind", name, what = text(what), shown = shown(tensor)), tr!("library-remove-it-from-the-loras-or"))
}

#[cfg(test)]
mod tests;
