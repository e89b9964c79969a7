//! State of the guides. What they are is in the recipe.

/// State of the guides.
#[derive(Clone, Copy, Debug, Default)]
pub struct State {
    /// The size that the last start picture gave the next one, in pixels: it is no choice of the
    /// person's.
    pub(super) size_of_start: Option<(u32, u32)>,
}
