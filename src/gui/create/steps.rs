//! The steps of the last pictures: their previews, and going on from one of them. Nothing here waits.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use eframe::egui::{ColorImage, TextureHandle, TextureOptions};

use crate::gui::context::Context;
use crate::gui::create::session::{PictureFile, PictureId};
use crate::gui::create::state::State;
use crate::gui::files::PixelTask;
use atelier_core::recipe::{PartialRecipe, Recipe, Rgb8};
use atelier_engine::{JobId, Preview};

/// Bytes of the previews of all pictures: two of 20 steps at 1024 x 1024 in the finest previews, hundreds in rough ones.
const MOST_BYTES: usize = 128 << 20;

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
    id: Option<PictureId>,
    /// By step, from 1.
    previews: BTreeMap<u32, Arc<Rgb8>>,
}

impl PictureSteps {
    fn bytes(&self) -> usize {
        self.previews.values().map(|image| image.pixels().len()).sum()
    }
}

impl StepPreviews {
    /// Keeps a preview of a whole picture; one that has no room is left out.
    pub fn add(&mut self, job: JobId, preview: &Preview) {
        let Preview { picture, step, place, image } = preview;
        let bytes = image.pixels().len();
        if place.is_some() || *step == 0 || bytes > MOST_BYTES {
            return;
        }
        if !self.pictures.iter().any(|it| (it.job, it.index) == (job, *picture)) {
            self.pictures.push_back(PictureSteps { job, index: *picture, id: None, previews: BTreeMap::new() });
        }
        while self.bytes() + bytes > MOST_BYTES && self.pictures.len() > 1 {
            self.pictures.pop_front();
        }
        let is_room = self.bytes() + bytes <= MOST_BYTES;
        if let Some(steps) = self.pictures.iter_mut().find(|it| (it.job, it.index) == (job, *picture)).filter(|_| is_room) {
            steps.previews.insert(*step, Arc::clone(image));
        }
    }

    /// A picture is finished and has this number from now on.
    pub fn finish(&mut self, job: JobId, index: u32, id: PictureId) {
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
    pub fn has(&self, id: PictureId) -> bool {
        self.pictures.iter().any(|it| it.id == Some(id) && !it.previews.is_empty())
    }

    /// The preview of a step of a picture, or of the nearest one before it, else after it, and its step.
    #[must_use]
    pub fn nearest(&self, id: PictureId, step: u32) -> Option<(u32, &Arc<Rgb8>)> {
        let previews = &self.pictures.iter().find(|it| it.id == Some(id))?.previews;
        let nearest = previews.range(..=step).next_back().or_else(|| previews.range(step..).next())?;
        Some((*nearest.0, nearest.1))
    }

    fn bytes(&self) -> usize {
        self.pictures.iter().map(PictureSteps::bytes).sum()
    }
}

/// A step of a picture, shown in its place.
pub struct ShownStep {
    /// The picture.
    pub id: PictureId,
    /// The step, from 1; less than the picture has.
    pub step: u32,
    /// The preview that is ready for the screen, and its step.
    pub texture: Option<(u32, TextureHandle)>,
    /// The preview that is being made ready.
    pub(crate) converting: Option<u32>,
}

impl State {
    /// The picture shown whose steps can be looked at, and the number of its steps.
    #[must_use]
    pub fn picture_with_steps(&self) -> Option<(PictureId, u32)> {
        if self.document_size_px.is_some() || (self.session.following() && self.forming.is_some()) {
            return None;
        }
        let picture = self.session.shown()?;
        let recipe = &picture.recipe;
        let is_whole = !recipe.changes_part() && recipe.hires.is_none();
        (is_whole && recipe.steps_to_run() > 1 && self.step_previews.has(picture.id)).then(|| (picture.id, recipe.steps_to_run()))
    }

    /// The step that is shown in the place of its picture.
    #[must_use]
    pub fn step_in_sight(&self) -> Option<&ShownStep> {
        let (id, _) = self.picture_with_steps()?;
        self.shown_step.as_ref().filter(|shown| shown.id == id)
    }
}

/// Shows a step of the picture shown; its last one is the picture itself.
pub(crate) fn show_step(state: &mut State, step: u32) {
    let Some((id, steps)) = state.picture_with_steps() else { return };
    if step >= steps {
        state.shown_step = None;
        return;
    }
    let before = state.shown_step.take().filter(|shown| shown.id == id);
    let (texture, converting) = before.map_or((None, None), |shown| (shown.texture, shown.converting));
    state.shown_step = Some(ShownStep { id, step: step.max(1), texture, converting });
}

/// Has the preview of the step in sight made ready for the screen.
pub(crate) fn refresh_step(state: &mut State, context: &Context<'_>) {
    let Some(ShownStep { id, step, texture, converting }) = state.step_in_sight() else { return };
    let Some((nearest, image)) = state.step_previews.nearest(*id, *step) else { return };
    if converting.is_some() || texture.as_ref().is_some_and(|(of, _)| *of == nearest) {
        return;
    }
    context.workers.pixel(PixelTask::StepPreview { id: *id, step: nearest, pixels: Arc::clone(image) });
    if let Some(shown) = &mut state.shown_step {
        shown.converting = Some(nearest);
    }
}

/// The preview of a step is ready for the screen.
pub(crate) fn step_ready(state: &mut State, id: PictureId, step: u32, image: ColorImage, context: &Context<'_>) {
    let Some(shown) = state.shown_step.as_mut().filter(|shown| shown.id == id) else { return };
    shown.converting = None;
    match &mut shown.texture {
        Some((of, texture)) => {
            *of = step;
            texture.set(image, TextureOptions::LINEAR);
        }
        texture => *texture = Some((step, context.egui.load_texture("step", image, TextureOptions::LINEAR))),
    }
}

/// The next picture begins with the steps of the picture shown up to the one in sight, and goes on with the words, guidance and LoRAs of the
/// settings.
pub(crate) fn go_on_from_step(state: &State, context: &mut Context<'_>) {
    let (Some(shown), Some(picture)) = (state.step_in_sight(), state.session.shown()) else { return };
    let name = match &picture.stored {
        PictureFile::At(path) => path.file_name().map(|name| name.to_string_lossy().into_owned()),
        PictureFile::Writing | PictureFile::Failed => None,
    };
    let settings = branch_settings(&picture.recipe, shown.step, name, &context.shared.recipe);
    let step = shown.step;
    context.shared.apply_settings(&settings);
    context.notice(format!("The next picture goes on from step {step}. Change the prompt, guidance or LoRAs, then generate."));
}

/// Settings that make a recipe a branch of a picture of another one.
fn branch_settings(parent: &Recipe, step: u32, name: Option<String>, recipe: &Recipe) -> PartialRecipe {
    let is_same_model = parent.files == recipe.files;
    PartialRecipe {
        files: Some(parent.files.clone()).filter(|files| !files.is_empty()),
        // These may be others from that step on.
        prompt: None,
        negative_prompt: None,
        guidance: None,
        distilled_guidance: None,
        loras: Some(parent.loras.clone()).filter(|_| !is_same_model),
        earlier_steps: Some(parent.steps_until(step, name)),
        ..PartialRecipe::of(parent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::recipe::{FileRole, Lora};

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
        assert!(!previews.has(PictureId(7)), "it is not finished");
        previews.finish(JobId(1), 0, PictureId(7));
        let nearest = |step| previews.nearest(PictureId(7), step).map(|(step, _)| step);
        assert_eq!([1, 2, 4, 5, 9].map(nearest), [2, 2, 2, 5, 5].map(Some));
        assert_eq!(previews.nearest(PictureId(8), 1), None);
    }

    #[test]
    fn pictures_that_were_not_finished_and_parts_leave_nothing() {
        let mut previews = StepPreviews::default();
        previews.add(JobId(1), &preview(0, 1, 4));
        previews.add(JobId(1), &preview(1, 1, 4));
        previews.finish(JobId(1), 0, PictureId(7));
        previews.end(JobId(1));
        assert_eq!(previews.pictures.len(), 1);
        let place = Some(atelier_core::canvas::PixelRect { left: 0, top: 0, width: 2, height: 2 });
        previews.add(JobId(2), &Preview { place, ..preview(0, 1, 4) });
        assert_eq!(previews.pictures.len(), 1);
    }

    #[test]
    fn memory_is_bounded_and_the_oldest_picture_goes_first() {
        let mut previews = StepPreviews::default();
        for picture in 0..5_u32 {
            for step in 1..=20 {
                previews.add(JobId(u64::from(picture)), &preview(0, step, 1024));
                assert!(previews.bytes() <= MOST_BYTES);
            }
            previews.finish(JobId(u64::from(picture)), 0, PictureId(u64::from(picture)));
        }
        assert!(!previews.has(PictureId(2)) && previews.has(PictureId(3)) && previews.has(PictureId(4)));
    }

    #[test]
    fn a_branch_has_the_settings_of_its_parent_but_for_those_that_may_change() {
        let mut parent = Recipe { prompt: "a lake".into(), seed: 7, steps: 9, width: 64, guidance: 3.0, ..Recipe::default() };
        parent.files.set(FileRole::Model, "a.safetensors");
        let lora = |path: &str| vec![Lora { path: path.into(), strength: 1.0 }];
        parent.loras = lora("ink");
        let now = Recipe { prompt: "night".into(), guidance: 5.0, loras: lora("oil"), files: parent.files.clone(), ..Recipe::default() };
        let branch = |now: &Recipe| {
            let mut branch = now.clone();
            branch_settings(&parent, 4, Some("1.png".into()), now).apply(&mut branch);
            branch
        };
        let same_model = branch(&now);
        let expected = Recipe { prompt: "night".into(), guidance: 5.0, loras: lora("oil"), ..parent.clone() };
        assert_eq!(same_model, Recipe { earlier_steps: parent.steps_until(4, Some("1.png".into())), ..expected });
        assert_eq!(same_model.parent().map(|it| it.prompt), Some("a lake".into()));
        let other_model = branch(&Recipe { files: Recipe::default().files, ..now });
        assert_eq!((other_model.files, other_model.loras), (parent.files.clone(), lora("ink")), "LoRAs are of their model");
    }
}
