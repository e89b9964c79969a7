//! Trials of placements: a picture with each, one after the other, and the seconds that it took.
//! Pure; the caller submits and hands in events.
//!
//! Invariants: one picture at a time; none is kept; a trial that steps aside is made again from its
//! beginning. What a picture took is kept by the engine, with its calibration.

use std::collections::VecDeque;

use atelier_core::recipe::{PlacementText, Recipe};
use atelier_engine::{End, Event, JobId, PreviewOptions, Task, Timings};
use atelier_language::tr;

/// Placements that are tried at most: more would take long, and those that are predicted to be slow
/// are slow.
pub const MAX_TRIALS: usize = 4;

/// A placement to try.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// Its canonical text.
    pub placement: PlacementText,
    /// Predicted seconds of a picture, the model being in memory.
    pub predicted_secs: Option<f64>,
    /// State of the trial.
    pub state: TrialState,
}

/// State of a trial.
#[derive(Clone, Debug, PartialEq)]
pub enum TrialState {
    /// Its turn has not come.
    Waiting,
    /// Its picture is being made.
    Running,
    /// Seconds of its picture, the model being in memory.
    Measured(f64),
    /// A sentence that says why there is no picture.
    Failed(String),
}

/// Trials of the placements of one recipe.
#[derive(Debug)]
pub struct Trials {
    recipe: Recipe,
    all: Vec<Trial>,
    waiting: VecDeque<usize>,
    /// Index of the running trial, with its job once it has one.
    running: Option<(usize, Option<JobId>)>,
    /// Jobs that were cancelled and have not ended yet.
    cancelled: Vec<JobId>,
    pictures: u32,
}

impl Trials {
    /// Trials of these placements with their predicted seconds, in this order; at most
    /// [`MAX_TRIALS`].
    #[must_use]
    pub fn new(recipe: &Recipe, placements: impl IntoIterator<Item = (PlacementText, Option<f64>)>) -> Self {
        let trial = |(placement, predicted_secs)| Trial { placement, predicted_secs, state: TrialState::Waiting };
        let all: Vec<Trial> = placements.into_iter().take(MAX_TRIALS).map(trial).collect();
        let recipe = Recipe { batch_count: 1, seed: Some(recipe.seed.unwrap_or_default()), ..recipe.clone() };
        Self { recipe, waiting: (0..all.len()).collect(), all, running: None, cancelled: Vec::new(), pictures: 0 }
    }

    /// The trials, in their order.
    #[must_use]
    pub fn all(&self) -> &[Trial] {
        &self.all
    }

    /// True while placements are left to try.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.running.is_some() || !self.waiting.is_empty()
    }

    /// The next picture to submit, whose number goes to [`Self::submitted`]; `None` while one is
    /// made, and at the end.
    pub fn next_task(&mut self) -> Option<Task> {
        if self.running.is_some() || !self.cancelled.is_empty() {
            return None;
        }
        let index = self.waiting.pop_front()?;
        let trial = self.all.get_mut(index)?;
        trial.state = TrialState::Running;
        self.running = Some((index, None));
        self.pictures += 1;
        // Words of its own: the encoding of known ones costs nothing. In front, so that the number
        // of tokens is that of the person's words.
        let prompt = format!("{} {}", self.pictures, self.recipe.prompt);
        let recipe = Recipe { prompt, placement: trial.placement.clone(), ..self.recipe.clone() };
        Some(Task::Generate { recipe: Box::new(recipe), preview: PreviewOptions::Off, shares_steps: false })
    }

    /// The task was submitted under this number; `None`: it was refused, and everything that is
    /// left stops.
    pub fn submitted(&mut self, job: Option<JobId>) {
        match (&mut self.running, job) {
            (Some((_, running)), Some(job)) => *running = Some(job),
            _ => {
                self.stop();
            }
        }
    }

    /// Takes in an event of the engine. Returns true where it belongs to a trial, and nobody else
    /// needs it.
    pub fn engine_event(&mut self, event: &Event) -> bool {
        let Some(job) = event.job() else { return false };
        if let Some(at) = self.cancelled.iter().position(|it| *it == job) {
            if matches!(event, Event::End { .. }) {
                self.cancelled.remove(at);
            }
            return true;
        }
        let Some((index, _)) = self.running.filter(|(_, running)| *running == Some(job)) else { return false };
        let Event::End { end, .. } = event else { return true };
        self.running = None;
        if let Some(trial) = self.all.get_mut(index) {
            trial.state = match end {
                End::Done { timings, .. } => TrialState::Measured(loaded_secs(timings)),
                End::Failed(failure) => TrialState::Failed(failure.advice.sentence.clone()),
                End::Cancelled => TrialState::Failed(tr!("studio-cancelled").to_owned()),
            };
        }
        true
    }

    /// Stops the running trial, which is made again later. Returns the job to cancel.
    pub fn step_aside(&mut self) -> Option<JobId> {
        let (index, job) = self.running.take()?;
        self.waiting.push_front(index);
        if let Some(trial) = self.all.get_mut(index) {
            trial.state = TrialState::Waiting;
        }
        self.cancelled.extend(job);
        job
    }

    /// Stops for good; what was measured stays. Returns the job to cancel.
    pub fn stop(&mut self) -> Option<JobId> {
        let job = self.step_aside();
        self.waiting.clear();
        self.all.retain(|trial| !matches!(trial.state, TrialState::Waiting | TrialState::Running));
        job
    }

    /// The quickest placement that was measured, with its seconds.
    #[must_use]
    pub fn quickest(&self) -> Option<(&PlacementText, f64)> {
        let measured = self.all.iter().filter_map(|trial| match trial.state {
            TrialState::Measured(secs) => Some((&trial.placement, secs)),
            TrialState::Waiting | TrialState::Running | TrialState::Failed(_) => None,
        });
        measured.min_by(|a, b| a.1.total_cmp(&b.1))
    }
}

/// Seconds of a picture without its model's loading.
fn loaded_secs(timings: &Timings) -> f64 {
    timings.encode_secs + timings.denoise_secs + timings.decode_secs
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::recipe::Seed;
    use atelier_engine::Failure;

    fn text(backend: &str) -> PlacementText {
        PlacementText { backend: backend.into(), ..PlacementText::default() }
    }

    fn trials() -> Trials {
        let recipe = Recipe { prompt: "a lake".into(), batch_count: 9, seed: None, ..Recipe::default() };
        Trials::new(&recipe, ["all=A", "all=B", "all=C"].map(|it| (text(it), Some(2.0))))
    }

    fn begin(trials: &mut Trials, job: u64) -> Recipe {
        let Some(Task::Generate { recipe, .. }) = trials.next_task() else { panic!() };
        trials.submitted(Some(JobId(job)));
        *recipe
    }

    fn end(job: u64, secs: f64) -> Event {
        let timings = Timings { load_secs: 9.0, encode_secs: 0.5, denoise_secs: secs - 1.0, decode_secs: 0.5, total_secs: secs + 9.0 };
        Event::End { job: JobId(job), end: End::Done { pictures: Vec::new(), timings, notes: Vec::new() } }
    }

    #[test]
    fn one_picture_after_the_other_is_made_and_the_quickest_is_found() {
        let mut trials = trials();
        let first = begin(&mut trials, 1);
        assert_eq!((first.placement, first.batch_count, first.seed), (text("all=A"), 1, Some(Seed(0))));
        assert!(trials.next_task().is_none(), "one at a time");
        assert!(!trials.engine_event(&end(7, 1.0)), "another's");
        assert!(trials.engine_event(&end(1, 3.0)));
        let second = begin(&mut trials, 2);
        assert!(second.placement == text("all=B") && second.prompt != first.prompt && second.prompt.ends_with("a lake"));
        let failed = End::Failed(Failure::new("No memory.", ""));
        assert!(trials.engine_event(&Event::End { job: JobId(2), end: failed }));
        begin(&mut trials, 3);
        assert!(trials.engine_event(&end(3, 2.5)) && !trials.is_running() && trials.next_task().is_none());
        assert_eq!(trials.quickest(), Some((&text("all=C"), 2.5)));
        assert_eq!(trials.all()[1].state, TrialState::Failed("No memory.".into()));
    }

    #[test]
    fn one_that_steps_aside_is_made_again_and_one_that_is_stopped_is_not() {
        let mut trials = trials();
        begin(&mut trials, 1);
        assert_eq!(trials.step_aside(), Some(JobId(1)));
        assert!(trials.next_task().is_none(), "its job has not ended");
        assert!(trials.engine_event(&Event::End { job: JobId(1), end: End::Cancelled }));
        assert_eq!(begin(&mut trials, 2).placement, text("all=A"));
        trials.engine_event(&end(2, 3.0));
        begin(&mut trials, 3);
        assert_eq!(trials.stop(), Some(JobId(3)));
        assert!(trials.engine_event(&end(3, 1.0)), "it had just ended");
        assert!(!trials.is_running() && trials.next_task().is_none());
        assert_eq!(
            trials.all().iter().map(|it| it.state.clone()).collect::<Vec<_>>(),
            [TrialState::Measured(3.0)],
            "what was measured stays"
        );
    }
}
