//! Command lines of sd-cli, the engine's own program: one that is pasted becomes a recipe, and any recipe can be copied as one.
//!
//! Invariants: what is not understood, and what a recipe or a command line cannot say, is listed and never dropped silently; a recipe that
//! a command line can say reads back as it was ([`write`], then [`read`]). A command means here what it means to sd-cli, its defaults
//! included (seed 42, no flash attention). Not here: files (nothing is looked up), what a placement means (`placement`).

mod read;
mod words;
mod write;

pub use read::{CommandError, LeftOut, Pasted, read};
pub use write::{Copied, write};

use crate::recipe::{FileRole, Recipe};

/// The flag that names the file in a role; the first name is the one that is written.
const FILE_FLAGS: [(FileRole, &[&str]); 12] = [
    (FileRole::Model, &["--model", "-m"]),
    (FileRole::Diffusion, &["--diffusion-model"]),
    (FileRole::Llm, &["--llm", "--qwen2vl"]),
    (FileRole::LlmVision, &["--llm_vision", "--qwen2vl_vision"]),
    (FileRole::ClipL, &["--clip_l"]),
    (FileRole::ClipG, &["--clip_g"]),
    (FileRole::T5xxl, &["--t5xxl"]),
    (FileRole::ClipVision, &["--clip_vision"]),
    (FileRole::Vae, &["--vae"]),
    (FileRole::Taesd, &["--taesd", "--tae"]),
    (FileRole::Controlnet, &["--control-net"]),
    (FileRole::Photomaker, &["--photo-maker"]),
];

/// Where LoRAs are looked for when nothing else is said.
const HERE: &str = ".";

/// How Atelier applies LoRAs, in sd-cli's word.
const LORA_APPLY_MODE: &str = "at_runtime";

/// How much of an init image is painted anew where nothing is said.
const INIT_STRENGTH: f32 = 0.75;

/// How strongly a ControlNet steers where nothing is said.
const CONTROL_STRENGTH: f32 = 0.9;

/// The recipe of a command without options.
fn defaults() -> Recipe {
    Recipe { seed: 42, flash_attention: false, ..Recipe::default() }
}

#[cfg(test)]
mod tests;
