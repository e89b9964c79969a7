//! Small pictures for the screen.

use image::imageops;
use image::{ImageBuffer, Rgb};

use atelier_core::recipe::Rgb8;

/// The picture with its longest side reduced to `longest_side` pixels, each of them the mean of
/// those it covers; the picture itself, shared, where it is no larger.
#[must_use]
pub fn thumbnail(image: &Rgb8, longest_side: u32) -> Rgb8 {
    let longest = image.width().max(image.height());
    let longest_side = longest_side.max(1);
    let view: Option<ImageBuffer<Rgb<u8>, &[u8]>> = ImageBuffer::from_raw(image.width(), image.height(), image.pixels());
    let Some(view) = view.filter(|_| longest > longest_side) else { return image.clone() };
    let side = |side: u32| ((f64::from(side) * f64::from(longest_side) / f64::from(longest)).round() as u32).max(1);
    let small = imageops::thumbnail(&view, side(image.width()), side(image.height()));
    Rgb8::new(small.width(), small.height(), small.into_raw()).unwrap_or_else(|| image.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thumbnail_keeps_the_aspect_and_the_mean_colour() {
        let pixels = (0..400 * 100).flat_map(|n| if n % 2 == 0 { [200, 0, 10] } else { [100, 0, 30] }).collect();
        let small = thumbnail(&Rgb8::new(400, 100, pixels).unwrap(), 96);
        assert_eq!((small.width(), small.height()), (96, 24));
        let middle = &small.pixels()[(12 * 96 + 48) * 3..][..3];
        assert!((140..=160).contains(&middle[0]) && (18..=22).contains(&middle[2]), "{middle:?}");
    }

    #[test]
    fn extreme_shapes_keep_at_least_one_pixel_and_small_ones_are_shared() {
        let image = Rgb8::new(5000, 1, vec![9; 15000]).unwrap();
        let small = thumbnail(&image, 100);
        assert_eq!((small.width(), small.height()), (100, 1));
        assert_eq!(thumbnail(&image, 5000).pixels().as_ptr(), image.pixels().as_ptr());
        assert!(thumbnail(&Rgb8::new(0, 0, Vec::new()).unwrap(), 10).pixels().is_empty());
    }
}
