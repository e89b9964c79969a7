//! What a masked part of a picture holds before it is denoised.

use super::distance::Distances;
use super::pyramid::Weighted;
use super::{AreaFill, Mask};
use crate::recipe::Rgb8;

/// Blur radius of repeated borders: this part of the greatest distance to the picture.
const BLUR_SHARE: f32 = 1.0 / 6.0;
/// The greatest blur radius in pixels.
const MAX_BLUR: usize = 64;
/// Box blurs that together come near a Gaussian one.
const BLURS: usize = 3;
/// Grey in the middle of the range.
const NEUTRAL: u8 = 128;

/// The picture with its masked part filled: 255 of the mask is the fill alone, 0 the picture.
/// `seed` decides what random colours are. `None` where mask and picture differ in size.
#[must_use]
pub fn fill_area(picture: &Rgb8, mask: &Mask, fill: AreaFill, seed: u64) -> Option<Rgb8> {
    if (picture.width(), picture.height()) != (mask.width(), mask.height()) {
        return None;
    }
    let filled = match fill {
        AreaFill::Original => return Some(picture.clone()),
        AreaFill::Blur => surroundings(picture, mask),
        AreaFill::Border => borders(picture, mask),
        AreaFill::Neutral => vec![NEUTRAL; picture.pixels().len()],
        AreaFill::Noise => (0..picture.pixels().len() as u64).map(|at| random_byte(seed, at)).collect(),
    };
    let pixels = picture.pixels().iter().zip(&filled).enumerate();
    let mixed = pixels.map(|(at, (own, fill))| mix(*own, *fill, mask.pixels()[at / 3]));
    Rgb8::new(picture.width(), picture.height(), mixed.collect())
}

/// `share` of 255 of `new`, the rest of `old`.
pub(super) fn mix(old: u8, new: u8, share: u8) -> u8 {
    let (old, new, share) = (u32::from(old), u32::from(new), u32::from(share));
    ((old * (255 - share) + new * share + 127) / 255) as u8
}

/// The colours outside of the mask, continued smoothly into it.
fn surroundings(picture: &Rgb8, mask: &Mask) -> Vec<u8> {
    let colours = picture.pixels().chunks_exact(3).map(|rgb| [f32::from(rgb[0]), f32::from(rgb[1]), f32::from(rgb[2])]).collect();
    let weights: Vec<f32> = mask.pixels().iter().map(|value| f32::from(u8::from(*value == 0))).collect();
    if weights.iter().all(|weight| *weight == 0.0) {
        return vec![NEUTRAL; picture.pixels().len()];
    }
    let known = Weighted { width: picture.width() as usize, height: picture.height() as usize, colours, weights };
    known.continued().into_iter().flatten().map(|value| value.round().clamp(0.0, 255.0) as u8).collect()
}

/// The nearest pixel outside of the mask, blurred the more the further it is.
fn borders(picture: &Rgb8, mask: &Mask) -> Vec<u8> {
    let (width, height) = (picture.width() as usize, picture.height() as usize);
    let distances = Distances::to(width, height, |at| mask.pixels()[at] == 0);
    let furthest = (0..width * height).map(|at| distances.distance(at)).fold(0.0, f32::max);
    if furthest.is_infinite() {
        return vec![NEUTRAL; picture.pixels().len()];
    }
    let nearest = distances.nearest.iter().flat_map(|at| &picture.pixels()[*at as usize * 3..][..3]);
    let sharp: Vec<f32> = nearest.map(|value| f32::from(*value)).collect();
    let radius = ((furthest * BLUR_SHARE) as usize).clamp(1, MAX_BLUR);
    let mut blurred = sharp.clone();
    for _ in 0..BLURS {
        blurred = blur_lines(&blurred, width, height, radius);
    }
    let value = |(at, (sharp, blurred)): (usize, (&f32, &f32))| {
        // Nothing jumps at the picture's edge.
        let share = (distances.distance(at / 3) / (2 * radius) as f32).min(1.0);
        (sharp + (blurred - sharp) * share).round().clamp(0.0, 255.0) as u8
    };
    sharp.iter().zip(&blurred).enumerate().map(value).collect()
}

/// Box blur of an RGB picture in both directions; pixels beyond its edges repeat them.
fn blur_lines(values: &[f32], width: usize, height: usize, radius: usize) -> Vec<f32> {
    let mut along = vec![0.0; values.len()];
    for line in 0..height {
        let start = line * width * 3;
        for channel in 0..3 {
            blur_line(values, &mut along, start + channel, 3, width, radius);
        }
    }
    let mut down = vec![0.0; values.len()];
    for start in 0..width * 3 {
        blur_line(&along, &mut down, start, width * 3, height, radius);
    }
    down
}

/// Box blur of `length` values, `stride` apart.
pub(super) fn blur_line(from: &[f32], to: &mut [f32], start: usize, stride: usize, length: usize, radius: usize) {
    let at = |position: isize| f64::from(from[start + position.clamp(0, length as isize - 1) as usize * stride]);
    let radius = radius as isize;
    let mut sum: f64 = (-radius..=radius).map(at).sum();
    for position in 0..length as isize {
        to[start + position as usize * stride] = (sum / (2 * radius + 1) as f64) as f32;
        sum += at(position + radius + 1) - at(position - radius);
    }
}

/// A byte that depends on seed and place alone (the mixer of `SplitMix64`).
fn random_byte(seed: u64, at: u64) -> u8 {
    let mut bits = seed.wrapping_add(at.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((bits ^ (bits >> 31)) >> 56) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Left part of one colour, right part of another; the middle third is masked.
    fn example() -> (Rgb8, Mask) {
        let (width, height) = (30_u32, 12_u32);
        let columns = || (0..width * height).map(|at| at % width);
        let pixels = columns().flat_map(|x| if x < 15 { [200, 40, 10] } else { [20, 40, 250] }).collect();
        let mask = columns().map(|x| if (10..20).contains(&x) { 255 } else { 0 }).collect();
        (Rgb8::new(width, height, pixels).unwrap(), Mask::new(width, height, mask).unwrap())
    }

    #[test]
    fn every_fill_leaves_the_rest_of_the_picture_as_it_is_and_is_the_same_each_time() {
        let (picture, mask) = example();
        for fill in AreaFill::ALL {
            let filled = fill_area(&picture, &mask, fill, 7).unwrap();
            for (at, value) in mask.pixels().iter().enumerate().filter(|(_, value)| **value == 0) {
                assert_eq!(filled.pixels()[at * 3..at * 3 + 3], picture.pixels()[at * 3..at * 3 + 3], "{fill:?} {at} {value}");
            }
            assert_eq!(fill_area(&picture, &mask, fill, 7).unwrap(), filled);
        }
        assert_ne!(fill_area(&picture, &mask, AreaFill::Noise, 7), fill_area(&picture, &mask, AreaFill::Noise, 8));
        assert_eq!(fill_area(&picture, &Mask::filled(30, 11, 255), AreaFill::Blur, 0), None);
    }

    #[test]
    fn surroundings_go_over_into_each_other_and_borders_keep_their_side() {
        let (picture, mask) = example();
        let row = |fill| {
            let filled = fill_area(&picture, &mask, fill, 0).unwrap();
            (10..20).map(|x| filled.pixels()[(6 * 30 + x) * 3]).collect::<Vec<u8>>()
        };
        let blur = row(AreaFill::Blur);
        assert!(blur[0] > 150 && blur[9] < 70 && (60..160).contains(&blur[5]), "{blur:?}");
        let border = row(AreaFill::Border);
        assert!(border[0] > 180 && border[9] < 40, "{border:?}");
    }

    #[test]
    fn a_wholly_masked_picture_becomes_grey_where_nothing_is_around() {
        let (picture, _) = example();
        let mask = Mask::filled(30, 12, 255);
        for fill in [AreaFill::Blur, AreaFill::Border, AreaFill::Neutral] {
            assert!(fill_area(&picture, &mask, fill, 0).unwrap().pixels().iter().all(|it| *it == NEUTRAL), "{fill:?}");
        }
    }
}
