//! Tile registers in plain code, as the pseudo-code of the SDM's pages has them. What faults there
//! panics here.

use super::tile_product::{BELOW, BESIDE, Configuration, REGISTER_ROW_BYTES, REGISTER_ROWS, REGISTERS, TILE_BYTES, TileProduct};

/// A thread's tile registers and their configuration.
#[derive(Debug)]
pub(super) struct TileRegisters {
    /// `None` before LDTILECFG and after TILERELEASE.
    configuration: Option<Configuration>,
    bytes: [[[u8; REGISTER_ROW_BYTES]; REGISTER_ROWS]; REGISTERS],
}

impl TileRegisters {
    pub(super) const fn new() -> Self {
        Self { configuration: None, bytes: [[[0; REGISTER_ROW_BYTES]; REGISTER_ROWS]; REGISTERS] }
    }

    /// True before LDTILECFG and after TILERELEASE.
    pub(super) fn are_released(&self) -> bool {
        self.configuration.is_none()
    }

    /// LDTILECFG
    pub(super) fn configure(&mut self, configuration: &Configuration) {
        let &Configuration { palette, start_row, reserved, row_bytes, rows } = configuration;
        assert_eq!((palette, start_row, reserved), (1, 0, [0; 14]), "palette and reserved bytes");
        assert!(row_bytes[REGISTERS..].iter().all(|&bytes| bytes == 0) && rows[REGISTERS..].iter().all(|&rows| rows == 0), "registers");
        for (&rows, &row_bytes) in rows.iter().zip(&row_bytes) {
            assert!(usize::from(rows) <= REGISTER_ROWS && usize::from(row_bytes) <= REGISTER_ROW_BYTES, "size of a tile");
            assert_eq!(rows == 0, row_bytes == 0, "one of rows and bytes is zero");
        }
        *self = Self { configuration: Some(*configuration), ..Self::new() };
    }

    /// TILERELEASE
    pub(super) fn release(&mut self) {
        *self = Self::new();
    }

    /// Rows and bytes of a row.
    fn shape(&self, register: usize) -> (usize, usize) {
        let Some(configuration) = &self.configuration else { panic!("no tile is configured") };
        let shape = (usize::from(configuration.rows[register]), usize::from(configuration.row_bytes[register]));
        assert!(shape.0 > 0, "tile {register} is not configured");
        shape
    }

    /// TILELOADD: what is beyond the tile's rows and bytes becomes zero.
    ///
    /// # Safety
    /// The rows are readable.
    pub(super) unsafe fn load(&mut self, register: usize, from: *const u8, stride: usize) {
        let (rows, row_bytes) = self.shape(register);
        self.bytes[register] = [[0; REGISTER_ROW_BYTES]; REGISTER_ROWS];
        for (row, bytes) in self.bytes[register][..rows].iter_mut().enumerate() {
            // SAFETY: as the caller promises.
            unsafe { std::ptr::copy_nonoverlapping(from.add(row * stride), bytes.as_mut_ptr(), row_bytes) };
        }
    }

    /// TILEZERO
    pub(super) fn zero(&mut self, register: usize) {
        self.shape(register);
        self.bytes[register] = [[0; REGISTER_ROW_BYTES]; REGISTER_ROWS];
    }

    /// TILESTORED
    ///
    /// # Safety
    /// The rows are writable.
    pub(super) unsafe fn store(&self, register: usize, to: *mut u8, stride: usize) {
        let (rows, row_bytes) = self.shape(register);
        for (row, bytes) in self.bytes[register][..rows].iter().enumerate() {
            // SAFETY: as the caller promises.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.add(row * stride), row_bytes) };
        }
    }

    /// TDPBF16PS: `sums += left right`. Products of two bfloat16 are exact in f32, so a product and
    /// a sum are the fused operation.
    pub(super) fn multiply(&mut self, sums: usize, left: usize, right: usize) {
        self.add(sums, left, right, |before, words| {
            let mut halves = [0.0_f32; 2];
            for (left, right) in words {
                for (half, sum) in halves.iter_mut().enumerate() {
                    let value =
                        |bytes: [u8; 4]| flush(f32::from_bits(u32::from(u16::from_le_bytes([bytes[2 * half], bytes[2 * half + 1]])) << 16));
                    *sum = flush(*sum + value(left) * value(right));
                }
            }
            flush(flush(f32::from_bits(before)) + flush(halves[0] + halves[1])).to_bits()
        });
    }

    /// TDPBSSD: the same with four values of eight bits with a sign, and sums of 32 bits.
    pub(super) fn multiply_int8(&mut self, sums: usize, left: usize, right: usize) {
        self.add(sums, left, right, |before, words| {
            let products = words.flat_map(|(left, right)| left.into_iter().zip(right));
            let sum: i32 = products.map(|(left, right)| i32::from(left.cast_signed()) * i32::from(right.cast_signed())).sum();
            before.wrapping_add_signed(sum)
        });
    }

    /// Replaces each sum by what `add` makes of it and of the words of its row and its column.
    fn add(&mut self, sums: usize, left: usize, right: usize, add: impl Fn(u32, &mut dyn Iterator<Item = ([u8; 4], [u8; 4])>) -> u32) {
        assert!(sums != left && sums != right && left != right, "operands are different registers");
        let ((sum_rows, sum_bytes), (left_rows, left_bytes), (right_rows, right_bytes)) =
            (self.shape(sums), self.shape(left), self.shape(right));
        assert!(left_bytes % 4 == 0 && right_bytes % 4 == 0 && sum_bytes % 4 == 0, "words of a row");
        assert_eq!((sum_rows, sum_bytes, left_bytes / 4), (left_rows, right_bytes, right_rows), "shapes of the operands");
        for row in 0..sum_rows {
            for column in 0..sum_bytes / 4 {
                let word = |register: usize, row: usize, word: usize| self.bytes[register][row].as_chunks::<4>().0[word];
                let mut words = (0..left_bytes / 4).map(|k| (word(left, row, k), word(right, k, column)));
                let sum = add(u32::from_le_bytes(word(sums, row, column)), &mut words);
                self.bytes[sums][row].as_chunks_mut::<4>().0[column] = sum.to_le_bytes();
            }
        }
        for row in 0..REGISTER_ROWS {
            let first_unused = if row < sum_rows { sum_bytes } else { 0 };
            self.bytes[sums][row][first_unused..].fill(0);
        }
    }
}

/// Zero for what is too small for a normal number (FTZ, DAZ).
fn flush(value: f32) -> f32 {
    if value.is_subnormal() { 0.0_f32.copysign(value) } else { value }
}

impl TileRegisters {
    /// As `instructions::run`.
    ///
    /// # Safety
    /// The pointers are valid for the tiles named.
    pub(super) unsafe fn run(&mut self, product: &TileProduct) {
        let &TileProduct { high, wide, steps, left, right, out, out_stride, accumulate } = product;
        let all = (0..high).flat_map(|row| (0..wide).map(move |vector| (row, vector, 2 * row + vector)));
        // SAFETY: as the caller promises.
        unsafe {
            let out = |row: usize, vector: usize| out.add(row * REGISTER_ROWS * out_stride + vector * REGISTER_ROW_BYTES);
            for (row, vector, sums) in all.clone() {
                if accumulate {
                    self.load(sums, out(row, vector), out_stride);
                } else {
                    self.zero(sums);
                }
            }
            for step in 0..steps {
                for (row, vector, sums) in all.clone() {
                    self.load(4, left.add(row * BELOW + step * TILE_BYTES), REGISTER_ROW_BYTES);
                    self.load(6, right.add(vector * BESIDE + step * TILE_BYTES), REGISTER_ROW_BYTES);
                    self.multiply(sums, 4, 6);
                }
            }
            for (row, vector, sums) in all {
                self.store(sums, out(row, vector), out_stride);
            }
        }
    }
}
