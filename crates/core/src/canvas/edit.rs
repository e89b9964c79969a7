//! Edits whose work grows with their area. A window carries them out on another thread, on a clone
//! of the content.

use super::compose::{blend, lay_over, scale};
use super::content::DocumentContent;
use super::coverage::{Coverage, Shape};
use super::selection::{MAX_SELECTION_PX, feathered, grown};
use super::{BlendMode, Layer, LayerError, LayerId, LayerText, LayerTransform, Mask, PixelRect, TILE_SIDE, TileImage};
use atelier_language::tr;

/// An edit of a document's content.
#[derive(Clone, Debug, PartialEq)]
pub enum DocumentEdit {
    /// Fills a shape on a layer.
    Fill {
        /// The layer.
        layer: LayerId,
        /// The shape.
        shape: Shape,
        /// What is left there.
        ink: Ink,
        /// 0 to 255.
        opacity: u8,
    },
    /// Cuts the document to another frame, in pixels of this one, or extends it.
    Reframe(PixelRect),
    /// Exchanges what is masked on a layer with what is not.
    Invert(LayerId),
    /// Makes what is masked on a layer wider by so many pixels, or narrower where they are
    /// negative.
    Grow(LayerId, i32),
    /// Makes the edge of what is masked on a layer soft, so many pixels wide to either side.
    Feather(LayerId, u32),
    /// Makes the pixels of a layer less opaque: 255 of the mask leaves them as they are, 0 makes
    /// them transparent.
    CutOut(LayerId, Mask),
    /// Makes a layer and the one below it, of the same kind, one layer that looks like both.
    MergeDown(LayerId),
    /// Gives a layer these pixels in other places.
    Transform {
        /// The layer.
        layer: LayerId,
        /// Its pixels before they were first moved: moved several times they stay sharp.
        from: TileImage,
        /// Their places.
        by: LayerTransform,
    },
}

/// What a tool leaves on a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// A colour.
    Colour([u8; 3]),
    /// Nothing: pixels become transparent.
    Eraser,
}

impl Ink {
    /// Leaves itself on a pixel. `keeps_alpha`: only its colour changes.
    pub(super) fn apply(self, pixel: &mut [u8], alpha: u32, keeps_alpha: bool) {
        match self {
            Self::Colour(colour) if keeps_alpha => {
                for (value, over) in pixel.iter_mut().zip(colour) {
                    *value = scale(u32::from(*value), 255 - alpha).saturating_add(scale(u32::from(over), alpha)).min(255) as u8;
                }
                if pixel[3] == 0 {
                    pixel[..3].fill(0);
                }
            }
            Self::Eraser if keeps_alpha => {}
            Self::Colour(colour) => blend(pixel, colour, alpha),
            Self::Eraser => {
                pixel[3] = scale(u32::from(pixel[3]), 255 - alpha) as u8;
                if pixel[3] == 0 {
                    pixel[..3].fill(0);
                }
            }
        }
    }
}

impl DocumentEdit {
    /// Its name in the history.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Fill { shape: Shape::All, ink: Ink::Eraser, .. } => tr!("core-clear-a-layer"),
            Self::Fill { ink: Ink::Eraser, .. } => tr!("core-erase-a-shape"),
            Self::Fill { .. } => tr!("core-fill-a-shape"),
            Self::Reframe(_) => tr!("core-extend-or-crop"),
            Self::Invert(_) => tr!("core-invert-a-mask"),
            Self::Grow(_, by) if *by < 0 => tr!("core-shrink-a-mask"),
            Self::Grow(..) => tr!("core-grow-a-mask"),
            Self::Feather(..) => tr!("core-feather-a-mask"),
            Self::CutOut(..) => tr!("core-cut-out-the-background"),
            Self::MergeDown(_) => tr!("core-merge-two-layers"),
            Self::Transform { .. } => tr!("core-move-or-transform-a"),
        }
    }
}

impl DocumentContent {
    /// This content after an edit. Takes time in proportion to the area.
    ///
    /// # Errors
    /// Where the layer cannot be changed, or the size is not possible.
    pub fn edited(&self, edit: &DocumentEdit) -> Result<Self, LayerError> {
        match edit {
            DocumentEdit::Fill { layer, shape, ink, opacity } => {
                self.changeable(*layer)?;
                let mut content = self.clone();
                if let Some(coverage) = Coverage::of_shape(shape, self) {
                    content.fill(*layer, &coverage, *ink, *opacity)?;
                }
                Ok(content)
            }
            DocumentEdit::Reframe(frame) => self.reframed(*frame),
            DocumentEdit::Invert(layer) => {
                let ink = self.changeable(*layer)?.ink([0; 3]);
                let mut content = self.clone();
                let pixels = &mut content.layer_mut(*layer)?.pixels;
                pixels.change(pixels.bounds(), true, |_, _, run| {
                    for pixel in run.chunks_exact_mut(4) {
                        let alpha = 255 - pixel[3];
                        pixel.copy_from_slice(&if alpha == 0 { [0; 4] } else { [ink[0], ink[1], ink[2], alpha] });
                    }
                });
                pixels.drop_blank_tiles();
                Ok(content)
            }
            DocumentEdit::Grow(layer, by) => self.with_selection(*layer, |mask| grown(mask, *by), by.max(&0).unsigned_abs()),
            DocumentEdit::Feather(layer, radius) => self.with_selection(*layer, |mask| feathered(mask, *radius), *radius),
            DocumentEdit::CutOut(layer, opacities) => self.cut_out(*layer, opacities),
            DocumentEdit::MergeDown(layer) => self.merged_down(*layer),
            DocumentEdit::Transform { layer, from, by } => {
                self.changeable(*layer)?;
                let mut content = self.clone();
                let layer = content.layer_mut(*layer)?;
                layer.pixels = from.transformed(by);
                let shift = by.whole_shift().filter(|_| from.bounds() == layer.pixels.bounds());
                layer.text = layer.text.take().zip(shift).map(|(text, (dx, dy))| {
                    LayerText { left: text.left.saturating_add(dx), top: text.top.saturating_add(dy), ..text }.checked()
                });
                Ok(content)
            }
        }
    }

    fn cut_out(&self, id: LayerId, opacities: &Mask) -> Result<Self, LayerError> {
        if self.changeable(id)?.alpha_locked {
            return Err(LayerError::AlphaLocked);
        }
        if (opacities.width(), opacities.height()) != (self.width, self.height) {
            return Err(LayerError::OtherSize);
        }
        let mut content = self.clone();
        let layer = content.layer_mut(id)?;
        layer.text = None;
        layer.pixels.change(self.bounds(), false, |x, y, run| {
            for (pixel, opacity) in run.chunks_exact_mut(4).zip(&opacities.row(y)[x as usize..]) {
                Ink::Eraser.apply(pixel, 255 - u32::from(*opacity), false);
            }
        });
        layer.pixels.drop_blank_tiles();
        Ok(content)
    }

    /// A layer and the one below it as one, which keeps the lower one's name and blend mode.
    fn merged_down(&self, id: LayerId) -> Result<Self, LayerError> {
        let at = self.layers.iter().position(|layer| layer.id == id).ok_or(LayerError::Missing)?;
        let (below, above) = (at.checked_sub(1).map(|at| &self.layers[at]).ok_or(LayerError::NothingBelow)?, &self.layers[at]);
        if !below.kind.is_like(&above.kind) {
            return Err(LayerError::NothingBelow);
        }
        self.changeable(below.id)?;
        self.changeable(above.id)?;
        let is_picture = below.kind.is_picture();
        // How strongly a mask is drawn is not how much it masks.
        let opacity = |layer: &Layer| if is_picture { u32::from(layer.opacity) } else { 255 };
        let plain = Layer { blend: BlendMode::Normal, ..below.clone() };
        let mut pixels = TileImage::new(self.width, self.height);
        let parts = below.pixels.content_bounds().union(&above.pixels.content_bounds());
        // The lower layer's own mode is for what lies below both; a row at a time needs little
        // memory.
        pixels.change(parts, true, |left, y, run| {
            let row = PixelRect { left: left as i32, top: y as i32, width: (run.len() / 4) as u32, height: 1 };
            lay_over(run, row, &plain, opacity(below));
            lay_over(run, row, above, opacity(above));
        });
        pixels.drop_blank_tiles();
        let mut content = self.clone();
        content.layers.remove(at);
        let merged = &mut content.layers[at - 1];
        (merged.pixels, merged.text) = (pixels, None);
        if is_picture {
            merged.opacity = 255;
        }
        content.current = merged.id;
        Ok(content)
    }

    /// The content with other values of a mask: `change` gets what is masked, with so many pixels
    /// around it.
    fn with_selection(&self, id: LayerId, change: impl FnOnce(&Mask) -> Mask, around: u32) -> Result<Self, LayerError> {
        let layer = self.changeable(id)?;
        let ink = layer.ink([0; 3]);
        let bounds = layer.pixels.content_bounds();
        let rect = if bounds.is_empty() { bounds } else { bounds.expanded(around.min(MAX_SELECTION_PX)).intersection(&self.bounds()) };
        let mut content = self.clone();
        if rect.is_empty() {
            return Ok(content);
        }
        let mut values = Vec::with_capacity(rect.area() as usize);
        for top in (rect.top..rect.bottom()).step_by(TILE_SIDE as usize) {
            let band = PixelRect { top, height: TILE_SIDE, ..rect }.intersection(&rect);
            values.extend(layer.pixels.read(band).chunks_exact(4).map(|pixel| pixel[3]));
        }
        let Some(mask) = Mask::new(rect.width, rect.height, values) else { return Ok(content) };
        let mask = change(&mask);
        let pixels = &mut content.layer_mut(id)?.pixels;
        pixels.change(rect, true, |x, y, run| {
            let row = mask.row((y as i32 - rect.top) as u32);
            for (pixel, value) in run.chunks_exact_mut(4).zip(&row[(x as i32 - rect.left) as usize..]) {
                pixel.copy_from_slice(&if *value == 0 { [0; 4] } else { [ink[0], ink[1], ink[2], *value] });
            }
        });
        pixels.drop_blank_tiles();
        Ok(content)
    }

    fn fill(&mut self, layer: LayerId, coverage: &Coverage, ink: Ink, opacity: u8) -> Result<(), LayerError> {
        let (bounds, opacity) = (coverage.bounds(), u32::from(opacity));
        let layer = self.layer_mut(layer)?;
        layer.text = None;
        let (keeps_alpha, pixels) = (layer.alpha_locked, &mut layer.pixels);
        pixels.change(bounds, ink != Ink::Eraser && !keeps_alpha, |x, y, run| {
            let row = coverage.mask.row((y as i32 - bounds.top) as u32);
            let from = (x as i32 - bounds.left) as usize;
            for (pixel, covered) in run.chunks_exact_mut(4).zip(&row[from..]) {
                ink.apply(pixel, scale(u32::from(*covered), opacity), keeps_alpha);
            }
        });
        pixels.drop_blank_tiles();
        Ok(())
    }
}
