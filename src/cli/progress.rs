//! What a person sees on standard error while a job runs: a bar on a terminal, a line a phase elsewhere.
//!
//! Invariant: what is shown is a pure function of the events so far (`look`); a line that cannot be written is no reason to stop a job.

use std::io::Write;
use std::time::Duration;

use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};

use atelier_engine::{Begin, Phase, Step, Timings};

/// Parts of a full bar.
const FULL: u64 = 1000;

/// Shows how far a job is.
pub(super) struct Progress {
    err: Box<dyn Write>,
    how: How,
    pictures: u32,
    steps: u32,
    phase: Option<Phase>,
    measured: bool,
}

enum How {
    Bar(ProgressBar),
    Lines,
    Quiet,
}

/// What is shown at one moment.
#[derive(Debug, PartialEq)]
struct Look {
    message: String,
    detail: String,
    /// 0 to 1, where it can be measured.
    done: Option<f64>,
}

impl Progress {
    /// Bars where `err` is a terminal, else lines.
    pub(super) fn new(err: Box<dyn Write>, terminal: bool) -> Self {
        let how = if terminal {
            let bar = ProgressBar::with_draw_target(Some(FULL), ProgressDrawTarget::stderr());
            bar.set_style(style(false));
            bar.set_message("Starting");
            bar.enable_steady_tick(Duration::from_millis(120));
            How::Bar(bar)
        } else {
            How::Lines
        };
        Self { err, how, pictures: 1, steps: 0, phase: None, measured: false }
    }

    /// Messages only.
    pub(super) fn quiet(err: Box<dyn Write>) -> Self {
        Self { err, how: How::Quiet, pictures: 1, steps: 0, phase: None, measured: false }
    }

    pub(super) fn begin(&mut self, begin: &Begin) {
        self.pictures = begin.seeds.len().max(1) as u32;
        self.steps = begin.steps;
        for note in &begin.notes {
            self.say(note);
        }
    }

    pub(super) fn phase(&mut self, phase: Phase) {
        let new = self.phase.is_none_or(|old| !same(old, phase));
        self.phase = Some(phase);
        let look = self.look(phase, None);
        if new && matches!(self.how, How::Lines) {
            let detail = if look.detail.is_empty() { String::new() } else { format!(" ({})", look.detail) };
            self.say(&format!("{}{detail}", look.message));
        }
        self.show(&look);
    }

    pub(super) fn step(&mut self, step: Step) {
        let phase = Phase::Denoising { picture: step.picture };
        self.phase = Some(phase);
        let look = self.look(phase, Some(step));
        self.show(&look);
    }

    /// A line for the person, above the bar.
    pub(super) fn say(&mut self, line: &str) {
        self.aside(|err| writeln!(err, "{line}"));
    }

    /// Writes something else while the bar is out of the way.
    pub(super) fn aside<T>(&mut self, write: impl FnOnce(&mut dyn Write) -> std::io::Result<T>) {
        let err = &mut self.err;
        // Nothing can be said where standard error is closed.
        let _ = match &self.how {
            How::Bar(bar) => bar.suspend(|| write(err.as_mut())),
            How::Lines | How::Quiet => write(err.as_mut()),
        };
    }

    /// Takes the bar away.
    pub(super) fn finish(&mut self) {
        if let How::Bar(bar) = &self.how {
            bar.finish_and_clear();
        }
    }

    fn show(&mut self, look: &Look) {
        let How::Bar(bar) = &self.how else { return };
        if look.done.is_some() != self.measured {
            self.measured = look.done.is_some();
            bar.set_style(style(self.measured));
        }
        bar.set_message(look.message.clone());
        bar.set_prefix(look.detail.clone());
        bar.set_position((look.done.unwrap_or(0.0).clamp(0.0, 1.0) * FULL as f64) as u64);
    }

    fn look(&self, phase: Phase, step: Option<Step>) -> Look {
        let look = |message: String| Look { message, detail: String::new(), done: None };
        let of = |verb: &str, picture: u32| {
            let count = if self.pictures > 1 { format!(" {} of {}", picture + 1, self.pictures) } else { String::new() };
            format!("{verb} picture{count}")
        };
        match phase {
            Phase::Loading { module, bytes_done, bytes_total } => {
                let mut look = look(module.map_or_else(|| "Reading the model".to_owned(), |module| format!("Loading {}", module.label())));
                if bytes_total > 0 {
                    look.detail = if bytes_done == 0 {
                        HumanBytes(bytes_total).to_string()
                    } else {
                        format!("{} of {}", HumanBytes(bytes_done), HumanBytes(bytes_total))
                    };
                    look.done = Some(bytes_done as f64 / bytes_total as f64);
                }
                look
            }
            Phase::Encoding => look("Reading the prompt".to_owned()),
            Phase::Denoising { picture } => {
                let mut look = look(of("Denoising", picture));
                match step {
                    Some(step) => {
                        look.detail = self.pace(step);
                        look.done = Some(f64::from(step.done as f32 + step.fraction) / f64::from(step.total.max(1)));
                    }
                    None => look.detail = format!("{} steps", self.steps),
                }
                look
            }
            Phase::Decoding { picture } => look(of("Decoding", picture)),
            Phase::Upscaling { tile, tiles } => {
                let mut look = look("Enlarging".to_owned());
                if tiles > 0 {
                    look.detail = format!("{tile} of {tiles} tiles");
                    look.done = Some(f64::from(tile) / f64::from(tiles));
                }
                look
            }
        }
    }

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

/// The line after a job.
pub(super) fn summary(timings: &Timings) -> String {
    let Timings { load_secs, encode_secs, denoise_secs, decode_secs, total_secs } = timings;
    format!("Done in {total_secs:.1} s: load {load_secs:.1}, encode {encode_secs:.1}, denoise {denoise_secs:.1}, decode {decode_secs:.1}")
}

fn same(old: Phase, new: Phase) -> bool {
    match (old, new) {
        (Phase::Loading { module: a, .. }, Phase::Loading { module: b, .. }) => a == b,
        (Phase::Denoising { picture: a }, Phase::Denoising { picture: b })
        | (Phase::Decoding { picture: a }, Phase::Decoding { picture: b }) => a == b,
        (Phase::Encoding, Phase::Encoding) | (Phase::Upscaling { .. }, Phase::Upscaling { .. }) => true,
        (Phase::Loading { .. } | Phase::Encoding | Phase::Denoising { .. } | Phase::Decoding { .. } | Phase::Upscaling { .. }, _) => false,
    }
}

fn style(measured: bool) -> ProgressStyle {
    let template = if measured { "{msg:24} [{bar:30}] {prefix}" } else { "{msg:24} {spinner} {prefix}" };
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    style.progress_chars("=> ")
}

#[cfg(test)]
mod tests {
    use super::super::tests::Shared;
    use super::*;
    use atelier_core::placement::Module;

    fn begin(pictures: i64) -> Begin {
        Begin { width: 64, height: 64, steps: 20, seeds: (0..pictures).collect(), notes: vec!["The width was snapped to 64.".into()] }
    }

    fn step(picture: u32, done: u32, step_secs: f32) -> Step {
        Step { picture, done, total: 20, fraction: 0.5, step_secs }
    }

    #[test]
    fn without_a_terminal_each_phase_is_one_line() {
        let err = Shared::default();
        let mut progress = Progress::new(Box::new(err.clone()), false);
        progress.begin(&begin(2));
        for bytes_done in 0..5 {
            progress.phase(Phase::Loading { module: Some(Module::Te), bytes_done, bytes_total: 2 << 30 });
        }
        progress.phase(Phase::Encoding);
        for picture in 0..2 {
            progress.phase(Phase::Denoising { picture });
            for done in 0..20 {
                progress.step(step(picture, done, 1.0));
            }
            progress.phase(Phase::Decoding { picture });
        }
        progress.finish();
        let expected = "The width was snapped to 64.\nLoading text encoder (2.00 GiB)\nReading the prompt\n\
            Denoising picture 1 of 2 (20 steps)\nDecoding picture 1 of 2\nDenoising picture 2 of 2 (20 steps)\nDecoding picture 2 of 2\n";
        assert_eq!(err.text(), expected);
    }

    #[test]
    fn a_quiet_one_says_only_what_a_person_must_know() {
        let err = Shared::default();
        let mut progress = Progress::quiet(Box::new(err.clone()));
        progress.phase(Phase::Encoding);
        progress.step(step(0, 1, 1.0));
        progress.say("hm");
        assert_eq!(err.text(), "hm\n");
    }

    #[test]
    fn a_step_tells_its_pace_and_the_time_left_for_all_pictures() {
        let mut progress = Progress::quiet(Box::new(Shared::default()));
        progress.begin(&begin(2));
        let look = progress.look(Phase::Denoising { picture: 0 }, Some(step(0, 10, 2.0)));
        assert_eq!(look.message, "Denoising picture 1 of 2");
        assert_eq!(look.detail, "step 11 of 20, 2.00 s a step, 0:59 left");
        assert_eq!(look.done, Some(0.525));
        assert_eq!(progress.look(Phase::Denoising { picture: 0 }, Some(step(0, 0, 0.0))).detail, "step 1 of 20");
    }

    #[test]
    fn loading_tells_its_bytes_and_enlarging_its_tiles() {
        let progress = Progress::quiet(Box::new(Shared::default()));
        let look = progress.look(Phase::Loading { module: Some(Module::Diffusion), bytes_done: 1 << 30, bytes_total: 4 << 30 }, None);
        assert_eq!((look.message.as_str(), look.detail.as_str(), look.done), ("Loading diffusion", "1.00 GiB of 4.00 GiB", Some(0.25)));
        let look = progress.look(Phase::Loading { module: None, bytes_done: 0, bytes_total: 0 }, None);
        assert_eq!(look, Look { message: "Reading the model".into(), detail: String::new(), done: None });
        assert_eq!(progress.look(Phase::Upscaling { tile: 1, tiles: 4 }, None).done, Some(0.25));
    }

    #[test]
    fn the_bars_are_written_in_a_way_that_indicatif_understands() {
        for template in ["{msg:24} [{bar:30}] {prefix}", "{msg:24} {spinner} {prefix}"] {
            assert!(ProgressStyle::with_template(template).is_ok());
        }
    }
}
