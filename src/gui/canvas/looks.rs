//! Small looks of documents and their layers.

use eframe::egui::{ColorImage, TextureHandle};

use atelier_core::canvas::{LayerId, PixelRect};

/// Small looks of a document.
#[derive(Default)]
pub struct DocumentLooks {
    /// The picture that it composes; `None` until it is made.
    pub whole: Option<TextureHandle>,
    pub(crate) layers: Vec<(LayerId, TextureHandle)>,
    /// What the pixels of each layer cover.
    pub(crate) bounds: Vec<(LayerId, PixelRect)>,
    /// The version that they show.
    pub(crate) version: Option<u64>,
    pub(crate) is_making: bool,
}

impl DocumentLooks {
    /// The small look of a layer, once it is made.
    #[must_use]
    pub fn layer(&self, id: LayerId) -> Option<&TextureHandle> {
        self.layers.iter().find(|(of, _)| *of == id).map(|(_, texture)| texture)
    }

    /// What the pixels of a layer cover, where that is known of this version.
    #[must_use]
    pub fn bounds(&self, id: LayerId, version: u64) -> Option<PixelRect> {
        self.bounds.iter().find(|(of, _)| *of == id && self.version == Some(version)).map(|(_, bounds)| *bounds)
    }
}

/// Small looks, ready for the screen.
pub(crate) struct PreparedLooks {
    pub(crate) whole: ColorImage,
    pub(crate) layers: Vec<(LayerId, ColorImage)>,
    pub(crate) bounds: Vec<(LayerId, PixelRect)>,
}
