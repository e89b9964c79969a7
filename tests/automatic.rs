//! Recipes that name no device get the quickest placement that fits, and those that name one keep
//! it.
//!
//! The devices belong to the process: `GPU0`, which is the default, and `GPU1`. Their rates are
//! made up: how busy the machine is decides nothing.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use atelier_core::paths::HOME_VARIABLE;
use atelier_core::recipe::{PlacementText, Recipe};
use atelier_engine::{End, Event, MeasureDevices};
use serde_json::Value;
use support::engine::{Engine, Said};
use support::{files, recipe};

/// Gives all devices the rates of one of them, and computes with all but `quickest` in ten thousand
/// times the time: more than any picture corrects.
fn make_up_rates(file: &Path, quickest: &str) {
    let mut stored: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    let devices = stored["devices"].as_array_mut().unwrap();
    let rates = devices[0]["measured"]["rates"].clone();
    for device in devices {
        let mut rates = rates.clone();
        if device["conditions"]["device"] != quickest {
            for class in rates["classes"].as_array_mut().unwrap() {
                class["per_sec"] = (class["per_sec"].as_f64().unwrap() / 10_000.0).into();
            }
        }
        device["measured"]["rates"] = rates;
    }
    fs::write(file, stored.to_string()).unwrap();
}

/// Devices on which a job had memory.
fn devices(said: &Said) -> Vec<String> {
    assert!(matches!(said.end(), End::Done { .. }), "{:?}", said.end());
    let mut names: Vec<String> =
        said.peaks().iter().filter(|peak| peak.bytes > peak.others_bytes).map(|peak| peak.device.clone()).collect();
    names.sort();
    names.dedup();
    names
}

fn note(said: &Said) -> Option<String> {
    let begin = said.events.iter().find_map(|event| if let Event::Begin { begin, .. } = event { Some(begin) } else { None });
    begin.unwrap().notes.iter().find(|note| note.starts_with("Placed automatically")).cloned()
}

#[test]
fn the_quickest_devices_are_taken_once_they_are_measured_and_a_note_says_so() {
    let _lock = support::alone::lock("GPU0:1,GPU1:1");
    let home = tempfile::tempdir().unwrap();
    let memory = home.path().join("measured.json");
    let engine = Engine::start_remembering(&memory);
    let on_cpu = Recipe { placement: PlacementText { backend: "cpu".into(), ..PlacementText::default() }, ..recipe() };
    let cpu = engine.run(&on_cpu).pixels().to_vec();

    // The first device, as long as nothing was measured.
    let said = engine.run(&recipe());
    assert!(devices(&said).contains(&"GPU0".to_owned()));
    assert_eq!(note(&said), None);
    engine.handle().unload().unwrap();

    engine.handle().measure(Some(MeasureDevices { threads: Some(1), ..MeasureDevices::default() })).unwrap();
    assert_eq!(engine.rates().len(), 3);
    drop(engine);
    make_up_rates(&home.path().join("device-rates.json"), "GPU1");
    let engine = Engine::start_remembering(&memory);
    // Not estimated before at this size: the job does that.
    let wide = Recipe { width: 128, ..recipe() };
    for recipe in [recipe(), wide] {
        let said = engine.run(&recipe);
        let used = devices(&said);
        assert!(used.contains(&"GPU1".to_owned()) && !used.contains(&"GPU0".to_owned()), "{used:?}");
        let note = note(&said).unwrap();
        assert!(note.contains("diffusion on GPU1 saves ") && note.ends_with('.'), "{note}");
        assert!(said.pictures().iter().all(|picture| picture.notes.is_empty()), "of the job, and of no picture");
        if recipe.width == 64 {
            assert_eq!(said.pixels(), cpu, "the picture is the same");
        }
    }
    // It was loaded once: the placement in use stays.
    assert_eq!(engine.residency(|residency| !residency.models.is_empty()).models.len(), 1);
    // A preload chooses as the picture after it does.
    engine.handle().unload().unwrap();
    engine.residency(|residency| residency.models.is_empty());
    engine.handle().preload(Some(recipe())).unwrap();
    let loaded = engine.residency(|residency| !residency.models.is_empty()).models.remove(0);
    assert!(loaded.parts.iter().all(|part| part.device != "GPU0"), "{:?}", loaded.placement);
    assert!(!devices(&engine.run(&recipe())).contains(&"GPU0".to_owned()));
    let models = engine.residency(|residency| residency.models.iter().any(|model| !model.in_use)).models;
    assert_eq!(models.iter().map(|model| model.id).collect::<Vec<_>>(), [loaded.id], "loaded once");

    // A device that is named is kept, and so is the default one where the switch says so.
    let named = Recipe { placement: PlacementText { backend: "GPU0".into(), ..PlacementText::default() }, ..recipe() };
    let said = engine.run(&named);
    assert!(devices(&said).contains(&"GPU0".to_owned()) && note(&said).is_none());
    engine.handle().place_automatically(false).unwrap();
    assert!(devices(&engine.run(&recipe())).contains(&"GPU0".to_owned()));
}

/// Runs `atelier generate` for the tiny model with simulated devices and these further flags.
fn generate(home: &Path, devices: &str, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_atelier"));
    command.env(HOME_VARIABLE, home).args(["--simulate-devices", devices, "generate", "-p", "a lake", "-W", "64", "-H", "64"]);
    command.args(["--steps", "2", "--cfg-scale", "1", "-t", "1", "-s", "1", "-o"]).arg(home.join("out.png"));
    for (role, path) in files().iter() {
        let flag = match role.key() {
            "diffusion" => "--diffusion-model",
            "llm" => "--llm",
            _ => "--taesd",
        };
        command.arg(flag).arg(path);
    }
    command.args(more).output().unwrap()
}

#[test]
fn on_a_device_that_is_too_small_weights_wait_in_ram_unless_the_switch_forbids_it() {
    let home = tempfile::tempdir().unwrap();
    let output = generate(home.path(), "GPU0:0.012", &[]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains("Placed automatically: "), "{said}");
    let output = generate(home.path(), "GPU0:0.012", &["--no-auto-placement"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!said.contains("Placed automatically: "), "{said}");
    let output = generate(home.path(), "GPU0:1", &[]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && !said.contains("Placed automatically: "), "{said}");
}
