//! Styles and earlier prompts, used as a person uses them.

use crate::gui::styles::update;
use crate::gui::tests::*;
use atelier_studio::styles::{StyleTask, read_styles};

fn recipe(studio: &Studio) -> &Recipe {
    &studio.app().state.shared.next.recipe
}

fn set(studio: &mut Studio, recipe: Recipe) {
    studio.app_mut().state.shared.next.recipe = recipe;
    studio.harness.run_ok();
}

#[test]
fn settings_are_saved_as_a_style_applied_visibly_undone_with_one_key_and_deleted() {
    let mut studio = Studio::open(Recipe { prompt: "ink drawing of {prompt}".into(), steps: 9, seed: Some(Seed(7)), ..ready() });
    studio.click("Save as a style");
    assert!(studio.harness.get_by_role_and_label(Role::Button, "Save style").accesskit_node().is_disabled(), "it has no name yet");
    studio.harness.check_accessibility();
    studio.harness.get_by_role_and_label(Role::TextInput, "Name of the style").type_text("Ink");
    studio.harness.run_ok();
    studio.harness.get_by_role_and_label(Role::CheckBox, "LoRAs").click();
    studio.harness.run_ok();
    studio.click("Save style");
    studio.until("the style", |app| app.state.styles.get("Ink").is_some());
    let kept = read_styles(&studio.folder.path().join("styles"));
    let settings = &kept.styles[0].0.settings;
    assert_eq!((settings.steps, settings.seed, settings.loras.is_none(), settings.files.is_none()), (Some(9), None, true, true));

    set(&mut studio, ready());
    studio.click("Style");
    studio.click("Ink");
    assert_eq!((recipe(&studio).prompt.as_str(), recipe(&studio).steps, recipe(&studio).seed), ("ink drawing of a lake", 9, None));
    assert!(studio.sees("Ink changed: prompt, steps."));
    studio.harness.check_accessibility();
    studio.press(Modifiers::COMMAND, Key::Z);
    assert_eq!(*recipe(&studio), ready());
    assert!(!studio.sees("Ink changed"));
}

#[test]
fn the_dialog_of_a_style_closes_without_saving() {
    let mut studio = Studio::open(ready());
    studio.click("Save as a style");
    studio.press(Modifiers::NONE, Key::Escape);
    assert!(studio.app().state.styles.draft.is_none());
    assert!(!studio.folder.path().join("styles").exists());
}

#[test]
fn a_damaged_style_is_named_and_the_others_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let styles = folder.path().join("styles");
    std::fs::create_dir(&styles).unwrap();
    std::fs::write(styles.join("bad.json"), "{").unwrap();
    std::fs::write(styles.join("oil.json"), r#"{"name":"Oil","settings":{"prompt":"oil on canvas","sampler":null}}"#).unwrap();
    let none = Err("The built-in model is not there.".into());
    let mut studio = Studio::at(folder, Settings { recipe: ready(), ..Settings::default() }, none, [1440.0, 900.0]);
    studio.until("the styles", |app| app.state.styles.get("Oil").is_some());
    studio.click("Style");
    assert!(studio.sees("bad.json could not be read"));
    studio.click("Oil");
    assert_eq!(recipe(&studio).prompt, "a lake, oil on canvas");
}

/// Names and prompts of the styles in this folder.
fn styles(folder: &Path) -> Vec<(String, String)> {
    read_styles(folder).styles.into_iter().map(|(it, _)| (it.name, it.settings.prompt.unwrap_or_default())).collect()
}

#[test]
fn importing_a_list_asks_before_it_touches_a_style_of_the_same_name() {
    let mut studio = Studio::open(ready());
    let folder = studio.folder.path().join("styles");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("ink.json"), r#"{"name":"Ink","settings":{"prompt":"my ink"}}"#).unwrap();
    let list = studio.folder.path().join("styles.csv");
    std::fs::write(&list, "name,prompt\nInk,other ink\nFog,fog\n").unwrap();
    let import = |studio: &mut Studio| {
        // As a closed file dialog does it.
        let (ctx, task) = (studio.harness.ctx.clone(), StyleTask::Import(list.clone()));
        studio.app_mut().with(&ctx, |features, context| update::run(features.styles, task, context));
        studio.until("the question", |app| app.state.styles.import.is_some());
    };
    let own = ("Ink".to_owned(), "my ink".to_owned());

    import(&mut studio);
    assert!(studio.sees("You already have a style with this name") && studio.sees("Ink."));
    studio.harness.check_accessibility();
    assert_eq!(styles(&folder), std::slice::from_ref(&own));
    studio.press(Modifiers::NONE, Key::Escape);
    assert!(studio.app().state.styles.import.is_none());
    assert_eq!(styles(&folder), std::slice::from_ref(&own));

    import(&mut studio);
    studio.click("Skip");
    studio.until_notice("1 style was added and 1 style was skipped.");
    let fog = ("Fog".to_owned(), "fog".to_owned());
    assert_eq!(styles(&folder), [fog.clone(), own.clone()]);

    import(&mut studio);
    studio.click("Keep both");
    studio.until("the styles", |app| app.state.styles.get("Ink (2)").is_some());
    assert_eq!(styles(&folder), [fog, own, ("Ink (2)".to_owned(), "other ink".to_owned())]);
}

#[test]
fn earlier_prompts_come_back_by_key_and_by_search_and_are_kept_for_the_next_start() {
    let mut studio = Studio::open(ready());
    for (seed, prompt) in [(1, "a lake"), (2, "a red hut")] {
        set(&mut studio, Recipe { prompt: prompt.into(), ..ready() });
        studio.make(seed);
    }
    set(&mut studio, Recipe { prompt: "half a".into(), ..ready() });
    studio.harness.get_by_role_and_label(Role::MultilineTextInput, "Prompt").focus();
    studio.harness.run_ok();
    for (key, expected) in [
        (Key::ArrowUp, "a red hut"),
        (Key::ArrowUp, "a lake"),
        (Key::ArrowUp, "a lake"),
        (Key::ArrowDown, "a red hut"),
        (Key::ArrowDown, "half a"),
    ] {
        studio.press(Modifiers::ALT, key);
        assert_eq!(recipe(&studio).prompt, expected);
    }
    studio.click("Earlier prompts");
    studio.harness.get_by_role_and_label(Role::TextInput, "Search prompts").type_text("HUT");
    studio.harness.run_ok();
    assert!(studio.harness.query_by_role_and_label(Role::Button, "a lake").is_none());
    studio.harness.check_accessibility();
    studio.click("a red hut");
    assert_eq!(recipe(&studio).prompt, "a red hut");
    studio.press(Modifiers::COMMAND, Key::Z);
    assert_eq!(recipe(&studio).prompt, "half a");
    let path = studio.folder.path().join("settings.json");
    studio.harness.state_mut().take().unwrap().finish();
    assert_eq!(settings::load(&path).settings.prompts, ["a red hut", "a lake"]);
}
