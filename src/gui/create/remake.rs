//! Other pictures made of finished ones.

use std::path::{Path, PathBuf};

use crate::gui::context::Context;
use crate::gui::create::larger;
use crate::gui::create::state::State;
use crate::gui::create::update::new_job;
use crate::gui::files::Remake;
use atelier_core::recipe::{ImageSource, Recipe};
use atelier_gallery::queue::Lane;
use atelier_studio::queue::QueueRequest;

/// Makes other pictures of these, whose settings have been read.
pub(crate) fn remake(state: &State, remake: Remake, pictures: Vec<(PathBuf, Recipe)>, context: &mut Context<'_>) {
    let recipes: Vec<Recipe> = match remake {
        Remake::Enlarge(way) => {
            let recipe = |(path, recipe)| larger::enlarging(&recipe, ImageSource::File(path), way, context.shared);
            pictures.into_iter().map(recipe).collect()
        }
        Remake::FinishDraft => {
            let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
            pictures.iter().filter_map(|(path, recipe)| recipe.finishing(recipe.seed, name(path))).collect()
        }
    };
    context.notice(match (remake, recipes.len()) {
        (Remake::Enlarge(_), 1) => "Upscaling this picture. The result appears in the gallery.".to_owned(),
        (Remake::Enlarge(_), count) => format!("Upscaling {count} pictures, one after another. The results appear in the gallery."),
        (Remake::FinishDraft, 0) => "No draft is selected. To make drafts, turn on Stop early.".to_owned(),
        (Remake::FinishDraft, 1) => "Finishing this draft. The picture appears in the gallery.".to_owned(),
        (Remake::FinishDraft, count) => format!("Finishing {count} drafts, one after another. The pictures appear in the gallery."),
    });
    let lane = if recipes.len() == 1 { Lane::Interactive } else { Lane::Batch };
    for recipe in recipes {
        context.queue.send(QueueRequest::Add(Box::new(new_job(state, recipe, lane, context))));
    }
}
