//! How many pictures are made at once: beside the button that makes them.

use eframe::egui::{Align2, Popup, Response, RichText, Role, TextStyle, Ui, WidgetInfo, vec2};

use crate::gui::command::Commands;
use crate::gui::create::Command;
use crate::gui::create::command::COUNTS;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::{command_button, command_control, square_button, whole_number};
use atelier_core::recipe::ROWS;
use atelier_language::tr;

/// Width of the list of counts, in points.
const MENU_WIDTH: f32 = 190.0;

/// Draws the count, which opens the list of counts.
pub(crate) fn count_button(ui: &mut Ui, state: &State, commands: &mut Commands, side: f32) {
    let count = state.shared.picture_count();
    let button = count_control(ui, count, state.shared.counts_automatically, side);
    let hover =
        if state.shared.counts_automatically { tr!("create-how-many-pictures-to") } else { tr!("create-how-many-pictures-to-make-at") };
    let button = button.on_hover_text(hover);
    Popup::menu(&button).accessible_name(tr!("create-number-of-pictures")).show(|ui| {
        ui.set_width(MENU_WIDTH);
        for count in [None].into_iter().chain(COUNTS.map(Some)) {
            let is_chosen =
                if state.shared.counts_automatically { count.is_none() } else { count == Some(state.shared.next.recipe.batch_count) };
            let command = Command::SetCount(count);
            let pressed = if is_chosen {
                let label = crate::gui::command::Command::from(command.clone()).label();
                command_control(ui, state, commands, command, |ui| ui.selectable_label(true, label))
            } else {
                command_button(ui, state, commands, command)
            };
            if pressed.clicked() {
                ui.close();
            }
        }
        ui.separator();
        ui.horizontal(|ui| {
            ui.label(RichText::new(tr!("create-other")).color(theme::palette(ui).weak));
            let mut own = state.shared.picture_count();
            let field = whole_number(&mut own, ROWS.batch_count.limits);
            let field = ui.add(field).on_hover_text(tr!("create-number-of-pictures-batch"));
            if field.accessible_name(tr!("create-other-number-of-pictures")).changed() {
                commands.push(Command::SetCount(Some(own)));
            }
        });
    });
}

fn count_control(ui: &mut Ui, count: u32, is_automatic: bool, side: f32) -> Response {
    let words = if is_automatic { tr!("create-number-of-pictures-chosen", count) } else { tr!("create-number-of-pictures-2", count) };
    let is_enabled = ui.is_enabled();
    let (response, colour) = square_button(ui, side, false, || WidgetInfo::labeled(Role::Button, is_enabled, &words));
    let text = |words: String, style: TextStyle, down: f32, colour| {
        let font = style.resolve(ui.style());
        ui.painter().text(response.rect.center() + vec2(0.0, down), Align2::CENTER_CENTER, words, font, colour);
    };
    text(format!("× {count}"), TextStyle::Body, if is_automatic { -6.0 } else { 0.0 }, colour);
    if is_automatic {
        text(tr!("common-auto").to_owned(), TextStyle::Small, 9.0, theme::palette(ui).weak);
    }
    response
}
