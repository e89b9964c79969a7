//! Pictures that a recipe starts from: files, or pixels in memory.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::fine::FineColours;

/// The source of a picture. Files are read on the engine's thread, so that nothing else waits for
/// the disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImageSource {
    /// A PNG, JPEG or WebP file.
    File(PathBuf),
    /// Pixels in memory.
    Pixels(Rgb8),
}

/// Eight-bit RGB pixels in rows from the top, without padding, in sRGB. Clones share the bytes.
///
/// A picture may have [`FineColours`] beside them, for those who write it; whatever is computed of
/// the pixels has none.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RawRgb8", into = "RawRgb8")]
pub struct Rgb8 {
    width: u32,
    height: u32,
    pixels: Arc<Vec<u8>>,
    fine: Option<Arc<FineColours>>,
}

impl Rgb8 {
    /// Pixels of `width * height * 3` bytes; `None` where the number of bytes is another.
    #[must_use]
    pub fn new(width: u32, height: u32, pixels: Vec<u8>) -> Option<Self> {
        let bytes = u64::from(width) * u64::from(height) * 3;
        (bytes == pixels.len() as u64).then(|| Self { width, height, pixels: Arc::new(pixels), fine: None })
    }

    /// The same picture with these colours of its file; `None` where they are not of its size.
    #[must_use]
    pub fn with_fine(self, fine: Option<FineColours>) -> Option<Self> {
        let samples = u64::from(self.width) * u64::from(self.height) * 4;
        let fits = fine.as_ref().is_none_or(|fine| fine.samples.len() as u64 == samples);
        fits.then(|| Self { fine: fine.map(Arc::new), ..self })
    }

    /// The same picture in eight bits of sRGB alone.
    #[must_use]
    pub fn without_fine(self) -> Self {
        Self { fine: None, ..self }
    }

    /// The colours of its file, where these are more than the pixels.
    #[must_use]
    pub fn fine(&self) -> Option<&FineColours> {
        self.fine.as_deref()
    }

    /// Width in pixels.
    #[must_use]
    pub const fn width(&self) -> u32 {
        self.width
    }

    /// Height in pixels.
    #[must_use]
    pub const fn height(&self) -> u32 {
        self.height
    }

    /// The bytes: `width * height * 3`.
    #[must_use]
    pub fn pixels(&self) -> &[u8] {
        &self.pixels
    }

    /// Mean difference from a picture of the same size over all pixels and channels, 0 to 255;
    /// `None` where the sizes differ or there are no pixels.
    #[must_use]
    pub fn mean_difference(&self, other: &Self) -> Option<f64> {
        if (self.width, self.height) != (other.width, other.height) || self.pixels.is_empty() {
            return None;
        }
        let sum: u64 = self.pixels.iter().zip(other.pixels()).map(|(one, other)| u64::from(one.abs_diff(*other))).sum();
        Some(sum as f64 / self.pixels.len() as f64)
    }
}

impl fmt::Debug for Rgb8 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rgb8({}x{})", self.width, self.height)
    }
}

#[derive(Serialize, Deserialize)]
struct RawRgb8 {
    width: u32,
    height: u32,
    pixels: Vec<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fine: Option<FineColours>,
}

impl TryFrom<RawRgb8> for Rgb8 {
    type Error = String;

    fn try_from(raw: RawRgb8) -> Result<Self, Self::Error> {
        let (width, height) = (raw.width, raw.height);
        Self::new(width, height, raw.pixels)
            .and_then(|image| image.with_fine(raw.fine))
            .ok_or_else(|| format!("a picture of {width}x{height} has another number of bytes"))
    }
}

impl From<Rgb8> for RawRgb8 {
    fn from(image: Rgb8) -> Self {
        Self {
            width: image.width,
            height: image.height,
            pixels: Arc::unwrap_or_clone(image.pixels),
            fine: image.fine.map(Arc::unwrap_or_clone),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_with_the_wrong_number_of_bytes_is_refused() {
        assert!(Rgb8::new(2, 2, vec![0; 11]).is_none());
        let text = r#"{"width":2,"height":2,"pixels":[1,2,3]}"#;
        assert!(serde_json::from_str::<Rgb8>(text).is_err());
    }

    #[test]
    fn pictures_of_one_size_differ_by_a_mean_of_their_channels() {
        let picture = |bytes: [u8; 6]| Rgb8::new(2, 1, bytes.to_vec()).unwrap();
        let (one, other) = (picture([0, 10, 20, 30, 40, 255]), picture([3, 10, 20, 30, 40, 0]));
        assert_eq!((one.mean_difference(&other), one.mean_difference(&one)), (Some(43.0), Some(0.0)));
        assert_eq!(one.mean_difference(&Rgb8::new(1, 2, vec![0; 6]).unwrap()), None);
        let empty = Rgb8::new(0, 0, Vec::new()).unwrap();
        assert_eq!(empty.mean_difference(&empty), None);
    }

    #[test]
    fn a_clone_shares_the_bytes() {
        let image = Rgb8::new(2, 1, vec![1, 2, 3, 4, 5, 6]).unwrap();
        let source = ImageSource::Pixels(image.clone());
        let ImageSource::Pixels(other) = source.clone() else { panic!("{source:?}") };
        assert_eq!(other.pixels().as_ptr(), image.pixels().as_ptr());
    }
}
