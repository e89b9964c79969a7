//! List of servers whose devices are borrowed, with their commands.

use eframe::egui::{Button, Frame, Label, Margin, RichText, Ui};

use crate::gui::command::Commands;
use crate::gui::devices::board::{RemoteServer, ServerState, ssh_tunnel_command};
use crate::gui::devices::command::Command;
use crate::gui::devices::view::input_line;
use crate::gui::icons::Icon;
use crate::gui::state::State;
use crate::gui::widgets::{bare_icon, command_button, command_control, heading, icon_button};
use crate::gui::{studios, theme, widgets};
use atelier_core::sentences::sentence;
use atelier_language::tr;

/// Draws the list of servers, and the button for studios that take whole models.
pub(crate) fn servers(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    heading(ui, tr!("devices-remote-devices"), |ui| {
        let next = if state.devices.server_input.is_some() { None } else { Some(String::new()) };
        icon_button(ui, state, commands, Icon::Plus, Command::SetServerInput(next));
    });
    if let Some(typed) = &state.devices.server_input {
        let add = Command::AddServer;
        input_line::input_line(ui, state, commands, typed, tr!("devices-address-such-as-192"), Command::SetServerInput, &add);
        let words = tr!("devices-no-encryption-and-no");
        ui.add(Label::new(RichText::new(words).size(theme::SMALL).color(palette.warn)).wrap());
    }
    if state.devices.servers.is_empty() && state.devices.server_input.is_none() {
        let words = tr!("devices-use-the-gpu-of");
        ui.add(Label::new(RichText::new(words).color(palette.weak)).wrap());
    }
    for server in &state.devices.servers {
        entry(ui, state, commands, server);
    }
    let another = Button::new(tr!("devices-another-studio"));
    command_control(ui, state, commands, studios::Command::Open, |ui| ui.add(another));
}

fn entry(ui: &mut Ui, state: &State, commands: &mut Commands, server: &RemoteServer) {
    let palette = theme::palette(ui);
    let address = &server.address;
    Frame::new().fill(palette.field).stroke((1.0, palette.line)).corner_radius(theme::RADIUS).inner_margin(Margin::same(10)).show(
        ui,
        |ui| {
            ui.set_width(ui.available_width());
            let unreachable = matches!(server.state, ServerState::Unreachable(_));
            ui.horizontal(|ui| {
                let wide = ui.available_width() - widgets::ROW_HEIGHT - ui.spacing().item_spacing.x;
                ui.allocate_ui(eframe::egui::vec2(wide, 22.0), |ui| {
                    ui.set_min_width(wide);
                    let color = if unreachable { palette.weak } else { palette.text };
                    ui.add(Label::new(RichText::new(address.as_str()).color(color)).truncate());
                });
                let remove = Command::RemoveServer(address.clone());
                command_control(ui, state, commands, remove, |ui| bare_icon(ui, Icon::Close, &tr!("devices-remove", address)));
            });
            let (words, color) = match &server.state {
                ServerState::Connecting => (tr!("devices-asking").to_owned(), palette.weak),
                ServerState::Connected(devices) if devices.is_empty() => (tr!("devices-it-lends-no-devices").to_owned(), palette.warn),
                ServerState::Connected(devices) => (tr!("devices-lends", devices = devices.join(", ")), palette.weak),
                ServerState::Unreachable(why) => (sentence(why), palette.warn),
            };
            ui.add(Label::new(RichText::new(words).size(theme::SMALL).color(color)).wrap());
            match &server.test_result {
                Some(Ok(found)) => {
                    ui.add(Label::new(RichText::new(found).size(theme::SMALL).color(palette.text)).wrap());
                }
                Some(Err(why)) if !unreachable => {
                    ui.add(Label::new(RichText::new(sentence(why)).size(theme::SMALL).color(palette.warn)).wrap());
                }
                Some(Err(_)) | None if server.testing => {
                    ui.label(RichText::new(tr!("devices-testing")).size(theme::SMALL).color(palette.weak));
                }
                Some(Err(_)) | None => {}
            }
            ui.horizontal_wrapped(|ui| {
                if unreachable {
                    command_button(ui, state, commands, Command::RetryServer(address.clone()));
                }
                command_button(ui, state, commands, Command::TestServer(address.clone()));
                let copy = Command::CopySshCommand(address.clone());
                command_button(ui, state, commands, copy).on_hover_text(ssh_tunnel_command(address));
            });
        },
    );
}
