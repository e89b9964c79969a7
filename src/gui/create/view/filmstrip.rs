//! The filmstrip: open canvases, the candidates of the one that is edited, and the pictures of this
//! session, newest first, behind the one that is forming.

use atelier_language::tr;
use eframe::egui::{Rect, Role, ScrollArea, Sense, StrokeKind, TextureHandle, Ui, UiBuilder, WidgetInfo, pos2, vec2};

use crate::gui::canvas;
use crate::gui::command::Commands;
use crate::gui::create::Command;
use crate::gui::create::session::{PictureFile, SessionPicture};
use crate::gui::create::view::canvas_cells::canvas_cells;
use crate::gui::create::view::{menu, notes};
use crate::gui::icons::Icon;
use crate::gui::state::State;
use crate::gui::{icons, theme, widgets};

/// Side of a small look, in points.
pub(crate) const SIDE: f32 = 72.0;
const GAP: f32 = 6.0;

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

/// Draws the pictures. Only what is in sight is drawn.
fn picture_cells(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let forming = state.create.forming.first().map(|forming| &forming.texture);
    let pictures = pictures(state);
    let tiles = pictures.len() + usize::from(forming.is_some());
    ScrollArea::horizontal().id_salt("filmstrip scroll").auto_shrink([false, true]).show_viewport(ui, |ui, viewport| {
        let total = tiles as f32 * (SIDE + GAP) - GAP;
        let (strip, _) = ui.allocate_exact_size(vec2(total.max(viewport.width()), SIDE), Sense::hover());
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
}

fn picture_tile(ui: &mut Ui, rect: Rect, picture: &SessionPicture, state: &State, commands: &mut Commands) {
    let is_other = state.create.forming_shown().is_some() || state.canvas.in_sight().is_some();
    let chosen = !is_other && state.create.session.shown().is_some_and(|shown| shown.id == picture.id);
    let mut name = tr!("create-picture-seed", id = picture.id.0 + 1, seed = picture.info.seed);
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
    let response = response.on_hover_text(tr!("create-right-click-for-a-menu", name));
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
