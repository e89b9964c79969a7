//! Controls that several panels share: buttons for commands, headings, rows with a label, sliders.

use std::ops::RangeInclusive;

use atelier_language::{chosen_language, decimal, tr};
use eframe::egui::{
    self, Align, Button, Context, DragValue, Layout, Response, RichText, Role, Sense, Slider, Stroke, Ui, WidgetInfo, emath::Numeric, vec2,
};

use crate::gui::axes;
use crate::gui::command::{Command, Commands};
use crate::gui::icons;
use crate::gui::icons::Icon;
use crate::gui::state::State;
use crate::gui::text_menu::text_menu;
use crate::gui::theme;

/// Width of the labels before controls, in points.
const LABEL_WIDTH: f32 = 104.0;
/// Width of a menu of a picture, in points.
const MENU_WIDTH: f32 = 240.0;
/// Width of the number beside a slider, in points.
const NUMBER_WIDTH: f32 = 58.0;
/// Height of a row, in points.
pub(crate) const ROW_HEIGHT: f32 = 26.0;

/// Text that matters.
pub(crate) fn bold(text: impl Into<String>) -> RichText {
    RichText::new(text).variation(b"wght", 600.0)
}

/// Text of the small size.
pub(crate) fn small(text: impl Into<String>, colour: egui::Color32) -> RichText {
    RichText::new(text).size(theme::SMALL).color(colour)
}

/// Width of a text of this size in one line; both in points.
pub(crate) fn text_width(ui: &Ui, text: &str, size: f32) -> f32 {
    ui.painter().layout_no_wrap(text.to_owned(), egui::FontId::proportional(size), theme::palette(ui).text).size().x
}

/// The sign over the words of a view that is empty.
pub(crate) fn empty_sign(ui: &mut Ui, icon: Icon) {
    let (rect, _) = ui.allocate_exact_size(vec2(48.0, 48.0), Sense::hover());
    icons::paint_large(ui.painter(), rect, icon, theme::palette(ui).weak);
    ui.add_space(6.0);
}

/// Modal dialog; true where the person closes it with Escape or a click beside it.
pub(crate) fn modal(ui: &Ui, id: &str, add: impl FnOnce(&mut Ui)) -> bool {
    wide_modal(ui, id, 380.0, add)
}

/// Modal dialog of this width in points; true where the person closes it with Escape or a click
/// beside it.
pub(crate) fn wide_modal(ui: &Ui, id: &str, width: f32, add: impl FnOnce(&mut Ui)) -> bool {
    modal_of_own_width(ui, id, |ui| {
        ui.set_width(width);
        add(ui);
    })
}

/// Modal dialog that sets its width itself; true where the person closes it with Escape or a click
/// beside it.
pub(crate) fn modal_of_own_width(ui: &Ui, id: &str, add: impl FnOnce(&mut Ui)) -> bool {
    let palette = theme::palette(ui);
    let frame = egui::Frame::popup(ui.style()).inner_margin(egui::Margin::same(20)).corner_radius(12);
    let modal = egui::Modal::new(egui::Id::unique(id)).frame(frame).backdrop_color(palette.veil);
    modal.show(ui.ctx(), add).should_close()
}

/// The tooltip of a command, with its key.
pub(crate) fn tooltip(ctx: &Context, command: &Command) -> String {
    let key = command.key_text(ctx);
    // The gallery's own keys are in its sentences.
    let is_said = matches!(command, Command::Gallery(_)) && command.shortcut().is_none();
    if key.is_empty() || is_said { command.tooltip().to_owned() } else { format!("{}\n{key}", command.tooltip()) }
}

/// A button with the label of its command.
pub(crate) fn command_button(ui: &mut Ui, state: &State, commands: &mut Commands, command: impl Into<Command>) -> Response {
    let command = command.into();
    let button = Button::new(command.label());
    command_control(ui, state, commands, command, |ui| ui.add(button))
}

/// The button of a dialog that Enter presses too, unless a control of the dialog has the keyboard.
pub(crate) fn default_button(ui: &mut Ui, state: &State, commands: &mut Commands, command: impl Into<Command>) {
    let command = command.into();
    theme::accented(ui, |ui| command_button(ui, state, commands, command.clone()));
    let is_free = ui.memory(|memory| memory.focused().is_none() && memory.top_modal_layer() == Some(ui.layer_id()));
    if is_free && !egui::Popup::is_any_open(ui.ctx()) && is_enter_pressed(ui) && command.enabled(state).is_ok() {
        commands.push(command);
    }
}

/// True where Enter goes down in this frame: one that is held may have opened the dialog.
fn is_enter_pressed(ui: &Ui) -> bool {
    let is_it = |event: &egui::Event| match event {
        egui::Event::Key { key, pressed, repeat, modifiers, .. } => *key == egui::Key::Enter && *pressed && !repeat && modifiers.is_none(),
        _ => false,
    };
    ui.input(|input| input.events.iter().any(is_it))
}

/// A button that is an icon; its command's label is its accessible name.
pub(crate) fn icon_button(ui: &mut Ui, state: &State, commands: &mut Commands, icon: Icon, command: impl Into<Command>) -> Response {
    let command = command.into();
    let label = command.label();
    command_control(ui, state, commands, command, |ui| bare_icon(ui, icon, label))
}

/// An icon that can be pressed.
pub(crate) fn bare_icon(ui: &mut Ui, icon: Icon, label: &str) -> Response {
    coloured_icon(ui, icon, label, theme::palette(ui).text)
}

/// An icon of this colour that can be pressed.
pub(crate) fn coloured_icon(ui: &mut Ui, icon: Icon, label: &str, colour: egui::Color32) -> Response {
    let (rect, response) = ui.allocate_exact_size(vec2(ROW_HEIGHT, ROW_HEIGHT), Sense::click());
    response.widget_info(|| WidgetInfo::labeled(Role::Button, ui.is_enabled(), label));
    let visuals = ui.style().interact(&response);
    let palette = theme::palette(ui);
    if response.hovered() || response.has_focus() {
        ui.painter().rect_filled(rect, visuals.corner_radius, palette.control_hover);
    }
    if response.has_focus() {
        let ring = Stroke::new(1.0, palette.accent);
        ui.painter().rect_stroke(rect, visuals.corner_radius, ring, egui::StrokeKind::Inside);
    }
    icons::paint(ui.painter(), rect, icon, if response.hovered() { palette.strong } else { colour });
    response
}

/// The ground of a square button of this side, in points, and the colour of what is drawn on it.
/// `is_marked`: it has a ring also without the keyboard.
pub(crate) fn square_button(ui: &mut Ui, side: f32, is_marked: bool, info: impl Fn() -> WidgetInfo) -> (Response, egui::Color32) {
    let (rect, response) = ui.allocate_exact_size(vec2(side, side), Sense::click());
    response.widget_info(info);
    let (visuals, palette) = (ui.style().interact(&response), theme::palette(ui));
    let is_near = response.hovered() || response.has_focus();
    ui.painter().rect_filled(rect, visuals.corner_radius, if is_near { palette.control_hover } else { palette.control });
    if is_marked || response.has_focus() {
        ui.painter().rect_stroke(rect, visuals.corner_radius, Stroke::new(1.5, palette.accent), egui::StrokeKind::Inside);
    }
    (response, if is_near { palette.strong } else { palette.text })
}

/// An icon on a button of this side, in points.
pub(crate) fn square_icon(ui: &mut Ui, icon: Icon, label: &str, side: f32) -> Response {
    let is_enabled = ui.is_enabled();
    let (response, colour) = square_button(ui, side, false, || WidgetInfo::labeled(Role::Button, is_enabled, label));
    icons::paint(ui.painter(), response.rect, icon, colour);
    response
}

/// A button with a colour, which opens a picker. egui draws its border in the ground of buttons, from
/// which dark colours do not stand out.
pub(crate) fn colour_button(ui: &mut Ui, colour: &mut [u8; 3]) -> Response {
    let response = ui.color_edit_button_srgb(colour);
    let visuals = ui.style().interact(&response);
    ui.painter().rect_stroke(response.rect, visuals.corner_radius, visuals.bg_stroke, egui::StrokeKind::Inside);
    response
}

/// The ring of a picture: chosen, under the pointer or with the keyboard, or none.
pub(crate) fn picture_ring(response: &Response, is_chosen: bool, palette: &theme::Palette) -> Stroke {
    if is_chosen {
        Stroke::new(2.0, palette.accent)
    } else if response.hovered() || response.has_focus() {
        Stroke::new(1.5, palette.weak)
    } else {
        Stroke::NONE
    }
}

/// An entry of a menu: the label of its command, and its key at the right end. True once chosen,
/// which closes the menu.
pub(crate) fn menu_entry(ui: &mut Ui, state: &State, commands: &mut Commands, command: impl Into<Command>) -> bool {
    let command = command.into();
    let label = command.label();
    let keys = RichText::new(command.key_text(ui.ctx())).size(theme::SMALL).color(theme::palette(ui).weak);
    // A text at the right end keeps the label at the left.
    let button = Button::new(label).right_text(keys).frame_when_inactive(false).min_size(vec2(MENU_WIDTH, ROW_HEIGHT));
    let is_chosen = command_control(ui, state, commands, command, |ui| ui.add(button).accessible_name(label)).clicked();
    if is_chosen {
        ui.close();
    }
    is_chosen
}

/// A chip of words that a click takes away. For rows that wrap, which [`command_control`] does not
/// let its controls do.
pub(crate) fn removable_chip(ui: &mut Ui, commands: &mut Commands, words: &str, color: egui::Color32, remove: impl Into<Command>) {
    let remove = remove.into();
    let text = RichText::new(format!("{words}  ×")).size(theme::SMALL).color(color);
    let name = format!("{}: {words}", remove.label());
    let response = ui.add(Button::new(text).corner_radius(9)).on_hover_text(remove.tooltip()).accessible_name(name);
    if response.clicked() {
        commands.push(remove);
    }
}

/// Shows a control for a command: disabled with its reason where it cannot be done, with its
/// tooltip, and asked for when clicked.
pub(crate) fn command_control(
    ui: &mut Ui,
    state: &State,
    commands: &mut Commands,
    command: impl Into<Command>,
    control: impl FnOnce(&mut Ui) -> Response,
) -> Response {
    let command = command.into();
    let enabled = command.enabled(state);
    let hover = tooltip(ui.ctx(), &command);
    let draw = |ui: &mut Ui| {
        if enabled.is_err() {
            theme::without_accent(ui);
        }
        control(ui)
    };
    let response = ui.add_enabled_ui(enabled.is_ok(), draw).inner;
    let response = match enabled {
        Ok(()) => response.on_hover_text(hover),
        Err(reason) => response.on_disabled_hover_text(format!("{hover}\n{reason}")),
    };
    if response.clicked() {
        commands.push(command);
    }
    response
}

/// The heading of a group of controls, with room for controls at its right end.
pub(crate) fn heading(ui: &mut Ui, text: &str, right: impl FnOnce(&mut Ui)) {
    ui.add_space(9.0);
    let title = |ui: &mut Ui| {
        let title = egui::Label::new(bold(text).color(theme::palette(ui).strong));
        axes::setting_label(ui, title, text);
    };
    row_of_sides(ui, ROW_HEIGHT, text, title, |ui| {
        ui.spacing_mut().item_spacing.x = 2.0;
        right(ui);
    });
}

/// A row of this height in points with the [`sides`].
pub(crate) fn row_of_sides(ui: &mut Ui, height: f32, salt: &str, left: impl FnOnce(&mut Ui), right: impl FnOnce(&mut Ui)) {
    let size = vec2(ui.available_width(), height);
    ui.allocate_ui_with_layout(size, Layout::left_to_right(Align::Center), |ui| sides(ui, salt, left, right));
}

/// Controls at the left and at the right end of a row, each from left to right, as the Tab key
/// visits them. What is at the left has the room that is left.
pub(crate) fn sides(ui: &mut Ui, salt: &str, left: impl FnOnce(&mut Ui), right: impl FnOnce(&mut Ui)) {
    let id = ui.scope_id().with(("width at the right", salt));
    let known = ui.data(|data| data.get_temp::<f32>(id)).unwrap_or_default();
    let whole = ui.available_rect_before_wrap();
    let middle = (whole.right() - known).max(whole.left());
    let layout = Layout::left_to_right(Align::Center);
    let (before, after) = whole.split_left_right_at_x(middle);
    ui.scope_builder(egui::UiBuilder::new().max_rect(before).layout(layout).id_salt("left"), left);
    let right = ui.scope_builder(egui::UiBuilder::new().max_rect(after).layout(layout).id_salt("right"), right).response;
    let width = right.rect.width();
    if (width - known).abs() > 0.5 {
        ui.data_mut(|data| data.insert_temp(id, width));
        ui.ctx().request_discard("the width at the right end of a row");
    }
}

/// The last row of a dialog: its buttons at the right end, given from left to right.
pub(crate) fn last_row(ui: &mut Ui, buttons: impl FnOnce(&mut Ui)) {
    row_of_sides(ui, ROW_HEIGHT, "last row", |_| {}, buttons);
}

/// Brings the control that the keyboard came to into sight. To be called at the end of what scrolls.
pub(crate) fn follow_focus(ui: &Ui) {
    let id = ui.scope_id().with("focus in sight");
    let focused = ui.memory(egui::Memory::focused);
    let before = ui.data(|data| data.get_temp::<egui::Id>(id));
    if focused == before {
        return;
    }
    ui.data_mut(|data| match focused {
        Some(focused) => drop(data.insert_temp(id, focused)),
        None => data.remove::<egui::Id>(id),
    });
    let Some(response) = focused.and_then(|focused| ui.ctx().read_response(focused)) else { return };
    let is_inside = ui.min_rect().contains(response.rect.center()) && response.layer_id == ui.layer_id();
    if is_inside && !ui.clip_rect().contains_rect(response.rect) {
        ui.scroll_to_rect(response.rect.expand(ROW_HEIGHT), None);
    }
}

/// A row: a label of fixed width, and controls that are named after it.
pub(crate) fn row<R>(ui: &mut Ui, label: &str, add: impl FnOnce(&mut Ui) -> R) -> R {
    let drawn = ui.allocate_ui_with_layout(vec2(ui.available_width(), ROW_HEIGHT), Layout::left_to_right(Align::Center), |ui| {
        let name = ui
            .allocate_ui_with_layout(vec2(LABEL_WIDTH, ROW_HEIGHT), Layout::left_to_right(Align::Center), |ui| {
                ui.set_min_width(LABEL_WIDTH);
                ui.spacing_mut().item_spacing.x = 0.0;
                let name = egui::Label::new(RichText::new(label).color(theme::palette(ui).weak)).truncate();
                axes::setting_label(ui, name, label)
            })
            .inner;
        ui.spacing_mut().item_spacing.x = 6.0;
        ui.label_inputs_by(name.id, add)
    });
    show_wanted(ui, label, drawn.response.rect);
    drawn.inner
}

/// The row that was asked for: marked until a key or a button is pressed.
#[derive(Clone)]
struct WantedRow {
    label: &'static str,
    is_in_sight: bool,
    /// In which it may still come into sight.
    frames: u32,
}

/// Frames until a row is given up: what unfolds and scrolls takes a fraction of a second.
const FRAMES_OF_WANTED_ROW: u32 = 120;

fn wanted_row_id() -> egui::Id {
    egui::Id::unique("wanted row")
}

/// Brings the row with this label into sight, and the keyboard to it, once it is drawn.
pub(crate) fn want_row(ctx: &Context, label: &'static str) {
    let wanted = WantedRow { label, is_in_sight: false, frames: FRAMES_OF_WANTED_ROW };
    ctx.data_mut(|data| data.insert_temp(wanted_row_id(), wanted));
    ctx.request_repaint();
}

/// True while the row that was asked for is not in sight. To be asked once a frame, when the rows are
/// drawn: one that does not come is given up.
pub(crate) fn is_row_wanted(ctx: &Context) -> bool {
    ctx.data_mut(|data| {
        let Some(wanted) = data.get_temp::<WantedRow>(wanted_row_id()).filter(|it| !it.is_in_sight) else { return false };
        let Some(frames) = wanted.frames.checked_sub(1) else {
            data.remove::<WantedRow>(wanted_row_id());
            return false;
        };
        data.insert_temp(wanted_row_id(), WantedRow { frames, ..wanted });
        true
    })
}

/// The first control within a rectangle that the keyboard can come to.
fn first_control(ui: &Ui, rect: egui::Rect) -> Option<egui::Id> {
    ui.ctx().viewport(|viewport| {
        let mut widgets = viewport.this_pass.widgets.get_layer(ui.layer_id());
        widgets.find(|it| it.enabled && it.sense.is_focusable() && rect.contains(it.rect.center())).map(|it| it.id)
    })
}

fn show_wanted(ui: &Ui, label: &str, rect: egui::Rect) {
    let Some(wanted) = ui.data(|data| data.get_temp::<WantedRow>(wanted_row_id())).filter(|it| it.label == label) else { return };
    let mark = rect.expand2(vec2(4.0, 1.0));
    ui.painter().rect_stroke(mark, 4.0, Stroke::new(1.5, theme::palette(ui).accent), egui::StrokeKind::Outside);
    let sight = ui.clip_rect().y_range();
    let is_in_sight = sight.contains(rect.top()) && sight.contains(rect.bottom());
    if !wanted.is_in_sight && !is_in_sight {
        // What unfolds and scrolls needs some frames.
        ui.scroll_to_rect(rect, Some(Align::Center));
    } else if !wanted.is_in_sight {
        if let Some(control) = first_control(ui, rect) {
            ui.memory_mut(|memory| memory.request_focus(control));
        }
        ui.data_mut(|data| data.insert_temp(wanted_row_id(), WantedRow { is_in_sight: true, ..wanted }));
    } else if ui.input(|input| {
        input
            .events
            .iter()
            .any(|it| matches!(it, egui::Event::Key { pressed: true, .. } | egui::Event::PointerButton { pressed: true, .. }))
    }) {
        ui.data_mut(|data| data.remove::<WantedRow>(wanted_row_id()));
    }
}

/// A part of a panel that can be folded, with a line that sums it up while it is. True in the second
/// place where the person folds or unfolds it.
pub(crate) fn fold<R>(
    ui: &mut Ui,
    title: &str,
    summary: &str,
    is_open: bool,
    add: impl FnOnce(&mut Ui) -> R,
) -> (egui::CollapsingResponse<R>, bool) {
    let words = if is_open || summary.is_empty() { title.to_owned() } else { summed_up(ui, title, summary) };
    let header = egui::CollapsingHeader::new(bold(words)).id_salt(title).open(Some(is_open)).icon(fold_chevron);
    let fold = header.show_unindented(ui, add);
    let is_pressed = fold.header_response.clicked();
    (fold, is_pressed)
}

/// [`fold`], with room for controls at the right end of its title. True where the person folds or
/// unfolds it. As a row that is wanted, it is named by its tooltip.
pub(crate) fn section(
    ui: &mut Ui,
    (title, summary, hover): (&str, &str, &str),
    is_open: bool,
    right: impl FnOnce(&mut Ui),
    add: impl FnOnce(&mut Ui),
) -> bool {
    ui.add_space(9.0);
    let title_line = ui.allocate_ui_with_layout(vec2(ui.available_width(), ROW_HEIGHT), Layout::left_to_right(Align::Center), |ui| {
        let mut is_pressed = false;
        let left = |ui: &mut Ui| {
            let (fold, is_clicked) = fold(ui, title, summary, is_open, |_| ());
            is_pressed = is_clicked;
            fold.header_response.on_hover_text(hover);
        };
        sides(ui, title, left, |ui| {
            ui.spacing_mut().item_spacing.x = 2.0;
            right(ui);
        });
        is_pressed
    });
    show_wanted(ui, hover, title_line.response.rect);
    if is_open {
        add(ui);
    }
    title_line.inner
}

/// A title and as many parts of its summary, divided by commas, as have room.
fn summed_up(ui: &Ui, title: &str, summary: &str) -> String {
    /// Width of the sign of a fold and of what stands beside it, in points.
    const SIGN: f32 = 28.0;
    let room = ui.available_width() - SIGN;
    let fits = |words: &str| {
        let text = egui::WidgetText::from(bold(words));
        text.into_galley(ui, Some(egui::TextWrapMode::Extend), f32::INFINITY, egui::TextStyle::Button).size().x <= room
    };
    let parts: Vec<&str> = summary.split(", ").collect();
    let all = format!("{title}: {summary}");
    if fits(&all) {
        return all;
    }
    let some = (1..parts.len()).rev().map(|count| format!("{title}: {}…", parts[..count].join(", "))).find(|words| fits(words));
    some.unwrap_or_else(|| title.to_owned())
}

/// Scale of a slider.
pub(crate) struct Scale {
    /// Rounds to multiples of this.
    pub(crate) step: f64,
    /// Digits behind the point.
    pub(crate) decimals: usize,
    /// True gives small numbers as much room as large ones.
    pub(crate) logarithmic: bool,
}

pub(crate) const WHOLE: Scale = Scale { step: 1.0, decimals: 0, logarithmic: false };

/// A slider whose rail is seen on every ground.
pub(crate) fn slider(ui: &mut Ui, slider: Slider<'_>) -> Response {
    let palette = theme::palette(ui);
    ui.scope(|ui| {
        let visuals = ui.visuals_mut();
        visuals.selection.bg_fill = palette.accent;
        visuals.widgets.inactive.bg_fill = palette.edge;
        // The handle is as large as the row is high; a small one is easier to read.
        ui.spacing_mut().interact_size.y = 15.0;
        ui.add(slider)
    })
    .inner
}

/// A row with a slider and its number.
pub(crate) fn slider_row<N: Numeric>(ui: &mut Ui, label: &str, value: &mut N, range: RangeInclusive<N>, scale: &Scale, hover: &str) {
    setting_row(ui, label, value, range.clone(), range, scale, hover);
}

/// A row with a slider over the values that are used most, and a number within the limits of the
/// setting.
pub(crate) fn setting_row<N: Numeric>(
    ui: &mut Ui,
    label: &str,
    value: &mut N,
    range: RangeInclusive<N>,
    limits: RangeInclusive<N>,
    scale: &Scale,
    hover: &str,
) {
    row(ui, label, |ui| {
        let wide = ui.available_width();
        ui.spacing_mut().slider_width = (wide - NUMBER_WIDTH - 12.0).max(40.0);
        let before = value.to_f64();
        let slider = Slider::new(value, range)
            .show_value(false)
            .step_by(scale.step)
            .logarithmic(scale.logarithmic)
            .clamping(egui::SliderClamping::Edits);
        self::slider(ui, slider).on_hover_text(hover).accessible_name(label);
        let speed = if scale.logarithmic { before.abs().max(1.0) * 0.01 } else { scale.step };
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let number =
                number_field(value).range(limits).speed(speed).fixed_decimals(scale.decimals).min_size(vec2(NUMBER_WIDTH, ROW_HEIGHT));
            ui.add_sized(vec2(NUMBER_WIDTH, ROW_HEIGHT), number).on_hover_text(hover).accessible_name(label);
        });
    });
}

/// A row with a switch and a value behind it: off is the model's own default.
pub(crate) fn optional_row<N: Numeric>(
    ui: &mut Ui,
    label: &str,
    value: &mut Option<N>,
    usual: N,
    range: RangeInclusive<N>,
    speed: f64,
    hover: &str,
) {
    row(ui, label, |ui| {
        let mut own = value.is_some();
        let text = if own { RichText::new("") } else { RichText::new(tr!("window-models-default")).color(theme::palette(ui).weak) };
        let name = tr!("window-set-a-value", label);
        ui.checkbox(&mut own, text).on_hover_text(tr!("window-off-the-models-default", hover)).accessible_name(name);
        match (own, &mut *value) {
            (false, _) => *value = None,
            (true, None) => *value = Some(usual),
            (true, Some(number)) => {
                ui.add_sized(vec2(NUMBER_WIDTH, ROW_HEIGHT), number_field(number).range(range).speed(speed))
                    .on_hover_text(hover)
                    .accessible_name(label);
            }
        }
    });
}

/// A text field of one line; the one that is typed in has the accent round it.
pub(crate) fn line_edit(ui: &mut Ui, width: f32, edit: egui::TextEdit<'_>) -> Response {
    let accent = theme::palette(ui).accent;
    let field = ui.scope(|ui| {
        ui.visuals_mut().selection.stroke.color = accent;
        ui.add_sized(vec2(width, ROW_HEIGHT), edit.align(egui::Align2::LEFT_CENTER).desired_width(width))
    });
    text_menu(&field.inner);
    field.inner
}

/// A text field of one line that is no setting of the recipe: undo stays within it while it has the
/// keyboard.
pub(crate) fn line_edit_with_undo(ui: &mut Ui, width: f32, edit: egui::TextEdit<'_>) -> Response {
    let response = line_edit(ui, width, edit);
    if response.has_focus() {
        ui.data_mut(|data| data.insert_temp(own_undo_id(), response.id));
    }
    response
}

/// True while a text field with an undo of its own has the keyboard.
pub(crate) fn has_own_undo(ctx: &Context) -> bool {
    let focused = ctx.memory(egui::Memory::focused);
    focused.is_some() && ctx.data(|data| data.get_temp::<egui::Id>(own_undo_id())) == focused
}

fn own_undo_id() -> egui::Id {
    egui::Id::unique("field with its own undo")
}

/// Draws a picture so that its middle fills a square.
pub(crate) fn paint_square(ui: &Ui, texture: &egui::TextureHandle, rect: egui::Rect) {
    let size = texture.size_vec2();
    let shorter = size.min_elem().max(1.0);
    let part = vec2(shorter, shorter) / size.max(vec2(1.0, 1.0));
    let uv = egui::Rect::from_center_size(egui::pos2(0.5, 0.5), part);
    egui::Image::from_texture(egui::load::SizedTexture::from_handle(texture)).uv(uv).corner_radius(5).paint_at(ui, rect);
}

/// The end of a path, which is what tells files apart.
pub(crate) fn file_name(path: &std::path::Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// The text, shortened in its middle where it does not fit: files differ at their ends
/// (`-Q4_K_M.gguf`).
pub(crate) fn middle_elided(ui: &Ui, text: &str, width: f32) -> String {
    const TAIL: usize = 14;
    let font = egui::TextStyle::Body.resolve(ui.style());
    let fits = |text: &str| {
        let color = ui.visuals().text_color();
        ui.painter().layout_no_wrap(text.to_owned(), font.clone(), color).size().x <= width
    };
    if fits(text) {
        return text.to_owned();
    }
    let chars: Vec<char> = text.chars().collect();
    let tail: String = chars.iter().skip(chars.len().saturating_sub(TAIL)).collect();
    // The widest that fits, found by halving.
    let with = |head: usize| chars.iter().take(head).chain(&['…']).collect::<String>() + &tail;
    let (mut least, mut most) = (0, chars.len().saturating_sub(TAIL));
    while least < most {
        let head = (least + most).div_ceil(2);
        if fits(&with(head)) {
            least = head;
        } else {
            most = head - 1;
        }
    }
    with(least)
}

/// The sign of a list that opens.
pub(crate) fn chevron(ui: &Ui, rect: egui::Rect, visuals: &egui::style::WidgetVisuals, _open: bool) {
    icons::chevron(ui.painter(), rect.center(), 0.25, visuals.fg_stroke.color);
}

/// The sign of a fold: to the right while closed, down while open.
pub(crate) fn fold_chevron(ui: &mut Ui, openness: f32, response: &Response) {
    let color = ui.style().interact(response).fg_stroke.color;
    icons::chevron(ui.painter(), response.rect.center(), openness * 0.25, color);
}

/// A field of a whole number. An arrow key changes it by its speed, so that of egui, a quarter, would change nothing.
pub(crate) fn whole_number<N: Numeric, R: Numeric>(number: &mut N, range: RangeInclusive<R>) -> DragValue<'_> {
    number_field(number).range(range).speed(1.0)
}

/// A field of a number, written as in the language in use and read in each way in which it may be typed.
pub(crate) fn number_field<N: Numeric>(number: &mut N) -> DragValue<'_> {
    DragValue::new(number)
        .custom_formatter(|value, decimals| decimal(egui::emath::format_with_decimals_in_range(value, decimals)))
        .custom_parser(|text| typed_number(text, chosen_language().decimal_mark()))
}

/// The number of what was typed, with this mark or a point before the decimals; `None` where it is none.
fn typed_number(text: &str, mark: char) -> Option<f64> {
    let read = |letter: char| match letter {
        '\u{2212}' => '-',
        _ if letter == mark => '.',
        _ => letter,
    };
    let text: String = text.chars().filter(|letter| !letter.is_whitespace()).map(read).collect();
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_read_with_the_mark_of_the_language_or_a_point() {
        assert_eq!([typed_number("1,5", ','), typed_number("1.5", ','), typed_number(" −0,25 ", ',')], [Some(1.5), Some(1.5), Some(-0.25)]);
        assert_eq!([typed_number("7", '.'), typed_number("1 024.5", '.')], [Some(7.0), Some(1024.5)]);
        for words in ["1,5", "1.000.5", "inf", "NaN", "", "seven"] {
            assert_eq!(typed_number(words, '.'), None, "{words}");
        }
    }

    #[test]
    fn a_long_name_loses_its_middle_and_keeps_its_end() {
        let short = |name: &str, width: f32| {
            let (ctx, mut short) = (Context::default(), String::new());
            // Without a screen nobody takes the glyphs' pictures.
            ctx.run_ui(egui::RawInput::default(), |ui| short = middle_elided(ui, name, width)).textures_delta.clear();
            short
        };
        let long = short("a very long name of a model-Q4_K_M.gguf", 150.0);
        assert!(long.ends_with("el-Q4_K_M.gguf") && long.starts_with('a') && long.contains('…'), "{long}");
        assert_eq!(short("短い.gguf", 1000.0), "短い.gguf");
    }
}
