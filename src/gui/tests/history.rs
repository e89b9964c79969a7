//! Undo and redo of the settings, used as a person uses them.

use crate::gui::tests::*;

fn undo(studio: &mut Studio) {
    studio.press(Modifiers::COMMAND, Key::Z);
}

fn redo(studio: &mut Studio) {
    studio.press(Modifiers::COMMAND.plus(Modifiers::SHIFT), Key::Z);
}

fn recipe_of(studio: &Studio) -> &Recipe {
    &studio.app().state.shared.next.recipe
}

#[test]
fn what_was_changed_last_is_undone_first_whatever_changed_it() {
    let mut studio = Studio::open(ready());
    let first = ready();
    studio.press(Modifiers::COMMAND, Key::R);
    let rolled = recipe_of(&studio).clone();
    assert_ne!(rolled.seed, first.seed);
    studio.make(77);
    studio.click("Use these settings");
    let used = recipe_of(&studio).clone();
    assert_eq!(used.seed, Some(Seed(77)));
    studio.press(Modifiers::COMMAND, Key::I);
    studio.app_mut().state.shared.next.recipe.width = 128;
    studio.harness.run_ok();

    undo(&mut studio);
    assert_eq!(recipe_of(&studio).width, 64, "what nobody asked for by name too");
    undo(&mut studio);
    assert_eq!(*recipe_of(&studio), rolled);
    undo(&mut studio);
    assert_eq!(*recipe_of(&studio), first);
    undo(&mut studio);
    assert_eq!(*recipe_of(&studio), first, "there is nothing before the start");
    redo(&mut studio);
    redo(&mut studio);
    assert_eq!(*recipe_of(&studio), used);
}

#[test]
fn typing_is_undone_at_once_while_the_prompt_has_the_keyboard_and_the_caret_follows() {
    let mut studio = Studio::open(ready());
    studio.harness.get_by_role_and_label(Role::MultilineTextInput, "Prompt").focus();
    studio.harness.run_ok();
    studio.press(Modifiers::NONE, Key::End);
    for text in [" at", " dawn"] {
        studio.harness.get_by_role_and_label(Role::MultilineTextInput, "Prompt").type_text(text);
        studio.harness.step();
    }
    assert_eq!(recipe_of(&studio).prompt, "a lake at dawn");
    undo(&mut studio);
    assert_eq!(recipe_of(&studio).prompt, "a lake", "all that was typed without a pause");
    assert!(studio.harness.get_by_role_and_label(Role::MultilineTextInput, "Prompt").is_focused());
    studio.harness.get_by_role_and_label(Role::MultilineTextInput, "Prompt").type_text("!");
    studio.harness.run_ok();
    assert_eq!(recipe_of(&studio).prompt, "a lake!");
    studio.press(Modifiers::COMMAND, Key::Z);
    studio.press(Modifiers::COMMAND, Key::Y);
    assert_eq!(recipe_of(&studio).prompt, "a lake!");
}

#[test]
fn the_buttons_name_what_they_would_do_and_are_off_where_there_is_nothing() {
    let mut studio = Studio::open(ready());
    let is_disabled = |studio: &Studio, label| studio.harness.get_by_role_and_label(Role::Button, label).accesskit_node().is_disabled();
    assert!(is_disabled(&studio, "Undo") && is_disabled(&studio, "Redo"));
    studio.press(Modifiers::COMMAND, Key::R);
    assert_eq!(studio.app().state.shared.history.next_undo(), Some("Roll a new seed"));
    studio.harness.get_by_role_and_label(Role::Button, "Undo").hover();
    studio.until("the tooltip", |_| true);
    studio.harness.run_steps(8);
    assert!(studio.sees("Undo: Roll a new seed"), "the tooltip names it");
    studio.click("Undo");
    assert_eq!(recipe_of(&studio).seed, None);
    assert!(!is_disabled(&studio, "Redo"));
    studio.click("Redo");
    assert!(recipe_of(&studio).seed.is_some());
    studio.harness.check_accessibility();
}

#[test]
fn the_way_to_the_built_in_model_and_back_is_undone_with_both_sides() {
    let folder = tempfile::tempdir().unwrap();
    let builtin = small_builtin(folder.path());
    let settings = Settings { recipe: ready(), ..Settings::default() };
    let mut studio = Studio::with(settings, Ok(Arc::clone(&builtin)), [1440.0, 900.0]);
    studio.click("Use the built-in model");
    assert!(builtin.is_in(recipe_of(&studio)) && studio.app().state.shared.next.custom_recipe.is_some());
    undo(&mut studio);
    assert_eq!(*recipe_of(&studio), ready());
    assert!(studio.app().state.shared.next.custom_recipe.is_none());
    redo(&mut studio);
    assert!(builtin.is_in(recipe_of(&studio)) && studio.app().state.shared.next.custom_recipe.is_some());
}

#[test]
fn a_field_that_is_no_setting_keeps_its_own_undo() {
    let mut studio = Studio::open(ready());
    studio.press(Modifiers::COMMAND, Key::R);
    let rolled = recipe_of(&studio).seed;
    studio.click("Type a path");
    studio.harness.get_by_role_and_label(Role::TextInput, "Path of a file").type_text("/m/a.gguf");
    studio.harness.run_ok();
    undo(&mut studio);
    assert_eq!(recipe_of(&studio).seed, rolled, "the settings stay");
    assert_ne!(studio.app().state.create.typed_path.as_deref(), Some("/m/a.gguf"), "the typed text is undone");
}

#[test]
fn a_drop_is_undone() {
    let mut studio = Studio::open(ready());
    let path = studio.folder.path().join("ae.sft");
    std::fs::write(&path, "x").unwrap();
    studio.harness.input_mut().dropped_files.push(Arc::new(Dropping(path)));
    studio.harness.step();
    studio.until("the file", |app| app.state.shared.next.recipe.files.get(FileRole::Vae).is_some());
    assert_eq!(studio.app().state.shared.history.next_undo(), Some("Add files"));
    undo(&mut studio);
    assert_eq!(*recipe_of(&studio), ready());
}
