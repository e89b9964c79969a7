//! Dot products of AVX-VNNI in plain code, on the vector registers of a thread that a signal
//! interrupted.

use std::array;

/// Bytes of a register.
pub(crate) const VECTOR_BYTES: usize = 32;
/// Of the half of a register that AVX added.
const HALF_BYTES: usize = VECTOR_BYTES / 2;
const REGISTERS: usize = 16;
/// Places of the halves in the saved state, with their bits in [`KNOWN_PARTS`] (SDM volume 1,
/// "Standard format of XSAVE area").
const HALVES: [(usize, u64); 2] = [(160, 1 << 1), (576, 1 << 2)];
/// Place of the bits of what is saved; a part without its bit is all zeros, and may hold anything.
const KNOWN_PARTS: usize = 512;

/// Vector registers as Linux saves them.
pub(crate) struct VectorRegisters(*mut u8);

impl VectorRegisters {
    /// # Safety
    /// `state` is what Linux saved of an interrupted thread, of a processor with AVX.
    pub(crate) unsafe fn new(state: *mut u8) -> Self {
        // SAFETY: as the caller promises.
        unsafe {
            let known = state.add(KNOWN_PARTS).cast::<u64>();
            for (at, bit) in HALVES {
                if known.read() & bit == 0 {
                    state.add(at).write_bytes(0, REGISTERS * HALF_BYTES);
                    known.write(known.read() | bit);
                }
            }
        }
        Self(state)
    }

    /// # Safety
    /// There is such a register.
    pub(crate) unsafe fn read(&self, register: usize) -> [u8; VECTOR_BYTES] {
        let mut bytes = [0; VECTOR_BYTES];
        for (half, (at, _)) in bytes.chunks_exact_mut(HALF_BYTES).zip(HALVES) {
            // SAFETY: as the caller promises.
            unsafe { half.as_mut_ptr().copy_from_nonoverlapping(self.0.add(at + register * HALF_BYTES), HALF_BYTES) };
        }
        bytes
    }

    /// VPDPBUSD: adds to each word of 32 bits the products of four bytes without a sign, of a
    /// register, and four with one.
    ///
    /// # Safety
    /// There are such registers.
    pub(crate) unsafe fn add_products(&self, sums: usize, unsigned: usize, signed: &[u8; VECTOR_BYTES]) {
        // SAFETY: as the caller promises.
        let (mut words, unsigned) = unsafe { (self.read(sums), self.read(unsigned)) };
        let factors = unsigned.as_chunks::<4>().0.iter().zip(signed.as_chunks::<4>().0);
        for (word, (unsigned, signed)) in words.as_chunks_mut::<4>().0.iter_mut().zip(factors) {
            let products: [i32; 4] = array::from_fn(|at| i32::from(unsigned[at]) * i32::from(signed[at].cast_signed()));
            *word = products.into_iter().fold(i32::from_le_bytes(*word), i32::wrapping_add).to_le_bytes();
        }
        for (half, (at, _)) in words.chunks_exact(HALF_BYTES).zip(HALVES) {
            // SAFETY: as the caller promises.
            unsafe { self.0.add(at + sums * HALF_BYTES).copy_from_nonoverlapping(half.as_ptr(), HALF_BYTES) };
        }
    }
}
