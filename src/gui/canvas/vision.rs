//! Models that look at a document: the background is cut out of a layer, and faces and hands become
//! regions. Nothing here waits.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::gui::canvas::documents::change;
use crate::gui::canvas::pointer;
use crate::gui::canvas::state::State;
use crate::gui::canvas::vision_models::{cutout_model, needed, used_detectors};
use crate::gui::canvas::vision_run::VisionRun;
use crate::gui::canvas::work::{self, DocumentNumber, FoundRegions};
use crate::gui::context::Context;
use crate::gui::models;
use crate::gui::shared::ErrorCard;
use atelier_core::advice::Advice;
use atelier_core::canvas::{DocumentEdit, LayerId};
use atelier_language::tr;
use atelier_library::ModelKind;
use atelier_studio::vision::Cutout;

/// Name of the thread that waits for a model.
const THREAD: &str = "vision";

/// Cuts the background out of the current layer; without a model, shows which there are.
pub(crate) fn cut_out(state: &mut State, context: &mut Context<'_>) {
    let Some((card, path)) = cutout_model(&state.vision_choice, context.shared) else { return get_model(ModelKind::Cutout, context) };
    let (name, model) = (card.name.clone(), path.to_owned());
    let Some(document) = state.edited() else { return };
    let (number, content) = (document.number, document.document.content().clone());
    let layer = content.current();
    let is_cancelled = begin(state, number, tr!("canvas-cutting-out-the-background"));
    context.run_alone(
        THREAD,
        move || work::cut_out(&model, &content, layer, &is_cancelled),
        move |done, features, context| {
            if let Some(cutout) = end(done, features.canvas, context) {
                cut(features.canvas, number, layer, cutout, &name, context);
            }
        },
    );
}

/// A model has told what is in front.
fn cut(state: &mut State, number: DocumentNumber, layer: LayerId, cutout: Cutout, name: &str, context: &mut Context<'_>) {
    if cutout.mask.bounds().is_none() {
        return context.notice(tr!("canvas-sees-nothing-in-front", name));
    }
    // One that was closed meanwhile needs nothing.
    let Some(document) = state.open_document_mut(number) else { return };
    pointer::edit(document, DocumentEdit::CutOut(layer, cutout.mask), context);
    context.notice(tr!("canvas-the-background-was-cut", name, family = cutout.family));
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
    let is_cancelled = begin(state, number, tr!("canvas-looking-for-faces-and"));
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
        return context.notice(tr!("canvas-nothing-was-found-in"));
    }
    if found.size != (document.document.content().width(), document.document.content().height()) {
        return context.notice(tr!("canvas-the-canvas-has-another"));
    }
    let version = document.document.version();
    change(document, context, |document| document.add_regions(tr!("canvas-find-faces-and-hands"), &found.regions));
    if document.document.version() == version {
        return;
    }
    let count = found.regions.len();
    let added = if count == 1 { tr!("canvas-1-region-was-added").to_owned() } else { tr!("canvas-regions-were-added", count) };
    let others = found.left_out;
    let left_out = if others == 0 { String::new() } else { tr!("canvas-that-were-less-certain", others) };
    context.notice(tr!("canvas-generate-every-region-to", added, left_out));
    state.shows_layers = true;
}

/// Shows models of a kind that there are, since the person has none.
pub(crate) fn get_model(kind: ModelKind, context: &mut Context<'_>) {
    context.follow_up(models::Command::ShowKind(kind));
    context.notice(needed(kind));
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
        Ok(Err(advice)) => ErrorCard::of(advice),
        Err(error) => ErrorCard::new(tr!("canvas-the-model-could-not", error), tr!("canvas-close-other-programs-and")),
    };
    context.shared.error = Some(error);
    None
}
