//! Packing: copies of parts of the factors in the order in which the innermost loop reads them.

use crate::blocks::{LANES_MAX, PANEL_MAX};
use crate::rows::f16_to_f32;
use crate::simd::{Simd, Words};
use crate::window::{PixelPanel, WindowPosition};

/// Converts `count` values of binary16.
///
/// # Safety
/// The processor has the instruction set; `from` and `to` are valid for `count` values.
#[inline(always)]
pub(crate) unsafe fn unpack_f16<S: Simd>(from: *const u16, count: usize, to: *mut f32) {
    let mut done = 0;
    // SAFETY: all reads and writes are below `count`.
    unsafe {
        while done + S::LANES <= count {
            S::store(to.add(done), S::load_f16(from.add(done)));
            done += S::LANES;
        }
        for i in done..count {
            to.add(i).write_unaligned(f16_to_f32(from.add(i).read_unaligned()));
        }
    }
}

/// Transposes `LANES` rows of `words` words into one column of vectors of a panel.
///
/// # Safety
/// The processor has the instruction set; the rows are readable and the panel is writable for
/// `words` words.
#[inline(always)]
pub(crate) unsafe fn transpose<S: Simd>(from: *const u32, from_stride: usize, words: usize, to: *mut u32, to_stride: usize) {
    let mut done = 0;
    // SAFETY: all reads and writes are below `words`.
    unsafe {
        while done + S::LANES <= words {
            S::transpose(from.add(done), from_stride, to.add(done * to_stride), to_stride);
            done += S::LANES;
        }
        for word in done..words {
            for row in 0..S::LANES {
                *to.add(word * to_stride + row) = *from.add(row * from_stride + word);
            }
        }
    }
}

/// Converts `LANES` rows of `words` values of binary16, `from_stride` bytes apart, and transposes
/// them into one column of vectors of a panel of f32: without leaving the first cache, which rows of
/// a whole block's depth and the panel would not fit in together.
///
/// # Safety
/// The processor has the instruction set; the rows are readable and the panel is writable for
/// `words` words.
#[inline(always)]
pub(crate) unsafe fn transpose_f16<S: Simd>(from: *const u8, from_stride: usize, words: usize, to: *mut u32, to_stride: usize) {
    /// Values of a cache line.
    const LINE: usize = 32;
    #[repr(align(64))]
    struct Square([f32; LANES_MAX * LANES_MAX]);
    let mut square = Square([0.0; LANES_MAX * LANES_MAX]);
    let at = |row: usize, word: usize| from.wrapping_add(row * from_stride + 2 * word).cast::<u16>();
    let mut done = 0;
    // SAFETY: all reads and writes are below `words`; the square has a row for each lane. What is
    // asked for ahead need not exist.
    unsafe {
        while done + S::LANES <= words {
            if done.is_multiple_of(LINE) {
                // The next rows, as `Rows::ask_ahead` does.
                (0..S::LANES).for_each(|row| S::prefetch(at(row + S::LANES, done).cast()));
            }
            for row in 0..S::LANES {
                S::store(square.0.as_mut_ptr().add(row * S::LANES), S::load_f16(at(row, done)));
            }
            S::transpose(square.0.as_ptr().cast(), S::LANES, to.add(done * to_stride), to_stride);
            done += S::LANES;
        }
        for word in done..words {
            for row in 0..S::LANES {
                *to.add(word * to_stride + row) = f16_to_f32(at(row, word).read_unaligned()).to_bits();
            }
        }
    }
}

/// Makes words of two rows of `count` values, a multiple of the lanes.
///
/// # Safety
/// The processor has the instruction set; the rows are readable, `odd` only with pairs, and `to` is
/// writable for `count` words.
#[inline(always)]
pub(crate) unsafe fn pair_rows<W: Words>(even: *const f32, odd: *const f32, count: usize, to: *mut u32) {
    let lanes = W::Unit::LANES;
    // SAFETY: all reads and writes are below `count`.
    unsafe {
        for at in (0..count).step_by(lanes) {
            let second = if W::PAIRS { W::Unit::load(odd.add(at)) } else { W::Unit::splat(0.0) };
            W::Unit::store(to.add(at).cast(), W::pair(W::Unit::load(even.add(at)), second));
        }
    }
}

/// Makes words of `pairs` pairs of windows: value i of the first with value i of the second. In
/// ascending order, so that what is written beyond a pair is overwritten by the next.
///
/// # Safety
/// The processor has the instruction set; a vector more than the windows is readable at `from` and
/// writable at `to`.
#[inline(always)]
pub(crate) unsafe fn pair_channels<W: Words>(from: *const f32, window: usize, pairs: usize, to: *mut u32) {
    for pair in 0..pairs {
        for at in (0..window).step_by(W::Unit::LANES) {
            // SAFETY: as the caller promises.
            unsafe {
                let even = from.add(2 * pair * window + at);
                let words = W::pair(W::Unit::load(even), W::Unit::load(even.add(window)));
                W::Unit::store(to.add(pair * window + at).cast(), words);
            }
        }
    }
}

/// Gathers, for the pixels of a panel and the part of depth that it names, the values under the
/// window, zero outside the image. Without pairs the vectors of a row lie side by side.
///
/// # Safety
/// The processor has the instruction set; the image is readable, and `to` is writable for a row of
/// the panel for each of the depth's words.
#[inline(always)]
pub(crate) unsafe fn pixels<W: Words>(panel: &PixelPanel<'_>, to: *mut u32) {
    let step = if W::PAIRS { 2 } else { 1 };
    let mut rows = [[0.0_f32; PANEL_MAX]; 2];
    let mut position = panel.start();
    // SAFETY: a row is at most PANEL_MAX values; `to` has a row for each word.
    unsafe {
        let mut to = to;
        let mut depth = panel.depth.start;
        while depth < panel.depth.end {
            if W::PAIRS {
                pixel_row::<W::Unit>(panel, position, rows[0].as_mut_ptr());
                position = panel.next(position);
                if depth + 1 < panel.depth.end {
                    pixel_row::<W::Unit>(panel, position, rows[1].as_mut_ptr());
                    position = panel.next(position);
                } else {
                    rows[1] = [0.0; PANEL_MAX];
                }
                for vector in 0..panel.vectors {
                    let at = vector * W::Unit::LANES;
                    let (even, odd) = (rows[0].as_ptr().add(at), rows[1].as_ptr().add(at));
                    pair_rows::<W>(even, odd, W::Unit::LANES, to.add(vector * panel.vector_stride));
                }
            } else {
                pixel_row::<W::Unit>(panel, position, to.cast());
                position = panel.next(position);
            }
            depth += step;
            to = to.add(panel.row_stride);
        }
    }
}

/// The values at one position of the window for each pixel of the panel, then zeros up to the
/// panel's width.
#[inline(always)]
unsafe fn pixel_row<S: Simd>(panel: &PixelPanel<'_>, position: WindowPosition, to: *mut f32) {
    let shape = panel.shape;
    let width = panel.vectors * S::LANES;
    // SAFETY: `lo..hi` are the pixels of a run whose column lies inside the image; the run's row
    // does too.
    unsafe {
        let plane = panel.image.add(position.channel * shape.height * shape.width);
        let mut done = 0;
        for run in &panel.runs[..panel.run_count] {
            let out = to.add(done);
            done += run.length;
            let y = (run.row * shape.stride.1 + position.row * shape.dilation.1).wrapping_sub(shape.padding.1);
            if y >= shape.height {
                out.write_bytes(0, run.length);
                continue;
            }
            let line = plane.add(y * shape.width);
            let x = (run.column * shape.stride.0 + position.column * shape.dilation.0) as isize - shape.padding.0 as isize;
            if shape.stride.0 == 1 {
                let lo = (-x).clamp(0, run.length as isize) as usize;
                let hi = (shape.width as isize - x).clamp(lo as isize, run.length as isize) as usize;
                let from = line.wrapping_offset(x);
                if lo == 0 && hi == width {
                    for vector in 0..panel.vectors {
                        S::store(out.add(vector * S::LANES), S::load(from.add(vector * S::LANES)));
                    }
                    continue;
                }
                out.write_bytes(0, lo);
                copy::<S>(from.wrapping_add(lo), hi - lo, out.add(lo));
                out.add(hi).write_bytes(0, run.length - hi);
            } else {
                for i in 0..run.length {
                    let x = x + (i * shape.stride.0) as isize;
                    out.add(i).write(if (0..shape.width as isize).contains(&x) { *line.offset(x) } else { 0.0 });
                }
            }
        }
        to.add(done).write_bytes(0, width - done);
    }
}

/// Copies a few values without a call.
#[inline(always)]
unsafe fn copy<S: Simd>(from: *const f32, count: usize, to: *mut f32) {
    // SAFETY: all reads and writes are below `count`; vectors overlap at the end, where the same
    // values are written twice.
    unsafe {
        if count >= S::LANES {
            let mut done = 0;
            while done + S::LANES <= count {
                S::store(to.add(done), S::load(from.add(done)));
                done += S::LANES;
            }
            if done < count {
                S::store(to.add(count - S::LANES), S::load(from.add(count - S::LANES)));
            }
        } else {
            for i in 0..count {
                to.add(i).write(*from.add(i));
            }
        }
    }
}
