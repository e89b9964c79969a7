//! What the next picture keeps of an earlier one, over the button that makes it: a seed, a picture to
//! start from. A click takes each away.

use atelier_language::tr;
use eframe::egui::Ui;

use crate::gui::command::Commands;
use crate::gui::create::Command;
use crate::gui::guides;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::{self, removable_chip};

pub(super) fn kept_row(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let recipe = &state.shared.next.recipe;
    let starts = recipe.init.is_some() && state.canvas.edited().is_none();
    let palette = theme::palette(ui);
    let colour = palette.text;
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        // The row is always there, so that nothing moves under the pointer that keeps a seed.
        ui.set_min_height(widgets::ROW_HEIGHT);
        if recipe.seed.is_none() && !starts {
            ui.label(widgets::small(tr!("create-a-new-seed-each"), palette.weak));
        }
        if let Some(seed) = recipe.seed {
            removable_chip(ui, commands, &tr!("create-seed", seed), colour, Command::LockSeed);
        }
        if starts {
            let words = match recipe.starts().count() {
                0 | 1 => tr!("create-start-picture").to_owned(),
                count => tr!("common-start-pictures", count),
            };
            removable_chip(ui, commands, &words, colour, guides::Command::ClearStart);
        }
    });
}
