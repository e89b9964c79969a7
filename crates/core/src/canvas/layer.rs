//! Layers of a document.

use atelier_language::tr;
use serde::{Deserialize, Serialize};

use super::{BlendMode, TileImage};

/// Colour in which masks are drawn.
pub const MASK_COLOUR: [u8; 3] = [232, 72, 108];
/// Colours in which regions are drawn, one after the other.
const REGION_COLOURS: [[u8; 3]; 6] = [[66, 133, 244], [52, 168, 83], [251, 188, 5], [171, 71, 188], [0, 172, 193], [255, 112, 67]];
/// Opacity at first of layers that lie over the picture without being part of it.
const OVERLAY_OPACITY: u8 = 140;

/// Number of a layer, unique in its document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LayerId(pub u32);

/// What a layer is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LayerKind {
    /// Pixels of the picture.
    Paint,
    /// The part that is generated anew; opacity of its pixels is the mask's value.
    Mask,
    /// A part with words of its own.
    Region {
        /// The words.
        words: String,
    },
    /// The picture of a ControlNet.
    Control,
    /// A picture that the model looks at.
    Reference,
}

impl LayerKind {
    /// Most characters of a region's words.
    pub const MAX_WORDS: usize = 10_000;

    /// The word on its button.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self {
            Self::Paint => tr!("core-paint"),
            Self::Mask => tr!("core-mask"),
            Self::Region { .. } => tr!("core-region"),
            Self::Control => tr!("core-control"),
            Self::Reference => tr!("core-reference"),
        }
    }

    /// True where its pixels are part of the picture.
    #[must_use]
    pub const fn is_picture(&self) -> bool {
        matches!(self, Self::Paint)
    }

    /// The opacity of a new layer of this kind.
    #[must_use]
    pub(super) const fn usual_opacity(&self) -> u8 {
        if self.is_picture() { 255 } else { OVERLAY_OPACITY }
    }

    /// True for kinds that differ at most in their words.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

/// Words that a layer shows, and how. Its pixels are made from it, until they are painted on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerText {
    /// The words, in lines.
    pub words: String,
    /// Height of a line in pixels.
    pub size: u32,
    /// The colour, sRGB.
    pub colour: [u8; 3],
    /// Left edge of the first line in the document, in pixels.
    pub left: i32,
    /// Upper edge of the first line.
    pub top: i32,
}

impl LayerText {
    /// Most characters of the words.
    pub const MAX_WORDS: usize = 2_000;
    /// Least and greatest height of a line in pixels.
    pub const SIZES: (u32, u32) = (6, 1024);

    /// The same within what is possible.
    #[must_use]
    pub fn checked(self) -> Self {
        let within = |at: i32| at.clamp(-(MAX_DOCUMENT_SIDE as i32), MAX_DOCUMENT_SIDE as i32);
        Self {
            words: self.words.chars().filter(|c| !c.is_control() || *c == '\n').take(Self::MAX_WORDS).collect(),
            size: self.size.clamp(Self::SIZES.0, Self::SIZES.1),
            left: within(self.left),
            top: within(self.top),
            ..self
        }
    }
}

/// A layer. Clones share the pixels.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// Its number.
    pub id: LayerId,
    /// What it is for.
    pub kind: LayerKind,
    /// Its name.
    pub name: String,
    /// False where it is not drawn and not used.
    pub visible: bool,
    /// 0 to 255; of layers that are no part of the picture only how strongly they are drawn.
    pub opacity: u8,
    /// How its colours meet those below, where it is part of the picture.
    pub blend: BlendMode,
    /// True where its pixels cannot be changed.
    pub locked: bool,
    /// True where only the colours of its pixels can be changed, and not how opaque they are.
    pub alpha_locked: bool,
    /// The words that it shows; `None` where it was painted.
    pub text: Option<LayerText>,
    /// Its pixels, of the document's size.
    pub pixels: TileImage,
}

impl Layer {
    /// A visible layer.
    #[must_use]
    pub fn new(id: LayerId, kind: LayerKind, name: impl Into<String>, pixels: TileImage) -> Self {
        Self {
            id,
            opacity: kind.usual_opacity(),
            kind,
            name: name.into(),
            visible: true,
            blend: BlendMode::Normal,
            locked: false,
            alpha_locked: false,
            text: None,
            pixels,
        }
    }

    /// True where it is shown and has pixels, be they transparent again.
    #[must_use]
    pub fn has_effect(&self) -> bool {
        self.visible && !self.pixels.content_bounds().is_empty()
    }

    /// The colour that a brush leaves on it: the chosen one, or the layer's own where the colour
    /// has no meaning.
    #[must_use]
    pub const fn ink(&self, chosen: [u8; 3]) -> [u8; 3] {
        match self.kind {
            LayerKind::Mask => MASK_COLOUR,
            LayerKind::Region { .. } => REGION_COLOURS[self.id.0 as usize % REGION_COLOURS.len()],
            LayerKind::Paint | LayerKind::Control | LayerKind::Reference => chosen,
        }
    }
}

/// A change of a layer that is not possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayerError {
    /// There is no such layer.
    #[error("{}", tr!("core-this-layer-no-longer"))]
    Missing,
    /// The layer is locked.
    #[error("{}", tr!("core-this-layer-is-locked"))]
    Locked,
    /// The layer is not visible.
    #[error("{}", tr!("core-this-layer-is-hidden"))]
    Hidden,
    /// It is the only layer.
    #[error("{}", tr!("core-a-picture-has-at"))]
    Last,
    /// There is nothing to be merged with.
    #[error("{}", tr!("core-there-is-no-layer"))]
    NothingBelow,
    /// There are too many layers.
    #[error("{}", tr!("core-there-can-be-at", value = MAX_LAYERS))]
    TooMany,
    /// How opaque its pixels are is locked.
    #[error("{}", tr!("core-the-transparency-of-this"))]
    AlphaLocked,
    /// It was made of a picture of another size.
    #[error("{}", tr!("core-the-canvas-has-another"))]
    OtherSize,
    /// The size is not possible.
    #[error("{}", tr!("core-the-picture-would-be", value = MAX_DOCUMENT_SIDE))]
    Size,
}

/// Most layers of a document.
pub const MAX_LAYERS: usize = 64;
/// Longest side of a document in pixels.
pub const MAX_DOCUMENT_SIDE: u32 = 16_384;
