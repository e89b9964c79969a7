//! Other pictures made of finished ones.

use std::path::{Path, PathBuf};

use crate::gui::context::Context;
use crate::gui::create::jobs::add_job;
use crate::gui::create::larger::{self, Remake};
use crate::gui::create::own_models::OwnModels;
use crate::gui::create::state::State;
use crate::gui::workers::Worker;
use atelier_core::recipe::{ImageSource, Recipe};
use atelier_gallery::queue::Lane;
use atelier_language::tr;
use atelier_studio::opened_picture;

/// Makes other pictures of these files, with the settings that they tell.
pub(crate) fn remake_files(remake: Remake, files: Vec<PathBuf>, context: &Context<'_>) {
    let known = OwnModels::of(context.shared);
    context.run(
        Worker::Files,
        move || {
            let read = |path: &Path| opened_picture::read_opened_picture(path, &known.known());
            let recipe = |path: &Path| read(path).map(|picture| picture.recipe()).unwrap_or_default();
            files.into_iter().map(|path| (recipe(&path), path)).map(|(recipe, path)| (path, recipe)).collect()
        },
        move |pictures, features, context| remake_pictures(features.create, remake, pictures, context),
    );
}

fn remake_pictures(state: &State, remake: Remake, pictures: Vec<(PathBuf, Recipe)>, context: &mut Context<'_>) {
    let recipes: Vec<Recipe> = match remake {
        Remake::Upscale(way) => {
            let recipe = |(path, recipe)| larger::upscaling(&recipe, ImageSource::File(path), way, context.shared);
            pictures.into_iter().map(recipe).collect()
        }
        Remake::FinishDraft => {
            let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
            pictures.iter().filter_map(|(path, recipe)| recipe.finishing(recipe.seed, name(path))).collect()
        }
    };
    context.notice(match (remake, recipes.len()) {
        (Remake::Upscale(_), 1) => tr!("create-upscaling-this-picture-the").to_owned(),
        (Remake::Upscale(_), count) => tr!("create-upscaling-pictures-one-after", count),
        (Remake::FinishDraft, 0) => tr!("create-no-draft-is-selected").to_owned(),
        (Remake::FinishDraft, 1) => tr!("create-finishing-this-draft-the").to_owned(),
        (Remake::FinishDraft, count) => tr!("create-finishing-drafts-one-after", count),
    });
    let lane = if recipes.len() == 1 { Lane::Interactive } else { Lane::Batch };
    for recipe in recipes {
        add_job(state, recipe, lane, context);
    }
}
