//! A picture that is redrawn in tiles: where they lie, how each meets those before it, and the
//! colours that all of them share.
//!
//! Invariants: tiles lie in the picture and cover it; each has the whole size of a tile, or the
//! picture's where that is smaller; neighbours overlap by no less than was asked for. The first
//! tiles are opaque up to the picture's borders, so no pixel of the source is left.

use super::{AreaPlan, Mask, PixelRect};
use crate::recipe::Rgb8;

/// Tiles of one picture; more than anyone waits for.
const MAX_TILES: u32 = 1024;

/// The tiles that cover a picture of this size, row by row, with this many pixels a side. A picture
/// that fits in one has one.
#[must_use]
pub fn tile_rects((width, height): (u32, u32), side: u32, overlap: u32) -> Vec<PixelRect> {
    let (columns, rows) = (spans(width, side, overlap), spans(height, side, overlap));
    let rect = |(top, height): &(u32, u32), (left, width): &(u32, u32)| PixelRect {
        left: *left as i32,
        top: *top as i32,
        width: *width,
        height: *height,
    };
    rows.iter().flat_map(|row| columns.iter().map(move |column| rect(row, column))).take(MAX_TILES as usize).collect()
}

/// Starts and lengths of spans that cover a length.
fn spans(length: u32, side: u32, overlap: u32) -> Vec<(u32, u32)> {
    let side = side.clamp(1, length.max(1));
    let step = side.saturating_sub(overlap).max(1);
    let count = (length - side).div_ceil(step) + 1;
    let start = |index: u32| (u64::from(length - side) * u64::from(index) / u64::from((count - 1).max(1))) as u32;
    (0..count.min(MAX_TILES)).map(|index| (start(index), side)).collect()
}

/// How a tile is redrawn after those before it in the list: what they overlap is denoised the less,
/// and kept the more, the nearer it is to the tile's border. `None` where there is no such tile.
#[must_use]
pub fn plan_tile(tiles: &[PixelRect], index: usize) -> Option<AreaPlan> {
    let (before, tile) = (tiles.get(..index)?, tiles.get(index)?);
    let left = before.iter().filter(|it| it.top == tile.top && it.left < tile.left).map(|it| it.right() - tile.left).max();
    let top = before.iter().filter(|it| it.top < tile.top).map(|it| it.bottom() - tile.top).max();
    let ramp = |at: u32, overlap: Option<i32>| match overlap {
        Some(overlap) if overlap > 0 => ((at as f32 + 0.5) / overlap as f32).min(1.0),
        _ => 1.0,
    };
    let mask = |value: fn(f32) -> f32| {
        let mut mask = Mask::filled(tile.width, tile.height, 0);
        let rows = mask.pixels_mut().chunks_exact_mut(tile.width.max(1) as usize);
        for (row, y) in rows.zip(0..) {
            let down = ramp(y, top);
            for (pixel, x) in row.iter_mut().zip(0..) {
                *pixel = (value(down.min(ramp(x, left))) * 255.0).round() as u8;
            }
        }
        mask
    };
    // Without a kink at either end.
    let paste = mask(|share| share * share * (3.0 - 2.0 * share));
    Some(AreaPlan { crop: *tile, work: (tile.width, tile.height), denoise: mask(|share| share), paste })
}

/// A picture with the colours of another of its size wherever they change slowly: by the means of
/// cells of so many pixels a side. `None` where sizes differ.
#[must_use]
pub fn with_low_frequencies(picture: &Rgb8, source: &Rgb8, cell: u32) -> Option<Rgb8> {
    if (picture.width(), picture.height()) != (source.width(), source.height()) {
        return None;
    }
    let cell = cell.max(1) as usize;
    let (width, height) = (picture.width() as usize, picture.height() as usize);
    let (columns, rows) = (width.div_ceil(cell), height.div_ceil(cell));
    let mut differences = vec![[0.0_f32; 3]; columns * rows];
    let mut counts = vec![0.0_f32; columns * rows];
    for (at, (own, its)) in picture.pixels().chunks_exact(3).zip(source.pixels().chunks_exact(3)).enumerate() {
        let of = at / width / cell * columns + at % width / cell;
        counts[of] += 1.0;
        for channel in 0..3 {
            differences[of][channel] += f32::from(its[channel]) - f32::from(own[channel]);
        }
    }
    for (difference, count) in differences.iter_mut().zip(&counts) {
        *difference = difference.map(|sum| sum / count.max(1.0));
    }
    let mut pixels = picture.pixels().to_vec();
    for (at, pixel) in pixels.chunks_exact_mut(3).enumerate() {
        let (left, right, along) = around(at % width, cell, columns);
        let (top, bottom, down) = around(at / width, cell, rows);
        for (channel, value) in pixel.iter_mut().enumerate() {
            let mean = |row: usize, column: usize| differences[row * columns + column][channel];
            let upper = mean(top, left) + (mean(top, right) - mean(top, left)) * along;
            let lower = mean(bottom, left) + (mean(bottom, right) - mean(bottom, left)) * along;
            *value = (f32::from(*value) + upper + (lower - upper) * down).round().clamp(0.0, 255.0) as u8;
        }
    }
    Rgb8::new(picture.width(), picture.height(), pixels)
}

/// The cells whose middles lie around a pixel, and the second one's share.
fn around(at: usize, cell: usize, count: usize) -> (usize, usize, f32) {
    let position = (at as f32 + 0.5) / cell as f32 - 0.5;
    let first = position.floor().max(0.0) as usize;
    (first.min(count - 1), (first + 1).min(count - 1), (position - first as f32).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::canvas::paste_area;

    proptest! {
        #[test]
        fn tiles_cover_the_picture_overlap_and_have_one_size(
            size in (1_u32..900, 1_u32..900), side in 1_u32..400, overlap in 0_u32..120,
        ) {
            let tiles = tile_rects(size, side, overlap.min(side / 2));
            let (wide, high) = (side.min(size.0), side.min(size.1));
            let all = PixelRect::of_size(size.0, size.1);
            prop_assert!(tiles.iter().all(|it| (it.width, it.height) == (wide, high) && it.intersection(&all) == *it));
            if tiles.len() < MAX_TILES as usize {
                let rows = tiles.iter().filter(|it| it.left == 0).count();
                for pair in tiles.windows(2).filter(|pair| pair[0].top == pair[1].top) {
                    prop_assert!(pair[0].right() - pair[1].left >= overlap.min(side / 2).min(wide) as i32, "{:?}", pair);
                }
                let last = tiles.last().unwrap();
                prop_assert_eq!((last.right(), last.bottom(), tiles.len() % rows), (size.0 as i32, size.1 as i32, 0));
            }
        }
    }

    #[test]
    fn a_tile_keeps_the_borders_of_those_before_it_and_all_that_is_new() {
        let tiles = tile_rects((160, 160), 96, 32);
        assert_eq!(tiles.len(), 4);
        let first = plan_tile(&tiles, 0).unwrap();
        assert!(first.denoise.pixels().iter().chain(first.paste.pixels()).all(|value| *value == 255));
        let last = plan_tile(&tiles, 3).unwrap();
        assert_eq!((last.crop.left, last.crop.top), (64, 64));
        assert!(last.paste.row(0)[90] < 8 && last.paste.row(90)[0] < 8 && last.paste.row(40)[40] == 255);
        assert!(last.denoise.row(90).is_sorted() && last.denoise.row(90)[95] == 255);
        assert_eq!(plan_tile(&tiles, 4), None);
        // All of the source is replaced: what is pasted in turn adds up.
        let mut picture = Rgb8::new(160, 160, vec![0; 160 * 160 * 3]).unwrap();
        for index in 0..4 {
            let tile = Rgb8::new(96, 96, vec![200; 96 * 96 * 3]).unwrap();
            picture = paste_area(&picture, &tile, &plan_tile(&tiles, index).unwrap(), false).unwrap();
        }
        assert!(picture.pixels().iter().all(|value| *value == 200));
    }

    #[test]
    fn slow_changes_are_the_sources_and_fine_ones_the_pictures_own() {
        let (width, height) = (128, 96);
        let fine = |at: u32| if (at % width + at / width).is_multiple_of(2) { 30 } else { 0 };
        let own = (0..width * height).flat_map(|at| [60 + fine(at); 3].map(|it| it as u8)).collect();
        let source = (0..width * height).flat_map(|at| [(80 + at % width) as u8, 75, 140]).collect();
        let (own, source) = (Rgb8::new(width, height, own).unwrap(), Rgb8::new(width, height, source).unwrap());
        let mixed = with_low_frequencies(&own, &source, 16).unwrap();
        let at = |picture: &Rgb8, x: u32, y: u32, channel: u32| i32::from(picture.pixels()[((y * width + x) * 3 + channel) as usize]);
        for x in 20..100 {
            let mean = i32::midpoint(at(&mixed, x, 40, 0), at(&mixed, x + 1, 40, 0));
            assert!((mean - at(&source, x, 40, 0)).abs() <= 3, "{x}: {mean}");
            assert!(((at(&mixed, x, 40, 2) - at(&mixed, x + 1, 40, 2)).abs() - 30).abs() <= 2, "the pattern stays");
        }
        assert_eq!(with_low_frequencies(&own, &Rgb8::new(1, 1, vec![0; 3]).unwrap(), 16), None);
    }
}
