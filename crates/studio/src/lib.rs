//! The product without a face: window and command line both call it. No egui, no clap.

#![forbid(unsafe_code)]

pub mod canvas_backups;
pub mod crash_report;
pub mod debounce;
pub mod desktop_notification;
pub mod disk_use;
pub mod doctor;
mod engine;
pub mod gallery_service;
pub mod installed;
pub mod instance;
pub mod kept_sheet;
pub mod library_service;
pub mod log_text;
pub mod logs;
mod made_from;
pub mod model_copy;
pub mod model_names;
pub mod next_recipe;
pub mod opened_picture;
pub mod picture_index;
pub mod preloading;
pub mod prompt_text;
pub mod queue;
pub mod remote_job;
pub mod results;
pub mod settings_file;
pub mod sheet;
pub mod studio_model;
pub mod styles;
pub mod tags;
pub mod terminal;
mod termination;
pub mod trials;
pub mod updates;
pub mod version;
pub mod vision;

pub use engine::{EngineWake, start_engine};
pub use termination::on_termination;
