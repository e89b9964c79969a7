//! The dialog in which the place of a copy is typed, or the quality of a JPEG chosen. Pure.

use std::path::{Path, PathBuf};

use crate::gui::create::session::SessionPictureId;
use atelier_media::ExportFormat;

/// Quality of a JPEG.
pub const MIN_QUALITY: u8 = 1;
pub const MAX_QUALITY: u8 = 100;
pub const USUAL_QUALITY: u8 = 90;

/// Dialog in which a place is typed, or the quality of a JPEG chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaveDialog {
    /// The picture.
    pub id: SessionPictureId,
    /// The place; what is no whole path is in the folder of pictures.
    pub path: String,
    /// The place is typed here; else it was chosen in the system's dialog.
    pub is_typed: bool,
    /// Of a JPEG.
    pub quality: u8,
    /// The file that may be replaced: the person was asked about it.
    pub replaced: Option<PathBuf>,
}

impl SaveDialog {
    fn format(&self) -> Option<ExportFormat> {
        ExportFormat::of_ending(Path::new(self.path.trim()), self.quality)
    }

    /// The ending of the format that the place asks for; `None` where its name has none of a
    /// picture.
    #[must_use]
    pub fn ending(&self) -> Option<&'static str> {
        self.format().map(ExportFormat::ending)
    }

    /// The place is that of a JPEG.
    #[must_use]
    pub fn has_quality(&self) -> bool {
        matches!(self.format(), Some(ExportFormat::Jpeg { .. }))
    }

    /// There is a file at the place that was typed.
    #[must_use]
    pub fn is_replacing(&self) -> bool {
        self.is_typed && self.replaced.is_some()
    }

    /// Another place.
    #[must_use]
    pub fn with_path(&self, path: String) -> Self {
        Self { path, replaced: None, ..self.clone() }
    }

    /// The same place with the ending of each format, and the format's name.
    #[must_use]
    pub fn in_each_format(&self) -> [(&'static str, Self); 3] {
        let formats = [("PNG", ExportFormat::Png), ("JPEG", ExportFormat::Jpeg { quality: self.quality }), ("WebP", ExportFormat::WebP)];
        formats.map(|(name, format)| (name, self.with_format(format)))
    }

    fn with_format(&self, format: ExportFormat) -> Self {
        let path = Path::new(self.path.trim());
        let path = if self.format().is_some() {
            path.with_extension(format.ending())
        } else {
            format!("{}.{}", path.display(), format.ending()).into()
        };
        self.with_path(path.display().to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buttons_of_the_formats_change_the_ending_alone() {
        let dialog = |path: &str| SaveDialog {
            id: SessionPictureId(1),
            path: path.into(),
            is_typed: true,
            quality: 90,
            replaced: Some(PathBuf::from(path)),
        };
        let jpeg = ExportFormat::Jpeg { quality: 90 };
        for (before, after) in [("/a/b 1.5.png", "/a/b 1.5.jpg"), ("/a/b 1.5", "/a/b 1.5.jpg"), (" c.webp ", "c.jpg"), ("c.jpg", "c.jpg")] {
            let changed = dialog(before).with_format(jpeg);
            assert_eq!((changed.path.as_str(), changed.format(), &changed.replaced), (after, Some(jpeg), &None));
        }
        assert_eq!(dialog("c").format(), None);
    }
}
