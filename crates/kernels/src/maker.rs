//! What a processor's maker tells of the speed of its instructions.
//!
//! Known and not measured: the arithmetic decides on the last bits of a picture, so it must be the
//! same at each start, whatever else runs.

use std::sync::OnceLock;

use crate::Level;

/// True where products of bfloat16 are quicker than those of AVX-512 in f32, which is by half or
/// more.
#[must_use]
pub fn is_bf16_quicker() -> bool {
    static IS_QUICKER: OnceLock<bool> = OnceLock::new();
    *IS_QUICKER.get_or_init(|| Level::fastest_bf16().is_some_and(|level| multiplies_bf16_quickly(level, maker())))
}

/// AMX multiplies 16 times as many values a second as AVX-512 in f32. Of vectors of bfloat16, AMD's
/// processors multiply twice as many as of f32, and Intel's half as many: they are meant to use
/// AMX. Of others nothing is known.
fn multiplies_bf16_quickly(level: Level, maker: [u8; 12]) -> bool {
    level == Level::AmxBf16 || (level == Level::Avx512Bf16 && maker == *b"AuthenticAMD")
}

/// The maker's name as the processor gives it.
#[cfg(target_arch = "x86_64")]
fn maker() -> [u8; 12] {
    let leaf = std::arch::x86_64::__cpuid(0);
    let mut name = [0; 12];
    for (part, register) in name.chunks_exact_mut(4).zip([leaf.ebx, leaf.edx, leaf.ecx]) {
        part.copy_from_slice(&register.to_le_bytes());
    }
    name
}

#[cfg(not(target_arch = "x86_64"))]
fn maker() -> [u8; 12] {
    [0; 12]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bf16_is_chosen_by_level_and_maker() {
        let quick = |level, maker: &[u8; 12]| multiplies_bf16_quickly(level, *maker);
        assert!(quick(Level::Avx512Bf16, b"AuthenticAMD") && quick(Level::AmxBf16, b"GenuineIntel"));
        assert!(!quick(Level::Avx512Bf16, b"GenuineIntel") && !quick(Level::Avx512, b"AuthenticAMD"));
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_maker_has_a_name() {
        assert!(maker().iter().all(u8::is_ascii_graphic), "{:?}", maker());
    }
}
