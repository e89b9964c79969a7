//! The prompts in tokens of the chosen model, counted on a thread of its own once nothing is typed.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::gui::context::Context;
use crate::gui::create::state::State;
use crate::gui::due;
use crate::gui::shared::Screen;
use atelier_core::recipe::Recipe;
use atelier_engine::{NotCounted, PromptTokens, Reach, TokenCounter};
use atelier_library::Family;
use atelier_studio::debounce::Debounce;

/// Seconds without a key before tokens are counted.
const DELAY_SECS: f64 = 0.25;

/// One of the two fields of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptField {
    /// The prompt.
    Prompt,
    /// The negative prompt.
    Negative,
}

/// A prompt that was counted.
#[derive(Clone, Debug, PartialEq)]
pub struct CountedPrompt {
    /// Its text.
    pub text: String,
    /// Its tokens, or why they are not known.
    pub tokens: Result<PromptTokens, NotCounted>,
}

/// What is counted: another answer than that for this is stale.
#[derive(Clone, Debug, PartialEq)]
struct Question {
    prompt: String,
    negative_prompt: String,
    embeddings: Vec<PathBuf>,
    family: Family,
}

impl Question {
    fn of(recipe: &Recipe, family: Family) -> Self {
        let Recipe { prompt, negative_prompt, embeddings, .. } = recipe.clone();
        Self { prompt, negative_prompt, embeddings, family }
    }

    fn is_of(&self, recipe: &Recipe, family: Family) -> bool {
        self.prompt == recipe.prompt
            && self.negative_prompt == recipe.negative_prompt
            && self.embeddings == recipe.embeddings
            && self.family == family
    }

    /// Counts both prompts. Blocks.
    fn answer(self, counter: &Mutex<TokenCounter>) -> (Self, [CountedPrompt; 2]) {
        let mut counter = counter.lock();
        let counted = [&self.prompt, &self.negative_prompt]
            .map(|text| CountedPrompt { text: text.clone(), tokens: counter.count(text, &self.embeddings, self.family) });
        (self, counted)
    }
}

/// Parts of a text that a model reads otherwise than the words before them, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// The first words of chunks that are read apart from those before.
    pub(crate) chunks: Vec<Range<usize>>,
    /// What is not read.
    pub(crate) unread: Option<Range<usize>>,
    /// Phrases that changed nothing in the picture shown.
    pub(crate) quiet: Vec<Range<usize>>,
}

/// The prompts in tokens, as far as they are known.
#[derive(Default)]
pub struct TokenCounts {
    counter: Arc<Mutex<TokenCounter>>,
    answered: Option<(Question, [CountedPrompt; 2])>,
    changed: Debounce<Question>,
    is_counting: bool,
}

impl TokenCounts {
    /// What was counted last of a field, for a text that may have changed since.
    #[must_use]
    pub fn last(&self, field: PromptField) -> Option<&CountedPrompt> {
        let (_, [prompt, negative]) = self.answered.as_ref()?;
        Some(match field {
            PromptField::Prompt => prompt,
            PromptField::Negative => negative,
        })
    }

    /// What of a field's text is to be marked. Words behind the place of a mark move none.
    pub(crate) fn marks(&self, field: PromptField, text: &str) -> Marks {
        let mut marks = Marks::default();
        let Some(counted) = self.last(field) else { return marks };
        let Ok(tokens) = &counted.tokens else { return marks };
        let is_same = |border: &&usize| {
            let until = **border;
            until < text.len() && text.get(..until).is_some_and(|text| counted.text.get(..until) == Some(text))
        };
        for border in tokens.borders.iter().take_while(is_same).copied() {
            match tokens.main.reach {
                Reach::First(_) => marks.unread = Some(border..text.len()),
                _ => marks.chunks.push(border..border + first_word(text.get(border..).unwrap_or_default()).len()),
            }
        }
        marks
    }

    /// The first words that the model does not read, where a text is too long for it.
    pub(crate) fn first_unread<'a>(&self, field: PromptField, text: &'a str) -> Option<&'a str> {
        const MAX_WORDS: usize = 4;
        let unread = text.get(self.marks(field, text).unread?)?;
        let end = unread.split_inclusive(char::is_whitespace).take(MAX_WORDS).map(str::len).sum();
        unread.get(..end).map(str::trim_end)
    }

    fn take(&mut self, answer: (Question, [CountedPrompt; 2])) {
        self.is_counting = false;
        self.answered = Some(answer);
    }
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}

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
    let failed = question.clone();
    context.run_alone(
        "tokens",
        move || question.answer(&counter),
        move |answer, features, _| {
            let uncounted = |text: &String| CountedPrompt { text: text.clone(), tokens: Err(NotCounted::Failed) };
            let answer = answer.unwrap_or_else(|error| {
                tracing::warn!("tokens could not be counted: {error}");
                let counted = [&failed.prompt, &failed.negative_prompt].map(uncounted);
                (failed, counted)
            });
            features.create.tokens.take(answer);
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_engine::EncoderTokens;

    fn counted(text: &str, reach: Reach, borders: Vec<usize>) -> TokenCounts {
        let main = EncoderTokens { encoder: "CLIP", tokens: 4, reach, chunks: 2 };
        let tokens = Ok(PromptTokens { main, others: Vec::new(), borders, is_certain: true });
        let question = Question { prompt: text.into(), negative_prompt: String::new(), embeddings: Vec::new(), family: Family::Sd1 };
        let prompts = [text, ""].map(|text| CountedPrompt { text: text.into(), tokens: tokens.clone() });
        TokenCounts { answered: Some((question, prompts)), ..TokenCounts::default() }
    }

    #[test]
    fn marks_stay_while_words_behind_them_change_and_go_with_those_before() {
        let text = "a red lake at dusk";
        let chunks = counted(text, Reach::Chunks(2), vec![6, 14]);
        assert_eq!(chunks.marks(PromptField::Prompt, text).chunks, [6..10, 14..18]);
        assert_eq!(chunks.marks(PromptField::Prompt, "a red lake at noon, fog").chunks, [6..10, 14..19]);
        assert_eq!(chunks.marks(PromptField::Prompt, "a red sea").chunks.first(), Some(&(6..9)));
        assert_eq!(chunks.marks(PromptField::Prompt, "a green lake"), Marks::default());
        assert_eq!(chunks.marks(PromptField::Prompt, "a réd"), Marks::default());
        let first = counted(text, Reach::First(2), vec![6]);
        assert_eq!(first.marks(PromptField::Prompt, text).unread, Some(6..18));
        assert_eq!(first.first_unread(PromptField::Prompt, "a red lake at dusk in fog, far off"), Some("lake at dusk in"));
        assert_eq!(first.first_unread(PromptField::Prompt, "a red"), None);
    }
}
