//! Models of the person's that look at documents: which there are, and whether they can now. Pure.

use std::path::{Path, PathBuf};

use crate::gui::canvas::state::{OpenDocument, State};
use crate::gui::canvas::vision_run::VisionChoice;
use crate::gui::shared::Shared;
use atelier_language::tr;
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
        _ if !layer.kind.is_picture() => Err(tr!("canvas-choose-a-layer-of")),
        _ if layer.locked => Err(tr!("canvas-this-layer-is-locked")),
        _ if !layer.visible => Err(tr!("canvas-this-layer-is-hidden")),
        _ if layer.alpha_locked => Err(tr!("canvas-the-transparency-of-this")),
        _ => Ok(()),
    }
}

/// Why nothing can be looked for now.
pub(crate) fn can_find(state: &State, shared: &Shared) -> Result<(), &'static str> {
    is_free(state)?;
    let has_any = models(shared, ModelKind::Detector).next().is_some();
    let has_used = !used_detectors(&state.vision_choice, shared).is_empty();
    if has_any && !has_used { Err(tr!("canvas-choose-a-detector-first")) } else { Ok(()) }
}

fn is_free(state: &State) -> Result<(), &'static str> {
    if state.vision.is_some() { Err(tr!("canvas-a-model-is-already")) } else { Ok(()) }
}

/// What a person without such a model needs.
pub(crate) fn needed(kind: ModelKind) -> &'static str {
    match kind {
        ModelKind::Detector => tr!("canvas-finding-faces-and-hands"),
        _ => tr!("canvas-cutting-out-needs-a"),
    }
}
