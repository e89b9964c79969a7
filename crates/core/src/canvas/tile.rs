//! Pixels of a layer, in tiles that are shared until they are changed.
//!
//! Invariants: a clone shares all tiles with the original; a tile outside the picture's bounds does
//! not exist; pixels of a tile beyond the picture's edge are transparent.

use std::sync::Arc;

use super::PixelRect;
use crate::recipe::Rgb8;

/// Side of a tile in pixels.
pub const TILE_SIDE: u32 = 256;
/// Most pixels a side of which one of a small look is the mean.
const LOOK_SAMPLES: u64 = 4;
/// Bytes of a tile.
pub(super) const TILE_BYTES: usize = (TILE_SIDE * TILE_SIDE * 4) as usize;

/// The RGBA pixels of one tile, in rows from the top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tile(Vec<u8>);

impl Tile {
    fn transparent() -> Self {
        Self(vec![0; TILE_BYTES])
    }
}

/// RGBA pixels in tiles; a tile that is absent is transparent. Clones share the tiles.
#[derive(Clone, Debug)]
pub struct TileImage {
    width: u32,
    height: u32,
    tiles: Arc<Vec<Option<Arc<Tile>>>>,
}

impl PartialEq for TileImage {
    /// True where all pixels are the same.
    fn eq(&self, other: &Self) -> bool {
        let is_blank = |tile: &Tile| tile.0.iter().all(|byte| *byte == 0);
        let same = |(one, two): (&Option<Arc<Tile>>, &Option<Arc<Tile>>)| match (one, two) {
            (Some(one), Some(two)) => Arc::ptr_eq(one, two) || one == two,
            (Some(tile), None) | (None, Some(tile)) => is_blank(tile),
            (None, None) => true,
        };
        (self.width, self.height) == (other.width, other.height) && self.tiles.iter().zip(other.tiles.iter()).all(same)
    }
}

impl TileImage {
    /// Transparent pixels.
    #[must_use]
    pub fn new(width: u32, height: u32) -> Self {
        let count = width.div_ceil(TILE_SIDE) as usize * height.div_ceil(TILE_SIDE) as usize;
        Self { width, height, tiles: Arc::new(vec![None; count]) }
    }

    /// The pixels of a picture, opaque.
    #[must_use]
    pub fn of_picture(picture: &Rgb8) -> Self {
        let mut image = Self::new(picture.width(), picture.height());
        image.change(image.bounds(), true, |x, y, run| {
            let at = (y as usize * picture.width() as usize + x as usize) * 3;
            for (pixel, rgb) in run.chunks_exact_mut(4).zip(picture.pixels()[at..].chunks_exact(3)) {
                pixel[..3].copy_from_slice(rgb);
                pixel[3] = 255;
            }
        });
        image
    }

    /// Pixels of red, green, blue and opacity, four bytes each; `None` where the number of bytes is
    /// another.
    #[must_use]
    pub fn of_rgba(width: u32, height: u32, pixels: &[u8]) -> Option<Self> {
        if u64::from(width) * u64::from(height) * 4 != pixels.len() as u64 {
            return None;
        }
        let mut image = Self::new(width, height);
        image.change(image.bounds(), true, |x, y, run| {
            let at = (y as usize * width as usize + x as usize) * 4;
            let bytes = run.len();
            run.copy_from_slice(&pixels[at..at + bytes]);
        });
        image.drop_blank_tiles();
        Some(image)
    }

    /// The pixels of `picture` that differ from those of `base`, opaque; all others are
    /// transparent. `None` where the sizes differ.
    #[must_use]
    pub fn of_difference(picture: &Rgb8, base: &Rgb8) -> Option<Self> {
        if (picture.width(), picture.height()) != (base.width(), base.height()) {
            return None;
        }
        let mut image = Self::of_picture(picture);
        image.change(image.bounds(), false, |x, y, run| {
            let at = (y as usize * base.width() as usize + x as usize) * 3;
            for (pixel, rgb) in run.chunks_exact_mut(4).zip(base.pixels()[at..].chunks_exact(3)) {
                if pixel[..3] == *rgb {
                    pixel.fill(0);
                }
            }
        });
        image.drop_blank_tiles();
        Some(image)
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

    /// All of it.
    #[must_use]
    pub const fn bounds(&self) -> PixelRect {
        PixelRect::of_size(self.width, self.height)
    }

    /// Bytes of its tiles, shared ones too.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.tiles.iter().flatten().count() * TILE_BYTES
    }

    /// The smallest rectangle of whole tiles, within the bounds, that holds every pixel that is not
    /// transparent.
    #[must_use]
    pub fn content_bounds(&self) -> PixelRect {
        let present = self.tiles.iter().enumerate().filter(|(_, tile)| tile.is_some());
        present.fold(PixelRect::default(), |bounds, (index, _)| bounds.union(&self.tile_rect(index)))
    }

    /// Rectangles of whole tiles, within the bounds, that hold every tile that is there once, and
    /// no other.
    #[must_use]
    pub fn content_parts(&self) -> Vec<PixelRect> {
        let columns = self.columns().max(1) as usize;
        let mut parts: Vec<PixelRect> = Vec::new();
        for (row, tiles) in self.tiles.chunks(columns).enumerate() {
            let is_there = |column: usize| tiles.get(column).is_some_and(Option::is_some);
            let starts = (0..columns).filter(|column| is_there(*column) && !column.checked_sub(1).is_some_and(is_there));
            for start in starts {
                let end = (start..columns).find(|column| !is_there(*column)).unwrap_or(columns);
                let run = self.tile_rect(row * columns + start).union(&self.tile_rect(row * columns + end - 1));
                let continues = |part: &&mut PixelRect| (part.left, part.width, part.bottom()) == (run.left, run.width, run.top);
                match parts.iter_mut().rev().find(continues) {
                    Some(above) => above.height += run.height,
                    None => parts.push(run),
                }
            }
        }
        parts
    }

    /// One pixel; transparent outside the bounds.
    #[must_use]
    pub fn pixel(&self, x: i32, y: i32) -> [u8; 4] {
        if !self.bounds().contains(x, y) {
            return [0; 4];
        }
        self.run(x as u32, y as u32).map_or([0; 4], |run| [run[0], run[1], run[2], run[3]])
    }

    /// The bytes from a pixel to the right edge of its tile; `None` where the tile is absent. The
    /// pixel lies within the bounds.
    pub(super) fn run(&self, x: u32, y: u32) -> Option<&[u8]> {
        let tile = self.tiles[self.tile_index(x, y)].as_ref()?;
        let row = (y % TILE_SIDE * TILE_SIDE) as usize;
        Some(&tile.0[(row + (x % TILE_SIDE) as usize) * 4..(row + TILE_SIDE as usize) * 4])
    }

    /// Changes the pixels of a rectangle: `change` gets the left pixel of each piece of a row that
    /// lies in one tile, and its RGBA bytes. Absent tiles are made with `creates`, else left out.
    /// Shared tiles are copied first.
    pub fn change(&mut self, rect: PixelRect, creates: bool, mut change: impl FnMut(u32, u32, &mut [u8])) {
        let bounds = self.bounds();
        let rect = rect.intersection(&bounds);
        if rect.is_empty() {
            return;
        }
        let (left, top) = (rect.left as u32 / TILE_SIDE, rect.top as u32 / TILE_SIDE);
        let (right, bottom) = ((rect.right() as u32).div_ceil(TILE_SIDE), (rect.bottom() as u32).div_ceil(TILE_SIDE));
        let columns = self.columns() as usize;
        let tiles = Arc::make_mut(&mut self.tiles);
        for (row, column) in (top..bottom).flat_map(|row| (left..right).map(move |column| (row, column))) {
            let slot = &mut tiles[row as usize * columns + column as usize];
            if slot.is_none() && !creates {
                continue;
            }
            let tile = Arc::make_mut(slot.get_or_insert_with(|| Arc::new(Tile::transparent())));
            let (tile_left, tile_top) = (column * TILE_SIDE, row * TILE_SIDE);
            let first = (rect.left as u32).max(tile_left);
            let last = (rect.right() as u32).min(tile_left + TILE_SIDE);
            for y in (rect.top as u32).max(tile_top)..(rect.bottom() as u32).min(tile_top + TILE_SIDE) {
                let at = (y - tile_top) * TILE_SIDE;
                let range = (at + first - tile_left) as usize * 4..(at + last - tile_left) as usize * 4;
                change(first, y, &mut tile.0[range]);
            }
        }
    }

    /// The RGBA bytes of a rectangle, in rows; transparent outside the bounds.
    #[must_use]
    pub fn read(&self, rect: PixelRect) -> Vec<u8> {
        let mut pixels = vec![0; rect.area() as usize * 4];
        let within = rect.intersection(&self.bounds());
        for y in within.top..within.bottom() {
            let mut x = within.left as u32;
            while x < within.right() as u32 {
                let length = (TILE_SIDE - x % TILE_SIDE).min(within.right() as u32 - x);
                if let Some(run) = self.run(x, y as u32) {
                    let row = (y - rect.top) as usize * rect.width as usize;
                    let at = (row + (x as i32 - rect.left) as usize) * 4;
                    pixels[at..at + length as usize * 4].copy_from_slice(&run[..length as usize * 4]);
                }
                x += length;
            }
        }
        pixels
    }

    /// The same pixels in another frame, given in pixels of this one: what lies outside is lost,
    /// what is new is transparent.
    #[must_use]
    pub fn reframed(&self, frame: PixelRect) -> Self {
        let mut image = Self::new(frame.width, frame.height);
        let content = self.content_bounds().intersection(&frame);
        let target = PixelRect { left: content.left - frame.left, top: content.top - frame.top, ..content };
        image.change(target, true, |x, y, run| {
            let row = PixelRect { left: x as i32 + frame.left, top: y as i32 + frame.top, width: (run.len() / 4) as u32, height: 1 };
            run.copy_from_slice(&self.read(row));
        });
        image.drop_blank_tiles();
        image
    }

    /// The same pixels in another size, for a small look: each is the mean of at most
    /// four a side of those that it stands for, so that a large picture takes no longer.
    #[must_use]
    pub fn reduced(&self, width: u32, height: u32) -> Self {
        let mut image = Self::new(width, height);
        if width == 0 || height == 0 || self.content_bounds().is_empty() {
            return image;
        }
        let places = |at: u32, side: u32, own: u32| {
            let (from, to) = (at as u64 * u64::from(own) / u64::from(side), (u64::from(at) + 1) * u64::from(own) / u64::from(side));
            let length = to.saturating_sub(from).max(1);
            let count = length.min(LOOK_SAMPLES);
            (0..count).map(move |n| (from + (2 * n + 1) * length / (2 * count)).min(u64::from(own) - 1) as i32)
        };
        image.change(image.bounds(), true, |left, y, run| {
            for (x, target) in (left..).zip(run.chunks_exact_mut(4)) {
                let (mut sums, mut alphas, mut count) = ([0_u32; 3], 0_u32, 0_u32);
                for from_y in places(y, height, self.height) {
                    for from_x in places(x, width, self.width) {
                        let pixel = self.pixel(from_x, from_y);
                        let alpha = u32::from(pixel[3]);
                        for (sum, value) in sums.iter_mut().zip(pixel) {
                            *sum += u32::from(value) * alpha;
                        }
                        alphas += alpha;
                        count += 1;
                    }
                }
                if let Some(half) = Some(alphas / 2).filter(|_| alphas > 0) {
                    for (value, sum) in target.iter_mut().zip(sums) {
                        *value = ((sum + half) / alphas) as u8;
                    }
                    target[3] = ((alphas + count / 2) / count) as u8;
                }
            }
        });
        image.drop_blank_tiles();
        image
    }

    /// Drops the tiles without a pixel that is not transparent.
    pub fn drop_blank_tiles(&mut self) {
        for tile in Arc::make_mut(&mut self.tiles) {
            tile.take_if(|tile| tile.0.chunks_exact(4).all(|pixel| pixel[3] == 0));
        }
    }

    /// Bytes of tiles that `other` does not have at the same place.
    #[must_use]
    pub(super) fn bytes_apart(&self, other: &Self) -> usize {
        if Arc::ptr_eq(&self.tiles, &other.tiles) {
            return 0;
        }
        let table = self.tiles.len() * size_of::<Option<Arc<Tile>>>();
        if (self.width, self.height) != (other.width, other.height) {
            return table + self.bytes();
        }
        let apart = self.tiles.iter().zip(other.tiles.iter()).filter(|(one, two)| one.is_some() && !is_same(one.as_ref(), two.as_ref()));
        table + apart.count() * TILE_BYTES
    }

    /// The smallest rectangle of whole tiles that are not shared with `other`, which has the same
    /// size.
    #[must_use]
    pub(super) fn tiles_apart(&self, other: &Self) -> PixelRect {
        if Arc::ptr_eq(&self.tiles, &other.tiles) {
            return PixelRect::default();
        }
        let pairs = self.tiles.iter().zip(other.tiles.iter()).enumerate();
        let apart = pairs.filter(|(_, (one, two))| !is_same(one.as_ref(), two.as_ref()));
        apart.fold(PixelRect::default(), |rect, (index, _)| rect.union(&self.tile_rect(index)))
    }

    const fn columns(&self) -> u32 {
        self.width.div_ceil(TILE_SIDE)
    }

    /// Index of the tile that holds a pixel within the bounds.
    pub(super) const fn tile_index(&self, x: u32, y: u32) -> usize {
        (y / TILE_SIDE) as usize * self.columns() as usize + (x / TILE_SIDE) as usize
    }

    fn tile_rect(&self, index: usize) -> PixelRect {
        let (column, row) = (index as u32 % self.columns(), index as u32 / self.columns());
        let tile = PixelRect { left: (column * TILE_SIDE) as i32, top: (row * TILE_SIDE) as i32, width: TILE_SIDE, height: TILE_SIDE };
        tile.intersection(&self.bounds())
    }
}

fn is_same(one: Option<&Arc<Tile>>, two: Option<&Arc<Tile>>) -> bool {
    match (one, two) {
        (Some(one), Some(two)) => Arc::ptr_eq(one, two),
        (None, None) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(image: &mut TileImage, rect: PixelRect, value: u8) {
        image.change(rect, true, |_, _, run| run.fill(value));
    }

    #[test]
    fn a_clone_shares_every_tile_but_those_that_are_changed() {
        let mut image = TileImage::new(600, 300);
        let all = image.bounds();
        fill(&mut image, all, 9);
        let copy = image.clone();
        assert_eq!(image.bytes_apart(&copy), 0);
        fill(&mut image, PixelRect { left: 255, top: 10, width: 2, height: 2 }, 1);
        assert_eq!(image.tiles_apart(&copy), PixelRect::of_size(512, 256));
        assert_eq!(image.bytes_apart(&copy) / TILE_BYTES, 2);
        assert_eq!((copy.pixel(256, 11), image.pixel(256, 11), image.pixel(600, 0)), ([9; 4], [1; 4], [0; 4]));
    }

    #[test]
    fn what_is_read_is_what_was_written_across_tiles() {
        let mut image = TileImage::new(520, 520);
        let rect = PixelRect { left: 250, top: 250, width: 20, height: 20 };
        image.change(rect, true, |x, y, run| {
            for (n, pixel) in run.chunks_exact_mut(4).enumerate() {
                pixel.copy_from_slice(&[(x as usize + n) as u8, y as u8, 7, 255]);
            }
        });
        let read = image.read(PixelRect { left: 249, top: 255, width: 22, height: 1 });
        assert_eq!(&read[..8], [0, 0, 0, 0, 250, 255, 7, 255]);
        assert_eq!(&read[84..], [0, 0, 0, 0]);
        assert_eq!(image.content_bounds(), PixelRect::of_size(512, 512));
        let outside = image.read(PixelRect { left: -2, top: -2, width: 1, height: 1 });
        assert_eq!(outside, [0; 4]);
    }

    #[test]
    fn parts_hold_every_tile_once_and_no_empty_one() {
        let mut image = TileImage::new(1030, 800);
        let dot = |x, y| PixelRect { left: x, top: y, width: 1, height: 1 };
        for (x, y) in [(0, 0), (300, 0), (0, 300), (300, 300), (1029, 799)] {
            fill(&mut image, dot(x, y), 9);
        }
        let corner = PixelRect { left: 1024, top: 768, width: 6, height: 32 };
        assert_eq!(image.content_parts(), [PixelRect::of_size(512, 512), corner]);
        fill(&mut image, dot(512, 256), 9);
        let parts = image.content_parts();
        assert_eq!(parts.len(), 3);
        let tiles: usize = parts.iter().map(|part| (part.width.div_ceil(TILE_SIDE) * part.height.div_ceil(TILE_SIDE)) as usize).sum();
        assert_eq!(tiles * TILE_BYTES, image.bytes());
        assert_eq!(TileImage::new(5, 5).content_parts(), []);
    }

    #[test]
    fn a_small_look_has_the_mean_of_what_it_stands_for() {
        let mut image = TileImage::new(800, 400);
        fill(&mut image, PixelRect::of_size(400, 400), 200);
        let small = image.reduced(8, 4);
        assert_eq!((small.width(), small.height(), small.pixel(3, 3), small.pixel(4, 0)), (8, 4, [200; 4], [0; 4]));
        assert_eq!(image.reduced(1, 1).pixel(0, 0), [200, 200, 200, 100], "half of it is transparent");
        assert_eq!(TileImage::new(3, 3).reduced(0, 2).width(), 0);
        assert_eq!(image.reduced(1600, 800).pixel(799, 0), [200; 4]);
    }

    #[test]
    fn another_frame_keeps_what_lies_in_it() {
        let mut image = TileImage::new(300, 10);
        fill(&mut image, PixelRect { left: 255, top: 0, width: 2, height: 10 }, 5);
        let wider = image.reframed(PixelRect { left: -100, top: -1, width: 500, height: 12 });
        assert_eq!((wider.pixel(355, 1), wider.pixel(354, 1), wider.pixel(356, 0)), ([5; 4], [0; 4], [0; 4]));
        let back = wider.reframed(PixelRect { left: 100, top: 1, width: 300, height: 10 });
        assert_eq!(back, image);
        assert_eq!(image.reframed(PixelRect::of_size(10, 10)).bytes(), 0);
    }

    #[test]
    fn a_difference_holds_what_is_new_alone() {
        let base = Rgb8::new(2, 1, vec![1, 2, 3, 4, 5, 6]).unwrap();
        let other = Rgb8::new(2, 1, vec![1, 2, 3, 9, 5, 6]).unwrap();
        let image = TileImage::of_difference(&other, &base).unwrap();
        assert_eq!((image.pixel(0, 0), image.pixel(1, 0)), ([0; 4], [9, 5, 6, 255]));
        assert_eq!(TileImage::of_difference(&base, &base).unwrap().bytes(), 0);
        assert!(TileImage::of_difference(&base, &Rgb8::new(1, 1, vec![0; 3]).unwrap()).is_none());
    }
}
