//! Trials of placements: what each took, beside what was predicted.

use eframe::egui::{Align, Button, Label, Layout, RichText, Ui, vec2};

use crate::gui::command::Commands;
use crate::gui::devices::command::Command;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::{ROW_HEIGHT, command_button, command_control};
use atelier_core::device::Device;
use atelier_core::format::seconds;
use atelier_core::placement::{Module, ModuleSet, Placement};
use atelier_core::recipe::PlacementText;
use atelier_language::tr;
use atelier_studio::trials::{Trial, TrialState, Trials};

/// Draws the button, the trials of this session, or those that Atelier remembers of such a picture.
pub(crate) fn trials(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let devices = &state.devices;
    let is_trying = devices.trials.as_ref().is_some_and(Trials::is_running);
    let shown = devices.trials.as_ref().map_or_else(|| remembered(state), |trials| trials.all().to_vec());
    for trial in &shown {
        row(ui, state, commands, trial);
    }
    ui.horizontal(|ui| {
        command_button(ui, state, commands, if is_trying { Command::StopTrials } else { Command::TryPlacements });
        let quickest = devices.trials.as_ref().filter(|_| !is_trying).and_then(Trials::quickest);
        if let Some((text, _)) = quickest.filter(|(text, _)| !is_used(state, text)) {
            theme::accented(ui, |ui| {
                command_control(ui, state, commands, Command::UseTried(text.clone()), |ui| {
                    ui.add(Button::new(tr!("devices-use-the-quickest")))
                })
            });
        }
        if devices.trials.is_some() && !is_trying {
            command_button(ui, state, commands, Command::ForgetTrials);
        }
    });
}

/// What was measured of such a picture in earlier sessions, where two placements or more can be
/// compared.
fn remembered(state: &State) -> Vec<Trial> {
    let board = &state.devices.board;
    let trials = board.estimate.iter().flat_map(|estimate| &estimate.trials);
    let steps = state.shared.next.recipe.steps_in_pass(0);
    let trials: Vec<Trial> = trials
        .filter(|it| it.steps == steps)
        .map(|it| Trial { placement: it.placement.clone(), predicted_secs: None, state: TrialState::Measured(it.secs) })
        .collect();
    if trials.len() > 1 { trials } else { Vec::new() }
}

fn is_used(state: &State, text: &PlacementText) -> bool {
    state.devices.board.placement.as_ref().is_some_and(|it| it.text() == *text)
}

fn row(ui: &mut Ui, state: &State, commands: &mut Commands, trial: &Trial) {
    let palette = theme::palette(ui);
    let board = &state.devices.board;
    let words = words(&trial.placement, &board.devices, &board.modules);
    let predicted = trial.predicted_secs.map(|secs| tr!("devices-predicted", seconds = seconds(secs)));
    let measured = match &trial.state {
        TrialState::Waiting => None,
        TrialState::Running => Some(tr!("devices-trying").to_owned()),
        TrialState::Measured(secs) => Some(tr!("devices-measured-4", seconds = seconds(*secs))),
        TrialState::Failed(why) => Some(why.clone()),
    };
    let times = predicted.into_iter().chain(measured).collect::<Vec<_>>().join(", ");
    ui.horizontal(|ui| {
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            if matches!(trial.state, TrialState::Measured(_)) {
                command_control(ui, state, commands, Command::UseTried(trial.placement.clone()), |ui| {
                    let button = Button::selectable(is_used(state, &trial.placement), tr!("devices-use")).min_size(vec2(0.0, ROW_HEIGHT));
                    ui.add(button).accessible_name(tr!("devices-use-2", words))
                });
            }
            ui.with_layout(Layout::top_down(Align::LEFT), |ui| {
                ui.spacing_mut().item_spacing.y = 0.0;
                ui.add(Label::new(RichText::new(&words).color(palette.text)).wrap());
                ui.add(Label::new(RichText::new(times).size(theme::SMALL).color(palette.weak)).wrap());
            });
        });
    });
}

/// A placement in words: "GPU0; VAE on CPU; diffusion weights in CPU".
fn words(text: &PlacementText, devices: &[Device], modules: &[Module]) -> String {
    let Ok(placement) = Placement::parse(text, devices) else { return text.backend.clone() };
    let main = &placement.assignment(Module::Diffusion).runs_on;
    let mut parts = vec![main.clone()];
    for module in modules {
        let it = placement.assignment(*module);
        if it.runs_on != *main {
            parts.push(tr!("devices-on", module = module.label(), runs_on = it.runs_on));
        }
        if !it.weights.is(&it.runs_on) {
            parts.push(tr!("devices-weights-in-2", module = module.label(), name = it.weights.name()));
        }
    }
    match placement.stream_layers {
        ModuleSet::NONE => {}
        ModuleSet::DIFFUSION => parts.push(tr!("devices-streamed").to_owned()),
        modules => parts.push(tr!("devices-streamed-2", modules)),
    }
    parts.join("; ")
}
