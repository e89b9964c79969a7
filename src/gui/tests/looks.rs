//! What an artist stumbled over: signs that look alike, lines that are cut, words of our own, a
//! panel that moves.

use std::collections::BTreeSet;

use eframe::egui::epaint::text::{FontProvider, Fonts, TextOptions};
use egui_system_font_provider::SystemFontProvider;

use crate::gui::tests::board::open_board;
use crate::gui::tests::*;
use crate::gui::theme;
use crate::settings::Fold;

/// The glyph of the icon font that the last frame has drawn in this rectangle.
fn glyph_in(studio: &Studio, rect: egui::Rect) -> Option<char> {
    let is_private = |letter: &char| ('\u{e000}'..='\u{f8ff}').contains(letter);
    let texts = studio.harness.output().shapes.iter().filter_map(|it| match &it.shape {
        egui::Shape::Text(text) if rect.contains(text.visual_bounding_rect().center()) => text.galley.text().chars().next(),
        _ => None,
    });
    texts.rev().find(is_private)
}

#[test]
fn no_two_buttons_of_the_bar_have_the_same_sign_and_each_is_named_as_its_menu_entry_is() {
    let mut studio = Studio::sized(ready(), [1600.0, 900.0]);
    studio.make(7);
    let names = ["Upscale 2×", "Use these settings", "Start from this picture", "Copy picture", "Save as…", "Undo", "Redo", "Queue"];
    let mut signs = std::collections::BTreeMap::new();
    for name in names {
        let in_bar = studio.harness.query_all_by_role_and_label(Role::Button, name).map(|it| it.rect()).find(|rect| rect.bottom() < 48.0);
        let rect = in_bar.unwrap_or_else(|| panic!("{name} is not in the bar"));
        let sign = glyph_in(&studio, rect).unwrap_or_else(|| panic!("{name} has no sign"));
        assert_eq!(signs.insert(sign, name), None, "{name} looks like another");
    }
    // The same words stand in the menu of the picture.
    studio.harness.query_all_by_label_contains("Picture 1, seed 7").last().unwrap().click_secondary();
    studio.harness.run_ok();
    for name in &names[..5] {
        assert!(studio.paints(name), "{name}");
    }
}

#[test]
fn the_predicted_time_is_whole_at_both_sizes() {
    for size in [[1440.0, 900.0], [1024.0, 700.0]] {
        let mut studio = open_board(5);
        studio.harness.set_size(size.into());
        studio.port.send(Event::Rates { devices: Vec::new(), is_measuring: false });
        studio.answer_timed_estimate();
        studio.press(Modifiers::COMMAND, Key::Num1);
        studio.app_mut().state.shared.next.recipe.batch_count = 3;
        studio.settle();
        let words = "3 pictures in about 40 s, first preview after 4.5 s";
        let drawn = studio.harness.output().shapes.iter().find_map(|it| match &it.shape {
            egui::Shape::Text(text) if text.galley.text() == words => Some((text.galley.elided, text.visual_bounding_rect(), it.clip_rect)),
            _ => None,
        });
        let (is_elided, rect, clip) = drawn.unwrap_or_else(|| panic!("the time is not drawn at {size:?}"));
        assert!(!is_elided && clip.expand(0.5).contains_rect(rect), "{size:?}: {rect:?} in {clip:?}");
        let panel = studio.harness.get_by_role_and_label(Role::Button, "Generate").rect();
        assert!(rect.bottom() <= panel.top() && rect.left() >= 0.0);
    }
}

#[test]
fn the_words_of_the_field_stand_on_the_controls_and_ours_do_not() {
    let init = Some(InitImage { image: ImageSource::Pixels((*image(64, 3)).clone()), strength: 0.5 });
    let hires = Some(atelier_core::recipe::Hires::default());
    let studio = Studio::sized(Recipe { init, hires, ..ready() }, [1440.0, 2400.0]);
    for words in ["Negative prompt", "Upscale", "Denoise", "Upscaler", "Resize", "Mask", "Strength", "Model's default", "Start picture"] {
        assert!(studio.paints(words), "{words}");
    }
    for ours in ["Leave out", "Larger", "Refine", "Other shape", "As usual", "Surroundings"] {
        assert!(!studio.paints(ours), "{ours}");
    }
    // What is spoken begins with what is shown.
    for (role, name, shown) in [
        (Role::CheckBox, "Upscale each picture", "Upscale"),
        (Role::MultilineTextInput, "Negative prompt", "Negative prompt"),
        (Role::Button, "Add a LoRA", "LoRA"),
    ] {
        assert!(studio.harness.query_by_role_and_label(role, name).is_some() && name.contains(shown), "{name}");
    }
}

#[test]
fn a_small_picture_is_no_stamp_on_a_large_screen() {
    let mut studio = Studio::sized(ready(), [3840.0, 2160.0]);
    studio.make(7);
    let picture = studio.harness.get_by_role_and_label(Role::Image, "Picture, 64 by 64 pixels").rect();
    let texture = studio.app().state.create.session.shown().map(|it| it.id).and_then(|id| studio.app().state.create.session.texture(id));
    let drawn = studio.painted(texture.expect("its pixels")).unwrap();
    assert!((drawn.width() - 512.0).abs() < 1.0, "eight times as large, and not four: {drawn:?} in {picture:?}");
    // By hand there is more.
    studio.click("Zoom in");
    let texture = studio.app().state.create.session.shown().map(|it| it.id).and_then(|id| studio.app().state.create.session.texture(id));
    assert!(studio.painted(texture.unwrap()).unwrap().width() > 600.0);
}

#[test]
fn upscale_guides_and_loras_sum_themselves_up_where_they_are_folded() {
    let recipe = Recipe {
        hires: Some(atelier_core::recipe::Hires { scale: 1.5, strength: 0.4, ..Default::default() }),
        reference_images: vec![ImageSource::File("/a.png".into()), ImageSource::File("/b.png".into())],
        loras: vec![Lora::new("/loras/ink.safetensors".into(), 0.8)],
        disabled_loras: vec![Lora::new("/loras/fog.safetensors".into(), 1.0)],
        ..ready()
    };
    let mut studio = Studio::sized(recipe, [1440.0, 2000.0]);
    assert!(studio.sees("Denoise") && studio.sees("Reference picture 1") && studio.sees("Strength of ink"));
    for title in ["Upscale", "Guides", "LoRAs"] {
        studio.harness.get_by_label(title).click();
        studio.harness.run_ok();
    }
    for line in ["Upscale: 1.5×, denoise 0.4, Lanczos", "Guides: 2 references", "LoRAs: ink 0.80, 1 off"] {
        assert!(studio.sees(line), "{line}");
    }
    assert!(!studio.sees("Denoise") && !studio.sees("Reference picture 1") && !studio.sees("Strength of ink"));
    // What stands beside a title works while it is folded.
    studio.check("Upscale each picture");
    assert!(studio.app().state.shared.next.recipe.hires.is_none() && studio.sees("Upscale: off"));
    studio.app_mut().state.shared.next.recipe = ready();
    studio.harness.run_ok();
    assert!(studio.sees("Guides: none") && studio.sees("LoRAs: none"));
    let folded = studio.app().settings().open_folds;
    assert_eq!(folded, [Fold::Sampling].into());
    studio.harness.get_by_label_contains("LoRAs: none").click();
    studio.harness.run_ok();
    assert_eq!(studio.app().settings().open_folds, [Fold::Sampling, Fold::Loras].into());
    studio.harness.check_accessibility();
}

#[test]
fn more_settings_say_what_is_not_as_the_model_has_it_where_they_are_folded() {
    let mut studio = Studio::sized(ready(), [1440.0, 2400.0]);
    assert!(studio.sees("More settings: model's defaults"));
    let recipe = &mut studio.app_mut().state.shared.next.recipe;
    (recipe.eta, recipe.seamless_x, recipe.vae_tiling) = (Some(0.4), true, true);
    studio.harness.run_ok();
    assert!(studio.sees("More settings: 3 changed, ") && !studio.sees("Changed: "));
    studio.harness.get_by_label_contains("More settings").click();
    studio.harness.run_ok();
    studio.harness.run_ok();
    // Now each stands in its row, and a line below them names them all.
    assert!(studio.sees("Changed: ") && !studio.sees("3 changed") && studio.sees("Seamless"));
    studio.harness.check_accessibility();
}

#[test]
fn what_heads_a_part_of_the_settings_stands_out_from_the_names_in_it() {
    let mut studio = Studio::sized(ready(), [1440.0, 2000.0]);
    studio.harness.run_ok();
    let coords = |words: &str| {
        let found = studio.harness.output().shapes.iter().find_map(|it| match &it.shape {
            egui::Shape::Text(text) if text.galley.text() == words => text.galley.job.sections.first().map(|it| it.format.coords.clone()),
            _ => None,
        });
        found.unwrap_or_else(|| panic!("{words} is not drawn"))
    };
    let names = coords("Steps");
    assert_eq!(coords("Sampler"), names);
    for head in ["Sampling", "Upscale", "Guides", "LoRAs"] {
        assert_ne!(coords(head), names, "{head}");
    }
}

#[test]
fn keeping_a_seed_moves_nothing_under_the_pointer() {
    let mut studio = open_board(5);
    studio.port.send(Event::Rates { devices: Vec::new(), is_measuring: false });
    studio.answer_timed_estimate();
    studio.press(Modifiers::COMMAND, Key::Num1);
    studio.settle();
    let places = |studio: &Studio| {
        let time = studio.harness.query_all_by_label_contains("first preview after").next().unwrap().rect();
        (time, studio.harness.get_by_role_and_label(Role::Button, "Generate").rect())
    };
    let before = places(&studio);
    assert!(studio.sees("A new seed each time"));
    studio.app_mut().state.shared.next.recipe.seed = Some(Seed(4711));
    studio.settle();
    assert!(studio.sees("Seed 4711") && !studio.sees("A new seed each time"));
    assert_eq!(places(&studio), before);
}

#[test]
fn a_picture_that_comes_moves_nothing_in_the_strip_under_the_pointer() {
    let mut studio = Studio::open(ready());
    studio.make(1);
    studio.make(2);
    let left = |studio: &Studio, name: &str| studio.harness.get_by_role_and_label(Role::Button, name).rect().left();
    let place = studio.harness.get_by_role_and_label(Role::Button, "Picture 1, seed 1").rect();
    studio.harness.hover_at(place.center());
    studio.harness.run_ok();
    studio.make(3);
    assert!((left(&studio, "Picture 1, seed 1") - place.left()).abs() < 0.5);
    studio.harness.hover_at(egui::pos2(place.center().x, 300.0));
    studio.harness.run_ok();
    assert!(left(&studio, "Picture 1, seed 1") > place.right());
    assert!((left(&studio, "Picture 2, seed 2") - place.left()).abs() < 0.5, "the newest is in sight again");
}

#[test]
fn a_colour_as_dark_as_the_panel_has_the_edge_of_other_controls() {
    for (choice, theme) in [(ThemeChoice::Dark, egui::Theme::Dark), (ThemeChoice::Light, egui::Theme::Light)] {
        let settings = Settings { recipe: ready(), theme: choice, ..Settings::default() };
        let mut studio = Studio::with(settings, Err("none".into()), [1440.0, 900.0]);
        studio.make(7);
        studio.leave_field();
        studio.take_tool(Key::B);
        for colour in [[24, 24, 27], [250; 3]] {
            studio.app_mut().state.canvas.options.colour = colour;
            studio.harness.run_ok();
            let button = studio.harness.get_by_role_and_label(Role::ColorWell, "Colour").rect();
            let mut edges = studio.harness.output().shapes.iter().rev().filter_map(|it| match &it.shape {
                egui::Shape::Rect(shape) if shape.rect == button && shape.stroke.width > 0.0 => Some(shape.stroke.color),
                _ => None,
            });
            let edge = studio.harness.ctx.style_of(theme).visuals.widgets.inactive.bg_stroke.color;
            assert_eq!(edges.next(), Some(edge), "{choice:?} {colour:?}: the last one is what is seen");
        }
    }
}

#[test]
fn a_button_in_the_accent_is_grey_until_it_can_be_pressed() {
    let mut studio = Studio::open(ready());
    studio.press(Modifiers::COMMAND, Key::K);
    studio.harness.event(egui::Event::Text("compare settings".into()));
    studio.harness.run_ok();
    studio.press(Modifiers::NONE, Key::Enter);
    let ground = |studio: &Studio| {
        let button = studio.harness.get_by_role_and_label(Role::Button, "Generate sheet").rect().expand(2.0);
        let grounds = studio.harness.output().shapes.iter().rev().filter_map(|it| match &it.shape {
            egui::Shape::Rect(shape) if button.contains_rect(shape.rect) && shape.fill.a() > 0 => Some(shape.fill.to_array()),
            _ => None,
        });
        grounds.into_iter().next().unwrap()
    };
    let is_grey = |[red, green, blue, _]: [u8; 4]| red.abs_diff(green) <= 4 && green.abs_diff(blue) <= 4;
    assert!(is_grey(ground(&studio)), "there is no axis yet: {:?}", ground(&studio));
    studio.fill("X axis", "steps=4,8");
    assert!(!is_grey(ground(&studio)), "{:?}", ground(&studio));
}

#[test]
fn a_picture_of_the_strip_says_its_prompt_to_who_does_not_see_it() {
    let mut studio = Studio::open(Recipe { prompt: format!("a red hut, {}", "pines and ".repeat(40)), ..ready() });
    studio.make(7);
    let cell = studio.harness.get_by_role_and_label(Role::Button, "Picture 1, seed 7");
    let said = cell.accesskit_node().description().unwrap();
    assert!(said.contains("a red hut, pines") && said.contains('…') && said.len() < 400, "{said}");
}

#[test]
fn every_letter_of_the_languages_is_in_our_fonts_or_in_those_of_the_system() {
    for (language, is_of_system) in [("en", false), ("de", false), ("ja", true)] {
        let providers: Vec<Arc<dyn FontProvider>> = if is_of_system { vec![Arc::new(SystemFontProvider::new())] } else { Vec::new() };
        let mut fonts = Fonts::new(TextOptions::default(), theme::fonts()).with_font_providers(providers);
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/language/texts").join(language);
        let files = std::fs::read_dir(folder).unwrap().map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
        let letters: BTreeSet<char> = files.flat_map(|text| text.chars().collect::<Vec<_>>()).collect();
        let font = egui::FontId::proportional(theme::BODY);
        let missing: Vec<char> = letters.into_iter().filter(|it| !it.is_whitespace() && !fonts.has_glyph(&font, *it)).collect();
        assert_eq!(missing, Vec::<char>::new(), "{language}: boxes stand for them");
    }
}
