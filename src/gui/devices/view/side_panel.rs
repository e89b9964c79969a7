//! Side panel: fit and suggestion, resident models, saved placements, servers.

use eframe::egui::{Button, Frame, Label, Margin, RichText, ScrollArea, Sense, Ui, vec2};

use crate::gui::command::Commands;
use crate::gui::devices::board::{Board, Suggestion, is_too_slow};
use crate::gui::devices::command::Command;
use crate::gui::devices::view::compact::shortfall;
use crate::gui::devices::view::{input_line, servers, suggestion, trials};
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::icons::Icon;
use crate::gui::memory::view as memory;
use crate::gui::state::State;
use crate::gui::widgets::{bare_icon, command_control, heading};
use crate::gui::{icons, studios, theme, widgets};
use atelier_core::format::seconds;
use atelier_core::sentences::list;
use atelier_language::tr;

/// Space between the panel's edge and its controls, in points.
const EDGE: i8 = 16;

pub(crate) fn side_panel(ui: &mut Ui, state: &State, commands: &mut Commands) {
    ScrollArea::vertical().id_salt("board side scroll").auto_shrink([false, false]).show(ui, |ui| {
        let margin = Margin { left: EDGE, right: EDGE, top: 8, bottom: 16 };
        Frame::new().inner_margin(margin).show(ui, |ui| {
            // What is known of memory and time is about models of this computer.
            if !studios::view::chosen_model(ui, state, commands) {
                fit_section(ui, state, commands);
                ui.add_space(4.0);
                // Before the model's needs are known, too: what is below must not move under the
                // pointer.
                trials::trials(ui, state, commands);
                notes(ui, state, commands);
            }
            memory::resident_models(ui, state, commands);
            saved_placements(ui, state, commands);
            servers::servers(ui, state, commands);
        });
        widgets::follow_focus(ui);
    });
}

/// Model and size of the next picture, fit of its placement, and the planner's answer.
fn fit_section(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let (palette, board, recipe) = (theme::palette(ui), &state.devices.board, &state.shared.next.recipe);
    heading(ui, tr!("devices-memory"), |_| {});
    if board.modules.is_empty() {
        ui.label(RichText::new(tr!("devices-choose-a-model-under")).color(palette.weak));
        return;
    }
    let name = if state.shared.next.uses_builtin() { state.shared.next.model_name(&recipe.files) } else { board.model_key.clone() };
    let what = tr!("devices-at", name, width = recipe.width, height = recipe.height);
    ui.add(Label::new(RichText::new(what).color(palette.weak)).truncate()).on_hover_text(&name);
    if let Some(failure) = &board.estimate_error {
        line(ui, Icon::Warning, palette.warn, failure);
        return;
    }
    if board.text_errors.iter().any(Option::is_some) {
        let words = tr!("devices-the-placement-text-is");
        line(ui, Icon::Warning, palette.warn, words);
    }
    match &board.prediction {
        // As high as the answer, so that nothing below moves under the pointer.
        None => line(ui, Icon::Dots, palette.weak, tr!("devices-estimating-memory")),
        Some(prediction) if prediction.fits() => {
            let words = if board.estimate_pending { tr!("devices-estimating-memory-again") } else { tr!("devices-everything-fits") };
            line(ui, Icon::Check, palette.good, words);
        }
        Some(_) => {
            for (device, phase, bytes) in board.shortfalls() {
                line(ui, Icon::Warning, palette.error, &shortfall(device, phase, bytes));
            }
        }
    }
    time(ui, board);
    for copies in board.copies() {
        let words = RichText::new(format!("{}.", copies.words())).size(theme::SMALL).color(palette.weak);
        ui.add(Label::new(words).wrap()).on_hover_text(tr!("devices-measured-in-the-last-picture-with"));
    }
    automatic(ui, state, commands);
    ui.add_space(2.0);
    suggestion::budget_offers(ui, state, commands);
    match (board.visible_plan(), &board.suggestion) {
        (Some(plan), _) => suggestion::plan_card(ui, state, commands, plan),
        (None, Suggestion::NothingFits(shortage)) => suggestion::shortage_card(ui, state, commands, shortage),
        (None, _) => {
            let show = Command::ShowPlan;
            command_control(ui, state, commands, show.clone(), |ui| {
                ui.add(Button::new(show.label()).min_size(vec2(ui.available_width(), 28.0)))
            });
        }
    }
}

/// Predicted time of a picture, or the reason why it is not known. Always one line, so that nothing
/// below moves under the pointer.
fn time(ui: &mut Ui, board: &Board) {
    let palette = theme::palette(ui);
    if let Some(time) = board.times.predicted() {
        let color = if is_too_slow(time.loaded_secs()) { palette.warn } else { palette.weak };
        line(
            ui,
            Icon::History,
            color,
            &tr!("devices-about-a-picture-a", seconds = seconds(time.loaded_secs()), seconds_2 = seconds(time.step_secs)),
        );
    } else if board.prediction.is_none() {
        line(ui, Icon::Dots, palette.weak, tr!("devices-estimating-time"));
    } else {
        let names = board.times.unmeasured_devices().map(|it| list(&it.devices.iter().cloned().collect::<Vec<_>>()));
        let hover =
            names.map_or_else(|| tr!("devices-nothing-is-generated").to_owned(), |names| tr!("devices-measured-once-nothing-runs", names));
        ui.scope(|ui| line(ui, Icon::History, palette.weak, tr!("devices-time-per-picture-is"))).response.on_hover_text(hover);
    }
}

/// Whether Atelier places the modules, and what it chose.
fn automatic(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let (palette, it) = (theme::palette(ui), &state.devices.board.automatic);
    let mut is_on = it.places(&state.shared.next.recipe.placement);
    let command = Command::SetAutomatic(!is_on);
    if ui.checkbox(&mut is_on, command.label()).on_hover_text(command.tooltip()).changed() {
        commands.push(command);
    }
    if let Some(note) = it.note.as_ref().filter(|_| is_on) {
        ui.add(Label::new(RichText::new(note).size(theme::SMALL).color(palette.weak)).wrap());
    }
}

fn line(ui: &mut Ui, icon: Icon, color: eframe::egui::Color32, words: &str) {
    let palette = theme::palette(ui);
    ui.horizontal_top(|ui| {
        let (rect, _) = ui.allocate_exact_size(vec2(16.0, 18.0), Sense::hover());
        icons::paint(ui.painter(), rect, icon, color);
        ui.add(Label::new(RichText::new(words).color(palette.strong)).wrap());
    });
}

fn notes(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let (palette, board) = (theme::palette(ui), &state.devices.board);
    for note in &board.notes {
        ui.add_space(2.0);
        line(ui, Icon::Warning, palette.warn, note);
    }
    if board.with_needs_of_streaming.is_some() {
        widgets::command_button(ui, state, commands, Command::AddNeedsOfStreaming);
    }
}

/// Saved placements of this model.
fn saved_placements(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    heading(ui, tr!("devices-saved-placements"), |ui| {
        let next = if state.devices.name_input.is_some() { None } else { Some(String::new()) };
        widgets::icon_button(ui, state, commands, Icon::Plus, Command::SetNameInput(next));
    });
    for named in state.devices.placements_of_model() {
        ui.horizontal(|ui| {
            let used = named.text == state.shared.next.recipe.placement;
            let command = Command::UsePlacement(named.name.clone());
            let wide = ui.available_width() - widgets::ROW_HEIGHT - ui.spacing().item_spacing.x;
            command_control(ui, state, commands, command, |ui| {
                let name = tr!("devices-use-this-placement-3", name = named.name);
                ui.add(Button::selectable(used, &named.name).truncate().min_size(vec2(wide, widgets::ROW_HEIGHT))).accessible_name(name)
            });
            let name = tr!("devices-delete", name = named.name);
            let command = Command::DeletePlacement(named.name.clone());
            command_control(ui, state, commands, command, |ui| bare_icon(ui, Icon::Close, &name));
        });
    }
    match &state.devices.name_input {
        Some(typed) => {
            let hint = tr!("devices-name-of-this-placement");
            input_line::input_line(ui, state, commands, typed, hint, Command::SetNameInput, &Command::SavePlacement);
        }
        None if state.devices.placements_of_model().next().is_none() => {
            ui.label(RichText::new(tr!("devices-no-saved-placements-yet")).color(palette.weak));
        }
        None => {}
    }
}
