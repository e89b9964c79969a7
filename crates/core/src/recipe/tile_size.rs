//! Width and height of the tiles in which a VAE works.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use atelier_language::tr;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Width and height of a tile.
///
/// In texts `32` is a square and `32x16` none; in files a square is a number, as it was when every
/// tile was one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileSize {
    /// From left to right.
    pub width: u32,
    /// From top to bottom.
    pub height: u32,
}

impl TileSize {
    /// Side where none is chosen, in values of the latent: the engine's own.
    pub const USUAL_SIDE: u32 = 32;
    /// Pixels of a side of one value of the latent, with most VAEs.
    pub const USUAL_LATENT_PIXELS: u32 = 8;

    /// A square of this side.
    #[must_use]
    pub const fn square(side: u32) -> Self {
        Self { width: side, height: side }
    }

    /// The sides of which the engine chooses those that are 0; `None` where it chooses both.
    #[must_use]
    pub fn chosen(width: u32, height: u32) -> Option<Self> {
        let or_usual = |side: u32| if side == 0 { Self::USUAL_SIDE } else { side };
        (width > 0 || height > 0).then(|| Self { width: or_usual(width), height: or_usual(height) })
    }

    /// With both sides within these limits.
    #[must_use]
    pub fn within(self, limits: &RangeInclusive<u32>) -> Self {
        let clamped = |side: u32| side.clamp(*limits.start(), *limits.end());
        Self { width: clamped(self.width), height: clamped(self.height) }
    }
}

impl fmt::Display for TileSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { width, height } = self;
        if width == height { write!(f, "{width}") } else { write!(f, "{width}x{height}") }
    }
}

impl FromStr for TileSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (width, height) = text.split_once(['x', 'X']).unwrap_or((text, text));
        let side = |text: &str| text.trim().parse().map_err(|_| tr!("core-write-a-size-such").to_owned());
        Ok(Self { width: side(width)?, height: side(height)? })
    }
}

impl Serialize for TileSize {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.width == self.height { serializer.serialize_u32(self.width) } else { serializer.collect_str(self) }
    }
}

impl<'de> Deserialize<'de> for TileSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Side(u32),
            Text(String),
        }
        match Form::deserialize(deserializer)? {
            Form::Side(side) => Ok(Self::square(side)),
            Form::Text(text) => text.parse().map_err(serde::de::Error::custom),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_written_in_the_shortest_form_and_read_in_each() {
        let oblong = TileSize { width: 32, height: 16 };
        for (text, size, written, json) in [
            ("24", TileSize::square(24), "24", "24"),
            ("24x24", TileSize::square(24), "24", "24"),
            (" 32 X 16", oblong, "32x16", "\"32x16\""),
        ] {
            assert_eq!(text.parse(), Ok(size), "{text}");
            assert_eq!(size.to_string(), written);
            assert_eq!(serde_json::to_string(&size).unwrap(), json);
            assert_eq!(serde_json::from_str::<TileSize>(json).unwrap(), size);
        }
        for wrong in ["", "small", "x16", "8x", "-8", "8x8x8", "8.5"] {
            assert!(wrong.parse::<TileSize>().is_err_and(|it| it.contains("32x16")), "{wrong}");
        }
        assert!(serde_json::from_str::<TileSize>("[8]").is_err());
    }

    #[test]
    fn a_side_that_is_not_chosen_is_the_engines_own() {
        assert_eq!(TileSize::chosen(0, 0), None);
        assert_eq!(TileSize::chosen(16, 0), Some(TileSize { width: 16, height: 32 }));
        assert_eq!(TileSize::chosen(0, 8), Some(TileSize { width: 32, height: 8 }));
        assert_eq!(TileSize { width: 2, height: 900 }.within(&(4..=512)), TileSize { width: 4, height: 512 });
    }
}
