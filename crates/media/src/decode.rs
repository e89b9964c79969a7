//! Decoding of pictures to start from (PNG, JPEG, WebP), and their fitting to a size.
//!
//! Invariants: size and memory are checked before pixels are unpacked; a picture is rotated by its
//! EXIF orientation and brought from its colour profile to sRGB; transparent pixels become white,
//! or, in a mask, black; a damaged file is refused. Called on the engine's thread, never on the
//! window's.

use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::Path;

use image::imageops::{self, FilterType};
use image::metadata::Orientation;
use image::{
    DynamicImage, GenericImageView, ImageBuffer, ImageDecoder, ImageFormat, ImageReader, Limits, Luma, Pixel, Rgb, RgbImage, RgbaImage,
};

use super::PictureError;
use super::inspect::{webp_exif, webp_profile};
use super::limits::MAX_SIDE;
use super::profile::{MAX_PROFILE, Profile, grey_to_srgb, print_to_srgb, print_to_srgb_plainly, profile_of_numbers};
use super::strict_jpeg::{Jpeg, decode_strictly};
use atelier_core::canvas::{AreaFill, Borders, Mask, StartFit, border_mask, extend_picture, fill_area};
use atelier_core::recipe::{FineColours, ImageSource, PrintConversion, Rgb8, Samples};
use atelier_language::tr;

/// Most bytes of memory for decoding a picture.
const MAX_MEMORY: u64 = 1 << 30;
/// Most bytes that the decoder of PNG takes beside the pixels: texts, colour profiles, a row.
const MAX_PNG_EXTRAS: u64 = 64 << 20;
/// Largest file that is decoded. Noise of the largest size that is read takes as much.
const MAX_FILE_BYTES: u64 = 1 << 30;
/// Largest JPEG that is decoded: its decoder holds all of it in memory.
const MAX_JPEG_BYTES: u64 = 256 << 20;

/// Reads a picture in sRGB; transparent pixels become white.
pub fn read_image(source: &ImageSource) -> Result<Rgb8, PictureError> {
    match source {
        ImageSource::Pixels(pixels) => not_empty(pixels).cloned().map(Rgb8::without_fine),
        ImageSource::File(path) => rgb_over(&decode(path)?.into_srgb(), 255),
    }
}

/// As [`read_image`], with the colours of the file where they are more than that.
pub fn read_fine_image(source: &ImageSource) -> Result<Rgb8, PictureError> {
    match source {
        ImageSource::Pixels(pixels) => not_empty(pixels).cloned(),
        ImageSource::File(path) => {
            let decoded = decode(path)?;
            let fine = decoded.fine();
            rgb_over(&decoded.into_srgb(), 255)?.with_fine(fine).ok_or(PictureError::Empty)
        }
    }
}

/// A picture in eight bits of sRGB with its opacity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RgbaPixels {
    /// Pixels.
    pub width: u32,
    /// Pixels.
    pub height: u32,
    /// Red, green, blue and opacity of each pixel.
    pub samples: Vec<u8>,
    /// What the file has beyond that, in words.
    pub lost: Vec<String>,
}

/// Reads a picture in sRGB with its opacity.
pub fn read_rgba_image(source: &ImageSource) -> Result<RgbaPixels, PictureError> {
    match source {
        ImageSource::Pixels(pixels) => {
            let pixels = not_empty(pixels)?;
            let samples = pixels.pixels().chunks_exact(3).flat_map(|rgb| rgb.iter().copied().chain([255])).collect();
            Ok(RgbaPixels { width: pixels.width(), height: pixels.height(), samples, lost: Vec::new() })
        }
        ImageSource::File(path) => {
            let decoded = decode(path)?;
            let mut lost = decoded.colours().parts();
            lost.extend(decoded.from_print.map(|_| tr!("media-cmyk-colours").to_owned()));
            let image = decoded.into_srgb();
            if image.width() == 0 || image.height() == 0 {
                return Err(PictureError::Empty);
            }
            Ok(RgbaPixels { width: image.width(), height: image.height(), samples: image.into_raw(), lost })
        }
    }
}

/// Width and height of a picture in pixels, without reading all of it.
pub fn image_size(source: &ImageSource) -> Result<(u32, u32), PictureError> {
    match source {
        ImageSource::Pixels(pixels) => not_empty(pixels).map(|image| (image.width(), image.height())),
        ImageSource::File(path) => {
            let Opened { decoder, orientation, .. } = open(path)?;
            Ok(turned(decoder.dimensions(), orientation))
        }
    }
}

/// As [`image_size`], also of a picture that is too large to be decoded.
pub(crate) fn header_size(path: &Path) -> Result<(u32, u32), PictureError> {
    let Opened { decoder, orientation, .. } = open_header(path)?;
    Ok(turned(decoder.dimensions(), orientation))
}

fn turned((width, height): (u32, u32), orientation: Orientation) -> (u32, u32) {
    let is_turned =
        matches!(orientation, Orientation::Rotate90 | Orientation::Rotate270 | Orientation::Rotate90FlipH | Orientation::Rotate270FlipH);
    if is_turned { (height, width) } else { (width, height) }
}

/// Brings a picture to this size in pixels.
pub fn fit_image(image: &Rgb8, width: u32, height: u32, fit: StartFit) -> Result<Rgb8, PictureError> {
    let image = not_empty(image)?;
    if (image.width(), image.height()) == (width, height) {
        return Ok(image.clone().without_fine());
    }
    let view: ImageBuffer<Rgb<u8>, &[u8]> =
        ImageBuffer::from_raw(image.width(), image.height(), image.pixels()).ok_or(PictureError::Empty)?;
    let (fitted, borders) = fitted(&view, width, height, fit);
    let fitted = Rgb8::new(fitted.width(), fitted.height(), fitted.into_raw()).ok_or(PictureError::Empty)?;
    if borders.is_empty() {
        return Ok(fitted);
    }
    let extended = extend_picture(&fitted, &borders).ok_or(PictureError::Empty)?;
    fill_area(&extended, &border_mask((fitted.width(), fitted.height()), &borders), AreaFill::Border, 0).ok_or(PictureError::Empty)
}

/// Reads a mask, fitted to this size as its picture is. Transparent pixels are kept; what is beside
/// the picture is generated.
pub fn read_mask(source: &ImageSource, width: u32, height: u32, fit: StartFit) -> Result<Mask, PictureError> {
    let image = match source {
        ImageSource::Pixels(pixels) => Cow::Borrowed(not_empty(pixels)?),
        ImageSource::File(path) => Cow::Owned(rgb_over(&decode(path)?.image.into_rgba8(), 0)?),
    };
    let grey: Vec<u8> = image.pixels().chunks_exact(3).map(|rgb| Rgb::from_slice(rgb).to_luma().0[0]).collect();
    let mask = Mask::new(image.width(), image.height(), grey).ok_or(PictureError::Empty)?;
    fit_mask(&mask, width, height, fit)
}

/// Brings a mask to this size in pixels, as [`fit_image`] does its picture; what is beside it is 255.
pub fn fit_mask(mask: &Mask, width: u32, height: u32, fit: StartFit) -> Result<Mask, PictureError> {
    if (mask.width(), mask.height()) == (width, height) {
        return Ok(mask.clone());
    }
    let view: ImageBuffer<Luma<u8>, &[u8]> =
        ImageBuffer::from_raw(mask.width(), mask.height(), mask.pixels()).ok_or(PictureError::Empty)?;
    let (fitted, borders) = fitted(&view, width, height, fit);
    let mut whole = Mask::filled(width, height, 255);
    let rows = whole.pixels_mut().chunks_exact_mut(width.max(1) as usize).skip(borders.top as usize);
    for (row, own) in rows.zip(fitted.as_raw().chunks_exact(fitted.width().max(1) as usize)) {
        row[borders.left as usize..][..own.len()].copy_from_slice(own);
    }
    Ok(whole)
}

fn not_empty(image: &Rgb8) -> Result<&Rgb8, PictureError> {
    if image.width() == 0 || image.height() == 0 { Err(PictureError::Empty) } else { Ok(image) }
}

/// The picture at its scale, and the borders that it lacks to this size: none unless all of it is
/// to be seen.
fn fitted<P, I>(image: &I, width: u32, height: u32, fit: StartFit) -> (ImageBuffer<P, Vec<u8>>, Borders)
where
    P: Pixel<Subpixel = u8> + 'static,
    I: GenericImageView<Pixel = P>,
{
    let filter = |from: u32, to: u32| if from > to { FilterType::Lanczos3 } else { FilterType::CatmullRom };
    match fit {
        StartFit::Crop => (cover(image, width, height), Borders::default()),
        StartFit::Stretch => {
            let part = imageops::crop_imm(image, 0, 0, image.width(), image.height());
            (imageops::resize(&*part, width, height, filter(image.width(), width)), Borders::default())
        }
        StartFit::Fit => {
            let (own, wanted) = ((u64::from(image.width()), u64::from(image.height())), (u64::from(width), u64::from(height)));
            let (wide, high) = if own.0 * wanted.1 > own.1 * wanted.0 {
                (width, ((own.1 * wanted.0 + own.0 / 2) / own.0).clamp(1, wanted.1.max(1)) as u32)
            } else {
                (((own.0 * wanted.1 + own.1 / 2) / own.1).clamp(1, wanted.0.max(1)) as u32, height)
            };
            let part = imageops::crop_imm(image, 0, 0, image.width(), image.height());
            let (left, top) = ((width - wide) / 2, (height - high) / 2);
            let borders = Borders { left, top, right: width - wide - left, bottom: height - high - top };
            (imageops::resize(&*part, wide, high, filter(image.width(), wide)), borders)
        }
    }
}

/// The middle part with the wanted aspect, scaled.
fn cover<P, I>(image: &I, width: u32, height: u32) -> ImageBuffer<P, Vec<u8>>
where
    P: Pixel<Subpixel = u8> + 'static,
    I: GenericImageView<Pixel = P>,
{
    let (has, wants) = ((u64::from(image.width()), u64::from(image.height())), (u64::from(width.max(1)), u64::from(height.max(1))));
    let (part_width, part_height) = if has.0 * wants.1 > has.1 * wants.0 {
        ((has.1 * wants.0 / wants.1).max(1) as u32, image.height())
    } else {
        (image.width(), (has.0 * wants.1 / wants.0).max(1) as u32)
    };
    let (left, top) = ((image.width() - part_width) / 2, (image.height() - part_height) / 2);
    let part = imageops::crop_imm(image, left, top, part_width, part_height);
    let filter = if part_width > width { FilterType::Lanczos3 } else { FilterType::CatmullRom };
    imageops::resize(&*part, width, height, filter)
}

/// A picture as its file has it, turned upright.
pub(crate) struct Decoded {
    pub(crate) image: DynamicImage,
    /// Its ICC profile, of whatever kind.
    profile: Option<Vec<u8>>,
    /// Where its file has colours of print, how they became the image's.
    from_print: Option<PrintConversion>,
}

impl Decoded {
    /// Eight bits of sRGB.
    fn into_srgb(self) -> RgbaImage {
        let is_grey = matches!(self.image.color().channel_count(), 1 | 2);
        let Self { image, profile, from_print: _ } = self;
        let mut rgba = image.into_rgba8();
        let Some(profile) = profile else { return rgba };
        let mut colours: Vec<u8> = rgba.pixels().flat_map(|pixel| [pixel.0[0], pixel.0[1], pixel.0[2]]).collect();
        if let Some(conversion) = Profile::read(&profile).filter(|_| !is_grey).and_then(|profile| profile.to_srgb()) {
            conversion.convert(&mut colours);
        } else if is_grey {
            let grey: Vec<u8> = colours.iter().copied().step_by(3).collect();
            match grey_to_srgb(&profile, &grey) {
                Some(converted) => colours = converted,
                None => return rgba,
            }
        } else {
            return rgba;
        }
        for (pixel, colour) in rgba.pixels_mut().zip(colours.chunks_exact(3)) {
            pixel.0[..3].copy_from_slice(colour);
        }
        rgba
    }

    /// What its colours have beyond eight bits of sRGB, without the samples and their opacity.
    fn colours(&self) -> FineColours {
        let colour = self.image.color();
        let is_deep = colour.bytes_per_pixel() > colour.channel_count();
        let read = self.profile.as_deref().and_then(Profile::read);
        // Grey is brought to sRGB; of other colours the profile is lost.
        let is_lost = self.profile.is_some() && read.is_none() && colour.has_color();
        FineColours {
            samples: if is_deep { Samples::Sixteen(Vec::new()) } else { Samples::Eight(Vec::new()) },
            has_alpha: false,
            is_beyond_srgb: is_lost || read.as_ref().is_some_and(|profile| profile.to_srgb().is_some()),
            profile: self.profile.clone().filter(|_| read.is_some()),
            from_print: self.from_print,
        }
    }

    /// What the picture has beyond eight bits of sRGB; `None` where it has nothing.
    fn fine(&self) -> Option<FineColours> {
        let colours = self.colours();
        let is_deep = matches!(colours.samples, Samples::Sixteen(_));
        let is_more = colours.profile.is_some() || colours.is_beyond_srgb || colours.from_print.is_some();
        if !is_deep && !is_more && !self.image.color().has_alpha() {
            return None;
        }
        let (samples, has_alpha) = if is_deep {
            let pixels = self.image.to_rgba16();
            let has_alpha = pixels.pixels().any(|pixel| pixel.0[3] < u16::MAX);
            (Samples::Sixteen(pixels.into_raw()), has_alpha)
        } else {
            let pixels = self.image.to_rgba8();
            let has_alpha = pixels.pixels().any(|pixel| pixel.0[3] < u8::MAX);
            (Samples::Eight(pixels.into_raw()), has_alpha)
        };
        (is_deep || has_alpha || is_more).then_some(FineColours { samples, has_alpha, ..colours })
    }
}

pub(crate) fn decode(path: &Path) -> Result<Decoded, PictureError> {
    let Opened { mut decoder, orientation, format } = open(path)?;
    let profile = match format {
        Some(ImageFormat::WebP) => webp_profile(path),
        Some(ImageFormat::Png) => profile_of_numbers(path).or_else(|| decoder.icc_profile().ok().flatten()),
        _ => decoder.icc_profile().ok().flatten(),
    };
    let mut profile = profile.filter(|bytes| bytes.len() <= MAX_PROFILE);
    let mut from_print = None;
    let mut image = if format == Some(ImageFormat::Jpeg) {
        // It holds the file in memory, as the strict one will.
        drop(decoder);
        let bytes = fs::read(path).map_err(|error| PictureError::read(path, error))?;
        match decode_strictly(&bytes).map_err(|reason| PictureError::not_a_picture(path, reason))? {
            Jpeg::Light(image) => image,
            Jpeg::Inks { width, height, inks } => {
                let by_profile = profile.take().and_then(|profile| print_to_srgb(&profile, &inks));
                from_print = Some(if by_profile.is_some() { PrintConversion::Profile } else { PrintConversion::Plain });
                let pixels = by_profile.unwrap_or_else(|| print_to_srgb_plainly(&inks));
                RgbImage::from_raw(width, height, pixels).map(DynamicImage::ImageRgb8).ok_or(PictureError::Empty)?
            }
        }
    } else {
        DynamicImage::from_decoder(decoder).map_err(|error| refused(path, error))?
    };
    image.apply_orientation(orientation);
    Ok(Decoded { image, profile, from_print })
}

fn refused(path: &Path, error: image::ImageError) -> PictureError {
    match error {
        image::ImageError::IoError(error) if error.kind() != io::ErrorKind::UnexpectedEof => PictureError::read(path, error),
        error => PictureError::not_decoded(path, error),
    }
}

/// A picture whose header was read.
struct Opened<D> {
    decoder: D,
    orientation: Orientation,
    format: Option<ImageFormat>,
}

/// A picture within the limits.
fn open(path: &Path) -> Result<Opened<impl ImageDecoder + use<>>, PictureError> {
    let opened = open_header(path)?;
    let (width, height) = opened.decoder.dimensions();
    if width > MAX_SIDE || height > MAX_SIDE || opened.decoder.total_bytes() > MAX_MEMORY {
        return Err(PictureError::TooLarge { path: path.to_path_buf(), width, height, max: MAX_SIDE });
    }
    Ok(opened)
}

/// A picture of any size.
fn open_header(path: &Path) -> Result<Opened<impl ImageDecoder + use<>>, PictureError> {
    let file = fs::metadata(path).map_err(|error| PictureError::read(path, error))?;
    if !file.is_file() {
        return Err(PictureError::not_a_picture(path, tr!("media-it-is-not-a")));
    }
    let open = || ImageReader::open(path).and_then(ImageReader::with_guessed_format);
    let mut reader = open().map_err(|error| PictureError::read(path, error))?;
    let format = reader.format();
    if file.len() > if format == Some(ImageFormat::Jpeg) { MAX_JPEG_BYTES } else { MAX_FILE_BYTES } {
        return Err(PictureError::not_a_picture(path, tr!("media-the-file-is-too")));
    }
    let mut limits = Limits::default();
    limits.max_alloc = Some(if format == Some(ImageFormat::Png) { MAX_PNG_EXTRAS } else { MAX_MEMORY });
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(|error| refused(path, error))?;
    // A damaged orientation is no reason to refuse a picture.
    let orientation = match format {
        // The decoder would make as much room as the file says that its EXIF is long.
        Some(ImageFormat::WebP) => webp_exif(path).and_then(|exif| Orientation::from_exif_chunk(&exif)),
        _ => decoder.orientation().ok(),
    };
    Ok(Opened { decoder, orientation: orientation.unwrap_or(Orientation::NoTransforms), format })
}

fn rgb_over(image: &RgbaImage, ground: u8) -> Result<Rgb8, PictureError> {
    let mut pixels = Vec::with_capacity(image.as_raw().len() / 4 * 3);
    for pixel in image.pixels() {
        let [red, green, blue, alpha] = pixel.0.map(u32::from);
        let over = |value: u32| ((value * alpha + u32::from(ground) * (255 - alpha) + 127) / 255) as u8;
        pixels.extend([over(red), over(green), over(blue)]);
    }
    let image = Rgb8::new(image.width(), image.height(), pixels).ok_or(PictureError::Empty)?;
    not_empty(&image)?;
    Ok(image)
}

#[cfg(test)]
mod tests {
    use image::{Rgba, codecs::jpeg::JpegEncoder};

    use super::*;
    use image::ImageEncoder;

    fn file(folder: &tempfile::TempDir, name: &str, image: &RgbaImage) -> ImageSource {
        let path = folder.path().join(name);
        image.save(&path).unwrap();
        ImageSource::File(path)
    }

    /// Left half red, right half blue.
    fn halves(width: u32, height: u32) -> Rgb8 {
        let image = ImageBuffer::from_fn(width, height, |x, _| if x < width / 2 { Rgb([255_u8, 0, 0]) } else { Rgb([0, 0, 255]) });
        Rgb8::new(width, height, image.into_raw()).unwrap()
    }

    fn pixel(image: &Rgb8, x: u32, y: u32) -> [u8; 3] {
        let at = ((y * image.width() + x) * 3) as usize;
        image.pixels()[at..at + 3].try_into().unwrap()
    }

    #[test]
    fn what_is_see_through_is_white_in_a_picture_and_kept_by_a_mask() {
        let folder = tempfile::tempdir().unwrap();
        let mut image = RgbaImage::from_pixel(2, 1, Rgba([255, 255, 255, 0]));
        image.put_pixel(1, 0, Rgba([200, 0, 0, 255]));
        let source = file(&folder, "a.png", &image);
        assert_eq!(read_image(&source).unwrap().pixels(), [255, 255, 255, 200, 0, 0]);
        let mask = read_mask(&source, 2, 1, StartFit::Crop).unwrap();
        assert!(mask.pixels()[0] == 0 && mask.pixels()[1] > 30, "{mask:?}");
    }

    #[test]
    fn a_file_is_known_by_what_it_holds_and_not_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.png");
        RgbaImage::from_pixel(4, 3, Rgba([9, 9, 9, 255])).save_with_format(&path, ImageFormat::WebP).unwrap();
        assert_eq!(read_image(&ImageSource::File(path)).unwrap().height(), 3);
    }

    #[test]
    fn a_photograph_is_turned_as_its_camera_says() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jpg");
        let mut encoder = JpegEncoder::new(fs::File::create(&path).unwrap());
        // A little-endian TIFF header and one entry: orientation, a turn of 90 degrees.
        let exif = [&b"II*\0\x08\0\0\0\x01\0"[..], &[0x12, 0x01, 3, 0, 1, 0, 0, 0, 6, 0, 0, 0], &[0; 4]].concat();
        encoder.set_exif_metadata(exif).unwrap();
        encoder.write_image(&[128; 8 * 16 * 3], 8, 16, image::ExtendedColorType::Rgb8).unwrap();
        let image = read_image(&ImageSource::File(path)).unwrap();
        assert_eq!((image.width(), image.height()), (16, 8));
    }

    #[test]
    fn a_picture_covers_the_size_and_keeps_its_middle() {
        let wide = fit_image(&halves(400, 100), 50, 50, StartFit::Crop).unwrap();
        assert_eq!((wide.width(), wide.height()), (50, 50));
        assert_eq!((pixel(&wide, 2, 25), pixel(&wide, 47, 25)), ([255, 0, 0], [0, 0, 255]));
        let tall = fit_image(&halves(10, 40), 64, 64, StartFit::Crop).unwrap();
        assert_eq!((pixel(&tall, 3, 3), pixel(&tall, 60, 60)), ([255, 0, 0], [0, 0, 255]));
        assert_eq!(fit_image(&halves(8, 8), 8, 8, StartFit::Fit).unwrap(), halves(8, 8));
        assert_eq!(fit_image(&halves(16_384, 1), 1, 64, StartFit::Crop).unwrap().height(), 64);
    }

    #[test]
    fn a_mask_is_fitted_like_its_picture() {
        let mask = read_mask(&ImageSource::Pixels(halves(400, 100)), 50, 50, StartFit::Crop).unwrap();
        assert_eq!(mask.pixels().len(), 2500);
        assert!(mask.pixels()[2] > mask.pixels()[47], "red is brighter than blue");
        let whole = read_mask(&ImageSource::Pixels(halves(400, 100)), 50, 50, StartFit::Fit).unwrap();
        assert_eq!((whole.row(2)[9], whole.row(47)[9]), (255, 255), "beside the picture");
        assert!(whole.row(25)[9] < 255 && whole.row(25)[9] > whole.row(25)[40]);
    }

    #[test]
    fn a_picture_that_is_fitted_is_all_there_and_one_that_is_stretched_fills_the_size() {
        let wide = fit_image(&halves(400, 100), 80, 80, StartFit::Fit).unwrap();
        assert_eq!((wide.width(), wide.height()), (80, 80));
        for y in [1, 40, 78] {
            let (left, right) = (pixel(&wide, 2, y), pixel(&wide, 77, y));
            assert!(left[0] > 200 && left[2] < 60 && right[2] > 200 && right[0] < 60, "{y}: {left:?} {right:?}");
        }
        let stretched = fit_image(&halves(400, 100), 80, 80, StartFit::Stretch).unwrap();
        assert_eq!((pixel(&stretched, 36, 3), pixel(&stretched, 44, 77)), ([255, 0, 0], [0, 0, 255]));
        for fit in StartFit::ALL {
            for (from, to) in [((1, 300), (64, 64)), ((300, 1), (64, 80)), ((7, 5), (1, 1))] {
                let fitted = fit_image(&halves(from.0, from.1), to.0, to.1, fit).unwrap();
                assert_eq!((fitted.width(), fitted.height()), to, "{fit:?}");
            }
        }
    }

    #[test]
    fn empty_pixels_are_refused() {
        let empty = Rgb8::new(0, 5, Vec::new()).unwrap();
        assert!(matches!(fit_image(&empty, 4, 4, StartFit::Crop), Err(PictureError::Empty)));
        assert!(matches!(read_image(&ImageSource::Pixels(empty.clone())), Err(PictureError::Empty)));
        assert!(matches!(read_mask(&ImageSource::Pixels(empty), 4, 4, StartFit::Crop), Err(PictureError::Empty)));
    }

    #[test]
    fn what_is_no_picture_is_refused_in_a_sentence() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.png");
        let read = || read_image(&ImageSource::File(path.clone())).unwrap_err().to_string();
        assert!(read().contains("could not be read"), "{}", read());
        for bytes in [&b""[..], b"hello", b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR"] {
            fs::write(&path, bytes).unwrap();
            assert!(read().contains("is not a picture"), "{}", read());
        }
        assert!(read_image(&ImageSource::File(folder.path().into())).is_err());
    }

    #[test]
    fn a_picture_that_claims_to_be_huge_is_refused_before_it_is_unpacked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.png");
        for (width, height) in [(60_000_u32, 60_000_u32), (20_000, 1)] {
            let mut bytes = Vec::new();
            let mut encoder = png::Encoder::new(&mut bytes, width, height);
            encoder.set_color(png::ColorType::Rgb);
            let mut writer = encoder.write_header().unwrap();
            writer.write_chunk(png::chunk::IDAT, &[0x78, 0x9c, 3, 0, 0, 0, 0, 1]).unwrap();
            drop(writer);
            fs::write(&path, bytes).unwrap();
            let error = read_image(&ImageSource::File(path.clone())).unwrap_err();
            assert!(matches!(error, PictureError::TooLarge { .. }), "{error}");
        }
    }
}
