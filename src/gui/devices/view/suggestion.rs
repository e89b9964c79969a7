//! Cards of the planner's answer, and buttons of remedies.

use eframe::egui::{Button, Frame, Label, Margin, RichText, Ui, vec2};

use crate::gui::command::Commands;
use crate::gui::devices::board::Remedy;
use crate::gui::devices::command::Command;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::{bold, command_button, command_control};
use atelier_core::format::memory_size;
use atelier_core::placement::{Plan, Shortage};
use atelier_language::tr;

/// Card of a plan: its reasons, and buttons to apply or dismiss it.
pub(crate) fn plan_card(ui: &mut Ui, state: &State, commands: &mut Commands, plan: &Plan) {
    let palette = theme::palette(ui);
    card(ui, palette.accent, |ui| {
        ui.label(bold(tr!("devices-suggested")).color(palette.strong));
        for reason in &plan.reasons {
            ui.horizontal_top(|ui| {
                ui.spacing_mut().item_spacing.x = 6.0;
                ui.label(RichText::new("•").color(palette.weak));
                ui.add(Label::new(RichText::new(reason).size(theme::SMALL).color(palette.text)).wrap());
            });
        }
        ui.add_space(2.0);
        ui.horizontal(|ui| {
            theme::accented(ui, |ui| command_button(ui, state, commands, Command::ApplyPlan));
            command_button(ui, state, commands, Command::DismissPlan);
        });
    });
}

/// Card of a shortage: missing bytes and remedies.
pub(crate) fn shortage_card(ui: &mut Ui, state: &State, commands: &mut Commands, shortage: &Shortage) {
    let palette = theme::palette(ui);
    card(ui, palette.error, |ui| {
        ui.label(bold(tr!("devices-no-placement-fits-missing", missing_bytes = memory_size(shortage.missing_bytes))).color(palette.strong));
        for shortfall in &shortage.shortfalls {
            let (wanted, there) = (memory_size(shortfall.wanted_bytes), memory_size(shortfall.available_bytes));
            let words = tr!("devices-at-best-needs-in", device = shortfall.device, wanted, phase = shortfall.phase.label(), there);
            ui.add(Label::new(RichText::new(words).size(theme::SMALL).color(palette.text)).wrap());
        }
        if state.devices.board.remedies.is_empty() {
            let words = tr!("devices-close-other-programs-that");
            ui.add(Label::new(RichText::new(words).color(palette.weak)).wrap());
        }
        remedies(ui, state, commands, &state.devices.board.remedies, Command::ApplyRemedy);
    });
}

/// Draws a button for each budget with which streaming costs little time.
pub(crate) fn budget_offers(ui: &mut Ui, state: &State, commands: &mut Commands) {
    for (index, offer) in state.devices.board.budget_offers.iter().enumerate() {
        command_control(ui, state, commands, Command::ApplyBudgetOffer(index), |ui| {
            let words = tr!("devices-stream", offer = offer.words());
            ui.add(Button::new(words).wrap().min_size(vec2(ui.available_width(), 28.0)))
        });
    }
}

/// Draws a button for each remedy.
pub(crate) fn remedies(ui: &mut Ui, state: &State, commands: &mut Commands, all: &[Remedy], command: impl Fn(usize) -> Command) {
    for (index, remedy) in all.iter().enumerate() {
        command_control(ui, state, commands, command(index), |ui| {
            ui.add(Button::new(&remedy.label).wrap().min_size(vec2(ui.available_width(), 28.0)))
        });
    }
}

fn card(ui: &mut Ui, edge: eframe::egui::Color32, add: impl FnOnce(&mut Ui)) {
    let palette = theme::palette(ui);
    Frame::new().fill(palette.field).stroke((1.0, edge)).corner_radius(8).inner_margin(Margin::same(12)).show(ui, |ui| {
        ui.set_width(ui.available_width());
        add(ui);
    });
}
