//! A second pass at a larger size.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A picture upscaled, and its details generated anew at the larger size ("hires fix").
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hires {
    /// Factor of width and height, in [`SCALES`](Self::SCALES).
    pub scale: f32,
    /// Denoising strength of the second pass, 0 to 1; 0 only upscales.
    pub strength: f32,
    /// Steps of the second pass; `None`: as many as the picture's.
    pub steps: Option<u32>,
    /// ESRGAN model that upscales; `None`: Lanczos.
    pub upscaler: Option<PathBuf>,
    /// Opens the upscaler also where it is a pickle: the person of this machine agreed to this
    /// file. Pictures do not store it.
    pub allow_pickle: bool,
    /// Generates the details in tiles: the second pass then takes the memory of a tile, whatever
    /// the size. `None`: all at once.
    pub tiles: Option<RedrawTiles>,
}

/// Tiles of a second pass, one after the other; each sees what those before it made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RedrawTiles {
    /// Side in pixels, in [`SIDES`](Self::SIDES); `None`: the size that the model makes best.
    pub side: Option<u32>,
    /// The prompt of each tile. That of the picture would paint its subject into every tile.
    pub words: String,
}

impl RedrawTiles {
    /// Least and greatest side in pixels.
    pub const SIDES: (u32, u32) = (64, 4096);
    /// Words that suit every part of every picture.
    pub const USUAL_WORDS: &str = "highly detailed, sharp focus";
    /// Most characters of the words.
    pub const MAX_CHARACTERS: usize = 2000;
    /// Least overlap of neighbours where tiles are large enough, in pixels: with half as many a
    /// seam shows.
    const MIN_OVERLAP: u32 = 96;

    /// Pixels by which neighbours with this side overlap.
    #[must_use]
    pub fn overlap(side: u32) -> u32 {
        (side / 8).max(Self::MIN_OVERLAP).min(side / 4)
    }
}

impl Default for RedrawTiles {
    fn default() -> Self {
        Self { side: None, words: Self::USUAL_WORDS.to_owned() }
    }
}

impl Hires {
    /// Least and greatest factor.
    pub const SCALES: (f32, f32) = (1.0, 4.0);

    /// Width and height in pixels after upscaling, before they are snapped to what a model can
    /// make.
    #[must_use]
    pub fn size(&self, (width, height): (u32, u32)) -> (u32, u32) {
        let side = |side: u32| (f64::from(side) * f64::from(self.scale)).round() as u32;
        (side(width), side(height))
    }
}

impl Default for Hires {
    fn default() -> Self {
        Self { scale: 2.0, strength: 0.4, steps: None, upscaler: None, allow_pickle: false, tiles: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_multiplied_and_tiles_overlap() {
        assert_eq!(Hires { scale: 1.5, ..Hires::default() }.size((512, 333)), (768, 500));
        assert_eq!([64, 512, 1024, 2048].map(RedrawTiles::overlap), [16, 96, 128, 256]);
    }
}
