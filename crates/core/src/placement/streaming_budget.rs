//! Budgets with which streaming the diffusion weights costs little time: the bus is quick enough
//! beside what is computed.

use super::error::PlacementError;
use super::ranking::RankedPlacement;
use super::request::PlanRequest;
use super::value::{Assignment, Placement, WeightLocation};
use crate::format::{GIB, memory_size, seconds};
use crate::module::Module;
use atelier_language::tr;

/// Factors of time that are offered: as quick as with everything on the device, as far as anybody
/// notices; and a quarter longer.
const FACTORS: [f64; 2] = [1.05, 1.25];
/// Budgets that are tried, between the least and what is used without one.
const STEPS: u32 = 24;
/// Bytes that an offer must free.
const WORTH_BYTES: u64 = GIB / 2;

/// A budget with which a picture takes a known time.
#[derive(Clone, Debug, PartialEq)]
pub struct BudgetOffer {
    /// Whole name of the device.
    pub device: String,
    /// Its budget.
    pub gib: f64,
    /// The placement with this budget, and weights in RAM.
    pub placement: Placement,
    /// Seconds of a picture, the model being in memory.
    pub secs: f64,
    /// The same with all that the device has.
    pub all_secs: f64,
    /// Bytes of the device that are not used any more at the peak.
    pub freed_bytes: u64,
}

impl BudgetOffer {
    /// A sentence for a person.
    #[must_use]
    pub fn words(&self) -> String {
        let Self { device, gib, secs, all_secs, freed_bytes, .. } = self;
        let time = match (seconds(*secs), seconds(*all_secs)) {
            (with, all) if with == all => tr!("core-a-picture-as-with", with),
            (with, all) => tr!("core-a-picture-with-all", with, all),
        };
        tr!("core-gib-of-more-stay", gib = format!("{gib:.1}"), device, time, freed_bytes = memory_size(*freed_bytes))
    }
}

/// Budgets of the device of the diffusion module with which its weights are streamed from RAM, the
/// quickest first, each with less memory than the one before. Empty where it runs on the processor,
/// times are not known, or streaming frees too little.
pub fn streaming_budgets(request: &PlanRequest<'_>, placement: &Placement) -> Result<Vec<BudgetOffer>, PlacementError> {
    let runs_on = placement.assignment(Module::Diffusion).runs_on.clone();
    let is_ram = |name: &str| request.capacities.iter().any(|it| it.is_ram() && it.device.name == name);
    let ram = request.capacities.iter().find(|it| it.is_ram()).map(|it| it.device.name.clone());
    let needs = request.needs.modules.get(&Module::Diffusion).and_then(|needs| Some((needs, needs.cut_bytes()?)));
    let (Some(ram), Some((_, least_bytes))) = (ram.filter(|_| !is_ram(&runs_on)), needs) else { return Ok(Vec::new()) };
    let with_budget = |gib: f64| {
        let mut with = placement.clone();
        let weights = if gib > 0.0 { ram.clone() } else { runs_on.clone() };
        with.set(Module::Diffusion, Assignment { runs_on: runs_on.clone(), weights: WeightLocation::Device(weights) });
        // The budget that is offered counts, not one that the module has alone.
        with.budgets = with.budgets.with(&runs_on, gib).with_module(Module::Diffusion, 0.0);
        if gib > 0.0 {
            with.stream_layers.insert(Module::Diffusion);
        } else {
            with.stream_layers.remove(Module::Diffusion);
        }
        RankedPlacement::of(with, request)
    };
    let now = RankedPlacement::of(placement.clone(), request)?;
    let secs = |it: &RankedPlacement| it.secs().unwrap_or(f64::INFINITY);
    let all = [with_budget(0.0)?, now].into_iter().flatten().min_by(|a, b| secs(a).total_cmp(&secs(b)));
    let Some((all, all_secs)) = all.and_then(|it| Some((it.clone(), it.secs()?))) else { return Ok(Vec::new()) };
    let peak = |it: &RankedPlacement| it.prediction.device(&runs_on).map_or(0, |device| device.peak().1.total_bytes());
    let (least, most) = (gib(least_bytes), gib(peak(&all)));
    let mut offers: Vec<BudgetOffer> = Vec::new();
    for step in 0..STEPS {
        // Tenths are enough for anybody, and what is written is what is meant.
        let budget = ((least + (most - least) * f64::from(step) / f64::from(STEPS)) * 10.0).ceil() / 10.0;
        let Some((it, secs)) = with_budget(budget)?.and_then(|it| Some((it.clone(), it.secs()?))) else { continue };
        let freed_bytes = peak(&all).saturating_sub(peak(&it));
        // Budgets rise, so that of each factor the first is the least.
        let factor = FACTORS.iter().position(|factor| secs <= factor * all_secs);
        if let Some(factor) = factor
            && freed_bytes >= WORTH_BYTES
            && offers.iter().all(|offer| offer.secs > FACTORS[factor] * all_secs)
        {
            let runs_on = runs_on.clone();
            offers.push(BudgetOffer { device: runs_on, gib: budget, placement: it.placement, secs, all_secs, freed_bytes });
        }
    }
    offers.reverse();
    offers.retain(|offer| offer.placement != *placement);
    Ok(offers)
}

fn gib(bytes: u64) -> f64 {
    bytes as f64 / GIB as f64
}

#[cfg(test)]
mod tests {
    use super::super::planner::tests::{Scenario, scenario};
    use super::*;
    use crate::time::TimePrediction;

    /// Twenty steps of two graphs that take this many seconds together, on a card behind a bus of
    /// this many GiB a second.
    fn streamed(secs: f64, bus: f64) -> Scenario {
        let mut scenario = scenario(320, &[240]).timed(&[0.01, 20.0 / secs]);
        scenario.needs.modules.retain(|module, _| *module == Module::Diffusion);
        let (work, rates) = scenario.time.as_mut().unwrap();
        work.modules.retain(|it| it.module == Module::Diffusion);
        for it in &mut work.modules {
            it.repetitions = 20;
        }
        rates.devices.get_mut("CUDA0").unwrap().copy_to_per_sec = bus * GIB as f64;
        scenario
    }

    fn offers(scenario: &Scenario) -> Vec<BudgetOffer> {
        let all_on = Placement::all_on("CUDA0");
        let offers = streaming_budgets(&scenario.request(), &all_on).unwrap();
        for offer in &offers {
            let it = RankedPlacement::of(offer.placement.clone(), &scenario.request()).unwrap().unwrap();
            assert_eq!(it.time.as_ref().map(TimePrediction::loaded_secs), Some(offer.secs));
            assert!(it.placement.stream_layers.contains(Module::Diffusion) && it.placement.assignment(Module::Diffusion).weights.is("CPU"));
            assert_eq!(it.placement.budgets.to_string(), format!("CUDA0={}", offer.gib));
        }
        offers
    }

    #[test]
    fn behind_a_quick_bus_little_memory_is_as_quick_as_all_of_it() {
        // 6 GiB of weights in 40 graphs: 240 GiB, less what stays.
        let quick = offers(&streamed(1000.0, 10.0));
        assert_eq!(quick.len(), 1, "{quick:?}");
        assert!(quick[0].secs <= 1.05 * quick[0].all_secs && quick[0].freed_bytes > 4 * GIB, "{quick:?}");
        assert!(
            quick[0].words().starts_with("1.8 GiB of CUDA0: 17 min") && quick[0].words().ends_with("stay free"),
            "{}",
            quick[0].words()
        );
    }

    #[test]
    fn behind_a_slow_bus_more_must_stay_and_behind_a_slower_one_all_of_it() {
        let middle = offers(&streamed(60.0, 10.0));
        assert!(middle.iter().all(|offer| offer.secs <= 1.25 * offer.all_secs) && !middle.is_empty(), "{middle:?}");
        assert!(middle.is_sorted_by(|a, b| a.secs <= b.secs && a.gib >= b.gib), "{middle:?}");
        let least = |offers: &[BudgetOffer]| offers.iter().map(|offer| offer.freed_bytes).max().unwrap_or(0);
        assert!(least(&middle) < least(&offers(&streamed(1000.0, 10.0))));
        assert_eq!(offers(&streamed(10.0, 0.1)), []);
    }

    #[test]
    fn without_times_or_on_the_processor_nothing_is_offered() {
        let mut unknown = streamed(1000.0, 10.0);
        assert_eq!(streaming_budgets(&unknown.request(), &Placement::all_on("CPU")), Ok(Vec::new()));
        unknown.time = None;
        assert_eq!(offers(&unknown), []);
    }
}
