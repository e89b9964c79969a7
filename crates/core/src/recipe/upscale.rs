//! What is made of a finished picture.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A finished picture upscaled by a model, to the model's own factor each time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Upscale {
    /// ESRGAN model.
    pub model: PathBuf,
    /// How many times, in [`REPEATS`](Self::REPEATS).
    pub repeats: u32,
    /// Side of a tile in pixels, in [`TILES`](Self::TILES); `None`: 128.
    pub tile_size: Option<u32>,
    /// Opens the model also where it is a pickle: the person of this machine agreed to this file.
    /// Pictures do not store it.
    pub allow_pickle: bool,
}

impl Upscale {
    /// Times that a picture is upscaled; each multiplies width and height.
    pub const REPEATS: RangeInclusive<u32> = 1..=4;
    /// Sides of a tile.
    pub const TILES: RangeInclusive<u32> = 32..=2048;
    /// Greatest width and height of what is upscaled: more is no picture that a program opens.
    pub const MAX_SIDE: u32 = 16_384;

    /// Once, in tiles of the usual size.
    #[must_use]
    pub const fn by(model: PathBuf) -> Self {
        Self { model, repeats: 1, tile_size: None, allow_pickle: false }
    }

    /// True where a picture with a side of so many pixels can be upscaled once more, by the factor
    /// that made it of one with a side of `before`.
    #[must_use]
    pub fn has_room(before: u32, side: u32) -> bool {
        side.saturating_mul(side / before.max(1)) <= Self::MAX_SIDE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_upscaled_while_a_program_would_open_it() {
        let has_room = Upscale::has_room;
        assert_eq!([has_room(2048, 4096), has_room(4096, 8192), has_room(8192, 16_384)], [true, true, false]);
        assert_eq!([has_room(512, 2048), has_room(2048, 8192), has_room(0, 7), has_room(1, u32::MAX)], [true, false, true, false]);
    }
}
