//! Copies of pictures in other formats, with their metadata or without.

use std::borrow::Cow;
use std::fs;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use image::codecs::jpeg::JpegEncoder;
use image::codecs::webp::WebPEncoder;
use image::{ExtendedColorType, ImageEncoder};

use atelier_core::paths;
use atelier_core::recipe::{FineColours, ImageSource, Rgb8, Samples};
use atelier_language::tr;

use super::file_names::file_stem;
use super::fine::{eight_bits, over_white, reduced};
use super::png::encode;
use super::{Metadata, PictureError, read_fine_image, read_metadata};

/// Longest text that is written into a JPEG or WebP, in bytes: an EXIF block holds 64 KiB, and its
/// letters take two bytes.
const MAX_EXIF_TEXT: usize = 30_000;

/// What copies of pictures are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyForm {
    pub format: ExportFormat,
    /// Prompt and settings stay. JPEG and WebP get the text that A1111 writes; the recipe of Atelier
    /// is in PNG alone.
    pub keeps_metadata: bool,
    /// Longest side in pixels, to which larger pictures are reduced; `None`: each stays as it is.
    pub longest_side: Option<u32>,
}

impl CopyForm {
    /// Copies of the same size with their settings.
    #[must_use]
    pub const fn whole(format: ExportFormat) -> Self {
        Self { format, keeps_metadata: true, longest_side: None }
    }
}

/// Format of an exported picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// PNG, without loss.
    Png,
    Jpeg {
        /// 1 to 100.
        quality: u8,
    },
    /// WebP without loss: the encoder in the program has no other.
    WebP,
}

impl ExportFormat {
    /// The format that a file's ending asks for; `quality` is that of a JPEG.
    #[must_use]
    pub fn of_ending(path: &Path, quality: u8) -> Option<Self> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        match ending.as_str() {
            "png" => Some(Self::Png),
            "jpg" | "jpeg" | "jpe" | "jfif" => Some(Self::Jpeg { quality }),
            "webp" => Some(Self::WebP),
            _ => None,
        }
    }

    /// The ending of its files.
    #[must_use]
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg { .. } => "jpg",
            Self::WebP => "webp",
        }
    }
}

/// What a picture has and a format does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportLoss {
    /// Transparency, which becomes white.
    Transparency,
    /// Sixteen bits a sample, of which eight are left.
    SixteenBits,
    /// Colours beyond sRGB, which become its nearest.
    Profile,
    /// Settings, where their text is longer than the format's block holds or was not written.
    Settings,
}

impl ExportLoss {
    /// What became of it, as a clause.
    #[must_use]
    pub fn clause(self) -> &'static str {
        match self {
            Self::Transparency => tr!("media-what-was-transparent-is"),
            Self::SixteenBits => tr!("media-8-bits-a-colour"),
            Self::Profile => tr!("media-colours-beyond-srgb-became"),
            Self::Settings => tr!("media-the-settings-are-left"),
        }
    }

    /// Its name for programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Transparency => "transparency",
            Self::SixteenBits => "sixteen_bits",
            Self::Profile => "profile",
            Self::Settings => "settings",
        }
    }

    /// What became of all these, in clauses; empty where nothing is lost.
    #[must_use]
    pub fn clauses(losses: &[Self]) -> String {
        losses.iter().map(|loss| loss.clause()).collect::<Vec<_>>().join(", ")
    }
}

/// A copy of a picture in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedBytes {
    pub bytes: Vec<u8>,
    pub losses: Vec<ExportLoss>,
}

/// A copy of a picture on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedPicture {
    pub path: PathBuf,
    pub losses: Vec<ExportLoss>,
}

/// Writes a copy of a picture into a folder, under this name, or its own where that has no letters,
/// with the format's ending, or with a number where that is taken. Blocks.
///
/// # Errors
/// If the picture cannot be read, or the copy cannot be written.
pub fn export_picture(source: &Path, folder: &Path, name: &str, form: CopyForm) -> Result<ExportedPicture, PictureError> {
    let ExportedBytes { bytes, losses } = export_bytes(source, form)?;
    let stem = file_stem(name).unwrap_or_else(|| source.file_stem().unwrap_or_default().to_string_lossy().into_owned());
    let ending = form.format.ending();
    let names = (1..10_000).map(|n| if n == 1 { format!("{stem}.{ending}") } else { format!("{stem} ({n}).{ending}") });
    let path = paths::write_new(folder, names, |file| file.write_all(&bytes)).map_err(|error| PictureError::write(folder, error))?;
    Ok(ExportedPicture { path, losses })
}

/// The bytes of such a copy. A PNG that stays as large as it is and keeps its settings is copied as
/// it is.
///
/// # Errors
/// If the picture cannot be read.
pub fn export_bytes(source: &Path, CopyForm { format, keeps_metadata, longest_side }: CopyForm) -> Result<ExportedBytes, PictureError> {
    let metadata = if keeps_metadata { read_metadata(source).ok() } else { None };
    if let (ExportFormat::Png, Some(_), None) = (format, &metadata, longest_side) {
        return whole_file(source);
    }
    let picture = read_fine_image(&ImageSource::File(source.to_owned()))?;
    let image = match longest_side {
        Some(side) => reduced(&picture, side)?,
        None => Cow::Borrowed(&picture),
    };
    if let (ExportFormat::Png, Some(_), Cow::Borrowed(_)) = (format, &metadata, &image) {
        return whole_file(source);
    }
    let mut metadata = metadata.unwrap_or_default();
    let mut losses = pixel_losses(&image, format);
    if format != ExportFormat::Png && metadata.parameters.as_ref().is_some_and(|text| text.len() > MAX_EXIF_TEXT) {
        metadata.parameters = None;
        losses.push(ExportLoss::Settings);
    }
    Ok(ExportedBytes { bytes: encode_as(&image, format, &metadata)?, losses })
}

fn whole_file(source: &Path) -> Result<ExportedBytes, PictureError> {
    let bytes = fs::read(source).map_err(|error| PictureError::read(source, error))?;
    Ok(ExportedBytes { bytes, losses: Vec::new() })
}

/// What of a picture's pixels this format cannot keep.
#[must_use]
pub fn pixel_losses(image: &Rgb8, format: ExportFormat) -> Vec<ExportLoss> {
    let is_lost = |loss: &ExportLoss| match (format, loss) {
        (ExportFormat::Png, _) | (ExportFormat::WebP, ExportLoss::Transparency) => false,
        // It goes along, unless nobody could read it.
        (_, ExportLoss::Profile) => image.fine().is_some_and(|fine| fine.profile.is_none()),
        _ => true,
    };
    plain_losses(image).into_iter().filter(is_lost).collect()
}

/// What of a picture's pixels eight bits of sRGB without transparency cannot keep: those of the
/// clipboard, and of copies that are made small.
#[must_use]
pub fn plain_losses(image: &Rgb8) -> Vec<ExportLoss> {
    let Some(fine) = image.fine() else { return Vec::new() };
    let has = [
        (fine.has_alpha, ExportLoss::Transparency),
        (matches!(fine.samples, Samples::Sixteen(_)), ExportLoss::SixteenBits),
        (fine.is_beyond_srgb, ExportLoss::Profile),
    ];
    has.into_iter().filter(|(has, _)| *has).map(|(_, loss)| loss).collect()
}

/// The bytes of a picture that is in no file, without settings.
///
/// # Errors
/// If it cannot be encoded: JPEG has a largest side.
pub fn export_pixels(image: &Rgb8, format: ExportFormat) -> Result<Vec<u8>, PictureError> {
    encode_as(image, format, &Metadata::default())
}

/// A picture in memory in this format; of JPEG and WebP the recipe is left out.
fn encode_as(image: &Rgb8, format: ExportFormat, metadata: &Metadata) -> Result<Vec<u8>, PictureError> {
    let failed = |error: &dyn std::fmt::Display| PictureError::Encode { reason: error.to_string() };
    let mut bytes = Cursor::new(Vec::new());
    let exif = metadata.parameters.as_deref().map(user_comment);
    let (width, height) = (image.width(), image.height());
    match format {
        ExportFormat::Png => encode(&mut bytes, image, metadata).map_err(|error| failed(&error))?,
        ExportFormat::Jpeg { quality } => {
            let mut encoder = JpegEncoder::new_with_quality(&mut bytes, quality.clamp(1, 100));
            // In the colours of its profile: transparent pixels are white in these too.
            let (pixels, profile) = match image.fine() {
                Some(FineColours { samples, profile: Some(profile), .. }) => (Cow::Owned(over_white(samples)), Some(profile)),
                _ => (Cow::Borrowed(image.pixels()), None),
            };
            if let Some(profile) = profile {
                encoder.set_icc_profile(profile.clone()).map_err(|error| failed(&error))?;
            }
            if let Some(exif) = exif {
                encoder.set_exif_metadata(exif).map_err(|error| failed(&error))?;
            }
            encoder.write_image(&pixels, width, height, ExtendedColorType::Rgb8).map_err(|error| failed(&error))?;
        }
        ExportFormat::WebP => {
            let mut encoder = WebPEncoder::new_lossless(&mut bytes);
            let (pixels, form) = match image.fine() {
                Some(fine) if fine.has_alpha => (Cow::Owned(eight_bits(&fine.samples)), ExtendedColorType::Rgba8),
                Some(fine) => (Cow::Owned(over_white(&fine.samples)), ExtendedColorType::Rgb8),
                None => (Cow::Borrowed(image.pixels()), ExtendedColorType::Rgb8),
            };
            if let Some(profile) = image.fine().and_then(|fine| fine.profile.clone()) {
                encoder.set_icc_profile(profile).map_err(|error| failed(&error))?;
            }
            if let Some(exif) = exif {
                encoder.set_exif_metadata(exif).map_err(|error| failed(&error))?;
            }
            encoder.write_image(&pixels, width, height, form).map_err(|error| failed(&error))?;
        }
    }
    Ok(bytes.into_inner())
}

/// An EXIF block (TIFF, little-endian) with one field, `UserComment`, as A1111 writes its text.
fn user_comment(text: &str) -> Vec<u8> {
    const EXIF_IFD: u16 = 0x8769;
    const USER_COMMENT: u16 = 0x9286;
    const LONG: u16 = 4;
    const UNDEFINED: u16 = 7;
    // The header takes 8 bytes, a directory of one field 18.
    const FIRST: u32 = 8;
    const SECOND: u32 = FIRST + 18;
    const TEXT: u32 = SECOND + 18;
    let comment: Vec<u8> = b"UNICODE\0".iter().copied().chain(text.encode_utf16().flat_map(u16::to_be_bytes)).collect();
    let field = |tag: u16, kind: u16, count: u32, value: u32| {
        [&1_u16.to_le_bytes()[..], &tag.to_le_bytes(), &kind.to_le_bytes(), &count.to_le_bytes(), &value.to_le_bytes(), &[0; 4]].concat()
    };
    let header = [b"II\x2a\0".as_slice(), &FIRST.to_le_bytes()].concat();
    [header, field(EXIF_IFD, LONG, 1, SECOND), field(USER_COMMENT, UNDEFINED, comment.len() as u32, TEXT), comment].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::recipe::Seed;

    use crate::{StoredRecipe, read_image, read_settings, write_picture};

    fn source(folder: &Path) -> PathBuf {
        let path = folder.join("a lake.png");
        let image = Rgb8::new(16, 8, (0..384).map(|n| (n / 3) as u8).collect()).unwrap();
        let parameters = "a lake, größer 湖\nSteps: 20, Sampler: Euler a, CFG scale: 7, Seed: 42, Size: 16x8";
        write_picture(&path, &image, &Metadata { parameters: Some(parameters.into()), recipe: Some(StoredRecipe::default()) }).unwrap();
        path
    }

    #[test]
    fn a_copy_has_its_format_and_the_settings_or_nothing_of_them() {
        let folder = tempfile::tempdir().unwrap();
        let source = source(folder.path());
        let to = folder.path().join("out");
        for (format, name) in
            [(ExportFormat::Png, "a lake.png"), (ExportFormat::Jpeg { quality: 90 }, "a lake.jpg"), (ExportFormat::WebP, "a lake.webp")]
        {
            let form = CopyForm::whole(format);
            let kept = export_picture(&source, &to, "", form).unwrap().path;
            assert_eq!(kept, to.join(name));
            let settings = read_settings(&kept).unwrap();
            assert_eq!((settings.width, settings.height), (16, 8));
            let stripped = export_picture(&source, &to, " / ", CopyForm { keeps_metadata: false, ..form }).unwrap().path;
            assert!(stripped.file_name().unwrap().to_str().unwrap().starts_with("a lake (2)."), "{}", stripped.display());
            let bytes = fs::read(&stripped).unwrap();
            for word in [&b"lake"[..], b"Seed", b"atelier", b"UNICODE", b"Exif"] {
                assert!(!bytes.windows(word.len()).any(|it| it == word), "{format:?}: {}", String::from_utf8_lossy(word));
            }
            let pixels = read_image(&ImageSource::File(stripped)).unwrap();
            if !matches!(format, ExportFormat::Jpeg { .. }) {
                assert_eq!(pixels, read_image(&ImageSource::File(source.clone())).unwrap());
            }
        }
        assert_eq!(fs::read(to.join("a lake.png")).unwrap(), fs::read(&source).unwrap(), "copied as it is");
    }

    #[test]
    fn quality_is_size_and_a_missing_picture_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let source = source(folder.path());
        let bytes = |quality| export_bytes(&source, CopyForm::whole(ExportFormat::Jpeg { quality })).unwrap().bytes.len();
        assert!(bytes(20) < bytes(95));
        assert!(export_bytes(&folder.path().join("gone.png"), CopyForm::whole(ExportFormat::WebP)).is_err());
    }

    #[test]
    fn a_copy_is_as_small_as_is_asked_for_and_keeps_what_its_format_can() {
        let folder = tempfile::tempdir().unwrap();
        let source = source(folder.path());
        let to = folder.path().join("out");
        for format in [ExportFormat::Png, ExportFormat::Jpeg { quality: 90 }, ExportFormat::WebP] {
            let copy = |side| {
                let path =
                    export_picture(&source, &to, "holiday", CopyForm { longest_side: Some(side), ..CopyForm::whole(format) }).unwrap().path;
                assert!(path.file_name().unwrap().to_str().unwrap().starts_with("holiday"), "{}", path.display());
                (read_image(&ImageSource::File(path.clone())).unwrap(), path)
            };
            let (small, path) = copy(8);
            assert_eq!((small.width(), small.height()), (8, 4), "{format:?}");
            if format == ExportFormat::Png {
                assert_eq!(read_metadata(&path).unwrap(), read_metadata(&source).unwrap());
            } else {
                assert_eq!(read_settings(&path).unwrap().seed, Some(Seed(42)), "{format:?}");
            }
            let (whole, path) = copy(16);
            assert_eq!((whole.width(), whole.height()), (16, 8), "none is made larger: {format:?}");
            if format == ExportFormat::Png {
                assert_eq!(fs::read(&path).unwrap(), fs::read(&source).unwrap(), "copied as it is");
            }
        }
    }

    #[test]
    fn a_name_leads_out_of_no_folder() {
        let folder = tempfile::tempdir().unwrap();
        let source = source(folder.path());
        let to = folder.path().join("a/b");
        let name = |name: &str| {
            let path = export_picture(&source, &to, name, CopyForm::whole(ExportFormat::Png)).unwrap().path;
            assert_eq!(path.parent(), Some(to.as_path()), "{name}");
            path.file_name().unwrap().to_str().unwrap().to_owned()
        };
        assert_eq!(name("../../x"), "x.png");
        assert_eq!(name("C:\\x\\湖 1.5 (neu)"), "C x 湖 1.5 (neu).png");
        assert_eq!(name("../../x"), "x (2).png");
        assert_eq!(name("nul"), "nul_.png");
        assert_eq!(name(&"ä".repeat(400)).chars().count(), 104);
    }
}
