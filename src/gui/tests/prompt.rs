//! The prompt's own keys and what its field says.

use crate::gui::create::word_lists::WordLists;
use crate::gui::tests::*;
use atelier_studio::tags::TagList;

/// A window whose prompt has the keyboard, with the caret behind its last word.
fn writing(prompt: &str) -> Studio {
    let mut studio = Studio::open(Recipe { prompt: String::new(), ..ready() });
    studio.harness.get_by_role_and_label(Role::MultilineTextInput, "Prompt").type_text(prompt);
    studio.harness.run_ok();
    studio
}

fn prompt(studio: &Studio) -> &str {
    &studio.app().state.shared.next.recipe.prompt
}

#[test]
fn keys_change_the_weight_of_the_word_at_the_caret() {
    let mut studio = writing("mist, a red lake");
    for (key, expected) in [
        (Key::ArrowUp, "mist, a red (lake:1.1)"),
        (Key::ArrowUp, "mist, a red (lake:1.2)"),
        (Key::ArrowDown, "mist, a red (lake:1.1)"),
        (Key::ArrowDown, "mist, a red lake"),
        (Key::ArrowDown, "mist, a red (lake:0.9)"),
    ] {
        studio.press(Modifiers::COMMAND, key);
        assert_eq!(prompt(&studio), expected);
    }
    // What is selected is what is typed over.
    studio.harness.get_by_role_and_label(Role::MultilineTextInput, "Prompt").type_text("sea");
    studio.harness.run_ok();
    assert_eq!(prompt(&studio), "mist, a red (sea:0.9)");
    studio.press(Modifiers::COMMAND, Key::Z);
    assert_eq!(prompt(&studio), "mist, a red (lake:0.9)");
}

#[test]
fn the_negative_prompt_has_the_same_keys_and_a_number_has_none() {
    let mut studio = writing("a lake");
    studio.harness.get_by_role_and_label(Role::MultilineTextInput, "Negative prompt").focus();
    studio.harness.run_ok();
    studio.harness.get_by_role_and_label(Role::MultilineTextInput, "Negative prompt").type_text("fog");
    studio.harness.run_ok();
    studio.press(Modifiers::COMMAND, Key::ArrowUp);
    let negative = |studio: &Studio| studio.app().state.shared.next.recipe.negative_prompt.clone();
    assert_eq!((prompt(&studio), negative(&studio).as_str()), ("a lake", "(fog:1.1)"));
    studio.harness.get_by_role_and_label(Role::TextInput, "Seed").focus();
    studio.harness.run_ok();
    studio.press(Modifiers::COMMAND, Key::ArrowUp);
    assert!(studio.sees("Put the caret on a word of the prompt"));
    assert_eq!((prompt(&studio), negative(&studio).as_str()), ("a lake", "(fog:1.1)"));
}

#[test]
fn a_part_is_switched_off_and_no_model_reads_it() {
    let mut studio = writing("a lake, fog");
    studio.press(Modifiers::COMMAND, Key::Slash);
    assert_eq!(prompt(&studio), "a lake/* , fog */");
    let (_, recipe, _) = studio.generate();
    assert_eq!(recipe.prompt, "a lake");
    assert_eq!(prompt(&studio), "a lake/* , fog */", "the field keeps it");
    studio.press(Modifiers::COMMAND, Key::Slash);
    assert_eq!(prompt(&studio), "a lake, fog");
}

#[test]
fn a_bracket_that_is_never_closed_is_told_below_the_field() {
    let mut studio = writing("a (red lake");
    assert!(studio.sees("This bracket is never closed"));
    studio.harness.get_by_role_and_label(Role::MultilineTextInput, "Prompt").type_text(")");
    studio.harness.run_ok();
    assert!(!studio.sees("This bracket is never closed"));
}

/// A window in which lists of words and tags complete the prompt.
fn completing(prompt: &str) -> Studio {
    let mut studio = writing("");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("tags.csv"), "red fox,0,12000,\nred (colour),0,900,\nred sea,0,2000000,\"salt_water\"\n").unwrap();
    let (tags, unread) = TagList::read(folder.path());
    assert!(unread.is_empty());
    studio.app_mut().state.create.word_lists = WordLists { wildcards: vec!["colour".to_owned(), "land/tree".to_owned()], tags };
    type_on(&mut studio, prompt);
    studio
}

fn type_on(studio: &mut Studio, text: &str) {
    studio.harness.event(egui::Event::Text(text.to_owned()));
    studio.harness.run_ok();
}

fn offers(studio: &Studio) -> Vec<String> {
    let names = ["colour", "land/tree", "red sea", "red fox", "red (colour)"];
    names.into_iter().filter(|name| studio.harness.query_by_role_and_label(Role::Button, name).is_some()).map(str::to_owned).collect()
}

#[test]
fn a_name_is_completed_by_keys() {
    let mut studio = completing("a __");
    assert_eq!(offers(&studio), ["colour", "land/tree"]);
    studio.press(Modifiers::NONE, Key::ArrowDown);
    studio.press(Modifiers::NONE, Key::Tab);
    assert_eq!((prompt(&studio), offers(&studio)), ("a __land/tree__", vec![]));
    // The field keeps the keyboard, and Enter is a line again.
    type_on(&mut studio, ", re");
    assert_eq!(offers(&studio), ["red sea", "red fox", "red (colour)"]);
    studio.press(Modifiers::NONE, Key::ArrowUp);
    studio.press(Modifiers::NONE, Key::Enter);
    assert_eq!(prompt(&studio), r"a __land/tree__, red \(colour\)", "brackets of a name are letters");
    studio.press(Modifiers::NONE, Key::Enter);
    type_on(&mut studio, "salt");
    assert_eq!(offers(&studio), ["red sea"], "by another name of it");
}

#[test]
fn escape_closes_the_list_and_nothing_else() {
    let mut studio = completing("re");
    studio.press(Modifiers::NONE, Key::Escape);
    assert_eq!(offers(&studio), Vec::<String>::new());
    assert!(studio.harness.get_by_role_and_label(Role::MultilineTextInput, "Prompt").is_focused());
    type_on(&mut studio, "d");
    assert_eq!(offers(&studio).len(), 3, "what is typed next opens it again");
    studio.press(Modifiers::NONE, Key::ArrowLeft);
    assert_eq!(offers(&studio), Vec::<String>::new(), "the caret is within a word");
}

#[test]
fn a_name_is_completed_by_a_click() {
    let mut studio = completing("lake, re");
    studio.click("red fox");
    assert_eq!((prompt(&studio), offers(&studio)), ("lake, red fox", vec![]));
    assert!(studio.harness.get_by_role_and_label(Role::MultilineTextInput, "Prompt").is_focused());
}
