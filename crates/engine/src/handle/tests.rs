use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::*;
use crate::engine_end::NextQuery;
use crate::event_mailbox::MAX_LOG_LINES;
use crate::protocol::{End, LogLevel, Preview, PreviewOptions, Step};
use atelier_core::recipe::{Recipe, Rgb8};

fn task() -> Task {
    Task::Generate { recipe: Box::new(Recipe::default()), preview: PreviewOptions::Off }
}

fn preview(job: JobId, step: u32) -> Event {
    let image = Arc::new(Rgb8::new(1, 1, vec![0; 3]).unwrap());
    Event::Preview { job, preview: Preview { picture: 0, step, image } }
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
    let sender = std::thread::spawn(move || end.send(Event::Devices(Vec::new())));
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
