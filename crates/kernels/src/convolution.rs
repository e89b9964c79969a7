//! Convolution of images in planes (NCHW), as a product: rows are output channels, columns are
//! output pixels, depth is the window.

use std::ops::Range;

use crate::blocks::{DEPTH_MAX, DEPTH_WORDS, PANEL_MAX, PANELS_MAX};
use crate::epilogue::{Axis, Epilogue, Part};
use crate::gemm::{self, Left, Right, Target, Thread, panels};
use crate::lines::{LINE_DEPTH_WORDS, LineBlock, packs_lines};
use crate::packed_weights::Form;
use crate::rows::Rows;
use crate::table::Kernels;
pub use crate::window::Shape;
use crate::window::{PixelPanel, Run};
use crate::winograd;

/// Values of depth that are gathered at once for all panels, about half of them at least.
const MIN_STEP: usize = 8;

#[derive(Clone, Copy, Debug)]
pub struct Convolution<'a> {
    pub shape: &'a Shape,
    /// A row for each output channel: `channels / groups` windows, each row by row.
    pub weights: Rows,
    /// `channels` planes of `height` rows of `width` values.
    pub image: *const f32,
    /// `out_channels` planes of `out.1` rows of `out.0` values.
    pub out: *mut f32,
    /// Applied to the sums; its constants belong to the output channels.
    pub epilogue: Epilogue,
}

impl Convolution<'_> {
    /// Bytes of its weights as they are packed, by all threads together; 0 where they are
    /// transformed. Reads none of them, so channels without weights count.
    #[must_use]
    pub fn packed_bytes(&self, kernels: &Kernels) -> usize {
        let shape = flat(self.shape);
        let (channels, out_channels) = (shape.channels / shape.groups, shape.out_channels / shape.groups);
        if winograd::kernels_for(kernels, &shape, &self.weights, channels, out_channels).is_some() {
            return 0;
        }
        let (depth, depth_block) = if packs_lines(&shape) {
            let lines = Lines { image: self.image, shape: &shape, channels };
            (lines.depth(kernels), lines.depth_block(kernels))
        } else {
            let window = Window { image: self.image, shape: &shape };
            (channels * shape.kernel.0 * shape.kernel.1, window.depth_block(kernels))
        };
        4 * shape.groups * gemm::whole_left_words(kernels, out_channels, depth.div_ceil(depth_block))
    }
}

/// Computes one thread's part of a convolution. The image's last channels are not read where all
/// their weights are zero.
///
/// # Safety
/// The weights, image and result are valid for the sizes named, the result overlaps nothing, and no
/// two threads have the same index.
pub unsafe fn convolve(kernels: &Kernels, convolution: &Convolution<'_>, thread: Thread) {
    let shape = flat(convolution.shape);
    let pixels = shape.out.0 * shape.out.1;
    let (channels, out_channels) = (shape.channels / shape.groups, shape.out_channels / shape.groups);
    let pixels_of_thread = gemm::share(pixels, kernels.lanes, thread);
    for group in 0..shape.groups {
        // SAFETY: the group's rows, channels and planes are parts of what the caller promises.
        unsafe {
            let weights = convolution.weights.offset(group * out_channels * convolution.weights.stride);
            let window = Window { image: convolution.image.add(group * channels * shape.width * shape.height), shape: &shape };
            let out = convolution.out.add(group * out_channels * pixels);
            let used = used_channels(&weights, out_channels, channels, shape.kernel.0 * shape.kernel.1);
            let epilogue = convolution.epilogue.moved_to_row(group * out_channels, pixels);
            let unused = Part { out, stride: pixels, rows: used.out_channels..out_channels, columns: pixels_of_thread.clone() };
            fill(kernels, &epilogue, &unused);
            if used.out_channels == 0 {
                continue;
            }
            let channels = used.channels;
            if let Some(kernels) = winograd::kernels_for(kernels, &shape, &weights, channels, used.out_channels) {
                let UsedChannels { out_channels, .. } = used;
                let group = winograd::Group { shape: &shape, weights, image: window.image, out, channels, out_channels, epilogue };
                winograd::convolve(kernels, &group, thread);
                continue;
            }
            let depth = channels * shape.kernel.0 * shape.kernel.1;
            // For small images of deep layers the weights are the larger factor.
            let (rows, columns) = gemm::part_of(kernels, used.out_channels, pixels, thread);
            let target = Target { out, stride: pixels, rows, columns, accumulate: false, epilogue, constants_of: Axis::Rows };
            if packs_lines(&shape) {
                let lines = Lines { image: window.image, shape: &shape, channels };
                let depth = lines.depth(kernels);
                if kernels.pairs {
                    let weights = PairedWeights { rows: weights, window: lines.window(), channels };
                    gemm::multiply(kernels, &weights, &lines, depth, &target);
                } else {
                    gemm::multiply(kernels, &weights, &lines, depth, &target);
                }
            } else {
                gemm::multiply(kernels, &weights, &window, depth, &target);
            }
        }
    }
}

/// Channels of a convolution, without those at the end whose weights are all zero.
struct UsedChannels {
    out_channels: usize,
    channels: usize,
}

/// The channels that a group's weights use. Models are filled up with zeros to the sizes of their
/// family, and such channels need no product.
///
/// # Safety
/// The weights are readable: `out_channels` rows of `channels` windows of `window` values.
unsafe fn used_channels(weights: &Rows, out_channels: usize, channels: usize, window: usize) -> UsedChannels {
    let mut used = UsedChannels { out_channels: 0, channels: 0 };
    for row in (0..out_channels).rev() {
        // SAFETY: as the caller promises.
        let values = unsafe { weights.count_to_last_nonzero(row, channels * window) };
        if values > 0 {
            used.out_channels = used.out_channels.max(row + 1);
            used.channels = used.channels.max(values.div_ceil(window));
        }
        if used.channels == channels {
            break;
        }
    }
    used
}

/// Writes the sums of channels that have none, which are zeros.
///
/// # Safety
/// As [`Epilogue::apply`].
unsafe fn fill(kernels: &Kernels, epilogue: &Epilogue, part: &Part) {
    /// Values that stay in the first cache.
    const BLOCK: usize = 4096;
    for row in part.rows.clone() {
        for first in part.columns.clone().step_by(BLOCK) {
            let columns = first..part.columns.end.min(first + BLOCK);
            // SAFETY: as the caller promises.
            unsafe {
                part.out.add(row * part.stride + first).write_bytes(0, columns.len());
                epilogue.apply(kernels, Axis::Rows, &Part { rows: row..row + 1, columns, ..part.clone() });
            }
        }
    }
}

/// A window of one pixel that goes over every pixel sees one long row: panels then never end at an
/// image's edge.
fn flat(shape: &Shape) -> Shape {
    let same = shape.kernel == (1, 1) && shape.stride == (1, 1) && shape.padding == (0, 0) && shape.out == (shape.width, shape.height);
    let pixels = shape.width * shape.height;
    if same { Shape { width: pixels, height: 1, out: (pixels, 1), ..*shape } } else { *shape }
}

/// The image as factor B: a column for each output pixel, depth over channels, rows and columns of
/// the window.
struct Window<'a> {
    image: *const f32,
    shape: &'a Shape,
}

impl Right for Window<'_> {
    /// A few channels at a time for all panels: planes are often a power of two apart, so that
    /// their rows drive one another out of the caches.
    unsafe fn pack_block(&self, kernels: &Kernels, columns: &Range<usize>, depth: &Range<usize>, to: *mut u32) {
        let mut all = [const { None }; PANELS_MAX];
        for (slot, (panel, vectors)) in all.iter_mut().zip(panels(kernels, columns)) {
            let offset = (panel.start - columns.start) * DEPTH_WORDS;
            *slot = Some((self.panel(&panel, vectors, kernels.panel_strides(vectors), depth.clone()), offset));
        }
        let window = self.shape.kernel.0 * self.shape.kernel.1;
        // Even, so that no pair of values is divided.
        let step = 2 * window * (MIN_STEP / window).max(1);
        for start in depth.clone().step_by(step) {
            let words = kernels.words_of(start - depth.start);
            for (panel, offset) in all.iter_mut().flatten() {
                panel.depth = start..depth.end.min(start + step);
                // SAFETY: as the caller promises; the panel's row of word 0 is at the offset.
                unsafe { (kernels.pack_pixels)(panel, to.add(*offset + words * panel.row_stride)) };
            }
        }
    }
}

/// The image as factor B where the window goes over every pixel: depth as [`LineBlock`] has it.
struct Lines<'a> {
    image: *const f32,
    shape: &'a Shape,
    channels: usize,
}

impl Lines<'_> {
    /// Values of the window.
    const fn window(&self) -> usize {
        self.shape.kernel.0 * self.shape.kernel.1
    }

    /// Values of depth: whole words.
    const fn depth(&self, kernels: &Kernels) -> usize {
        self.channels.next_multiple_of(channels_of_word(kernels)) * self.window()
    }
}

/// Channels that a word of packed lines holds.
const fn channels_of_word(kernels: &Kernels) -> usize {
    if kernels.pairs { 2 } else { 1 }
}

impl Right for Lines<'_> {
    /// Whole groups of channels.
    fn depth_block(&self, kernels: &Kernels) -> usize {
        LINE_DEPTH_WORDS / self.window() * self.window() * channels_of_word(kernels)
    }

    unsafe fn pack_block(&self, kernels: &Kernels, columns: &Range<usize>, depth: &Range<usize>, to: *mut u32) {
        let mut all = [(0, 0); PANELS_MAX];
        let mut count = 0;
        for (panel, vectors) in panels(kernels, columns) {
            // In tiles each vector is a panel of its own.
            let parts = if kernels.registers.is_some() { vectors } else { 1 };
            for part in 0..parts {
                all[count] = (panel.start - columns.start + part * kernels.lanes, vectors / parts);
                count += 1;
            }
        }
        let group = self.window() * channels_of_word(kernels);
        let block = LineBlock {
            image: self.image,
            shape: self.shape,
            channel_count: self.channels,
            columns: columns.clone(),
            panels: &all[..count],
            groups: depth.start / group..depth.end / group,
        };
        // SAFETY: as the caller promises.
        unsafe { (kernels.pack_lines)(&block, to) };
    }
}

/// A convolution's weights as factor A whose words hold two channels: those of [`Lines`].
struct PairedWeights {
    rows: Rows,
    window: usize,
    channels: usize,
}

impl Left for PairedWeights {
    fn stored(&self) -> (&Rows, Form) {
        (&self.rows, Form::PairedRows { window: self.window, channels: self.channels })
    }

    unsafe fn pack(&self, kernels: &Kernels, rows: Range<usize>, depth: Range<usize>, to: *mut u32, stride: usize) {
        // Rows of the window are read in whole vectors.
        let mut unpacked = [0.0_f32; DEPTH_MAX + PANEL_MAX];
        let source = depth.start..depth.end.min(self.channels * self.window);
        for (i, row) in rows.enumerate() {
            self.rows.ask_ahead(row, &source);
            // SAFETY: as the caller promises; a packed row has room for a vector more than a
            // block's words.
            unsafe {
                unpacked[source.len()..].fill(0.0);
                self.rows.unpack(kernels, row, source.clone(), unpacked.as_mut_ptr());
                (kernels.pair_channels)(unpacked.as_ptr(), self.window, depth.len() / (2 * self.window), to.add(i * stride));
            }
        }
    }
}

impl<'a> Window<'a> {
    /// The pixels of some columns, as runs inside rows.
    fn panel(
        &self,
        columns: &Range<usize>,
        vectors: usize,
        (row_stride, vector_stride): (usize, usize),
        depth: Range<usize>,
    ) -> PixelPanel<'a> {
        let mut panel = PixelPanel {
            image: self.image,
            shape: self.shape,
            runs: [Run::default(); PANEL_MAX],
            run_count: 0,
            vectors,
            row_stride,
            vector_stride,
            depth,
        };
        let width = self.shape.out.0;
        let mut pixel = columns.start;
        while pixel < columns.end {
            let (row, column) = (pixel / width, pixel % width);
            let length = (width - column).min(columns.end - pixel);
            panel.runs[panel.run_count] = Run { row, column, length };
            panel.run_count += 1;
            pixel += length;
        }
        panel
    }
}
