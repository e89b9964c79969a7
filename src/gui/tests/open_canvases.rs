//! Open canvases: found in the strip, left and gone back to, saved to files, opened from anywhere,
//! and what is known of them after a restart.

use crate::gui::canvas::state::State as CanvasState;
use crate::gui::canvas::tool::Tool;
use crate::gui::tests::canvas::studio;
use crate::gui::tests::*;
use atelier_core::canvas::{DocumentContent, LayerKind, TileImage};
use atelier_media::canvas_file::write_canvas;

/// The window with a picture as a canvas on which something was painted.
fn painted() -> Studio {
    let mut studio = studio();
    studio.take_tool(Key::B);
    studio.draw((20.0, 30.0), (40.0, 30.0));
    studio
}

fn canvas_state(studio: &Studio) -> &CanvasState {
    &studio.app().state.canvas
}

/// A canvas file of one grey layer.
fn canvas_file(folder: &Path, name: &str, side: u32) -> PathBuf {
    let path = folder.join(name);
    write_canvas(&path, &DocumentContent::new("Picture", TileImage::of_picture(&image(side, 90))).unwrap()).unwrap();
    path
}

/// Ends the window, and opens one anew with the same home.
fn restarted(studio: Studio) -> Studio {
    let Studio { mut harness, folder, port } = studio;
    harness.state_mut().take().unwrap().finish();
    drop((harness, port));
    let mut studio = Studio::at(folder, Settings { recipe: ready(), ..Settings::default() }, Err(String::new()), [1440.0, 900.0]);
    studio.until("the canvas", |app| app.state.canvas.edited().is_some());
    studio
}

#[test]
fn an_open_canvas_is_the_first_cell_of_the_strip_and_leaving_shows_what_it_composes() {
    let mut studio = painted();
    let cell = "Canvas, 64 × 64, not saved";
    assert!(studio.sees(cell), "nothing of it is in a file");
    let (first, picture) = (
        studio.harness.get_by_role_and_label(Role::Button, cell).rect(),
        studio.harness.get_by_role_and_label(Role::Button, "Picture 1, seed 1").rect(),
    );
    assert!(first.right() < picture.left() && first.size() == picture.size());

    studio.press(Modifiers::NONE, Key::Escape);
    assert!(canvas_state(&studio).edited().is_none() && !studio.sees("Lasso"));
    assert!(studio.sees("Picture of the canvas, 64 by 64 pixels"), "not the picture that was made last");
    assert!(studio.harness.get_by_role_and_label(Role::Button, cell).accesskit_node().toggled() == Some(egui::accesskit::Toggled::True));
    studio.harness.check_accessibility();
    studio.click("Go back to the canvas");
    assert_eq!(studio.content().colour_at(30, 30), Some(canvas_state(&studio).options.colour));

    // A tool that is taken while it is looked at is meant for it.
    studio.press(Modifiers::NONE, Key::Escape);
    studio.press(Modifiers::NONE, Key::E);
    assert!(canvas_state(&studio).edited().is_some_and(|document| document.document.version() > 0));
    // Once more leads to the pictures; the cell leads back.
    studio.press(Modifiers::NONE, Key::Escape);
    studio.press(Modifiers::NONE, Key::Escape);
    assert!(canvas_state(&studio).in_sight().is_none() && studio.sees("Picture, 64 by 64 pixels"));
    studio.click(cell);
    assert!(canvas_state(&studio).edited().is_some());
    studio.click("Picture 1, seed 1");
    assert!(canvas_state(&studio).in_sight().is_none(), "a picture that is chosen is what is shown");
}

#[test]
fn a_picture_keeps_its_size_and_place_as_it_becomes_a_canvas_and_gets_candidates() {
    let place = |studio: &Studio| {
        let create = &studio.app().state.create;
        create.view.rect(create.canvas_size_px().unwrap(), crate::gui::viewport::canvas_rect(&studio.harness.ctx).unwrap())
    };
    for size in [[1440.0, 900.0], [1024.0, 700.0], [900.0, 1400.0]] {
        let mut studio = Studio::sized(ready(), size);
        studio.make(1);
        studio.leave_field();
        let first = place(&studio);
        let assert_kept = |studio: &Studio, what: &str| {
            let now = place(studio);
            let moved = (now.min - first.min).length().max((now.max - first.max).length());
            assert!(moved < 1.0, "{size:?}, {what}: {now} was {first}");
        };
        for key in [Key::M, Key::B, Key::E, Key::A, Key::T] {
            studio.take_tool(key);
            assert_kept(&studio, &format!("with the tool of {key:?}"));
        }
        studio.take_tool(Key::M);
        studio.draw((20.0, 20.0), (30.0, 20.0));
        studio.settle_canvas();
        studio.press(Modifiers::COMMAND, Key::Enter);
        let (job, recipe, _) = studio.take();
        studio.begin(job, vec![seed_of(&recipe)]);
        assert_kept(&studio, "while a candidate forms");
        studio.picture(job, 0, seed_of(&recipe));
        studio.done(job);
        studio.until("the candidate", |app| app.state.canvas.edited().is_some_and(|document| document.candidates.len() == 1));
        assert_kept(&studio, "with a candidate");
        studio.press(Modifiers::NONE, Key::Escape);
        assert!(studio.sees("Picture of the canvas, 64 by 64 pixels"));
        assert_kept(&studio, "without the tools");
    }
}

#[test]
fn viewer_and_canvas_look_alike_however_near() {
    let mut studio = studio();
    let in_viewer = |studio: &Studio| studio.app().state.create.shows_pixels(&studio.harness.ctx);
    let mut seen = std::collections::BTreeSet::new();
    studio.take_tool(Key::B);
    for _ in 0..6 {
        assert_eq!(studio.canvas().surface.shows_pixels(), in_viewer(&studio));
        seen.insert(in_viewer(&studio));
        studio.press(Modifiers::NONE, Key::Minus);
    }
    assert_eq!(seen.len(), 2, "near, pixels are squares; from farther away they are smooth");
}

#[test]
fn a_picture_that_is_asked_for_elsewhere_is_shown_when_it_forms_and_a_candidate_is_not() {
    let mut studio = painted();
    studio.press(Modifiers::NONE, Key::Escape);
    let (job, ..) = studio.generate();
    assert!(canvas_state(&studio).looked_at().is_some());
    studio.begin(job, vec![7]);
    assert!(canvas_state(&studio).in_sight().is_none());
    studio.picture(job, 0, 7);
    studio.done(job);
    studio.click("Canvas, 64 × 64, not saved");
    studio.settle_canvas();
    studio.press(Modifiers::COMMAND, Key::Enter);
    let (job, recipe, _) = studio.take();
    // Escape would stop it.
    studio.press(Modifiers::COMMAND, Key::K);
    studio.harness.get_by_role_and_label(Role::TextInput, "Find a command").type_text("leave the canvas");
    studio.harness.run_ok();
    studio.press(Modifiers::NONE, Key::Enter);
    studio.begin(job, vec![seed_of(&recipe)]);
    assert!(canvas_state(&studio).looked_at().is_some(), "its candidates wait there");
}

#[test]
fn escape_in_a_field_leaves_the_field_alone() {
    let mut studio = painted();
    studio.harness.get_by_role_and_label(Role::MultilineTextInput, "Prompt").focus();
    studio.harness.run_ok();
    studio.press(Modifiers::NONE, Key::Escape);
    assert!(canvas_state(&studio).edited().is_some(), "the canvas stays");
    assert!(!studio.harness.get_by_role_and_label(Role::MultilineTextInput, "Prompt").is_focused());
    studio.press(Modifiers::NONE, Key::Escape);
    assert!(canvas_state(&studio).edited().is_none());
}

#[test]
fn what_becomes_of_a_candidate_is_decided_on_the_picture() {
    let mut studio = painted();
    studio.settle_canvas();
    studio.press(Modifiers::COMMAND, Key::Enter);
    let (job, recipe, _) = studio.take();
    studio.begin(job, vec![seed_of(&recipe)]);
    studio.picture(job, 0, seed_of(&recipe));
    studio.done(job);
    studio.until("the candidate", |app| app.state.canvas.edited().is_some_and(|document| document.candidates.len() == 1));
    let seed = format!("seed {}", seed_of(&recipe));
    let cells = studio.harness.query_all_by_label_contains(&seed).filter(|it| it.accesskit_node().role() == Role::Button);
    assert_eq!(cells.count(), 1, "it is in the strip once");
    let picture = egui::Rect::from_two_pos(studio.on_screen(0.0, 0.0), studio.on_screen(64.0, 64.0));
    for name in ["Accept", "Discard"] {
        let button = studio.harness.get_by_role_and_label(Role::Button, name).rect();
        assert!(picture.contains_rect(button), "{name} at {button} is not on {picture}");
    }
    studio.click("Discard");
    assert!(studio.canvas().candidates.is_empty() && !studio.sees("Accept"));
}

#[test]
fn a_tool_on_a_picture_that_was_made_on_a_canvas_leads_back_to_it() {
    let mut studio = painted();
    let number = studio.canvas().number;
    let make_and = |studio: &mut Studio, button: &str| {
        studio.settle_canvas();
        studio.press(Modifiers::COMMAND, Key::Enter);
        let (job, recipe, _) = studio.take();
        studio.begin(job, vec![seed_of(&recipe)]);
        studio.picture(job, 0, seed_of(&recipe));
        studio.done(job);
        studio.until("the candidate", |app| app.state.canvas.edited().is_some_and(|document| document.candidates.len() == 1));
        studio.click(button);
        studio.press(Modifiers::NONE, Key::Escape);
        studio.press(Modifiers::NONE, Key::Escape);
        assert!(canvas_state(studio).in_sight().is_none() && studio.sees("Picture, 64 by 64 pixels"));
    };
    make_and(&mut studio, "Accept");
    studio.take_tool(Key::B);
    assert_eq!((studio.canvas().number, studio.content().layers().len()), (number, 2));
    assert!(studio.sees("This picture was made on this canvas."));
    // Nothing of one that was discarded is on it.
    make_and(&mut studio, "Discard");
    studio.take_tool(Key::B);
    assert_ne!(studio.canvas().number, number);
    assert_eq!(canvas_state(&studio).open_documents().count(), 2);
}

#[test]
fn a_region_that_is_added_is_painted_at_once() {
    let mut studio = studio();
    studio.take_tool(Key::C);
    studio.press(Modifiers::NONE, Key::F7);
    studio.click("Layer types");
    studio.click("Add a region");
    assert_eq!(canvas_state(&studio).tool, Tool::Brush);
    studio.draw((10.0, 20.0), (20.0, 20.0));
    let layer = studio.content().current_layer();
    assert!(matches!(layer.kind, LayerKind::Region { .. }) && layer.has_effect());
    studio.press(Modifiers::NONE, Key::C);
    studio.click("Add a mask");
    assert_eq!(canvas_state(&studio).tool, Tool::Mask);
}

#[test]
fn a_canvas_file_is_opened_by_dropping_it_on_any_view_and_by_naming_it_at_the_start() {
    let mut studio = studio();
    let first = canvas_file(studio.folder.path(), "my lake.atelier", 32);
    studio.press(Modifiers::COMMAND, Key::Num3);
    studio.harness.input_mut().dropped_files.push(Arc::new(Dropping(first.clone())));
    studio.harness.step();
    studio.until("the canvas", |app| app.state.canvas.edited().is_some());
    assert!(studio.sees("my lake · 32 × 32") && studio.sees("Canvas my lake, 32 × 32"));
    assert!(!studio.sees("not saved") && !studio.sees("unsaved changes"));

    let second = canvas_file(studio.folder.path(), "Hügel.ATELIER", 48);
    let ctx = studio.harness.ctx.clone();
    studio.app_mut().open(&ctx, vec![second]);
    studio.until("the other canvas", |app| app.state.canvas.edited().is_some_and(|it| it.document.content().width() == 48));
    assert!(studio.sees("Canvas Hügel, 48 × 48") && studio.sees("Canvas my lake, 32 × 32"));
    studio.draw((20.0, 30.0), (30.0, 30.0));
    assert!(studio.sees("Canvas Hügel, 48 × 48, unsaved changes"));

    // One that is open is shown, not read again.
    studio.app_mut().open(&ctx, vec![first]);
    studio.until("the first canvas", |app| app.state.canvas.edited().is_some_and(|it| it.document.content().width() == 32));
    assert_eq!(canvas_state(&studio).open_documents().count(), 2);
    studio.harness.check_accessibility();

    let none = studio.folder.path().join("none.atelier");
    std::fs::write(&none, "PK no more").unwrap();
    studio.app_mut().open(&ctx, vec![none]);
    studio.until("the reason", |app| app.state.shared.error.is_some());
    assert!(studio.sees("none.atelier") && canvas_state(&studio).edited().is_some());
}

#[test]
fn a_canvas_keeps_its_name_and_knows_its_changes_after_a_restart() {
    let mut studio = studio();
    let path = canvas_file(studio.folder.path(), "my lake.atelier", 48);
    let ctx = studio.harness.ctx.clone();
    studio.app_mut().open(&ctx, vec![path.clone()]);
    studio.until("the canvas", |app| app.state.canvas.edited().is_some());
    studio.draw((20.0, 30.0), (30.0, 30.0));
    let painted = studio.content().picture();

    let mut studio = restarted(studio);
    assert!(studio.sees("Canvas my lake, 48 × 48, unsaved changes"));
    assert_eq!(studio.content().picture(), painted);
    studio.press(Modifiers::COMMAND, Key::S);
    studio.until("the file", |app| app.state.canvas.edited().is_some_and(|document| !document.has_changes()));
    assert_eq!(atelier_media::canvas_file::read_canvas(&path).unwrap().picture(), painted, "nothing was asked");

    let studio = restarted(studio);
    assert!(studio.sees("Canvas my lake, 48 × 48") && !studio.sees("unsaved"), "it is in its file");
}

#[test]
fn a_result_of_a_canvas_is_made_again_from_its_file_after_a_restart() {
    let mut studio = painted();
    studio.press(Modifiers::NONE, Key::M);
    studio.draw((10.0, 10.0), (14.0, 10.0));
    studio.settle_canvas();
    studio.press(Modifiers::COMMAND, Key::Enter);
    let (job, asked, _) = studio.take();
    studio.begin(job, vec![seed_of(&asked)]);
    studio.picture(job, 0, seed_of(&asked));
    studio.done(job);
    studio.until("the file", |app| app.state.create.session.iter().all(|picture| matches!(picture.stored, PictureFile::At(_))));
    let made = studio.app().state.create.session.iter().find(|picture| picture.info.seed == asked.seed).unwrap();
    let PictureFile::At(result) = made.stored.clone() else { panic!("no file") };
    let pixels = |recipe: &Recipe| {
        let source = |source: &ImageSource| atelier_media::read_image(source).unwrap();
        (source(&recipe.init.as_ref().unwrap().image), source(recipe.mask.as_ref().unwrap()))
    };
    let before = pixels(&asked);

    let mut studio = restarted(studio);
    // What the queue wrote down goes once its job is forgotten.
    std::fs::remove_dir_all(Paths::beneath(studio.folder.path()).data.join("queue")).unwrap();
    let ctx = studio.harness.ctx.clone();
    studio.app_mut().open(&ctx, vec![result]);
    studio.until("its settings", |app| app.state.shared.next.recipe.init.is_some());
    let recipe = studio.app().state.shared.next.recipe.clone();
    assert!(!studio.sees("is not in the picture's folder"));
    assert_eq!((pixels(&recipe), recipe.area, recipe.seed), (before, asked.area, asked.seed));
}
