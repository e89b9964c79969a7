//! Composition: the layers of a document, laid over each other, in sRGB bytes.

use super::content::DocumentContent;
use super::tile::TILE_SIDE;
use super::{BlendMode, Layer, LayerId, LayerKind, Mask, PixelRect};
use crate::recipe::Rgb8;

/// The layers that are composed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LayerChoice {
    /// All that are visible: what the canvas shows.
    #[default]
    Visible,
    /// The visible ones that are part of the picture.
    Picture,
}

/// Product of two values of which 255 is one, rounded.
pub(super) const fn scale(a: u32, b: u32) -> u32 {
    let product = a * b + 128;
    (product + (product >> 8)) >> 8
}

/// Lays a colour of this opacity over a pixel.
pub(super) fn blend(pixel: &mut [u8], colour: [u8; 3], alpha: u32) {
    if alpha == 0 {
        return;
    }
    let below = u32::from(pixel[3]);
    if alpha == 255 || below == 0 {
        pixel[..3].copy_from_slice(&colour);
        pixel[3] = alpha as u8;
    } else if below == 255 {
        for (value, over) in pixel.iter_mut().zip(colour) {
            *value = scale(u32::from(*value), 255 - alpha).saturating_add(scale(u32::from(over), alpha)).min(255) as u8;
        }
    } else {
        let kept = scale(below, 255 - alpha);
        let sum = (alpha + kept).min(255);
        for (value, over) in pixel.iter_mut().zip(colour) {
            *value = ((u32::from(over) * alpha + u32::from(*value) * kept + sum / 2) / (alpha + kept)) as u8;
        }
        pixel[3] = sum as u8;
    }
}

impl DocumentContent {
    /// The RGBA bytes of a rectangle within the bounds, in rows.
    #[must_use]
    pub fn compose(&self, rect: PixelRect, choice: LayerChoice) -> Vec<u8> {
        let rect = rect.intersection(&self.bounds());
        let mut pixels = vec![0; rect.area() as usize * 4];
        for layer in self.layers().iter().filter(|layer| layer.visible && layer.opacity > 0) {
            if choice == LayerChoice::Visible || layer.kind.is_picture() {
                lay_over(&mut pixels, rect, layer, u32::from(layer.opacity));
            }
        }
        pixels
    }

    /// The picture over white.
    #[must_use]
    pub fn picture(&self) -> Rgb8 {
        let mut rgb = Vec::with_capacity(self.bounds().area() as usize * 3);
        self.bands(|band| push_over(&mut rgb, &self.compose(band, LayerChoice::Picture), 255));
        Rgb8::new(self.width(), self.height(), rgb).unwrap_or_else(|| unreachable!("the bands hold every pixel"))
    }

    /// The pixels of a layer alone, over white; `None` where there is no such layer.
    #[must_use]
    pub fn layer_picture(&self, id: LayerId) -> Option<Rgb8> {
        let layer = self.layer(id)?;
        let mut rgb = Vec::with_capacity(self.bounds().area() as usize * 3);
        self.bands(|band| push_over(&mut rgb, &layer.pixels.read(band), 255));
        Rgb8::new(self.width(), self.height(), rgb)
    }

    /// The visible layers of control, over the black that stands for nothing in such pictures.
    /// `None` where they are empty.
    #[must_use]
    pub fn control_picture(&self) -> Option<Rgb8> {
        let controls: Vec<&Layer> = self.layers().iter().filter(|it| it.kind == LayerKind::Control && it.has_effect()).collect();
        if controls.is_empty() {
            return None;
        }
        let mut rgb = Vec::with_capacity(self.bounds().area() as usize * 3);
        self.bands(|band| {
            let mut pixels = vec![0; band.area() as usize * 4];
            for layer in &controls {
                lay_over(&mut pixels, band, layer, 255);
            }
            push_over(&mut rgb, &pixels, 0);
        });
        Rgb8::new(self.width(), self.height(), rgb)
    }

    /// The visible layers of reference, from the bottom: of each the smallest part that holds its
    /// pixels, over white.
    #[must_use]
    pub fn reference_pictures(&self) -> Vec<Rgb8> {
        let references = self.layers().iter().filter(|it| it.kind == LayerKind::Reference && it.has_effect());
        let picture = |layer: &Layer| -> Option<Rgb8> {
            let mut covered = Mask::filled(self.width(), self.height(), 0);
            self.cover(&mut covered, layer);
            let bounds = covered.bounds()?;
            let mut rgb = Vec::with_capacity(bounds.area() as usize * 3);
            push_over(&mut rgb, &layer.pixels.read(bounds), 255);
            Rgb8::new(bounds.width, bounds.height, rgb)
        };
        references.filter_map(picture).collect()
    }

    /// The part that a region covers; `None` where it is hidden, empty, or no region.
    #[must_use]
    pub fn region_mask(&self, id: LayerId) -> Option<Mask> {
        let layer = self.layer(id).filter(|it| matches!(it.kind, LayerKind::Region { .. }) && it.visible)?;
        let mut mask = Mask::filled(self.width(), self.height(), 0);
        self.cover(&mut mask, layer);
        mask.bounds().is_some().then_some(mask)
    }

    /// The part that is generated anew: what visible masks cover, and where the picture has no
    /// pixels. `None` where that is nothing.
    #[must_use]
    pub fn mask(&self) -> Option<Mask> {
        let mut mask = self.uncovered().unwrap_or_else(|| Mask::filled(self.width(), self.height(), 0));
        for layer in self.layers().iter().filter(|layer| layer.visible && layer.kind == LayerKind::Mask) {
            self.cover(&mut mask, layer);
        }
        mask.bounds().is_some().then_some(mask)
    }

    /// Raises a mask of the document's size to what a layer covers.
    fn cover(&self, mask: &mut Mask, layer: &Layer) {
        self.bands(|band| {
            let start = band.top as usize * self.width() as usize;
            let covered = layer.pixels.read(band);
            for (value, pixel) in mask.pixels_mut()[start..].iter_mut().zip(covered.chunks_exact(4)) {
                *value = (*value).max(pixel[3]);
            }
        });
    }

    /// Where the picture has no pixels, as an extended one. `None` where it has all of them.
    #[must_use]
    pub fn uncovered(&self) -> Option<Mask> {
        let mut values = Vec::with_capacity(self.bounds().area() as usize);
        self.bands(|band| values.extend(self.compose(band, LayerChoice::Picture).chunks_exact(4).map(|pixel| 255 - pixel[3])));
        let mask = Mask::new(self.width(), self.height(), values)?;
        mask.bounds().is_some().then_some(mask)
    }

    /// The colour that is seen at a pixel; `None` where there is none.
    #[must_use]
    pub fn colour_at(&self, x: i32, y: i32) -> Option<[u8; 3]> {
        let pixel = self.compose(PixelRect { left: x, top: y, width: 1, height: 1 }, LayerChoice::Picture);
        pixel.first_chunk::<4>().filter(|pixel| pixel[3] > 0).map(|pixel| [pixel[0], pixel[1], pixel[2]])
    }

    /// Calls `each` for the bands of the picture, from the top: a row of tiles each, so that little
    /// memory is used at once.
    fn bands(&self, mut each: impl FnMut(PixelRect)) {
        for top in (0..self.height()).step_by(TILE_SIDE as usize) {
            each(PixelRect { left: 0, top: top as i32, width: self.width(), height: TILE_SIDE.min(self.height() - top) });
        }
    }
}

/// Appends RGBA pixels, over a grey of this value, as RGB.
fn push_over(rgb: &mut Vec<u8>, pixels: &[u8], grey: u32) {
    for pixel in pixels.chunks_exact(4) {
        let alpha = u32::from(pixel[3]);
        rgb.extend(pixel[..3].iter().map(|value| (scale(u32::from(*value), alpha) + scale(grey, 255 - alpha)).min(255) as u8));
    }
}

/// Lays a layer with this opacity over the pixels of a rectangle within the bounds.
pub(super) fn lay_over(pixels: &mut [u8], rect: PixelRect, layer: &Layer, opacity: u32) {
    let mode = if layer.kind.is_picture() { layer.blend } else { BlendMode::Normal };
    for y in rect.top..rect.bottom() {
        let mut x = rect.left;
        while x < rect.right() {
            let length = (TILE_SIDE as i32 - x % TILE_SIDE as i32).min(rect.right() - x);
            if let Some(run) = layer.pixels.run(x as u32, y as u32) {
                let at = ((y - rect.top) as usize * rect.width as usize + (x - rect.left) as usize) * 4;
                let below = &mut pixels[at..at + length as usize * 4];
                for (pixel, over) in below.chunks_exact_mut(4).zip(run.chunks_exact(4)) {
                    let colour = mode.mixed(pixel, [over[0], over[1], over[2]]);
                    blend(pixel, colour, scale(u32::from(over[3]), opacity));
                }
            }
            x += length;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blending_keeps_what_is_below_and_above_apart() {
        let over = |below: [u8; 4], colour, alpha| {
            let mut pixel = below;
            blend(&mut pixel, colour, alpha);
            pixel
        };
        assert_eq!(over([1, 2, 3, 255], [9, 9, 9], 0), [1, 2, 3, 255]);
        assert_eq!(over([1, 2, 3, 255], [9, 8, 7], 255), [9, 8, 7, 255]);
        assert_eq!(over([0, 0, 0, 0], [9, 8, 7], 100), [9, 8, 7, 100]);
        assert_eq!(over([0, 0, 0, 255], [200, 100, 255], 128), [100, 50, 128, 255]);
        let [red, .., alpha] = over([255, 0, 0, 128], [0, 255, 0], 128);
        assert!((84..=86).contains(&red) && (190..=193).contains(&alpha), "{red} {alpha}");
        for below in [0, 1, 77, 200, 254, 255] {
            for alpha in 0..=255 {
                assert_eq!(over([255, 255, 255, below], [255; 3], alpha)[..3], [255; 3], "white over white stays white");
            }
        }
    }
}
