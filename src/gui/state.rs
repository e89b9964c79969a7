//! The state of the window: what several features share, and each feature's own.
//!
//! Views read it; only the features' `update` and the frame loop change it.

use crate::gui::notices::Notices;
use crate::gui::shared::{Closing, Shared};
use crate::gui::{
    canvas, create, devices, gallery, grid, guides, live, memory, models, palette, phrases, program, queue, sharing, studios, styles,
};

/// The state of the window. A new view or section has its state here, its commands in
/// [`crate::gui::command::Command`], and its place in the frame loop ([`crate::gui::app`]); the
/// compiler leads from one to the next.
pub struct State {
    /// State that several features read and change.
    pub shared: Shared,
    /// Short lines that go away by themselves.
    pub notices: Notices,
    /// State of closing the window.
    pub closing: Closing,
    /// What is in no file as the window is about to close, in sentences with the reasons.
    pub unsaved: Vec<String>,
    /// The person is asked whether to open this window beside another one that does not answer.
    pub asks_beside: bool,
    /// The Create view.
    pub create: create::State,
    /// The Devices view.
    pub devices: devices::State,
    /// The Models view.
    pub models: models::State,
    /// The Gallery view.
    pub gallery: gallery::State,
    /// Canvases: layers, regions and strokes.
    pub canvas: canvas::State,
    /// Sheets of pictures that differ along axes.
    pub grid: grid::State,
    /// Guides of the next picture.
    pub guides: guides::State,
    /// Settings under names.
    pub styles: styles::State,
    /// The picture that follows.
    pub live: live::State,
    /// Models in memory.
    pub memory: memory::State,
    /// The command palette.
    pub palette: palette::State,
    /// What phrases of the prompt did.
    pub phrases: phrases::State,
    /// The program: versions, crash reports, menu.
    pub program: program::State,
    /// The panel of jobs.
    pub queue: queue::State,
    /// Sharing of models with others.
    pub sharing: sharing::State,
    /// Other studios of the network.
    pub studios: studios::State,
}
