//! Answers to queries, on a thread of their own beside jobs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

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
use atelier_core::format::{GIB, gib_with_tenth};
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
    // As they were told last.
    let mut told: Vec<Device> = Vec::new();
    let mut asked = Instant::now();
    loop {
        let keep_open = || (asked + KEEP_OPEN).saturating_duration_since(Instant::now());
        let (query, outdated) = match queries.next_within(estimates.is_open().then(keep_open)) {
            NextQuery::Query(query, outdated) => (query, outdated),
            NextQuery::Look => {
                let found = devices::list();
                if !looks_alike(&told, &found) {
                    told.clone_from(&found);
                    sender.send(Event::Devices(found));
                }
                continue;
            }
            NextQuery::Timeout => {
                let _devices = devices::lock_list();
                estimates.close();
                continue;
            }
            NextQuery::Closed => return,
        };
        asked = Instant::now();
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
                told = devices::list();
                sender.send(Event::Devices(told.clone()));
            }
        }
    }
}

/// True where a person sees no difference between two lists of devices: memory is shown in tenths
/// of a GiB. A value that trembles about a border between two digits is no difference.
fn looks_alike(before: &[Device], now: &[Device]) -> bool {
    const HALF_TENTH: u64 = GIB / 20;
    let is_alike = |before: &Device, now: &Device| {
        let without_memory = |it: &Device| Device { memory_free_bytes: 0, memory_allocated_bytes: 0, ..it.clone() };
        let is_seen = |before: u64, now: u64| before.abs_diff(now) >= HALF_TENTH && gib_with_tenth(before) != gib_with_tenth(now);
        let memory =
            |it: &Device| [it.memory_free_bytes, it.memory_allocated_bytes, it.memory_free_bytes.saturating_add(it.memory_allocated_bytes)];
        without_memory(before) == without_memory(now)
            && !memory(before).into_iter().zip(memory(now)).any(|(before, now)| is_seen(before, now))
    };
    before.len() == now.len() && before.iter().zip(now).all(|(before, now)| is_alike(before, now))
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

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::device::DeviceKind;

    #[test]
    fn memory_differs_where_another_digit_is_shown_and_not_where_it_trembles() {
        let with_free = |bytes: u64| {
            vec![Device {
                name: "CPU".into(),
                description: "A processor".into(),
                kind: DeviceKind::Cpu,
                gpu: None,
                memory_total_bytes: 16 * GIB,
                memory_free_bytes: bytes,
                memory_allocated_bytes: 0,
            }]
        };
        // 4.349 and 4.351 GiB: two digits, and next to nothing.
        let (low, high) = (GIB * 4349 / 1000, GIB * 4351 / 1000);
        assert!(gib_with_tenth(low) != gib_with_tenth(high) && looks_alike(&with_free(low), &with_free(high)));
        assert!(looks_alike(&with_free(GIB * 431 / 100), &with_free(GIB * 434 / 100)), "the same digit");
        assert!(!looks_alike(&with_free(low), &with_free(low + GIB / 10)));
        assert!(!looks_alike(&[], &with_free(low)), "nothing was told before");
        let other = [Device { description: "Another".into(), ..with_free(low)[0].clone() }];
        assert!(!looks_alike(&with_free(low), &other));
    }
}
