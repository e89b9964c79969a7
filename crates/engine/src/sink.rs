//! From the engine's callbacks to events of a job, with the time each phase took and the log lines that explain a failure.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::batch::Together;
use super::ffi::JobCallbacks;
use crate::engine_end::EventSender;
use crate::protocol::JobId;
use crate::protocol::{Event, LogLevel, Peak, Phase, PhaseKind, Preview, Step, Timings};
use atelier_core::placement::{self, Module, Prediction};
use atelier_core::recipe::Rgb8;

/// Log lines kept to explain a failure.
const KEPT_LINES: usize = 40;

/// Where the news of one job go.
pub(crate) struct JobSink {
    job: JobId,
    sender: EventSender,
    cancel: Arc<AtomicBool>,
    /// Where several devices make the pictures: which share this is of them.
    together: Option<(Arc<Together>, usize)>,
    state: Mutex<State>,
}

struct State {
    picture: u32,
    /// What the time since `since` is spent on.
    busy_with: PhaseKind,
    since: Instant,
    begun: Instant,
    timings: Timings,
    log: VecDeque<String>,
    unused_loras: Vec<String>,
    /// The most bytes of each device in each phase.
    held: BTreeMap<(String, placement::Phase), u64>,
    predicted: Option<Prediction>,
    /// What other models held of each device when the job began.
    others: BTreeMap<String, u64>,
}

impl JobSink {
    pub(crate) fn new(job: JobId, sender: EventSender, cancel: Arc<AtomicBool>) -> Self {
        let now = Instant::now();
        let state = State {
            picture: 0,
            busy_with: PhaseKind::Loading,
            since: now,
            begun: now,
            timings: Timings::default(),
            log: VecDeque::new(),
            unused_loras: Vec::new(),
            held: BTreeMap::new(),
            predicted: None,
            others: BTreeMap::new(),
        };
        Self { job, sender, cancel, together: None, state: Mutex::new(state) }
    }

    /// A sink for the share of one device, with log lines, times and measurements of its own.
    pub(crate) fn for_share(&self, together: &Arc<Together>, share: usize) -> Self {
        let together = Some((Arc::clone(together), share));
        Self { together, ..Self::new(self.job, self.sender.clone(), Arc::clone(&self.cancel)) }
    }

    /// Takes over what a share knows: its log lines, what it measured, and of each phase the longest time.
    pub(crate) fn absorb(&self, share: &Self) {
        share.lock().account(PhaseKind::Loading);
        let (mut state, share) = (self.lock(), share.lock());
        for (place, bytes) in &share.held {
            let peak = state.held.entry(place.clone()).or_default();
            *peak = (*bytes).max(*peak);
        }
        state.log.extend(share.log.iter().cloned());
        state.unused_loras.extend(share.unused_loras.iter().cloned());
        for (device, bytes) in &share.others {
            // What one share holds is the other's neighbour, and still the job's own.
            let others = state.others.entry(device.clone()).or_insert(*bytes);
            *others = (*bytes).min(*others);
        }
        let (own, its) = (&mut state.timings, &share.timings);
        for (own, its) in [
            (&mut own.load_secs, its.load_secs),
            (&mut own.encode_secs, its.encode_secs),
            (&mut own.denoise_secs, its.denoise_secs),
            (&mut own.decode_secs, its.decode_secs),
        ] {
            *own = own.max(its);
        }
        state.since = Instant::now();
    }

    /// Whether whoever asked for the job wants it no more.
    pub(crate) fn cancelled_by_caller(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// The next news are of this picture of the batch, from 0.
    pub(crate) fn set_picture(&self, picture: u32) {
        self.lock().picture = picture;
    }

    /// Seconds in each phase until now.
    pub(crate) fn timings(&self) -> Timings {
        let mut state = self.lock();
        state.account(PhaseKind::Loading);
        Timings { total_secs: state.begun.elapsed().as_secs_f64(), ..state.timings }
    }

    /// The last log lines, oldest first.
    pub(crate) fn log_lines(&self) -> Vec<String> {
        self.lock().log.iter().cloned().collect()
    }

    /// LoRA files of which the engine could use nothing.
    pub(crate) fn unused_loras(&self) -> Vec<String> {
        self.lock().unused_loras.clone()
    }

    /// What the job is expected to take.
    pub(crate) fn predict(&self, prediction: Prediction) {
        self.lock().predicted = Some(prediction);
    }

    /// What models of other jobs hold of each device, which what is measured will include.
    pub(crate) fn beside(&self, others: BTreeMap<String, u64>) {
        self.lock().others = others;
    }

    /// One picture took this much of the devices.
    pub(crate) fn measured(&self, peaks: Vec<(String, PhaseKind, u64)>) {
        let held = &mut self.lock().held;
        for (device, phase, bytes) in peaks {
            let peak = held.entry((device, placement::Phase::from(phase))).or_default();
            *peak = bytes.max(*peak);
        }
    }

    /// What all pictures took, by device and phase.
    pub(crate) fn peaks(&self) -> Vec<Peak> {
        let state = self.lock();
        let others = |device: &str| state.others.get(device).copied().unwrap_or(0);
        let predicted = |device: &str, phase| {
            let it = state.predicted.as_ref()?.device(device)?.in_phase(phase);
            // What the device takes for itself is in no buffer.
            let own = it.resident_bytes.saturating_add(it.staged_bytes).saturating_add(it.compute_bytes);
            Some(own.saturating_add(others(device)))
        };
        let peak = |((device, phase), bytes): (&(String, placement::Phase), &u64)| Peak {
            device: device.clone(),
            phase: *phase,
            bytes: *bytes,
            others_bytes: others(device).min(*bytes),
            predicted_bytes: predicted(device, *phase),
        };
        state.held.iter().map(peak).collect()
    }

    pub(crate) fn send(&self, event: Event) {
        self.sender.send(event);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send_phase(&self, phase: Phase) {
        self.send(Event::Phase { job: self.job, phase });
    }
}

impl State {
    /// Books the time since the last change, and begins to book for `next`.
    fn account(&mut self, next: PhaseKind) {
        let secs = self.since.elapsed().as_secs_f64();
        self.since = Instant::now();
        let bucket = match self.busy_with {
            PhaseKind::Loading => &mut self.timings.load_secs,
            PhaseKind::Encoding => &mut self.timings.encode_secs,
            PhaseKind::Denoising | PhaseKind::Upscaling => &mut self.timings.denoise_secs,
            PhaseKind::Decoding => &mut self.timings.decode_secs,
        };
        *bucket += secs;
        self.busy_with = next;
    }
}

impl JobCallbacks for JobSink {
    fn log(&self, level: LogLevel, text: &str) {
        let text = without_place(text);
        if level == LogLevel::Debug {
            tracing::debug!(target: "engine", "{text}");
            return;
        }
        {
            let mut state = self.lock();
            if state.log.len() == KEPT_LINES {
                state.log.pop_front();
            }
            state.log.push_back(text.to_owned());
            if let Some(file) = unused_lora(text) {
                state.unused_loras.push(file.to_owned());
            }
        }
        self.send(Event::Log { job: Some(self.job), level, text: text.to_owned() });
    }

    fn phase(&self, phase: PhaseKind) {
        let mut state = self.lock();
        state.account(phase);
        let picture = state.picture;
        drop(state);
        if let Some((together, _)) = &self.together {
            // Devices are in different phases: from the first that denoises on, steps tell how far all are.
            let first = if phase == PhaseKind::Denoising { together.denoises() } else { !together.has_begun() };
            if !first {
                return;
            }
        }
        self.send_phase(match phase {
            PhaseKind::Loading => Phase::Loading { module: None, bytes_done: 0, bytes_total: 0 },
            PhaseKind::Encoding => Phase::Encoding,
            PhaseKind::Denoising => Phase::Denoising { picture },
            PhaseKind::Decoding => Phase::Decoding { picture },
            PhaseKind::Upscaling => Phase::Upscaling { tile: 0, tiles: 0 },
        });
    }

    fn load(&self, module: Option<Module>, done: u64, total: u64) {
        self.lock().account(PhaseKind::Loading);
        if self.together.as_ref().is_some_and(|(together, _)| together.has_begun()) {
            return;
        }
        self.send_phase(Phase::Loading { module, bytes_done: done, bytes_total: total });
    }

    fn step(&self, done: u32, total: u32, fraction: f32, secs: f32) {
        let state = self.lock();
        let (picture, upscaling) = (state.picture, state.busy_with == PhaseKind::Upscaling);
        drop(state);
        if upscaling {
            self.send_phase(Phase::Upscaling { tile: done, tiles: total });
        } else {
            let mut step = Step { picture, done, total, fraction, step_secs: secs };
            if let Some((together, share)) = &self.together {
                step = together.step(*share, step);
            }
            self.send(Event::Step { job: self.job, step });
        }
    }

    fn preview(&self, step: u32, image: Rgb8) {
        let picture = self.lock().picture;
        self.send(Event::Preview { job: self.job, preview: Preview { picture, step, image: Arc::new(image) } });
    }

    fn cancelled(&self) -> bool {
        self.cancelled_by_caller() || self.together.as_ref().is_some_and(|(together, _)| together.is_over())
    }
}

/// Where the news of a model go that is loaded before a job asks for it: nowhere.
pub(crate) struct WarmSink {
    cancel: Arc<AtomicBool>,
}

impl WarmSink {
    pub(crate) const fn new(cancel: Arc<AtomicBool>) -> Self {
        Self { cancel }
    }
}

impl JobCallbacks for WarmSink {
    fn log(&self, _: LogLevel, text: &str) {
        tracing::debug!(target: "engine", "{text}");
    }
    fn phase(&self, _: PhaseKind) {}
    fn load(&self, _: Option<Module>, _: u64, _: u64) {}
    fn step(&self, _: u32, _: u32, _: f32, _: f32) {}
    fn preview(&self, _: u32, _: Rgb8) {}
    fn cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
}

/// The engine begins its lines with a source file and line number, which help nobody here.
fn without_place(line: &str) -> &str {
    line.split_once(" - ")
        .filter(|(place, _)| place.split_once(':').is_some_and(|(file, line)| file.contains('.') && line.trim().parse::<u32>().is_ok()))
        .map_or(line, |(_, rest)| rest)
        .trim()
}

/// The file of a LoRA of which nothing could be applied, from the engine's line `Only (0 / 24) LoRA tensors have been applied, lora_file_path = x`.
fn unused_lora(line: &str) -> Option<&str> {
    line.contains("(0 / ").then(|| line.split_once("lora_file_path = ").map(|(_, file)| file))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_loses_its_place_in_the_source_and_nothing_else() {
        assert_eq!(without_place("model_loader.cpp:12   - loading 3 - of 4"), "loading 3 - of 4");
        assert_eq!(without_place("a - b"), "a - b");
        assert_eq!(without_place("12:30 - b"), "12:30 - b");
    }

    #[test]
    fn a_lora_of_which_nothing_fits_is_noticed() {
        assert_eq!(
            unused_lora("Only (0 / 24) LoRA tensors have been applied, lora_file_path = /x/y.safetensors"),
            Some("/x/y.safetensors")
        );
        assert_eq!(unused_lora("Only (3 / 24) LoRA tensors have been applied, lora_file_path = /x"), None);
    }
}
