//! What phrases of the prompt did, with the test in the engine's place.

use std::sync::atomic::AtomicBool;

use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::phrases::Command;
use crate::gui::tests::memory::resident;
use crate::gui::tests::*;
use crate::gui::text_selection::select;
use crate::settings::Fold;
use atelier_engine::Residency;

const PROMPT: &str = "a lake, stars";
/// Points from the left edge of the field to the middle of each phrase.
const LAKE: f32 = 26.0;
const STARS: f32 = 66.0;

type Taken = (JobId, Recipe, Arc<AtomicBool>);

/// A window that shows a picture of the prompt in the field.
fn with_picture(shows_phrases: bool) -> Studio {
    let recipe = Recipe { prompt: PROMPT.into(), ..ready() };
    let settings = Settings { recipe, shows_phrases, ..Settings::default() };
    let mut studio = Studio::with(settings, Err("None.".into()), [1440.0, 1800.0]);
    studio.make(7);
    studio
}

/// The same, with its model in memory.
fn with_model() -> Studio {
    let mut studio = with_picture(true);
    load(&mut studio);
    studio
}

fn load(studio: &mut Studio) {
    studio.port.send(Event::Residency(Residency { models: vec![resident(1, ready().files)], ..Residency::default() }));
    studio.until("the model", |app| app.state.shared.chosen_resident().is_some());
}

/// Moves the pointer onto the prompt's first line and lets it rest there.
fn rest_on(studio: &mut Studio, x: f32) {
    let field = studio.harness.get_by_role_and_label(Role::MultilineTextInput, "Prompt").rect();
    studio.harness.hover_at(field.left_top() + egui::vec2(x, 16.0));
    idle(studio);
}

fn idle(studio: &mut Studio) {
    for _ in 0..8 {
        studio.harness.step();
    }
}

/// Runs frames until a draft is under way, with all words or without some, and takes its job.
fn take_draft(studio: &mut Studio, is_whole: bool) -> Taken {
    studio.until("a draft", |app| app.state.phrases.run.as_ref().is_some_and(|run| run.is_whole == is_whole));
    studio.take()
}

/// Sends a draft of this shade, and the end of its job.
fn finish_draft(studio: &mut Studio, job: JobId, shade: u8) {
    let info = PictureInfo { index: 0, seed: Some(Seed(7)), cpu_math: None, merged_loras: false };
    studio.port.send(Event::Picture { job, picture: Picture { info, notes: Vec::new(), image: image(64, shade) } });
    studio.done(job);
}

fn says(app: &App, words: &str) -> bool {
    app.state.phrases.shown.as_ref().is_some_and(|shown| shown.sentence.contains(words))
}

/// A window in which the pointer rests on "stars", which acted.
pub(crate) fn with_finding() -> Studio {
    let mut studio = with_model();
    rest_on(&mut studio, STARS);
    let (job, ..) = take_draft(&mut studio, true);
    finish_draft(&mut studio, job, 50);
    let (job, ..) = take_draft(&mut studio, false);
    finish_draft(&mut studio, job, 90);
    studio.until("the overlay", |app| says(app, "acted here"));
    studio
}

#[test]
fn a_phrase_under_the_pointer_is_compared_in_two_drafts_past_the_queue() {
    let mut studio = with_model();
    let rows = studio.app().state.shared.queue.rows.len();
    idle(&mut studio);
    assert!(studio.app().state.phrases.run.is_none(), "nobody asks for it");
    rest_on(&mut studio, STARS);
    let (job, recipe, _) = take_draft(&mut studio, true);
    assert_eq!((recipe.prompt.as_str(), recipe.seed, recipe.batch_count), (PROMPT, Some(Seed(7)), 1));
    assert!(studio.sees("Finding out what “stars” did"));
    assert!(studio.app().state.shared.jobs.is_empty() && studio.app().state.shared.queue.rows.len() == rows);
    finish_draft(&mut studio, job, 50);
    let (job, recipe, _) = take_draft(&mut studio, false);
    assert_eq!((recipe.prompt.as_str(), recipe.seed), ("a lake", Some(Seed(7))));
    finish_draft(&mut studio, job, 90);
    studio.until("the overlay", |app| says(app, "acted here"));
    assert!(studio.sees("“stars” acted here"));
    let (_, heat) = studio.app().state.phrases.heat.as_ref().unwrap();
    assert!(studio.painted(heat).is_some());
    assert_eq!(studio.app().state.create.session.len(), 1, "drafts are no pictures");
    studio.harness.check_accessibility();
}

#[test]
fn a_lora_behind_the_words_leaves_phrases_in_their_places() {
    let mut studio = with_model();
    let next = &mut studio.app_mut().state.shared.next;
    next.lora_files = Arc::from([PathBuf::from("/l/ink.safetensors")]);
    next.recipe.prompt.push_str(" <lora:ink:1>");
    rest_on(&mut studio, STARS);
    let (_, recipe, _) = take_draft(&mut studio, true);
    assert_eq!(recipe.prompt, PROMPT);
}

#[test]
fn a_phrase_that_changed_nothing_is_grey_until_the_text_changes() {
    let mut studio = with_finding();
    assert!(studio.app().state.phrases.quiet_ranges(PROMPT).is_empty());
    rest_on(&mut studio, LAKE);
    let (job, recipe, _) = take_draft(&mut studio, false);
    assert_eq!(recipe.prompt, "stars", "the draft with all words is there already");
    finish_draft(&mut studio, job, 50);
    studio.until("the answer", |app| says(app, "changed nothing here"));
    assert_eq!(studio.app().state.phrases.quiet_ranges(PROMPT), std::slice::from_ref(&(0..6)));
    rest_on(&mut studio, STARS);
    studio.until("the overlay", |app| says(app, "acted here"));
    assert!(studio.app().state.phrases.run.is_none(), "it is known");
    studio.app_mut().state.shared.next.recipe.prompt = "a lake, stars, fog".into();
    idle(&mut studio);
    let phrases = &studio.app().state.phrases;
    assert!(phrases.shown.is_none() && phrases.quiet_ranges("a lake, stars, fog").is_empty() && phrases.run.is_none());
}

#[test]
fn a_picture_that_is_asked_for_takes_the_place_of_a_draft() {
    let mut studio = with_model();
    rest_on(&mut studio, STARS);
    let draft = take_draft(&mut studio, true);
    let (job, ..) = studio.generate();
    studio.until("the cancel", |_| draft.2.load(Ordering::Relaxed));
    studio.port.send(Event::End { job: draft.0, end: End::Cancelled });
    studio.begin(job, vec![8]);
    idle(&mut studio);
    assert!(studio.app().state.phrases.run.is_none(), "not while a picture is made");
    studio.picture(job, 0, 8);
    studio.done(job);
    let (_, recipe, _) = take_draft(&mut studio, true);
    assert_eq!(recipe.seed, Some(Seed(8)), "of the picture that is shown now");
}

#[test]
fn a_pointer_that_leaves_stops_the_draft() {
    let mut studio = with_model();
    rest_on(&mut studio, STARS);
    let draft = take_draft(&mut studio, true);
    studio.harness.hover_at(egui::pos2(900.0, 500.0));
    studio.until("the cancel", |_| draft.2.load(Ordering::Relaxed));
    studio.port.send(Event::End { job: draft.0, end: End::Cancelled });
    idle(&mut studio);
    assert!(studio.app().state.phrases.run.is_none() && studio.app().state.phrases.shown.is_none());
}

#[test]
fn switched_off_nothing_is_computed_and_the_switch_is_kept() {
    let mut studio = with_picture(false);
    load(&mut studio);
    rest_on(&mut studio, STARS);
    let phrases = &studio.app().state.phrases;
    assert!(phrases.run.is_none() && phrases.pointed.is_none());
    assert!(Command::ShowAtCaret.enabled(phrases, &studio.app().state.shared).is_err());
    assert!(!studio.app().settings().shows_phrases);
    studio.app_mut().state.create.open_folds.insert(Fold::More);
    studio.harness.run_ok();
    studio.check(Command::SetOn(true).label());
    assert!(studio.app().settings().shows_phrases && Settings::default().shows_phrases);
    rest_on(&mut studio, LAKE);
    take_draft(&mut studio, true);
}

#[test]
fn a_resting_pointer_loads_no_model_and_the_command_does() {
    let mut studio = with_picture(true);
    rest_on(&mut studio, STARS);
    assert!(studio.app().state.phrases.run.is_none() && studio.app().state.phrases.shown.is_none());
    select(&studio.harness.ctx, egui::Id::unique("prompt"), PROMPT, 10..10);
    studio.app_mut().state.phrases.asks_at_caret = true;
    let (_, recipe, _) = take_draft(&mut studio, true);
    assert_eq!(recipe.prompt, PROMPT);
    // Asked again, it is hidden.
    studio.app_mut().state.phrases.asks_at_caret = true;
    idle(&mut studio);
    assert!(studio.app().state.phrases.shown.is_none());
}

#[test]
fn what_could_not_be_made_is_said_and_not_tried_without_end() {
    let mut studio = with_model();
    rest_on(&mut studio, STARS);
    let (job, ..) = take_draft(&mut studio, true);
    studio.port.send(Event::End { job, end: End::Failed(Failure::new("It is broken.", "Try another.")) });
    studio.until_notice("What the phrase did could not be found out: It is broken.");
    idle(&mut studio);
    assert!(studio.app().state.phrases.run.is_none() && studio.app().state.shared.error.is_none());
}
