//! Which arithmetic of ours suits a processor.

use atelier_core::cpu_math::CpuMath;
use atelier_core::processor::{CpuLevel, Processor};
use atelier_kernels::int8::{Format, Int8Level};
use atelier_kernels::{Level, is_bf16_quicker};

/// What is used where this is wanted: that, or f32 where the processor lacks instructions for it,
/// or what is exact; `None` is the fastest.
pub(super) fn supported(wanted: Option<CpuMath>, processor: Processor) -> CpuMath {
    let allowed = processor.allowed;
    wanted.map_or_else(|| fastest(processor), |wanted| if is_supported(wanted, allowed) { wanted } else { plain(allowed) })
}

/// The instructions for all but products of eight bits; `None` where the engine's own code computes.
pub(super) fn level_of(math: CpuMath, processor: Processor) -> Option<Level> {
    match math {
        CpuMath::Exact => None,
        CpuMath::F32 | CpuMath::Int8 => Some(fastest_f32(processor.allowed)),
        CpuMath::Bf16 => Level::fastest_bf16(),
    }
}

/// True where the processor has instructions for it, and kernels of ours that use them: plain code
/// is slower than ggml's own, and NEON is not measured yet.
fn is_supported(math: CpuMath, allowed: CpuLevel) -> bool {
    let has_ours = matches!(allowed, CpuLevel::Avx2 | CpuLevel::Avx512 | CpuLevel::Avx512Bf16);
    match math {
        CpuMath::Exact => true,
        CpuMath::F32 | CpuMath::Int8 => has_ours,
        CpuMath::Bf16 => allowed == CpuLevel::Avx512Bf16 && Level::fastest_bf16().is_some(),
    }
}

/// Arithmetic without smaller factors.
fn plain(allowed: CpuLevel) -> CpuMath {
    if has_faster_math(allowed) { CpuMath::F32 } else { CpuMath::Exact }
}

/// The fastest arithmetic, which is known and not measured. Eight bits, which change quantised
/// models alone, where some of their types gain and bfloat16 is not quicker than f32; where it is,
/// what eight bits gain over it is not known.
fn fastest(processor: Processor) -> CpuMath {
    let allowed = processor.allowed;
    let is_quick = |math| match math {
        CpuMath::Bf16 => is_bf16_quicker(),
        CpuMath::Int8 => !int8_formats(None, processor).is_empty(),
        CpuMath::Exact | CpuMath::F32 => false,
    };
    let quick = [CpuMath::Bf16, CpuMath::Int8].into_iter().find(|&math| is_supported(math, allowed) && is_quick(math));
    quick.unwrap_or_else(|| plain(allowed))
}

/// True where kernels of ours are faster than the exact arithmetic, with instructions up to
/// `allowed`.
pub(crate) fn has_faster_math(allowed: CpuLevel) -> bool {
    is_supported(CpuMath::F32, allowed)
}

fn fastest_f32(allowed: CpuLevel) -> Level {
    let level = if allowed >= CpuLevel::Avx512 { Level::Avx512 } else { Level::Avx2 };
    level.min(Level::fastest_f32())
}

/// The instructions of eight bits beside those for f32. Dot products of eight bits, which belong to
/// no level below that of bfloat16 but come with many processors that lack it, are used where
/// nobody lowered the level.
pub(super) fn int8_level_of(processor: Processor) -> Int8Level {
    let has_dots = processor.allowed == processor.detected;
    Int8Level::beside(fastest_f32(processor.allowed), has_dots)
}

/// The types of weights that are multiplied in eight bits: all where eight bits are wanted, and those
/// that gain where they are chosen by themselves.
pub(super) fn int8_formats(wanted: Option<CpuMath>, processor: Processor) -> Vec<Format> {
    let (level, beside) = (int8_level_of(processor), fastest_f32(processor.allowed));
    let is_used = |format: &Format| wanted == Some(CpuMath::Int8) || level.gains(*format, beside);
    Format::ALL.into_iter().filter(is_used).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn what_is_wanted_is_used_where_the_processor_has_instructions_for_it() {
        use CpuLevel::{Avx2, Avx512, Baseline};
        for (wanted, allowed, used) in [
            (CpuMath::Exact, Avx512, CpuMath::Exact),
            (CpuMath::F32, Baseline, CpuMath::Exact),
            (CpuMath::Int8, Baseline, CpuMath::Exact),
            (CpuMath::Int8, Avx2, CpuMath::Int8),
            (CpuMath::Bf16, Avx2, CpuMath::F32),
            (CpuMath::Bf16, Avx512, CpuMath::F32),
        ] {
            let processor = Processor { compiled: Baseline, detected: CpuLevel::detected(), allowed };
            assert_eq!(supported(Some(wanted), processor), used, "{wanted} {allowed}");
        }
    }

    #[test]
    fn eight_bits_are_chosen_by_themselves_only_where_a_type_of_weights_gains() {
        for &allowed in CpuLevel::ALL {
            let processor = Processor { compiled: CpuLevel::Baseline, detected: allowed, allowed };
            let lowered = Processor { detected: CpuLevel::ALL.last().copied().unwrap_or(allowed), ..processor };
            for processor in [processor, lowered] {
                let formats = int8_formats(None, processor);
                assert!(fastest(processor) != CpuMath::Int8 || !formats.is_empty(), "{processor:?}");
                // These need dot products.
                assert_eq!(formats.contains(&Format::Q8_0), int8_level_of(processor).has_dots(), "{processor:?}");
                assert_eq!(int8_formats(Some(CpuMath::Int8), processor), Format::ALL, "what is wanted is done");
            }
            // What belongs to a level that may not be used is not used.
            assert!(lowered == processor || !int8_level_of(lowered).has_dots(), "{allowed}");
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn with_avx2_alone_eight_bits_are_chosen_for_weights_of_fewer() {
        if !Int8Level::Avx2.is_available() {
            return;
        }
        let processor = Processor { compiled: CpuLevel::Baseline, detected: CpuLevel::Avx512, allowed: CpuLevel::Avx2 };
        assert_eq!(supported(None, processor), CpuMath::Int8);
        assert_eq!(int8_formats(None, processor), [Format::Q5_0, Format::Q4_0, Format::Q6K, Format::Q5K, Format::Q4K]);
    }
}
