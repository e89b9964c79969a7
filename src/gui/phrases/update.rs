//! Effects of the commands about what phrases did, and what is done once a frame: the drafts that a
//! phrase needs are made while nothing else is asked for. Nothing here waits.

use std::sync::Arc;

use atelier_engine::{End, Event, PreviewOptions, Task};
use atelier_language::tr;
use eframe::egui::{ColorImage, ImageData, TextureOptions};

use crate::gui::context::Context;
use crate::gui::create;
use crate::gui::create::session::SessionPicture;
use crate::gui::create::view::prompt_field;
use crate::gui::due::Due;
use crate::gui::phrases::command::Command;
use crate::gui::phrases::drafts::{draft, has_drafts};
use crate::gui::phrases::effect::{self, Effect};
use crate::gui::phrases::state::{DraftRun, Finding, PhraseOfPicture, Shown, State};
use crate::gui::shared::{Screen, Shared};
use crate::gui::workers::Worker;
use atelier_core::recipe::Rgb8;
use atelier_core::words::{Phrase, Prompt};

/// Seconds for which the pointer rests on a phrase that is meant.
const REST_SECS: f64 = 0.4;

/// Carries out a command.
pub(crate) fn update(state: &mut State, command: Command, context: &Context<'_>) {
    match command {
        Command::Point(phrase) => {
            state.rests.clear();
            if phrase.is_some() {
                state.rests.set_in(context.egui, REST_SECS);
            }
            state.pointed = phrase;
        }
        Command::ShowAtCaret => state.asks_at_caret = true,
        Command::SetOn(is_on) => {
            state.is_on = is_on;
            (state.pointed, state.rests, state.asked) = (None, Due::default(), None);
        }
    }
}

/// Has the drafts made that the phrase in question needs, and stops those that nobody needs: called
/// once a frame. `is_free`: nothing else is asked for.
pub(crate) fn refresh(state: &mut State, create: &create::State, is_free: bool, context: &mut Context<'_>) {
    let picture = subject(create, context.shared).filter(|_| state.is_on);
    let asks = std::mem::take(&mut state.asks_at_caret);
    if asks {
        ask_at_caret(state, picture, context);
    }
    state.set_quiet(picture);
    state.shown = None;
    let wanted = picture.and_then(|picture| Some((picture, wanted(state, picture, context)?)));
    let Some((picture, wanted)) = wanted else { return stop(state, context) };
    // A pointer that rests loads no model; who asks for it by a command waits for that.
    let next = &context.shared.next.recipe;
    // With other settings of opening, as seamless sides, it would be loaded anew.
    let opens_none = || draft(&picture.recipe, None, next).is_some_and(|draft| draft.opens_like(next));
    let is_at_hand = state.asked.as_ref() == Some(&wanted) || (context.shared.chosen_resident().is_some() && opens_none());
    let may_run = is_free && is_at_hand;
    if !may_run || state.run.as_ref().is_some_and(|run| !run.serves(&wanted)) {
        stop(state, context);
    }
    let finding = state.finding(&wanted);
    if finding.is_none() && may_run && state.run.is_none() && state.comparing.as_ref() != Some(&wanted) {
        begin(state, picture, &wanted, context);
    }
    let words = wanted.phrase.words(&picture.recipe.prompt).unwrap_or_default();
    state.shown = match finding {
        Some(Finding::Acted(heat)) => {
            show_heat(state, wanted, heat, context);
            Some(Shown { sentence: tr!("phrases-acted-here", words), has_heat: true })
        }
        Some(Finding::ChangedNothing) => Some(Shown { sentence: tr!("phrases-changed-nothing-here", words), has_heat: false }),
        None if may_run => Some(Shown { sentence: tr!("phrases-finding-out-what", words), has_heat: false }),
        None if is_at_hand => Some(Shown { sentence: tr!("phrases-what-does-is-found", words), has_heat: false }),
        Some(Finding::Failed) | None => None,
    };
}

/// The picture shown, where its prompt is the text in the field and its drafts would show the same.
fn subject<'a>(create: &'a create::State, shared: &Shared) -> Option<&'a SessionPicture> {
    let picture = create.finished_picture_shown().filter(|_| shared.screen == Screen::Create && create.step_in_sight().is_none())?;
    let recipe = &picture.recipe;
    // Phrases are places in the field's text, which tags of LoRAs behind them leave where they are.
    let has_places = shared.next.recipe.prompt.starts_with(&recipe.prompt);
    let is_of_field = has_places && shared.next.resolved_recipe().prompt == recipe.prompt;
    (is_of_field && shared.next.is_chosen(&recipe.files) && has_drafts(recipe)).then_some(picture)
}

/// The phrase in question: the one on which the pointer rests, else the one that was asked for.
fn wanted(state: &mut State, picture: &SessionPicture, context: &Context<'_>) -> Option<PhraseOfPicture> {
    state.asked.take_if(|asked| asked.picture != picture.id);
    let has_rested = state.rests.has_come(context.egui);
    let is_in_sight = context.shared.side_panel.is_shown(context.egui);
    let pointed = state.pointed.clone().filter(|phrase| has_rested && is_in_sight && phrase.words(&picture.recipe.prompt).is_some());
    pointed.map(|phrase| PhraseOfPicture { picture: picture.id, phrase }).or_else(|| state.asked.clone())
}

/// Asks for the phrase at the caret, or no longer, where it is what is shown.
fn ask_at_caret(state: &mut State, picture: Option<&SessionPicture>, context: &mut Context<'_>) {
    let Some(picture) = picture else { return context.notice(tr!("phrases-show-a-finished-picture")) };
    let prompt = &picture.recipe.prompt;
    let caret = prompt_field::prompt_caret(context.egui, prompt);
    let phrase = caret.and_then(|at| Phrase::at(&Prompt::parse(prompt).phrases(), at).cloned());
    let Some(phrase) = phrase else { return context.notice(tr!("phrases-put-the-caret-on")) };
    let asked = PhraseOfPicture { picture: picture.id, phrase };
    state.asked = Some(asked).filter(|asked| state.asked.as_ref() != Some(asked));
}

fn stop(state: &mut State, context: &Context<'_>) {
    if let Some(run) = state.run.as_mut().filter(|run| !run.is_stopped) {
        run.is_stopped = true;
        context.engine.cancel(run.job);
    }
}

/// Begins the next draft that a phrase needs.
fn begin(state: &mut State, picture: &SessionPicture, wanted: &PhraseOfPicture, context: &mut Context<'_>) {
    let is_whole = state.whole_draft(picture.id).is_none();
    let without = (!is_whole).then_some(&wanted.phrase);
    let Some(recipe) = draft(&picture.recipe, without, &context.shared.next.recipe) else { return };
    // Past the queue: nothing of it is on the disk.
    match context.engine.submit(Task::Generate { recipe: Box::new(recipe), preview: PreviewOptions::Off, shares_steps: false }) {
        Ok(job) => state.run = Some(DraftRun { job, of: wanted.clone(), is_whole, is_stopped: false, image: None }),
        Err(busy) => failed(state, wanted.clone(), &busy.to_string(), context),
    }
}

fn failed(state: &mut State, of: PhraseOfPicture, reason: &str, context: &mut Context<'_>) {
    state.keep_finding(of, Finding::Failed);
    context.notice(tr!("phrases-what-the-phrase-did", reason));
}

/// Folds an event of the engine in. Returns false for those that others take: of other jobs, and
/// lines of the log but for what a draft complains of that was stopped.
pub(crate) fn engine_event(state: &mut State, event: &Event, context: &mut Context<'_>) -> bool {
    let Some(run) = state.run.as_mut().filter(|run| event.job() == Some(run.job)) else { return false };
    match event {
        Event::Picture { picture, .. } => run.image = Some(Arc::clone(&picture.image)),
        Event::Log { .. } => return run.is_stopped,
        Event::End { end, .. } => ended(state, end, context),
        _ => {}
    }
    true
}

fn ended(state: &mut State, end: &End, context: &mut Context<'_>) {
    let Some(DraftRun { of, is_whole, image, .. }) = state.run.take() else { return };
    match (end, image) {
        (End::Done { .. }, Some(image)) if is_whole => state.keep_whole_draft(of.picture, image),
        (End::Done { .. }, Some(image)) => {
            // Without the other one, both are made again.
            if let Some(whole) = state.whole_draft(of.picture) {
                compare(state, of, (whole, image), context);
            }
        }
        (End::Done { .. }, None) => failed(state, of, tr!("phrases-no-draft-was-made"), context),
        (End::Failed(failure), _) => failed(state, of, &failure.advice.sentence, context),
        (End::Cancelled, _) => {}
    }
}

fn compare(state: &mut State, of: PhraseOfPicture, (whole, without): (Arc<Rgb8>, Arc<Rgb8>), context: &Context<'_>) {
    state.comparing = Some(of.clone());
    context.run(
        Worker::Pixels,
        move || effect::compare(&whole, &without),
        move |effect, features, context| compared(features.phrases, of, effect, context),
    );
}

/// Two drafts have been compared; `None`: they cannot be.
fn compared(state: &mut State, of: PhraseOfPicture, effect: Option<Effect>, context: &mut Context<'_>) {
    state.comparing.take_if(|comparing| *comparing == of);
    match effect {
        Some(effect) if effect.is_seen() => state.keep_finding(of, Finding::Acted(Arc::new(effect.heat))),
        Some(_) => state.keep_finding(of, Finding::ChangedNothing),
        None => failed(state, of, tr!("phrases-the-drafts-have-different"), context),
    }
}

/// Has the overlay on the graphics card.
fn show_heat(state: &mut State, of: PhraseOfPicture, heat: Arc<ColorImage>, context: &Context<'_>) {
    match &mut state.heat {
        Some((shown, _)) if *shown == of => {}
        Some((shown, texture)) => {
            texture.set(ImageData::Color(heat), TextureOptions::LINEAR);
            *shown = of;
        }
        none => *none = Some((of, context.egui.load_texture("phrase", ImageData::Color(heat), TextureOptions::LINEAR))),
    }
}
