//! Room: nothing lies on something else or is cut off, at sizes from a small laptop's to a large
//! screen's; the Tab key goes from left to right and what has the keyboard is in sight.

use crate::gui::screen::Screen;
use crate::gui::tests::*;

/// Sizes of the window, in points.
pub(super) const SIZES: [[f32; 2]; 5] = [[1440.0, 900.0], [1024.0, 700.0], [900.0, 1400.0], [640.0, 480.0], [3840.0, 2160.0]];
/// Where the bar ends, in points.
const BAR_BOTTOM: f32 = 49.0;

/// A window with a picture, the queue open or not, and text of this size in percent.
fn busy(size: [f32; 2], is_queue_open: bool, zoom_percent: u32) -> Studio {
    let zoom = 100.0 / zoom_percent as f32;
    let mut studio = Studio::sized(ready(), [size[0] * zoom, size[1] * zoom]);
    studio.make(7);
    studio.leave_field();
    if is_queue_open {
        studio.press(Modifiers::COMMAND, Key::J);
    }
    studio
}

/// Where the bar begins, in points.
fn bar_left(studio: &Studio) -> f32 {
    let is_view = |name: &str| name.starts_with("View: ") || name == Screen::Create.label();
    let buttons = studio.harness.query_all_by_role(Role::Button);
    let first = buttons.filter(|it| it.rect().top() < BAR_BOTTOM && it.accesskit_node().label().is_some_and(|name| is_view(&name)));
    first.map(|it| it.rect().left() - 4.0).fold(f32::INFINITY, f32::min)
}

fn has_settings(studio: &Studio) -> bool {
    studio.harness.query_by_role_and_label(Role::MultilineTextInput, "Prompt").is_some()
}

/// Shows the settings where they fold by themselves.
fn show_settings(studio: &mut Studio) {
    if !has_settings(studio) {
        studio.press(Modifiers::COMMAND, Key::B);
    }
}

/// Buttons whose middle is in this rectangle.
fn buttons_in(studio: &Studio, area: egui::Rect) -> Vec<(String, egui::Rect)> {
    let found = studio.harness.query_all_by_role(Role::Button);
    let named = found.map(|node| (node.accesskit_node().label().unwrap_or_default(), node.rect()));
    named.filter(|(_, rect)| area.contains(rect.center())).collect()
}

fn assert_apart(buttons: &[(String, egui::Rect)], what: &str) {
    for (at, (name, rect)) in buttons.iter().enumerate() {
        for (other, its) in &buttons[..at] {
            let common = rect.intersect(*its);
            assert!(
                !common.is_positive() || common.width() < 1.0 || common.height() < 1.0,
                "{what}: {name} {rect:?} lies on {other} {its:?}"
            );
        }
    }
}

#[test]
fn the_bar_has_room_at_five_sizes_in_every_view_with_and_without_the_queue() {
    for size in SIZES {
        for is_queue_open in [false, true] {
            for zoom in [100, 150] {
                if zoom == 150 && size[0] < 1000.0 {
                    continue;
                }
                let mut studio = busy(size, is_queue_open, zoom);
                for screen in Screen::ALL {
                    studio.press(Modifiers::COMMAND, screen.shortcut().keys.logical_key);
                    let what = format!("{size:?}, queue {is_queue_open}, {zoom} %, {}", screen.label());
                    let window = studio.harness.ctx.content_rect();
                    let bar = egui::Rect::from_min_max(egui::pos2(bar_left(&studio), 0.0), egui::pos2(window.right(), BAR_BOTTOM));
                    let buttons = buttons_in(&studio, bar);
                    assert!(buttons.iter().any(|(name, _)| name == "Menu"), "{what}");
                    let leads: Vec<_> = buttons.iter().map(|(name, _)| name.as_str()).collect();
                    let has_tabs = Screen::ALL.iter().all(|it| leads.contains(&it.label()));
                    assert!(has_tabs || leads.iter().any(|it| it.starts_with("View: ")), "{what}: {leads:?}");
                    assert_apart(&buttons, &what);
                    for (name, rect) in &buttons {
                        assert!(bar.expand(1.0).contains_rect(*rect), "{what}: {name} is cut off: {rect:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn what_the_bar_has_no_room_for_is_in_its_menu() {
    let mut studio = busy([900.0, 1400.0], true, 100);
    assert!(studio.harness.query_by_role_and_label(Role::Button, "Fit to window").is_none());
    studio.click("More");
    for words in ["Fit to window", "Zoom in"] {
        assert!(studio.harness.query_by_role_and_label(Role::Button, words).is_some(), "{words}");
    }
    let mut studio = busy([640.0, 480.0], false, 100);
    show_settings(&mut studio);
    let view =
        studio.harness.query_all_by_role(Role::Button).find(|it| it.accesskit_node().label().is_some_and(|it| it.starts_with("View: ")));
    view.unwrap().click();
    studio.harness.run_ok();
    studio.click("Gallery");
    assert_eq!(studio.app().state.shared.screen, Screen::Gallery);
}

#[test]
fn at_the_first_start_prompt_shape_count_and_generate_are_in_sight_and_the_rest_is_lines() {
    for size in [[1440.0, 900.0], [1024.0, 700.0]] {
        let settings = Settings { recipe: ready(), counts_automatically: true, open_folds: [].into(), ..Settings::default() };
        let studio = Studio::with(settings, Err("none".into()), size);
        let controls = overlaps::controls(&studio);
        for name in [
            "MultilineTextInput \"Prompt\"",
            "Button \"Shape 16:9\"",
            "Button \"Number of pictures: 1, chosen automatically\"",
            "Button \"Generate\"",
        ] {
            let control = controls.iter().find(|it| it.name == name).unwrap_or_else(|| panic!("{size:?}: {name} is out of sight"));
            let (all, seen) = (control.widget.rect, control.widget.interact_rect);
            assert!(seen.area() > 0.95 * all.area(), "{size:?}: {seen:?} of {name} at {all:?}");
        }
        assert!(studio.sees("Sampling: 4 steps") && !studio.sees("Scheduler"), "{size:?}");
    }
}

#[test]
fn the_settings_fold_away_for_the_picture() {
    let mut studio = busy([1024.0, 700.0], false, 100);
    let width = |studio: &Studio| crate::gui::viewport::canvas_rect(&studio.harness.ctx).unwrap().width();
    let before = width(&studio);
    studio.press(Modifiers::COMMAND, Key::B);
    assert!(!has_settings(&studio));
    assert!((width(&studio) - before - 344.0).abs() < 1.0);
    // The bar has a button for what is not in sight.
    studio.click("Hide or show the settings");
    assert!(has_settings(&studio));
    assert!(studio.harness.query_by_role_and_label(Role::Button, "Hide or show the settings").is_none());
}

#[test]
fn the_settings_fold_by_themselves_where_they_would_take_half_of_the_window() {
    let mut studio = busy([1024.0, 700.0], false, 150);
    assert!(!has_settings(&studio));
    studio.click("Hide or show the settings");
    assert!(has_settings(&studio));
    studio.press(Modifiers::COMMAND, Key::B);
    assert!(!has_settings(&studio));
    // A fold that came by itself is nobody's choice.
    assert!(!studio.app().settings().hides_side_panel);
    studio.harness.set_size([900.0, 700.0].into());
    studio.harness.run_ok();
    assert!(has_settings(&studio));
    studio.harness.set_size([640.0, 480.0].into());
    studio.harness.run_ok();
    assert!(!has_settings(&studio));
    // What is asked for comes into sight, and folds again with the next narrow window.
    studio.press(Modifiers::COMMAND, Key::L);
    assert!(has_settings(&studio) && studio.harness.ctx.text_edit_focused());
    studio.harness.set_size([1440.0, 900.0].into());
    studio.harness.run_ok();
    studio.harness.set_size([600.0, 900.0].into());
    studio.harness.run_ok();
    assert!(!has_settings(&studio));
}

#[test]
fn settings_that_a_person_hid_stay_hidden_over_a_restart_until_something_in_them_is_asked_for() {
    let mut studio = busy([1440.0, 900.0], false, 100);
    studio.press(Modifiers::COMMAND, Key::B);
    let kept = studio.app().settings();
    assert!(kept.hides_side_panel);
    let mut studio = Studio::with(kept, Err("none".into()), [1440.0, 900.0]);
    assert!(!has_settings(&studio));
    for screen in [Screen::Gallery, Screen::Models] {
        studio.press(Modifiers::COMMAND, screen.shortcut().keys.logical_key);
        studio.press(Modifiers::COMMAND, Key::F);
        assert!(studio.harness.ctx.text_edit_focused(), "{}", screen.label());
        studio.press(Modifiers::COMMAND, Key::B);
        assert!(studio.app().settings().hides_side_panel);
    }
    studio.press(Modifiers::COMMAND, Key::Num1);
    studio.press(Modifiers::COMMAND, Key::L);
    assert!(has_settings(&studio) && !studio.app().settings().hides_side_panel);
}

/// Where the picture lies on the screen: that of the canvas, where one is edited.
fn picture_place(studio: &Studio) -> egui::Rect {
    let state = &studio.app().state;
    let texture = match state.canvas.edited() {
        Some(document) => document.surface.parts().next().map(|(_, texture)| texture),
        None => state.create.session.shown().and_then(|picture| state.create.session.texture(picture.id)),
    };
    studio.painted(texture.unwrap()).unwrap()
}

fn assert_at(studio: &Studio, before: egui::Rect, what: &str) {
    let now = picture_place(studio);
    assert!((now.min - before.min).length() < 0.1 && (now.max - before.max).length() < 0.1, "{what}: {now:?}, was {before:?}");
}

#[test]
fn a_picture_keeps_its_size_and_place_while_panels_open_and_close() {
    for size in SIZES {
        let mut studio = busy(size, false, 100);
        studio.until("the picture", |app| {
            let session = &app.state.create.session;
            session.shown().is_some_and(|picture| session.has_whole_texture(picture.id))
        });
        let shown = picture_place(&studio);
        studio.press(Modifiers::COMMAND, Key::J);
        let panel = studio.harness.get_by_role_and_label(Role::Button, "Hide the queue").rect();
        assert!(studio.harness.ctx.content_rect().contains_rect(panel), "{size:?}");
        assert_at(&studio, shown, &format!("{size:?}: the queue is open"));
        studio.press(Modifiers::COMMAND, Key::J);
        assert_at(&studio, shown, &format!("{size:?}: the queue is closed"));

        studio.press(Modifiers::NONE, Key::B);
        studio.until("the canvas", |app| app.state.canvas.edited().is_some_and(|it| it.surface.parts().next().is_some()));
        assert_at(&studio, shown, &format!("{size:?}: it is a canvas"));
        for panels in ["the layers are open", "both are open"] {
            let (modifiers, key) = if panels.starts_with("both") { (Modifiers::COMMAND, Key::J) } else { (Modifiers::NONE, Key::F7) };
            studio.press(modifiers, key);
            assert_at(&studio, shown, &format!("{size:?}: {panels}"));
            studio.harness.check_accessibility();
        }
        let [queue, layers] = ["Hide the queue", "Add a layer"].map(|it| studio.harness.get_by_role_and_label(Role::Button, it).rect());
        assert!(!queue.intersect(layers).is_positive(), "{size:?}");
    }
}

#[test]
fn a_press_on_a_panel_over_the_canvas_paints_nothing_below_it() {
    let mut studio = busy([1024.0, 700.0], false, 100);
    studio.press(Modifiers::NONE, Key::B);
    studio.until("the canvas", |app| app.state.canvas.edited().is_some());
    studio.press(Modifiers::COMMAND, Key::J);
    let canvas = crate::gui::viewport::canvas_rect(&studio.harness.ctx).unwrap();
    let place = picture_place(&studio);
    // The lower right corner of the picture is under the queue, which has no rows yet.
    let at = egui::pos2(place.right() - 8.0, place.bottom() - 8.0);
    let queue = studio.harness.get_by_role_and_label(Role::Button, "Hide the queue").rect();
    assert!(canvas.contains(at) && at.x > queue.right() - 300.0, "{at:?} {queue:?}");
    studio.drag_between(at, at - egui::vec2(20.0, 0.0));
    assert_eq!(studio.app().state.canvas.edited().unwrap().document.next_undo(), None);
    studio.press(Modifiers::COMMAND, Key::J);
    studio.drag_between(at, at - egui::vec2(20.0, 0.0));
    assert!(studio.app().state.canvas.edited().unwrap().document.next_undo().is_some(), "the same press on the canvas paints");
}

#[test]
fn the_button_that_makes_pictures_is_whole_at_five_sizes() {
    for size in SIZES {
        for files in 0..4 {
            let mut recipe = ready();
            let roles = [FileRole::Vae, FileRole::ClipL, FileRole::T5xxl];
            for role in roles.into_iter().take(files) {
                recipe.files.set(role, format!("/models/a model with a long name for the part {role:?}.safetensors"));
            }
            let mut studio = Studio::sized(recipe, size);
            studio.harness.run_ok();
            show_settings(&mut studio);
            let button = studio.harness.get_by_role_and_label(Role::Button, "Generate").rect();
            let window = studio.harness.ctx.content_rect();
            assert!(window.contains_rect(button), "{size:?} with {files} files: {button:?}");
            assert!(button.height() >= 26.0, "{button:?}");
        }
    }
}

#[test]
fn the_options_of_a_brush_have_room_at_five_sizes() {
    for size in SIZES {
        let mut studio = busy(size, false, 100);
        show_settings(&mut studio);
        studio.press(Modifiers::NONE, Key::B);
        studio.until("the canvas", |app| app.state.canvas.edited().is_some());
        for key in [Key::B, Key::M, Key::E] {
            studio.press(Modifiers::NONE, key);
            let window = studio.harness.ctx.content_rect();
            let sliders: Vec<_> = ["Size", "Hardness", "Opacity", "Smoothing", "Strength"]
                .into_iter()
                .filter_map(|name| {
                    let node = studio.harness.query_all_by_role_and_label(Role::Slider, name).find(|it| it.rect().left() > 344.0)?;
                    Some((name.to_owned(), node.rect()))
                })
                .collect();
            assert!(sliders.iter().any(|(name, _)| name == "Size") && sliders.iter().any(|(name, _)| name == "Strength"), "{size:?}");
            assert_apart(&sliders, &format!("{size:?} {key:?}"));
            for (name, slider) in &sliders {
                assert!(window.contains_rect(*slider), "{size:?}: {name} is cut off: {slider:?}");
                // The words before a slider are its own.
                for words in ["Size", "Hardness", "Opacity", "Smoothing", "Strength"] {
                    for label in studio.harness.query_all_by_role_and_label(Role::Label, words).filter(|it| it.rect().left() > 344.0) {
                        let common = label.rect().intersect(*slider);
                        assert!(!common.is_positive() || common.width() < 1.0, "{size:?}: {words} lies on {name}");
                    }
                }
            }
        }
    }
}

#[test]
fn the_tab_key_never_leaves_what_is_in_sight() {
    let mut studio = Studio::open(ready());
    studio.make(7);
    studio.press(Modifiers::COMMAND, Key::L);
    let mut visited = Vec::new();
    for stop in 0..90 {
        studio.press(Modifiers::NONE, Key::Tab);
        for _ in 0..4 {
            studio.harness.run_ok();
        }
        let Some(focused) = studio.harness.ctx.memory(egui::Memory::focused) else { continue };
        let Some(response) = studio.harness.ctx.read_response(focused) else { continue };
        let (all, seen) = (response.rect.area(), response.interact_rect.area());
        assert!(seen > 0.8 * all, "stop {stop}: {:?} of {:?} is in sight", response.interact_rect, response.rect);
        visited.push(response.rect);
    }
    assert!(visited.len() > 60, "{}", visited.len());
}

#[test]
fn the_tab_key_visits_the_bar_and_headings_from_left_to_right() {
    let mut studio = busy([1440.0, 900.0], false, 100);
    studio.harness.get_by_role_and_label(Role::Button, "Create").focus();
    studio.harness.run_ok();
    let focused = |studio: &Studio| {
        let id = studio.harness.ctx.memory(egui::Memory::focused)?;
        studio.harness.ctx.read_response(id).map(|it| it.rect)
    };
    let mut before = focused(&studio).unwrap();
    let mut stops = 0;
    loop {
        studio.press(Modifiers::NONE, Key::Tab);
        let Some(rect) = focused(&studio) else { break };
        if rect.center().y > BAR_BOTTOM {
            break;
        }
        assert!(rect.left() >= before.left(), "{rect:?} after {before:?}");
        (before, stops) = (rect, stops + 1);
    }
    assert!(stops >= 10, "{stops}");
}

/// Presses Tab so often, and returns the places in this area that have the keyboard, in their order.
fn tab_stops(studio: &mut Studio, area: egui::Rect, presses: usize) -> Vec<egui::Rect> {
    let mut stops = Vec::new();
    for _ in 0..presses {
        studio.press(Modifiers::NONE, Key::Tab);
        studio.harness.run_ok();
        let focused = studio.harness.ctx.memory(egui::Memory::focused);
        let place = focused.and_then(|id| studio.harness.ctx.read_response(id)).map(|it| it.rect);
        stops.extend(place.filter(|rect| area.contains(rect.center())));
    }
    stops
}

fn assert_left_to_right(stops: &[egui::Rect], rows: usize, what: &str) {
    let mut count = 0;
    for pair in stops.windows(2) {
        if (pair[0].center().y - pair[1].center().y).abs() < 1.0 {
            count += 1;
            assert!(pair[1].left() >= pair[0].left(), "{what}: {:?} after {:?}", pair[1], pair[0]);
        }
    }
    assert!(count >= rows, "{what}: {count} in {stops:?}");
}

/// Goes from this control, the first of its row, through so many more of the row.
fn assert_row_left_to_right(studio: &mut Studio, role: Role, first: &str, more: usize) {
    let control = studio.harness.get_by_role_and_label(role, first);
    let rect = control.rect();
    control.focus();
    studio.harness.run_ok();
    let row = egui::Rect::from_x_y_ranges(0.0..=f32::INFINITY, rect.expand(1.0).y_range());
    let stops = [vec![rect], tab_stops(studio, row, more)].concat();
    assert_left_to_right(&stops, more, first);
}

#[test]
fn the_tab_key_visits_each_row_from_left_to_right() {
    let everywhere = |left: f32, right: f32| egui::Rect::from_x_y_ranges(left..=right, BAR_BOTTOM..=f32::INFINITY);
    // Files of the model, pictures and LoRAs.
    let mut recipe = Recipe {
        reference_images: vec![ImageSource::Pixels((*image(64, 3)).clone())],
        loras: vec![Lora::new("/loras/ink.safetensors".into(), 0.8)],
        ..ready()
    };
    recipe.files.set(FileRole::Vae, "/models/vae.safetensors");
    let mut studio = Studio::sized(recipe, [1440.0, 2400.0]);
    studio.press(Modifiers::COMMAND, Key::L);
    let stops = tab_stops(&mut studio, everywhere(0.0, 344.0), 80);
    assert_left_to_right(&stops, 10, "settings");

    let mut studio = gallery::open_gallery(&["a lake", "a castle"]);
    studio.press(Modifiers::NONE, Key::Home);
    studio.press(Modifiers::SHIFT, Key::ArrowRight);
    let delete = studio.harness.get_by_role_and_label(Role::Button, "Move to the trash").rect();
    let bar = egui::Rect::from_x_y_ranges(344.0..=1440.0, delete.y_range());
    studio.harness.get_by_role_and_label(Role::Button, "Move to the trash").focus();
    studio.harness.run_ok();
    let stops = [vec![delete], tab_stops(&mut studio, bar, 3)].concat();
    assert_left_to_right(&stops, 3, "gallery");

    let home = tempfile::tempdir().unwrap();
    let library = models::library(home.path(), "http://127.0.0.1:9");
    let settings = Settings { recipe: ready(), ..Settings::default() };
    let mut studio = Studio::with_library(settings, Err("none".into()), [1440.0, 1400.0], home, Some(library));
    studio.press(Modifiers::COMMAND, Key::Num3);
    studio.until("the library", |app| app.state.models.library.complete);
    Arc::make_mut(&mut studio.app_mut().state.models.library).settings.is_default_root = false;
    studio.harness.run_ok();
    assert_row_left_to_right(&mut studio, Role::Button, "Use the default folder", 1);

    let mut studio = canvas::studio();
    studio.take_tool(Key::B);
    assert_row_left_to_right(&mut studio, Role::Slider, "Hardness", 4);
    studio.press(Modifiers::NONE, Key::F7);
    studio.click("Add a layer");
    let layer = studio.harness.get_by_role_and_label(Role::Button, "Layer Layer 2");
    let row = egui::Rect::from_x_y_ranges(0.0..=1440.0, layer.rect().y_range());
    let first = layer.rect();
    layer.focus();
    studio.harness.run_ok();
    let stops = [vec![first], tab_stops(&mut studio, row, 2)].concat();
    assert_left_to_right(&stops, 2, "layers");
    assert_row_left_to_right(&mut studio, Role::ComboBox, "Blend mode", 1);
}
