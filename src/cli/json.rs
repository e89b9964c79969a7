//! The lines of `--json`: one JSON object for each event, on standard output, which carries nothing
//! else.
//!
//! `docs/json.md` names every key with its type and unit, and `tests/json.rs` compares it with what
//! is written: fields and kinds of line may be added, and once a version is published none is
//! renamed or removed. What is wrong with the flags is said on standard error, with exit code 2 and
//! no line.

mod access;
mod inspect;
mod plan;
mod rates;
mod studios;

use std::path::Path;

use serde::{Deserialize, Serialize};

pub use access::AccessLine;
use atelier_core::advice::Advice;
use atelier_core::canvas::PixelRect;
use atelier_core::device::{self, DeviceKind};
use atelier_core::placement;
use atelier_core::processor;
use atelier_core::recipe::{Seed, SeedNumber};
use atelier_engine::Copies;
pub use inspect::{Inspected, InspectedField, InspectedLora, InspectedModel, InspectedText};
pub use plan::{Fit, Plan, PlanFix, Predicted, PredictedDevice, PredictedModule, PredictedPhase, PredictedPhaseTime, PredictedTime};
pub use rates::MeasuredDevice;
pub use studios::StudioLine;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[allow(missing_docs, reason = "docs/json.md documents every field")]
pub enum Line {
    Begin {
        job: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        width: u32,
        height: u32,
        steps: u32,
        seeds: Vec<Seed>,
        notes: Vec<String>,
    },
    Phase {
        job: u64,
        #[serde(flatten)]
        phase: Phase,
    },
    Step {
        job: u64,
        picture: u32,
        done: u32,
        total: u32,
        fraction: f32,
        step_secs: f32,
    },
    Preview {
        job: u64,
        picture: u32,
        step: u32,
        width: u32,
        height: u32,
        /// The part of the picture that it shows; absent: the whole.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<PixelRect>,
        path: String,
    },
    Picture {
        job: u64,
        picture: u32,
        seed: SeedNumber,
        width: u32,
        height: u32,
        path: String,
        /// Absent where it is made from none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        made_from: Option<String>,
        #[serde(default)]
        notes: Vec<String>,
    },
    Log {
        level: Level,
        text: String,
    },
    End {
        job: u64,
        #[serde(flatten)]
        outcome: Outcome,
    },
    Devices {
        devices: Vec<Device>,
        processor: Processor,
    },
    Measured {
        job: u64,
        peaks: Vec<Peak>,
        copies: Vec<Copies>,
    },
    Rates {
        devices: Vec<MeasuredDevice>,
    },
    /// What a sheet will cost.
    Forecast {
        pictures: usize,
        #[serde(default)]
        drafts: usize,
        loads: usize,
        encodings: usize,
        evaluations: u64,
        kept_evaluations: u64,
        secs: Option<f64>,
    },
    /// The job that follows makes this cell of a sheet, or a draft of it.
    Cell {
        /// Column, row and page, from 1.
        at: [usize; 3],
        caption: String,
        #[serde(default)]
        draft: bool,
    },
    Sheet {
        path: String,
        width: u32,
        height: u32,
    },
    Plan(Box<Plan>),
    Inspect(Box<Inspected>),
}

/// Levels of the processor's instructions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/json.md documents every field")]
pub struct Processor {
    pub engine: String,
    pub detected: String,
    pub allowed: String,
}

/// Peak memory of a device in a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/json.md documents every field")]
pub struct Peak {
    pub device: String,
    pub phase: placement::Phase,
    pub bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted_bytes: Option<u64>,
}

/// Phase of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
#[allow(missing_docs, reason = "docs/json.md documents every field")]
pub enum Phase {
    Loading { module: Option<String>, bytes_done: u64, bytes_total: u64 },
    Encoding,
    Denoising { picture: u32 },
    Decoding { picture: u32 },
    Upscaling { tile: u32, tiles: u32 },
}

/// Outcome of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
#[allow(missing_docs, reason = "docs/json.md documents every field")]
pub enum Outcome {
    Done {
        pictures: Vec<FinishedPicture>,
        timings: Timings,
        notes: Vec<String>,
    },
    Cancelled,
    Failed {
        message: String,
        hint: String,
        log: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        out_of_memory: Option<OutOfMemory>,
    },
}

/// An allocation that a device refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/json.md documents every field")]
pub struct OutOfMemory {
    pub device: String,
    pub phase: String,
    pub bytes_wanted: u64,
    pub bytes_free: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/json.md documents every field")]
pub struct FinishedPicture {
    pub picture: u32,
    pub seed: SeedNumber,
}

/// Seconds spent in each phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/json.md documents every field")]
pub struct Timings {
    pub load_secs: f64,
    pub encode_secs: f64,
    pub denoise_secs: f64,
    pub decode_secs: f64,
    pub total_secs: f64,
}

/// Severity of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "docs/json.md documents every field")]
pub enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/json.md documents every field")]
pub struct Device {
    pub name: String,
    pub description: String,
    pub kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu: Option<String>,
    pub memory_total_bytes: u64,
    pub memory_free_bytes: u64,
}

impl Line {
    pub(super) fn begin(job: atelier_engine::JobId, model: Option<&str>, begin: &atelier_engine::Begin) -> Self {
        let atelier_engine::Begin { width, height, steps, seeds, notes } = begin.clone();
        Self::Begin { job: job.0, model: model.map(str::to_owned), width, height, steps, seeds, notes }
    }

    pub(super) fn phase(job: atelier_engine::JobId, phase: atelier_engine::JobPhase) -> Self {
        let phase = match phase {
            atelier_engine::JobPhase::Loading { module, bytes_done, bytes_total } => {
                Phase::Loading { module: module.map(|module| module.key().to_owned()), bytes_done, bytes_total }
            }
            atelier_engine::JobPhase::Encoding => Phase::Encoding,
            atelier_engine::JobPhase::Denoising { picture } => Phase::Denoising { picture },
            atelier_engine::JobPhase::Decoding { picture } => Phase::Decoding { picture },
            atelier_engine::JobPhase::Upscaling { tile, tiles } => Phase::Upscaling { tile, tiles },
        };
        Self::Phase { job: job.0, phase }
    }

    pub(super) fn step(job: atelier_engine::JobId, step: atelier_engine::Step) -> Self {
        let atelier_engine::Step { picture, done, total, fraction, step_secs } = step;
        Self::Step { job: job.0, picture, done, total, fraction, step_secs }
    }

    pub(super) fn preview(job: atelier_engine::JobId, preview: &atelier_engine::Preview, path: &Path) -> Self {
        let (width, height) = (preview.image.width(), preview.image.height());
        let atelier_engine::Preview { picture, step, place, image: _ } = *preview;
        Self::Preview { job: job.0, picture, step, width, height, place, path: text(path) }
    }

    pub(super) fn picture(job: atelier_engine::JobId, picture: &atelier_engine::Picture, path: &Path, made_from: Option<&Path>) -> Self {
        let (width, height) = (picture.image.width(), picture.image.height());
        let notes = picture.notes.iter().map(|note| note.sentence.clone()).collect();
        let atelier_core::recipe::PictureInfo { index, seed, .. } = picture.info;
        let seed = SeedNumber(seed);
        Self::Picture { job: job.0, picture: index, seed, width, height, path: text(path), made_from: made_from.map(text), notes }
    }

    pub(super) fn log(level: atelier_engine::LogLevel, text: String) -> Self {
        let level = match level {
            atelier_engine::LogLevel::Debug => Level::Debug,
            atelier_engine::LogLevel::Info => Level::Info,
            atelier_engine::LogLevel::Warn => Level::Warn,
            atelier_engine::LogLevel::Error => Level::Error,
        };
        Self::Log { level, text }
    }

    pub(super) fn end(job: atelier_engine::JobId, end: &atelier_engine::End) -> Self {
        let outcome = match end.clone() {
            atelier_engine::End::Done { pictures, timings, notes } => {
                let atelier_engine::Timings { load_secs, encode_secs, denoise_secs, decode_secs, total_secs } = timings;
                Outcome::Done {
                    pictures: pictures.iter().map(|info| FinishedPicture { picture: info.index, seed: SeedNumber(info.seed) }).collect(),
                    timings: Timings { load_secs, encode_secs, denoise_secs, decode_secs, total_secs },
                    notes,
                }
            }
            atelier_engine::End::Cancelled => Outcome::Cancelled,
            atelier_engine::End::Failed(atelier_engine::Failure { advice: Advice { sentence, hint }, log, cause }) => {
                let out_of_memory = match cause {
                    Some(atelier_engine::Cause::OutOfMemory(missing)) => {
                        let atelier_engine::OutOfMemory { device, phase, bytes_wanted, bytes_free } = missing;
                        Some(OutOfMemory { device, phase: phase.key().to_owned(), bytes_wanted, bytes_free })
                    }
                    Some(atelier_engine::Cause::Remote(_)) | None => None,
                };
                Outcome::Failed { message: sentence, hint, log, out_of_memory }
            }
        };
        Self::End { job: job.0, outcome }
    }

    pub(super) fn measured(job: atelier_engine::JobId, peaks: &[atelier_engine::Peak], copies: Vec<Copies>) -> Self {
        let peak = |it: &atelier_engine::Peak| Peak {
            device: it.device.clone(),
            phase: it.phase,
            bytes: it.bytes,
            predicted_bytes: it.predicted_bytes,
        };
        Self::Measured { job: job.0, peaks: peaks.iter().map(peak).collect(), copies }
    }

    pub(super) fn rates(devices: &[atelier_engine::MeasuredDevice]) -> Self {
        Self::Rates { devices: devices.iter().map(MeasuredDevice::new).collect() }
    }

    pub(super) fn devices(devices: &[device::Device], processor: processor::Processor) -> Self {
        let processor::Processor { compiled, detected, allowed } = processor;
        let [engine, detected, allowed] = [compiled, detected, allowed].map(|level| level.name().to_owned());
        Self::Devices { devices: Self::device_list(devices), processor: Processor { engine, detected, allowed } }
    }

    pub(super) fn device_list(devices: &[device::Device]) -> Vec<Device> {
        let device = |it: &device::Device| Device {
            name: it.name.clone(),
            description: it.description.clone(),
            kind: match it.kind {
                DeviceKind::Cpu => "cpu",
                DeviceKind::Gpu => "gpu",
                DeviceKind::IntegratedGpu => "integrated_gpu",
                DeviceKind::Accelerator => "accelerator",
                DeviceKind::Remote => "remote",
            }
            .to_owned(),
            gpu: it.gpu.clone(),
            memory_total_bytes: it.memory_total_bytes,
            memory_free_bytes: it.memory_free_bytes,
        };
        devices.iter().map(device).collect()
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::placement::Module;
    use atelier_engine::JobId;

    fn json(line: &Line) -> String {
        let text = serde_json::to_string(line).unwrap();
        assert_eq!(&serde_json::from_str::<Line>(&text).unwrap(), line, "{text}");
        text
    }

    #[test]
    fn the_form_of_each_line_is_the_promised_one() {
        let job = JobId(1);
        let begin =
            atelier_engine::Begin { width: 64, height: 32, steps: 4, seeds: vec![Seed(7), Seed(8)], notes: vec!["Snapped.".into()] };
        let expected = r#"{"event":"begin","job":1,"width":64,"height":32,"steps":4,"seeds":[7,8],"notes":["Snapped."]}"#;
        assert_eq!(json(&Line::begin(job, None, &begin)), expected);
        let named = json(&Line::begin(job, Some("Small"), &begin));
        assert_eq!(named, expected.replace(r#""job":1,"#, r#""job":1,"model":"Small","#));
        let phases = [
            (
                atelier_engine::JobPhase::Loading { module: Some(Module::Llm), bytes_done: 1, bytes_total: 2 },
                r#"{"event":"phase","job":1,"phase":"loading","module":"te.llm","bytes_done":1,"bytes_total":2}"#,
            ),
            (
                atelier_engine::JobPhase::Loading { module: None, bytes_done: 0, bytes_total: 0 },
                r#"{"event":"phase","job":1,"phase":"loading","module":null,"bytes_done":0,"bytes_total":0}"#,
            ),
            (atelier_engine::JobPhase::Encoding, r#"{"event":"phase","job":1,"phase":"encoding"}"#),
            (atelier_engine::JobPhase::Denoising { picture: 0 }, r#"{"event":"phase","job":1,"phase":"denoising","picture":0}"#),
            (atelier_engine::JobPhase::Decoding { picture: 1 }, r#"{"event":"phase","job":1,"phase":"decoding","picture":1}"#),
            (
                atelier_engine::JobPhase::Upscaling { tile: 1, tiles: 9 },
                r#"{"event":"phase","job":1,"phase":"upscaling","tile":1,"tiles":9}"#,
            ),
        ];
        for (phase, expected) in phases {
            assert_eq!(json(&Line::phase(job, phase)), expected);
        }
        let step = atelier_engine::Step { picture: 0, done: 3, total: 4, fraction: 0.5, step_secs: 1.25 };
        let expected = r#"{"event":"step","job":1,"picture":0,"done":3,"total":4,"fraction":0.5,"step_secs":1.25}"#;
        assert_eq!(json(&Line::step(job, step)), expected);
        assert_eq!(json(&Line::log(atelier_engine::LogLevel::Warn, "hm".into())), r#"{"event":"log","level":"warn","text":"hm"}"#);
        assert_eq!(json(&Line::end(job, &atelier_engine::End::Cancelled)), r#"{"event":"end","job":1,"outcome":"cancelled"}"#);
        let failure = atelier_engine::Failure { log: vec!["x".into()], ..atelier_engine::Failure::new("No.", "Try.") };
        let expected = r#"{"event":"end","job":1,"outcome":"failed","message":"No.","hint":"Try.","log":["x"]}"#;
        assert_eq!(json(&Line::end(job, &atelier_engine::End::Failed(failure))), expected);
        let missing = atelier_engine::OutOfMemory {
            device: "GPU0".into(),
            phase: atelier_engine::PhaseKind::Denoising,
            bytes_wanted: 2,
            bytes_free: 1,
        };
        let failure =
            atelier_engine::Failure { cause: Some(atelier_engine::Cause::OutOfMemory(missing)), ..atelier_engine::Failure::default() };
        let expected = r#""out_of_memory":{"device":"GPU0","phase":"denoising","bytes_wanted":2,"bytes_free":1}}"#;
        let line = json(&Line::end(job, &atelier_engine::End::Failed(failure)));
        assert!(line.ends_with(expected), "{line}");
        let pictures = vec![atelier_core::recipe::PictureInfo { index: 0, seed: Some(Seed(7)), cpu_math: None, merged_loras: false }];
        let end = atelier_engine::End::Done { pictures, timings: atelier_engine::Timings::default(), notes: vec!["Hm.".into()] };
        let done = json(&Line::end(job, &end));
        assert!(done.ends_with(r#""notes":["Hm."]}"#), "{done}");
        assert!(
            done.starts_with(r#"{"event":"end","job":1,"outcome":"done","pictures":[{"picture":0,"seed":7}],"timings":{"load_secs":0.0"#)
        );
    }
}
