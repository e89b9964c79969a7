//! Compiles the shim against the engine that `diffusion-rs-sys` brings.
//!
//! The shim depends on the engine's own text in three ways. A text that is not found exactly once
//! stops the build with a message that names it.
//! 1. The data members of the engine's context are copied from its source into a header, so that
//!    the shim knows their layout.
//! 2. Some sources are compiled into the shim with changes (`patches/`). Linked as a whole archive,
//!    they replace the engine's objects.
//! 3. Structs and constants that cross the border are printed by the C++ compiler;
//!    `tests/layout.rs` compares them with Rust's.

mod engine_inputs;
mod layout;
mod optimisation;
mod patch;
mod processor;
mod vocab;
mod wrapper;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use patch::Patch;
use vocab::Vocabulary;

/// The engine whose internals the shim knows.
const ENGINE: &str = "diffusion-rs-sys 0.1.20";

/// Patches of sources that the shim compiles.
const PATCHED_SOURCES: &[&str] = &[
    "ggml_extend_backend.cpp",
    "ggml_graph_cut.cpp",
    "model_loader.cpp",
    "util.cpp",
    "model_manager.cpp",
    "stable-diffusion.cpp",
    "upscaler.cpp",
    "photomaker_extension.cpp",
    "ggml-backend.cpp",
    "ggml-rpc.cpp",
    "gguf_io.cpp",
];

/// Patches of headers, which only have to be found before the engine's.
const PATCHED_HEADERS: &[&str] = &[
    "transport.h",
    "auto_encoder_kl.hpp",
    "clip.hpp",
    "conditioner.hpp",
    "control.hpp",
    "denoiser.hpp",
    "ggml_extend.hpp",
    "llm.hpp",
    "lora.hpp",
    "rng_philox.hpp",
    "t5.hpp",
    "vae.hpp",
    "wan_vae.hpp",
];

/// Patches within `src/tokenizers`, which is compiled as a whole: the data members of a class that
/// all of it sees are changed.
const PATCHED_TOKENIZERS: &[&str] = &["bpe_tokenizer.h", "clip_tokenizer.cpp", "qwen2_tokenizer.cpp", "t5_unigram_tokenizer.cpp"];

/// Sources of the shim that see all of the engine's headers, which is four fifths of the time that
/// each takes: they are compiled as one.
const JOINED_SOURCES: &[&str] =
    &["shim", "residency", "person_guide", "lora_use", "estimate", "context", "beside", "unused_tensors", "embeddings", "adapter"];

/// All others of the shim.
const SHIM_SOURCES: &[&str] = &[
    "area",
    "encoders",
    "convert",
    "job",
    "lora_merge",
    "encoded_images",
    "file_reader",
    "kept_buffers",
    "control",
    "noise_blend",
    "prefetch",
    "prompt_words",
    "step_records",
    "compute_hook",
    "compute_threads",
    "cpu_fusion",
    "cpu_kernels",
    "memory_tracker",
    "driver_version",
    "dry_run",
    "graph_work",
    "measure",
    "model_names",
    "simulated_device",
    "tokens",
    "transport",
    "weight_scales",
    "remote",
    "borrowed_graph",
    "operation_rules",
    "image_rules",
];

fn main() {
    for input in ["build", "patches", "shim"] {
        println!("cargo:rerun-if-changed={input}");
    }

    let engine_out = PathBuf::from(variable("DEP_STABLE_DIFFUSION_ROOT"));
    stop_if_stale(&engine_out.join(engine_inputs::COPIES));
    let engine = engine_out.join("stable-diffusion.cpp");
    let out = PathBuf::from(variable("OUT_DIR"));

    write(&out.join("engine_layout.h"), &engine_layout(&engine));
    check_words(&engine);
    for header in PATCHED_HEADERS {
        write_patched(&engine, header, &out);
    }
    let (layout_cpp, layout_rs) = layout::layout();
    write(&out.join("layout.cpp"), &layout_cpp);
    let engine_rs = format!("/// The engine that this crate was written for.\npub const ENGINE: &str = {ENGINE:?};\n");
    write(&out.join("layout.rs"), &(layout_rs + &engine_rs + &processor_features(&engine_out)));

    let mut build = cc::Build::new();
    build
        .cpp(true)
        .std("c++17")
        .opt_level(optimisation::level(&variable("OPT_LEVEL")))
        .debug(false)
        .warnings(false)
        .define("GGML_MAX_NAME", "128")
        .define("GGML_USE_CPU", None)
        .define("NDEBUG", None)
        .include("shim")
        .include(&out);
    for folder in [
        "",
        "src",
        "include",
        "src/core",
        "src/model_io",
        "src/tokenizers",
        "thirdparty",
        "ggml/include",
        "ggml/src",
        "ggml/src/ggml-cpu",
        "ggml/src/ggml-rpc",
    ] {
        build.include(engine.join(folder));
    }
    for source in SHIM_SOURCES {
        build.file(format!("shim/{source}.cpp"));
    }
    build.file(write_joined(&out));
    // As in engine_sources.cmake.
    if env::var("CARGO_CFG_TARGET_ENV").as_deref() == Ok("msvc") {
        build.flag("/EHs").flag("/bigobj");
    } else {
        build.flag("-fexceptions");
    }
    // As in windows_gnu.cmake: stable-diffusion.cpp has more sections than a plain object file
    // takes.
    if env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("windows") && env::var("CARGO_CFG_TARGET_ENV").as_deref() == Ok("gnu") {
        build.flag("-Wa,-mbig-obj");
    }
    if env::var_os("CARGO_FEATURE_VULKAN").is_some() {
        build.file("shim/vulkan.cpp").define("ATELIER_VULKAN", None);
        write_empty_vulkan_library(&out);
    }
    for source in PATCHED_SOURCES {
        build.file(write_patched(&engine, source, &out));
    }
    for source in write_tokenizers(&engine, &out) {
        build.file(source);
    }
    build.file(out.join("layout.cpp"));
    // As in engine_sources.cmake.
    if env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        build.file(write_vocabularies(&engine, &out));
    }
    // Clippy links nothing, and cargo would have the shim, minutes of work, compiled for it alone.
    if wrapper::is_clippy(env::var_os("RUSTC_WORKSPACE_WRAPPER").as_deref()) {
        return;
    }
    // As a whole archive, or the linker keeps the engine's own objects instead of the patched ones.
    build.cargo_metadata(false).compile("atelier_shim");
    println!("cargo:rustc-link-search=native={}", out.display());
    println!("cargo:rustc-link-lib=static:+whole-archive=atelier_shim");
    if env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("windows") {
        println!("cargo:rustc-link-lib=ws2_32");
        if env::var("CARGO_CFG_TARGET_ENV").as_deref() == Ok("gnu") {
            offer_static_cpp_library(&out);
        }
    }
}

/// Stops where the engine was built with other files than those that lie here. `cargo xtask`
/// removes such an engine by itself.
fn stop_if_stale(copies: &Path) {
    let inputs = engine_inputs::inputs(Path::new(".")).unwrap_or_else(|error| panic!("vendor/ggml-sys cannot be read: {error}"));
    for input in inputs {
        println!("cargo:rerun-if-changed={}", input.display());
        assert!(
            !engine_inputs::is_changed(Path::new("."), &input, copies),
            "vendor/ggml-sys/{} changed after the engine was built. Run `cargo clean --package diffusion-rs-sys`, with `--release` for a release \
             build, and build again.",
            input.display()
        );
    }
}

/// Rust source of the list of processor features that the engine was compiled for.
fn processor_features(engine_out: &Path) -> String {
    const PORTABLE: &str = "ATELIER_PORTABLE";
    println!("cargo:rerun-if-env-changed={PORTABLE}");
    let architecture = variable("CARGO_CFG_TARGET_ARCH");
    let features = processor::features(&engine_out.join("build"), &architecture, env::var_os(PORTABLE).is_some());
    let features = features.unwrap_or_else(|error| panic!("{error}"));
    format!(
        "/// Processor features that ggml-cpu was compiled for, as `std::is_x86_feature_detected` and its like name them.\n\
         pub const PROCESSOR_FEATURES: &[&str] = &{features:?};\n"
    )
}

/// Puts the C++ library's static form, and nothing else, into a folder that the linker searches
/// before the compiler's own, where the DLL's import library lies beside it and would be preferred.
/// The program then needs no DLL of the compiler's.
fn offer_static_cpp_library(out: &Path) {
    let compiler = cc::Build::new().cpp(true).get_compiler();
    let answer = compiler.to_command().arg("-print-file-name=libstdc++.a").output();
    let path = answer.map(|it| String::from_utf8_lossy(&it.stdout).trim().to_owned()).unwrap_or_default();
    let folder = out.join("static-cpp");
    let copied = fs::create_dir_all(&folder).and_then(|()| fs::copy(&path, folder.join("libstdc++.a")));
    copied.unwrap_or_else(|error| panic!("the C++ library {path:?} cannot be copied to {}: {error}", folder.display()));
    println!("cargo:rustc-link-search=native={}", folder.display());
}

/// Writes an empty library where the linker looks for the Vulkan loader first: `shim/vulkan.cpp`
/// defines the functions that are linked, and a program that is linked to the loader does not start
/// without it.
fn write_empty_vulkan_library(out: &Path) {
    let folder = out.join("empty-vulkan");
    create_folder(&folder);
    let source = folder.join("empty.c");
    write(&source, "int atelier_empty_vulkan_library;\n");
    let is_msvc = env::var("CARGO_CFG_TARGET_ENV").as_deref() == Ok("msvc");
    let name = if is_msvc { "vulkan-1" } else { "vulkan" };
    cc::Build::new().cargo_metadata(false).out_dir(&folder).file(source).compile(name);
    println!("cargo:rustc-link-search=native={}", folder.display());
}

/// Header of the engine's context class: its data members without its functions.
fn engine_layout(engine: &Path) -> String {
    let path = "src/stable-diffusion.cpp";
    let text = read(&engine.join(path));
    let begin = "class StableDiffusionGGML {\npublic:\n";
    let end = "    StableDiffusionGGML() = default;\n";
    let members = between(&text, begin, end).unwrap_or_else(|| {
        panic!(
            "{ENGINE} has moved: {path} no longer holds the data members between {begin:?} and {end:?}; see vendor/ggml-sys/build/main.rs"
        )
    });
    assert!(
        !members.contains(") {"),
        "{ENGINE} has moved: a function now stands among the data members in {path}; see vendor/ggml-sys/build/main.rs"
    );
    let handle = "struct sd_ctx_t {\n    StableDiffusionGGML* sd = nullptr;\n};\n";
    assert!(
        text.contains(handle),
        "{ENGINE} has moved: {path} no longer defines sd_ctx_t as one pointer; see vendor/ggml-sys/build/main.rs"
    );
    format!(
        "// Made by build/main.rs from {path} of {ENGINE}.\n#pragma once\n\
         #include <memory>\n#include <string>\n#include <vector>\n\
         #include \"conditioning/conditioner.hpp\"\n#include \"model/diffusion/model.hpp\"\n#include \"model/vae/vae.hpp\"\n\
         #include \"model_manager.h\"\n#include \"core/rng_philox.hpp\"\n#include \"runtime/denoiser.hpp\"\n\
         struct ControlNet;\nstruct GenerationExtension;\nstruct LoraModel;\nnamespace LTXV {{ struct LTXAudioVAERunner; }}\n\
         class StableDiffusionGGML {{\npublic:\n{members}}};\n{handle}"
    )
}

/// Words by which the shim knows what happened (`shim/job.cpp`).
const WORDS: &[(&str, &str)] = &[
    ("ggml/src/ggml.c", "GGML_LOG_ERROR(\"%s: %s (attempted to allocate %6.2f MB)\\n\", __func__, error_desc"),
    ("ggml/src/ggml.c", "GGML_ASSERT(ctx->mem_buffer != NULL)"),
];

fn check_words(engine: &Path) {
    for (path, words) in WORDS {
        assert!(
            read(&engine.join(path)).contains(words),
            "{ENGINE} has moved: {path} no longer says {words:?}; see vendor/ggml-sys/shim/job.cpp"
        );
    }
}

fn between<'a>(text: &'a str, begin: &str, end: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(begin)?;
    rest.split_once(end).map(|(middle, _)| middle)
}

/// Writes the patched copy of an engine source into `out` and returns its path. What lies in the
/// engine's `src` keeps its path there, by which sources include headers.
fn write_patched(engine: &Path, source: &str, out: &Path) -> PathBuf {
    let path = format!("patches/{source}.patch");
    let patch = Patch::parse(&read(Path::new(&path))).unwrap_or_else(|error| panic!("vendor/ggml-sys/{path}: {error}"));
    let text = patch
        .apply(&read(&engine.join(&patch.source)))
        .unwrap_or_else(|error| panic!("{ENGINE} has moved: {error}\nvendor/ggml-sys/{path} says why it matters."));
    let target = out.join(patch.source.strip_prefix("src/").unwrap_or(source));
    let folder = target.parent().unwrap_or(out);
    create_folder(folder);
    write(&target, &text);
    target
}

/// Writes a source that includes the joined ones; returns its path.
fn write_joined(out: &Path) -> PathBuf {
    let includes: Vec<String> = JOINED_SOURCES.iter().map(|source| format!("#include \"{source}.cpp\"\n")).collect();
    let target = out.join("joined.cpp");
    write(&target, &includes.concat());
    target
}

/// Writes the engine's tokenizers, some of them patched, beside each other, as they include each
/// other; returns the paths of those to compile.
fn write_tokenizers(engine: &Path, out: &Path) -> Vec<PathBuf> {
    let from = engine.join("src/tokenizers");
    let to = out.join("tokenizers");
    create_folder(&to);
    let mut sources = Vec::new();
    for path in files_in(&from) {
        let target = to.join(path.file_name().unwrap_or_default());
        write(&target, &read(&path));
        if target.extension().is_some_and(|it| it == "cpp") {
            sources.push(target);
        }
    }
    for name in PATCHED_TOKENIZERS {
        write_patched(engine, name, out);
    }
    sources
}

/// Writes the vocabularies as files, and `vocab.cpp` beside headers that include them; returns its
/// path.
fn write_vocabularies(engine: &Path, out: &Path) -> PathBuf {
    let from = engine.join("src/tokenizers/vocab");
    let to = out.join("vocab");
    create_folder(&to);
    for header in files_in(&from).into_iter().filter(|path| path.extension().is_some_and(|it| it == "hpp")) {
        let name = header.file_name().unwrap_or_default();
        let bytes = fs::read(&header).unwrap_or_else(|error| panic!("{} cannot be read: {error}", header.display()));
        let vocabulary = Vocabulary::parse(&bytes)
            .unwrap_or_else(|error| panic!("{ENGINE} has moved: {}: {error}; see vendor/ggml-sys/build/vocab.rs", header.display()));
        let data = to.join(name).with_extension("bin");
        fs::write(&data, &vocabulary.bytes).unwrap_or_else(|error| panic!("{} cannot be written: {error}", data.display()));
        write(&to.join(name), &vocabulary.cpp(&data.to_string_lossy()));
    }
    for name in ["vocab.cpp", "vocab.h"] {
        write(&to.join(name), &read(&from.join(name)));
    }
    to.join("vocab.cpp")
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is not set; cargo sets it, or {ENGINE} by its `links` key"))
}

/// The files of one of the engine's folders, in order.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{ENGINE} has moved: {} cannot be read: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    files.sort();
    files
}

fn create_folder(folder: &Path) {
    fs::create_dir_all(folder).unwrap_or_else(|error| panic!("{} cannot be made: {error}", folder.display()));
}

fn read(path: &Path) -> String {
    fs::read_to_string(path)
        .unwrap_or_else(|error| panic!("{ENGINE} has moved: {} cannot be read: {error}", path.display()))
        .replace("\r\n", "\n")
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap_or_else(|error| panic!("{} cannot be written: {error}", path.display()));
}
