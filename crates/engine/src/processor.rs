//! The processor's instruction sets against those that the engine was compiled for. Pure Rust:
//! nothing here runs the engine, so it can be asked before.

use std::sync::OnceLock;

use crate::ffi;
use atelier_core::processor::{Processor, ProcessorError};

static CHOSEN: OnceLock<Processor> = OnceLock::new();

/// Decides which instruction sets this process uses; `variable` is the value of
/// `ATELIER_CPU_LEVEL`. Call it before anything of the engine runs. The sentence returned is a
/// warning.
///
/// # Errors
///
/// This processor cannot run the engine, or the variable names no level that can be used.
pub fn choose_processor(variable: Option<&str>) -> Result<Option<String>, ProcessorError> {
    let (chosen, warning) = Processor::choose(ffi::COMPILED_FOR, variable)?;
    // A second call changes nothing: kernels may have been chosen by the first.
    let _ = CHOSEN.set(chosen);
    Ok(warning)
}

/// The instruction sets that this process uses: those of [`choose_processor`], or of this machine
/// where it was not called.
pub fn processor() -> Processor {
    *CHOSEN.get_or_init(|| {
        let compiled = atelier_core::processor::CpuLevel::highest(|feature| ffi::COMPILED_FOR.contains(&feature));
        let detected = atelier_core::processor::CpuLevel::detected();
        Processor { compiled, detected, allowed: detected }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::processor::is_detected;

    #[test]
    fn everything_that_the_engine_was_compiled_for_can_be_detected() {
        for feature in ffi::COMPILED_FOR {
            assert!(is_detected(feature).is_some(), "{feature}");
        }
        // Tests run where the engine was built.
        assert_eq!(choose_processor(None), Ok(None));
        assert!(processor().allowed >= processor().compiled);
    }
}
