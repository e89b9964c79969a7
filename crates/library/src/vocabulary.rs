//! The words that a small model was trained with, so that a person learns which of theirs say
//! nothing to it. Pure.

use std::collections::BTreeSet;

/// Words in a prompt that are looked at, and unknown ones that are told.
const MAX_WORDS: usize = 400;
const MAX_UNKNOWN: usize = 6;
/// Words that hold others together: nobody misses a picture of them.
const FILLERS: &[&str] = &[
    "about", "all", "are", "been", "but", "can", "each", "for", "from", "has", "have", "her", "his", "into", "its", "just", "like", "make",
    "more", "most", "much", "other", "our", "out", "over", "really", "she", "some", "than", "that", "their", "them", "then", "there",
    "these", "they", "this", "those", "too", "very", "was", "were", "what", "where", "which", "who", "will", "you", "your",
];
/// Endings of other forms of a word, and what stands for them in the known one.
const ENDINGS: &[(&str, &str)] =
    &[("ies", "y"), ("es", ""), ("s", ""), ("ing", ""), ("ing", "e"), ("ed", ""), ("ed", "e"), ("y", ""), ("ly", "")];

/// The words that a model knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vocabulary(BTreeSet<String>);

impl Vocabulary {
    /// Words with white space between them.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        Self(text.split_whitespace().map(str::to_lowercase).collect())
    }

    /// Words of a prompt that the model was never trained with, in their order; the first ones. None
    /// where it is not known what the model knows.
    #[must_use]
    pub fn unknown_words(&self, prompt: &str) -> Vec<String> {
        let mut unknown: Vec<String> = Vec::new();
        if self.0.is_empty() {
            return unknown;
        }
        for word in words(prompt).take(MAX_WORDS) {
            let lower = word.to_lowercase();
            if !self.knows(&lower) && !unknown.contains(&lower) {
                unknown.push(lower);
            }
            if unknown.len() == MAX_UNKNOWN {
                break;
            }
        }
        unknown
    }

    fn knows(&self, word: &str) -> bool {
        let is_short = word.is_ascii() && word.len() <= 2;
        let is_form = || {
            ENDINGS.iter().any(|(ending, other)| word.strip_suffix(ending).is_some_and(|stem| self.0.contains(&format!("{stem}{other}"))))
        };
        let is_singular = || self.0.contains(&format!("{word}s"));
        is_short || FILLERS.contains(&word) || self.0.contains(word) || is_form() || is_singular()
    }
}

/// The words of a prompt, without numbers, weights and tags in angle brackets.
fn words(prompt: &str) -> impl Iterator<Item = &str> {
    let outside = prompt.split('<').enumerate().map(|(at, part)| if at == 0 { part } else { part.split_once('>').map_or(part, |it| it.1) });
    outside.flat_map(|part| part.split(|c: char| !c.is_alphabetic())).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Builtin;

    fn unknown(prompt: &str) -> Vec<String> {
        Vocabulary::parse("a lake at dawn with snowy mountains, red sail cliffs".replace(',', "").as_str()).unknown_words(prompt)
    }

    #[test]
    fn words_that_no_training_had_are_told_once_and_in_their_order() {
        assert_eq!(unknown("A cat on a windowsill, a cat at dawn"), ["cat", "windowsill"]);
        assert_eq!(unknown("Lakes at DAWN, a mountain, sailing, one cliff"), ["one"], "other forms are known");
        assert_eq!(unknown("(red lake:1.2) <lora:portrait_v2:0.8> 4k"), Vec::<String>::new(), "weights and tags are no words");
        assert_eq!(unknown("夕焼け"), ["夕焼け"]);
        assert_eq!(unknown("лодка, a lake"), ["лодка"]);
        assert_eq!(unknown("there is some of that in it"), Vec::<String>::new());
        assert_eq!(unknown("b c dog fox owl bee ant elk gnu").len(), MAX_UNKNOWN);
        assert_eq!(Vocabulary::default().unknown_words("a cat"), Vec::<String>::new());
    }

    #[test]
    fn long_prompts_are_read_to_a_point() {
        let long = "lake ".repeat(1_000_000) + "cat";
        assert_eq!(unknown(&long), Vec::<String>::new());
        assert_eq!(unknown(&"<".repeat(1_000_000)), Vec::<String>::new());
    }

    #[test]
    fn the_built_in_model_knows_the_words_of_its_page_and_no_cat() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/builtin-model");
        let builtin = Builtin::open(&folder).unwrap();
        let known = "a red sunset over snowy mountains, a lake, pine trees. golden dunes at dawn under a pale pink sky, northern lights";
        assert_eq!(builtin.unknown_words(known), Vec::<String>::new());
        assert_eq!(
            builtin.unknown_words("portrait of an old fisherman, a cat on a windowsill"),
            ["portrait", "fisherman", "cat", "windowsill"]
        );
        assert_eq!(builtin.unknown_words("a lighthouse at dusk, oil on canvas"), ["oil", "canvas"]);
    }
}
