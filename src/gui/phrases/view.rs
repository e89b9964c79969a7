//! What a phrase did, over the picture; and the switch among the settings.

use atelier_language::tr;
use eframe::egui::{Align2, Area, Frame, Id, Label, Margin, Order, Rect, RichText, Ui, pos2, vec2};

use crate::gui::command::Commands;
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::phrases::command::Command;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::row;

/// Draws where the phrase in question acted, and says it, at the upper edge of the canvas.
/// `picture`: where the picture is drawn.
pub(crate) fn overlay(ui: &Ui, state: &State, picture: Rect, canvas: Rect) {
    let Some(shown) = &state.phrases.shown else { return };
    if let Some((_, texture)) = state.phrases.heat.as_ref().filter(|_| shown.has_heat) {
        let whole = Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0));
        ui.painter_at(canvas).image(texture.id(), picture, whole, theme::UNTINTED);
    }
    let anchor = canvas.center_top() + vec2(0.0, 10.0);
    let area = Area::new(Id::unique("phrase")).order(Order::Middle).fixed_pos(anchor).pivot(Align2::CENTER_TOP).interactable(false);
    area.show(ui.ctx(), |ui| {
        Frame::popup(ui.style()).inner_margin(Margin::symmetric(10, 5)).show(ui, |ui| {
            ui.set_max_width(canvas.width() - 64.0);
            ui.add(Label::new(RichText::new(&shown.sentence).color(theme::palette(ui).text)).truncate());
        });
    });
}

/// Draws the switch.
pub(crate) fn switch_row(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let mut is_on = state.phrases.is_on;
    let words = Command::SetOn(true);
    let changed = row(ui, tr!("phrases-phrases"), |ui| ui.checkbox(&mut is_on, words.label()).on_hover_text(words.tooltip()).changed());
    if changed {
        commands.push(Command::SetOn(is_on));
    }
}
