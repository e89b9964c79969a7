//! Loops over rows of values: weights of attention, sums, biases.

use crate::simd::{Simd, exp};
use crate::table::ScoreRow;

/// Replaces scores by `exp(score * scale + mask - maximum)`, where the maximum is that of this row
/// and of those before it. Returns that maximum and the sum of the weights. Values between `count`
/// and the next multiple of the lanes are overwritten.
///
/// # Safety
/// The processor has the instruction set; see [`ScoreRow`] for the pointers.
#[inline(always)]
pub(crate) unsafe fn weigh_scores<S: Simd>(row: &ScoreRow) -> (f32, f32) {
    let &ScoreRow { scores, count, scale, mask, maximum } = row;
    // SAFETY: scores are valid up to the next multiple of the lanes; the mask is read below `count`
    // only.
    unsafe {
        for i in count..count.next_multiple_of(S::LANES) {
            *scores.add(i) = f32::NEG_INFINITY;
        }
        let mut largest = S::splat(f32::NEG_INFINITY);
        let factor = S::splat(scale);
        let full = if mask.is_null() { count.next_multiple_of(S::LANES) } else { count - count % S::LANES };
        let mut at = 0;
        while at < full {
            let mut value = S::mul(S::load(scores.add(at)), factor);
            if !mask.is_null() {
                value = S::add(value, S::load_f16(mask.add(at)));
            }
            S::store(scores.add(at), value);
            largest = S::max(value, largest);
            at += S::LANES;
        }
        let mut maximum = maximum.max(reduce::<S>(largest, f32::NEG_INFINITY, f32::max));
        for i in full..count {
            let value = *scores.add(i) * scale + crate::rows::f16_to_f32(mask.add(i).read_unaligned());
            *scores.add(i) = value;
            maximum = maximum.max(value);
        }
        // A row whose keys are all masked has no weights.
        if maximum == f32::NEG_INFINITY {
            scores.write_bytes(0, count);
            return (maximum, 0.0);
        }
        let shift = S::splat(-maximum);
        let mut sum = S::splat(0.0);
        for at in (0..count).step_by(S::LANES) {
            let weight = exp::<S>(S::add(S::load(scores.add(at)), shift));
            S::store(scores.add(at), weight);
            sum = S::add(sum, weight);
        }
        (maximum, reduce::<S>(sum, 0.0, |a, b| a + b))
    }
}

/// Combines the lanes of a vector.
#[inline(always)]
unsafe fn reduce<S: Simd>(vector: S::Vector, start: f32, combine: fn(f32, f32) -> f32) -> f32 {
    let mut lanes = [start; 16];
    // SAFETY: no vector has more than 16 lanes.
    unsafe { S::store(lanes.as_mut_ptr(), vector) };
    lanes.into_iter().fold(start, combine)
}

/// `to[i] = compute([from[0][i], from[1][i], ...])`; `to` may be one of those that are read. The
/// compiler makes vectors of the enabled instruction set of it, also then: of a block all is read
/// before anything is written, so it need not ask whether they overlap, where it would go value by
/// value.
///
/// # Safety
/// All are valid for `count` values, and `to` is equal to each of the others or apart.
#[inline(always)]
unsafe fn each<const N: usize>(from: [*const f32; N], count: usize, to: *mut f32, compute: impl Fn([f32; N]) -> f32) {
    /// Values of one of the widest registers.
    const BLOCK: usize = 16;
    let whole = count - count % BLOCK;
    // SAFETY: below `count`.
    unsafe {
        for at in (0..whole).step_by(BLOCK) {
            let read = from.map(|from| from.add(at).cast::<[f32; BLOCK]>().read_unaligned());
            let mut written = [0.0; BLOCK];
            for (i, value) in written.iter_mut().enumerate() {
                *value = compute(std::array::from_fn(|which| read[which][i]));
            }
            to.add(at).cast::<[f32; BLOCK]>().write_unaligned(written);
        }
        for at in whole..count {
            *to.add(at) = compute(from.map(|from| *from.add(at)));
        }
    }
}

/// `to[i] = from[i] * factor + offset`; `to` may be `from`.
///
/// # Safety
/// Both are valid for `count` values and equal or apart.
#[inline(always)]
pub(crate) unsafe fn scale_and_offset(from: *const f32, count: usize, factor: f32, offset: f32, to: *mut f32) {
    // SAFETY: as the caller promises.
    unsafe { each([from], count, to, |[value]| value * factor + offset) };
}

/// Multiplies the negative ones of `count` values by `slope`; what is no number becomes 0. The
/// arithmetic of ggml's `relu` and `leaky_relu` (`vec.h`), which adds both halves. A plain loop, of
/// which the compiler makes vectors: there is one pointer.
///
/// # Safety
/// `values` is valid for `count` values.
#[inline(always)]
pub(crate) unsafe fn leaky_relu(values: *mut f32, count: usize, slope: f32) {
    for i in 0..count {
        // SAFETY: below `count`.
        unsafe {
            let value = *values.add(i);
            let positive = if value > 0.0 { value } else { 0.0 };
            // Not multiplied by 0, which would make no number of an infinite one.
            *values.add(i) = if slope == 0.0 { positive } else { positive + slope * if value < 0.0 { value } else { 0.0 } };
        }
    }
}

/// GELU in its form with a hyperbolic tangent, `to[i] = x / (1 + exp(-2 u))` with `u = sqrt(2 / pi) (x +
/// 0.044715 x^3)`; `to` may be `from`. At -10 and below it is 0, as ggml's is. A value does not depend
/// on its neighbours.
///
/// # Safety
/// The processor has the instruction set; both are valid for `count` values and equal or apart.
#[inline(always)]
pub(crate) unsafe fn gelu<S: Simd>(from: *const f32, count: usize, to: *mut f32) {
    /// Values whose powers are computed together.
    const BLOCK: usize = 64;
    /// `2 sqrt(2 / pi)`, and the same times 0.044715.
    const LINEAR: f32 = 1.595_769_2;
    const CUBIC: f32 = 0.071_354_814;
    const LOWEST: f32 = -10.0;
    let mut powers = [0.0_f32; BLOCK];
    for start in (0..count).step_by(BLOCK) {
        let length = BLOCK.min(count - start);
        // SAFETY: below `count`, and a block is whole registers.
        unsafe {
            let (from, to) = (from.add(start), to.add(start));
            for (i, power) in powers.iter_mut().enumerate().take(length) {
                let value = *from.add(i);
                *power = -(value * (LINEAR + CUBIC * (value * value))).abs();
            }
            for at in (0..length).step_by(S::LANES) {
                let power = powers.as_mut_ptr().add(at);
                S::store(power, exp::<S>(S::load(power)));
            }
            each([from, powers.as_ptr()], length, to, |[value, power]| {
                let part = if value < 0.0 { power } else { 1.0 };
                if value <= LOWEST { 0.0 } else { value * (part / (1.0 + power)) }
            });
        }
    }
}

/// `to[i] = combine(from[i], other[i])`; `to` may be `from` or `other`.
///
/// # Safety
/// All are valid for `count` values and equal or apart.
#[inline(always)]
pub(crate) unsafe fn combine(from: *const f32, other: *const f32, count: usize, to: *mut f32, combine: impl Fn(f32, f32) -> f32) {
    // SAFETY: as the caller promises.
    unsafe { each([from, other], count, to, |[value, other]| combine(value, other)) };
}

/// `to[i] = addend[i] + from[i] * factors[i]`, rounded twice; `to` may be one of those.
///
/// # Safety
/// All are valid for `count` values and equal or apart.
#[inline(always)]
pub(crate) unsafe fn add_product(from: *const f32, factors: *const f32, addend: *const f32, count: usize, to: *mut f32) {
    // SAFETY: as the caller promises.
    unsafe { each([from, factors, addend], count, to, |[value, factor, addend]| addend + value * factor) };
}

/// Sum of `count` values, and of the squares of their differences from `centre`, in 32 partial
/// sums.
///
/// # Safety
/// `from` is readable for `count` values.
#[inline(always)]
pub(crate) unsafe fn sums(from: *const f32, count: usize, centre: f32) -> (f32, f32) {
    const PARTS: usize = 32;
    let (mut sum, mut squares) = ([0.0_f32; PARTS], [0.0_f32; PARTS]);
    // SAFETY: below `count`.
    unsafe {
        let mut at = 0;
        while at + PARTS <= count {
            for i in 0..PARTS {
                let value = *from.add(at + i);
                sum[i] += value;
                squares[i] += (value - centre) * (value - centre);
            }
            at += PARTS;
        }
        for i in at..count {
            let value = *from.add(i);
            sum[i - at] += value;
            squares[i - at] += (value - centre) * (value - centre);
        }
    }
    (sum.iter().sum(), squares.iter().sum())
}
