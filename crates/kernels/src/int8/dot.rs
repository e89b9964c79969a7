//! The operation that the loops are written over.

/// Four products of eight bits for each lane.
///
/// # Safety
/// Of every function: the instruction set is there and pointers have a vector's lanes.
pub(super) trait Dot {
    type Ints: Copy;
    type Floats: Copy;
    /// At most 16.
    const LANES: usize;
    /// Rows of activations at a time, at most 4.
    const TOKENS: usize = 4;
    /// Weights of eight bits have a sign; all others have none.
    const SIGNED: bool;

    unsafe fn load(from: *const u32) -> Self::Ints;
    unsafe fn splat(value: i32) -> Self::Ints;
    /// Adds the products of four weights of each lane and four activations, which are not -128.
    unsafe fn dot(sums: Self::Ints, weights: Self::Ints, activations: i32) -> Self::Ints;
    /// Adds the products of some words of a panel, whose weights have so many bits, and as many words
    /// of activations.
    #[inline(always)]
    unsafe fn dot_words(mut sums: Self::Ints, weights: *const u32, activations: *const u32, words: usize, _bits: u32) -> Self::Ints {
        for word in 0..words {
            // SAFETY: as the caller promises.
            unsafe {
                sums = Self::dot(sums, Self::load(weights.add(word * Self::LANES)), activations.add(word).read().cast_signed());
            }
        }
        sums
    }
    unsafe fn zeros() -> Self::Floats;
    /// `sums + products * (weights * activations)`, the last two rounded once.
    unsafe fn add_scaled(sums: Self::Floats, products: Self::Ints, weights: *const f32, activations: f32) -> Self::Floats;
    /// `sums + weights * activations`, rounded once.
    unsafe fn add_product(sums: Self::Floats, weights: *const f32, activations: f32) -> Self::Floats;
    unsafe fn store(from: Self::Floats, to: *mut f32);
}
