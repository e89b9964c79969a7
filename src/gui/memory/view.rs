//! List of resident models with their commands, and the settings of preloading and reserve.

use std::collections::BTreeMap;

use eframe::egui::{Button, ComboBox, Frame, Label, Margin, Popup, RichText, Ui, vec2};

use crate::gui::command::Commands;
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::icons::Icon;
use crate::gui::memory::command::Command;
use crate::gui::memory::state::{MAX_RESERVE_GIB, MAX_RESERVE_PERCENT};
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets;
use crate::gui::widgets::{bare_icon, command_button, command_control, heading, row, slider_row};
use atelier_core::cpu_math::CpuMath;
use atelier_core::format::{GIB, memory_size, time_ago};
use atelier_core::placement::Reserve;
use atelier_core::recipe::ModelFiles;
use atelier_engine::Resident;
use atelier_language::tr;
use atelier_studio::next_recipe::same_paths;

/// Models that are offered.
const MAX_RECENT: usize = 6;

/// Draws the state of the chosen model, and the other resident models.
pub(crate) fn chosen_model(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    if state.shared.next.recipe.files.is_empty() && state.shared.residency.models.is_empty() {
        return;
    }
    let chosen = state.shared.chosen_resident();
    // A line of constant height, so that nothing below moves.
    let left = |ui: &mut Ui| {
        let (words, hover) = match chosen {
            Some(model) => (tr!("memory-in-memory", summary = summary(model, state.memory.now_secs)), details(model)),
            None if state.memory.preloading.is_loading() => {
                (tr!("memory-loading").to_owned(), Command::SetPreload(true).tooltip().to_owned())
            }
            None => (tr!("memory-not-in-memory").to_owned(), tr!("memory-this-model-is-loaded").to_owned()),
        };
        ui.add(Label::new(RichText::new(words).size(theme::SMALL).color(palette.weak)).truncate()).on_hover_text(hover);
    };
    widgets::row_of_sides(ui, widgets::ROW_HEIGHT, "chosen model", left, |ui| {
        ui.spacing_mut().item_spacing.x = 0.0;
        if let Some(model) = chosen {
            buttons(ui, state, commands, model, &state.shared.next.model_name(&model.files));
        }
    });
    let mut others = state.shared.residency.models.iter().filter(|model| !state.shared.next.is_chosen(&model.files)).peekable();
    if others.peek().is_some() {
        ui.label(RichText::new(tr!("memory-also-in-memory")).size(theme::SMALL).color(palette.weak));
    }
    for model in others {
        ui.push_id(model.id, |ui| entry(ui, state, commands, model));
    }
}

/// Draws the menu of models that were used before and are not in memory.
pub(crate) fn recent_models(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let next = &state.shared.next;
    let is_listed =
        |files: &ModelFiles| next.is_chosen(files) || state.shared.residency.models.iter().any(|it| same_paths(&it.files, files));
    let recent = next.recent_recipes.recipes().iter().enumerate().filter(|(_, recipe)| !is_listed(&recipe.files));
    let recent: Vec<_> = recent.take(MAX_RECENT).map(|(at, recipe)| (at, next.model_name(&recipe.files))).collect();
    if recent.is_empty() {
        return;
    }
    let button = ui.button(tr!("memory-recent-models")).on_hover_text(tr!("memory-models-that-you-used"));
    Popup::menu(&button).accessible_name(tr!("memory-recent-models")).show(|ui| {
        for (at, name) in recent {
            let said = tr!("memory-use", name = name.as_str());
            let button = |ui: &mut Ui| ui.button(name.as_str()).accessible_name(said);
            if command_control(ui, state, commands, Command::UseRecent(at), button).clicked() {
                ui.close();
            }
        }
    });
}

/// Draws the list with its heading and settings.
pub(crate) fn resident_models(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    heading(ui, tr!("memory-in-memory-2"), |ui| {
        if state.shared.residency.models.len() > 1 {
            command_button(ui, state, commands, Command::UnloadAll);
        }
    });
    if state.memory.preloading.is_loading() {
        let name = state.shared.next.model_name(&state.shared.next.recipe.files);
        ui.add(Label::new(RichText::new(tr!("memory-loading-2", name)).size(theme::SMALL).color(palette.weak)).truncate())
            .on_hover_text(tr!("memory-loading-in-advance-so"));
    }
    for model in &state.shared.residency.models {
        ui.push_id(model.id, |ui| entry(ui, state, commands, model));
    }
    if state.shared.residency.models.is_empty() && !state.memory.preloading.is_loading() {
        ui.add(Label::new(RichText::new(tr!("memory-no-model-yet-models")).color(palette.weak)).wrap());
    }
    for (device, bytes) in &state.shared.residency.unreturned_bytes {
        let words = tr!("memory-the-driver-of-has", device, bytes = memory_size(*bytes));
        ui.add(Label::new(RichText::new(words).size(theme::SMALL).color(palette.warn)).wrap());
    }
    settings(ui, state, commands);
}

fn entry(ui: &mut Ui, state: &State, commands: &mut Commands, model: &Resident) {
    let palette = theme::palette(ui);
    let name = state.shared.next.model_name(&model.files);
    let edge = if state.shared.next.is_chosen(&model.files) { palette.accent } else { palette.line };
    Frame::new()
        .fill(palette.field)
        .stroke((1.0, edge))
        .corner_radius(theme::RADIUS)
        .inner_margin(Margin { left: 4, right: 2, top: 2, bottom: 5 })
        .show(ui, |ui| {
            ui.set_width(ui.available_width());
            ui.spacing_mut().item_spacing = vec2(0.0, 0.0);
            let mut chosen = Commands::default();
            let left = |ui: &mut Ui| use_button(ui, state, &mut chosen, model, &name);
            widgets::row_of_sides(ui, widgets::ROW_HEIGHT, "model", left, |ui| buttons(ui, state, commands, model, &name));
            commands.append(chosen);
            ui.horizontal(|ui| {
                ui.add_space(4.0);
                ui.add(Label::new(RichText::new(summary(model, state.memory.now_secs)).size(theme::SMALL).color(palette.weak)).truncate());
            });
        });
}

/// Buttons to keep and to unload a model.
fn buttons(ui: &mut Ui, state: &State, commands: &mut Commands, model: &Resident, name: &str) {
    let keep = Command::Keep(model.id, !model.kept);
    let (icon, label) = if model.kept {
        (Icon::Pinned, tr!("memory-no-longer-keep-in-memory", name))
    } else {
        (Icon::Pin, tr!("memory-keep-in-memory-2", name))
    };
    command_control(ui, state, commands, keep, |ui| bare_icon(ui, icon, &label));
    let unload = Command::Unload(model.id);
    command_control(ui, state, commands, unload, |ui| bare_icon(ui, Icon::Close, &tr!("memory-unload-2", name)));
}

/// Name of a model: a label if it is the chosen one, else a button that chooses it.
fn use_button(ui: &mut Ui, state: &State, commands: &mut Commands, model: &Resident, name: &str) {
    let (palette, wide) = (theme::palette(ui), ui.available_width());
    let shown = widgets::middle_elided(ui, name, wide - 14.0);
    if state.shared.next.is_chosen(&model.files) {
        ui.add_space(4.0);
        let label = Label::new(RichText::new(shown).color(palette.strong));
        let said = tr!("memory-the-next-picture-uses", name);
        ui.add(label).on_hover_text(details(model)).accessible_name(said);
        return;
    }
    let button = |ui: &mut Ui| {
        // A text at the right end keeps the name at the left.
        let button = Button::new(RichText::new(shown).color(palette.text)).right_text("").frame_when_inactive(false);
        ui.add(button.min_size(vec2(wide, widgets::ROW_HEIGHT))).accessible_name(tr!("memory-use", name))
    };
    ui.spacing_mut().button_padding.x = 4.0;
    command_control(ui, state, commands, Command::Use(model.id), button).on_hover_text(details(model));
}

/// Memory by device, and the time since the last use.
fn summary(model: &Resident, now_secs: u64) -> String {
    let mut by_device: BTreeMap<&str, u64> = BTreeMap::new();
    for part in &model.parts {
        *by_device.entry(&part.device).or_default() += part.bytes;
    }
    let mut words: Vec<String> =
        by_device.iter().map(|(device, bytes)| format!("{} {}", memory_name(device), memory_size(*bytes))).collect();
    if words.is_empty() {
        words.push(tr!("memory-its-weights-are-read").to_owned());
    }
    words.push(if model.in_use { tr!("memory-in-use").to_owned() } else { time_ago(now_secs.saturating_sub(model.used_at_secs)) });
    words.join(" · ")
}

/// All parts of a model, a line each.
fn details(model: &Resident) -> String {
    let part = |part: &atelier_engine::ResidentPart| {
        let shared = if part.shared { tr!("memory-shared-with-another-model") } else { "" };
        tr!("memory-in", module = part.module.label(), bytes = memory_size(part.bytes), memory_name = memory_name(&part.device), shared)
    };
    let mut lines: Vec<String> = model.parts.iter().map(part).collect();
    if model.encodings_found > 0 {
        lines.push(tr!(
            "memory-prompts-encoded-times-reused",
            encodings_made = model.encodings_made,
            encodings_found = model.encodings_found
        ));
    }
    lines.join("\n")
}

fn memory_name(device: &str) -> &str {
    if device == "CPU" { "RAM" } else { device }
}

fn settings(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let memory = &state.memory;
    let mut preload = memory.preloading.enabled;
    let set = Command::SetPreload;
    row(ui, set(preload).label(), |ui| ui.checkbox(&mut preload, tr!("memory-the-chosen-model")).on_hover_text(set(preload).tooltip()));
    if preload != memory.preloading.enabled {
        commands.push(set(preload));
    }
    let reserve = memory.reserve;
    let hover = Command::SetReserve(reserve).tooltip();
    let (mut percent, mut most) = (reserve.percent, reserve.most_bytes as f64 / GIB as f64);
    slider_row(ui, tr!("memory-leave-free-2"), &mut percent, 0..=MAX_RESERVE_PERCENT, &widgets::WHOLE, hover);
    let scale = widgets::Scale { step: 0.5, decimals: 1, logarithmic: true };
    slider_row(ui, tr!("memory-at-most-gib"), &mut most, 0.0..=MAX_RESERVE_GIB as f64, &scale, hover);
    let wanted = Reserve { percent, most_bytes: (most * GIB as f64) as u64 };
    if wanted != reserve {
        commands.push(Command::SetReserve(wanted));
    }
    let mut math = memory.cpu_math;
    let set = Command::SetCpuMath(math);
    row(ui, set.label(), |ui| {
        let name = |math: Option<CpuMath>| match math {
            None => tr!("memory-fastest"),
            Some(CpuMath::Exact) => tr!("memory-exact"),
            Some(CpuMath::F32) => tr!("memory-32-bits"),
            Some(CpuMath::Bf16) => tr!("memory-16-bits"),
            Some(CpuMath::Int8) => tr!("memory-8-bits"),
        };
        let response = ComboBox::from_id_salt("cpu_math")
            .icon(widgets::chevron)
            .width(ui.available_width())
            .selected_text(name(math))
            .show_ui(ui, |ui| {
                for choice in std::iter::once(None).chain(CpuMath::ALL.map(Some)) {
                    ui.selectable_value(&mut math, choice, name(choice));
                }
            });
        response.response.on_hover_text(set.tooltip()).accessible_name(set.label())
    });
    if math != memory.cpu_math {
        commands.push(Command::SetCpuMath(math));
    }
}
