//! Words of a prompt that name embeddings: as in A1111, an embedding works where the prompt has the
//! name of its file without the extension. ComfyUI's `embedding:NAME` is read too.

use std::ops::Range;
use std::path::Path;

/// What ComfyUI writes before the name.
const PREFIX: &str = "embedding:";

/// The word by which prompts name the embedding of this file.
#[must_use]
pub fn embedding_word(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// True where a prompt names the embedding of this word.
#[must_use]
pub fn names_embedding(prompt: &str, word: &str) -> bool {
    word_places(&prompt.to_ascii_lowercase(), &word.to_ascii_lowercase()).next().is_some()
}

/// Bytes of a prompt where one of these words of embeddings is a word of its own, with the index of
/// the word, in the order of the text. Upper and lower case of ASCII are the same.
#[must_use]
pub fn embedding_places(prompt: &str, words: &[&str]) -> Vec<(Range<usize>, usize)> {
    // Bytes keep their places.
    let lower_prompt = prompt.to_ascii_lowercase();
    let mut places: Vec<(Range<usize>, usize)> = Vec::new();
    for (index, word) in words.iter().enumerate() {
        places.extend(word_places(&lower_prompt, &word.to_ascii_lowercase()).map(|range| (range, index)));
    }
    // The first one; of two that begin at one place, the longer.
    places.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
    let mut end = 0;
    places.retain(|(range, _)| {
        let is_free = range.start >= end;
        if is_free {
            end = range.end;
        }
        is_free
    });
    places
}

/// The prompt with each of these words of embeddings, where it is a word of its own, replaced by
/// the text beside it. Upper and lower case of ASCII are the same.
#[must_use]
pub fn replace_embedding_words(prompt: &str, words: &[(&str, &str)]) -> String {
    let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    let (mut replaced, mut from) = (String::new(), 0);
    for (range, index) in embedding_places(prompt, &names) {
        replaced.push_str(prompt.get(from..range.start).unwrap_or_default());
        replaced.push_str(words.get(index).map_or("", |(_, text)| *text));
        from = range.end;
    }
    replaced.push_str(prompt.get(from..).unwrap_or_default());
    replaced
}

/// Adds words to the end of a prompt, after a comma.
pub fn add_words(prompt: &mut String, words: &str) {
    prompt.truncate(prompt.trim_end().len());
    if !prompt.is_empty() {
        prompt.push_str(if prompt.ends_with(',') { " " } else { ", " });
    }
    prompt.push_str(words);
}

/// The prompt without the word of an embedding, and without the parts between commas that are empty
/// then.
#[must_use]
pub fn without_embedding(prompt: &str, word: &str) -> String {
    if !names_embedding(prompt, word) {
        return prompt.to_owned();
    }
    let parts = prompt.split(',').filter_map(|part| {
        let left = replace_embedding_words(part, &[(word, "")]);
        // Of a weighted word, the brackets and the weight are left.
        let says_nothing = !left.chars().any(char::is_alphabetic);
        (left == part || !says_nothing).then_some(left)
    });
    parts.collect::<Vec<_>>().join(",").trim().to_owned()
}

/// Bytes of a prompt that are a word with ComfyUI's prefix or without, those that overlap too. Both
/// in lower case.
fn word_places(prompt: &str, word: &str) -> impl Iterator<Item = Range<usize>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let first = word.chars().next()?;
        loop {
            let at = prompt.get(from..)?.find(word)? + from;
            from = at + first.len_utf8();
            let end = at + word.len();
            let start = prompt.get(..at)?.strip_suffix(PREFIX).map_or(at, str::len);
            let is_part = |it: char| it.is_alphanumeric() || matches!(it, '_' | '-');
            let joins_before = prompt.get(..start)?.chars().next_back().is_some_and(is_part);
            let joins_after = prompt.get(end..)?.chars().next().is_some_and(is_part);
            if !joins_before && !joins_after {
                return Some(start..end);
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_alone_name_embeddings() {
        assert_eq!(embedding_word(Path::new("/e/EasyNegative.v2.safetensors")), "EasyNegative.v2");
        for prompt in ["art", "an art, of", "(Art:1.2)", "embedding:art", "x embedding:ART.", "[art]"] {
            assert!(names_embedding(prompt, "art"), "{prompt}");
        }
        for prompt in ["", "party", "art-deco", "art2", "martial", "pop_art", "ärtä", "kunst"] {
            assert!(!names_embedding(prompt, "art"), "{prompt}");
        }
        assert!(!names_embedding("a", "") && names_embedding("ein häßliches ding", "häßliches"));
    }

    #[test]
    fn a_word_is_added_behind_a_comma_and_taken_out_with_it() {
        let mut prompt = "a lake ".to_owned();
        add_words(&mut prompt, "fog");
        assert_eq!(prompt, "a lake, fog");
        assert_eq!(without_embedding(&prompt, "fog"), "a lake");
        assert_eq!(without_embedding("Fog, (fog:1.2), a lake, 2024, foggy", "fog"), "a lake, 2024, foggy");
        assert_eq!(without_embedding("a lake in fog, night", "fog"), "a lake in , night");
        assert_eq!(without_embedding("a, ,lake", "fog"), "a, ,lake");
    }

    #[test]
    fn words_are_replaced_with_their_prefix_and_the_longest_first() {
        let words = [("bad", "<1>"), ("bad hands", "<2>")];
        let replaced = replace_embedding_words("Bad hands, bad, (embedding:bad:0.5), badly", &words);
        assert_eq!(replaced, "<2>, <1>, (<1>:0.5), badly");
        assert_eq!(replace_embedding_words("a lake", &words), "a lake");
        assert_eq!(replace_embedding_words("bad", &[("bad", "bad bad")]), "bad bad");
        assert_eq!(embedding_places("é bad, embedding:bad hands", &["bad", "bad hands"]), [(3..6, 0), (8..27, 1)]);
    }
}
