//! Drawing of what concerns the program itself: the menu, About, and lines above the view.

mod about;
mod banner;
mod menu;

use crate::gui::state::State;

pub(crate) use about::about;
pub(crate) use banner::banner;
pub(crate) use menu::menu_button;

/// True while a dialog is open, which then has the keys.
pub(crate) fn has_dialog(state: &State) -> bool {
    state.program.is_about_open
}
