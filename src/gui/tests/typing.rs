//! Keys that act by accident, and those that are looked for: letters over a picture, Ctrl+F, the list
//! of keys, the palette's words.

use super::gallery::open_gallery;
use crate::gui::notices::Offer;
use crate::gui::palette::search::found;
use crate::gui::screen::Screen;
use crate::gui::tests::*;
use atelier_gallery::queue::JobState;

impl Studio {
    /// Types as a keyboard does, a frame for each character.
    fn type_over_picture(&mut self, text: &str) {
        for character in text.chars() {
            let name = if character == ' ' { "Space".to_owned() } else { character.to_uppercase().to_string() };
            let key = Key::from_name(&name).unwrap();
            let event = egui::Event::Key { key, physical_key: None, pressed: true, repeat: false, modifiers: Modifiers::NONE };
            self.harness.input_mut().events.extend([event, egui::Event::Text(character.to_string())]);
            self.harness.step();
        }
        self.harness.run_ok();
    }

    pub(super) fn leave_field(&mut self) {
        if let Some(focused) = self.harness.ctx.memory(egui::Memory::focused) {
            self.harness.ctx.memory_mut(|memory| memory.surrender_focus(focused));
        }
        self.harness.run_ok();
    }

    /// Frames of so many seconds in which nothing is pressed.
    fn wait_secs(&mut self, secs: f64) {
        let until = self.harness.ctx.input(|input| input.time) + secs;
        while self.harness.ctx.input(|input| input.time) < until {
            self.harness.step();
        }
        self.harness.run_ok();
    }

    fn is_typing(&self) -> bool {
        self.harness.ctx.text_edit_focused()
    }
}

/// The window with one picture, and nothing has the keyboard.
fn looking() -> Studio {
    let mut studio = Studio::open(Recipe { prompt: String::new(), ..ready() });
    studio.app_mut().state.shared.next.recipe.prompt = "a lake".into();
    studio.make(7);
    studio.until("the end of the job", |app| app.state.shared.queue.rows.iter().all(|row| row.job.state.is_ended()));
    studio.leave_field();
    studio
}

#[test]
fn a_sentence_that_is_typed_over_a_picture_is_text_and_nothing_else() {
    // Their letters are keys: upscale, mask, brush, crop, prompt, seed, size, start, reference, ...
    for sentence in ["a foggy sunset", "usual birds in scrubland", "mild crisp seas", "ridge"] {
        let mut studio = looking();
        let before = studio.app().state.shared.next.recipe.clone();
        studio.type_over_picture(sentence);
        studio.wait_secs(1.0);
        let expected = Recipe { prompt: format!("a lake, {sentence}"), ..before };
        assert_eq!(studio.app().state.shared.next.recipe, expected);
        assert!(studio.is_typing(), "what follows goes there too");
        assert!(studio.app().state.canvas.edited().is_none());
        assert_eq!(studio.app().state.shared.queue.rows.len(), 1, "{sentence}: nothing else was asked for");
        for _ in 0..sentence.len() {
            if studio.app().state.shared.next.recipe.prompt != "a lake" {
                studio.press(Modifiers::COMMAND, Key::Z);
            }
        }
        assert_eq!(studio.app().state.shared.next.recipe.prompt, "a lake", "it is taken back");
    }
}

#[test]
fn a_letter_alone_is_a_key_once_no_other_follows() {
    let mut studio = looking();
    studio.type_over_picture("s");
    studio.wait_secs(1.0);
    assert_eq!(
        (studio.app().state.shared.next.recipe.seed, studio.app().state.shared.next.recipe.prompt.as_str()),
        (Some(Seed(7)), "a lake")
    );
    assert!(!studio.is_typing());
    studio.type_over_picture("m");
    studio.wait_secs(1.0);
    studio.until("the canvas", |app| app.state.canvas.edited().is_some());
    // On a canvas letters are tools at once.
    studio.type_over_picture("b");
    assert_eq!(studio.app().state.canvas.tool, crate::gui::canvas::tool::Tool::Brush);
}

#[test]
fn keys_of_a_picture_do_nothing_where_it_is_not_shown() {
    let mut studio = looking();
    let before = studio.app().state.shared.next.recipe.clone();
    for screen in [Key::Num2, Key::Num3] {
        studio.press(Modifiers::COMMAND, screen);
        for key in [Key::U, Key::S, Key::R, Key::I, Key::F, Key::D, Key::P] {
            studio.press(Modifiers::NONE, key);
        }
    }
    assert_eq!(studio.app().state.shared.next.recipe, before);
    assert!(studio.app().state.shared.queue.rows.iter().all(|row| row.job.state == JobState::Done));
}

#[test]
fn an_enlargement_can_be_taken_back_at_once_and_what_is_kept_is_seen() {
    let mut studio = looking();
    studio.press(Modifiers::NONE, Key::U);
    let offer = studio.app().state.notices.shown().and_then(|it| it.offer);
    assert_eq!(offer, Some(Offer::CancelNewestJob));
    // An offer that is pointed at stays.
    let found = studio.harness.query_all_by_role_and_label(Role::Button, "Cancel").last().unwrap().rect().center();
    studio.harness.hover_at(found);
    studio.until("the job", |app| app.state.shared.queue.newest().is_some());
    let (job, ..) = studio.next_job();
    studio.harness.query_all_by_role_and_label(Role::Button, "Cancel").last().unwrap().click();
    studio.harness.run_ok();
    studio.until("the stop", |app| {
        app.state.shared.queue.rows.iter().any(|row| row.job.cancel_requested || row.job.state == JobState::Cancelled)
    });
    studio.port.send(Event::End { job, end: End::Cancelled });
    studio.until("the end", |app| app.state.shared.queue.newest().is_none());

    studio.press(Modifiers::NONE, Key::S);
    studio.press(Modifiers::NONE, Key::I);
    let recipe = studio.app().state.shared.next.recipe.clone();
    assert!(recipe.seed == Some(Seed(7)) && recipe.init.is_some());
    studio.click("Keep this seed: Seed 7");
    studio.click("Remove start picture: Start picture");
    let recipe = &studio.app().state.shared.next.recipe;
    assert!(recipe.seed.is_none() && recipe.init.is_none());
}

#[test]
fn find_searches_what_is_in_sight() {
    let mut studio = open_gallery(&["a lake"]);
    studio.press(Modifiers::COMMAND, Key::F);
    assert!(studio.is_typing());
    studio.press(Modifiers::COMMAND, Key::F);
    assert_eq!(studio.app().state.shared.screen, Screen::Gallery, "also the second time");
    assert!(studio.is_typing());
    studio.press(Modifiers::COMMAND, Key::Num1);
    studio.press(Modifiers::COMMAND, Key::F);
    assert!(studio.app().state.palette.is_open && studio.app().state.shared.screen == Screen::Create);
    studio.press(Modifiers::NONE, Key::Escape);
    studio.press(Modifiers::COMMAND, Key::Num3);
    studio.leave_field();
    studio.press(Modifiers::COMMAND, Key::F);
    assert!(studio.is_typing() && studio.app().state.shared.screen == Screen::Models);
}

#[test]
fn all_keys_are_listed_at_f1_and_at_a_question_mark() {
    for key in [Key::F1, Key::Questionmark] {
        let mut studio = Studio::open(ready());
        studio.leave_field();
        studio.press(Modifiers::NONE, key);
        for words in ["Keyboard shortcuts", "Upscale 2×", "Hold to see the canvas without the candidate", "Duplicate the job", "Five stars"]
        {
            assert!(studio.sees(words), "{words}");
        }
        studio.harness.check_accessibility();
        studio.press(Modifiers::NONE, Key::U);
        assert!(studio.app().state.shared.queue.rows.is_empty(), "the list has the keys");
        studio.press(Modifiers::NONE, Key::Escape);
        assert!(!studio.app().state.palette.shows_shortcuts);
    }
    for size in [[640.0, 480.0], [900.0, 1400.0]] {
        let mut studio = Studio::sized(ready(), size);
        studio.press(Modifiers::NONE, Key::F1);
        let close = studio.harness.get_by_role_and_label(Role::Button, "Close").rect();
        assert!(egui::Rect::from_min_size(egui::Pos2::ZERO, size.into()).contains_rect(close), "{size:?}: {close:?}");
    }
}

#[test]
fn the_palette_knows_the_names_of_other_programs() {
    let studio = looking();
    for (word, label) in [
        ("inpaint", "Mask a part"),
        ("outpaint", "Extend or crop"),
        ("img2img", "Start from this picture"),
        ("variation", "Blend with a second seed"),
        ("reset", "Reset the settings"),
        ("random", "Roll a new seed"),
        ("preferences", "Light theme"),
        ("shortcuts", "Keyboard shortcuts"),
        ("quit", "Quit Atelier"),
        ("language", "Language: English"),
        ("theme", "Dark theme"),
        ("enlarge", "Upscale 2×"),
        ("jpeg", "Save as…"),
        ("controlnet", "Choose a control picture"),
        ("id_embeds", "Choose a face embedding"),
    ] {
        let found = found(&studio.app().state, word);
        let names: Vec<&str> = found.iter().map(|it| it.command.label()).collect();
        assert!(names.contains(&label), "{word}: {names:?}");
        let needs_more = ["controlnet", "id_embeds"].contains(&word);
        assert!(found[0].command.enabled(&studio.app().state).is_ok() || needs_more, "{word}: {names:?}");
    }
    assert!(found(&studio.app().state, "no such words at all").is_empty());
}

#[test]
fn the_palette_begins_with_what_was_run_last_and_tells_equal_names_apart() {
    let mut studio = looking();
    let names = |studio: &Studio| found(&studio.app().state, "").into_iter().map(|it| it.name).collect::<Vec<_>>();
    let before = names(&studio);
    assert_eq!(before[0], "Create", "in the order of the program, not of the alphabet");
    let mut sorted = before.clone();
    sorted.sort();
    sorted.dedup();
    let twice: Vec<_> = sorted.iter().filter(|name| before.iter().filter(|it| it == name).count() > 1).collect();
    assert_eq!(twice, Vec::<&String>::new());
    assert!(before.iter().any(|it| it == "Add a folder… (Gallery)") && before.iter().any(|it| it == "Add a folder… (Models)"));
    studio.press(Modifiers::COMMAND, Key::K);
    studio.harness.get_by_role_and_label(Role::TextInput, "Find a command").type_text("light theme");
    studio.harness.run_ok();
    studio.press(Modifiers::NONE, Key::Enter);
    assert_eq!(studio.app().state.shared.theme, ThemeChoice::Light);
    assert_eq!(names(&studio)[0], "Light theme");

    // A setting too, and after a restart.
    studio.press(Modifiers::COMMAND, Key::K);
    studio.harness.get_by_role_and_label(Role::TextInput, "Find a command").type_text("setting scheduler");
    studio.harness.run_ok();
    studio.press(Modifiers::NONE, Key::Enter);
    let last = names(&studio)[..2].to_vec();
    assert!(last[0].contains("cheduler") && last[1] == "Light theme", "{last:?}");
    let kept =
        Settings { recent_commands: [studio.app().settings().recent_commands, vec!["no more".into()]].concat(), ..Settings::default() };
    let studio = Studio::with(kept, Err("none".into()), [1440.0, 900.0]);
    assert_eq!(names(&studio)[..2], last);
}

#[test]
fn the_settings_are_reset_to_what_suits_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let builtin = small_builtin(folder.path());
    let mut recipe = Recipe { prompt: "a lake".into(), ..Recipe::default() };
    builtin.apply(&mut recipe);
    let settings = Settings { recipe, builtin: true, ..Settings::default() };
    let mut studio = Studio::with(settings, Ok(builtin), [1440.0, 900.0]);
    let usual = studio.app().state.shared.next.recipe.clone();
    let changed = Recipe { steps: 40, width: 512, seed: Some(Seed(5)), eta: Some(0.5), seamless_x: true, ..usual.clone() };
    studio.app_mut().state.shared.next.recipe = changed.clone();
    studio.harness.run_ok();
    studio.press(Modifiers::COMMAND, Key::K);
    studio.harness.get_by_role_and_label(Role::TextInput, "Find a command").type_text("defaults");
    studio.harness.run_ok();
    studio.press(Modifiers::NONE, Key::Enter);
    assert_eq!(studio.app().state.shared.next.recipe, usual);
    studio.press(Modifiers::COMMAND, Key::Z);
    assert_eq!(studio.app().state.shared.next.recipe, changed);
}

#[test]
fn the_menu_of_a_picture_has_groups_and_keys() {
    let mut studio = looking();
    let tile = studio.harness.get_by_label_contains("Picture 1, seed 7");
    tile.click_secondary();
    studio.harness.run_ok();
    for words in ["Pick", "More like this", "Use these settings", "Upscale 2×", "Save as…", "Show in folder", "Move to the trash"] {
        assert!(studio.harness.query_all_by_role_and_label(Role::Button, words).count() >= 1, "{words}");
    }
    assert!(studio.harness.query_by_role_and_label(Role::Button, "Finish this draft").is_none(), "it is no draft");
    for keys in [Modifiers::COMMAND, Modifiers::NONE].map(|it| egui::KeyboardShortcut::new(it, if it.is_none() { Key::I } else { Key::S }))
    {
        let text = studio.harness.ctx.format_shortcut(&keys);
        assert!(studio.paints(&text), "{text}");
    }
}

#[test]
fn a_notice_goes_with_the_view_that_it_is_about() {
    let mut studio = looking();
    studio.press(Modifiers::NONE, Key::F);
    assert!(studio.sees("This picture is a reference"));
    let at = studio.harness.get_by_label_contains("This picture is a reference").rect();
    assert!(at.top() > 450.0, "below the options and titles: {at:?}");
    studio.press(Modifiers::COMMAND, Key::Num3);
    assert!(!studio.sees("This picture is a reference"));
}

#[test]
fn an_error_stays_in_its_view_and_the_tab_of_that_view_announces_it() {
    let mut studio = Studio::open(ready());
    let (job, ..) = studio.generate();
    studio.begin(job, vec![7]);
    studio.press(Modifiers::COMMAND, Key::Num3);
    studio.port.send(Event::End { job, end: End::Failed(Failure::new("The file is broken.", "Download it again.")) });
    studio.until("the error", |app| app.state.shared.error.is_some());
    assert!(!studio.sees("The file is broken."), "it would lie over the cards of models");
    assert!(studio.harness.query_by_role_and_label(Role::Button, "Gallery").is_some(), "other tabs say nothing");
    studio.press(Modifiers::NONE, Key::Escape);
    assert!(studio.app().state.shared.error.is_some(), "nobody has seen it");

    studio.harness.get_by_role_and_label(Role::Button, "Create: 1 message").hover();
    studio.harness.run_ok();
    studio.harness.run_steps(8);
    assert!(studio.sees("Create: The file is broken."));
    studio.harness.set_size([640.0, 480.0].into());
    studio.harness.run_ok();
    // Beside the settings there is no room for tabs.
    studio.click("Hide or show the settings");
    studio.click("View: Models: 1 message");
    studio.click("Create");
    assert!(studio.sees("The file is broken.") && !studio.sees("1 message"));
    studio.click("Dismiss");
    assert!(studio.app().state.shared.error.is_none());
}

#[test]
fn quit_closes_the_window_as_its_button_does() {
    let mut studio = Studio::open(ready());
    let modifiers = Modifiers::COMMAND;
    studio.harness.input_mut().events.push(egui::Event::Key { key: Key::Q, physical_key: None, pressed: true, repeat: false, modifiers });
    studio.harness.step();
    assert!(studio.window_commands().contains(&egui::ViewportCommand::Close));
}

#[test]
fn the_caret_stands_still_where_nobody_types() {
    let mut studio = Studio::open(ready());
    studio.harness.get_by_role_and_label(Role::MultilineTextInput, "Prompt").type_text("a lake");
    studio.harness.run_ok();
    let blinks = |studio: &Studio| studio.harness.ctx.global_style().visuals.text_cursor.blink;
    assert!(blinks(&studio));
    studio.wait_secs(9.0);
    assert!(blinks(&studio));
    studio.wait_secs(2.0);
    assert!(!blinks(&studio), "each blink would be a frame");
    studio.harness.get_by_role_and_label(Role::MultilineTextInput, "Prompt").type_text("s");
    studio.harness.step();
    studio.harness.step();
    assert!(blinks(&studio));
}
