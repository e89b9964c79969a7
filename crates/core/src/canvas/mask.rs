//! Masks: one byte a pixel.

use super::PixelRect;

/// A mask: one byte a pixel in rows from the top; 255 is generated anew (or selected), 0 is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mask {
    width: u32,
    height: u32,
    pixels: Vec<u8>,
}

impl Mask {
    /// A mask of `width * height` bytes; `None` where the number of bytes is another.
    #[must_use]
    pub fn new(width: u32, height: u32, pixels: Vec<u8>) -> Option<Self> {
        (u64::from(width) * u64::from(height) == pixels.len() as u64).then_some(Self { width, height, pixels })
    }

    /// A mask of one value.
    #[must_use]
    pub fn filled(width: u32, height: u32, value: u8) -> Self {
        Self { width, height, pixels: vec![value; width as usize * height as usize] }
    }

    /// Width in pixels.
    #[must_use]
    pub const fn width(&self) -> u32 {
        self.width
    }

    /// Height in pixels.
    #[must_use]
    pub const fn height(&self) -> u32 {
        self.height
    }

    /// The bytes: `width * height`.
    #[must_use]
    pub fn pixels(&self) -> &[u8] {
        &self.pixels
    }

    /// The bytes, to be changed.
    #[must_use]
    pub fn pixels_mut(&mut self) -> &mut [u8] {
        &mut self.pixels
    }

    /// One row; empty below the last.
    #[must_use]
    pub fn row(&self, y: u32) -> &[u8] {
        let start = y as usize * self.width as usize;
        self.pixels.get(start..start + self.width as usize).unwrap_or_default()
    }

    /// The smallest rectangle that holds every pixel above 0; `None` where there is none.
    #[must_use]
    pub fn bounds(&self) -> Option<PixelRect> {
        let mut bounds: Option<(u32, u32, u32, u32)> = None;
        for y in 0..self.height {
            let row = self.row(y);
            let Some(first) = row.iter().position(|value| *value > 0) else { continue };
            let last = row.iter().rposition(|value| *value > 0).unwrap_or(first);
            let (first, last) = (first as u32, last as u32);
            let (left, top, right, _) = bounds.unwrap_or((first, y, last, y));
            bounds = Some((left.min(first), top, right.max(last), y));
        }
        bounds.map(|(left, top, right, bottom)| PixelRect {
            left: left as i32,
            top: top as i32,
            width: right - left + 1,
            height: bottom - top + 1,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bounds_of_a_mask_hold_its_pixels_and_no_more() {
        let mut mask = Mask::filled(5, 4, 0);
        assert_eq!(mask.bounds(), None);
        mask.pixels_mut()[5 + 3] = 1;
        mask.pixels_mut()[2 * 5 + 1] = 255;
        assert_eq!(mask.bounds(), Some(PixelRect { left: 1, top: 1, width: 3, height: 2 }));
        assert!(Mask::new(2, 2, vec![0; 3]).is_none());
    }
}
