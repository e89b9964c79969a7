//! The panels of the Create view.

pub(crate) mod canvas;
mod canvas_cells;
mod chips;
mod coloured_text;
mod completion;
mod composed;
mod count;
pub(crate) mod dropped;
pub(crate) mod embeddings;
mod examples;
pub(crate) mod filmstrip;
mod kept;
pub(crate) mod larger;
mod long_text;
pub(crate) mod loras;
mod menu;
mod missing_fonts;
pub(crate) mod model;
pub(crate) mod notes;
pub(crate) mod progress;
pub(crate) mod prompt_field;
pub(crate) mod prompt_history;
mod recent_settings;
pub(crate) mod ruler;
pub(crate) mod save_dialog;
pub(crate) mod settings_panel;
pub(crate) mod sheet;
pub(crate) mod size;
mod step_cache;
pub(crate) mod steps;
pub(crate) mod text_row;
mod tokens;
mod unknown_words;

pub(crate) use canvas::canvas_panel as main_panel;
pub(crate) use examples::{examples_in, has_examples_in};
pub(crate) use settings_panel::settings_panel as side_panel;

/// True while a dialog of this view is open.
pub(crate) fn has_dialog(state: &crate::gui::state::State) -> bool {
    state.create.dropped.is_some() || state.create.save_dialog.is_some()
}
