//! How the processor computes, decided once for each process.

use parking_lot::Mutex;

use crate::ffi;
use crate::processor::processor;
use atelier_core::cpu_math::CpuMath;

/// Environment variable with the arithmetic, as [`CpuMath::name`] writes it: for tests, and for
/// programs that are started without flags.
const VARIABLE: &str = "ATELIER_CPU_MATH";

static CHOSEN: Mutex<Option<CpuMath>> = Mutex::new(None);

/// Chooses how the processor computes; `None` is the environment's choice, or the fastest that this
/// processor computes well. Call it before anything of the engine runs: a later call changes
/// nothing, since open models were made for what was chosen. Returns what is used, which is less
/// where the processor lacks instructions.
pub fn choose_cpu_math(wanted: Option<CpuMath>) -> CpuMath {
    let mut chosen = CHOSEN.lock();
    *chosen.get_or_insert_with(|| {
        let variable = std::env::var(VARIABLE).ok().and_then(|text| text.parse().ok());
        ffi::set_cpu_math(wanted.or(variable), processor().allowed)
    })
}

/// How the processor computes: as chosen, or as fast as it can.
#[must_use]
pub fn cpu_math() -> CpuMath {
    choose_cpu_math(None)
}
