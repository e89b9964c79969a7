//! A bar of buttons on the lower edge of the picture.

use atelier_language::tr;
use eframe::egui::{Align2, Area, Button, Frame, Id, Margin, Order, Rect, RichText, Ui, pos2};

use crate::gui::canvas::Command;
use crate::gui::canvas::state::OpenDocument;
use crate::gui::command::Commands;
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::{command_button, command_control};

/// From the picture's lower edge, or that of the room where the picture is larger, in points.
const FROM_EDGE: f32 = 12.0;

/// Draws the bar on a picture that lies here in this room.
pub(super) fn bar(ui: &Ui, id: &str, picture: Rect, room: Rect, add: impl FnOnce(&mut Ui)) {
    let seen = picture.intersect(room);
    let anchor = pos2(seen.center().x, seen.bottom() - FROM_EDGE);
    Area::new(Id::unique(id)).order(Order::Middle).fixed_pos(anchor).pivot(Align2::CENTER_BOTTOM).constrain_to(room).show(ui.ctx(), |ui| {
        Frame::popup(ui.style()).inner_margin(Margin::symmetric(8, 6)).show(ui, |ui| {
            ui.horizontal(|ui| add(ui));
        });
    });
}

/// What becomes of the candidate that is shown.
pub(super) fn candidate_bar(ui: &Ui, state: &State, commands: &mut Commands, document: &OpenDocument, picture: Rect, room: Rect) {
    let Some(shown) = document.shown_candidate else { return };
    bar(ui, tr!("canvas-candidate-bar"), picture, room, |ui| {
        theme::accented(ui, |ui| command_button(ui, state, commands, Command::Accept));
        command_button(ui, state, commands, Command::Discard);
        if document.candidates.len() > 1 {
            for (command, sign) in [(Command::PreviousCandidate, "‹"), (Command::NextCandidate, "›")] {
                let name = command.label();
                command_control(ui, state, commands, command, |ui| ui.add(Button::new(sign)).accessible_name(name));
            }
            let words = tr!("canvas-of", shown = shown + 1, candidates = document.candidates.len());
            ui.label(RichText::new(words).color(theme::palette(ui).weak));
            command_button(ui, state, commands, Command::DiscardAll);
        }
    });
}
