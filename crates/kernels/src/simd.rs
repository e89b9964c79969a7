//! What the algorithms need of an instruction set, and what they need of the form in which factors
//! are multiplied.

/// A vector unit's operations on f32. Every function is inlined into a function that enables the
/// instruction set.
///
/// # Safety
/// All functions: the processor has the instruction set, and pointers are valid for the elements
/// named; none needs an alignment.
pub(crate) trait Simd {
    /// A register of [`LANES`](Self::LANES) f32.
    type Vector: Copy;
    /// Values in a register.
    const LANES: usize;
    /// Rows of a register tile.
    const TILE_ROWS: usize;
    /// Vectors of a tile's row, at most 3: the sums of all rows, one row of factors and two
    /// broadcast values fill the registers.
    const TILE_VECTORS: usize;

    unsafe fn splat(value: f32) -> Self::Vector;
    /// Reads `LANES` values.
    unsafe fn load(from: *const f32) -> Self::Vector;
    /// Writes `LANES` values.
    unsafe fn store(to: *mut f32, value: Self::Vector);
    unsafe fn add(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    unsafe fn mul(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    unsafe fn max(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// `a * b + c`
    unsafe fn mul_add(a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;
    /// The nearest whole number.
    unsafe fn round(a: Self::Vector) -> Self::Vector;
    /// 2 to the power of `a`, a whole number from -126 to 127.
    unsafe fn exp2_whole(a: Self::Vector) -> Self::Vector;
    /// Reads `LANES` values of binary16.
    unsafe fn load_f16(from: *const u16) -> Self::Vector;
    /// Transposes a square of `LANES` by `LANES` words. Strides are in words.
    unsafe fn transpose(from: *const u32, from_stride: usize, to: *mut u32, to_stride: usize);
    /// Asks for the cache line at `address`, which need not be valid.
    unsafe fn prefetch(address: *const f32);
}

/// The form of factors in packed blocks: words of 32 bits, each one f32 or two neighbours in depth
/// as bfloat16.
///
/// # Safety
/// As in [`Simd`].
pub(crate) trait Words {
    type Unit: Simd;
    /// A word holds two values.
    const PAIRS: bool;

    /// `sum + a * b`, or with pairs `sum + a0 * b0 + a1 * b1`, in each lane.
    unsafe fn multiply(a: Vector<Self>, b: Vector<Self>, sum: Vector<Self>) -> Vector<Self>;
    /// Writes `count` values as words; the second half of the last word is zero where `count` is
    /// odd.
    unsafe fn pack(from: *const f32, count: usize, to: *mut u32);
    /// With pairs: words of lane i are `(even[i], odd[i])`. Without: `even`.
    unsafe fn pair(even: Vector<Self>, odd: Vector<Self>) -> Vector<Self>;
}

/// The register of a form's vector unit.
pub(crate) type Vector<W> = <<W as Words>::Unit as Simd>::Vector;

/// Words that are f32, for any vector unit.
pub(crate) struct Single<S>(std::marker::PhantomData<S>);

impl<S: Simd> Words for Single<S> {
    type Unit = S;
    const PAIRS: bool = false;

    #[inline(always)]
    unsafe fn multiply(a: S::Vector, b: S::Vector, sum: S::Vector) -> S::Vector {
        // SAFETY: as the caller promises.
        unsafe { S::mul_add(a, b, sum) }
    }

    #[inline(always)]
    unsafe fn pack(from: *const f32, count: usize, to: *mut u32) {
        // SAFETY: as the caller promises; packed blocks never overlap their sources.
        unsafe { std::ptr::copy_nonoverlapping(from.cast(), to, count) }
    }

    #[inline(always)]
    unsafe fn pair(even: S::Vector, _odd: S::Vector) -> S::Vector {
        even
    }
}

/// The natural exponential function for arguments up to 0, with a relative error below 2e-7; 0
/// below -87.
///
/// # Safety
/// As in [`Simd`].
#[inline(always)]
pub(crate) unsafe fn exp<S: Simd>(x: S::Vector) -> S::Vector {
    // x = n ln 2 + r with |r| <= ln 2 / 2; e^r by its Taylor polynomial of degree 7.
    // SAFETY: as the caller promises.
    unsafe {
        let x = S::max(x, S::splat(-87.3));
        let n = S::round(S::mul(x, S::splat(std::f32::consts::LOG2_E)));
        // ln 2 in two parts, so that the subtraction is exact.
        let r = S::mul_add(n, S::splat(-0.693_359_4), x);
        let r = S::mul_add(n, S::splat(2.121_944_4e-4), r);
        let mut p = S::splat(1.0 / 5040.0);
        for coefficient in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
            p = S::mul_add(p, r, S::splat(coefficient));
        }
        S::mul(p, S::exp2_whole(n))
    }
}
