//! The words of a prompt, and what is written between them: weights, choices, wildcards, words over
//! steps, LoRAs, comments and brackets that are letters, in the forms that AUTOMATIC1111 and the
//! dynamicprompts package made known.
//!
//! [`Prompt::parse`] cuts a text into [`Span`]s, which follow each other and cover it; brackets that
//! belong together are a [`Group`]. It takes time in proportion to the text, brackets nest
//! [`MAX_DEPTH`] deep, and what means nothing is words. Pure: [`Prompt::expand`] asks its
//! [`Wildcards`] for lines, and draws by a [`Draw`] of its own seed; [`Prompt::expansions`] are all
//! that can be drawn.
//!
//! What the engine makes of weights is its own (`vendor/ggml-sys/shim/prompt_words.cpp`); both are
//! held against the same examples.

mod chooser;
mod draw;
mod edit;
mod expand;
mod joins;
mod lexeme;
mod lora;
mod lora_text;
mod over_steps;
mod parse;
mod phrases;
mod span;
mod step_change;
#[cfg(test)]
mod tests;
mod typed_name;

pub use draw::Draw;
pub use edit::EditedPrompt;
pub use expand::{Expansion, MAX_WILDCARDS_DEEP, NoWildcards, Wildcards};
pub use lora::{LoraTag, TagSteps, needs_space, take_loras, take_loras_if, take_loras_with_comments, take_loras_with_comments_if};
pub use over_steps::StepWords;
pub use phrases::Phrase;
pub use span::{Fault, FaultKind, Group, GroupKind, Prompt, Span, SpanKind, When};
pub use step_change::StepChange;
pub use typed_name::{NameKind, TypedName};

/// Brackets that are open at once: the next ones are letters.
pub const MAX_DEPTH: usize = 64;
/// Faults of a prompt that are told.
const MAX_FAULTS: usize = 1_000;

/// The prompts of a list, one a line: without empty lines, and without blanks at the ends.
pub fn prompt_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty())
}
