//! Layers of the canvas, arranged and changed as a person does it, and the selection.

use crate::gui::canvas::tool::Tool;
use crate::gui::tests::canvas::studio;
use crate::gui::tests::*;
use atelier_core::canvas::{BlendMode, LayerKind, PixelRect};

/// A canvas of 64 x 64 pixels of grey with a stroke on a layer of its own, and the layers open.
fn layered() -> Studio {
    let mut studio = studio();
    studio.take_tool(Key::B);
    studio.press(Modifiers::NONE, Key::F7);
    studio.click("Add a layer");
    studio.app_mut().state.canvas.options.brush = atelier_core::canvas::Brush { size: 10.0, hardness: 1.0, ..Default::default() };
    studio.app_mut().state.canvas.options.colour = [200, 40, 0];
    studio.harness.run_ok();
    studio.draw((20.0, 30.0), (40.0, 30.0));
    studio
}

fn names(studio: &Studio) -> Vec<String> {
    studio.content().layers().iter().map(|layer| layer.name.clone()).collect()
}

impl Studio {
    /// Waits until small looks of the canvas as it is now are there.
    fn until_looks(&mut self) {
        self.until("the small looks", |app| {
            app.state.canvas.edited().is_some_and(|document| {
                let id = document.document.content().current();
                document.pending_edits == 0 && document.looks.bounds(id, document.document.version()).is_some()
            })
        });
    }

    fn bounds(&self) -> PixelRect {
        self.content().current_layer().pixels.pixel_bounds()
    }
}

#[test]
fn layers_have_small_looks_and_are_dragged_to_another_place() {
    let mut studio = layered();
    studio.until_looks();
    for layer in studio.content().layers() {
        assert!(studio.canvas().looks.layer(layer.id).is_some(), "{}", layer.name);
    }
    let place = |studio: &Studio, name: &str| studio.harness.get_by_role_and_label(Role::Button, name).rect();
    let (from, to) = (place(&studio, "Layer Layer 2").center(), place(&studio, "Layer Picture").center_bottom() - egui::vec2(0.0, 3.0));
    studio.drag_between(from, to);
    assert_eq!(names(&studio), ["Layer 2", "Picture"]);
    let (from, to) = (place(&studio, "Layer Layer 2").center(), place(&studio, "Layer Picture").center_top() + egui::vec2(0.0, 3.0));
    studio.drag_between(from, to);
    assert_eq!(names(&studio), ["Picture", "Layer 2"]);
    studio.press(Modifiers::COMMAND, Key::Z);
    assert_eq!(names(&studio), ["Layer 2", "Picture"]);
    // The small look is part of the row.
    let on_look = place(&studio, "Layer Picture").left_center() - egui::vec2(16.0, 0.0);
    // A short press: a long one is no click.
    studio.harness.drag_at(on_look);
    studio.harness.drop_at(on_look);
    studio.harness.run_ok();
    assert_eq!(studio.content().current_layer().name, "Picture");
}

#[test]
fn the_row_of_a_generated_layer_has_room_for_its_seed() {
    let mut studio = layered();
    let id = studio.content().current_layer().id;
    let name = "Seed 2989057741";
    studio.app_mut().state.canvas.edited_mut().unwrap().document.rename_layer(id, name).unwrap();
    studio.harness.run_ok();
    let is_cut = studio.harness.output().shapes.iter().find_map(|it| match &it.shape {
        egui::Shape::Text(text) if text.galley.text() == name => Some(text.galley.elided),
        _ => None,
    });
    assert_eq!(is_cut, Some(false), "the number tells such layers apart");
}

#[test]
fn a_blend_mode_is_chosen_and_layers_are_merged_as_they_look() {
    let mut studio = layered();
    studio.harness.get_by_role_and_label(Role::ComboBox, "Blend mode").click();
    studio.harness.run_ok();
    studio.click("Multiply");
    assert_eq!(studio.content().current_layer().blend, BlendMode::Multiply);
    assert_eq!(studio.content().colour_at(30, 30), Some([94, 19, 0]));
    studio.harness.check_accessibility();
    let before = studio.content().picture();
    studio.press(Modifiers::COMMAND, Key::E);
    studio.settle_canvas();
    assert_eq!((names(&studio), studio.content().picture() == before), (vec!["Picture".to_owned()], true));
    assert!(studio.harness.get_by_role_and_label(Role::Button, "Merge down").accesskit_node().is_disabled());
    studio.press(Modifiers::COMMAND, Key::Z);
    assert_eq!(studio.content().layers().len(), 2);
}

#[test]
fn locked_transparency_keeps_a_stroke_within_what_is_there() {
    let mut studio = layered();
    studio.click("Lock transparency: Layer 2");
    studio.app_mut().state.canvas.options.colour = [0, 0, 250];
    studio.draw((30.0, 10.0), (30.0, 50.0));
    assert_eq!(studio.content().colour_at(30, 30), Some([0, 0, 250]));
    assert_eq!(studio.content().colour_at(30, 45), Some([120; 3]), "nothing was there");
    studio.click("Unlock transparency: Layer 2");
    assert!(!studio.content().current_layer().alpha_locked);
}

#[test]
fn a_layer_is_moved_scaled_and_turned_with_the_pointer() {
    let mut studio = layered();
    studio.until_looks();
    studio.press(Modifiers::NONE, Key::T);
    assert_eq!(studio.app().state.canvas.tool, Tool::Move);
    let before = studio.bounds();
    studio.draw((30.0, 30.0), (34.0, 42.0));
    studio.until_looks();
    assert_eq!(studio.bounds(), PixelRect { left: before.left + 4, top: before.top + 12, ..before });
    assert_eq!(studio.content().colour_at(34, 42), Some([200, 40, 0]));

    let now = studio.bounds();
    studio.draw(
        (now.right() as f32, now.bottom() as f32),
        (now.left as f32 + now.width as f32 / 2.0, now.top as f32 + now.height as f32 / 2.0),
    );
    studio.until_looks();
    let half = studio.bounds();
    assert!(half.width.abs_diff(now.width / 2) <= 1 && half.height.abs_diff(now.height / 2) <= 1, "{half:?} of {now:?}");

    // Beside it, from its right to below it: a quarter.
    let middle = (half.left as f32 + half.width as f32 / 2.0, half.top as f32 + half.height as f32 / 2.0);
    studio.draw((middle.0 + 20.0, middle.1), (middle.0, middle.1 + 20.0));
    studio.until_looks();
    let turned = studio.bounds();
    assert!(turned.width.abs_diff(half.height) <= 2 && turned.height.abs_diff(half.width) <= 2, "{turned:?} of {half:?}");
    for _ in 0..3 {
        studio.press(Modifiers::COMMAND, Key::Z);
    }
    assert_eq!(studio.bounds(), before);
}

#[test]
fn words_are_a_layer_until_they_are_painted_on() {
    let mut studio = layered();
    studio.press(Modifiers::SHIFT, Key::T);
    studio.until("the layer", |app| app.state.canvas.edited().is_some_and(|it| it.document.content().current_layer().text.is_some()));
    let first = studio.bounds();
    assert!(!first.is_empty());
    studio.harness.get_by_role_and_label(Role::MultilineTextInput, "Text of the layer").focus();
    studio.harness.run_ok();
    studio.harness.get_by_role_and_label(Role::MultilineTextInput, "Text of the layer").type_text(" and more");
    studio.until("the words", |app| {
        let layer = app.state.canvas.edited().unwrap().document.content().current_layer();
        layer.text.as_ref().is_some_and(|text| text.words == "Text and more")
    });
    assert!(studio.bounds().width > first.width);
    studio.harness.check_accessibility();
    let focused = studio.harness.ctx.memory(egui::Memory::focused);
    studio.harness.ctx.memory_mut(|memory| focused.into_iter().for_each(|id| memory.surrender_focus(id)));
    studio.press(Modifiers::NONE, Key::B);
    studio.draw((50.0, 5.0), (55.0, 5.0));
    assert_eq!(studio.content().current_layer().text, None);
    studio.press(Modifiers::COMMAND, Key::Z);
    assert!(studio.content().current_layer().text.is_some());
}

#[test]
fn the_wand_masks_by_colour_and_by_edges_and_the_mask_grows_shrinks_softens_and_is_inverted() {
    let mut studio = layered();
    studio.press(Modifiers::NONE, Key::A);
    assert_eq!((studio.app().state.canvas.tool, &studio.content().current_layer().kind), (Tool::Wand, &LayerKind::Mask));
    let stroke = studio.content().layers()[1].pixels.pixel_bounds();
    let masked = |studio: &Studio| studio.content().mask().and_then(|mask| mask.bounds());
    studio.draw((30.0, 30.0), (30.0, 30.0));
    studio.settle_canvas();
    let first = masked(&studio).unwrap();
    assert!(stroke.intersection(&first) == first && first.area() * 2 > stroke.area(), "{first:?} of {stroke:?}");
    studio.click("Edges");
    assert!(studio.app().state.canvas.options.wand_by_edges);
    studio.harness.check_accessibility();
    studio.app_mut().state.canvas.options.selection_px = 4;
    studio.press(Modifiers::COMMAND, Key::CloseBracket);
    studio.settle_canvas();
    assert_eq!(masked(&studio).unwrap().left, first.left - 4);
    studio.press(Modifiers::COMMAND, Key::OpenBracket);
    studio.settle_canvas();
    assert!(masked(&studio).unwrap().left.abs_diff(first.left) <= 1);
    studio.press(Modifiers::SHIFT, Key::F6);
    studio.settle_canvas();
    let soft = studio.content().mask().unwrap();
    assert!(soft.pixels().iter().any(|value| (20..200).contains(value)), "the edge is soft");
    studio.press(Modifiers::COMMAND.plus(Modifiers::SHIFT), Key::I);
    studio.settle_canvas();
    let inverted = studio.content().mask().unwrap();
    assert_eq!((inverted.row(60)[60], inverted.row(30)[30]), (255, 255 - soft.row(30)[30]));
    // By edges the ground is masked up to the stroke, whatever it holds.
    studio.press(Modifiers::NONE, Key::Delete);
    studio.settle_canvas();
    studio.draw((5.0, 5.0), (5.0, 5.0));
    studio.settle_canvas();
    let ground = studio.content().mask().unwrap();
    assert_eq!((ground.row(5)[5], ground.row(30)[30], ground.row(60)[60]), (255, 0, 255));
}

#[test]
fn a_bucket_and_a_gradient_cross_the_border_of_a_seamless_picture() {
    let mut studio = layered();
    studio.app_mut().state.shared.next.recipe.seamless_x = true;
    // A wall in the middle: the ground is in one piece over the border alone.
    studio.draw((32.0, 0.0), (32.0, 64.0));
    studio.press(Modifiers::NONE, Key::G);
    studio.app_mut().state.canvas.options.colour = [0, 0, 250];
    studio.draw((5.0, 50.0), (5.0, 50.0));
    studio.settle_canvas();
    assert_eq!([5, 60].map(|x| studio.content().colour_at(x, 50)), [Some([0, 0, 250]); 2]);
    studio.press(Modifiers::COMMAND, Key::Z);
    studio.press(Modifiers::SHIFT, Key::G);
    studio.draw((50.0, 60.0), (62.0, 60.0));
    studio.settle_canvas();
    let row: Vec<i32> = (0..64).map(|x| i32::from(studio.content().colour_at(x, 60).unwrap()[2])).collect();
    let inner = (40..63).map(|x| (row[x + 1] - row[x]).abs()).max().unwrap();
    assert!((row[0] - row[63]).abs() <= inner && inner > 0, "{row:?}");
}

#[test]
fn the_part_that_the_model_sees_reaches_over_the_border_of_a_seamless_picture() {
    let mut studio = canvas::studio_with(2048);
    studio.app_mut().state.shared.next.recipe.seamless_x = true;
    studio.take_tool(Key::M);
    studio.app_mut().state.canvas.options.mask.size = 40.0;
    studio.draw((2030.0, 1000.0), (2040.0, 1000.0));
    studio.draw((10.0, 1000.0), (20.0, 1000.0));
    studio.settle_canvas();
    let crop = studio.canvas().shown_crop().unwrap();
    assert!(crop.left > 1024 && crop.right() > 2048 && crop.width < 1024, "{crop:?}");
    assert!(crop.left < 2010 && crop.right() > 2048 + 40, "it holds both sides: {crop:?}");
    studio.press(Modifiers::COMMAND, Key::Enter);
    let (_, recipe, _) = studio.take();
    assert_eq!((recipe.area.unwrap().crop, recipe.seamless_x), (Some(crop), true));
    studio.app_mut().state.shared.next.recipe.seamless_x = false;
    studio.until("the whole width", |app| {
        app.state
            .canvas
            .edited()
            .and_then(crate::gui::canvas::state::OpenDocument::shown_crop)
            .is_some_and(|crop| crop.left == 0 && crop.width == 2048)
    });
}
