//! Models of the person's that look at documents: which there are, and whether they can now. Pure.

use std::path::{Path, PathBuf};

use crate::gui::canvas::state::{OpenDocument, State};
use crate::gui::canvas::vision_run::VisionChoice;
use crate::gui::shared::Shared;
use atelier_library::{ModelCard, ModelKind};

/// Models of this kind that can be used now, with their files.
pub(crate) fn models(shared: &Shared, kind: ModelKind) -> impl Iterator<Item = (&ModelCard, &Path)> {
    shared.cards_with_file(kind).filter(|(card, _)| card.availability.is_ready())
}

/// The model that cuts out: the chosen one, else the first.
pub(crate) fn cutout_model<'a>(choice: &VisionChoice, shared: &'a Shared) -> Option<(&'a ModelCard, &'a Path)> {
    let is_chosen = |path: &Path| choice.cutout.as_deref() == Some(path);
    models(shared, ModelKind::Cutout).find(|(_, path)| is_chosen(path)).or_else(|| models(shared, ModelKind::Cutout).next())
}

/// Detectors that are asked.
pub(crate) fn used_detectors(choice: &VisionChoice, shared: &Shared) -> Vec<PathBuf> {
    models(shared, ModelKind::Detector).map(|(_, path)| path.to_owned()).filter(|path| !choice.unused_detectors.contains(path)).collect()
}

/// Why no background can be cut out now.
pub(crate) fn can_cut_out(state: &State, document: &OpenDocument) -> Result<(), &'static str> {
    is_free(state)?;
    let layer = document.document.content().current_layer();
    match layer {
        _ if !layer.kind.is_picture() => Err("Choose a layer of the picture first: masks and regions have no background."),
        _ if layer.locked => Err("This layer is locked. Unlock it to change it."),
        _ if !layer.visible => Err("This layer is hidden. Show it to change it."),
        _ if layer.alpha_locked => Err("The transparency of this layer is locked. Unlock it to change it."),
        _ => Ok(()),
    }
}

/// Why nothing can be looked for now.
pub(crate) fn can_find(state: &State, shared: &Shared) -> Result<(), &'static str> {
    is_free(state)?;
    let has_any = models(shared, ModelKind::Detector).next().is_some();
    let has_used = !used_detectors(&state.vision_choice, shared).is_empty();
    if has_any && !has_used { Err("Choose a detector first.") } else { Ok(()) }
}

fn is_free(state: &State) -> Result<(), &'static str> {
    if state.vision.is_some() { Err("A model is already looking at a canvas.") } else { Ok(()) }
}

/// What a person without such a model needs.
pub(crate) const fn needed(kind: ModelKind) -> &'static str {
    match kind {
        ModelKind::Detector => "Finding faces and hands needs a detector. Download one, or add the folder of yours.",
        _ => "Cutting out needs a cut-out model. ISNet is a good first one; or add the folder of yours.",
    }
}
