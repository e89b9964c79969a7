//! Sheets of pictures that differ along axes, used as a person uses them; the test plays the engine.

use crate::gui::grid;
use crate::gui::tests::*;
use atelier_core::grid::Place;
use atelier_gallery::{Database, Grouping, Order, Query};

fn open(size: [f32; 2]) -> Studio {
    Studio::sized(Recipe { seed: Some(Seed(7)), ..ready() }, size)
}

/// Opens the dialog from the palette.
fn open_dialog(studio: &mut Studio) {
    studio.press(Modifiers::COMMAND, Key::K);
    studio.harness.event(egui::Event::Text("compare settings".into()));
    studio.harness.run_ok();
    studio.press(Modifiers::NONE, Key::Enter);
    assert!(studio.app().state.grid.draft.is_some() && studio.sees("Compare settings"));
}

fn axes(studio: &mut Studio, axes: &[(&str, &str)]) {
    for (name, text) in axes {
        studio.fill(name, text);
    }
}

fn sheet(studio: &Studio) -> &grid::state::Sheet {
    studio.app().state.grid.sheet.as_ref().unwrap()
}

/// Makes the next cell, as the engine does; returns its recipe.
fn make_cell(studio: &mut Studio) -> Recipe {
    let (job, recipe, _) = studio.take();
    let before = sheet(studio).kept.clone();
    studio.begin(job, vec![seed_of(&recipe)]);
    let info = PictureInfo { index: 0, seed: recipe.seed, cpu_math: None, merged_loras: false };
    studio.port.send(Event::Picture { job, picture: Picture { info, notes: Vec::new(), image: image(64, 10 * recipe.steps as u8) } });
    studio.done(job);
    studio.until("the cell", |app| {
        let sheet = app.state.grid.sheet.as_ref().unwrap();
        let shown = |is_draft: bool| sheet.textures.values().filter(|it| it.is_draft == is_draft).count();
        let is_shown = shown(false) == sheet.kept.pictures.len();
        (sheet.kept.drafts != before.drafts || sheet.kept.pictures != before.pictures)
            && is_shown
            && sheet.textures.len()
                == sheet.kept.drafts.keys().chain(sheet.kept.pictures.keys()).collect::<std::collections::BTreeSet<_>>().len()
    });
    recipe
}

/// Waits until the queue has told of every job of the sheet.
fn until_jobs(studio: &mut Studio, count: usize) {
    studio.until("the jobs", |app| {
        let turns = &app.state.grid.sheet.as_ref().unwrap().kept.turns;
        turns.len() == count && turns.iter().all(|turn| turn.job.is_some())
    });
}

#[test]
fn a_sheet_is_planned_before_it_starts_and_its_cells_fill_and_can_be_used() {
    let mut studio = open([1440.0, 900.0]);
    open_dialog(&mut studio);
    let make = |studio: &Studio| studio.harness.get_by_role_and_label(Role::Button, "Generate sheet").accesskit_node().is_disabled();
    assert!(make(&studio), "there is no axis yet");
    axes(&mut studio, &[("X axis", "stepz=4")]);
    assert!(studio.sees("No setting is called") && make(&studio));
    axes(&mut studio, &[("X axis", "steps=4,8"), ("Y axis", "sampler=euler,heun")]);
    assert!(studio.sees("4 pictures after 2 drafts, ") && studio.sees("1 model load"), "what it costs is said before");
    studio.check("steps 8, sampler heun");
    assert!(studio.sees("3 pictures after 1 draft, "), "that of eight steps");
    studio.check("Drafts first");
    assert!(studio.sees("3 pictures, "));
    studio.harness.check_accessibility();
    studio.click("Generate sheet");
    assert!(studio.sees("0 of 3 pictures") && studio.sees("left out"));
    until_jobs(&mut studio, 3);
    let first = make_cell(&mut studio);
    assert_eq!((first.seed, first.batch_count), (Some(Seed(7)), 1));
    assert!(studio.sees("1 of 3 pictures"));
    studio.harness.check_accessibility();
    // The last one that waits is struck out.
    let kept = sheet(&studio).kept.clone();
    let waits = |at: &Place| !kept.pictures.contains_key(at);
    let last = kept.turns.iter().flat_map(|turn| turn.cells.clone()).rfind(waits).unwrap();
    let caption = kept.captions.caption(last);
    studio.click(&format!("{caption}: waiting"));
    let struck = format!("{caption}: struck out");
    let deadline = Instant::now() + LONG;
    while !studio.sees(&struck) {
        assert!(Instant::now() < deadline, "waited in vain for the strike");
        studio.harness.step();
        std::thread::yield_now();
    }
    let second = make_cell(&mut studio);
    assert!(studio.sees("2 of 3 pictures"));
    assert_ne!((first.steps, first.sampler), (second.steps, second.sampler));
    let made = sheet(&studio).kept.pictures.keys().find(|at| !kept.pictures.contains_key(*at)).copied().unwrap();
    studio.click(&sheet(&studio).kept.captions.caption(made));
    let next = &studio.app().state.shared.next.recipe;
    assert_eq!((next.steps, next.sampler, next.seed), (second.steps, second.sampler, Some(Seed(7))));
    assert!(studio.sees("The settings of this cell are set."));
    // It is put away and comes back.
    studio.click("Close");
    assert!(!studio.sees("2 of 3 pictures"));
    studio.press(Modifiers::COMMAND, Key::K);
    studio.harness.event(egui::Event::Text("show the sheet".into()));
    studio.harness.run_ok();
    studio.press(Modifiers::NONE, Key::Enter);
    assert!(studio.sees("2 of 3 pictures"));
}

#[test]
fn escape_leaves_the_dialog_and_what_was_typed_adds_nothing() {
    let mut studio = open([1440.0, 900.0]);
    open_dialog(&mut studio);
    axes(&mut studio, &[("X axis", "steps=4,8")]);
    studio.click("Cancel");
    assert!(studio.app().state.grid.draft.is_none() && studio.app().state.shared.queue.rows.is_empty());
    open_dialog(&mut studio);
    studio.press(Modifiers::NONE, Key::Escape);
    assert!(studio.app().state.grid.draft.is_none());
}

/// Where the name of a setting lies in the panel.
fn name_in_panel(studio: &Studio, name: &str) -> egui::Rect {
    let all = studio.harness.query_all_by_role_and_label(Role::Label, name);
    all.map(|it| it.rect()).find(|rect| rect.left() < 200.0).unwrap_or_else(|| panic!("there is no {name}"))
}

/// Drags a name onto the place in the middle, which is the Y axis.
fn drag_onto_y_axis(studio: &mut Studio, name: &str) {
    let from = name_in_panel(studio, name).center();
    studio.harness.drag_at(from);
    studio.harness.step();
    let canvas = crate::gui::viewport::canvas_rect(&studio.harness.ctx).unwrap_or_else(|| studio.harness.ctx.content_rect());
    // Beyond what egui takes for a click, so that the places to drop on appear.
    studio.harness.hover_at(from + egui::vec2(40.0, 0.0));
    studio.harness.step();
    studio.harness.step();
    assert!(studio.paints("X axis") && studio.paints("Y axis") && studio.paints("Z axis"), "{name}");
    studio.harness.hover_at(canvas.center());
    studio.harness.step();
    studio.harness.drop_at(canvas.center());
    studio.harness.run_ok();
}

#[test]
fn names_of_the_model_the_words_the_size_and_a_lora_are_dragged_too() {
    let recipe = Recipe { seed: Some(Seed(7)), loras: vec![Lora::new("/loras/ink.safetensors".into(), 0.8)], ..ready() };
    let mut studio = Studio::sized(recipe, [1440.0, 2000.0]);
    let all = [("Model", "model="), ("Prompt", "words="), ("Size", "size="), ("Width", "width="), ("ink", "lora:ink=")];
    for (name, axis) in all {
        drag_onto_y_axis(&mut studio, name);
        let draft = studio.app().state.grid.draft.as_ref().expect("the dialog");
        assert_eq!(draft.axes[1], axis);
        studio.press(Modifiers::NONE, Key::Escape);
    }
    // So is the placement, which has a view of its own.
    studio.press(Modifiers::COMMAND, Key::Num2);
    let label = studio.harness.get_by_role_and_label(Role::Label, "As text").rect().center();
    studio.harness.event(egui::Event::PointerMoved(label));
    for pressed in [true, false] {
        let button = egui::PointerButton::Secondary;
        studio.harness.event(egui::Event::PointerButton { pos: label, button, pressed, modifiers: Modifiers::NONE });
    }
    studio.harness.run_ok();
    studio.click("Put on X axis");
    assert_eq!(studio.app().state.grid.draft.as_ref().expect("the dialog").axes[0], "placement=");
}

#[test]
fn the_name_of_a_setting_is_dragged_onto_an_axis_or_put_there_by_its_menu() {
    let mut studio = open([1440.0, 900.0]);
    let label = name_in_panel;
    drag_onto_y_axis(&mut studio, "Steps");
    let canvas = crate::gui::viewport::canvas_rect(&studio.harness.ctx).unwrap_or_else(|| studio.harness.ctx.content_rect());
    let draft = studio.app().state.grid.draft.as_ref().expect("the dialog");
    assert_eq!(draft.axes, [String::new(), "steps=".to_owned(), String::new()]);
    studio.press(Modifiers::NONE, Key::Escape);
    // Away from them nothing happens.
    let from = label(&studio, "Guidance").center();
    studio.drag_between(from, canvas.left_top() + egui::vec2(20.0, 20.0));
    assert!(studio.app().state.grid.draft.is_none());
    // By the menu.
    let at = label(&studio, "Sampler").center();
    studio.harness.event(egui::Event::PointerMoved(at));
    for pressed in [true, false] {
        let button = egui::PointerButton::Secondary;
        studio.harness.event(egui::Event::PointerButton { pos: at, button, pressed, modifiers: Modifiers::NONE });
    }
    studio.harness.run_ok();
    studio.click("Put on Z axis");
    let draft = studio.app().state.grid.draft.as_ref().expect("the dialog");
    assert_eq!(draft.axes[2], "sampler=");
}

#[test]
fn the_pictures_of_a_large_sheet_are_all_there_and_sharper_than_a_thumbnail() {
    let mut studio = open([1440.0, 900.0]);
    open_dialog(&mut studio);
    axes(&mut studio, &[("X axis", "steps=1..20"), ("Y axis", "seed=1..3")]);
    studio.check("Drafts first");
    assert!(studio.sees("60 pictures, "));
    studio.click("Generate sheet");
    until_jobs(&mut studio, 60);
    for _ in 0..60 {
        make_cell(&mut studio);
    }
    let all = sheet(&studio);
    assert_eq!((all.textures.len(), all.kept.pictures.len()), (60, 60), "none was lost");
    assert!(all.textures.values().all(|it| it.texture.size() == [64, 64] && !it.is_draft), "as large as it was made");
    let few = all.texture_side_px();
    assert!(few == 512, "{few}");
}

#[test]
fn a_sheet_is_saved_as_one_picture_with_captions() {
    let mut studio = open([1440.0, 900.0]);
    open_dialog(&mut studio);
    axes(&mut studio, &[("X axis", "steps=4,6")]);
    studio.click("Generate sheet");
    let export = |studio: &Studio| studio.harness.get_by_role_and_label(Role::Button, "Export sheet…").accesskit_node().is_disabled();
    assert!(export(&studio), "no cell is finished");
    for _ in 0..2 {
        make_cell(&mut studio);
    }
    assert!(!export(&studio));
    // As where the system has no dialog for files.
    let ctx = studio.harness.ctx.clone();
    studio.app_mut().with(&ctx, grid::update::export_beside);
    studio.until_notice("The sheet is saved as");
    let folder = studio.app().state.create.pictures_folder.clone();
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let sizes = files.filter_map(|path| atelier_media::image_size(&ImageSource::File(path)).ok());
    let (width, height) = sizes.max().unwrap();
    assert!(width > 128 && height > 64, "{width} x {height}: two pictures of 64 and their captions");
    let (database, _) = Database::open(&Paths::beneath(studio.folder.path()).gallery_file()).unwrap();
    let all = database.search(&Query::parse(""), Order::Newest).unwrap();
    let groups = database.groups(&all, Grouping::Batch).unwrap();
    let sizes: Vec<usize> = groups.iter().map(|group| group.pictures.len()).collect();
    assert_eq!(sizes, [3], "the sheet and its pictures are one group");
    studio.press(Modifiers::COMMAND, Key::Num4);
    studio.until("the sheet in the gallery", |app| app.state.gallery.found.ids.len() == 3);
}

#[test]
fn drafts_of_all_cells_come_first_and_a_cell_that_is_struck_out_is_never_finished() {
    let mut studio = open([1440.0, 900.0]);
    open_dialog(&mut studio);
    axes(&mut studio, &[("X axis", "steps=8,12,16")]);
    assert!(studio.sees("3 pictures after 3 drafts, ") && studio.sees("9 of "), "what drafts compute is kept");
    studio.click("Generate sheet");
    until_jobs(&mut studio, 6);
    for drafts in 1..=3 {
        let recipe = make_cell(&mut studio);
        assert_eq!(recipe.draft_step(), Some(recipe.steps / 4), "a draft");
        assert!(studio.sees(&format!("0 of 3 pictures · {drafts} as drafts")));
    }
    studio.harness.check_accessibility();
    studio.click("steps 12: draft");
    studio.until("the strike", |app| {
        let (sheet, queue) = (app.state.grid.sheet.as_ref().unwrap(), &app.state.shared.queue);
        let row = sheet.job([1, 0, 0]).and_then(|id| queue.row(id));
        row.is_some_and(|row| row.job.state == atelier_gallery::queue::JobState::Cancelled)
    });
    assert!(studio.sees("steps 12: struck out"));
    let finished: Vec<u32> =
        (0..2).map(|_| make_cell(&mut studio)).inspect(|it| assert_eq!(it.draft_step(), None)).map(|it| it.steps).collect();
    assert_eq!(finished, [8, 16]);
    assert!(studio.sees("2 of 3 pictures · 1 as drafts"));
    studio.until("an end of all jobs", |app| app.state.shared.queue.rows.iter().all(|row| row.job.state.is_ended()));
}

#[test]
fn a_sheet_under_way_is_there_again_after_a_restart_and_goes_on() {
    let mut studio = open([1440.0, 900.0]);
    open_dialog(&mut studio);
    axes(&mut studio, &[("X axis", "steps=4,5,6")]);
    studio.click("Generate sheet");
    until_jobs(&mut studio, 3);
    make_cell(&mut studio);
    let kept = sheet(&studio).kept.clone();
    let file = Paths::beneath(studio.folder.path()).sheet_file();
    studio.until("the file", |app| !app.state.grid.saver.is_unsaved(&app.state.grid.sheet.as_ref().unwrap().kept));
    let Studio { mut harness, folder, port } = studio;
    harness.state_mut().take().unwrap().finish();
    drop((harness, port));

    let settings = Settings { recipe: Recipe { seed: Some(Seed(7)), ..ready() }, ..Settings::default() };
    let mut studio = Studio::at(folder, settings, Err("The built-in model is not there.".into()), [1440.0, 900.0]);
    assert!(file.exists());
    studio.until("the sheet", |app| app.state.grid.sheet.as_ref().is_some_and(|sheet| sheet.textures.len() == 1));
    assert_eq!(sheet(&studio).kept, kept);
    studio.press(Modifiers::COMMAND, Key::K);
    studio.harness.event(egui::Event::Text("show the sheet".into()));
    studio.harness.run_ok();
    studio.press(Modifiers::NONE, Key::Enter);
    assert!(studio.sees("1 of 3 pictures"));
    // What was left of it is made, and joins it.
    make_cell(&mut studio);
    make_cell(&mut studio);
    assert!(studio.sees("3 of 3 pictures"));
    studio.click("steps 4");
    assert_eq!(studio.app().state.shared.next.recipe.steps, 4);
}
