//! Where two drafts differ. Pure; for the worker of pixels.

use eframe::egui::{Color32, ColorImage};

use crate::gui::theme;
use atelier_core::recipe::Rgb8;

/// Mean difference of two drafts, of 255, from which on a phrase has changed something. Measured with
/// the built-in model: each phrase that it knows reaches it, and one in ten that it does not
/// (`cargo xtask bench -- --phrases`, docs/measured-settings.md).
const MIN_MEAN: f32 = 1.5;
/// The blur's radius as a share of the longer side: spots of single pixels tell no place.
const BLUR_SHARE: usize = 48;
/// How opaque the overlay is where the drafts differ most, 0 to 255.
const MAX_ALPHA: f32 = 170.0;

/// What a phrase changed.
pub(crate) struct Effect {
    /// Mean difference of all pixels and channels, 0 to 255.
    mean: f32,
    /// See-through where nothing differs, in the colour of heat where most does.
    pub(crate) heat: ColorImage,
}

impl Effect {
    /// True where the phrase has changed something.
    pub(crate) fn is_seen(&self) -> bool {
        self.mean >= MIN_MEAN
    }
}

/// What differs between a draft with a phrase and one without; `None` where their sizes do, or there
/// are no pixels.
pub(crate) fn compare(with: &Rgb8, without: &Rgb8) -> Option<Effect> {
    let mean = with.mean_difference(without)?;
    let (width, height) = (with.width() as usize, with.height() as usize);
    let channels = |(a, b): (&[u8], &[u8])| a.iter().zip(b).map(|(a, b)| f32::from(a.abs_diff(*b))).sum::<f32>() / 3.0;
    let differences: Vec<f32> = with.pixels().chunks_exact(3).zip(without.pixels().chunks_exact(3)).map(channels).collect();
    let radius = width.max(height) / BLUR_SHARE;
    let rows = line_means(&differences, (height, width), (width, 1), radius);
    let blurred = line_means(&rows, (width, 1), (height, width), radius);
    let peak = blurred.iter().copied().fold(MIN_MEAN, f32::max);
    let colour = |value: &f32| {
        let alpha = (value / peak * MAX_ALPHA).clamp(0.0, MAX_ALPHA) as u8;
        Color32::from_rgba_unmultiplied(theme::HEAT.r(), theme::HEAT.g(), theme::HEAT.b(), alpha)
    };
    let heat = ColorImage::new([width, height], blurred.iter().map(colour).collect());
    Some(Effect { mean: mean as f32, heat })
}

/// The mean of each value and its neighbours within a radius of its line. `lines`: their number, and
/// from one to the next in `values`; `line`: its number of values, and from one to the next.
fn line_means(values: &[f32], lines: (usize, usize), line: (usize, usize), radius: usize) -> Vec<f32> {
    let ((count, line_step), (length, step)) = (lines, line);
    let mut means = vec![0.0; values.len()];
    for start in (0..count).map(|number| number * line_step) {
        let value = |at: usize| values.get(start + at * step).copied().unwrap_or_default();
        let mut within = radius.min(length);
        let mut sum: f32 = (0..within).map(value).sum();
        for at in 0..length {
            if at + radius < length {
                sum += value(at + radius);
                within += 1;
            }
            if at > radius {
                sum -= value(at - radius - 1);
                within -= 1;
            }
            if let Some(mean) = means.get_mut(start + at * step) {
                *mean = sum / within as f32;
            }
        }
    }
    means
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A picture of one shade, with a square of another in its upper left corner.
    fn picture(side: u32, shade: u8, corner: u32, other: u8) -> Rgb8 {
        let shade_at = |n: u32| if n % side < corner && n / side < corner { other } else { shade };
        Rgb8::new(side, side, (0..side * side).flat_map(|n| [shade_at(n); 3]).collect()).unwrap()
    }

    #[test]
    fn the_overlay_is_dense_where_the_drafts_differ_and_clear_elsewhere() {
        let effect = compare(&picture(96, 50, 32, 50), &picture(96, 50, 32, 140)).unwrap();
        assert!(effect.is_seen());
        assert!((effect.mean - 10.0).abs() < 0.01, "90 in a ninth of it: {}", effect.mean);
        let alpha = |x: usize, y: usize| effect.heat.pixels[y * 96 + x].a();
        assert_eq!((effect.heat.size, alpha(8, 8), alpha(80, 8), alpha(8, 80)), ([96, 96], 170, 0, 0));
        assert!((1..170).contains(&alpha(32, 8)), "its border is soft: {}", alpha(32, 8));
    }

    #[test]
    fn what_differs_by_rounding_is_nothing() {
        let quiet = compare(&picture(64, 50, 32, 50), &picture(64, 50, 32, 51)).unwrap();
        assert!(!quiet.is_seen());
        assert!(compare(&picture(64, 50, 0, 0), &picture(64, 52, 0, 0)).unwrap().is_seen());
        assert!(!compare(&picture(64, 50, 0, 0), &picture(64, 50, 0, 0)).unwrap().is_seen());
    }

    #[test]
    fn drafts_of_two_sizes_and_without_pixels_are_not_compared() {
        assert!(compare(&picture(8, 1, 0, 0), &picture(9, 1, 0, 0)).is_none());
        let empty = Rgb8::new(0, 0, Vec::new()).unwrap();
        assert!(compare(&empty, &empty).is_none());
    }

    #[test]
    fn a_mean_has_as_many_neighbours_as_there_are() {
        assert_eq!(line_means(&[0.0, 3.0, 6.0, 9.0], (1, 4), (4, 1), 1), [1.5, 3.0, 6.0, 7.5]);
        assert_eq!(line_means(&[0.0, 3.0, 6.0, 9.0], (2, 1), (2, 2), 1), [3.0, 6.0, 3.0, 6.0]);
        assert_eq!(line_means(&[1.0, 3.0], (1, 2), (2, 1), 9), [2.0, 2.0]);
        assert_eq!(line_means(&[1.0, 3.0], (1, 2), (2, 1), 0), [1.0, 3.0]);
    }
}
