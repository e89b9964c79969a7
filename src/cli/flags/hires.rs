//! The flags by which a picture is upscaled.

#![allow(clippy::doc_markdown, reason = "the documentation of a flag is its help text, in which backticks would show")]

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;

use super::guidance::{List, list};
use super::{finite, is_model_name, unit};
use atelier_core::recipe::{Hires, LatentUpscaler, RedrawTiles, Upscale};

const LARGER: &str = "Upscaling";

#[derive(Debug, Default, Args)]
pub(in crate::cli) struct HiresFlags {
    /// Upscale the picture by this factor, 1 to 4, and regenerate its details at the larger size
    /// (hires fix). With --init-img and --strength 0, the start picture itself is upscaled
    #[arg(long, value_name = "FACTOR", num_args = 0..=1, default_missing_value = "2", value_parser = scale, help_heading = LARGER)]
    hires: Option<f32>,
    /// The factor, as sd-cli has it beside a bare --hires
    #[arg(long, value_name = "FACTOR", value_parser = scale, requires = "hires", help_heading = LARGER)]
    hires_scale: Option<f32>,
    /// Width of the upscaled picture in pixels, in place of the factor [default: as --hires-height]
    #[arg(long, value_name = "N", value_parser = side, requires = "hires", help_heading = LARGER)]
    pub(in crate::cli) hires_width: Option<u32>,
    /// Height of the upscaled picture in pixels, in place of the factor [default: as --hires-width]
    #[arg(long, value_name = "N", value_parser = side, requires = "hires", help_heading = LARGER)]
    pub(in crate::cli) hires_height: Option<u32>,
    /// Denoising strength of the second pass, 0 to 1; 0 only upscales [default: 0.4]
    #[arg(long, alias = "hires-denoising-strength", value_name = "X", value_parser = unit, requires = "hires", help_heading = LARGER)]
    pub(in crate::cli) hires_strength: Option<f32>,
    /// Steps of the second pass, 1 to 1000 [default: as --steps]
    #[arg(long, value_name = "N", requires = "hires", help_heading = LARGER)]
    pub(in crate::cli) hires_steps: Option<u32>,
    /// Noise levels of the second pass, in place of its schedule, strength and steps
    #[arg(long, value_name = "X,...", value_parser = list::<f32>, requires = "hires", help_heading = LARGER)]
    pub(in crate::cli) hires_sigmas: Option<List<f32>>,
    #[arg(long, value_name = "NAME", requires = "hires", conflicts_with_all = ["upscaler", "redraw_tiles"], help_heading = LARGER, help = latent_help())]
    pub(in crate::cli) hires_upscaler: Option<HiresUpscaler>,
    /// Folder of the model that --hires-upscaler names
    #[arg(long, value_name = "DIR", requires = "hires_upscaler", help_heading = LARGER)]
    hires_upscalers_dir: Option<PathBuf>,
    /// Run the second pass in tiles of SIDE pixels: memory of one tile, whatever the size, and
    /// interrupted jobs resume [default: the model's best size]
    #[arg(long, value_name = "SIDE", num_args = 0..=1, default_missing_value = "0", value_parser = tile_side, requires = "hires", help_heading = LARGER)]
    pub(in crate::cli) redraw_tiles: Option<u32>,
    /// Prompt for every tile of the second pass [default: highly detailed, sharp focus]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, requires = "redraw_tiles", help_heading = LARGER)]
    pub(in crate::cli) tile_words: Option<String>,
    /// Upscaler (ESRGAN model): a file, or the ID of an upscaler in the library [default: Lanczos]
    #[arg(long, value_name = "ID|FILE", requires = "hires", help_heading = LARGER)]
    pub(in crate::cli) upscaler: Option<PathBuf>,
    /// Side of the tiles of --upscaler in pixels, 32 to 2048 [default: 128]
    #[arg(long, value_name = "N", value_parser = upscaler_tile, requires = "hires", help_heading = LARGER)]
    pub(in crate::cli) hires_upscale_tile_size: Option<u32>,
    /// Upscale the finished picture by this ESRGAN model, to the model's own factor: a file, or the ID
    /// of an upscaler in the library
    #[arg(long, value_name = "ID|FILE", help_heading = LARGER)]
    pub(in crate::cli) upscale_model: Option<PathBuf>,
    /// Times that the finished picture is upscaled, 1 to 4 [default: 1]
    #[arg(long, value_name = "N", value_parser = upscale_times, requires = "upscale_model", help_heading = LARGER)]
    pub(in crate::cli) upscale_repeats: Option<u32>,
    /// Side of the tiles in which the finished picture is upscaled in pixels, 32 to 2048 [default: 128]
    #[arg(long, value_name = "N", value_parser = upscaler_tile, requires = "upscale_model", help_heading = LARGER)]
    pub(in crate::cli) upscale_tile_size: Option<u32>,
    /// Allow an upscaler that is a pickle file (.pth). Pickle files can execute code: use this only
    /// if you trust the author
    #[arg(long, help_heading = LARGER)]
    pub(in crate::cli) allow_pickle: bool,
}

/// What makes the picture of the second pass larger, by sd-cli's names.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::cli) enum HiresUpscaler {
    Lanczos,
    Latent(LatentUpscaler),
    /// The file of an ESRGAN model.
    Model(PathBuf),
}

impl FromStr for HiresUpscaler {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.eq_ignore_ascii_case("Lanczos") {
            return Ok(Self::Lanczos);
        }
        match text.parse() {
            Ok(latent) => Ok(Self::Latent(latent)),
            Err(_) if !is_model_name(Path::new(text)) => Ok(Self::Model(text.into())),
            Err(_) => Err(format!("choose one of {}, Lanczos, or the file of a model with its ending", latent_names())),
        }
    }
}

impl HiresFlags {
    /// The upscaler of latents.
    pub(in crate::cli) fn latent(&self) -> Option<LatentUpscaler> {
        if let Some(HiresUpscaler::Latent(latent)) = self.hires_upscaler { Some(latent) } else { None }
    }

    /// The file or the ID of the model that upscales the picture.
    pub(in crate::cli) fn model(&self) -> Option<PathBuf> {
        match &self.hires_upscaler {
            Some(HiresUpscaler::Model(file)) => Some(self.hires_upscalers_dir.clone().unwrap_or_default().join(file)),
            _ => self.upscaler.clone(),
        }
    }

    /// The factor of the larger pass; `None` without one.
    pub(in crate::cli) fn scale(&self) -> Option<f32> {
        self.hires.map(|factor| self.hires_scale.unwrap_or(factor))
    }

    /// The size of the larger pass: one side is both, as sd-cli has it.
    pub(in crate::cli) fn target(&self) -> Option<(u32, u32)> {
        self.hires_width.or(self.hires_height).zip(self.hires_height.or(self.hires_width))
    }

    /// The tiles of the larger pass.
    pub(in crate::cli) fn tiles(&self) -> Option<RedrawTiles> {
        let side = Some(self.redraw_tiles?).filter(|side| *side > 0);
        let words = self.tile_words.clone().unwrap_or_else(|| RedrawTiles::USUAL_WORDS.to_owned());
        Some(RedrawTiles { side, words })
    }
}

fn latent_names() -> String {
    LatentUpscaler::ALL.iter().map(|it| it.key()).collect::<Vec<_>>().join(", ")
}

fn latent_help() -> String {
    let names = latent_names();
    format!("What upscales before the second pass: latents ({names}), Lanczos, or the file of an ESRGAN model [default: Lanczos]")
}

fn side(text: &str) -> Result<u32, String> {
    let (least, most) = Hires::SIDES;
    text.parse().ok().filter(|side| (least..=most).contains(side)).ok_or_else(|| format!("write a number from {least} to {most}"))
}

fn upscaler_tile(text: &str) -> Result<u32, String> {
    within_range(text, &Upscale::TILES)
}

fn upscale_times(text: &str) -> Result<u32, String> {
    within_range(text, &Upscale::REPEATS)
}

fn within_range(text: &str, range: &RangeInclusive<u32>) -> Result<u32, String> {
    text.parse()
        .ok()
        .filter(|value| range.contains(value))
        .ok_or_else(|| format!("write a number from {} to {}", range.start(), range.end()))
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
    fn an_upscaler_is_latent_lanczos_or_a_file() {
        let read = |text: &str| text.parse::<HiresUpscaler>();
        assert_eq!((read("lanczos"), read("Latent")), (Ok(HiresUpscaler::Lanczos), Ok(HiresUpscaler::Latent(LatentUpscaler::Linear))));
        assert_eq!(read("x2.gguf"), Ok(HiresUpscaler::Model("x2.gguf".into())));
        assert!(read("x2").is_err_and(|it| it.contains("Lanczos")));
    }

    #[test]
    fn a_factor_is_a_number_in_its_range() {
        assert_eq!(scale("1.5"), Ok(1.5));
        assert!(scale("0.5").is_err() && scale("5").is_err() && scale("nan").is_err());
    }
}
