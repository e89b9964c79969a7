//! Measures the rates of a device.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::samples::{Sample, samples};
use crate::ffi::{self, CallError, DeviceMeasurement, JobCallbacks, Operation, OperationKind, Status};
use crate::protocol::{LogLevel, MeasuredRates, PhaseKind};
use atelier_core::device::{Device, DeviceKind};
use atelier_core::placement::Module;
use atelier_core::recipe::Rgb8;
use atelier_core::time::{ClassRate, DeviceRates, WeightType, WorkClass};

/// Times that each sample is computed in a row, and rows: a disturbance of one row leaves the
/// others.
const REPEATS: usize = 4;
const ROWS: usize = 2;
/// Longest time of a row, beyond its first computation.
const ROW_SECS: f64 = 0.04;
/// Longest time of a node: one that runs cannot be stopped.
const MAX_NODE_SECS: f64 = 0.08;
/// Nodes of the graph whose time is launches alone.
const LAUNCHES: u32 = 256;
/// Bytes that are copied. Less to another machine; the lender would ask for a hash of larger
/// weights.
const COPY_BYTES: u32 = 32 << 20;
const REMOTE_COPY_BYTES: u32 = 4 << 20;
/// Work of a graph on a GPU, in times its start.
const WORK_PER_START: f64 = 20.0;
/// Weights of all nodes of a graph, in bytes: more than a GPU's caches hold, and uploaded in a
/// moment.
const MAX_WEIGHT_BYTES: u64 = 256 << 20;
/// A part of a graph's time that is its own, however much of it other graphs' launches take.
const MIN_OWN_PART: f64 = 0.2;
/// Times of a sample whose upper quartile is so many times the lower one are unsteady: the machine
/// was busy.
const UNSTEADY_RATIO: f64 = 1.3;

/// A device has no rates now.
#[derive(Debug)]
pub(super) enum MeasureError {
    /// Something more important came.
    Stopped,
    /// The device cannot be used.
    Failed(CallError),
}

impl From<CallError> for MeasureError {
    fn from(error: CallError) -> Self {
        if error.status == Status::Cancelled { Self::Stopped } else { Self::Failed(error) }
    }
}

/// What is measured of a device so far. A measurement that gave way goes on with it, also in a later
/// process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct PartialMeasurement {
    /// Starts and copies, without classes; `None` until all of them are measured.
    base: Option<DeviceRates>,
    /// Samples that were timed or passed over, in the order of [`samples`].
    done: usize,
    book: RateBook,
    /// Seconds that it took.
    secs: f64,
}

/// Measures what is left of a device with so many threads of the processor. Takes some seconds; ends
/// within 100 ms where `stop` is set. `keep` is called with all that is known after each operation.
pub(super) fn measure(
    device: &Device,
    threads: u32,
    stop: &AtomicBool,
    mut so_far: PartialMeasurement,
    keep: &mut dyn FnMut(&PartialMeasurement),
) -> Result<MeasuredRates, MeasureError> {
    let callbacks = MeasureCallbacks(stop);
    let mut clock = Clock { device: DeviceMeasurement::new(&device.name, threads, &callbacks)?, callbacks };
    let mut begun = Instant::now();
    let mut kept = |so_far: &mut PartialMeasurement| {
        so_far.secs += std::mem::replace(&mut begun, Instant::now()).elapsed().as_secs_f64();
        keep(so_far);
    };
    let mut rates = if let Some(rates) = so_far.base.clone() {
        rates
    } else {
        let rates = clock.base_rates(device)?;
        so_far.base = Some(rates.clone());
        kept(&mut so_far);
        rates
    };
    let samples = samples(ffi::direct_convolutions(&device.name).include(Module::Diffusion));
    for sample in samples.iter().skip(so_far.done) {
        if !so_far.book.is_too_slow(sample)
            && let Some((secs, is_unsteady)) = clock.time_of(sample, device, &rates)?
        {
            so_far.book.add(sample, secs, is_unsteady);
        }
        so_far.done += 1;
        kept(&mut so_far);
    }
    let PartialMeasurement { book, secs, .. } = so_far;
    rates.classes = book.rates();
    Ok(MeasuredRates { rates, samples: book.samples, unsteady_samples: book.unsteady, secs })
}

/// Seconds of one node's own work, from sorted times of graphs of so many; `None` without times.
fn own_secs(rates: &DeviceRates, times: &[f64], nodes: u32) -> Option<f64> {
    let median = median(times)?;
    let nodes = f64::from(nodes);
    Some((median - rates.graph_secs - nodes * rates.node_secs).max(MIN_OWN_PART * median) / nodes)
}

/// Nodes beside whose work the start of a graph, which lasts `graph_secs`, counts for little.
fn enough_nodes(operation: Operation, node_secs: f64, graph_secs: f64) -> u32 {
    let most = MAX_WEIGHT_BYTES.checked_div(operation.weight_bytes()).unwrap_or(u64::from(LAUNCHES)).min(LAUNCHES.into());
    let wanted = WORK_PER_START * graph_secs / node_secs;
    (wanted as u64).min(most) as u32
}

/// Amounts and seconds of each class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct RateBook {
    #[serde(with = "pairs")]
    classes: BTreeMap<WorkClass, (u64, f64)>,
    samples: u32,
    unsteady: u32,
}

/// Classes as pairs: the keys of an object are texts.
mod pairs {
    use std::collections::BTreeMap;

    use atelier_core::time::WorkClass;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(classes: &BTreeMap<WorkClass, (u64, f64)>, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(classes)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<WorkClass, (u64, f64)>, D::Error> {
        Ok(Vec::<(WorkClass, (u64, f64))>::deserialize(from)?.into_iter().collect())
    }
}

impl RateBook {
    fn add(&mut self, sample: &Sample, secs: f64, is_unsteady: bool) {
        let it = self.classes.entry(sample.class).or_default();
        it.0 += sample.amount;
        it.1 += secs;
        self.samples += 1;
        self.unsteady += u32::from(is_unsteady);
    }

    /// True where a smaller sample of the kind says that one node lasts too long.
    fn is_too_slow(&self, sample: &Sample) -> bool {
        let smaller =
            self.classes.iter().rev().find(|(class, _)| {
                (class.kind, class.weights) == (sample.class.kind, sample.class.weights) && class.size <= sample.class.size
            });
        smaller.is_some_and(|(_, (amount, secs))| sample.amount as f64 * secs / *amount as f64 > MAX_NODE_SECS)
    }

    fn rates(&self) -> Vec<ClassRate> {
        let rate = |(class, (amount, secs)): (&WorkClass, &(u64, f64))| ClassRate { class: *class, per_sec: *amount as f64 / secs };
        self.classes.iter().map(rate).collect()
    }
}

/// Times operations on one device.
struct Clock<'a> {
    device: DeviceMeasurement,
    callbacks: MeasureCallbacks<'a>,
}

impl Clock<'_> {
    /// Rates of starts and copies, without classes.
    fn base_rates(&mut self, device: &Device) -> Result<DeviceRates, MeasureError> {
        let mut rates = DeviceRates::default();
        let launch = |nodes| Operation { kind: OperationKind::Add(64), weights: WeightType::F32, nodes };
        let one = self.median(launch(1))?.unwrap_or(0.0);
        let many = self.median(launch(LAUNCHES))?.unwrap_or(one);
        rates.node_secs = ((many - one) / f64::from(LAUNCHES - 1)).max(0.0);
        rates.graph_secs = (one - rates.node_secs).max(0.0);
        let read_secs = read_secs_per_byte();
        let bytes = if device.kind == DeviceKind::Remote { REMOTE_COPY_BYTES } else { COPY_BYTES };
        let copy = |kind| Operation { kind, weights: WeightType::F32, nodes: 1 };
        let per_sec = |secs: Option<f64>| secs.map_or(0.0, |secs| f64::from(bytes) / secs);
        rates.allocate_per_sec = per_sec(self.median(copy(OperationKind::Allocate(bytes)))?);
        if device.kind == DeviceKind::Cpu {
            // Infinity is no number in a file, and would cost all that is in it.
            rates.load_per_sec = if read_secs > 0.0 { read_secs.recip() } else { 0.0 };
        } else {
            rates.copy_to_per_sec = per_sec(self.median(copy(OperationKind::Upload(bytes)))?);
            rates.copy_from_per_sec = per_sec(self.median(copy(OperationKind::Download(bytes)))?);
            let to_new_per_sec = per_sec(self.median(copy(OperationKind::UploadToNew(bytes)))?);
            rates.load_per_sec = (read_secs + to_new_per_sec.max(1.0).recip()).recip();
        }
        Ok(rates)
    }

    /// Seconds of one node of a sample, and whether its times were unsteady; `None` where the device
    /// does not compute it.
    fn time_of(&mut self, sample: &Sample, device: &Device, rates: &DeviceRates) -> Result<Option<(f64, bool)>, MeasureError> {
        let mut operation = sample.operation;
        let mut times = self.times(operation)?;
        let Some(mut node_secs) = own_secs(rates, &times, operation.nodes) else { return Ok(None) };
        // A quick GPU is done with a few nodes before the next graph could begin: what is timed then
        // is the start of a graph.
        let nodes = enough_nodes(operation, node_secs, rates.graph_secs);
        if matches!(device.kind, DeviceKind::Gpu | DeviceKind::IntegratedGpu) && nodes > operation.nodes {
            operation.nodes = nodes;
            let more = self.times(operation)?;
            if let Some(secs) = own_secs(rates, &more, nodes) {
                (times, node_secs) = (more, secs);
            }
        }
        Ok(Some((node_secs, is_unsteady(&times))))
    }

    /// Seconds of each computation; none where the device does not compute it, or has no room for
    /// it.
    fn times(&mut self, operation: Operation) -> Result<Vec<f64>, MeasureError> {
        let mut times = Vec::new();
        for _ in 0..ROWS {
            match self.device.run(operation, REPEATS, ROW_SECS, &self.callbacks) {
                Ok(row) => times.extend(row),
                Err(error) if error.status == Status::NoMemory => break,
                Err(error) => return Err(error.into()),
            }
        }
        times.sort_by(f64::total_cmp);
        Ok(times)
    }

    fn median(&mut self, operation: Operation) -> Result<Option<f64>, MeasureError> {
        Ok(median(&self.times(operation)?))
    }
}

/// The middle of sorted times, the lower of two: what disturbs a computation only makes it longer.
fn median(times: &[f64]) -> Option<f64> {
    times.get(times.len().saturating_sub(1) / 2).copied()
}

fn is_unsteady(times: &[f64]) -> bool {
    let at = |part: usize| times.get(times.len().saturating_sub(1) * part / 4);
    matches!((at(1), at(3)), (Some(low), Some(high)) if *high > UNSTEADY_RATIO * low)
}

/// Seconds to read a byte of a file that is in the system's cache; 0 where no file can be written.
fn read_secs_per_byte() -> f64 {
    let read = || -> std::io::Result<f64> {
        let mut file = tempfile::NamedTempFile::new()?;
        file.write_all(&vec![1_u8; COPY_BYTES as usize])?;
        let mut times = Vec::new();
        for _ in 0..3 {
            let mut again = file.reopen()?;
            // Memory that was not used before, as that of weights.
            let mut bytes = vec![0_u8; COPY_BYTES as usize];
            let start = Instant::now();
            again.read_exact(&mut bytes)?;
            times.push(start.elapsed().as_secs_f64());
        }
        times.sort_by(f64::total_cmp);
        Ok(median(&times).unwrap_or(0.0) / f64::from(COPY_BYTES))
    };
    read().unwrap_or(0.0)
}

/// Callbacks that only stop.
struct MeasureCallbacks<'a>(&'a AtomicBool);

impl JobCallbacks for MeasureCallbacks<'_> {
    fn log(&self, _: LogLevel, _: &str) {}
    fn phase(&self, _: PhaseKind) {}
    fn load(&self, _: Option<Module>, _: u64, _: u64) {}
    fn step(&self, _: u32, _: u32, _: f32, _: f32) {}
    fn preview(&self, _: u32, _: Rgb8) {}
    fn cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outlier_changes_no_median_and_is_told() {
        let steady = [1.0, 1.0, 1.1, 1.1, 9.0];
        assert_eq!((median(&steady), is_unsteady(&steady)), (Some(1.1), false));
        let busy = [1.0, 1.0, 2.0, 2.0, 2.0];
        assert!(is_unsteady(&busy));
        assert_eq!((median(&[]), is_unsteady(&[])), (None, false));
    }

    #[test]
    fn a_graph_on_a_quick_device_has_so_many_nodes_that_its_start_counts_for_little() {
        let product = Operation { kind: OperationKind::Product([1280, 256, 1280]), weights: WeightType::F16, nodes: 2 };
        // As measured on an H200: 8 microseconds of work, 90 to start a graph.
        assert_eq!(enough_nodes(product, 8e-6, 90e-6), 40, "as many as fit beside each other");
        assert_eq!(enough_nodes(product, 100e-6, 90e-6), 18);
        assert_eq!(enough_nodes(product, 0.01, 90e-6), 0, "slow enough as it is");
        let add = Operation { kind: OperationKind::Add(1 << 15), weights: WeightType::F32, nodes: 8 };
        assert_eq!(enough_nodes(add, 1e-9, 90e-6), LAUNCHES, "without weights of their own");
    }

    #[test]
    fn a_class_is_as_fast_as_all_its_samples_together_and_slow_nodes_are_left_out() {
        let all = samples(true);
        let mut medium = all.iter().filter(|it| it.class.size == atelier_core::time::NodeSize::Medium);
        let first = medium.next().unwrap();
        let large = all.iter().find(|it| it.class.kind == first.class.kind && it.class.size > first.class.size).unwrap();
        let mut book = RateBook::default();
        let sample = Sample { class: WorkClass { weights: large.class.weights, ..first.class }, ..*first };
        book.add(&sample, 1.0, false);
        book.add(&sample, 3.0, true);
        assert_eq!(book.rates(), [ClassRate { class: sample.class, per_sec: sample.amount as f64 / 2.0 }]);
        assert_eq!((book.samples, book.unsteady), (2, 1));
        assert!(book.is_too_slow(large));
        assert!(!RateBook::default().is_too_slow(large));
    }

    #[test]
    fn a_graph_of_every_kind_has_room_for_the_most_nodes() {
        let stop = AtomicBool::new(false);
        let callbacks = MeasureCallbacks(&stop);
        let mut device = DeviceMeasurement::new("CPU", 1, &callbacks).unwrap();
        let mut kinds = Vec::new();
        for sample in samples(true).into_iter().chain(samples(false)) {
            let kind = std::mem::discriminant(&sample.operation.kind);
            if !kinds.contains(&kind) && sample.amount < 1 << 27 {
                kinds.push(kind);
                let many = Operation { nodes: enough_nodes(sample.operation, 1e-12, 1e-4), ..sample.operation };
                assert!(many.nodes > sample.operation.nodes, "{many:?}");
                device.run(many, 1, 0.0, &callbacks).unwrap_or_else(|error| panic!("{many:?}: {error:?}"));
            }
        }
        assert_eq!(kinds.len(), 12);
    }

    #[test]
    fn the_processor_is_measured_and_a_stop_leaves_nothing_behind() {
        let devices = crate::devices::list();
        let cpu = devices.iter().find(|device| device.kind == DeviceKind::Cpu).unwrap();
        let from_the_start = |device: &Device, is_stopped: bool| {
            measure(device, 1, &AtomicBool::new(is_stopped), PartialMeasurement::default(), &mut |_| {})
        };
        let measured = from_the_start(cpu, false).unwrap();
        assert!(measured.rates.is_complete() && measured.samples > 0, "{measured:?}");
        assert!(measured.rates.classes.iter().all(|it| it.per_sec.is_finite() && it.per_sec > 0.0), "{measured:?}");
        assert!(measured.rates.load_per_sec > 0.0);
        assert!(matches!(from_the_start(cpu, true), Err(MeasureError::Stopped)));
        let missing = Device { name: "NOWHERE0".into(), ..cpu.clone() };
        assert!(matches!(from_the_start(&missing, false), Err(MeasureError::Failed(_))));
    }

    #[test]
    fn a_measurement_that_gave_way_goes_on_with_the_next_operation() {
        let devices = crate::devices::list();
        let cpu = devices.iter().find(|device| device.kind == DeviceKind::Cpu).unwrap();
        // Gives way once so many operations are timed.
        let until = |done: usize, so_far: PartialMeasurement| {
            let (stop, mut kept) = (AtomicBool::new(false), Vec::new());
            let ended = measure(cpu, 1, &stop, so_far, &mut |so_far| {
                kept.push(so_far.clone());
                stop.store(so_far.done >= done, Ordering::Relaxed);
            });
            assert!(matches!(ended, Err(MeasureError::Stopped)), "{ended:?}");
            kept
        };
        let first = until(2, PartialMeasurement::default());
        let done = |kept: &[PartialMeasurement]| kept.iter().map(|it| it.done).collect::<Vec<_>>();
        // On a busy machine further ones are passed over, which takes no time.
        assert!(done(&first).starts_with(&[0, 1, 2]), "starts and copies come first: {:?}", done(&first));
        let before = first.last().unwrap();
        // As it is read from a file.
        let read: PartialMeasurement = serde_json::from_slice(&serde_json::to_vec(before).unwrap()).unwrap();
        assert_eq!((&read.base, read.done, &read.book), (&before.base, before.done, &before.book));
        let later = until(before.done + 1, read);
        assert_eq!(later[0].done, before.done + 1);
        assert!(later[0].base == before.base && later[0].book.samples >= before.book.samples && later[0].secs > before.secs);
    }
}
