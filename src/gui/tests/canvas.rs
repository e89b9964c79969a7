//! The canvas, used as a person uses it: painting, masking, extending, generating a part,
//! candidates, undo, and what is kept.

use crate::gui::tests::*;

use crate::gui::canvas::state::OpenDocument;
use crate::gui::canvas::tool::Tool;
use crate::gui::viewport::canvas_rect;
use atelier_core::canvas::{AreaFill, AreaSettings, Borders, DocumentContent, LayerKind, PixelRect, StartFit};

/// The window with a picture of 64 x 64 pixels of one shade, and nothing with the keyboard.
pub(super) fn studio() -> Studio {
    studio_with(64)
}

/// The same with a picture of this many pixels a side.
pub(super) fn studio_with(side: u32) -> Studio {
    let mut studio = Studio::open(ready());
    let (job, ..) = studio.generate();
    studio.begin(job, vec![1]);
    let info = PictureInfo { index: 0, seed: Some(Seed(1)), cpu_math: None, merged_loras: false };
    studio.port.send(Event::Picture { job, picture: Picture { info, notes: Vec::new(), image: image(side, 120) } });
    studio.done(job);
    studio.until("the picture", |app| app.state.canvas.shown.is_some());
    let focused = studio.harness.ctx.memory(egui::Memory::focused);
    studio.harness.ctx.memory_mut(|memory| focused.into_iter().for_each(|id| memory.surrender_focus(id)));
    studio.harness.run_ok();
    studio
}

/// The bytes of a recipe's mask.
fn mask_of(recipe: &Recipe, width: u32, height: u32) -> Vec<u8> {
    atelier_media::read_mask(recipe.mask.as_ref().unwrap(), width, height, StartFit::Crop).unwrap().pixels().to_vec()
}

impl Studio {
    pub(super) fn take_tool(&mut self, key: Key) {
        self.press(Modifiers::NONE, key);
        self.until("the canvas", |app| app.state.canvas.edited().is_some());
    }

    pub(super) fn canvas(&self) -> &OpenDocument {
        self.app().state.canvas.edited().unwrap()
    }

    pub(super) fn content(&self) -> &DocumentContent {
        self.canvas().document.content()
    }

    /// The place on the screen of a pixel of the document.
    pub(super) fn on_screen(&self, x: f32, y: f32) -> egui::Pos2 {
        let state = &self.app().state;
        let rect = state.create.view.rect(state.canvas.shown_size_px().unwrap(), canvas_rect(&self.harness.ctx).unwrap());
        rect.min + egui::vec2(x, y) / state.canvas.shown_size_px().unwrap() * rect.size()
    }

    /// Draws with the pointer from one pixel to another.
    pub(super) fn draw(&mut self, from: (f32, f32), to: (f32, f32)) {
        let (from, to) = (self.on_screen(from.0, from.1), self.on_screen(to.0, to.1));
        self.drag_between(from, to);
    }

    /// Waits until edits on other threads are done and it is known what would be generated.
    pub(super) fn settle_canvas(&mut self) {
        self.until("the edits", |app| {
            app.state.canvas.edited().is_some_and(|document| document.pending_edits == 0 && document.current_analysis().is_some())
        });
    }
}

#[test]
fn a_picture_becomes_a_canvas_when_it_is_touched_and_not_before() {
    let mut studio = studio();
    assert!(!studio.sees("Lasso") && studio.app().state.canvas.document.is_none(), "nothing more is seen");
    studio.take_tool(Key::B);
    assert!(studio.sees("Canvas, 64 by 64 pixels") && studio.sees("Lasso"));
    assert_eq!((studio.content().layers().len(), studio.canvas().document.next_undo()), (1, None));
    studio.harness.check_accessibility();

    studio.draw((20.0, 30.0), (40.0, 30.0));
    let ink = studio.app().state.canvas.options.colour;
    assert_eq!(studio.content().colour_at(30, 30), Some(ink));
    assert_eq!(studio.content().colour_at(30, 62), Some([120; 3]));
    assert_eq!(studio.canvas().document.next_undo(), Some("Paint"));

    // Undo means the canvas while it is shown, and the settings otherwise.
    studio.press(Modifiers::COMMAND, Key::Z);
    assert_eq!(studio.content().colour_at(30, 30), Some([120; 3]));
    studio.press(Modifiers::COMMAND.plus(Modifiers::SHIFT), Key::Z);
    assert_eq!(studio.content().colour_at(30, 30), Some(ink));

    studio.press(Modifiers::NONE, Key::Escape);
    assert!(studio.app().state.canvas.edited().is_none() && !studio.sees("Lasso"));
    studio.press(Modifiers::COMMAND, Key::Z);
    assert_eq!(studio.app().state.canvas.document.as_ref().unwrap().document.next_undo(), Some("Paint"), "that was the settings'");
    studio.take_tool(Key::B);
    assert_eq!(studio.content().colour_at(30, 30), Some(ink), "it stays as it was");
}

#[test]
fn a_seamless_picture_is_shown_tiled_and_painted_across_its_border() {
    let mut studio = studio();
    studio.take_tool(Key::B);
    studio.press(Modifiers::NONE, Key::W);
    assert!(!studio.app().state.canvas.shows_copies && !studio.sees("Show it tiled"), "its borders end it");
    studio.app_mut().state.shared.next.recipe.seamless_x = true;
    studio.harness.run_ok();
    studio.click("Show it tiled");
    assert!(studio.app().state.canvas.shows_copies);
    studio.app_mut().state.canvas.options.brush.size = 6.0;
    studio.draw((58.0, 30.0), (72.0, 30.0));
    let ink = studio.app().state.canvas.options.colour;
    for (x, y, colour) in [(60, 30, ink), (63, 30, ink), (0, 30, ink), (6, 30, ink), (20, 30, [120; 3]), (0, 60, [120; 3])] {
        assert_eq!(studio.content().colour_at(x, y), Some(colour), "{x}, {y}");
    }
    studio.press(Modifiers::COMMAND, Key::Z);
    assert_eq!((studio.content().colour_at(63, 30), studio.content().colour_at(6, 30)), (Some([120; 3]), Some([120; 3])));
    studio.press(Modifiers::NONE, Key::W);
    assert!(!studio.app().state.canvas.shows_copies);
}

#[test]
fn only_the_tiles_that_were_painted_are_sent_to_the_graphics_card() {
    let mut studio = studio();
    studio.take_tool(Key::B);
    let before = studio.canvas().surface.sent_pixels;
    assert_eq!(before, 64 * 64);
    studio.app_mut().state.canvas.options.brush.size = 4.0;
    studio.draw((10.0, 10.0), (12.0, 10.0));
    let sent = studio.canvas().surface.sent_pixels - before;
    assert!(sent > 0 && sent < 200, "{sent}");
}

#[test]
fn keys_change_the_brush_and_shift_draws_a_straight_line() {
    let mut studio = studio();
    studio.take_tool(Key::B);
    let size = |studio: &Studio| studio.app().state.canvas.options.brush.size;
    let before = size(&studio);
    studio.press(Modifiers::NONE, Key::CloseBracket);
    assert!(size(&studio) > before);
    studio.press(Modifiers::NONE, Key::OpenBracket);
    assert!((size(&studio) - before).abs() < 0.01);
    studio.press(Modifiers::SHIFT, Key::OpenBracket);
    assert!(studio.app().state.canvas.options.brush.hardness < 0.8 && (size(&studio) - before).abs() < 0.01);

    studio.app_mut().state.canvas.options.brush =
        atelier_core::canvas::Brush { size: 3.0, hardness: 1.0, smoothing: 0.0, ..Default::default() };
    studio.draw((5.0, 5.0), (6.0, 5.0));
    let to = studio.on_screen(60.0, 59.0);
    studio.harness.event_modifiers(egui::Event::PointerMoved(to), Modifiers::SHIFT);
    for pressed in [true, false] {
        let button = egui::PointerButton::Primary;
        studio
            .harness
            .event_modifiers(egui::Event::PointerButton { pos: to, button, pressed, modifiers: Modifiers::SHIFT }, Modifiers::SHIFT);
        studio.harness.step();
    }
    studio.harness.run_ok();
    let ink = studio.app().state.canvas.options.colour;
    assert_eq!(studio.content().colour_at(33, 32), Some(ink), "half way");
    assert_eq!(studio.content().colour_at(50, 20), Some([120; 3]));
}

#[test]
fn the_masked_part_is_generated_and_a_candidate_becomes_a_layer() {
    let mut studio = studio();
    studio.take_tool(Key::M);
    assert!(studio.sees("Rework the picture"), "nothing is masked yet");
    studio.app_mut().state.canvas.options.mask.size = 12.0;
    studio.draw((20.0, 20.0), (30.0, 20.0));
    assert!(studio.sees("Inpaint the masked part"));
    assert_eq!(studio.content().current_layer().kind, LayerKind::Mask);
    assert_eq!(studio.content().picture().pixels(), image(64, 120).pixels(), "a mask is no paint");

    studio.settle_canvas();
    studio.press(Modifiers::COMMAND, Key::Enter);
    let (job, recipe, _) = studio.take();
    let mask = mask_of(&recipe, 64, 64);
    assert_eq!((mask[20 * 64 + 25], mask[50 * 64 + 25]), (255, 0));
    let init = recipe.init.as_ref().unwrap();
    assert_eq!(atelier_media::read_image(&init.image).unwrap(), *image(64, 120));
    assert_eq!((recipe.width, recipe.height, recipe.prompt.as_str()), (64, 64, "a lake"));
    assert_eq!(recipe.area.unwrap().crop, Some(PixelRect::of_size(64, 64)), "a small picture is seen whole");
    assert!(recipe.seed.is_some(), "the seed is known beforehand");

    // Painting goes on while it runs.
    studio.begin(job, vec![seed_of(&recipe)]);
    studio.take_tool(Key::B);
    studio.app_mut().state.canvas.options.brush.size = 4.0;
    studio.draw((50.0, 50.0), (52.0, 50.0));
    let ink = studio.app().state.canvas.options.colour;

    let mut pixels = image(64, 120).pixels().to_vec();
    for x in 20..30 {
        pixels[(20 * 64 + x) * 3..][..3].fill(9);
    }
    let result = Arc::new(Rgb8::new(64, 64, pixels).unwrap());
    let info = PictureInfo { index: 0, seed: recipe.seed, cpu_math: None, merged_loras: false };
    studio.port.send(Event::Picture { job, picture: Picture { info, notes: Vec::new(), image: result } });
    studio.done(job);
    studio.until("the candidate", |app| app.state.canvas.edited().is_some_and(|document| document.candidates.len() == 1));
    assert!(studio.sees("Candidate 1, seed"), "it is in the strip");
    assert_eq!(studio.content().colour_at(25, 20), Some([120; 3]), "not accepted yet");
    studio.until("the file", |app| app.state.create.session.writing() == 0);
    let files = std::fs::read_dir(studio.folder.path().join("Pictures")).unwrap();
    let pictures = files.filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|it| it == "png"));
    assert_eq!(pictures.count(), 2, "it is a picture on the disk at once");

    studio.click("Accept");
    assert_eq!(studio.content().colour_at(25, 20), Some([9; 3]));
    assert_eq!(studio.content().colour_at(51, 50), Some(ink), "what was painted meanwhile stays");
    assert!(studio.canvas().candidates.is_empty() && !studio.sees("Candidate 1"));
    assert_eq!(studio.content().mask(), None, "the mask has done its work");
    studio.press(Modifiers::COMMAND, Key::Z);
    assert_eq!(studio.content().colour_at(25, 20), Some([120; 3]));
    assert!(studio.content().mask().is_some());
}

#[test]
fn a_region_is_two_clicks_away_with_its_brush_and_the_field_for_its_words() {
    let mut studio = studio();
    studio.take_tool(Key::C);
    studio.harness.get_by_role_and_label(Role::Image, "Canvas, 64 by 64 pixels").click_secondary();
    studio.harness.run_ok();
    let undo = studio.harness.ctx.format_shortcut(&egui::KeyboardShortcut::new(Modifiers::COMMAND, Key::Z));
    assert!(studio.paints(&undo), "entries have their keys");
    studio.click("Add a region");
    assert_eq!(studio.app().state.canvas.tool, Tool::Brush);
    assert!(studio.harness.query_by_role_and_label(Role::MultilineTextInput, "Prompt of the region").is_some());
    assert!(studio.harness.query_by_role_and_label(Role::Button, "Flip the view").is_none(), "the menu is closed");
}

#[test]
fn regions_are_generated_by_their_own_words_and_accepted_one_by_one() {
    let mut studio = studio();
    studio.take_tool(Key::B);
    studio.press(Modifiers::NONE, Key::F7);
    for (name, left, words) in [("Region", 4.0, "a boat"), ("Region", 44.0, "")] {
        studio.click("Layer types");
        studio.click("Add a region");
        assert!(studio.content().current_layer().name.starts_with(name));
        studio.app_mut().state.canvas.options.brush.size = 8.0;
        studio.draw((left, 20.0), (left + 10.0, 20.0));
        if !words.is_empty() {
            studio.harness.get_by_role_and_label(Role::MultilineTextInput, "Prompt of the region").focus();
            studio.harness.run_ok();
            studio.harness.get_by_role_and_label(Role::MultilineTextInput, "Prompt of the region").type_text(words);
            studio.harness.run_ok();
        }
    }
    assert!(studio.sees("Generate this region"));
    studio.settle_canvas();
    studio.click("Generate every region");
    studio.until("both to be asked for", |app| app.state.canvas.edited().is_some_and(|document| document.runs.len() == 2));
    // Without words the prompt counts.
    for (at, (words, mask)) in [("a boat", (255, 0)), ("a lake", (0, 255))].into_iter().enumerate() {
        let (job, recipe, _) = studio.take();
        let masked = mask_of(&recipe, 64, 64);
        assert_eq!((recipe.prompt.as_str(), (masked[20 * 64 + 8], masked[20 * 64 + 48])), (words, mask));
        studio.begin(job, vec![seed_of(&recipe)]);
        let mut pixels = image(64, 120).pixels().to_vec();
        pixels[(20 * 64 + 8 + 40 * at) * 3..][..3].fill(9);
        let info = PictureInfo { index: 0, seed: recipe.seed, cpu_math: None, merged_loras: false };
        let result = Arc::new(Rgb8::new(64, 64, pixels).unwrap());
        studio.port.send(Event::Picture { job, picture: Picture { info, notes: Vec::new(), image: result } });
        studio.until("the candidate", |app| app.state.canvas.edited().is_some_and(|document| document.candidates.len() == at + 1));
        studio.done(job);
    }
    studio.click("Accept");
    assert_eq!((studio.content().picture().pixels()[(20 * 64 + 8) * 3], studio.canvas().candidates.len()), (9, 1), "the other one waits");
    studio.click("Accept");
    assert_eq!(studio.content().picture().pixels()[(20 * 64 + 48) * 3], 9);
    assert_eq!((studio.canvas().candidates.len(), studio.canvas().regions().count()), (0, 0), "the regions have done their work");
}

#[test]
fn layers_guide_the_picture_where_the_model_can_use_them() {
    let mut studio = studio();
    studio.take_tool(Key::B);
    studio.press(Modifiers::NONE, Key::F7);
    studio.draw((20.0, 30.0), (40.0, 30.0));
    studio.click("Layer types");
    assert!(
        studio.harness.get_by_role_and_label(Role::Button, "Add a control layer").accesskit_node().is_disabled(),
        "there is no ControlNet"
    );
    studio.click("Use the layer as a reference");
    assert_eq!(studio.content().current_layer().kind, LayerKind::Reference);
    studio.settle_canvas();
    studio.press(Modifiers::COMMAND, Key::Enter);
    let (job, recipe, _) = studio.take();
    assert_eq!((recipe.reference_images.len(), recipe.control.is_some()), (1, false));
    studio.done(job);

    let net = studio.folder.path().join("net.safetensors");
    studio.app_mut().state.shared.next.recipe.files.set(FileRole::Controlnet, net);
    studio.harness.run_ok();
    studio.click("Layer types");
    studio.click("Use the layer for control");
    studio.settle_canvas();
    studio.press(Modifiers::COMMAND, Key::Enter);
    let (_, recipe, _) = studio.take();
    assert_eq!((recipe.reference_images.len(), recipe.control.map(|control| control.strength)), (0, Some(0.9)));
}

#[test]
fn the_same_asked_for_again_with_a_locked_seed_is_another_candidate() {
    let mut studio = studio();
    studio.take_tool(Key::M);
    studio.draw((20.0, 20.0), (30.0, 20.0));
    studio.app_mut().state.shared.next.recipe =
        Recipe { seed: Some(Seed(7)), batch_count: 2, ..studio.app().state.shared.next.recipe.clone() };
    let mut seed_of_next = |prompt: &str, strokes: &[(f32, f32)]| {
        studio.app_mut().state.shared.next.recipe.prompt = prompt.into();
        for &(x, y) in strokes {
            studio.draw((x, y), (x + 6.0, y));
        }
        studio.settle_canvas();
        studio.press(Modifiers::COMMAND, Key::Enter);
        let (job, recipe, _) = studio.take();
        let seed = seed_of(&recipe);
        studio.begin(job, vec![seed, seed + 1]);
        studio.done(job);
        seed
    };
    assert_eq!(seed_of_next("a lake", &[]), 7);
    assert_eq!(seed_of_next("a lake", &[]), 9, "after the two of the batch");
    assert_eq!(seed_of_next("a road", &[]), 7, "other words are compared with the same seed");
    assert_eq!(seed_of_next("a lake", &[]), 11);
    assert_eq!(seed_of_next("a lake", &[(40.0, 40.0)]), 7, "another mask");
}

#[test]
fn candidates_are_looked_at_one_by_one_and_put_away() {
    let mut studio = studio();
    studio.take_tool(Key::M);
    studio.draw((20.0, 20.0), (30.0, 20.0));
    studio.app_mut().state.shared.next.recipe.batch_count = 3;
    studio.settle_canvas();
    let pictures = |studio: &Studio| {
        let cells = studio.harness.query_all_by_role(Role::Button).filter_map(|it| it.accesskit_node().label());
        cells.filter(|name| name.starts_with("Picture ") && name.contains(", seed")).count()
    };
    let before = pictures(&studio);
    studio.press(Modifiers::COMMAND, Key::Enter);
    let (job, recipe, _) = studio.take();
    studio.begin(job, (0..3).map(|index| seed_of(&recipe) + index).collect());
    for index in 0..3 {
        studio.picture(job, index, seed_of(&recipe) + u64::from(index));
    }
    studio.done(job);
    studio.until("all three", |app| app.state.canvas.edited().is_some_and(|document| document.candidates.len() == 3));
    assert_eq!(studio.app().state.create.session.len(), 4);
    assert_eq!(pictures(&studio), before, "each has one cell, which is the candidate's");
    assert_eq!(studio.canvas().shown_candidate, Some(0), "the one that was looked at stays");
    studio.press(Modifiers::NONE, Key::Period);
    assert_eq!(studio.canvas().shown_candidate, Some(1));
    studio.press(Modifiers::NONE, Key::Backspace);
    assert_eq!((studio.canvas().candidates.len(), studio.canvas().shown_candidate), (2, Some(1)));
    assert_eq!(pictures(&studio), before + 1, "what is no candidate any more is a picture like others");
    studio.click("Discard all");
    assert_eq!((studio.canvas().candidates.len(), studio.canvas().shown_candidate), (0, None));
    assert_eq!(studio.content().layers().len(), 2, "the canvas is as it was");
}

#[test]
fn a_border_is_dragged_and_the_new_part_is_what_is_generated() {
    let mut studio = studio();
    studio.take_tool(Key::C);
    studio.draw((64.0, 30.0), (96.0, 30.0));
    studio.settle_canvas();
    assert_eq!((studio.content().width(), studio.content().height()), (96, 64));
    assert_eq!((studio.content().colour_at(63, 5), studio.content().colour_at(64, 5)), (Some([120; 3]), None));
    assert!(studio.sees("Outpaint to the right"));
    studio.settle_canvas();
    studio.press(Modifiers::COMMAND, Key::Enter);
    let (_, recipe, _) = studio.take();
    let mask = mask_of(&recipe, 96, 64);
    assert_eq!((mask[63], mask[64]), (0, 255));
    assert_eq!(recipe.init.unwrap().strength, 1.0, "there is nothing to be kept");
    studio.press(Modifiers::COMMAND, Key::Z);
    assert_eq!(studio.content().bounds(), PixelRect::of_size(64, 64));
    studio.draw((0.0, 30.0), (16.0, 30.0));
    studio.until("the crop", |app| app.state.canvas.edited().is_some_and(|document| document.document.content().width() == 48));
}

#[test]
fn borders_too_wide_for_one_look_of_the_model_are_extended_part_by_part() {
    let mut studio = studio();
    studio.take_tool(Key::C);
    studio.draw((64.0, 30.0), (96.0, 30.0));
    studio.settle_canvas();
    assert!(studio.canvas().shown_crop().is_some());
    studio.draw((30.0, 64.0), (30.0, 80.0));
    studio.settle_canvas();
    assert_eq!((studio.content().width(), studio.content().height()), (96, 80));
    assert_eq!(studio.canvas().shown_crop(), None, "there are several");
    assert!(studio.sees("Outpaint the empty part") || studio.sees("Outpaint the picture"));
    studio.press(Modifiers::COMMAND, Key::Enter);
    let (_, recipe, _) = studio.take();
    assert_eq!(recipe.outpaint, Some(Borders { right: 32, bottom: 16, ..Borders::default() }));
    assert_eq!(recipe.mask, None);
    let start = atelier_media::read_image(&recipe.init.unwrap().image).unwrap();
    assert_eq!((start.width(), start.height(), start.pixels()[0]), (64, 64, 120));
}

#[test]
fn how_a_part_is_generated_can_be_set_and_taken_back() {
    let mut studio = studio_with(512);
    studio.take_tool(Key::M);
    studio.draw((240.0, 240.0), (260.0, 260.0));
    studio.settle_canvas();
    let narrow = studio.canvas().shown_crop().unwrap();
    studio.click("Inpainting settings");
    for name in ["Automatic", "Match the colours around"] {
        studio.harness.get_by_role_and_label(Role::CheckBox, name).click();
        studio.harness.run_ok();
    }
    studio.click("Grey");
    studio.app_mut().state.canvas.options.area.context = 4.0;
    studio.until("a wider crop", |app| {
        app.state.canvas.edited().and_then(OpenDocument::shown_crop).is_some_and(|crop| crop.area() > narrow.area())
    });
    studio.press(Modifiers::NONE, Key::Escape);
    studio.press(Modifiers::COMMAND, Key::Enter);
    let (_, recipe, _) = studio.take();
    let area = recipe.area.unwrap();
    assert_eq!((area.context, area.fill, area.seam_correction), (4.0, Some(AreaFill::Neutral), false));
    assert!(area.feather.is_some());
    studio.click("Inpainting settings");
    studio.click("Reset");
    assert_eq!(studio.app().state.canvas.options.area, AreaSettings::default());
}

#[test]
fn what_the_model_will_see_is_drawn_and_dragged_by_its_corners() {
    let mut studio = studio_with(512);
    studio.take_tool(Key::M);
    studio.settle_canvas();
    assert_eq!(studio.canvas().shown_crop(), None, "nothing is masked");
    studio.draw((240.0, 240.0), (260.0, 260.0));
    studio.settle_canvas();
    let crop = studio.canvas().shown_crop().unwrap();
    assert!(crop.contains(250, 250) && crop.width < 512, "it is about what is masked: {crop:?}");
    let corner = (crop.right() as f32, crop.bottom() as f32);
    studio.draw(corner, (corner.0 + 40.0, corner.1 + 40.0));
    let wider = studio.canvas().shown_crop().unwrap();
    assert_eq!((wider.left, wider.width), (crop.left, crop.width + 40));
    assert_eq!(studio.canvas().document.next_undo(), Some("Paint"), "no paint was left");
    studio.settle_canvas();
    studio.press(Modifiers::COMMAND, Key::Enter);
    let (_, recipe, _) = studio.take();
    assert_eq!(recipe.area.unwrap().crop, Some(wider));
}

#[test]
fn shapes_fill_the_layer_that_is_chosen() {
    let mut studio = studio();
    studio.take_tool(Key::M);
    studio.press(Modifiers::SHIFT, Key::L);
    assert_eq!(studio.app().state.canvas.tool, Tool::Rectangle);
    studio.draw((8.0, 8.0), (24.0, 40.0));
    studio.settle_canvas();
    assert_eq!(studio.canvas().current_analysis().unwrap().masked, PixelRect { left: 8, top: 8, width: 16, height: 32 });
    studio.press(Modifiers::NONE, Key::L);
    studio.draw((40.0, 10.0), (60.0, 30.0));
    studio.press(Modifiers::NONE, Key::Delete);
    studio.settle_canvas();
    assert!(studio.canvas().current_analysis().unwrap().mask.is_none(), "the layer is empty again");
    studio.press(Modifiers::NONE, Key::B);
    studio.press(Modifiers::NONE, Key::G);
    let ink = studio.app().state.canvas.options.colour;
    studio.draw((30.0, 30.0), (30.0, 30.0));
    studio.settle_canvas();
    assert_eq!(studio.content().colour_at(0, 0), Some(ink), "the bucket fills what looks alike");
    assert_eq!(studio.content().current_layer().kind, LayerKind::Paint);
}

#[test]
fn layers_are_arranged_in_their_panel() {
    let mut studio = studio();
    studio.take_tool(Key::B);
    assert!(!studio.sees("Add a layer"), "the panel is closed until it is needed");
    studio.press(Modifiers::NONE, Key::F7);
    studio.click("Add a layer");
    let names = |studio: &Studio| studio.content().layers().iter().map(|layer| layer.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&studio), ["Picture", "Layer 2"]);
    studio.harness.check_accessibility();
    studio.draw((20.0, 30.0), (40.0, 30.0));
    studio.click("Hide the layer: Layer 2");
    assert_eq!(studio.content().colour_at(30, 30), Some([120; 3]));
    studio.draw((20.0, 30.0), (40.0, 30.0));
    assert!(studio.sees("This layer is hidden."), "it says what is in the way");
    studio.click("Show the layer: Layer 2");
    studio.click("Move the layer down");
    assert_eq!(names(&studio), ["Layer 2", "Picture"]);
    studio.press(Modifiers::COMMAND, Key::Z);
    studio.click("Remove the layer");
    assert_eq!(names(&studio), ["Picture"]);
}

#[test]
fn tab_hides_everything_but_the_picture() {
    let mut studio = studio();
    studio.take_tool(Key::B);
    studio.press(Modifiers::NONE, Key::Tab);
    assert!(!studio.sees("Rework the picture") && !studio.sees("Lasso") && studio.sees("Canvas, 64 by 64 pixels"));
    studio.press(Modifiers::NONE, Key::Escape);
    assert!(studio.sees("Rework the picture") && studio.sees("Lasso"), "the canvas is still there");
    studio.press(Modifiers::NONE, Key::F11);
    assert!(
        studio.window_commands().iter().any(|it| matches!(it, egui::ViewportCommand::Fullscreen(true)))
            || studio.app().state.canvas.edited().is_some()
    );
}

#[test]
fn the_command_palette_finds_a_command_and_does_it() {
    let mut studio = studio();
    studio.take_tool(Key::B);
    studio.press(Modifiers::COMMAND, Key::K);
    assert!(studio.app().state.palette.is_open);
    let field = studio.harness.get_by_role_and_label(Role::TextInput, "Find a command");
    assert!(field.is_focused());
    field.type_text("mask every");
    studio.harness.run_ok();
    studio.press(Modifiers::NONE, Key::Enter);
    assert!(!studio.app().state.palette.is_open);
    studio.settle_canvas();
    assert_eq!(studio.canvas().current_analysis().unwrap().masked, PixelRect::of_size(64, 64));
    studio.press(Modifiers::COMMAND, Key::K);
    studio.press(Modifiers::NONE, Key::Escape);
    assert!(!studio.app().state.palette.is_open && studio.app().state.canvas.edited().is_some(), "Esc closes the palette alone");
}

#[test]
fn what_was_painted_is_there_again_after_the_window_closed() {
    let mut studio = studio();
    studio.take_tool(Key::B);
    studio.draw((20.0, 30.0), (40.0, 30.0));
    let before = studio.content().picture();
    let Studio { mut harness, folder, port } = studio;
    harness.state_mut().take().unwrap().finish();
    drop((harness, port));
    assert_eq!(std::fs::read_dir(Paths::beneath(folder.path()).canvases()).unwrap().count(), 1);

    let mut studio = Studio::at(folder, Settings { recipe: ready(), ..Settings::default() }, Err(String::new()), [1440.0, 900.0]);
    studio.until("the canvas", |app| app.state.canvas.edited().is_some());
    assert_eq!(studio.content().picture(), before);
    let close: crate::gui::command::Command = crate::gui::canvas::Command::Close.into();
    assert_eq!(close.enabled(&studio.app().state), Ok(()));
}

#[test]
fn a_canvas_is_kept_by_itself_after_twenty_seconds_of_change() {
    let mut studio = studio();
    studio.take_tool(Key::B);
    studio.draw((20.0, 30.0), (40.0, 30.0));
    let folder = Paths::beneath(studio.folder.path()).canvases();
    assert!(!folder.exists());
    studio.harness.input_mut().time = Some(studio.harness.ctx.input(|input| input.time) + 21.0);
    studio.harness.step();
    studio.until("the file", move |_| std::fs::read_dir(&folder).is_ok_and(|files| files.count() == 1));
}

#[test]
fn a_closed_canvas_is_opened_again_with_what_can_be_undone() {
    let mut studio = studio();
    let reopen: crate::gui::command::Command = crate::gui::canvas::Command::Reopen.into();
    assert_eq!(reopen.enabled(&studio.app().state), Err("No canvas was closed."));
    studio.take_tool(Key::B);
    studio.draw((20.0, 30.0), (40.0, 30.0));
    let before = studio.content().picture();
    studio.press(Modifiers::COMMAND, Key::K);
    studio.harness.get_by_role_and_label(Role::TextInput, "Find a command").type_text("close the canvas");
    studio.harness.run_ok();
    studio.press(Modifiers::NONE, Key::Enter);
    assert!(studio.app().state.canvas.edited().is_none());
    let folder = Paths::beneath(studio.folder.path()).canvases();
    studio.press(Modifiers::COMMAND | Modifiers::SHIFT, Key::T);
    assert_eq!(studio.content().picture(), before);
    assert!(studio.sees("Canvas, 64 by 64 pixels") && studio.canvas().document.next_undo().is_some());
    studio.press(Modifiers::COMMAND, Key::Z);
    assert_ne!(studio.content().picture(), before);
    let Studio { mut harness, folder: kept, port } = studio;
    harness.state_mut().take().unwrap().finish();
    drop((harness, port));
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 1, "it is kept by itself again");
    drop(kept);
}
