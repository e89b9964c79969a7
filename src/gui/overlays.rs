//! Overlays of the views: error card, notices, the hint while files are dragged, and the question
//! before closing.

use atelier_language::tr;
use eframe::egui::{
    Align, Align2, Area, CollapsingHeader, Context, Frame, Id, Label, Layout, Margin, Modal, Order, Rect, RichText, ScrollArea, Ui,
    UiBuilder, vec2,
};

use crate::gui::command::Commands;
use crate::gui::create;
use crate::gui::devices;
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::icons;
use crate::gui::icons::Icon;
use crate::gui::notices::Offer;
use crate::gui::queue;
use crate::gui::shared::{Closing, ErrorCard, Screen};
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets;
use crate::gui::widgets::{bold, command_button, command_control, default_button, icon_button};
use crate::gui::window_command::WindowCommand;

/// Width of the error card, in points.
const CARD_WIDTH: f32 = 520.0;

/// The error card of the view, at its lower edge.
pub(crate) fn error_card(ui: &mut Ui, state: &State, commands: &mut Commands, canvas: Rect) {
    let Some(error) = state.shared.error_here() else { return };
    let palette = theme::palette(ui);
    let width = CARD_WIDTH.min(canvas.width() - 32.0);
    let anchor = canvas.center_bottom() - vec2(0.0, 16.0);
    Area::new(Id::unique("error card")).order(Order::Middle).fixed_pos(anchor).pivot(Align2::CENTER_BOTTOM).show(ui.ctx(), |ui| {
        Frame::popup(ui.style()).inner_margin(Margin::symmetric(16, 14)).corner_radius(10).show(ui, |ui| {
            ui.set_width(width - 34.0);
            ui.horizontal_top(|ui| {
                let (rect, _) = ui.allocate_exact_size(vec2(20.0, 20.0), eframe::egui::Sense::hover());
                icons::paint(ui.painter(), rect, Icon::Warning, palette.error);
                ui.vertical(|ui| {
                    ui.set_width(ui.available_width() - 32.0);
                    ui.add(Label::new(bold(&error.advice.sentence).color(palette.strong)).wrap());
                    ui.add(Label::new(RichText::new(&error.advice.hint).color(palette.text)).wrap());
                });
                icon_button(ui, state, commands, Icon::Close, WindowCommand::DismissError);
            });
            ui.add_space(2.0);
            if !error.remedies.is_empty() {
                let words = format!("{}:", devices::Command::RepeatWithRemedy(0).label());
                ui.label(RichText::new(words).color(palette.weak));
                devices::view::remedies(ui, state, commands, &error.remedies, devices::Command::RepeatWithRemedy);
            }
            gone_files(ui, state, commands, error);
            if !error.details.is_empty() {
                CollapsingHeader::new(tr!("window-details"))
                    .id_salt("error details")
                    .icon(widgets::fold_chevron)
                    .show(ui, |ui| {
                        ScrollArea::vertical().max_height(150.0).auto_shrink([false, true]).show(ui, |ui| {
                            for line in &error.details {
                                ui.add(Label::new(RichText::new(line).monospace().color(palette.weak)).wrap().selectable(true));
                            }
                        });
                    })
                    .header_response
                    .on_hover_text(tr!("window-the-engines-last-log"));
                command_button(ui, state, commands, WindowCommand::CopyError);
            }
        });
    });
}

/// Buttons for the files of the model that are gone, where making pictures failed.
fn gone_files(ui: &mut Ui, state: &State, commands: &mut Commands, error: &ErrorCard) {
    if !matches!(error.screen, Screen::Create | Screen::Devices) {
        return;
    }
    let files = state.shared.next.recipe.files.iter();
    for (role, _) in files.filter(|(_, path)| state.shared.missing_files.contains(*path)) {
        let words = tr!("create-choose-a-file-2", role = role.label());
        command_control(ui, state, commands, create::Command::ChooseFile(role), |ui| ui.button(words));
    }
}

/// A short line at the lower edge of the view, where nothing is read or set; over it where a message
/// is there.
pub(crate) fn notice(ui: &mut Ui, state: &State, commands: &mut Commands, canvas: Rect) {
    let Some(notice) = state.notices.shown() else { return };
    let pointer = ui.ctx().pointer_hover_pos();
    let palette = theme::palette(ui);
    let width = (canvas.width() - 48.0).min(460.0);
    let (at, pivot) = match state.shared.error_here() {
        None => (canvas.center_bottom() - vec2(0.0, 10.0), Align2::CENTER_BOTTOM),
        Some(_) => (canvas.center_top() + vec2(0.0, 10.0), Align2::CENTER_TOP),
    };
    let area = Area::new(Id::unique("notice"))
        .order(Order::Middle)
        .interactable(notice.offer.is_some())
        .fixed_pos(at)
        .pivot(pivot)
        .constrain(false)
        .show(ui.ctx(), |ui| {
            Frame::popup(ui.style()).inner_margin(Margin::symmetric(14, 8)).show(ui, |ui| {
                ui.set_max_width(width);
                ui.horizontal(|ui| {
                    ui.add(Label::new(RichText::new(&notice.text).color(palette.text)).wrap());
                    if let Some(offer) = notice.offer {
                        match offer {
                            Offer::CancelNewestJob => command_button(ui, state, commands, queue::Command::CancelNewest),
                        };
                    }
                });
            });
        });
    let is_pointed_at = pointer.is_some_and(|at| area.response.rect.contains(at));
    ui.ctx().data_mut(|data| data.insert_temp(pointed_at_id(), is_pointed_at));
}

/// True where the pointer was over the line of the last frame.
pub(crate) fn is_notice_pointed_at(ctx: &Context) -> bool {
    ctx.data(|data| data.get_temp(pointed_at_id())).unwrap_or(false)
}

fn pointed_at_id() -> Id {
    Id::unique("notice is pointed at")
}

/// Effect of a drop, shown while files are dragged over the window.
pub(crate) fn drop_hint(ui: &mut Ui, screen: Screen) {
    if ui.input(|input| input.raw.hovered_files.is_empty()) {
        return;
    }
    let palette = theme::palette(ui);
    let what = match screen {
        Screen::Models => tr!("window-folders-or-model-files"),
        Screen::Gallery => tr!("window-pictures-copied-into-your"),
        Screen::Create | Screen::Devices => tr!("window-model-files-loras-or"),
    };
    let whole = ui.ctx().content_rect();
    Area::new(Id::unique("drop hint")).order(Order::Foreground).interactable(false).fixed_pos(whole.min).show(ui.ctx(), |ui| {
        ui.painter().rect_filled(whole, 0.0, palette.veil);
        let card = Rect::from_center_size(whole.center(), vec2(440.0, 84.0));
        ui.painter().rect_filled(card, 12.0, palette.raised);
        ui.scope_builder(UiBuilder::new().max_rect(card.shrink(18.0)).layout(Layout::top_down(Align::Center)), |ui| {
            ui.label(bold(tr!("window-drop-to-add")).size(theme::TITLE).color(palette.strong));
            ui.label(RichText::new(what).color(palette.weak));
        });
    });
}

/// The question of a window that was opened beside another one.
pub(crate) fn beside_dialog(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    let frame = Frame::popup(ui.style()).inner_margin(Margin::same(20)).corner_radius(12);
    Modal::new(Id::unique("beside")).frame(frame).backdrop_color(palette.veil).show(ui.ctx(), |ui| {
        ui.set_width(380.0);
        ui.label(bold(tr!("window-atelier-is-already-open")).size(theme::TITLE).color(palette.strong));
        let text = tr!("window-the-first-window-may");
        ui.add(Label::new(RichText::new(text).color(palette.weak)).wrap());
        ui.add_space(8.0);
        widgets::last_row(ui, |ui| {
            default_button(ui, state, commands, WindowCommand::CloseBeside);
            command_button(ui, state, commands, WindowCommand::StayBeside);
        });
    });
}

/// The questions before closing: while a picture forms, and where something could not be written.
pub(crate) fn closing_dialog(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    let frame = Frame::popup(ui.style()).inner_margin(Margin::same(20)).corner_radius(12);
    let modal = Modal::new(Id::unique("closing")).frame(frame).backdrop_color(palette.veil).show(ui.ctx(), |ui| {
        ui.set_width(340.0);
        match state.closing {
            Closing::Confirming => {
                ui.label(bold(tr!("window-a-picture-is-still")).size(theme::TITLE).color(palette.strong));
                ui.label(RichText::new(tr!("window-the-picture-restarts-next")).color(palette.weak));
                ui.add_space(8.0);
                widgets::last_row(ui, |ui| {
                    default_button(ui, state, commands, WindowCommand::StayOpen);
                    command_button(ui, state, commands, WindowCommand::StopAndClose);
                });
            }
            Closing::Unsaved { .. } => {
                ui.label(bold(tr!("window-not-everything-is-saved")).size(theme::TITLE).color(palette.strong));
                for sentence in &state.unsaved {
                    ui.add(Label::new(RichText::new(sentence).color(palette.text)).wrap());
                }
                let hint = tr!("window-free-some-disk-space");
                ui.add(Label::new(RichText::new(hint).color(palette.weak)).wrap());
                ui.add_space(8.0);
                widgets::last_row(ui, |ui| {
                    default_button(ui, state, commands, WindowCommand::KeepUnsaved);
                    command_button(ui, state, commands, WindowCommand::SaveAndClose);
                    command_button(ui, state, commands, WindowCommand::CloseUnsaved);
                });
            }
            Closing::Saving { .. } => {
                ui.label(bold(tr!("window-closing")).size(theme::TITLE).color(palette.strong));
                ui.label(RichText::new(tr!("window-saving-your-work")).color(palette.weak));
            }
            Closing::Stopping { .. } => {
                ui.label(bold(tr!("window-closing")).size(theme::TITLE).color(palette.strong));
                ui.label(RichText::new(tr!("window-stopping-the-picture-and")).color(palette.weak));
            }
            Closing::No | Closing::Now => {}
        }
    });
    if modal.should_close() {
        match state.closing {
            Closing::Confirming => commands.push(WindowCommand::StayOpen),
            Closing::Unsaved { .. } => commands.push(WindowCommand::KeepUnsaved),
            Closing::No | Closing::Saving { .. } | Closing::Stopping { .. } | Closing::Now => {}
        }
    }
}
