//! Opacities of what is in front.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use image::imageops::{self, FilterType};
use image::{ImageBuffer, Luma, RgbImage};
use rten_tensor::prelude::*;
use rten_tensor::{NdTensor, Tensor};
use serde::{Deserialize, Serialize};

use atelier_core::canvas::Mask;
use atelier_core::recipe::Rgb8;
use atelier_language::tr;

use super::VisionError;
use super::network::{Network, shown};

const PURPOSE: &str = "cut out";
/// Pixels of the input, on each side, that may be one of the result: with less it is none.
const MAX_COARSENESS: usize = 8;
/// Mean and deviation of the pictures that most encoders were trained on, as their authors publish
/// them.
const IMAGE_NET: ([f32; 3], [f32; 3]) = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]);

/// Families of models that cut out: their files are alike, and want colours in different ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CutoutFamily {
    /// `U²-Net`, `U²-Netp`, Silueta: 320 pixels a side.
    U2Net,
    /// `ISNet`, DIS, RMBG 1.4: 1024 pixels a side.
    IsNet,
    /// `BiRefNet`, RMBG 2.0: 1024 pixels a side.
    BiRefNet,
    /// `MODNet`: any size, for people.
    ModNet,
    /// `MediaPipe`'s selfie segmentation: 256 x 256 or 256 x 144 pixels, for people.
    Selfie,
}

impl CutoutFamily {
    /// Every family.
    pub const ALL: [Self; 5] = [Self::U2Net, Self::IsNet, Self::BiRefNet, Self::ModNet, Self::Selfie];

    /// Its name in flags.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::U2Net => "u2net",
            Self::IsNet => "isnet",
            Self::BiRefNet => "birefnet",
            Self::ModNet => "modnet",
            Self::Selfie => "selfie",
        }
    }

    /// The family of a file by its name, else by the sides of its input.
    fn of(path: &Path, size: Option<(u32, u32)>) -> Self {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().to_lowercase().replace(['-', '_', '.'], "");
        let of_name = [
            ("birefnet", Self::BiRefNet),
            ("rmbg2", Self::BiRefNet),
            ("rmbg20", Self::BiRefNet),
            ("modnet", Self::ModNet),
            ("u2net", Self::U2Net),
            ("isnet", Self::IsNet),
            ("selfie", Self::Selfie),
        ];
        let known = of_name.into_iter().find(|(part, _)| name.contains(part)).map(|(_, family)| family);
        known.unwrap_or(match size {
            Some((320, 320)) => Self::U2Net,
            Some((1024, 1024)) => Self::IsNet,
            Some((256, 256 | 144)) => Self::Selfie,
            _ => Self::ModNet,
        })
    }

    /// Sides in pixels of its input where a file takes any.
    const fn side(self) -> u32 {
        match self {
            Self::Selfie => 256,
            Self::U2Net => 320,
            Self::ModNet => 512,
            Self::IsNet | Self::BiRefNet => 1024,
        }
    }

    /// Mean and deviation that colours from 0 to 1 are brought to.
    const fn colours(self) -> ([f32; 3], [f32; 3]) {
        match self {
            Self::U2Net | Self::BiRefNet => IMAGE_NET,
            Self::IsNet => ([0.5; 3], [1.0; 3]),
            Self::ModNet => ([0.5; 3], [0.5; 3]),
            Self::Selfie => ([0.0; 3], [1.0; 3]),
        }
    }
}

impl fmt::Display for CutoutFamily {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.key())
    }
}

/// The text names no family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error("{}", tr!("vision-choose-u2net-isnet-birefnet"))]
pub struct UnknownCutoutFamily;

impl FromStr for CutoutFamily {
    type Err = UnknownCutoutFamily;

    fn from_str(text: &str) -> Result<Self, UnknownCutoutFamily> {
        Self::ALL.into_iter().find(|family| family.key() == text).ok_or(UnknownCutoutFamily)
    }
}

/// A model that tells what is in front from what is behind.
pub struct Segmenter {
    network: Network,
    family: CutoutFamily,
}

impl Segmenter {
    /// Opens a model; `family` is the person's word, else it is told by the file's name and the
    /// size of its input. `threads` is at least 1.
    pub fn open(path: &Path, family: Option<CutoutFamily>, threads: usize) -> Result<Self, VisionError> {
        let network = Network::open(path, PURPOSE, threads)?;
        // Seen before a large model has computed for a minute.
        if !may_be_a_mask(network.result()) {
            return Err(network.other_purpose(PURPOSE, tr!("vision-its-result-has-the", shape = shown(network.result()))));
        }
        let family = family.unwrap_or_else(|| CutoutFamily::of(path, network.size()));
        Ok(Self { network, family })
    }

    /// The family whose colours it is given.
    #[must_use]
    pub const fn family(&self) -> CutoutFamily {
        self.family
    }

    /// Opacities of what is in front: 255 in front, 0 behind, in the picture's size.
    pub fn cut_out(&self, picture: &Rgb8) -> Result<Mask, VisionError> {
        let (width, height) = self.network.size().unwrap_or((self.family.side(), self.family.side()));
        let small = resized(picture, width, height);
        let (mean, deviation) = self.family.colours();
        let input = NdTensor::from_fn([1, 3, height as usize, width as usize], |[_, channel, y, x]| {
            let value = f32::from(small.get_pixel(x as u32, y as u32)[channel]) / 255.0;
            (value - mean[channel]) / deviation[channel]
        });
        let other = |reason: String| self.network.other_purpose(PURPOSE, reason);
        let [output] = self.network.run(&input)?;
        let output: Tensor<f32> = output.try_into().map_err(|_| other(tr!("vision-its-result-is-not-a-picture").into()))?;
        let shape = output.shape().to_vec();
        let (rows, columns) = sides_of_mask(&shape, width as usize, height as usize)
            .ok_or_else(|| other(tr!("vision-its-result-has-the", shape = format!("{shape:?}"))))?;
        let values = opacities(output.to_vec());
        let small = ImageBuffer::<Luma<f32>, _>::from_raw(columns as u32, rows as u32, values);
        let small = small.ok_or_else(|| other(tr!("vision-its-result-is-not-a-picture").into()))?;
        let large = imageops::resize(&small, picture.width(), picture.height(), FilterType::Triangle);
        let pixels = large.into_raw().into_iter().map(|value| (value * 255.0).round().clamp(0.0, 255.0) as u8).collect();
        Mask::new(picture.width(), picture.height(), pixels).ok_or_else(|| other(tr!("vision-its-result-is-not-a-picture").into()))
    }
}

/// False where a result of this shape is certainly none; `None` is a length that the file leaves
/// open.
fn may_be_a_mask(shape: &[Option<u64>]) -> bool {
    let may_be_one = |length: Option<u64>| length.is_none_or(|length| length == 1);
    match *shape {
        [] | [_, _] => true,
        [batch, _, _] => may_be_one(batch),
        [batch, first, _, last] => may_be_one(batch) && (may_be_one(first) || may_be_one(last)),
        _ => false,
    }
}

/// Rows and columns of a result of this shape, where it is a mask of an input of so many pixels: of
/// the same proportions, and not much coarser.
fn sides_of_mask(shape: &[usize], width: usize, height: usize) -> Option<(usize, usize)> {
    /// Part of a side that rounding may add or take away: a tenth.
    const ROUNDING: usize = 10;
    let ([rows, columns] | [1, rows, columns] | [1, 1, rows, columns] | [1, rows, columns, 1]) = *shape else { return None };
    let is_detailed = MAX_COARSENESS * rows >= height && MAX_COARSENESS * columns >= width;
    let (across, down) = (rows * width, columns * height);
    (is_detailed && ROUNDING * across.abs_diff(down) <= across.max(down)).then_some((rows, columns))
}

/// Values between 0 and 1: those beyond are from before the last step of the model, a logistic
/// function. What is most and least in front of all is made so wholly, as the authors of these
/// models do; a picture that is nearly even stays what it is.
fn opacities(mut values: Vec<f32>) -> Vec<f32> {
    /// Difference from 0 and 1 that rounding makes.
    const ROUNDING: f32 = 0.01;
    /// Smallest range of values that is stretched.
    const MIN_RANGE: f32 = 0.5;
    for value in values.iter_mut().filter(|value| !value.is_finite()) {
        *value = 0.0;
    }
    if values.iter().any(|value| !(-ROUNDING..=1.0 + ROUNDING).contains(value)) {
        for value in &mut values {
            *value = 1.0 / (1.0 + (-*value).exp());
        }
    }
    let (low, high) = values.iter().fold((f32::MAX, f32::MIN), |(low, high), value| (low.min(*value), high.max(*value)));
    if high - low >= MIN_RANGE {
        for value in &mut values {
            *value = (*value - low) / (high - low);
        }
    }
    values
}

/// A picture in another size.
pub(crate) fn resized(picture: &Rgb8, width: u32, height: u32) -> RgbImage {
    let whole = RgbImage::from_raw(picture.width(), picture.height(), picture.pixels().to_vec()).unwrap_or_default();
    imageops::resize(&whole, width, height, FilterType::Triangle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_of_the_family_that_its_name_says_or_of_the_one_with_its_size() {
        let of = |name: &str, side: Option<u32>| CutoutFamily::of(Path::new(name), side.map(|side| (side, side)));
        assert_eq!(of("BiRefNet-general-lite.onnx", Some(1024)), CutoutFamily::BiRefNet);
        assert_eq!(of("u2netp.onnx", None), CutoutFamily::U2Net);
        assert_eq!(of("model.onnx", Some(320)), CutoutFamily::U2Net);
        assert_eq!(of("model_fp16.onnx", Some(1024)), CutoutFamily::IsNet);
        assert_eq!(of("model.onnx", None), CutoutFamily::ModNet);
        assert_eq!(of("model.onnx", Some(256)), CutoutFamily::Selfie);
        assert_eq!(of("selfie_segmentation_landscape.onnx", None), CutoutFamily::Selfie);
    }

    #[test]
    fn a_mask_has_the_proportions_of_the_picture() {
        for shape in [[1, 1, 144, 256].as_slice(), &[1, 144, 256, 1], &[1, 72, 128], &[18, 32]] {
            assert!(sides_of_mask(shape, 256, 144).is_some(), "{shape:?}");
        }
        // A table of YOLO's, two opacities, one far too coarse, and one of another shape.
        for shape in [[1, 84, 8400].as_slice(), &[1, 2, 144, 256], &[1, 9, 16], &[1, 144, 144]] {
            assert_eq!(sides_of_mask(shape, 256, 144), None, "{shape:?}");
        }
        assert!(may_be_a_mask(&[]) && may_be_a_mask(&[None, Some(1), None, None]) && may_be_a_mask(&[Some(1), None, None, Some(1)]));
        assert!(!may_be_a_mask(&[Some(1), Some(21), Some(64), Some(64)]) && !may_be_a_mask(&[Some(2), Some(8), Some(8)]));
    }

    #[test]
    fn values_become_opacities() {
        let become_these = |values: [f32; 3], wanted: [f32; 3]| {
            let made = opacities(values.to_vec());
            assert!(made.iter().zip(wanted).all(|(made, wanted)| (made - wanted).abs() < 1e-3), "{values:?} became {made:?}");
        };
        become_these([0.1, 0.5, 0.9], [0.0, 0.5, 1.0]);
        become_these([0.5, 0.6, f32::NAN], [0.833, 1.0, 0.0]);
        // Before the logistic function.
        become_these([-8.0, 0.0, 8.0], [0.0, 0.5, 1.0]);
        assert_eq!(opacities(vec![0.4, 0.5]), [0.4, 0.5], "an even picture is not made black and white");
    }
}
