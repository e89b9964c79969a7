//! The state of the window: what several features share, and each feature's own.
//!
//! Views read it; only the features' `update` and the frame loop change it.

use crate::gui::context::Notices;
use crate::gui::shared::{Closing, Shared};
use crate::gui::{create, devices, memory, models};

/// The state of the window.
pub struct State {
    /// State that several features read and change.
    pub shared: Shared,
    /// Short lines that go away by themselves.
    pub notices: Notices,
    /// Whether the window is being closed.
    pub closing: Closing,
    /// Prompt and pictures.
    pub create: create::State,
    /// Where everything runs, and what that takes.
    pub devices: devices::State,
    /// The models that there are, and what comes in.
    pub models: models::State,
    /// Settings of models in memory.
    pub memory: memory::State,
}
