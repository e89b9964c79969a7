//! State of the queue's panel. The queue itself is in [`crate::gui::shared::Shared`].

use atelier_core::recipe::Recipe;
use atelier_gallery::queue::QueuedJobId;

/// State of the queue's panel.
#[derive(Debug, Default)]
pub struct State {
    /// The panel is shown.
    pub is_open: bool,
    /// The waiting job whose settings are in the Create view.
    pub editing: Option<EditedJob>,
    /// The question about a crash has opened the panel.
    pub(crate) has_asked: bool,
}

/// A waiting job whose settings are in the Create view.
#[derive(Debug)]
pub struct EditedJob {
    pub id: QueuedJobId,
    /// The settings that were there before.
    pub before: Box<Recipe>,
}
