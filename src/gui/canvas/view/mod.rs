//! The panels of the canvas.

mod area;
mod bar;
mod candidates;
mod layers;
mod look;
mod options;
mod rail;
mod room;
mod surface;
mod vision;

pub(crate) use candidates::candidate_cells;
pub(crate) use look::look_panel;
pub(crate) use room::picture_room;

use eframe::egui::{CentralPanel, Frame, Id, Margin, Panel, Ui};

use self::room::RAIL_WIDTH;
use crate::gui::command::Commands;
use crate::gui::panels::{self, LAYERS_WIDTH};
use crate::gui::state::State;
use crate::gui::theme;

/// Space round what the panel of layers has.
const LAYERS_MARGIN: Margin = Margin { left: 10, right: 10, top: 4, bottom: 10 };

/// Draws the document with its tools.
pub(crate) fn canvas_panel(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    if !state.canvas.hides_panels {
        let frame = Frame::new().fill(palette.canvas).inner_margin(Margin { left: 8, right: 2, top: 4, bottom: 8 });
        Panel::left("canvas tools").resizable(false).exact_size(RAIL_WIDTH).show_separator_line(false).frame(frame).show(ui, |ui| {
            rail::rail_panel(ui, state, commands);
        });
        let frame = Frame::new().fill(palette.canvas).inner_margin(options::OPTIONS_MARGIN);
        let height = options::height(ui.available_width());
        Panel::top("canvas options").resizable(false).exact_size(height).show_separator_line(false).frame(frame).show(ui, |ui| {
            options::options_panel(ui, state, commands);
        });
    }
    let whole = ui.available_rect_before_wrap();
    CentralPanel::no_frame().show(ui, |ui| surface::surface_panel(ui, state, commands));
    if state.canvas.has_layers_panel() {
        let beside = panels::beside_queue(state, ui.ctx(), whole);
        let place = beside.with_min_x(panels::without_right(beside, LAYERS_WIDTH).right());
        panels::panel_over(ui, Id::unique("layers over the canvas"), place, LAYERS_MARGIN, |ui| layers::layers_panel(ui, state, commands));
    }
}
