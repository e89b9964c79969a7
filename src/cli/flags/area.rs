//! The flags by which a part of a picture is generated, or a picture extended.

#![allow(clippy::doc_markdown, reason = "the documentation of a flag is its help text, in which backticks would show")]

use clap::Args;

use super::{INPUTS, finite};
use atelier_core::canvas::{AreaFill, AreaSettings, Borders, StartFit};

#[derive(Debug, Default, Args)]
pub(in crate::cli) struct AreaFlags {
    /// Inpaint only the masked part, at the model's own size (or --width x --height), and paste it
    /// back: the start picture keeps its size, and every byte away from the mask
    #[arg(long, requires = "mask", help_heading = INPUTS)]
    pub(in crate::cli) only_masked: bool,
    /// Outpaint: extend the start picture by these borders in pixels:
    /// left=64,top=0,right=64,bottom=0
    #[arg(long, value_name = "SIDE=PIXELS,...", value_parser = borders, requires = "init_img", conflicts_with = "mask", help_heading = INPUTS)]
    pub(in crate::cli) outpaint: Option<Borders>,
    /// Context around the masked part, as a multiple of its side, 1 to 8 [default: 1.5]
    #[arg(long, value_name = "X", value_parser = context, help_heading = INPUTS)]
    pub(in crate::cli) context: Option<f32>,
    /// Feather: width of the mask's soft edge in pixels [default: a tenth of the masked part, less
    /// at lower denoising strengths]
    #[arg(long, value_name = "PIXELS", value_parser = clap::value_parser!(u32).range(0..=i64::from(AreaSettings::MAX_FEATHER)), help_heading = INPUTS)]
    pub(in crate::cli) feather: Option<u32>,
    /// Fill of the masked part before denoising: original, blur (the colours around), border (the
    /// nearest pixels, blurred), neutral (grey) or noise [default: original; blur at denoising
    /// strength 1; border with --outpaint]
    #[arg(long, value_name = "FILL", value_parser = fill, help_heading = INPUTS)]
    pub(in crate::cli) fill: Option<AreaFill>,
    /// Denoise the mask's soft edge as much as its middle
    #[arg(long, help_heading = INPUTS)]
    pub(in crate::cli) no_soft_mask: bool,
    /// Paste the inpainted part without matching its colours to the start picture
    #[arg(long, help_heading = INPUTS)]
    pub(in crate::cli) no_seam_correction: bool,
    /// Fit of a start picture of another shape: crop, fit (whole picture, blurred edges beyond it)
    /// or stretch [default: crop]
    #[arg(long, value_name = "FIT", value_parser = start_fit, help_heading = INPUTS)]
    pub(in crate::cli) start_fit: Option<StartFit>,
}

impl AreaFlags {
    /// The first flag that says how a part is generated.
    pub(in crate::cli) fn detail(&self) -> Option<&'static str> {
        let all = [
            ("--context", self.context.is_some()),
            ("--feather", self.feather.is_some()),
            ("--fill", self.fill.is_some()),
            ("--no-soft-mask", self.no_soft_mask),
            ("--no-seam-correction", self.no_seam_correction),
        ];
        all.into_iter().find(|(_, is_given)| *is_given).map(|(flag, _)| flag)
    }

    /// The settings that they name.
    pub(in crate::cli) fn settings(&self) -> AreaSettings {
        let usual = AreaSettings::default();
        AreaSettings {
            context: self.context.unwrap_or(usual.context),
            feather: self.feather,
            fill: self.fill,
            soft_mask: !self.no_soft_mask,
            seam_correction: !self.no_seam_correction,
            ..usual
        }
    }
}

fn context(text: &str) -> Result<f32, String> {
    let (least, most) = AreaSettings::CONTEXT_RANGE;
    finite(text).ok().filter(|value| (least..=most).contains(value)).ok_or_else(|| format!("write a number from {least} to {most}"))
}

fn fill(text: &str) -> Result<AreaFill, String> {
    AreaFill::from_key(text).ok_or_else(|| format!("choose one of {}", AreaFill::ALL.map(AreaFill::key).join(", ")))
}

fn start_fit(text: &str) -> Result<StartFit, String> {
    StartFit::from_key(text).ok_or_else(|| format!("choose one of {}", StartFit::ALL.map(StartFit::key).join(", ")))
}

fn borders(text: &str) -> Result<Borders, String> {
    let mut borders = Borders::default();
    for part in text.split(',') {
        let (side, pixels) = part.split_once('=').ok_or("write sides and pixels, such as left=64,right=64")?;
        let side = match side.trim() {
            "left" => &mut borders.left,
            "top" => &mut borders.top,
            "right" => &mut borders.right,
            "bottom" => &mut borders.bottom,
            other => return Err(format!("\"{other}\" is not a side; there are left, top, right and bottom")),
        };
        let pixels = pixels.trim().parse().ok().filter(|pixels| *pixels <= Borders::MAX);
        *side = pixels.ok_or_else(|| format!("a side is extended by 0 to {} pixels", Borders::MAX))?;
    }
    if borders.is_empty() { Err("extend one side at least by a pixel".to_owned()) } else { Ok(borders) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borders_are_sides_with_pixels() {
        assert_eq!(borders("left=64, top=0"), Ok(Borders { left: 64, ..Borders::default() }));
        assert_eq!(borders("bottom=3,right=9").map(|it| (it.bottom, it.right)), Ok((3, 9)));
        for wrong in ["", "64", "left", "left=", "left=-1", "left=99999", "middle=3", "left=0,top=0"] {
            assert!(borders(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn names_and_numbers_that_are_none_are_refused() {
        assert_eq!((fill("blur"), start_fit("stretch")), (Ok(AreaFill::Blur), Ok(StartFit::Stretch)));
        assert!(fill("blurred").unwrap_err().contains("original") && start_fit("cover").unwrap_err().contains("crop"));
        assert!(context("0.5").is_err() && context("nan").is_err());
        assert_eq!(context("2"), Ok(2.0));
    }
}
