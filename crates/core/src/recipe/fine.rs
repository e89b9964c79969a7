//! What a picture has beyond eight bits of red, green and blue: transparency, a colour profile,
//! sixteen bits.

use atelier_language::tr;
use serde::{Deserialize, Serialize};

/// The colours of a picture as its file has them, beside those that models and screens are given:
/// eight bits, sRGB, over white.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FineColours {
    /// Red, green, blue and opacity of each pixel, in rows from the top.
    pub samples: Samples,
    /// False where every pixel is opaque.
    pub has_alpha: bool,
    /// The ICC profile of the colours; without one they are sRGB.
    pub profile: Option<Vec<u8>>,
    /// True where a profile says other colours than sRGB, also one that is not kept.
    pub is_beyond_srgb: bool,
    /// Where the file has colours of print (CMYK), how they became red, green and blue.
    #[serde(default)]
    pub from_print: Option<PrintConversion>,
}

/// How colours of print became red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PrintConversion {
    /// By the picture's profile, which says what the inks look like.
    Profile,
    /// By a plain formula: nothing says which inks they are.
    Plain,
}

/// Samples of eight or sixteen bits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Samples {
    /// 0 to 255.
    Eight(Vec<u8>),
    /// 0 to 65,535.
    Sixteen(Vec<u16>),
}

impl Samples {
    /// Number of samples: four a pixel.
    #[must_use]
    pub const fn len(&self) -> usize {
        match self {
            Self::Eight(samples) => samples.len(),
            Self::Sixteen(samples) => samples.len(),
        }
    }

    /// True without pixels.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The sample at this index, 0 to 1; none beyond the end.
    #[must_use]
    pub fn share(&self, at: usize) -> Option<f32> {
        match self {
            Self::Eight(samples) => samples.get(at).map(|value| f32::from(*value) / 255.0),
            Self::Sixteen(samples) => samples.get(at).map(|value| f32::from(*value) / 65_535.0),
        }
    }
}

impl FineColours {
    /// What became of colours of print, or of a profile that nobody could read, in a sentence;
    /// `None` where there was neither.
    #[must_use]
    pub fn colour_note(&self) -> Option<&'static str> {
        match self.from_print {
            None => (self.is_beyond_srgb && self.profile.is_none()).then_some(tr!("core-the-start-pictures-colours-were")),
            Some(PrintConversion::Profile) => Some(tr!("core-the-start-pictures-cmyk-colours-were")),
            Some(PrintConversion::Plain) => Some(tr!("core-the-start-pictures-cmyk")),
        }
    }

    /// What it has, in words.
    #[must_use]
    pub fn parts(&self) -> Vec<String> {
        let has = [
            (self.has_alpha, tr!("core-transparency")),
            (self.is_beyond_srgb, tr!("core-colour-profile")),
            (matches!(self.samples, Samples::Sixteen(_)), tr!("core-16-bits-a-channel")),
        ];
        has.into_iter().filter(|(has, _)| *has).map(|(_, part)| part.to_owned()).collect()
    }
}
