//! Conversion of pixels for the screen, and their reduction. Pure; for the worker of pixels.

use eframe::egui::ColorImage;

use atelier_core::canvas::{PixelRect, StartFit};
use atelier_core::recipe::Rgb8;
use atelier_engine::Preview;

/// Longest side of a preview for the screen, in pixels.
pub(crate) const PREVIEW_SIDE_PX: usize = 2048;
/// Longest side of a thumbnail, in pixels.
pub(crate) const THUMBNAIL_PX: usize = 96;

/// A preview for the screen.
#[derive(Debug)]
pub(crate) struct ScreenPreview {
    /// Index of the picture in the batch.
    pub(crate) picture: u32,
    /// The part of the picture that it shows; `None`: the whole.
    pub(crate) place: Option<PixelRect>,
    pub(crate) image: ColorImage,
}

impl ScreenPreview {
    pub(crate) fn of(preview: &Preview) -> Self {
        Self { picture: preview.picture, place: preview.place, image: to_screen(&preview.image, PREVIEW_SIDE_PX) }
    }
}

/// The picture for the screen, reduced to at most `max_side_px` on its longest side.
#[must_use]
pub(crate) fn to_screen(image: &Rgb8, max_side_px: usize) -> ColorImage {
    let image = atelier_media::thumbnail(image, u32::try_from(max_side_px).unwrap_or(u32::MAX));
    ColorImage::from_rgb([image.width() as usize, image.height() as usize], image.pixels())
}

/// The picture of the screen; what is see-through is white.
#[must_use]
pub(crate) fn from_screen(image: &ColorImage) -> Option<Rgb8> {
    let [width, height] = image.size.map(|side| u32::try_from(side).unwrap_or(0));
    // The colours are multiplied by alpha already.
    let over_white = |pixel: &eframe::egui::Color32| [pixel.r(), pixel.g(), pixel.b()].map(|value| value.saturating_add(255 - pixel.a()));
    Rgb8::new(width, height, image.pixels.iter().flat_map(over_white).collect())
}

/// Difference of two pictures for the screen, in the size of the first: black where they are the
/// same, four times as bright as they differ.
#[must_use]
pub(crate) fn difference(first: &Rgb8, second: &Rgb8, max_side_px: usize) -> ColorImage {
    let difference = || {
        let second = atelier_media::fit_image(second, first.width(), first.height(), StartFit::Crop).ok()?;
        let pixels = first.pixels().iter().zip(second.pixels()).map(|(a, b)| a.abs_diff(*b).saturating_mul(4)).collect();
        Rgb8::new(first.width(), first.height(), pixels)
    };
    difference().map_or_else(ColorImage::default, |it| to_screen(&it, max_side_px))
}

/// Thumbnail for the filmstrip.
#[must_use]
pub(crate) fn thumbnail(image: &Rgb8) -> ColorImage {
    to_screen(image, THUMBNAIL_PX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thumbnail_keeps_the_aspect_and_the_mean_colour() {
        let pixels = (0..400 * 100).flat_map(|n| if n % 2 == 0 { [200, 0, 10] } else { [100, 0, 30] }).collect();
        let small = thumbnail(&Rgb8::new(400, 100, pixels).unwrap());
        assert_eq!(small.size, [96, 24]);
        let middle = small.pixels[12 * 96 + 48];
        assert!((140..=160).contains(&middle.r()) && (18..=22).contains(&middle.b()), "{middle:?}");
    }

    #[test]
    fn a_picture_that_fits_is_not_touched() {
        let image = Rgb8::new(2, 1, vec![1, 2, 3, 4, 5, 6]).unwrap();
        let same = to_screen(&image, 2);
        assert_eq!(same.as_raw(), [1, 2, 3, 255, 4, 5, 6, 255]);
        assert_eq!(to_screen(&image, 1).size, [1, 1]);
    }

    #[test]
    fn a_picture_of_the_screen_is_laid_on_white() {
        let image = Rgb8::new(2, 1, vec![1, 2, 3, 4, 5, 6]).unwrap();
        assert_eq!(from_screen(&to_screen(&image, 2)), Some(image));
        let glass = ColorImage::new([1, 1], vec![eframe::egui::Color32::TRANSPARENT]);
        assert_eq!(from_screen(&glass).unwrap().pixels(), [255, 255, 255]);
    }

    #[test]
    fn the_difference_is_black_where_nothing_differs_and_has_the_first_size() {
        let grey = |side: u32, shade: u8| Rgb8::new(side, side, vec![shade; (side * side * 3) as usize]).unwrap();
        assert!(difference(&grey(4, 9), &grey(8, 9), 4096).as_raw().chunks(4).all(|it| it == [0, 0, 0, 255]));
        let bright = difference(&grey(4, 10), &grey(4, 20), 4096);
        assert_eq!((bright.size, &bright.as_raw()[..4]), ([4, 4], &[40, 40, 40, 255][..]));
    }

    #[test]
    fn extreme_shapes_keep_at_least_one_pixel() {
        let image = Rgb8::new(5000, 1, vec![9; 15000]).unwrap();
        assert_eq!(to_screen(&image, 100).size, [100, 1]);
        assert!(to_screen(&Rgb8::new(0, 0, Vec::new()).unwrap(), 10).pixels.is_empty());
    }
}
