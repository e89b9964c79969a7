//! The prompts in tokens of the chosen model, counted on a thread of its own once nothing is typed.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;

use atelier_core::recipe::Recipe;
use atelier_engine::{NotCounted, PromptTokens, Reach, TokenCounter};
use atelier_library::Family;
use atelier_studio::debounce::Debounce;

/// One of the two fields of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptField {
    /// The prompt.
    Prompt,
    /// The negative prompt.
    Negative,
}

/// A prompt that was counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CountedPrompt<'a> {
    /// Its text.
    pub text: &'a str,
    /// Its tokens, or why they are not known.
    pub tokens: &'a Result<PromptTokens, NotCounted>,
}

/// Tokens of the prompt and of the negative prompt, or why they are not known.
pub(super) type Counted = [Result<PromptTokens, NotCounted>; 2];

/// What is counted: another answer than that for this is stale.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Question {
    prompt: String,
    negative_prompt: String,
    embeddings: Vec<PathBuf>,
    family: Family,
}

impl Question {
    pub(super) fn of(recipe: &Recipe, family: Family) -> Self {
        let Recipe { prompt, negative_prompt, embeddings, .. } = recipe.clone();
        Self { prompt, negative_prompt, embeddings, family }
    }

    pub(super) fn is_of(&self, recipe: &Recipe, family: Family) -> bool {
        self.prompt == recipe.prompt
            && self.negative_prompt == recipe.negative_prompt
            && self.embeddings == recipe.embeddings
            && self.family == family
    }

    /// Counts both prompts. Blocks.
    pub(super) fn answer(&self, counter: &Mutex<TokenCounter>) -> Counted {
        let mut counter = counter.lock();
        [&self.prompt, &self.negative_prompt].map(|text| counter.count(text, &self.embeddings, self.family))
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
    /// What an input method composes.
    pub(crate) composed: Option<Range<usize>>,
}

/// The prompts in tokens, as far as they are known.
#[derive(Default)]
pub struct TokenCounts {
    pub(super) counter: Arc<Mutex<TokenCounter>>,
    pub(super) answered: Option<(Question, Counted)>,
    pub(super) changed: Debounce<Question>,
    pub(super) is_counting: bool,
}

impl TokenCounts {
    /// What was counted last of a field, for a text that may have changed since.
    #[must_use]
    pub fn last(&self, field: PromptField) -> Option<CountedPrompt<'_>> {
        let (question, [prompt, negative]) = self.answered.as_ref()?;
        Some(match field {
            PromptField::Prompt => CountedPrompt { text: &question.prompt, tokens: prompt },
            PromptField::Negative => CountedPrompt { text: &question.negative_prompt, tokens: negative },
        })
    }

    /// What of a field's text is to be marked. Words behind the place of a mark move none.
    pub(crate) fn marks(&self, field: PromptField, text: &str) -> Marks {
        let mut marks = Marks::default();
        let Some(counted) = self.last(field) else { return marks };
        let Ok(tokens) = counted.tokens else { return marks };
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

    pub(super) fn take(&mut self, question: Question, counted: Counted) {
        self.is_counting = false;
        self.answered = Some((question, counted));
    }
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_engine::EncoderTokens;

    fn counted(text: &str, reach: Reach, borders: Vec<usize>) -> TokenCounts {
        let main = EncoderTokens { encoder: "CLIP", tokens: 4, reach, chunks: 2 };
        let tokens = PromptTokens { main, others: Vec::new(), borders, is_certain: true };
        let question = Question { prompt: text.into(), negative_prompt: String::new(), embeddings: Vec::new(), family: Family::Sd1 };
        TokenCounts { answered: Some((question, [Ok(tokens.clone()), Ok(tokens)])), ..TokenCounts::default() }
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
