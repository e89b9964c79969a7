//! Pictures that keep what models and screens do not have: transparency, a colour profile, sixteen
//! bits.
//!
//! A model is given eight bits of sRGB over white. What it made is put back among the colours of
//! the start picture: where nothing was made, every sample stays as it is.

use std::borrow::Cow;

use atelier_core::canvas::{Mask, StartFit};
use atelier_core::recipe::{FineColours, Rgb8, Samples};
use image::imageops::{self, FilterType};
use image::{ImageBuffer, Rgba};

use crate::profile::Profile;
use crate::{PictureError, fit_image, fit_mask};

/// The picture `result` with the colours of `start` where nothing of it was generated. `offset`:
/// where the start picture's left upper pixel is in the result. `shares`: of the result's size, 255
/// where all is generated, 0 where nothing is.
#[must_use]
pub fn keep_outside(start: &Rgb8, offset: (u32, u32), result: Rgb8, shares: &Mask) -> Rgb8 {
    let Some(fine) = start.fine() else { return result };
    if (shares.width(), shares.height()) != (result.width(), result.height()) {
        return result;
    }
    let (width, start_width) = (result.width() as usize, start.width() as usize);
    let place = |at: usize| {
        let (x, y) = ((at % width).checked_sub(offset.0 as usize)?, (at / width).checked_sub(offset.1 as usize)?);
        (x < start_width && y < start.height() as usize).then_some(y * start_width + x)
    };
    let own = |at: usize| {
        let share = shares.pixels().get(at).copied().unwrap_or(255);
        match place(at) {
            Some(from) => (Some(from).filter(|_| share == 0), opacity(fine, from), f32::from(share) / 255.0),
            None => (None, 0.0, 1.0),
        }
    };
    merged(fine, result, true, own)
}

/// A picture in the numbers of its own profile, over white: what is only upscaled need not lose the
/// colours that sRGB does not have.
#[must_use]
pub fn own_colours(start: &Rgb8) -> Rgb8 {
    let own = start.fine().filter(|fine| fine.profile.is_some()).map(|fine| over_white(&fine.samples));
    own.and_then(|pixels| Rgb8::new(start.width(), start.height(), pixels)).unwrap_or_else(|| start.clone().without_fine())
}

/// The picture `result`, which is [`own_colours`] of `start` at another size, with the transparency
/// and the profile of `start`. It has eight bits a channel.
#[must_use]
pub fn keep_upscaled(start: &Rgb8, result: Rgb8) -> Rgb8 {
    let Some(fine) = start.fine().filter(|fine| fine.has_alpha || fine.profile.is_some()) else { return result };
    let alpha = (0..fine.samples.len() / 4).map(|at| (opacity(fine, at) * 255.0).round() as u8).collect();
    let alpha = Mask::new(start.width(), start.height(), alpha);
    let alpha = alpha.and_then(|alpha| fit_mask(&alpha, result.width(), result.height(), StartFit::Stretch).ok());
    let opacity = |at: usize| alpha.as_ref().and_then(|alpha| alpha.pixels().get(at)).map_or(1.0, |value| f32::from(*value) / 255.0);
    let eight = FineColours { samples: Samples::Eight(Vec::new()), profile: fine.profile.clone(), ..*fine };
    merged(&eight, result, false, |at| (None, opacity(at), 0.0))
}

/// The picture with this opacity in place of a part of its own: where either is transparent it is,
/// and colours, profile and bits stay. `None` where the sizes differ.
#[must_use]
pub fn with_opacity(picture: Rgb8, opacity: &Mask) -> Option<Rgb8> {
    if (opacity.width(), opacity.height()) != (picture.width(), picture.height()) {
        return None;
    }
    let opaque = || {
        let samples = picture.pixels().chunks_exact(3).flat_map(|rgb| rgb.iter().copied().chain([u8::MAX])).collect();
        FineColours { samples: Samples::Eight(samples), has_alpha: false, profile: None, is_beyond_srgb: false, from_print: None }
    };
    let mut fine = picture.fine().cloned().unwrap_or_else(opaque);
    fine.has_alpha = true;
    match &mut fine.samples {
        Samples::Eight(samples) => {
            for (pixel, share) in samples.chunks_exact_mut(4).zip(opacity.pixels()) {
                pixel[3] = (u16::from(pixel[3]) * u16::from(*share)).div_ceil(255) as u8;
            }
        }
        Samples::Sixteen(samples) => {
            for (pixel, share) in samples.chunks_exact_mut(4).zip(opacity.pixels()) {
                pixel[3] = (u32::from(pixel[3]) * u32::from(*share)).div_ceil(255) as u16;
            }
        }
    }
    picture.with_fine(Some(fine))
}

/// The picture with its longest side reduced to this many pixels, with its transparency, profile and
/// bits; the picture itself where it is no larger.
///
/// # Errors
/// If it has no pixels.
pub(crate) fn reduced(picture: &Rgb8, longest_side: u32) -> Result<Cow<'_, Rgb8>, PictureError> {
    let (longest, longest_side) = (picture.width().max(picture.height()), longest_side.max(1));
    if longest <= longest_side {
        return Ok(Cow::Borrowed(picture));
    }
    let side = |side: u32| ((f64::from(side) * f64::from(longest_side) / f64::from(longest)).round() as u32).max(1);
    let (width, height) = (side(picture.width()), side(picture.height()));
    let plain = fit_image(picture, width, height, StartFit::Stretch)?;
    let Some(fine) = picture.fine() else { return Ok(Cow::Owned(plain)) };
    let samples = reduced_samples(&fine.samples, (picture.width(), picture.height()), (width, height)).ok_or(PictureError::Empty)?;
    let fine = FineColours { samples, profile: fine.profile.clone(), ..*fine };
    plain.with_fine(Some(fine)).map(Cow::Owned).ok_or(PictureError::Empty)
}

/// Samples of another size. Colours count as much as they are seen, so that what is transparent
/// gives no colour to what is beside it.
fn reduced_samples(samples: &Samples, from: (u32, u32), to: (u32, u32)) -> Option<Samples> {
    const MAX: u32 = 65_535;
    let mut wide: Vec<u16> = match samples {
        Samples::Eight(samples) => samples.iter().map(|value| u16::from(*value) * 257).collect(),
        Samples::Sixteen(samples) => samples.clone(),
    };
    for pixel in wide.chunks_exact_mut(4) {
        let alpha = u32::from(pixel[3]);
        for value in &mut pixel[..3] {
            *value = ((u32::from(*value) * alpha + MAX / 2) / MAX) as u16;
        }
    }
    let picture: ImageBuffer<Rgba<u16>, Vec<u16>> = ImageBuffer::from_raw(from.0, from.1, wide)?;
    let mut wide = imageops::resize(&picture, to.0, to.1, FilterType::Lanczos3).into_raw();
    for pixel in wide.chunks_exact_mut(4) {
        let alpha = u32::from(pixel[3]).max(1);
        for value in &mut pixel[..3] {
            *value = ((u32::from(*value) * MAX + alpha / 2) / alpha).min(MAX) as u16;
        }
    }
    Some(match samples {
        Samples::Eight(_) => Samples::Eight(eight_bits(&Samples::Sixteen(wide))),
        Samples::Sixteen(_) => Samples::Sixteen(wide),
    })
}

/// Red, green, blue and opacity in eight bits.
pub(crate) fn eight_bits(samples: &Samples) -> Vec<u8> {
    match samples {
        Samples::Eight(samples) => samples.clone(),
        // As the decoder does it.
        Samples::Sixteen(samples) => samples.iter().map(|value| ((u32::from(*value) + 128) / 257) as u8).collect(),
    }
}

/// Red, green and blue over white.
pub(crate) fn over_white(samples: &Samples) -> Vec<u8> {
    let over = |pixel: &[u8]| {
        let alpha = u32::from(pixel[3]);
        [0, 1, 2].map(|at| ((u32::from(pixel[at]) * alpha + 255 * (255 - alpha) + 127) / 255) as u8)
    };
    eight_bits(samples).chunks_exact(4).flat_map(over).collect()
}

fn opacity(fine: &FineColours, pixel: usize) -> f32 {
    fine.samples.share(pixel * 4 + 3).unwrap_or(1.0)
}

/// Puts pixels over white among others. `own` tells of each pixel: the start picture's pixel that
/// stays as it is; else the opacity that was there before, and the share of what is new, which is
/// opaque. `is_srgb`: the pixels are still to be brought to the profile.
fn merged(fine: &FineColours, result: Rgb8, is_srgb: bool, own: impl Fn(usize) -> (Option<usize>, f32, f32)) -> Rgb8 {
    let pixels = result.pixels().len() / 3;
    let mut colours = vec![0_u8; pixels * 3];
    let mut alphas = vec![255_u8; pixels];
    for (at, (over_white, colour)) in result.pixels().chunks_exact(3).zip(colours.chunks_exact_mut(3)).enumerate() {
        let (_, before, share) = own(at);
        let alpha = before + (1.0 - before) * share;
        alphas[at] = (alpha * 255.0).round() as u8;
        for (value, over_white) in colour.iter_mut().zip(over_white) {
            // Without the white that shines through.
            let bare = (f32::from(*over_white) - 255.0 * (1.0 - alpha)) / alpha.max(1.0 / 255.0);
            *value = bare.round().clamp(0.0, 255.0) as u8;
        }
    }
    if let Some(conversion) = fine.profile.as_deref().filter(|_| is_srgb).and_then(Profile::read).and_then(|profile| profile.of_srgb()) {
        conversion.convert(&mut colours);
    }
    let new = (0..pixels).map(|at| {
        let colour = colours.get(at * 3..at * 3 + 3).unwrap_or(&[0; 3]);
        [colour[0], colour[1], colour[2], alphas[at]]
    });
    let kept = |at: usize| own(at).0.map(|from| from * 4);
    let samples = match &fine.samples {
        Samples::Eight(old) => Samples::Eight(
            new.enumerate()
                .flat_map(|(at, new)| kept(at).and_then(|from| old.get(from..from + 4)?.try_into().ok()).unwrap_or(new))
                .collect(),
        ),
        Samples::Sixteen(old) => {
            let wide = |new: [u8; 4]| new.map(|value| u16::from(value) * 257);
            let sample = |(at, new)| kept(at).and_then(|from| old.get(from..from + 4)?.try_into().ok()).unwrap_or_else(|| wide(new));
            Samples::Sixteen(new.enumerate().flat_map(sample).collect())
        }
    };
    let fine = FineColours { samples, profile: fine.profile.clone(), ..*fine };
    result.clone().with_fine(Some(fine)).unwrap_or(result)
}

#[cfg(test)]
mod tests;
