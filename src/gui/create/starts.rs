//! Several start pictures: each has a job of its own. Nothing here waits.

use crate::gui::context::Context;
use crate::gui::create::state::State;
use crate::gui::shared::ErrorCard;
use crate::gui::workers::Worker;
use atelier_core::recipe::{ImageSource, Recipe, first_of_other_size};
use atelier_language::tr;

/// Hands the recipe of each start picture to `add`, in their order: at once where there is one at
/// most, else when their sizes are known. Nothing is made where one mask lies over several sizes.
pub(crate) fn for_each_start(
    state: &mut State,
    recipe: Recipe,
    context: &mut Context<'_>,
    add: impl Fn(&mut State, Recipe, &mut Context<'_>) + Send + 'static,
) {
    let starts: Vec<ImageSource> = recipe.starts().cloned().collect();
    if starts.len() < 2 {
        return add(state, Recipe { further_starts: Vec::new(), ..recipe }, context);
    }
    let usual = context.shared.usual_size();
    context.run(
        Worker::Files,
        // The job of one that cannot be read says so.
        move || starts.iter().map(|image| atelier_media::image_size(image).ok()).collect::<Vec<_>>(),
        move |sizes, features, context| {
            let known: Vec<(u32, u32)> = sizes.iter().copied().flatten().collect();
            if recipe.mask.is_some() && first_of_other_size(&known).is_some() {
                let card = ErrorCard::new(tr!("create-the-start-pictures-have"), tr!("create-remove-the-mask-or"));
                context.shared.error = Some(card.at(context.shared.screen_of_making()));
                return;
            }
            for of_start in recipe.of_each_start(&sizes, usual) {
                add(features.create, of_start, context);
            }
        },
    );
}
