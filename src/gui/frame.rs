//! Layout of the window and its keys. Panels read the state and push commands; they change nothing.
//!
//! Not here: files, network, threads, the engine. Colours live in `theme` alone. Every control has
//! a tooltip and an accessible name.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use eframe::egui::{self, CentralPanel, Context, Event, Frame, Margin, Panel, Popup, Ui};

use crate::gui::command::{Command, Commands};
use crate::gui::panels::{self, QUEUE_WIDTH, QueuePlace};
use crate::gui::shared::{Closing, Screen};
use crate::gui::shortcut::Shortcut;
use crate::gui::side_panel::SIDE_WIDTH;
use crate::gui::state::State;
use crate::gui::widgets::has_own_undo;
use crate::gui::window_command::WindowCommand;

use crate::gui::create::view::{filmstrip, progress, ruler, settings_panel, steps};
use crate::gui::{
    canvas, create, devices, due, gallery, grid, live, models, overlays, palette, program, queue, sharing, studios, styles, theme, toolbar,
    typed_letters,
};

/// Draws the panel beside the view.
fn side_panel(ui: &mut Ui, state: &State, commands: &mut Commands) {
    match state.shared.screen {
        Screen::Create => create::view::side_panel(ui, state, commands),
        Screen::Devices => devices::view::side_panel(ui, state, commands),
        Screen::Models => models::view::side_panel(ui, state, commands),
        Screen::Gallery => gallery::view::side_panel(ui, state, commands),
    }
}

/// Draws the view.
fn main_panel(ui: &mut Ui, state: &State, commands: &mut Commands) {
    match state.shared.screen {
        Screen::Create => create::view::main_panel(ui, state, commands),
        Screen::Devices => devices::view::main_panel(ui, state, commands),
        Screen::Models => models::view::main_panel(ui, state, commands),
        Screen::Gallery => gallery::view::main_panel(ui, state, commands),
    }
}

/// Height of the row below the pictures, in points.
const BAR_HEIGHT: f32 = 32.0;

/// Draws the whole window.
pub(crate) fn window(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    // Everything but the picture is hidden.
    let is_bare = state.canvas.hides_panels && state.shared.screen == Screen::Create;
    // Nothing lies in the place of a setting that was asked for.
    let wants_setting = state.create.wanted_setting.is_some() && state.shared.screen == Screen::Create;
    if is_bare && wants_setting {
        commands.push(canvas::Command::HidePanels);
    }
    if is_bare {
        CentralPanel::no_frame().frame(Frame::new().fill(palette.canvas)).show(ui, |ui| {
            let whole = ui.available_rect_before_wrap();
            main_panel(ui, state, commands);
            overlays::error_card(ui, state, commands, whole);
            overlays::notice(ui, state, commands, whole);
        });
        return dialogs(ui, state, commands);
    }
    let queue_place = QueuePlace::of(state, ui.ctx());
    if queue_place == QueuePlace::Settings && wants_setting {
        commands.push(queue::Command::Toggle);
    }
    if state.shared.side_panel.is_shown(ui.ctx()) {
        Panel::left("settings")
            .resizable(false)
            .exact_size(SIDE_WIDTH)
            .show_separator_line(false)
            .frame(Frame::new().fill(palette.panel))
            .show(ui, |ui| {
                if queue_place == QueuePlace::Settings {
                    let frame = Frame::new().inner_margin(queue::view::MARGIN);
                    frame.show(ui, |ui| queue::view::queue_panel(ui, state, commands));
                    return;
                }
                if state.shared.screen == Screen::Devices {
                    settings_panel::generate_panel(ui, state, commands);
                }
                side_panel(ui, state, commands);
            });
    }
    if queue_place == QueuePlace::Beside {
        let frame = Frame::new().fill(palette.panel).inner_margin(queue::view::MARGIN);
        Panel::right("queue")
            .resizable(false)
            .exact_size(QUEUE_WIDTH)
            .show_separator_line(false)
            .frame(frame)
            .show(ui, |ui| queue::view::queue_panel(ui, state, commands));
    }
    CentralPanel::no_frame().frame(Frame::new().fill(palette.canvas)).show(ui, |ui| {
        Panel::top("toolbar")
            .resizable(false)
            .show_separator_line(false)
            .frame(Frame::new().fill(palette.canvas).inner_margin(Margin { left: 14, right: 12, top: 9, bottom: 7 }))
            .show(ui, |ui| toolbar::toolbar_panel(ui, state, commands));
        program::view::banner(ui, state, commands);
        if state.shared.screen == Screen::Create {
            // All three are always there: a picture keeps its size and place from its first preview on.
            Panel::bottom("filmstrip")
                .resizable(false)
                .show_separator_line(false)
                .frame(Frame::new().fill(palette.canvas).inner_margin(Margin { left: 14, right: 14, top: 2, bottom: 12 }))
                .show(ui, |ui| {
                    ui.set_min_height(filmstrip::SIDE);
                    filmstrip::filmstrip_panel(ui, state, commands);
                });
            Panel::bottom("bar")
                .resizable(false)
                .show_separator_line(false)
                .frame(Frame::new().fill(palette.canvas).inner_margin(Margin { left: 14, right: 14, top: 4, bottom: 6 }))
                .show(ui, |ui| {
                    ui.set_min_height(BAR_HEIGHT);
                    bar(ui, state, commands);
                });
            Panel::bottom("ruler")
                .resizable(false)
                .show_separator_line(false)
                .exact_size(ruler::height(state))
                .frame(Frame::new().fill(palette.canvas).inner_margin(Margin { left: 14, right: 14, top: 2, bottom: 2 }))
                .show(ui, |ui| ruler::ruler_panel(ui, state, commands));
        } else if !state.shared.jobs.is_empty() {
            Panel::bottom("progress")
                .resizable(false)
                .show_separator_line(false)
                .frame(Frame::new().fill(palette.canvas).inner_margin(Margin { left: 14, right: 14, top: 6, bottom: 10 }))
                .show(ui, |ui| progress::progress_panel(ui, state, commands));
        }
        if state.live.is_on && state.shared.screen == Screen::Create {
            Panel::bottom("live")
                .resizable(false)
                .show_separator_line(false)
                .frame(Frame::new().fill(palette.canvas).inner_margin(Margin { left: 14, right: 14, top: 4, bottom: 8 }))
                .show(ui, |ui| live::view::live_panel(ui, state, commands));
        }
        CentralPanel::no_frame().show(ui, |ui| {
            let whole = ui.available_rect_before_wrap();
            main_panel(ui, state, commands);
            let free = panels::beside_queue(state, ui.ctx(), whole);
            if queue_place == QueuePlace::Over {
                let place = whole.with_min_x(free.right());
                panels::panel_over(ui, egui::Id::unique("queue over the view"), place, queue::view::MARGIN, |ui| {
                    queue::view::queue_panel(ui, state, commands);
                });
            }
            overlays::error_card(ui, state, commands, free);
            overlays::notice(ui, state, commands, free);
        });
    });
    dialogs(ui, state, commands);
}

/// Draws what stands below the pictures: the steps of the one that a person looks at, else the
/// progress of what is made.
fn bar(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let looks_back = !state.create.session.following() && state.create.has_steps_panel();
    if state.shared.jobs.is_empty() || looks_back {
        steps::steps_panel(ui, state, commands);
    } else {
        progress::progress_panel(ui, state, commands);
    }
}

/// Draws what lies over all panels.
fn dialogs(ui: &mut Ui, state: &State, commands: &mut Commands) {
    overlays::drop_hint(ui, state.shared.screen);
    create::view::dropped::dropped_card(ui, state, commands);
    create::view::save_dialog::save_dialog(ui, state, commands);
    styles::view::style_dialog(ui, state, commands);
    styles::view::import_dialog(ui, state, commands);
    program::view::about(ui, state, commands);
    sharing::view::dialog(ui, state, commands);
    studios::view::dialog(ui, state, commands);
    grid::view::grid(ui, state, commands);
    palette::view::palette(ui, state, commands);
    palette::view::shortcut_sheet(ui, state, commands);
    if state.closing != Closing::No && state.closing != Closing::Now {
        overlays::closing_dialog(ui, state, commands);
    } else if state.asks_beside {
        overlays::beside_dialog(ui, state, commands);
    }
}

/// Takes a pasted picture, and paths of files that are pasted while nothing is typed.
fn pasted(ctx: &Context, screen: Screen, commands: &mut Commands) {
    if screen == Screen::Models {
        return;
    }
    let typing = ctx.text_edit_focused();
    ctx.input(|input| {
        for event in &input.events {
            match event {
                Event::PasteImage(image) => commands.push(create::Command::TakeImage(Arc::clone(image))),
                Event::Paste(text) if !typing => {
                    let paths = pasted_paths(text);
                    if !paths.is_empty() {
                        commands.push(create::Command::TakePaths(paths));
                    }
                }
                _ => {}
            }
        }
    });
}

/// Paths in a pasted text, one a line; none where a line is anything else.
fn pasted_paths(text: &str) -> Vec<PathBuf> {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_path = |line: &str| line.starts_with("file://") || Path::new(line.trim_matches('"')).is_absolute();
    if lines().all(is_path) { lines().map(PathBuf::from).collect() } else { Vec::new() }
}

/// Turns keys, dropped files and the system's "copy" into commands.
pub(crate) fn keys(ctx: &Context, state: &State, commands: &mut Commands) {
    let dropped = ctx.input(|input| input.raw.dropped_files.iter().map(|file| file.path().to_owned()).collect::<Vec<_>>());
    // A canvas is opened, whatever view it is dropped on.
    let (canvases, dropped): (Vec<_>, Vec<_>) = dropped.into_iter().partition(|path| canvas::files::is_canvas(path));
    for path in canvases {
        commands.push(canvas::Command::OpenFile(path));
    }
    if !dropped.is_empty() {
        commands.push(match state.shared.screen {
            Screen::Models => Command::Models(models::Command::AddPaths(dropped)),
            Screen::Gallery => Command::Gallery(gallery::Command::AddPaths(dropped)),
            Screen::Create | Screen::Devices => Command::Create(create::Command::TakePaths(dropped)),
        });
    }
    pasted(ctx, state.shared.screen, commands);
    // A dialog or an open menu has its own keys.
    let of_views = create::view::has_dialog(state) || models::view::has_dialog(state) || gallery::view::has_dialog(state);
    let of_views = of_views || grid::view::has_dialog(state) || sharing::view::has_dialog(state) || studios::view::has_dialog(state);
    let has_dialog = of_views || program::view::has_dialog(state) || palette::view::has_dialog(state) || styles::view::has_dialog(state);
    let typing = ctx.text_edit_focused();
    let is_elsewhere = state.closing != Closing::No || state.asks_beside || has_dialog || Popup::is_any_open(ctx);
    let has_focus = typing || ctx.memory(egui::Memory::focused).is_some();
    if is_elsewhere || has_focus || state.shared.screen != Screen::Create || state.canvas.edited().is_some() {
        typed_letters::forget(ctx);
    } else {
        letters(ctx, state, commands);
    }
    if is_elsewhere {
        return;
    }
    // A field that is left by Escape is all that this press means. It has lost the keyboard by now.
    let was_typing = ctx.data_mut(|data| std::mem::replace(data.get_temp_mut_or_default::<bool>(egui::Id::unique("typing")), typing));
    let leaves_field = (typing || was_typing) && ctx.input(|input| input.key_pressed(egui::Key::Escape));
    let is_gallery = state.shared.screen == Screen::Gallery;
    if !typing && !is_gallery && ctx.input(|input| input.events.iter().any(|event| matches!(event, Event::Copy))) {
        commands.push(Command::Create(create::Command::CopyPicture));
    }
    if state.shared.screen == Screen::Models {
        models::view::keys(ctx, state, commands, typing);
    }
    if is_gallery {
        gallery::view::keys(ctx, state, commands, typing);
    }
    if !typing {
        create::view::sheet::keys(ctx, state, commands);
    }
    let goes_back = state.shared.screen == Screen::Create && state.create.goes_back_to_sheet();
    for (command, shortcut) in Command::keys() {
        let free = shortcut.while_typing || (!typing && ctx.memory(egui::Memory::focused).is_none());
        let is_history = [WindowCommand::Undo, WindowCommand::Redo].iter().any(|it| command == (*it).into());
        if is_history && has_own_undo(ctx) {
            continue;
        }
        // A key without Ctrl means what is in sight.
        let is_unseen = !shortcut.while_typing && state.shared.screen != Screen::Create && matches!(command, Command::Create(_));
        if !free || is_unseen || (command == create::Command::Cancel.into() && (goes_back || command.enabled(state).is_err())) {
            continue;
        }
        // Going backwards through the controls is the same key with Shift.
        let is_tab = shortcut.keys.logical_key == egui::Key::Tab;
        if is_tab && (command.enabled(state).is_err() || ctx.input(|input| input.modifiers.shift)) {
            continue;
        }
        if leaves_field && shortcut.keys.logical_key == egui::Key::Escape {
            continue;
        }
        let egui::KeyboardShortcut { modifiers, logical_key } = shortcut.keys;
        let presses = ctx.input_mut(|input| input.count_and_consume_key(modifiers, logical_key));
        if is_tab && presses > 0 {
            ctx.memory_mut(|memory| memory.move_focus(egui::FocusDirection::None));
        }
        // A slow frame brings several presses at once, and each of them counts. Escape and Tab would
        // mean something else after the first.
        let means_once = is_tab || logical_key == egui::Key::Escape;
        let times = if means_once { presses.min(1) } else { presses };
        for _ in 0..times {
            commands.push(command.clone());
        }
    }
    // The equals sign is the unshifted plus on many keyboards.
    if ctx.input_mut(|input| input.consume_key(egui::Modifiers::COMMAND, egui::Key::Equals)) {
        commands.push(WindowCommand::Larger);
    }
    let plain = !typing && ctx.memory(egui::Memory::focused).is_none();
    if plain && ctx.input_mut(|input| input.consume_key(egui::Modifiers::NONE, egui::Key::Equals)) {
        commands.push(Command::Create(create::Command::ZoomIn));
    }
    if !leaves_field
        && let Some(command) = escape(state)
        && ctx.input_mut(|input| input.consume_key(egui::Modifiers::NONE, egui::Key::Escape))
    {
        commands.push(command);
    }
}

/// Puts typed words into the prompt, and carries out the commands of letters that are typed alone.
fn letters(ctx: &Context, state: &State, commands: &mut Commands) {
    let command_of = |modifiers, key| {
        let is_it = |(command, shortcut): &(Command, Shortcut)| {
            !shortcut.while_typing && shortcut.keys == egui::KeyboardShortcut::new(modifiers, key) && command.enabled(state).is_ok()
        };
        let of_pictures = || create::view::sheet::command_of(state, key, modifiers).map(Command::from);
        Command::keys().find(is_it).map(|(command, _)| command).or_else(of_pictures)
    };
    let typed = typed_letters::take(ctx, |modifiers, key| command_of(modifiers, key).is_some());
    if !typed.words.is_empty() {
        commands.push(create::Command::TypePrompt(typed.words));
    }
    if let Some(command) = typed.key.and_then(|(modifiers, key)| command_of(modifiers, key)) {
        commands.push(command);
    }
    if let Some(secs) = typed.wait_secs {
        due::wake_in(ctx, secs);
    }
}

/// What Escape does: it shows the sheet again; where nothing forms that it could stop, it puts a
/// message away, shows the panels again, or leaves the canvas.
fn escape(state: &State) -> Option<Command> {
    if state.shared.screen == Screen::Create && state.shared.error_here().is_none() && state.create.goes_back_to_sheet() {
        return Some(create::Command::BackToSheet.into());
    }
    if !state.shared.jobs.is_empty() {
        return None;
    }
    if state.shared.error_here().is_some() {
        return Some(WindowCommand::DismissError.into());
    }
    if state.shared.screen != Screen::Create {
        return None;
    }
    if state.canvas.hides_panels {
        return Some(canvas::Command::HidePanels.into());
    }
    state.canvas.in_sight().map(|_| canvas::Command::Leave.into())
}
