//! What is selected by its colour or by the edges around it, and the edge of a selection: wider,
//! narrower, softer.

use super::Mask;
use super::distance::Distances;
use super::fill::blur_line;

/// Most pixels by which the edge of a selection is moved or softened.
pub const MAX_SELECTION_PX: u32 = 512;
/// Value from which on a pixel is selected rather than not.
const HALF: u8 = 128;
/// Box blurs that together come near a Gaussian one.
const BLURS: usize = 3;

/// RGBA pixels in rows, of which some are selected.
pub(super) struct Field<'a> {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) pixels: &'a [u8],
    /// Whether left and right, upper and lower border continue each other.
    pub(super) wraps: [bool; 2],
}

impl Field<'_> {
    fn pixel(&self, at: usize) -> &[u8] {
        &self.pixels[at * 4..at * 4 + 4]
    }

    /// Largest difference of a channel.
    fn difference(&self, one: usize, other: usize) -> u8 {
        self.pixel(one).iter().zip(self.pixel(other)).map(|(one, other)| one.abs_diff(*other)).max().unwrap_or(0)
    }

    /// All pixels that are connected with this one by their sides, over borders that continue each
    /// other, and look like it: by `tolerance` of a channel at most.
    pub(super) fn alike(&self, first: usize, tolerance: u8) -> Mask {
        self.connected(first, |at| self.difference(first, at) <= tolerance)
    }

    /// All pixels that are connected with this one and lie on the same side of every edge: no
    /// channel changes by more than `tolerance` from one pixel to the next but one.
    pub(super) fn within_edges(&self, first: usize, tolerance: u8) -> Mask {
        let [x_wraps, y_wraps] = self.wraps;
        let neighbour = |at: usize, side: usize, by: isize, wraps: bool| match at.checked_add_signed(by).filter(|at| *at < side) {
            Some(at) => at,
            None if wraps => at.wrapping_add_signed(by).wrapping_add(side) % side,
            None => at,
        };
        let is_flat = |at: usize| {
            let (x, y) = (at % self.width, at / self.width);
            let [left, right] = [-1, 1].map(|by| y * self.width + neighbour(x, self.width, by, x_wraps));
            let [above, below] = [-1, 1].map(|by| neighbour(y, self.height, by, y_wraps) * self.width + x);
            self.difference(left, right) <= tolerance && self.difference(above, below) <= tolerance
        };
        let mut mask = self.connected(first, is_flat);
        // What lies beside an edge is told from both of its sides; it belongs to the one that it is
        // like.
        let inner = mask.clone();
        for (at, value) in mask.pixels_mut().iter_mut().enumerate().filter(|(_, value)| **value == 0) {
            let (x, y) = (at % self.width, at / self.width);
            let across = [-1, 1].map(|by| y * self.width + neighbour(x, self.width, by, x_wraps));
            let down = [-1, 1].map(|by| neighbour(y, self.height, by, y_wraps) * self.width + x);
            let joins = |other: &usize| inner.pixels()[*other] > 0 && self.difference(at, *other) <= tolerance;
            if across.iter().chain(&down).any(joins) {
                *value = 255;
            }
        }
        mask
    }

    /// The pixels connected with this one for which `is_member` is true; it is one itself.
    fn connected(&self, first: usize, is_member: impl Fn(usize) -> bool) -> Mask {
        let (width, height) = (self.width, self.height);
        let [x_wraps, y_wraps] = self.wraps;
        let mut mask = Mask::filled(width as u32, height as u32, 0);
        let filled = mask.pixels_mut();
        let is_free = |filled: &[u8], at: usize| filled[at] == 0 && (at == first || is_member(at));
        let mut open = vec![first];
        while let Some(at) = open.pop() {
            if filled[at] > 0 {
                continue;
            }
            let row = at / width * width;
            let left = (row..at).rev().take_while(|at| is_free(filled, *at)).last().unwrap_or(at);
            let right = (at..row + width).take_while(|at| is_free(filled, *at)).last().unwrap_or(at);
            filled[left..=right].fill(255);
            if x_wraps {
                let (start, end) = (row, row + width - 1);
                open.extend(
                    [(left == start, end), (right == end, start)]
                        .iter()
                        .filter(|(reached, at)| *reached && is_free(filled, *at))
                        .map(|it| it.1),
                );
            }
            let y = row / width;
            let above = y.checked_sub(1).or_else(|| y_wraps.then(|| height - 1));
            let below = if y + 1 < height { Some(y + 1) } else { y_wraps.then_some(0) };
            for other in above.into_iter().chain(below).map(|y| y * width) {
                let mut was_free = false;
                for at in other + left - row..=other + right - row {
                    let now_free = is_free(filled, at);
                    if now_free && !was_free {
                        open.push(at);
                    }
                    was_free = now_free;
                }
            }
        }
        mask
    }
}

/// A mask whose selected part reaches so many pixels further, or less far where they are negative.
/// Beyond its borders nothing changes.
pub(super) fn grown(mask: &Mask, by: i32) -> Mask {
    if by == 0 {
        return mask.clone();
    }
    let (width, height) = (mask.width() as usize, mask.height() as usize);
    let reach = by.unsigned_abs().min(MAX_SELECTION_PX) as f32;
    let grows = by > 0;
    let distances = Distances::to(width, height, |at| (mask.pixels()[at] >= HALF) == grows);
    let mut changed = mask.clone();
    for (at, value) in changed.pixels_mut().iter_mut().enumerate() {
        // The edge stays a pixel wide and smooth.
        let near = ((reach + 0.5 - distances.distance(at)).clamp(0.0, 1.0) * 255.0 + 0.5) as u8;
        *value = if grows { (*value).max(near) } else { (*value).min(255 - near) };
    }
    changed
}

/// A mask with an edge that is soft for about so many pixels to either side.
pub(super) fn feathered(mask: &Mask, radius: u32) -> Mask {
    if radius == 0 {
        return mask.clone();
    }
    let (width, height) = (mask.width() as usize, mask.height() as usize);
    // Boxes of a third of the reach each.
    let box_radius = (radius.min(MAX_SELECTION_PX) as usize).div_ceil(BLURS);
    let mut values: Vec<f32> = mask.pixels().iter().map(|value| f32::from(*value)).collect();
    let mut other = vec![0.0; values.len()];
    for _ in 0..BLURS {
        for row in 0..height {
            blur_line(&values, &mut other, row * width, 1, width, box_radius);
        }
        for column in 0..width {
            blur_line(&other, &mut values, column, width, height, box_radius);
        }
    }
    let soft = values.into_iter().map(|value| (value + 0.5).clamp(0.0, 255.0) as u8).collect();
    Mask::new(mask.width(), mask.height(), soft).unwrap_or_else(|| mask.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A picture of one row of greys.
    fn row(greys: &[u8]) -> Vec<u8> {
        greys.iter().flat_map(|grey| [*grey, *grey, *grey, 255]).collect()
    }

    fn field(pixels: &[u8], width: usize, wraps: [bool; 2]) -> Field<'_> {
        Field { width, height: pixels.len() / 4 / width, pixels, wraps }
    }

    fn selected(mask: &Mask) -> Vec<usize> {
        mask.pixels().iter().enumerate().filter(|(_, value)| **value > 0).map(|(at, _)| at).collect()
    }

    #[test]
    fn colour_tells_one_part_from_another_and_edges_tell_more() {
        // A slow rise, an edge, and the first grey once more.
        let pixels = row(&[10, 14, 18, 22, 26, 30, 200, 200, 10, 10]);
        let it = field(&pixels, 10, [false; 2]);
        assert_eq!(selected(&it.alike(0, 8)), [0, 1, 2], "by colour it ends on the way");
        assert_eq!(selected(&it.within_edges(0, 12)), [0, 1, 2, 3, 4, 5], "by edges it goes up to the edge, and no further");
        assert_eq!(selected(&it.within_edges(7, 12)), [6, 7]);
        assert_eq!(selected(&it.alike(9, 0)), [8, 9]);
    }

    #[test]
    fn a_selection_crosses_borders_that_continue_each_other() {
        let pixels = row(&[10, 10, 200, 10, 10]);
        assert_eq!(selected(&field(&pixels, 5, [false; 2]).alike(0, 0)), [0, 1]);
        assert_eq!(selected(&field(&pixels, 5, [true, false]).alike(0, 0)), [0, 1, 3, 4]);
        assert_eq!(selected(&field(&pixels, 5, [true, false]).within_edges(0, 8)), [0, 1, 3, 4]);
        // The same upright.
        assert_eq!(selected(&field(&pixels, 1, [false, true]).alike(4, 0)), [0, 1, 3, 4]);
        assert_eq!(selected(&field(&pixels, 1, [true, false]).alike(4, 0)), [3, 4]);
    }

    /// A mask of 40 x 40 with a square from 10 to 30.
    fn square() -> Mask {
        Mask::new(
            40,
            40,
            (0..1600).map(|at| if (10..30).contains(&(at % 40)) && (10..30).contains(&(at / 40)) { 255 } else { 0 }).collect(),
        )
        .unwrap()
    }

    #[test]
    fn a_selection_grows_and_shrinks_by_what_was_asked_for() {
        let at = |mask: &Mask, x: usize| mask.row(20)[x];
        let wider = grown(&square(), 4);
        assert_eq!((at(&wider, 6), at(&wider, 5), at(&wider, 33), at(&wider, 34)), (128, 0, 128, 0));
        assert!(at(&wider, 6) >= 127 && at(&wider, 7) == 255);
        assert!(wider.row(6)[6] == 0 && wider.row(8)[8] == 255, "corners are round");
        let narrower = grown(&square(), -4);
        assert!(at(&narrower, 12) == 0 && at(&narrower, 15) == 255 && at(&narrower, 24) == 255 && at(&narrower, 28) == 0);
        assert_eq!(grown(&square(), -11).bounds(), None);
        assert_eq!((grown(&square(), 0), grown(&Mask::filled(3, 3, 0), 5).bounds()), (square(), None));
        // What reaches the picture's border still does.
        assert!(grown(&Mask::filled(9, 9, 255), -3).pixels().iter().all(|value| *value == 255));
    }

    #[test]
    fn a_soft_edge_lies_around_the_hard_one() {
        let soft = feathered(&square(), 6);
        let row = soft.row(20);
        assert!(row[9] < 128 && row[10] >= 128 && row[3] == 0 && row[17] == 255, "{row:?}");
        assert!(row[..20].is_sorted() && row[20..].iter().rev().is_sorted());
        assert_eq!(feathered(&square(), 0), square());
    }
}
