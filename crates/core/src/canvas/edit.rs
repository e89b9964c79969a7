//! Edits whose work grows with their area. A window carries them out on another thread, on a clone
//! of the content.

use super::compose::{blend, scale};
use super::content::DocumentContent;
use super::coverage::{Coverage, Shape};
use super::{LayerError, LayerId, PixelRect};

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
    /// Leaves itself on a pixel.
    pub(super) fn apply(self, pixel: &mut [u8], alpha: u32) {
        match self {
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
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Fill { shape: Shape::All, ink: Ink::Eraser, .. } => "Clear a layer",
            Self::Fill { ink: Ink::Eraser, .. } => "Erase a shape",
            Self::Fill { .. } => "Fill a shape",
            Self::Reframe(_) => "Extend or crop",
            Self::Invert(_) => "Invert a mask",
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
        }
    }

    fn fill(&mut self, layer: LayerId, coverage: &Coverage, ink: Ink, opacity: u8) -> Result<(), LayerError> {
        let (bounds, opacity) = (coverage.bounds(), u32::from(opacity));
        let pixels = &mut self.layer_mut(layer)?.pixels;
        pixels.change(bounds, ink != Ink::Eraser, |x, y, run| {
            let row = coverage.mask.row((y as i32 - bounds.top) as u32);
            let from = (x as i32 - bounds.left) as usize;
            for (pixel, covered) in run.chunks_exact_mut(4).zip(&row[from..]) {
                ink.apply(pixel, scale(u32::from(*covered), opacity));
            }
        });
        pixels.drop_blank_tiles();
        Ok(())
    }
}
