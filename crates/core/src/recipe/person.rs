//! A person whom a `PhotoMaker` brings into the picture.

use std::path::PathBuf;

use atelier_language::tr;
use serde::{Deserialize, Serialize};

use super::image::ImageSource;
use crate::advice::Advice;

/// A person whom a `PhotoMaker` brings into the picture. Without pictures, nobody.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Person {
    /// Pictures of the person; of each, the middle square is looked at.
    pub images: Vec<ImageSource>,
    /// Percent of the steps that are made without the person: more of them follow the words, fewer
    /// the pictures.
    pub style_strength: f32,
    /// File with features of the faces in the pictures, which `PhotoMaker` v2 reads.
    pub id_embedding: Option<PathBuf>,
}

impl Person {
    /// The word that a prompt has after the one for the person. Known to the engine
    /// (`photomaker_extension.cpp`).
    pub const TRIGGER_WORD: &str = "img";
    /// Each picture takes one of a prompt's tokens, or two.
    pub const MAX_IMAGES: usize = 16;
    /// Percent of the steps that can be made without the person.
    pub const STYLE_STRENGTHS: std::ops::RangeInclusive<f32> = 0.0..=100.0;
    /// The strength where nobody has chosen one; also sd-cli's.
    pub const USUAL_STYLE_STRENGTH: f32 = 20.0;

    /// True without pictures.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.images.is_empty()
    }
}

impl Default for Person {
    fn default() -> Self {
        Self { images: Vec::new(), style_strength: Self::USUAL_STYLE_STRENGTH, id_embedding: None }
    }
}

/// Checks that a prompt has the trigger word once, after a word for the person: "a woman img by a
/// lake".
///
/// # Errors
/// If it is another way; the engine would leave the person out, or stop.
pub fn check_person_word(prompt: &str) -> Result<(), Advice> {
    // As CLIP's tokenizer takes words: letters, whatever stands between them.
    let words = prompt.split(|letter: char| !letter.is_alphabetic()).filter(|word| !word.is_empty());
    let is_trigger = |word: &str| word.eq_ignore_ascii_case(Person::TRIGGER_WORD);
    let places: Vec<usize> = words.enumerate().filter(|(_, word)| is_trigger(word)).map(|(at, _)| at).collect();
    let sentence = match places[..] {
        [] => tr!("core-photomaker-finds-no-word"),
        [0] => tr!("core-the-prompt-begins-with"),
        [_] => return Ok(()),
        [..] => tr!("core-the-prompt-has-the"),
    };
    Err(Advice::new(sentence, tr!("core-write-it-once-after")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::Recipe;

    #[test]
    fn the_trigger_word_stands_once_after_another_word() {
        for prompt in ["a woman img by a lake", "woman img", "a man, IMG!", "(a man img:1.2), fog", "une fille img2"] {
            assert_eq!(check_person_word(prompt), Ok(()), "{prompt}");
        }
        for (prompt, says) in [
            ("", "no word img"),
            ("a woman by a lake", "no word img"),
            ("imgs of a woman, aimg", "no word img"),
            ("img of a woman", "begins with"),
            ("a woman img and a man img", "more than once"),
        ] {
            let advice = check_person_word(prompt).unwrap_err();
            assert!(advice.sentence.contains(says), "{prompt}: {advice}");
        }
    }

    #[test]
    fn numbers_from_a_file_are_brought_into_range() {
        let clamped = |person| {
            let mut recipe = Recipe { person, ..Recipe::default() };
            recipe.clamp();
            recipe.person
        };
        let of = |style_strength| clamped(Person { style_strength, ..Person::default() }).style_strength;
        assert_eq!([-3.0, 0.0, 55.0, 700.0, f32::NAN].map(of), [0.0, 0.0, 55.0, 100.0, 20.0]);
        let many = Person { images: vec![ImageSource::File("a.png".into()); 99], ..Person::default() };
        assert_eq!(clamped(many).images.len(), Person::MAX_IMAGES);
    }
}
