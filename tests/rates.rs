//! Devices are measured beside everything else, and pictures correct what is predicted.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use atelier_core::placement::PhaseKind;
use atelier_core::recipe::{PlacementText, Recipe};
use atelier_engine::{End, Event, MeasureDevices};
use support::engine::Engine;
use support::recipe;

fn cpu(again: bool) -> MeasureDevices {
    MeasureDevices { names: vec!["CPU".into()], again, threads: Some(1) }
}

#[test]
fn a_measurement_gives_way_to_a_picture_and_goes_on_after_it() {
    let engine = Engine::start();
    engine.handle().measure(Some(cpu(true))).unwrap();
    let said = engine.run(&recipe());
    assert!(matches!(said.end(), End::Done { .. }), "{:?}", said.end());
    let has_ended = |event: &Event| matches!(event, Event::Rates { is_measuring: false, .. });
    assert!(!said.events.iter().any(has_ended), "the picture does not wait for it");
    let devices = engine.rates();
    assert_eq!(devices.len(), 1);
    assert!(devices[0].measured.as_ref().unwrap().rates.is_complete(), "{devices:?}");

    engine.handle().measure(Some(cpu(true))).unwrap();
    engine.handle().measure(None).unwrap();
    assert_eq!(engine.rates(), [], "stopped");
}

#[test]
fn a_picture_that_nobody_estimated_corrects_the_prediction_too() {
    let engine = Engine::start();
    engine.handle().measure(Some(cpu(true))).unwrap();
    engine.rates();
    let placement = PlacementText { backend: "cpu".into(), ..PlacementText::default() };
    let recipe = Recipe { placement, ..recipe() };
    let said = engine.run(&recipe);
    assert!(matches!(said.end(), End::Done { .. }), "{:?}", said.end());
    let corrected = engine.estimate(&recipe).unwrap().corrections;
    assert!(corrected.0.iter().any(|it| it.device == "CPU" && it.phase == PhaseKind::Denoising), "{corrected:?}");
}

#[test]
fn rates_and_corrections_are_there_the_next_time_and_a_broken_file_costs_only_them() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("measured.json");
    let placement = PlacementText { backend: "cpu".into(), ..PlacementText::default() };
    let recipe = Recipe { placement, ..recipe() };
    let (measured, corrected) = {
        let engine = Engine::start_remembering(&file);
        engine.handle().measure(Some(cpu(false))).unwrap();
        let measured = engine.rates();
        let estimate = engine.estimate(&recipe).unwrap();
        assert_eq!(estimate.rates.devices["CPU"], measured[0].measured.as_ref().unwrap().rates);
        assert_eq!(estimate.corrections.0, []);
        engine.run(&recipe);
        (measured, engine.estimate(&recipe).unwrap().corrections)
    };
    assert!(corrected.0.iter().any(|it| it.device == "CPU" && it.phase == PhaseKind::Denoising), "{corrected:?}");

    let engine = Engine::start_remembering(&file);
    engine.handle().measure(Some(cpu(false))).unwrap();
    let [before, again] =
        [measured, engine.rates()].map(|devices| devices.into_iter().map(|it| it.measured.unwrap().secs).collect::<Vec<_>>());
    assert!(before.len() == 1 && (before[0] - again[0]).abs() < 1e-6, "measured again: {before:?} {again:?}");
    assert_eq!(engine.estimate(&recipe).unwrap().corrections.0.len(), corrected.0.len());
    drop(engine);

    std::fs::write(home.path().join("device-rates.json"), "{").unwrap();
    let engine = Engine::start_remembering(&file);
    let estimate = engine.estimate(&recipe).unwrap();
    assert!(estimate.rates.devices.is_empty() && estimate.corrections.0.is_empty());
    assert!(matches!(engine.run(&recipe).end(), End::Done { .. }));
}
