//! The Create view: a prompt, its settings, and the pictures that come of them.

pub(crate) mod added_files;
pub(crate) mod choose;
pub mod command;
pub(crate) mod completion;
pub(crate) mod count;
pub mod dropped;
pub(crate) mod embeddings;
pub mod forming;
pub(crate) mod jobs;
pub mod larger;
pub(crate) mod loras;
pub(crate) mod open;
pub(crate) mod own_models;
pub mod panel_setting;
pub(crate) mod pictures;
pub mod progress;
pub mod prompt_history;
pub mod remake;
pub(crate) mod ruler;
pub mod save_dialog;
pub(crate) mod saving;
pub mod session;
pub mod sheet;
pub(crate) mod sheet_update;
pub mod state;
pub mod step_previews;
pub mod steps;
pub(crate) mod templates;
pub(crate) mod update;
pub(crate) mod view;
pub mod word_lists;
pub mod work;

pub use command::Command;
pub use state::State;
