//! Shared by several test binaries: the tiny model, made once for all of them, and a recipe for it.
#![allow(dead_code, reason = "each test binary uses a part")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

pub(crate) mod alone;
pub(crate) mod engine;
pub(crate) mod file_server;
pub(crate) mod handle;
pub(crate) mod lender;
pub(crate) mod proxy;

use std::path::PathBuf;
use std::sync::OnceLock;

use atelier_core::recipe::{FileRole, ModelFiles, Recipe, Seed};
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

/// Root of the mean square of the differences of two pictures.
pub(crate) fn distance(a: &[u8], b: &[u8]) -> f64 {
    let sum: f64 = a.iter().zip(b).map(|(a, b)| f64::from(a.abs_diff(*b)).powi(2)).sum();
    (sum / a.len() as f64).sqrt()
}

/// Memory of this process that is in RAM, in bytes.
pub(crate) fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 4096
}
