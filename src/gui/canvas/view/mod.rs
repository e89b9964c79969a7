//! The panels of the canvas.

mod area;
mod bar;
mod candidates;
mod layers;
mod look;
mod options;
mod rail;
mod surface;
mod vision;

pub(crate) use look::look_panel;

use eframe::egui::{CentralPanel, Frame, Margin, Panel, Ui};

use crate::gui::command::Commands;
use crate::gui::state::State;
use crate::gui::theme;

/// Width of the rail of tools, in points.
const RAIL_WIDTH: f32 = 38.0;
/// Width of the panel of layers, in points.
const LAYERS_WIDTH: f32 = 256.0;

/// Draws the document with its tools.
pub(crate) fn canvas_panel(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    if !state.canvas.hides_panels {
        let frame = Frame::new().fill(palette.canvas).inner_margin(Margin { left: 8, right: 2, top: 4, bottom: 8 });
        Panel::left("canvas tools").resizable(false).exact_size(RAIL_WIDTH).show_separator_line(false).frame(frame).show(ui, |ui| {
            rail::rail_panel(ui, state, commands);
        });
        if state.canvas.shows_layers {
            let frame = Frame::new().fill(palette.panel).inner_margin(Margin { left: 10, right: 10, top: 4, bottom: 10 });
            Panel::right("canvas layers").resizable(false).exact_size(LAYERS_WIDTH).show_separator_line(false).frame(frame).show(
                ui,
                |ui| {
                    layers::layers_panel(ui, state, commands);
                },
            );
        }
        let frame = Frame::new().fill(palette.canvas).inner_margin(Margin { left: 6, right: 10, top: 2, bottom: 4 });
        Panel::top("canvas options").resizable(false).show_separator_line(false).frame(frame).show(ui, |ui| {
            options::options_panel(ui, state, commands);
        });
        if state.canvas.edited().is_some_and(|document| !document.candidates.is_empty()) {
            let frame = Frame::new().fill(palette.canvas).inner_margin(Margin { left: 6, right: 10, top: 6, bottom: 6 });
            Panel::bottom("canvas candidates").resizable(false).show_separator_line(false).frame(frame).show(ui, |ui| {
                candidates::candidates_panel(ui, state, commands);
            });
        }
    }
    CentralPanel::no_frame().show(ui, |ui| surface::surface_panel(ui, state, commands));
}
