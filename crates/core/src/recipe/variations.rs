//! Neighbours of a picture that is liked: recipes with noise, or words, near its own.

use super::{FileRole, Recipe, Seed, SeedBlend};

/// Share of a neighbour's own noise, 0 to 1: the composition stays, the details are others.
const OWN_SHARE: f32 = 0.2;
/// How far the shares of a picture's two noises move, where it is between two seeds already.
const SHARE_STEPS: [f32; 4] = [-0.12, 0.06, -0.06, 0.12];
/// Weight of the words that a neighbour stresses.
const STRESS: f32 = 1.3;
/// Words without a picture of their own: between them lie the parts that can be stressed.
const LINKS: [&str; 31] = [
    "a", "an", "the", "of", "in", "on", "at", "over", "under", "above", "below", "behind", "before", "beside", "between", "with",
    "without", "and", "or", "by", "from", "to", "into", "through", "near", "for", "is", "are", "its", "their", "as",
];

impl Recipe {
    /// True where all brackets weigh words, as in A1111. To language models brackets are text but
    /// for weights in numbers, by which a word grows less than by being said twice.
    #[must_use]
    pub fn reads_weights(&self) -> bool {
        let reads = [FileRole::ClipL, FileRole::ClipG, FileRole::T5xxl].iter().any(|role| self.files.get(*role).is_some());
        reads || self.files.get(FileRole::Llm).is_none()
    }

    /// True unless an encoder is named to which `AND` is a word.
    #[must_use]
    pub fn may_join_prompts(&self) -> bool {
        self.reads_weights() && self.files.get(FileRole::T5xxl).is_none()
    }

    /// Recipes of this many pictures near one that this recipe made with its seed: in noise.
    /// `random`: a seed of its own for them. A picture between two seeds has neighbours between the
    /// same two, four at most; one whose seed nobody knows has others of the same words.
    #[must_use]
    pub fn near_seeds(&self, count: u32, random: Seed) -> Vec<Self> {
        let alone = Self { batch_count: 1, ..self.clone() };
        let Some(blend) = self.seed_blend.filter(|blend| blend.amount > 0.0) else {
            // The pictures of a batch have a seed each and the other one in common.
            let seed_blend = self.seed.map(|seed| SeedBlend { seed, amount: 1.0 - OWN_SHARE });
            let is_same = (0..u64::from(count)).any(|by| Some(random.after(by)) == self.seed);
            let seed = Some(if is_same { random.after(u64::from(count)) } else { random });
            return vec![Self { seed, seed_blend, batch_count: count, ..alone }];
        };
        let near = |step: &f32| (blend.amount + step).clamp(0.0, 1.0);
        let steps = SHARE_STEPS.iter().map(near).filter(|amount| *amount != blend.amount);
        let blended = |amount| Self { seed_blend: Some(SeedBlend { amount, ..blend }), ..alone.clone() };
        steps.take(count as usize).map(blended).collect()
    }

    /// Recipes of at most this many pictures near this one in words: each stresses another part of
    /// the prompt. Empty where the prompt has no parts.
    #[must_use]
    pub fn near_words(&self, count: u32) -> Vec<Self> {
        let parts = parts(&self.prompt);
        let stressed = parts.into_iter().take(count as usize).map(|part| {
            let (start, end) = (part.start, part.end);
            let words = &self.prompt[start..end];
            if self.reads_weights() {
                format!("{}({words}:{STRESS}){}", &self.prompt[..start], &self.prompt[end..])
            } else {
                // What is said twice counts for more.
                format!("{}, {words}", self.prompt.trim_end().trim_end_matches([',', '.']))
            }
        });
        stressed.map(|prompt| Self { prompt, batch_count: 1, ..self.clone() }).collect()
    }
}

/// The parts of a prompt that can be stressed, as ranges of bytes: words between commas and links,
/// outside all brackets.
fn parts(prompt: &str) -> Vec<std::ops::Range<usize>> {
    let mut parts: Vec<std::ops::Range<usize>> = Vec::new();
    let (mut depth, mut open) = (0_u32, None::<std::ops::Range<usize>>);
    let mut close = |open: &mut Option<std::ops::Range<usize>>| parts.extend(open.take());
    let mut at = 0;
    for word in prompt.split_inclusive(|c: char| c.is_whitespace() || ",.;:!?()[]{}<>|\\\"".contains(c)) {
        let end_of_word = word.trim_end_matches(|c: char| c.is_whitespace() || ",.;:!?()[]{}<>|\\\"".contains(c)).len();
        let text = &word[..end_of_word];
        if depth == 0 && !text.is_empty() {
            if LINKS.iter().any(|link| text.eq_ignore_ascii_case(link)) {
                close(&mut open);
            } else {
                let start = open.as_ref().map_or(at, |range| range.start);
                open = Some(start..at + end_of_word);
            }
        }
        match word[end_of_word..].chars().next() {
            Some('(' | '[' | '{' | '<') => {
                depth = depth.saturating_add(1);
                close(&mut open);
            }
            Some(')' | ']' | '}' | '>') => {
                depth = depth.saturating_sub(1);
                close(&mut open);
            }
            Some(c) if !c.is_whitespace() => close(&mut open),
            _ => {}
        }
        at += word.len();
    }
    close(&mut open);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(prompt: &str) -> Vec<&str> {
        parts(prompt).into_iter().map(|range| &prompt[range]).collect()
    }

    #[test]
    fn the_parts_of_a_prompt_lie_between_commas_and_links_and_outside_brackets() {
        assert_eq!(words("a red sunset over snowy mountains, a lake"), ["red sunset", "snowy mountains", "lake"]);
        assert_eq!(words("<lora:ink:0.8> (old tree:1.2) beside a café. Ämter"), ["café", "Ämter"]);
        assert!(words("").is_empty() && words(" , a, the ").is_empty() && words("((((x").is_empty());
    }

    #[test]
    fn a_picture_of_one_seed_has_neighbours_that_share_most_of_its_noise() {
        let recipe = Recipe { seed: Some(Seed(7)), batch_count: 3, ..Recipe::default() };
        let near = recipe.near_seeds(4, Seed(100));
        let [near] = near.as_slice() else { panic!("{near:?}") };
        assert_eq!((near.seed, near.batch_count, near.seed_blend), (Some(Seed(100)), 4, Some(SeedBlend { seed: Seed(7), amount: 0.8 })));
        assert_eq!(recipe.near_seeds(4, Seed(5))[0].seed, Some(Seed(9)), "none of them is the picture itself");
        let unknown = Recipe { seed: None, ..recipe }.near_seeds(4, Seed(5)).remove(0);
        assert_eq!((unknown.seed, unknown.seed_blend), (Some(Seed(5)), None), "nothing is known of its noise");
    }

    #[test]
    fn a_picture_between_two_seeds_has_neighbours_between_the_same_two() {
        let blend = SeedBlend { seed: Seed(9), amount: 0.05 };
        let near = Recipe { seed: Some(Seed(7)), seed_blend: Some(blend), ..Recipe::default() }.near_seeds(4, Seed(100));
        assert!(near.iter().all(|it| (it.seed, it.seed_blend.unwrap().seed, it.batch_count) == (Some(Seed(7)), Seed(9), 1)));
        let amounts: Vec<f32> = near.iter().map(|it| it.seed_blend.unwrap().amount).collect();
        assert!(amounts.iter().all(|amount| (0.0..=1.0).contains(amount) && *amount != blend.amount), "{amounts:?}");
    }

    #[test]
    fn near_words_stress_a_part_each_as_the_encoder_reads_it() {
        let mut recipe =
            Recipe { prompt: "a red sunset over snowy mountains".into(), seed: Some(Seed(3)), batch_count: 4, ..Recipe::default() };
        let prompts = |recipe: &Recipe| recipe.near_words(4).into_iter().map(|it| (it.prompt, it.seed, it.batch_count)).collect::<Vec<_>>();
        let same = |prompt: &str| (prompt.to_owned(), Some(Seed(3)), 1);
        let weighed = [same("a (red sunset:1.3) over snowy mountains"), same("a red sunset over (snowy mountains:1.3)")];
        assert_eq!(prompts(&recipe), weighed);
        recipe.files.set(FileRole::Llm, "qwen.gguf");
        let said_twice = ["a red sunset over snowy mountains, red sunset", "a red sunset over snowy mountains, snowy mountains"];
        assert_eq!(prompts(&recipe), said_twice.map(same));
        recipe.files.set(FileRole::T5xxl, "t5.gguf");
        assert_eq!(prompts(&recipe), weighed);
    }
}
