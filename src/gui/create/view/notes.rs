//! Notes on the picture that is shown: what was changed for the person or went wrong, with a button
//! for each change that may help.

use eframe::egui::{Area, Frame, Id, Label, Margin, Order, Rect, RichText, Ui, vec2};

use crate::gui::command::Commands;
use crate::gui::create::Command;
use crate::gui::create::session::SessionPicture;
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::icons::Icon;
use crate::gui::state::State;
use crate::gui::theme::{self, Palette};
use crate::gui::widgets::{bold, command_control, icon_button};
use crate::gui::{icons, widgets};
use atelier_core::picture_note::NoteKind;
use atelier_language::tr;

/// Width of the notes, in points.
const WIDTH: f32 = 380.0;

/// Icon and colour of a picture's mark; `None` for a picture without notes.
pub(crate) fn mark(picture: &SessionPicture, palette: &Palette) -> Option<(Icon, eframe::egui::Color32)> {
    let kind = picture.notes.iter().map(|note| note.kind).max()?;
    Some(match kind {
        NoteKind::Wrong => (Icon::Warning, palette.warn),
        NoteKind::Changed => (Icon::Info, palette.text),
    })
}

/// The notes on a picture as lines.
pub(crate) fn lines(picture: &SessionPicture) -> String {
    picture.notes.iter().map(|note| note.sentence.as_str()).collect::<Vec<_>>().join("\n")
}

/// Draws the notes on the picture shown, in the upper left corner of the canvas; or their mark
/// alone.
pub(crate) fn notes_panel(ui: &mut Ui, state: &State, commands: &mut Commands, canvas: Rect) {
    let is_forming = state.create.forming.first().is_some() || state.live.shown().is_some();
    let follows_forming = state.create.session.following() && is_forming;
    let Some(picture) = state.create.session.shown().filter(|picture| !picture.notes.is_empty() && !follows_forming) else { return };
    let palette = theme::palette(ui);
    let Some((icon, color)) = mark(picture, &palette) else { return };
    let width = WIDTH.min(canvas.width() - 32.0);
    Area::new(Id::unique("picture notes")).order(Order::Middle).fixed_pos(canvas.left_top() + vec2(12.0, 10.0)).show(ui.ctx(), |ui| {
        if !state.create.shows_notes {
            Frame::popup(ui.style()).inner_margin(Margin::same(2)).show(ui, |ui| {
                let command = Command::ShowNotes(true);
                let label = command.label();
                command_control(ui, state, commands, command, |ui| widgets::bare_icon(ui, icon, label)).on_hover_text(lines(picture));
            });
            return;
        }
        Frame::popup(ui.style()).inner_margin(Margin::symmetric(12, 10)).show(ui, |ui| {
            ui.set_width(width - 26.0);
            ui.horizontal_top(|ui| {
                let (rect, _) = ui.allocate_exact_size(vec2(18.0, 18.0), eframe::egui::Sense::hover());
                icons::paint(ui.painter(), rect, icon, color);
                ui.add(Label::new(bold(tr!("create-about-this-picture")).color(palette.strong)));
                ui.add_space((ui.available_width() - widgets::ROW_HEIGHT).max(0.0));
                icon_button(ui, state, commands, Icon::Close, Command::ShowNotes(false));
            });
            for (index, note) in picture.notes.iter().enumerate() {
                ui.push_id(index, |ui| {
                    ui.add(Label::new(RichText::new(&note.sentence).color(palette.text)).wrap());
                    ui.horizontal_wrapped(|ui| {
                        for change in &note.remedies {
                            let label = change.to_string();
                            let command = Command::RepeatWithChange(picture.id, change.clone());
                            command_control(ui, state, commands, command, |ui| ui.button(&label).accessible_name(label.as_str()));
                        }
                    });
                });
            }
        });
    });
}
