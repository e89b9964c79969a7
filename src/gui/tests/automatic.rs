//! Tests of the placement that Atelier chooses by itself; the test plays the engine.

use crate::gui::tests::board::{machine, open_board_with, recipe};
use crate::gui::tests::times::timed_estimate;
use crate::gui::tests::*;
use atelier_core::format::GIB;
use atelier_core::placement::{Assignment, Module};
use atelier_core::recipe::PlacementText;
use atelier_engine::{Control, Residency, Resident};

/// The Devices view, where Atelier places, with an estimate whose second card is twice as fast.
fn open() -> Studio {
    let mut studio = open_board_with(Settings { recipe: recipe(), ..Settings::default() }, machine(), 5);
    studio.port.send(Event::Rates { devices: Vec::new(), is_measuring: false });
    studio.answer_faster_second_card();
    studio
}

impl Studio {
    fn answer_faster_second_card(&mut self) {
        self.settle();
        let mut estimate = timed_estimate(&["CPU", "GPU0", "GPU1"]);
        let second = estimate.rates.devices.get_mut("GPU1").unwrap();
        second.copy_to_per_sec = GIB as f64;
        for rate in &mut second.classes {
            rate.per_sec *= 2.0;
        }
        let recipe = Box::new(self.app().state.shared.next.recipe.clone());
        self.port.send(Event::Estimated { recipe, estimate: Ok(estimate) });
        self.settle();
    }

    fn is_automatic(&self) -> bool {
        let toggled = self.harness.get_by_role_and_label(Role::CheckBox, "Place automatically").accesskit_node().toggled();
        toggled == Some(egui::accesskit::Toggled::True)
    }
}

#[test]
fn what_names_no_device_is_placed_and_a_note_says_what_that_saves() {
    let mut studio = open();
    assert!(studio.is_automatic());
    // The 6 GiB of the quicker card are too few for the diffusion module: encoder and VAE go there.
    assert_eq!(studio.assignment(Module::Vae), Assignment::at("GPU1"));
    assert_eq!(studio.text(), ("", "", ""), "the engine chooses the same");
    assert!(studio.sees("Placed automatically: ") && studio.sees("VAE on GPU1 saves 1 s"));
    assert!(studio.sees("Everything fits."));
    let sent = studio.requests();
    assert!(!sent.contains(&Request::Control(Control::PlaceAutomatically(false))), "{sent:?}");
    studio.harness.check_accessibility();
}

#[test]
fn a_card_that_is_moved_or_pinned_is_left_where_it_is_until_the_choice_is_given_back() {
    let mut studio = open();
    studio.focus("VAE runs on");
    studio.press(Modifiers::NONE, Key::ArrowLeft);
    assert_eq!(studio.assignment(Module::Vae), Assignment::at("GPU0"));
    assert!(!studio.is_automatic() && !studio.sees("Placed automatically"));
    assert!(studio.text().0.contains("vae=GPU0") || studio.text().0.contains("all=GPU0"), "{:?}", studio.text());

    studio.harness.get_by_role_and_label(Role::CheckBox, "Place automatically").click();
    studio.settle();
    assert!(studio.is_automatic() && studio.app().state.devices.board.pins.is_empty());
    assert_eq!((studio.text(), studio.assignment(Module::Vae)), (("", "", ""), Assignment::at("GPU1")));

    studio.focus("VAE runs on");
    studio.press(Modifiers::NONE, Key::P);
    assert!(!studio.is_automatic());
    assert_eq!(studio.assignment(Module::Vae), Assignment::at("GPU1"), "pinned where it was");
    assert!(studio.text().0.contains("vae=GPU1"), "{:?}", studio.text());
}

#[test]
fn behind_a_quick_bus_a_budget_is_offered_and_applied_with_one_click() {
    let mut studio = open_board_with(Settings { recipe: recipe(), places_automatically: false, ..Settings::default() }, machine(), 5);
    studio.port.send(Event::Rates { devices: Vec::new(), is_measuring: false });
    studio.settle();
    let mut estimate = timed_estimate(&["CPU", "GPU0", "GPU1"]);
    assert!(!studio.sees("Stream: "), "nothing is known of the bus");
    // Twenty times 6 GiB in 1.2 of 13 seconds.
    estimate.rates.devices.get_mut("GPU0").unwrap().copy_to_per_sec = 100.0 * GIB as f64;
    let shown = Box::new(studio.app().state.shared.next.recipe.clone());
    studio.port.send(Event::Estimated { recipe: shown, estimate: Ok(estimate) });
    studio.settle();
    let offer = studio.app().state.devices.board.budget_offers[0].clone();
    assert!(offer.secs <= 1.25 * offer.all_secs && offer.freed_bytes >= GIB / 2, "{offer:?}");
    assert!(studio.sees(&format!("Stream: {}", offer.words())));
    studio.harness.check_accessibility();
    studio.click(&format!("Stream: {}", offer.words()));
    studio.settle();
    let placement = &studio.app().state.shared.next.recipe.placement;
    assert_eq!((placement.params_backend.as_str(), placement.max_vram.clone()), ("diffusion=CPU", format!("GPU0={}", offer.gib)));
    assert!(placement.stream_layers.contains(Module::Diffusion) && studio.sees("Everything fits."));
}

#[test]
fn switched_off_everything_runs_on_the_first_device_and_the_next_start_knows() {
    let mut studio = open();
    studio.requests();
    studio.harness.get_by_role_and_label(Role::CheckBox, "Place automatically").click();
    studio.settle();
    assert!(studio.requests().contains(&Request::Control(Control::PlaceAutomatically(false))));
    assert!(!studio.is_automatic() && !studio.app().settings().places_automatically);
    assert_eq!(studio.assignment(Module::Vae), Assignment::at("GPU0"));
    studio.harness.get_by_role_and_label(Role::CheckBox, "Place automatically").click();
    studio.settle();
    assert!(studio.requests().contains(&Request::Control(Control::PlaceAutomatically(true))));
    assert_eq!(studio.assignment(Module::Vae), Assignment::at("GPU1"));
}

#[test]
fn the_placement_with_which_the_model_is_in_memory_stays_for_a_small_gain() {
    let mut studio = open();
    let placement = PlacementText { backend: "all=GPU0,vae=GPU1".into(), ..PlacementText::default() };
    let model = Resident { placement, ..memory::resident(1, recipe().files) };
    studio.port.send(Event::Residency(Residency { models: vec![model], ..Residency::default() }));
    studio.settle();
    // 12 s with it, 11.5 s with the text encoder beside the VAE.
    assert_eq!((studio.assignment(Module::Vae), studio.assignment(Module::Llm)), (Assignment::at("GPU1"), Assignment::at("GPU0")));
}
