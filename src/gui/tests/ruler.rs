//! The ruler of steps under the picture.

use crate::gui::tests::*;
use crate::settings::Fold;

const WORDS: &str = "a [lake:red fox:2]";

/// A window with the ruler open, for a picture of four steps.
fn studio_with_ruler(recipe: Recipe) -> Studio {
    let mut studio = Studio::open(recipe);
    studio.harness.get_by_label_contains("Steps: ").click();
    studio.harness.run_ok();
    studio
}

fn with_prompt(prompt: &str) -> Recipe {
    Recipe { prompt: prompt.into(), ..ready() }
}

fn prompt(studio: &Studio) -> &str {
    &studio.app().state.shared.next.recipe.prompt
}

/// Gives the border of this name the keyboard.
fn focus(studio: &mut Studio, border: &str) {
    studio.harness.get_by_role_and_label(Role::Slider, border).focus();
    studio.harness.run_ok();
    studio.harness.run_ok();
}

fn middle(studio: &Studio, border: &str) -> egui::Pos2 {
    studio.harness.get_by_role_and_label(Role::Slider, border).rect().center()
}

#[test]
fn the_ruler_is_one_line_until_it_is_opened_and_stays_open() {
    let mut studio = Studio::open(with_prompt(WORDS));
    assert!(studio.sees("Steps: 2 ranges"));
    assert!(studio.harness.query_by_role_and_label(Role::Slider, "‘red fox’ from step 3 to 4").is_none());
    studio.harness.get_by_label_contains("Steps: 2 ranges").click();
    studio.harness.run_ok();
    assert!(studio.harness.query_by_role_and_label(Role::Slider, "‘red fox’ from step 3 to 4").is_some());
    assert!(studio.app().settings().open_folds.contains(&Fold::Steps));
    studio.harness.check_accessibility();
    let folded = Studio::open(ready());
    assert!(folded.sees("Steps: one range"));
}

#[test]
fn words_are_moved_step_by_step_with_the_keyboard_and_in_the_prompt() {
    let mut studio = studio_with_ruler(with_prompt(WORDS));
    focus(&mut studio, "‘red fox’ from step 3 to 4");
    studio.press(Modifiers::NONE, Key::ArrowLeft);
    assert_eq!(prompt(&studio), "a [lake:red fox:1]");
    // The border keeps the keyboard.
    studio.press(Modifiers::NONE, Key::ArrowRight);
    studio.press(Modifiers::NONE, Key::ArrowRight);
    assert_eq!(prompt(&studio), "a [lake:red fox:3]");
    assert!(studio.harness.query_by_role_and_label(Role::Slider, "‘red fox’ from step 4 to 4").is_some());
    studio.press(Modifiers::NONE, Key::End);
    assert_eq!(prompt(&studio), "a [lake:red fox:4]");
    assert!(studio.sees("‘red fox’ in no step"));
    studio.press(Modifiers::NONE, Key::Home);
    assert_eq!(prompt(&studio), "a [lake:red fox:0]");
}

#[test]
fn words_are_dragged_to_a_step() {
    let mut studio = studio_with_ruler(with_prompt("a [lake:red fox:0.5], calm"));
    focus(&mut studio, "‘red fox’ from step 3 to 4");
    studio.press(Modifiers::NONE, Key::Home);
    let first = middle(&studio, "‘red fox’ from step 1 to 4");
    studio.press(Modifiers::NONE, Key::End);
    let last = middle(&studio, "‘red fox’ in no step");
    assert!(last.x - first.x > 100.0);
    let third = egui::pos2(first.x + (last.x - first.x) * 0.73, first.y);
    studio.drag_between(last, third);
    assert_eq!(prompt(&studio), "a [lake:red fox:0.75], calm");
}

#[test]
fn loras_are_moved_to_a_part_of_the_steps() {
    let loras = vec![Lora::new("/loras/ink.safetensors".into(), 0.8)];
    let mut studio = studio_with_ruler(Recipe { loras, ..ready() });
    focus(&mut studio, "End of ‘ink’ from step 1 to 4");
    studio.press(Modifiers::NONE, Key::ArrowLeft);
    focus(&mut studio, "Start of ‘ink’ from step 1 to 3");
    studio.press(Modifiers::NONE, Key::ArrowRight);
    let lora = &studio.app().state.shared.next.recipe.loras[0];
    assert_eq!((lora.start, lora.end), (0.25, 0.75));
    studio.press(Modifiers::NONE, Key::End);
    assert!(studio.harness.query_by_role_and_label(Role::Slider, "Start of ‘ink’ from step 3 to 3").is_some(), "one step is left");
    let lora = &studio.app().state.shared.next.recipe.loras[0];
    assert_eq!((lora.start, lora.end), (0.5, 0.75));
}

#[test]
fn guidance_has_another_value_in_a_range_of_steps() {
    let mut studio = studio_with_ruler(Recipe { guidance: 7.0, ..ready() });
    let recipe = |studio: &Studio| studio.app().state.shared.next.recipe.clone();
    let before = recipe(&studio);
    studio.click("Add a range of steps with another guidance.");
    assert_eq!(recipe(&studio).guidance_over_steps(4), before.guidance_over_steps(4), "it is the same until it is changed");
    studio.harness.get_by_role_and_label(Role::SpinButton, "Guidance, range 1").focus();
    studio.harness.run_ok();
    studio.press(Modifiers::COMMAND, Key::A);
    studio.harness.event(egui::Event::Text("1".into()));
    studio.harness.run_ok();
    studio.press(Modifiers::NONE, Key::Enter);
    assert_eq!(recipe(&studio).guidance_over_steps(4), [(2, 7.0), (4, 1.0)]);
    focus(&mut studio, "Start of ‘Guidance, range 1’ from step 3 to 4");
    studio.press(Modifiers::NONE, Key::ArrowLeft);
    focus(&mut studio, "End of ‘Guidance, range 1’ from step 2 to 4");
    studio.press(Modifiers::NONE, Key::ArrowLeft);
    assert_eq!(recipe(&studio).guidance_over_steps(4), [(1, 7.0), (3, 1.0), (4, 7.0)]);
    studio.harness.check_accessibility();
    studio.click("Remove ‘Guidance, range 1’.");
    assert_eq!(recipe(&studio), before);
}

#[test]
fn it_says_from_which_step_a_change_is_computed() {
    let mut studio = studio_with_ruler(Recipe { seed: Some(Seed(7)), ..with_prompt(WORDS) });
    assert!(!studio.sees("computes from step"));
    studio.make(7);
    assert!(!studio.sees("computes from step"), "nothing is changed");
    focus(&mut studio, "‘red fox’ from step 3 to 4");
    studio.press(Modifiers::NONE, Key::ArrowRight);
    assert!(studio.sees("computes from step 3 of 4"));
    studio.press(Modifiers::NONE, Key::Home);
    assert!(!studio.sees("computes from step"), "the first step is another");
    studio.press(Modifiers::NONE, Key::ArrowRight);
    assert!(studio.sees("computes from step 2 of 4"));
    studio.app_mut().state.shared.next.recipe.seed = None;
    studio.harness.run_ok();
    assert!(!studio.sees("computes from step") && studio.sees("A new seed computes all steps"));
    studio.app_mut().state.shared.next.recipe.seed = Some(Seed(8));
    studio.harness.run_ok();
    assert!(!studio.sees("computes from step"));
}

#[test]
fn the_palette_opens_the_ruler() {
    let mut studio = Studio::open(with_prompt(WORDS));
    studio.press(Modifiers::COMMAND, Key::K);
    studio.harness.get_by_role_and_label(Role::TextInput, "Find a command").type_text("unfold the ruler");
    studio.harness.run_ok();
    studio.press(Modifiers::NONE, Key::Enter);
    studio.until("the ruler", |app| app.state.create.open_folds.contains(&Fold::Steps));
}
