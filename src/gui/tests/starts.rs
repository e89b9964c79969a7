//! Several start pictures: chosen at once, seen in a row, removed one by one, and a job from each.

use crate::gui::tests::*;
use atelier_media::{Metadata, write_picture};

const SIZES: [(&str, (u32, u32)); 3] = [("wide.png", (96, 64)), ("high.png", (64, 96)), ("square.png", (64, 64))];

/// The window with three start pictures of several sizes, and no chosen size.
fn studio() -> (Studio, Vec<PathBuf>) {
    let usual = Recipe::default();
    let mut studio = Studio::sized(Recipe { width: usual.width, height: usual.height, ..ready() }, [1440.0, 1600.0]);
    let files: Vec<PathBuf> = SIZES.iter().map(|(name, _)| studio.folder.path().join(name)).collect();
    for (path, (_, (width, height))) in files.iter().zip(SIZES) {
        let image = Rgb8::new(width, height, vec![90; (width * height * 3) as usize]).unwrap();
        write_picture(path, &image, &Metadata::default()).unwrap();
        studio.harness.input_mut().dropped_files.push(Arc::new(Dropping(path.clone())));
    }
    studio.harness.step();
    studio.until("the card", |app| app.state.create.dropped.is_some());
    studio.until("its small look", |app| app.state.create.thumbnail(&files[0]).is_some());
    studio.click("Start from it");
    studio.until("the shape of the first", |app| app.state.shared.next.recipe.width == 96);
    studio.until("their small looks", |app| files.iter().all(|path| app.state.create.thumbnail(path).is_some()));
    (studio, files)
}

fn starts(studio: &Studio) -> Vec<PathBuf> {
    let file = |source: &ImageSource| match source {
        ImageSource::File(path) => path.clone(),
        ImageSource::Pixels(_) => panic!("not in a file"),
    };
    studio.app().state.shared.next.recipe.starts().map(file).collect()
}

/// True where the row of several start pictures is there.
fn has_row(studio: &Studio) -> bool {
    studio.harness.query_by_role_and_label(Role::Button, "Remove all start pictures").is_some()
}

#[test]
fn each_of_several_start_pictures_is_a_job_in_its_own_shape() {
    let (mut studio, files) = studio();
    assert!(studio.sees("3 start pictures") && has_row(&studio));
    studio.press(Modifiers::COMMAND, Key::Enter);
    studio.until("a job for each", |app| app.state.shared.queue.rows.len() == 3);
    let jobs = |studio: &Studio| {
        let rows = &studio.app().state.shared.queue.rows;
        let mut jobs: Vec<(i64, Recipe)> = rows.iter().map(|row| (row.job.id.0, Recipe::clone(&row.job.recipe))).collect();
        jobs.sort_by_key(|(id, _)| *id);
        let told = |(_, recipe): (i64, Recipe)| {
            assert!(recipe.further_starts.is_empty() && recipe.prompt == "a lake");
            (recipe.init.unwrap().image, (recipe.width, recipe.height))
        };
        jobs.into_iter().map(told).collect::<Vec<_>>()
    };
    let expected: Vec<_> = files.iter().zip(SIZES).map(|(path, (_, size))| (ImageSource::File(path.clone()), size)).collect();
    assert_eq!(jobs(&studio), expected);
    // A chosen size is that of all.
    (studio.app_mut().state.shared.next.recipe.width, studio.app_mut().state.shared.next.recipe.height) = (128, 64);
    studio.press(Modifiers::COMMAND, Key::Enter);
    studio.until("a job for each", |app| app.state.shared.queue.rows.len() == 6);
    assert!(jobs(&studio)[3..].iter().map(|it| it.1).eq([(128, 64); 3]));
}

#[test]
fn start_pictures_are_removed_one_by_one_with_the_keyboard_and_kept_for_the_next_start() {
    let (mut studio, files) = studio();
    let [wide, high, square] = &files[..] else { panic!("{files:?}") };
    studio.harness.check_accessibility();
    studio.harness.get_by_role_and_label(Role::Button, "Remove start picture: high.png").focus();
    studio.harness.run_ok();
    studio.press(Modifiers::NONE, Key::Enter);
    assert_eq!(starts(&studio), [wide.clone(), square.clone()]);
    assert!(studio.sees("2 start pictures"));
    studio.press(Modifiers::COMMAND, Key::Z);
    assert_eq!(starts(&studio), files);
    studio.harness.get_by_role_and_label(Role::Button, "Remove start picture: wide.png").click_accesskit();
    studio.harness.run_ok();
    assert_eq!(starts(&studio), [high.clone(), square.clone()], "the next one is the first");
    let path = studio.folder.path().join("settings.json");
    let kept = {
        studio.harness.state_mut().take().unwrap().finish();
        settings::load(&path).settings.recipe
    };
    assert_eq!(kept.starts().cloned().collect::<Vec<_>>(), [high, square].map(|path| ImageSource::File(path.clone())));
}

#[test]
fn the_last_start_picture_is_one_as_ever_and_all_go_at_once() {
    let (mut studio, files) = studio();
    for name in ["wide.png", "high.png"] {
        studio.harness.get_by_role_and_label(Role::Button, &format!("Remove start picture: {name}")).click_accesskit();
        studio.harness.run_ok();
    }
    assert_eq!(starts(&studio), files[2..]);
    assert!(!has_row(&studio) && studio.sees("square.png"));
    studio.press(Modifiers::COMMAND, Key::Z);
    studio.harness.get_by_role_and_label(Role::Button, "Remove all start pictures").click_accesskit();
    studio.harness.run_ok();
    assert_eq!(starts(&studio), Vec::<PathBuf>::new());
}

#[test]
fn a_mask_over_start_pictures_of_several_sizes_is_refused_before_anything_is_made() {
    let (mut studio, files) = studio();
    studio.app_mut().state.shared.next.recipe.mask = Some(ImageSource::File(files[0].clone()));
    studio.press(Modifiers::COMMAND, Key::Enter);
    studio.until("the refusal", |app| app.state.shared.error.is_some());
    assert!(studio.sees("a mask fits one size alone") && studio.app().state.shared.queue.rows.is_empty());
}
