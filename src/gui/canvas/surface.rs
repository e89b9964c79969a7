//! The document on the graphics card: textures in a grid. Only what has changed is composed and
//! sent.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use eframe::egui::{Color32, ColorImage, Context, TextureHandle};

use crate::gui::viewport;
use atelier_core::canvas::{DocumentContent, LayerChoice, PixelRect, TILE_SIDE};

/// Side of a texture in pixels.
pub(crate) const TEXTURE_SIDE: u32 = 1024;
/// Longest time that composing takes from one frame, beyond its first tile.
const COMPOSE_WITHIN: Duration = Duration::from_millis(6);

/// The textures of a document.
#[derive(Default)]
pub struct Surface {
    width: u32,
    height: u32,
    /// Row by row.
    textures: Vec<TextureHandle>,
    /// What is to be composed anew, by the tile's row and column.
    dirty: BTreeMap<(u32, u32), PixelRect>,
    /// The layers that it shows.
    choice: LayerChoice,
    /// Its pixels are shown as squares.
    shows_pixels: bool,
    /// Pixels that were sent so far.
    pub sent_pixels: u64,
}

impl Surface {
    /// Marks a rectangle of the document as changed.
    pub(crate) fn mark(&mut self, rect: PixelRect) {
        let rect = rect.intersection(&PixelRect::of_size(self.width, self.height));
        if rect.is_empty() {
            return;
        }
        let tiles = |from: i32, to: i32| from as u32 / TILE_SIDE..(to as u32).div_ceil(TILE_SIDE);
        for row in tiles(rect.top, rect.bottom()) {
            for column in tiles(rect.left, rect.right()) {
                let (left, top) = ((column * TILE_SIDE) as i32, (row * TILE_SIDE) as i32);
                let part = rect.intersection(&PixelRect { left, top, width: TILE_SIDE, height: TILE_SIDE });
                let dirty = self.dirty.entry((row, column)).or_default();
                *dirty = dirty.union(&part);
            }
        }
    }

    /// True where its pixels are shown as squares.
    #[cfg(test)]
    pub(crate) const fn shows_pixels(&self) -> bool {
        self.shows_pixels
    }

    /// Shows pixels as squares, or smoothly.
    pub(crate) fn show_pixels(&mut self, shows_pixels: bool) {
        if self.shows_pixels != shows_pixels {
            self.shows_pixels = shows_pixels;
            self.textures.iter().for_each(|texture| viewport::set_filter(texture, shows_pixels));
        }
    }

    /// Composes what has changed and sends it, for some milliseconds; the rest follows in the next
    /// frames. True once nothing is left.
    pub(crate) fn refresh(&mut self, context: &Context, content: &DocumentContent, choice: LayerChoice) -> bool {
        if choice != self.choice {
            self.choice = choice;
            self.mark(PixelRect::of_size(self.width, self.height));
        }
        if (self.width, self.height) != (content.width(), content.height()) {
            self.resize(context, content.width(), content.height());
        }
        let begun = Instant::now();
        while let Some((_, rect)) = self.dirty.pop_first() {
            self.send(content, rect);
            if begun.elapsed() > COMPOSE_WITHIN {
                break;
            }
        }
        self.dirty.is_empty()
    }

    fn resize(&mut self, context: &Context, width: u32, height: u32) {
        (self.width, self.height) = (width, height);
        self.dirty.clear();
        let options = viewport::texture_options(self.shows_pixels);
        self.textures = self
            .cells()
            .map(|cell| {
                let blank = ColorImage::filled([cell.width as usize, cell.height as usize], Color32::TRANSPARENT);
                context.load_texture("canvas", blank, options)
            })
            .collect();
        self.mark(PixelRect::of_size(width, height));
    }

    fn send(&mut self, content: &DocumentContent, rect: PixelRect) {
        let pixels = content.compose(rect, self.choice);
        let image = ColorImage::from_rgba_unmultiplied([rect.width as usize, rect.height as usize], &pixels);
        let (column, row) = (rect.left as u32 / TEXTURE_SIDE, rect.top as u32 / TEXTURE_SIDE);
        let at = [(rect.left as u32 % TEXTURE_SIDE) as usize, (rect.top as u32 % TEXTURE_SIDE) as usize];
        let index = (row * self.width.div_ceil(TEXTURE_SIDE) + column) as usize;
        if let Some(texture) = self.textures.get_mut(index) {
            texture.set_partial(at, image, viewport::texture_options(self.shows_pixels));
            self.sent_pixels += rect.area();
        }
    }

    /// The textures, and the part of the document that each shows.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (PixelRect, &TextureHandle)> {
        self.cells().zip(&self.textures)
    }

    fn cells(&self) -> impl Iterator<Item = PixelRect> + use<> {
        let (width, height) = (self.width, self.height);
        let starts = |side: u32| (0..side).step_by(TEXTURE_SIDE as usize);
        starts(height).flat_map(move |top| {
            starts(width).map(move |left| PixelRect {
                left: left as i32,
                top: top as i32,
                width: TEXTURE_SIDE.min(width - left),
                height: TEXTURE_SIDE.min(height - top),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::canvas::TileImage;

    #[test]
    fn only_what_has_changed_is_sent() {
        let context = Context::default();
        let content = DocumentContent::new("a", TileImage::new(1300, 700)).unwrap();
        let mut surface = Surface::default();
        while !surface.refresh(&context, &content, LayerChoice::Visible) {}
        assert_eq!((surface.sent_pixels, surface.parts().count()), (1300 * 700, 2));
        let rect = PixelRect { left: 1000, top: 250, width: 40, height: 12 };
        surface.mark(rect);
        surface.mark(rect);
        while !surface.refresh(&context, &content, LayerChoice::Visible) {}
        assert_eq!(surface.sent_pixels, 1300 * 700 + rect.area());
        surface.mark(PixelRect { left: -50, top: 690, width: 60, height: 60 });
        while !surface.refresh(&context, &content, LayerChoice::Visible) {}
        assert_eq!(surface.sent_pixels, 1300 * 700 + rect.area() + 100);
    }
}
