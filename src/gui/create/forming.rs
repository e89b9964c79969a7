//! The pictures that form now, as they look. Plain data.

use std::collections::{BTreeMap, BTreeSet};

use eframe::egui::TextureHandle;

use atelier_core::canvas::PixelRect;
use atelier_engine::{JobId, Preview};

/// A picture of a job: the engine's number of the job, and the index in it.
pub(crate) type Origin = (JobId, u32);

/// A forming picture as it looks now.
pub struct FormingPicture {
    pub job: JobId,
    /// Index in the job.
    pub index: u32,
    /// Its pixels; often smaller than the picture will be.
    pub texture: TextureHandle,
    /// Width of the picture in pixels.
    pub width: u32,
    /// Height of the picture in pixels.
    pub height: u32,
    /// The part of the picture that the texture shows; `None`: the whole.
    pub place: Option<PixelRect>,
}

/// The pictures that form, and previews on their way to the screen.
#[derive(Default)]
pub struct FormingPictures {
    /// By job and index.
    pictures: Vec<FormingPicture>,
    /// The newest preview of each that is not yet ready for the screen.
    pending: BTreeMap<Origin, Preview>,
    /// The preview that is being made ready.
    pub(crate) converting: Option<Origin>,
    /// Pictures of jobs at work that are finished: a late preview of one is dropped.
    finished: BTreeSet<Origin>,
    /// Those of them whose pixels are not on the screen yet.
    awaited: BTreeSet<Origin>,
}

impl FormingPictures {
    /// Of several pictures that form, the one of the job that was begun first.
    #[must_use]
    pub fn first(&self) -> Option<&FormingPicture> {
        self.pictures.first()
    }

    /// The forming picture of this origin.
    #[must_use]
    pub(crate) fn get(&self, (job, index): Origin) -> Option<&FormingPicture> {
        self.pictures.iter().find(|it| (it.job, it.index) == (job, index))
    }

    /// The first forming picture of a job.
    #[must_use]
    pub fn of_job(&self, job: JobId) -> Option<&FormingPicture> {
        self.pictures.iter().find(|it| it.job == job)
    }

    /// Keeps a preview until it can be made ready for the screen.
    pub(crate) fn add_preview(&mut self, job: JobId, preview: Preview) {
        if !self.finished.contains(&(job, preview.picture)) {
            self.pending.insert((job, preview.picture), preview);
        }
    }

    /// The forming picture of this origin.
    pub(crate) fn get_mut(&mut self, (job, index): Origin) -> Option<&mut FormingPicture> {
        self.pictures.iter_mut().find(|it| (it.job, it.index) == (job, index))
    }

    /// The next preview to be made ready, where none is.
    pub(crate) fn next_preview(&mut self) -> Option<(JobId, Preview)> {
        if self.converting.is_some() {
            return None;
        }
        let (origin, preview) = self.pending.pop_first()?;
        self.converting = Some(origin);
        Some((origin.0, preview))
    }

    /// True where a preview of this picture is still worth showing.
    pub(crate) fn takes(&self, origin: Origin) -> bool {
        !self.finished.contains(&origin)
    }

    /// Shows a picture that has not been shown yet.
    pub(crate) fn show(&mut self, picture: FormingPicture) {
        let at = self.pictures.partition_point(|it| (it.job, it.index) < (picture.job, picture.index));
        self.pictures.insert(at, picture);
    }

    /// A picture is finished: its last look stays until its pixels are on the screen.
    pub(crate) fn finish(&mut self, origin: Origin) {
        self.pending.remove(&origin);
        self.finished.insert(origin);
        self.awaited.insert(origin);
    }

    /// The pixels of a finished picture are on the screen.
    pub(crate) fn replace(&mut self, origin: Origin) {
        self.awaited.remove(&origin);
        self.pictures.retain(|it| (it.job, it.index) != origin);
    }

    /// A job has ended: what was not finished goes.
    pub(crate) fn end_job(&mut self, job: JobId) {
        self.pending.retain(|(of, _), _| *of != job);
        self.finished.retain(|(of, _)| *of != job);
        self.pictures.retain(|it| it.job != job || self.awaited.contains(&(it.job, it.index)));
    }
}
