//! Rectangles of whole pixels.

use serde::{Deserialize, Serialize};

/// A rectangle of whole pixels. `left` and `top` may be negative: an extended picture begins before
/// its first pixel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PixelRect {
    /// Left edge in pixels.
    pub left: i32,
    /// Top edge in pixels.
    pub top: i32,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
}

impl PixelRect {
    /// A rectangle at the origin.
    #[must_use]
    pub const fn of_size(width: u32, height: u32) -> Self {
        Self { left: 0, top: 0, width, height }
    }

    /// The rectangle between two corners; empty where the second does not lie right of and below
    /// the first.
    #[must_use]
    pub fn between((left, top): (i32, i32), (right, bottom): (i32, i32)) -> Self {
        let side = |from: i32, to: i32| u32::try_from(i64::from(to) - i64::from(from)).unwrap_or(0);
        Self { left, top, width: side(left, right), height: side(top, bottom) }
    }

    /// The first column right of it.
    #[must_use]
    pub fn right(&self) -> i32 {
        self.left.saturating_add_unsigned(self.width)
    }

    /// The first row below it.
    #[must_use]
    pub fn bottom(&self) -> i32 {
        self.top.saturating_add_unsigned(self.height)
    }

    /// True where it holds no pixel.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.width == 0 || self.height == 0
    }

    /// The number of its pixels.
    #[must_use]
    pub const fn area(&self) -> u64 {
        self.width as u64 * self.height as u64
    }

    /// True where the pixel lies in it.
    #[must_use]
    pub fn contains(&self, x: i32, y: i32) -> bool {
        x >= self.left && y >= self.top && x < self.right() && y < self.bottom()
    }

    /// What both have; empty where they do not overlap.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let least = (self.left.max(other.left), self.top.max(other.top));
        Self::between(least, (self.right().min(other.right()), self.bottom().min(other.bottom())))
    }

    /// The smallest rectangle that holds both; the other one where one is empty.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        if self.is_empty() {
            return *other;
        }
        if other.is_empty() {
            return *self;
        }
        let least = (self.left.min(other.left), self.top.min(other.top));
        Self::between(least, (self.right().max(other.right()), self.bottom().max(other.bottom())))
    }

    /// Grown by so many pixels on each side.
    #[must_use]
    pub fn expanded(&self, by: u32) -> Self {
        let least = (self.left.saturating_sub_unsigned(by), self.top.saturating_sub_unsigned(by));
        Self::between(least, (self.right().saturating_add_unsigned(by), self.bottom().saturating_add_unsigned(by)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rectangles_intersect_and_unite() {
        let (a, b) = (PixelRect { left: -4, top: 0, width: 10, height: 5 }, PixelRect { left: 2, top: 3, width: 10, height: 5 });
        assert_eq!(a.intersection(&b), PixelRect { left: 2, top: 3, width: 4, height: 2 });
        assert_eq!(a.union(&b), PixelRect { left: -4, top: 0, width: 16, height: 8 });
        assert!(a.intersection(&PixelRect { left: 6, top: 0, width: 1, height: 1 }).is_empty());
        assert_eq!(PixelRect::default().union(&b), b);
        assert!(a.contains(-4, 4) && !a.contains(6, 0));
    }
}
