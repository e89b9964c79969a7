//! The slider through the steps of a finished picture, and going on from one of them.

use crate::gui::create;
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::tests::*;
use atelier_core::canvas::{AreaSettings, PixelRect};
use atelier_core::recipe::{ImageSource, InitImage};

const SLIDER: &str = "Step of this picture";

/// A finished picture of four steps with previews of these.
fn studio_with_steps(steps: &[u32]) -> Studio {
    finish_with_steps(Studio::open(ready()), steps, None)
}

/// Makes a picture of four steps with previews of these, which show this part of it.
fn finish_with_steps(mut studio: Studio, steps: &[u32], place: Option<PixelRect>) -> Studio {
    let (job, ..) = studio.generate();
    studio.begin(job, vec![7]);
    for step in steps {
        let preview = Preview { picture: 0, step: *step, place, image: image(8, *step as u8) };
        studio.port.send(Event::Preview { job, preview });
        studio.until("the preview", |app| app.state.create.forming.first().is_some());
    }
    studio.picture(job, 0, 7);
    studio.done(job);
    studio
}

/// The step that the canvas shows, and the step of the preview that stands for it.
fn shown(app: &App) -> Option<(u32, Option<u32>)> {
    let shown = app.state.create.step_in_sight()?;
    Some((shown.step, shown.texture.as_ref().map(|(of, _)| *of)))
}

fn go_to(studio: &mut Studio, key: Key) {
    studio.harness.get_by_role_and_label(Role::Slider, SLIDER).focus();
    studio.harness.run_ok();
    studio.press(Modifiers::NONE, key);
}

#[test]
fn arrow_keys_show_the_steps_and_the_next_picture_goes_on_from_one() {
    let mut studio = studio_with_steps(&[1, 2, 3, 4]);
    assert!(studio.sees("Step 4 of 4"), "the picture itself");
    assert!(studio.harness.get_by_role_and_label(Role::Button, "Continue from here").accesskit_node().is_disabled());
    go_to(&mut studio, Key::ArrowLeft);
    go_to(&mut studio, Key::ArrowLeft);
    studio.until("the second step", |app| shown(app) == Some((2, Some(2))));
    assert!(studio.sees("Step 2 of 4"));
    studio.click("Continue from here");
    assert!(studio.sees("continues from step 2") && studio.sees("Starts with 2 steps of"));
    studio.app_mut().state.shared.next.recipe.prompt = "a lake by night".into();
    let (_, recipe, _) = studio.generate();
    assert_eq!((recipe.prompt.as_str(), recipe.seed, recipe.steps), ("a lake by night", Some(Seed(7)), 4));
    let earlier: Vec<_> = recipe.earlier_steps.iter().map(|it| (it.until_step, it.prompt.as_str())).collect();
    assert_eq!(earlier, [(2, "a lake")]);
    let name = recipe.earlier_steps[0].picture.clone().unwrap();
    assert!(!name.is_empty() && !name.contains('/'), "{name}");
    assert_eq!(recipe.parent().map(|it| it.prompt), Some("a lake".into()));
}

#[test]
fn a_branch_can_be_taken_away_and_the_last_step_is_the_picture_again() {
    let mut studio = studio_with_steps(&[2]);
    go_to(&mut studio, Key::ArrowLeft);
    studio.until("the third step", |app| shown(app) == Some((3, Some(2))));
    studio.click("Continue from here");
    let chip = studio.harness.get_by_label_contains("Start over: Starts with 3 steps");
    chip.click();
    studio.harness.run_ok();
    assert!(!studio.sees("Starts with") && studio.app().state.shared.next.recipe.earlier_steps.is_empty());
    go_to(&mut studio, Key::ArrowRight);
    assert_eq!(shown(studio.app()), None);
    assert!(studio.sees("Step 4 of 4"));
}

#[test]
fn the_steps_of_a_part_are_shown_in_its_place_and_its_branch_changes_the_same_part() {
    let mut studio = Studio::open(ready());
    let recipe = &mut studio.app_mut().state.shared.next.recipe;
    let pixels = || ImageSource::Pixels((*image(8, 90)).clone());
    recipe.init = Some(InitImage { image: pixels(), strength: 0.5 });
    (recipe.mask, recipe.area) = (Some(pixels()), Some(AreaSettings::default()));
    let place = PixelRect { left: 2, top: 0, width: 4, height: 4 };
    let mut studio = finish_with_steps(studio, &[1, 2, 3, 4], Some(place));
    assert!(studio.sees("Step 4 of 4"), "a part runs all its steps");
    go_to(&mut studio, Key::ArrowLeft);
    studio.until("the third step", |app| shown(app) == Some((3, Some(3))));
    assert_eq!(studio.app().state.create.step_texture().map(|(_, place)| place), Some(Some(place)));
    studio.click("Continue from here");
    studio.app_mut().state.shared.next.recipe.prompt = "a lake by night".into();
    let (_, recipe, _) = studio.generate();
    assert_eq!((recipe.earlier_steps[0].until_step, recipe.changes_part()), (3, true));
    assert!(recipe.mask.is_some() && recipe.init.is_some());
}

#[test]
fn a_picture_without_previews_has_no_slider_and_neither_has_the_one_that_forms() {
    let mut studio = Studio::open(ready());
    studio.make(1);
    assert!(studio.harness.query_by_role_and_label(Role::Slider, SLIDER).is_none());
    let enabled = create::Command::GoOnFromStep.enabled(&studio.app().state.create, &studio.app().state.shared);
    assert!(enabled.is_err());
    let mut studio = studio_with_steps(&[1]);
    assert!(studio.harness.query_by_role_and_label(Role::Slider, SLIDER).is_some());
    let (job, ..) = studio.generate();
    studio.begin(job, vec![8]);
    studio.port.send(Event::Preview { job, preview: Preview { picture: 0, step: 1, place: None, image: image(8, 9) } });
    studio.until("the preview", |app| app.state.create.forming.first().is_some());
    assert!(studio.harness.query_by_role_and_label(Role::Slider, SLIDER).is_none());
}

#[test]
fn the_rest_of_a_picture_gets_new_noise_and_its_settings_stay() {
    let mut studio = studio_with_steps(&[1, 2, 3, 4]);
    go_to(&mut studio, Key::ArrowLeft);
    studio.app_mut().state.shared.next.recipe.prompt = "something else".into();
    studio.click("New details");
    let (_, recipe, _) = studio.take();
    assert_eq!((recipe.prompt.as_str(), recipe.earlier_steps[0].until_step), ("a lake", 3));
    assert!(recipe.has_new_noise() && recipe.parent().and_then(|it| it.seed) == Some(Seed(7)));
    assert_eq!(studio.app().state.shared.next.recipe.prompt, "something else");
}

#[test]
fn drafts_stop_early_and_the_one_shown_is_finished() {
    let mut studio = Studio::open(ready());
    studio.check("Stop early, as drafts");
    let (job, recipe, _) = studio.generate();
    assert_eq!((recipe.steps, recipe.last_step), (4, Some(1)));
    studio.begin(job, vec![7]);
    studio.picture(job, 0, 7);
    studio.done(job);
    assert!(studio.sees("A draft: step 1 of 4"));
    studio.click("Finish this draft");
    let (job, recipe, _) = studio.take();
    assert_eq!((recipe.last_step, recipe.seed, recipe.has_new_noise()), (None, Some(Seed(7)), false));
    assert_eq!(recipe.earlier_steps[0].until_step, 1);
    studio.begin(job, vec![7]);
    studio.picture(job, 0, 7);
    studio.done(job);
    assert!(!studio.sees("A draft"));
    let enabled = create::Command::FinishDraft.enabled(&studio.app().state.create, &studio.app().state.shared);
    assert!(enabled.is_err());
}

#[test]
fn a_draft_whose_words_look_like_a_template_is_finished_with_the_same_words() {
    let mut studio = Studio::open(Recipe { prompt: r"\# Scene, a \{lake\|sea\}".into(), ..ready() });
    studio.check("Stop early, as drafts");
    let (job, recipe, _) = studio.generate();
    assert_eq!(recipe.prompt, "# Scene, a {lake|sea}");
    studio.begin(job, vec![7]);
    studio.picture(job, 0, 7);
    studio.done(job);
    studio.click("Finish this draft");
    let (_, finished, _) = studio.take();
    assert_eq!((finished.prompt.as_str(), finished.last_step), (recipe.prompt.as_str(), None));
}

#[test]
fn the_menu_offers_to_finish_what_is_a_draft_and_nothing_else() {
    let mut studio = Studio::open(ready());
    let offers = |studio: &mut Studio, tile: &str| {
        studio.harness.query_all_by_label_contains(tile).last().unwrap().click_secondary();
        studio.harness.run_ok();
        let entry = studio.harness.query_all_by_role_and_label(Role::Button, "Finish this draft").last();
        let is_offered = entry.map(|it| !it.accesskit_node().is_disabled());
        studio.press(Modifiers::NONE, Key::Escape);
        is_offered
    };
    studio.make(1);
    studio.check("Stop early, as drafts");
    studio.make(2);
    assert!(studio.sees("A draft: step 1 of 4"));
    // The draft is shown and has a button of its own; its neighbour's menu is about the neighbour.
    assert_eq!(offers(&mut studio, "Picture 1, seed 1"), None);
    assert_eq!(offers(&mut studio, "Picture 2, seed 2"), Some(true));
}

#[test]
fn a_second_seed_is_blended_in_and_taken_away() {
    let mut studio = Studio::sized(ready(), [1440.0, 1800.0]);
    studio.check("Blend with a second seed");
    let recipe = studio.app().state.shared.next.recipe.clone();
    let blend = recipe.seed_blend.unwrap();
    assert!(recipe.seed.is_some(), "both seeds stay: {recipe:?}");
    let slider = studio.harness.get_by_role_and_label(Role::Slider, "Amount");
    slider.focus();
    studio.harness.run_ok();
    studio.press(Modifiers::NONE, Key::ArrowRight);
    let (_, recipe, _) = studio.generate();
    assert!(recipe.seed_blend.unwrap().amount > blend.amount);
    studio.check("Blend with a second seed");
    assert_eq!(studio.app().state.shared.next.recipe.seed_blend, None);
}
