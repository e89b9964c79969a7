//! The line below the prompt that says which of its words the built-in model was never trained with.

use atelier_language::tr;
use eframe::egui::{Id, Label, RichText, Ui};

use crate::gui::command::Commands;
use crate::gui::create::view::prompt_field::with_words;
use crate::gui::memo::memoize;
use crate::gui::screen::Screen;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::command_control;
use crate::gui::window_command::WindowCommand;

pub(super) fn unknown_words_line(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let next = &state.shared.next;
    let Some(builtin) = next.builtin.as_ref().ok().filter(|_| next.uses_builtin()) else { return };
    let looked_up = with_words(ui.ctx(), &next.recipe.prompt, |words| {
        memoize(ui.ctx(), Id::unique("unknown words"), words.to_owned(), |words| builtin.unknown_words(words))
    });
    let (_, unknown) = &*looked_up;
    if unknown.is_empty() {
        return;
    }
    let words = tr!("create-does-not-know", name = builtin.manifest().name, unknown = unknown.join(", "));
    ui.add(Label::new(RichText::new(words).size(theme::SMALL).color(theme::palette(ui).warn)).wrap())
        .on_hover_text(tr!("create-it-was-trained-on"));
    command_control(ui, state, commands, WindowCommand::SetScreen(Screen::Models), |ui| {
        let name = tr!("create-find-a-model-that");
        ui.button(RichText::new(name).size(theme::SMALL)).accessible_name(name)
    });
}
