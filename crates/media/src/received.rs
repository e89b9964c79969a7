//! Pictures that came over a network: their size is known and bounded before pixels are unpacked.

use std::io::{self, Write as _};
use std::path::Path;

use atelier_core::recipe::{ImageSource, Rgb8};
use tempfile::NamedTempFile;

use super::{PictureError, RgbaPixels, image_size, read_fine_image, read_image, read_rgba_image};

/// Most pixels of such a picture.
pub const MAX_RECEIVED_PIXELS: u64 = 64_000_000;

/// A picture in the readers' hands: they take files. The file goes with it.
#[derive(Debug)]
pub struct ReceivedPicture(NamedTempFile);

/// Such a picture cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ReceivedError {
    /// There is no room for it, or no folder.
    #[error("{0}")]
    NotKept(io::Error),
    #[error("{width}x{height}")]
    TooManyPixels { width: u32, height: u32 },
    /// The reason, without the name of a file that is nobody's.
    #[error("{0}")]
    NotAPicture(String),
}

impl ReceivedPicture {
    /// The picture of these bytes; its pixels are not unpacked yet. Blocks.
    ///
    /// # Errors
    /// If it is none, or has more than [`MAX_RECEIVED_PIXELS`].
    pub fn new(bytes: &[u8]) -> Result<Self, ReceivedError> {
        let mut file = NamedTempFile::new().map_err(ReceivedError::NotKept)?;
        file.write_all(bytes).and_then(|()| file.flush()).map_err(ReceivedError::NotKept)?;
        let received = Self(file);
        let (width, height) = image_size(&received.source()).map_err(|error| received.refused(&error))?;
        if u64::from(width) * u64::from(height) > MAX_RECEIVED_PIXELS {
            return Err(ReceivedError::TooManyPixels { width, height });
        }
        Ok(received)
    }

    /// The pixels in sRGB; transparent ones become white. Blocks.
    ///
    /// # Errors
    /// If it is damaged.
    pub fn image(&self) -> Result<Rgb8, ReceivedError> {
        read_image(&self.source()).map_err(|error| self.refused(&error))
    }

    /// The same, with the colours of the file where they are more than that. Blocks.
    ///
    /// # Errors
    /// If it is damaged.
    pub fn fine_image(&self) -> Result<Rgb8, ReceivedError> {
        read_fine_image(&self.source()).map_err(|error| self.refused(&error))
    }

    /// The pixels with their opacity. Blocks.
    ///
    /// # Errors
    /// If it is damaged.
    pub fn rgba(&self) -> Result<RgbaPixels, ReceivedError> {
        read_rgba_image(&self.source()).map_err(|error| self.refused(&error))
    }

    /// Where it lies for now, for readers of what it says beside its pixels.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The reason of an error of a reader, without the name of a file that is nobody's.
    #[must_use]
    pub fn refused(&self, error: &PictureError) -> ReceivedError {
        ReceivedError::NotAPicture(error.to_string().replace(&self.path().display().to_string(), "it"))
    }

    fn source(&self) -> ImageSource {
        ImageSource::File(self.path().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ExportFormat, export_pixels};

    #[test]
    fn a_picture_has_its_pixels_and_what_is_none_names_no_file() {
        let image = Rgb8::new(3, 2, (0..18).collect()).unwrap();
        let bytes = export_pixels(&image, ExportFormat::Png).unwrap();
        let received = ReceivedPicture::new(&bytes).unwrap();
        assert_eq!((received.image().unwrap(), received.fine_image().unwrap()), (image.clone(), image));
        assert_eq!(received.rgba().unwrap().samples.len(), 24);
        let path = received.path().to_owned();
        drop(received);
        assert!(!path.exists());
        for broken in [&bytes[..20], b"", b"<html>"] {
            let refused = ReceivedPicture::new(broken).map(drop).unwrap_err().to_string();
            assert!(!refused.contains(std::env::temp_dir().to_str().unwrap()), "{refused}");
        }
        let cut = ReceivedPicture::new(&bytes[..bytes.len() - 20]).and_then(|it| it.image());
        assert!(matches!(cut, Err(ReceivedError::NotAPicture(_))));
    }
}
