//! How many tokens a prompt has, and how far a model reads it: by the tokenizers of its text
//! encoders, without weights.
//!
//! What each encoder does with a prompt is the engine's (`conditioning/conditioner.hpp`), repeated
//! in `encoders.rs`. A call blocks: a vocabulary takes up to two seconds, a long prompt tenths.

mod encoders;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::ffi::{TokenCounts, Tokenizer, TokenizerKind};
use crate::job::embeddings::Embeddings;
use atelier_core::recipe::{ROWS, Recipe};
use atelier_core::words::{GroupKind, Prompt, SpanKind};
use atelier_library::{Family, HeaderCache};
use encoders::{Encoder, encoders_of};

pub use encoders::{EncoderTokens, Reach};

/// Borders of chunks that are looked for.
const MAX_BORDERS: usize = 8;
/// Time after which no further border is looked for.
const BORDERS_TIME: Duration = Duration::from_secs(1);
/// Bytes of a run of letters that the tokenizers, whose time grows with its square, are given.
const MAX_RUN_BYTES: usize = 2_000;
/// Signs that are words of their own begin here: those of Chinese, Japanese and Korean.
const FIRST_IDEOGRAPH: char = '\u{2e80}';

/// A prompt in tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptTokens {
    /// Of the model's text encoders, the one whose words matter most.
    pub main: EncoderTokens,
    /// The others.
    pub others: Vec<EncoderTokens>,
    /// Bytes of the prompt with which the words begin that the main encoder reads in another chunk,
    /// or no longer; the first ones. Where a weighted phrase lies across a border, one may be a few
    /// words early.
    pub borders: Vec<usize>,
    /// False where something is chosen for each picture, or changes over the steps: counted is what
    /// is written first, or read last, and nothing of lists.
    pub is_certain: bool,
}

/// Why tokens were not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotCounted {
    /// What this family does with a prompt is not known, or it reads none.
    Family,
    /// The prompt, or a word of it, is longer than models are given.
    TooLong,
    /// The engine failed.
    Failed,
}

/// Counts tokens; keeps the vocabularies of the last family, some tens of megabytes.
#[derive(Default)]
pub struct TokenCounter {
    tokenizers: Vec<(TokenizerKind, Tokenizer)>,
    headers: HeaderCache,
}

impl TokenCounter {
    /// Counts the tokens of a prompt as a person writes it, for models of a family. `embeddings`:
    /// files at hand; those that the prompt names are read. Blocks.
    ///
    /// # Errors
    /// Says why nothing was counted.
    pub fn count(&mut self, prompt: &str, embeddings: &[PathBuf], family: Family) -> Result<PromptTokens, NotCounted> {
        let encoders = encoders_of(family);
        let (main, others) = encoders.split_first().ok_or(NotCounted::Family)?;
        let is_long = prompt.chars().nth(ROWS.prompt.limits).is_some();
        if is_long || encoders.iter().any(|it| longest_run(prompt, it.kind == TokenizerKind::Clip) > MAX_RUN_BYTES) {
            return Err(NotCounted::TooLong);
        }
        self.tokenizers.retain(|(kind, _)| encoders.iter().any(|it| it.kind == *kind));
        let recipe = Recipe { prompt: prompt.to_owned(), embeddings: embeddings.to_vec(), ..Recipe::default() };
        // One that cannot be read is told where a picture is made.
        let embeddings = Embeddings::read(&mut self.headers, &recipe, family).unwrap_or_default();
        let counts = self.read(main, prompt, &embeddings)?;
        let others = others.iter().map(|it| self.read(it, prompt, &embeddings).map(|counts| it.tokens(counts)));
        let others = others.collect::<Result<Vec<_>, _>>()?;
        let borders = self.borders(main, prompt, counts.places, &embeddings)?;
        Ok(PromptTokens { main: main.tokens(counts), others, borders, is_certain: !Prompt::parse(prompt).varies() })
    }

    /// Tokens of a prompt, or of its beginning.
    fn read(&mut self, encoder: &Encoder, prompt: &str, embeddings: &Embeddings) -> Result<TokenCounts, NotCounted> {
        let words = embeddings.in_prompt(&Prompt::parse(prompt).sample());
        if words.trim().is_empty() {
            return Ok(TokenCounts::default());
        }
        // What is chosen stands without the brackets that parted it.
        if longest_run(&words, encoder.kind == TokenizerKind::Clip) > MAX_RUN_BYTES {
            return Err(NotCounted::TooLong);
        }
        let tokens: Vec<(&str, usize)> = embeddings.iter().map(|it| (it.token.as_str(), it.count)).collect();
        let counted = self.tokenizer(encoder.kind)?.count(&words, encoder.reading, encoder.break_fills(), &tokens);
        counted.map_err(|error| failed(&error))
    }

    fn tokenizer(&mut self, kind: TokenizerKind) -> Result<&mut Tokenizer, NotCounted> {
        if !self.tokenizers.iter().any(|(known, _)| *known == kind) {
            let tokenizer = Tokenizer::new(kind).map_err(|error| failed(&error))?;
            self.tokenizers.push((kind, tokenizer));
        }
        self.tokenizers.iter_mut().find(|(known, _)| *known == kind).map(|(_, tokenizer)| tokenizer).ok_or(NotCounted::Failed)
    }

    /// Where the chunks of an encoder after the first begin, or where it stops. `places`: tokens of
    /// the whole prompt, with those that `BREAK` and `AND` leave empty.
    fn borders(&mut self, encoder: &Encoder, prompt: &str, places: usize, embeddings: &Embeddings) -> Result<Vec<usize>, NotCounted> {
        let (size, most) = match encoder.reach {
            Reach::All => return Ok(Vec::new()),
            Reach::Chunks(size) => (size, MAX_BORDERS),
            Reach::First(size) => (size, 1),
        };
        let (begun, cuts) = (Instant::now(), cuts(prompt));
        let (mut borders, mut low) = (Vec::new(), 0);
        for number in (1..=most).take_while(|number| number * size < places) {
            let mut fits = |index: usize| {
                let beginning = cuts.get(index).and_then(|cut| prompt.get(..*cut)).unwrap_or_default();
                self.read(encoder, beginning.trim_end(), embeddings).map(|counts| counts.places <= number * size)
            };
            // As most words have a token at least, few of them are looked at.
            let mut high = (low + size).min(cuts.len());
            while low < high && begun.elapsed() < BORDERS_TIME && fits(high - 1)? {
                low = high;
                high = (low + size).min(cuts.len());
            }
            while low < high && begun.elapsed() < BORDERS_TIME {
                let middle = low + (high - low) / 2;
                if fits(middle)? {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            if begun.elapsed() >= BORDERS_TIME {
                break;
            }
            // The last beginning that fits ends before the word that does not.
            let border = low.checked_sub(1).and_then(|index| cuts.get(index)).copied();
            borders.extend(border.filter(|border| borders.last() != Some(border)));
        }
        Ok(borders)
    }
}

fn failed(error: &dyn std::error::Error) -> NotCounted {
    tracing::warn!("tokens could not be counted: {error}");
    NotCounted::Failed
}

/// Bytes at which a word begins that is not the first one, outside of choices, schedules, tags and
/// comments: a prompt that ends before it means what it meant.
fn cuts(text: &str) -> Vec<usize> {
    let prompt = Prompt::parse(text);
    let is_whole = |number: usize| {
        let kind = prompt.groups.get(number).map(|group| &group.kind);
        matches!(kind, Some(GroupKind::Choice { .. } | GroupKind::Schedule(_) | GroupKind::Alternation))
    };
    let (mut cuts, mut before, mut depth) = (Vec::new(), None, 0_usize);
    for span in &prompt.spans {
        let is_words = matches!(span.kind, SpanKind::Words | SpanKind::Literal | SpanKind::Json);
        for (at, letter) in prompt.text_of(span).char_indices() {
            let is_ideograph = |letter: char| letter >= FIRST_IDEOGRAPH;
            let begins = before
                .is_some_and(|it: char| (it.is_whitespace() && !letter.is_whitespace()) || (is_ideograph(it) && is_ideograph(letter)));
            if begins && depth == 0 && (is_words || at == 0) {
                cuts.push(span.range.start + at);
            }
            before = Some(letter);
        }
        match span.kind {
            SpanKind::Open(number) if is_whole(number) => depth += 1,
            SpanKind::Close(number) if is_whole(number) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    cuts
}

/// Bytes of the longest run of signs of a kind, which a tokenizer may encode as one: letters and
/// digits, or others that are not blank. `ascii`: letters are those of ASCII alone.
fn longest_run(text: &str, ascii: bool) -> usize {
    let kind = |letter: char| {
        // To CLIP a blank of Japanese is a letter as any other.
        if ascii {
            return (letter.is_ascii_whitespace(), letter.is_ascii_alphanumeric());
        }
        (letter.is_whitespace(), letter.is_alphanumeric())
    };
    let (mut longest, mut run, mut before) = (0, 0, None);
    for letter in text.chars() {
        let now = kind(letter);
        run = if before == Some(now) { run + letter.len_utf8() } else { letter.len_utf8() };
        before = Some(now);
        longest = if now.0 { longest } else { longest.max(run) };
    }
    longest
}
