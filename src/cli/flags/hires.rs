//! The flags by which a picture is enlarged.

#![allow(clippy::doc_markdown, reason = "the documentation of a flag is its help text, in which backticks would show")]

use std::path::PathBuf;

use clap::Args;

use super::{finite, unit};
use atelier_core::recipe::{Hires, RedrawTiles};

const LARGER: &str = "Larger";

#[derive(Debug, Default, Args)]
pub(in crate::cli) struct HiresFlags {
    /// Enlarge the picture by this factor, 1 to 4, and generate its details anew at the larger size. With --init-img and --strength 0 the
    /// start picture itself is enlarged
    #[arg(long, value_name = "FACTOR", value_parser = scale, help_heading = LARGER)]
    pub(in crate::cli) hires: Option<f32>,
    /// How much is generated anew at the larger size, 0 to 1; 0 only enlarges [default: 0.4]
    #[arg(long, value_name = "X", value_parser = unit, requires = "hires", help_heading = LARGER)]
    pub(in crate::cli) hires_strength: Option<f32>,
    /// Generate the details in tiles: the larger pass takes the memory of one tile, whatever the size, and goes on after an interruption. SIDE is
    /// their side in pixels [default: what the model makes best]
    #[arg(long, value_name = "SIDE", num_args = 0..=1, default_missing_value = "0", value_parser = tile_side, requires = "hires", help_heading = LARGER)]
    pub(in crate::cli) redraw_tiles: Option<u32>,
    /// Prompt of every tile [default: highly detailed, sharp focus]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, requires = "redraw_tiles", help_heading = LARGER)]
    pub(in crate::cli) tile_words: Option<String>,
    /// ESRGAN model that enlarges: a file, or an upscaler of the library by its name [default: Lanczos]
    #[arg(long, value_name = "ID|FILE", requires = "hires", help_heading = LARGER)]
    pub(in crate::cli) upscaler: Option<PathBuf>,
    /// Open the upscaler also where it is a pickle (.pth). Such files can be made to harm you: only for those whose maker you trust
    #[arg(long, requires = "upscaler", help_heading = LARGER)]
    pub(in crate::cli) allow_pickle: bool,
}

impl HiresFlags {
    /// The tiles of the larger pass.
    pub(in crate::cli) fn tiles(&self) -> Option<RedrawTiles> {
        let side = Some(self.redraw_tiles?).filter(|side| *side > 0);
        let words = self.tile_words.clone().unwrap_or_else(|| RedrawTiles::USUAL_WORDS.to_owned());
        Some(RedrawTiles { side, words })
    }
}

/// 0 is the model's own.
fn tile_side(text: &str) -> Result<u32, String> {
    let (least, most) = RedrawTiles::SIDES;
    let is_side = |side: &u32| *side == 0 || (least..=most).contains(side);
    text.parse().ok().filter(is_side).ok_or_else(|| format!("write a number from {least} to {most}"))
}

fn scale(text: &str) -> Result<f32, String> {
    let (least, most) = Hires::SCALES;
    finite(text).ok().filter(|value| (least..=most).contains(value)).ok_or_else(|| format!("write a number from {least} to {most}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_is_a_number_in_its_range() {
        assert_eq!(scale("1.5"), Ok(1.5));
        assert!(scale("0.5").is_err() && scale("5").is_err() && scale("nan").is_err());
    }
}
