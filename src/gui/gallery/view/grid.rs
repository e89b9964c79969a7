//! The grid of pictures; only what is in sight is drawn.

use std::sync::Arc;

use atelier_core::recipe::RecallPart;
use atelier_gallery::PictureFlag;
use atelier_language::tr;
use eframe::egui::{
    Align, Button, Context, CursorIcon, DragAndDrop, Id, Layout as UiLayout, Pos2, Rect, RichText, ScrollArea, Sense, Stroke, StrokeKind,
    Ui, UiBuilder, pos2, vec2,
};

use crate::gui::command::{Command, Commands};
use crate::gui::create::larger::UpscaleMethod;
use crate::gui::create::view::{examples_in, has_examples_in};
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::gallery;
use crate::gui::gallery::layout::{HEADING_HEIGHT, Item, Layout};
use crate::gui::gallery::state::{Dialog, ExportChoice};
use crate::gui::gallery::view::cell;
use crate::gui::icons::Icon;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::{self, ROW_HEIGHT, bold, command_button, command_control};

/// Space round the grid, in points.
const EDGE: f32 = 14.0;
/// Width of the line over the grid, in points, in which the buttons of one picture have room in any
/// language.
const WIDE_BAR: f32 = 760.0;
/// Sides of cells, in points.
const SIDES: std::ops::RangeInclusive<f32> = 72.0..=420.0;
/// Height of the words and buttons of an empty gallery over the examples, at most, in points.
const WORDS_HEIGHT: f32 = 280.0;
/// Cells above and below those in sight whose thumbnails are made too.
const MARGIN_ROWS: f64 = 2.0;

/// Pictures that are dragged.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DraggedPictures(pub(crate) Vec<atelier_gallery::PictureId>);

/// The layout of the last frame, for the arrow keys.
pub(super) fn last_layout(ctx: &Context) -> Arc<Layout> {
    ctx.data(|data| data.get_temp::<Arc<Layout>>(Id::unique("gallery layout"))).unwrap_or_default()
}

/// The layout for this width; worked out anew only where something changed.
fn layout(ui: &Ui, state: &State, width: f64) -> Arc<Layout> {
    type Key = (usize, u64, u64);
    let view = &state.gallery;
    let key: Key = (Arc::as_ptr(&view.found) as usize, width.to_bits(), u64::from(view.cell_side.to_bits()));
    let (key_id, id) = (Id::unique("gallery layout key"), Id::unique("gallery layout"));
    if ui.data(|data| data.get_temp::<Key>(key_id)) != Some(key) {
        let counts: Vec<usize> = view.found.groups.iter().map(|(_, count)| *count).collect();
        let layout = Layout::new(&counts, view.found.search.grouping.is_some(), width, f64::from(view.cell_side));
        ui.data_mut(|data| {
            data.insert_temp(key_id, key);
            data.insert_temp(id, Arc::new(layout));
        });
    }
    last_layout(ui.ctx())
}

/// The grid, below a line with totals and what can be done with the selection.
pub(super) fn grid_panel(ui: &mut Ui, state: &State, commands: &mut Commands) {
    bar(ui, state, commands);
    let view = &state.gallery;
    if view.found.ids.is_empty() {
        empty(ui, state, commands);
        return;
    }
    let width = f64::from(ui.available_width() - 2.0 * EDGE);
    let layout = layout(ui, state, width);
    let scroll = ScrollArea::vertical().id_salt("gallery scroll").auto_shrink([false, false]);
    scroll.show_viewport(ui, |ui, seen| {
        ui.set_height(layout.height() as f32 + EDGE);
        let whole = ui.clip_rect();
        let (top, left) = (f64::from(seen.top()), ui.max_rect().left() + EDGE);
        let range = top..top + f64::from(seen.height());
        let at = |x: f64, y: f64| pos2(left + x as f32, whole.top() + (y - top) as f32);
        // Behind the cells, so that it has the empty places alone.
        let ground = ui.interact(whole, Id::unique("gallery ground"), Sense::click_and_drag());
        let margin = MARGIN_ROWS * layout.side();
        let (mut first, mut last) = (usize::MAX, 0);
        for item in layout.items(range.start - margin..range.end + margin) {
            match item {
                Item::Heading(group, top) => {
                    let rect = Rect::from_min_size(at(0.0, top), vec2(width as f32, HEADING_HEIGHT as f32));
                    if rect.intersects(whole) {
                        heading(ui, state, group, rect);
                    }
                }
                Item::Cell(index, x, y) => {
                    (first, last) = (first.min(index), last.max(index + 1));
                    let rect = Rect::from_min_size(at(x, y), vec2(layout.side() as f32, layout.side() as f32));
                    let has_cursor = view.cursor == Some(index);
                    if let Some(id) = view.found.ids.get(index).copied()
                        && rect.intersects(whole)
                    {
                        let response = cell::cell(ui, state, index, id, rect);
                        interact(ui, state, commands, index, &response);
                        if view.focus_cursor && has_cursor {
                            response.request_focus();
                        }
                    }
                }
            }
        }
        if view.focus_cursor
            && let Some((x, y)) = view.cursor.and_then(|index| layout.place(index))
        {
            let rect = Rect::from_min_size(at(x, y), vec2(layout.side() as f32, layout.side() as f32)).expand(8.0);
            ui.scroll_to_rect(rect, None);
        }
        band(ui, commands, &layout, &ground, pos2(left, whole.top() - seen.top()));
        let visible = if first < last { (first, last) } else { (0, 0) };
        if visible != view.visible {
            commands.push(Command::Gallery(gallery::Command::SetVisible(visible.0, visible.1)));
        }
    });
    drop_targets(ui, state, commands);
}

/// Clicks, double-clicks, menu and dragging of a cell.
fn interact(ui: &Ui, state: &State, commands: &mut Commands, index: usize, response: &eframe::egui::Response) {
    let mut push = |command: gallery::Command| commands.push(Command::Gallery(command));
    let view = &state.gallery;
    let modifiers = ui.input(|input| input.modifiers);
    let id = view.found.ids.get(index).copied();
    let is_selected = id.is_some_and(|id| view.selection.contains(&id));
    if response.double_clicked() {
        push(gallery::Command::Look);
    } else if response.clicked() {
        push(if modifiers.command { gallery::Command::Toggle(index) } else { gallery::Command::MoveTo(index, modifiers.shift) });
    }
    if response.secondary_clicked() && !is_selected {
        push(gallery::Command::MoveTo(index, false));
    }
    if response.drag_started() {
        let dragged = if is_selected { view.targets() } else { id.into_iter().collect() };
        if !is_selected {
            push(gallery::Command::MoveTo(index, false));
        }
        DragAndDrop::set_payload(ui.ctx(), DraggedPictures(dragged));
    }
    response.context_menu(|ui| menu(ui, state, commands));
}

/// What can be done with the selection.
pub(super) fn menu(ui: &mut Ui, state: &State, commands: &mut Commands) {
    use gallery::Command as It;
    let parts = RecallPart::ALL.into_iter().filter(|part| *part != RecallPart::All).map(It::Recall);
    let control = state.shared.next.takes_control().then_some(It::UseForControl);
    let reference = state.shared.takes_references().is_ok().then_some(It::UseAsReference);
    let person = state.shared.takes_person().is_ok().then_some(It::UseForPerson);
    let guides = [It::StartFrom].into_iter().chain(reference).chain(control).chain(person);
    for command in [It::UseSettings].into_iter().chain(parts).chain(guides).chain([It::Look, It::Compare]) {
        entry(ui, state, commands, command);
    }
    ui.separator();
    for way in [UpscaleMethod::Plain, UpscaleMethod::Redraw, UpscaleMethod::Tiles] {
        entry(ui, state, commands, It::Upscale(way));
    }
    if It::FinishDrafts.enabled(&state.gallery, &state.shared).is_ok() {
        entry(ui, state, commands, It::FinishDrafts);
    }
    ui.separator();
    for command in [It::Rate(5), It::Rate(0), It::Flag(Some(PictureFlag::Pick)), It::Flag(Some(PictureFlag::Reject)), It::Flag(None)] {
        entry(ui, state, commands, command);
    }
    entry(ui, state, commands, It::SetAutoAdvance(!state.gallery.auto_advance));
    ui.separator();
    for command in [It::CopyPicture, It::ShowInFolder, It::SetDialog(Some(Dialog::Export(ExportChoice::USUAL))), It::Delete] {
        entry(ui, state, commands, command);
    }
}

fn entry(ui: &mut Ui, state: &State, commands: &mut Commands, command: gallery::Command) {
    widgets::menu_entry(ui, state, commands, command);
}

/// The line over the grid: totals, what can be done with the selection, size of the cells.
fn bar(ui: &mut Ui, state: &State, commands: &mut Commands) {
    use gallery::Command as It;
    let palette = theme::palette(ui);
    let view = &state.gallery;
    // One picture is chosen nearly always: its buttons are there where they take no room from others.
    let has_chosen = view.selection.len() > 1 || (view.target_count() == 1 && ui.available_width() >= WIDE_BAR);
    let left = |ui: &mut Ui| {
        ui.add_space(EDGE);
        ui.add(eframe::egui::Label::new(RichText::new(summary(state)).color(palette.weak)).truncate());
    };
    widgets::row_of_sides(ui, ROW_HEIGHT, "gallery bar", left, |ui| {
        if !view.search.text.trim().is_empty() {
            command_button(ui, state, commands, It::ShowAll);
        }
        if view.can_restore {
            command_button(ui, state, commands, It::Restore);
        }
        if has_chosen {
            command_button(ui, state, commands, It::Delete);
            command_button(ui, state, commands, It::SetDialog(Some(Dialog::Export(ExportChoice::USUAL))));
            if view.pair().is_some() {
                command_button(ui, state, commands, It::Compare);
            }
        }
        let mut side = view.cell_side;
        ui.spacing_mut().slider_width = 96.0;
        let hover = It::SetCellSide(0.0);
        let slider = eframe::egui::Slider::new(&mut side, SIDES).show_value(false).logarithmic(true);
        widgets::slider(ui, slider).on_hover_text(hover.tooltip()).accessible_name(hover.label());
        if (side - view.cell_side).abs() > f32::EPSILON {
            commands.push(Command::Gallery(It::SetCellSide(side)));
        }
        ui.add_space(EDGE);
    });
}

fn summary(state: &State) -> String {
    let view = &state.gallery;
    if !view.is_known {
        return tr!("gallery-looking-for-pictures").into();
    }
    let (shown, total) = (view.found.ids.len(), view.found.total);
    let mut words = match shown {
        1 if total == 1 => tr!("gallery-1-picture").to_owned(),
        _ if shown == total => tr!("gallery-pictures", shown),
        _ => tr!("gallery-of-pictures", shown, total),
    };
    if view.selection.len() > 1 {
        words = tr!("gallery-selected", words, selection = view.selection.len());
    }
    match &view.scanning {
        Some(scanning) => format!("{words} · {scanning}"),
        None => words,
    }
}

/// Heading of a group: its words, and the number of its pictures.
fn heading(ui: &mut Ui, state: &State, group: usize, rect: Rect) {
    let palette = theme::palette(ui);
    let Some((words, count)) = state.gallery.found.groups.get(group) else { return };
    ui.scope_builder(UiBuilder::new().max_rect(rect).layout(UiLayout::left_to_right(Align::Center)), |ui| {
        ui.add(eframe::egui::Label::new(bold(words).color(palette.strong)).truncate());
        ui.label(RichText::new(count.to_string()).color(palette.weak));
    });
}

/// The rectangle that selects. `origin`: place of the first cell on the screen.
fn band(ui: &Ui, commands: &mut Commands, layout: &Layout, ground: &eframe::egui::Response, origin: Pos2) {
    let id = Id::unique("gallery band");
    if ground.clicked() {
        commands.push(Command::Gallery(gallery::Command::SelectNone));
    }
    // Its start moves with the pictures while these scroll.
    if ground.drag_started()
        && let Some(pointer) = ui.input(|input| input.pointer.press_origin())
    {
        let within = pointer - origin;
        ui.data_mut(|data| data.insert_temp(id, (f64::from(within.x), f64::from(within.y))));
    }
    let start = ui.data(|data| data.get_temp::<(f64, f64)>(id));
    let (Some((x, y)), Some(pointer)) = (start, ground.interact_pointer_pos()) else {
        ui.data_mut(|data| data.remove::<(f64, f64)>(id));
        return;
    };
    let now = pointer - origin;
    let (now_x, now_y) = (f64::from(now.x), f64::from(now.y));
    let touched = layout.touched(&(x.min(now_x)..x.max(now_x)), y.min(now_y)..y.max(now_y));
    let keeps = ui.input(|input| input.modifiers.command || input.modifiers.shift);
    commands.push(Command::Gallery(gallery::Command::SelectBand(touched, keeps)));
    let palette = theme::palette(ui);
    let rect = Rect::from_two_pos(origin + vec2(x as f32, y as f32), pointer);
    ui.painter().rect_filled(rect, 2, palette.accent.gamma_multiply(0.15));
    ui.painter().rect_stroke(rect, 2, Stroke::new(1.0, palette.accent), StrokeKind::Inside);
    let clip = ui.clip_rect();
    let past = (pointer.y - clip.bottom()).max(0.0) - (clip.top() - pointer.y).max(0.0);
    if past != 0.0 {
        ui.scroll_with_delta(vec2(0.0, -past * 0.25));
        ui.ctx().request_repaint();
    }
}

/// Places to drop pictures on while some are dragged.
fn drop_targets(ui: &Ui, state: &State, commands: &mut Commands) {
    use gallery::Command as It;
    if !DragAndDrop::has_payload_of_type::<DraggedPictures>(ui.ctx()) {
        return;
    }
    let palette = theme::palette(ui);
    ui.ctx().set_cursor_icon(CursorIcon::Grabbing);
    let whole = ui.clip_rect();
    let targets = [It::UseSettings, It::StartFrom, It::UseAsReference, It::Delete];
    let width = ((whole.width() - 2.0 * EDGE) / targets.len() as f32).min(190.0);
    let left = whole.center().x - width * targets.len() as f32 / 2.0;
    let layer = eframe::egui::LayerId::new(eframe::egui::Order::Foreground, Id::unique("gallery targets"));
    let painter = ui.ctx().layer_painter(layer);
    let (pointer, is_released) = ui.input(|input| (input.pointer.latest_pos(), input.pointer.any_released()));
    for (at, command) in targets.into_iter().enumerate() {
        let min = pos2(left + width * at as f32, whole.bottom() - 84.0);
        let rect = Rect::from_min_size(min, vec2(width, 68.0)).shrink2(vec2(5.0, 0.0));
        let is_over = pointer.is_some_and(|it| rect.contains(it));
        painter.rect_filled(rect, 10, if is_over { palette.accent } else { palette.raised });
        painter.rect_stroke(rect, 10, Stroke::new(1.0, if is_over { palette.accent } else { palette.line }), StrokeKind::Inside);
        let colour = if is_over { palette.on_accent } else { palette.text };
        let words = theme::bold_job(command.label(), theme::BODY, colour);
        let galley = ui.fonts_mut(|fonts| fonts.layout_job(words));
        painter.galley(rect.center() - galley.size() / 2.0, galley, colour);
        if is_over && is_released && command.enabled(&state.gallery, &state.shared).is_ok() {
            DragAndDrop::clear_payload(ui.ctx());
            commands.push(Command::Gallery(command));
        }
    }
}

/// Words in place of an empty grid.
fn empty(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    let view = &state.gallery;
    let (title, text) = match (view.is_known, view.found.total) {
        (false, _) => (tr!("gallery-looking-for-pictures-2"), tr!("gallery-this-takes-a-moment")),
        (true, 0) => (tr!("gallery-no-pictures-yet"), tr!("gallery-your-pictures-appear-here")),
        (true, _) => (tr!("gallery-no-picture-matches"), tr!("gallery-use-fewer-words-or")),
    };
    let is_first = view.is_known && view.found.total == 0;
    // Those of the chosen model that a click makes.
    let whole = ui.available_rect_before_wrap();
    let below = |top: f32| Rect::from_min_max(pos2(whole.left(), top), whole.max).shrink(EDGE);
    let has_examples = is_first && state.create.session.is_empty() && has_examples_in(state, below(whole.top() + WORDS_HEIGHT));
    ui.vertical_centered(|ui| {
        ui.add_space(if has_examples { EDGE } else { ui.available_height() * 0.28 });
        widgets::empty_sign(ui, Icon::Picture);
        ui.label(bold(title).size(theme::HEADING).color(palette.strong));
        ui.label(RichText::new(text).color(palette.weak));
        ui.add_space(6.0);
        match (view.is_known, view.found.total) {
            (false, _) => {}
            (true, 0) => {
                let create = crate::gui::window_command::WindowCommand::SetScreen(crate::gui::shared::Screen::Create);
                theme::accented(ui, |ui| {
                    command_control(ui, state, commands, create, |ui| ui.add(Button::new(tr!("gallery-make-the-first-one"))));
                });
                command_button(ui, state, commands, gallery::Command::AddFolder);
                if has_examples {
                    ui.add_space(6.0);
                    ui.label(RichText::new(tr!("gallery-or-begin-with-one-of")).color(palette.weak));
                }
            }
            (true, _) => {
                command_button(ui, state, commands, gallery::Command::ShowAll);
            }
        }
    });
    if has_examples {
        let room = below(ui.cursor().top());
        examples_in(ui, state, commands, room);
    }
}
