//! Events, phase times, log lines and memory peaks of one job, from the callbacks of the engine.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use parking_lot::{Mutex, MutexGuard};

use crate::engine_end::EventSender;
use crate::ffi::JobCallbacks;
use crate::protocol::{Copies, Event, JobId, JobPhase, LogLevel, Peak, PhaseKind, Preview, Step, Timings};
use atelier_core::canvas::PixelRect;
use atelier_core::placement::{self, Module, Prediction};
use atelier_core::recipe::Rgb8;

/// Log lines that explain a failure.
const MAX_LOG_LINES: usize = 40;

/// The part of a picture that is generated.
#[derive(Clone, Copy)]
pub(super) struct PicturePart {
    /// Its index among the parts of the picture, from 0.
    pub(super) index: u32,
    /// The number of parts.
    pub(super) count: u32,
    /// Where it lies; `None`: it is the whole picture.
    pub(super) place: Option<PixelRect>,
}

const WHOLE: PicturePart = PicturePart { index: 0, count: 1, place: None };

/// Turns callbacks into events of one job.
pub(super) struct JobMonitor {
    job: JobId,
    sender: EventSender,
    cancel: Arc<AtomicBool>,
    state: Mutex<State>,
}

struct State {
    /// Index of the picture in the batch.
    picture: u32,
    part: PicturePart,
    /// Its steps that are done.
    done: u32,
    /// The phase to which the time from `since` on belongs.
    phase: PhaseKind,
    since: Instant,
    begun: Instant,
    timings: Timings,
    log: VecDeque<String>,
    /// Peak bytes of each device in each phase.
    peaks: BTreeMap<(String, placement::Phase), u64>,
    copies: BTreeMap<Module, Copies>,
    /// Of the diffusion module.
    evaluations: u64,
    prediction: Option<Prediction>,
    /// Bytes of other models on each device when the job began.
    others: BTreeMap<String, u64>,
}

impl State {
    fn add_copies(&mut self, copies: &[Copies]) {
        for its in copies {
            let sum = self.copies.entry(its.module).or_insert(Copies { bytes: 0, count: 0, waited_secs: 0.0, hidden_secs: 0.0, ..*its });
            sum.bytes += its.bytes;
            sum.count += its.count;
            sum.waited_secs += its.waited_secs;
            sum.hidden_secs += its.hidden_secs;
        }
    }
}

impl JobMonitor {
    pub(super) fn new(job: JobId, sender: EventSender, cancel: Arc<AtomicBool>) -> Self {
        let now = Instant::now();
        let state = State {
            picture: 0,
            part: WHOLE,
            done: 0,
            phase: PhaseKind::Loading,
            since: now,
            begun: now,
            timings: Timings::default(),
            log: VecDeque::new(),
            peaks: BTreeMap::new(),
            copies: BTreeMap::new(),
            evaluations: 0,
            prediction: None,
            others: BTreeMap::new(),
        };
        Self { job, sender, cancel, state: Mutex::new(state) }
    }

    /// A monitor of the same job for one shard, with log lines, times and peaks of its own.
    pub(super) fn for_shard(&self) -> Self {
        Self::new(self.job, self.sender.clone(), Arc::clone(&self.cancel))
    }

    /// Adds the log lines and peaks of a shard, and of each phase its time where it is the longest.
    pub(super) fn merge(&self, shard: &Self) {
        shard.enter(PhaseKind::Loading);
        let (mut state, shard) = (self.lock(), shard.lock());
        for (place, bytes) in &shard.peaks {
            let peak = state.peaks.entry(place.clone()).or_default();
            *peak = (*bytes).max(*peak);
        }
        state.add_copies(&shard.copies.values().copied().collect::<Vec<_>>());
        state.evaluations += shard.evaluations;
        state.log.extend(shard.log.iter().cloned());
        for (device, bytes) in &shard.others {
            // To one shard the other's model is another model; to the job it is its own.
            let others = state.others.entry(device.clone()).or_insert(*bytes);
            *others = (*bytes).min(*others);
        }
        let (own, its) = (&mut state.timings, &shard.timings);
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

    /// Sets the picture of the following events, by its index in the batch.
    pub(super) fn set_picture(&self, picture: u32) {
        let mut state = self.lock();
        (state.picture, state.part, state.done) = (picture, WHOLE, 0);
    }

    /// Sets the part of the picture that the following events are of.
    pub(super) fn set_part(&self, part: PicturePart) {
        let mut state = self.lock();
        (state.part, state.done) = (part, 0);
    }

    /// Seconds in each phase until now.
    pub(super) fn timings(&self) -> Timings {
        let mut state = self.lock();
        state.enter(PhaseKind::Loading);
        // Until the moment to which the phases are booked.
        Timings { total_secs: state.since.duration_since(state.begun).as_secs_f64(), ..state.timings }
    }

    /// The last log lines, oldest first.
    pub(super) fn log_lines(&self) -> Vec<String> {
        self.lock().log.iter().cloned().collect()
    }

    /// True once the job is to be cancelled.
    pub(super) fn cancel(&self) -> &AtomicBool {
        &self.cancel
    }

    /// Sets the predicted memory of the job.
    pub(super) fn set_prediction(&self, prediction: Prediction) {
        self.lock().prediction = Some(prediction);
    }

    /// Sets the bytes of other models on each device, which the peaks include.
    pub(super) fn set_others(&self, others: BTreeMap<String, u64>) {
        self.lock().others = others;
    }

    /// Adds the peaks of one picture.
    pub(super) fn add_peaks(&self, peaks: Vec<(String, PhaseKind, u64)>) {
        let all = &mut self.lock().peaks;
        for (device, phase, bytes) in peaks {
            let peak = all.entry((device, placement::Phase::from(phase))).or_default();
            *peak = bytes.max(*peak);
        }
    }

    /// Adds evaluations of the diffusion module that were computed.
    pub(super) fn add_evaluations(&self, count: u64) {
        self.lock().evaluations += count;
    }

    pub(super) fn evaluations(&self) -> u64 {
        self.lock().evaluations
    }

    /// Adds what one image copied.
    pub(super) fn add_copies(&self, copies: &[Copies]) {
        self.lock().add_copies(copies);
    }

    /// What all images copied, by module.
    pub(super) fn copies(&self) -> Vec<Copies> {
        self.lock().copies.values().copied().collect()
    }

    /// The peaks of all pictures, by device and phase.
    pub(super) fn peaks(&self) -> Vec<Peak> {
        let state = self.lock();
        let others = |device: &str| state.others.get(device).copied().unwrap_or(0);
        let predicted = |device: &str, phase| {
            let it = state.prediction.as_ref()?.device(device)?.in_phase(phase);
            // A device's overhead is in no buffer.
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
        state.peaks.iter().map(peak).collect()
    }

    pub(super) fn send(&self, event: Event) {
        self.sender.send(event);
    }

    /// Books the time from now on to another phase.
    pub(super) fn enter(&self, phase: PhaseKind) {
        self.lock().enter(phase);
    }

    /// Sends the beginning of a phase.
    pub(super) fn send_phase(&self, phase: PhaseKind) {
        let picture = self.lock().picture;
        self.send(Event::Phase {
            job: self.job,
            phase: match phase {
                PhaseKind::Loading => JobPhase::Loading { module: None, bytes_done: 0, bytes_total: 0 },
                PhaseKind::Encoding => JobPhase::Encoding,
                PhaseKind::Denoising => JobPhase::Denoising { picture },
                PhaseKind::Decoding => JobPhase::Decoding { picture },
                PhaseKind::Upscaling => JobPhase::Upscaling { tile: 0, tiles: 0 },
            },
        });
    }

    /// Sends the progress of loading.
    pub(super) fn send_load(&self, module: Option<Module>, bytes_done: u64, bytes_total: u64) {
        self.send(Event::Phase { job: self.job, phase: JobPhase::Loading { module, bytes_done, bytes_total } });
    }

    /// Progress of the picture that is being denoised.
    pub(super) fn picture_step(&self, done: u32, total: u32, fraction: f32, step_secs: f32) -> Step {
        let state = self.lock();
        let PicturePart { index, count, place: _ } = state.part;
        let before = total.saturating_mul(index);
        Step { picture: state.picture, done: before.saturating_add(done), total: total.saturating_mul(count), fraction, step_secs }
    }

    /// Goes on to the next part where the engine samples once more within a call.
    fn follow_passes(&self, done: u32) {
        let mut state = self.lock();
        if done < state.done && state.part.place.is_none() {
            state.part.index = (state.part.index + 1).min(state.part.count.saturating_sub(1));
        }
        state.done = done;
    }

    /// Sends the progress of denoising.
    pub(super) fn send_step(&self, step: Step) {
        self.send(Event::Step { job: self.job, step });
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl State {
    /// Books the time since the last change to its phase.
    fn enter(&mut self, phase: PhaseKind) {
        let now = Instant::now();
        let secs = now.duration_since(self.since).as_secs_f64();
        self.since = now;
        let booked = match self.phase {
            PhaseKind::Loading => &mut self.timings.load_secs,
            PhaseKind::Encoding => &mut self.timings.encode_secs,
            PhaseKind::Denoising | PhaseKind::Upscaling => &mut self.timings.denoise_secs,
            PhaseKind::Decoding => &mut self.timings.decode_secs,
        };
        *booked += secs;
        self.phase = phase;
    }
}

impl JobCallbacks for JobMonitor {
    fn log(&self, level: LogLevel, text: &str) {
        let text = without_source_position(text);
        if level == LogLevel::Debug {
            tracing::debug!(target: "engine", "{text}");
            return;
        }
        {
            let mut state = self.lock();
            if state.log.len() == MAX_LOG_LINES {
                state.log.pop_front();
            }
            state.log.push_back(text.to_owned());
        }
        self.send(Event::Log { job: Some(self.job), level, text: text.to_owned() });
    }

    fn phase(&self, phase: PhaseKind) {
        self.enter(phase);
        self.send_phase(phase);
    }

    fn load(&self, module: Option<Module>, done: u64, total: u64) {
        self.enter(PhaseKind::Loading);
        self.send_load(module, done, total);
    }

    fn step(&self, done: u32, total: u32, fraction: f32, secs: f32) {
        let is_upscaling = self.lock().phase == PhaseKind::Upscaling;
        if is_upscaling {
            self.send(Event::Phase { job: self.job, phase: JobPhase::Upscaling { tile: done, tiles: total } });
        } else {
            self.follow_passes(done);
            self.send_step(self.picture_step(done, total, fraction, secs));
        }
    }

    fn preview(&self, step: u32, image: Rgb8) {
        let (picture, place) = {
            let state = self.lock();
            (state.picture, state.part.place)
        };
        self.send(Event::Preview { job: self.job, preview: Preview { picture, step, place, image: Arc::new(image) } });
    }

    fn cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
}

/// Removes the source file and line number with which the engine begins its lines.
fn without_source_position(line: &str) -> &str {
    line.split_once(" - ")
        .filter(|(position, _)| {
            position.split_once(':').is_some_and(|(file, line)| file.contains('.') && line.trim().parse::<u32>().is_ok())
        })
        .map_or(line, |(_, rest)| rest)
        .trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_loses_its_place_in_the_source_and_nothing_else() {
        assert_eq!(without_source_position("model_loader.cpp:12   - loading 3 - of 4"), "loading 3 - of 4");
        assert_eq!(without_source_position("a - b"), "a - b");
        assert_eq!(without_source_position("12:30 - b"), "12:30 - b");
    }
}
