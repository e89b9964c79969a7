//! State of the guides: none beside the recipe, in which they are.

/// State of the guides.
#[derive(Clone, Copy, Debug, Default)]
pub struct State;
