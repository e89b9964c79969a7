//! Moving, scaling and rotating the pixels of a layer.

use super::tile::TileImage;
use super::{MAX_DOCUMENT_SIDE, PixelRect};

/// Most samples a side of which a pixel of a smaller copy is the mean.
const MAX_SAMPLES: u32 = 4;
/// Differences of less than this are none: a shift by whole pixels is exact.
const TOLERANCE: f32 = 1e-4;

/// From places of a layer to the places where they come to lie, in pixels:
/// `x' = xx * x + xy * y + dx`, `y' = yx * x + yy * y + dy`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerTransform {
    /// Of x from x.
    pub xx: f32,
    /// Of x from y.
    pub xy: f32,
    /// Of y from x.
    pub yx: f32,
    /// Of y from y.
    pub yy: f32,
    /// To the right.
    pub dx: f32,
    /// Downwards.
    pub dy: f32,
}

impl Default for LayerTransform {
    fn default() -> Self {
        Self { xx: 1.0, xy: 0.0, yx: 0.0, yy: 1.0, dx: 0.0, dy: 0.0 }
    }
}

impl LayerTransform {
    /// So far to the right and downwards.
    #[must_use]
    pub fn moved(dx: f32, dy: f32) -> Self {
        Self { dx, dy, ..Self::default() }
    }

    /// So many times as wide and high, with this place kept.
    #[must_use]
    pub fn scaled((x, y): (f32, f32), wide: f32, high: f32) -> Self {
        Self { xx: wide, yy: high, dx: x - wide * x, dy: y - high * y, ..Self::default() }
    }

    /// Turned clockwise by radians about this place.
    #[must_use]
    pub fn turned((x, y): (f32, f32), by: f32) -> Self {
        let (sin, cos) = by.sin_cos();
        Self { xx: cos, xy: -sin, yx: sin, yy: cos, dx: x - cos * x + sin * y, dy: y - sin * x - cos * y }
    }

    /// This, and then another.
    #[must_use]
    pub fn then(&self, next: &Self) -> Self {
        let (dx, dy) = next.apply((self.dx, self.dy));
        Self {
            xx: next.xx * self.xx + next.xy * self.yx,
            xy: next.xx * self.xy + next.xy * self.yy,
            yx: next.yx * self.xx + next.yy * self.yx,
            yy: next.yx * self.xy + next.yy * self.yy,
            dx,
            dy,
        }
    }

    /// Where a place comes to lie.
    #[must_use]
    pub fn apply(&self, (x, y): (f32, f32)) -> (f32, f32) {
        (self.xx * x + self.xy * y + self.dx, self.yx * x + self.yy * y + self.dy)
    }

    /// Back again; `None` where everything falls together, or numbers are none.
    #[must_use]
    pub fn inverse(&self) -> Option<Self> {
        let area = self.xx * self.yy - self.xy * self.yx;
        let is_usable = [self.xx, self.xy, self.yx, self.yy, self.dx, self.dy].iter().all(|value| value.is_finite());
        if !is_usable || area.abs() < TOLERANCE * TOLERANCE {
            return None;
        }
        let (xx, xy, yx, yy) = (self.yy / area, -self.xy / area, -self.yx / area, self.xx / area);
        Some(Self { xx, xy, yx, yy, dx: -(xx * self.dx + xy * self.dy), dy: -(yx * self.dx + yy * self.dy) })
    }

    /// The shift in whole pixels, where it is nothing else.
    #[must_use]
    pub(super) fn whole_shift(&self) -> Option<(i32, i32)> {
        let is_shift = [self.xx - 1.0, self.xy, self.yx, self.yy - 1.0].iter().all(|value| value.abs() < TOLERANCE);
        let whole = |by: f32| {
            let most = 2.0 * MAX_DOCUMENT_SIDE as f32;
            ((by - by.round()).abs() < TOLERANCE.max(by.abs() * f32::EPSILON) && by.abs() <= most).then_some(by.round() as i32)
        };
        if is_shift { whole(self.dx).zip(whole(self.dy)) } else { None }
    }
}

impl TileImage {
    /// The smallest rectangle that holds every pixel that is not transparent; takes time in
    /// proportion to the tiles that are there.
    #[must_use]
    pub fn pixel_bounds(&self) -> PixelRect {
        self.content_parts().into_iter().fold(PixelRect::default(), |bounds, part| {
            let pixels = self.read(part);
            let width = part.width as usize;
            let alpha = |x: usize, y: usize| pixels[(y * width + x) * 4 + 3] > 0;
            let rows = (0..part.height as usize).filter(|y| (0..width).any(|x| alpha(x, *y)));
            let Some((top, bottom)) = rows.fold(None, |range, y| Some((range.map_or(y, |(top, _)| top), y))) else { return bounds };
            let left = (0..width).find(|x| (top..=bottom).any(|y| alpha(*x, y))).unwrap_or(0);
            let right = (0..width).rev().find(|x| (top..=bottom).any(|y| alpha(*x, y))).unwrap_or(left);
            let here = PixelRect {
                left: part.left + left as i32,
                top: part.top + top as i32,
                width: (right - left) as u32 + 1,
                height: (bottom - top) as u32 + 1,
            };
            bounds.union(&here)
        })
    }

    /// The same pixels in other places, in a picture of the same size; what comes to lie outside is
    /// lost. Nothing where everything falls together.
    #[must_use]
    pub fn transformed(&self, by: &LayerTransform) -> Self {
        if let Some((dx, dy)) = by.whole_shift() {
            return self.reframed(PixelRect { left: -dx, top: -dy, ..self.bounds() });
        }
        let mut image = Self::new(self.width(), self.height());
        let source = self.content_bounds();
        let Some(back) = by.inverse().filter(|_| !source.is_empty()) else { return image };
        let corner = |x: i32, y: i32| by.apply((x as f32, y as f32));
        let corners = [
            corner(source.left, source.top),
            corner(source.right(), source.top),
            corner(source.left, source.bottom()),
            corner(source.right(), source.bottom()),
        ];
        let least = corners.iter().fold((f32::MAX, f32::MAX), |(x, y), corner| (x.min(corner.0), y.min(corner.1)));
        let most = corners.iter().fold((f32::MIN, f32::MIN), |(x, y), corner| (x.max(corner.0), y.max(corner.1)));
        let target = PixelRect::between(
            ((least.0 - 1.0).floor() as i32, (least.1 - 1.0).floor() as i32),
            ((most.0 + 1.0).ceil() as i32, (most.1 + 1.0).ceil() as i32),
        );
        // A pixel of a smaller copy stands for several.
        let samples = |x: f32, y: f32| (x.hypot(y).ceil() as u32).clamp(1, MAX_SAMPLES);
        let (across, down) = (samples(back.xx, back.yx), samples(back.xy, back.yy));
        image.change(target, true, |left, y, run| {
            for (x, pixel) in (left..).zip(run.chunks_exact_mut(4)) {
                let mut sum = [0.0_f32; 4];
                for n in 0..across * down {
                    let at = (x as f32 + ((n % across) as f32 + 0.5) / across as f32, y as f32 + ((n / across) as f32 + 0.5) / down as f32);
                    let sample = self.sample(back.apply(at));
                    sum.iter_mut().zip(sample).for_each(|(sum, value)| *sum += value);
                }
                let alpha = sum[3] / (across * down) as f32;
                if alpha >= 0.5 {
                    for (value, sum_of) in pixel.iter_mut().zip(sum).take(3) {
                        *value = (sum_of / sum[3] + 0.5).clamp(0.0, 255.0) as u8;
                    }
                    pixel[3] = (alpha + 0.5).min(255.0) as u8;
                }
            }
        });
        image.drop_blank_tiles();
        image
    }

    /// Colour, times opacity, and opacity (0 to 255) at a place between pixels.
    fn sample(&self, (x, y): (f32, f32)) -> [f32; 4] {
        let (x, y) = (x - 0.5, y - 0.5);
        let (left, top) = (x.floor(), y.floor());
        let (right, below) = (x - left, y - top);
        let mut sum = [0.0; 4];
        for (dx, dy, share) in
            [(0, 0, (1.0 - right) * (1.0 - below)), (1, 0, right * (1.0 - below)), (0, 1, (1.0 - right) * below), (1, 1, right * below)]
        {
            if share > 0.0 {
                let pixel = self.pixel((left as i32).saturating_add(dx), (top as i32).saturating_add(dy));
                let alpha = f32::from(pixel[3]) * share;
                let values = [pixel[0], pixel[1], pixel[2]].map(|value| f32::from(value) * alpha);
                sum.iter_mut().zip(values.into_iter().chain([alpha])).for_each(|(sum, value)| *sum += value);
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use std::f32::consts::{FRAC_PI_2, PI};

    use super::*;

    /// A picture with a rectangle of one colour.
    fn picture(rect: PixelRect) -> TileImage {
        let mut image = TileImage::new(400, 300);
        image.change(rect, true, |_, _, run| run.copy_from_slice(&[200, 100, 50, 255].repeat(run.len() / 4)));
        image
    }

    const RECT: PixelRect = PixelRect { left: 100, top: 120, width: 60, height: 20 };

    #[test]
    fn the_bounds_hold_the_pixels_and_no_more() {
        assert_eq!(picture(RECT).pixel_bounds(), RECT);
        let across = PixelRect { left: 250, top: 250, width: 20, height: 10 };
        assert_eq!(picture(across).pixel_bounds(), across, "in four tiles");
        assert_eq!(TileImage::new(9, 9).pixel_bounds(), PixelRect::default());
    }

    #[test]
    fn a_shift_by_whole_pixels_is_exact_and_what_leaves_the_picture_is_lost() {
        let moved = picture(RECT).transformed(&LayerTransform::moved(-110.0, 7.0));
        assert_eq!(moved.pixel_bounds(), PixelRect { left: 0, top: 127, width: 50, height: 20 });
        assert_eq!(moved, picture(PixelRect { left: 0, top: 127, width: 50, height: 20 }));
    }

    #[test]
    fn scaling_and_turning_move_every_part_to_its_place() {
        let image = picture(RECT);
        let twice = image.transformed(&LayerTransform::scaled((100.0, 120.0), 2.0, 3.0));
        assert_eq!(twice.pixel_bounds().intersection(&PixelRect { left: 99, top: 119, width: 122, height: 62 }), twice.pixel_bounds());
        assert_eq!((twice.pixel(218, 178), twice.pixel(150, 150)), ([200, 100, 50, 255], [200, 100, 50, 255]));
        let half = image.transformed(&LayerTransform::scaled((100.0, 120.0), 0.5, 0.25));
        assert_eq!((half.pixel(110, 122), half.pixel(132, 122)[3]), ([200, 100, 50, 255], 0));
        let upright = image.transformed(&LayerTransform::turned((130.0, 130.0), FRAC_PI_2));
        assert_eq!((upright.pixel(130, 105), upright.pixel(105, 130)[3]), ([200, 100, 50, 255], 0));
        assert_eq!(image.transformed(&LayerTransform::scaled((0.0, 0.0), 0.0, 1.0)).bytes(), 0);
        assert_eq!(image.transformed(&LayerTransform::moved(f32::NAN, 0.0)).bytes(), 0);
    }

    #[test]
    fn soft_edges_keep_their_colour() {
        let half = picture(RECT).transformed(&LayerTransform::moved(0.5, 0.0));
        let edge = half.pixel(100, 130);
        assert_eq!((edge[0], edge[1], edge[2]), (200, 100, 50));
        assert!((126..=129).contains(&edge[3]), "{edge:?}");
    }

    #[test]
    fn there_and_back_is_the_same_place() {
        let one = LayerTransform::turned((10.0, 20.0), 0.7);
        let both = one.then(&LayerTransform::scaled((3.0, 4.0), 2.0, 0.5)).then(&LayerTransform::moved(5.0, -2.0));
        let (x, y) = both.then(&both.inverse().unwrap()).apply((33.0, 44.0));
        assert!((x - 33.0).abs() < 1e-3 && (y - 44.0).abs() < 1e-3);
        let around = LayerTransform::turned((10.0, 20.0), PI).apply((11.0, 20.0));
        assert!((around.0 - 9.0).abs() < 1e-4 && (around.1 - 20.0).abs() < 1e-4);
        assert_eq!(LayerTransform::scaled((0.0, 0.0), 0.0, 0.0).inverse(), None);
    }
}
