//! Trials of placements on the board: submitted while nothing else is made. Nothing here waits.

use crate::gui::context::Context;
use crate::gui::devices::board::Board;
use crate::gui::devices::state::State;
use atelier_core::placement::Placement;
use atelier_core::recipe::PlacementText;
use atelier_core::time::TimePrediction;
use atelier_engine::Event;
use atelier_studio::trials::{MAX_TRIALS, Trials};

/// Begins to try the best placements round what is pinned.
pub(crate) fn begin(state: &mut State, context: &mut Context<'_>) {
    let candidates = candidates(&state.board);
    state.trials = Some(Trials::new(&context.shared.next.resolved_recipe(), candidates));
}

/// The best placements, with their predicted seconds; the one on the board among them.
fn candidates(board: &Board) -> Vec<(PlacementText, Option<f64>)> {
    let mut found: Vec<(PlacementText, Option<f64>)> = board.ranked().into_iter().map(|it| (it.placement.text(), it.secs())).collect();
    let now = board.placement.as_ref().map(Placement::text);
    if let Some(now) = now.filter(|now| !found.iter().take(MAX_TRIALS).any(|(text, _)| text == now)) {
        found.truncate(MAX_TRIALS - 1);
        found.push((now, board.times.predicted().map(TimePrediction::loaded_secs)));
    }
    found.truncate(MAX_TRIALS);
    found
}

/// Submits the next trial while no picture is asked for; steps aside while one is.
pub(crate) fn refresh(state: &mut State, context: &Context<'_>) {
    let Some(trials) = &mut state.trials else { return };
    if !context.shared.jobs.is_empty() {
        if let Some(job) = trials.step_aside() {
            context.engine.cancel(job);
        }
        return;
    }
    if let Some(task) = trials.next_task() {
        trials.submitted(context.engine.submit(task).ok());
    }
}

/// Stops the trials at once; what was measured stays.
pub(crate) fn stop(state: &mut State, context: &Context<'_>) {
    if let Some(job) = state.trials.as_mut().and_then(Trials::stop) {
        context.engine.cancel(job);
    }
}

/// Takes in an event of the engine. Returns true where it belongs to a trial.
pub(crate) fn engine_event(state: &mut State, event: &Event) -> bool {
    let Some(trials) = &mut state.trials else { return false };
    let is_own = trials.engine_event(event);
    if is_own && matches!(event, Event::End { .. }) && !trials.is_running() {
        // What was learned is in the next estimate.
        state.estimate.requested = None;
    }
    is_own
}
