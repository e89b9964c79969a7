//! Models that look at a document: the background is cut out of a layer, and faces and hands become
//! regions. Nothing here waits.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::gui::canvas::documents::change;
use crate::gui::canvas::pointer;
use crate::gui::canvas::state::{OpenDocument, State};
use crate::gui::canvas::vision_run::{VisionChoice, VisionRun};
use crate::gui::canvas::work::{self, DocumentNumber, FoundRegions};
use crate::gui::context::Context;
use crate::gui::features::Features;
use crate::gui::models;
use crate::gui::shared::{ErrorCard, Shared};
use atelier_core::advice::Advice;
use atelier_core::canvas::{DocumentEdit, LayerId};
use atelier_library::{ModelCard, ModelKind};
use atelier_studio::vision::Cutout;

/// Name of the thread that waits for a model.
const THREAD: &str = "vision";
/// Name in the history of the regions that were found.
const FIND: &str = "Find faces and hands";

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
fn used_detectors(choice: &VisionChoice, shared: &Shared) -> Vec<PathBuf> {
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

/// Cuts the background out of the current layer; without a model, shows which there are.
pub(crate) fn cut_out(state: &mut State, context: &mut Context<'_>) {
    let Some((card, path)) = cutout_model(&state.vision_choice, context.shared) else { return get_model(ModelKind::Cutout, context) };
    let (name, model) = (card.name.clone(), path.to_owned());
    let Some(document) = state.edited() else { return };
    let (number, content) = (document.number, document.document.content().clone());
    let layer = content.current();
    let is_cancelled = begin(state, number, "Cutting out the background…");
    context.run_alone(
        THREAD,
        move || work::cut_out(&model, &content, layer, &is_cancelled),
        move |done, features, context| {
            if let Some(cutout) = end(done, features.canvas, context) {
                cut(features, number, layer, cutout, &name, context);
            }
        },
    );
}

/// A model has told what is in front.
fn cut(features: Features<'_>, number: DocumentNumber, layer: LayerId, cutout: Cutout, name: &str, context: &mut Context<'_>) {
    if cutout.mask.bounds().is_none() {
        return context.notice(format!("{name} sees nothing in front: the layer stays as it is."));
    }
    // One that was closed meanwhile needs nothing.
    let Some(document) = features.canvas.open_document_mut(number) else { return };
    pointer::edit(document, DocumentEdit::CutOut(layer, cutout.mask), context);
    context.notice(format!("The background was cut out by {name} (family: {}).", cutout.family));
}

/// Adds a region for each face, hand or other thing that detectors find; without a detector, shows
/// which there are.
pub(crate) fn find_regions(state: &mut State, context: &mut Context<'_>) {
    let detectors = used_detectors(&state.vision_choice, context.shared);
    if detectors.is_empty() {
        return get_model(ModelKind::Detector, context);
    }
    let Some(document) = state.edited() else { return };
    let (number, content) = (document.number, document.document.content().clone());
    let is_cancelled = begin(state, number, "Looking for faces and hands…");
    context.run_alone(
        THREAD,
        move || work::find_regions(&detectors, &content, &is_cancelled),
        move |done, features, context| {
            if let Some(found) = end(done, features.canvas, context) {
                add_found(features.canvas, number, &found, context);
            }
        },
    );
}

/// Detectors have told what they found.
pub(crate) fn add_found(state: &mut State, number: DocumentNumber, found: &FoundRegions, context: &mut Context<'_>) {
    let Some(document) = state.open_document_mut(number) else { return };
    if found.regions.is_empty() {
        return context.notice("Nothing was found in this picture.");
    }
    if found.size != (document.document.content().width(), document.document.content().height()) {
        return context.notice("The canvas has another size now. Try again.");
    }
    let version = document.document.version();
    change(document, context, |document| document.add_regions(FIND, &found.regions));
    if document.document.version() == version {
        return;
    }
    let count = found.regions.len();
    let added = if count == 1 { "1 region was added.".to_owned() } else { format!("{count} regions were added.") };
    let others = found.left_out;
    let left_out = if others == 0 { String::new() } else { format!(" {others} that were less certain were left out.") };
    context.notice(format!("{added}{left_out} Generate every region to draw each at a larger size."));
    state.shows_layers = true;
}

/// Shows models of a kind that there are, since the person has none.
pub(crate) fn get_model(kind: ModelKind, context: &mut Context<'_>) {
    context.follow_up(models::Command::ShowKind(kind));
    context.notice(needed(kind));
}

/// What a person without such a model needs.
pub(crate) const fn needed(kind: ModelKind) -> &'static str {
    match kind {
        ModelKind::Detector => "Finding faces and hands needs a detector. Download one, or add the folder of yours.",
        _ => "Cutting out needs a cut-out model. ISNet is a good first one; or add the folder of yours.",
    }
}

fn begin(state: &mut State, document: DocumentNumber, words: &'static str) -> Arc<AtomicBool> {
    let run = VisionRun::new(document, words);
    let is_cancelled = run.flag();
    state.vision = Some(run);
    is_cancelled
}

/// A model's process has ended. `None` where nothing came of it, which is said.
fn end<T>(done: io::Result<Result<T, Advice>>, state: &mut State, context: &mut Context<'_>) -> Option<T> {
    let was_cancelled = state.vision.take().is_some_and(|run| run.is_cancelled());
    let error = match done {
        Ok(Ok(answer)) => return (!was_cancelled).then_some(answer),
        _ if was_cancelled => return None,
        Ok(Err(advice)) => ErrorCard::new(advice.sentence, &advice.hint),
        Err(error) => ErrorCard::new(format!("The model could not be started: {error}."), "Close other programs and try again."),
    };
    context.shared.error = Some(error);
    None
}
