//! Sentences for people, made of clauses and lists.

use atelier_language::{Language, chosen_language, tr};

/// The text with a capital first.
#[must_use]
pub fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// The clause as a sentence: a capital first, a full stop last unless it ends with another mark.
#[must_use]
pub fn sentence(text: &str) -> String {
    with_stop(capitalized(text))
}

/// The text with the full stop of the language, unless it is empty or ends with a mark.
#[must_use]
pub fn with_stop(text: String) -> String {
    let stop = if chosen_language() == Language::Japanese { "。" } else { "." };
    if text.is_empty() || text.ends_with(['.', '!', '?', '。']) { text } else { text + stop }
}

/// The things as an enumeration: `a, b and c`.
#[must_use]
pub fn list(things: &[String]) -> String {
    match things {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => tr!("core-list", first = first.join(", "), last),
    }
}

/// The things with commas between them, as numbers are typed: `1, 0.5, 0`.
#[must_use]
pub fn with_commas(things: &[impl ToString]) -> String {
    things.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clause_becomes_a_sentence_and_a_sentence_stays_one() {
        assert_eq!(sentence("there is no \"x\""), "There is no \"x\".");
        for (text, expected) in [("it is gone", "It is gone."), ("Done.", "Done."), ("über alles", "Über alles."), ("", "")] {
            assert_eq!(sentence(text), expected);
        }
        assert_eq!(capitalized("tiny autoencoder"), "Tiny autoencoder");
    }

    #[test]
    fn a_list_has_one_and() {
        let things = ["a", "b", "c"].map(str::to_owned);
        assert_eq!([0, 1, 2, 3].map(|n| list(&things[..n])), ["", "a", "a and b", "a, b and c"]);
        assert_eq!((with_commas(&things), with_commas(&[1.0, 0.5])), ("a, b, c".to_owned(), "1, 0.5".to_owned()));
    }
}
