//! A second pass at a larger size.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::sampling::{UnknownName, named_by_engine};

/// A picture upscaled, and its details generated anew at the larger size ("hires fix").
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hires {
    /// Factor of width and height, in [`SCALES`](Self::SCALES).
    pub scale: f32,
    /// Width and height in pixels, in [`SIDES`](Self::SIDES), in the place of the factor.
    pub target: Option<(u32, u32)>,
    /// Denoising strength of the second pass, 0 to 1; 0 only upscales.
    pub strength: f32,
    /// Steps of the second pass; `None`: as many as the picture's.
    pub steps: Option<u32>,
    /// Noise levels of the second pass, from the highest to 0, in the place of its schedule, strength
    /// and steps; one more than steps.
    pub sigmas: Vec<f32>,
    /// ESRGAN model that upscales; `None`: Lanczos.
    pub upscaler: Option<PathBuf>,
    /// Side of the upscaler's tiles in pixels, in [`Upscale::TILES`](super::Upscale::TILES); `None`:
    /// 128.
    pub tile_size: Option<u32>,
    /// Upscales the latents and not the picture; without effect with a model that upscales, in tiles,
    /// and where a start picture is upscaled as it is.
    pub latent: Option<LatentUpscaler>,
    /// Opens the upscaler also where it is a pickle: the person of this machine agreed to this
    /// file. Pictures do not store it.
    pub allow_pickle: bool,
    /// Generates the details in tiles: the second pass then takes the memory of a tile, whatever
    /// the size. `None`: all at once.
    pub tiles: Option<RedrawTiles>,
}

named_by_engine! {
    /// How latents are upscaled. The names are also A1111's.
    LatentUpscaler {
        /// Linear.
        Linear = "Latent", "Latent";
        /// The nearest one.
        Nearest = "Latent (nearest)", "Latent (nearest)";
        /// The nearest one, by the middle of each.
        NearestExact = "Latent (nearest-exact)", "Latent (nearest-exact)";
        /// Linear, without steps where it is made smaller.
        Antialiased = "Latent (antialiased)", "Latent (antialiased)";
        /// Cubic.
        Bicubic = "Latent (bicubic)", "Latent (bicubic)";
        /// Cubic, without steps where it is made smaller.
        BicubicAntialiased = "Latent (bicubic antialiased)", "Latent (bicubic antialiased)";
    }
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
    /// Least and greatest side of its own in pixels.
    pub const SIDES: (u32, u32) = (64, 16_384);
    /// The factor that sd-cli has where a command names none.
    pub const SD_CLI_SCALE: f32 = 2.0;
    /// The denoising strength that sd-cli has where a command names none.
    pub const SD_CLI_STRENGTH: f32 = 0.7;

    /// Steps of its own, as many as its noise levels where it has some.
    #[must_use]
    pub fn own_steps(&self) -> Option<u32> {
        self.sigmas.len().checked_sub(1).and_then(|steps| u32::try_from(steps).ok()).or(self.steps)
    }

    /// What upscales the latents, where it has an effect.
    #[must_use]
    pub fn latent_upscaler(&self) -> Option<LatentUpscaler> {
        self.latent.filter(|_| self.upscaler.is_none() && self.tiles.is_none() && self.strength > 0.0)
    }

    /// Width and height in pixels after upscaling, before they are snapped to what a model can
    /// make.
    #[must_use]
    pub fn size(&self, (width, height): (u32, u32)) -> (u32, u32) {
        let side = |side: u32| (f64::from(side) * f64::from(self.scale)).round() as u32;
        self.target.unwrap_or_else(|| (side(width), side(height)))
    }
}

impl Default for Hires {
    fn default() -> Self {
        Self {
            scale: 2.0,
            target: None,
            strength: 0.4,
            steps: None,
            sigmas: Vec::new(),
            upscaler: None,
            tile_size: None,
            latent: None,
            allow_pickle: false,
            tiles: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_multiplied_and_tiles_overlap() {
        assert_eq!(Hires { scale: 1.5, ..Hires::default() }.size((512, 333)), (768, 500));
        let target = Some((640, 512));
        assert_eq!(Hires { target, ..Hires::default() }.size((512, 333)), (640, 512));
        assert_eq!([64, 512, 1024, 2048].map(RedrawTiles::overlap), [16, 96, 128, 256]);
    }
}
