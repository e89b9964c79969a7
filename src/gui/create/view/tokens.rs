//! Tokens of a prompt: their number, what it means, and where a model stops reading.

use eframe::egui::{Label, Ui};

use crate::gui::create::tokens::PromptField;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets;
use atelier_engine::{EncoderTokens, NotCounted, PromptTokens, Reach};
use atelier_language::tr;

/// Draws the number of a field's tokens, where they are known; small, as in a heading. `text`: what
/// the field holds now.
pub(super) fn token_count(ui: &mut Ui, state: &State, field: PromptField, text: &str) {
    let Some(counted) = state.create.tokens.last(field).filter(|_| !text.trim().is_empty()) else { return };
    let palette = theme::palette(ui);
    let (words, hover, is_short) = match counted.tokens {
        Ok(tokens) => (short(tokens), sentences(tokens), is_cut(&tokens.main)),
        Err(NotCounted::TooLong) => (tr!("create-too-long-to-count").to_owned(), tr!("create-tokens-of-a-prompt").to_owned(), true),
        Err(NotCounted::Family | NotCounted::Failed) => return,
    };
    // The number is of what was typed before.
    let words = if counted.text == text { words } else { format!("{words} …") };
    let colour = if is_short { palette.warn } else { palette.weak };
    ui.add(Label::new(widgets::small(words, colour))).on_hover_text(hover);
}

/// Says, below a field, from which words on a model does not read.
pub(super) fn unread_line(ui: &mut Ui, state: &State, field: PromptField, text: &str) {
    if let Some(words) = state.create.tokens.first_unread(field, text) {
        let sentence = tr!("create-the-model-stops-reading", words);
        ui.add(Label::new(widgets::small(sentence, theme::palette(ui).warn)).wrap());
    }
}

fn is_cut(encoder: &EncoderTokens) -> bool {
    matches!(encoder.reach, Reach::First(most) if encoder.tokens > most)
}

fn short(tokens: &PromptTokens) -> String {
    let PromptTokens { main, is_certain, .. } = tokens;
    let count = main.tokens;
    let words = match main.reach {
        Reach::All => tr!("create-tokens", count),
        Reach::Chunks(size) => tr!("create-of-tokens", count, most = size * main.chunks),
        Reach::First(most) => tr!("create-of-tokens", count, most),
    };
    if *is_certain { words } else { format!("~{words}") }
}

fn sentences(tokens: &PromptTokens) -> String {
    let encoder = |it: &EncoderTokens| {
        let (name, count) = (it.encoder, it.tokens);
        match it.reach {
            Reach::All => tr!("create-reads-all-tokens", name, count),
            Reach::Chunks(size) if it.chunks == 1 => tr!("create-reads-up-to-tokens", name, count, size),
            Reach::Chunks(size) => tr!("create-reads-the-tokens-in", name, count, size, chunks = it.chunks),
            Reach::First(most) => tr!("create-reads-the-first-tokens", name, count, most),
        }
    };
    let mut lines: Vec<String> = std::iter::once(&tokens.main).chain(&tokens.others).map(encoder).collect();
    if !tokens.is_certain {
        lines.push(tr!("create-where-the-prompt-varies").to_owned());
    }
    lines.join("\n")
}
