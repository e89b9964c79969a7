//! The line below the prompts that says for which of their scripts no font is there.

use atelier_language::{chosen_language, tr};
use eframe::egui::{Id, Label, TextStyle, Ui};

use crate::gui::memo::memoize;
use crate::gui::state::State;
use crate::gui::system_fonts::missing_scripts;
use crate::gui::theme;
use crate::gui::widgets::small;

pub(super) fn missing_fonts_line(ui: &mut Ui, state: &State) {
    let recipe = &state.shared.next.recipe;
    if recipe.prompt.is_ascii() && recipe.negative_prompt.is_ascii() {
        return;
    }
    let font = TextStyle::Body.resolve(ui.style());
    let key = (recipe.prompt.clone(), recipe.negative_prompt.clone(), chosen_language());
    let looked_up = memoize(ui.ctx(), Id::unique("scripts without a font"), key, |(prompt, negative, _)| {
        missing_scripts(ui.ctx(), &font, &format!("{prompt}\n{negative}"))
    });
    let (_, scripts) = &*looked_up;
    if scripts.is_empty() {
        return;
    }
    let words = tr!("create-no-font-for", scripts = scripts.join(", "));
    ui.add(Label::new(small(words, theme::palette(ui).warn)).wrap()).on_hover_text(tr!("create-install-a-font-that"));
}
