//! The filmstrip: open canvases, the candidates of the one that is edited, and the pictures of this
//! session, newest first, behind the one that is forming.

use atelier_language::tr;
use eframe::egui::{Id, Rect, Role, ScrollArea, Sense, StrokeKind, TextureHandle, Ui, UiBuilder, WidgetInfo, pos2, vec2};

use crate::gui::canvas;
use crate::gui::command::Commands;
use crate::gui::create::Command;
use crate::gui::create::session::{PictureFile, SessionPicture, SessionPictureId};
use crate::gui::create::view::canvas_cells::canvas_cells;
use crate::gui::create::view::{menu, notes};
use crate::gui::icons::Icon;
use crate::gui::state::State;
use crate::gui::{icons, theme, widgets};
use atelier_core::recipe::SeedNumber;

/// Side of a small look, in points.
pub(crate) const SIDE: f32 = 72.0;
const GAP: f32 = 6.0;
/// Characters of a prompt that the words on a picture show.
const MAX_PROMPT: usize = 200;

/// Draws the filmstrip.
pub(crate) fn filmstrip_panel(ui: &mut Ui, state: &State, commands: &mut Commands) {
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = GAP;
        canvas_cells(ui, state, commands, SIDE);
        canvas::view::candidate_cells(ui, state, commands, SIDE);
        picture_cells(ui, state, commands);
    });
}

/// The pictures that have a cell of their own: one that is a candidate has one already.
fn pictures(state: &State) -> Vec<&SessionPicture> {
    let candidates = state.canvas.edited().map(|document| document.candidates.as_slice()).unwrap_or_default();
    let is_candidate = |picture: &SessionPicture| candidates.iter().any(|it| Some(it.origin) == picture.origin);
    state.create.session.iter().filter(|picture| !is_candidate(picture)).collect()
}

/// How the pictures of the strip lay in the last frame.
#[derive(Clone, Copy, Default)]
struct StripPlace {
    /// The newest picture, and how many tiles were before it.
    newest: Option<(SessionPictureId, usize)>,
    /// How far it was scrolled, in points.
    offset: f32,
    /// How much of that makes up for tiles that came while the pointer was here, in points.
    held: f32,
}

impl StripPlace {
    /// Keeps what lies under the pointer where it is as tiles come and go before it; once the pointer
    /// is elsewhere, the newest is in sight again. Returns where to scroll to, in points.
    fn follow(&mut self, has_pointer: bool, newest_at: Option<usize>) -> Option<f32> {
        if !has_pointer {
            let was_at_newest = self.held > 0.0 && self.offset <= self.held + 0.5;
            self.held = 0.0;
            return was_at_newest.then_some(0.0);
        }
        let (_, before) = self.newest?;
        let moved = (newest_at? as f32 - before as f32) * (SIDE + GAP);
        self.held = (self.held + moved).max(0.0);
        (moved != 0.0).then(|| (self.offset + moved).max(0.0))
    }
}

/// Draws the pictures. Only what is in sight is drawn.
fn picture_cells(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let forming = state.create.forming.first().map(|forming| &forming.texture);
    let pictures = pictures(state);
    let forming_tiles = usize::from(forming.is_some());
    let tiles = pictures.len() + forming_tiles;
    let id = Id::unique("place of the filmstrip");
    let mut place: StripPlace = ui.data(|data| data.get_temp(id)).unwrap_or_default();
    let room = Rect::from_min_size(ui.cursor().min, vec2(ui.available_width(), SIDE));
    let newest_at = place.newest.and_then(|(newest, _)| Some(forming_tiles + pictures.iter().position(|it| it.id == newest)?));
    let mut area = ScrollArea::horizontal().id_salt("filmstrip scroll").auto_shrink([false, true]);
    if let Some(offset) = place.follow(ui.rect_contains_pointer(room), newest_at) {
        area = area.horizontal_scroll_offset(offset);
    }
    let shown = area.show_viewport(ui, |ui, viewport| {
        let total = tiles as f32 * (SIDE + GAP) - GAP;
        let (strip, _) = ui.allocate_exact_size(vec2(total.max(viewport.width() + place.held), SIDE), Sense::hover());
        let first = (viewport.left() / (SIDE + GAP)).floor().max(0.0) as usize;
        let count = (viewport.width() / (SIDE + GAP)).ceil() as usize + 1;
        for at in first..(first + count).min(tiles) {
            let min = pos2(strip.left() + at as f32 * (SIDE + GAP), strip.top());
            let rect = Rect::from_min_size(min, vec2(SIDE, SIDE));
            match (forming, at.checked_sub(usize::from(forming.is_some()))) {
                (Some(texture), None) => {
                    let chosen = state.create.session.following();
                    tile(ui, rect, tr!("create-current-picture"), chosen, Some(texture), Command::Follow, state, commands);
                }
                (_, Some(index)) => {
                    if let Some(picture) = pictures.get(index) {
                        picture_tile(ui, rect, picture, state, commands);
                    }
                }
                (None, None) => {}
            }
        }
    });
    place.offset = shown.state.unclamped_offset().x;
    place.newest = pictures.first().map(|it| (it.id, forming_tiles));
    ui.data_mut(|data| data.insert_temp(id, place));
}

fn picture_tile(ui: &mut Ui, rect: Rect, picture: &SessionPicture, state: &State, commands: &mut Commands) {
    let is_other = state.create.forming_shown().is_some() || state.canvas.in_sight().is_some();
    let chosen = !is_other && state.create.session.shown().is_some_and(|shown| shown.id == picture.id);
    let mut name = tr!("create-picture-seed", id = picture.id.0 + 1, seed = SeedNumber(picture.info.seed));
    if picture.is_upscaled() {
        name.push_str(tr!("create-upscaled"));
    }
    if !picture.notes.is_empty() {
        name.extend(["\n", &notes::lines(picture)]);
    }
    let kept = || picture.kept.and_then(|id| state.gallery.thumbnails.get(id));
    tile(ui, rect, &name, chosen, picture.thumbnail.as_ref().or_else(kept), Command::Show(picture.id), state, commands);
    let palette = theme::palette(ui);
    if let Some((icon, color)) = notes::mark(picture, &palette) {
        let corner = Rect::from_center_size(rect.left_bottom() + vec2(12.0, -12.0), vec2(18.0, 18.0));
        ui.painter().circle_filled(corner.center(), 10.0, palette.raised);
        icons::paint(ui.painter(), corner, icon, color);
    }
    if picture.is_upscaled() {
        let corner = Rect::from_center_size(rect.left_top() + vec2(12.0, 12.0), vec2(18.0, 18.0));
        ui.painter().circle_filled(corner.center(), 10.0, palette.raised);
        icons::paint(ui.painter(), corner, Icon::Upscale, palette.strong);
    }
    if picture.stored == PictureFile::Failed {
        let corner = Rect::from_center_size(rect.right_bottom() - vec2(12.0, 12.0), vec2(18.0, 18.0));
        ui.painter().circle_filled(corner.center(), 10.0, palette.raised);
        icons::paint(ui.painter(), corner, Icon::Warning, palette.warn);
    }
}

#[expect(clippy::too_many_arguments, reason = "one tile is drawn from two places, and each says all of it")]
fn tile(
    ui: &mut Ui,
    rect: Rect,
    name: &str,
    chosen: bool,
    texture: Option<&TextureHandle>,
    command: Command,
    state: &State,
    commands: &mut Commands,
) {
    let palette = theme::palette(ui);
    let response = ui.scope_builder(UiBuilder::new().max_rect(rect).id_salt(name), |ui| ui.allocate_rect(rect, Sense::click())).inner;
    response.widget_info(|| WidgetInfo::selected(Role::Button, true, chosen, name));
    ui.painter().rect_filled(rect, 5.0, palette.control);
    if let Some(texture) = texture {
        widgets::paint_square(ui, texture, rect);
    }
    ui.painter().rect_stroke(rect, 5.0, widgets::picture_ring(&response, chosen, &palette), StrokeKind::Inside);
    if response.has_focus() && ui.clip_rect().intersect(rect).area() < rect.area() {
        response.scroll_to_me(None);
    }
    let clicked = response.clicked();
    let response = response.on_hover_text(tr!("create-right-click-for-a-menu", name = described(name, &command, state)));
    if let Command::Show(id) = command {
        // The menu is about the picture that is shown then.
        if response.secondary_clicked() {
            commands.push(Command::Show(id));
        }
        response.context_menu(|ui| {
            let mut chosen = Commands::default();
            menu::picture_entries(ui, state, &mut chosen, Some(id));
            for action in chosen.into_vec() {
                commands.push(Command::Show(id));
                commands.push(action);
            }
        });
    }
    if clicked {
        commands.push(command);
    }
}

/// The name of a tile, and the beginning of the prompt where it shows a picture.
fn described(name: &str, command: &Command, state: &State) -> String {
    let picture = if let Command::Show(id) = command { state.create.session.get(*id) } else { None };
    let prompt = picture.map_or("", |picture| picture.recipe.prompt.trim());
    let start: String = prompt.chars().take(MAX_PROMPT).collect();
    let end = if start.len() < prompt.len() { "…" } else { "" };
    if start.is_empty() { name.to_owned() } else { format!("{name}\n{start}{end}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strip_is_scrolled_by_what_came_and_back_to_the_newest() {
        let mut place = StripPlace { newest: Some((SessionPictureId(4), 0)), ..StripPlace::default() };
        assert_eq!(place.follow(true, Some(0)), None);
        assert_eq!(place.follow(true, Some(2)), Some(2.0 * (SIDE + GAP)));
        (place.offset, place.newest) = (2.0 * (SIDE + GAP), Some((SessionPictureId(6), 1)));
        // What was forming is gone, and left nothing.
        assert_eq!(place.follow(true, Some(0)), Some(SIDE + GAP));
        place.offset = SIDE + GAP;
        assert_eq!(place.follow(false, Some(0)), Some(0.0));
        // Who has scrolled to older ones stays there.
        let mut place = StripPlace { newest: Some((SessionPictureId(4), 0)), offset: 900.0, held: 0.0 };
        assert_eq!(place.follow(true, Some(1)), Some(900.0 + SIDE + GAP));
        place.offset = 900.0 + SIDE + GAP;
        assert_eq!(place.follow(false, Some(0)), None);
    }
}
