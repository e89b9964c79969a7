//! Locks and cancels: wherever a job is, the engine answers others, and a cancel ends it.
//!
//! The devices belong to the process: `GPU0` to `GPU2` have room for everything, `SMALL` for the
//! weights of one model.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use atelier_core::placement::Module;
use atelier_core::recipe::{FileRole, ModelFiles, PlacementText, Recipe, Seed};
use atelier_engine::{End, Event, Handle, JobId, JobPhase, PreviewOptions, Task, start};
use support::handle::WatchedHandle;
use support::lender::Server;
use support::proxy::Proxy;
use support::{files, folder, recipe};
use testkit::tiny;

const DEVICES: &str = "GPU0:1,GPU1:1,GPU2:1,SMALL:0.02";
/// Longer than anything here takes on the slowest machine: reaching it is a failure.
const LIMIT: Duration = Duration::from_mins(10);
/// From a cancel to the end of its job: a tenth of a second on a machine that does nothing else,
/// this on one that does much.
const CANCEL_LIMIT: Duration = Duration::from_secs(3);

type Moment = fn(&Event) -> bool;

/// What is done at a moment, on the thread of the job.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    Hold,
    Cancel,
}

#[derive(Default)]
struct State {
    events: Vec<Event>,
    gate: Option<(JobId, Moment, Then)>,
    is_held: bool,
    cancelled_at: Option<Instant>,
    ended: Vec<(JobId, Instant)>,
}

/// An engine whose jobs are held or cancelled at exact moments. No lock of the test is held
/// meanwhile.
struct Engine {
    handle: WatchedHandle,
    state: Arc<(Mutex<State>, Condvar)>,
}

impl Engine {
    fn start() -> Self {
        let state: Arc<(Mutex<State>, Condvar)> = Arc::default();
        let shared = Arc::clone(&state);
        let wake = move |handle: &Handle| {
            while let Some(event) = handle.try_next() {
                let (state, changed) = &*shared;
                let mut state = state.lock().unwrap();
                if let Event::End { job, .. } = &event {
                    state.ended.push((*job, Instant::now()));
                }
                let gate = state.gate.take_if(|(job, moment, _)| event.job() == Some(*job) && moment(&event));
                state.events.push(event);
                changed.notify_all();
                match gate {
                    Some((_, _, Then::Hold)) => {
                        state.is_held = true;
                        changed.notify_all();
                        let (_state, timeout) = changed.wait_timeout_while(state, LIMIT, |state| state.is_held).unwrap();
                        assert!(!timeout.timed_out(), "nobody opened the gate");
                    }
                    Some((job, _, Then::Cancel)) => {
                        state.cancelled_at = Some(Instant::now());
                        drop(state);
                        handle.cancel(job);
                    }
                    None => {}
                }
            }
        };
        Self { handle: WatchedHandle::start(start, wake), state }
    }

    fn submit(&self, recipe: &Recipe, gate: Option<(Moment, Then)>) -> JobId {
        let mut state = self.state.0.lock().unwrap();
        let job = self
            .handle
            .submit(Task::Generate { recipe: Box::new(recipe.clone()), preview: PreviewOptions::Off, shares_steps: false })
            .unwrap();
        state.gate = gate.map(|(moment, then)| (job, moment, then)).or(state.gate.take());
        job
    }

    fn wait(&self, what: &str, enough: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let state = self.state.0.lock().unwrap();
        let (state, timeout) = self.state.1.wait_timeout_while(state, LIMIT, |state| !enough(state)).unwrap();
        assert!(!timeout.timed_out(), "{what}: {:?}", state.events.iter().rev().take(3).collect::<Vec<_>>());
        state
    }

    /// Waits for an event that comes from now on.
    fn answer(&self, what: &str, ask: impl FnOnce(&Handle), is_answer: impl Fn(&Event) -> bool) {
        let before = self.state.0.lock().unwrap().events.len();
        ask(&self.handle);
        drop(self.wait(what, |state| state.events.iter().skip(before).any(&is_answer)));
    }

    fn open_gate(&self) {
        self.state.0.lock().unwrap().is_held = false;
        self.state.1.notify_all();
    }

    fn end_of(&self, job: JobId) -> End {
        let state = self.wait("the end", |state| state.ended.iter().any(|(other, _)| *other == job));
        let end = state.events.iter().find_map(|event| match event {
            Event::End { job: other, end } if *other == job => Some(end.clone()),
            _ => None,
        });
        end.unwrap()
    }

    /// The time from a cancel to the end of its job, which must be that.
    fn cancel_time(&self, job: JobId, what: &str) -> Duration {
        assert!(matches!(self.end_of(job), End::Cancelled), "{what}: {:?}", self.end_of(job));
        let mut state = self.state.0.lock().unwrap();
        let ended = state.ended.iter().find(|(other, _)| *other == job).unwrap().1;
        ended - state.cancelled_at.take().unwrap()
    }

    fn cancel(&self, job: JobId) {
        self.state.0.lock().unwrap().cancelled_at = Some(Instant::now());
        self.handle.cancel(job);
    }
}

fn alone() -> MutexGuard<'static, ()> {
    support::alone::lock(DEVICES)
}

fn on(backend: &str, params_backend: &str, files: &ModelFiles) -> Recipe {
    let placement = PlacementText { backend: backend.into(), params_backend: params_backend.into(), ..PlacementText::default() };
    Recipe { files: files.clone(), placement, ..recipe() }
}

fn model(name: &str, seed: u64) -> ModelFiles {
    let options = tiny::Options { seed, layers: 4, ..tiny::Options::default() };
    let files = tiny::zimage(&folder(name), &options).unwrap();
    [(FileRole::Diffusion, files.diffusion), (FileRole::Llm, files.llm), (FileRole::Taesd, files.taesd)].into_iter().collect()
}

const MOMENTS: [(&str, Moment); 7] = [
    ("opening", |event| matches!(event, Event::Phase { phase: JobPhase::Loading { module: None, .. }, .. })),
    ("encoding", |event| matches!(event, Event::Phase { phase: JobPhase::Encoding, .. })),
    ("loading", |event| matches!(event, Event::Phase { phase: JobPhase::Loading { module: Some(Module::Diffusion), .. }, .. })),
    ("before the first step", |event| matches!(event, Event::Step { .. })),
    ("stepping", |event| matches!(event, Event::Step { step, .. } if step.done == 1)),
    ("decoding", |event| matches!(event, Event::Phase { phase: JobPhase::Decoding { .. }, .. })),
    ("saving", |event| matches!(event, Event::Picture { .. })),
];

/// By structure: the job's thread stands still inside a callback, and everything else goes on.
#[test]
fn a_job_that_stands_still_anywhere_keeps_nobody_waiting() {
    let _alone = alone();
    let engine = Engine::start();
    let (mine, other) = (files(), model("other", 41));
    for device in ["GPU0", "cpu"] {
        for (moment, at) in MOMENTS {
            let what = format!("{moment} on {device}");
            let job = engine.submit(&Recipe { batch_count: 2, ..on(device, "", &mine) }, Some((at, Then::Hold)));
            drop(engine.wait(&what, |state| state.is_held));
            engine.answer(&what, |it| it.list_devices().unwrap(), |event| matches!(event, Event::Devices(_)));
            engine.answer(&what, |it| it.estimate(on("GPU2", "", &other)).unwrap(), |event| matches!(event, Event::Estimated { .. }));
            engine.answer(&what, |it| it.unload().unwrap(), |event| matches!(event, Event::Residency(_)));
            // It opens, loads, and makes a picture meanwhile.
            let beside = engine.submit(&on("GPU1", "", &other), None);
            assert!(matches!(engine.end_of(beside), End::Done { .. }), "{what}");
            engine.cancel(job);
            engine.open_gate();
            assert!(matches!(engine.end_of(job), End::Cancelled), "{what}");
            engine.answer(&what, |it| it.unload().unwrap(), |event| matches!(event, Event::Residency(_)));
        }
    }
}

#[test]
fn a_cancel_is_seen_wherever_a_job_is() {
    let _alone = alone();
    let engine = Engine::start();
    let (mine, other) = (model("mine", 42), model("other", 41));
    let mut times: Vec<(String, Duration)> = Vec::new();
    // Large enough that each phase takes its time.
    let large = |device: &str| Recipe { width: 512, height: 512, batch_count: 2, steps: 3, ..on(device, "", &mine) };
    for device in ["cpu", "GPU0"] {
        for (moment, at) in MOMENTS {
            let what = format!("{moment} on {device}");
            let job = engine.submit(&large(device), Some((at, Then::Cancel)));
            let took = engine.cancel_time(job, &what);
            times.push((what, took));
            engine.answer("unload", |it| it.unload().unwrap(), |event| matches!(event, Event::Residency(_)));
        }
    }
    let held: Moment = |event| matches!(event, Event::Step { step, .. } if step.done == 1);
    // A device that another job uses.
    let busy = engine.submit(&on("GPU0", "", &other), Some((held, Then::Hold)));
    drop(engine.wait("a job at work", |state| state.is_held));
    let job = engine.submit(&on("GPU0", "", &mine), None);
    engine.cancel(job);
    times.push(("waiting for a device".into(), engine.cancel_time(job, "waiting for a device")));
    engine.open_gate();
    assert!(matches!(engine.end_of(busy), End::Done { .. }));
    // Memory that another model holds, as its last picture showed.
    let job = engine.submit(&on("GPU0", "SMALL", &other), None);
    assert!(matches!(engine.end_of(job), End::Done { .. }));
    let busy = engine.submit(&on("GPU0", "SMALL", &other), Some((held, Then::Hold)));
    drop(engine.wait("a job that holds the room", |state| state.is_held));
    let job = engine.submit(&on("GPU1", "SMALL", &mine), None);
    drop(
        engine.wait("waiting for room", |state| {
            state.events.iter().any(|event| matches!(event, Event::Waiting { job: it, .. } if *it == job))
        }),
    );
    engine.cancel(job);
    times.push(("waiting for room".into(), engine.cancel_time(job, "waiting for room")));
    engine.open_gate();
    assert!(matches!(engine.end_of(busy), End::Done { .. }));
    engine.answer("unload", |it| it.unload().unwrap(), |event| matches!(event, Event::Residency(_)));
    // A text encoder that another model lent, and uses itself now.
    let mut cousin = other.clone();
    cousin.set(FileRole::Diffusion, mine.get(FileRole::Diffusion).unwrap());
    let lender = on("all=GPU0,te=cpu,vae=cpu", "", &other);
    let borrower = on("all=GPU1,te=cpu,vae=cpu", "", &cousin);
    for recipe in [&lender, &borrower] {
        let job = engine.submit(recipe, None);
        assert!(matches!(engine.end_of(job), End::Done { .. }));
    }
    let busy = engine.submit(&Recipe { seed: Some(Seed(2)), ..lender }, Some((held, Then::Hold)));
    drop(engine.wait("a lender at work", |state| state.is_held));
    let job = engine.submit(&Recipe { seed: Some(Seed(2)), ..borrower }, None);
    drop(engine.wait("the borrower", |state| state.events.iter().any(|event| matches!(event, Event::Begin { job: it, .. } if *it == job))));
    engine.cancel(job);
    times.push(("waiting for a lender".into(), engine.cancel_time(job, "waiting for a lender")));
    engine.open_gate();
    assert!(matches!(engine.end_of(busy), End::Done { .. }));
    times.extend(cancel_times_of_a_remote(&engine, &mine));
    for (what, took) in &times {
        println!("{:>4} ms  {what}", took.as_millis());
        assert!(*took < CANCEL_LIMIT, "{what}: {took:?}");
    }
}

/// With a server that answers nothing any more: while it is called, and at every moment of a job.
fn cancel_times_of_a_remote(engine: &Engine, files: &ModelFiles) -> Vec<(String, Duration)> {
    let server = Server::start(&["--device", "CPU"]);
    let proxy = Proxy::to(&server.address);
    let mut rpc = String::new();
    engine.handle.add_server(proxy.address.parse().unwrap()).unwrap();
    let added = engine.wait("the server", |state| state.events.iter().any(|event| matches!(event, Event::Server { .. })));
    for event in &added.events {
        if let Event::Server { added: Ok(devices), .. } = event {
            rpc.clone_from(&devices[0].name);
        }
    }
    drop(added);
    let mut times = Vec::new();
    // A moment before its first word, when nothing is connected.
    let moments = MOMENTS.iter().filter(|(what, _)| !["opening", "saving"].contains(what));
    for (what, at) in [("connecting", MOMENTS[0].1)].into_iter().chain(moments.copied()) {
        let job = engine.submit(&on(&rpc, "", files), Some((at, Then::Hold)));
        drop(engine.wait(what, |state| state.is_held));
        proxy.be_silent(true);
        engine.open_gate();
        proxy.wait_for_answer();
        engine.cancel(job);
        let what = format!("waiting for a remote: {what}");
        let took = engine.cancel_time(job, &what);
        times.push((what, took));
        proxy.be_silent(false);
        engine.answer("unload", |it| it.unload().unwrap(), |event| matches!(event, Event::Residency(_)));
    }
    times
}
