//! State of canvases of earlier sessions.

use std::path::PathBuf;

use atelier_core::paths::Paths;

/// Canvases of earlier sessions. They are read one at a time, because each may be large.
#[derive(Debug, Default)]
pub struct Recovery {
    /// The person's folders; `None` opens none.
    pub(crate) paths: Option<Paths>,
    /// Files that wait, the newest last.
    pub waiting: Vec<PathBuf>,
    /// What could not be opened, with the reasons, until it is dismissed. The files stay.
    pub problems: Vec<(PathBuf, String)>,
    /// The waiting ones are offered.
    pub is_offered: bool,
    /// The one that is being read; true where it is opened by itself.
    pub(crate) reading: Option<(PathBuf, bool)>,
}
