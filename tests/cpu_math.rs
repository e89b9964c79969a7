//! `--cpu-math`: pictures of each arithmetic against those of the engine's own code, on the tiny
//! model.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use atelier_core::paths::HOME_VARIABLE;
use atelier_core::processor::{CPU_LEVEL_VARIABLE, CpuLevel, is_detected};
use atelier_core::recipe::{FileRole, ModelFiles};
use atelier_library::{BUILTIN_VARIABLE, Builtin};
use atelier_media::read_metadata;
use support::{distance, files, folder, psnr};
use testkit::adapters::{AdapterKind, zimage};
use testkit::{families, tiny};

const FLAGS: [(&str, FileRole); 6] = [
    ("--model", FileRole::Model),
    ("--diffusion-model", FileRole::Diffusion),
    ("--clip_l", FileRole::ClipL),
    ("--clip_g", FileRole::ClipG),
    ("--llm", FileRole::Llm),
    ("--taesd", FileRole::Taesd),
];

/// Makes a picture of the tiny model and returns its file and what was said on standard error.
fn picture(home: &Path, math: &str, threads: &str) -> (PathBuf, String) {
    picture_of(&files(), home, math, threads, &[], &[])
}

/// No arithmetic is asked for.
const BY_ITSELF: &str = "by-itself";

/// Makes a picture of a model, with variables of the environment and more flags, and returns
/// its file and what was said on standard error.
fn picture_of(files: &ModelFiles, home: &Path, math: &str, threads: &str, variables: &[(&str, &str)], more: &[&str]) -> (PathBuf, String) {
    let out = home.join(format!("{math}-{threads}.png"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_atelier"));
    command.envs(variables.iter().copied());
    command.env(HOME_VARIABLE, home).env(BUILTIN_VARIABLE, home.join("none")).stdin(Stdio::null());
    if math != BY_ITSELF {
        command.args(["--cpu-math", math]);
    }
    command.args(["generate", "-W", "128", "-H", "64", "--cfg", "1", "--steps", "3", "--seed", "42", "-t", threads]);
    for (flag, role) in FLAGS {
        if let Some(file) = files.get(role) {
            command.arg(flag).arg(file);
        }
    }
    let output = command.args(more).args(["-p", "a lake", "-o"]).arg(&out).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    (out, said)
}

fn pixels(file: &Path) -> Vec<u8> {
    image::open(file).unwrap().to_rgb8().into_raw()
}

#[test]
fn each_arithmetic_makes_nearly_the_same_picture_and_says_so() {
    let home = folder("cpu-math");
    let (exact, _) = picture(&home, "exact", "1");
    let parameters = |file: &Path| read_metadata(file).unwrap().parameters.unwrap();
    assert!(!parameters(&exact).contains("CPU math"));
    let exact = pixels(&exact);
    for (math, most) in [("f32", 4), ("bf16", 24)] {
        let (file, said) = picture(&home, math, "1");
        let got = pixels(&file);
        let difference = exact.iter().zip(&got).map(|(a, b)| a.abs_diff(*b)).max();
        assert!(difference <= Some(most), "{math}: {difference:?}");
        // A processor without the instructions says what it computes with instead.
        assert!(said.contains("; using ") || parameters(&file).contains(&format!("CPU math: {math}")), "{math}");
        assert_eq!(got, pixels(&picture(&home, math, "3").0), "{math}: the number of threads changes the picture");
    }
}

/// Rotary embeddings, group norms, upscaling: each family has its own operations.
#[test]
fn each_family_makes_nearly_the_same_picture_in_f32() {
    let home = folder("cpu-math-families");
    for name in ["sd15", "sd3", "zimage", "ovis"] {
        let dir = folder(&format!("cpu-math-{name}"));
        let parts = families::family(name, &dir).unwrap();
        let files = parts.into_iter().map(|(role, part)| (FileRole::from_key(role).unwrap(), part.write(&dir, role).unwrap())).collect();
        let exact = pixels(&picture_of(&files, &home, "exact", "1", &[], &[]).0);
        assert!(exact.iter().any(|value| *value != exact[0]), "{name}: a picture of one colour");
        let got = pixels(&picture_of(&files, &home, "f32", "1", &[], &[]).0);
        let difference = exact.iter().zip(&got).map(|(a, b)| a.abs_diff(*b)).max();
        assert!(difference <= Some(4), "{name}: {difference:?}");
        assert_eq!(got, pixels(&picture_of(&files, &home, "f32", "3", &[], &[]).0), "{name}: the number of threads changes the picture");
        let apart = picture_of(&files, &home, "f32", "1", &[("GGML_CPU_DISABLE_FUSION", "1")], &[]).0;
        assert_eq!(got, pixels(&apart), "{name}: what is computed at once is not the same as one after the other");
    }
}

#[test]
fn adapters_are_the_change_merged_by_hand_in_each_arithmetic() {
    let home = folder("cpu-math-adapters");
    let base = files();
    let module = base.get(FileRole::Diffusion).unwrap();
    let adapters = AdapterKind::ALL.map(|kind| (kind, zimage(&home, module, kind, |layer| format!("diffusion_model.{layer}")).unwrap()));
    for math in ["exact", "f32", "bf16"] {
        let picture = |files: &ModelFiles, more: &[&str]| pixels(&picture_of(files, &home, math, "1", &[], more).0);
        let plain = picture(&base, &[]);
        for (kind, written) in &adapters {
            let mut merged = base.clone();
            merged.set(FileRole::Diffusion, &written.merged);
            let by_hand = picture(&merged, &[]);
            let change = distance(&plain, &by_hand);
            assert!(change > 1.0, "{kind:?}, {math}: a change of {change} levels shows nothing");
            let ratio = distance(&picture(&base, &["--lora", written.adapter.to_str().unwrap()]), &by_hand) / change;
            assert!(ratio < 0.15, "{kind:?}, {math}: {ratio}");
        }
    }
}

/// The built-in autoencoder has blocks of zeros, of which only the last operation is computed.
#[test]
fn blocks_of_zeros_change_no_byte_of_a_picture() {
    let home = folder("cpu-math-zeros");
    let builtin = Builtin::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/builtin-model")).unwrap();
    let start = home.join("start.png");
    std::fs::copy(picture(&home, "f32", "1").0, &start).unwrap();
    let start = ["--strength", "0.6", "-i", start.to_str().unwrap()];
    let [left_out, computed, exact] = [("f32", &[][..]), ("f32", &[("GGML_CPU_DISABLE_FUSION", "1")]), ("exact", &[])]
        .map(|(math, variables)| pixels(&picture_of(builtin.files(), &home, math, "2", variables, &start).0));
    assert!(left_out.iter().any(|value| *value != left_out[0]), "a picture of one colour");
    assert!(left_out == computed, "what is left out is needed");
    let difference = exact.iter().zip(&left_out).map(|(a, b)| a.abs_diff(*b)).max();
    assert!(difference <= Some(4), "{difference:?}");
}

/// The tiny model with its matrices in `Q8_0`.
fn quantised_files(name: &str) -> ModelFiles {
    let options = tiny::Options { format: tiny::Format::GgufQ8, ..tiny::Options::default() };
    let tiny::TinyFiles { diffusion, llm, taesd } = tiny::zimage(&folder(name), &options).unwrap();
    [(FileRole::Diffusion, diffusion), (FileRole::Llm, llm), (FileRole::Taesd, taesd)].into_iter().collect()
}

/// Products in eight bits have an error of half a hundredth, that of the engine's own.
#[test]
fn quantised_weights_are_multiplied_in_eight_bits() {
    /// Decibels between a picture in eight bits and the same in f32: a root of the mean square of 8
    /// levels.
    const LEAST: f64 = 30.0;
    let home = folder("cpu-math-int8");
    let quantised = quantised_files("cpu-math-int8-model");
    // The lowest instructions with which this build runs, and the best of this machine.
    let lowest = atelier_engine::processor().compiled.name();
    for (files, more) in
        [(&quantised, &[][..]), (&files(), &["--type", "q5_0"]), (&files(), &["--type", "q4_0"]), (&files(), &["--type", "q4_K"])]
    {
        for level in [lowest, ""] {
            let variables = [(CPU_LEVEL_VARIABLE, level)];
            let in_f32 = pixels(&picture_of(files, &home, "f32", "1", &variables, more).0);
            let (file, said) = picture_of(files, &home, "int8", "1", &variables, more);
            if said.contains("; using ") {
                // A processor without the instructions says what it computes with instead.
                continue;
            }
            let got = pixels(&file);
            assert!(read_metadata(&file).unwrap().parameters.unwrap().contains("CPU math: int8"), "{more:?} {level}");
            assert!(!said.contains("so it used f32"), "{more:?} {level}: {said}");
            let likeness = psnr(&in_f32, &got);
            assert!(in_f32 != got && likeness >= LEAST, "{more:?} {level}: {likeness} dB");
            let threads = pixels(&picture_of(files, &home, "int8", "3", &variables, more).0);
            assert_eq!(got, threads, "{more:?} {level}: the number of threads changes the picture");
        }
    }
}

#[test]
fn weights_that_are_not_quantised_are_computed_in_f32_where_eight_bits_are_asked_for() {
    let home = folder("cpu-math-int8-plain");
    let in_f32 = picture(&home, "f32", "1").0;
    let (file, said) = picture(&home, "int8", "1");
    assert_eq!(pixels(&file), pixels(&in_f32));
    let parameters = |file: &Path| read_metadata(file).unwrap().parameters.unwrap();
    if said.contains("; using ") {
        return;
    }
    assert!(said.contains("so it used f32 instead of int8"), "{said}");
    assert!(parameters(&file).contains("CPU math: f32") && parameters(&in_f32).contains("CPU math: f32"));
    // Where it is chosen by itself, or the model is in eight bits, nothing is said.
    assert!(!picture_of(&quantised_files("cpu-math-int8-plain-model"), &home, "int8", "1", &[], &[]).1.contains("so it used f32"));
}

/// With AVX2 alone weights of eight bits are quicker in f32, and those of fewer in eight bits.
#[test]
fn with_avx2_alone_eight_bits_are_used_by_themselves_for_weights_of_fewer() {
    let processor = atelier_engine::processor();
    // Of a processor without AVX-512 its dot products are used at the level of AVX2 too.
    let has_dots = processor.detected == CpuLevel::Avx2 && is_detected("avxvnni") == Some(true);
    if !cfg!(target_arch = "x86_64") || has_dots || processor.compiled > CpuLevel::Avx2 || processor.detected < CpuLevel::Avx2 {
        return;
    }
    let home = folder("cpu-math-int8-avx2");
    let quantised = quantised_files("cpu-math-int8-avx2-model");
    let variables = [(CPU_LEVEL_VARIABLE, CpuLevel::Avx2.name())];
    let pictures = |files: &ModelFiles, more: &[&str]| {
        ["f32", "int8", BY_ITSELF].map(|math| {
            let (file, said) = picture_of(files, &home, math, "1", &variables, more);
            assert!(!said.contains("so it used f32"), "{math}, {more:?}: {said}");
            (pixels(&file), read_metadata(&file).unwrap().parameters.unwrap())
        })
    };
    let plain = files();
    for (files, more, used) in [(&quantised, &[][..], "f32"), (&plain, &["--type", "q4_K"], "int8"), (&plain, &["--type", "q5_0"], "int8")]
    {
        let [in_f32, in_int8, by_itself] = pictures(files, more);
        assert!(in_f32.0 != in_int8.0 && in_int8.1.contains("CPU math: int8"), "{more:?}: eight bits are nothing else than f32");
        let expected = if used == "f32" { in_f32.0 } else { in_int8.0 };
        assert!(by_itself.0 == expected && by_itself.1.contains(&format!("CPU math: {used}")), "{more:?}: {}", by_itself.1);
    }
}

/// The engine's flash attention rounds to 16 bits on the processor.
#[test]
fn exact_arithmetic_leaves_flash_attention_out_unless_it_is_asked_for() {
    let home = folder("cpu-math-attention");
    let [usual, off, on] = [&[][..], &["--no-diffusion-fa"], &["--diffusion-fa"]].map(|more| {
        let file = picture_of(&files(), &home, "exact", "1", &[], more).0;
        let flash = read_metadata(&file).unwrap().recipe.unwrap().into_recipe(|_, _, _| None).recipe.flash_attention;
        (pixels(&file), flash)
    });
    let f32 = picture_of(&files(), &home, "f32", "1", &[], &[]).0;
    if !read_metadata(&f32).unwrap().parameters.unwrap().contains("CPU math: f32") {
        // Nothing is faster than the exact arithmetic here.
        assert!(usual == on && usual.1);
        return;
    }
    assert!(usual == off, "exact arithmetic is not what it is without flash attention");
    assert!(on.0 != usual.0, "flash attention was asked for");
    assert_eq!((usual.1, on.1), (false, true));
}

#[test]
fn an_unknown_arithmetic_is_refused_with_those_that_there_are() {
    let output = Command::new(env!("CARGO_BIN_EXE_atelier")).args(["--cpu-math", "f16", "devices"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("exact, f32, bf16, int8"));
}
