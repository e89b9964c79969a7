//! The panel of layers.

use eframe::egui::{
    Button, ComboBox, DragAndDrop, Id, Key, Margin, Popup, Rect, RichText, ScrollArea, Sense, Slider, Stroke, StrokeKind, TextEdit, Ui,
    Vec2, pos2, vec2,
};

use crate::gui::bidi;
use crate::gui::canvas::Command;
use crate::gui::canvas::state::OpenDocument;
use crate::gui::command::Commands;
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::icons::Icon;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::{self, ROW_HEIGHT, bare_icon, command_button, command_control, heading, icon_button, line_edit_with_undo};
use atelier_core::canvas::{BlendMode, Layer, LayerId, LayerKind, LayerText};
use atelier_language::tr;

/// Height of the words of a region and their button, in points.
const WORDS_HEIGHT: f32 = 112.0;
/// Height of the text of a layer with its size and colour, in points.
const TEXT_HEIGHT: f32 = 112.0;
/// Height of the row with the blend mode, in points.
const BLEND_HEIGHT: f32 = 34.0;
/// Height of a layer in the list, and side of its small look, in points.
const LAYER_HEIGHT: f32 = 36.0;
const LOOK_SIDE: f32 = 32.0;

pub(crate) fn layers_panel(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let Some(document) = state.canvas.edited() else { return };
    let content = document.document.content();
    heading(ui, tr!("canvas-layers"), |ui| {
        icon_button(ui, state, commands, Icon::Plus, Command::AddLayer(LayerKind::Paint));
        icon_button(ui, state, commands, Icon::Mask, Command::AddLayer(LayerKind::Mask));
        icon_button(ui, state, commands, Icon::Text, Command::AddText);
        kinds_menu(ui, state, commands, &content.current_layer().kind);
        icon_button(ui, state, commands, Icon::Close, Command::ToggleLayers);
    });
    ScrollArea::vertical()
        .id_salt("layers scroll")
        .max_height(ui.available_height() - footer_height(document, content.current_layer()))
        .auto_shrink([false, true])
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 2.0;
            for (index, layer) in content.layers().iter().enumerate().rev() {
                ui.push_id(layer.id, |ui| dragged_row(ui, state, commands, layer, index));
            }
        });
    let current = content.current_layer();
    words_field(ui, state, commands, current);
    text_field(ui, commands, document, current);
    if current.kind.is_picture() {
        blend_row(ui, state, commands, current);
    }
    let mut opacity = f32::from(current.opacity) / 255.0;
    ui.horizontal(|ui| {
        let palette = theme::palette(ui);
        ui.label(RichText::new(tr!("canvas-opacity")).size(theme::SMALL).color(palette.weak));
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
        icon_button(ui, state, commands, Icon::Merge, Command::MergeDown);
        icon_button(ui, state, commands, Icon::Minus, Command::RemoveLayer);
        if current.kind == LayerKind::Mask {
            command_control(ui, state, commands, Command::InvertMask, |ui| {
                ui.button(tr!("canvas-invert")).accessible_name(Command::InvertMask.label())
            });
        }
    });
}

/// Height of what is under the list, in points.
fn footer_height(document: &OpenDocument, layer: &Layer) -> f32 {
    let words = if matches!(layer.kind, LayerKind::Region { .. }) { WORDS_HEIGHT } else { 0.0 };
    let text = if document.text_of(layer).is_some() { TEXT_HEIGHT } else { 0.0 };
    let blend = if layer.kind.is_picture() { BLEND_HEIGHT } else { 0.0 };
    76.0 + words + text + blend
}

/// The menu of kinds of layers: to add one, and to use the current one otherwise.
fn kinds_menu(ui: &mut Ui, state: &State, commands: &mut Commands, current: &LayerKind) {
    let button = bare_icon(ui, Icon::Dots, tr!("canvas-layer-types")).on_hover_text(tr!("canvas-add-other-layers-or"));
    Popup::menu(&button).accessible_name(tr!("canvas-layer-types")).show(|ui| {
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
        .layouter(bidi::layouter())
        .id(Id::unique(("words of a region", layer.id)))
        .hint_text(tr!("canvas-prompt-of-this-region"))
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

/// The words that a layer shows, their size and colour.
fn text_field(ui: &mut Ui, commands: &mut Commands, document: &OpenDocument, layer: &Layer) {
    let Some(text) = document.text_of(layer) else { return };
    let mut changed = text.clone();
    let command = Command::SetText(layer.id, LayerText::default());
    ui.add_space(4.0);
    let edit = TextEdit::multiline(&mut changed.words)
        .layouter(bidi::layouter())
        .id(Id::unique(("text of a layer", layer.id)))
        .hint_text(tr!("canvas-text-2"))
        .desired_rows(2)
        .desired_width(f32::INFINITY)
        .char_limit(LayerText::MAX_WORDS)
        .margin(Margin::symmetric(8, 6));
    let response =
        ScrollArea::vertical().id_salt("text scroll").max_height(64.0).auto_shrink([false, true]).show(ui, |ui| ui.add(edit)).inner;
    let typed = response.on_hover_text_at_pointer(command.tooltip()).accessible_name(command.label());
    let mut is_let_go = typed.lost_focus();
    ui.horizontal(|ui| {
        let size = widgets::whole_number(&mut changed.size, LayerText::SIZES.0..=LayerText::SIZES.1).suffix(" px");
        let size = ui.add(size).on_hover_text(tr!("canvas-size-of-the-font")).accessible_name(tr!("canvas-font-size"));
        is_let_go |= size.drag_stopped() || size.lost_focus();
        widgets::colour_button(ui, &mut changed.colour)
            .on_hover_text(tr!("canvas-colour-of-the-text"))
            .accessible_name(tr!("canvas-colour-of-the-text-2"));
    });
    if changed != *text {
        commands.push(Command::SetText(layer.id, changed));
    }
    if is_let_go {
        commands.push(Command::Release);
    }
}

/// How a layer's colours meet those below, and whether its transparent parts stay so.
fn blend_row(ui: &mut Ui, state: &State, commands: &mut Commands, layer: &Layer) {
    let palette = theme::palette(ui);
    let mut chosen = Commands::default();
    let left = |ui: &mut Ui| {
        ui.label(RichText::new(tr!("canvas-blend")).size(theme::SMALL).color(palette.weak));
        let command = Command::SetBlend(layer.id, layer.blend);
        let mut blend = layer.blend;
        let menu = ComboBox::from_id_salt("blend mode").selected_text(blend.label()).width(ui.available_width());
        let response = menu.show_ui(ui, |ui| {
            for mode in BlendMode::ALL {
                ui.selectable_value(&mut blend, mode, mode.label());
            }
        });
        response.response.on_hover_text(command.tooltip()).accessible_name(command.label());
        if blend != layer.blend {
            commands.push(Command::SetBlend(layer.id, blend));
        }
    };
    let right = |ui: &mut Ui| {
        let command = Command::SetAlphaLocked(layer.id, !layer.alpha_locked);
        let name = format!("{}: {}", command.label(), layer.name);
        command_control(ui, state, &mut chosen, command, |ui| {
            let response = bare_icon(ui, Icon::Checks, &name);
            if layer.alpha_locked {
                ui.painter().rect_stroke(response.rect, theme::RADIUS, Stroke::new(1.5, palette.accent), StrokeKind::Inside);
            }
            response
        });
    };
    widgets::row_of_sides(ui, ROW_HEIGHT, "blend", left, right);
    commands.append(chosen);
}

/// A layer of the list, which can be dragged to another place in it.
fn dragged_row(ui: &mut Ui, state: &State, commands: &mut Commands, layer: &Layer, index: usize) {
    let row = ui.scope(|ui| row(ui, state, commands, layer)).response;
    let Some(pointer) = ui.ctx().pointer_interact_pos().filter(|at| row.rect.contains(*at)) else { return };
    let Some(dragged) = DragAndDrop::payload::<LayerId>(ui.ctx()).filter(|dragged| **dragged != layer.id) else { return };
    // The list begins with the uppermost layer.
    let is_above = pointer.y < row.rect.center().y;
    let line = if is_above { row.rect.top() - 1.0 } else { row.rect.bottom() + 1.0 };
    ui.painter().hline(row.rect.x_range(), line, Stroke::new(2.0, theme::palette(ui).accent));
    if ui.input(|input| input.pointer.any_released()) && DragAndDrop::take_payload::<LayerId>(ui.ctx()).is_some() {
        let document = state.canvas.edited();
        let layers = document.map(|document| document.document.content().layers()).unwrap_or_default();
        let Some(from) = layers.iter().position(|it| it.id == *dragged) else { return };
        // Taken out of the list first, it leaves a place below those above it.
        let gap = index + usize::from(is_above);
        commands.push(Command::MoveLayer(*dragged, if from < gap { gap - 1 } else { gap }));
    }
}

fn row(ui: &mut Ui, state: &State, commands: &mut Commands, layer: &Layer) {
    let palette = theme::palette(ui);
    let is_current = state.canvas.edited().is_some_and(|document| document.document.content().current() == layer.id);
    let mut chosen = Commands::default();
    let right = |ui: &mut Ui| {
        let commands = &mut chosen;
        ui.spacing_mut().item_spacing.x = 2.0;
        ui.add_space(2.0);
        let eye = if layer.visible { Icon::Eye } else { Icon::EyeClosed };
        let command = Command::SetVisible(layer.id, !layer.visible);
        let name = format!("{}: {}", command.label(), layer.name);
        command_control(ui, state, commands, command, |ui| bare_icon(ui, eye, &name));
        let lock = if layer.locked { Icon::Locked } else { Icon::Unlocked };
        let command = Command::SetLocked(layer.id, !layer.locked);
        let name = format!("{}: {}", command.label(), layer.name);
        command_control(ui, state, commands, command, |ui| bare_icon(ui, lock, &name));
    };
    let left = |ui: &mut Ui| {
        let wide = ui.available_width();
        if let Some((_, text)) = state.canvas.renaming.as_ref().filter(|(id, _)| *id == layer.id) {
            let mut typed = text.clone();
            let response = line_edit_with_undo(ui, wide, TextEdit::singleline(&mut typed).char_limit(80));
            let response = response.on_hover_text(tr!("canvas-name-of-this-layer")).accessible_name(tr!("canvas-name-of-the-layer"));
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
        let (wide, place) = (wide - LOOK_SIDE - 4.0, ui.available_rect_before_wrap().left_center() + vec2(LOOK_SIDE / 2.0, 0.0));
        ui.add_space(LOOK_SIDE + 4.0);
        let response = command_control(ui, state, commands, Command::SelectLayer(layer.id), |ui| {
            let button = Button::selectable(is_current, RichText::new(&layer.name).color(colour))
                .truncate()
                .right_text("")
                .sense(Sense::click_and_drag())
                .min_size(vec2(wide, LAYER_HEIGHT - 6.0));
            let kind = layer.kind.label();
            let hover = tr!("canvas-double-click-to-rename", kind, name = layer.name);
            ui.add_sized(vec2(wide, LAYER_HEIGHT - 6.0), button)
                .on_hover_text(hover)
                .accessible_name(tr!("canvas-layer-2", name = layer.name))
        });
        response.dnd_set_drag_payload(layer.id);
        let look = Rect::from_center_size(place, vec2(LOOK_SIDE, LOOK_SIDE));
        // The button has the name; its picture is taken hold of alike.
        let on_look = ui.interact(look, ui.scope_id().with("look"), Sense::CLICK | Sense::DRAG);
        on_look.dnd_set_drag_payload(layer.id);
        if on_look.clicked() {
            commands.push(Command::SelectLayer(layer.id));
        }
        ui.painter().rect_filled(look, 3.0, palette.control);
        if let Some(texture) = state.canvas.edited().and_then(|document| document.looks.layer(layer.id)) {
            ui.painter().image(
                texture.id(),
                fitted(look, texture.size_vec2()),
                Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0)),
                theme::UNTINTED,
            );
        }
        if response.double_clicked() {
            commands.push(Command::EditName(Some((layer.id, layer.name.clone()))));
        }
    };
    widgets::row_of_sides(ui, LAYER_HEIGHT, "layer", left, right);
    commands.append(chosen);
}

/// The largest rectangle of a shape in the middle of another.
fn fitted(rect: Rect, shape: Vec2) -> Rect {
    let scale = (rect.width() / shape.x.max(1.0)).min(rect.height() / shape.y.max(1.0));
    Rect::from_center_size(rect.center(), shape * scale)
}
