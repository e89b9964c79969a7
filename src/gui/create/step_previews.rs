//! Previews of the steps of the last pictures, and the one that is shown. Pure.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use eframe::egui::TextureHandle;

use crate::gui::create::session::SessionPictureId;
use atelier_core::canvas::PixelRect;
use atelier_core::recipe::Rgb8;
use atelier_engine::{JobId, Preview};

/// Bytes of the previews of all pictures: two of 20 steps at 1024 x 1024 in the finest previews,
/// hundreds in rough ones.
const MAX_BYTES: usize = 128 << 20;

/// Previews of the steps of the last pictures; the oldest picture is dropped first.
#[derive(Default)]
pub struct StepPreviews {
    /// Newest last.
    pictures: VecDeque<PictureSteps>,
}

struct PictureSteps {
    job: JobId,
    /// Index in the batch.
    index: u32,
    /// Its number, once it is finished.
    id: Option<SessionPictureId>,
    /// The part that forms, in pixels of the picture; `None`: all of it.
    place: Option<PixelRect>,
    /// Several parts form one after the other, each in steps of its own: none of them are kept.
    has_several_parts: bool,
    /// By step, from 1.
    previews: BTreeMap<u32, Arc<Rgb8>>,
}

impl PictureSteps {
    fn bytes(&self) -> usize {
        self.previews.values().map(|image| image.pixels().len()).sum()
    }
}

impl StepPreviews {
    /// Keeps a preview; one that has no room is left out.
    pub fn add(&mut self, job: JobId, preview: &Preview) {
        let Preview { picture, step, place, image } = preview;
        let bytes = image.pixels().len();
        if *step == 0 || bytes > MAX_BYTES {
            return;
        }
        if !self.pictures.iter().any(|it| (it.job, it.index) == (job, *picture)) {
            let (place, previews) = (*place, BTreeMap::new());
            self.pictures.push_back(PictureSteps { job, index: *picture, id: None, place, has_several_parts: false, previews });
        }
        while self.bytes() + bytes > MAX_BYTES && self.pictures.len() > 1 {
            self.pictures.pop_front();
        }
        let is_room = self.bytes() + bytes <= MAX_BYTES;
        if let Some(steps) = self.pictures.iter_mut().find(|it| (it.job, it.index) == (job, *picture)).filter(|_| is_room) {
            if steps.place != *place {
                steps.has_several_parts = true;
                steps.previews.clear();
            }
            if !steps.has_several_parts {
                steps.previews.insert(*step, Arc::clone(image));
            }
        }
    }

    /// A picture is finished and has this number from now on.
    pub fn finish(&mut self, job: JobId, index: u32, id: SessionPictureId) {
        if let Some(steps) = self.pictures.iter_mut().find(|it| (it.job, it.index) == (job, index)) {
            steps.id = Some(id);
        }
    }

    /// Drops the previews of pictures of a job that were not finished.
    pub fn end(&mut self, job: JobId) {
        self.pictures.retain(|it| it.job != job || it.id.is_some());
    }

    /// True where previews of a picture are kept.
    #[must_use]
    pub fn has(&self, id: SessionPictureId) -> bool {
        self.pictures.iter().any(|it| it.id == Some(id) && !it.previews.is_empty())
    }

    /// The preview of a step of a picture, or of the nearest one before it, else after it, and its
    /// step.
    #[must_use]
    pub fn nearest(&self, id: SessionPictureId, step: u32) -> Option<(u32, &Arc<Rgb8>)> {
        let previews = &self.pictures.iter().find(|it| it.id == Some(id))?.previews;
        let nearest = previews.range(..=step).next_back().or_else(|| previews.range(step..).next())?;
        Some((*nearest.0, nearest.1))
    }

    /// The part of a picture that its previews show, in pixels; `None`: all of it.
    #[must_use]
    pub fn place(&self, id: SessionPictureId) -> Option<PixelRect> {
        self.pictures.iter().find(|it| it.id == Some(id))?.place
    }

    fn bytes(&self) -> usize {
        self.pictures.iter().map(PictureSteps::bytes).sum()
    }
}

/// A step of a picture, shown in its place.
pub struct ShownStep {
    pub id: SessionPictureId,
    /// The step, from 1; less than the picture has.
    pub step: u32,
    /// The preview that is ready for the screen, and its step.
    pub texture: Option<(u32, TextureHandle)>,
    /// The preview that is being made ready.
    pub(crate) converting: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preview(picture: u32, step: u32, side: u32) -> Preview {
        let image = Rgb8::new(side, side, vec![step as u8; (side * side * 3) as usize]).unwrap();
        Preview { picture, step, place: None, image: Arc::new(image) }
    }

    #[test]
    fn the_nearest_preview_stands_for_a_step_without_one() {
        let mut previews = StepPreviews::default();
        for step in [2, 5] {
            previews.add(JobId(1), &preview(0, step, 4));
        }
        assert!(!previews.has(SessionPictureId(7)), "it is not finished");
        previews.finish(JobId(1), 0, SessionPictureId(7));
        let nearest = |step| previews.nearest(SessionPictureId(7), step).map(|(step, _)| step);
        assert_eq!([1, 2, 4, 5, 9].map(nearest), [2, 2, 2, 5, 5].map(Some));
        assert_eq!(previews.nearest(SessionPictureId(8), 1), None);
    }

    #[test]
    fn pictures_that_were_not_finished_leave_nothing() {
        let mut previews = StepPreviews::default();
        previews.add(JobId(1), &preview(0, 1, 4));
        previews.add(JobId(1), &preview(1, 1, 4));
        previews.finish(JobId(1), 0, SessionPictureId(7));
        previews.end(JobId(1));
        assert_eq!(previews.pictures.len(), 1);
    }

    #[test]
    fn the_steps_of_one_part_are_kept_with_its_place_and_those_of_several_are_not() {
        let mut previews = StepPreviews::default();
        let place = |left| Some(PixelRect { left, top: 0, width: 2, height: 2 });
        let part = |step, left| Preview { place: place(left), ..preview(0, step, 4) };
        previews.add(JobId(1), &part(1, 0));
        previews.add(JobId(1), &part(2, 0));
        previews.finish(JobId(1), 0, SessionPictureId(7));
        assert_eq!(previews.place(SessionPictureId(7)), place(0));
        assert_eq!(previews.nearest(SessionPictureId(7), 9).map(|(step, _)| step), Some(2));
        for (step, left) in [(1, 0), (2, 0), (1, 8), (2, 8), (1, 0)] {
            previews.add(JobId(2), &part(step, left));
        }
        previews.finish(JobId(2), 0, SessionPictureId(8));
        assert!(!previews.has(SessionPictureId(8)));
    }

    #[test]
    fn memory_is_bounded_and_the_oldest_picture_goes_first() {
        let mut previews = StepPreviews::default();
        for picture in 0..5_u32 {
            for step in 1..=20 {
                previews.add(JobId(u64::from(picture)), &preview(0, step, 1024));
                assert!(previews.bytes() <= MAX_BYTES);
            }
            previews.finish(JobId(u64::from(picture)), 0, SessionPictureId(u64::from(picture)));
        }
        assert!(!previews.has(SessionPictureId(2)) && previews.has(SessionPictureId(3)) && previews.has(SessionPictureId(4)));
    }
}
