//! The canvas: a picture that is painted on, masked, extended, and generated in part. Create shows
//! it in the place of the picture.

mod autosave;
pub mod candidate;
pub mod candidates;
pub mod command;
mod documents;
pub(crate) mod files;
pub mod fresh;
pub(crate) mod generate;
pub mod looks;
mod looks_update;
pub mod moving;
mod pointer;
mod recovery;
pub mod recovery_state;
pub mod state;
pub mod surface;
mod text;
pub mod tool;
mod transform;
pub(crate) mod update;
pub(crate) mod view;
pub(crate) mod vision;
pub(crate) mod vision_models;
pub mod vision_run;
pub mod work;

pub use command::Command;
pub use state::State;
