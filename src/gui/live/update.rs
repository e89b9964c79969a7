//! Effects of the commands of Live, and what is done once a frame. Nothing here waits.

use atelier_engine::Task;
use atelier_language::tr;

use crate::gui::canvas::state::{Gesture, OpenDocument};
use crate::gui::canvas::work::CandidateBase;
use crate::gui::canvas::{candidates, generate};
use crate::gui::context::Context;
use crate::gui::due;
use crate::gui::live::command::{Command, fewer_steps, smaller_size};
use crate::gui::live::follower::{Activity, FollowAction, Follower};
use crate::gui::live::looks;
use crate::gui::live::state::{CanvasSource, LiveRun, Source, State};
use crate::gui::shared::{Screen, random_seed};
use crate::gui::{canvas, create};
use atelier_core::recipe::{Recipe, Seed};
use atelier_studio::queue::QueueRequest;

/// Carries out a command.
pub(crate) fn update(state: &mut State, command: Command, context: &mut Context<'_>) {
    match command {
        Command::Toggle if state.is_on => switch_off(state, context),
        Command::Toggle => {
            let (run, converting, paths) = (state.run.take(), state.converting.take(), state.paths.take());
            *state = State { is_on: true, run, converting, paths, ..State::default() };
            context.follow_up(create::Command::Follow);
        }
        Command::Follow => {
            if context.shared.next.recipe.seed.is_none() {
                state.seed = Some(random_seed());
            }
            state.follower.make_again();
        }
        Command::Accept => state.accepts = true,
        Command::FewerSteps => {
            if let Some(steps) = fewer_steps(state, context.shared) {
                context.shared.next.recipe.steps = steps;
            }
        }
        Command::SmallerSize => {
            if let Some((width, height)) = smaller_size(context.shared) {
                (context.shared.next.recipe.width, context.shared.next.recipe.height) = (width, height);
            }
        }
    }
}

fn switch_off(state: &mut State, context: &Context<'_>) {
    stop(state, context);
    state.is_on = false;
    state.follower = Follower::default();
    state.forget_look();
}

fn stop(state: &mut State, context: &Context<'_>) {
    if let Some(run) = &mut state.run {
        run.is_stopped = true;
        context.engine.cancel(run.job);
    }
}

/// Follows what happened in other features: called once a frame.
pub(crate) fn refresh(state: &mut State, canvas: &mut canvas::State, create: &mut create::State, context: &mut Context<'_>) {
    let number = canvas.edited().map(|document| document.number);
    canvas.set_covered(number.is_some_and(|number| state.shown_over(number).is_some()));
    if !state.is_on {
        return;
    }
    if std::mem::take(&mut state.accepts) {
        accept(state, canvas, create, context);
    }
    let document = canvas.edited();
    state.follows_canvas = document.is_some();
    let seed = *state.seed.get_or_insert_with(|| create.last_seed.unwrap_or_else(random_seed));
    let source = source(&context.shared.next.resolved_recipe(), Some(seed), document, canvas);
    let activity = activity(state, document, canvas, context);
    if activity == Activity::Drawing {
        // What is painted must be seen.
        if document.is_some_and(|document| document.fresh.is_some() && matches!(document.gesture, Some(Gesture::Stroke(_)))) {
            state.keep_look();
        } else {
            state.forget_look();
        }
    }
    match state.follower.next_action(&source, activity, context.egui.time()) {
        FollowAction::None => {}
        FollowAction::Wait(secs) => due::wake_in(context.egui, f64::from(secs)),
        FollowAction::Stop => stop(state, context),
        FollowAction::Begin => begin(state, source, canvas, create, context),
    }
    looks::convert(state, context);
}

/// Everything that the picture is made from now. `seed`: where the settings keep none.
fn source(recipe: &Recipe, seed: Option<Seed>, document: Option<&OpenDocument>, canvas: &canvas::State) -> Source {
    let seed = recipe.seed.or(seed);
    let canvas = document.map(|document| CanvasSource {
        document: document.number,
        version: document.document.version(),
        part: document.part(),
        strength: canvas.options.strength,
        crop: document.crop,
        area: canvas.options.area,
    });
    Source { recipe: Recipe { seed, batch_count: 1, further_starts: Vec::new(), ..recipe.clone() }, canvas }
}

fn activity(state: &State, document: Option<&OpenDocument>, canvas: &canvas::State, context: &Context<'_>) -> Activity {
    let is_changing = |document: &OpenDocument| {
        document.pending_edits > 0 || document.gesture.as_ref().is_some_and(|gesture| !matches!(gesture, Gesture::Pipette))
    };
    if document.is_some_and(is_changing) {
        return Activity::Drawing;
    }
    let is_known = document.is_none_or(|document| generate::current(document, context.shared, &canvas.options).is_some());
    // The one before is still to end, where Live was switched off and on.
    let is_free = state.run.is_none() || state.follower.is_running();
    let is_ready = is_known && is_free && context.shared.screen == Screen::Create && state.ready(context.shared).is_ok();
    if is_ready { Activity::Ready } else { Activity::NotReady }
}

fn begin(state: &mut State, source: Source, canvas: &canvas::State, create: &create::State, context: &mut Context<'_>) {
    let of_canvas = canvas.edited().and_then(|document| {
        let analysis = generate::current(document, context.shared, &canvas.options)?;
        let recipe = generate::recipe((&source.recipe, context.shared.next.takes_control()), document, analysis, &canvas.options);
        Some((recipe, CandidateBase::new(document.number, analysis)))
    });
    let (recipe, base) = match of_canvas {
        Some((recipe, base)) => (recipe, Some(base)),
        None => (source.recipe, None),
    };
    let preview = create.preview_options(context.shared);
    match context.engine.submit(Task::Generate { recipe: Box::new(recipe.clone()), preview, shares_steps: false }) {
        Ok(job) => {
            state.shown_job = Some(job);
            let is_awaited = !context.shared.jobs.is_empty();
            if is_awaited {
                context.queue.send(QueueRequest::SetAwaited(true));
            }
            let progress = create::progress::Progress::default();
            state.run = Some(LiveRun { job, recipe, base, has_begun: false, is_stopped: false, is_awaited, progress });
        }
        Err(busy) => {
            state.follower.ended();
            context.notice(tr!("live-the-live-picture-could", busy));
        }
    }
}

/// Makes the finished picture a layer, or keeps it where there is no document.
fn accept(state: &mut State, canvas: &mut canvas::State, create: &mut create::State, context: &mut Context<'_>) {
    let Some(look) = &mut state.look else { return };
    let Some((finished, patch)) = look.result.take() else { return };
    let (Some(number), Some(patch)) = (look.document, patch) else {
        return create::pictures::keep(create, finished.recipe, &finished.picture, state.paths.clone(), context);
    };
    let region = finished.base.as_ref().and_then(|base| base.region);
    let seed = finished.picture.info.seed;
    let source_now = |canvas: &canvas::State, recipe: &Recipe| source(recipe, state.seed.or(seed), canvas.edited(), canvas);
    let is_newest = state.follower.is_finished(&source_now(canvas, &context.shared.next.resolved_recipe()));
    let Some(document) = canvas.edited_mut().filter(|document| document.number == number) else { return };
    if candidates::accept_patch(document, seed, patch, region, context) {
        let accepted = source_now(canvas, &context.shared.next.resolved_recipe());
        state.forget_look();
        if is_newest {
            // The picture would be made from itself.
            state.follower.set_finished(accepted);
        }
    }
}
