//! The line below the prompt that says which of its words the built-in model was never trained with.

use std::sync::Arc;

use atelier_language::tr;
use eframe::egui::{Context, Id, Label, RichText, Ui};

use crate::gui::command::Commands;
use crate::gui::create::view::prompt_field::with_words;
use crate::gui::screen::Screen;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::command_control;
use crate::gui::window_command::WindowCommand;

pub(super) fn unknown_words_line(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let next = &state.shared.next;
    let Some(builtin) = next.builtin.as_ref().ok().filter(|_| next.uses_builtin()) else { return };
    let unknown = with_words(ui.ctx(), &next.recipe.prompt, |words| unknown_words(ui.ctx(), words, |words| builtin.unknown_words(words)));
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

/// Words that the model does not know, looked up once for a text.
fn unknown_words(ctx: &Context, words: &str, look_up: impl FnOnce(&str) -> Vec<String>) -> Arc<[String]> {
    let id = Id::unique("unknown words");
    let known = ctx.data(|data| data.get_temp::<Arc<(String, Arc<[String]>)>>(id)).filter(|known| known.0 == words);
    if let Some(known) = known {
        return Arc::clone(&known.1);
    }
    let unknown: Arc<[String]> = look_up(words).into();
    ctx.data_mut(|data| data.insert_temp(id, Arc::new((words.to_owned(), Arc::clone(&unknown)))));
    unknown
}
