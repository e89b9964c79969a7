//! Packing of an image under a window that goes over every pixel: each line of the image is
//! converted once for all columns of the window, and panels are shifted copies of it.

use std::ops::Range;

use crate::blocks::DEPTH_WORDS;
use crate::simd::{Simd, Words};
use crate::window::Shape;

/// Words of depth of a block, at most: a copy may write up to a vector beyond a panel's last row.
pub(crate) const LINE_DEPTH_WORDS: usize = DEPTH_WORDS - 1;
/// Output pixels of a line, at least: shorter ones would be mostly edges.
const MIN_LINE: usize = 8;
/// Output pixels, at least: with fewer, most of the time goes into packing the weights, which is
/// quicker in their own order.
const MIN_PIXELS: usize = 512;
/// Pixels between the first and the last column of a window, at most.
const MAX_REACH: usize = 16;
/// Columns of a block, at most.
const COLUMNS_MAX: usize = 480;
/// Lines of a block's columns, at most: whole ones, and two that are cut.
const LINES_MAX: usize = COLUMNS_MAX / MIN_LINE + 2;
/// Parts of lines in a panel each, at most.
const PIECES_MAX: usize = LINES_MAX + COLUMNS_MAX / 16 + 1;
/// Lanes of the widest register.
const LANES_MAX: usize = 16;
/// Words of all converted lines.
const BUFFER: usize = COLUMNS_MAX + LINES_MAX * (MAX_REACH + 2 * LANES_MAX);

/// True where lines are packed so.
pub(crate) fn packs_lines(shape: &Shape) -> bool {
    let window = shape.kernel.0 * shape.kernel.1;
    let reach = (shape.kernel.0 - 1) * shape.dilation.0;
    shape.stride == (1, 1)
        && shape.out.0 * shape.out.1 >= MIN_PIXELS
        && window > 1
        && 2 * window <= LINE_DEPTH_WORDS
        && shape.out.0 >= MIN_LINE
        && reach <= MAX_REACH
}

/// Columns and channels to pack. Depth is over groups of channels (two with pairs, else one), rows
/// and columns of the window, channels of a group.
#[derive(Debug)]
pub(crate) struct LineBlock<'a> {
    /// First channel.
    pub(crate) image: *const f32,
    pub(crate) shape: &'a Shape,
    /// Channels of the image.
    pub(crate) channel_count: usize,
    /// Output pixels.
    pub(crate) columns: Range<usize>,
    /// The columns' panels: first column after the block's first, and vectors.
    pub(crate) panels: &'a [(usize, usize)],
    pub(crate) groups: Range<usize>,
}

/// Neighbouring output pixels of one row.
#[derive(Clone, Copy, Default)]
struct Line {
    row: usize,
    column: usize,
    length: usize,
    /// First word in the buffer.
    start: usize,
}

/// A part of a line in one panel.
#[derive(Clone, Copy, Default)]
struct Piece {
    /// First word in the buffer, for the window's first column.
    from: usize,
    /// First word in the packed block, for its first row.
    to: usize,
    /// Words from one row of the panel to the next.
    stride: usize,
    vectors: usize,
}

/// Packs a block.
///
/// # Safety
/// The processor has the instruction set; the image is readable, and `to` has [`DEPTH_WORDS`] rows
/// for each panel.
#[inline(always)]
pub(crate) unsafe fn pack_lines<W: Words>(block: &LineBlock<'_>, to: *mut u32) {
    let shape = block.shape;
    let group_size = if W::PAIRS { 2 } else { 1 };
    let reach = (shape.kernel.0 - 1) * shape.dilation.0;
    let mut lines = [Line::default(); LINES_MAX];
    let line_count = lines_of(block, reach, &mut lines);
    let lines = &lines[..line_count];
    let mut pieces = [Piece::default(); PIECES_MAX];
    let piece_count = pieces_of::<W::Unit>(block, lines, &mut pieces);
    let pieces = &pieces[..piece_count];
    let mut buffer = [0_u32; BUFFER];
    let mut word = 0;
    for group in block.groups.clone() {
        let channel = group * group_size;
        for row in 0..shape.kernel.1 {
            for line in lines {
                let y = (line.row + row * shape.dilation.1).wrapping_sub(shape.padding.1);
                let count = line.length + reach;
                let words = &mut buffer[line.start..][..count.next_multiple_of(W::Unit::LANES)];
                if y >= shape.height {
                    words.fill(0);
                    continue;
                }
                // SAFETY: the row is inside the image, of which the group's first channel is a
                // part.
                unsafe {
                    let even = block.image.add((channel * shape.height + y) * shape.width);
                    let odd =
                        if W::PAIRS && channel + 1 < block.channel_count { even.add(shape.height * shape.width) } else { std::ptr::null() };
                    convert::<W>(shape, line.column, even, odd, words);
                }
            }
            for column in 0..shape.kernel.0 {
                let shift = column * shape.dilation.0;
                for piece in pieces {
                    // In ascending order: what is written beyond a piece is overwritten by the
                    // next, at last in an unused row.
                    for vector in 0..piece.vectors {
                        let at = vector * W::Unit::LANES;
                        // SAFETY: the buffer has two vectors after each line; the block has a row
                        // more than is used.
                        unsafe {
                            let value = W::Unit::load(buffer.as_ptr().add(piece.from + shift + at).cast());
                            W::Unit::store(to.add(piece.to + word * piece.stride + at).cast(), value);
                        }
                    }
                }
                word += 1;
            }
        }
    }
}

/// The lines of a block's columns, with places in the buffer.
fn lines_of(block: &LineBlock<'_>, reach: usize, lines: &mut [Line; LINES_MAX]) -> usize {
    let width = block.shape.out.0;
    let (mut pixel, mut start, mut count) = (block.columns.start, 0, 0);
    while pixel < block.columns.end {
        let (row, column) = (pixel / width, pixel % width);
        let length = (width - column).min(block.columns.end - pixel);
        lines[count] = Line { row, column, length, start };
        count += 1;
        start += length + reach + 2 * LANES_MAX;
        pixel += length;
    }
    count
}

/// The parts of lines in panels, in the order of both.
fn pieces_of<S: Simd>(block: &LineBlock<'_>, lines: &[Line], pieces: &mut [Piece; PIECES_MAX]) -> usize {
    let columns = block.columns.len();
    let (mut line, mut in_line, mut count) = (0, 0, 0);
    for (at, &(first, vectors)) in block.panels.iter().enumerate() {
        let end = block.panels.get(at + 1).map_or(columns, |next| next.0);
        let mut column = first;
        while column < end {
            let length = (lines[line].length - in_line).min(end - column);
            pieces[count] = Piece {
                from: lines[line].start + in_line,
                to: first * DEPTH_WORDS + column - first,
                stride: vectors * S::LANES,
                vectors: length.div_ceil(S::LANES),
            };
            count += 1;
            column += length;
            in_line += length;
            if in_line == lines[line].length {
                (line, in_line) = (line + 1, 0);
            }
        }
    }
    count
}

/// Converts the part of an image's row that the window sees from `column` on: zeros outside the
/// image. `odd` is null for none.
///
/// # Safety
/// The processor has the instruction set; `even` and `odd` are rows of the image; the length of
/// `to` is a multiple of the lanes.
#[inline(always)]
unsafe fn convert<W: Words>(shape: &Shape, column: usize, even: *const f32, odd: *const f32, to: &mut [u32]) {
    let lanes = W::Unit::LANES;
    let first = column as isize - shape.padding.0 as isize;
    let mut at = 0;
    while at < to.len() {
        let x = first + at as isize;
        // SAFETY: inside the row by the condition, or copied value by value.
        unsafe {
            let load = |from: *const f32| {
                if from.is_null() {
                    W::Unit::splat(0.0)
                } else if x >= 0 && x as usize + lanes <= shape.width {
                    W::Unit::load(from.offset(x))
                } else {
                    let mut values = [0.0_f32; LANES_MAX];
                    for (i, value) in values[..lanes].iter_mut().enumerate() {
                        let x = x + i as isize;
                        if (0..shape.width as isize).contains(&x) {
                            *value = *from.offset(x);
                        }
                    }
                    W::Unit::load(values.as_ptr())
                }
            };
            let words = W::pair(load(even), if W::PAIRS { load(odd) } else { W::Unit::splat(0.0) });
            W::Unit::store(to.as_mut_ptr().add(at).cast(), words);
        }
        at += lanes;
    }
}
