//! State of the command palette.

/// State of the command palette.
#[derive(Debug, Default)]
pub struct State {
    pub is_open: bool,
    /// The text that is searched.
    pub search: String,
    /// Index of the chosen command among those found.
    pub chosen: usize,
}
