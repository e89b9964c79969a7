//! Embeddings (textual inversions) of this disk, as the Create view offers them.

use std::path::Path;

use crate::gui::shared::Shared;
use atelier_language::tr;
use atelier_library::{Family, ModelCard, Role};

/// Embeddings of the library with their files.
pub(crate) fn known_embeddings(shared: &Shared) -> impl Iterator<Item = (&ModelCard, &Path)> {
    shared.library.cards.iter().filter_map(|card| {
        let file = card.files.iter().find(|file| file.role == Role::Embedding)?;
        Some((card, file.path.as_deref()?))
    })
}

/// True unless the chosen model is known to take none.
pub(crate) fn takes_embeddings(shared: &Shared) -> bool {
    let takes = |label: &str| Family::WITH_EMBEDDINGS.iter().any(|family| family.label() == label);
    !shared.next.uses_builtin() && shared.model_family().is_none_or(takes)
}

/// A sentence where it was made for models of another family than the chosen one.
pub(crate) fn mismatch(card: &ModelCard, shared: &Shared) -> Option<String> {
    let (of_embedding, of_model) = (card.family.as_deref()?, shared.model_family()?);
    (of_embedding != of_model).then(|| tr!("create-made-for-this-model", of_embedding, of_model))
}
