//! The thread that answers questions while the engine's own is at work.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::super::channel::{EventSender, NextQuery, QueryReceiver};
use super::super::drivers;
use super::super::event::{Event, Failure, LogLevel};
use super::super::ffi;
use super::super::measured::Measured;
use super::super::request::Request;
use super::super::thread::devices_stay;
use super::{Answers, Estimates, Outdated, Unanswered};

/// How long models stay open for the next question: a tokenizer alone takes some 60 MB.
const KEEP_OPEN: Duration = Duration::from_secs(20);

impl Outdated for AtomicBool {
    fn is_outdated(&self) -> bool {
        self.load(Ordering::Relaxed)
    }
}

/// Answers until nobody can ask any more.
pub(crate) fn serve(questions: &QueryReceiver, sender: &EventSender, answers: &Answers, measured: &Measured) {
    let fresh = || Estimates::new(answers.clone(), measured.clone());
    let mut estimates = fresh();
    let mut told = false;
    loop {
        let (request, outdated) = match questions.next_within(estimates.is_open().then_some(KEEP_OPEN)) {
            NextQuery::Asked(request, outdated) => (request, outdated),
            NextQuery::Nothing => {
                let _devices = devices_stay();
                estimates.close();
                continue;
            }
            NextQuery::Over => return,
        };
        match request {
            Request::Estimate(recipe) => {
                let _devices = devices_stay();
                let answered = catch_unwind(AssertUnwindSafe(|| estimates.estimate(&recipe, &ffi::devices(), outdated.as_ref())))
                    .unwrap_or_else(|_| {
                        estimates = fresh();
                        Err(Failure {
                            sentence: "Atelier made a mistake while it looked at this model.".into(),
                            hint: "If it happens again, please report it with the model's name.".into(),
                            ..Failure::default()
                        }
                        .into())
                    });
                let estimate = match answered {
                    Ok(estimate) => Ok(estimate),
                    Err(Unanswered::Failed(failure)) => Err(*failure),
                    // A newer question follows.
                    Err(Unanswered::Outdated) => continue,
                };
                sender.send(Event::Estimated { recipe, estimate });
            }
            Request::ListDevices => {
                if !std::mem::replace(&mut told, true)
                    && let Some(text) = drivers::missing()
                {
                    sender.send(Event::Log { job: None, level: LogLevel::Warn, text });
                }
                sender.send(Event::Devices(ffi::devices()));
            }
            Request::Run { .. }
            | Request::AddServer(_)
            | Request::Unload
            | Request::UnloadModel(_)
            | Request::KeepModel(..)
            | Request::SetReserve(_)
            | Request::Preload(_) => {}
        }
    }
}
