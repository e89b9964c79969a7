//! The processor features of a build, from cmake's cache.

#[path = "../build/processor.rs"]
mod processor;

use std::fs;

const FLOOR: [&str; 6] = ["sse4.2", "avx", "avx2", "fma", "f16c", "bmi2"];

fn features(cache: &str, architecture: &str, portable: bool) -> Result<Vec<&'static str>, String> {
    let folder = std::env::temp_dir().join(format!("atelier-processor-{}-{:?}", std::process::id(), std::thread::current().id()));
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    fs::write(folder.join("CMakeCache.txt"), cache).map_err(|error| error.to_string())?;
    let features = processor::features(&folder, architecture, portable);
    fs::remove_dir_all(&folder).map_err(|error| error.to_string())?;
    features
}

#[test]
fn a_portable_build_has_what_its_options_say() {
    let cache = "GGML_NATIVE:BOOL=OFF\nGGML_SSE42:BOOL=ON\nGGML_AVX:BOOL=ON\nGGML_AVX2:BOOL=ON\nGGML_FMA:BOOL=ON\nGGML_F16C:BOOL=ON\n\
                 GGML_BMI2:BOOL=ON\nGGML_AVX512:BOOL=OFF\n";
    assert_eq!(features(cache, "x86_64", true).unwrap(), FLOOR);
    let more = features(&cache.replace("AVX512:BOOL=OFF", "AVX512:BOOL=1"), "x86_64", true).unwrap();
    assert!(more.starts_with(&FLOOR) && more.contains(&"avx512vl"), "{more:?}");
    assert_eq!(features(cache, "aarch64", true).unwrap(), ["neon"]);
}

#[test]
fn a_portable_build_does_not_take_an_engine_for_this_machine() {
    let cache = "GGML_NATIVE:BOOL=ON\n";
    assert!(features(cache, "x86_64", true).unwrap_err().contains("CARGO_TARGET_DIR"));
    assert!(!features(cache, std::env::consts::ARCH, false).unwrap().is_empty());
}

#[test]
fn without_a_build_it_is_the_portable_one() {
    let nowhere = std::path::Path::new("no such folder");
    assert_eq!(processor::features(nowhere, "x86_64", false).unwrap(), FLOOR);
}
