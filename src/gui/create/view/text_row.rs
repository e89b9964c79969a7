//! A row with a line of text, for settings that are lists and rules.

use eframe::egui::{Label, TextEdit, Ui};

use crate::gui::theme;
use crate::gui::widgets::{self, row};

/// A line of text that is taken over when its field is left. What is not taken stays, with the
/// sentence that says why.
pub(crate) fn text_row(ui: &mut Ui, label: &str, example: &str, own: &str, hover: &str, take: impl FnOnce(&str) -> Result<(), String>) {
    let why = ui.make_persistent_id((label, "why"));
    row(ui, label, |ui| {
        let id = ui.make_persistent_id(label);
        let mut text = ui.data_mut(|data| data.get_temp::<String>(id)).unwrap_or_else(|| own.to_owned());
        let edit = TextEdit::singleline(&mut text).id(id).hint_text(example).desired_width(ui.available_width());
        let response = ui.add(edit).on_hover_text(hover).accessible_name(label);
        if response.lost_focus() {
            let taken = take(&text);
            ui.data_mut(|data| match taken {
                Ok(()) => {
                    data.remove_temp::<String>(id);
                    data.remove_temp::<String>(why);
                }
                Err(reason) => {
                    data.insert_temp(why, reason);
                }
            });
        } else if response.has_focus() {
            ui.data_mut(|data| data.insert_temp(id, text));
        }
    });
    if let Some(reason) = ui.data(|data| data.get_temp::<String>(why)) {
        ui.add(Label::new(widgets::small(reason, theme::palette(ui).warn)).wrap());
    }
}
