//! Shared by several test binaries: the tiny model, made once for all of them, and a recipe for it.
#![allow(dead_code, reason = "each test binary uses a part")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

pub(crate) mod alone;
pub(crate) mod engine;
pub(crate) mod file_server;
pub(crate) mod handle;
pub(crate) mod lender;
pub(crate) mod proxy;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use atelier_core::recipe::{FileRole, ImageSource, ModelFiles, PlacementText, Recipe, Rgb8, Seed};
use testkit::families::{self, Part};
use testkit::tiny::{self, TinyFiles};

/// A folder of this test binary's own, the same in every run.
pub(crate) fn folder(name: &str) -> PathBuf {
    let binary = std::env::current_exe().unwrap();
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(binary.file_stem().unwrap()).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

pub(crate) fn tiny() -> &'static TinyFiles {
    static TINY: OnceLock<TinyFiles> = OnceLock::new();
    TINY.get_or_init(|| tiny::zimage(&folder("tiny"), &tiny::Options::default()).unwrap())
}

/// The tiny model's files by role.
pub(crate) fn files() -> ModelFiles {
    let tiny = tiny();
    [(FileRole::Diffusion, tiny.diffusion.clone()), (FileRole::Llm, tiny.llm.clone()), (FileRole::Taesd, tiny.taesd.clone())]
        .into_iter()
        .collect()
}

/// Writes the files of a model into a folder.
pub(crate) fn written(parts: Vec<(&'static str, Part)>, dir: &Path) -> ModelFiles {
    parts.into_iter().map(|(role, part)| (FileRole::from_key(role).unwrap(), part.write(dir, role).unwrap())).collect()
}

/// The files of a model with a `ControlNet`.
pub(crate) fn controlled(files: families::ControlledFiles) -> ModelFiles {
    let families::ControlledFiles { model, taesd, controlnet } = files;
    [(FileRole::Model, model), (FileRole::Taesd, taesd), (FileRole::Controlnet, controlnet)].into_iter().collect()
}

/// The files of a family of tiny models.
pub(crate) fn family(name: &str) -> ModelFiles {
    let dir = folder(name);
    written(families::family(name, &dir).unwrap(), &dir)
}

/// A picture of this size; other seeds give other ones.
pub(crate) fn picture(width: u32, height: u32, seed: usize) -> ImageSource {
    let pixels = (0..(width * height * 3) as usize).map(|n| (n * (2 * seed + 1) / 7 % 256) as u8).collect();
    ImageSource::Pixels(Rgb8::new(width, height, pixels).unwrap())
}

pub(crate) fn placed(backend: &str, params_backend: &str) -> PlacementText {
    PlacementText { backend: backend.into(), params_backend: params_backend.into(), ..PlacementText::default() }
}

/// A small recipe for the tiny model.
pub(crate) fn recipe() -> Recipe {
    Recipe {
        files: files(),
        prompt: "a lake".into(),
        width: 64,
        height: 64,
        steps: 3,
        guidance: 1.0,
        seed: Some(Seed(42)),
        threads: Some(1),
        ..Recipe::default()
    }
}

/// A small recipe for a model with CLIP, whose layers are zeros that change nothing: the engine
/// computes as few as it can, as they would be most of the time.
pub(crate) fn of_clip() -> Recipe {
    Recipe { clip_skip: Some(12), steps: 1, ..recipe() }
}

/// The same where the model is mostly zeros that nobody wrote: mapped they are not copied.
pub(crate) fn of_zeros() -> Recipe {
    Recipe { memory_map: true, ..of_clip() }
}

/// Root of the mean square of the differences of two pictures.
pub(crate) fn distance(a: &[u8], b: &[u8]) -> f64 {
    let sum: f64 = a.iter().zip(b).map(|(a, b)| f64::from(a.abs_diff(*b)).powi(2)).sum();
    (sum / a.len() as f64).sqrt()
}

/// Signal to noise of a picture against another one, in decibels.
pub(crate) fn psnr(a: &[u8], b: &[u8]) -> f64 {
    20.0 * (255.0 / distance(a, b)).log10()
}

/// Memory of this process that is in RAM, in bytes.
pub(crate) fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 4096
}
