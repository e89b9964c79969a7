//! Placements are tried in turn on the real engine; what they took is there in the next session.
//!
//! The devices belong to the process.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use atelier_core::placement::Placement;
use atelier_core::recipe::PlacementText;
use atelier_engine::MeasureDevices;
use atelier_studio::trials::{TrialState, Trials};
use support::engine::Engine;
use support::recipe;

fn placements() -> [PlacementText; 3] {
    ["all=CPU", "all=GPU0", "all=GPU1"].map(|backend| PlacementText { backend: backend.into(), ..PlacementText::default() })
}

#[test]
fn trials_find_the_quickest_placement_and_the_next_session_knows_it() {
    let _lock = support::alone::lock("GPU0:1,GPU1:1");
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("measured.json");
    let recipe = recipe();
    let (measured, quickest) = {
        let engine = Engine::start_remembering(&file);
        engine.handle().measure(Some(MeasureDevices { names: vec!["CPU".into()], threads: Some(1), ..MeasureDevices::default() })).unwrap();
        engine.rates();
        let mut trials = Trials::new(&recipe, placements().map(|placement| (placement, None)));
        while let Some(task) = trials.next_task() {
            // As the board does: the engine keeps what pictures took whose work it has counted.
            if let atelier_engine::Task::Generate { recipe, .. } = &task {
                engine.estimate(recipe).unwrap();
            }
            let job = engine.handle().submit(task).unwrap();
            trials.submitted(Some(job));
            for event in engine.until_ends(1) {
                trials.engine_event(&event);
            }
        }
        let measured: Vec<f64> = trials
            .all()
            .iter()
            .map(|trial| if let TrialState::Measured(secs) = trial.state { secs } else { panic!("{trial:?}") })
            .collect();
        let quickest = trials.quickest().map(|(text, secs)| (text.clone(), secs)).unwrap();
        (measured, quickest)
    };
    assert_eq!(measured.len(), 3);
    // Which one it is depends on what else the machine does.
    let (at, least) = measured.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1)).unwrap();
    assert_eq!(quickest, (placements()[at].clone(), *least), "{measured:?}");

    let engine = Engine::start_remembering(&file);
    let trials = engine.estimate(&recipe).unwrap().trials;
    assert_eq!(trials.len(), 3, "{trials:?}");
    let devices = {
        engine.handle().list_devices().unwrap();
        engine.devices()
    };
    assert_eq!(Placement::parse(&trials[0].placement, &devices), Placement::parse(&quickest.0, &devices));
    assert!((trials[0].secs - quickest.1).abs() < 1e-6 && trials.iter().all(|trial| trial.steps == recipe.steps));
    let wider = atelier_core::recipe::Recipe { width: 128, ..recipe };
    assert_eq!(engine.estimate(&wider).unwrap().trials, []);
}
