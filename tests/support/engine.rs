//! The engine with every event of a job caught on the engine's own thread, so that a test can act
//! at an exact moment.

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use atelier_core::device::Device;
use atelier_core::recipe::Recipe;
use atelier_engine::{
    Begin, End, Estimate, Event, Failure, Handle, JobPhase, MeasuredDevice, Peak, Picture, Preview, PreviewOptions, RemoteError, Residency,
    Task, start, start_remembering,
};

use super::handle::WatchedHandle;

/// Longer than anything here takes on the slowest machine: reaching it is a failure.
const LIMIT: Duration = Duration::from_mins(10);

type Moment = Box<dyn Fn(&Event) -> bool + Send>;

#[derive(Default)]
struct Caught {
    events: Mutex<(Vec<Event>, Option<Moment>)>,
    /// Belongs to no job, and comes when it comes.
    residency: Mutex<Residency>,
    arrived: Condvar,
}

/// An engine under test.
pub(crate) struct Engine {
    handle: WatchedHandle,
    caught: Arc<Caught>,
}

/// Events of one job, in order.
pub(crate) struct Said {
    pub(crate) events: Vec<Event>,
}

impl Engine {
    pub(crate) fn start() -> Self {
        Self::start_by(start)
    }

    /// An engine that keeps what it learns in this file.
    pub(crate) fn start_remembering(file: &Path) -> Self {
        Self::start_by(|wake| start_remembering(wake, file))
    }

    fn start_by(start: impl FnOnce(Box<dyn Fn() + Send + Sync>) -> Handle) -> Self {
        let caught = Arc::new(Caught::default());
        let catching = Arc::clone(&caught);
        let wake = move |handle: &Handle| {
            let mut state = catching.events.lock().unwrap();
            while let Some(event) = handle.try_next() {
                if let Event::Residency(residency) = event {
                    *catching.residency.lock().unwrap() = residency;
                    continue;
                }
                let job = event.job();
                let cancel = state.1.as_ref().is_some_and(|moment| moment(&event));
                state.0.push(event);
                if let (true, Some(job)) = (cancel, job) {
                    state.1 = None;
                    handle.cancel(job);
                }
            }
            catching.arrived.notify_all();
        };
        Self { handle: WatchedHandle::start(start, wake), caught }
    }

    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }

    pub(crate) fn run(&self, recipe: &Recipe) -> Said {
        self.run_task(Task::Generate { recipe: Box::new(recipe.clone()), preview: PreviewOptions::Off, shares_steps: false })
    }

    pub(crate) fn run_task(&self, task: Task) -> Said {
        self.handle.submit(task).unwrap();
        Said { events: self.until_ends(1) }
    }

    /// Runs a recipe and cancels it at the first event of which `moment` is true, before the engine
    /// does anything more.
    pub(crate) fn run_until(&self, recipe: &Recipe, moment: impl Fn(&Event) -> bool + Send + 'static) -> Said {
        self.caught.events.lock().unwrap().1 = Some(Box::new(moment));
        self.run(recipe)
    }

    /// The events until this many jobs have ended.
    pub(crate) fn until_ends(&self, ends: usize) -> Vec<Event> {
        let count = |events: &[Event]| events.iter().filter(|event| matches!(event, Event::End { .. })).count();
        self.wait(|events| count(events) >= ends)
    }

    /// The residency, once `enough` holds.
    pub(crate) fn residency(&self, enough: impl Fn(&Residency) -> bool) -> Residency {
        let state = self.caught.events.lock().unwrap();
        let is_so = || enough(&self.caught.residency.lock().unwrap());
        let (state, timeout) = self.caught.arrived.wait_timeout_while(state, LIMIT, |_| !is_so()).unwrap();
        drop(state);
        let residency = self.caught.residency.lock().unwrap().clone();
        assert!(!timeout.timed_out(), "in memory is only {residency:?}");
        residency
    }

    /// The answer to a request for the devices.
    pub(crate) fn devices(&self) -> Vec<Device> {
        let events = self.wait(|events| events.iter().any(|event| matches!(event, Event::Devices(_))));
        events.into_iter().find_map(|event| if let Event::Devices(devices) = event { Some(devices) } else { None }).unwrap()
    }

    /// The estimate of a recipe.
    pub(crate) fn estimate(&self, recipe: &Recipe) -> Result<Estimate, Box<Failure>> {
        self.handle.estimate(recipe.clone()).unwrap();
        let events = self.wait(|events| events.iter().any(|event| matches!(event, Event::Estimated { .. })));
        events
            .into_iter()
            .find_map(|event| if let Event::Estimated { estimate, .. } = event { Some(estimate) } else { None })
            .unwrap()
            .map_err(Box::new)
    }

    /// The result of adding a server: its devices by their names here.
    pub(crate) fn add_server(&self, server: &str) -> Result<Vec<Device>, RemoteError> {
        self.handle.add_server(server.parse().unwrap()).unwrap();
        let events = self.wait(|events| events.iter().any(|event| matches!(event, Event::Server { .. })));
        events.into_iter().find_map(|event| if let Event::Server { added, .. } = event { Some(added) } else { None }).unwrap()
    }

    /// The devices of a measurement, once it has ended.
    pub(crate) fn rates(&self) -> Vec<MeasuredDevice> {
        let ended = |event: &Event| matches!(event, Event::Rates { is_measuring: false, .. });
        let events = self.wait(|events| events.iter().any(ended));
        events
            .into_iter()
            .find_map(|event| if let Event::Rates { devices, is_measuring: false } = event { Some(devices) } else { None })
            .unwrap()
    }

    fn wait(&self, enough: impl Fn(&[Event]) -> bool) -> Vec<Event> {
        let state = self.caught.events.lock().unwrap();
        let (mut state, timeout) = self.caught.arrived.wait_timeout_while(state, LIMIT, |state| !enough(&state.0)).unwrap();
        assert!(!timeout.timed_out(), "the engine said only {:?}", state.0);
        std::mem::take(&mut state.0)
    }
}

impl Said {
    pub(crate) fn end(&self) -> &End {
        let ends: Vec<_> =
            self.events.iter().filter_map(|event| if let Event::End { end, .. } = event { Some(end) } else { None }).collect();
        assert!(ends.len() == 1 && matches!(self.events.last(), Some(Event::End { .. })), "one end, and last: {:?}", self.events);
        ends[0]
    }

    pub(crate) fn begin(&self) -> &Begin {
        match &self.events[0] {
            Event::Begin { begin, .. } => begin,
            other => panic!("a job begins with {other:?}"),
        }
    }

    pub(crate) fn phases(&self) -> Vec<JobPhase> {
        self.events.iter().filter_map(|event| if let Event::Phase { phase, .. } = event { Some(*phase) } else { None }).collect()
    }

    pub(crate) fn previews(&self) -> Vec<&Preview> {
        self.events.iter().filter_map(|event| if let Event::Preview { preview, .. } = event { Some(preview) } else { None }).collect()
    }

    /// By their indices: of devices that share a batch, either may be the first to finish one.
    pub(crate) fn pictures(&self) -> Vec<&Picture> {
        let pictures = self.events.iter().filter_map(|event| if let Event::Picture { picture, .. } = event { Some(picture) } else { None });
        let mut pictures: Vec<&Picture> = pictures.collect();
        pictures.sort_by_key(|picture| picture.info.index);
        pictures
    }

    /// Of each picture, by their indices.
    pub(crate) fn all_pixels(&self) -> Vec<&[u8]> {
        self.pictures().into_iter().map(|picture| picture.image.pixels()).collect()
    }

    /// Peak memory of the job.
    pub(crate) fn peaks(&self) -> &[Peak] {
        let peaks = self.events.iter().find_map(|event| if let Event::Measured { peaks, .. } = event { Some(peaks) } else { None });
        peaks.expect("a job that ran says what it took")
    }

    /// True where the job used memory of a device, beside what models that it does not use have
    /// there.
    pub(crate) fn used(&self, device: &str) -> bool {
        self.peaks().iter().any(|peak| peak.device == device && peak.bytes > peak.others_bytes)
    }

    /// The pixels of the only picture.
    pub(crate) fn pixels(&self) -> &[u8] {
        let pictures = self.pictures();
        assert!(pictures.len() == 1 && matches!(self.end(), End::Done { .. }), "{:?}", self.end());
        pictures[0].image.pixels()
    }

    pub(crate) fn failure(&self) -> &Failure {
        match self.end() {
            End::Failed(failure) => failure,
            other => panic!("it did not fail: {other:?}"),
        }
    }
}
