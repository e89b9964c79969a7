//! What an empty start shows of the chosen model: the person's best pictures made with it, and what
//! the model is good at. Plain data.

use atelier_core::recipe::ModelFiles;
use atelier_gallery::PictureSummary;
use eframe::egui::TextureHandle;

/// What an empty start shows beside the words of the model's examples.
#[derive(Default)]
pub struct Examples {
    /// The files of the model; `None` until an empty start is shown.
    of: Option<ModelFiles>,
    /// The person's best pictures made with it.
    pub own: Vec<PictureSummary>,
    /// They have been asked for.
    pub(crate) has_asked: bool,
    /// Pictures of the model's examples, in their order; `None` for an example without one. Empty
    /// where none has one.
    pub looks: Vec<Option<TextureHandle>>,
    /// These pictures are being read.
    pub is_reading: bool,
}

impl Examples {
    /// Nothing yet, of this model.
    pub(crate) fn of(files: ModelFiles) -> Self {
        Self { of: Some(files), ..Self::default() }
    }

    /// True where this is about the model of these files.
    pub(crate) fn is_of(&self, files: &ModelFiles) -> bool {
        self.of.as_ref() == Some(files)
    }

    /// Has the person's best pictures asked for again: the index knows others.
    pub(crate) const fn ask_again(&mut self) {
        self.has_asked = false;
    }

    /// Takes the person's best pictures made with the model of these files, unless another one was
    /// chosen meanwhile.
    pub(crate) fn set_own(&mut self, files: &ModelFiles, pictures: Vec<PictureSummary>) {
        if self.is_of(files) {
            self.own = pictures;
        }
    }
}
