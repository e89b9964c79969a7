//! Pixels on their way to the screen: conversion, and making them smaller. Pure; runs on the pixel thread.

use eframe::egui::ColorImage;

use atelier_core::recipe::Rgb8;

/// Longest side of a thumbnail, in pixels.
pub(crate) const THUMBNAIL_PX: usize = 96;

/// The picture as the screen wants it, at most so long on its longest side.
#[must_use]
pub(crate) fn to_screen(image: &Rgb8, max_side_px: usize) -> ColorImage {
    let size = [image.width() as usize, image.height() as usize];
    let longest = size[0].max(size[1]).max(1);
    if longest > max_side_px {
        return shrink(image, max_side_px.max(1));
    }
    ColorImage::from_rgb(size, image.pixels())
}

/// The small look for the filmstrip.
#[must_use]
pub(crate) fn thumbnail(image: &Rgb8) -> ColorImage {
    to_screen(image, THUMBNAIL_PX)
}

/// Each new pixel is the mean of those it covers.
fn shrink(image: &Rgb8, longest_px: usize) -> ColorImage {
    let (width, height) = (image.width() as usize, image.height() as usize);
    let scale = longest_px as f64 / width.max(height) as f64;
    let to = [((width as f64 * scale).round() as usize).max(1), ((height as f64 * scale).round() as usize).max(1)];
    let span = |at: usize, to: usize, from: usize| {
        let start = at * from / to;
        start..((at + 1) * from / to).max(start + 1)
    };
    let mut pixels = Vec::with_capacity(to[0] * to[1] * 3);
    for y in 0..to[1] {
        let rows = span(y, to[1], height);
        for x in 0..to[0] {
            let columns = span(x, to[0], width);
            let mut sums = [0u64; 3];
            let mut count = 0;
            for row in rows.clone() {
                let start = (row * width + columns.start) * 3;
                let Some(line) = image.pixels().get(start..start + columns.len() * 3) else { continue };
                for pixel in line.chunks_exact(3) {
                    for (sum, value) in sums.iter_mut().zip(pixel) {
                        *sum += u64::from(*value);
                    }
                    count += 1;
                }
            }
            pixels.extend(sums.map(|sum| (sum / count.max(1)) as u8));
        }
    }
    ColorImage::from_rgb(to, &pixels)
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
    fn extreme_shapes_keep_at_least_one_pixel() {
        let image = Rgb8::new(5000, 1, vec![9; 15000]).unwrap();
        assert_eq!(to_screen(&image, 100).size, [100, 1]);
        assert!(to_screen(&Rgb8::new(0, 0, Vec::new()).unwrap(), 10).pixels.is_empty());
    }
}
