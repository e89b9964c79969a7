//! Placement as the flags of sd-cli: an editable second view of the board.

use eframe::egui::{Align, Label, Layout, Margin, RichText, TextEdit, Ui, vec2};

use crate::gui::axes;
use crate::gui::command::Commands;
use crate::gui::devices::command::Command;
use crate::gui::icons::Icon;
use crate::gui::state::State;
use crate::gui::widgets::{bold, command_button, icon_button};
use crate::gui::{theme, widgets};
use atelier_core::placement::{Module, ModuleSet};
use atelier_core::recipe::PlacementText;
use atelier_language::tr;

/// Width from which on the three fields stand side by side, in points.
const MIN_FIELDS_WIDTH: f32 = 500.0;
/// Width from which on the line of buttons also says what may be written, in points.
const MIN_EXPLAINED_WIDTH: f32 = 760.0;

/// Draws the fields and the buttons to copy.
pub(crate) fn text_panel(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    let before = &state.shared.next.recipe.placement;
    let mut text = before.clone();
    ui.spacing_mut().item_spacing.y = 5.0;
    let width = ui.available_width();
    let explained = Label::new(RichText::new(tr!("devices-syntax-of-sd-cli")).size(theme::SMALL).color(palette.weak));
    let (beside, below) = if width < MIN_EXPLAINED_WIDTH { (None, Some(explained)) } else { (Some(explained), None) };
    let title = |ui: &mut Ui| {
        axes::axis_label(ui, Label::new(bold(tr!("devices-as-text")).color(palette.strong)), "placement");
        if let Some(explained) = beside {
            ui.add(explained.truncate());
        }
    };
    let mut copies = |ui: &mut Ui| {
        command_button(ui, state, commands, Command::CopyFlags);
        command_button(ui, state, commands, Command::CopyCommand);
    };
    let is_narrow = width < MIN_FIELDS_WIDTH;
    if is_narrow {
        title(ui);
    } else {
        ui.allocate_ui_with_layout(vec2(width, widgets::ROW_HEIGHT), Layout::left_to_right(Align::Center), |ui| {
            widgets::sides(ui, "placement text", title, &mut copies);
        });
    }
    if let Some(explained) = below {
        ui.add(explained.wrap());
    }
    if is_narrow {
        ui.horizontal_wrapped(copies);
        fields(ui, width, state, &mut text);
    } else {
        let column = (width - 2.0 * ui.spacing().item_spacing.x) / 3.0;
        ui.horizontal_top(|ui| fields(ui, column, state, &mut text));
    }
    ui.horizontal_wrapped(|ui| {
        streaming(ui, state.devices.board.whole, &mut text);
        split(ui, state, &mut text);
    });
    if !state.devices.paste_omissions.is_empty() {
        left_out(ui, state, commands);
    }
    if text != *before {
        let pasted = pasted(before, &text);
        commands.push(pasted.map_or(Command::SetText(text), Command::PasteCommand));
    }
}

/// Draws the three fields, each of this width.
fn fields(ui: &mut Ui, width: f32, state: &State, text: &mut PlacementText) {
    let [backend, params, budget] = &state.devices.board.text_errors;
    let hover = tr!("devices-which-device-each-module");
    field(ui, width, tr!("devices-runs-on-2"), "--backend", &mut text.backend, tr!("common-auto"), hover, backend.as_deref());
    let (hover, hint) = (tr!("devices-where-the-weights-of"), tr!("devices-where-it-runs"));
    field(ui, width, tr!("devices-weights-in"), "--params-backend", &mut text.params_backend, hint, hover, params.as_deref());
    let hover = tr!("devices-memory-budget-in-gib");
    field(ui, width, tr!("devices-budgets"), "--max-vram", &mut text.max_vram, tr!("devices-no-budget"), hover, budget.as_deref());
}

/// Choice of the modules whose layers are streamed. `whole`: those that have none this time.
fn streaming(ui: &mut Ui, whole: ModuleSet, text: &mut PlacementText) {
    ui.label(RichText::new(tr!("devices-stream-layers-stream-layers")).color(theme::palette(ui).weak));
    let groups: [(&str, &[Module]); 3] = [
        (tr!("devices-diffusion-layers"), &[Module::Diffusion]),
        (tr!("devices-text-encoder-layers"), &Module::ENCODERS),
        (tr!("devices-vae-layers"), &[Module::Vae]),
    ];
    // What has no layers is there to be switched off.
    let is_shown = |modules: &[Module]| modules.iter().any(|module| !whole.contains(*module) || text.stream_layers.contains(*module));
    let shown: Vec<_> = groups.into_iter().filter(|(_, modules)| is_shown(modules)).collect();
    for (name, modules) in shown {
        let mut is_on = modules.iter().any(|module| text.stream_layers.contains(*module));
        let hover = tr!("devices-keep-part-of-these");
        if ui.checkbox(&mut is_on, name).on_hover_text(hover).changed() {
            for module in modules {
                if is_on {
                    text.stream_layers.insert(*module);
                } else {
                    text.stream_layers.remove(*module);
                }
            }
        }
    }
}

/// Choice of the devices that a batch is split over. The diffusion module's device comes first: the
/// engine copies its weights to the others.
fn split(ui: &mut Ui, state: &State, text: &mut PlacementText) {
    let Some(placement) = state.devices.board.placement.as_ref().filter(|_| state.devices.board.devices.len() > 1) else { return };
    ui.add_space(18.0);
    ui.label(RichText::new(tr!("devices-split-batch-over")).color(theme::palette(ui).weak));
    let mut devices = placement.split_batch.clone();
    for device in state.devices.board.devices.iter().map(|device| &device.name) {
        let was = devices.contains(device);
        let mut is = was;
        let hover = tr!("devices-also-generate-pictures-of", device);
        ui.checkbox(&mut is, device).on_hover_text(hover).accessible_name(tr!("devices-batch-on", device));
        if is && !was {
            devices.push(device.clone());
        } else if was && !is {
            devices.retain(|it| it != device);
        }
    }
    if devices != placement.split_batch {
        let main = &placement.assignment(Module::Diffusion).runs_on;
        devices.sort_by_key(|device| device != main);
        text.split_batch = devices.join(",");
    }
}

/// A whole command line pasted into one of the fields; `None` if the edited field holds a
/// placement.
fn pasted(before: &PlacementText, now: &PlacementText) -> Option<String> {
    let fields = [(&before.backend, &now.backend), (&before.params_backend, &now.params_backend), (&before.max_vram, &now.max_vram)];
    let changed = fields.into_iter().find(|(before, now)| before != now)?.1;
    // Words of a placement never begin with a dash and a letter.
    let is_option = |word: &str| word.trim_start_matches('-').starts_with(char::is_alphabetic) && word.starts_with('-');
    changed.split_whitespace().any(is_option).then(|| changed.clone())
}

#[expect(clippy::too_many_arguments, reason = "a field is its words")]
fn field(ui: &mut Ui, width: f32, label: &str, flag: &str, text: &mut String, hint: &str, hover: &str, error: Option<&str>) {
    let palette = theme::palette(ui);
    ui.allocate_ui_with_layout(vec2(width, 0.0), Layout::top_down(Align::LEFT), |ui| {
        ui.set_width(width);
        ui.spacing_mut().item_spacing.y = 2.0;
        ui.horizontal(|ui| {
            ui.spacing_mut().item_spacing.x = 6.0;
            ui.label(RichText::new(label).size(theme::SMALL).color(palette.weak));
            ui.add(Label::new(RichText::new(flag).monospace().size(theme::SMALL).color(palette.weak)).truncate());
        });
        ui.scope(|ui| {
            if error.is_some() {
                ui.visuals_mut().widgets.inactive.bg_stroke.color = palette.error;
                ui.visuals_mut().widgets.hovered.bg_stroke.color = palette.error;
            }
            let edit = TextEdit::singleline(text)
                .id(eframe::egui::Id::unique(("placement", flag)))
                .font(eframe::egui::TextStyle::Monospace)
                .hint_text(hint.to_owned())
                .margin(Margin::symmetric(8, 4));
            widgets::line_edit(ui, width, edit).on_hover_text(hover).accessible_name(label);
        });
        if let Some(error) = error {
            ui.add(Label::new(RichText::new(error).size(theme::SMALL).color(palette.error)).wrap());
        }
    });
}

/// List of the parts of a pasted command that did not reach the recipe.
fn left_out(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    ui.horizontal_top(|ui| {
        icon_button(ui, state, commands, Icon::Close, Command::DismissPasteOmissions);
        ui.vertical(|ui| {
            ui.label(RichText::new(tr!("devices-not-loaded-from-the")).color(palette.warn));
            for words in &state.devices.paste_omissions {
                ui.add(Label::new(RichText::new(words).size(theme::SMALL).color(palette.text)).wrap());
            }
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_told_from_a_placement() {
        let of = |backend: &str| pasted(&PlacementText::default(), &PlacementText { backend: backend.into(), ..PlacementText::default() });
        assert_eq!(of("sd-cli -m x.gguf --backend cpu").as_deref(), Some("sd-cli -m x.gguf --backend cpu"));
        assert_eq!(of("--vae-on-cpu").as_deref(), Some("--vae-on-cpu"));
        for text in ["te=cpu, vae=gpu", "-1", "cuda0=-1.5, all=6", ""] {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
