//! The queue's panel, used as a person uses it.

use crate::gui::create::update::enqueue_prompts_of;
use crate::gui::tests::*;
use atelier_core::device::{Device, DeviceKind};
use atelier_gallery::Database;
use atelier_gallery::queue::{JobState, Lane, NewJob, Owner, PauseMode};
use atelier_studio::queue::QueueSnapshot;

/// A window with a forming picture, the panel, and jobs of these prompts that wait.
fn waiting(prompts: &[&str]) -> (Studio, JobId) {
    let mut studio = Studio::open(ready());
    let (job, ..) = studio.generate();
    studio.begin(job, vec![1]);
    studio.press(Modifiers::COMMAND, Key::J);
    for prompt in prompts {
        studio.app_mut().state.shared.next.recipe.prompt = (*prompt).into();
        studio.press(Modifiers::COMMAND.plus(Modifiers::SHIFT), Key::Enter);
    }
    studio.until("the jobs", |app| app.state.shared.queue.rows.len() == prompts.len() + 1);
    (studio, job)
}

fn prompts(snapshot: &QueueSnapshot) -> Vec<&str> {
    snapshot.rows.iter().map(|row| row.job.recipe.prompt.as_str()).collect()
}

fn until_prompts(studio: &mut Studio, wanted: &[&str]) {
    studio.until(&format!("{wanted:?}"), |app| prompts(&app.state.shared.queue) == wanted);
}

fn state_of(studio: &Studio, prompt: &str) -> Option<JobState> {
    studio.app().state.shared.queue.rows.iter().find(|row| row.job.recipe.prompt == prompt).map(|row| row.job.state)
}

#[test]
fn each_line_of_a_prompt_is_a_picture_of_its_own() {
    let mut studio = Studio::open(Recipe { prompt: "a lake\n\n  a hut \na fox".into(), seed: Some(Seed(5)), batch_count: 4, ..ready() });
    studio.press(Modifiers::COMMAND, Key::K);
    studio.harness.get_by_role_and_label(Role::TextInput, "Find a command").type_text("for each line of the prompt");
    studio.harness.run_ok();
    studio.press(Modifiers::NONE, Key::Enter);
    until_prompts(&mut studio, &["a lake", "a hut", "a fox"]);
    let rows = &studio.app().state.shared.queue.rows;
    let made: Vec<(u64, u32)> = rows.iter().map(|row| (seed_of(&row.job.recipe), row.job.recipe.batch_count)).collect();
    assert_eq!(made, [(5, 1), (6, 1), (7, 1)]);
    assert!(studio.sees("3 prompts are in the queue"));
    assert_eq!(studio.app().state.shared.next.recipe.prompt.lines().count(), 4, "the prompt stays");
}

/// Has the prompts of a file added, as once it was chosen in the system's dialog.
fn add_prompts_of(studio: &Studio, list: &Path) {
    let list = list.to_owned();
    studio.app().background.run(Worker::Files, || (), move |(), _, context| enqueue_prompts_of(list, context));
}

#[test]
fn each_line_of_a_file_is_a_picture_of_its_own() {
    let mut studio = Studio::open(Recipe { seed: Some(Seed(8)), batch_count: 3, ..ready() });
    studio.press(Modifiers::COMMAND, Key::K);
    studio.harness.get_by_role_and_label(Role::TextInput, "Find a command").type_text("prompts from a file");
    studio.harness.run_ok();
    assert!(studio.sees("Add prompts from a file"));
    studio.press(Modifiers::NONE, Key::Escape);
    let list = studio.folder.path().join("list.txt");
    std::fs::write(&list, "\u{feff}a moor\r\n\r\n  {a hut|a hut} in fog\n\tein Haus\n").unwrap();
    add_prompts_of(&studio, &list);
    until_prompts(&mut studio, &["a moor", "a hut in fog", "ein Haus"]);
    let rows = &studio.app().state.shared.queue.rows;
    let made: Vec<(u64, u32)> = rows.iter().map(|row| (seed_of(&row.job.recipe), row.job.recipe.batch_count)).collect();
    assert_eq!(made, [(8, 1), (9, 1), (10, 1)]);
    assert_eq!(rows[1].job.recipe.template, "{a hut|a hut} in fog");
    assert_eq!(studio.app().state.shared.next.recipe.prompt, "a lake", "the prompt stays");
    for (contents, sentence) in [(&b"a moor \xff"[..], "not a text file"), (b" \n\n", "No line has a prompt")] {
        std::fs::write(&list, contents).unwrap();
        add_prompts_of(&studio, &list);
        studio.until(sentence, |app| app.state.notices.shown().is_some_and(|it| it.text.contains(sentence)));
    }
    assert_eq!(studio.app().state.shared.queue.rows.len(), 3, "nothing was added");
}

#[test]
fn the_panel_opens_by_key_and_button_and_says_when_nothing_waits() {
    let mut studio = Studio::open(ready());
    assert!(!studio.sees("Nothing waits"));
    studio.press(Modifiers::COMMAND, Key::J);
    assert!(studio.sees("even while Atelier is closed"));
    studio.harness.check_accessibility();
    studio.click("Hide the queue");
    assert!(!studio.sees("even while Atelier is closed"));
    studio.click("Queue");
    assert!(studio.sees("even while Atelier is closed"));
}

#[test]
fn an_empty_queue_shows_its_sign_and_fills_at_a_click() {
    let mut studio = Studio::open(ready());
    studio.press(Modifiers::COMMAND, Key::J);
    // The heading says it too.
    let both = studio.harness.query_all_by_label("Nothing waits").map(|label| label.rect());
    let words = both.max_by(|one, other| one.top().total_cmp(&other.top())).unwrap();
    let is_sign = |it: &egui::epaint::ClippedShape| match &it.shape {
        egui::Shape::Text(text) => {
            let (rect, mut letters) = (text.visual_bounding_rect(), text.galley.text().chars());
            let is_icon = letters.next().is_some_and(|it| ('\u{e000}'..='\u{f8ff}').contains(&it)) && letters.next().is_none();
            is_icon && rect.width() > 24.0 && rect.bottom() <= words.top() && (rect.center().x - words.center().x).abs() < 4.0
        }
        _ => false,
    };
    assert!(studio.harness.output().shapes.iter().any(is_sign), "a large one over the words");
    studio.click("Add to queue");
    studio.until("the job", |app| app.state.shared.queue.rows.len() == 1);
    assert!(!studio.sees("even while Atelier is closed"));
}

#[test]
fn rows_say_what_forms_and_why_the_others_wait() {
    let (mut studio, job) = waiting(&["a castle", "a forest"]);
    studio.port.send(Event::Step { job, step: Step { picture: 0, done: 1, total: 4, fraction: 0.0, step_secs: 0.5 } });
    studio.harness.run_ok();
    studio.until("the reasons", |app| app.state.shared.queue.waiting().count() == 2);
    assert!(studio.sees("Step 2 of 4") && studio.sees("a castle") && studio.sees("Next") && studio.sees("Behind"));
    assert!(studio.sees("3 pictures to make"));
    studio.harness.check_accessibility();
}

#[test]
fn the_button_that_makes_pictures_saves_the_job_whose_settings_are_shown() {
    let (mut studio, _) = waiting(&["a castle"]);
    let own = studio.app().state.shared.next.recipe.clone();
    studio.click("More for “a castle”");
    studio.click("Edit");
    assert!(studio.harness.query_by_role_and_label(Role::Button, "Generate").is_none());
    let button = studio.harness.get_by_role_and_label(Role::Button, "Save the job").rect();
    assert!(studio.harness.ctx.content_rect().contains_rect(button));
    studio.app_mut().state.shared.next.recipe.prompt = "a windmill".into();
    studio.press(Modifiers::COMMAND, Key::Enter);
    until_prompts(&mut studio, &["a lake", "a windmill"]);
    assert_eq!(studio.app().state.shared.next.recipe, own);
    assert!(studio.harness.query_by_role_and_label(Role::Button, "Save the job").is_none());
}

#[test]
fn a_row_is_moved_with_the_arrow_keys_and_by_dragging() {
    let (mut studio, _) = waiting(&["one", "two", "three"]);
    until_prompts(&mut studio, &["a lake", "one", "two", "three"]);
    studio.harness.get_by_role_and_label(Role::Button, "Job 4: three").focus();
    studio.harness.run_ok();
    studio.press(Modifiers::NONE, Key::ArrowUp);
    until_prompts(&mut studio, &["a lake", "one", "three", "two"]);
    studio.harness.get_by_role_and_label(Role::Button, "Job 3: three").focus();
    studio.harness.run_ok();
    studio.press(Modifiers::NONE, Key::ArrowDown);
    until_prompts(&mut studio, &["a lake", "one", "two", "three"]);

    let centre = |studio: &Studio, label: &str| studio.harness.get_by_role_and_label(Role::Button, label).rect().center();
    let (from, to) = (centre(&studio, "Job 4: three"), centre(&studio, "Job 2: one"));
    studio.drag_between(from, to);
    until_prompts(&mut studio, &["a lake", "three", "one", "two"]);
}

#[test]
fn a_waiting_job_is_edited_in_the_create_view_and_ones_own_settings_come_back() {
    let (mut studio, _) = waiting(&["one", "two"]);
    studio.app_mut().state.shared.next.recipe.prompt = "mine".into();
    studio.harness.run_ok();
    studio.click("More for “two”");
    studio.click("Edit");
    assert_eq!(studio.app().state.shared.next.recipe.prompt, "two");
    studio.app_mut().state.shared.next.recipe.prompt = "changed".into();
    studio.harness.run_ok();
    studio.click("Save changes");
    until_prompts(&mut studio, &["a lake", "one", "changed"]);
    assert_eq!(studio.app().state.shared.next.recipe.prompt, "mine");

    // Also the next one, which the engine has and has not begun.
    studio.harness.get_by_role_and_label(Role::Button, "Job 2: one").focus();
    studio.harness.run_ok();
    studio.press(Modifiers::NONE, Key::Enter);
    studio.app_mut().state.shared.next.recipe.prompt = "nothing comes of this".into();
    studio.harness.run_ok();
    studio.click("Discard changes");
    assert_eq!((studio.app().state.shared.next.recipe.prompt.as_str(), state_of(&studio, "nothing comes of this")), ("mine", None));
}

#[test]
fn jobs_are_duplicated_cancelled_tried_again_and_cleared() {
    let (mut studio, job) = waiting(&["one", "two"]);
    studio.click("More for “two”");
    studio.click("Duplicate");
    until_prompts(&mut studio, &["a lake", "one", "two", "two"]);
    studio.harness.get_by_role_and_label(Role::Button, "Job 4: two").focus();
    studio.harness.run_ok();
    studio.press(Modifiers::NONE, Key::Delete);
    studio.until("the cancelled one", |app| app.state.shared.queue.rows.iter().any(|row| row.job.state == JobState::Cancelled));
    studio.click("Try again “two”");
    studio.until("it waits again", |app| app.state.shared.queue.rows.iter().all(|row| row.job.state != JobState::Cancelled));
    studio.harness.get_by_label("All jobs").click();
    studio.harness.run_ok();
    studio.click("Cancel waiting");
    studio.until("nothing waits", |app| app.state.shared.queue.waiting().count() == 0);
    assert_eq!(state_of(&studio, "a lake"), Some(JobState::Running), "what forms goes on");
    // The engine gives back the one that it had and had not begun.
    let rows = studio.app().state.shared.queue.rows.clone();
    for given in rows.iter().filter(|row| !row.job.state.is_ended()).filter_map(|row| row.engine_job).filter(|it| *it != job) {
        studio.port.send(Event::End { job: given, end: End::Cancelled });
    }
    studio.until("the ends", |app| app.state.shared.queue.rows.iter().filter(|row| !row.job.state.is_ended()).count() == 1);
    studio.click("Clear ended");
    until_prompts(&mut studio, &["a lake"]);
    studio.click("Cancel all");
    studio.until("the stop", |app| app.state.shared.queue.rows.iter().any(|row| row.job.cancel_requested));
    studio.port.send(Event::End { job, end: End::Cancelled });
    studio.until("the end", |app| app.state.shared.queue.rows.iter().all(|row| row.job.state == JobState::Cancelled));
}

#[test]
fn a_job_is_pinned_to_a_device_of_this_machine() {
    let (mut studio, _) = waiting(&["one", "two"]);
    let device = |name: &str| Device {
        name: name.into(),
        description: name.into(),
        kind: DeviceKind::Gpu,
        gpu: None,
        memory_total_bytes: 1 << 33,
        memory_free_bytes: 1 << 33,
        memory_allocated_bytes: 0,
    };
    studio.port.send(Event::Devices(vec![device("CUDA0"), device("CUDA1")]));
    studio.harness.run_ok();
    studio.click("More for “two”");
    studio.click("CUDA1");
    studio.until("the pin", |app| app.state.shared.queue.rows.iter().any(|row| row.job.device.as_deref() == Some("CUDA1")));
    assert!(studio.sees("on CUDA1"));
}

#[test]
fn the_queue_pauses_behind_the_picture_and_goes_on() {
    let (mut studio, job) = waiting(&["one"]);
    studio.click("Pause");
    studio.until("the pause", |app| app.state.shared.queue.pause == PauseMode::AfterPicture);
    assert!(studio.sees("paused after this picture"));
    studio.picture(job, 0, 1);
    studio.done(job);
    studio.until("the end", |app| app.state.shared.queue.rows.iter().any(|row| row.job.state == JobState::Done));
    assert!(studio.sees("The queue is paused"));
    studio.click("Resume");
    studio.until("the next", |app| app.state.shared.queue.pause == PauseMode::No && !app.state.shared.jobs.is_empty());
}

#[test]
fn a_queue_that_stands_still_is_seen_and_resumed_where_pictures_are_asked_for() {
    let mut studio = Studio::open(ready());
    studio.press(Modifiers::COMMAND, Key::J);
    studio.click("Pause");
    studio.until("the pause", |app| app.state.shared.queue.pause == PauseMode::AfterPicture);
    assert!(!studio.sees("paused after this picture") && studio.sees("paused"), "nothing forms");
    studio.click("Hide the queue");
    assert!(studio.sees("0 paused"), "also while the panel is closed");
    let amber = studio.harness.ctx.global_style().visuals.warn_fg_color;
    let colour = studio.harness.output().shapes.iter().find_map(|it| match &it.shape {
        egui::Shape::Text(text) if text.galley.text() == "0 paused" => Some(text.galley.job.sections[0].format.color),
        _ => None,
    });
    assert_eq!(colour, Some(amber));
    studio.press(Modifiers::COMMAND, Key::Enter);
    assert!(studio.sees("this picture waits until you resume it"));
    studio.until("the job", |app| app.state.shared.queue.rows.len() == 1);
    assert!(studio.sees("1 paused"));
    studio.click("Resume (1 waiting)");
    studio.until("the pause's end", |app| app.state.shared.queue.pause == PauseMode::No);
    let (job, ..) = studio.take();
    // The same by its key.
    studio.begin(job, vec![1]);
    studio.press(Modifiers::COMMAND, Key::J);
    studio.click("Pause");
    studio.picture(job, 0, 1);
    studio.done(job);
    studio.press(Modifiers::COMMAND.plus(Modifiers::SHIFT), Key::Enter);
    studio.until("the second", |app| app.state.shared.queue.rows.iter().any(|row| row.job.state == JobState::Waiting));
    studio.press(Modifiers::COMMAND, Key::Enter);
    studio.until("the pause's end", |app| app.state.shared.queue.pause == PauseMode::No);
    assert_eq!(studio.app().state.shared.queue.rows.len(), 2, "nothing was added");
}

#[test]
fn presses_that_a_slow_frame_brings_together_all_count() {
    let mut studio = Studio::open(ready());
    let events = &mut studio.harness.input_mut().events;
    for pressed in [true, false].repeat(3) {
        let modifiers = Modifiers::COMMAND | Modifiers::SHIFT;
        events.push(egui::Event::Key { key: Key::Enter, physical_key: None, pressed, repeat: false, modifiers });
    }
    studio.harness.step();
    studio.until("three jobs", |app| app.state.shared.queue.rows.len() == 3);
}

#[test]
fn a_kept_seed_goes_on_where_the_same_picture_is_asked_for_again() {
    let mut studio = Studio::open(Recipe { seed: Some(Seed(42)), ..ready() });
    for _ in 0..20 {
        studio.press(Modifiers::COMMAND.plus(Modifiers::SHIFT), Key::Enter);
    }
    assert!(studio.app().state.notices.shown().is_some_and(|it| it.text.contains("the next one has seed 61")));
    studio.until("the jobs", |app| app.state.shared.queue.rows.len() == 20);
    let mut seeds: Vec<u64> = studio.app().state.shared.queue.rows.iter().map(|row| seed_of(&row.job.recipe)).collect();
    seeds.sort_unstable();
    assert_eq!(seeds, (42..62).collect::<Vec<_>>());
    assert_eq!(studio.app().state.shared.next.recipe.seed, Some(Seed(42)), "what is kept stays");
    // Another picture begins with the kept seed, and a batch takes as many as it has pictures.
    let shared = &mut studio.app_mut().state.shared;
    (shared.next.recipe.batch_count, shared.counts_automatically) = (3, false);
    for _ in 0..2 {
        studio.press(Modifiers::COMMAND.plus(Modifiers::SHIFT), Key::Enter);
    }
    studio.until("the batches", |app| app.state.shared.queue.rows.len() == 22);
    let batches = studio.app().state.shared.queue.rows.iter().filter(|row| row.job.recipe.batch_count == 3);
    assert_eq!(batches.map(|row| seed_of(&row.job.recipe)).collect::<Vec<_>>(), [42, 45]);
}

#[test]
fn a_picture_that_failed_is_tried_again_with_its_seed() {
    let mut studio = Studio::open(Recipe { seed: Some(Seed(42)), ..ready() });
    let (job, recipe, _) = studio.generate();
    assert_eq!(recipe.seed, Some(Seed(42)));
    studio.port.send(Event::End { job, end: End::Cancelled });
    studio.until("the end", |app| app.state.shared.jobs.is_empty());
    assert_eq!(studio.generate().1.seed, Some(Seed(42)));
}

#[test]
fn a_row_says_first_when_its_picture_is_ready_and_ended_ones_go_with_a_click() {
    let (mut studio, job) = waiting(&["one"]);
    let mut snapshot = QueueSnapshot { rows: studio.app().state.shared.queue.rows.clone(), ..QueueSnapshot::default() };
    snapshot.rows[1].ends_in_secs = Some(20.0);
    snapshot.rows[1].job.model = "Atelier Landscapes".into();
    studio.app_mut().state.shared.queue = Arc::new(snapshot);
    studio.harness.run_ok();
    let node = studio.harness.get_by_label_contains("Atelier Landscapes");
    let node = node.accesskit_node();
    let line = node.label().or(node.value()).unwrap_or_default();
    assert!(line.starts_with("ready in about "), "{line}");
    assert!(!studio.sees("Clear ended"), "nothing has ended");
    studio.port.send(Event::End { job, end: End::Cancelled });
    studio.until("the end", |app| app.state.shared.queue.rows.iter().any(|row| row.job.state.is_ended()));
    studio.click("Clear ended");
    until_prompts(&mut studio, &["one"]);
}

#[test]
fn one_long_job_and_the_model_order_are_told_and_can_be_switched_off() {
    let (mut studio, _) = waiting(&["one"]);
    studio.harness.get_by_label("All jobs").click();
    studio.harness.run_ok();
    studio.harness.get_by_label("Same model first").click();
    studio.until("the switch", |app| !app.state.shared.queue.follows_model);
}

#[test]
fn after_a_kill_one_question_is_asked_and_what_waited_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let (mut database, _) = Database::open(&Paths::beneath(folder.path()).gallery_file()).unwrap();
    let job = |prompt: &str| {
        NewJob::of_person(Recipe { prompt: prompt.into(), ..ready() }, Lane::Batch, folder.path().join("Pictures"), "sd15".into())
    };
    let (met, _next) = (database.add_job(&job("a ship")).unwrap(), database.add_job(&job("a harbour")).unwrap());
    database.start_job(met).unwrap();
    database.begin_job(met, Seed(77)).unwrap();
    drop(database);
    let mut studio = Studio::at(folder, Settings { recipe: ready(), ..Settings::default() }, Err("None.".into()), [1440.0, 900.0]);
    studio.until("the question", |app| app.state.shared.queue.questions().count() == 1);
    assert!(studio.sees("Start again?") && studio.sees("a ship") && studio.sees("Waits for your answer"));
    studio.harness.check_accessibility();
    studio.click("Start again");
    let (_, recipe, _) = studio.take();
    assert_eq!((recipe.prompt.as_str(), recipe.seed), ("a ship", Some(Seed(77))), "with its seed");
    studio.until("the answer", |app| app.state.shared.queue.questions().count() == 0);
    assert!(!studio.sees("Start again?"));
}

#[test]
fn two_hundred_waiting_jobs_draw_the_rows_that_can_be_seen() {
    let folder = tempfile::tempdir().unwrap();
    let (mut database, _) = Database::open(&Paths::beneath(folder.path()).gallery_file()).unwrap();
    database.set_queue_pause(PauseMode::AfterPicture).unwrap();
    for n in 0..200 {
        let recipe = Recipe { prompt: format!("picture {n}"), ..ready() };
        let (folder, model) = (folder.path().join("Pictures"), "sd15".to_owned());
        let job = NewJob::of_person(recipe, Lane::Batch, folder, model);
        database.add_job(&job).unwrap();
    }
    drop(database);
    let mut studio = Studio::at(folder, Settings { recipe: ready(), ..Settings::default() }, Err("None.".into()), [1440.0, 900.0]);
    studio.until("the jobs", |app| app.state.shared.queue.rows.len() == 200);
    studio.press(Modifiers::COMMAND, Key::J);
    let drawn = studio.harness.query_all_by_label_contains("More for “picture").count();
    assert!((5..20).contains(&drawn), "{drawn} rows");
    assert!(studio.sees("200 pictures to make"));
    studio.harness.check_accessibility();
}

#[test]
fn what_waits_outlives_the_window() {
    let (mut studio, job) = waiting(&["one", "two"]);
    studio.ask_to_close();
    studio.harness.run_ok();
    studio.click("Stop and close");
    studio.until("the engine to be told", |app| matches!(app.state.closing, Closing::Stopping { .. }));
    studio.port.send(Event::End { job, end: End::Cancelled });
    studio.until("the stop", |app| app.state.shared.jobs.is_empty());
    studio.harness.state_mut().take().unwrap().finish();
    let (database, _) = Database::open(&Paths::beneath(studio.folder.path()).gallery_file()).unwrap();
    let jobs = database.jobs().unwrap();
    assert!(jobs.iter().all(|job| job.state == JobState::Waiting && job.crashes == 0), "{jobs:?}");
    let prompts: Vec<_> = jobs.iter().map(|job| job.recipe.prompt.as_str()).collect();
    assert_eq!(prompts, ["a lake", "one", "two"], "the one that formed is first");
}

#[test]
fn the_job_of_somebody_else_is_seen_in_the_queue_alone_and_its_pictures_are_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    let (mut database, _) = Database::open(&Paths::beneath(folder.path()).gallery_file()).unwrap();
    let job = NewJob {
        owner: Owner::named("Anna"),
        ..NewJob::of_person(
            Recipe { prompt: "a harbour".into(), ..ready() },
            Lane::Batch,
            Paths::beneath(folder.path()).shared_pictures().join("Anna"),
            "sd15".into(),
        )
    };
    database.add_job(&job).unwrap();
    drop(database);
    let mut studio = Studio::at(folder, Settings { recipe: ready(), ..Settings::default() }, Err("None.".into()), [1440.0, 900.0]);
    studio.press(Modifiers::COMMAND, Key::J);
    let (job, recipe, _) = studio.take();
    assert_eq!(recipe.prompt, "a harbour");
    studio.begin(job, vec![5]);
    studio.port.send(Event::Step { job, step: Step { picture: 0, done: 1, total: 4, fraction: 0.0, step_secs: 0.5 } });
    studio.until("its step", |app| app.state.shared.jobs_of_others.iter().any(|it| it.progress.fraction().is_some()));
    assert!(studio.sees("for Anna") && studio.sees("Step 2 of 4"));
    assert!(studio.app().state.shared.jobs.is_empty() && studio.app().state.create.last_seed.is_none());
    studio.harness.check_accessibility();
    let info = PictureInfo { index: 0, seed: Some(Seed(5)), cpu_math: None, merged_loras: false };
    studio.port.send(Event::Picture { job, picture: Picture { info, notes: Vec::new(), image: image(64, 5) } });
    studio.done(job);
    studio.until("the end", |app| app.state.shared.queue.rows.iter().all(|row| row.job.state == JobState::Done));
    assert_eq!((studio.app().state.create.session.len(), studio.app().state.shared.jobs_of_others.is_empty()), (0, true));
    assert_eq!(studio.app().state.shared.queue.rows[0].job.pictures.len(), 1, "it is kept all the same");
}
