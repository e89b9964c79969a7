//! Settings of a job that changes a part of a picture, extends it, or starts from it.

use serde::{Deserialize, Deserializer, Serialize};

use super::PixelRect;

/// How a part of the start picture is generated anew: what lies under the mask, at the model's own
/// size, and pasted back.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AreaSettings {
    /// Side of the crop that the model sees, in sides of what is painted; 1.5 leaves a quarter on
    /// each side.
    pub context: f32,
    /// Width of the soft edge in pixels; `None`: a tenth of what is painted, less at lower
    /// strengths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feather: Option<u32>,
    /// What the masked part holds before it is denoised; `None`: the picture itself, or its
    /// surroundings where strength is 1.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "known_fill")]
    pub fill: Option<AreaFill>,
    /// The crop in pixels of the start picture, widened where the mask reaches out of it; `None`:
    /// from `context`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crop: Option<PixelRect>,
    /// Denoise the soft edge less than the middle; without effect at strength 1.
    pub soft_mask: bool,
    /// Match the colours of the result to the picture around it.
    pub seam_correction: bool,
}

impl AreaSettings {
    /// Least and greatest context.
    pub const CONTEXT_RANGE: (f32, f32) = (1.0, 8.0);
    /// The widest soft edge in pixels.
    pub const MAX_FEATHER: u32 = 512;

    /// With numbers in their ranges.
    #[must_use]
    pub fn clamped(self) -> Self {
        let (least, most) = Self::CONTEXT_RANGE;
        let context = if self.context.is_finite() { self.context.clamp(least, most) } else { Self::default().context };
        Self { context, feather: self.feather.map(|it| it.min(Self::MAX_FEATHER)), ..self }
    }
}

impl Default for AreaSettings {
    fn default() -> Self {
        Self { context: 1.5, feather: None, fill: None, crop: None, soft_mask: true, seam_correction: true }
    }
}

/// One of a later version is the usual one.
fn known_fill<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<AreaFill>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.as_deref().and_then(AreaFill::from_key))
}

/// What a masked part holds before it is denoised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AreaFill {
    /// The picture itself.
    Original,
    /// The colours around, spread smoothly into it.
    Blur,
    /// The nearest pixels around, repeated and blurred.
    Border,
    /// Grey.
    Neutral,
    /// Random colours.
    Noise,
}

impl AreaFill {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Original, Self::Blur, Self::Border, Self::Neutral, Self::Noise];

    /// The name in files and on the command line.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Original => "original",
            Self::Blur => "blur",
            Self::Border => "border",
            Self::Neutral => "neutral",
            Self::Noise => "noise",
        }
    }

    /// The fill of this name.
    #[must_use]
    pub fn from_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.key() == key)
    }
}

/// Pixels by which a picture is extended at each side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Borders {
    /// At the left.
    pub left: u32,
    /// At the top.
    pub top: u32,
    /// At the right.
    pub right: u32,
    /// At the bottom.
    pub bottom: u32,
}

impl Borders {
    /// The most at one side.
    pub const MAX: u32 = 8192;
    /// The longest side of an extended picture in pixels.
    pub const MAX_SIDE: u32 = 16_384;

    /// True where nothing is extended.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.left == 0 && self.top == 0 && self.right == 0 && self.bottom == 0
    }

    /// With at most [`MAX`](Self::MAX) at each side.
    #[must_use]
    pub fn clamped(self) -> Self {
        let [left, top, right, bottom] = [self.left, self.top, self.right, self.bottom].map(|it| it.min(Self::MAX));
        Self { left, top, right, bottom }
    }

    /// Width and height of the extended picture.
    #[must_use]
    pub const fn extended_size(&self, (width, height): (u32, u32)) -> (u32, u32) {
        (width.saturating_add(self.left).saturating_add(self.right), height.saturating_add(self.top).saturating_add(self.bottom))
    }

    /// The start picture's place in the extended one.
    #[must_use]
    pub fn picture_rect(&self, (width, height): (u32, u32)) -> PixelRect {
        let at = |it: u32| i32::try_from(it).unwrap_or(i32::MAX);
        PixelRect { left: at(self.left), top: at(self.top), width, height }
    }
}

/// How a start picture of another shape is brought to the size of the recipe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartFit {
    /// Scaled until it covers the size, and cut off at two sides.
    #[default]
    Crop,
    /// Scaled until all of it is inside; what is left at two sides is filled with its blurred
    /// borders.
    Fit,
    /// Stretched to the size.
    Stretch,
}

impl StartFit {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Crop, Self::Fit, Self::Stretch];

    /// The name in files and on the command line.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Crop => "crop",
            Self::Fit => "fit",
            Self::Stretch => "stretch",
        }
    }

    /// The fit of this name.
    #[must_use]
    pub fn from_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.key() == key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_and_json_has_the_same() {
        for fill in AreaFill::ALL {
            assert_eq!(AreaFill::from_key(fill.key()), Some(fill));
            assert_eq!(serde_json::to_string(&fill).unwrap(), format!("\"{}\"", fill.key()));
        }
        for fit in StartFit::ALL {
            assert_eq!(StartFit::from_key(fit.key()), Some(fit));
            assert_eq!(serde_json::to_string(&fit).unwrap(), format!("\"{}\"", fit.key()));
        }
    }

    #[test]
    fn borders_add_up_and_numbers_are_brought_into_range() {
        let borders = Borders { left: 3, top: 0, right: 5, bottom: u32::MAX };
        assert_eq!(borders.extended_size((10, 10)), (18, u32::MAX));
        assert_eq!(borders.clamped().bottom, Borders::MAX);
        assert_eq!(borders.picture_rect((10, 10)), PixelRect { left: 3, top: 0, width: 10, height: 10 });
        let wild = AreaSettings { context: f32::NAN, feather: Some(u32::MAX), ..AreaSettings::default() };
        assert_eq!(wild.clamped(), AreaSettings { feather: Some(512), ..AreaSettings::default() });
    }
}
