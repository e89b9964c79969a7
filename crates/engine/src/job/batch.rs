//! A batch that several devices generate together: each takes the next picture as soon as it has
//! none.
//!
//! Invariants: each picture is generated once; pictures of a device that fails go to the others;
//! the progress of all together only grows.

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::error::JobError;
use super::generate::{Generator, JobOutput};
use super::monitor::JobMonitor;
use super::shard::BatchShard;
use crate::ffi::JobCallbacks;
use crate::protocol::{Failure, LogLevel, PhaseKind, Step};
use crate::threads::{STACK_BYTES, mark_engine_thread, no_thread};
use atelier_core::placement::Module;
use atelier_core::recipe::Rgb8;
use atelier_language::tr;

/// Interval at which a shard that waits for the others looks for a cancel.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Pictures of a batch that shards share, and their progress together.
struct BatchProgress {
    state: Mutex<State>,
    changed: Condvar,
    pictures: u32,
}

struct State {
    waiting: VecDeque<u32>,
    /// Progress of each shard's picture, 0 to 1.
    at_work: BTreeMap<usize, f32>,
    finished: u32,
    /// The progress that was sent last, in pictures.
    furthest: f32,
    /// A shard has encoded the prompt.
    is_denoising: bool,
}

impl BatchProgress {
    fn new(pictures: u32) -> Self {
        let state = State { waiting: (0..pictures).collect(), at_work: BTreeMap::new(), finished: 0, furthest: 0.0, is_denoising: false };
        Self { state: Mutex::new(state), changed: Condvar::new(), pictures }
    }

    /// The next picture for this shard; `None` once all are finished or no shard is left that
    /// generates them.
    fn take(&self, shard: usize, cancelled: &dyn Fn() -> bool) -> Option<u32> {
        let mut state = self.lock();
        loop {
            if cancelled() {
                return None;
            }
            if let Some(picture) = state.waiting.pop_front() {
                state.at_work.insert(shard, 0.0);
                return Some(picture);
            }
            // A shard at work may yet fail.
            if state.at_work.is_empty() {
                return None;
            }
            self.changed.wait_for(&mut state, POLL_INTERVAL);
        }
    }

    fn done(&self, shard: usize) {
        let mut state = self.lock();
        state.at_work.remove(&shard);
        state.finished += 1;
        drop(state);
        self.changed.notify_all();
    }

    /// Ends a shard; its picture, if it had one, goes to the others.
    fn leave(&self, shard: usize, unfinished: Option<u32>) {
        let mut state = self.lock();
        state.at_work.remove(&shard);
        if let Some(picture) = unfinished {
            state.waiting.push_front(picture);
        }
        // A shard that waited for its encoding makes its own.
        state.is_denoising = true;
        drop(state);
        self.changed.notify_all();
    }

    /// Waits until another shard has encoded the prompt.
    fn wait_for_encoding(&self, cancelled: &dyn Fn() -> bool) {
        let mut state = self.lock();
        while !state.is_denoising && !cancelled() {
            self.changed.wait_for(&mut state, POLL_INTERVAL);
        }
    }

    /// All pictures are finished: then nothing needs to be loaded any more.
    fn is_over(&self) -> bool {
        self.lock().finished == self.pictures
    }

    /// A shard has encoded the prompt. Returns true for the first.
    fn begin_denoising(&self) -> bool {
        let is_first = !std::mem::replace(&mut self.lock().is_denoising, true);
        self.changed.notify_all();
        is_first
    }

    /// A shard has encoded the prompt.
    fn is_denoising(&self) -> bool {
        self.lock().is_denoising
    }

    /// The progress of all shards after that of one, as if one picture followed the other.
    fn step(&self, shard: usize, step: Step) -> Step {
        let total = step.total.max(1);
        let mut state = self.lock();
        let within = (step.done as f32 + step.fraction.clamp(0.0, 1.0)) / total as f32;
        if let Some(at) = state.at_work.get_mut(&shard) {
            *at = within.min(1.0);
        }
        let now = state.finished as f32 + state.at_work.values().sum::<f32>();
        state.furthest = state.furthest.max(now).min(self.pictures as f32);
        let picture = (state.furthest as u32).min(self.pictures.saturating_sub(1));
        let steps = (state.furthest - picture as f32) * total as f32;
        let done = (steps as u32).min(total);
        let step_secs = step.step_secs / state.at_work.len().max(1) as f32;
        Step { picture, done, total: step.total, fraction: (steps - done as f32).clamp(0.0, 1.0), step_secs }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

/// Callbacks of one shard: its monitor's, with the progress of all shards in place of its own.
struct ShardCallbacks<'a> {
    monitor: &'a JobMonitor,
    progress: &'a BatchProgress,
    shard: usize,
}

impl JobCallbacks for ShardCallbacks<'_> {
    fn log(&self, level: LogLevel, text: &str) {
        self.monitor.log(level, text);
    }

    fn phase(&self, phase: PhaseKind) {
        self.monitor.enter(phase);
        // Shards are in different phases: from the first that denoises on, only steps are sent.
        let is_first = if phase == PhaseKind::Denoising { self.progress.begin_denoising() } else { !self.progress.is_denoising() };
        if is_first {
            self.monitor.send_phase(phase);
        }
    }

    fn load(&self, module: Option<Module>, done: u64, total: u64) {
        self.monitor.enter(PhaseKind::Loading);
        if !self.progress.is_denoising() {
            self.monitor.send_load(module, done, total);
        }
    }

    fn step(&self, done: u32, total: u32, fraction: f32, secs: f32) {
        let step = self.monitor.picture_step(done, total, fraction, secs);
        self.monitor.send_step(self.progress.step(self.shard, step));
    }

    fn preview(&self, step: u32, image: Rgb8) {
        self.monitor.preview(step, image);
    }

    fn cancelled(&self) -> bool {
        self.monitor.cancelled() || self.progress.is_over()
    }
}

/// Generates the pictures of a job with every shard of its plan.
pub(super) fn generate(generator: &Generator<'_>) -> Result<JobOutput, JobError> {
    let plan = generator.plan;
    let progress = BatchProgress::new(u32::try_from(plan.begin.seeds.len()).unwrap_or(u32::MAX));
    let output = Mutex::new(JobOutput::default());
    let monitors: Vec<JobMonitor> = plan.shards.iter().map(|_| generator.monitor.for_shard()).collect();
    let encoders = |shard: &BatchShard| Module::ENCODERS.map(|module| shard.placement.assignment(module).runs_on.clone());
    let first_encoders = plan.shards.first().map(encoders);
    let work = |index: usize, shard: &BatchShard, monitor: &JobMonitor| {
        let cancelled = || monitor.cancelled();
        // Two shards that encode the same prompt on the same devices encode it once.
        if index > 0 && Some(encoders(shard)) == first_encoders {
            progress.wait_for_encoding(&cancelled);
        }
        let callbacks = ShardCallbacks { monitor, progress: &progress, shard: index };
        let mut current = None;
        let result = catch_unwind(AssertUnwindSafe(|| {
            let take = &mut || {
                current = progress.take(index, &cancelled);
                current
            };
            let done = &mut |info| {
                output.lock().add(info);
                progress.done(index);
            };
            Generator { shard, monitor, callbacks: &callbacks, ..*generator }.run(take, done)
        }));
        let result = result.unwrap_or_else(|_| {
            let failure = Failure::new(tr!("engine-internal-error-while-generating"), tr!("engine-generate-again-if-this"));
            Err(Failure { log: monitor.log_lines(), ..failure }.into())
        });
        // A picture that is finished is no longer current.
        let is_finished = |picture: u32| output.lock().pictures.iter().any(|it| it.index == picture);
        progress.leave(index, current.filter(|picture| !is_finished(*picture)));
        result
    };
    let ends: Vec<Result<(), JobError>> = thread::scope(|scope| {
        let threads: Vec<_> = plan
            .shards
            .iter()
            .zip(&monitors)
            .enumerate()
            .map(|(index, (shard, monitor))| {
                let work = &work;
                let work = move || {
                    mark_engine_thread();
                    work(index, shard, monitor)
                };
                thread::Builder::new().name("engine job".into()).stack_size(STACK_BYTES).spawn_scoped(scope, work)
            })
            .collect();
        let end = |(index, thread): (usize, std::io::Result<thread::ScopedJoinHandle<'_, _>>)| {
            if let Ok(thread) = thread {
                return thread.join().unwrap_or(Ok(()));
            }
            // Without a thread for this shard, the others generate all.
            progress.leave(index, None);
            Err(no_thread().into())
        };
        threads.into_iter().enumerate().map(end).collect()
    });
    for monitor in &monitors {
        generator.monitor.merge(monitor);
    }
    finish(generator, &progress, ends, output.into_inner())
}

/// The end of a batch: with all pictures a success, whatever happened to single shards.
fn finish(
    generator: &Generator<'_>,
    progress: &BatchProgress,
    ends: Vec<Result<(), JobError>>,
    mut output: JobOutput,
) -> Result<JobOutput, JobError> {
    if generator.monitor.cancelled() && !progress.is_over() {
        return Err(JobError::Cancelled);
    }
    let mut failures = ends.into_iter().enumerate().filter_map(|(index, end)| match end {
        Err(JobError::Failed(failure)) => Some((index, failure)),
        Err(JobError::Cancelled) | Ok(()) => None,
    });
    if progress.is_over() {
        let devices = &generator.plan.placement.placement.split_batch;
        let device = |index: usize| devices.get(index).map_or("A device", String::as_str);
        output.notes.extend(
            failures.map(|(index, failure)| tr!("engine-stopped-and-the-other", device = device(index), advice = failure.advice.sentence)),
        );
        return Ok(output);
    }
    match failures.next() {
        Some((_, failure)) => Err(JobError::Failed(failure)),
        None => Err(JobError::Cancelled),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(done: u32, fraction: f32) -> Step {
        Step { picture: 9, done, total: 4, fraction, step_secs: 2.0 }
    }

    #[test]
    fn what_a_shard_leaves_unfinished_is_generated_by_another() {
        let progress = BatchProgress::new(3);
        let go_on = || false;
        assert_eq!((progress.take(0, &go_on), progress.take(1, &go_on)), (Some(0), Some(1)));
        progress.leave(0, Some(0));
        progress.done(1);
        assert_eq!(progress.take(1, &go_on), Some(0));
        progress.done(1);
        assert_eq!(progress.take(1, &go_on), Some(2));
        assert!(!progress.is_over());
        progress.done(1);
        assert!(progress.is_over());
        assert_eq!(progress.take(1, &go_on), None);
    }

    #[test]
    fn the_progress_of_all_shards_is_sent_as_one_and_never_goes_back() {
        let progress = BatchProgress::new(4);
        let go_on = || false;
        progress.take(0, &go_on);
        progress.take(1, &go_on);
        let sent = |step: Step| (step.picture, step.done, step.fraction, step.step_secs);
        assert_eq!(sent(progress.step(0, step(2, 0.0))), (0, 2, 0.0, 1.0));
        assert_eq!(sent(progress.step(1, step(3, 0.0))), (1, 1, 0.0, 1.0));
        progress.leave(1, Some(1));
        assert_eq!(sent(progress.step(0, step(3, 0.5))), (1, 1, 0.0, 2.0), "a shard is gone");
        progress.done(0);
        progress.take(0, &go_on);
        assert_eq!(sent(progress.step(0, step(2, 0.0))), (1, 2, 0.0, 2.0));
    }
}
