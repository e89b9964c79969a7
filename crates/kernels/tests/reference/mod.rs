//! Plain loops in f64, and what the tests compare with them.
#![allow(dead_code, reason = "each test file uses a part")]

use atelier_kernels::planes::gelu;
use atelier_kernels::{Epilogue, Kernels, Level, Rows, Thread, Values};

/// The levels of this processor.
pub(crate) fn levels() -> Vec<(Level, &'static Kernels)> {
    Level::ALL.into_iter().filter_map(|level| Some((level, level.kernels()?))).collect()
}

/// Numbers from -1 to 1 that any two machines agree on.
pub(crate) fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / 8_388_608.0 - 1.0
        })
        .collect()
}

/// The nearest bfloat16.
pub(crate) fn bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16) as u16
}

/// The nearest binary16 of a value that is zero or normal there.
pub(crate) fn f16(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16 & 0x8000) as u16;
    let magnitude = bits & 0x7FFF_FFFF;
    if magnitude < 0x3880_0000 {
        return sign;
    }
    let rounded = magnitude + 0xFFF + (magnitude >> 13 & 1);
    sign | ((rounded - 0x3800_0000) >> 13) as u16
}

/// A value as a level's factors hold it.
pub(crate) fn factor(level: Level, value: f32) -> f64 {
    f64::from(if level.rounds_to_bf16() { f32::from_bits(u32::from(bf16(value)) << 16) } else { value })
}

/// How a matrix of a test is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    F32,
    F16,
    Bf16,
    /// Blocks of 32 bytes with one factor.
    Q8,
}

impl Kind {
    pub(crate) const ALL: [Self; 4] = [Self::F32, Self::F16, Self::Bf16, Self::Q8];

    pub(crate) fn block(self) -> usize {
        if self == Self::Q8 { 32 } else { 1 }
    }
}

/// A stored matrix and what it says.
pub(crate) struct Matrix {
    bytes: Vec<u8>,
    offset: usize,
    stride: usize,
    kind: Kind,
    /// Values as stored, row by row.
    pub(crate) values: Vec<f32>,
}

impl Matrix {
    /// `rows` by `columns` values, with `gap` bytes between rows, from an address that is `offset`
    /// bytes off.
    pub(crate) fn new(kind: Kind, rows: usize, columns: usize, gap: usize, offset: usize, seed: u64) -> Self {
        Self::of(kind, &numbers(rows * columns, seed), columns, gap, offset)
    }

    /// Rows of `columns` values each, stored likewise.
    pub(crate) fn of(kind: Kind, wanted: &[f32], columns: usize, gap: usize, offset: usize) -> Self {
        let mut matrix = Self { bytes: vec![0xFF; 64 + offset], offset: 0, stride: 0, kind, values: Vec::new() };
        matrix.offset = matrix.bytes.as_ptr().align_offset(64) + offset;
        let mut stored = Vec::new();
        for row in wanted.chunks(columns) {
            let before = stored.len();
            match kind {
                Kind::F32 => {
                    stored.extend(row.iter().flat_map(|value| value.to_ne_bytes()));
                    matrix.values.extend(row);
                }
                Kind::F16 => {
                    stored.extend(row.iter().flat_map(|&value| f16(value).to_ne_bytes()));
                    matrix.values.extend(row.iter().map(|&value| atelier_kernels::f16_to_f32(f16(value))));
                }
                Kind::Bf16 => {
                    stored.extend(row.iter().flat_map(|&value| bf16(value).to_ne_bytes()));
                    matrix.values.extend(row.iter().map(|&value| f32::from_bits(u32::from(bf16(value)) << 16)));
                }
                Kind::Q8 => {
                    for block in row.chunks(32) {
                        let scale = 1.0_f32 / 127.0;
                        stored.extend(scale.to_ne_bytes());
                        stored.extend(block.iter().map(|value| (value / scale) as i8 as u8));
                        matrix.values.extend(block.iter().map(|value| (value / scale) as i8 as f32 * scale));
                    }
                }
            }
            matrix.stride = stored.len() - before + gap;
            stored.extend(std::iter::repeat_n(0xFF, gap));
        }
        // Reserved at once, so that the offset stays what it is.
        let mut bytes = vec![0xFF_u8; stored.len() + 128 + offset];
        matrix.offset = bytes.as_ptr().align_offset(64) + offset;
        bytes[matrix.offset..matrix.offset + stored.len()].copy_from_slice(&stored);
        matrix.bytes = bytes;
        matrix
    }

    pub(crate) fn rows(&self) -> Rows {
        let values = match self.kind {
            Kind::F32 => Values::F32,
            Kind::F16 => Values::F16,
            Kind::Bf16 => Values::Bf16,
            Kind::Q8 => Values::Blocks { values: 32, bytes: 36, unpack: unpack_q8 },
        };
        Rows { data: self.bytes[self.offset..].as_ptr(), stride: self.stride, values }
    }
}

unsafe extern "C" fn unpack_q8(from: *const std::ffi::c_void, to: *mut f32, count: i64) {
    for i in 0..count as usize {
        let block = unsafe { from.cast::<u8>().add(i / 32 * 36) };
        let scale = unsafe { block.cast::<f32>().read_unaligned() };
        unsafe { *to.add(i) = *block.add(4 + i % 32).cast::<i8>() as f32 * scale };
    }
}

/// An epilogue whose values live as long as it.
#[derive(Clone, Copy)]
pub(crate) struct EpilogueOf<'a> {
    pub(crate) constants: Option<&'a [f32]>,
    pub(crate) addend: Option<&'a [f32]>,
    pub(crate) negative_slope: f32,
    pub(crate) has_gelu: bool,
}

impl<'a> EpilogueOf<'a> {
    /// Every combination of its parts.
    pub(crate) fn all(constants: &'a [f32], addend: &'a [f32]) -> Vec<Self> {
        let mut all = Vec::new();
        for constants in [None, Some(constants)] {
            for addend in [None, Some(addend)] {
                all.extend([1.0, 0.0, 0.2].map(|negative_slope| Self { constants, addend, negative_slope, has_gelu: false }));
                all.push(Self { constants, addend, negative_slope: 1.0, has_gelu: true });
            }
        }
        all
    }

    pub(crate) fn pointers(&self) -> Epilogue {
        let pointer = |values: Option<&[f32]>| values.map_or(std::ptr::null(), <[f32]>::as_ptr);
        Epilogue {
            constants: pointer(self.constants),
            addend: pointer(self.addend),
            negative_slope: self.negative_slope,
            has_gelu: self.has_gelu,
        }
    }

    /// What becomes of a sum at `index` of the result, to which constant `constant` belongs.
    pub(crate) fn value(&self, kernels: &Kernels, sum: f32, constant: usize, index: usize) -> f32 {
        let sum = sum + self.constants.map_or(0.0, |values| values[constant]);
        let sum = sum + self.addend.map_or(0.0, |values| values[index]);
        let mut value = if sum < 0.0 { sum * self.negative_slope } else { sum };
        if self.has_gelu {
            unsafe { gelu(kernels, &raw const value, 1, &raw mut value) };
        }
        value
    }
}

/// Calls `work` once for each of `count` threads, each on a thread of its own.
pub(crate) fn on_threads(count: usize, work: impl Fn(Thread) + Sync) {
    std::thread::scope(|scope| {
        for index in 0..count {
            let work = &work;
            scope.spawn(move || work(Thread { index, count }));
        }
    });
}

/// A pointer that threads of a test share.
#[derive(Clone, Copy)]
pub(crate) struct Shared<T>(pub(crate) *mut T);
unsafe impl<T> Send for Shared<T> {}
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    pub(crate) fn get(self) -> *mut T {
        self.0
    }
}

/// The rounding that sums of `depth` products may have.
fn allowed(depth: usize) -> f64 {
    3e-7 * (depth as f64 + 8.0)
}

/// True where every value of `got` is as close to `wanted` as the rounding of sums of `depth`
/// products allows.
pub(crate) fn is_close(got: &[f32], wanted: &[f64], depth: usize) -> bool {
    got.len() == wanted.len() && got.iter().zip(wanted).all(|(&got, &wanted)| (f64::from(got) - wanted).abs() <= allowed(depth))
}

/// Panics where [`is_close`] is false.
pub(crate) fn assert_close(got: &[f32], wanted: &[f64], depth: usize, what: &str) {
    assert_eq!(got.len(), wanted.len(), "{what}");
    let allowed = allowed(depth);
    for (i, (&got, &wanted)) in got.iter().zip(wanted).enumerate() {
        assert!((f64::from(got) - wanted).abs() <= allowed, "{what}: value {i} is {got}, not {wanted}");
    }
}
