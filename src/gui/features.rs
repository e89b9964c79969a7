//! The state of all features side by side, so that what came of work in the background reaches each
//! that it concerns.

use crate::gui::autosave::Autosave;
use crate::gui::{
    canvas, create, devices, gallery, grid, guides, live, memory, models, palette, phrases, program, queue, sharing, studios, styles,
};

/// The features' own state, each on its own.
pub(crate) struct Features<'a> {
    pub(crate) create: &'a mut create::State,
    pub(crate) devices: &'a mut devices::State,
    pub(crate) models: &'a mut models::State,
    pub(crate) gallery: &'a mut gallery::State,
    pub(crate) canvas: &'a mut canvas::State,
    pub(crate) grid: &'a mut grid::State,
    pub(crate) guides: &'a mut guides::State,
    pub(crate) styles: &'a mut styles::State,
    pub(crate) live: &'a mut live::State,
    pub(crate) memory: &'a mut memory::State,
    pub(crate) palette: &'a mut palette::State,
    pub(crate) phrases: &'a mut phrases::State,
    pub(crate) program: &'a mut program::State,
    pub(crate) queue: &'a mut queue::State,
    pub(crate) sharing: &'a mut sharing::State,
    pub(crate) studios: &'a mut studios::State,
    /// What becomes of the settings that have changed.
    pub(crate) autosave: &'a mut Autosave,
}
