//! What is done to the sums of a product before they leave the caches: the epilogue, as CUTLASS
//! calls it. Each part is an operation that would otherwise read and write the whole result once
//! more.

use std::ops::Range;

use crate::table::Kernels;

/// Operations on each value of a result, in this order.
#[derive(Clone, Copy, Debug)]
pub struct Epilogue {
    /// Added: one for each output channel of a convolution, or for each feature of a product. Null
    /// for none.
    pub constants: *const f32,
    /// Added: values that lie as those of the result. Null for none.
    pub addend: *const f32,
    /// Factor of what is negative then: 0 is a `ReLU`, 1 changes nothing.
    pub negative_slope: f32,
    /// GELU then.
    pub has_gelu: bool,
}

/// What the constants of an epilogue belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Axis {
    Rows,
    Columns,
}

/// Part of a result to finish.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// `C[0][0]`.
    pub(crate) out: *mut f32,
    /// Values from one row to the next.
    pub(crate) stride: usize,
    pub(crate) rows: Range<usize>,
    pub(crate) columns: Range<usize>,
}

impl Epilogue {
    pub const NONE: Self = Self { constants: std::ptr::null(), addend: std::ptr::null(), negative_slope: 1.0, has_gelu: false };

    /// The same for the part of the result that starts at row `row`, whose rows have a constant
    /// each and `stride` values.
    ///
    /// # Safety
    /// The result has this row.
    pub(crate) unsafe fn moved_to_row(mut self, row: usize, stride: usize) -> Self {
        // SAFETY: as the caller promises.
        unsafe {
            if !self.constants.is_null() {
                self.constants = self.constants.add(row);
            }
            if !self.addend.is_null() {
                self.addend = self.addend.add(row * stride);
            }
        }
        self
    }

    /// Applies it to a part that should be small enough for the caches.
    ///
    /// # Safety
    /// The part is writable, and constants and addend, where there are any, are readable for it.
    pub(crate) unsafe fn apply(&self, kernels: &Kernels, constants_of: Axis, part: &Part) {
        let columns = part.columns.clone();
        for row in part.rows.clone() {
            let start = row * part.stride + columns.start;
            // SAFETY: as the caller promises.
            unsafe {
                let values = part.out.add(start);
                if !self.constants.is_null() {
                    match constants_of {
                        Axis::Rows => (kernels.scale_and_offset)(values, columns.len(), 1.0, *self.constants.add(row), values),
                        Axis::Columns => (kernels.add)(values, self.constants.add(columns.start), columns.len(), values),
                    }
                }
                if !self.addend.is_null() {
                    (kernels.add)(values, self.addend.add(start), columns.len(), values);
                }
                if self.negative_slope.to_bits() != 1.0_f32.to_bits() {
                    (kernels.leaky_relu)(values, columns.len(), self.negative_slope);
                }
                if self.has_gelu {
                    (kernels.gelu)(values, columns.len(), values);
                }
            }
        }
    }
}
