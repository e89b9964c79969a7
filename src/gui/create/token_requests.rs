//! Has the prompts counted in tokens, on a thread of its own, once nothing is typed.

use std::sync::Arc;

use crate::gui::context::Context;
use crate::gui::create::state::State;
use crate::gui::create::tokens::Question;
use crate::gui::due;
use crate::gui::shared::Screen;
use atelier_engine::NotCounted;

/// Seconds without a key before tokens are counted.
const DELAY_SECS: f64 = 0.25;

/// Has the prompts counted where they are others than those that were counted last.
pub(crate) fn refresh(state: &mut State, context: &Context<'_>) {
    let counts = &mut state.tokens;
    if context.shared.screen != Screen::Create || counts.is_counting {
        return;
    }
    let recipe = &context.shared.next.recipe;
    let Some(family) = context.shared.known_family() else {
        counts.answered = None;
        return counts.changed.reset();
    };
    if counts.answered.as_ref().is_some_and(|(question, _)| question.is_of(recipe, family)) {
        return counts.changed.reset();
    }
    let question = || Question::of(recipe, family);
    if let Some(secs) = counts.changed.remaining_secs(|it| it.is_of(recipe, family), question, context.egui.time(), DELAY_SECS) {
        return due::wake_in(context.egui, f64::from(secs));
    }
    counts.changed.reset();
    counts.is_counting = true;
    let (question, counter) = (question(), Arc::clone(&counts.counter));
    let asked = question.clone();
    context.run_alone(
        "tokens",
        move || asked.answer(&counter),
        move |counted, features, _| {
            let counted = counted.unwrap_or_else(|error| {
                tracing::warn!("tokens could not be counted: {error}");
                [Err(NotCounted::Failed), Err(NotCounted::Failed)]
            });
            features.create.tokens.take(question, counted);
        },
    );
}
