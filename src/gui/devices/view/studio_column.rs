//! Column of another studio, which takes whole models: what is known of it, the model that stands
//! there, and those that it offers.

use atelier_language::tr;
use atelier_peers::KeptStudio;
use atelier_studio::studio_model::StudioModel;
use eframe::egui::{
    Align, Align2, Button, CursorIcon, DragAndDrop, EventFilter, FontId, Id, Key, Label, LayerId, Layout, Order, Popup, PopupAnchor, Rect,
    Response, Role, ScrollArea, Sense, Stroke, StrokeKind, Tooltip, Ui, UiBuilder, Vec2, WidgetInfo, vec2,
};

use crate::gui::command::Commands;
use crate::gui::devices::view::card_paint::{RUNTIME_HEIGHT, focus_ring, paint_model};
use crate::gui::devices::view::grid::Grid;
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::state::State;
use crate::gui::studios::Command;
use crate::gui::studios::view::{ask_again, offered_models, state_of};
use crate::gui::theme;
use crate::gui::widgets::{bold, command_button, command_control, small};
use atelier_core::placement::WeightLocation;

/// Least height of the list of models, in points.
const MIN_LIST_HEIGHT: f32 = 80.0;
/// Width of a menu's entries and height of one, in points.
const ENTRY: Vec2 = vec2(210.0, 24.0);

/// Payload of a drag: the card of the model that another studio has.
#[derive(Clone, Copy, Debug)]
struct DraggedModel {
    /// Offset of the pointer from the card's corner.
    pointer_offset: Vec2,
    size: Vec2,
}

/// Draws the column of a studio.
pub(crate) fn column(ui: &mut Ui, state: &State, commands: &mut Commands, studio: &KeptStudio, rect: Rect) {
    let inside = UiBuilder::new().id_salt(("studio column", &studio.name)).max_rect(rect.shrink2(vec2(12.0, 9.0)));
    let mut ui = ui.new_child(inside.layout(Layout::top_down(Align::LEFT)));
    let ui = &mut ui;
    ui.spacing_mut().item_spacing = vec2(4.0, 5.0);
    let palette = theme::palette(ui);
    let is_reached = state.studios.trouble_of(studio).is_none();
    let title = bold(&studio.name).size(theme::BODY).color(if is_reached { palette.strong } else { palette.weak });
    ui.add(Label::new(title).truncate()).on_hover_text(studio.address.to_string());
    if state.studios.is_reached(studio) {
        ui.label(small(tr!("devices-reachable"), palette.good));
    }
    state_of(ui, state, studio);
    ask_again(ui, state, commands, studio);
    ui.add(Label::new(small(tr!("devices-takes-whole-models"), palette.weak)).wrap());
    if let Some(chosen) = state.shared.next.studio.as_ref().filter(|it| it.studio == studio.name) {
        model_card(ui, state, commands, chosen);
    }
    if state.studios.placing.as_ref() == Some(&studio.name) && state.studios.offered_by(studio).is_some() {
        let names = state.shared.model_names();
        // Another model may be chosen by now.
        if let Some(model) = names.first().filter(|_| state.studios.same_model(studio, &names).is_none()) {
            ui.add(Label::new(small(tr!("studios-it-has-no-model-named", model), palette.warn)).wrap());
            command_button(ui, state, commands, Command::DismissOffer);
        }
    }
    if state.studios.offered_by(studio).is_some_and(|it| !it.is_empty()) {
        ui.label(small(tr!("devices-its-models"), palette.weak));
        let height = ui.available_height().max(MIN_LIST_HEIGHT);
        ScrollArea::vertical().max_height(height).show(ui, |ui| offered_models(ui, state, commands, studio));
    }
}

/// The card of the model that a studio has, with its menu and keys.
fn model_card(ui: &mut Ui, state: &State, commands: &mut Commands, chosen: &StudioModel) {
    let palette = theme::palette(ui);
    let (_, rect) = ui.allocate_space(vec2(ui.available_width(), RUNTIME_HEIGHT));
    // Wherever it stands it is the same card, which keeps the keyboard.
    let response = ui.interact(rect, Id::unique("model of a studio"), Sense::click_and_drag());
    let name = tr!("devices-model-runs-on", model = chosen.model, studio = chosen.studio);
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &name));
    let dragged = DragAndDrop::payload::<DraggedModel>(ui.ctx());
    let words = tr!("devices-whole-model");
    paint_model(ui.painter(), rect, &chosen.model, words, &palette, false, response.hovered());
    focus_ring(ui, &response, rect, &palette);
    keys(ui, state, commands, &response);
    Popup::menu(&response).accessible_name(&name).show(|ui| {
        ui.set_min_width(ENTRY.x);
        entries(ui, state, commands);
        ui.separator();
        let own = Command::UseOwn;
        let entry = Button::selectable(false, own.label()).min_size(ENTRY);
        if command_control(ui, state, commands, own, |ui| ui.add(entry)).clicked() {
            ui.close();
        }
    });
    if response.drag_started()
        && let Some(pointer) = response.interact_pointer_pos()
    {
        response.dnd_set_drag_payload(DraggedModel { pointer_offset: pointer - rect.min, size: rect.size() });
    }
    let pointer = ui.input(|input| input.pointer.latest_pos());
    if let (Some(dragged), Some(pointer)) = (dragged, pointer) {
        let painter = ui.ctx().layer_painter(LayerId::new(Order::Tooltip, Id::unique("lifted card")));
        let lifted = Rect::from_min_size(pointer - dragged.pointer_offset, dragged.size);
        paint_model(&painter, lifted, &chosen.model, words, &palette, true, false);
        ui.ctx().request_repaint();
    } else {
        response.on_hover_text(tr!("devices-drag-the-model-to"));
    }
}

fn keys(ui: &Ui, state: &State, commands: &mut Commands, response: &Response) {
    if !response.has_focus() {
        return;
    }
    ui.memory_mut(|it| it.set_focus_lock_filter(response.id, EventFilter { horizontal_arrows: true, ..EventFilter::default() }));
    let (left, right) = ui.input(|input| (input.key_pressed(Key::ArrowLeft), input.key_pressed(Key::ArrowRight)));
    if left != right {
        move_to_next(state, commands, right);
    }
}

/// Moves the whole model to the next studio that takes it; left of all studios is this computer.
pub(crate) fn move_to_next(state: &State, commands: &mut Commands, to_the_right: bool) {
    let next = &state.shared.next.studio;
    let names: Vec<&str> = state.studios.kept.iter().map(|studio| studio.name.as_str()).collect();
    let now = next.as_ref().and_then(|chosen| names.iter().position(|name| *name == chosen.studio));
    let takes = |name: &&&str| place_on(name).enabled(&state.studios, &state.shared).is_ok();
    let (before, after) = names.split_at(now.unwrap_or(0));
    let found = if to_the_right { after.iter().find(takes) } else { before.iter().rev().find(takes) };
    if let Some(name) = found {
        commands.push(place_on(name));
    } else if !to_the_right && next.is_some() {
        commands.push(Command::UseOwn);
    }
}

/// An entry for each studio that may take the whole model; false where there is none.
pub(crate) fn entries(ui: &mut Ui, state: &State, commands: &mut Commands) -> bool {
    let mut has_any = false;
    let heading = tr!("devices-whole-model-on");
    for studio in state.studios.kept.iter() {
        if !has_any {
            ui.label(small(heading, theme::palette(ui).weak));
            has_any = true;
        }
        let is_there = state.shared.next.studio.as_ref().is_some_and(|it| it.studio == studio.name);
        let entry = Button::selectable(is_there, studio.name.as_str()).truncate().min_size(ENTRY);
        let name = format!("{heading} {}", studio.name);
        if command_control(ui, state, commands, place_on(&studio.name), |ui| ui.add(entry).accessible_name(name)).clicked() {
            ui.close();
        }
    }
    has_any
}

fn place_on(studio: &str) -> Command {
    Command::PlaceOn(studio.to_owned())
}

/// The studios as places for the model of which a card is dragged.
pub(crate) fn drop_zones(ui: &Ui, state: &State, commands: &mut Commands, grid: &Grid) {
    for (name, rect) in &grid.studios {
        let command = place_on(name);
        if state.shared.next.studio.as_ref().is_some_and(|it| it.studio == *name) {
            continue;
        }
        let trouble = state.studios.kept.named(name).and_then(|studio| state.studios.trouble_of(studio)).map(ToString::to_string);
        let refusal = trouble.or_else(|| command.enabled(&state.studios, &state.shared).err().map(str::to_owned));
        if is_dropped_on(ui, *rect, refusal.as_deref()) {
            commands.push(command);
        }
    }
}

/// All columns as places for the card of a whole model, while it is dragged: any device of this
/// computer brings it back.
pub(crate) fn drop_zones_of_model(ui: &Ui, state: &State, commands: &mut Commands, grid: &Grid) {
    if !DragAndDrop::has_payload_of_type::<DraggedModel>(ui.ctx()) {
        return;
    }
    for (location, rect) in &grid.columns {
        let refusal = (*location == WeightLocation::Disk).then(|| tr!("devices-a-disk-only-stores"));
        if is_dropped_on(ui, rect.with_min_y(grid.rows_top), refusal) {
            commands.push(Command::UseOwn);
        }
    }
    drop_zones(ui, state, commands, grid);
}

/// Paints a column as the place of a whole model, or says why it is none. True where one is let go
/// in it.
fn is_dropped_on(ui: &Ui, column: Rect, refusal: Option<&str>) -> bool {
    let palette = theme::palette(ui);
    let (pointer, is_released) = ui.input(|input| (input.pointer.latest_pos(), input.pointer.any_released()));
    let is_pointed = pointer.is_some_and(|pointer| ui.clip_rect().contains(pointer) && column.x_range().contains(pointer.x));
    let (words, color) = match refusal {
        None => (tr!("devices-generate-here"), palette.accent),
        Some(_) => (tr!("devices-not-here"), palette.weak),
    };
    let rect = column.shrink(3.0);
    let painter = ui.painter();
    painter.rect_filled(rect, 9.0, color.gamma_multiply(if is_pointed { 0.30 } else { 0.08 }));
    painter.rect_stroke(rect, 9.0, Stroke::new(if is_pointed { 2.0 } else { 1.0 }, color), StrokeKind::Inside);
    let text = if is_pointed { palette.strong } else { palette.text };
    let at = rect.center_bottom() - vec2(0.0, 16.0);
    painter.with_clip_rect(rect.intersect(painter.clip_rect())).text(
        at,
        Align2::CENTER_CENTER,
        words,
        FontId::proportional(theme::SMALL),
        text,
    );
    if is_pointed {
        ui.ctx().set_cursor_icon(if refusal.is_none() { CursorIcon::Grabbing } else { CursorIcon::NoDrop });
        if let Some(reason) = refusal {
            Tooltip::always_open(ui.ctx().clone(), ui.layer_id(), Id::unique("why not"), PopupAnchor::Pointer).show(|ui| ui.label(reason));
        }
    }
    is_pointed && is_released && refusal.is_none()
}
