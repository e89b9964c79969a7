//! From pixels of the document to points of the screen and back: zoom and position of the view,
//! rotation, and mirroring.

use eframe::egui::emath::Rot2;
use eframe::egui::{Pos2, Rect, Vec2, vec2};

use crate::gui::viewport::View;

/// The way from pixels to points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Transform {
    view: View,
    size_px: Vec2,
    canvas: Rect,
    rotation: f32,
    is_flipped: bool,
}

impl Transform {
    /// `rotation` in radians, clockwise; `is_flipped`: left and right change places.
    pub(crate) const fn new(view: View, size_px: Vec2, canvas: Rect, rotation: f32, is_flipped: bool) -> Self {
        Self { view, size_px, canvas, rotation, is_flipped }
    }

    /// Points of the screen for a pixel.
    pub(crate) fn scale(&self) -> f32 {
        self.view.scale(self.size_px, self.canvas)
    }

    /// The place on the screen of a place in the document.
    pub(crate) fn to_screen(self, pixel: Pos2) -> Pos2 {
        let flat = self.view.rect(self.size_px, self.canvas).min + pixel.to_vec2() * self.scale();
        self.turned(flat)
    }

    /// The place in the document of a place on the screen.
    pub(crate) fn to_pixel(self, point: Pos2) -> Pos2 {
        ((self.straight(point) - self.view.rect(self.size_px, self.canvas).min) / self.scale()).to_pos2()
    }

    /// The view after it was zoomed about a point of the screen.
    pub(crate) fn zoomed(&self, factor: f32, about: Pos2) -> View {
        self.view.zoomed(factor, self.straight(about), self.size_px, self.canvas)
    }

    /// The view after it was dragged on the screen.
    pub(crate) fn moved(&self, by: Vec2) -> View {
        self.view.moved(self.straight(self.canvas.center() + by) - self.canvas.center(), self.size_px, self.canvas)
    }

    fn turned(&self, point: Pos2) -> Pos2 {
        let from_center = point - self.canvas.center();
        self.canvas.center() + Rot2::from_angle(self.rotation) * self.mirrored(from_center)
    }

    fn straight(&self, point: Pos2) -> Pos2 {
        let from_center = Rot2::from_angle(-self.rotation) * (point - self.canvas.center());
        self.canvas.center() + self.mirrored(from_center)
    }

    const fn mirrored(&self, by: Vec2) -> Vec2 {
        if self.is_flipped { vec2(-by.x, by.y) } else { by }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::pos2;

    #[test]
    fn there_and_back_is_the_same_place_however_the_view_is_turned() {
        let canvas = Rect::from_min_size(pos2(100.0, 50.0), vec2(800.0, 500.0));
        let size = vec2(640.0, 480.0);
        for (rotation, is_flipped) in [(0.0, false), (0.3, false), (0.0, true), (-1.2, true)] {
            for view in [View::Fit, View::Free { scale: 2.5, center_px: pos2(10.0, 470.0) }] {
                let transform = Transform::new(view, size, canvas, rotation, is_flipped);
                for pixel in [pos2(0.0, 0.0), pos2(640.0, 480.0), pos2(33.0, 201.0)] {
                    assert!((transform.to_pixel(transform.to_screen(pixel)) - pixel).length() < 0.01);
                }
                let about = pos2(300.0, 200.0);
                let zoomed = Transform { view: transform.zoomed(1.4, about), ..transform };
                let held = transform.to_pixel(about);
                if Rect::from_min_size(Pos2::ZERO, size).contains(held) {
                    let now = zoomed.to_pixel(about);
                    assert!((now - held).length() < 0.1 || zoomed.view != transform.view, "{now:?} {held:?}");
                }
                let moved = Transform { view: transform.moved(vec2(5.0, -3.0)), ..transform };
                let by = moved.to_screen(pos2(320.0, 240.0)) - transform.to_screen(pos2(320.0, 240.0));
                assert!((by - vec2(5.0, -3.0)).length() < 20.0);
            }
        }
        let turned = Transform::new(View::Fit, size, canvas, 0.0, true);
        assert!(turned.to_screen(pos2(0.0, 0.0)).x > turned.to_screen(pos2(640.0, 0.0)).x, "mirrored");
    }
}
