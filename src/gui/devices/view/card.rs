//! Card of a module: one half for its runtime device, one for its weights. Buttons, keys and menus.

use eframe::egui::{
    Color32, EventFilter, Id, Key, Popup, PopupCloseBehavior, Rect, Response, RichText, Role, Sense, Ui, WidgetInfo, pos2, vec2,
};

use crate::gui::command::Commands;
use crate::gui::devices::board::{Board, CardMove, CardPart, MoveOutcome};
use crate::gui::devices::command::Command;
use crate::gui::devices::view::budget;
use crate::gui::devices::view::card_paint::{BUTTON, CardContent, focus_ring, paint_runtime, paint_weights};
use crate::gui::devices::view::names::place_name;
use crate::gui::devices::view::studio_column;
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::icons::Icon;
use crate::gui::state::State;
use crate::gui::{icons, theme};
use atelier_core::format::memory_size;
use atelier_core::placement::{Module, WeightLocation};
use atelier_language::tr;

/// A budget is changed by several clicks; each entry that is chosen closes the menu itself.
const MENU_CLOSES: PopupCloseBehavior = PopupCloseBehavior::CloseOnClickOutside;

/// Shows the runtime half of a card with its buttons, menus and keys.
pub(crate) fn runtime_half(
    ui: &mut Ui,
    state: &State,
    commands: &mut Commands,
    module: Module,
    rect: Rect,
    content: &CardContent,
) -> Response {
    let palette = theme::palette(ui);
    let board = &state.devices.board;
    let id = Id::unique(("card", module));
    let response = ui.interact(rect, id, Sense::click_and_drag());
    let Some(assignment) = board.placement.as_ref().map(|it| it.assignment(module).clone()) else { return response };
    let pinned = board.pins.contains(&module);
    let takes = content.compute.map_or_else(String::new, |bytes| tr!("devices-of-compute", bytes = memory_size(bytes)));
    let name = tr!(
        "devices-runs-on",
        title = content.title,
        runs_on = assignment.runs_on,
        takes,
        pinned = if pinned { tr!("devices-pinned") } else { "" }
    );
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &name));
    paint_runtime(ui.painter(), rect, content, &palette, false, response.hovered());
    focus_ring(ui, &response, rect, &palette);
    keys(ui, state, commands, module, CardPart::Runtime, &response);

    let dots = Rect::from_min_size(pos2(rect.right() - BUTTON - 3.0, rect.top() + 3.0), vec2(BUTTON, BUTTON));
    let dots = small_button(ui, dots, id.with("menu"), Icon::Dots, &tr!("devices-placement-of-the", module = module.label()), palette.weak);
    let pin = dots.rect.translate(vec2(-BUTTON, 0.0));
    let (icon, color) = if pinned { (Icon::Pinned, palette.accent) } else { (Icon::Pin, palette.weak) };
    let module_name = module.label();
    let pin_name = if pinned { tr!("devices-unpin-the", module = module_name) } else { tr!("devices-pin-the", module = module_name) };
    let pin = small_button(ui, pin, id.with("pin"), icon, &pin_name, color);
    let command = Command::TogglePin(module);
    let hint = if pinned { tr!("devices-pinned-suggestions-do-not-move-this") } else { tr!("devices-pin-suggestions-do-not") };
    if pin.on_hover_text(hint).clicked() {
        commands.push(command);
    }
    let entries = |ui: &mut Ui, commands: &mut Commands| menu(ui, state, commands, module, pinned);
    let dots = dots.on_hover_text(tr!("devices-choose-the-device-of"));
    let menu_name = tr!("devices-placement-of-the", module = module.label());
    for menu in
        [Popup::menu(&dots), Popup::menu(&response).id(id.with("click menu")), Popup::context_menu(&response).id(id.with("context menu"))]
    {
        menu.close_behavior(MENU_CLOSES).accessible_name(&menu_name).show(|ui| entries(ui, commands));
    }
    if !response.dragged() {
        response.clone().on_hover_text(tr!("devices-drag-to-another-device"));
    }
    response
}

/// Shows the weights half of a card with its menu and keys.
pub(crate) fn weights_half(
    ui: &mut Ui,
    state: &State,
    commands: &mut Commands,
    module: Module,
    rect: Rect,
    content: &CardContent,
) -> Response {
    let palette = theme::palette(ui);
    let response = ui.interact(rect, Id::unique(("weights", module)), Sense::click_and_drag());
    let Some(assignment) = state.devices.board.placement.as_ref().map(|it| it.assignment(module).clone()) else { return response };
    let takes = content.weights.map_or_else(String::new, |bytes| format!(", {}", memory_size(bytes)));
    let name = tr!(
        "devices-weights-of-the-are",
        module = module.label(),
        place_name = place_name(&state.devices.board, &assignment.weights),
        takes
    );
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &name));
    paint_weights(ui.painter(), rect, content, &palette, false, response.hovered());
    focus_ring(ui, &response, rect, &palette);
    keys(ui, state, commands, module, CardPart::Weights, &response);
    let pinned = state.devices.board.pins.contains(&module);
    let menu_name = tr!("devices-placement-of-the", module = module.label());
    let popup = Popup::menu(&response).close_behavior(MENU_CLOSES).accessible_name(&menu_name);
    popup.show(|ui| menu(ui, state, commands, module, pinned));
    if !response.dragged() {
        response.clone().on_hover_text(tr!("devices-drag-the-weights-to"));
    }
    response
}

fn small_button(ui: &Ui, rect: Rect, id: Id, icon: Icon, name: &str, color: Color32) -> Response {
    let palette = theme::palette(ui);
    let response = ui.interact(rect, id, Sense::click());
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, name));
    if response.hovered() || response.has_focus() {
        ui.painter().rect_filled(rect, 5.0, palette.control_hover);
    }
    let color = if response.hovered() { palette.strong } else { color };
    icons::paint(ui.painter(), rect, icon, color);
    response
}

/// Keys of the focused card: arrows move it, P pins it. Right of all devices are the other studios,
/// which take the whole model.
fn keys(ui: &Ui, state: &State, commands: &mut Commands, module: Module, own: CardPart, response: &Response) {
    if !response.has_focus() {
        return;
    }
    ui.memory_mut(|it| it.set_focus_lock_filter(response.id, EventFilter { horizontal_arrows: true, ..EventFilter::default() }));
    let (left, right, shift, pin) = ui.input(|input| {
        (input.key_pressed(Key::ArrowLeft), input.key_pressed(Key::ArrowRight), input.modifiers.shift, input.key_pressed(Key::P))
    });
    if pin {
        commands.push(Command::TogglePin(module));
    }
    if left == right {
        return;
    }
    let part = if shift { CardPart::Weights } else { own };
    if let Some(card_move) = next_move(&state.devices.board, module, part, right) {
        commands.push(Command::Move(card_move));
    } else if right && part == CardPart::Runtime {
        studio_column::move_to_next(state, commands, right);
    }
}

/// Move to the next possible place on the right or on the left.
fn next_move(board: &Board, module: Module, part: CardPart, to_the_right: bool) -> Option<CardMove> {
    let assignment = board.placement.as_ref()?.assignment(module);
    let locations: Vec<WeightLocation> = locations(board);
    let now = locations.iter().position(|location| match part {
        CardPart::Runtime => location.is(&assignment.runs_on),
        CardPart::Weights => *location == assignment.weights,
    })?;
    let moves =
        |locations: &[WeightLocation]| -> Vec<CardMove> { locations.iter().map(|to| CardMove { module, part, to: to.clone() }).collect() };
    let candidates = if to_the_right { moves(locations.get(now + 1..)?) } else { moves(locations.get(..now)?).into_iter().rev().collect() };
    candidates.into_iter().find(|card_move| board.outcome(card_move).is_allowed())
}

/// Places with a column, from left to right.
pub(crate) fn locations(board: &Board) -> Vec<WeightLocation> {
    board.columns().into_iter().map(|device| WeightLocation::Device(device.name.clone())).chain([WeightLocation::Disk]).collect()
}

/// Menu of all places for a card.
fn menu(ui: &mut Ui, state: &State, commands: &mut Commands, module: Module, pinned: bool) {
    let (palette, board) = (theme::palette(ui), &state.devices.board);
    ui.set_min_width(220.0);
    ui.spacing_mut().button_padding = vec2(8.0, 3.0);
    for (part, heading) in [(CardPart::Runtime, tr!("devices-runs-on-2")), (CardPart::Weights, tr!("devices-weights-in"))] {
        ui.label(RichText::new(heading).color(palette.weak).size(theme::SMALL));
        for to in locations(board) {
            if part == CardPart::Runtime && to == WeightLocation::Disk {
                continue;
            }
            let card_move = CardMove { module, part, to };
            let outcome = board.outcome(&card_move);
            let note = match outcome {
                MoveOutcome::Unchanged | MoveOutcome::Fits => String::new(),
                MoveOutcome::Exceeds(bytes) => tr!("devices-too-much", bytes = memory_size(bytes)),
                MoveOutcome::Impossible(_) => tr!("devices-not-now").to_owned(),
            };
            let name = place_name(board, &card_move.to);
            let button = eframe::egui::Button::selectable(outcome == MoveOutcome::Unchanged, &name)
                .right_text(RichText::new(&note).color(palette.warn).size(theme::SMALL))
                .min_size(vec2(210.0, 24.0));
            let response =
                ui.add_enabled(!matches!(outcome, MoveOutcome::Impossible(_)), button).accessible_name(format!("{heading} {name}"));
            let response = match outcome {
                MoveOutcome::Impossible(reason) => response.on_disabled_hover_text(reason),
                _ => response.on_hover_text(Command::Move(card_move.clone()).tooltip()),
            };
            if response.clicked() {
                if outcome.is_allowed() {
                    commands.push(Command::Move(card_move));
                }
                ui.close();
            }
        }
        ui.separator();
    }
    budget::module_budget(ui, board, commands, module);
    if studio_column::entries(ui, state, commands) {
        ui.separator();
    }
    let command = Command::TogglePin(module);
    let pin = ui.add(eframe::egui::Button::selectable(pinned, command.label()).min_size(vec2(210.0, 24.0)));
    if pin.on_hover_text(command.tooltip()).clicked() {
        commands.push(command);
        ui.close();
    }
}
