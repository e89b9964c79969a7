//! Card of a module: one half for its runtime device, one for its weights. Painting, keys and menus.

use eframe::egui::{
    Align2, Color32, CornerRadius, EventFilter, FontId, Id, Key, Painter, Popup, Rect, Response, RichText, Role, Sense, Shape, Stroke,
    StrokeKind, Ui, WidgetInfo, pos2, vec2,
};

use crate::gui::devices::board::{Board, Command, CardMove, CardPart, MoveOutcome};
use crate::gui::icons;
use crate::gui::icons::Icon;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::theme::Palette;
use crate::gui::command::{Command, Commands};
use atelier_core::format::memory_size;
use atelier_core::placement::{Home, Module};
use atelier_core::sentences::capitalized;

/// Height of the runtime half, in points.
pub(crate) const RUNTIME_HEIGHT: f32 = 46.0;
/// Height of the weights half, in points.
pub(crate) const WEIGHTS_HEIGHT: f32 = 27.0;
/// Side of a small button on a card, in points.
const BUTTON: f32 = 22.0;
const RADIUS: u8 = 7;

/// Content of a card, taken from the board.
#[derive(Clone, Debug)]
pub(crate) struct CardContent {
    pub(crate) title: String,
    pub(crate) label: &'static str,
    /// Bytes of compute buffers; `None` if not known.
    pub(crate) compute: Option<u64>,
    /// Bytes of weights copied to the runtime device.
    pub(crate) staged: u64,
    /// Weights are copied in pieces.
    pub(crate) in_pieces: bool,
    pub(crate) weights: Option<u64>,
    pub(crate) on_disk: bool,
    /// Both halves are on one device.
    pub(crate) joined: bool,
    pub(crate) dim: bool,
}

impl CardContent {
    pub(crate) fn of(board: &Board, module: Module) -> Option<Self> {
        let seat = board.placement.as_ref()?.seat(module);
        let predicted = board.prediction.as_ref().and_then(|it| it.modules.get(&module));
        Some(Self {
            title: title(module),
            label: module.label(),
            compute: predicted.map(|it| it.compute_bytes),
            staged: predicted.map_or(0, |it| if it.weights.is(&it.runs_on) { 0 } else { it.staged_bytes }),
            in_pieces: predicted.is_some_and(|it| it.in_pieces),
            weights: predicted.map(|it| it.weight_bytes),
            on_disk: seat.weights == Home::Disk,
            joined: seat.weights.is(&seat.runs_on),
            dim: board.estimate_pending,
        })
    }
}

/// Name of a module with a capital.
pub(crate) fn title(module: Module) -> String {
    capitalized(module.label())
}

/// Name of a place for weights.
pub(crate) fn place(board: &Board, home: &Home) -> String {
    match home {
        Home::Disk => "Disk".to_owned(),
        Home::Device(name) => {
            board.devices.iter().find(|it| it.name == *name).map_or_else(|| name.clone(), crate::gui::devices::view::column::title)
        }
    }
}

const fn corners(top: bool, bottom: bool) -> CornerRadius {
    let (top, bottom) = (if top { RADIUS } else { 0 }, if bottom { RADIUS } else { 0 });
    CornerRadius { nw: top, ne: top, sw: bottom, se: bottom }
}

/// Paints the runtime half.
pub(crate) fn paint_runs(painter: &Painter, rect: Rect, content: &CardContent, palette: &Palette, lifted: bool, hot: bool) {
    let fill = if hot || lifted { palette.control } else { palette.raised };
    let corner = corners(true, !content.joined);
    if lifted {
        painter.rect_filled(rect.translate(vec2(0.0, 5.0)).expand(2.0), corner, palette.shadow);
    }
    painter.rect(rect, corner, fill, Stroke::new(1.0, if lifted { palette.accent } else { palette.line }), StrokeKind::Inside);
    let color = |color: Color32| if content.dim { palette.weak } else { color };
    let inside = painter.with_clip_rect(rect.with_max_x(rect.right() - 2.0 * BUTTON - 2.0).intersect(painter.clip_rect()));
    let left = rect.left() + 11.0;
    let name = painter.layout_job(theme::bold_job(&content.title, theme::BODY, palette.strong));
    inside.galley(pos2(left, rect.top() + 6.0), name, palette.strong);
    let line = painter.with_clip_rect(rect.shrink(3.0).intersect(painter.clip_rect()));
    let y = rect.top() + 33.0;
    let mut x = left;
    match content.compute {
        Some(bytes) => {
            x = dotted(&line, pos2(x, y), palette.compute, &memory_size(bytes), color(palette.text));
            if content.staged > 0 {
                let words =
                    if content.in_pieces { format!("{} in pieces", memory_size(content.staged)) } else { memory_size(content.staged) };
                dotted(&line, pos2(x + 8.0, y), palette.staged, &words, color(palette.text));
            }
        }
        None => {
            line.text(pos2(x, y), Align2::LEFT_CENTER, "not known yet", FontId::proportional(theme::SMALL), palette.weak);
        }
    }
}

/// Paints the weights half.
pub(crate) fn paint_weights(painter: &Painter, rect: Rect, content: &CardContent, palette: &Palette, lifted: bool, hot: bool) {
    let fill = if hot || lifted { palette.control } else { palette.raised };
    let corner = corners(!content.joined, true);
    if lifted && !content.joined {
        painter.rect_filled(rect.translate(vec2(0.0, 5.0)).expand(2.0), corner, palette.shadow);
    }
    painter.rect(rect, corner, fill, Stroke::new(1.0, if lifted { palette.accent } else { palette.line }), StrokeKind::Inside);
    let line = painter.with_clip_rect(rect.shrink(3.0).intersect(painter.clip_rect()));
    let words = match content.weights {
        Some(bytes) if content.joined => format!("{} weights", memory_size(bytes)),
        Some(bytes) => format!("{} {}", memory_size(bytes), content.label),
        None => "weights".to_owned(),
    };
    let color = if content.dim { palette.weak } else { palette.text };
    let dot = if content.on_disk { palette.weak } else { palette.resident };
    dotted(&line, pos2(rect.left() + 11.0, rect.center().y), dot, &words, color);
}

/// Paints a dot in a colour of the legend, and words; returns the right end of the words.
fn dotted(painter: &Painter, at: eframe::egui::Pos2, dot: Color32, words: &str, color: Color32) -> f32 {
    painter.rect_filled(Rect::from_center_size(at + vec2(4.0, 0.0), vec2(8.0, 8.0)), 2.0, dot);
    painter.text(at + vec2(12.0, 0.0), Align2::LEFT_CENTER, words, FontId::proportional(theme::SMALL), color).right()
}

/// Paints a planned card, dashed.
pub(crate) fn paint_ghost(painter: &Painter, rect: Rect, words: &str, palette: &Palette) {
    let rect = rect.shrink(1.0);
    painter.rect_filled(rect, RADIUS, palette.accent.gamma_multiply(0.12));
    let corners = [rect.left_top(), rect.right_top(), rect.right_bottom(), rect.left_bottom(), rect.left_top()];
    painter.extend(Shape::dashed_line(&corners, Stroke::new(1.5, palette.accent), 5.0, 4.0));
    let inside = painter.with_clip_rect(rect.shrink(3.0).intersect(painter.clip_rect()));
    inside.text(pos2(rect.left() + 10.0, rect.center().y), Align2::LEFT_CENTER, words, FontId::proportional(theme::SMALL), palette.text);
}

/// Shows the runtime half of a card with its buttons, menus and keys.
pub(crate) fn runs(ui: &mut Ui, state: &State, commands: &mut Commands, module: Module, rect: Rect, content: &CardContent) -> Response {
    let palette = theme::palette(ui);
    let board = &state.devices.board;
    let id = Id::unique(("card", module));
    let response = ui.interact(rect, id, Sense::click_and_drag());
    let Some(seat) = board.placement.as_ref().map(|it| it.seat(module).clone()) else { return response };
    let pinned = board.pins.contains(&module);
    let takes = content.compute.map_or_else(String::new, |bytes| format!(", {} of compute", memory_size(bytes)));
    let name = format!("{} runs on {}{takes}{}", content.title, seat.runs_on, if pinned { ", pinned" } else { "" });
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &name));
    paint_runs(ui.painter(), rect, content, &palette, false, response.hovered());
    focus_ring(ui, &response, rect, &palette);
    keys(ui, board, commands, module, CardPart::Runtime, &response);

    let dots = Rect::from_min_size(pos2(rect.right() - BUTTON - 3.0, rect.top() + 3.0), vec2(BUTTON, BUTTON));
    let dots = small_button(ui, dots, id.with("menu"), Icon::Dots, &format!("Where the {} goes", module.label()), palette.weak);
    let pin = dots.rect.translate(vec2(-BUTTON, 0.0));
    let (icon, color) = if pinned { (Icon::Pinned, palette.accent) } else { (Icon::Pin, palette.weak) };
    let what = if pinned { "Unpin" } else { "Pin" };
    let pin = small_button(ui, pin, id.with("pin"), icon, &format!("{what} the {}", module.label()), color);
    let command = Command::Pin(module);
    let hint = if pinned {
        "Pinned: a suggestion leaves it where it is. Press P to let it go."
    } else {
        "Pin: a suggestion leaves it where it is. Press P on the card."
    };
    if pin.on_hover_text(hint).clicked() {
        commands.push(command);
    }
    let entries = |ui: &mut Ui, commands: &mut Commands| menu(ui, board, commands, module, pinned);
    let dots = dots.on_hover_text("Choose where it runs and where its weights live.");
    let menu_name = format!("Where the {} goes", module.label());
    Popup::menu(&dots).accessible_name(&menu_name).show(|ui| entries(ui, commands));
    Popup::menu(&response).id(id.with("click menu")).accessible_name(&menu_name).show(|ui| entries(ui, commands));
    Popup::context_menu(&response).id(id.with("context menu")).accessible_name(&menu_name).show(|ui| entries(ui, commands));
    if !response.dragged() {
        response.clone().on_hover_text("Drag it to another device, or press Enter. Arrow keys move it, with Shift its weights; P pins it.");
    }
    response
}

/// Shows the weights half of a card with its menu and keys.
pub(crate) fn weights(ui: &mut Ui, state: &State, commands: &mut Commands, module: Module, rect: Rect, content: &CardContent) -> Response {
    let palette = theme::palette(ui);
    let response = ui.interact(rect, Id::unique(("weights", module)), Sense::click_and_drag());
    let Some(seat) = state.devices.board.placement.as_ref().map(|it| it.seat(module).clone()) else { return response };
    let takes = content.weights.map_or_else(String::new, |bytes| format!(", {}", memory_size(bytes)));
    let name = format!("Weights of the {} live in {}{takes}", module.label(), place(&state.devices.board, &seat.weights));
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &name));
    paint_weights(ui.painter(), rect, content, &palette, false, response.hovered());
    focus_ring(ui, &response, rect, &palette);
    keys(ui, &state.devices.board, commands, module, CardPart::Weights, &response);
    let pinned = state.devices.board.pins.contains(&module);
    let menu_name = format!("Where the {} goes", module.label());
    Popup::menu(&response).accessible_name(&menu_name).show(|ui| menu(ui, &state.devices.board, commands, module, pinned));
    if !response.dragged() {
        response.clone().on_hover_text("Drag the weights to where they should live, or use the arrow keys.");
    }
    response
}

fn focus_ring(ui: &Ui, response: &Response, rect: Rect, palette: &Palette) {
    if response.has_focus() {
        ui.painter().rect_stroke(rect, RADIUS, Stroke::new(1.5, palette.accent), StrokeKind::Inside);
    }
}

fn small_button(ui: &Ui, rect: Rect, id: Id, icon: Icon, name: &str, color: Color32) -> Response {
    let palette = theme::palette(ui);
    let response = ui.interact(rect, id, Sense::click());
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, name));
    if response.hovered() || response.has_focus() {
        ui.painter().rect_filled(rect, 5.0, palette.control_hover);
    }
    let color = if response.hovered() { palette.strong } else { color };
    icons::paint(ui.painter(), rect, icon, Stroke::new(1.0, color));
    response
}

/// Keys of the focused card: arrows move it, P pins it.
fn keys(ui: &Ui, board: &Board, commands: &mut Commands, module: Module, own: CardPart, response: &Response) {
    if !response.has_focus() {
        return;
    }
    ui.memory_mut(|it| it.set_focus_lock_filter(response.id, EventFilter { horizontal_arrows: true, ..EventFilter::default() }));
    let (left, right, shift, pin) = ui.input(|input| {
        (input.key_pressed(Key::ArrowLeft), input.key_pressed(Key::ArrowRight), input.modifiers.shift, input.key_pressed(Key::P))
    });
    if pin {
        commands.push(Command::Pin(module));
    }
    if left != right
        && let Some(wanted) = beside(board, module, if shift { CardPart::Weights } else { own }, right)
    {
        commands.push(Command::Move(wanted));
    }
}

/// Move to the next possible place on the right or on the left.
fn beside(board: &Board, module: Module, part: CardPart, to_the_right: bool) -> Option<CardMove> {
    let seat = board.placement.as_ref()?.seat(module);
    let homes: Vec<Home> = homes(board);
    let now = homes.iter().position(|home| match part {
        CardPart::Runtime => home.is(&seat.runs_on),
        CardPart::Weights => *home == seat.weights,
    })?;
    let moves = |homes: &[Home]| -> Vec<CardMove> { homes.iter().map(|to| CardMove { module, part, to: to.clone() }).collect() };
    let candidates = if to_the_right { moves(homes.get(now + 1..)?) } else { moves(homes.get(..now)?).into_iter().rev().collect() };
    candidates.into_iter().find(|wanted| board.outcome(wanted).is_allowed())
}

/// Places with a column, from left to right.
pub(crate) fn homes(board: &Board) -> Vec<Home> {
    board.columns().into_iter().map(|device| Home::Device(device.name.clone())).chain([Home::Disk]).collect()
}

/// Menu of all places for a card.
fn menu(ui: &mut Ui, board: &Board, commands: &mut Commands, module: Module, pinned: bool) {
    let palette = theme::palette(ui);
    ui.set_min_width(220.0);
    ui.spacing_mut().button_padding = vec2(8.0, 3.0);
    for (part, heading) in [(CardPart::Runtime, "Runs on"), (CardPart::Weights, "Weights live in")] {
        ui.label(RichText::new(heading).color(palette.weak).size(theme::SMALL));
        for to in homes(board) {
            if part == CardPart::Runtime && to == Home::Disk {
                continue;
            }
            let wanted = CardMove { module, part, to };
            let outcome = board.outcome(&wanted);
            let note = match outcome {
                MoveOutcome::Unchanged | MoveOutcome::Fits => String::new(),
                MoveOutcome::Exceeds(bytes) => format!("{} too much", memory_size(*bytes)),
                MoveOutcome::Impossible(_) => "not now".to_owned(),
            };
            let name = place(board, &wanted.to);
            let button = eframe::egui::Button::selectable(*outcome == MoveOutcome::Unchanged, &name)
                .right_text(RichText::new(&note).color(palette.warn).size(theme::SMALL))
                .min_size(vec2(210.0, 24.0));
            let response =
                ui.add_enabled(!matches!(outcome, MoveOutcome::Impossible(_)), button).accessible_name(format!("{heading} {name}"));
            let response = match outcome {
                MoveOutcome::Impossible(reason) => response.on_disabled_hover_text(*reason),
                _ => response.on_hover_text(Command::Move(wanted.clone()).tooltip()),
            };
            if response.clicked() {
                if outcome.is_allowed() {
                    commands.push(Command::Move(wanted));
                }
                ui.close();
            }
        }
        ui.separator();
    }
    let command = Command::Pin(module);
    let pin = ui.add(eframe::egui::Button::selectable(pinned, command.label()).min_size(vec2(210.0, 24.0)));
    if pin.on_hover_text(command.tooltip()).clicked() {
        commands.push(command);
        ui.close();
    }
}
