//! Predicted ends of jobs, from measured seconds. Pure.

use std::collections::BTreeMap;

use atelier_gallery::queue::{JobState, Pace, QueuedJob};

/// The pace that counts where none is known: a second for a million pixels of a step.
const UNKNOWN: Pace = Pace { step_secs_per_megapixel: 1.0, decode_secs_per_megapixel: 1.0, start_secs: 0.0 };

/// What is known of the paces of models, by their name and where they run.
#[derive(Clone, Debug, Default)]
pub(super) struct Paces(BTreeMap<(String, String), Pace>);

impl FromIterator<((String, String), Pace)> for Paces {
    fn from_iter<T: IntoIterator<Item = ((String, String), Pace)>>(paces: T) -> Self {
        Self(paces.into_iter().collect())
    }
}

impl Paces {
    /// The pace of a job, where it is known.
    pub(super) fn of(&self, job: &QueuedJob) -> Option<Pace> {
        self.0.get(&(job.model.clone(), place_of(job).to_owned())).copied()
    }

    /// Seconds of one picture of a job, without the start: what it counts for its owner.
    pub(super) fn picture_secs(&self, job: &QueuedJob) -> f64 {
        let pace = Pace { start_secs: 0.0, ..self.of(job).unwrap_or(UNKNOWN) };
        pace.secs(1, job.recipe.steps, job.recipe.width, job.recipe.height).max(0.0)
    }

    /// Seconds of the pictures of a job that are not made yet, without the start.
    pub(super) fn secs_left(&self, job: &QueuedJob) -> f64 {
        self.picture_secs(job) * f64::from(job.picture_count().saturating_sub(job.pictures.len() as u32))
    }
}

/// True where a job is made without anybody doing something first.
pub(super) fn can_run(job: &QueuedJob) -> bool {
    matches!(job.state, JobState::Waiting | JobState::Running) && job.wanted_model.is_none()
}

/// Where a job runs, in words that are the same for the same place.
pub(super) fn place_of(job: &QueuedJob) -> &str {
    job.device.as_deref().unwrap_or(&job.recipe.placement.backend)
}

/// Predicted seconds of a job; `None` where they are not known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Prediction {
    /// Seconds of work that are left.
    pub(super) secs: Option<f64>,
    /// Seconds until its end.
    pub(super) ends_in_secs: Option<f64>,
}

/// Progress of a job that the engine is at.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Progressed {
    /// Pictures of the whole job that are made, with the fraction of the one that forms.
    pub(super) pictures: f64,
}

/// Predictions of jobs that are made in this order; no end from the first on whose pace is not known.
/// `progressed`: of a running job.
pub(super) fn predictions<'a>(
    jobs: impl Iterator<Item = &'a QueuedJob>,
    paces: &Paces,
    progressed: impl Fn(&QueuedJob) -> Option<Progressed>,
) -> Vec<Prediction> {
    let mut total = Some(0.0);
    let mut last_model: Option<&QueuedJob> = None;
    let mut predictions = Vec::new();
    for job in jobs {
        if !can_run(job) {
            predictions.push(Prediction::default());
            continue;
        }
        let secs = paces.of(job).map(|pace| {
            let is_loaded = last_model.is_some_and(|last| last.recipe.files == job.recipe.files);
            let running = progressed(job);
            let start_secs = if is_loaded || running.is_some_and(|it| it.pictures > 0.0) { 0.0 } else { pace.start_secs };
            let recipe = &job.recipe;
            let all = Pace { start_secs: 0.0, ..pace }.secs(job.picture_count(), recipe.steps, recipe.width, recipe.height);
            let made = running.map_or_else(|| job.pictures.len() as f64, |it| it.pictures);
            start_secs + all * (1.0 - made / f64::from(job.picture_count())).clamp(0.0, 1.0)
        });
        total = total.zip(secs).map(|(before, secs)| before + secs);
        last_model = Some(job);
        predictions.push(Prediction { secs, ends_in_secs: total });
    }
    predictions
}

/// The pace to go by: what was measured; else what a running job's last step shows, with the rest
/// as predicted; else what is predicted.
pub(super) fn known_pace(measured: Option<Pace>, running: Option<Pace>, predicted: Option<Pace>) -> Option<Pace> {
    let shown = |step: Pace| Pace { step_secs_per_megapixel: step.step_secs_per_megapixel, ..predicted.unwrap_or(step) };
    measured.or_else(|| running.map(shown)).or(predicted)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::policy::tests::job;
    use super::*;

    #[test]
    fn what_was_measured_goes_before_what_is_predicted() {
        let pace = |step| Pace { step_secs_per_megapixel: step, decode_secs_per_megapixel: step * 2.0, start_secs: step * 3.0 };
        let (measured, running, predicted) = (Some(pace(1.0)), Some(pace(2.0)), Some(pace(4.0)));
        assert_eq!(known_pace(measured, running, predicted), measured);
        assert_eq!(known_pace(None, None, predicted), predicted);
        assert_eq!(known_pace(None, running, None), running);
        assert_eq!(known_pace(None, running, predicted), Some(Pace { step_secs_per_megapixel: 2.0, ..pace(4.0) }));
        assert_eq!(known_pace(None, None, None), None);
    }

    #[test]
    fn jobs_end_one_after_the_other_a_model_loads_once_and_nothing_is_promised_behind_an_unknown_one() {
        let mut jobs = [job(1, "a"), job(2, "a"), job(3, "b"), job(4, "unknown"), job(5, "a")];
        for job in &mut jobs {
            let recipe = Arc::make_mut(&mut job.recipe);
            (recipe.width, recipe.height, recipe.steps, recipe.batch_count) = (1000, 1000, 10, 2);
        }
        jobs[0].state = JobState::Running;
        let pace = Pace { step_secs_per_megapixel: 1.0, decode_secs_per_megapixel: 5.0, start_secs: 7.0 };
        let paces = ["a", "b"].map(|name| ((name.to_owned(), place_of(&jobs[0]).to_owned()), pace)).into_iter().collect();
        let progressed = |job: &QueuedJob| (job.state == JobState::Running).then_some(Progressed { pictures: 0.5 });
        let predicted = predictions(jobs.iter(), &paces, progressed);
        let ends: Vec<_> = predicted.iter().map(|it| it.ends_in_secs).collect();
        assert_eq!(ends, [Some(22.5), Some(52.5), Some(52.5 + 37.0), None, None]);
        assert_eq!(predicted[4].secs, Some(37.0), "what a job takes is known all the same");
    }
}
