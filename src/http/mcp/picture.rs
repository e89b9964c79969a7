//! Pictures as an agent's program takes them: small enough for one message.

use std::path::Path;

use atelier_core::recipe::ImageSource;
use atelier_media::{ExportFormat, ExportLoss, PictureError, export_pixels, plain_losses, read_fine_image, thumbnail};

/// Longest side in pixels where nobody chose.
pub(super) const MAX_SIDE: u32 = 1024;
/// Qualities of JPEG that are tried, one after the other.
const QUALITIES: [u8; 4] = [90, 75, 60, 45];

/// A copy of a picture for a message.
pub(super) struct SmallCopy {
    /// A JPEG.
    pub(super) bytes: Vec<u8>,
    /// What its pixels lack.
    pub(super) losses: Vec<ExportLoss>,
    /// Width and height of the picture itself.
    pub(super) size: (u32, u32),
}

/// A JPEG of a picture's file with sides and bytes of at most so many, as large as fits, in sRGB and
/// without settings. Blocks.
pub(super) fn jpeg_within(path: &Path, max_side: u32, max_bytes: usize) -> Result<SmallCopy, PictureError> {
    let fine = read_fine_image(&ImageSource::File(path.to_owned()))?;
    let losses = plain_losses(&fine);
    let mut image = fine.without_fine();
    let size = (image.width(), image.height());
    let mut side = max_side.min(size.0.max(size.1));
    loop {
        if image.width().max(image.height()) > side {
            image = thumbnail(&image, side);
        }
        for quality in QUALITIES {
            let bytes = export_pixels(&image, ExportFormat::Jpeg { quality })?;
            if bytes.len() <= max_bytes || side == 1 {
                return Ok(SmallCopy { bytes, losses, size });
            }
        }
        side = (side / 2).max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_picture_becomes_a_message_and_a_small_one_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("noise.png");
        let mut seed = 1_u32;
        let mut noise = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 24) as u8
        };
        image::RgbImage::from_fn(1600, 1200, |_, _| image::Rgb([noise(), noise(), noise()])).save(&path).unwrap();
        let size = |bytes: &[u8]| {
            let image = image::load_from_memory(bytes).unwrap();
            (image.width(), image.height())
        };
        let copy = jpeg_within(&path, MAX_SIDE, 700_000).unwrap();
        let bytes = copy.bytes;
        assert_eq!(copy.size, (1600, 1200), "the picture's own");
        assert!(bytes.len() <= 700_000 && size(&bytes) == (1024, 768), "{} bytes, {:?}", bytes.len(), size(&bytes));
        assert_eq!(size(&jpeg_within(&path, 200, 700_000).unwrap().bytes), (200, 150));
        let bytes = jpeg_within(&path, MAX_SIDE, 20_000).unwrap().bytes;
        assert!(bytes.len() <= 20_000 && size(&bytes).0 < 512, "{} bytes, {:?}", bytes.len(), size(&bytes));
        image::RgbImage::new(64, 48).save(&path).unwrap();
        let small = jpeg_within(&path, MAX_SIDE, 700_000).unwrap();
        assert_eq!((size(&small.bytes), small.losses), ((64, 48), Vec::new()));
    }
}
