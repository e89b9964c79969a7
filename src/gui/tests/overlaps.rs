//! Every view at five sizes in three languages: no two controls lie on each other, and no words of
//! ours are cut.
//!
//! The language is that of the whole process, so each has a process of its own, which runs this test
//! alone.

use std::collections::{BTreeSet, HashMap};
use std::process::Command;

use eframe::egui::accessibility::is_input;
use eframe::egui::accesskit::NodeId;
use eframe::egui::{Rect, Shape, WidgetRect};

use crate::gui::command::engraved;
use crate::gui::side_panel::{SIDE_WIDTH, SidePanel};
use crate::gui::tests::*;
use crate::gui::{system_fonts, theme};
use crate::settings::Fold;
use atelier_core::recipe::changed_settings;
use atelier_language::{Language, choose_language, text};

/// Names the language in the process that it has for itself.
const LANGUAGE: &str = "ATELIER_TEST_LANGUAGE";
/// This test, as the test's program names it.
const NAME: &str = "gui::tests::overlaps::in_no_view_controls_overlap_or_words_are_cut_at_five_sizes_in_three_languages";
/// Points by which two controls may reach into each other: lines have a width.
const TOLERANCE: f32 = 1.5;
/// A control may lie within a larger one, such as the star on a picture; this part of it is as much as
/// all.
const NEARLY_ALL: f32 = 0.8;

#[test]
fn in_no_view_controls_overlap_or_words_are_cut_at_five_sizes_in_three_languages() {
    if let Some(language) = std::env::var(LANGUAGE).ok().and_then(|tag| Language::from_locale(&tag)) {
        return look_at_all(language);
    }
    let program = std::env::current_exe().unwrap();
    let processes = Language::ALL.map(|language| {
        let mut command = Command::new(&program);
        command.args(["--exact", NAME, "--nocapture"]).env(LANGUAGE, language.tag());
        (language, std::thread::spawn(move || command.output().unwrap()))
    });
    let mut failed = Vec::new();
    for (language, process) in processes {
        let ran = process.join().unwrap();
        let said = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        if !ran.status.success() || !said.contains("1 passed") {
            failed.push(format!("{}:\n{said}", language.tag()));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// A window in this language, with all of the settings unfolded.
fn open(language: Language, recipe: Recipe) -> Studio {
    Studio::with(settings(language, recipe), Err("none".into()), room::SIZES[0])
}

fn settings(language: Language, recipe: Recipe) -> Settings {
    let open_folds = [Fold::Sampling, Fold::Upscale, Fold::Guides, Fold::Loras, Fold::More, Fold::Steps].into();
    Settings { recipe, language: Some(language), open_folds, places_automatically: false, ..Settings::default() }
}

fn look_at_all(language: Language) {
    choose_language(language);
    let words = words_of(language);
    assert!(words.contains(text("create-prompt-2")) && words.len() > 500, "{}", words.len());
    let usual = Recipe::default();
    let changed = changed_settings(&usual, &Recipe { steps: usual.steps + 1, ..usual.clone() });
    assert_eq!(changed, [text("core-setting-steps")]);
    assert_eq!(changed == ["steps"], language == Language::English);
    assert_eq!(engraved("Ctrl+Delete") == "Strg+Entf", language == Language::German);
    let font = egui::FontId::proportional(theme::BODY);
    let has_han = |studio: &Studio| studio.harness.ctx.fonts_mut(|fonts| fonts.has_glyph(&font, '語'));
    assert_eq!(system_fonts::han_locale(), (language == Language::Japanese).then_some("ja"));
    assert!(!language.writes_han() || has_han(&open(language, Recipe::default())), "of the system's fonts");
    let mut faults = BTreeSet::new();
    let mut look = |view: &str, studio: &mut Studio| {
        for size in room::SIZES {
            studio.harness.set_size(size.into());
            // In a narrow window the settings fold by themselves, and may be shown.
            let panels: &[SidePanel] =
                if size[0] < 2.0 * SIDE_WIDTH { &[SidePanel::Shown, SidePanel::WhereRoom] } else { &[SidePanel::WhereRoom] };
            for panel in panels {
                studio.app_mut().state.shared.side_panel = *panel;
                studio.settle();
                for fault in overlaps(studio).into_iter().chain(cut_words(studio, &words)) {
                    faults.insert(format!("{view} at {} × {}, {panel:?}: {fault}", size[0], size[1]));
                }
            }
        }
    };

    look("Create without a model", &mut open(language, Recipe::default()));
    let mut studio = open(language, Recipe { prompt: String::new(), ..ready() });
    examples::know_model(&mut studio);
    look("Create with examples", &mut studio);

    let mut studio = open(language, ready());
    studio.make(7);
    studio.leave_field();
    look("Create with a picture", &mut studio);
    studio.press(Modifiers::COMMAND, Key::J);
    look("Create with the queue", &mut studio);
    studio.press(Modifiers::COMMAND, Key::J);
    studio.press(Modifiers::NONE, Key::B);
    studio.until("the canvas", |app| app.state.canvas.edited().is_some());
    look("Canvas", &mut studio);
    studio.press(Modifiers::NONE, Key::M);
    studio.press(Modifiers::NONE, Key::F7);
    look("Canvas with a mask and the layers", &mut studio);

    let mut studio = open(language, Recipe { batch_count: 4, ..ready() });
    let (job, ..) = studio.generate();
    sheet::fill(&mut studio, job, 4, 11);
    look("Contact sheet", &mut studio);

    look("Devices", &mut board::open_board_with(settings(language, board::recipe()), board::machine(), 5));
    look("Models", &mut open_models(language));
    look("Gallery", &mut open_gallery(language));
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.into_iter().collect::<Vec<_>>().join("\n"));
}

/// The Models view with the shipped catalogue.
fn open_models(language: Language) -> Studio {
    let home = tempfile::tempdir().unwrap();
    let library = models::library(home.path(), "http://127.0.0.1:9");
    let mut studio = Studio::with_library(settings(language, ready()), Err("none".into()), room::SIZES[0], home, Some(library));
    studio.press(Modifiers::COMMAND, Key::Num3);
    studio.until("the library", |app| app.state.models.library.complete);
    studio
}

/// The Gallery view with three pictures, the first of them with the cursor.
fn open_gallery(language: Language) -> Studio {
    let home = tempfile::tempdir().unwrap();
    gallery::keep_pictures(home.path(), &["a lake at dawn", "a red fox", "the lake by night"]);
    let mut studio = Studio::at(home, settings(language, ready()), Err("none".into()), room::SIZES[0]);
    studio.press(Modifiers::COMMAND, Key::Num4);
    studio.until("the pictures", |app| app.state.gallery.found.ids.len() == 3 && app.state.gallery.summaries.len() >= 3);
    studio.press(Modifiers::NONE, Key::Home);
    studio.until("its details", |app| app.state.gallery.current_details().is_some());
    studio
}

/// The texts of a language that have no values in them, which have room or are a fault. A card shows the
/// first two lines of what the catalogue says of its model, and its details show all.
fn words_of(language: Language) -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/language/texts").join(language.tag());
    let mut words = BTreeSet::new();
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    for path in files.filter(|path| !path.ends_with("catalogue.ftl")) {
        let file = std::fs::read_to_string(path).unwrap();
        let texts = file.lines().filter(|line| line.starts_with(|it: char| it.is_ascii_lowercase()) && !line.contains('{'));
        words.extend(texts.filter_map(|line| line.split_once(" = ")).map(|(_, text)| text.trim().to_owned()));
    }
    words
}

/// A control in sight.
pub(super) struct Control {
    /// Its role and its name.
    pub(super) name: String,
    pub(super) widget: WidgetRect,
}

/// The controls of the last frame, as far as they are in sight.
pub(super) fn controls(studio: &Studio) -> Vec<Control> {
    let mut widgets: HashMap<NodeId, WidgetRect> = HashMap::new();
    studio.harness.ctx.viewport(|viewport| {
        for pass in [&viewport.prev_pass, &viewport.this_pass] {
            let of_layers = pass.widgets.layers().flat_map(|(_, widgets)| widgets);
            widgets.extend(of_layers.map(|widget| (widget.id.accesskit_id(), *widget)));
        }
    });
    let nodes = studio.harness.root().children_recursive().map(|node| node.accesskit_node());
    let inputs = nodes.filter(|node| is_input(node.role()) && !node.is_hidden());
    let in_sight = inputs.filter_map(|node| {
        let widget = *widgets.get(&node.locate().0)?;
        let seen = widget.interact_rect;
        let is_seen = widget.visible && seen.width() > TOLERANCE && seen.height() > TOLERANCE;
        is_seen.then(|| Control { name: format!("{:?} {:?}", node.role(), node.label().unwrap_or_default()), widget })
    });
    in_sight.collect()
}

/// Controls of one layer that lie on each other, but for those that lie within a larger one.
fn overlaps(studio: &Studio) -> Vec<String> {
    let controls = controls(studio);
    let mut found = Vec::new();
    for (at, one) in controls.iter().enumerate() {
        for other in &controls[..at] {
            let (its, others) = (one.widget.interact_rect, other.widget.interact_rect);
            if one.widget.layer_id == other.widget.layer_id && is_overlap(its, others) {
                found.push(format!("{} {its:?} lies on {} {others:?}", one.name, other.name));
            }
        }
    }
    found
}

fn is_overlap(one: Rect, other: Rect) -> bool {
    let common = one.intersect(other);
    if !common.is_positive() || common.width() <= TOLERANCE || common.height() <= TOLERANCE {
        return false;
    }
    let (small, large) = if one.area() < other.area() { (one, other) } else { (other, one) };
    let is_within = large.expand(TOLERANCE).contains_rect(small);
    !is_within || small.area() > NEARLY_ALL * large.area()
}

/// Words of ours that the last frame has drawn in part: elided, or cut at their left or right. What
/// scrolls may be cut above and below.
fn cut_words(studio: &Studio, words: &BTreeSet<String>) -> Vec<String> {
    let mut found = Vec::new();
    let board = board_of_devices(studio);
    for shape in &studio.harness.output().shapes {
        let Shape::Text(drawn) = &shape.shape else { continue };
        let all = drawn.visual_bounding_rect();
        let seen = all.intersect(shape.clip_rect);
        if !words.contains(drawn.galley.text()) || !seen.is_positive() || board.is_some_and(|it| it.contains_rect(seen)) {
            continue;
        }
        if drawn.galley.elided || seen.width() < all.width() - TOLERANCE {
            found.push(format!("{:?} is cut to {:.0} points", drawn.galley.text(), seen.width()));
        }
    }
    found
}

/// The board of devices, which scrolls sideways too: it lies between its legend and its form as text.
fn board_of_devices(studio: &Studio) -> Option<Rect> {
    let legend = studio.harness.query_all_by_label(text("devices-measured")).next()?.rect();
    let form = studio.harness.query_all_by_label(text("devices-as-text")).next()?.rect();
    Some(Rect::from_x_y_ranges(0.0..=f32::INFINITY, legend.bottom()..=form.top()))
}

#[test]
fn what_lies_within_a_larger_control_is_no_overlap_and_what_covers_it_is() {
    let rect = |left: f32, top: f32, width: f32, height: f32| Rect::from_min_size(egui::pos2(left, top), egui::vec2(width, height));
    let cell = rect(0.0, 0.0, 100.0, 100.0);
    assert!(!is_overlap(cell, rect(70.0, 5.0, 20.0, 20.0)), "a star on a picture");
    assert!(!is_overlap(cell, rect(100.0, 0.0, 100.0, 100.0)), "side by side");
    assert!(!is_overlap(cell, rect(99.0, 0.0, 100.0, 100.0)), "a line between them");
    assert!(is_overlap(cell, rect(90.0, 5.0, 20.0, 20.0)), "over the border");
    assert!(is_overlap(cell, rect(2.0, 2.0, 96.0, 96.0)), "in its place");
}
