//! What is checked.

use atelier_core::device::Device;
use atelier_core::paths::{NoHome, Paths};
use atelier_library::{Builtin, BuiltinError};

/// What the checks need of their caller.
pub struct Subject<'a> {
    /// Folders of the person.
    pub paths: Result<Paths, NoHome>,
    /// Devices that the engine found; `Err`: a sentence that says why it named none.
    pub devices: Result<Vec<Device>, String>,
    /// Sentences of the engine about drivers that the system lacks.
    pub driver_notes: Vec<String>,
    /// The model that comes with the program.
    pub builtin: Result<Builtin, BuiltinError>,
    /// Screens of this session.
    pub display: Display,
    /// Also read every byte of downloaded models and compare their sums.
    pub sums: bool,
    /// Checks stop early once it returns false.
    pub go_on: &'a dyn Fn() -> bool,
}

/// Screens of this session, as far as the environment tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Display {
    /// There is one, or the system always has one.
    Present,
    /// There is none.
    Absent,
}

impl Display {
    /// The display of this process. Only X and Wayland have none at times.
    #[must_use]
    pub fn find() -> Self {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let has_always = cfg!(any(windows, target_os = "macos"));
        if has_always || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY") || is_set("WAYLAND_SOCKET") { Self::Present } else { Self::Absent }
    }
}
