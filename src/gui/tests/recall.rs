//! Parts of a picture's settings, taken over by one key each and taken back by one.

use crate::gui::tests::*;

/// The window with a picture of `ready()` and seed 42, and other settings for the next one.
fn studio() -> (Studio, Recipe) {
    let mut studio = Studio::open(ready());
    studio.make(42);
    let mut other = Recipe { prompt: "a castle".into(), negative_prompt: "fog".into(), width: 128, steps: 9, batch_count: 3, ..ready() };
    other.files.set(FileRole::Model, "/models/other.safetensors");
    studio.app_mut().state.shared.next.recipe = other.clone();
    studio.harness.run_ok();
    // The prompt has the keyboard at first: keys that write text belong to it.
    studio.harness.get_by_role_and_label(Role::MultilineTextInput, "Prompt").focus();
    studio.harness.run_ok();
    (studio, other)
}

fn recipe(studio: &Studio) -> &Recipe {
    &studio.app().state.shared.next.recipe
}

#[test]
fn each_part_has_a_key_and_one_undo() {
    let (mut studio, other) = studio();
    studio.press(Modifiers::NONE, Key::S);
    assert_eq!(recipe(&studio).seed, other.seed, "who types is not interrupted");
    let focused = studio.harness.ctx.memory(egui::Memory::focused).unwrap();
    studio.harness.ctx.memory_mut(|memory| memory.surrender_focus(focused));
    studio.harness.run_ok();
    let other = recipe(&studio).clone();
    let model = ready().files;
    let parts = [
        (Key::P, Recipe { prompt: "a lake".into(), negative_prompt: String::new(), ..other.clone() }, "Use its prompt"),
        (Key::S, Recipe { seed: Some(Seed(42)), ..other.clone() }, "Use its seed"),
        (Key::D, Recipe { width: 64, ..other.clone() }, "Use its size"),
        (Key::M, Recipe { files: model, ..other.clone() }, "Use its model"),
        (Key::R, Recipe { batch_count: 3, ..ready() }, "Use all but the seed"),
    ];
    for (key, expected, name) in parts {
        // M alone masks a part of the picture.
        studio.press(if key == Key::M { Modifiers::SHIFT } else { Modifiers::NONE }, key);
        assert_eq!(recipe(&studio), &expected, "{name}");
        assert_eq!(studio.app().state.shared.history.next_undo(), Some(name));
        studio.press(Modifiers::COMMAND, Key::Z);
        assert_eq!(recipe(&studio), &other, "{name} is undone");
    }
    studio.press(Modifiers::NONE, Key::F);
    assert_eq!(recipe(&studio).reference_images.len(), 1);
    studio.press(Modifiers::COMMAND, Key::U);
    assert_eq!(recipe(&studio), &Recipe { seed: Some(Seed(42)), ..ready() });
}

#[test]
fn the_model_that_the_window_had_stays_where_the_picture_has_none() {
    let mut studio = Studio::open(ready());
    let from = atelier_core::recipe::PartialRecipe { steps: Some(7), ..Default::default() };
    let shared = &mut studio.app_mut().state.shared;
    shared.next.recall(atelier_core::recipe::RecallPart::All, &from);
    assert_eq!((&shared.next.recipe.files, shared.next.recipe.steps), (&ready().files, 7));
    shared.next.recipe.loras = vec![Lora::new("/l/ink.safetensors".into(), 1.0)];
    let other = atelier_core::recipe::PartialRecipe { files: Some(atelier_core::recipe::ModelFiles::default()), ..from };
    shared.next.recall(atelier_core::recipe::RecallPart::Model, &other);
    assert!(shared.next.recipe.loras.is_empty(), "they were made for the other model");
}

#[test]
fn nothing_is_chosen_again_in_the_words_of_a_picture() {
    let mut studio = Studio::open(ready());
    let prompt = Some("a {red|blue} lake".to_owned());
    let from = atelier_core::recipe::PartialRecipe { prompt, negative_prompt: Some("{fog}".into()), ..Default::default() };
    studio.app_mut().state.shared.next.recall(atelier_core::recipe::RecallPart::Prompt, &from);
    studio.harness.run_ok();
    assert_eq!((recipe(&studio).prompt.as_str(), recipe(&studio).negative_prompt.as_str()), (r"a \{red\|blue\} lake", "{fog}"));
    let (_, made, _) = studio.generate();
    assert_eq!(made.prompt, "a {red|blue} lake");
}

#[test]
fn a_finished_picture_is_upscaled_by_one_key_with_its_own_settings() {
    let (mut studio, _) = studio();
    let focused = studio.harness.ctx.memory(egui::Memory::focused).unwrap();
    studio.harness.ctx.memory_mut(|memory| memory.surrender_focus(focused));
    studio.harness.run_ok();
    studio.press(Modifiers::NONE, Key::U);
    let (job, upscaled, _) = studio.take();
    assert!(upscaled.only_upscales(), "{upscaled:?}");
    assert!(matches!(upscaled.init.as_ref().map(|it| &it.image), Some(ImageSource::File(path)) if path.is_file()));
    assert_eq!((upscaled.prompt.as_str(), upscaled.seed), ("a lake", Some(Seed(42))));
    studio.done(job);
    studio.press(Modifiers::SHIFT, Key::U);
    let (_, refined, _) = studio.take();
    assert!(refined.upscales_init() && !refined.only_upscales() && refined.files == ready().files);
}

#[test]
fn the_second_pass_is_a_setting_with_a_switch_and_an_upscaler_of_the_library() {
    let mut studio = Studio::sized(ready(), [1440.0, 1800.0]);
    studio.harness.get_by_role_and_label(Role::CheckBox, "Upscale each picture").click();
    studio.harness.run_ok();
    assert_eq!(recipe(&studio).hires, Some(atelier_core::recipe::Hires::default()));
    assert!(studio.harness.query_by_role_and_label(Role::ComboBox, "Upscaler").is_some());
    for (name, side) in [("Regenerate in tiles", None), ("Tile side: set a value", Some(768))] {
        studio.harness.get_by_role_and_label(Role::CheckBox, name).click();
        studio.harness.run_ok();
        assert_eq!(recipe(&studio).hires.as_ref().unwrap().tiles.as_ref().unwrap().side, side);
    }
    studio.harness.check_accessibility();
    let (_, made, _) = studio.generate();
    assert_eq!(made.hires, recipe(&studio).hires);
    for _ in 0..3 {
        studio.press(Modifiers::COMMAND, Key::Z);
    }
    assert_eq!(recipe(&studio).hires, None);
}

#[test]
fn the_second_pass_has_a_size_of_its_own_and_upscales_latents() {
    let mut studio = Studio::sized(ready(), [1440.0, 1800.0]);
    for name in ["Upscale each picture", "Own size"] {
        studio.harness.get_by_role_and_label(Role::CheckBox, name).click();
        studio.harness.run_ok();
    }
    let (width, height) = (recipe(&studio).width, recipe(&studio).height);
    assert_eq!(recipe(&studio).hires.as_ref().unwrap().target, Some((2 * width, 2 * height)), "what the factor made of it");
    studio.harness.get_by_role_and_label(Role::ComboBox, "Upscaler").click();
    studio.harness.run_ok();
    studio.click("Latent (bicubic)");
    let latent = Some(atelier_core::recipe::LatentUpscaler::Bicubic);
    assert_eq!(recipe(&studio).hires.as_ref().unwrap().latent_upscaler(), latent);
    studio.harness.check_accessibility();
    studio.harness.get_by_role_and_label(Role::CheckBox, "Own size").click();
    studio.harness.run_ok();
    assert_eq!(recipe(&studio).hires.as_ref().unwrap().target, None);
}
