//! The contact sheet: the pictures of a job side by side as they form and when they are finished,
//! with what can be done with each.

use atelier_language::tr;
use eframe::egui::{
    Color32, Context, Event, Id, Key, Modifiers, Rect, Response, Role, Sense, Stroke, StrokeKind, TextureHandle, Ui, UiBuilder, Vec2,
    WidgetInfo, pos2, vec2,
};

use crate::gui::canvas;
use crate::gui::canvas::tool::Tool;
use crate::gui::command::{self, Commands};
use crate::gui::create::Command;
use crate::gui::create::command::PICTURE_KEYS;
use crate::gui::create::larger::UpscaleMethod;
use crate::gui::create::session::{PictureFile, SessionPicture, SessionPictureId};
use crate::gui::create::sheet::{Cell, Direction, LeavingPictures, SheetLayout};
use crate::gui::create::view::menu::picture_menu;
use crate::gui::create::view::notes;
use crate::gui::icons::Icon;
use crate::gui::shared::Screen;
use crate::gui::state::State;
use crate::gui::widgets::{ROW_HEIGHT, bare_icon, command_control, picture_ring};
use crate::gui::{icons, theme};
use atelier_core::recipe::SeedNumber;

/// Space between the sheet and the edges of its room, in points.
const MARGIN: f32 = 14.0;
/// How many buttons stand in a row on a cell: as many as it has room for.
const BUTTONS_IN_ROW: [usize; 3] = [6, 3, 2];
/// How long a picture fades that leaves the sheet, in times of `egui`'s own animations: where those
/// take no time, it is gone at once.
const FADE: f32 = 2.0;
/// How far it sinks towards the filmstrip meanwhile, in points.
const SINK: f32 = 24.0;
/// Space that a cell keeps beside its buttons, and below them, in points.
const BUTTONS_MARGIN: Vec2 = vec2(26.0, 8.0);

/// Draws the sheet.
pub(crate) fn sheet_panel(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let whole = ui.available_rect_before_wrap();
    let cells = state.create.sheet.cells();
    let layout = SheetLayout::of(cells.len(), aspect(state), whole.shrink(MARGIN));
    ui.ctx().data_mut(|data| data.insert_temp(columns_id(), layout.columns));
    let pointer = ui.ctx().pointer_hover_pos().filter(|at| whole.contains(*at) && ui.rect_contains_pointer(whole));
    let mut pointed = None;
    let mut focused = None;
    // An open menu is about its picture, wherever the pointer is on the way to an entry.
    let mut with_menu = None;
    for (at, cell) in cells.iter().enumerate() {
        let rect = layout.rect(at);
        let response =
            ui.scope_builder(UiBuilder::new().max_rect(rect).id_salt(("cell", at)), |ui| ui.allocate_rect(rect, Sense::click())).inner;
        if response.has_focus() {
            focused = Some((response.id, cell.picture));
        }
        if pointer.is_some_and(|at| rect.contains(at)) {
            pointed = cell.picture;
        }
        if response.context_menu_opened() {
            with_menu = cell.picture;
        }
        cell_panel(ui, state, commands, (at, cell), &response);
    }
    ui.ctx().data_mut(|data| data.insert_temp(focused_id(), focused.map(|(id, _)| id)));
    let meant = with_menu.or(pointed).or(focused.and_then(|(_, picture)| picture));
    // What is under the pointer or has the keyboard is what keys and commands mean.
    if meant != state.create.session.pointed() {
        commands.push(Command::PointAt(meant));
    }
}

/// Width through height of the pictures, as far as it is known.
fn aspect(state: &State) -> f32 {
    let of = |width: u32, height: u32| width.max(1) as f32 / height.max(1) as f32;
    let create = &state.create;
    let made = create.sheet.pictures().find_map(|id| create.session.get(id)).map(|it| of(it.width, it.height));
    let forming = || create.forming.first().map(|it| of(it.width, it.height));
    let asked = || {
        let job = state.shared.jobs.iter().find(|job| create.sheet.cells().iter().any(|cell| cell.origin.is_some_and(|it| it.0 == job.id)));
        job.map(|job| of(job.recipe.width, job.recipe.height))
    };
    made.or_else(forming).or_else(asked).unwrap_or(1.0)
}

fn cell_panel(ui: &mut Ui, state: &State, commands: &mut Commands, (at, cell): (usize, &Cell), response: &Response) {
    let (palette, rect) = (theme::palette(ui), response.rect);
    let create = &state.create;
    let picture = cell.picture.and_then(|id| create.session.get(id));
    let is_meant = picture.is_some_and(|it| create.session.meant() == Some(it.id));
    let count = create.sheet.cells().len();
    let name = match picture {
        Some(picture) => {
            tr!(
                "create-picture-of-seed",
                at = at + 1,
                count,
                seed = SeedNumber(picture.info.seed),
                is_upscaled = if picture.is_upscaled() { tr!("create-upscaled") } else { "" },
                is_picked = if picture.is_picked { tr!("create-picked") } else { "" }
            )
        }
        None if cell.origin.and_then(|origin| create.forming.get(origin)).is_some() => tr!("create-picture-of-forming", at = at + 1, count),
        None => tr!("create-picture-of-waiting", at = at + 1, count),
    };
    response.widget_info(|| WidgetInfo::selected(Role::Button, true, is_meant, &name));
    ui.painter().rect_filled(rect, 3.0, palette.control);
    if let Some((texture, size)) = look(state, cell, picture) {
        draw(ui, texture, size, rect, theme::UNTINTED);
    }
    ui.painter().rect_stroke(rect.expand(2.0), 4.0, picture_ring(response, is_meant, &palette), StrokeKind::Outside);
    let Some(picture) = picture else { return };
    marks(ui, state, picture, rect);
    if response.clicked() {
        commands.push(Command::PointAt(Some(picture.id)));
        commands.push(Command::Enlarge);
    }
    picture_menu(state, commands, response, Some(picture.id));
    let has_pointer = ui.ctx().pointer_hover_pos().is_some_and(|at| rect.contains(at)) && ui.rect_contains_pointer(rect);
    if has_pointer || response.has_focus() || is_meant {
        buttons(ui, state, commands, picture.id, rect);
    }
}

/// The texture of a cell, and the size of its picture in pixels.
fn look<'a>(state: &'a State, cell: &Cell, picture: Option<&'a SessionPicture>) -> Option<(&'a TextureHandle, Vec2)> {
    // A finished picture whose pixels are on their way keeps its last preview.
    if let Some(forming) = cell.origin.and_then(|origin| state.create.forming.get(origin)) {
        return Some((&forming.texture, vec2(forming.width as f32, forming.height as f32)));
    }
    finished_look(state, picture?)
}

/// The texture of a finished picture, and its size in pixels.
fn finished_look<'a>(state: &'a State, picture: &'a SessionPicture) -> Option<(&'a TextureHandle, Vec2)> {
    let kept = || picture.kept.and_then(|id| state.gallery.thumbnails.get(id));
    let texture = state.create.session.texture(picture.id).or(picture.thumbnail.as_ref()).or_else(kept)?;
    Some((texture, vec2(picture.width as f32, picture.height as f32)))
}

/// Draws all of a picture in the middle of its cell.
fn draw(ui: &Ui, texture: &TextureHandle, size: Vec2, rect: Rect, tint: Color32) {
    let scale = (rect.size() / size.max(Vec2::splat(1.0))).min_elem();
    let drawn = Rect::from_center_size(rect.center(), size * scale);
    ui.painter().image(texture.id(), drawn, Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0)), tint);
}

/// Draws the pictures that left the sheet a moment ago over what took their place: they fade where
/// they were.
pub(crate) fn leaving_pictures(ui: &Ui, state: &State, whole: Rect) {
    let LeavingPictures { since_secs, count, pictures } = state.create.sheet.leaving();
    let fade_secs = f64::from(FADE * ui.style().animation_time);
    let gone = ((ui.ctx().time() - since_secs) / fade_secs) as f32;
    if !(0.0..1.0).contains(&gone) {
        return;
    }
    let here: Vec<_> = pictures.iter().filter_map(|(at, id)| Some((*at, state.create.session.get(*id)?))).collect();
    let Some((_, first)) = here.first() else { return };
    let layout = SheetLayout::of(*count, first.width.max(1) as f32 / first.height.max(1) as f32, whole.shrink(MARGIN));
    for (at, picture) in here {
        if let Some((texture, size)) = finished_look(state, picture) {
            let rect = layout.rect(at).translate(vec2(0.0, SINK * gone));
            draw(ui, texture, size, rect, theme::UNTINTED.gamma_multiply(1.0 - gone));
        }
    }
    ui.ctx().request_repaint();
}

/// Draws what is to be known of a picture in the corners of its cell.
fn marks(ui: &Ui, state: &State, picture: &SessionPicture, rect: Rect) {
    let palette = theme::palette(ui);
    let badge = |center: eframe::egui::Pos2| {
        ui.painter().circle_filled(center, 11.0, palette.raised);
        Rect::from_center_size(center, vec2(18.0, 18.0))
    };
    if picture.is_picked {
        let at = badge(rect.right_top() + vec2(-16.0, 16.0));
        icons::star(ui.painter(), at.center(), 7.0, palette.accent, true);
    }
    if state.create.sheet.compared == Some(picture.id) {
        let at = badge(rect.right_top() + vec2(-42.0, 16.0));
        icons::paint(ui.painter(), at, Icon::Compare, palette.accent);
    }
    let mark = notes::mark(picture, &palette).or((picture.stored == PictureFile::Failed).then_some((Icon::Warning, palette.warn)));
    let upscaled = picture.is_upscaled().then_some((Icon::Upscale, palette.strong));
    for (at, (icon, colour)) in mark.into_iter().chain(upscaled).enumerate() {
        icons::paint(ui.painter(), badge(rect.left_top() + vec2(16.0 + 26.0 * at as f32, 16.0)), icon, colour);
    }
}

/// Draws the buttons of a picture at the bottom of its cell, in several rows where that is narrow.
fn buttons(ui: &mut Ui, state: &State, commands: &mut Commands, id: SessionPictureId, rect: Rect) {
    let all: [(Icon, command::Command); 6] = [
        (Icon::Star, Command::TogglePick.into()),
        (Icon::Variations, Command::NearSeeds.into()),
        (Icon::Upscale, Command::Upscale(UpscaleMethod::Plain).into()),
        (Icon::Brush, canvas::Command::SetTool(Tool::Brush).into()),
        (Icon::Compare, Command::CompareShown.into()),
        (Icon::Trash, Command::Trash.into()),
    ];
    let (gap, pad) = (4.0, 4.0);
    let length = |buttons: usize| buttons as f32 * (ROW_HEIGHT + gap) - gap + 2.0 * pad;
    let size_of = |columns: usize| vec2(length(columns), length(all.len().div_ceil(columns)));
    let has_room = |columns: &usize| {
        let needed = size_of(*columns) + BUTTONS_MARGIN;
        needed.x <= rect.width() && needed.y <= rect.height()
    };
    let Some(columns) = BUTTONS_IN_ROW.into_iter().find(has_room) else { return };
    let size = size_of(columns);
    let bar = Rect::from_center_size(rect.center_bottom() - vec2(0.0, size.y / 2.0 + BUTTONS_MARGIN.y), size);
    let palette = theme::palette(ui);
    ui.painter().rect_filled(bar, f32::from(theme::RADIUS), palette.raised);
    ui.painter().rect_stroke(bar, f32::from(theme::RADIUS), Stroke::new(1.0, palette.line), StrokeKind::Inside);
    ui.scope_builder(UiBuilder::new().max_rect(bar.shrink(pad)).id_salt(("buttons", id.0)), |ui| {
        ui.spacing_mut().item_spacing = Vec2::splat(gap);
        for row in all.chunks(columns) {
            ui.horizontal(|ui| {
                for (icon, command) in row {
                    let label = command.label();
                    let mut pressed = Commands::default();
                    command_control(ui, state, &mut pressed, command.clone(), |ui| bare_icon(ui, *icon, label));
                    for command in pressed.into_vec() {
                        commands.push(Command::PointAt(Some(id)));
                        commands.push(command);
                    }
                }
            });
        }
    });
}

fn columns_id() -> Id {
    Id::unique("sheet columns")
}

fn focused_id() -> Id {
    Id::unique("focused cell")
}

/// Turns keys that are about the pictures of the session into commands, in the order in which they
/// were pressed.
pub(crate) fn keys(ctx: &Context, state: &State, commands: &mut Commands) {
    if !means_pictures(state) {
        return;
    }
    let focused = ctx.memory(eframe::egui::Memory::focused);
    let cell: Option<Id> = ctx.data(|data| data.get_temp::<Option<Id>>(focused_id())).flatten();
    if focused.is_some() && (focused != cell || !state.create.shows_sheet()) {
        return;
    }
    let columns = ctx.data(|data| data.get_temp(columns_id())).unwrap_or(1);
    ctx.input_mut(|input| {
        input.events.retain(|event| {
            let Event::Key { key, pressed: true, modifiers, .. } = event else { return true };
            let direction = direction_of(*key).filter(|_| modifiers.is_none() && state.create.sheet.is_several());
            let go = direction.map(|direction| Command::GoInSheet(direction, columns));
            let Some(command) = go.or_else(|| command_of(state, *key, *modifiers)) else { return true };
            commands.push(command);
            false
        });
    });
}

/// The way of an arrow key.
const fn direction_of(key: Key) -> Option<Direction> {
    match key {
        Key::ArrowLeft => Some(Direction::Left),
        Key::ArrowRight => Some(Direction::Right),
        Key::ArrowUp => Some(Direction::Up),
        Key::ArrowDown => Some(Direction::Down),
        _ => None,
    }
}

/// True where keys mean pictures of the session: no canvas and no live picture is in their place.
fn means_pictures(state: &State) -> bool {
    let is_elsewhere = state.shared.screen != Screen::Create || state.create.document_size_px.is_some() || state.live.is_on;
    !is_elsewhere && !state.create.session.is_empty()
}

/// The command of a key about pictures, where it has one now.
pub(crate) fn command_of(state: &State, key: Key, modifiers: Modifiers) -> Option<Command> {
    let (.., command) = PICTURE_KEYS.iter().find(|(with, it, _)| *it == key && modifiers.matches_exact(*with))?;
    let is_enabled = || command::Command::from(command.clone()).enabled(state).is_ok();
    (means_pictures(state) && is_enabled()).then(|| command.clone())
}
