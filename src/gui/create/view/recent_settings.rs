//! The settings that were used last, where they are folded away: a click brings each into sight.

use atelier_language::tr;
use eframe::egui::{Button, RichText, Ui};

use crate::gui::command::Commands;
use crate::gui::create::Command;
use crate::gui::create::panel_setting::PANEL_SETTINGS;
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::small;

/// Settings that are shown.
const SHOWN: usize = 4;

pub(super) fn recent_settings_row(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let recipe = &state.shared.next.recipe;
    let recent = state.create.recent_settings.iter().filter_map(|id| {
        let (number, setting) = PANEL_SETTINGS.iter().enumerate().find(|(_, it)| it.id() == id)?;
        let is_folded = !state.create.open_folds.contains(&setting.fold);
        (is_folded && setting.shown.check(&state.shared, recipe).is_ok()).then_some((number, setting))
    });
    let recent: Vec<_> = recent.take(SHOWN).collect();
    if recent.is_empty() {
        return;
    }
    let palette = theme::palette(ui);
    ui.add_space(9.0);
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        ui.label(small(tr!("create-used-last"), palette.weak));
        for (number, setting) in recent {
            let command = Command::ShowSetting(number);
            let text = RichText::new(setting.row()).size(theme::SMALL).color(palette.text);
            let name = format!("{}: {}", tr!("create-used-last"), setting.row());
            let response = ui.add(Button::new(text).corner_radius(9)).on_hover_text(command.tooltip()).accessible_name(name);
            if response.clicked() {
                commands.push(command);
            }
        }
    });
}
