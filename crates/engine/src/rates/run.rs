//! A measurement of several devices, which gives way and goes on where it was.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::measure::{MeasureError, PartialMeasurement, measure};
use super::store::RateStore;
use crate::engine_end::EventSender;
use crate::job::checks::cpu_threads;
use crate::protocol::{Event, Failure, MeasureDevices, MeasuredDevice, MeasuredRates};
use crate::{devices, failure};
use atelier_core::device::{Device, DeviceKind};
use atelier_language::tr;

/// Time between two writes of what is measured so far: a process that is killed loses no more.
const SAVE_INTERVAL: Duration = Duration::from_secs(1);

/// A measurement; clones share it.
#[derive(Clone)]
pub(crate) struct Measurement {
    /// Also those that have rates.
    again: bool,
    threads: u32,
    stop: Arc<AtomicBool>,
    progress: Arc<Mutex<Progress>>,
}

#[derive(Default)]
struct Progress {
    /// Names of devices that are still to be measured.
    left: Vec<String>,
    /// The device whose measurement was begun by this one.
    begun: Option<String>,
    done: Vec<MeasuredDevice>,
}

impl Measurement {
    /// A measurement of the devices of a request that are there and answer.
    pub(crate) fn new(request: &MeasureDevices) -> Self {
        let is_wanted = |device: &Device| {
            let is_named = request.names.iter().any(|name| name.eq_ignore_ascii_case(&device.name));
            let is_usable = device.kind != DeviceKind::Accelerator && (device.kind != DeviceKind::Remote || device.memory_total_bytes > 0);
            is_named || (request.names.is_empty() && is_usable)
        };
        let left = devices::list().into_iter().filter(is_wanted).map(|device| device.name).collect();
        Self {
            again: request.again,
            threads: cpu_threads(request.threads),
            stop: Arc::default(),
            progress: Arc::new(Mutex::new(Progress { left, ..Progress::default() })),
        }
    }

    /// Lets the running measurement end within 100 ms; what is left can be run later.
    pub(crate) fn give_way(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// The same, with nothing left; what is known of the device that is being measured is kept for
    /// another measurement.
    pub(crate) fn abandon(&self) {
        self.progress.lock().left.clear();
        self.give_way();
    }

    /// True where devices are left.
    pub(crate) fn is_unfinished(&self) -> bool {
        !self.progress.lock().left.is_empty()
    }

    /// The devices that are done; `is_measuring`: others follow.
    pub(crate) fn event(&self, is_measuring: bool) -> Event {
        Event::Rates { devices: self.progress.lock().done.clone(), is_measuring }
    }

    /// Measures the devices that are left, until it is to give way.
    pub(crate) fn run(&self, store: &RateStore, sender: &EventSender) {
        self.stop.store(false, Ordering::Relaxed);
        let _devices = devices::lock_list();
        while let Some(name) = self.next() {
            let Some(measured) = self.measure(&name, store) else { return };
            {
                let mut progress = self.progress.lock();
                progress.left.retain(|left| *left != name);
                progress.done.push(MeasuredDevice { device: name, measured });
            }
            sender.send(self.event(true));
        }
    }

    fn next(&self) -> Option<String> {
        self.progress.lock().left.first().cloned()
    }

    /// `None`: it gave way.
    fn measure(&self, name: &str, store: &RateStore) -> Option<Result<MeasuredRates, Failure>> {
        let Some(device) = devices::list().into_iter().find(|device| device.name == name) else {
            return Some(Err(Failure::new(tr!("engine-no-longer-exists", name), tr!("engine-check-the-list-of"))));
        };
        if !self.again
            && let Some(known) = store.measured(&device, self.threads)
        {
            return Some(Ok(known));
        }
        let goes_on = self.progress.lock().begun.replace(name.to_owned()).is_some_and(|begun| begun == name);
        if self.again && !goes_on {
            store.forget_partial(&device, self.threads);
        }
        let mut saved = Instant::now();
        let mut keep = |so_far: &PartialMeasurement| {
            let saves = saved.elapsed() >= SAVE_INTERVAL;
            store.keep_partial(&device, self.threads, so_far.clone(), saves);
            if saves {
                saved = Instant::now();
            }
        };
        let known = store.partial(&device, self.threads);
        let answer = catch_unwind(AssertUnwindSafe(|| measure(&device, self.threads, &self.stop, known, &mut keep)));
        match answer {
            Ok(Ok(measured)) => {
                store.record(&device, self.threads, measured.clone());
                Some(Ok(measured))
            }
            Ok(Err(MeasureError::Stopped)) => {
                store.save();
                None
            }
            Ok(Err(MeasureError::Failed(error))) => Some(Err(failure::of_call(&error, Vec::new()))),
            Err(_) => Some(Err(Failure::new(
                tr!("engine-internal-error-while-measuring", name),
                tr!("engine-if-this-happens-again-please-report"),
            ))),
        }
    }
}
