//! Effects of what a person does with the contact sheet. Nothing here waits.

use crate::gui::canvas::candidate::without_pictures;
use crate::gui::context::Context;
use crate::gui::create::jobs::add_job;
use crate::gui::create::session::{PictureFile, SessionPictureId};
use crate::gui::create::sheet::Direction;
use crate::gui::create::state::State;
use crate::gui::gallery;
use crate::gui::shared::random_seed;
use atelier_core::recipe::Recipe;
use atelier_engine::JobId;
use atelier_gallery::PictureId;
use atelier_gallery::queue::{Lane, QueuedJobId};
use atelier_language::tr;
use atelier_studio::gallery_service::GalleryRequest;

/// Neighbours that are made of a picture at once.
pub(crate) const NEIGHBOURS: u32 = 4;

/// A job begins: its pictures get places. Those of a canvas stay on the canvas.
pub(crate) fn job_begins(state: &mut State, numbers: (QueuedJobId, JobId), recipe: &Recipe, now_secs: f64) {
    if state.document_size_px.is_some() {
        return;
    }
    let seen_secs = state.shows_sheet().then_some(now_secs);
    let State { session, sheet, .. } = state;
    let chosen = sheet.pictures().filter(|id| session.get(*id).is_some_and(|it| it.is_picked)).collect::<Vec<_>>();
    let follows = session.following();
    sheet.begin_job(numbers, (&without_pictures(recipe), recipe.batch_count), chosen.into_iter(), follows, seen_secs);
}

/// Makes neighbours of the picture shown beside it. `make`: their recipes, of a recipe with the seed
/// of the picture.
pub(crate) fn make_near(state: &mut State, make: impl FnOnce(&Recipe) -> Vec<Recipe>, context: &mut Context<'_>) {
    let Some(picture) = state.session.shown() else { return };
    let (id, mut recipe) = (picture.id, picture.recipe.clone());
    if recipe.files.is_empty() {
        recipe.files = context.shared.next.recipe.files.clone();
    }
    recipe.placement = context.shared.next.recipe.placement.clone();
    let recipes = make(&recipe);
    if recipes.is_empty() {
        context.notice(tr!("create-this-prompt-has-no"));
    }
    state.session.choose_pointed();
    for recipe in recipes {
        add_beside(state, recipe, id, context);
    }
}

/// Neighbours in noise.
pub(crate) fn near_seeds(recipe: &Recipe) -> Vec<Recipe> {
    recipe.near_seeds(NEIGHBOURS, random_seed())
}

/// Has pictures made whose place is beside this one.
pub(crate) fn add_beside(state: &mut State, recipe: Recipe, of: SessionPictureId, context: &mut Context<'_>) {
    context.shared.error = None;
    state.sheet.ask_beside(without_pictures(&recipe), of);
    let lane = if recipe.batch_count > 1 { Lane::Batch } else { Lane::Interactive };
    add_job(state, recipe, lane, context);
}

/// Shows the picture that lies in this direction of the one shown.
pub(crate) fn go(state: &mut State, direction: Direction, columns: usize) {
    // Nothing is chosen yet: the first key chooses the first picture.
    let of = state.session.shown().map(|picture| picture.id).filter(|id| state.sheet.has(*id));
    let of = of.filter(|_| !state.session.following() || state.sheet.is_large);
    if let Some(id) = state.sheet.neighbour(of, direction, columns) {
        state.session.show(id);
    }
}

/// Picks the picture shown, or no longer.
pub(crate) fn toggle_pick(state: &mut State, context: &mut Context<'_>) {
    let Some(id) = state.session.shown().map(|picture| picture.id) else { return };
    let Some(picture) = state.session.get_mut(id) else { return };
    picture.is_picked = !picture.is_picked;
    if let Some(number) = picture.kept {
        let flag = picture.is_picked.then_some(atelier_gallery::PictureFlag::Pick);
        context.follow_up(gallery::Command::FlagOf(vec![number], flag));
    }
}

/// Pictures were picked elsewhere, or no longer.
pub(crate) fn note_picks(state: &mut State, numbers: &[PictureId], is_picked: bool) {
    for id in state.session.iter().filter(|it| it.kept.is_some_and(|it| numbers.contains(&it))).map(|it| it.id).collect::<Vec<_>>() {
        if let Some(picture) = state.session.get_mut(id) {
            picture.is_picked = is_picked;
        }
    }
}

/// Compares the picture shown with the one that was marked for it; marks it where none was.
pub(crate) fn compare(state: &mut State, context: &mut Context<'_>) {
    let Some(shown) = state.session.shown() else { return };
    match state.sheet.compared.and_then(|id| state.session.get(id)) {
        Some(other) if other.id == shown.id => state.sheet.compared = None,
        Some(other) => match (other.kept, shown.kept) {
            (Some(first), Some(second)) => {
                state.sheet.compared = None;
                state.session.choose_pointed();
                context.follow_up(gallery::Command::CompareFrom(context.shared.screen, first, second));
            }
            (_, None) | (None, _) => context.notice(tr!("create-a-picture-is-still")),
        },
        None => {
            state.sheet.compared = Some(shown.id);
            context.notice(tr!("create-now-point-at-another"));
        }
    }
}

/// Moves the picture shown to the trash.
pub(crate) fn trash(state: &mut State, context: &mut Context<'_>) {
    let Some(picture) = state.session.shown() else { return };
    let (Some(number), PictureFile::At(_)) = (picture.kept, &picture.stored) else {
        context.notice(tr!("create-this-picture-is-still"));
        return;
    };
    let id = picture.id;
    let beside = |direction| state.sheet.neighbour(Some(id), direction, 1);
    let next = beside(Direction::Right).or_else(|| beside(Direction::Left));
    let was_chosen = state.session.selected() == Some(id);
    let Some((at, picture)) = state.session.remove(id) else { return };
    state.sheet.remove(id);
    state.trashed.push((at, picture));
    state.trash_is_last = true;
    if let Some(next) = next.filter(|_| was_chosen) {
        state.session.show(next);
    }
    if let Some(gallery) = context.gallery {
        gallery.send(GalleryRequest::Trash(vec![number]));
    }
}

/// Takes the picture back that went to the trash last.
pub(crate) fn bring_back(state: &mut State, context: &mut Context<'_>) {
    state.trash_is_last = state.trashed.len() > 1;
    if let Some((at, picture)) = state.trashed.pop() {
        let id = picture.id;
        state.session.put_back(at, picture);
        state.session.show(id);
        if let Some(gallery) = context.gallery {
            gallery.send(GalleryRequest::RestoreTrashed);
        }
    }
}
