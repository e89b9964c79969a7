//! A picture in the grid: thumbnail, marks, selection.

use atelier_gallery::{PictureFlag, PictureId, PictureState, PictureSummary};
use atelier_language::tr;
use eframe::egui::{
    Align2, CornerRadius, EventFilter, FontId, Id, Image, Rect, Response, Role, Sense, Stroke, StrokeKind, TextureHandle, Ui, WidgetInfo,
    load::SizedTexture, vec2,
};

use crate::gui::icons::{self, Icon};
use crate::gui::state::State;
use crate::gui::theme::{self, Palette};

/// Space between a cell's edge and its picture, in points.
const INSIDE: f32 = 5.0;
const RADIUS: u8 = 6;

/// Id of a cell's widget.
pub(super) fn id(picture: PictureId) -> Id {
    Id::unique(("gallery cell", picture.0))
}

/// Draws the cell of the picture of this index and returns what happened to it.
pub(super) fn cell(ui: &Ui, state: &State, index: usize, picture: PictureId, rect: Rect) -> Response {
    let palette = theme::palette(ui);
    let view = &state.gallery;
    let (is_selected, has_cursor) = (view.selection.contains(&picture), view.cursor == Some(index));
    let summary = view.summaries.get(&picture);
    let response = ui.interact(rect, id(picture), Sense::click_and_drag());
    response.widget_info(|| WidgetInfo::selected(Role::Button, true, is_selected, name(index, summary)));
    if is_selected {
        // No colour beside pictures but the ring.
        ui.painter().rect_filled(rect, RADIUS, palette.control_hover);
        ui.painter().rect_stroke(rect, RADIUS, Stroke::new(1.0, palette.accent), StrokeKind::Inside);
    } else if response.hovered() {
        ui.painter().rect_filled(rect, RADIUS, palette.raised);
    }
    let inside = rect.shrink(INSIDE);
    let is_dim = summary.is_some_and(|it| it.flag == Some(PictureFlag::Reject) || it.state != PictureState::Here);
    match view.thumbnails.get(picture) {
        Some(texture) => thumbnail(ui, texture, inside, is_dim),
        None => placeholder(ui, summary, inside, &palette),
    }
    if let Some(summary) = summary {
        marks(ui, summary, inside, &palette);
    }
    if has_cursor || response.has_focus() {
        ui.painter().rect_stroke(rect, RADIUS, Stroke::new(2.0, palette.accent), StrokeKind::Inside);
    }
    if response.has_focus() {
        // The arrow keys go from picture to picture (`crate::gui::gallery::view::keys`).
        let arrows = EventFilter { horizontal_arrows: true, vertical_arrows: true, ..EventFilter::default() };
        ui.memory_mut(|it| it.set_focus_lock_filter(response.id, arrows));
    }
    response
}

/// Draws a thumbnail as large as fits, in the middle.
pub(super) fn thumbnail(ui: &Ui, texture: &TextureHandle, room: Rect, is_dim: bool) {
    let size = texture.size_vec2().max(vec2(1.0, 1.0));
    let scale = (room.size() / size).min_elem();
    let tint = if is_dim { theme::UNTINTED.gamma_multiply(0.35) } else { theme::UNTINTED };
    Image::from_texture(SizedTexture::from_handle(texture))
        .tint(tint)
        .corner_radius(CornerRadius::same(3))
        .paint_at(ui, Rect::from_center_size(room.center(), size * scale));
}

/// A cell without a thumbnail: not made yet, or not to be had.
fn placeholder(ui: &Ui, summary: Option<&PictureSummary>, room: Rect, palette: &Palette) {
    ui.painter().rect_filled(room, 3, palette.panel);
    let words = match summary.map(|it| it.state) {
        Some(PictureState::Missing) => Some((Icon::Warning, tr!("gallery-missing"))),
        Some(PictureState::Damaged) => Some((Icon::Warning, tr!("gallery-damaged"))),
        Some(PictureState::Trashed) => Some((Icon::Close, tr!("gallery-in-the-trash"))),
        Some(PictureState::Here) | None => None,
    };
    if let Some((icon, words)) = words {
        let middle = Rect::from_center_size(room.center() - vec2(0.0, 9.0), vec2(18.0, 18.0));
        icons::paint(ui.painter(), middle, icon, palette.weak);
        ui.painter().text(room.center() + vec2(0.0, 12.0), Align2::CENTER_CENTER, words, FontId::proportional(theme::SMALL), palette.weak);
    }
}

/// Stars, pick or reject, and the sign of a picture that is not there.
fn marks(ui: &Ui, summary: &PictureSummary, room: Rect, palette: &Palette) {
    if summary.rating > 0 {
        let width = 6.0 + 11.0 * f32::from(summary.rating);
        let rect = Rect::from_min_size(room.left_bottom() + vec2(3.0, -21.0), vec2(width, 18.0));
        ui.painter().rect_filled(rect, 9, palette.raised.gamma_multiply(0.9));
        for star in 0..summary.rating {
            icons::star(ui.painter(), rect.left_center() + vec2(8.5 + 11.0 * f32::from(star), 0.0), 5.0, palette.accent, true);
        }
    }
    let flag = match summary.flag {
        Some(PictureFlag::Pick) => Some((Icon::Check, palette.accent)),
        Some(PictureFlag::Reject) => Some((Icon::Close, palette.error)),
        None => None,
    };
    if let Some((icon, colour)) = flag {
        let middle = room.right_bottom() - vec2(12.0, 12.0);
        ui.painter().circle_filled(middle, 10.0, palette.raised.gamma_multiply(0.9));
        icons::paint(ui.painter(), Rect::from_center_size(middle, vec2(16.0, 16.0)), icon, colour);
    }
    if summary.state == PictureState::Missing {
        let middle = room.right_top() + vec2(-12.0, 12.0);
        ui.painter().circle_filled(middle, 10.0, palette.raised.gamma_multiply(0.9));
        icons::paint(ui.painter(), Rect::from_center_size(middle, vec2(16.0, 16.0)), Icon::Warning, palette.warn);
    }
}

/// Accessible name: place, file, size, marks.
fn name(index: usize, summary: Option<&PictureSummary>) -> String {
    let Some(summary) = summary else { return tr!("gallery-picture", index = index + 1) };
    let mut words = vec![tr!("gallery-picture", index = index + 1), crate::gui::widgets::file_name(&summary.path)];
    words.push(tr!("gallery-by", width = summary.width, height = summary.height));
    match summary.rating {
        0 => {}
        1 => words.push(tr!("gallery-1-star").into()),
        stars => words.push(tr!("gallery-stars", stars)),
    }
    match summary.flag {
        Some(PictureFlag::Pick) => words.push(tr!("gallery-picked").into()),
        Some(PictureFlag::Reject) => words.push(tr!("gallery-rejected").into()),
        None => {}
    }
    match summary.state {
        PictureState::Here => {}
        PictureState::Missing => words.push(tr!("gallery-missing-2").into()),
        PictureState::Trashed => words.push(tr!("gallery-in-the-trash-2").into()),
        PictureState::Damaged => words.push(tr!("gallery-damaged-2").into()),
    }
    words.join(", ")
}
