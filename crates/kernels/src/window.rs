//! Sizes of a convolution, and the pixels under its window.

use std::ops::Range;

use crate::blocks::PANEL_MAX;

/// Sizes of a convolution. Pairs are (horizontal, vertical).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Columns of the image.
    pub width: usize,
    /// Rows of the image.
    pub height: usize,
    /// Channels of the image, of all groups together.
    pub channels: usize,
    /// Channels of the result, of all groups together.
    pub out_channels: usize,
    pub kernel: (usize, usize),
    /// Pixels from one window to the next.
    pub stride: (usize, usize),
    /// Zeros before the first column and row; as many as are needed after the last.
    pub padding: (usize, usize),
    /// Pixels from one value of the window to the next.
    pub dilation: (usize, usize),
    /// Columns and rows of the result.
    pub out: (usize, usize),
    /// Parts of the channels that do not see one another.
    pub groups: usize,
}

/// Position in a window: channel, row and column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowPosition {
    pub(crate) channel: usize,
    pub(crate) row: usize,
    pub(crate) column: usize,
}

/// Neighbouring output pixels of one row.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Run {
    pub(crate) row: usize,
    pub(crate) column: usize,
    pub(crate) length: usize,
}

/// A panel to gather: its pixels, and the part of depth.
#[derive(Debug)]
pub(crate) struct PixelPanel<'a> {
    /// First channel of the group.
    pub(crate) image: *const f32,
    pub(crate) shape: &'a Shape,
    /// The pixels; a panel has at most as many runs as pixels.
    pub(crate) runs: [Run; PANEL_MAX],
    pub(crate) run_count: usize,
    pub(crate) vectors: usize,
    /// As [`Kernels::panel_strides`](crate::table::Kernels::panel_strides).
    pub(crate) row_stride: usize,
    pub(crate) vector_stride: usize,
    pub(crate) depth: Range<usize>,
}

impl PixelPanel<'_> {
    /// The position at the start of the depth.
    #[inline(always)]
    pub(crate) fn start(&self) -> WindowPosition {
        let (kernel_width, kernel_height) = self.shape.kernel;
        let (row, column) = (self.depth.start / kernel_width, self.depth.start % kernel_width);
        WindowPosition { channel: row / kernel_height, row: row % kernel_height, column }
    }

    /// The position after `position`.
    #[inline(always)]
    pub(crate) fn next(&self, mut position: WindowPosition) -> WindowPosition {
        position.column += 1;
        if position.column == self.shape.kernel.0 {
            position.column = 0;
            position.row += 1;
            if position.row == self.shape.kernel.1 {
                position.row = 0;
                position.channel += 1;
            }
        }
        position
    }
}
