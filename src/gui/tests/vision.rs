//! Models that look at the canvas, used as a person uses them. What such a process computes is
//! tested in a real window: here there is no program that it could be.

use crate::gui::canvas::vision::add_found;
use crate::gui::canvas::work::regions_of;
use crate::gui::shared::Screen;
use crate::gui::tests::canvas::{studio, studio_with};
use crate::gui::tests::*;
use atelier_core::canvas::{LayerKind, PixelRect, StartFit};
use atelier_library::{Availability, CardFile, ModelCard, ModelKind, Role as FilePurpose};
use atelier_studio::library_service::LibrarySnapshot;
use atelier_vision::Detection;

/// Puts models of this kind into the library, by their names.
fn know(studio: &mut Studio, kind: ModelKind, role: FilePurpose, names: &[&str]) {
    let card = |name: &&str| {
        let file = CardFile {
            role,
            name: format!("{name}.onnx"),
            path: Some(format!("/v/{name}.onnx").into()),
            bytes: None,
            facts: None,
            sha256: None,
        };
        let availability = Availability::InPlace;
        ModelCard { id: (*name).into(), name: (*name).into(), kind, availability, files: vec![file], ..ModelCard::default() }
    };
    let cards = names.iter().map(card).collect();
    studio.app_mut().state.shared.library = Arc::new(LibrarySnapshot { cards, ..LibrarySnapshot::default() });
    studio.harness.run_ok();
}

fn detection(left: i32, class: &str) -> Detection {
    let rect = PixelRect { left, top: 20, width: 80, height: 80 };
    Detection { rect, probability: 0.9, class: class.to_owned() }
}

#[test]
fn without_models_the_menu_says_what_to_get_and_leads_there() {
    for (button, kind, words) in [
        ("Get a cut-out model", ModelKind::Cutout, "ISNet is a good first one"),
        ("Get a detector", ModelKind::Detector, "needs a detector"),
    ] {
        let mut studio = studio();
        studio.take_tool(Key::B);
        studio.click("Cut out and find");
        studio.harness.check_accessibility();
        assert!(studio.sees(words), "{words}");
        studio.click(button);
        assert_eq!((studio.app().state.shared.screen, studio.app().state.models.filter.kind), (Screen::Models, Some(kind)));
    }
    // By its command alone, as the palette has it, it leads there too.
    let mut studio = studio();
    studio.take_tool(Key::B);
    studio.press(Modifiers::COMMAND, Key::K);
    studio.fill("Find a command", "remove background");
    studio.press(Modifiers::NONE, Key::Enter);
    assert_eq!(studio.app().state.models.filter.kind, Some(ModelKind::Cutout));
    studio.until_notice("Cutting out needs a cut-out model.");
}

#[test]
fn a_model_is_chosen_among_several_and_one_that_fails_says_so_and_changes_nothing() {
    let mut studio = studio();
    studio.take_tool(Key::B);
    know(&mut studio, ModelKind::Cutout, FilePurpose::Cutout, &["One"]);
    studio.click("Cut out and find");
    assert!(studio.harness.query_by_role_and_label(Role::RadioButton, "One").is_none(), "one alone is no choice");
    know(&mut studio, ModelKind::Cutout, FilePurpose::Cutout, &["One", "Two"]);
    studio.harness.get_by_role_and_label(Role::RadioButton, "Two").click();
    studio.harness.run_ok();
    assert_eq!(studio.app().state.canvas.vision_choice.cutout, Some(PathBuf::from("/v/Two.onnx")));
    studio.harness.check_accessibility();
    let before = studio.content().clone();
    studio.click("Cut out the background");
    studio.until("the error", |app| app.state.shared.error.is_some());
    assert!(studio.app().state.canvas.vision.is_none() && *studio.content() == before);
}

#[test]
fn what_cannot_be_cut_out_says_why_before_a_model_runs() {
    let mut studio = studio();
    know(&mut studio, ModelKind::Cutout, FilePurpose::Cutout, &["One"]);
    studio.take_tool(Key::M);
    studio.click("Cut out and find");
    assert!(studio.harness.get_by_role_and_label(Role::Button, "Cut out the background").accesskit_node().is_disabled(), "a mask");
    studio.press(Modifiers::NONE, Key::Escape);
    studio.press(Modifiers::NONE, Key::B);
    let layer = studio.content().current();
    studio.app_mut().state.canvas.document.as_mut().unwrap().document.set_alpha_locked(layer, true).unwrap();
    studio.click("Cut out and find");
    assert!(studio.harness.get_by_role_and_label(Role::Button, "Cut out the background").accesskit_node().is_disabled(), "locked");
}

#[test]
fn what_detectors_found_becomes_regions_that_are_generated_larger_each_by_itself() {
    let mut studio = studio_with(512);
    studio.take_tool(Key::B);
    let number = studio.canvas().number;
    let found = regions_of(vec![detection(40, "face"), detection(300, "hand")], (512, 512));
    let ctx = studio.harness.ctx.clone();
    studio.app_mut().with(&ctx, |features, context| add_found(features.canvas, number, &found, context));
    studio.until_notice("2 regions were added.");
    let names: Vec<&str> = studio.content().layers().iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["Picture", "face 1", "hand 1"]);
    assert!(studio.content().layers()[1..].iter().all(|it| matches!(it.kind, LayerKind::Region { .. })));
    assert_eq!(studio.canvas().document.next_undo(), Some("Find faces and hands"));

    // Of each only its part, at the size that the model likes.
    (studio.app_mut().state.shared.next.recipe.width, studio.app_mut().state.shared.next.recipe.height) = (512, 512);
    studio.settle_canvas();
    studio.click("Generate every region");
    studio.until("both to be asked for", |app| app.state.canvas.edited().is_some_and(|document| document.runs.len() == 2));
    for left in [40, 300] {
        let (job, recipe, _) = studio.take();
        let mask = atelier_media::read_mask(recipe.mask.as_ref().unwrap(), 512, 512, StartFit::Crop).unwrap().bounds().unwrap();
        assert!((left - 12..left).contains(&mask.left) && mask.width < 110, "{mask:?}");
        let crop = recipe.area.unwrap().crop.unwrap();
        assert!(crop.width < 400 && crop.intersection(&mask) == mask, "it is generated larger: {crop:?} of {mask:?}");
        assert_eq!((recipe.width, recipe.height), (512, 512));
        studio.begin(job, vec![seed_of(&recipe)]);
        studio.done(job);
    }
    // Without regions nothing is left of it.
    studio.press(Modifiers::COMMAND, Key::Z);
    assert_eq!(studio.content().layers().len(), 1);

    let nothing = regions_of(Vec::new(), (512, 512));
    studio.app_mut().with(&ctx, |features, context| add_found(features.canvas, number, &nothing, context));
    studio.until_notice("Nothing was found");
    let other = regions_of(vec![detection(40, "face")], (400, 400));
    studio.app_mut().with(&ctx, |features, context| add_found(features.canvas, number, &other, context));
    studio.until_notice("The canvas has another size now.");
    assert_eq!(studio.content().layers().len(), 1);
}

#[test]
fn a_detector_that_is_not_asked_is_left_out_and_one_must_be_left() {
    let mut studio = studio();
    studio.take_tool(Key::B);
    know(&mut studio, ModelKind::Detector, FilePurpose::Detector, &["Faces"]);
    studio.click("Cut out and find");
    studio.check("Faces");
    assert!(studio.harness.get_by_role_and_label(Role::Button, "Find faces and hands").accesskit_node().is_disabled());
    studio.check("Faces");
    assert!(!studio.harness.get_by_role_and_label(Role::Button, "Find faces and hands").accesskit_node().is_disabled());
}
