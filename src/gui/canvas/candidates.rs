//! Candidates: pictures that were generated from a document, until one of them is accepted.

use std::sync::Arc;

use eframe::egui::TextureOptions;

use crate::gui::canvas::candidate::{Candidate, without_pictures};
use crate::gui::canvas::state::{OpenDocument, State};
use crate::gui::canvas::work::{self, DocumentNumber, PreparedCandidate};
use crate::gui::context::Context;
use crate::gui::create::forming::Origin;
use crate::gui::workers::Worker;
use atelier_core::canvas::{LayerError, LayerId, TileImage};
use atelier_core::recipe::{Recipe, Seed, SeedNumber};
use atelier_engine::{JobId, Picture};
use atelier_language::tr;

/// Most candidates that are held; all of them are pictures on the disk too.
const MAX_CANDIDATES: usize = 64;

/// A picture is finished: where a document asked for it, it becomes a candidate.
pub(crate) fn picture(state: &mut State, job: JobId, picture: &Picture, context: &mut Context<'_>) {
    let Some(recipe) = context.shared.jobs.get_mut(job).map(|job| without_pictures(&job.recipe)) else { return };
    let documents = state.open_documents_mut();
    for document in documents {
        // Jobs run in the order in which they were asked for.
        let known = document.runs.iter().position(|run| run.job == Some(job));
        let Some(at) = known.or_else(|| document.runs.iter().position(|run| run.job.is_none() && run.recipe == recipe)) else { continue };
        let run = &mut document.runs[at];
        run.job = Some(job);
        let (image, base, seed) = (Arc::clone(&picture.image), run.base.clone(), picture.info.seed);
        let origin = (job, picture.info.index);
        let (number, max_side_px) = (base.document, context.egui.input(|input| input.max_texture_side));
        context.run(
            Worker::Pixels,
            move || work::prepare_candidate(&image, &base, seed, max_side_px),
            move |candidate, features, context| prepared(features.canvas, (number, origin), candidate, context),
        );
        return;
    }
}

/// True where this document asked for a job of this number and recipe.
pub(crate) fn asked_for(document: &OpenDocument, job: JobId, recipe: &Recipe) -> bool {
    document.runs.iter().any(|run| run.job == Some(job) || (run.job.is_none() && run.recipe == without_pictures(recipe)))
}

/// A job has ended.
pub(crate) fn job_ended(state: &mut State, job: JobId) {
    for document in state.open_documents_mut() {
        document.runs.retain(|run| run.job != Some(job));
    }
}

/// A candidate is ready for the screen.
fn prepared(
    state: &mut State,
    (number, origin): (DocumentNumber, Origin),
    candidate: Option<PreparedCandidate>,
    context: &mut Context<'_>,
) {
    let Some(document) = state.open_document_mut(number) else { return };
    let Some(prepared) = candidate else {
        context.notice(tr!("canvas-the-generated-picture-has"));
        return;
    };
    document.made.insert(origin);
    let texture = |name, image| context.egui.load_texture(name, image, TextureOptions::LINEAR);
    if document.candidates.len() >= MAX_CANDIDATES {
        remove(document, 0);
    }
    document.candidates.push(Candidate {
        origin,
        seed: prepared.seed,
        region: prepared.region,
        patch: prepared.patch,
        bounds: prepared.bounds,
        overlay: texture("candidate", prepared.overlay),
        thumbnail: texture("thumbnail", prepared.thumbnail),
    });
    // The first one is shown by itself; a person who looks at one keeps it.
    if document.shown_candidate.is_none() {
        document.shown_candidate = Some(document.candidates.len() - 1);
    }
}

/// Makes the candidate that is shown a layer.
pub(crate) fn accept(document: &mut OpenDocument, context: &mut Context<'_>) {
    let Some(at) = document.shown_candidate.filter(|at| *at < document.candidates.len()) else { return };
    let Candidate { seed, patch, .. } = &document.candidates[at];
    let (seed, patch) = (*seed, patch.clone());
    let region = document.candidates[at].region;
    if accept_patch(document, seed, patch, region, context) {
        // Those of other regions are still to be chosen from.
        document.candidates.retain(|candidate| candidate.region != region);
        document.shown_candidate = (!document.candidates.is_empty()).then_some(0);
    }
}

/// Makes what a picture of this seed changes a layer. Returns false where that is not possible; a
/// notice says so.
pub(crate) fn accept_patch(
    document: &mut OpenDocument,
    seed: Option<Seed>,
    patch: TileImage,
    region: Option<LayerId>,
    context: &mut Context<'_>,
) -> bool {
    match document.document.accept_candidate(&tr!("canvas-seed", seed = SeedNumber(seed)), patch, region) {
        Ok(dirty) => {
            document.surface.mark(dirty);
            document.crop = None;
            true
        }
        Err(LayerError::Size) => {
            context.notice(tr!("canvas-the-size-of-the"));
            false
        }
        Err(error) => {
            context.notice(error.to_string());
            false
        }
    }
}

/// Removes the candidate that is shown, which the person does not want; its picture stays on the disk.
pub(crate) fn discard(document: &mut OpenDocument) {
    let Some(at) = document.shown_candidate.filter(|at| *at < document.candidates.len()) else { return };
    document.made.remove(&document.candidates[at].origin);
    remove(document, at);
}

/// Removes all candidates, as [`discard`] does.
pub(crate) fn discard_all(document: &mut OpenDocument) {
    for candidate in document.candidates.drain(..) {
        document.made.remove(&candidate.origin);
    }
    document.shown_candidate = None;
}

/// Removes a candidate.
fn remove(document: &mut OpenDocument, at: usize) {
    if at >= document.candidates.len() {
        return;
    }
    document.candidates.remove(at);
    let last = document.candidates.len().checked_sub(1);
    document.shown_candidate =
        document.shown_candidate.and_then(|shown| last.map(|last| if shown > at { shown - 1 } else { shown.min(last) }));
}
