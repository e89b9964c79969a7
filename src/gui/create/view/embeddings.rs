//! Embeddings: the list with the prompts that name them, and the picker of those on this disk.

use std::path::Path;

use eframe::egui::{Button, Label, Popup, RichText, ScrollArea, Ui, vec2};

use crate::gui::command::Commands;
use crate::gui::create::Command;
use crate::gui::create::embeddings::{known_embeddings, mismatch, takes_embeddings};
use crate::gui::icons::Icon;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::{self, ROW_HEIGHT, bare_icon, command_button, command_control, heading};
use atelier_core::recipe::{Recipe, add_words, embedding_word, names_embedding, without_embedding};
use atelier_language::tr;

/// Width of the picker and its most height, in points.
const PICKER_WIDTH: f32 = 320.0;
const PICKER_HEIGHT: f32 = 320.0;

/// Draws the embeddings, where the model takes some.
pub(crate) fn embedding_section(ui: &mut Ui, state: &State, recipe: &mut Recipe, commands: &mut Commands) {
    if recipe.embeddings.is_empty() && !takes_embeddings(&state.shared) {
        return;
    }
    heading(ui, tr!("create-embeddings"), |ui| picker(ui, state, recipe, commands));
    let mut removed = None;
    let Recipe { embeddings, prompt, negative_prompt, .. } = recipe;
    for (at, path) in embeddings.iter().enumerate() {
        let word = embedding_word(path);
        ui.push_id(path, |ui| {
            if embedding_row(ui, state, path, &word, prompt, negative_prompt) {
                removed = Some((at, word));
            }
        });
    }
    if let Some((at, word)) = removed {
        embeddings.remove(at);
        for prompt in [prompt, negative_prompt] {
            *prompt = without_embedding(prompt, &word);
        }
    }
}

/// Draws name and prompts of an embedding. True where it is removed.
fn embedding_row(ui: &mut Ui, state: &State, path: &Path, word: &str, prompt: &mut String, negative_prompt: &mut String) -> bool {
    let palette = theme::palette(ui);
    let mut is_removed = false;
    let left = |ui: &mut Ui| {
        let is_missing = state.shared.missing_files.contains(path);
        let color = if is_missing { palette.warn } else { palette.text };
        let hover = format!("{}{}", path.display(), if is_missing { tr!("create-this-file-no-longer") } else { "" });
        let name = widgets::middle_elided(ui, word, ui.available_width());
        ui.add(Label::new(RichText::new(name).color(color)).truncate()).on_hover_text(hover);
    };
    widgets::row_of_sides(ui, ROW_HEIGHT, word, left, |ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        for (prompt, label, of) in [
            (prompt, tr!("create-prompt-2"), tr!("create-prompt-3")),
            (negative_prompt, tr!("create-negative"), tr!("create-negative-prompt")),
        ] {
            let is_named = names_embedding(prompt, word);
            let button = Button::selectable(is_named, RichText::new(label).size(theme::SMALL));
            let hover = tr!("create-add-its-word-to", of, word);
            if ui.add(button).on_hover_text(hover).accessible_name(tr!("create-in-the", word, of)).clicked() {
                if is_named {
                    *prompt = without_embedding(prompt, word);
                } else {
                    add_words(prompt, word);
                }
            }
        }
        let remove = bare_icon(ui, Icon::Close, &tr!("create-remove-embedding", word));
        is_removed = remove.on_hover_text(tr!("create-remove-this-embedding-and")).clicked();
    });
    let card = known_embeddings(&state.shared).find(|known| known.1 == path).map(|known| known.0);
    if let Some(sentence) = card.and_then(|card| mismatch(card, &state.shared)) {
        ui.add(Label::new(RichText::new(sentence).size(theme::SMALL).color(palette.warn)).wrap());
    }
    is_removed
}

/// Draws the button that opens the list of embeddings of this disk, and the list.
fn picker(ui: &mut Ui, state: &State, recipe: &Recipe, commands: &mut Commands) {
    let hover = tr!("create-add-an-embedding-textual");
    let button = bare_icon(ui, Icon::Plus, tr!("create-add-an-embedding")).on_hover_text(hover);
    Popup::menu(&button).accessible_name(tr!("create-add-an-embedding")).show(|ui| {
        ui.set_width(PICKER_WIDTH);
        ScrollArea::vertical().id_salt("embeddings of this disk").max_height(PICKER_HEIGHT).auto_shrink([false, true]).show(ui, |ui| {
            let mut is_empty = true;
            for (card, path) in known_embeddings(&state.shared).filter(|known| !recipe.embeddings.iter().any(|it| it == known.1)) {
                is_empty = false;
                let words = mismatch(card, &state.shared).or_else(|| card.family.clone()).unwrap_or_default();
                command_control(ui, state, commands, Command::UseEmbedding(path.to_owned()), |ui| {
                    let weak = RichText::new(words).size(theme::SMALL).color(theme::palette(ui).weak);
                    let name = embedding_word(path);
                    let button = Button::new(name.as_str()).right_text(weak).frame_when_inactive(false).truncate();
                    ui.add_sized(vec2(PICKER_WIDTH, ROW_HEIGHT), button).accessible_name(tr!("create-embedding-2", name))
                });
            }
            if is_empty {
                let words = tr!("create-the-library-has-no");
                ui.add(Label::new(RichText::new(words).color(theme::palette(ui).weak)).wrap());
            }
        });
        ui.separator();
        if command_button(ui, state, commands, Command::AddEmbedding).clicked() {
            ui.close();
        }
    });
}
