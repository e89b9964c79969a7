//! The bar over the canvas: what is shown, what can be done with it, zoom and theme.

use eframe::egui::{Align, Button, Frame, Label, Layout, RichText, Ui, vec2};

use crate::gui::canvas;
use crate::gui::command::{Command, Commands};
use crate::gui::create;
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::icons::Icon;
use crate::gui::models::queue as downloads;
use crate::gui::program::view::menu_button;
use crate::gui::queue;
use crate::gui::shared::Screen;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::viewport::canvas_rect;
use crate::gui::widgets::{bare_icon, command_control, icon_button};
use crate::gui::window_command::WindowCommand;
use crate::settings::ThemeChoice;
use atelier_core::recipe::RecallPart;

/// Points: below this width of the window the groups of buttons are closer together, and some
/// buttons are left to keys and menus.
const NARROW_WINDOW: f32 = 1100.0;
/// Points: beside a panel in a small window the bar has the views alone; keys and menus do the
/// rest.
const MIN_TOOLS_WIDTH: f32 = 560.0;
/// Points: a narrower title would be little more than an ellipsis.
const MIN_TITLE_WIDTH: f32 = 90.0;

pub(crate) fn toolbar_panel(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    let has_room = ui.available_width() >= MIN_TOOLS_WIDTH;
    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
        ui.spacing_mut().item_spacing.x = 2.0;
        let icon = match state.shared.theme {
            ThemeChoice::System => Icon::HalfMoon,
            ThemeChoice::Light => Icon::Sun,
            ThemeChoice::Dark => Icon::Moon,
        };
        menu_button(ui, state, commands);
        icon_button(ui, state, commands, icon, WindowCommand::SetTheme(state.shared.theme.next()));
        if !is_narrow(ui) {
            icon_button(ui, state, commands, Icon::Folder, create::Command::OpenFolder);
        }
        queue_button(ui, state, commands);
        coming_in(ui, state, commands);
        if has_room && state.create.canvas_size_px().is_some() && state.shared.screen == Screen::Create {
            gap(ui);
            icon_button(ui, state, commands, Icon::Fit, create::Command::ZoomFit);
            if !is_narrow(ui) {
                icon_button(ui, state, commands, Icon::Plus, create::Command::ZoomIn);
            }
            let percent = canvas_rect(ui.ctx())
                .zip(state.create.canvas_size_px())
                .map_or(100.0, |(canvas, size)| state.create.view.scale(size, canvas) * ui.pixels_per_point() * 100.0);
            command_control(ui, state, commands, create::Command::ZoomActual, |ui| {
                let text = RichText::new(format!("{percent:.0} %")).color(palette.text);
                let button = Button::new(text).frame_when_inactive(false).min_size(vec2(58.0, 26.0));
                ui.add(button).accessible_name(create::Command::ZoomActual.label())
            });
            if !is_narrow(ui) {
                icon_button(ui, state, commands, Icon::Minus, create::Command::ZoomOut);
            }
        }
        if has_room && matches!(state.shared.screen, Screen::Create | Screen::Devices) {
            gap(ui);
            history_button(ui, state, commands, Icon::Redo, WindowCommand::Redo);
            history_button(ui, state, commands, Icon::Undo, WindowCommand::Undo);
        }
        if has_room && !state.create.session.is_empty() && state.shared.screen == Screen::Create {
            gap(ui);
            icon_button(ui, state, commands, Icon::Save, create::Command::SaveAs);
            icon_button(ui, state, commands, Icon::Copy, create::Command::CopyPicture);
            icon_button(ui, state, commands, Icon::Picture, create::Command::StartFromShown);
            icon_button(ui, state, commands, Icon::Reuse, create::Command::Recall(RecallPart::All));
        }
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            screens(ui, state, commands);
            ui.add_space(10.0);
            if state.shared.screen == Screen::Create && ui.available_width() > MIN_TITLE_WIDTH {
                ui.add(Label::new(RichText::new(title(state)).color(palette.weak)).truncate());
            }
        });
    });
}

/// A button for undo or redo; its tooltip names the change.
fn history_button(ui: &mut Ui, state: &State, commands: &mut Commands, icon: Icon, command: WindowCommand) {
    let command = Command::from(command).redirected(state);
    let change = match &command {
        Command::Canvas(canvas::Command::Undo) => state.canvas.edited().and_then(|it| it.document.next_undo()),
        Command::Canvas(_) => state.canvas.edited().and_then(|it| it.document.next_redo()),
        Command::Window(WindowCommand::Undo) => state.shared.history.next_undo(),
        _ => state.shared.history.next_redo(),
    };
    let label = command.label();
    command_control(ui, state, commands, command, |ui| {
        let response = bare_icon(ui, icon, label);
        match change {
            Some(change) => response.on_hover_text(format!("{label}: {change}")),
            None => response,
        }
    });
}

/// The button of the queue's panel, with the number of jobs that wait.
fn queue_button(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let waiting = queue::view::waiting_count(state);
    if waiting > 0 {
        ui.label(RichText::new(waiting.to_string()).size(theme::SMALL).color(theme::palette(ui).weak));
    }
    icon_button(ui, state, commands, Icon::List, queue::Command::Toggle);
}

/// Progress of the downloads, a button that leads to them.
fn coming_in(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let Some(total) = downloads::summary(&state.models.queue).filter(|_| state.shared.screen != Screen::Models) else { return };
    gap(ui);
    let palette = theme::palette(ui);
    let done = downloads::summary_fraction(&state.models.queue)
        .map_or_else(|| "Downloads".to_owned(), |it| format!("Downloads {:.0} %", it * 100.0));
    command_control(ui, state, commands, WindowCommand::SetScreen(Screen::Models), |ui| {
        let button = Button::new(RichText::new(done).color(palette.text)).frame_when_inactive(false);
        ui.add(button).on_hover_text(&total).accessible_name("Go to the downloads")
    });
}

/// The switch between the parts of the program.
fn screens(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    Frame::new().fill(palette.field).stroke((1.0, palette.line)).corner_radius(theme::RADIUS + 1).inner_margin(2).show(ui, |ui| {
        ui.spacing_mut().item_spacing.x = 2.0;
        let is_narrow = is_narrow(ui);
        if is_narrow {
            ui.spacing_mut().button_padding.x = 5.0;
        }
        let width = if is_narrow { 0.0 } else { 66.0 };
        for screen in Screen::ALL.iter().copied() {
            let here = state.shared.screen == screen;
            command_control(ui, state, commands, WindowCommand::SetScreen(screen), |ui| {
                let text = RichText::new(screen.label()).color(if here { palette.strong } else { palette.weak });
                ui.add(Button::selectable(here, text).min_size(vec2(width, 22.0)))
            });
        }
    });
}

/// True where keys, wheel and menus stand for some buttons.
fn is_narrow(ui: &Ui) -> bool {
    ui.ctx().content_rect().width() < NARROW_WINDOW
}

fn gap(ui: &mut Ui) {
    let space = if is_narrow(ui) { 3.0 } else { 8.0 };
    ui.add_space(space);
    let palette = theme::palette(ui);
    let (rect, _) = ui.allocate_exact_size(vec2(1.0, 16.0), eframe::egui::Sense::hover());
    ui.painter().rect_filled(rect, 0.0, palette.line);
    ui.add_space(space);
}

/// Title of the canvas: size, seed and steps.
fn title(state: &State) -> String {
    if let Some(document) = state.canvas.edited() {
        let content = document.document.content();
        let name = document.file.as_ref().and_then(|path| path.file_stem()).map(|stem| stem.to_string_lossy().into_owned());
        let size = format!("{} × {}", content.width(), content.height());
        return format!("{} · {size}", name.as_deref().unwrap_or("Canvas"));
    }
    if state.create.shows_sheet() {
        return format!("{} pictures", state.create.sheet.cells().len());
    }
    if let Some(forming) = state.create.forming_shown() {
        return format!("Generating · {} × {}", forming.width, forming.height);
    }
    state.create.session.shown().map_or_else(String::new, |picture| {
        let recipe = &picture.recipe;
        format!("{} × {} · seed {} · {} steps", picture.width, picture.height, picture.info.seed, recipe.steps)
    })
}
