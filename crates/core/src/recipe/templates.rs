//! Recipes whose prompts are templates: what is chosen stands in the prompt, the template beside it.

use super::{PartialRecipe, Recipe, Seed};
use crate::words::{Draw, FaultKind, Prompt, Wildcards};
use atelier_language::tr;

/// Pictures that a recipe with a template stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct ChosenPictures {
    /// A recipe of one picture each, or the recipe itself where nothing is chosen.
    pub recipes: Vec<Recipe>,
    /// Sentences on what went wrong.
    pub faults: Vec<String>,
}

impl PartialRecipe {
    /// The same with its words as letters, since those of a picture are no templates: nothing in them is
    /// chosen again, and nothing is a comment.
    #[must_use]
    pub fn with_words_as_letters(mut self) -> Self {
        for words in [&mut self.prompt, &mut self.negative_prompt].into_iter().flatten() {
            let letters = Prompt::parse(words).as_letters();
            *words = letters;
        }
        self
    }
}

impl Recipe {
    /// As that of a [`PartialRecipe`].
    #[must_use]
    pub fn with_words_as_letters(self) -> Self {
        let [prompt, negative_prompt] = [&self.prompt, &self.negative_prompt].map(|words| Prompt::parse(words).as_letters());
        Self { prompt, negative_prompt, ..self }
    }

    /// True where something in the prompts is chosen for each picture anew, or is a comment.
    #[must_use]
    pub fn is_template(&self) -> bool {
        [&self.prompt, &self.negative_prompt].iter().any(|prompt| Prompt::parse(prompt).is_template())
    }

    /// True where a prompt names lists of words.
    #[must_use]
    pub fn names_wildcards(&self) -> bool {
        [&self.prompt, &self.negative_prompt].iter().any(|prompt| Prompt::parse(prompt).names_wildcards())
    }

    /// The pictures of this recipe, each with choices of its own, which follow from its seed, or from
    /// the seed of choices where there is one. `random`: the first seed where the recipe has none.
    #[must_use]
    pub fn choose_pictures(&self, random: Seed, wildcards: &dyn Wildcards) -> ChosenPictures {
        if !self.is_template() {
            return ChosenPictures { recipes: vec![self.clone()], faults: Vec::new() };
        }
        let first = self.seed.unwrap_or(random);
        let (prompt, negative_prompt) = (Prompt::parse(&self.prompt), Prompt::parse(&self.negative_prompt));
        let mut faults: Vec<String> = Vec::new();
        let mut recipes = Vec::new();
        for picture in 0..self.batch_count {
            let by = u64::from(picture);
            let seed = first.after(by);
            let words_seed = self.words_seed.map(|first| first.after(by));
            let mut draw = Draw::of_picture(words_seed.unwrap_or(seed));
            let mut expand = |prompt: &Prompt<'_>| {
                let made = prompt.expand(&mut draw, wildcards);
                for fault in made.faults {
                    let words = prompt.text.get(fault.range).unwrap_or_default();
                    let sentence = match fault.kind {
                        FaultKind::UnknownWildcard => tr!("core-there-is-no-list", value = words.trim_matches('_')),
                        kind => format!("{words}: {}", kind.sentence()),
                    };
                    if !faults.contains(&sentence) {
                        faults.push(sentence);
                    }
                }
                made.prompt
            };
            let mut recipe = Self { seed: Some(seed), words_seed, batch_count: 1, template: self.prompt.clone(), ..self.clone() };
            (recipe.prompt, recipe.negative_prompt) = (expand(&prompt), expand(&negative_prompt));
            // What these words began with moves with the seed, as it does within a batch.
            recipe.move_earlier_seeds(by);
            recipes.push(recipe);
        }
        ChosenPictures { recipes, faults }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::words::NoWildcards;

    fn prompts(recipe: &Recipe) -> Vec<String> {
        recipe.choose_pictures(Seed(9), &NoWildcards).recipes.into_iter().map(|it| it.prompt).collect()
    }

    proptest! {
        #[test]
        fn with_a_seed_of_choices_every_picture_seed_chooses_the_same(
            seed in any::<u64>(), other in any::<u64>(), words_seed in any::<u64>(), batch_count in 1..5_u32
        ) {
            let (seed, other, words_seed) = (Seed(seed), Seed(other), Seed(words_seed));
            let template: String = "{2$$red|blue|green|grey} {0::never|3::lake|sea}, {1-3$$ and $$fog|rain|snow}".into();
            let (prompt, negative_prompt) = (template.clone(), "{ink|oil}".into());
            let follows = Recipe { prompt, negative_prompt, seed: Some(seed), batch_count, ..Recipe::default() };
            let own = Recipe { words_seed: Some(words_seed), ..follows.clone() };
            let chosen = own.choose_pictures(Seed(9), &NoWildcards).recipes;
            prop_assert_eq!(prompts(&own), prompts(&Recipe { seed: Some(other), ..own.clone() }));
            // They are those of a picture of that seed, and no others.
            prop_assert_eq!(prompts(&own), prompts(&Recipe { seed: Some(words_seed), ..follows }));
            for (by, picture) in (0..).zip(&chosen) {
                let said = (picture.seed, picture.words_seed, &picture.template);
                prop_assert_eq!(said, (Some(seed.after(by)), Some(words_seed.after(by)), &template));
                let again = Recipe { seed: Some(other), words_seed: picture.words_seed, batch_count: 1, ..own.clone() };
                let again = again.choose_pictures(Seed(9), &NoWildcards).recipes;
                prop_assert_eq!((&again[0].prompt, &again[0].negative_prompt), (&picture.prompt, &picture.negative_prompt));
            }
        }
    }

    #[test]
    fn each_picture_of_a_template_chooses_anew_and_says_what() {
        let template = Recipe { prompt: "{red|blue} lake # mine".into(), seed: Some(Seed(3)), batch_count: 12, ..Recipe::default() };
        let chosen = template.choose_pictures(Seed(9), &NoWildcards);
        let prompts: std::collections::BTreeSet<&str> = chosen.recipes.iter().map(|it| it.prompt.as_str()).collect();
        assert_eq!(prompts, ["blue lake", "red lake"].into());
        assert!(
            chosen
                .recipes
                .iter()
                .zip(3..)
                .all(|(it, seed)| (it.seed, it.batch_count, &it.template) == (Some(Seed(seed)), 1, &template.prompt))
        );
        // The picture of a batch is that of its seed alone.
        let alone = Recipe { seed: Some(Seed(7)), batch_count: 1, ..template.clone() }.choose_pictures(Seed(9), &NoWildcards);
        assert_eq!(alone.recipes, chosen.recipes[4..5]);
        let again = chosen.recipes[0].choose_pictures(Seed(9), &NoWildcards);
        assert_eq!(again.recipes, chosen.recipes[..1], "what was chosen is no template");
        let (prompt, negative_prompt) = ("# {a|b} // c".to_owned(), "/* {d} */ __e__".to_owned());
        let made = Recipe { prompt, negative_prompt, ..template.clone() };
        let again = made.clone().with_words_as_letters().choose_pictures(Seed(9), &NoWildcards).recipes.remove(0);
        assert_eq!((again.prompt, again.negative_prompt), (made.prompt, made.negative_prompt));
        assert_eq!(Recipe { seed: None, ..template }.choose_pictures(Seed(9), &NoWildcards).recipes[0].seed, Some(Seed(9)));
    }

    #[test]
    fn a_prompt_without_choices_stays_as_it_is() {
        let plain = Recipe { prompt: "a {lake}, (fog:1.2) [a|b]".into(), batch_count: 3, seed: None, ..Recipe::default() };
        assert_eq!(plain.choose_pictures(Seed(9), &NoWildcards), ChosenPictures { recipes: vec![plain.clone()], faults: Vec::new() });
    }

    #[test]
    fn a_list_that_nobody_has_is_named() {
        let recipe = Recipe { prompt: "a __colour__ lake".into(), seed: Some(Seed(1)), ..Recipe::default() };
        let chosen = recipe.choose_pictures(Seed(9), &NoWildcards);
        assert_eq!(
            (chosen.faults.as_slice(), chosen.recipes[0].prompt.as_str()),
            (["There is no list of words named colour.".to_owned()].as_slice(), "a __colour__ lake")
        );
    }
}
