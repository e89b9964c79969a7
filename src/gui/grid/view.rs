//! The dialog that plans a sheet, and the sheet.

use eframe::egui::{
    Button, CursorIcon, DragAndDrop, FontId, Grid as Table, Id, Image, Label, LayerId, Order, Rect, RichText, ScrollArea, StrokeKind,
    TextEdit, Ui, Vec2, load::SizedTexture, pos2, vec2,
};

use crate::gui::axes::{self, DraggedAxis};
use crate::gui::command::Commands;
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::grid::command::Command;
use crate::gui::grid::state::{Draft, Plan, Sheet};
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::viewport::canvas_rect;
use crate::gui::widgets::{self, bold, command_button, command_control, line_edit_with_undo, small};
use atelier_core::grid::{MAX_AXES, Place};
use atelier_gallery::queue::JobState;
use atelier_language::{self as language, tr};

/// Width of the dialog, and most height of its cells, in points.
const DIALOG_WIDTH: f32 = 460.0;
const CELLS_HEIGHT: f32 = 180.0;
/// Side of a picture of the sheet, in points.
const PICTURE: f32 = 132.0;
/// Size of a place to drop a setting on, in points.
const TARGET: Vec2 = vec2(150.0, 90.0);
/// Cells that the dialog offers to leave out.
const MAX_STRUCK: usize = 200;
const NAMES: [&str; MAX_AXES] = ["grid-x-axis", "grid-y-axis", "grid-z-axis"];
const HINTS: [&str; MAX_AXES] = ["steps=4,8,16", "sampler=euler,heun", "cfg=1..7/4"];

/// True while a dialog is open.
pub(crate) fn has_dialog(state: &State) -> bool {
    state.grid.draft.is_some() || state.grid.shows_sheet
}

/// Draws the dialog or the sheet, where it is open.
pub(crate) fn grid(ui: &mut Ui, state: &State, commands: &mut Commands) {
    if let Some((index, axis)) = axes::take_axis(ui) {
        commands.push(Command::Put(index, axis));
    }
    drop_targets(ui, state, commands);
    if let Some(draft) = &state.grid.draft {
        dialog(ui, state, draft, commands);
    } else if let Some(sheet) = state.grid.sheet.as_ref().filter(|_| state.grid.shows_sheet) {
        sheet_view(ui, state, sheet, commands);
    }
}

/// The axes, to drop a setting on while one is dragged.
fn drop_targets(ui: &Ui, state: &State, commands: &mut Commands) {
    let Some(dragged) = DragAndDrop::payload::<DraggedAxis>(ui.ctx()) else { return };
    let palette = theme::palette(ui);
    ui.ctx().set_cursor_icon(CursorIcon::Grabbing);
    let whole = canvas_rect(ui.ctx()).unwrap_or_else(|| ui.ctx().content_rect());
    let painter = ui.ctx().layer_painter(LayerId::new(Order::Foreground, Id::unique("axes to drop on")));
    let (pointer, is_released) = ui.input(|input| (input.pointer.latest_pos(), input.pointer.any_released()));
    let left = whole.center().x - TARGET.x * MAX_AXES as f32 / 2.0;
    for (index, name) in NAMES.map(language::text).into_iter().enumerate() {
        let corner = pos2(left + TARGET.x * index as f32, whole.center().y - TARGET.y / 2.0);
        let rect = Rect::from_min_size(corner, TARGET).shrink(5.0);
        let is_over = pointer.is_some_and(|at| rect.contains(at));
        painter.rect_filled(rect, 10, if is_over { palette.accent } else { palette.raised });
        painter.rect_stroke(rect, 10, (1.0, if is_over { palette.accent } else { palette.line }), StrokeKind::Inside);
        let colour = if is_over { palette.on_accent } else { palette.text };
        let galley = ui.fonts_mut(|fonts| fonts.layout_job(theme::bold_job(name, theme::BODY, colour)));
        painter.galley(rect.center() - galley.size() / 2.0, galley, colour);
        let command = Command::Put(index, dragged.0.clone());
        if is_over && is_released && command.enabled(&state.grid, &state.shared).is_ok() {
            DragAndDrop::clear_payload(ui.ctx());
            commands.push(command);
        }
    }
}

fn dialog(ui: &mut Ui, state: &State, draft: &Draft, commands: &mut Commands) {
    let palette = theme::palette(ui);
    let mut axes = draft.axes.clone();
    let is_closed = widgets::wide_modal(ui, tr!("grid-compare-settings-2"), DIALOG_WIDTH, |ui| {
        ui.label(bold(tr!("grid-compare-settings-3")).size(theme::TITLE).color(palette.strong));
        let words = tr!("grid-columns-rows-and-pages");
        ui.add(Label::new(small(words, palette.weak)).wrap());
        for ((text, name), hint) in axes.iter_mut().zip(NAMES.map(language::text)).zip(HINTS) {
            widgets::row(ui, name, |ui| {
                let width = ui.available_width();
                let edit = TextEdit::singleline(text).hint_text(hint).id(Id::unique(name));
                let response = line_edit_with_undo(ui, width, edit).on_hover_text(tr!("grid-what-differs-and-its")).accessible_name(name);
                if draft.wants_focus && name == language::text(NAMES[0]) {
                    response.request_focus();
                }
            });
        }
        ui.add_space(4.0);
        match &draft.plan {
            Ok(plan) => {
                ui.add(Label::new(RichText::new(plan.forecast.to_string()).color(palette.text)).wrap());
                let command = Command::SetDraftsFirst(!plan.drafts_first);
                let words = command.label();
                command_control(ui, state, commands, command, |ui| ui.checkbox(&mut plan.drafts_first.clone(), words));
                cells(ui, state, draft, plan, commands);
            }
            Err(_) if axes.iter().all(|text| text.trim().is_empty()) => {}
            Err(reason) => {
                ui.add(Label::new(RichText::new(reason).color(palette.warn)).wrap());
            }
        }
        ui.add_space(8.0);
        widgets::last_row(ui, |ui| {
            command_button(ui, state, commands, Command::Close);
            theme::accented(ui, |ui| command_button(ui, state, commands, Command::Make));
        });
    });
    if axes != draft.axes {
        commands.push(Command::Edit(Box::new(axes)));
    }
    if is_closed {
        commands.push(Command::Close);
    }
}

/// The cells, of which some can be left out.
fn cells(ui: &mut Ui, state: &State, draft: &Draft, plan: &Plan, commands: &mut Commands) {
    ScrollArea::vertical().id_salt("cells").max_height(CELLS_HEIGHT).auto_shrink([false, true]).show(ui, |ui| {
        for cell in plan.grid.cells().iter().take(MAX_STRUCK) {
            let is_made = !draft.struck.contains(&cell.at);
            let words = plan.grid.captions().caption(cell.at);
            command_control(ui, state, commands, Command::Strike(cell.at), |ui| {
                ui.checkbox(&mut is_made.clone(), words).on_hover_text(tr!("grid-cells-without-a-mark"))
            });
        }
    });
}

fn sheet_view(ui: &mut Ui, state: &State, sheet: &Sheet, commands: &mut Commands) {
    let palette = theme::palette(ui);
    let space = ui.ctx().content_rect().size() - vec2(96.0, 180.0);
    let is_closed = widgets::modal_of_own_width(ui, "sheet", |ui| {
        ui.set_max_width(space.x);
        let drafts = sheet.kept.drafts.keys().filter(|at| !sheet.kept.pictures.contains_key(*at)).count();
        let drafts = if drafts == 0 { String::new() } else { tr!("grid-as-drafts", drafts) };
        let words = tr!("grid-of-pictures", pictures = sheet.kept.pictures.len(), cells = sheet.kept.cells.len(), drafts);
        ui.label(bold(tr!("grid-sheet")).size(theme::TITLE).color(palette.strong));
        ui.label(small(words, palette.weak));
        ScrollArea::both().id_salt("sheet").max_height(space.y).auto_shrink([true, true]).show(ui, |ui| {
            for page in 0..sheet.kept.captions.size()[2] {
                page_of(ui, state, sheet, page, commands);
            }
        });
        ui.add_space(8.0);
        widgets::last_row(ui, |ui| {
            command_button(ui, state, commands, Command::Export);
            command_button(ui, state, commands, Command::Show(false));
        });
    });
    if is_closed {
        commands.push(Command::Show(false));
    }
}

fn page_of(ui: &mut Ui, state: &State, sheet: &Sheet, page: usize, commands: &mut Commands) {
    let palette = theme::palette(ui);
    let captions = &sheet.kept.captions;
    let [columns, rows, _] = captions.size();
    if let Some(name) = captions.value(2, page) {
        ui.label(bold(name).color(palette.text));
    }
    Table::new(("page", page)).spacing(vec2(6.0, 6.0)).show(ui, |ui| {
        ui.label("");
        for x in 0..columns {
            ui.label(small(captions.value(0, x).unwrap_or_default(), palette.text));
        }
        ui.end_row();
        for y in 0..rows {
            ui.label(small(captions.value(1, y).unwrap_or_default(), palette.text));
            for x in 0..columns {
                cell(ui, state, sheet, [x, y, page], commands);
            }
            ui.end_row();
        }
    });
}

fn cell(ui: &mut Ui, state: &State, sheet: &Sheet, at: Place, commands: &mut Commands) {
    let side = vec2(PICTURE, PICTURE);
    let palette = theme::palette(ui);
    let caption = sheet.kept.captions.caption(at);
    if !sheet.kept.cells.contains(&at) {
        ui.add_sized(side, Label::new(small(tr!("grid-left-out"), palette.weak)));
        return;
    }
    let texture = sheet.textures.get(&at);
    let image = texture.map(|it| Image::from_texture(SizedTexture::from_handle(&it.texture)).fit_to_exact_size(side));
    if let Some(image) = image.clone().filter(|_| texture.is_some_and(|it| !it.is_draft)) {
        let button = Button::image(image).min_size(side);
        command_control(ui, state, commands, Command::UseCell(at), |ui| ui.add(button).accessible_name(caption.as_str()));
        return;
    }
    let row = sheet.job(at).and_then(|id| state.shared.queue.row(id));
    let words = match row.map(|row| row.job.state) {
        _ if sheet.kept.pictures.contains_key(&at) => "…",
        Some(JobState::Running) => tr!("grid-generating"),
        Some(JobState::Cancelled) => tr!("grid-struck-out"),
        Some(JobState::Failed) => tr!("grid-failed"),
        Some(JobState::Held) => tr!("grid-held"),
        Some(JobState::Waiting | JobState::Done) | None if image.is_some() => tr!("grid-draft"),
        Some(JobState::Waiting | JobState::Done) | None => tr!("grid-waiting"),
    };
    let name = format!("{caption}: {words}");
    command_control(ui, state, commands, Command::CancelCell(at), |ui| {
        let Some(image) = image else {
            let button = Button::new(small(words, palette.weak)).min_size(side);
            return ui.add_sized(side, button).accessible_name(name.as_str());
        };
        let response = ui.add(Button::image(image).min_size(side)).accessible_name(name.as_str());
        // What is said of a picture lies on a ground of its own.
        let galley = ui.fonts_mut(|fonts| fonts.layout_no_wrap(words.to_owned(), FontId::proportional(theme::SMALL), palette.text));
        let corner = response.rect.left_bottom() + vec2(4.0, -4.0 - galley.size().y);
        ui.painter().rect_filled(Rect::from_min_size(corner, galley.size()).expand(2.0), 3, palette.raised);
        ui.painter().galley(corner, galley, palette.text);
        response
    });
}
