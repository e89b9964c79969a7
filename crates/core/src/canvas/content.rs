//! What a document holds at one moment. Clones share the pixels, so it is cheap to keep, and to
//! hand to another thread.

use super::layer::{MAX_DOCUMENT_SIDE, MAX_LAYERS};
use super::{Layer, LayerError, LayerId, LayerKind, PixelRect, TileImage};

/// Size, layers and the current layer of a document.
///
/// Invariants: at least one layer; ids are unique; the current layer is one of them; every layer
/// has the document's size.
#[derive(Clone, Debug, PartialEq)]
pub struct DocumentContent {
    pub(super) width: u32,
    pub(super) height: u32,
    /// From the bottom to the top.
    pub(super) layers: Vec<Layer>,
    pub(super) current: LayerId,
}

impl DocumentContent {
    /// A content of one layer of paint.
    ///
    /// # Errors
    /// [`LayerError::Size`].
    pub fn new(name: impl Into<String>, pixels: TileImage) -> Result<Self, LayerError> {
        let (width, height) = checked_size(pixels.width(), pixels.height())?;
        let layer = Layer::new(LayerId(0), LayerKind::Paint, name, pixels);
        Ok(Self { width, height, current: layer.id, layers: vec![layer] })
    }

    /// A content of these layers, from the bottom; they get numbers of their own. `current` is an
    /// index.
    ///
    /// # Errors
    /// Where there are no layers, too many, or some of another size.
    pub fn of_layers(layers: Vec<Layer>, current: usize) -> Result<Self, LayerError> {
        let first = layers.first().ok_or(LayerError::Last)?;
        let (width, height) = checked_size(first.pixels.width(), first.pixels.height())?;
        if layers.len() > MAX_LAYERS {
            return Err(LayerError::TooMany);
        }
        if layers.iter().any(|layer| (layer.pixels.width(), layer.pixels.height()) != (width, height)) {
            return Err(LayerError::Size);
        }
        let current = LayerId(current.min(layers.len() - 1) as u32);
        let layers = layers.into_iter().zip(0..).map(|(layer, id)| Layer { id: LayerId(id), ..layer }).collect();
        Ok(Self { width, height, layers, current })
    }

    /// Width in pixels.
    #[must_use]
    pub const fn width(&self) -> u32 {
        self.width
    }

    /// Height in pixels.
    #[must_use]
    pub const fn height(&self) -> u32 {
        self.height
    }

    /// All of it.
    #[must_use]
    pub const fn bounds(&self) -> PixelRect {
        PixelRect::of_size(self.width, self.height)
    }

    /// The layers, from the bottom to the top.
    #[must_use]
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// A layer.
    #[must_use]
    pub fn layer(&self, id: LayerId) -> Option<&Layer> {
        self.layers.iter().find(|layer| layer.id == id)
    }

    /// Number of the layer that is painted on.
    #[must_use]
    pub const fn current(&self) -> LayerId {
        self.current
    }

    /// The layer that is painted on.
    #[must_use]
    pub fn current_layer(&self) -> &Layer {
        self.layer(self.current).unwrap_or(&self.layers[0])
    }

    /// The uppermost mask.
    #[must_use]
    pub fn mask_layer(&self) -> Option<LayerId> {
        self.layers.iter().rev().find(|layer| layer.kind == LayerKind::Mask).map(|layer| layer.id)
    }

    /// Bytes of all tiles.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.layers.iter().map(|layer| layer.pixels.bytes()).sum()
    }

    /// A layer whose pixels may be changed.
    pub(super) fn changeable(&self, id: LayerId) -> Result<&Layer, LayerError> {
        let layer = self.layer(id).ok_or(LayerError::Missing)?;
        if layer.locked {
            Err(LayerError::Locked)
        } else if !layer.visible {
            Err(LayerError::Hidden)
        } else {
            Ok(layer)
        }
    }

    pub(super) fn layer_mut(&mut self, id: LayerId) -> Result<&mut Layer, LayerError> {
        self.layers.iter_mut().find(|layer| layer.id == id).ok_or(LayerError::Missing)
    }

    /// The same layers in another frame, given in pixels of this one.
    ///
    /// # Errors
    /// [`LayerError::Size`].
    pub fn reframed(&self, frame: PixelRect) -> Result<Self, LayerError> {
        let (width, height) = checked_size(frame.width, frame.height)?;
        let layers = self.layers.iter().map(|layer| Layer { pixels: layer.pixels.reframed(frame), ..layer.clone() });
        Ok(Self { width, height, layers: layers.collect(), current: self.current })
    }

    /// The same layers so small that the longest side has at most so many pixels: what small looks
    /// are made from, in little time whatever the size.
    #[must_use]
    pub fn reduced(&self, longest_side: u32) -> Self {
        let longest = self.width.max(self.height);
        if longest <= longest_side {
            return self.clone();
        }
        let side = |side: u32| (u64::from(side) * u64::from(longest_side) / u64::from(longest)).max(1) as u32;
        let (width, height) = (side(self.width), side(self.height));
        let layers = self.layers.iter().map(|layer| Layer { pixels: layer.pixels.reduced(width, height), ..layer.clone() });
        Self { width, height, layers: layers.collect(), current: self.current }
    }

    /// The rectangle outside which this looks like `other`; whole tiles.
    #[must_use]
    pub(super) fn difference(&self, other: &Self) -> PixelRect {
        let looks = |layer: &Layer| (layer.id, layer.visible, layer.opacity, layer.kind.is_picture());
        if (self.width, self.height) != (other.width, other.height) {
            return self.bounds();
        }
        if !self.layers.iter().map(looks).eq(other.layers.iter().map(looks)) {
            let all = self.layers.iter().chain(&other.layers);
            return all.filter(|layer| layer.visible).fold(PixelRect::default(), |rect, layer| {
                let has_same = |content: &Self| content.layer(layer.id).is_some_and(|it| looks(it) == looks(layer));
                let same_place =
                    self.layers.iter().position(|it| it.id == layer.id) == other.layers.iter().position(|it| it.id == layer.id);
                let apart = self.layer(layer.id).zip(other.layer(layer.id)).map(|(one, two)| one.pixels.tiles_apart(&two.pixels));
                let area = layer.pixels.content_bounds();
                match apart {
                    Some(apart) if same_place && has_same(self) && has_same(other) => rect.union(&apart),
                    _ => rect.union(&area),
                }
            });
        }
        let pairs = self.layers.iter().zip(&other.layers);
        pairs.fold(PixelRect::default(), |rect, (one, two)| rect.union(&one.pixels.tiles_apart(&two.pixels)))
    }

    /// Bytes of this content that `other` does not share.
    #[must_use]
    pub(super) fn bytes_apart(&self, other: &Self) -> usize {
        let of_layer = |layer: &Layer| match other.layer(layer.id) {
            Some(same) => layer.pixels.bytes_apart(&same.pixels),
            None => layer.pixels.bytes(),
        };
        self.layers.iter().map(|layer| size_of::<Layer>() + layer.name.len() + of_layer(layer)).sum()
    }
}

fn checked_size(width: u32, height: u32) -> Result<(u32, u32), LayerError> {
    let sides = 1..=MAX_DOCUMENT_SIDE;
    if sides.contains(&width) && sides.contains(&height) { Ok((width, height)) } else { Err(LayerError::Size) }
}
