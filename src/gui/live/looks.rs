//! The live picture: from the engine to the screen. Nothing here waits.

use std::sync::Arc;

use atelier_engine::{End, Event, Failure, JobId, Picture, Preview};
use atelier_language::tr;
use eframe::egui::{ColorImage, TextureOptions};

use crate::gui::canvas::work::{self, CandidateBase, DocumentNumber, PreparedCandidate};
use crate::gui::context::Context;
use crate::gui::create::forming::FormingPicture;
use crate::gui::live::state::{FinishedPicture, LiveRun, Look, Pending, State};
use crate::gui::pixels::ScreenPreview;
use crate::gui::shared::ErrorCard;
use crate::gui::workers::Worker;
use atelier_core::canvas::PixelRect;
use atelier_core::recipe::{Rgb8, Seed};
use atelier_studio::queue::QueueRequest;

/// Folds an event of the engine in. Returns false for those that others take: of other jobs, and
/// lines of the log but for what a run complains of that was stopped.
pub(crate) fn engine_event(state: &mut State, event: &Event, context: &mut Context<'_>) -> bool {
    let Some(run) = state.run.as_mut().filter(|run| event.job() == Some(run.job)) else { return false };
    match event {
        Event::Begin { begin, .. } => {
            run.has_begun = true;
            run.progress.begin(begin.clone());
        }
        Event::Phase { phase, .. } => run.progress.phase(*phase),
        Event::Step { step, .. } => run.progress.step(*step),
        Event::Waiting { behind, .. } => run.progress.waits(behind.clone()),
        Event::Preview { preview, .. } => state.pending = Some(Pending::Preview(run.job, preview.clone())),
        Event::Picture { picture, .. } => {
            let finished = FinishedPicture { recipe: run.recipe.clone(), picture: picture.clone(), base: run.base.clone() };
            state.pending = Some(Pending::Picture(run.job, Box::new(finished)));
        }
        Event::End { end, .. } => ended(state, end, context),
        Event::Log { .. } => return run.is_stopped,
        _ => return matches!(event, Event::Measured { .. }),
    }
    true
}

fn ended(state: &mut State, end: &End, context: &mut Context<'_>) {
    if state.run.take().is_some_and(|run| run.is_awaited) {
        context.queue.send(QueueRequest::SetAwaited(false));
    }
    state.follower.ended();
    match end {
        End::Done { timings, .. } => state.picture_secs = Some(timings.total_secs - timings.load_secs),
        End::Failed(Failure { advice, log, .. }) => {
            context.shared.error = Some(ErrorCard { details: log.clone(), ..ErrorCard::of(advice.clone()) });
        }
        End::Cancelled => {}
    }
}

/// Pixels of a preview that another thread would take longer to hand over than this one takes to
/// convert: some 20 microseconds.
const SMALL_PREVIEW_PIXELS: u32 = 128 * 128;

/// Has the newest preview or picture made ready for the screen, one at a time.
pub(crate) fn convert(state: &mut State, context: &Context<'_>) {
    if state.converting.is_some() {
        return;
    }
    let Some(pending) = state.pending.take() else { return };
    if let Pending::Preview(job, preview) = &pending
        && preview.image.width() * preview.image.height() <= SMALL_PREVIEW_PIXELS
    {
        if state.shown_job == Some(*job) {
            state.converting = Some((*job, None));
            preview_ready(state, *job, ScreenPreview::of(preview), context);
        }
        return;
    }
    match pending {
        Pending::Preview(job, preview) if state.shown_job == Some(job) => {
            state.converting = Some((job, None));
            convert_preview(job, preview, context);
        }
        Pending::Picture(job, finished) if state.shown_job == Some(job) => {
            let Picture { info, image, .. } = &finished.picture;
            if let Some(base) = &finished.base {
                convert_candidate(job, Arc::clone(image), base.clone(), info.seed, context);
            } else {
                let preview = Preview { picture: info.index, step: u32::MAX, place: None, image: Arc::clone(image) };
                convert_preview(job, preview, context);
            }
            state.converting = Some((job, Some(*finished)));
        }
        Pending::Preview(..) | Pending::Picture(..) => {}
    }
}

fn convert_preview(job: JobId, preview: Preview, context: &Context<'_>) {
    context.run(
        Worker::Pixels,
        move || ScreenPreview::of(&preview),
        move |preview, features, context| preview_ready(features.live, job, preview, context),
    );
}

/// Finds what a finished picture changes of its document.
fn convert_candidate(job: JobId, picture: Arc<Rgb8>, base: CandidateBase, seed: Option<Seed>, context: &Context<'_>) {
    let max_side_px = context.egui.input(|input| input.max_texture_side);
    context.run(
        Worker::Pixels,
        move || work::prepare_candidate(&picture, &base, seed, max_side_px),
        move |candidate, features, context| {
            let document = candidate_ready(features.live, job, candidate, context);
            if let Some(document) = document.and_then(|number| features.canvas.open_document_mut(number)) {
                // They are part of it now.
                document.fresh = None;
            }
        },
    );
}

/// A preview is ready for the screen, or a picture without a document.
fn preview_ready(state: &mut State, job: JobId, preview: ScreenPreview, context: &Context<'_>) {
    let Some((_, finished)) = state.converting.take_if(|(converting, _)| *converting == job) else { return };
    if state.shown_job != Some(job) {
        return;
    }
    let ScreenPreview { place, image, .. } = preview;
    let run = state.run.as_ref().filter(|run| run.job == job);
    let document = finished.as_ref().map_or_else(|| run.and_then(|run| run.base.as_ref()), |finished| finished.base.as_ref());
    let document = document.map(|base| base.document);
    let size = finished.as_ref().map(|it| (it.picture.image.width(), it.picture.image.height()));
    let size = size.or_else(|| run.and_then(|run| run.progress.size_px())).unwrap_or((image.size[0] as u32, image.size[1] as u32));
    show(state, job, document, (image, size, place), context);
    if let Some(finished) = &finished {
        state.last_finished = Some(Rgb8::clone(&finished.picture.image));
    }
    if let Some(look) = &mut state.look {
        look.result = finished.map(|finished| (finished, None));
    }
}

/// What a finished picture changes of a document is ready; `None` where it came in another size.
/// Returns the document over which it is shown now.
fn candidate_ready(
    state: &mut State,
    job: JobId,
    candidate: Option<PreparedCandidate>,
    context: &mut Context<'_>,
) -> Option<DocumentNumber> {
    let (_, finished) = state.converting.take_if(|(converting, _)| *converting == job)?;
    let finished = finished.filter(|_| state.shown_job == Some(job))?;
    let Some(PreparedCandidate { patch, bounds, overlay, .. }) = candidate else {
        context.notice(tr!("live-the-live-picture-and"));
        return None;
    };
    let size = (finished.picture.image.width(), finished.picture.image.height());
    let document = finished.base.as_ref().map(|base| base.document);
    show(state, job, document, (overlay, size, Some(bounds)), context);
    if let Some(look) = &mut state.look {
        look.result = Some((finished, Some(patch)));
    }
    document
}

/// Shows these pixels in the place of those before. The pixels come with the size of the picture,
/// and the part of it that they show.
fn show(
    state: &mut State,
    job: JobId,
    document: Option<DocumentNumber>,
    (image, (width, height), place): (ColorImage, (u32, u32), Option<PixelRect>),
    context: &Context<'_>,
) {
    let texture = match state.look.take() {
        Some(mut look) => {
            look.picture.texture.set(image, TextureOptions::LINEAR);
            look.picture.texture
        }
        None => context.egui.load_texture("live", image, TextureOptions::LINEAR),
    };
    state.look = Some(Look { picture: FormingPicture { job, index: 0, texture, width, height, place }, document, result: None });
}

impl LiveRun {
    /// True while it waits behind jobs of the queue.
    pub(crate) const fn is_waiting(&self, queue_is_at_work: bool) -> bool {
        !self.has_begun && queue_is_at_work
    }
}
