//! What was painted since the live picture that is shown was made: it is drawn over that picture,
//! so that stroke and result are seen together.

use eframe::egui::Context;

use crate::gui::canvas::surface::Surface;
use atelier_core::canvas::{BlendMode, Brush, Document, DocumentContent, Ink, Layer, LayerChoice, LayerId, Stroke, StrokePoint, TileImage};

/// Strokes apart from what they were painted on.
pub struct FreshStrokes {
    document: Document,
    /// The layer of the picture that the current layer here stands for.
    source: LayerId,
    stroke: Option<Stroke>,
    pub(crate) surface: Surface,
}

impl FreshStrokes {
    /// No strokes on a picture of this size; `None` where there is no such picture.
    pub(crate) fn new(content: &DocumentContent) -> Option<Self> {
        let source = content.current_layer();
        let document = Document::new(DocumentContent::of_layers(vec![blank(source)], 0).ok()?);
        Some(Self { document, source: source.id, stroke: None, surface: Surface::default() })
    }

    /// Begins a stroke as one on this layer.
    pub(crate) fn begin(&mut self, layer: &Layer, brush: Brush, ink: Ink, at: StrokePoint, wraps: [bool; 2]) {
        if layer.id != self.source && self.document.add_layer(layer.kind.clone(), &layer.name, None).is_ok() {
            self.source = layer.id;
        }
        if let Ok((stroke, changed)) = Stroke::begin_wrapped(&mut self.document, brush, ink, at, wraps) {
            self.surface.mark(changed);
            self.stroke = Some(stroke);
        }
    }

    /// The pointer is here now.
    pub(crate) fn move_to(&mut self, to: StrokePoint) {
        if let Some(stroke) = &mut self.stroke {
            self.surface.mark(stroke.move_to(&mut self.document, to));
        }
    }

    /// The stroke goes straight to a place.
    pub(crate) fn line(&mut self, to: StrokePoint) {
        if let Some(stroke) = &mut self.stroke {
            self.surface.mark(stroke.line(&mut self.document, to));
        }
    }

    pub(crate) fn finish(&mut self) {
        if let Some(stroke) = self.stroke.take() {
            self.surface.mark(stroke.finish(&mut self.document));
        }
    }

    pub(crate) fn cancel(&mut self) {
        if let Some(stroke) = self.stroke.take() {
            self.surface.mark(stroke.cancel(&mut self.document));
        }
    }

    /// Sends what has changed to the graphics card; true once nothing is left.
    pub(crate) fn refresh(&mut self, context: &Context) -> bool {
        self.surface.refresh(context, self.document.content(), LayerChoice::Visible)
    }

    /// What was painted.
    #[must_use]
    pub const fn content(&self) -> &DocumentContent {
        self.document.content()
    }
}

/// A layer like this one, without pixels.
fn blank(layer: &Layer) -> Layer {
    let pixels = TileImage::new(layer.pixels.width(), layer.pixels.height());
    Layer { pixels, blend: BlendMode::Normal, alpha_locked: false, text: None, ..layer.clone() }
}
