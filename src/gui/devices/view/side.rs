//! The panel beside the board: whether it fits, what would be better, kept placements, and borrowed devices.

use eframe::egui::{Button, Frame, Key, Label, Margin, Panel, RichText, ScrollArea, Sense, Stroke, TextEdit, Ui, vec2};

use crate::gui::command::{Command, Commands};
use crate::gui::create::view::settings_panel;
use crate::gui::devices::board::{Board, BoardCommand, Remedy, Suggestion};
use crate::gui::devices::view::remote;
use crate::gui::icons;
use crate::gui::icons::Icon;
use crate::gui::memory::panel as resident;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets;
use crate::gui::widgets::{bare_icon, bold, command_button, command_control, heading};
use atelier_core::format::memory_size;
use atelier_core::placement::{Plan, Shortage};

/// Space between the panel's edge and its controls, in points.
const EDGE: i8 = 16;

/// Draws the panel.
pub(crate) fn side_panel(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let margin = Margin { left: EDGE, right: EDGE, top: 12, bottom: 14 };
    Panel::bottom("generate").resizable(false).show_separator_line(true).frame(Frame::new().inner_margin(margin)).show(ui, |ui| {
        settings_panel::generate(ui, state, commands);
    });
    ScrollArea::vertical().id_salt("board side scroll").auto_shrink([false, false]).show(ui, |ui| {
        let margin = Margin { left: EDGE, right: EDGE, top: 8, bottom: 16 };
        Frame::new().inner_margin(margin).show(ui, |ui| {
            verdict(ui, state, commands);
            notes(ui, &state.devices.board);
            resident::section(ui, state, commands);
            named(ui, state, commands);
            remote::servers(ui, state, commands);
        });
    });
}

/// What is made, whether it fits, and what would be better.
fn verdict(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let (palette, board, recipe) = (theme::palette(ui), &state.devices.board, &state.shared.recipe);
    heading(ui, "Memory", |_| {});
    if board.modules.is_empty() {
        ui.label(RichText::new("Choose a model under Create to see what it takes.").color(palette.weak));
        return;
    }
    let name = if state.shared.uses_builtin() { state.shared.model_name(&recipe.files) } else { board.model.clone() };
    let what = format!("{name} at {} × {}", recipe.width, recipe.height);
    ui.add(Label::new(RichText::new(what).color(palette.weak)).truncate()).on_hover_text(&name);
    if let Some(failure) = &board.failure {
        line(ui, Icon::Warning, palette.warn, failure);
        return;
    }
    if board.text_errors.iter().any(Option::is_some) {
        let words = "The text below the board cannot be read; the board shows the placement without it. Correct the text, or move a card.";
        line(ui, Icon::Warning, palette.warn, words);
    }
    match &board.prediction {
        // As high as what will stand here, so that nothing below moves under a pointer.
        None => line(ui, Icon::Dots, palette.weak, "Finding out what this model takes…"),
        Some(prediction) if prediction.fits() => {
            let words = if board.waiting { "It fitted; looking again…" } else { "Everything fits." };
            line(ui, Icon::Check, palette.compute, words);
        }
        Some(_) => {
            for (device, phase, bytes) in board.lacks() {
                line(ui, Icon::Warning, palette.error, &format!("{device} lacks {} in the {} phase.", memory_size(bytes), phase.label()));
            }
        }
    }
    ui.add_space(2.0);
    match (board.plan_shown(), &board.suggestion) {
        (Some(plan), _) => plan_card(ui, state, commands, plan),
        (None, Suggestion::NothingFits(shortage)) => shortage_card(ui, state, commands, shortage),
        (None, _) => {
            let show = Command::Board(BoardCommand::ShowPlan);
            command_control(ui, state, commands, show.clone(), |ui| {
                ui.add(Button::new(show.label()).min_size(vec2(ui.available_width(), 28.0)))
            });
        }
    }
}

/// The planner's placement, in words, to take or to leave.
fn plan_card(ui: &mut Ui, state: &State, commands: &mut Commands, plan: &Plan) {
    let palette = theme::palette(ui);
    card(ui, palette.accent, |ui| {
        ui.label(bold("Suggested").color(palette.strong));
        for reason in &plan.reasons {
            ui.horizontal_top(|ui| {
                ui.spacing_mut().item_spacing.x = 6.0;
                ui.label(RichText::new("•").color(palette.weak));
                ui.add(Label::new(RichText::new(reason).size(theme::SMALL).color(palette.text)).wrap());
            });
        }
        ui.add_space(2.0);
        ui.horizontal(|ui| {
            theme::accented(ui, |ui| command_button(ui, state, commands, Command::Board(BoardCommand::ApplyPlan)));
            command_button(ui, state, commands, Command::Board(BoardCommand::DismissPlan));
        });
    });
}

/// What is missing where nothing fits, and what would help.
fn shortage_card(ui: &mut Ui, state: &State, commands: &mut Commands, shortage: &Shortage) {
    let palette = theme::palette(ui);
    card(ui, palette.error, |ui| {
        ui.label(bold(format!("No placement fits: {} missing", memory_size(shortage.missing_bytes))).color(palette.strong));
        for lack in &shortage.shortfalls {
            let (wanted, there) = (memory_size(lack.wanted_bytes), memory_size(lack.available_bytes));
            let words = format!("At best {} holds {wanted} in the {} phase, and has {there}.", lack.device, lack.phase.label());
            ui.add(Label::new(RichText::new(words).size(theme::SMALL).color(palette.text)).wrap());
        }
        if state.devices.board.remedies.is_empty() {
            let words = "Close other programs that use this memory, or choose a smaller model.";
            ui.add(Label::new(RichText::new(words).color(palette.weak)).wrap());
        }
        remedies(ui, state, commands, &state.devices.board.remedies, |index| Command::Board(BoardCommand::Remedy(index)));
    });
}

/// A button for each thing that would help.
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

fn line(ui: &mut Ui, icon: Icon, color: eframe::egui::Color32, words: &str) {
    let palette = theme::palette(ui);
    ui.horizontal_top(|ui| {
        let (rect, _) = ui.allocate_exact_size(vec2(16.0, 18.0), Sense::hover());
        icons::paint(ui.painter(), rect, icon, Stroke::new(1.0, color));
        ui.add(Label::new(RichText::new(words).color(palette.strong)).wrap());
    });
}

fn notes(ui: &mut Ui, board: &Board) {
    let palette = theme::palette(ui);
    for note in &board.notes {
        ui.add_space(2.0);
        line(ui, Icon::Warning, palette.warn, note);
    }
}

/// Placements of this model that have a name.
fn named(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let (palette, board) = (theme::palette(ui), &state.devices.board);
    heading(ui, "Saved placements", |ui| {
        let next = if board.typed_name.is_some() { None } else { Some(String::new()) };
        widgets::icon_button(ui, state, commands, Icon::Plus, Command::Board(BoardCommand::TypeName(next)));
    });
    for named in board.named_here() {
        ui.horizontal(|ui| {
            let used = named.text == state.shared.recipe.placement;
            let command = Command::Board(BoardCommand::UseNamed(named.name.clone()));
            let wide = ui.available_width() - widgets::ROW_HEIGHT - ui.spacing().item_spacing.x;
            command_control(ui, state, commands, command, |ui| {
                let name = format!("Use this placement: {}", named.name);
                ui.add(Button::selectable(used, &named.name).truncate().min_size(vec2(wide, widgets::ROW_HEIGHT))).accessible_name(name)
            });
            let name = format!("Delete {}", named.name);
            let command = Command::Board(BoardCommand::DeleteNamed(named.name.clone()));
            command_control(ui, state, commands, command, |ui| bare_icon(ui, Icon::Close, &name));
        });
    }
    match &board.typed_name {
        Some(typed) => {
            let hint = "Name of this placement";
            type_line(ui, state, commands, typed, hint, BoardCommand::TypeName, &Command::Board(BoardCommand::SaveNamed));
        }
        None if board.named_here().next().is_none() => {
            ui.label(RichText::new("None yet. Save the placement to come back to it.").color(palette.weak));
        }
        None => {}
    }
}

/// A field with a button that takes what is typed.
pub(crate) fn type_line(
    ui: &mut Ui,
    state: &State,
    commands: &mut Commands,
    typed: &str,
    hint: &str,
    change: fn(Option<String>) -> BoardCommand,
    take: &Command,
) {
    ui.horizontal(|ui| {
        let mut text = typed.to_owned();
        let wide = ui.available_width() - 56.0 - ui.spacing().item_spacing.x;
        let id = eframe::egui::Id::unique(("typed", hint));
        let opened = ui.ctx().read_response(id).is_none();
        let edit = TextEdit::singleline(&mut text).id(id).hint_text(hint.to_owned());
        let response = widgets::line_edit(ui, wide, edit).on_hover_text("Type it, then press Enter.").accessible_name(hint);
        if opened {
            response.request_focus();
        }
        let entered = response.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
        let button = command_control(ui, state, commands, take.clone(), |ui| {
            ui.add(Button::new(take.label()).min_size(vec2(56.0, widgets::ROW_HEIGHT)))
        });
        if entered {
            commands.push(take.clone());
        } else if text != typed && !button.clicked() {
            commands.push(Command::Board(change(Some(text))));
        }
    });
}
