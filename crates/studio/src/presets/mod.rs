//! Presets: some of a picture's settings under a name, to be applied to whatever is being made.
//!
//! Each is a file of its own in a folder beside the settings, so a damaged one costs only itself. Words with `{prompt}` take the person's
//! prompt into their middle, others follow it, as A1111's styles do.

mod import;
mod preset;
mod store;
mod styles;
mod task;

pub use import::{StyleImport, TakenNames};
pub use preset::{PLACEHOLDER, Preset, PresetPart};
pub use store::{PresetError, Presets, delete_preset, read_presets, save_preset};
pub use styles::read_styles;
pub use task::{PresetOutcome, PresetTask};
