//! A batch that several devices make together: each takes the next picture as soon as it has none.
//!
//! Invariants: each picture is made once; what a device could not make, the others do; how far all are together only grows.

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::run::{Made, Maker, Share, Stop};
use super::sink::JobSink;
use crate::protocol::{Failure, Step};
use crate::threads::{STACK_BYTES, mark_engine_thread, no_thread};
use atelier_core::placement::Module;

/// How often one that waits for the others looks whether the job was cancelled.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The pictures of a job that is shared.
pub(crate) struct Together {
    state: Mutex<State>,
    changed: Condvar,
    pictures: u32,
}

struct State {
    waiting: VecDeque<u32>,
    /// By share: how much of its picture is done, 0 to 1.
    at_work: BTreeMap<usize, f32>,
    finished: u32,
    /// As told last, in pictures.
    furthest: f32,
    /// One has read the prompt.
    denoises: bool,
}

impl Together {
    fn new(pictures: u32) -> Self {
        let state = State { waiting: (0..pictures).collect(), at_work: BTreeMap::new(), finished: 0, furthest: 0.0, denoises: false };
        Self { state: Mutex::new(state), changed: Condvar::new(), pictures }
    }

    /// The next picture for this share; `None` once all are made or nobody is left who makes them.
    fn take(&self, share: usize, cancelled: &dyn Fn() -> bool) -> Option<u32> {
        let mut state = self.lock();
        loop {
            if cancelled() {
                return None;
            }
            if let Some(picture) = state.waiting.pop_front() {
                state.at_work.insert(share, 0.0);
                return Some(picture);
            }
            // One that is at work may yet fail.
            if state.at_work.is_empty() {
                return None;
            }
            state = self.changed.wait_timeout(state, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn done(&self, share: usize) {
        let mut state = self.lock();
        state.at_work.remove(&share);
        state.finished += 1;
        drop(state);
        self.changed.notify_all();
    }

    /// A share makes nothing more; its picture, if it had one, is the others'.
    fn leave(&self, share: usize, unfinished: Option<u32>) {
        let mut state = self.lock();
        state.at_work.remove(&share);
        if let Some(picture) = unfinished {
            state.waiting.push_front(picture);
        }
        // Who waited for its encoding makes its own.
        state.denoises = true;
        drop(state);
        self.changed.notify_all();
    }

    /// Waits until another share has read the prompt.
    fn wait_for_encoding(&self, cancelled: &dyn Fn() -> bool) {
        let mut state = self.lock();
        while !state.denoises && !cancelled() {
            state = self.changed.wait_timeout(state, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Whether all pictures are made: then nothing needs to be loaded any more.
    pub(crate) fn is_over(&self) -> bool {
        self.lock().finished == self.pictures
    }

    /// A share has read the prompt. Returns whether it is the first.
    pub(crate) fn denoises(&self) -> bool {
        let first = !std::mem::replace(&mut self.lock().denoises, true);
        self.changed.notify_all();
        first
    }

    /// Whether a share has read the prompt.
    pub(crate) fn has_begun(&self) -> bool {
        self.lock().denoises
    }

    /// A share is so far with its picture. What this comes to for all of them, as if one picture followed the other.
    pub(crate) fn step(&self, share: usize, step: Step) -> Step {
        let total = step.total.max(1);
        let mut state = self.lock();
        let within = (step.done as f32 + step.fraction.clamp(0.0, 1.0)) / total as f32;
        if let Some(at) = state.at_work.get_mut(&share) {
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
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes the pictures of a job with every share of its plan.
pub(crate) fn pictures(maker: &Maker<'_>) -> Result<Made, Stop> {
    let plan = maker.plan;
    let together = Arc::new(Together::new(u32::try_from(plan.begin.seeds.len()).unwrap_or(u32::MAX)));
    let made = Mutex::new(Made::default());
    let sinks: Vec<JobSink> = (0..plan.shares.len()).map(|share| maker.sink.for_share(&together, share)).collect();
    let encoder = |share: &Share| share.placement.assignment(Module::Te).runs_on.clone();
    let first = plan.shares.first().map(encoder);
    let work = |share: usize, way: &Share, sink: &JobSink| {
        let cancelled = || sink.cancelled_by_caller();
        // Two that read the same prompt on the same device read it once.
        if share > 0 && Some(encoder(way)) == first {
            together.wait_for_encoding(&cancelled);
        }
        let mut current = None;
        let worked = catch_unwind(AssertUnwindSafe(|| {
            let take = &mut || {
                current = together.take(share, &cancelled);
                current
            };
            let done = &mut |info, note: Option<String>| {
                let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
                made.pictures.push(info);
                made.notes.extend(note);
                together.done(share);
            };
            maker.of_share(way, sink).make(take, done)
        }));
        let stopped = worked.unwrap_or_else(|_| {
            Err(Stop::Failed(Box::new(Failure {
                log: sink.log_lines(),
                ..Failure::new(
                    "Atelier made a mistake while it worked on this picture.",
                    "Generate again. If it happens again, please report it with the details.",
                )
            })))
        });
        // What was taken and not made; one that was made is no longer current.
        let is_made = |picture: u32| made.lock().unwrap_or_else(PoisonError::into_inner).pictures.iter().any(|it| it.index == picture);
        together.leave(share, current.filter(|picture| !is_made(*picture)));
        stopped
    };
    let ends: Vec<Result<(), Stop>> = thread::scope(|scope| {
        let begun: Vec<_> = plan
            .shares
            .iter()
            .zip(&sinks)
            .enumerate()
            .map(|(share, (way, sink))| {
                let work = &work;
                let work = move || {
                    mark_engine_thread();
                    work(share, way, sink)
                };
                thread::Builder::new().name("engine job".into()).stack_size(STACK_BYTES).spawn_scoped(scope, work)
            })
            .collect();
        let end = |(share, begun): (usize, std::io::Result<thread::ScopedJoinHandle<'_, _>>)| {
            if let Ok(thread) = begun {
                return thread.join().unwrap_or(Ok(()));
            }
            // The system gave no thread: the others make all.
            together.leave(share, None);
            Err(Stop::Failed(Box::new(no_thread())))
        };
        begun.into_iter().enumerate().map(end).collect()
    });
    for sink in &sinks {
        maker.sink.absorb(sink);
    }
    let mut made = made.into_inner().unwrap_or_else(PoisonError::into_inner);
    if maker.sink.cancelled_by_caller() && !together.is_over() {
        return Err(Stop::Cancelled);
    }
    let mut failures = ends.into_iter().enumerate().filter_map(|(share, end)| match end {
        Err(Stop::Failed(failure)) => Some((share, failure)),
        _ => None,
    });
    if together.is_over() {
        let device = |share: usize| plan.split_batch.get(share).map_or("A device", String::as_str);
        made.notes.extend(
            failures.map(|(share, failure)| {
                format!("{} stopped, and the others made its pictures. {}", device(share), failure.advice.sentence)
            }),
        );
        return Ok(made);
    }
    match failures.next() {
        Some((_, failure)) => Err(Stop::Failed(failure)),
        None => Err(Stop::Cancelled),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(done: u32, fraction: f32) -> Step {
        Step { picture: 9, done, total: 4, fraction, step_secs: 2.0 }
    }

    #[test]
    fn what_a_share_leaves_unfinished_is_made_by_another() {
        let together = Together::new(3);
        let go_on = || false;
        assert_eq!((together.take(0, &go_on), together.take(1, &go_on)), (Some(0), Some(1)));
        together.leave(0, Some(0));
        together.done(1);
        assert_eq!(together.take(1, &go_on), Some(0));
        together.done(1);
        assert_eq!(together.take(1, &go_on), Some(2));
        assert!(!together.is_over());
        together.done(1);
        assert!(together.is_over());
        assert_eq!(together.take(1, &go_on), None);
    }

    #[test]
    fn how_far_all_are_is_told_as_one_and_never_goes_back() {
        let together = Together::new(4);
        let go_on = || false;
        together.take(0, &go_on);
        together.take(1, &go_on);
        let told = |step: Step| (step.picture, step.done, step.fraction, step.step_secs);
        assert_eq!(told(together.step(0, step(2, 0.0))), (0, 2, 0.0, 1.0));
        assert_eq!(told(together.step(1, step(3, 0.0))), (1, 1, 0.0, 1.0));
        together.leave(1, Some(1));
        assert_eq!(told(together.step(0, step(3, 0.5))), (1, 1, 0.0, 2.0), "a share is gone");
        together.done(0);
        together.take(0, &go_on);
        assert_eq!(told(together.step(0, step(2, 0.0))), (1, 2, 0.0, 2.0));
    }
}
