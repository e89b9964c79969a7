//! Sizes of the VAE's tiles that depend on the picture's size.

use std::str::FromStr;

use super::values::{finite, sides};

/// Width and height of the VAE's tiles in relation to the picture: up to 1 a part of its side, above
/// 1 so many tiles along it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RelativeTileSize {
    width: f32,
    height: f32,
}

impl RelativeTileSize {
    /// Width and height, as [`Recipe::set_relative_vae_tiles`](crate::recipe::Recipe::set_relative_vae_tiles) takes them.
    #[must_use]
    pub fn parts(self) -> (f32, f32) {
        (self.width, self.height)
    }
}

impl FromStr for RelativeTileSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        sides(text, finite).map(|(width, height)| Self { width, height })
    }
}
