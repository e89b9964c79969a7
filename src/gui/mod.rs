//! The window: features as folders (state, command, update, view), and the frame loop that stands
//! above them.
//!
//! `app` is the frame loop; `shared` and `context` are what features share; `command` and `state`
//! put the features together; `frame` draws the window round their views. Nothing here waits:
//! disks, dialogs and pixels have threads of their own (`workers`), the engine and the library too.

mod app;
mod autosave;
mod axes;
mod bidi;
pub mod canvas;
mod clipboard;
mod command;
mod context;
pub mod create;
pub mod devices;
mod dialog;
mod due;
mod engine_waker;
pub mod feature_command;
mod features;
pub mod files;
mod frame;
mod frame_cost;
pub mod gallery;
pub mod grid;
pub mod guides;
mod history;
mod icons;
pub mod identify;
mod input_queue;
pub mod live;
mod memo;
pub mod memory;
pub mod models;
mod monitors;
mod notices;
mod options;
mod overlays;
mod pace;
pub mod palette;
mod panels;
pub mod phrases;
mod pixels;
pub mod program;
pub mod queue;
mod saver;
pub mod screen;
pub mod shared;
pub mod sharing;
mod shortcut;
mod side_panel;
pub mod state;
pub mod studios;
pub mod styles;
mod system_fonts;
mod text_menu;
pub(crate) mod text_selection;
pub mod theme;
mod toolbar;
mod typed_letters;
mod typed_path;
pub mod viewport;
mod widgets;
mod window;
mod window_command;
pub(crate) mod workers;

#[cfg(test)]
mod tests;

pub use app::App;
pub use options::{Beside, Options};
pub use window::{WindowError, run};

pub use atelier_studio::library_service::LibraryOptions;
