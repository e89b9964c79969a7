//! Command lines of sd-cli, the engine's own program: one that is pasted becomes a recipe, and any
//! recipe can be copied as one.
//!
//! Invariants: parts that are not understood, or that a recipe or a command line cannot express,
//! are listed and never dropped silently; a recipe that a command line can express reads back as it
//! was ([`write()`], then [`read`]). A command means to [`read`] what it means to sd-cli, its
//! defaults included (seed 42, no flash attention); [`read_over`] changes only what it names. Not
//! here: files (nothing is looked up), the meaning of a placement (`placement`).

mod no_setting;
mod read;
mod shell;
mod tile_size;
mod values;
mod write;

pub use no_setting::NoSetting;
pub use read::{CommandError, LeftOut, ParsedCommand, read, read_over};
pub use tile_size::RelativeTileSize;
pub use values::numbers;
pub use write::{CommandLine, write};

use crate::recipe::{FileRole, Recipe, Seed};

/// Flags for the files of each role that has an effect; the first name is the one that is written.
const FILE_FLAGS: [(FileRole, &[&str]); 12] = [
    (FileRole::Model, &["--model", "-m"]),
    (FileRole::Diffusion, &["--diffusion-model"]),
    (FileRole::UncondDiffusion, &["--uncond-diffusion-model"]),
    (FileRole::Llm, &["--llm", "--qwen2vl"]),
    (FileRole::LlmVision, &["--llm_vision", "--qwen2vl_vision"]),
    (FileRole::ClipL, &["--clip_l"]),
    (FileRole::ClipG, &["--clip_g"]),
    (FileRole::T5xxl, &["--t5xxl"]),
    (FileRole::Vae, &["--vae"]),
    (FileRole::Taesd, &["--taesd", "--tae"]),
    (FileRole::Controlnet, &["--control-net"]),
    (FileRole::Photomaker, &["--photo-maker"]),
];

/// Default folder of LoRAs.
const HERE: &str = ".";

/// The recipe of a command without options.
fn defaults() -> Recipe {
    Recipe { seed: Some(Seed(42)), flash_attention: false, ..Recipe::default() }
}

#[cfg(test)]
mod tests;
