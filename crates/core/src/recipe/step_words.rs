//! Words that change over the steps, as the earlier steps that compute them.

use super::{EarlierSteps, Recipe};
use crate::words::{Prompt, StepWords};
use atelier_language::tr;

/// Ranges of steps that the words of one picture may make: each is a call of the engine, and as many
/// recipes are held while they are computed.
pub const MAX_WORD_CHANGES: usize = 64;

impl Recipe {
    /// True where words of a prompt change over the steps.
    #[must_use]
    pub fn changes_over_steps(&self) -> bool {
        let earlier = self.earlier_steps.iter().flat_map(|steps| [&steps.prompt, &steps.negative_prompt]);
        earlier.chain([&self.prompt, &self.negative_prompt]).any(|prompt| Prompt::parse(prompt).changes_over_steps())
    }

    /// Gives each range of steps its own words. `steps`: of the whole picture, also where this is a
    /// draft of it. The prompts that remain change no more.
    ///
    /// # Errors
    ///
    /// A sentence where there would be more than [`MAX_WORD_CHANGES`] ranges; the recipe is then as
    /// it was.
    pub fn spread_words(&mut self, steps: u32) -> Result<(), String> {
        let end = self.draft_step().unwrap_or(steps).max(1);
        // These steps have the noise of the picture itself, whichever of a batch that is.
        let own = EarlierSteps { seed: None, ..EarlierSteps::of(self, end) };
        let mut spread: Vec<EarlierSteps> = Vec::new();
        let mut before = 0;
        for part in self.earlier_steps.iter().chain([&own]) {
            let [prompts, negative] =
                [&part.prompt, &part.negative_prompt].map(|text| Prompt::parse(text).over_steps(steps, MAX_WORD_CHANGES));
            let (Some(prompts), Some(negative)) = (prompts, negative) else { return Err(too_many()) };
            let ends = prompts.iter().chain(&negative).map(|it| it.until_step).filter(|end| (before + 1..part.until_step).contains(end));
            let mut ends: Vec<u32> = ends.chain([part.until_step]).collect();
            ends.sort_unstable();
            ends.dedup();
            if spread.len() + ends.len() > MAX_WORD_CHANGES {
                return Err(too_many());
            }
            spread.extend(ends.into_iter().map(|until_step| EarlierSteps {
                until_step,
                prompt: words_at(&prompts, until_step),
                negative_prompt: words_at(&negative, until_step),
                ..part.clone()
            }));
            before = part.until_step;
        }
        if let Some(last) = spread.pop() {
            (self.prompt, self.negative_prompt) = (last.prompt, last.negative_prompt);
        }
        self.earlier_steps = spread;
        Ok(())
    }
}

fn words_at(ranges: &[StepWords], step: u32) -> String {
    ranges.iter().find(|it| it.until_step >= step).or(ranges.last()).map(|it| it.prompt.clone()).unwrap_or_default()
}

fn too_many() -> String {
    tr!("core-the-words-of-the", max_word_changes = MAX_WORD_CHANGES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe(prompt: &str) -> Recipe {
        Recipe { prompt: prompt.into(), steps: 10, seed: 7, ..Recipe::default() }
    }

    /// The last step of each range with its words.
    fn spread(mut recipe: Recipe) -> Vec<(u32, String, String)> {
        recipe.spread_words(10).unwrap();
        assert!(!recipe.changes_over_steps());
        let end = recipe.draft_step().unwrap_or(10);
        let earlier = recipe.earlier_steps.into_iter().map(|it| (it.until_step, it.prompt, it.negative_prompt));
        earlier.chain([(end, recipe.prompt, recipe.negative_prompt)]).collect()
    }

    fn range(until_step: u32, prompt: &str, negative: &str) -> (u32, String, String) {
        (until_step, prompt.to_owned(), negative.to_owned())
    }

    #[test]
    fn words_over_steps_are_earlier_steps() {
        assert_eq!(spread(recipe("a [lake:sea:0.4]")), [range(4, "a lake", ""), range(10, "a sea", "")]);
        assert_eq!(spread(recipe("a [lake:lake:0.4]")), [range(10, "a lake", "")], "one range");
        let both = Recipe { negative_prompt: "[fog:rain:7]".into(), ..recipe("[day:night:4]") };
        assert_eq!(spread(both), [range(4, "day", "fog"), range(7, "night", "fog"), range(10, "night", "rain")]);
        let turns = spread(recipe("[a|b]"));
        assert_eq!(turns.len(), 10);
        assert_eq!(turns[8..], [range(9, "a", ""), range(10, "b", "")]);
    }

    #[test]
    fn a_draft_ends_within_the_words_of_its_step() {
        let draft = |last_step| Recipe { last_step: Some(last_step), ..recipe("[day:night:0.4]") };
        assert_eq!(spread(draft(3)), [range(3, "day", "")]);
        assert_eq!(spread(draft(6)), [range(4, "day", ""), range(6, "night", "")]);
        let finished = draft(3).finishing(7, None).unwrap();
        assert_eq!(spread(finished), [range(3, "day", ""), range(4, "day", ""), range(10, "night", "")]);
    }

    #[test]
    fn a_branch_keeps_the_words_of_what_it_branches_from() {
        let parent = recipe("[day:night:0.4]");
        let branch = Recipe { earlier_steps: parent.steps_until(6, None), ..recipe("[fog:rain:0.8]") };
        let expected = [range(4, "day", ""), range(6, "night", ""), range(8, "fog", ""), range(10, "rain", "")];
        assert_eq!(spread(branch), expected);
    }

    #[test]
    fn a_batch_has_the_noise_of_each_picture() {
        let mut batch = recipe("[day:night:0.4]");
        batch.spread_words(10).unwrap();
        assert!(!Recipe { seed: 8, ..batch }.has_new_noise());
    }

    #[test]
    fn more_changes_than_are_computed_are_told() {
        let mut wild = Recipe { steps: 100, ..recipe("[a|b]") };
        let before = wild.clone();
        assert!(wild.spread_words(100).unwrap_err().contains("64"));
        assert_eq!(wild, before);
    }
}
