//! Progress of a job, worked out from the engine's events. Pure.

use indicatif::HumanBytes;

use super::reporter::ProgressLine;
use atelier_engine::{Begin, JobPhase, Step, Timings};

/// Progress of one job.
pub(super) struct JobProgress {
    pictures: u32,
    steps: u32,
    phase: Option<JobPhase>,
}

impl Default for JobProgress {
    fn default() -> Self {
        Self { pictures: 1, steps: 0, phase: None }
    }
}

impl JobProgress {
    /// Folds in the job's beginning.
    pub(super) fn begin(&mut self, begin: &Begin) {
        self.pictures = begin.seeds.len().max(1) as u32;
        self.steps = begin.steps;
    }

    /// Folds in a phase. Returns its line, and whether the phase is another than before.
    pub(super) fn phase(&mut self, phase: JobPhase) -> (ProgressLine, bool) {
        let is_new = self.phase.is_none_or(|old| !is_same_phase(old, phase));
        self.phase = Some(phase);
        (self.line(phase, None), is_new)
    }

    /// Folds in a step. Returns its line.
    pub(super) fn step(&mut self, step: Step) -> ProgressLine {
        let phase = JobPhase::Denoising { picture: step.picture };
        self.phase = Some(phase);
        self.line(phase, Some(step))
    }

    fn line(&self, phase: JobPhase, step: Option<Step>) -> ProgressLine {
        let of_picture = |verb: &str, picture: u32| {
            let count = if self.pictures > 1 { format!(" {} of {}", picture + 1, self.pictures) } else { String::new() };
            format!("{verb} picture{count}")
        };
        match phase {
            JobPhase::Loading { module, bytes_done, bytes_total } => {
                let message = module.map_or_else(|| "Reading the model".to_owned(), |module| format!("Loading {}", module.label()));
                if bytes_total == 0 {
                    return ProgressLine::new(message);
                }
                let detail = if bytes_done == 0 {
                    HumanBytes(bytes_total).to_string()
                } else {
                    format!("{} of {}", HumanBytes(bytes_done), HumanBytes(bytes_total))
                };
                ProgressLine { message, detail, fraction: Some(bytes_done as f64 / bytes_total as f64) }
            }
            JobPhase::Encoding => ProgressLine::new("Encoding the prompt"),
            JobPhase::Denoising { picture } => {
                let (detail, fraction) = match step {
                    Some(step) => {
                        let fraction = f64::from(step.done as f32 + step.fraction) / f64::from(step.total.max(1));
                        (self.pace(step), Some(fraction))
                    }
                    None => (format!("{} steps", self.steps), None),
                };
                ProgressLine { message: of_picture("Sampling", picture), detail, fraction }
            }
            JobPhase::Decoding { picture } => ProgressLine::new(of_picture("Decoding", picture)),
            JobPhase::Upscaling { tiles: 0, .. } => ProgressLine::new("Upscaling"),
            JobPhase::Upscaling { tile, tiles } => ProgressLine {
                message: "Upscaling".to_owned(),
                detail: format!("{tile} of {tiles} tiles"),
                fraction: Some(f64::from(tile) / f64::from(tiles)),
            },
        }
    }

    /// Step, seconds a step, and the time left for all pictures.
    fn pace(&self, step: Step) -> String {
        let now = (step.done + 1).min(step.total);
        if step.step_secs <= 0.0 {
            return format!("step {now} of {}", step.total);
        }
        let pictures_after = self.pictures.saturating_sub(step.picture + 1);
        let steps_left = step.total.saturating_sub(step.done) as f32 - step.fraction + (pictures_after * step.total) as f32;
        let left_secs = (steps_left.max(0.0) * step.step_secs).round() as u64;
        format!("step {now} of {}, {:.2} s a step, {}:{:02} left", step.total, step.step_secs, left_secs / 60, left_secs % 60)
    }
}

/// Line for a person after a job: seconds by phase.
pub(super) fn summary(timings: &Timings) -> String {
    let Timings { load_secs, encode_secs, denoise_secs, decode_secs, total_secs } = timings;
    // Of another studio only the whole is known.
    if load_secs + encode_secs + denoise_secs + decode_secs == 0.0 {
        return format!("Done in {total_secs:.1} s.");
    }
    format!("Done in {total_secs:.1} s: load {load_secs:.1}, encode {encode_secs:.1}, denoise {denoise_secs:.1}, decode {decode_secs:.1}")
}

/// True for the same phase of the same picture and module, at any fraction.
fn is_same_phase(old: JobPhase, new: JobPhase) -> bool {
    match (old, new) {
        (JobPhase::Loading { module: a, .. }, JobPhase::Loading { module: b, .. }) => a == b,
        (JobPhase::Denoising { picture: a }, JobPhase::Denoising { picture: b })
        | (JobPhase::Decoding { picture: a }, JobPhase::Decoding { picture: b }) => a == b,
        (JobPhase::Encoding, JobPhase::Encoding) | (JobPhase::Upscaling { .. }, JobPhase::Upscaling { .. }) => true,
        (
            JobPhase::Loading { .. }
            | JobPhase::Encoding
            | JobPhase::Denoising { .. }
            | JobPhase::Decoding { .. }
            | JobPhase::Upscaling { .. },
            _,
        ) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::reporter::{quiet_reporter, reporter};
    use super::super::tests::SharedBuffer;
    use super::*;
    use atelier_core::placement::Module;
    use atelier_core::recipe::Seed;

    fn begin(pictures: u64) -> Begin {
        Begin {
            width: 64,
            height: 64,
            steps: 20,
            seeds: (0..pictures).map(Seed).collect(),
            notes: vec!["The width was snapped to 64.".into()],
        }
    }

    fn step(picture: u32, done: u32, step_secs: f32) -> Step {
        Step { picture, done, total: 20, fraction: 0.5, step_secs }
    }

    #[test]
    fn without_a_terminal_each_phase_is_one_line() {
        let err = SharedBuffer::default();
        let (mut progress, mut reporter) = (JobProgress::default(), reporter(Box::new(err.clone()), false));
        progress.begin(&begin(2));
        let mut report = |phase: JobPhase, steps: &[Step]| {
            let (line, is_new) = progress.phase(phase);
            if is_new {
                reporter.begin_stage(&line);
            } else {
                reporter.update(&line);
            }
            for step in steps {
                reporter.update(&progress.step(*step));
            }
        };
        for bytes_done in 0..5 {
            report(JobPhase::Loading { module: Some(Module::Llm), bytes_done, bytes_total: 2 << 30 }, &[]);
        }
        report(JobPhase::Encoding, &[]);
        for picture in 0..2 {
            let steps: Vec<Step> = (0..20).map(|done| step(picture, done, 1.0)).collect();
            report(JobPhase::Denoising { picture }, &steps);
            report(JobPhase::Decoding { picture }, &[]);
        }
        reporter.finish();
        let expected = "Loading text encoder (2.00 GiB)\nEncoding the prompt\n\
            Sampling picture 1 of 2 (20 steps)\nDecoding picture 1 of 2\nSampling picture 2 of 2 (20 steps)\nDecoding picture 2 of 2\n";
        assert_eq!(err.text(), expected);
    }

    #[test]
    fn a_quiet_reporter_writes_messages_alone() {
        let err = SharedBuffer::default();
        let (mut progress, mut reporter) = (JobProgress::default(), quiet_reporter(Box::new(err.clone())));
        reporter.begin_stage(&progress.phase(JobPhase::Encoding).0);
        reporter.update(&progress.step(step(0, 1, 1.0)));
        reporter.message("hm");
        assert_eq!(err.text(), "hm\n");
    }

    #[test]
    fn a_step_shows_its_pace_and_the_time_left_for_all_pictures() {
        let mut progress = JobProgress::default();
        progress.begin(&begin(2));
        let line = progress.line(JobPhase::Denoising { picture: 0 }, Some(step(0, 10, 2.0)));
        assert_eq!(line.message, "Sampling picture 1 of 2");
        assert_eq!(line.detail, "step 11 of 20, 2.00 s a step, 0:59 left");
        assert_eq!(line.fraction, Some(0.525));
        assert_eq!(progress.line(JobPhase::Denoising { picture: 0 }, Some(step(0, 0, 0.0))).detail, "step 1 of 20");
    }

    #[test]
    fn loading_shows_its_bytes_and_upscaling_its_tiles() {
        let progress = JobProgress::default();
        let line = progress.line(JobPhase::Loading { module: Some(Module::Diffusion), bytes_done: 1 << 30, bytes_total: 4 << 30 }, None);
        assert_eq!((line.message.as_str(), line.detail.as_str(), line.fraction), ("Loading diffusion", "1.00 GiB of 4.00 GiB", Some(0.25)));
        let line = progress.line(JobPhase::Loading { module: None, bytes_done: 0, bytes_total: 0 }, None);
        assert_eq!(line, ProgressLine { message: "Reading the model".into(), detail: String::new(), fraction: None });
        assert_eq!(progress.line(JobPhase::Upscaling { tile: 1, tiles: 4 }, None).fraction, Some(0.25));
    }
}
