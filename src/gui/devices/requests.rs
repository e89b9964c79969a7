//! Requests of the Devices view to the engine (devices, servers, estimates), and what its answers
//! change. Nothing here waits.

use crate::gui::context::{Context, log_if_busy};
use crate::gui::devices::board::{ServerState, test_summary};
use crate::gui::devices::state::{Measurement, State};
use crate::gui::devices::trials;
use crate::gui::due;
use crate::gui::shared::{EngineJob, ErrorCard, Screen};
use atelier_core::device::Device;
use atelier_core::placement::Placement;
use atelier_core::recipe::Recipe;
use atelier_engine::{
    Copies, DEFAULT_PORT, Estimate, EstimateKey, Failure, JobId, MeasureDevices, OutOfMemory, Peak, RemoteError, Residency, ServerAddress,
    Timings,
};
use atelier_studio::queue::QueueRequest;

/// Seconds without a change of the recipe before an estimate is requested.
const ESTIMATE_DELAY_SECS: f64 = 0.15;
/// Seconds without a job and without a key or a movement of the pointer before devices without
/// rates are measured.
const MEASURE_DELAY_SECS: f64 = 15.0;

/// Requests the devices and connects to the servers of the settings.
pub(crate) fn start(state: &mut State, context: &Context<'_>) {
    list_devices(context);
    if !state.board.automatic.is_on {
        log_if_busy(context.engine.place_automatically(false));
    }
    let servers: Vec<ServerAddress> = state.servers.iter().map(|server| server.address.clone()).collect();
    for server in servers {
        add_server(state, server, context);
    }
}

/// Requests the list of devices.
pub(crate) fn list_devices(context: &Context<'_>) {
    log_if_busy(context.engine.list_devices());
}

/// Connects to a server, also after a failure.
pub(crate) fn add_server(state: &mut State, address: ServerAddress, context: &Context<'_>) {
    if let Some(server) = state.server_mut(&address) {
        server.state = ServerState::Connecting;
    }
    log_if_busy(context.engine.add_server(address));
}

/// Brings the board up to date and sends the requests that are due. Returns true if an estimate was
/// requested.
pub(crate) fn refresh(state: &mut State, context: &Context<'_>) -> bool {
    let now = context.egui.time();
    let on_screen = context.shared.screen == Screen::Devices;
    if on_screen != state.was_on_screen {
        // The engine looks beside its jobs, and wakes the window where another digit is to be seen.
        log_if_busy(context.engine.watch_devices(on_screen));
    }
    if on_screen && !state.was_on_screen {
        list_devices(context);
        if state.board.estimate_error.is_some() {
            // A missing file may be back.
            state.estimate.requested = None;
        }
    }
    state.was_on_screen = on_screen;
    request_measurement(state, now, context);
    state.board.set_in_use(context.shared.chosen_resident().map(|model| &model.placement));
    let recipe = context.shared.next.resolved_recipe();
    let requested = request_estimate(state, &recipe, now, context);
    if let Some(secs) = state.board.refresh(&recipe, now) {
        due::wake_in(context.egui, secs);
    }
    tell_queue(state, context);
    trials::refresh(state, context);
    requested
}

/// Tells the queue the pace of the present recipe where its prediction has changed.
fn tell_queue(state: &mut State, context: &Context<'_>) {
    let version = state.board.times.version();
    if std::mem::replace(&mut state.told_time_version, version) != version {
        let recipe = &context.shared.next.recipe;
        let (model, place) = (context.shared.next.model_name(&recipe.files), recipe.placement.backend.clone());
        context.queue.send(QueueRequest::SetPredictedPace { model, place, pace: state.board.times.pace(recipe) });
    }
}

/// Requests the measurement of devices that have no rates, once no job has run and nothing was
/// touched for a while. It gives way to whatever a person does, and goes on later: what is measured
/// is kept.
fn request_measurement(state: &mut State, now: f64, context: &Context<'_>) {
    if state.board.devices.is_empty() {
        return;
    }
    let is_touched = context.egui.input(|input| !input.events.is_empty() || input.pointer.any_down());
    let is_idle = !is_touched && !context.shared.has_jobs_of_anybody();
    match state.measurement {
        // To jobs it gives way by itself.
        Measurement::Running if is_touched => put_off_measurement(state, context),
        Measurement::Running | Measurement::Done => {}
        Measurement::Due { .. } if !is_idle => state.measurement = Measurement::default(),
        Measurement::Due { idle_since_secs } => {
            let since = idle_since_secs.unwrap_or(now);
            state.measurement = Measurement::Due { idle_since_secs: Some(since) };
            let due_in = since + MEASURE_DELAY_SECS - now;
            if due_in > 0.0 {
                due::wake_in(context.egui, due_in);
            } else {
                let devices = MeasureDevices { threads: context.shared.next.recipe.threads, ..MeasureDevices::default() };
                if log_if_busy(context.engine.measure(Some(devices))) {
                    state.measurement = Measurement::Running;
                }
            }
        }
    }
}

/// Stops the measurement that runs, if one does; what is left is measured later.
fn put_off_measurement(state: &mut State, context: &Context<'_>) {
    if std::mem::take(&mut state.measurement) == Measurement::Running {
        log_if_busy(context.engine.measure(None));
    }
}

/// Devices have rates now.
pub(crate) fn rates_measured(state: &mut State, is_measuring: bool) {
    if !is_measuring && state.measurement == Measurement::Running {
        state.measurement = Measurement::Done;
    }
    if !is_measuring {
        // Estimates predict times from now on.
        state.estimate.requested = None;
    }
}

/// Requests an estimate of this recipe once it stays unchanged. Returns true if the request was
/// sent.
fn request_estimate(state: &mut State, recipe: &Recipe, now: f64, context: &Context<'_>) -> bool {
    let key = EstimateKey::of(recipe);
    let (board, estimate) = (&mut state.board, &mut state.estimate);
    let answered = board.estimate.is_some() || board.estimate_error.is_some();
    if estimate.requested.as_ref() == Some(&key) && (answered || estimate.pending) {
        estimate.changed.reset();
        board.estimate_pending = estimate.pending;
        return false;
    }
    if recipe.files.is_empty() {
        board.estimate_pending = false;
        return false;
    }
    board.estimate_pending = true;
    // The first request has nothing to wait for.
    let delay = if estimate.requested.is_none() { 0.0 } else { ESTIMATE_DELAY_SECS };
    if let Some(secs) = estimate.changed.remaining_secs(|it| *it == key, || key.clone(), now, delay) {
        due::wake_in(context.egui, f64::from(secs));
        return false;
    }
    // Memory needs do not depend on the placement, and must be known while its text has errors: the
    // last readable one is sent. One that is left to the engine is chosen from the estimate for
    // none.
    let named = board.placement.as_ref().filter(|_| !board.automatic.places(&recipe.placement));
    let placement = named.map(Placement::text).unwrap_or_default();
    let sent = log_if_busy(context.engine.estimate(Recipe { placement, ..recipe.clone() }));
    if sent {
        (estimate.requested, estimate.pending) = (Some(key), true);
        estimate.changed.reset();
    }
    sent
}

/// The engine has estimated a recipe, or failed to.
pub(crate) fn estimated(state: &mut State, recipe: &Recipe, result: Result<Estimate, Failure>, context: &mut Context<'_>) {
    let key = EstimateKey::of(recipe);
    if state.estimate.requested.as_ref() != Some(&key) {
        return;
    }
    state.estimate.pending = false;
    if EstimateKey::of(&context.shared.next.resolved_recipe()) != key {
        state.estimate.requested = None;
        return;
    }
    if let Ok(estimate) = &result {
        context.shared.next.with_control = estimate.reads_control.then(|| recipe.files.clone());
        context.shared.without_references = estimate.ignores_references.then(|| recipe.files.clone());
    }
    let board = &mut state.board;
    board.estimate_pending = false;
    (board.estimate, board.estimate_error) = match result {
        Ok(estimate) => (Some(estimate), None),
        Err(failure) => (None, Some(format!("{} {}", failure.advice.sentence, failure.advice.hint).trim().to_owned())),
    };
    board.mark_stale();
}

/// A job has begun.
pub(crate) fn job_began(state: &mut State) {
    state.device_list.job_began = true;
}

/// The engine has listed the devices.
pub(crate) fn devices_listed(state: &mut State, mut devices: Vec<Device>, context: &Context<'_>) {
    let list = &mut state.device_list;
    devices.retain(|device| !list.removed.contains(&device.name));
    let before_loading = std::mem::take(&mut list.job_began);
    let board = &mut state.board;
    if !before_loading && context.shared.jobs.running().is_some_and(|job| job.begun) {
        // Memory that the running job uses is free again for the next one.
        for device in &mut devices {
            if let Some(before) = board.devices.iter().find(|before| before.name == device.name) {
                device.memory_free_bytes = before.memory_free_bytes;
                device.memory_allocated_bytes = before.memory_allocated_bytes;
            }
        }
    }
    board.set_devices(devices);
    if !state.pins_known {
        state.pins_known = true;
        board.pin_explicit(&context.shared.next.recipe.placement);
    }
}

/// A server has answered a request for its devices.
pub(crate) fn server_answered(state: &mut State, address: &ServerAddress, added: Result<Vec<Device>, RemoteError>, context: &Context<'_>) {
    for device in added.iter().flatten() {
        state.device_list.removed.remove(&device.name);
    }
    if added.is_ok() {
        put_off_measurement(state, context);
    }
    if let Some(server) = state.server_mut(address) {
        server.state = match added {
            Ok(devices) => ServerState::Connected(devices.into_iter().map(|device| device.name).collect()),
            Err(problem) => ServerState::Unreachable(problem.to_string()),
        };
    }
    list_devices(context);
}

/// Tests a server.
pub(crate) fn test_server(server: ServerAddress, context: &Context<'_>) {
    let address = server.clone();
    context.run_alone(
        "probe",
        move || {
            let (host, port) = address.as_str().rsplit_once(':').unwrap_or((address.as_str(), ""));
            atelier_engine::probe(host, port.parse().unwrap_or(DEFAULT_PORT))
        },
        move |tested, features, _| {
            let report = tested.unwrap_or_else(|_| Err(RemoteError::Lost(server.to_string())));
            if let Some(server) = features.devices.server_mut(&server) {
                server.testing = false;
                server.test_result = Some(report.as_ref().map(test_summary).map_err(ToString::to_string));
            }
        },
    );
}

/// The engine has measured the memory of a job.
pub(crate) fn job_measured(state: &mut State, job: JobId, measured: (Vec<Peak>, Vec<Copies>), context: &mut Context<'_>) {
    let Some(job) = context.shared.jobs.get_mut(job) else { return };
    state.board.set_measured(&job.recipe, measured);
}

/// A job is done.
pub(crate) fn job_done(state: &mut State, job: &EngineJob, timings: &Timings, pictures: usize) {
    state.board.times.set_measured(&job.recipe, timings, pictures);
}

/// The engine has reported its resident models.
pub(crate) fn residency_changed(state: &mut State, residency: &Residency) {
    state.board.resident_bytes = residency.held_bytes();
    state.board.mark_stale();
}

/// Adds remedies to the card of a job that ran out of memory; none if the recipe has changed since.
pub(crate) fn add_remedies(state: &State, card: &mut ErrorCard, met: &OutOfMemory, job: &EngineJob) {
    if !state.board.is_current_for(&job.recipe) {
        return;
    }
    card.remedies = state.board.remedies_after(met);
    let mut failed = job.recipe.clone();
    failed.seed = job.progress.seed(0).or(failed.seed);
    card.failed = Some(Box::new(failed));
}
