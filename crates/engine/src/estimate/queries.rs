//! Answers to queries, on a thread of their own beside jobs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::alternatives::alternatives;
use super::cache::EstimateCache;
use super::error::{EstimateError, Outdated};
use super::estimates::Estimates;
use super::passes::picture_passes;
use super::request::EstimateRequest;
use crate::engine_end::{EventSender, NextQuery, QueryReceiver};
use crate::protocol::{Estimate, Event, Failure, LogLevel, Query};
use crate::rates::RateStore;
use crate::stores::history::History;
use crate::{devices, drivers};
use atelier_core::device::Device;
use atelier_core::placement::{Module, Needs};
use atelier_core::recipe::Recipe;
use atelier_core::time::PictureWork;
use atelier_language::tr;

/// Time for which models stay open for the next query: a tokenizer alone takes some 60 MB.
const KEEP_OPEN: Duration = Duration::from_secs(20);

/// Answers queries until the handle is gone.
pub(crate) fn answer_queries(queries: &QueryReceiver, sender: &EventSender, cache: &EstimateCache, history: &History, rates: &RateStore) {
    let fresh = || Estimates::new(cache.clone());
    let mut estimates = fresh();
    let mut is_first_list = true;
    loop {
        let (query, outdated) = match queries.next_within(estimates.is_open().then_some(KEEP_OPEN)) {
            NextQuery::Query(query, outdated) => (query, outdated),
            NextQuery::Timeout => {
                let _devices = devices::lock_list();
                estimates.close();
                continue;
            }
            NextQuery::Closed => return,
        };
        match query {
            Query::Estimate(recipe) => {
                let _devices = devices::lock_list();
                let answer = catch_unwind(AssertUnwindSafe(|| {
                    estimate(&mut estimates, history, rates, &recipe, &devices::list(), outdated.as_ref())
                }))
                .unwrap_or_else(|_| {
                    estimates = fresh();
                    let failure = Failure::new(tr!("engine-internal-error-while-reading"), tr!("engine-if-this-happens-again"));
                    Err(failure.into())
                });
                let estimate = match answer {
                    Ok(estimate) => Ok(estimate),
                    Err(EstimateError::Failed(failure)) => Err(*failure),
                    // The newer query is answered.
                    Err(EstimateError::Outdated) => continue,
                };
                sender.send(Event::Estimated { recipe, estimate });
            }
            Query::Devices => {
                if std::mem::replace(&mut is_first_list, false)
                    && let Some(text) = drivers::missing()
                {
                    sender.send(Event::Log { job: None, level: LogLevel::Warn, text });
                }
                sender.send(Event::Devices(devices::list()));
            }
        }
    }
}

/// Memory and work of a recipe, estimated now where they are not known; `None` where they cannot
/// be, or `cancel` is set. The caller keeps devices from being added.
pub(crate) fn needs_and_work(
    cache: &EstimateCache,
    recipe: &Recipe,
    devices: &[Device],
    cancel: &AtomicBool,
) -> Option<(Needs, PictureWork)> {
    let find = || {
        let mut estimates = Estimates::new(cache.clone());
        let (request, placement) = EstimateRequest::resolve(&mut estimates.headers, recipe, devices)?;
        let mut needs = estimates.needs(&request, &placement, devices, cancel)?;
        let passes = picture_passes(&mut estimates.headers, recipe)?;
        needs.modules.extend(estimates.upscaler_needs(&passes, &placement, cancel)?.map(|upscaler| (Module::Upscaler, upscaler)));
        Ok::<_, EstimateError>((needs, estimates.work(&passes, &placement, devices, cancel)?))
    };
    catch_unwind(AssertUnwindSafe(find)).ok()?.ok()
}

/// Memory and work of a recipe, and memory of variants of it.
fn estimate(
    estimates: &mut Estimates,
    history: &History,
    rates: &RateStore,
    recipe: &Recipe,
    devices: &[Device],
    outdated: &dyn Outdated,
) -> Result<Estimate, EstimateError> {
    let (request, placement) = EstimateRequest::resolve(&mut estimates.headers, recipe, devices)?;
    let mut needs = estimates.needs(&request, &placement, devices, outdated)?;
    let mut alternatives = alternatives(estimates, &request, &needs, &placement, devices, outdated)?;
    let passes = picture_passes(&mut estimates.headers, recipe)?;
    if let Some(upscaler) = estimates.upscaler_needs(&passes, &placement, outdated)? {
        // A tile of a smaller picture takes as much.
        for needs in alternatives.iter_mut().map(|it| &mut it.needs).chain([&mut needs]) {
            needs.modules.insert(Module::Upscaler, upscaler.clone());
        }
    }
    let work = estimates.work(&passes, &placement, devices, outdated)?;
    Ok(Estimate {
        needs,
        alternatives,
        slack_bytes: history.overhead(devices),
        work,
        rates: rates.machine_rates(devices, recipe.threads),
        corrections: rates.corrections(&request.recipe.files, recipe, devices),
        trials: rates.trials(&request.recipe.files, recipe, devices),
        ignores_references: request.ignores_references,
        reads_control: request.reads_control,
    })
}
