//! Pictures whose borders continue each other, brought into a place where nothing of interest lies
//! at a border.

use super::{Mask, PixelRect};
use crate::recipe::Rgb8;

/// How far, to the right and downwards, a picture whose borders continue each other is shifted so
/// that what a mask selects lies in its middle. Nothing where they do not, or where there is no
/// gap in what is selected.
#[must_use]
pub fn wrap_shift(mask: &Mask, [x_wraps, y_wraps]: [bool; 2]) -> (i32, i32) {
    let (width, height) = (mask.width() as usize, mask.height() as usize);
    let mut columns = vec![false; width];
    let mut rows = vec![false; height];
    for (y, row) in rows.iter_mut().enumerate() {
        for (x, _) in mask.row(y as u32).iter().enumerate().filter(|(_, value)| **value > 0) {
            (columns[x], *row) = (true, true);
        }
    }
    (if x_wraps { middle_shift(&columns) } else { 0 }, if y_wraps { middle_shift(&rows) } else { 0 })
}

/// How far the shortest round stretch that holds all that is taken is shifted to lie in the middle.
fn middle_shift(taken: &[bool]) -> i32 {
    let side = taken.len();
    let Some(first) = taken.iter().position(|it| *it) else { return 0 };
    // The longest gap, counted round from something taken.
    let (mut longest, mut run) = ((0, 0), 0);
    for at in first + 1..=first + side {
        if taken[at % side] {
            if run > longest.1 {
                longest = (at - run, run);
            }
            run = 0;
        } else {
            run += 1;
        }
    }
    let (start, length) = longest;
    if length == 0 {
        return 0;
    }
    let middle = start + length + (side - length) / 2;
    let shift = (side / 2) as i64 - (middle % side) as i64;
    shift as i32
}

/// The pixels of a mask so far to the right and downwards, round.
#[must_use]
pub fn rolled_mask(mask: &Mask, shift: (i32, i32)) -> Mask {
    let size = (mask.width(), mask.height());
    Mask::new(size.0, size.1, rolled(mask.pixels(), size, shift, 1)).unwrap_or_else(|| mask.clone())
}

/// The pixels of a picture so far to the right and downwards, round; without its fine colours.
#[must_use]
pub fn rolled_picture(picture: &Rgb8, shift: (i32, i32)) -> Rgb8 {
    let size = (picture.width(), picture.height());
    Rgb8::new(size.0, size.1, rolled(picture.pixels(), size, shift, 3)).unwrap_or_else(|| picture.clone())
}

/// A rectangle so far to the right and downwards, with its upper left corner in a picture of this
/// size; its other borders may lie beyond.
#[must_use]
pub fn rolled_rect(rect: &PixelRect, (width, height): (u32, u32), (dx, dy): (i32, i32)) -> PixelRect {
    let place = |at: i32, by: i32, length: u32, side: u32| {
        if length >= side { 0 } else { (i64::from(at) + i64::from(by)).rem_euclid(i64::from(side.max(1))) as i32 }
    };
    PixelRect { left: place(rect.left, dx, rect.width, width), top: place(rect.top, dy, rect.height, height), ..*rect }
}

fn rolled(pixels: &[u8], (width, height): (u32, u32), (dx, dy): (i32, i32), channels: usize) -> Vec<u8> {
    let (width, height) = (width as usize, height as usize);
    let round = |by: i32, side: usize| i64::from(by).rem_euclid(side.max(1) as i64) as usize;
    let (dx, dy) = (round(dx, width), round(dy, height));
    let mut all = Vec::with_capacity(pixels.len());
    for y in 0..height {
        let from = (y + height - dy) % height;
        let row = &pixels[from * width * channels..(from + 1) * width * channels];
        let (left, right) = row.split_at((width - dx) * channels);
        all.extend_from_slice(right);
        all.extend_from_slice(left);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask(width: u32, height: u32, is_selected: impl Fn(u32, u32) -> bool) -> Mask {
        let value = |at: u32| if is_selected(at % width, at / width) { 255 } else { 0 };
        Mask::new(width, height, (0..width * height).map(value).collect()).unwrap()
    }

    #[test]
    fn what_lies_over_a_border_comes_to_lie_in_the_middle() {
        let over = mask(20, 8, |x, y| !(3..17).contains(&x) && (2..4).contains(&y));
        let shift = wrap_shift(&over, [true, false]);
        assert_eq!(shift, (10, 0));
        assert_eq!(rolled_mask(&over, shift).bounds(), Some(PixelRect { left: 7, top: 2, width: 6, height: 2 }));
        assert_eq!(wrap_shift(&over, [false, false]), (0, 0));
        let both = mask(20, 8, |x, y| !(3..17).contains(&x) && !(1..7).contains(&y));
        let bounds = rolled_mask(&both, wrap_shift(&both, [true; 2])).bounds();
        assert_eq!(bounds, Some(PixelRect { left: 7, top: 3, width: 6, height: 2 }));
        for all in [mask(20, 8, |_, _| true), mask(20, 8, |_, _| false)] {
            assert_eq!(wrap_shift(&all, [true; 2]), (0, 0));
        }
    }

    #[test]
    fn there_and_back_is_the_same() {
        let picture = Rgb8::new(7, 5, (0..105).collect()).unwrap();
        for shift in [(3, -2), (-9, 11), (0, 0), (7, 5)] {
            let there = rolled_picture(&picture, shift);
            assert_eq!(rolled_picture(&there, (-shift.0, -shift.1)), picture);
        }
        assert_eq!(rolled_picture(&picture, (1, 0)).pixels()[3..6], [0, 1, 2]);
        let rect = PixelRect { left: 5, top: 1, width: 4, height: 2 };
        assert_eq!(rolled_rect(&rect, (20, 10), (-8, 0)), PixelRect { left: 17, ..rect });
        assert_eq!(rolled_rect(&PixelRect { width: 20, ..rect }, (20, 10), (-8, 0)).left, 0, "all of it begins at the border");
    }
}
