//! The panel of layers.

use eframe::egui::{Align, Button, Id, Key, Layout, Margin, Popup, RichText, ScrollArea, Slider, TextEdit, Ui, vec2};

use crate::gui::canvas::Command;
use crate::gui::command::Commands;
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::icons::Icon;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::{self, ROW_HEIGHT, bare_icon, command_button, command_control, heading, icon_button, line_edit_with_undo};
use atelier_core::canvas::{Layer, LayerKind};

/// Height of the words of a region and their button, in points.
const WORDS_HEIGHT: f32 = 112.0;

pub(crate) fn layers_panel(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let Some(document) = state.canvas.edited() else { return };
    let content = document.document.content();
    heading(ui, "Layers", |ui| {
        icon_button(ui, state, commands, Icon::Plus, Command::AddLayer(LayerKind::Paint));
        icon_button(ui, state, commands, Icon::Mask, Command::AddLayer(LayerKind::Mask));
        kinds_menu(ui, state, commands, &content.current_layer().kind);
        icon_button(ui, state, commands, Icon::Close, Command::ToggleLayers);
    });
    ScrollArea::vertical()
        .id_salt("layers scroll")
        .max_height(ui.available_height() - footer_height(&content.current_layer().kind))
        .auto_shrink([false, true])
        .show(ui, |ui| {
            for layer in content.layers().iter().rev() {
                ui.push_id(layer.id, |ui| row(ui, state, commands, layer));
            }
        });
    let current = content.current_layer();
    words_field(ui, state, commands, current);
    let mut opacity = f32::from(current.opacity) / 255.0;
    ui.horizontal(|ui| {
        let palette = theme::palette(ui);
        ui.label(RichText::new("Opacity").size(theme::SMALL).color(palette.weak));
        let command = Command::SetOpacity(current.id, (opacity * 255.0) as u8);
        let response = widgets::slider(ui, Slider::new(&mut opacity, 0.0..=1.0).show_value(false));
        let response = response.on_hover_text(command.tooltip()).accessible_name(command.label());
        if response.changed() {
            commands.push(Command::SetOpacity(current.id, (opacity * 255.0).round() as u8));
        }
        if response.drag_stopped() || response.lost_focus() {
            commands.push(Command::Release);
        }
    });
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 2.0;
        icon_button(ui, state, commands, Icon::Up, Command::RaiseLayer);
        icon_button(ui, state, commands, Icon::Down, Command::LowerLayer);
        icon_button(ui, state, commands, Icon::Copy, Command::DuplicateLayer);
        icon_button(ui, state, commands, Icon::Minus, Command::RemoveLayer);
        if current.kind == LayerKind::Mask {
            command_control(ui, state, commands, Command::InvertMask, |ui| {
                ui.button("Invert").accessible_name(Command::InvertMask.label())
            });
        }
    });
}

/// Height of what is under the list, in points.
const fn footer_height(kind: &LayerKind) -> f32 {
    76.0 + if matches!(kind, LayerKind::Region { .. }) { WORDS_HEIGHT } else { 0.0 }
}

/// The menu of kinds of layers: to add one, and to use the current one otherwise.
fn kinds_menu(ui: &mut Ui, state: &State, commands: &mut Commands, current: &LayerKind) {
    let button = bare_icon(ui, Icon::Dots, "Layer types").on_hover_text("Add other layers, or change the type of this layer.");
    Popup::menu(&button).accessible_name("Layer types").show(|ui| {
        let region = || LayerKind::Region { words: String::new() };
        for kind in [region(), LayerKind::Control, LayerKind::Reference] {
            command_button(ui, state, commands, Command::AddLayer(kind));
        }
        ui.separator();
        let kinds = [LayerKind::Paint, LayerKind::Mask, region(), LayerKind::Control, LayerKind::Reference];
        for kind in kinds.into_iter().filter(|kind| !kind.is_like(current)) {
            command_button(ui, state, commands, Command::SetKind(kind));
        }
    });
}

/// The words of a region, and the button that generates all of them.
fn words_field(ui: &mut Ui, state: &State, commands: &mut Commands, layer: &Layer) {
    let LayerKind::Region { words } = &layer.kind else { return };
    let mut typed = words.clone();
    let command = Command::SetWords(layer.id, String::new());
    let edit = TextEdit::multiline(&mut typed)
        .id(Id::unique(("words of a region", layer.id)))
        .hint_text("Prompt of this region…")
        .desired_rows(2)
        .desired_width(f32::INFINITY)
        .char_limit(LayerKind::MAX_WORDS)
        .margin(Margin::symmetric(8, 6));
    ui.add_space(4.0);
    let response =
        ScrollArea::vertical().id_salt("words scroll").max_height(64.0).auto_shrink([false, true]).show(ui, |ui| ui.add(edit)).inner;
    let response = response.on_hover_text_at_pointer(command.tooltip()).accessible_name(command.label());
    if response.changed() {
        commands.push(Command::SetWords(layer.id, typed));
    }
    if response.lost_focus() {
        commands.push(Command::Release);
    }
    command_button(ui, state, commands, Command::GenerateRegions);
}

fn row(ui: &mut Ui, state: &State, commands: &mut Commands, layer: &Layer) {
    let palette = theme::palette(ui);
    let is_current = state.canvas.edited().is_some_and(|document| document.document.content().current() == layer.id);
    ui.allocate_ui_with_layout(vec2(ui.available_width(), ROW_HEIGHT), Layout::right_to_left(Align::Center), |ui| {
        ui.spacing_mut().item_spacing.x = 2.0;
        let lock = if layer.locked { Icon::Locked } else { Icon::Unlocked };
        let command = Command::SetLocked(layer.id, !layer.locked);
        let name = format!("{}: {}", command.label(), layer.name);
        command_control(ui, state, commands, command, |ui| bare_icon(ui, lock, &name));
        let eye = if layer.visible { Icon::Eye } else { Icon::EyeClosed };
        let command = Command::SetVisible(layer.id, !layer.visible);
        let name = format!("{}: {}", command.label(), layer.name);
        command_control(ui, state, commands, command, |ui| bare_icon(ui, eye, &name));
        let wide = ui.available_width();
        if let Some((_, text)) = state.canvas.renaming.as_ref().filter(|(id, _)| *id == layer.id) {
            let mut typed = text.clone();
            let response = line_edit_with_undo(ui, wide, TextEdit::singleline(&mut typed).char_limit(80));
            let response = response.on_hover_text("Name of this layer.").accessible_name("Name of the layer");
            if response.changed() {
                commands.push(Command::EditName(Some((layer.id, typed))));
            }
            if response.lost_focus() {
                let gives_up = ui.input(|input| input.key_pressed(Key::Escape));
                commands.push(if gives_up { Command::EditName(None) } else { Command::SaveName });
            } else if !response.has_focus() {
                response.request_focus();
            }
            return;
        }
        let colour = if layer.visible { palette.text } else { palette.weak };
        let response = command_control(ui, state, commands, Command::SelectLayer(layer.id), |ui| {
            let button = Button::selectable(is_current, RichText::new(&layer.name).color(colour))
                .truncate()
                .right_text("")
                .min_size(vec2(wide, 22.0));
            let kind = layer.kind.label();
            ui.add(button).on_hover_text(format!("{kind}. Double-click to rename.")).accessible_name(format!("Layer {}", layer.name))
        });
        if response.double_clicked() {
            commands.push(Command::EditName(Some((layer.id, layer.name.clone()))));
        }
    });
}
