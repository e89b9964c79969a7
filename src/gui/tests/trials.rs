//! Tests of "Try them" through its controls; the test plays the engine.

use crate::gui::tests::board::{machine, open_board_with, recipe};
use crate::gui::tests::*;
use atelier_core::recipe::PlacementText;
use atelier_engine::{JobId, MeasuredPlacement, Task};

/// The Devices view with an estimate that has times.
fn open() -> Studio {
    let mut studio = open_board_with(Settings { recipe: recipe(), places_automatically: false, ..Settings::default() }, machine(), 5);
    studio.port.send(Event::Rates { devices: Vec::new(), is_measuring: false });
    studio.answer_timed_estimate();
    studio.requests();
    studio
}

impl Studio {
    /// The trial that was submitted.
    fn submitted_trial(&mut self) -> (JobId, PlacementText) {
        self.settle();
        let found = self.requests().into_iter().find_map(|request| match request {
            Request::Job { job, task: Task::Generate { recipe, .. } } => Some((job, recipe.placement)),
            _ => None,
        });
        found.expect("a picture is asked for")
    }

    fn end_trial(&mut self, job: JobId, secs: f64) {
        let timings = Timings { load_secs: 9.0, encode_secs: 0.5, denoise_secs: secs - 1.0, decode_secs: 0.5, total_secs: secs + 9.0 };
        self.port.send(Event::End { job, end: End::Done { pictures: Vec::new(), timings, notes: Vec::new() } });
    }
}

#[test]
fn the_best_placements_are_tried_in_turn_and_the_quickest_is_taken_with_one_click() {
    let mut studio = open();
    let before = studio.app().state.create.session.iter().count();
    studio.click("Try them");
    let mut tried = Vec::new();
    for secs in [9.0, 5.0, 7.0, 8.0] {
        let (job, placement) = studio.submitted_trial();
        assert!(studio.sees("trying…"));
        tried.push(placement);
        studio.end_trial(job, secs);
    }
    studio.settle();
    assert!(studio.sees("predicted 13 s, measured 9 s") && studio.sees("measured 5 s"), "what was predicted beside what was measured");
    assert_eq!(studio.app().state.create.session.iter().count(), before, "the pictures are nobody's");
    assert!(studio.sees("Try them") && !studio.sees("Stop trying"));
    studio.harness.check_accessibility();
    studio.click("Use the quickest");
    studio.settle();
    assert_eq!(studio.app().state.shared.next.recipe.placement, tried[1]);
    studio.click("Hide the results");
    studio.settle();
    assert!(!studio.sees("measured 5 s"));
}

#[test]
fn they_stop_at_once_and_what_was_measured_stays() {
    let mut studio = open();
    studio.click("Try them");
    let (first, _) = studio.submitted_trial();
    studio.end_trial(first, 9.0);
    studio.submitted_trial();
    studio.click("Stop trying");
    studio.settle();
    assert!(!studio.requests().iter().any(|request| matches!(request, Request::Job { .. })));
    assert!(studio.sees("measured 9 s") && studio.sees("Try them") && !studio.sees("trying…"));
}

#[test]
fn a_picture_goes_before_a_trial_which_is_made_again_after_it() {
    let mut studio = open();
    studio.click("Try them");
    let (_, placement) = studio.submitted_trial();
    studio.press(Modifiers::COMMAND, Key::Num1);
    studio.click("Generate");
    studio.until("the picture is submitted", |app| !app.state.shared.jobs.is_empty());
    studio.settle();
    let requests = studio.requests();
    let picture = requests.iter().find_map(|request| if let Request::Job { job, .. } = request { Some(*job) } else { None }).unwrap();
    studio.port.send(Event::End { job: picture, end: End::Cancelled });
    studio.until("the picture has ended", |app| app.state.shared.jobs.is_empty());
    assert_eq!(studio.submitted_trial().1, placement);
}

#[test]
fn what_was_measured_in_an_earlier_session_is_there() {
    let mut studio = open();
    assert!(!studio.sees("measured 4 s"));
    let recipe = Box::new(studio.app().state.shared.next.recipe.clone());
    let text = |backend: &str| PlacementText { backend: backend.into(), ..PlacementText::default() };
    let trial = |backend: &str, steps, secs| MeasuredPlacement { placement: text(backend), steps, secs };
    let trials = vec![trial("all=GPU0,vae=GPU1", 20, 4.0), trial("all=GPU0", 20, 6.0), trial("all=GPU0", 4, 2.0)];
    let estimate = atelier_engine::Estimate { trials, ..times::timed_estimate(&["CPU", "GPU0", "GPU1"]) };
    studio.port.send(Event::Estimated { recipe, estimate: Ok(estimate) });
    studio.settle();
    assert!(studio.sees("GPU0; VAE on GPU1") && studio.sees("measured 4 s") && studio.sees("measured 6 s") && !studio.sees("measured 2 s"));
    studio.click("Use GPU0; VAE on GPU1");
    studio.settle();
    assert_eq!(studio.app().state.shared.next.recipe.placement, text("all=GPU0,vae=GPU1"));
}
