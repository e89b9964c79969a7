//! A job that the engine has, as the queue knows it.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use atelier_core::advice::Advice;
use atelier_engine::{Begin, End, Step, Timings};
use atelier_gallery::queue::{JobOutcome, Pace, QueuedJob, QueuedJobId, StepProgress};

use super::policy::ActiveState;
use super::predict::Progressed;
use super::remote_run::RemoteRun;

/// Time between two notes of a job's step on the disk.
const NOTE_INTERVAL: Duration = Duration::from_secs(5);

/// Why the engine is stopping a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StopReason {
    /// A person cancelled it.
    Cancelled,
    /// It goes on later.
    Suspended,
}

/// A job that the engine has.
pub(super) struct ActiveJob {
    pub(super) id: QueuedJobId,
    /// The pictures that the engine was asked for, by their index in the whole job.
    pub(super) pictures: Range<u32>,
    pub(super) begin: Option<Begin>,
    pub(super) began: Option<Instant>,
    pub(super) stop: Option<StopReason>,
    /// It stops behind the forming picture.
    pub(super) stops_after_picture: bool,
    /// Names of models whose memory it waits for.
    pub(super) behind: Vec<String>,
    /// A picture of it could not be kept.
    pub(super) keep_error: Option<Advice>,
    /// The studio that makes it in the engine's place.
    pub(super) remote: Option<Arc<RemoteRun>>,
    /// Seconds that its owner was charged for the forming picture, and since when that forms.
    charge: Option<(f64, Instant)>,
    step: Option<Step>,
    noted: Option<Instant>,
    kept: u32,
}

impl ActiveJob {
    /// A job of which the engine was asked for these pictures.
    pub(super) const fn new(id: QueuedJobId, pictures: Range<u32>) -> Self {
        Self {
            id,
            pictures,
            begin: None,
            began: None,
            stop: None,
            stops_after_picture: false,
            behind: Vec::new(),
            keep_error: None,
            remote: None,
            charge: None,
            step: None,
            noted: None,
            kept: 0,
        }
    }

    pub(super) fn begin(&mut self, begin: Begin) {
        self.begin = Some(begin);
        self.began = Some(Instant::now());
        self.behind.clear();
    }

    /// Folds a step in. Returns it by its place in the whole job where it is to be noted on the
    /// disk.
    pub(super) fn step(&mut self, step: Step, now: Instant) -> Option<StepProgress> {
        self.step = Some(step);
        self.behind.clear();
        if self.noted.is_some_and(|noted| now < noted + NOTE_INTERVAL) {
            return None;
        }
        self.noted = Some(now);
        Some(StepProgress { picture: self.pictures.start + step.picture, done: step.done, total: step.total })
    }

    /// A picture of it was kept.
    pub(super) fn count_picture(&mut self) {
        self.kept += 1;
        self.step = None;
        self.charge = None;
    }

    /// Its owner was charged these seconds for the picture that begins now.
    pub(super) fn note_charge(&mut self, secs: f64, now: Instant) {
        self.charge = Some((secs, now));
    }

    /// Seconds that its owner was charged for the forming picture, and that were not computed.
    pub(super) fn unspent_secs(&self, now: Instant) -> f64 {
        self.charge.map_or(0.0, |(secs, since)| (secs - now.saturating_duration_since(since).as_secs_f64()).max(0.0))
    }

    /// True where the engine is to make more pictures of it.
    pub(super) fn has_more_pictures(&self) -> bool {
        self.kept < self.pictures.end - self.pictures.start
    }

    pub(super) fn state(&self) -> ActiveState {
        let is_stopping = self.stop.is_some() || self.stops_after_picture;
        ActiveState {
            id: self.id,
            has_begun: self.begin.is_some(),
            is_stopping,
            has_more_pictures: self.kept + 1 < self.pictures.end - self.pictures.start,
            behind: self.behind.clone(),
        }
    }

    pub(super) fn progressed(&self) -> Progressed {
        let within = self.step.map_or(0.0, |step| f64::from(step.done as f32 + step.fraction) / f64::from(step.total.max(1)));
        Progressed { pictures: f64::from(self.pictures.start + self.kept) + within.clamp(0.0, 1.0) }
    }

    /// The pace that its last step shows, where nothing was measured before.
    pub(super) fn first_pace(&self) -> Option<Pace> {
        let begin = self.begin.as_ref()?;
        let secs = self.step.filter(|step| step.step_secs > 0.0)?.step_secs;
        Some(Pace { step_secs_per_megapixel: f64::from(secs) / megapixels(begin)?, decode_secs_per_megapixel: 0.0, start_secs: 0.0 })
    }

    /// The pace of a job that was done.
    pub(super) fn pace(&self, timings: &Timings) -> Option<Pace> {
        let begin = self.begin.as_ref()?;
        let (all, pictures) = (megapixels(begin)?, begin.seeds.len().max(1) as f64);
        Some(Pace {
            step_secs_per_megapixel: timings.denoise_secs / (all * pictures * f64::from(begin.steps.max(1))),
            decode_secs_per_megapixel: timings.decode_secs / (all * pictures),
            start_secs: timings.load_secs + timings.encode_secs,
        })
    }

    /// What becomes of it at this end of the engine's. `job`: as it is on the disk now.
    pub(super) fn outcome(&self, end: &End, job: &QueuedJob) -> JobOutcome {
        if let Some(advice) = &self.keep_error {
            return JobOutcome::Held(advice.sentence.clone());
        }
        match (end, self.stop) {
            (End::Cancelled, Some(StopReason::Suspended)) if self.begin.is_none() => JobOutcome::Withdrawn,
            // Of a job with gaps the engine gets one run of pictures after the other.
            (End::Done { .. }, None) if job.missing_pictures().is_some_and(|missing| missing != self.pictures) => JobOutcome::Suspended,
            (End::Done { .. }, _) => JobOutcome::Done,
            (End::Cancelled, Some(StopReason::Suspended)) => JobOutcome::Suspended,
            (End::Cancelled, Some(StopReason::Cancelled) | None) => JobOutcome::Cancelled,
            (End::Failed(failure), _) => JobOutcome::Failed(failure.advice.sentence.clone()),
        }
    }
}

fn megapixels(begin: &Begin) -> Option<f64> {
    let pixels = f64::from(begin.width) * f64::from(begin.height);
    (pixels > 0.0).then_some(pixels / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_stopped_picture_did_not_take_is_unspent_and_a_finished_one_took_all() {
        let mut active = ActiveJob::new(QueuedJobId(1), 0..2);
        let began = Instant::now();
        assert_eq!(active.unspent_secs(began), 0.0, "nothing was charged");
        active.note_charge(30.0, began);
        assert_eq!(active.unspent_secs(began + Duration::from_secs(12)), 18.0);
        assert_eq!(active.unspent_secs(began + Duration::from_secs(40)), 0.0, "it took longer than was predicted");
        active.count_picture();
        assert_eq!(active.unspent_secs(began), 0.0);
    }
}
