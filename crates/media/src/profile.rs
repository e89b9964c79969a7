//! Colour profiles (ICC): from a picture's own colours to sRGB, which models and screens are given,
//! and back.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

use moxcms::{
    Chromaticity, CicpColorPrimaries, CicpProfile, ColorPrimaries, ColorProfile, DataColorSpace, Layout, MatrixCoefficients, ToneReprCurve,
    TransferCharacteristics, Transform8BitExecutor, TransformOptions,
};

/// Bytes of a profile that is read; the largest of printers have about 2 MiB.
pub(crate) const MAX_PROFILE: usize = 4 << 20;
/// Pixels that are converted at once.
const BLOCK: usize = 1 << 14;
/// Steps of each channel between the colours that tell whether a profile is sRGB.
const PROBE_STEP: usize = 51;
/// The exponent that PNG's specification gives for sRGB.
const SRGB_GAMMA: f32 = 0.45455;
/// Nearer to it is meant to be it.
const GAMMA_TOLERANCE: f32 = 0.005;
/// Exponents that pictures are written with: 1 is linear light.
const GAMMAS: std::ops::RangeInclusive<f32> = 0.2..=1.5;
/// Smallest area of the parallelogram of three primaries; that of sRGB has 0.22.
const MIN_GAMUT: f32 = 0.01;
/// Smallest y of a white or a primary; blue of wide spaces has 0.0001 and more.
const MIN_LIGHT: f32 = 0.0001;

/// A way from one profile to another for pixels of red, green and blue.
pub(crate) struct Conversion(Arc<Transform8BitExecutor>);

/// A profile of pictures in red, green and blue.
pub(crate) struct Profile(ColorProfile);

impl Profile {
    /// Reads a profile; `None` where it is damaged, or of other colours than red, green and blue.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let profile = ColorProfile::new_from_slice(bytes).ok().filter(|_| bytes.len() <= MAX_PROFILE)?;
        (profile.color_space == DataColorSpace::Rgb).then_some(Self(profile))
    }

    /// To sRGB; `None` where the profile is that already, or says nothing usable.
    pub(crate) fn to_srgb(&self) -> Option<Conversion> {
        Self::between(&self.0, &ColorProfile::new_srgb())
    }

    /// From sRGB; `None` as [`Self::to_srgb`].
    pub(crate) fn of_srgb(&self) -> Option<Conversion> {
        Self::between(&ColorProfile::new_srgb(), &self.0)
    }

    fn between(from: &ColorProfile, to: &ColorProfile) -> Option<Conversion> {
        let made = from.create_transform_8bit(Layout::Rgb, to, Layout::Rgb, TransformOptions::default()).ok()?;
        let conversion = Conversion(made);
        let levels = || (0..=255_usize).step_by(PROBE_STEP).map(|level| level as u8);
        let probe: Vec<u8> = levels().flat_map(|r| levels().flat_map(move |g| levels().flat_map(move |b| [r, g, b]))).collect();
        let mut converted = probe.clone();
        conversion.convert(&mut converted);
        let is_same = probe.iter().zip(&converted).all(|(one, two)| one.abs_diff(*two) <= 1);
        (!is_same).then_some(conversion)
    }
}

impl Conversion {
    /// Converts pixels of red, green and blue where they are.
    pub(crate) fn convert(&self, pixels: &mut [u8]) {
        let mut source = Vec::with_capacity(BLOCK * 3);
        for block in pixels.chunks_mut(BLOCK * 3) {
            source.clear();
            source.extend_from_slice(block);
            if self.0.transform(&source, block).is_err() {
                block.copy_from_slice(&source);
            }
        }
    }
}

/// The colours that a PNG file says by numbers, as a profile; `None` where it has no numbers, or
/// those of sRGB. Code points (cICP) go before the file's own profile, and that before
/// chromaticities and gamma (cHRM, gAMA). Reads the file up to its pixels.
pub(crate) fn profile_of_numbers(path: &Path) -> Option<Vec<u8>> {
    let mut decoder = png::Decoder::new(BufReader::new(File::open(path).ok()?));
    decoder.set_ignore_text_chunk(true);
    let reader = decoder.read_info().ok()?;
    let info = reader.info();
    match info.coding_independent_code_points {
        Some(numbers) => profile_of_code_points(numbers),
        None => profile_of_light(info),
    }
}

/// Code points that no profile says, of a high dynamic range or of part of the range, are an empty
/// one.
fn profile_of_code_points(numbers: png::CodingIndependentCodePoints) -> Option<Vec<u8>> {
    let color_primaries = CicpColorPrimaries::try_from(numbers.color_primaries).ok()?;
    let transfer_characteristics = TransferCharacteristics::try_from(numbers.transfer_function).ok()?;
    let is_high = matches!(transfer_characteristics, TransferCharacteristics::Smpte2084 | TransferCharacteristics::Hlg);
    if is_high || !numbers.is_video_full_range_image {
        return Some(Vec::new());
    }
    let profile = of_code_points(color_primaries, transfer_characteristics);
    // Numbers that say nothing leave it without curves.
    profile.red_trc.as_ref()?;
    other_than_srgb(&profile)
}

fn of_code_points(color_primaries: CicpColorPrimaries, transfer_characteristics: TransferCharacteristics) -> ColorProfile {
    let matrix_coefficients = MatrixCoefficients::Identity;
    ColorProfile::new_from_cicp(CicpProfile { color_primaries, transfer_characteristics, matrix_coefficients, full_range: true })
}

fn profile_of_light(info: &png::Info<'_>) -> Option<Vec<u8>> {
    if info.srgb.is_some() || info.icc_profile.is_some() {
        return None;
    }
    let mut profile = of_code_points(CicpColorPrimaries::Bt709, TransferCharacteristics::Srgb);
    if let Some(light) = info.chrm_chunk {
        let at = |(x, y): (png::ScaledFloat, png::ScaledFloat)| Chromaticity::new(x.into_value(), y.into_value());
        let [white, red, green, blue] = [light.white, light.red, light.green, light.blue].map(at);
        let area = ((red.x - blue.x) * (green.y - blue.y) - (green.x - blue.x) * (red.y - blue.y)).abs();
        // Points that span no triangle, or a white without light, would make every colour black.
        if area < MIN_GAMUT || [&white, &red, &green, &blue].iter().any(|it| it.y < MIN_LIGHT) {
            return None;
        }
        profile.update_rgb_colorimetry(white.to_xyyb(), ColorPrimaries { red, green, blue });
    }
    let gamma = info.gama_chunk.map(png::ScaledFloat::into_value);
    // Who writes the gamma of sRGB means its curve.
    if let Some(gamma) = gamma.filter(|gamma| (gamma - SRGB_GAMMA).abs() > GAMMA_TOLERANCE) {
        if !GAMMAS.contains(&gamma) {
            return None;
        }
        let curve = ToneReprCurve::Parametric(vec![gamma.recip()]);
        profile.red_trc = Some(curve.clone());
        profile.green_trc = Some(curve.clone());
        profile.blue_trc = Some(curve);
    }
    profile.cicp = None;
    other_than_srgb(&profile)
}

fn other_than_srgb(profile: &ColorProfile) -> Option<Vec<u8>> {
    let bytes = profile.encode().ok()?;
    Profile::read(&bytes)?.to_srgb()?;
    Some(bytes)
}

/// Converts cyan, magenta, yellow and black (255 is all of an ink) by a profile of print to sRGB;
/// `None` where it is no such profile.
pub(crate) fn print_to_srgb(profile: &[u8], inks: &[u8]) -> Option<Vec<u8>> {
    let profile = ColorProfile::new_from_slice(profile).ok().filter(|it| it.color_space == DataColorSpace::Cmyk)?;
    // Four channels, whatever their names.
    let conversion =
        profile.create_transform_8bit(Layout::Rgba, &ColorProfile::new_srgb(), Layout::Rgb, TransformOptions::default()).ok()?;
    let mut pixels = vec![0; inks.len() / 4 * 3];
    for (from, to) in inks.chunks(BLOCK * 4).zip(pixels.chunks_mut(BLOCK * 3)) {
        conversion.transform(from, to).ok()?;
    }
    Some(pixels)
}

/// Converts such inks as if each took its part of the light: a formula that knows no ink.
pub(crate) fn print_to_srgb_plainly(inks: &[u8]) -> Vec<u8> {
    let light = |ink: u8, black: u8| {
        let product = u32::from(255 - ink) * u32::from(255 - black);
        ((product + 127) / 255) as u8
    };
    inks.chunks_exact(4).flat_map(|inks| [0, 1, 2].map(|at| light(inks[at], inks[3]))).collect()
}

/// Converts grey pixels by a profile of grey to sRGB; `None` where it is no such profile.
pub(crate) fn grey_to_srgb(profile: &[u8], grey: &[u8]) -> Option<Vec<u8>> {
    let profile = ColorProfile::new_from_slice(profile).ok().filter(|it| it.color_space == DataColorSpace::Gray)?;
    let to = ColorProfile::new_srgb();
    let conversion = profile.create_transform_8bit(Layout::Gray, &to, Layout::Rgb, TransformOptions::default()).ok()?;
    let mut pixels = vec![0; grey.len() * 3];
    for (from, to) in grey.chunks(BLOCK).zip(pixels.chunks_mut(BLOCK * 3)) {
        conversion.transform(from, to).ok()?;
    }
    Some(pixels)
}
