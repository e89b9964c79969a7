//! Flags of `cutout` and `detect`.

use std::path::PathBuf;

use clap::Args;

use super::{DEVICES, OUTPUT};
use atelier_vision::CutoutFamily;

/// Flags of `cutout`.
#[derive(Debug, Args)]
pub struct CutoutFlags {
    /// Cut-out model (ONNX): U²-Net, ISNet, RMBG, BiRefNet, MODNet or selfie segmentation
    #[arg(short, long, value_name = "FILE")]
    pub(in crate::cli) model: PathBuf,
    /// Picture (PNG, JPEG or WebP)
    #[arg(short, long, value_name = "IMAGE")]
    pub(in crate::cli) input: PathBuf,
    /// Output PNG file: the picture with a transparent background
    #[arg(short, long, value_name = "FILE", help_heading = OUTPUT)]
    pub(in crate::cli) output: PathBuf,
    /// Write a mask instead: white in front, black behind
    #[arg(long, help_heading = OUTPUT)]
    pub(in crate::cli) mask: bool,
    /// Model family, which sets the input's colours: u2net, isnet, birefnet, modnet or
    /// selfie [default: by file name and input size]
    #[arg(long, value_name = "FAMILY")]
    pub(in crate::cli) family: Option<CutoutFamily>,
    #[command(flatten)]
    pub(in crate::cli) threads: ThreadFlags,
}

/// Flags of `detect`.
#[derive(Debug, Args)]
pub struct DetectFlags {
    /// Detection model (ONNX): YOLO 5 to 11, or MediaPipe's for faces or palms
    #[arg(short, long, value_name = "FILE")]
    pub(in crate::cli) model: PathBuf,
    /// Picture (PNG, JPEG or WebP)
    #[arg(short, long, value_name = "IMAGE")]
    pub(in crate::cli) input: PathBuf,
    /// Lowest probability of a detection, 0 to 1
    #[arg(long, value_name = "P", default_value_t = 0.3, value_parser = probability)]
    pub(in crate::cli) min_probability: f32,
    /// Only this class; repeat for several
    #[arg(long, value_name = "CLASS")]
    pub(in crate::cli) class: Vec<String>,
    /// Write a mask of the detections to this PNG file, for `generate -i IMAGE --mask FILE
    /// --only-masked`, which regenerates each of them enlarged
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub(in crate::cli) mask: Option<PathBuf>,
    /// Pixels that the mask extends beyond each detection
    #[arg(long, value_name = "PIXELS", default_value_t = 8, value_parser = clap::value_parser!(u32).range(..=1024), requires = "mask", help_heading = OUTPUT)]
    pub(in crate::cli) grow: u32,
    #[command(flatten)]
    pub(in crate::cli) threads: ThreadFlags,
}

/// Threads of a model that looks at pictures.
#[derive(Debug, Args)]
pub(in crate::cli) struct ThreadFlags {
    /// CPU threads [default: all]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=512), help_heading = DEVICES)]
    pub(in crate::cli) threads: Option<u16>,
}

fn probability(text: &str) -> Result<f32, String> {
    let number = text.parse().ok().filter(|number| (0.0..=1.0).contains(number));
    number.ok_or_else(|| "choose a number from 0 to 1".to_owned())
}
