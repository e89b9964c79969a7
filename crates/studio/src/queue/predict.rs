//! Predicted ends of jobs, from measured seconds. Pure.

use atelier_gallery::queue::{JobState, Pace, QueuedJob};

/// Progress of a job that the engine is at.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Progressed {
    /// Pictures of the whole job that are made, with the fraction of the one that forms.
    pub(super) pictures: f64,
}

/// Seconds until each job ends; `None` from the first on whose pace is not known. `pace`: what a
/// model takes. `progressed`: of a running job.
pub(super) fn ends_in_secs(
    jobs: &[QueuedJob],
    pace: impl Fn(&QueuedJob) -> Option<Pace>,
    progressed: impl Fn(&QueuedJob) -> Option<Progressed>,
) -> Vec<Option<f64>> {
    let mut total = Some(0.0);
    let mut last_model: Option<&QueuedJob> = None;
    let mut ends = Vec::with_capacity(jobs.len());
    for job in jobs {
        if !matches!(job.state, JobState::Waiting | JobState::Running) || job.wanted_model.is_some() {
            ends.push(None);
            continue;
        }
        let secs = pace(job).map(|pace| {
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
        ends.push(total);
    }
    ends
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

    use super::super::policy::tests::{job, model};
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
        let pace = |job: &QueuedJob| {
            (job.recipe.files != model("unknown")).then_some(Pace {
                step_secs_per_megapixel: 1.0,
                decode_secs_per_megapixel: 5.0,
                start_secs: 7.0,
            })
        };
        let progressed = |job: &QueuedJob| (job.state == JobState::Running).then_some(Progressed { pictures: 0.5 });
        let ends = ends_in_secs(&jobs, pace, progressed);
        assert_eq!(ends, [Some(22.5), Some(52.5), Some(52.5 + 37.0), None, None]);
    }
}
