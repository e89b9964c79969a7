//! What is made of a picture before a `ControlNet` sees it, by filters alone: no weights, a few bytes
//! of memory a pixel, and the same bytes from the same picture.

use image::imageops::{self, FilterType, fast_blur};
use image::{GrayImage, ImageBuffer, Luma, Pixel as _, Rgb, RgbImage};

use atelier_core::recipe::Rgb8;

/// Blur before soft edges and before the strokes of a scribble, as a deviation in pixels: what is
/// smaller is no outline.
const SOFT_BLUR: f32 = 2.0;
const SCRIBBLE_BLUR: f32 = 3.0;
/// Slope of an edge between shades that differ by 8, which a flat picture's noise does not reach
/// (Sobel's weights add to 4).
const MIN_SLOPE: f32 = 32.0;
/// Part of the steepest slope that is a stroke of a scribble.
const STROKE_SLOPE: f32 = 0.25;
/// Blur that a line is darker than, as a deviation in pixels: a line is thinner than a few of these.
const LINE_BLUR: f32 = 6.0;
/// Least difference, of 255, at which a line is white.
const MIN_LINE: usize = 16;
/// Part of a picture's pixels that may be whiter than white: the rest spans black to white.
const BRIGHTEST_LINES: u64 = 200;
/// Side of the squares whose details are left out, in pixels.
const TILE: u32 = 8;

/// Soft outlines, white on black.
#[must_use]
pub fn soft_edges(image: &Rgb8) -> Rgb8 {
    let Some((slopes, steepest)) = Slopes::of(image, SOFT_BLUR) else { return image.clone() };
    drawn(image, |x, y| (slopes.at(x, y) / steepest * 255.0).round().min(255.0) as u8)
}

/// The strongest outlines as thick strokes, white on black.
#[must_use]
pub fn scribble(image: &Rgb8) -> Rgb8 {
    let Some((slopes, steepest)) = Slopes::of(image, SCRIBBLE_BLUR) else { return image.clone() };
    drawn(image, |x, y| if slopes.at(x, y) >= steepest * STROKE_SLOPE { 255 } else { 0 })
}

/// Dark lines as white ones on black.
#[must_use]
pub fn line_art(image: &Rgb8) -> Rgb8 {
    let Some(shades) = GrayImage::from_raw(image.width(), image.height(), shades_of(image)).filter(|_| !image.pixels().is_empty()) else {
        return image.clone();
    };
    let mut lines = fast_blur(&shades, LINE_BLUR);
    let mut counts = [0_u64; 256];
    for (line, shade) in lines.pixels_mut().zip(shades.pixels()) {
        let Luma([around]) = *line;
        let depth = around.saturating_sub(shade.0[0]);
        *line = Luma([depth]);
        counts[usize::from(depth)] += 1;
    }
    let mut brighter = (counts.iter().sum::<u64>() / BRIGHTEST_LINES).max(1);
    let white = (0..counts.len()).rev().find(|depth| {
        brighter = brighter.saturating_sub(counts[*depth]);
        brighter == 0
    });
    let white = white.unwrap_or_default().max(MIN_LINE);
    drawn(image, |x, y| (usize::from(lines.get_pixel(x, y).0[0]) * 255 / white).min(255) as u8)
}

/// The picture without its details: what a ControlNet for tiles draws anew.
#[must_use]
pub fn without_details(image: &Rgb8) -> Rgb8 {
    let (width, height) = (image.width(), image.height());
    let Some(view) = RgbImage::from_raw(width, height, image.pixels().to_vec()).filter(|_| !image.pixels().is_empty()) else {
        return image.clone();
    };
    let small = imageops::thumbnail(&view, width.div_ceil(TILE), height.div_ceil(TILE));
    let large = imageops::resize(&small, width, height, FilterType::CatmullRom);
    Rgb8::new(width, height, large.into_raw()).unwrap_or_else(|| image.clone())
}

/// Dark and light exchanged: black lines on paper are white lines on black.
#[must_use]
pub fn inverted(image: &Rgb8) -> Rgb8 {
    let pixels = image.pixels().iter().map(|value| 255 - value).collect();
    Rgb8::new(image.width(), image.height(), pixels).unwrap_or_else(|| image.clone())
}

/// A depth map over its whole range: the nearest point is white, the farthest black. Cameras and
/// other programs use a part of it.
#[must_use]
pub fn depth_map(image: &Rgb8) -> Rgb8 {
    let shades = shades_of(image);
    let (Some(far), Some(near)) = (shades.iter().min(), shades.iter().max()) else { return image.clone() };
    let range = u32::from(near - far);
    // What is as far everywhere stays as it is.
    let spread = |shade: &u8| (u32::from(shade - far) * 255).checked_div(range).map_or(*shade, |spread| spread as u8);
    let pixels = shades.iter().flat_map(|shade| [spread(shade); 3]).collect();
    Rgb8::new(image.width(), image.height(), pixels).unwrap_or_else(|| image.clone())
}

/// How bright each pixel is.
fn shades_of(image: &Rgb8) -> Vec<u8> {
    image.pixels().chunks_exact(3).flat_map(|pixel| Rgb::from_slice(pixel).to_luma().0).collect()
}

/// A picture of this one's size in the shades of `shade`.
fn drawn(image: &Rgb8, shade: impl Fn(u32, u32) -> u8) -> Rgb8 {
    let places = (0..image.height()).flat_map(|y| (0..image.width()).map(move |x| (x, y)));
    let pixels = places.flat_map(|(x, y)| [shade(x, y); 3]).collect();
    Rgb8::new(image.width(), image.height(), pixels).unwrap_or_else(|| image.clone())
}

/// A blurred picture, and how steeply its colours change.
struct Slopes(RgbImage);

impl Slopes {
    /// Those of a picture, and the steepest of them; `None` of an empty one.
    fn of(image: &Rgb8, blur: f32) -> Option<(Self, f32)> {
        let view: RgbImage = ImageBuffer::from_raw(image.width(), image.height(), image.pixels().to_vec())?;
        if image.pixels().is_empty() {
            return None;
        }
        let slopes = Self(fast_blur(&view, blur));
        let steepest = |steepest: f32, (x, y)| steepest.max(slopes.at(x, y));
        let places = (0..image.height()).flat_map(|y| (0..image.width()).map(move |x| (x, y)));
        let steepest = places.fold(MIN_SLOPE, steepest);
        Some((slopes, steepest))
    }

    /// Sobel's slope of the colour channel that changes most. The border goes on as it is.
    fn at(&self, x: u32, y: u32) -> f32 {
        let (right, bottom) = (self.0.width() - 1, self.0.height() - 1);
        let columns = [x.saturating_sub(1), x, (x + 1).min(right)];
        let rows = [y.saturating_sub(1), y, (y + 1).min(bottom)];
        let window = rows.map(|y| columns.map(|x| self.0.get_pixel(x, y).0.map(i32::from)));
        let slope = |channel: usize| {
            let at = |row: usize, column: usize| window[row][column][channel];
            let across = at(0, 2) + 2 * at(1, 2) + at(2, 2) - at(0, 0) - 2 * at(1, 0) - at(2, 0);
            let down = at(2, 0) + 2 * at(2, 1) + at(2, 2) - at(0, 0) - 2 * at(0, 1) - at(0, 2);
            across * across + down * down
        };
        ((0..3).map(slope).max().unwrap_or_default() as f32).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FILTERS: [fn(&Rgb8) -> Rgb8; 6] = [soft_edges, scribble, line_art, without_details, inverted, depth_map];

    fn picture(width: u32, height: u32, pixel: impl Fn(u32, u32) -> [u8; 3]) -> Rgb8 {
        let places = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
        Rgb8::new(width, height, places.flat_map(|(x, y)| pixel(x, y)).collect()).unwrap()
    }

    fn at(image: &Rgb8, x: u32, y: u32) -> [u8; 3] {
        image.pixels()[((y * image.width() + x) * 3) as usize..][..3].try_into().unwrap()
    }

    #[test]
    fn outlines_are_white_where_a_colour_changes_and_black_elsewhere() {
        // Of equal lightness: the outline is one of colour alone.
        let halves = picture(64, 48, |x, _| if x < 32 { [200, 0, 0] } else { [0, 102, 0] });
        for filter in [soft_edges, scribble] {
            let lines = filter(&halves);
            assert_eq!((at(&lines, 32, 20), at(&lines, 4, 20), at(&lines, 60, 40)), ([255; 3], [0; 3], [0; 3]));
        }
        let shades = |image: &Rgb8| image.pixels().iter().collect::<std::collections::BTreeSet<_>>().len();
        assert_eq!(shades(&scribble(&halves)), 2);
        assert!(shades(&soft_edges(&halves)) > 3);
    }

    #[test]
    fn lines_of_a_drawing_are_white_and_its_paper_and_areas_are_black() {
        let drawing = picture(96, 64, |x, y| if x == 20 || y == 40 { [20; 3] } else { [240, 235, 220] });
        let lines = line_art(&drawing);
        assert_eq!((at(&lines, 20, 10), at(&lines, 70, 40), at(&lines, 60, 10)), ([255; 3], [255; 3], [0; 3]));
        assert_eq!(at(&inverted(&drawing), 20, 10), [235; 3]);
    }

    #[test]
    fn a_tile_keeps_its_colours_and_loses_its_details() {
        let checks = picture(64, 64, |x, y| if (x + y) % 2 == 0 { [255, 0, 90] } else { [55, 0, 90] });
        let tile = without_details(&checks);
        let [red, green, blue] = at(&tile, 33, 30);
        assert!(red.abs_diff(155) < 4 && green == 0 && blue == 90, "{red} {green} {blue}");
        let halves = without_details(&picture(64, 64, |x, _| if x < 32 { [10; 3] } else { [240; 3] }));
        assert!(at(&halves, 4, 9)[0] < 20 && at(&halves, 60, 9)[0] > 230);
    }

    #[test]
    fn a_depth_map_spans_black_to_white_and_a_flat_one_stays() {
        let map = depth_map(&picture(31, 8, |x, _| [90 + x as u8; 3]));
        assert_eq!((at(&map, 0, 3), at(&map, 10, 3), at(&map, 30, 7)), ([0; 3], [85; 3], [255; 3]));
        let flat = picture(9, 9, |_, _| [70; 3]);
        assert_eq!(depth_map(&flat), flat);
    }

    #[test]
    fn a_flat_picture_has_no_outlines_but_its_noise() {
        let noise = picture(40, 40, |x, y| [100 + ((x * 7 + y * 13) % 3) as u8; 3]);
        for filter in [soft_edges, scribble, line_art] {
            assert!(filter(&noise).pixels().iter().all(|value| *value < 64));
        }
    }

    #[test]
    fn an_empty_picture_stays_empty() {
        let empty = Rgb8::new(0, 0, Vec::new()).unwrap();
        assert!(FILTERS.iter().all(|filter| filter(&empty) == empty));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn any_picture_becomes_one_of_its_size_always_the_same(width in 1..40_u32, height in 1..40_u32, seed in any::<u32>()) {
            let image = picture(width, height, |x, y| {
                let value = seed.wrapping_mul(2_654_435_761).wrapping_add((x * 31 + y * 17).wrapping_mul(0x9e37_79b9));
                [(value >> 8) as u8, (value >> 16) as u8, (value >> 24) as u8]
            });
            for filter in FILTERS {
                let made = filter(&image);
                prop_assert_eq!((made.width(), made.height()), (width, height));
                prop_assert_eq!(filter(&image), made);
            }
            prop_assert_eq!(inverted(&inverted(&image)), image);
        }
    }
}
