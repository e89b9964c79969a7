//! Sizes of the VAE's tiles that depend on the picture's size.

use std::str::FromStr;

use super::values::{finite, sides};
use crate::recipe::Recipe;

/// Width and height of the VAE's tiles in relation to the picture: up to 1 a part of its side, above
/// 1 so many tiles along it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RelativeTileSize {
    width: f32,
    height: f32,
}

impl RelativeTileSize {
    /// The tiles' side in values of the latent, as the engine's VAE counts them; tiles of Atelier are
    /// squares, so the shorter side counts. `None`: the size is not above 0.
    #[must_use]
    pub fn side(self, recipe: &Recipe) -> Option<u32> {
        /// Pixels of a value of the latent, with most VAEs.
        const PIXELS_OF_LATENT: f32 = 8.0;
        let overlap = recipe.vae_tile_overlap.unwrap_or(0.5);
        let part = |value: f32| if value > 1.0 { 1.0 / (value - value * overlap + overlap) } else { value };
        let side = |pixels: u32, value: f32| (pixels as f32 / PIXELS_OF_LATENT * part(value)).round() as u32;
        let (width, height) = recipe.final_size();
        (self.width > 0.0 && self.height > 0.0).then(|| side(width, self.width).min(side(height, self.height)))
    }
}

impl FromStr for RelativeTileSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        sides(text, finite).map(|(width, height)| Self { width, height })
    }
}
