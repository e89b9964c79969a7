//! Tools of the canvas, and their settings.

use atelier_core::canvas::{AreaSettings, Brush};
use atelier_language::tr;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tool {
    /// Paints with the colour.
    #[default]
    Brush,
    /// Takes paint or mask away.
    Eraser,
    /// Paints the mask: the part that is generated anew.
    Mask,
    /// Masks what is connected and looks alike.
    Wand,
    /// Fills a shape drawn by hand.
    Lasso,
    Rectangle,
    /// Fills what is connected and looks alike.
    Bucket,
    /// Fills less and less along a line.
    Gradient,
    /// Takes a colour of the picture.
    Pipette,
    /// Moves, scales and turns a layer.
    Move,
    /// Extends the picture, or crops it.
    Frame,
}

impl Tool {
    /// All of them, in the order of the rail.
    pub const ALL: [Self; 11] = [
        Self::Brush,
        Self::Eraser,
        Self::Mask,
        Self::Wand,
        Self::Lasso,
        Self::Rectangle,
        Self::Bucket,
        Self::Gradient,
        Self::Pipette,
        Self::Move,
        Self::Frame,
    ];

    /// Label and tooltip of its button.
    #[must_use]
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Brush => (tr!("canvas-paint"), tr!("canvas-paint-on-the-picture")),
            Self::Eraser => (tr!("canvas-erase"), tr!("canvas-erase-paint-or-mask")),
            Self::Mask => (tr!("canvas-mask-a-part"), tr!("canvas-inpaint-paint-over-the")),
            Self::Wand => (tr!("canvas-magic-wand"), tr!("canvas-mask-similar-colours-around")),
            Self::Move => (tr!("canvas-move-the-layer"), tr!("canvas-drag-the-layer-to")),
            Self::Lasso => (tr!("canvas-lasso"), tr!("canvas-draw-around-a-part")),
            Self::Rectangle => (tr!("canvas-rectangle"), tr!("canvas-fill-a-rectangle-on")),
            Self::Bucket => (tr!("canvas-bucket"), tr!("canvas-fill-similar-colours-around")),
            Self::Gradient => (tr!("canvas-gradient"), tr!("canvas-fill-this-layer-with")),
            Self::Pipette => (tr!("canvas-pipette"), tr!("canvas-pick-a-colour-from")),
            Self::Frame => (tr!("canvas-extend-or-crop"), tr!("canvas-drag-a-border-of")),
        }
    }

    /// True for tools that fill a shape.
    #[must_use]
    pub const fn fills(self) -> bool {
        matches!(self, Self::Lasso | Self::Rectangle | Self::Bucket | Self::Gradient)
    }
}

/// Settings of the tools.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ToolOptions {
    /// The brush that paints.
    pub brush: Brush,
    pub eraser: Brush,
    /// The brush that masks.
    pub mask: Brush,
    /// The colour, sRGB.
    pub colour: [u8; 3],
    /// Largest difference of a channel that the bucket takes for the same colour.
    pub tolerance: u8,
    /// The same of the magic wand: the largest step within a part where it stops at edges.
    pub wand_tolerance: u8,
    /// The magic wand stops at edges, whatever the colours; else it goes by the colour.
    pub wand_by_edges: bool,
    /// Pixels by which a mask grows, shrinks or softens.
    pub selection_px: u32,
    /// How much of the picture may change where it is generated, 0 to 1.
    pub strength: f32,
    /// How a part of the picture is generated. The crop is the document's.
    pub area: AreaSettings,
}

impl Default for ToolOptions {
    fn default() -> Self {
        let brush = Brush::default();
        Self {
            brush,
            eraser: brush,
            mask: Brush { size: 80.0, hardness: 1.0, ..brush },
            colour: [24, 24, 27],
            tolerance: 24,
            wand_tolerance: 24,
            wand_by_edges: false,
            selection_px: 8,
            strength: 0.8,
            area: AreaSettings::default(),
        }
    }
}

impl ToolOptions {
    /// The brush of a tool; that of others is the one that paints.
    #[must_use]
    pub const fn brush_of(&self, tool: Tool) -> &Brush {
        match tool {
            Tool::Eraser => &self.eraser,
            Tool::Mask => &self.mask,
            _ => &self.brush,
        }
    }

    /// The brush of a tool, to be changed.
    pub const fn brush_of_mut(&mut self, tool: Tool) -> &mut Brush {
        match tool {
            Tool::Eraser => &mut self.eraser,
            Tool::Mask => &mut self.mask,
            _ => &mut self.brush,
        }
    }

    /// Sizes of brushes that suit a picture of this longest side in pixels, where nobody has chosen
    /// others.
    pub(crate) fn suit(&mut self, side_px: u32) {
        let usual = Self::default();
        let size = |part: f32| (side_px as f32 / part).clamp(3.0, 240.0).round();
        for (brush, usual, part) in
            [(&mut self.brush, usual.brush, 24.0), (&mut self.eraser, usual.eraser, 24.0), (&mut self.mask, usual.mask, 8.0)]
        {
            if brush.size == usual.size {
                brush.size = size(part);
            }
        }
    }

    /// What a strength does, in a word or two.
    #[must_use]
    pub fn strength_words(&self) -> &'static str {
        match self.strength {
            strength if strength < 0.35 => tr!("canvas-touch-up"),
            strength if strength < 0.65 => tr!("canvas-rework"),
            strength if strength < 0.95 => tr!("canvas-redraw"),
            _ => tr!("canvas-replace"),
        }
    }
}
