use proptest::prelude::*;

use super::super::planner::tests::{Scenario, any_scenario, scenario};
use super::super::request::Pins;
use super::super::{Assignment, Phase};
use super::*;
use crate::format::GIB;

/// The texts of backend, params backend and budgets, and the note.
fn of(scenario: &Scenario, in_use: Option<&Placement>) -> (String, String, String, String) {
    let it = automatic(&scenario.request(), in_use).unwrap().unwrap();
    let text = it.placement.text();
    (text.backend, text.params_backend, text.max_vram, it.note.unwrap_or_default())
}

fn secs(scenario: &Scenario, no_pins: &Pins) -> Option<f64> {
    let request = PlanRequest { pins: no_pins, ..scenario.request() };
    let it = automatic(&request, None).unwrap()?;
    RankedPlacement::of(it.placement, &request).unwrap().unwrap().secs()
}

#[test]
fn the_quickest_placement_that_fits_is_taken_and_a_note_says_what_it_saves() {
    // 1, 2 and 4 s of a picture at full speed.
    let (backend, params, _, note) = of(&scenario(320, &[240, 80]).timed(&[0.1, 0.5, 1.0]), None);
    assert_eq!((backend.as_str(), params.as_str()), ("all=CUDA0,vae=CUDA1", ""));
    assert_eq!(note, "Placed automatically: VAE on CUDA1 saves 4 s.");
    let (backend, _, _, note) = of(&scenario(320, &[240]).timed(&[0.1, 1.0]), None);
    assert_eq!((backend.as_str(), note.as_str()), ("all=CUDA0", ""), "what anyone expects needs no words");
}

#[test]
fn where_the_device_is_too_small_weights_wait_in_ram() {
    let (backend, params, _, note) = of(&scenario(320, &[120]), None);
    assert_eq!((backend.as_str(), params.as_str()), ("all=CUDA0", "diffusion=CPU,te=CPU"));
    assert_eq!(note, "Placed automatically: weights of the diffusion module wait in RAM; weights of the text encoder wait in RAM.");
    // The same with times: copying 6 GiB at 5 GiB a second is quicker than the processor.
    let (backend, params, ..) = of(&scenario(320, &[120]).timed(&[0.1, 1.0]), None);
    assert_eq!((backend.as_str(), params.as_str()), ("all=CUDA0", "diffusion=CPU,te=CPU"));
    assert_eq!(automatic(&scenario(10, &[10]).request(), None), Ok(None));
}

#[test]
fn without_rates_what_fits_as_it_always_was_stays() {
    let mut scenario = scenario(320, &[240, 240]).timed(&[0.1, 0.5, 1.0]);
    scenario.time.as_mut().unwrap().1.devices.remove("CUDA0");
    assert_eq!(of(&scenario, None).0, "all=CUDA0", "the others may be slower than it");
}

#[test]
fn a_placement_in_use_stays_unless_another_saves_a_tenth() {
    let mut in_use = Placement::all_on("CUDA0");
    in_use.set(Module::Vae, Assignment::at("CUDA1"));
    let speeds = |second| scenario(320, &[240, 240]).timed(&[0.1, 1.0, second]);
    assert_eq!(of(&speeds(1.3), None).0, "all=CUDA0,diffusion=CUDA1,te=CUDA1,vae=CUDA1");
    // 3 + 4 / 1.3 s in use; 7 / 1.3 s would save 11 %, 7 / 1.2 s 8 %.
    assert_eq!(of(&speeds(1.3), Some(&in_use)).0, "all=CUDA0,diffusion=CUDA1,te=CUDA1,vae=CUDA1");
    assert_eq!(of(&speeds(1.2), Some(&in_use)).0, "all=CUDA0,vae=CUDA1");
    // One that does not fit any more, or whose device is gone, does not stay.
    assert_eq!(of(&scenario(320, &[240, 40]).timed(&[0.1, 1.0, 1.0]), Some(&in_use)).0, "all=CUDA0");
    assert_eq!(of(&scenario(320, &[240]).timed(&[0.1, 1.0]), Some(&in_use)).0, "all=CUDA0");
}

#[test]
fn what_streaming_keeps_on_the_device_is_counted() {
    // Twenty evaluations. In pieces, all weights would be copied twenty times; with what stays, far
    // less.
    let mut streamed = scenario(320, &[100]).timed(&[0.02, 1.0]);
    streamed.needs.modules.retain(|module, _| *module == Module::Diffusion);
    let needs = streamed.needs.modules.get_mut(&Module::Diffusion).unwrap();
    needs.compute_bytes = [(Phase::Denoise, 4 * GIB + GIB / 2)].into();
    for it in &mut streamed.time.as_mut().unwrap().0.modules {
        it.repetitions = 20;
    }
    let all = ranked(&streamed.request()).unwrap();
    assert!(all.len() >= 2 && all.iter().is_sorted_by(|a, b| a.secs() <= b.secs()), "{all:?}");
    let first = &all[0].placement;
    assert!(first.stream_layers.contains(Module::Diffusion) && first.assignment(Module::Diffusion).weights.is("CPU"), "{first:?}");
    let (_, params, _, note) = of(&streamed, None);
    assert_eq!((params.as_str(), note.as_str()), ("diffusion=CPU", "Placed automatically: diffusion streamed from RAM to CUDA0."));
}

proptest! {
    #[test]
    fn what_is_taken_fits_and_nothing_that_was_compared_is_quicker(
        scenario in any_scenario(),
        speeds in proptest::collection::vec(0.01..4.0, 4),
    ) {
        let (scenario, no_pins) = (scenario.timed(&speeds), Pins::new());
        let request = PlanRequest { pins: &no_pins, ..scenario.request() };
        let all = ranked(&request).unwrap();
        prop_assert!(all.iter().all(|it| it.prediction.fits()));
        match automatic(&request, None).unwrap() {
            Some(it) => {
                let it = RankedPlacement::of(it.placement, &request).unwrap();
                let secs = it.and_then(|it| it.secs());
                prop_assert!(secs.is_some() && all.iter().all(|other| secs <= other.secs()), "{:?}", secs);
            }
            None => prop_assert!(all.is_empty()),
        }
    }

    #[test]
    fn more_memory_or_a_faster_device_never_makes_what_is_taken_slower(
        scenario in any_scenario(),
        speeds in proptest::collection::vec(0.01..4.0, 4),
        which in any::<prop::sample::Index>(),
        more in 1..20u64,
        faster in 1.0..10.0,
    ) {
        let at = which.index(scenario.capacities.len());
        let (slow, no_pins) = (scenario.timed(&speeds), Pins::new());
        let mut richer = slow.clone();
        let device = &mut richer.capacities[at].device;
        device.memory_total_bytes += more * GIB / 3;
        device.memory_free_bytes += more * GIB / 3;
        let mut quicker = slow.clone();
        let name = slow.capacities[at].device.name.clone();
        for rate in &mut quicker.time.as_mut().unwrap().1.devices.get_mut(&name).unwrap().classes {
            rate.per_sec *= faster;
        }
        if let Some(before) = secs(&slow, &no_pins) {
            for after in [secs(&richer, &no_pins), secs(&quicker, &no_pins)] {
                // The planner counts in hundredths of a second.
                prop_assert!(after.is_some_and(|after| after <= before + 0.1), "{:?} after {}", after, before);
            }
        }
    }
}
