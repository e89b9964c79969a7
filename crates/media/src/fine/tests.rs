//! What a picture keeps outside of what was generated, in every form of its colours.

use std::fs;
use std::path::Path;

use image::{DynamicImage, ImageBuffer, ImageEncoder, Luma, LumaA, Rgb, Rgba, RgbaImage};
use moxcms::ColorProfile;
use proptest::prelude::*;

use super::*;
use crate::{CopyForm, ExportFormat, ExportLoss, Metadata, export_picture, read_fine_image, read_image, write_picture};
use atelier_core::recipe::ImageSource;

const SIZE: (u32, u32) = (23, 17);

#[derive(Clone, Copy, Debug)]
enum Form {
    Rgb8,
    Rgba8,
    /// A palette with a transparency for each colour.
    Palette,
    GreyAlpha8,
    Rgb16,
    Rgba16,
    Grey16,
    GreyAlpha16,
    /// One colour of all is transparent.
    Key,
}

const FORMS: [Form; 9] =
    [Form::Rgb8, Form::Rgba8, Form::Palette, Form::GreyAlpha8, Form::Rgb16, Form::Rgba16, Form::Grey16, Form::GreyAlpha16, Form::Key];
/// The transparent colour of a picture that has one.
const KEY: [u8; 3] = [9, 200, 30];

impl Form {
    const fn has_alpha(self) -> bool {
        matches!(self, Self::Rgba8 | Self::Palette | Self::GreyAlpha8 | Self::Rgba16 | Self::GreyAlpha16 | Self::Key)
    }
}

/// Any colours: those of transparent pixels too.
fn picture(form: Form, seed: u32) -> DynamicImage {
    let (width, height) = SIZE;
    let value = |x: u32, y: u32, channel: u32| {
        let mixed = (x * 7919 + y * 104_729 + channel * 1_299_709).wrapping_add(seed).wrapping_mul(2_654_435_761);
        ((mixed >> 13) & 0xffff) as u16
    };
    // Wholly opaque and wholly transparent pixels too.
    let alpha = |x: u32, y: u32| match (x + y) % 3 {
        0 => 0,
        1 => u16::MAX,
        _ => value(x, y, 9),
    };
    let byte = |value: u16| (value >> 8) as u8;
    match form {
        Form::Rgb8 => DynamicImage::ImageRgb8(ImageBuffer::from_fn(width, height, |x, y| Rgb([0, 1, 2].map(|c| byte(value(x, y, c)))))),
        Form::Rgba8 => DynamicImage::ImageRgba8(ImageBuffer::from_fn(width, height, |x, y| {
            Rgba([byte(value(x, y, 0)), byte(value(x, y, 1)), byte(value(x, y, 2)), byte(alpha(x, y))])
        })),
        Form::Palette => DynamicImage::ImageRgba8(ImageBuffer::from_fn(width, height, |x, y| {
            let index = (value(x, y, 0) % 64) as u8;
            Rgba([index * 4, 255 - index, index * 3, [0, 255, index * 4][usize::from(index % 3)]])
        })),
        Form::GreyAlpha8 => {
            DynamicImage::ImageLumaA8(ImageBuffer::from_fn(width, height, |x, y| LumaA([byte(value(x, y, 0)), byte(alpha(x, y))])))
        }
        Form::Rgb16 => DynamicImage::ImageRgb16(ImageBuffer::from_fn(width, height, |x, y| Rgb([0, 1, 2].map(|c| value(x, y, c))))),
        Form::Rgba16 => DynamicImage::ImageRgba16(ImageBuffer::from_fn(width, height, |x, y| {
            Rgba([value(x, y, 0), value(x, y, 1), value(x, y, 2), alpha(x, y)])
        })),
        Form::Grey16 => DynamicImage::ImageLuma16(ImageBuffer::from_fn(width, height, |x, y| Luma([value(x, y, 0)]))),
        Form::GreyAlpha16 => DynamicImage::ImageLumaA16(ImageBuffer::from_fn(width, height, |x, y| LumaA([value(x, y, 0), alpha(x, y)]))),
        Form::Key => DynamicImage::ImageRgba8(ImageBuffer::from_fn(width, height, |x, y| {
            let [red, green, blue] = KEY;
            // No other pixel has the key's red.
            if (x + y).is_multiple_of(3) {
                Rgba([red, green, blue, 0])
            } else {
                Rgba([byte(value(x, y, 0)) | 0x40, green, byte(value(x, y, 2)), 255])
            }
        })),
    }
}

fn display_p3() -> Vec<u8> {
    ColorProfile::new_display_p3().encode().unwrap()
}

fn write(path: &Path, image: &DynamicImage, profile: Option<Vec<u8>>) -> ImageSource {
    let mut encoder = image::codecs::png::PngEncoder::new(fs::File::create(path).unwrap());
    if let Some(profile) = profile {
        encoder.set_icc_profile(profile).unwrap();
    }
    encoder.write_image(image.as_bytes(), image.width(), image.height(), image.color().into()).unwrap();
    ImageSource::File(path.to_owned())
}

/// Writes a picture of at most 256 colours by their numbers.
fn write_palette(path: &Path, image: &RgbaImage, profile: Option<Vec<u8>>) -> ImageSource {
    let mut colours: Vec<[u8; 4]> = image.pixels().map(|pixel| pixel.0).collect();
    colours.sort_unstable();
    colours.dedup();
    let mut info = png::Info::with_size(image.width(), image.height());
    (info.color_type, info.bit_depth) = (png::ColorType::Indexed, png::BitDepth::Eight);
    info.palette = Some(colours.iter().flat_map(|colour| [colour[0], colour[1], colour[2]]).collect::<Vec<u8>>().into());
    info.trns = Some(colours.iter().map(|colour| colour[3]).collect::<Vec<u8>>().into());
    info.icc_profile = profile.map(Into::into);
    let indices: Vec<u8> = image.pixels().map(|pixel| colours.binary_search(&pixel.0).unwrap() as u8).collect();
    let encoder = png::Encoder::with_info(fs::File::create(path).unwrap(), info).unwrap();
    encoder.write_header().unwrap().write_image_data(&indices).unwrap();
    ImageSource::File(path.to_owned())
}

/// Writes a picture without opacity of its own, of which one colour is transparent.
fn write_key(path: &Path, image: &RgbaImage, profile: Option<Vec<u8>>) -> ImageSource {
    let mut info = png::Info::with_size(image.width(), image.height());
    (info.color_type, info.bit_depth) = (png::ColorType::Rgb, png::BitDepth::Eight);
    info.trns = Some(KEY.iter().flat_map(|value| [0, *value]).collect::<Vec<u8>>().into());
    info.icc_profile = profile.map(Into::into);
    let colours: Vec<u8> = image.pixels().flat_map(|pixel| [pixel.0[0], pixel.0[1], pixel.0[2]]).collect();
    let encoder = png::Encoder::with_info(fs::File::create(path).unwrap(), info).unwrap();
    encoder.write_header().unwrap().write_image_data(&colours).unwrap();
    ImageSource::File(path.to_owned())
}

fn near(found: &[u8], expected: [u8; 3]) -> bool {
    found.iter().zip(expected).all(|(one, two)| one.abs_diff(two) <= 3)
}

fn eight(image: &Rgb8) -> &[u8] {
    let Some(FineColours { samples: Samples::Eight(samples), .. }) = image.fine() else { panic!("{image:?} has no eight bits of its own") };
    samples
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn every_sample_outside_of_what_was_generated_stays(
        form in proptest::sample::select(FORMS.to_vec()), seed in any::<u32>(), has_profile in any::<bool>(),
        left in 0..20_u32, top in 0..14_u32, share in 1..=255_u8, border in (0..4_u32, 0..4_u32),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let image = picture(form, seed);
        let profile = has_profile.then(display_p3);
        let path = folder.path().join("a.png");
        let source = match form {
            Form::Palette => write_palette(&path, &image.to_rgba8(), profile.clone()),
            Form::Key => write_key(&path, &image.to_rgba8(), profile.clone()),
            _ => write(&path, &image, profile.clone()),
        };
        let start = read_fine_image(&source).unwrap();
        let (width, height) = (SIZE.0 + border.0, SIZE.1 + border.1);
        let mut shares = Mask::filled(width, height, 0);
        let is_new = |x: u32, y: u32| (left..left + 3).contains(&x) && (top..top + 3).contains(&y);
        for (at, value) in (0..).zip(shares.pixels_mut()) {
            if is_new(at % width, at / width) {
                *value = share;
            }
        }
        let painted = Rgb8::new(width, height, vec![90; (width * height * 3) as usize]).unwrap();
        let kept = keep_outside(&start, border, painted, &shares);
        let has_more = form.has_alpha() || has_profile || matches!(form, Form::Rgb16 | Form::Grey16);
        prop_assert_eq!(start.fine().is_some(), has_more);
        if !has_more {
            return Ok(());
        }
        let path = folder.path().join("b.png");
        write_picture(&path, &kept, &Metadata::default()).unwrap();
        let (before, after) = (image.to_rgba16(), image::open(&path).unwrap().to_rgba16());
        for (x, y, pixel) in after.enumerate_pixels() {
            if x >= border.0 && y >= border.1 && !is_new(x, y) {
                prop_assert_eq!(pixel, before.get_pixel(x - border.0, y - border.1), "{:?} at {}, {}", form, x, y);
            }
        }
        prop_assert_eq!(kept.fine().map(|fine| (fine.has_alpha, fine.profile.clone())), Some((form.has_alpha(), profile)));
    }
}

#[test]
fn a_wide_profile_is_converted_for_models_and_screens_and_back_again() {
    let folder = tempfile::tempdir().unwrap();
    let red = DynamicImage::ImageRgb8(ImageBuffer::from_pixel(8, 8, Rgb([230, 60, 50])));
    let source = write(&folder.path().join("a.png"), &red, Some(display_p3()));
    let shown = read_image(&source).unwrap();
    assert!(shown.pixels()[0] > 240 && shown.pixels()[1] < 50, "{:?}", &shown.pixels()[..3]);
    assert!(shown.fine().is_none());
    // What a model paints in the same colour has the numbers of the profile.
    let start = read_fine_image(&source).unwrap();
    let kept = keep_outside(&start, (0, 0), shown, &Mask::filled(8, 8, 255));
    assert!(near(&eight(&kept)[..3], [230, 60, 50]), "{:?}", &eight(&kept)[..3]);
    // sRGB is left alone.
    let srgb = ColorProfile::new_srgb().encode().unwrap();
    let same = write(&folder.path().join("b.png"), &picture(Form::Rgb8, 3), Some(srgb));
    assert_eq!(read_image(&same).unwrap().pixels(), picture(Form::Rgb8, 3).as_bytes());
}

#[test]
fn colours_that_a_png_says_by_numbers_are_as_those_of_a_profile() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.png");
    let read = |numbers: [u8; 4]| {
        let mut info = png::Info::with_size(1, 1);
        (info.color_type, info.bit_depth) = (png::ColorType::Rgb, png::BitDepth::Eight);
        let encoder = png::Encoder::with_info(fs::File::create(&path).unwrap(), info).unwrap();
        let mut writer = encoder.write_header().unwrap();
        writer.write_chunk(png::chunk::ChunkType(*b"cICP"), &numbers).unwrap();
        writer.write_image_data(&[230, 60, 50]).unwrap();
        writer.finish().unwrap();
        read_fine_image(&ImageSource::File(path.clone())).unwrap()
    };
    // Primaries, curve, matrix, whole range. Display P3 with the curve of sRGB.
    let wide = read([12, 13, 0, 1]);
    assert!(wide.pixels()[0] > 240 && wide.pixels()[1] < 50, "{:?}", wide.pixels());
    assert!(wide.fine().is_some_and(|fine| fine.profile.is_some() && fine.is_beyond_srgb));
    assert_eq!(eight(&wide)[..3], [230, 60, 50]);
    for same in [[1, 13, 0, 1], [2, 2, 0, 1], [0, 255, 0, 1]] {
        let it = read(same);
        assert_eq!((it.pixels(), it.fine()), (&[230, 60, 50][..], None), "{same:?}");
    }
    // No profile says the curve of a high dynamic range: what is lost is told.
    let high = read([9, 16, 0, 1]);
    assert_eq!(high.pixels(), [230, 60, 50]);
    assert!(high.fine().is_some_and(|fine| fine.profile.is_none() && fine.is_beyond_srgb));
    assert!(high.fine().and_then(FineColours::colour_note).is_some() && wide.fine().and_then(FineColours::colour_note).is_none());
}

#[test]
fn colours_that_a_png_says_by_chromaticities_and_gamma_are_as_those_of_a_profile() {
    const SRGB: [u32; 8] = [31_270, 32_900, 64_000, 33_000, 30_000, 60_000, 15_000, 6_000];
    const WIDE: [u32; 8] = [31_270, 32_900, 68_000, 32_000, 26_500, 69_000, 15_000, 6_000];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.png");
    let read = |light: Option<[u32; 8]>, gamma: Option<u32>| {
        let mut info = png::Info::with_size(1, 1);
        (info.color_type, info.bit_depth) = (png::ColorType::Rgb, png::BitDepth::Eight);
        let encoder = png::Encoder::with_info(fs::File::create(&path).unwrap(), info).unwrap();
        let mut writer = encoder.write_header().unwrap();
        if let Some(light) = light {
            writer.write_chunk(png::chunk::ChunkType(*b"cHRM"), &light.map(u32::to_be_bytes).concat()).unwrap();
        }
        if let Some(gamma) = gamma {
            writer.write_chunk(png::chunk::ChunkType(*b"gAMA"), &gamma.to_be_bytes()).unwrap();
        }
        writer.write_image_data(&[230, 60, 50]).unwrap();
        writer.finish().unwrap();
        read_fine_image(&ImageSource::File(path.clone())).unwrap()
    };
    let wide = read(Some(WIDE), Some(45_455));
    assert!(wide.pixels()[0] > 240 && wide.pixels()[1] < 50, "{:?}", wide.pixels());
    let linear = read(None, Some(100_000));
    assert!(linear.pixels()[0] > 235 && linear.pixels()[1] > 120, "{:?}", linear.pixels());
    for it in [&wide, &linear] {
        assert!(it.fine().is_some_and(|fine| fine.profile.is_some() && fine.is_beyond_srgb));
        assert_eq!(eight(it)[..3], [230, 60, 50]);
    }
    let flat = [31_270, 32_900, 30_000, 30_000, 30_000, 30_000, 30_000, 30_000];
    for (light, gamma) in
        [(Some(SRGB), Some(45_455)), (None, Some(45_455)), (Some(SRGB), None), (Some(flat), None), (Some([0; 8]), Some(0))]
    {
        let it = read(light, gamma);
        assert_eq!((it.pixels(), it.fine()), (&[230, 60, 50][..], None), "{light:?} {gamma:?}");
    }
}

#[test]
fn what_is_painted_over_nothing_is_opaque_and_its_edge_has_no_white_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let clear = DynamicImage::ImageRgba8(ImageBuffer::from_pixel(2, 1, Rgba([0, 0, 0, 0])));
    let start = read_fine_image(&write(&folder.path().join("a.png"), &clear, None)).unwrap();
    // A dark colour, of which half and all is laid over white.
    let painted = Rgb8::new(2, 1, vec![128, 148, 168, 0, 40, 80]).unwrap();
    let kept = keep_outside(&start, (0, 0), painted, &Mask::new(2, 1, vec![128, 255]).unwrap());
    let samples = eight(&kept);
    assert_eq!(samples[3..8], [128, 0, 40, 80, 255]);
    assert!(near(&samples[..3], [2, 42, 82]), "{samples:?}");
}

#[test]
fn an_upscaled_picture_has_its_transparency_and_its_profile() {
    let folder = tempfile::tempdir().unwrap();
    let half = DynamicImage::ImageRgba8(ImageBuffer::from_fn(16, 16, |x, _| Rgba([200, 30, 30, if x < 8 { 255 } else { 0 }])));
    let start = read_fine_image(&write(&folder.path().join("a.png"), &half, Some(display_p3()))).unwrap();
    let large = fit_image(&own_colours(&start), 32, 32, StartFit::Stretch).unwrap();
    let kept = keep_upscaled(&start, large);
    assert!(kept.fine().is_some_and(|fine| fine.has_alpha && fine.profile.is_some()));
    let samples = eight(&kept);
    assert_eq!((samples[3], samples[31 * 4 + 3]), (255, 0));
    // A colour that sRGB does not have stays too.
    assert!(near(&samples[..3], [200, 30, 30]), "{:?}", &samples[..4]);
}

#[test]
fn a_copy_keeps_what_its_format_can_keep() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("a.png"), &picture(Form::Rgba8, 5), Some(display_p3()));
    for (format, keeps_alpha) in [(ExportFormat::WebP, true), (ExportFormat::Jpeg { quality: 95 }, false), (ExportFormat::Png, true)] {
        let path = export_picture(
            &folder.path().join("a.png"),
            &folder.path().join("out"),
            "",
            CopyForm { keeps_metadata: false, ..CopyForm::whole(format) },
        )
        .unwrap()
        .path;
        let copy = read_fine_image(&ImageSource::File(path.clone())).unwrap();
        let fine = copy.fine().unwrap_or_else(|| panic!("{}", path.display()));
        assert_eq!((fine.has_alpha, fine.profile.is_some()), (keeps_alpha, true), "{}", path.display());
        if keeps_alpha {
            assert_eq!(eight(&copy), picture(Form::Rgba8, 5).as_bytes(), "{}", path.display());
        }
    }
}

#[test]
fn a_smaller_copy_keeps_transparency_profile_and_bits_and_mixes_no_colour_that_is_not_seen() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("a.png");
    let small = |picture: &DynamicImage| {
        write(&source, picture, Some(display_p3()));
        let form = CopyForm { longest_side: Some(8), ..CopyForm::whole(ExportFormat::Png) };
        let path = export_picture(&source, &folder.path().join("out"), "", form).unwrap().path;
        read_fine_image(&ImageSource::File(path)).unwrap()
    };
    // What is transparent is red, what is seen is blue.
    let half = ImageBuffer::from_fn(32, 16, |x, _| if x < 17 { Rgba([255, 0, 0, 0]) } else { Rgba([0, 0, 255, 255]) });
    let copy = small(&DynamicImage::ImageRgba8(half));
    assert_eq!((copy.width(), copy.height()), (8, 4));
    assert!(copy.fine().is_some_and(|fine| fine.has_alpha && fine.profile.is_some()));
    let samples = eight(&copy);
    assert_eq!((samples[3], samples[7 * 4 + 3]), (0, 255));
    for pixel in samples.chunks_exact(4).filter(|pixel| pixel[3] > 0) {
        assert!(pixel[0] < 8 && pixel[2] > 247, "{pixel:?}");
    }
    let deep = small(&DynamicImage::ImageRgb16(ImageBuffer::from_pixel(32, 16, Rgb([12_345, 54_321, 1]))));
    let Some(Samples::Sixteen(samples)) = deep.fine().map(|fine| &fine.samples) else { panic!("it has sixteen bits") };
    assert!(samples[0].abs_diff(12_345) < 4 && samples[1].abs_diff(54_321) < 4, "{:?}", &samples[..4]);
}

#[test]
fn export_losses_are_told() {
    use ExportLoss::{SixteenBits, Transparency};

    let folder = tempfile::tempdir().unwrap();
    let jpeg = ExportFormat::Jpeg { quality: 90 };
    for (form, format, expected) in [
        (Form::Rgba16, jpeg, &[Transparency, SixteenBits][..]),
        (Form::Rgba16, ExportFormat::WebP, &[SixteenBits]),
        (Form::Rgba16, ExportFormat::Png, &[]),
        (Form::GreyAlpha8, jpeg, &[Transparency]),
        (Form::GreyAlpha8, ExportFormat::WebP, &[]),
        (Form::Grey16, jpeg, &[SixteenBits]),
        (Form::Rgb8, jpeg, &[]),
    ] {
        let source = folder.path().join("a.png");
        write(&source, &picture(form, 6), None);
        for keeps_metadata in [false, true] {
            let form = CopyForm { keeps_metadata, ..CopyForm::whole(format) };
            let copy = export_picture(&source, &folder.path().join("out"), "", form).unwrap();
            assert_eq!(copy.losses, expected, "{form:?}, {format:?}");
        }
    }
    let metadata = Metadata { parameters: Some("a lake, ".repeat(5_000)), recipe: None };
    let source = folder.path().join("b.png");
    write_picture(&source, &Rgb8::new(1, 1, vec![0; 3]).unwrap(), &metadata).unwrap();
    let copy = export_picture(&source, &folder.path().join("out"), "", CopyForm::whole(ExportFormat::WebP)).unwrap();
    assert_eq!(copy.losses, [ExportLoss::Settings]);
}

#[test]
fn a_damaged_jpeg_is_refused_and_bytes_after_it_are_no_damage() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jpg");
    let pixels = picture(Form::Rgb8, 1).resize_exact(96, 64, FilterType::Triangle);
    let whole = crate::encode_jpeg(&Rgb8::new(96, 64, pixels.as_bytes().to_vec()).unwrap(), 90).unwrap();
    let read = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        read_image(&ImageSource::File(path.clone()))
    };
    assert!(read(&whole).is_ok());
    assert!(read(&[&whole[..], b"trailer"].concat()).is_ok());
    for share in [3, 5, 7] {
        let error = read(&whole[..whole.len() * share / 10]).unwrap_err().to_string();
        assert!(error.contains("is not a picture"), "{error}");
    }
    // A marker in the middle of the pixels.
    let mut hurt = whole.clone();
    let at = whole.len() / 2;
    hurt[at..at + 2].copy_from_slice(&[0xff, 0xc4]);
    assert!(read(&hurt).is_err());
}
