//! Pictures of a prompt in which something is chosen: each is a job of its own.

use crate::gui::context::Context;
use crate::gui::create::jobs::add_job;
use crate::gui::create::state::State;
use crate::gui::create::word_lists::model_folders;
use crate::gui::shared::random_seed;
use crate::gui::workers::Worker;
use atelier_core::recipe::Recipe;
use atelier_core::words::{NoWildcards, Wildcards};
use atelier_gallery::queue::Lane;
use atelier_language::tr;
use atelier_library::disk::WildcardLists;

/// Lists that could not be read and are told at once.
const MAX_UNREAD_TOLD: usize = 3;

/// Adds the pictures of a recipe to the queue, once what is chosen in its prompt is known.
pub(crate) fn add_chosen(state: &State, recipe: Recipe, lane: Lane, context: &mut Context<'_>) {
    if !recipe.is_template() {
        // What an earlier prompt was chosen from says nothing of this one.
        let mut recipe = Recipe { template: String::new(), words_seed: None, ..recipe };
        context.shared.next.take_loras_of(&mut recipe);
        return add_job(state, recipe, lane, context);
    }
    if !recipe.names_wildcards() {
        return choose(state, &recipe, lane, &NoWildcards, context);
    }
    let (own, models) = (state.wildcards.clone(), model_folders(context.shared).cloned().collect::<Vec<_>>());
    context.run(
        Worker::Files,
        move || WildcardLists::read_beside(own.as_deref(), &models),
        move |(lists, unread), features, context| {
            tell_unread(unread, context);
            features.create.word_lists.note_names(&lists);
            choose(features.create, &recipe, lane, &lists, context);
        },
    );
}

/// Says which lists could not be read.
pub(crate) fn tell_unread(unread: Vec<String>, context: &mut Context<'_>) {
    for sentence in unread.into_iter().take(MAX_UNREAD_TOLD) {
        context.notice(sentence);
    }
}

fn choose(state: &State, recipe: &Recipe, lane: Lane, lists: &dyn Wildcards, context: &mut Context<'_>) {
    let chosen = recipe.choose_pictures(random_seed(), lists);
    if let Some(fault) = chosen.faults.first() {
        return context.notice(tr!("create-no-picture-is-made", fault));
    }
    if let [one] = chosen.recipes.as_slice() {
        context.notice(tr!("create-prompt", prompt = one.prompt));
    }
    for mut recipe in chosen.recipes {
        context.shared.next.take_loras_of(&mut recipe);
        add_job(state, recipe, lane, context);
    }
}
