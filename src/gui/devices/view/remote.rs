//! Other machines whose devices are borrowed: adding, testing, asking again.

use eframe::egui::{Frame, Label, Margin, RichText, Ui};

use crate::gui::command::{Command, Commands};
use crate::gui::devices::board::{BoardCommand, Server, ServerState, tunnel};
use crate::gui::devices::view::side::type_line;
use crate::gui::icons::Icon;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets;
use crate::gui::widgets::{bare_icon, command_button, command_control, heading, icon_button};
use atelier_core::sentences::sentence;

/// Draws the list of servers.
pub(crate) fn servers(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let (palette, board) = (theme::palette(ui), &state.devices.board);
    heading(ui, "Remote devices", |ui| {
        let next = if board.typed_server.is_some() { None } else { Some(String::new()) };
        icon_button(ui, state, commands, Icon::Plus, Command::Board(BoardCommand::TypeServer(next)));
    });
    if let Some(typed) = &board.typed_server {
        let add = Command::Board(BoardCommand::AddServer);
        type_line(ui, state, commands, typed, "Address, such as 192.168.1.20:50052", BoardCommand::TypeServer, &add);
        let words = "Nothing is encrypted and nobody is asked to log in: use this in a network that you trust, or go through SSH.";
        ui.add(Label::new(RichText::new(words).size(theme::SMALL).color(palette.warn)).wrap());
    }
    if board.servers.is_empty() && board.typed_server.is_none() {
        let words = "Borrow the GPU of another machine. Run `atelier serve-device` there, then add it here.";
        ui.add(Label::new(RichText::new(words).color(palette.weak)).wrap());
    }
    for server in &board.servers {
        entry(ui, state, commands, server);
    }
}

fn entry(ui: &mut Ui, state: &State, commands: &mut Commands, server: &Server) {
    let palette = theme::palette(ui);
    let address = &server.address;
    Frame::new().fill(palette.field).stroke((1.0, palette.line)).corner_radius(theme::RADIUS).inner_margin(Margin::same(10)).show(
        ui,
        |ui| {
            ui.set_width(ui.available_width());
            let silent = matches!(server.state, ServerState::Silent(_));
            ui.horizontal(|ui| {
                let wide = ui.available_width() - widgets::ROW_HEIGHT - ui.spacing().item_spacing.x;
                ui.allocate_ui(eframe::egui::vec2(wide, 22.0), |ui| {
                    ui.set_min_width(wide);
                    let color = if silent { palette.weak } else { palette.text };
                    ui.add(Label::new(RichText::new(address.as_str()).color(color)).truncate());
                });
                let remove = Command::Board(BoardCommand::RemoveServer(address.clone()));
                command_control(ui, state, commands, remove, |ui| bare_icon(ui, Icon::Close, &format!("Remove {address}")));
            });
            let (words, color) = match &server.state {
                ServerState::Asking => ("Asking…".to_owned(), palette.weak),
                ServerState::Lends(devices) if devices.is_empty() => ("It lends nothing.".to_owned(), palette.warn),
                ServerState::Lends(devices) => (format!("Lends {}.", devices.join(", ")), palette.weak),
                ServerState::Silent(why) => (sentence(why), palette.warn),
            };
            ui.add(Label::new(RichText::new(words).size(theme::SMALL).color(color)).wrap());
            match &server.tested {
                Some(Ok(found)) => {
                    ui.add(Label::new(RichText::new(found).size(theme::SMALL).color(palette.text)).wrap());
                }
                Some(Err(why)) if !silent => {
                    ui.add(Label::new(RichText::new(sentence(why)).size(theme::SMALL).color(palette.warn)).wrap());
                }
                Some(Err(_)) | None if server.testing => {
                    ui.label(RichText::new("Testing…").size(theme::SMALL).color(palette.weak));
                }
                Some(Err(_)) | None => {}
            }
            ui.horizontal_wrapped(|ui| {
                if silent {
                    command_button(ui, state, commands, Command::Board(BoardCommand::RetryServer(address.clone())));
                }
                command_button(ui, state, commands, Command::Board(BoardCommand::TestServer(address.clone())));
                let copy = Command::Board(BoardCommand::CopyTunnel(address.clone()));
                command_button(ui, state, commands, copy).on_hover_text(tunnel(address));
            });
        },
    );
}
