//! What an empty start shows: the person's best pictures made with the chosen model, and what that
//! is good at, each one click from being made.

use std::borrow::Cow;
use std::sync::Arc;

use atelier_language::tr;
use atelier_studio::next_recipe::UnmetRequirement;
use eframe::egui::text::LayoutJob;
use eframe::egui::{
    Align, Color32, Galley, Rect, RichText, Role, Sense, Stroke, StrokeKind, TextStyle, TextureHandle, Ui, UiBuilder, WidgetInfo, pos2,
    vec2,
};

use crate::gui::bidi;
use crate::gui::command::{Command as AnyCommand, Commands};
use crate::gui::create::Command;
use crate::gui::create::sheet::{GAP, SheetLayout};
use crate::gui::screen::Screen;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::{bold, file_name, paint_square, tooltip};
use crate::gui::window_command::WindowCommand;

/// Pictures and prompts that are shown at most.
const MAX_CELLS: usize = 6;
/// Those of them that are the person's, where there are examples too.
const MAX_OWN: usize = 3;
/// Height of the heading with the space round it, without what it says below, in points.
const HEADING_HEIGHT: f32 = 44.0;
/// Height of the words below a picture, in points.
const CAPTION_HEIGHT: f32 = 34.0;
/// Largest and least side of a picture, in points.
const MAX_SIDE: f32 = 300.0;
const MIN_SIDE: f32 = 40.0;
/// Space between the border of a prompt and its words, in points.
const PADDING: f32 = 8.0;
/// Lines of words below a picture.
const CAPTION_ROWS: usize = 2;

/// One of the pictures and prompts.
struct Cell<'a> {
    /// Name for who does not see it.
    name: Cow<'a, str>,
    words: Cow<'a, str>,
    look: Option<&'a TextureHandle>,
    /// Width and height in pixels.
    size: (u32, u32),
    command: Command,
}

/// Draws what an empty start shows of the chosen model; false where there is nothing to be shown.
pub(crate) fn examples_panel(ui: &mut Ui, state: &State, commands: &mut Commands, whole: Rect) -> bool {
    let cells = cells(state);
    if cells.is_empty() {
        return false;
    }
    let palette = theme::palette(ui);
    let room = whole.shrink(24.0);
    let mut note = LayoutJob::simple(note(state, &cells).to_owned(), TextStyle::Body.resolve(ui.style()), palette.weak, room.width());
    note.halign = Align::Center;
    let heading_height = HEADING_HEIGHT + bidi::laid_out(ui, note.clone()).size().y;
    let below = Rect::from_min_max(room.min + vec2(0.0, heading_height), room.max);
    let Some((layout, place)) = layout_in(below, columns(cells.len(), room)) else { return false };
    let top = (place.top() - heading_height).max(room.top());
    let heading = Rect::from_min_size(pos2(room.left(), top), vec2(room.width(), heading_height));
    ui.scope_builder(UiBuilder::new().max_rect(heading), |ui| {
        ui.vertical_centered(|ui| {
            ui.label(bold(tr!("create-describe-your-picture")).size(theme::HEADING).color(palette.strong));
            ui.label(RichText::new(note.text).color(palette.weak));
        });
    });
    for (at, cell) in cells.into_iter().enumerate() {
        cell_panel(ui, commands, cell, (at, layout.rect(at)));
    }
    true
}

/// True where there are pictures or prompts to be shown, and this room has a place for them.
pub(crate) fn has_examples_in(state: &State, room: Rect) -> bool {
    layout_in(room, columns(cells(state).len(), room)).is_some()
}

/// Draws these pictures and prompts alone, in the middle of this room; a click leads to Create.
pub(crate) fn examples_in(ui: &mut Ui, state: &State, commands: &mut Commands, room: Rect) {
    let cells = cells(state);
    let Some((layout, _)) = layout_in(room, columns(cells.len(), room)) else { return };
    let mut chosen = Commands::default();
    for (at, cell) in cells.into_iter().enumerate() {
        cell_panel(ui, &mut chosen, cell, (at, layout.rect(at)));
    }
    for command in chosen.into_vec() {
        commands.push(WindowCommand::SetScreen(Screen::Create));
        commands.push(command);
    }
}

/// The number of cells, and of those side by side in this room.
fn columns(count: usize, room: Rect) -> (usize, usize) {
    let is_wide = room.width() > room.height() * 1.3;
    (count, count.min(if is_wide { 3 } else { 2 }).max(1))
}

/// The places of so many cells in so many columns in the middle of a room, and the rectangle round
/// them; `None` where they would be too small.
fn layout_in(room: Rect, (count, columns): (usize, usize)) -> Option<(SheetLayout, Rect)> {
    let rows = count.div_ceil(columns);
    let high = room.height() / rows as f32 - CAPTION_HEIGHT - GAP;
    let side = high.min((room.width() - GAP * (columns - 1) as f32) / columns as f32).min(MAX_SIDE);
    if count == 0 || side < MIN_SIDE {
        return None;
    }
    let size = vec2(side * columns as f32 + GAP * (columns - 1) as f32, (side + CAPTION_HEIGHT) * rows as f32 + GAP * (rows - 1) as f32);
    let place = Rect::from_center_size(room.center(), size);
    Some((SheetLayout::of(count, side / (side + CAPTION_HEIGHT), place), place))
}

/// The person's best pictures, then the model's examples; none while something is made, or could not
/// be.
fn cells(state: &State) -> Vec<Cell<'_>> {
    let is_idle = state.shared.jobs.is_empty() && !state.live.is_running();
    let is_ready = matches!(state.shared.next.ready(), Ok(()) | Err(UnmetRequirement::Prompt));
    if !is_idle || !is_ready || state.create.examples.is_reading {
        return Vec::new();
    }
    let shown = &state.create.examples;
    let examples = state.shared.examples();
    let recipe = &state.shared.next.recipe;
    let most_own = if examples.is_empty() { MAX_CELLS } else { MAX_OWN };
    let own = shown.own.iter().take(most_own).map(|picture| {
        let words: Cow<'_, str> =
            if picture.prompt_start.is_empty() { file_name(&picture.path).into() } else { picture.prompt_start.as_str().into() };
        Cell {
            name: tr!("create-your-picture", words).into(),
            words,
            look: state.gallery.thumbnails.get(picture.id),
            size: (picture.width, picture.height),
            command: Command::OpenPicture(picture.path.clone()),
        }
    });
    let examples = examples.iter().enumerate().map(|(at, example)| Cell {
        name: example.prompt.as_str().into(),
        words: example.prompt.as_str().into(),
        look: shown.looks.get(at).and_then(Option::as_ref),
        size: example.width.zip(example.height).unwrap_or((recipe.width, recipe.height)),
        command: Command::MakeExample(Box::new(example.clone())),
    });
    own.chain(examples).take(MAX_CELLS).collect()
}

/// What the pictures and prompts are, and what a click does.
fn note(state: &State, cells: &[Cell<'_>]) -> &'static str {
    if !state.create.examples.own.is_empty() {
        tr!("create-your-best-pictures-with")
    } else if cells.iter().any(|cell| cell.look.is_some()) {
        tr!("create-write-a-prompt-and-press-generate")
    } else {
        tr!("create-there-is-no-picture-of-this-model")
    }
}

fn cell_panel(ui: &mut Ui, commands: &mut Commands, cell: Cell<'_>, (at, rect): (usize, Rect)) {
    let palette = theme::palette(ui);
    let response =
        ui.scope_builder(UiBuilder::new().max_rect(rect).id_salt(("example", at)), |ui| ui.allocate_rect(rect, Sense::click())).inner;
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &*cell.name));
    let is_pointed = response.hovered() || response.has_focus();
    let square = Rect::from_min_size(rect.min, vec2(rect.width(), rect.width()));
    let colour = if is_pointed { palette.text } else { palette.weak };
    let (width, height) = cell.size;
    let frame = if let Some(texture) = cell.look {
        paint_square(ui, texture, square);
        square
    } else {
        // As wide and high as the picture will be.
        let scale = square.width() / width.max(height).max(1) as f32;
        let frame = Rect::from_center_size(square.center(), vec2(width as f32, height as f32) * scale);
        ui.painter().rect(frame, 5.0, palette.raised, Stroke::new(1.0, palette.edge), StrokeKind::Inside);
        let inner = frame.shrink(PADDING);
        let rows = (inner.height() / ui.text_style_height(&TextStyle::Body)).floor().max(1.0) as usize;
        let words = centred(ui, &cell.words, &TextStyle::Body, (inner.width(), rows), palette.text);
        ui.painter().galley(pos2(inner.center().x, inner.center().y - words.size().y / 2.0), words, palette.text);
        frame
    };
    if is_pointed {
        ui.painter().rect_stroke(frame, 5.0, Stroke::new(2.0, palette.accent), StrokeKind::Outside);
    }
    let caption = if cell.look.is_some() { cell.words.clone() } else { tr!("guides-pixels", width, height).into() };
    let caption = centred(ui, &caption, &TextStyle::Small, (rect.width(), CAPTION_ROWS), colour);
    ui.painter().galley(square.center_bottom() + vec2(0.0, 4.0), caption, colour);
    let hover = format!("{}\n{}", cell.words, tooltip(ui.ctx(), &AnyCommand::from(cell.command.clone())));
    if response.on_hover_text(hover).clicked() {
        commands.push(cell.command);
    }
}

/// Words in the middle of this many rows of this width in points; what has no room is elided.
fn centred(ui: &Ui, words: &str, style: &TextStyle, (width, rows): (f32, usize), colour: Color32) -> Arc<Galley> {
    let mut job = LayoutJob::simple(words.to_owned(), style.resolve(ui.style()), colour, width);
    job.wrap.max_rows = rows;
    job.halign = Align::Center;
    bidi::laid_out(ui, job)
}
