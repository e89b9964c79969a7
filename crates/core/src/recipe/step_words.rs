//! Words, LoRAs and guidance that change over the steps, as the earlier steps that compute them.

use super::{EarlierSteps, Lora, Recipe};
use crate::words::{Prompt, StepWords};
use atelier_language::tr;

/// Ranges of steps that words, LoRAs and guidance of one picture may make: each is a call of the engine,
/// and as many recipes are held while they are computed.
pub const MAX_STEP_RANGES: usize = 64;

impl Recipe {
    /// True where words of a prompt, LoRAs or the guidance may change over the steps.
    #[must_use]
    pub fn changes_over_steps(&self) -> bool {
        let earlier = self.earlier_steps.iter().flat_map(|steps| [&steps.prompt, &steps.negative_prompt]);
        let mut prompts = earlier.chain([&self.prompt, &self.negative_prompt]);
        let mut loras = self.earlier_steps.iter().flat_map(|steps| &steps.loras).chain(&self.loras);
        // A window asks in each frame, and few prompts have brackets of steps.
        let may_change = |prompt: &String| prompt.contains('[') && Prompt::parse_chosen(prompt).changes_over_steps();
        !self.guidance_ranges.is_empty() || loras.any(Lora::has_range) || prompts.any(may_change)
    }

    /// Gives each range of steps its own words, LoRAs and guidance. `steps`: of the whole picture,
    /// also where this is a draft of it. Those that remain change no more.
    ///
    /// # Errors
    ///
    /// A sentence where there would be more than [`MAX_STEP_RANGES`] ranges; the recipe is then as
    /// it was.
    pub fn spread_over_steps(&mut self, steps: u32) -> Result<(), String> {
        /// Steps of other pictures have one guidance each.
        const ONE: &[(u32, f32)] = &[];
        let end = self.draft_step().unwrap_or(steps).max(1);
        // These steps have the noise of the picture itself, whichever of a batch that is.
        let own = EarlierSteps { seed: None, ..EarlierSteps::of(self, end) };
        let mut spread: Vec<EarlierSteps> = Vec::new();
        let mut before = 0;
        let guidances = self.guidance_over_steps(steps);
        let parts = self.earlier_steps.iter().map(|part| (part, ONE)).chain([(&own, guidances.as_slice())]);
        for (part, guidances) in parts {
            let [prompts, negative] =
                [&part.prompt, &part.negative_prompt].map(|text| Prompt::parse_chosen(text).over_steps(steps, MAX_STEP_RANGES));
            let (Some(prompts), Some(negative)) = (prompts, negative) else { return Err(too_many()) };
            let words = prompts.iter().chain(&negative).map(|it| it.until_step);
            let loras = part.loras.iter().map(|lora| lora.steps(steps)).flat_map(|range| [range.start, range.end]);
            let guided = guidances.iter().map(|(until, _)| *until);
            let mut ends: Vec<u32> = words.chain(loras).chain(guided).filter(|end| (before + 1..part.until_step).contains(end)).collect();
            ends.push(part.until_step);
            ends.sort_unstable();
            ends.dedup();
            let first = spread.len();
            for until_step in ends {
                let range = EarlierSteps {
                    until_step,
                    prompt: words_at(&prompts, until_step),
                    negative_prompt: words_at(&negative, until_step),
                    loras: loras_at(&part.loras, until_step, steps),
                    guidance: guidances.iter().find(|(until, _)| *until >= until_step).map_or(part.guidance, |(_, guidance)| *guidance),
                    ..part.clone()
                };
                // Steps with the same settings are one range.
                match spread.get_mut(first..).and_then(<[_]>::last_mut).filter(|last| last.has_settings_of(&range)) {
                    Some(last) => last.until_step = until_step,
                    None => spread.push(range),
                }
                if spread.len() > MAX_STEP_RANGES {
                    return Err(too_many());
                }
            }
            before = part.until_step;
        }
        if let Some(last) = spread.pop() {
            (self.prompt, self.negative_prompt, self.loras) = (last.prompt, last.negative_prompt, last.loras);
            self.guidance = last.guidance;
        }
        self.guidance_ranges.clear();
        self.earlier_steps = spread;
        Ok(())
    }
}

fn words_at(ranges: &[StepWords], step: u32) -> String {
    ranges.iter().find(|it| it.until_step >= step).or(ranges.last()).map(|it| it.prompt.clone()).unwrap_or_default()
}

/// The LoRAs that act in a step, from 1; each of them in all steps of its range, and one that acts
/// twice with both strengths.
fn loras_at(loras: &[Lora], step: u32, steps: u32) -> Vec<Lora> {
    let acts = |lora: &&Lora| {
        let range = lora.steps(steps);
        step > range.start && step <= range.end
    };
    let mut acting: Vec<Lora> = Vec::new();
    for lora in loras.iter().filter(acts).map(Lora::in_all_steps) {
        lora.add_to(&mut acting);
    }
    acting
}

fn too_many() -> String {
    tr!("core-words-and-loras-change", most = MAX_STEP_RANGES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::{GuidanceRange, Seed};

    fn recipe(prompt: &str) -> Recipe {
        Recipe { prompt: prompt.into(), steps: 10, seed: Some(Seed(7)), ..Recipe::default() }
    }

    /// The last step of each range with its words.
    fn spread(mut recipe: Recipe) -> Vec<(u32, String, String)> {
        recipe.spread_over_steps(10).unwrap();
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
        let marked = spread(recipe("# a // [lake:sea:0.4] /* b */"));
        assert_eq!(marked, [range(4, "# a // lake /* b */", ""), range(10, "# a // sea /* b */", "")], "no comments are in it any more");
        let both = Recipe { negative_prompt: "[fog:rain:7]".into(), ..recipe("[day:night:4]") };
        assert_eq!(spread(both), [range(4, "day", "fog"), range(7, "night", "fog"), range(10, "night", "rain")]);
        let turns = spread(recipe("[a|b]"));
        assert_eq!(turns.len(), 10);
        assert_eq!(turns[8..], [range(9, "a", ""), range(10, "b", "")]);
    }

    /// The last step of each range with the strengths of its LoRAs.
    fn spread_loras(ranges: &[(f32, f32, f32)]) -> Vec<(u32, Vec<f32>)> {
        let loras = ranges.iter().map(|(strength, start, end)| Lora { start: *start, end: *end, ..Lora::new("ink".into(), *strength) });
        let mut recipe = Recipe { loras: loras.collect(), ..recipe("a lake") };
        recipe.spread_over_steps(10).unwrap();
        assert!(!recipe.changes_over_steps());
        let last = EarlierSteps::of(&recipe, 10);
        let strengths = |loras: &[Lora]| loras.iter().map(|lora| lora.strength).collect();
        recipe.earlier_steps.iter().chain([&last]).map(|it| (it.until_step, strengths(&it.loras))).collect()
    }

    #[test]
    fn loras_in_a_part_of_the_steps_are_earlier_steps() {
        assert_eq!(spread_loras(&[(0.8, 0.0, 0.4)]), [(4, vec![0.8]), (10, vec![])]);
        assert_eq!(spread_loras(&[(0.8, 0.4, 1.0)]), [(4, vec![]), (10, vec![0.8])]);
        assert_eq!(spread_loras(&[(0.75, 0.0, 0.4), (0.5, 0.2, 0.7)]), [(2, vec![0.75]), (4, vec![1.25]), (7, vec![0.5]), (10, vec![])]);
        assert_eq!(spread_loras(&[(0.8, 0.0, 1.0)]), [(10, vec![0.8])], "one range");
        assert_eq!(spread_loras(&[(0.8, 0.7, 0.3)]), [(10, vec![])], "it never acts");
        assert_eq!(spread_loras(&[(0.8, 0.0, 0.4), (0.8, 0.4, 1.0)]), [(10, vec![0.8])], "the same in all steps");
        let words = Recipe { loras: vec![Lora { end: 0.4, ..Lora::new("ink".into(), 1.0) }], ..recipe("[day:night:7]") };
        assert_eq!(spread(words), [range(4, "day", ""), range(7, "day", ""), range(10, "night", "")]);
    }

    /// The last step of each range with its guidance.
    fn spread_guidance(mut recipe: Recipe) -> Vec<(u32, f32)> {
        recipe.spread_over_steps(10).unwrap();
        assert!(!recipe.changes_over_steps());
        let last = (recipe.draft_step().unwrap_or(10), recipe.guidance);
        recipe.earlier_steps.iter().map(|it| (it.until_step, it.guidance)).chain([last]).collect()
    }

    #[test]
    fn guidance_in_a_part_of_the_steps_is_earlier_steps() {
        let ranged = |ranges: &[(f32, f32, f32)], prompt: &str| {
            let ranges = ranges.iter().map(|(guidance, start, end)| GuidanceRange { guidance: *guidance, start: *start, end: *end });
            Recipe { guidance: 7.0, guidance_ranges: ranges.collect(), ..recipe(prompt) }
        };
        assert_eq!(spread_guidance(ranged(&[(1.0, 0.2, 0.5)], "a lake")), [(2, 7.0), (5, 1.0), (10, 7.0)]);
        assert_eq!(spread_guidance(ranged(&[(1.0, 0.2, 0.5)], "[day:night:0.4]")), [(2, 7.0), (4, 1.0), (5, 1.0), (10, 7.0)]);
        let draft = Recipe { last_step: Some(4), ..ranged(&[(1.0, 0.2, 0.5)], "a lake") };
        assert_eq!(spread_guidance(draft.clone()), [(2, 7.0), (4, 1.0)]);
        assert_eq!(spread_guidance(draft.finishing(Some(Seed(7)), None).unwrap()), [(2, 7.0), (4, 1.0), (5, 1.0), (10, 7.0)]);
        // One range over all steps is no range.
        let mut whole = ranged(&[(3.0, 0.0, 1.0)], "a lake");
        whole.spread_over_steps(10).unwrap();
        assert_eq!(whole, Recipe { guidance: 3.0, ..recipe("a lake") });
    }

    #[test]
    fn a_draft_ends_within_the_words_of_its_step() {
        let draft = |last_step| Recipe { last_step: Some(last_step), ..recipe("[day:night:0.4]") };
        assert_eq!(spread(draft(3)), [range(3, "day", "")]);
        assert_eq!(spread(draft(6)), [range(4, "day", ""), range(6, "night", "")]);
        let finished = draft(3).finishing(Some(Seed(7)), None).unwrap();
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
        batch.spread_over_steps(10).unwrap();
        assert!(!Recipe { seed: Some(Seed(8)), ..batch }.has_new_noise());
    }

    #[test]
    fn more_changes_than_are_computed_are_told() {
        let mut wild = Recipe { steps: 100, ..recipe("[a|b]") };
        let before = wild.clone();
        assert!(wild.spread_over_steps(100).unwrap_err().contains("64"));
        assert_eq!(wild, before);
    }
}
