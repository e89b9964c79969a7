//! The transforms of `winograd`: of tiles of the image, of windows, and of sums back to pixels.
//! Loops over neighbours, of which the compiler makes vectors of the enabled instruction set.

use crate::blocks::PANEL_MAX;
use crate::window::Shape;

/// Elements of a transformed tile.
pub(crate) const ELEMENTS: usize = 16;
/// Words by which elements lie further apart than they need to: a cache line, so that the same
/// place of each element is in another set of the caches.
pub(crate) const ELEMENT_GAP: usize = 16;
/// Words from the sums of one element to those of the next.
pub(crate) const SUMS_STRIDE: usize = ROW_BLOCK * TILES + ELEMENT_GAP;
/// Tiles that are computed together.
pub(crate) const TILES: usize = PANEL_MAX;
/// Rows whose sums are transformed back together.
pub(crate) const ROW_BLOCK: usize = 64;
/// Channels whose weights are transformed together.
pub(crate) const CHANNELS: usize = 128;
/// Values of their windows.
pub(crate) const WINDOW_VALUES: usize = 9 * CHANNELS;

/// Neighbouring tiles of one row of tiles, in one panel.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Piece {
    pub(crate) row: usize,
    pub(crate) column: usize,
    pub(crate) length: usize,
    /// Number of the first tile among those of the block.
    pub(crate) start: usize,
    /// First number of the panel, and the numbers of its row.
    pub(crate) panel: usize,
    pub(crate) panel_width: usize,
}

/// Tiles of an image to transform.
pub(crate) struct ImageBlock<'a> {
    pub(crate) shape: &'a Shape,
    pub(crate) image: *const f32,
    pub(crate) channels: usize,
    pub(crate) pieces: &'a [Piece],
    /// For each element the panels, one behind the other: for each channel a row.
    pub(crate) to: *mut f32,
}

/// Sums of one output channel to transform back.
pub(crate) struct SumsBlock<'a> {
    pub(crate) shape: &'a Shape,
    /// For each element `ROW_BLOCK` rows of `TILES` sums.
    pub(crate) sums: *const f32,
    pub(crate) piece: &'a Piece,
    pub(crate) out: *mut f32,
}

/// Words from one element of a transformed image to the next.
pub(crate) const fn image_stride(channels: usize) -> usize {
    channels * TILES + ELEMENT_GAP
}

/// `B' d B` for all tiles and channels of a block.
///
/// # Safety
/// The processor has the instruction set; the block's pointers are valid for its sizes.
#[inline(always)]
pub(crate) unsafe fn transform_image(block: &ImageBlock<'_>) {
    /// Pixels under the tiles of a piece.
    const LINE: usize = 2 * TILES + 2;
    let ImageBlock { shape, channels, .. } = *block;
    let mut padded = [[0.0_f32; LINE]; 4];
    let mut lines = [[0.0_f32; LINE]; 4];
    for channel in 0..channels {
        for piece in block.pieces {
            let count = 2 * piece.length + 2;
            let column = (2 * piece.column).wrapping_sub(shape.padding.0);
            // SAFETY: the lines are inside the image or the buffer; a panel has a row for each
            // channel, and room for whole vectors.
            unsafe {
                let image = block.image.add(channel * shape.width * shape.height);
                let mut from = [std::ptr::null(); 4];
                for (index, (from, padded)) in from.iter_mut().zip(&mut padded).enumerate() {
                    let row = (2 * piece.row + index).wrapping_sub(shape.padding.1);
                    if row < shape.height && column < shape.width && column + count <= shape.width {
                        *from = image.add(row * shape.width + column);
                        continue;
                    }
                    padded[..count].fill(0.0);
                    if row < shape.height {
                        let before = shape.padding.0.saturating_sub(2 * piece.column).min(count);
                        let first = column.wrapping_add(before);
                        let length = shape.width.saturating_sub(first).min(count - before);
                        image.add(row * shape.width).wrapping_add(first).copy_to_nonoverlapping(padded.as_mut_ptr().add(before), length);
                    }
                    *from = padded.as_ptr();
                }
                (0..count).for_each(|i| {
                    let [a, b, c, d] = from.map(|line| *line.add(i));
                    lines[0][i] = a - c;
                    lines[1][i] = b + c;
                    lines[2][i] = c - b;
                    lines[3][i] = b - d;
                });
                let to = block.to.add(piece.panel * channels + channel * piece.panel_width + piece.start - piece.panel);
                for (row, line) in lines.iter().enumerate() {
                    let (mut even, mut odd) = ([0.0_f32; TILES + 1], [0.0_f32; TILES + 1]);
                    for i in 0..=piece.length {
                        even[i] = line[2 * i];
                        odd[i] = line[2 * i + 1];
                    }
                    let element = |column: usize| to.add((4 * row + column) * image_stride(channels));
                    (0..piece.length).for_each(|i| *element(0).add(i) = even[i] - even[i + 1]);
                    (0..piece.length).for_each(|i| *element(1).add(i) = odd[i] + even[i + 1]);
                    (0..piece.length).for_each(|i| *element(2).add(i) = even[i + 1] - odd[i]);
                    (0..piece.length).for_each(|i| *element(3).add(i) = odd[i] - odd[i + 1]);
                }
            }
        }
    }
}

/// `G g G'` for `count` windows of neighbouring channels: elements `stride` values apart.
///
/// # Safety
/// The processor has the instruction set; each element is writable for `count` values.
#[inline(always)]
pub(crate) unsafe fn transform_windows(windows: &[f32; WINDOW_VALUES], count: usize, to: *mut f32, stride: usize) {
    let mut values = [[0.0_f32; CHANNELS]; 9];
    for channel in 0..CHANNELS {
        for (value, values) in values.iter_mut().enumerate() {
            values[channel] = windows[9 * channel + value];
        }
    }
    // Rows of G g, then columns.
    let mut rows = [[0.0_f32; CHANNELS]; 12];
    for column in 0..3 {
        for i in 0..CHANNELS {
            let [a, b, c] = [0, 3, 6].map(|row| values[row + column][i]);
            rows[column][i] = a;
            rows[3 + column][i] = 0.5 * (a + b + c);
            rows[6 + column][i] = 0.5 * (a - b + c);
            rows[9 + column][i] = c;
        }
    }
    for row in 0..4 {
        let mut elements = [[0.0_f32; CHANNELS]; 4];
        for i in 0..CHANNELS {
            let [a, b, c] = [0, 1, 2].map(|column| rows[3 * row + column][i]);
            elements[0][i] = a;
            elements[1][i] = 0.5 * (a + b + c);
            elements[2][i] = 0.5 * (a - b + c);
            elements[3][i] = c;
        }
        for (column, element) in elements.iter().enumerate() {
            // SAFETY: as the caller promises.
            unsafe { element.as_ptr().copy_to_nonoverlapping(to.add((4 * row + column) * stride), count) };
        }
    }
}

/// `A' m A` for the tiles of a piece, written as far as they are inside the result.
///
/// # Safety
/// The processor has the instruction set; the block's pointers are valid for its sizes.
#[inline(always)]
pub(crate) unsafe fn transform_sums(block: &SumsBlock<'_>) {
    let SumsBlock { shape, piece, .. } = *block;
    let mut pixels = [[0.0_f32; 2 * TILES]; 2];
    // SAFETY: there are sums for each tile.
    let sum = |element: usize, tile: usize| unsafe { *block.sums.add(element * SUMS_STRIDE + piece.start + tile) };
    for i in 0..piece.length {
        let (mut upper, mut lower) = ([0.0; 4], [0.0; 4]);
        for column in 0..4 {
            let [a, b, c, d] = [0, 1, 2, 3].map(|row| sum(4 * row + column, i));
            upper[column] = a + b + c;
            lower[column] = b - c - d;
        }
        for (line, [a, b, c, d]) in pixels.iter_mut().zip([upper, lower]) {
            line[2 * i] = a + b + c;
            line[2 * i + 1] = b - c - d;
        }
    }
    let (width, height) = shape.out;
    let count = (2 * piece.length).min(width - 2 * piece.column);
    for (line, pixels) in pixels.iter().enumerate().take(height - 2 * piece.row) {
        // SAFETY: the line is inside the plane.
        unsafe {
            let to = block.out.add((2 * piece.row + line) * width + 2 * piece.column);
            pixels.as_ptr().copy_to_nonoverlapping(to, count);
        }
    }
}
