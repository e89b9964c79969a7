//! Putting the result of an area back into its picture.
//!
//! Invariant: where the paste mask is 0, and outside of the crop, every byte is the picture's.

use super::distance::Distances;
use super::fill::mix;
use super::pyramid::Weighted;
use super::{AreaPlan, Mask, crop_picture};
use crate::recipe::Rgb8;

/// Pixels of which the colours are matched; fewer say too little.
const MIN_MATCHED: usize = 256;
/// The contrast of the result is changed by no more than this factor.
const MAX_GAIN: f64 = 1.1;
/// A difference at the edge is gone at this part of the greatest depth: so far in that no band is
/// seen, and not so far that all is tinted.
const FADE: f32 = 0.6;
/// And no sooner than at this depth, in pixels.
const MIN_FADE: f32 = 16.0;

/// The picture with the result of an area in it. `result` has the crop's size. With
/// `seam_correction` its colours are matched to the picture: by means and deviations of the pixels
/// that were not denoised, and by the differences at the edge, which fade with depth. `None` where
/// sizes do not fit.
#[must_use]
pub fn paste_area(picture: &Rgb8, result: &Rgb8, plan: &AreaPlan, seam_correction: bool) -> Option<Rgb8> {
    let original = crop_picture(picture, &plan.crop)?;
    let size = (plan.crop.width, plan.crop.height);
    let sizes =
        [(result.width(), result.height()), (plan.paste.width(), plan.paste.height()), (plan.denoise.width(), plan.denoise.height())];
    if sizes.iter().any(|it| *it != size) {
        return None;
    }
    let corrected = if seam_correction { corrected(&original, result, plan) } else { result.pixels().to_vec() };
    let mut pixels = picture.pixels().to_vec();
    let (stride, left) = (picture.width() as usize * 3, plan.crop.left.unsigned_abs() as usize * 3);
    let row_bytes = plan.crop.width as usize * 3;
    let rows = pixels.chunks_exact_mut(stride).skip(plan.crop.top.unsigned_abs() as usize);
    for ((row, new), y) in rows.zip(corrected.chunks_exact(row_bytes)).zip(0..plan.crop.height) {
        let shares = plan.paste.row(y);
        for (at, (old, new)) in row[left..left + row_bytes].iter_mut().zip(new).enumerate() {
            *old = mix(*old, *new, shares[at / 3]);
        }
    }
    Rgb8::new(picture.width(), picture.height(), pixels)
}

/// The result with its colours matched to those of the picture.
fn corrected(original: &Rgb8, result: &Rgb8, plan: &AreaPlan) -> Vec<u8> {
    let matched = matched(original, result, &plan.denoise);
    let differences = differences(original, &matched, &plan.paste);
    let pixels = matched.iter().zip(differences.iter().flatten());
    pixels.map(|(value, difference)| (value + difference).round().clamp(0.0, 255.0) as u8).collect()
}

/// The result with mean and deviation of each channel as the picture has them, measured where
/// nothing was denoised.
fn matched(original: &Rgb8, result: &Rgb8, denoise: &Mask) -> Vec<f32> {
    let outside: Vec<usize> = (0..denoise.pixels().len()).filter(|at| denoise.pixels()[*at] == 0).collect();
    let mut curves = [(1.0, 0.0); 3];
    if outside.len() >= MIN_MATCHED {
        for (channel, curve) in curves.iter_mut().enumerate() {
            let (mean, deviation) = statistics(outside.iter().map(|at| original.pixels()[at * 3 + channel]));
            let (its_mean, its_deviation) = statistics(outside.iter().map(|at| result.pixels()[at * 3 + channel]));
            let gain = if its_deviation > 1.0 { (deviation / its_deviation).clamp(1.0 / MAX_GAIN, MAX_GAIN) } else { 1.0 };
            *curve = (gain, mean - its_mean * gain);
        }
    }
    let value = |(at, value): (usize, &u8)| (f64::from(*value) * curves[at % 3].0 + curves[at % 3].1) as f32;
    result.pixels().iter().enumerate().map(value).collect()
}

/// Mean and standard deviation.
fn statistics(values: impl Iterator<Item = u8>) -> (f64, f64) {
    let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for value in values.map(f64::from) {
        count += 1.0;
        sum += value;
        squares += value * value;
    }
    let mean = sum / count;
    (mean, (squares / count - mean * mean).max(0.0).sqrt())
}

/// What is added to the result so that it meets the picture at the edge of what is kept.
fn differences(original: &Rgb8, result: &[f32], paste: &Mask) -> Vec<[f32; 3]> {
    let (width, height) = (original.width() as usize, original.height() as usize);
    let shares = paste.pixels();
    let is_kept = |at: usize| shares[at] > 0;
    let colours = original.pixels().chunks_exact(3).zip(result.chunks_exact(3));
    let colours = colours.map(|(old, new)| [0, 1, 2].map(|channel| f32::from(old[channel]) - new[channel])).collect();
    let weights = (0..width * height).map(|at| if is_kept(at) { 0.0 } else { 1.0 }).collect();
    let mut differences = Weighted { width, height, colours, weights }.continued();
    let depths = Distances::to(width, height, |at| !is_kept(at));
    let deepest = (0..width * height).map(|at| depths.distance(at)).fold(0.0, f32::max);
    let fade = if deepest.is_finite() { (deepest * FADE).max(MIN_FADE) } else { MIN_FADE };
    for (at, difference) in differences.iter_mut().enumerate() {
        let left = (1.0 - depths.distance(at) / fade).max(0.0);
        *difference = difference.map(|value| value * left * left * (3.0 - 2.0 * left));
    }
    differences
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::canvas::{AreaSettings, ModelSizes, PixelRect, plan_area};

    const SIZES: ModelSizes = ModelSizes { multiple: 16, least: 64, best: 64, most: 128 };

    fn picture(width: u32, height: u32, seed: u32) -> Rgb8 {
        let pixels =
            (0..width * height * 3).map(|at| (at / 3 % width + at / 3 / width / 2 + at.wrapping_mul(seed) % 23).min(230) as u8).collect();
        Rgb8::new(width, height, pixels).unwrap()
    }

    fn plan(rect: PixelRect, width: u32, height: u32) -> AreaPlan {
        let mut mask = Mask::filled(width, height, 0);
        for (at, pixel) in mask.pixels_mut().iter_mut().enumerate() {
            *pixel = if rect.contains((at as u32 % width) as i32, (at as u32 / width) as i32) { 255 } else { 0 };
        }
        plan_area(&mask, &SIZES, 0.8, &AreaSettings { feather: Some(8), ..AreaSettings::default() }).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn outside_of_what_is_kept_every_byte_is_the_pictures(
            (width, height) in (8_u32..160, 8_u32..160), seed in 1_u32..99, correct in any::<bool>(),
            (left, top, wide, high) in (0_u32..160, 0_u32..160, 1_u32..60, 1_u32..60),
        ) {
            let rect = PixelRect { left: (left % width) as i32, top: (top % height) as i32, width: wide, height: high };
            let (picture, plan) = (picture(width, height, seed), plan(rect, width, height));
            let result = Rgb8::new(plan.crop.width, plan.crop.height, vec![seed as u8; plan.paste.pixels().len() * 3]).unwrap();
            let pasted = paste_area(&picture, &result, &plan, correct).unwrap();
            prop_assert_eq!((pasted.width(), pasted.height()), (width, height));
            for at in 0..(width * height) as usize {
                let (x, y) = ((at as u32 % width) as i32, (at as u32 / width) as i32);
                let share = if plan.crop.contains(x, y) {
                    plan.paste.row((y - plan.crop.top) as u32)[(x - plan.crop.left) as usize]
                } else {
                    0
                };
                let (old, new) = (&picture.pixels()[at * 3..at * 3 + 3], &pasted.pixels()[at * 3..at * 3 + 3]);
                if share == 0 {
                    prop_assert_eq!(old, new);
                } else if share == 255 && !correct {
                    prop_assert_eq!(new, &[seed as u8; 3]);
                }
            }
        }
    }

    #[test]
    fn a_tint_of_the_whole_result_is_taken_out() {
        let rect = PixelRect { left: 60, top: 60, width: 40, height: 40 };
        let (picture, plan) = (picture(160, 160, 3), plan(rect, 160, 160));
        let crop = crop_picture(&picture, &plan.crop).unwrap();
        let tinted = crop.pixels().iter().enumerate().map(|(at, value)| value.saturating_add([12, 0, 5][at % 3])).collect();
        let tinted = Rgb8::new(crop.width(), crop.height(), tinted).unwrap();
        let error = |correct| {
            let pasted = paste_area(&picture, &tinted, &plan, correct).unwrap();
            pasted.pixels().iter().zip(picture.pixels()).map(|(new, old)| new.abs_diff(*old)).max().unwrap()
        };
        assert!(error(false) >= 12 && error(true) <= 2, "{} {}", error(false), error(true));
    }

    #[test]
    fn a_difference_at_the_edge_alone_does_not_reach_the_middle() {
        let rect = PixelRect { left: 40, top: 40, width: 80, height: 80 };
        let (picture, plan) = (Rgb8::new(160, 160, vec![100; 160 * 160 * 3]).unwrap(), plan(rect, 160, 160));
        // As the picture where nothing was denoised, and brighter elsewhere.
        let result = plan.denoise.pixels().iter().flat_map(|value| [if *value == 0 { 100 } else { 160 }; 3]).collect();
        let result = Rgb8::new(plan.crop.width, plan.crop.height, result).unwrap();
        let pasted = paste_area(&picture, &result, &plan, true).unwrap();
        assert_eq!(pasted.pixels()[(80 * 160 + 80) * 3], 160);
    }

    #[test]
    fn a_result_of_another_size_is_refused() {
        let (picture, plan) = (picture(64, 64, 1), plan(PixelRect { left: 20, top: 20, width: 9, height: 9 }, 64, 64));
        assert_eq!(paste_area(&picture, &Rgb8::new(1, 1, vec![0; 3]).unwrap(), &plan, true), None);
    }
}
