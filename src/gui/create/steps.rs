//! The steps of the picture shown: looking at them, and going on from one. Nothing here waits.

use std::sync::Arc;

use eframe::egui::{ColorImage, TextureHandle, TextureOptions};

use crate::gui::context::Context;
use crate::gui::create::session::{PictureFile, SessionPicture, SessionPictureId};
use crate::gui::create::state::State;
use crate::gui::create::step_previews::ShownStep;
use crate::gui::pixels::{self, PREVIEW_SIDE_PX};
use crate::gui::shared::random_seed;
use crate::gui::workers::Worker;
use atelier_core::canvas::PixelRect;
use atelier_core::recipe::{PartialRecipe, Recipe};
use atelier_language::tr;

impl State {
    /// The picture shown, where it is no canvas and none that forms.
    #[must_use]
    pub fn finished_picture_shown(&self) -> Option<&SessionPicture> {
        let is_other = self.document_size_px.is_some() || self.shows_sheet() || self.forming_shown().is_some();
        if is_other { None } else { self.session.shown() }
    }

    /// The picture shown whose steps can be looked at, and the number of its steps.
    #[must_use]
    pub fn picture_with_steps(&self) -> Option<(SessionPictureId, u32)> {
        let picture = self.finished_picture_shown()?;
        let recipe = &picture.recipe;
        let has_one_pass = recipe.changes_part() || recipe.hires.is_none();
        let steps = recipe.draft_step().unwrap_or_else(|| recipe.steps_in_pass(0));
        (has_one_pass && steps > 1 && self.step_previews.has(picture.id)).then_some((picture.id, steps))
    }

    /// True where there are steps to look at, or a draft to finish.
    #[must_use]
    pub fn has_steps_panel(&self) -> bool {
        let is_draft = self.finished_picture_shown().is_some_and(|picture| picture.recipe.draft_step().is_some());
        is_draft || self.picture_with_steps().is_some()
    }

    /// The step that is shown in the place of its picture.
    #[must_use]
    pub fn step_in_sight(&self) -> Option<&ShownStep> {
        let (id, _) = self.picture_with_steps()?;
        self.shown_step.as_ref().filter(|shown| shown.id == id)
    }

    /// The preview of the step in sight, and the part of the picture in whose place it is shown;
    /// `None`: all of it.
    #[must_use]
    pub fn step_texture(&self) -> Option<(&TextureHandle, Option<PixelRect>)> {
        let shown = self.step_in_sight()?;
        let (_, texture) = shown.texture.as_ref()?;
        Some((texture, self.step_previews.place(shown.id)))
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
    let (id, image) = (*id, Arc::clone(image));
    context.run(
        Worker::Pixels,
        move || pixels::to_screen(&image, PREVIEW_SIDE_PX),
        move |image, features, context| step_ready(features.create, id, nearest, image, context),
    );
    if let Some(shown) = &mut state.shown_step {
        shown.converting = Some(nearest);
    }
}

/// The preview of a step is ready for the screen.
fn step_ready(state: &mut State, id: SessionPictureId, step: u32, image: ColorImage, context: &Context<'_>) {
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

/// The next picture begins with the steps of the picture shown up to the one in sight, and goes on
/// with the words, guidance and LoRAs of the settings.
pub(crate) fn go_on_from_step(state: &State, context: &mut Context<'_>) {
    let (Some(shown), Some(picture)) = (state.step_in_sight(), state.session.shown()) else { return };
    let settings = branch_settings(&picture.recipe, shown.step, file_name(picture), &context.shared.next.recipe);
    let step = shown.step;
    context.shared.next.apply_settings(&settings);
    context.notice(tr!("create-the-next-picture-continues", step));
}

/// The recipe of the picture shown with the same steps up to the one in sight, and another seed
/// after it.
pub(crate) fn rerolled(state: &State) -> Option<Recipe> {
    let (shown, picture) = (state.step_in_sight()?, state.session.shown()?);
    let earlier_steps = picture.recipe.steps_until(shown.step, file_name(picture));
    Some(Recipe { earlier_steps, seed: Some(random_seed()), ..picture.recipe.clone() })
}

/// The recipe that finishes the draft shown.
pub(crate) fn finished(state: &State) -> Option<Recipe> {
    let picture = state.session.shown()?;
    picture.recipe.finishing(picture.info.seed, file_name(picture))
}

/// The name of a picture's file, once it has one.
fn file_name(picture: &SessionPicture) -> Option<String> {
    match &picture.stored {
        PictureFile::At(path) => path.file_name().map(|name| name.to_string_lossy().into_owned()),
        PictureFile::Writing | PictureFile::Failed => None,
    }
}

/// Settings that make a recipe a branch of a picture of another one.
fn branch_settings(parent: &Recipe, step: u32, name: Option<String>, recipe: &Recipe) -> PartialRecipe {
    let is_same_model = parent.files == recipe.files;
    PartialRecipe {
        files: Some(parent.files.clone()).filter(|files| !files.is_empty()),
        negative_in_prompt: Some(parent.negative_in_prompt).filter(|_| !parent.files.is_empty()),
        // These may be others from that step on.
        prompt: None,
        negative_prompt: None,
        words_seed: None,
        guidance: None,
        distilled_guidance: None,
        loras: Some(parent.loras.clone()).filter(|_| !is_same_model),
        earlier_steps: Some(parent.steps_until(step, name)),
        last_step: Some(None),
        ..PartialRecipe::of(parent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::recipe::{FileRole, Lora, Seed};

    #[test]
    fn a_branch_has_the_settings_of_its_parent_but_for_those_that_may_change() {
        let mut parent = Recipe { prompt: "a lake".into(), seed: Some(Seed(7)), steps: 9, width: 64, guidance: 3.0, ..Recipe::default() };
        parent.files.set(FileRole::Model, "a.safetensors");
        let lora = |path: &str| vec![Lora::new(path.into(), 1.0)];
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
