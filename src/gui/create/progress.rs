//! Progress of a job in numbers and in words. Pure: engine events in, sentences out.

use atelier_core::format::{duration, file_size_rounded};
use atelier_core::placement::Module;
use atelier_core::recipe::Seed;
use atelier_engine::{Begin, JobPhase, Step};
use atelier_language::tr;

/// Weight of the newest step in the smoothed seconds per step, 0 to 1.
const PACE_WEIGHT: f32 = 0.4;

/// Progress of a job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    begin: Option<Begin>,
    phase: Option<JobPhase>,
    step: Option<Step>,
    /// Seconds a step, smoothed; 0 before the first has ended.
    pace_secs: f32,
    /// Models of other jobs whose memory it waits for.
    behind: Vec<String>,
}

impl Progress {
    /// Folds in the beginning of the job.
    pub fn begin(&mut self, begin: Begin) {
        self.begin = Some(begin);
    }

    /// The job waits for memory that models of other jobs hold.
    pub fn waits(&mut self, behind: Vec<String>) {
        self.behind = behind;
    }

    /// Folds in a change of phase, or progress within it.
    pub fn phase(&mut self, phase: JobPhase) {
        self.behind.clear();
        if let JobPhase::Denoising { picture } = phase
            && self.step.is_some_and(|step| step.picture != picture)
        {
            self.step = None;
        }
        self.phase = Some(phase);
    }

    /// Folds in a step that ended or progressed.
    pub fn step(&mut self, step: Step) {
        let ended = self.step.is_none_or(|last| (last.picture, last.done) != (step.picture, step.done));
        if ended && step.step_secs > 0.0 {
            self.pace_secs =
                if self.pace_secs == 0.0 { step.step_secs } else { self.pace_secs + PACE_WEIGHT * (step.step_secs - self.pace_secs) };
        }
        self.step = Some(step);
        self.phase = Some(JobPhase::Denoising { picture: step.picture });
    }

    /// Width and height in pixels, once they are known.
    #[must_use]
    pub fn size_px(&self) -> Option<(u32, u32)> {
        self.begin.as_ref().map(|begin| (begin.width, begin.height))
    }

    /// Settings that the engine changed or ignored, a sentence each.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        self.begin.as_ref().map_or(&[], |begin| &begin.notes)
    }

    /// The seed of this picture of the batch.
    #[must_use]
    pub fn seed(&self, picture: u32) -> Option<Seed> {
        self.begin.as_ref()?.seeds.get(picture as usize).copied()
    }

    fn pictures(&self) -> u32 {
        self.begin.as_ref().map_or(1, |begin| begin.seeds.len().max(1) as u32)
    }

    /// Steps done of all steps of all pictures, 0 to 1.
    fn denoised(&self) -> f32 {
        let (picture, within) = match (self.phase, self.step) {
            (Some(JobPhase::Denoising { .. }), Some(step)) => {
                (step.picture, (step.done as f32 + step.fraction.clamp(0.0, 1.0)) / step.total.max(1) as f32)
            }
            (Some(JobPhase::Denoising { picture }), None) => (picture, 0.0),
            (Some(JobPhase::Decoding { picture }), _) => (picture, 1.0),
            _ => (0, 0.0),
        };
        ((picture as f32 + within.min(1.0)) / self.pictures() as f32).min(1.0)
    }

    /// Fraction of the phase that is done, 0 to 1; `None` if unknown.
    #[must_use]
    pub fn fraction(&self) -> Option<f32> {
        match self.phase? {
            JobPhase::Loading { bytes_total: 0, .. } | JobPhase::Encoding | JobPhase::Upscaling { tiles: 0, .. } => None,
            JobPhase::Loading { bytes_done, bytes_total, .. } => Some((bytes_done as f32 / bytes_total as f32).min(1.0)),
            JobPhase::Denoising { .. } | JobPhase::Decoding { .. } => Some(self.denoised()),
            JobPhase::Upscaling { tile, tiles } => Some((tile as f32 / tiles as f32).min(1.0)),
        }
    }

    /// Seconds until the last step of the last picture, once a step has shown the pace.
    #[must_use]
    pub fn left_secs(&self) -> Option<f32> {
        let step = self.step?;
        if self.pace_secs == 0.0 || !matches!(self.phase, Some(JobPhase::Denoising { .. })) {
            return None;
        }
        let all = (step.total * self.pictures()) as f32;
        Some(all * (1.0 - self.denoised()) * self.pace_secs)
    }

    /// Phase and step in words: "Step 4 of 20".
    #[must_use]
    pub fn what(&self) -> String {
        let batch = |picture: u32| match self.pictures() {
            1 => String::new(),
            pictures => tr!("create-picture-of", picture = picture + 1, pictures),
        };
        match self.phase {
            _ if !self.behind.is_empty() => tr!("create-waiting-for-the-memory", behind = self.behind.join(", ")),
            None => tr!("create-getting-ready").into(),
            Some(JobPhase::Loading { module: None, .. }) => tr!("create-loading-the-model").into(),
            Some(JobPhase::Loading { module: Some(module), bytes_done, bytes_total }) => {
                let name = if module == Module::Diffusion { tr!("create-diffusion-model") } else { module.label() };
                if bytes_total == 0 {
                    tr!("create-loading-the", name)
                } else {
                    tr!(
                        "create-loading-the-of",
                        name,
                        bytes_done = file_size_rounded(bytes_done),
                        bytes_total = file_size_rounded(bytes_total)
                    )
                }
            }
            Some(JobPhase::Encoding) => tr!("create-encoding-the-prompt").into(),
            Some(JobPhase::Denoising { picture }) => match self.step {
                Some(step) => tr!("create-step-of", batch = batch(picture), done = (step.done + 1).min(step.total), total = step.total),
                None => tr!("create-sampling", batch = batch(picture)),
            },
            Some(JobPhase::Decoding { picture }) => tr!("create-decoding", batch = batch(picture)),
            Some(JobPhase::Upscaling { tiles: 0, .. }) => tr!("create-upscaling").into(),
            Some(JobPhase::Upscaling { tile, tiles }) => tr!("create-upscaling-tile-of", tile = (tile + 1).min(tiles), tiles),
        }
    }

    /// Seconds per step and seconds left, in words: "1.2 s a step · 19 s left".
    #[must_use]
    pub fn pace(&self) -> Option<String> {
        let left = self.left_secs()?;
        Some(tr!("create-a-step-left", pace_secs = duration(self.pace_secs), left = duration(left.max(1.0).round())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(pictures: u64) -> Progress {
        let mut progress = Progress::default();
        progress.begin(Begin { width: 64, height: 64, steps: 10, seeds: (0..pictures).map(Seed).collect(), notes: Vec::new() });
        progress
    }

    fn step(picture: u32, done: u32, fraction: f32, step_secs: f32) -> Step {
        Step { picture, done, total: 10, fraction, step_secs }
    }

    #[test]
    fn a_batch_advances_evenly_and_never_goes_back() {
        let mut progress = begun(2);
        let mut last = 0.0;
        for picture in 0..2 {
            progress.phase(JobPhase::Denoising { picture });
            for done in 0..10 {
                progress.step(step(picture, done, 0.5, 1.0));
                let now = progress.fraction().unwrap();
                assert!(now >= last, "{now} after {last}");
                last = now;
            }
            progress.phase(JobPhase::Decoding { picture });
            let now = progress.fraction().unwrap();
            assert!(now >= last, "{now} after {last}");
            last = now;
        }
        assert_eq!(last, 1.0);
    }

    #[test]
    fn the_time_left_counts_every_picture_of_the_batch() {
        let mut progress = begun(2);
        progress.step(step(0, 5, 0.0, 2.0));
        assert_eq!(progress.left_secs(), Some(30.0));
        assert_eq!(progress.what(), "Picture 1 of 2 · Step 6 of 10");
        assert_eq!(progress.pace().as_deref(), Some("2 s a step · 30 s left"));
    }

    #[test]
    fn nobody_promises_a_time_before_the_first_step_has_ended() {
        let mut progress = begun(1);
        assert_eq!(progress.left_secs(), None);
        progress.step(step(0, 0, 0.3, 0.0));
        assert_eq!(progress.left_secs(), None);
        assert_eq!(progress.what(), "Step 1 of 10");
    }

    #[test]
    fn one_slow_step_does_not_double_the_time_left() {
        let mut progress = begun(1);
        for done in 1..5 {
            progress.step(step(0, done, 0.0, 1.0));
        }
        progress.step(step(0, 5, 0.0, 3.0));
        let left = progress.left_secs().unwrap();
        assert!((5.0..10.0).contains(&left), "{left}");
    }

    #[test]
    fn loading_says_what_and_how_much() {
        let mut progress = Progress::default();
        progress.phase(JobPhase::Loading { module: Some(Module::Llm), bytes_done: 1_200_000_000, bytes_total: 3_400_000_000 });
        assert_eq!(progress.what(), "Loading the text encoder · 1.2 GB of 3.4 GB");
        assert!(progress.fraction().is_some());
        progress.phase(JobPhase::Loading { module: None, bytes_done: 0, bytes_total: 0 });
        assert_eq!(progress.fraction(), None);
    }
}
