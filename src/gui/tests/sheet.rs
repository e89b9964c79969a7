//! The contact sheet, used as a person uses it: pictures side by side, what is done with each, and
//! how many are made at once.

use crate::gui::gallery;
use crate::gui::shared::Screen;
use crate::gui::tests::*;
use atelier_core::recipe::SeedBlend;

/// The window with a sheet of this many finished pictures, of the seeds from 11 on.
fn studio(count: u32) -> Studio {
    let mut studio = Studio::open(Recipe { batch_count: count, ..ready() });
    let (job, ..) = studio.generate();
    fill(&mut studio, job, count, 11);
    studio
}

pub(super) fn fill(studio: &mut Studio, job: JobId, count: u32, first_seed: u64) {
    studio.begin(job, (0..count).map(|index| first_seed + u64::from(index)).collect());
    for index in 0..count {
        studio.picture(job, index, first_seed + u64::from(index));
    }
    studio.done(job);
    studio.until("all on the screen", |app| {
        let create = &app.state.create;
        create.forming.first().is_none() && create.sheet.pictures().all(|id| create.session.texture(id).is_some())
    });
    let focused = studio.harness.ctx.memory(egui::Memory::focused);
    studio.harness.ctx.memory_mut(|memory| focused.into_iter().for_each(|id| memory.surrender_focus(id)));
    studio.harness.run_ok();
}

fn cell(studio: &Studio, name: &str) -> egui::Rect {
    studio.harness.get_by_role_and_label(Role::Button, name).rect()
}

fn point_at(studio: &mut Studio, name: &str) {
    let at = cell(studio, name).left_top() + egui::vec2(30.0, 30.0);
    studio.harness.hover_at(at);
    studio.harness.run_ok();
}

/// Runs frames until the queue has begun a job and its pictures have places.
fn until_cells(studio: &mut Studio, count: usize) {
    studio.until("the places", |app| app.state.create.sheet.cells().len() == count);
}

/// The button of this name that lies on a cell; the toolbar has some of them too.
fn click_on(studio: &mut Studio, cell_name: &str, label: &str) {
    let place = cell(studio, cell_name);
    let of_cell = studio.harness.get_all_by_role_and_label(Role::Button, label).find(|it| place.contains_rect(it.rect()));
    of_cell.expect("the button").click();
    studio.harness.run_ok();
}

fn has_cell(studio: &Studio, name: &str) -> bool {
    studio.harness.query_by_role_and_label(Role::Button, name).is_some()
}

#[test]
fn the_pictures_of_a_job_form_side_by_side_in_places_that_stay() {
    let mut studio = Studio::open(Recipe { batch_count: 4, ..ready() });
    let (job, ..) = studio.generate();
    until_cells(&mut studio, 4);
    assert!(has_cell(&studio, "Picture 1 of 4, waiting"), "places are there before anything forms");
    studio.begin(job, vec![5, 6, 7, 8]);
    let places: Vec<_> = (1..=4).map(|at| cell(&studio, &format!("Picture {at} of 4, waiting"))).collect();
    for (picture, shade) in [(0, 3), (2, 4)] {
        studio.port.send(Event::Preview { job, preview: Preview { picture, step: 1, place: None, image: image(8, shade) } });
    }
    studio.until("both previews", |app| [0, 2].iter().all(|index| app.state.create.forming.get((job, *index)).is_some()));
    assert_eq!(cell(&studio, "Picture 1 of 4, generating"), places[0]);
    assert_eq!(cell(&studio, "Picture 3 of 4, generating"), places[2]);
    for (index, seed) in [(0, 5), (1, 6), (2, 7), (3, 8)] {
        studio.picture(job, index, seed);
    }
    studio.done(job);
    for (at, seed) in [(1, 5), (2, 6), (3, 7), (4, 8)] {
        assert_eq!(cell(&studio, &format!("Picture {at} of 4, seed {seed}")), places[at - 1]);
    }
    assert!(studio.sees("4 pictures"));
    studio.harness.check_accessibility();
}

#[test]
fn a_picture_keeps_its_size_and_place_from_its_first_preview_on() {
    let mut studio = Studio::open(ready());
    let place = |studio: &Studio| studio.harness.get_by_role_and_label(Role::Image, "Picture, 64 by 64 pixels").rect();
    let (job, ..) = studio.generate();
    studio.begin(job, vec![1]);
    studio.port.send(Event::Preview { job, preview: Preview { picture: 0, step: 1, place: None, image: image(8, 9) } });
    studio.until("the preview", |app| app.state.create.forming.first().is_some());
    let forming = place(&studio);
    studio.picture(job, 0, 1);
    assert_eq!(place(&studio), forming, "finished, and in the filmstrip");
    studio.done(job);
    assert_eq!(place(&studio), forming, "with its steps below it");
    let (job, ..) = studio.generate();
    studio.begin(job, vec![2]);
    assert_eq!(place(&studio), forming, "while the next one forms");
}

#[test]
fn enter_shows_one_large_and_escape_goes_back_without_stopping_anything() {
    let mut studio = studio(2);
    studio.press(Modifiers::NONE, Key::ArrowRight);
    studio.press(Modifiers::NONE, Key::ArrowRight);
    studio.press(Modifiers::NONE, Key::Enter);
    assert!(studio.sees("seed 12 ·") && !has_cell(&studio, "Picture 1 of 2, seed 11"));
    studio.press(Modifiers::NONE, Key::ArrowLeft);
    assert!(studio.sees("seed 11 ·"), "arrows go through the large ones too");
    let (job, ..) = {
        studio.press(Modifiers::COMMAND | Modifiers::SHIFT, Key::Enter);
        studio.take()
    };
    studio.begin(job, vec![40, 41]);
    studio.press(Modifiers::NONE, Key::Escape);
    assert!(has_cell(&studio, "Picture 1 of 2, seed 11"), "who looks at pictures keeps them");
    assert!(studio.app().state.shared.jobs.running().is_some_and(|it| !it.stopping));
    studio.click("Show the current picture");
    assert!(has_cell(&studio, "Picture 2 of 2, waiting"));
    studio.press(Modifiers::NONE, Key::Escape);
    assert!(studio.app().state.shared.jobs.running().is_some_and(|it| it.stopping), "now Escape means the job");
}

#[test]
fn what_is_picked_stays_on_the_sheet_and_the_rest_goes_to_the_strip() {
    let mut studio = studio(3);
    point_at(&mut studio, "Picture 2 of 3, seed 12");
    studio.press(Modifiers::NONE, Key::Period);
    assert!(has_cell(&studio, "Picture 2 of 3, seed 12, picked"));
    let number = studio.app().state.create.session.meant().and_then(|id| studio.app().state.create.session.get(id)?.kept).unwrap();
    studio.until("the mark", |app| app.state.gallery.unwritten_marks.is_empty());
    studio.press(Modifiers::COMMAND, Key::Num4);
    studio.until("the gallery", |app| {
        app.state.gallery.summaries.get(&number).is_some_and(|it| it.flag == Some(atelier_gallery::PictureFlag::Pick))
    });
    studio.press(Modifiers::COMMAND, Key::Num1);
    let (job, ..) = studio.generate();
    studio.begin(job, vec![21, 22, 23]);
    assert!(has_cell(&studio, "Picture 1 of 4, seed 12, picked") && has_cell(&studio, "Picture 4 of 4, waiting"));
    assert!(has_cell(&studio, "Picture 1, seed 11"), "it is in the strip");
}

/// How much the last frame shows of this picture, from 0 to 255; `None` where that is nothing.
fn opacity(studio: &Studio, texture: &egui::TextureHandle) -> Option<u8> {
    studio.harness.output().shapes.iter().rev().find_map(|it| match &it.shape {
        egui::Shape::Mesh(mesh) if mesh.texture_id == texture.id() => mesh.vertices.first().map(|corner| corner.color.a()),
        _ => None,
    })
}

/// How much a frame at this time shows of each of these pictures. The test is the clock from here
/// on.
fn shown_at(studio: &mut Studio, secs: f64, textures: &[egui::TextureHandle]) -> Vec<Option<u8>> {
    studio.harness.input_mut().time = Some(secs);
    studio.harness.step();
    textures.iter().map(|it| opacity(studio, it)).collect()
}

/// The pictures of the sheet on the screen.
fn textures(studio: &Studio) -> Vec<egui::TextureHandle> {
    let create = &studio.app().state.create;
    create.sheet.pictures().map(|id| create.session.texture(id).unwrap().clone()).collect()
}

#[test]
fn the_others_fade_where_one_is_made_large_and_are_back_at_once() {
    let mut studio = studio(3);
    point_at(&mut studio, "Picture 2 of 3, seed 12");
    let textures = textures(&studio);
    let now = studio.harness.ctx.time();
    assert_eq!(shown_at(&mut studio, now, &textures), [Some(255); 3]);
    studio.press(Modifiers::NONE, Key::Enter);
    let between = shown_at(&mut studio, now + 0.15, &textures);
    assert!(between[1] == Some(255) && between[0] == between[2], "{between:?}");
    assert!(between[0].is_some_and(|it| (40..90).contains(&it)), "a quarter is left: {between:?}");
    assert_eq!(shown_at(&mut studio, now + 0.25, &textures), [None, Some(255), None]);
    studio.press(Modifiers::NONE, Key::Escape);
    assert!(has_cell(&studio, "Picture 1 of 3, seed 11"));
    assert_eq!(shown_at(&mut studio, now + 0.25, &textures), [Some(255); 3]);
}

#[test]
fn what_is_not_picked_fades_out_of_the_sheet_and_stands_in_the_strip() {
    for (count, animation_secs) in [(4, 0.1), (1, 0.1), (4, 0.0)] {
        let mut studio = studio(3);
        studio.harness.ctx.all_styles_mut(|style| style.animation_time = animation_secs);
        point_at(&mut studio, "Picture 2 of 3, seed 12");
        studio.press(Modifiers::NONE, Key::Period);
        let textures = textures(&studio);
        studio.app_mut().state.shared.next.recipe.batch_count = count;
        let now = studio.harness.ctx.time();
        studio.harness.input_mut().time = Some(now);
        let (job, ..) = studio.generate();
        studio.begin(job, (0..u64::from(count)).map(|at| 21 + at).collect());
        until_cells(&mut studio, 1 + count as usize);
        let mut shown = |secs: f64| shown_at(&mut studio, now + secs, &textures);
        let is_faded = animation_secs == 0.0;
        assert_eq!(shown(0.0), if is_faded { [None, Some(255), None] } else { [Some(255); 3] }, "{count}, {animation_secs}");
        let between = shown(0.1);
        assert_eq!((between[0], between[1]), (between[2], Some(255)), "what was picked stays");
        assert!(is_faded || between[0].is_some_and(|it| (100..156).contains(&it)), "{count}: {between:?}");
        assert_eq!(shown(0.3), [None, Some(255), None], "{count}, {animation_secs}");
        studio.harness.input_mut().time = None;
        assert!(studio.harness.run_ok().is_some(), "nothing is drawn any more");
        assert!(has_cell(&studio, "Picture 1, seed 11") && has_cell(&studio, "Picture 3, seed 13"), "they are in the strip");
    }
}

#[test]
fn more_like_this_makes_neighbours_beside_it() {
    let mut studio = studio(2);
    point_at(&mut studio, "Picture 1 of 2, seed 11");
    studio.press(Modifiers::NONE, Key::V);
    let (job, recipe, _) = studio.take();
    assert_eq!(
        (recipe.seed_blend, recipe.batch_count, recipe.prompt.as_str()),
        (Some(SeedBlend { seed: Seed(11), amount: 0.8 }), 4, "a lake")
    );
    until_cells(&mut studio, 6);
    assert!(has_cell(&studio, "Picture 1 of 6, seed 11") && has_cell(&studio, "Picture 6 of 6, waiting"));
    fill(&mut studio, job, 4, 100);
    assert!(has_cell(&studio, "Picture 6 of 6, seed 103"));
    point_at(&mut studio, "Picture 1 of 6, seed 11");
    studio.press(Modifiers::SHIFT, Key::V);
    let (_, recipe, _) = studio.take();
    assert_eq!((recipe.prompt.as_str(), recipe.seed, recipe.batch_count), ("a (lake:1.3)", Some(Seed(11)), 1));
}

#[test]
fn an_upscaled_picture_and_one_that_is_painted_on_are_the_one_under_the_pointer() {
    let mut studio = studio(2);
    point_at(&mut studio, "Picture 1 of 2, seed 11");
    click_on(&mut studio, "Picture 1 of 2, seed 11", "Upscale 2×");
    let (job, recipe, _) = studio.take();
    assert!(recipe.hires.is_some() && recipe.seed == Some(Seed(11)));
    until_cells(&mut studio, 3);
    assert!(has_cell(&studio, "Picture 3 of 3, waiting"));
    fill(&mut studio, job, 1, 11);
    point_at(&mut studio, "Picture 1 of 3, seed 11");
    let painted = studio.app().state.create.session.meant().unwrap();
    studio.press(Modifiers::NONE, Key::B);
    studio.until("the canvas", |app| app.state.canvas.edited().is_some());
    assert_eq!(studio.app().state.create.session.shown().unwrap().id, painted);
    // Out of the canvas, and away from what it shows.
    studio.press(Modifiers::NONE, Key::Escape);
    studio.press(Modifiers::NONE, Key::Escape);
    assert!(has_cell(&studio, "Picture 1 of 3, seed 11"), "the others are still there");
}

#[test]
fn a_picture_of_a_sheet_that_is_shown_large_is_upscaled_beside_the_others() {
    let mut studio = studio(2);
    studio.click("Picture 1 of 2, seed 11");
    assert!(!studio.app().state.create.shows_sheet());
    studio.press(Modifiers::NONE, Key::U);
    let (job, recipe, _) = studio.take();
    assert!(recipe.only_upscales() && recipe.seed == Some(Seed(11)));
    until_cells(&mut studio, 3);
    assert!(has_cell(&studio, "Picture 2 of 3, seed 12") && has_cell(&studio, "Picture 3 of 3, waiting"));
    fill(&mut studio, job, 1, 11);
    assert!(has_cell(&studio, "Picture 3 of 3, seed 11, upscaled") && has_cell(&studio, "Picture 1 of 3, seed 11"));
    assert!(has_cell(&studio, "Picture 3, seed 11, upscaled"), "in the strip too");
}

#[test]
fn two_are_compared_and_one_comes_back_to_them() {
    let mut studio = studio(3);
    point_at(&mut studio, "Picture 1 of 3, seed 11");
    studio.press(Modifiers::NONE, Key::X);
    assert!(studio.sees("Now point at another picture"));
    point_at(&mut studio, "Picture 3 of 3, seed 13");
    studio.press(Modifiers::NONE, Key::X);
    studio.until("the comparison", |app| {
        let gallery::state::Mode::Compare(comparison) = &app.state.gallery.mode else { return false };
        [comparison.first, comparison.second].iter().all(|id| app.state.gallery.pixels.get(id).is_some_and(Result::is_ok))
    });
    assert_eq!(studio.app().state.shared.screen, Screen::Gallery);
    studio.press(Modifiers::NONE, Key::Escape);
    assert_eq!(studio.app().state.shared.screen, Screen::Create);
    assert!(has_cell(&studio, "Picture 3 of 3, seed 13"));
}

#[test]
fn keys_of_pictures_leave_text_and_other_screens_alone() {
    let mut studio = studio(2);
    studio.harness.get_by_role_and_label(Role::MultilineTextInput, "Prompt").focus();
    studio.harness.run_ok();
    point_at(&mut studio, "Picture 1 of 2, seed 11");
    studio.press(Modifiers::NONE, Key::Delete);
    studio.press(Modifiers::NONE, Key::V);
    assert_eq!((studio.app().state.create.session.len(), studio.app().state.shared.jobs.is_empty()), (2, true));
    studio.press(Modifiers::COMMAND, Key::Num2);
    studio.press(Modifiers::NONE, Key::Delete);
    assert_eq!(studio.app().state.create.session.len(), 2);
}

#[test]
fn the_count_beside_the_button_is_what_is_made() {
    let mut studio = Studio::open(ready());
    studio.click("Number of pictures: 1");
    studio.click("4 pictures");
    let (job, recipe, _) = studio.generate();
    assert_eq!(recipe.batch_count, 4);
    studio.done(job);
    studio.click("Number of pictures: 4");
    studio.click("As many as are quick");
    assert!(studio.app().settings().counts_automatically && has_cell(&studio, "Number of pictures: 1, chosen automatically"));
    assert_eq!(studio.generate().1.batch_count, 1, "nobody knows how long they take");
    // So it is at the first start, and not where somebody has settings.
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("settings.json");
    assert!(settings::load(&path).settings.counts_automatically);
    settings::save(&path, &Settings::default()).unwrap();
    assert!(!settings::load(&path).settings.counts_automatically);
}

#[test]
fn small_cells_have_all_their_buttons_in_several_rows() {
    for (size, count) in [([1024.0, 700.0], 8), ([1440.0, 900.0], 2)] {
        let mut studio = Studio::sized(Recipe { batch_count: count, ..ready() }, size);
        let (job, ..) = studio.generate();
        fill(&mut studio, job, count, 11);
        let name = format!("Picture 2 of {count}, seed 12");
        point_at(&mut studio, &name);
        let place = cell(&studio, &name);
        let buttons = studio.harness.query_all_by_role(Role::Button).map(|it| it.rect());
        let mut rows: Vec<i32> =
            buttons.filter(|rect| place.contains_rect(*rect) && rect.height() < 30.0).map(|rect| rect.top() as i32).collect();
        assert_eq!(rows.len(), 6, "{size:?}: {place:?}");
        rows.sort_unstable();
        rows.dedup();
        assert_eq!(rows.len() > 1, place.width() < 200.0, "{size:?}: {place:?}");
        click_on(&mut studio, &name, "Pick");
        assert!(has_cell(&studio, &format!("{name}, picked")));
    }
}

#[test]
fn four_are_made_where_they_take_less_than_ten_seconds_together() {
    for (speed, count) in [(1.0, 1), (10.0, 4)] {
        let mut studio = board::open_board(5);
        studio.app_mut().state.shared.counts_automatically = true;
        studio.port.send(Event::Rates { devices: Vec::new(), is_measuring: false });
        studio.settle();
        let recipe = Box::new(studio.app().state.shared.next.recipe.clone());
        let mut estimate = times::timed_estimate(&["CPU", "GPU0", "GPU1"]);
        for rates in estimate.rates.devices.values_mut() {
            for class in &mut rates.classes {
                class.per_sec *= speed;
            }
        }
        studio.port.send(Event::Estimated { recipe, estimate: Ok(estimate) });
        studio.settle();
        studio.press(Modifiers::COMMAND, Key::Num1);
        studio.settle();
        assert!(has_cell(&studio, &format!("Number of pictures: {count}, chosen automatically")), "{speed} times as quick");
        assert_eq!(studio.generate().1.batch_count, count);
    }
}

#[test]
fn cells_are_reached_and_used_from_the_keyboard() {
    let mut studio = studio(2);
    studio.harness.get_by_role_and_label(Role::Button, "Picture 2 of 2, seed 12").focus();
    studio.harness.run_ok();
    let place = cell(&studio, "Picture 2 of 2, seed 12");
    let is_on_it = |label| studio.harness.get_all_by_role_and_label(Role::Button, label).any(|it| place.contains_rect(it.rect()));
    assert!(is_on_it("Upscale 2×") && is_on_it("Pick"), "its buttons are there");
    studio.press(Modifiers::NONE, Key::Period);
    assert!(has_cell(&studio, "Picture 2 of 2, seed 12, picked"));
    studio.press(Modifiers::NONE, Key::Enter);
    assert!(studio.sees("seed 12 ·"));
}

#[test]
fn a_deleted_picture_goes_to_the_trash_and_comes_back() {
    let mut studio = studio(2);
    point_at(&mut studio, "Picture 1 of 2, seed 11");
    let id = studio.app().state.create.session.meant().unwrap();
    let PictureFile::At(path) = studio.app().state.create.session.get(id).unwrap().stored.clone() else { panic!("it is not kept") };
    studio.press(Modifiers::NONE, Key::Delete);
    studio.until("the trash", |_| !path.exists());
    assert!(studio.sees("seed 12 ·"), "the other one is alone");
    studio.press(Modifiers::COMMAND, Key::Z);
    studio.until("the picture", |_| path.is_file());
    assert!(studio.sees("seed 11 ·") && studio.app().state.create.session.len() == 2);
    let before = studio.app().state.create.session.len();
    studio.press(Modifiers::COMMAND, Key::Z);
    assert_eq!(studio.app().state.create.session.len(), before, "undo means settings again");
}

#[test]
fn undo_means_settings_again_once_the_gallery_has_put_something_into_the_trash() {
    let mut studio = studio(3);
    studio.app_mut().state.shared.next.recipe.steps = 9;
    studio.harness.run_ok();
    point_at(&mut studio, "Picture 1 of 3, seed 11");
    studio.press(Modifiers::NONE, Key::Delete);
    studio.until("the trash", |app| app.state.gallery.can_restore && app.state.gallery.found.ids.len() == 2);
    studio.press(Modifiers::COMMAND, Key::Num4);
    studio.until("the pictures", |app| app.state.gallery.summaries.len() >= 2);
    studio.press(Modifiers::NONE, Key::Home);
    studio.press(Modifiers::NONE, Key::Delete);
    studio.until("the trash", |app| app.state.gallery.found.ids.len() == 1);
    studio.press(Modifiers::COMMAND, Key::Num1);
    studio.press(Modifiers::COMMAND, Key::Z);
    assert_eq!(studio.app().state.shared.next.recipe.steps, 4);
}
