//! The processor features that ggml-cpu was compiled for, from what cmake settled on.

use std::path::Path;

/// Options of ggml's build, and the feature that each stands for, as `std::is_x86_feature_detected`
/// names it.
const OPTIONS: &[(&str, &str)] = &[
    ("SSE42", "sse4.2"),
    ("AVX", "avx"),
    ("AVX2", "avx2"),
    ("FMA", "fma"),
    ("F16C", "f16c"),
    ("BMI2", "bmi2"),
    ("AVX_VNNI", "avxvnni"),
    ("AVX512_VBMI", "avx512vbmi"),
    ("AVX512_VNNI", "avx512vnni"),
    ("AVX512_BF16", "avx512bf16"),
];

/// What `GGML_AVX512` stands for.
const AVX512: &[&str] = &["avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"];

/// The features of an engine whose build folder is `build`, for a target of this architecture.
/// `portable` is true where the build should run on other machines. Without a build (documentation,
/// a check for another system) it is the portable one.
///
/// # Errors
///
/// The engine there was built for the building machine although `portable` is set.
pub(crate) fn features(build: &Path, architecture: &str, portable: bool) -> Result<Vec<&'static str>, String> {
    let Ok(cache) = std::fs::read_to_string(build.join("CMakeCache.txt")) else { return Ok(portable_features(architecture)) };
    if !is_on(&cache, "NATIVE") {
        return Ok(if architecture == "x86_64" { x86_64(&cache) } else { portable_features(architecture) });
    }
    if portable {
        return Err(format!(
            "ATELIER_PORTABLE is set, but the engine in {} was built for this machine's processor. Use another target folder \
             (CARGO_TARGET_DIR), or delete this one.",
            build.display()
        ));
    }
    Ok(of_this_machine())
}

fn x86_64(cache: &str) -> Vec<&'static str> {
    let named = OPTIONS.iter().filter(|(option, _)| is_on(cache, option)).map(|(_, feature)| *feature);
    let avx512 = if is_on(cache, "AVX512") { AVX512 } else { &[] };
    named.chain(avx512.iter().copied()).collect()
}

/// The floor that engine.cmake sets.
fn portable_features(architecture: &str) -> Vec<&'static str> {
    match architecture {
        "x86_64" => vec!["sse4.2", "avx", "avx2", "fma", "f16c", "bmi2"],
        "aarch64" => vec!["neon"],
        _ => Vec::new(),
    }
}

/// True where cmake's cache has this option of ggml switched on.
fn is_on(cache: &str, option: &str) -> bool {
    cache.lines().filter_map(|line| line.split_once(":BOOL=")).any(|(name, value)| {
        name.strip_prefix("GGML_") == Some(option) && ["ON", "1", "TRUE", "YES", "Y"].iter().any(|on| value.trim().eq_ignore_ascii_case(on))
    })
}

/// The features that `-march=native` lets the compiler use here. Without those that only
/// instructions named by hand use (AES, random numbers).
fn of_this_machine() -> Vec<&'static str> {
    let mut features = Vec::new();
    macro_rules! detect {
        ($macro:ident: $($feature:tt)*) => {{
            use std::arch::$macro;
            $(if $macro!($feature) { features.push($feature); })*
        }};
    }
    #[cfg(target_arch = "x86_64")]
    detect! {
        is_x86_feature_detected:
        "sse3" "ssse3" "sse4.1" "sse4.2" "sse4a" "popcnt" "lzcnt" "movbe" "bmi1" "bmi2" "avx" "avx2" "fma" "f16c" "avxvnni" "gfni" "vaes"
        "vpclmulqdq" "avx512f" "avx512cd" "avx512bw" "avx512dq" "avx512vl" "avx512ifma" "avx512vbmi" "avx512vbmi2" "avx512vnni"
        "avx512bitalg" "avx512vpopcntdq" "avx512vp2intersect" "avx512bf16" "avx512fp16"
    };
    #[cfg(target_arch = "aarch64")]
    detect! { is_aarch64_feature_detected: "neon" "fp16" "dotprod" "i8mm" "bf16" "sve" "sve2" };
    features
}
