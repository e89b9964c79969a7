//! Zoom and position of the canvas: the whole picture, or a scale about a point. Pure geometry.
//!
//! Invariant: the point of the picture under the pointer stays under it while zooming.

use eframe::egui::{
    ColorImage, Context, CursorIcon, Id, Pos2, Rect, Response, TextureFilter, TextureHandle, TextureOptions, Ui, Vec2, pos2,
};

/// Smallest and largest scale, in points of the screen for a pixel of the picture.
const SCALE_RANGE: (f32, f32) = (0.02, 32.0);
/// Largest scale at which a small picture is shown whole: on a large screen it is more than a stamp.
const MAX_FIT: f32 = 8.0;
/// Pixels of the screen for a pixel of the picture up to which pictures are smooth.
const SMOOTH_UP_TO: f32 = 4.0;
/// Points of scrolling that zoom by a factor of e.
const WHEEL: f32 = 280.0;
/// Factor of one press of a zoom key.
pub(crate) const KEY_STEP: f32 = 1.25;

/// Zoom and position of the canvas.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum View {
    /// The whole picture, as large as fits and not larger than [`MAX_FIT`].
    #[default]
    Fit,
    /// At a scale of its own.
    Free {
        /// Points of the screen for a pixel of the picture.
        scale: f32,
        /// The point of the picture, in its pixels, that is in the middle of the canvas.
        center_px: Pos2,
    },
}

impl View {
    /// One pixel of the picture on one of the screen, about the point in the middle now.
    #[must_use]
    pub fn actual(self, size_px: Vec2, pixels_per_point: f32) -> Self {
        Self::Free { scale: 1.0 / pixels_per_point, center_px: self.center_px(size_px) }
    }

    /// Points of the screen for a pixel of the picture.
    #[must_use]
    pub fn scale(self, size_px: Vec2, canvas: Rect) -> f32 {
        match self {
            Self::Fit => {
                let room = canvas.size().max(Vec2::splat(1.0)) / size_px.max(Vec2::splat(1.0));
                room.min_elem().min(MAX_FIT)
            }
            Self::Free { scale, .. } => scale,
        }
    }

    fn center_px(self, size_px: Vec2) -> Pos2 {
        match self {
            Self::Fit => (size_px / 2.0).to_pos2(),
            Self::Free { center_px, .. } => center_px,
        }
    }

    /// Rectangle of the picture on the screen, in points.
    #[must_use]
    pub fn rect(self, size_px: Vec2, canvas: Rect) -> Rect {
        let scale = self.scale(size_px, canvas);
        let min = canvas.center() - self.center_px(size_px).to_vec2() * scale;
        Rect::from_min_size(min, size_px * scale)
    }

    /// The view `factor` times as close, with what is at `anchor` on the screen staying there.
    #[must_use]
    pub fn zoomed(self, factor: f32, anchor: Pos2, size_px: Vec2, canvas: Rect) -> Self {
        let old = self.scale(size_px, canvas);
        let scale = (old * factor).clamp(SCALE_RANGE.0, SCALE_RANGE.1);
        let under = self.center_px(size_px) + (anchor - canvas.center()) / old;
        let center_px = under - (anchor - canvas.center()) / scale;
        Self::Free { scale, center_px: inside(center_px, size_px) }
    }

    /// The view after wheel, drag and double-click on the canvas.
    #[must_use]
    pub fn after(self, ui: &Ui, response: &Response, size_px: Vec2, canvas: Rect) -> Self {
        let mut view = self;
        if response.dragged() {
            view = view.moved(response.drag_delta(), size_px, canvas);
            ui.ctx().set_cursor_icon(CursorIcon::Grabbing);
        }
        if let Some(pointer) = response.hover_pos() {
            view = view.wheeled(ui, pointer, size_px, canvas);
        }
        if response.double_clicked() {
            view = if view == Self::Fit { view.actual(size_px, ui.pixels_per_point()) } else { Self::Fit };
        }
        view
    }

    /// The view after the wheel was turned or two fingers moved, with the pointer here.
    #[must_use]
    fn wheeled(self, ui: &Ui, pointer: Pos2, size_px: Vec2, canvas: Rect) -> Self {
        let (scroll, pinch) = ui.input(|input| (input.smooth_scroll_delta().y, input.zoom_delta()));
        let factor = (scroll / WHEEL).exp() * pinch;
        if (factor - 1.0).abs() > 1e-4 { self.zoomed(factor, pointer, size_px, canvas) } else { self }
    }

    /// The view after the picture was dragged by so many points.
    #[must_use]
    pub fn moved(self, by: Vec2, size_px: Vec2, canvas: Rect) -> Self {
        let scale = self.scale(size_px, canvas);
        Self::Free { scale, center_px: inside(self.center_px(size_px) - by / scale, size_px) }
    }
}

/// The largest rectangle of a picture's shape in the middle of another one.
#[must_use]
pub fn shape_within(rect: Rect, size_px: Vec2) -> Rect {
    let size_px = size_px.max(Vec2::splat(1.0));
    Rect::from_center_size(rect.center(), size_px * (rect.size() / size_px).min_elem())
}

/// The picture never leaves the middle of the canvas altogether, so that it cannot be lost.
fn inside(point: Pos2, size_px: Vec2) -> Pos2 {
    pos2(point.x.clamp(0.0, size_px.x), point.y.clamp(0.0, size_px.y))
}

/// True where a pixel of the picture is so large on the screen that it is shown as a square instead
/// of smoothly.
#[must_use]
pub fn shows_pixels(scale: f32, pixels_per_point: f32) -> bool {
    scale * pixels_per_point > SMOOTH_UP_TO
}

/// How a picture is drawn, wherever it is drawn: smoothly, or with its pixels as squares.
#[must_use]
pub fn texture_options(shows_pixels: bool) -> TextureOptions {
    let magnification = if shows_pixels { TextureFilter::Nearest } else { TextureFilter::Linear };
    TextureOptions { mipmap_mode: Some(TextureFilter::Linear), magnification, ..TextureOptions::LINEAR }
}

/// Has a texture drawn otherwise from now on, without sending its pixels again.
pub(crate) fn set_filter(texture: &TextureHandle, shows_pixels: bool) {
    let nothing = ColorImage::new([0, 0], Vec::new());
    texture.clone().set_partial([0, 0], nothing, texture_options(shows_pixels));
}

/// The rectangle in which the picture may be drawn, as of the last frame.
#[must_use]
pub fn canvas_rect(ctx: &Context) -> Option<Rect> {
    ctx.data(|data| data.get_temp(Id::unique("canvas rect")))
}

/// Keeps the rectangle in which the picture may be drawn for the commands that zoom.
pub(crate) fn set_canvas_rect(ctx: &Context, rect: Rect) {
    ctx.data_mut(|data| data.insert_temp(Id::unique("canvas rect"), rect));
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::vec2;

    const SIZE: Vec2 = vec2(1000.0, 500.0);

    fn canvas() -> Rect {
        Rect::from_min_size(pos2(100.0, 50.0), vec2(500.0, 500.0))
    }

    #[test]
    fn a_picture_keeps_its_shape_within_another() {
        let wide = Rect::from_min_size(pos2(10.0, 20.0), vec2(200.0, 100.0));
        assert_eq!(shape_within(wide, vec2(64.0, 32.0)), wide, "of the same shape, whatever its pixels");
        let tall = shape_within(wide, vec2(128.0, 192.0));
        assert_eq!((tall.center(), tall.height()), (wide.center(), 100.0));
        assert!((tall.width() / tall.height() - 128.0 / 192.0).abs() < 1e-4);
        assert_eq!(shape_within(wide, vec2(400.0, 100.0)).size(), vec2(200.0, 50.0));
    }

    #[test]
    fn the_whole_picture_fits_and_is_centred() {
        let rect = View::Fit.rect(SIZE, canvas());
        assert_eq!(rect, Rect::from_min_size(pos2(100.0, 175.0), vec2(500.0, 250.0)));
    }

    #[test]
    fn zooming_keeps_the_point_under_the_pointer() {
        let anchor = pos2(220.0, 260.0);
        let at = |view: View| (anchor - view.rect(SIZE, canvas()).min) / view.scale(SIZE, canvas());
        let before = at(View::Fit);
        let mut view = View::Fit;
        for factor in [1.3, 2.0, 0.7] {
            view = view.zoomed(factor, anchor, SIZE, canvas());
            assert!((at(view) - before).length() < 0.01, "{:?} is not {before:?}", at(view));
        }
    }

    #[test]
    fn dragging_moves_the_picture_with_the_pointer_but_never_out_of_sight() {
        let view = View::Fit.zoomed(4.0, canvas().center(), SIZE, canvas());
        let moved = view.moved(vec2(30.0, -10.0), SIZE, canvas());
        assert_eq!(moved.rect(SIZE, canvas()).min - view.rect(SIZE, canvas()).min, vec2(30.0, -10.0));
        let far = view.moved(vec2(1e6, 1e6), SIZE, canvas());
        assert!(far.rect(SIZE, canvas()).intersects(canvas()));
    }

    #[test]
    fn actual_size_is_one_pixel_to_one() {
        assert_eq!(View::Fit.actual(SIZE, 2.0).rect(SIZE, canvas()).size(), SIZE / 2.0);
    }

    #[test]
    fn the_scale_stays_within_reason() {
        let close = View::Fit.zoomed(1e9, pos2(0.0, 0.0), SIZE, canvas());
        assert_eq!(close.scale(SIZE, canvas()), SCALE_RANGE.1);
    }
}
