//! Jobs of the Create view, as the queue takes them.

use crate::gui::context::Context;
use crate::gui::create::state::State;
use atelier_core::recipe::Recipe;
use atelier_gallery::queue::{Lane, NewJob};
use atelier_studio::queue::QueueRequest;
use atelier_studio::studio_model::StudioModel;

/// A job with this view's preview and folder, and the name of its model. It has one start picture at
/// most. A recipe without a model is one for the other studio whose model is chosen.
pub(crate) fn new_job(state: &State, recipe: Recipe, lane: Lane, context: &Context<'_>) -> NewJob {
    let preview = serde_json::to_string(&state.preview_options(context.shared)).unwrap_or_default();
    let studio = context.shared.next.studio.as_ref().filter(|_| recipe.files.is_empty());
    let model = studio.map_or_else(|| context.shared.next.model_name(&recipe.files), |it| it.model.clone());
    let device = studio.map(StudioModel::device);
    NewJob {
        device,
        preview,
        ..NewJob::of_person(Recipe { further_starts: Vec::new(), ..recipe }, lane, state.pictures_folder.clone(), model)
    }
}

/// Adds a job of this recipe to the queue.
pub(crate) fn add_job(state: &State, recipe: Recipe, lane: Lane, context: &Context<'_>) {
    context.queue.send(QueueRequest::Add(Box::new(new_job(state, recipe, lane, context))));
}
