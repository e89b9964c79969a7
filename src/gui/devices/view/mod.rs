//! The Devices view: the board of cards, the placement as text below it, and a side panel. It reads
//! the state and pushes commands.

mod budget;
mod card;
mod card_paint;
mod column_header;
mod compact;
mod drag;
mod grid;
mod input_line;
mod memory_bar;
mod names;
mod phase_times;
mod phases;
mod rows;
mod servers;
mod side_panel;
mod studio_column;
mod suggestion;
mod text_form;
mod trials;

use atelier_language::tr;
use eframe::egui::{Align, Frame, Layout, Margin, Panel, RichText, ScrollArea, Ui, UiBuilder};

use crate::gui::command::Commands;
use crate::gui::devices::view::grid::EDGE;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::bold;

pub(crate) use compact::{compact, shortage_hint, time_line};
pub(crate) use side_panel::side_panel;
pub(crate) use suggestion::remedies;

/// Draws the view beside the side panel.
pub(crate) fn main_panel(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    let whole = ui.available_rect_before_wrap();
    let margin = Margin { left: 14, right: 14, top: 8, bottom: 12 };
    Panel::bottom("placement text")
        .resizable(false)
        .show_separator_line(false)
        .frame(Frame::new().fill(palette.canvas).inner_margin(margin))
        .show(ui, |ui| text_form::text_panel(ui, state, commands));
    if state.devices.board.devices.is_empty() {
        ui.scope_builder(UiBuilder::new().layout(Layout::top_down(Align::Center)), |ui| {
            ui.add_space(whole.height() * 0.3);
            ui.label(bold(tr!("devices-looking-for-devices")).size(theme::HEADING).color(palette.strong));
            ui.label(RichText::new(tr!("devices-this-takes-a-moment")).color(palette.weak));
        });
    } else {
        ui.add_space(2.0);
        ui.horizontal(|ui| {
            ui.add_space(EDGE);
            memory_bar::legend(ui);
        });
        ScrollArea::both().id_salt("board scroll").auto_shrink([false, false]).show(ui, |ui| rows::board(ui, state, commands));
    }
    phases::end_of_frame(ui);
}
