//! Instruction sets of the processor: the levels that code is compiled for, and which of them this
//! machine has.

use std::fmt;

use atelier_language::tr;

use crate::advice::Advice;

/// Environment variable with the highest level that the program may use, as [`CpuLevel::name`]
/// writes it.
pub const CPU_LEVEL_VARIABLE: &str = "ATELIER_CPU_LEVEL";

/// A set of processor instructions that code is compiled for. Each contains those before it on the
/// same architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CpuLevel {
    /// The instructions that every 64-bit processor of the architecture has: SSE2 on x86-64, NEON
    /// on ARM.
    Baseline,
    /// AVX2, FMA, F16C and BMI2: Intel since 2013, AMD since 2015. The floor of packaged builds on
    /// x86-64.
    Avx2,
    /// AVX-512 F, CD, BW, DQ and VL.
    Avx512,
    /// AVX-512 with VNNI and BF16: AMD since 2022, Intel's servers since 2023.
    Avx512Bf16,
    /// Dot products of 8-bit integers on ARM.
    DotProduct,
    /// Matrix products of 8-bit integers on ARM.
    Int8Matrix,
}

impl CpuLevel {
    /// The levels of the architecture that this program is compiled for, from the lowest.
    pub const ALL: &'static [Self] = if cfg!(target_arch = "x86_64") {
        &[Self::Baseline, Self::Avx2, Self::Avx512, Self::Avx512Bf16]
    } else if cfg!(target_arch = "aarch64") {
        &[Self::Baseline, Self::DotProduct, Self::Int8Matrix]
    } else {
        &[Self::Baseline]
    };

    /// Its name in [`CPU_LEVEL_VARIABLE`] and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Baseline if cfg!(target_arch = "x86_64") => "x86-64",
            Self::Baseline if cfg!(target_arch = "aarch64") => "neon",
            Self::Baseline => "baseline",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::Avx512Bf16 => "avx512-bf16",
            Self::DotProduct => "dotprod",
            Self::Int8Matrix => "i8mm",
        }
    }

    /// The level of this name on this architecture, in letters of either size.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|level| level.name().eq_ignore_ascii_case(name.trim()))
    }

    /// The features that it adds to the level before it, as [`is_detected`] names them.
    #[must_use]
    pub const fn features(self) -> &'static [&'static str] {
        match self {
            Self::Baseline => &[],
            Self::Avx2 => &["sse4.2", "avx", "avx2", "fma", "f16c", "bmi2"],
            Self::Avx512 => &["avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"],
            Self::Avx512Bf16 => &["avx512vnni", "avx512bf16"],
            Self::DotProduct => &["dotprod"],
            Self::Int8Matrix => &["i8mm"],
        }
    }

    /// The highest level of which `has` every feature.
    #[must_use]
    pub fn highest(has: impl Fn(&str) -> bool) -> Self {
        let complete = Self::ALL.iter().copied().take_while(|level| level.features().iter().all(|feature| has(feature)));
        complete.last().unwrap_or(Self::Baseline)
    }

    /// The highest level of this machine, its system included: AVX counts where the system saves
    /// its registers.
    #[must_use]
    pub fn detected() -> Self {
        Self::highest(|feature| is_detected(feature) == Some(true))
    }
}

impl fmt::Display for CpuLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Defines [`is_detected`] from the names that this architecture's detection knows.
macro_rules! detection {
    ($($architecture:literal $macro:ident [$($feature:tt)*])*) => {
        /// True where this processor and its system have the feature; `None` for a name that this
        /// architecture does not know.
        #[must_use]
        pub fn is_detected(feature: &str) -> Option<bool> {
            $(#[cfg(target_arch = $architecture)]
            {
                use std::arch::$macro;
                match feature {
                    $($feature => return Some($macro!($feature)),)*
                    _ => {}
                }
            })*
            let _ = feature;
            None
        }
    };
}

detection! {
    "x86_64" is_x86_feature_detected [
        "sse3" "ssse3" "sse4.1" "sse4.2" "sse4a" "popcnt" "lzcnt" "movbe" "bmi1" "bmi2" "avx" "avx2" "fma" "f16c" "avxvnni" "gfni" "vaes"
        "vpclmulqdq" "avx512f" "avx512cd" "avx512bw" "avx512dq" "avx512vl" "avx512ifma" "avx512vbmi" "avx512vbmi2" "avx512vnni"
        "avx512bitalg" "avx512vpopcntdq" "avx512vp2intersect" "avx512bf16" "avx512fp16"
    ]
    "aarch64" is_aarch64_feature_detected ["neon" "fp16" "dotprod" "i8mm" "bf16" "sve" "sve2"]
}

/// The levels of one start of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processor {
    /// The level that the engine was compiled for: it computes with this one.
    pub compiled: CpuLevel,
    /// The level of this machine.
    pub detected: CpuLevel,
    /// The highest level that code which chooses at run time may use: `detected`, or what
    /// [`CPU_LEVEL_VARIABLE`] names.
    pub allowed: CpuLevel,
}

/// The program cannot compute on this processor, or not as it was told to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessorError {
    /// The processor lacks features that the engine was compiled for, or the variable asks for a
    /// level below them.
    Unsuitable(Advice),
    /// The variable names no level.
    UnknownLevel(Advice),
}

impl ProcessorError {
    /// Its words.
    #[must_use]
    pub const fn advice(&self) -> &Advice {
        match self {
            Self::Unsuitable(advice) | Self::UnknownLevel(advice) => advice,
        }
    }
}

impl Processor {
    /// Compares this machine with `compiled_for`, the features that the engine was compiled for,
    /// and with `variable`, the value of [`CPU_LEVEL_VARIABLE`]. The sentence beside the levels is
    /// a warning.
    ///
    /// # Errors
    ///
    /// The processor lacks one of `compiled_for`, or the variable names no level or one below them.
    pub fn choose(compiled_for: &[&str], variable: Option<&str>) -> Result<(Self, Option<String>), ProcessorError> {
        Self::choose_with(compiled_for, variable, |feature| is_detected(feature) == Some(true))
    }

    fn choose_with(
        compiled_for: &[&str],
        variable: Option<&str>,
        has: impl Fn(&str) -> bool,
    ) -> Result<(Self, Option<String>), ProcessorError> {
        let compiled = CpuLevel::highest(|feature| compiled_for.contains(&feature));
        let missing: Vec<&str> = compiled_for.iter().copied().filter(|feature| !has(feature)).collect();
        if !missing.is_empty() {
            return Err(ProcessorError::Unsuitable(lacks(&missing, compiled_for)));
        }
        let detected = CpuLevel::highest(has);
        let Some(name) = variable.filter(|it| !it.trim().is_empty()) else {
            return Ok((Self { compiled, detected, allowed: detected }, None));
        };
        let Some(forced) = CpuLevel::from_name(name) else {
            let names: Vec<&str> = CpuLevel::ALL.iter().map(|level| level.name()).collect();
            let sentence = tr!("core-is-not-an-instruction", cpu_level_variable = CPU_LEVEL_VARIABLE, name = name.trim());
            return Err(ProcessorError::UnknownLevel(Advice::new(sentence, tr!("core-use-one-of", names = names.join(", ")))));
        };
        if forced < compiled {
            let sentence = tr!("core-this-build-of-atelier", compiled, cpu_level_variable = CPU_LEVEL_VARIABLE, forced);
            let hint = tr!("core-set-it-to-or", compiled);
            return Err(ProcessorError::Unsuitable(Advice::new(sentence, hint)));
        }
        let warning = (forced > detected).then(|| tr!("core-is-but-this-cpu", cpu_level_variable = CPU_LEVEL_VARIABLE, forced, detected));
        Ok((Self { compiled, detected, allowed: forced.min(detected) }, warning))
    }
}

/// Words for a processor without the `missing` ones of the features `compiled_for`.
fn lacks(missing: &[&str], compiled_for: &[&str]) -> Advice {
    let is_floor = |feature: &&str| CpuLevel::Avx2.features().contains(feature);
    // The names that are printed on boxes; the rest comes and goes with them.
    let known: Vec<&str> = ["avx2", "fma", "f16c", "avx512f"].into_iter().filter(|name| missing.contains(name)).collect();
    let named = if known.is_empty() { missing } else { &known };
    let names = named.iter().map(|name| name.to_uppercase()).collect::<Vec<_>>().join(", ");
    let sentence = tr!("core-this-computers-cpu-cannot", names);
    let hint = if compiled_for.iter().all(is_floor) { tr!("core-atelier-needs-a-cpu") } else { tr!("core-this-atelier-was-built") };
    Advice::new(sentence, hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_of_a_level_can_be_detected() {
        for level in CpuLevel::ALL {
            assert_eq!(CpuLevel::from_name(&level.name().to_uppercase()), Some(*level));
            for feature in level.features() {
                assert!(is_detected(feature).is_some(), "{feature}");
            }
        }
        assert_eq!((is_detected("telepathy"), CpuLevel::from_name("pentium")), (None, None));
    }

    #[test]
    fn levels_go_up_and_the_highest_whole_one_counts() {
        assert!(CpuLevel::ALL.is_sorted());
        assert_eq!(CpuLevel::highest(|_| true), *CpuLevel::ALL.last().unwrap());
        assert_eq!(CpuLevel::highest(|_| false), CpuLevel::Baseline);
    }

    #[cfg(target_arch = "x86_64")]
    mod x86_64 {
        use super::*;

        const FLOOR: &[&str] = CpuLevel::Avx2.features();

        fn has_floor(feature: &str) -> bool {
            FLOOR.contains(&feature)
        }

        fn choose(compiled_for: &[&str], variable: Option<&str>, has: impl Fn(&str) -> bool) -> Result<Processor, String> {
            Processor::choose_with(compiled_for, variable, has).map(|(it, _)| it).map_err(|error| error.advice().to_string())
        }

        #[test]
        fn a_hole_below_a_level_counts_as_its_absence() {
            assert_eq!(CpuLevel::highest(|it| it != "fma"), CpuLevel::Baseline);
            assert_eq!(CpuLevel::highest(|it| it != "avx512vl"), CpuLevel::Avx2);
        }

        #[test]
        fn a_processor_below_the_floor_is_told_by_what_it_lacks() {
            let error = choose(FLOOR, None, |it| it == "sse4.2").unwrap_err();
            assert_eq!(
                error,
                "This computer's CPU cannot run Atelier: it lacks AVX2, FMA, F16C. Atelier needs a CPU with AVX2: most Intel CPUs \
                 since 2013 and AMD CPUs since 2015 have it. In a virtual machine, pass the host's CPU through."
            );
            assert!(choose(FLOOR, None, |it| it != "bmi2").unwrap_err().contains("it lacks BMI2."));
        }

        #[test]
        fn a_build_for_another_machine_says_so() {
            let native = [FLOOR, &["avx512f"]].concat();
            let error = choose(&native, None, has_floor).unwrap_err();
            assert!(error.contains("it lacks AVX512F. This Atelier was built for another machine's CPU."), "{error}");
        }

        #[test]
        fn the_variable_lowers_what_may_be_used() {
            let all = |_: &str| true;
            let (compiled, detected) = (CpuLevel::Avx2, CpuLevel::Avx512Bf16);
            for (variable, allowed) in
                [(None, detected), (Some(" "), detected), (Some("AVX512"), CpuLevel::Avx512), (Some("avx2"), CpuLevel::Avx2)]
            {
                assert_eq!(choose(FLOOR, variable, all), Ok(Processor { compiled, detected, allowed }), "{variable:?}");
            }
        }

        #[test]
        fn the_variable_names_nothing_below_what_is_built_in() {
            assert_eq!(
                choose(FLOOR, Some("x86-64"), |_| true),
                Err("This build of Atelier needs avx2, and ATELIER_CPU_LEVEL allows only x86-64. Set it to avx2 or higher, \
                     or unset it."
                    .to_owned())
            );
            assert_eq!(
                choose(FLOOR, Some("pentium"), |_| true),
                Err("ATELIER_CPU_LEVEL is not an instruction level: pentium. Use one of x86-64, avx2, avx512, avx512-bf16.".to_owned())
            );
        }

        #[test]
        fn a_level_that_the_processor_lacks_is_ignored_with_a_warning() {
            let (chosen, warning) = Processor::choose_with(FLOOR, Some("avx512"), has_floor).unwrap();
            assert_eq!((chosen.detected, chosen.allowed), (CpuLevel::Avx2, CpuLevel::Avx2));
            assert_eq!(warning.as_deref(), Some("ATELIER_CPU_LEVEL is avx512, but this CPU goes up to avx2: the variable is ignored."));
        }
    }
}
