//! How the processor computes, decided once for each process.

use parking_lot::Mutex;

use crate::devices;
use crate::ffi;
use crate::processor::processor;
use atelier_core::cpu_math::CpuMath;
use atelier_core::device::{Device, DeviceKind};
use atelier_core::placement::{Module, Placement};
use atelier_core::recipe::Recipe;

/// Environment variable with the arithmetic, as [`CpuMath::name`] writes it: for tests, and for
/// programs that are started without flags.
const VARIABLE: &str = "ATELIER_CPU_MATH";
/// Environment variable with 1 where packed weights are kept from step to step whatever the
/// processor, and 0 where they never are: to measure what they gain.
const PACKED_VARIABLE: &str = "ATELIER_KEEP_PACKED";

#[derive(Clone, Copy)]
struct Chosen {
    math: CpuMath,
    /// Somebody asked for an arithmetic.
    is_asked: bool,
}

static CHOSEN: Mutex<Option<Chosen>> = Mutex::new(None);

/// Chooses how the processor computes; `None` is the environment's choice, or the fastest that this
/// processor computes well. Call it before anything of the engine runs: a later call changes
/// nothing, since open models were made for what was chosen. Returns what is used, which is another
/// where the processor lacks instructions. Eight bits are used for models that are so quantised;
/// where nobody asked for them, only for the types that gain. A picture of another one says that it
/// is computed in f32.
#[expect(clippy::must_use_candidate, reason = "it is called for what it chooses")]
pub fn choose_cpu_math(wanted: Option<CpuMath>) -> CpuMath {
    choose(wanted).math
}

fn choose(wanted: Option<CpuMath>) -> Chosen {
    let mut chosen = CHOSEN.lock();
    *chosen.get_or_insert_with(|| {
        let variable = std::env::var(VARIABLE).ok().and_then(|text| text.parse().ok());
        let wanted = wanted.or(variable);
        let math = ffi::set_cpu_math(wanted, processor());
        if let Ok(keeps) = std::env::var(PACKED_VARIABLE) {
            ffi::set_keeps_packed(keeps == "1");
        }
        Chosen { math, is_asked: wanted.is_some() }
    })
}

/// How the processor computes: as chosen, or as fast as it can.
#[must_use]
pub fn cpu_math() -> CpuMath {
    choose_cpu_math(None)
}

/// A name of what the processor computes: under the same one the same work has the same bytes.
pub(crate) fn arithmetic_name() -> &'static str {
    match cpu_math() {
        CpuMath::Int8 if !ffi::is_every_type_in_int8() => "int8-in-part",
        math => math.name(),
    }
}

/// The arithmetic that somebody asked for and that this processor has.
pub(crate) fn asked_cpu_math() -> Option<CpuMath> {
    let Chosen { math, is_asked } = choose(None);
    is_asked.then_some(math)
}

/// Names of the instruction sets of Atelier's own kernels with which the processor computes, such as
/// `avx512` or `amx-bf16`, that of products in eight bits last; none where it computes with the
/// engine's, which is exact.
#[must_use]
pub fn kernels_names() -> Vec<&'static str> {
    // It chooses at the first call.
    let _ = cpu_math();
    ffi::kernels_names()
}

/// Leaves flash attention out where somebody chose exact arithmetic over faster kernels, the
/// diffusion module runs on the processor, and nobody insists on it: the engine's flash attention
/// rounds to 16 bits there, and its own program leaves it out as well. A processor without kernels
/// of ours is exact for want of anything else, and keeps it for the memory that it saves. Returns
/// true where something was changed.
pub(crate) fn leave_out_flash_attention(recipe: &mut Recipe, placement: &Placement) -> bool {
    let runs_on = &placement.assignment(Module::Diffusion).runs_on;
    let on_processor = || {
        let computes = |device: &Device| device.kind == DeviceKind::Cpu || ffi::is_simulated(device);
        devices::list().iter().any(|device| device.name == *runs_on && computes(device))
    };
    let is_chosen = || cpu_math() == CpuMath::Exact && ffi::has_faster_math(processor().allowed);
    let leaves_out = recipe.flash_attention && !recipe.insists_on_flash_attention && is_chosen() && on_processor();
    if leaves_out {
        recipe.flash_attention = false;
    }
    leaves_out
}
