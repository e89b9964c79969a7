//! Styles: some of a picture's settings under a name, to be applied to whatever is being made.
//!
//! Each is a file of its own in a folder beside the settings, so a damaged one costs only itself.
//! Words with `{prompt}` take the person's prompt into their middle, others follow it, as A1111's
//! styles do.

mod import;
mod list;
mod store;
mod style;
mod task;

pub use import::{StyleImport, TakenNames};
pub use list::read_style_list;
pub use store::{StyleError, Styles, delete_style, read_styles, save_style};
pub use style::{PLACEHOLDER, Style, StylePart};
pub use task::{StyleOutcome, StyleTask};
