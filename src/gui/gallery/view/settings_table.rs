//! Tables of settings: of one picture, and of two that differ.

use atelier_language::tr;
use eframe::egui::{Label, RichText, ScrollArea, Ui};
use egui_extras::{Column, TableBuilder};

use crate::gui::bidi;
use crate::gui::gallery::compare::{SettingRow, differing_settings};
use crate::gui::gallery::state::Comparison;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::bold;

/// Width of the names, in points.
const NAME_WIDTH: f32 = 120.0;
/// Characters in a line of a cell, about; the height of a row follows from them.
const LINE_CHARS: usize = 54;
/// Lines that a cell shows at most; the rest is in its tooltip.
const MAX_LINES: usize = 4;

/// The settings in which the two compared pictures differ.
pub(super) fn differences(ui: &mut Ui, state: &State, comparison: &Comparison) {
    let palette = theme::palette(ui);
    let view = &state.gallery;
    let (Some(first), Some(second)) = (view.details.get(&comparison.first), view.details.get(&comparison.second)) else { return };
    let rows = differing_settings(first, second);
    if rows.is_empty() {
        ui.add_space(8.0);
        ui.vertical_centered(|ui| ui.label(RichText::new(tr!("gallery-both-were-made-with")).color(palette.weak)));
        return;
    }
    ScrollArea::horizontal().show(ui, |ui| {
        let table = TableBuilder::new(ui)
            .striped(true)
            .column(Column::exact(NAME_WIDTH))
            .column(Column::remainder().at_least(160.0).clip(true))
            .column(Column::remainder().at_least(160.0).clip(true));
        let table = table.header(22.0, |mut header| {
            for words in [tr!("gallery-setting"), tr!("gallery-first"), tr!("gallery-second")] {
                header.col(|ui| {
                    ui.label(bold(words).color(palette.strong));
                });
            }
        });
        table.body(|body| {
            let heights = rows.iter().map(height).collect::<Vec<_>>().into_iter();
            body.heterogeneous_rows(heights, |mut row| {
                let Some(SettingRow { name, first, second }) = rows.get(row.index()) else { return };
                row.col(|ui| {
                    ui.label(RichText::new(*name).color(palette.weak));
                });
                for value in [first, second] {
                    row.col(|ui| {
                        ui.add(Label::new(bidi::lines(ui, value, palette.text)).selectable(true)).on_hover_text(value);
                    });
                }
            });
        });
    });
}

/// Height of a row in points.
fn height(row: &SettingRow) -> f32 {
    let chars = row.first.chars().count().max(row.second.chars().count());
    22.0 + 17.0 * (chars / LINE_CHARS).min(MAX_LINES - 1) as f32
}
