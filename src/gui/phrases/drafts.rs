//! The small drafts that are compared: which picture can have them, and their recipes. Pure.

use atelier_core::recipe::Recipe;
use atelier_core::words::{Phrase, Prompt};

/// Steps of a draft at most: enough for its composition.
const MAX_STEPS: u32 = 8;
/// Share of the picture's sides, as far as the bounds of the sides let it.
const SIDE_SHARE: f64 = 0.5;
/// Shortest and longest side of a draft in pixels, and of what sides are multiples: of that every
/// model makes pictures. Below, models paint something else; above, a draft is not cheap.
const MIN_SIDE: u32 = 128;
const MAX_SIDE: u32 = 512;
const SIDE_MULTIPLE: u32 = 64;

/// True where drafts of this recipe would show what its picture shows: it has a seed, and is made
/// whole and from its own first step.
pub(crate) fn has_drafts(recipe: &Recipe) -> bool {
    recipe.seed.is_some() && !recipe.changes_part() && recipe.mask.is_none() && recipe.earlier_steps.is_empty()
}

/// The recipe of a small draft of a picture, without a phrase where one is named; `None` where the
/// prompt is not the phrase's. `opened`: the recipe with whose model in memory it is made.
pub(crate) fn draft(picture: &Recipe, without: Option<&Phrase>, opened: &Recipe) -> Option<Recipe> {
    let prompt = match without {
        Some(phrase) => phrase.removed_from(&picture.prompt)?,
        None => picture.prompt.clone(),
    };
    // Numbers of steps in a prompt, and noise levels, mean other steps where there are fewer.
    let changes = |text: &String| Prompt::parse(text).changes_over_steps();
    let keeps_steps = !picture.sigmas.is_empty() || [&picture.prompt, &picture.negative_prompt].into_iter().any(changes);
    let longest = f64::from(picture.width.max(picture.height).max(1));
    let share = SIDE_SHARE.min(f64::from(MAX_SIDE) / longest);
    let side = |side: u32| ((f64::from(side) * share) as u32 / SIDE_MULTIPLE * SIDE_MULTIPLE).max(MIN_SIDE).min(side);
    Some(Recipe {
        prompt,
        width: side(picture.width),
        height: side(picture.height),
        steps: if keeps_steps { picture.steps } else { picture.steps.min(MAX_STEPS) },
        batch_count: 1,
        further_starts: Vec::new(),
        hires: None,
        upscale: None,
        last_step: None,
        placement: opened.placement.clone(),
        memory_map: opened.memory_map,
        threads: opened.threads,
        ..picture.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::recipe::{EarlierSteps, Seed};

    fn picture(width: u32, height: u32) -> Recipe {
        Recipe { prompt: "a lake, stars".into(), width, height, steps: 20, seed: Some(Seed(7)), batch_count: 3, ..Recipe::default() }
    }

    #[test]
    fn a_draft_is_small_has_few_steps_and_the_same_noise() {
        let recipe = draft(&picture(1024, 512), None, &Recipe::default()).unwrap();
        assert_eq!((recipe.width, recipe.height, recipe.steps, recipe.batch_count, recipe.seed), (512, 256, 8, 1, Some(Seed(7))));
        assert_eq!(recipe.prompt, "a lake, stars");
        let sides = |width, height| draft(&picture(width, height), None, &Recipe::default()).map(|it| (it.width, it.height));
        assert_eq!(sides(256, 256), Some((128, 128)));
        assert_eq!(sides(64, 192), Some((64, 128)), "never larger than the picture");
        assert_eq!(sides(4096, 2048), Some((512, 256)), "a large picture has no large draft");
        assert_eq!(sides(1000, 1000), Some((448, 448)));
    }

    #[test]
    fn a_draft_without_a_phrase_differs_in_the_prompt_alone() {
        let picture = picture(512, 512);
        let phrases = Prompt::parse(&picture.prompt).phrases();
        let opened = Recipe { threads: Some(3), ..Recipe::default() };
        let whole = draft(&picture, None, &opened).unwrap();
        let without = draft(&picture, phrases.get(1), &opened).unwrap();
        assert_eq!((without.prompt.as_str(), without.threads), ("a lake", Some(3)));
        assert_eq!(Recipe { prompt: whole.prompt.clone(), ..without }, whole);
        let other = Recipe { prompt: "a".into(), ..picture };
        assert_eq!(draft(&other, phrases.get(1), &opened), None);
    }

    #[test]
    fn steps_stay_where_the_prompt_or_the_noise_levels_name_them() {
        let steps = |recipe: Recipe| draft(&recipe, None, &Recipe::default()).map(|it| it.steps);
        assert_eq!(steps(Recipe { prompt: "a [lake:sea:12]".into(), ..picture(512, 512) }), Some(20));
        assert_eq!(steps(Recipe { sigmas: vec![1.0, 0.0], ..picture(512, 512) }), Some(20));
    }

    #[test]
    fn branches_and_random_seeds_have_no_drafts() {
        assert!(has_drafts(&picture(64, 64)));
        assert!(!has_drafts(&Recipe { seed: None, ..picture(64, 64) }));
        assert!(!has_drafts(&Recipe { earlier_steps: vec![EarlierSteps::default()], ..picture(64, 64) }));
    }
}
