use std::io::{self, PipeWriter};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;

use super::*;
use crate::engine_end::NextQuery;
use crate::event_mailbox::MAX_LOG_LINES;
use crate::protocol::{End, LogLevel, Picture, Preview, PreviewOptions, Step, wire};
use atelier_core::recipe::{PictureInfo, Recipe, Rgb8, Seed};

/// Longer than anything here takes on the slowest machine.
const LONG: Duration = Duration::from_mins(1);

fn task() -> Task {
    Task::Generate { recipe: Box::new(Recipe::default()), preview: PreviewOptions::Off, shares_steps: false }
}

fn preview(job: JobId, step: u32) -> Event {
    let image = Arc::new(Rgb8::new(1, 1, vec![0; 3]).unwrap());
    Event::Preview { job, preview: Preview { picture: 0, step, place: None, image } }
}

fn step(job: JobId, done: u32) -> Event {
    Event::Step { job, step: Step { picture: 0, done, total: 9, fraction: 0.0, step_secs: 0.0 } }
}

fn drain(handle: &Handle) -> Vec<Event> {
    std::iter::from_fn(|| handle.try_next()).collect()
}

#[test]
fn a_waiting_job_that_is_cancelled_ends_once_and_never_starts() {
    let (handle, end) = channel(|| {});
    let job = handle.submit(task()).unwrap();
    handle.cancel(job);
    handle.cancel(job);
    assert!(matches!(end.next(), Some(Request::Job { job: it, .. }) if it == job));
    assert!(end.start(job).is_none());
    end.send(Event::End { job, end: End::Cancelled });
    assert_eq!(drain(&handle), [Event::End { job, end: End::Cancelled }]);
}

#[test]
fn a_running_job_sees_its_flag_and_ends_once() {
    let (handle, end) = channel(|| {});
    let job = handle.submit(task()).unwrap();
    let flag = end.start(job).unwrap();
    handle.cancel(job);
    assert!(flag.load(Ordering::Relaxed));
    assert!(drain(&handle).is_empty());
    end.send(Event::End { job, end: End::Cancelled });
    drop(end);
    assert_eq!(drain(&handle).len(), 1);
}

#[test]
fn a_slow_reader_gets_the_newest_preview_and_step_and_every_end() {
    let (handle, end) = channel(|| {});
    let job = handle.submit(task()).unwrap();
    for n in 1..=9 {
        end.send(step(job, n));
        end.send(preview(job, n));
    }
    for n in 0..2 * MAX_LOG_LINES {
        end.send(Event::Log { job: None, level: LogLevel::Info, text: n.to_string() });
    }
    let events = drain(&handle);
    assert_eq!(events[0], preview(job, 9));
    assert_eq!(events[1], step(job, 9));
    assert_eq!(events.len(), 2 + MAX_LOG_LINES);
    assert!(matches!(&events[2], Event::Log { text, .. } if *text == MAX_LOG_LINES.to_string()));
}

#[test]
fn pictures_of_a_job_that_form_beside_each_other_keep_a_preview_each_until_they_are_finished() {
    let (handle, end) = channel(|| {});
    let job = handle.submit(task()).unwrap();
    let of = |picture: u32, step: u32| {
        let Event::Preview { job, preview } = preview(job, step) else { panic!("no preview") };
        Event::Preview { job, preview: Preview { picture, ..preview } }
    };
    for step in 1..=3 {
        end.send(of(0, step));
        end.send(of(1, step));
    }
    let image = Arc::new(Rgb8::new(1, 1, vec![0; 3]).unwrap());
    let info = PictureInfo { index: 0, seed: Some(Seed(1)), cpu_math: None, merged_loras: false };
    end.send(Event::Picture { job, picture: Picture { info, notes: Vec::new(), image } });
    let events = drain(&handle);
    assert!(matches!(&events[..], [first, Event::Picture { .. }] if *first == of(1, 3)), "{events:?}");
}

#[test]
fn an_engine_that_dies_fails_what_is_open() {
    let (handle, end) = channel(|| {});
    let job = handle.submit(task()).unwrap();
    drop(end);
    assert!(matches!(drain(&handle)[..], [Event::End { job: it, end: End::Failed(_) }] if it == job));
    assert_eq!(handle.submit(task()), Err(Busy::Gone));
}

#[test]
fn a_reader_that_waits_is_woken() {
    let (handle, end) = channel(|| {});
    let sender = thread::spawn(move || end.send(Event::Devices(Vec::new())));
    assert_eq!(handle.next_within(Duration::from_secs(30)), Some(Event::Devices(Vec::new())));
    sender.join().unwrap();
}

#[test]
fn a_query_receiver_reports_a_query_a_timeout_and_the_end() {
    let (handle, end) = channel(|| {});
    let queries = end.queries();
    let next = || queries.next_within(Some(Duration::ZERO));
    assert!(matches!(next(), NextQuery::Timeout));
    handle.estimate(Recipe::default()).unwrap();
    assert!(matches!(next(), NextQuery::Query(Query::Estimate(_), _)));
    assert!(matches!(next(), NextQuery::Timeout));
    drop(handle);
    assert!(matches!(next(), NextQuery::Closed));
}

/// Sends requests into a pipe.
struct PipeSender(Mutex<PipeWriter>);

impl RequestSender for PipeSender {
    fn send(&self, request: Request) -> Result<(), Busy> {
        wire::write(&mut *self.0.lock(), request).map_err(|_| Busy::Gone)
    }
}

#[test]
fn an_engine_behind_two_pipes_is_like_one_in_the_process() {
    let (mut requests, request_writer) = io::pipe().unwrap();
    let (mut events, event_writer) = io::pipe().unwrap();
    let event_writer = Mutex::new(event_writer);
    let dispatcher = Dispatcher::new(move |event| wire::write(&mut *event_writer.lock(), event).unwrap());
    let end = EngineEnd::new(Arc::clone(&dispatcher));
    let receiving = thread::spawn(move || {
        while let Some(request) = wire::read(&mut requests).unwrap() {
            dispatcher.receive(request).unwrap();
        }
        dispatcher.close();
    });
    let mailbox = Arc::new(EventMailbox::new(|| {}));
    let handle = Handle::new(PipeSender(Mutex::new(request_writer)), Arc::clone(&mailbox));
    let delivering = thread::spawn(move || {
        while let Some(event) = wire::read(&mut events).unwrap() {
            mailbox.deliver(event);
        }
    });

    let (running, waiting) = (handle.submit(task()).unwrap(), handle.submit(task()).unwrap());
    assert!(matches!(end.next(), Some(Request::Job { job, .. }) if job == running));
    let cancel = end.start(running).unwrap();
    end.send(preview(running, 1));
    assert_eq!(handle.next_within(LONG), Some(preview(running, 1)));
    // One that waits ends without the engine's thread.
    handle.cancel(waiting);
    assert_eq!(handle.next_within(LONG), Some(Event::End { job: waiting, end: End::Cancelled }));
    // The flag of one that runs is set while the engine's thread is busy.
    handle.cancel(running);
    handle.estimate(Recipe::default()).unwrap();
    assert!(matches!(end.queries().next_within(Some(LONG)), NextQuery::Query(Query::Estimate(_), _)));
    assert!(cancel.load(Ordering::Relaxed), "requests arrive in order");
    end.send(Event::End { job: running, end: End::Cancelled });
    assert_eq!(handle.next_within(LONG), Some(Event::End { job: running, end: End::Cancelled }));

    drop(handle);
    assert!(matches!(end.next(), Some(Request::Job { job, .. }) if job == waiting) && end.start(waiting).is_none());
    assert!(end.next().is_none());
    receiving.join().unwrap();
    drop(end);
    delivering.join().unwrap();
}

#[test]
fn a_newer_estimate_outdates_the_one_that_is_being_made() {
    let (handle, end) = channel(|| {});
    let queries = end.queries();
    handle.estimate(Recipe::default()).unwrap();
    let (_, outdated) = queries.next().unwrap();
    assert!(!outdated.load(Ordering::Relaxed));
    let newest = Recipe { steps: 9, ..Recipe::default() };
    handle.estimate(Recipe::default()).unwrap();
    handle.estimate(newest.clone()).unwrap();
    assert!(outdated.load(Ordering::Relaxed));
    assert!(matches!(queries.next(), Some((Query::Estimate(recipe), _)) if *recipe == newest));
    assert!(matches!(queries.next_within(Some(Duration::ZERO)), NextQuery::Timeout));
}

#[test]
fn devices_are_listed_after_the_changes_before_unless_a_job_runs() {
    let (handle, end) = channel(|| {});
    let queries = end.queries();
    let is_listed = || matches!(queries.next_within(Some(Duration::ZERO)), NextQuery::Query(Query::Devices, _));
    handle.unload().unwrap();
    handle.list_devices().unwrap();
    assert!(!is_listed());
    end.finish_unload();
    assert!(is_listed());
    handle.unload().unwrap();
    handle.list_devices().unwrap();
    let job = handle.submit(task()).unwrap();
    assert!(!is_listed());
    end.start(job).unwrap();
    assert!(is_listed());
}

#[test]
fn a_preview_after_the_end_of_its_job_is_dropped() {
    let (handle, end) = channel(|| {});
    let job = handle.submit(task()).unwrap();
    end.send(preview(job, 1));
    end.send(Event::End { job, end: End::Cancelled });
    end.send(preview(job, 2));
    assert_eq!(drain(&handle), [Event::End { job, end: End::Cancelled }]);
}

#[test]
fn a_job_outside_of_the_engine_has_its_readers_and_ends_once() {
    let (handle, end) = channel(|| {});
    let mut announced = None;
    let outside = handle.open_outside(|job| announced = Some(job));
    let job = outside.id();
    assert_eq!(announced, Some(job));
    assert!(handle.submit(task()).unwrap() != job, "its number is nobody else's");
    outside.send(step(job, 1));
    outside.send(preview(job, 1));
    assert!(!outside.is_cancelled());
    handle.cancel(job);
    assert!(outside.is_cancelled(), "the engine is not asked");
    assert!(matches!(end.next(), Some(Request::Job { .. })));
    outside.end(End::Cancelled);
    handle.cancel(job);
    // A preview is dropped with the end of its job.
    assert_eq!(drain(&handle), [step(job, 1), Event::End { job, end: End::Cancelled }]);
    let dropped = handle.open_outside(|_| {});
    let job = dropped.id();
    drop(dropped);
    assert!(matches!(&drain(&handle)[..], [Event::End { job: of, end: End::Failed(_) }] if *of == job), "its thread has died");
}
