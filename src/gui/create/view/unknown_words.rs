//! The line below the prompt that says which of its words the built-in model was never trained with.

use eframe::egui::{Label, RichText, Ui};

use crate::gui::command::Commands;
use crate::gui::screen::Screen;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::command_control;
use crate::gui::window_command::WindowCommand;
use atelier_core::words::{Prompt, SpanKind};

pub(super) fn unknown_words_line(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let next = &state.shared.next;
    let Some(builtin) = next.builtin.as_ref().ok().filter(|_| next.uses_builtin()) else { return };
    // Names of lists and files, and what is switched off, are no words of its vocabulary.
    let prompt = Prompt::parse(&next.recipe.prompt);
    let words = prompt.spans.iter().filter(|span| matches!(span.kind, SpanKind::Words | SpanKind::Literal));
    let words: Vec<&str> = words.map(|span| prompt.text_of(span)).collect();
    let unknown = builtin.unknown_words(&words.join(" "));
    if unknown.is_empty() {
        return;
    }
    let words = format!("{} does not know: {}.", builtin.manifest().name, unknown.join(", "));
    ui.add(Label::new(RichText::new(words).size(theme::SMALL).color(theme::palette(ui).warn)).wrap())
        .on_hover_text("It was trained on English words for landscapes. These words do nothing.");
    command_control(ui, state, commands, WindowCommand::SetScreen(Screen::Models), |ui| {
        let name = "Find a model that does";
        ui.button(RichText::new(name).size(theme::SMALL)).accessible_name(name)
    });
}
