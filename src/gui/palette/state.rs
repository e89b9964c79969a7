//! State of the command palette and of the list of keys.

/// Commands that are remembered.
const MAX_RECENT: usize = 5;

/// State of the command palette.
#[derive(Debug, Default)]
pub struct State {
    pub is_open: bool,
    /// The text that is searched.
    pub search: String,
    /// Index of the chosen command among those found.
    pub chosen: usize,
    /// Names by which the commands are remembered that were run from here, the last one first.
    pub recent: Vec<String>,
    /// The list of keys is shown.
    pub shows_shortcuts: bool,
}

impl State {
    /// The state at the start, with what was run in earlier sessions.
    #[must_use]
    pub fn new(mut recent: Vec<String>) -> Self {
        recent.truncate(MAX_RECENT);
        Self { recent, ..Self::default() }
    }

    /// Takes note that the command of this name was run.
    pub(crate) fn remember(&mut self, command: String) {
        self.recent.retain(|it| *it != command);
        self.recent.insert(0, command);
        self.recent.truncate(MAX_RECENT);
    }
}
