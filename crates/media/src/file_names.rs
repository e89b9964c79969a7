//! The names of picture files: `2026-11-20 19-30-05 a red sunset over 42.png`. Good on every
//! system; they sort by time. Pure.

use atelier_core::recipe::Seed;
use time::OffsetDateTime;
use time::macros::format_description;

/// Words of the prompt that a name carries, and their characters in all.
const WORDS: usize = 6;
const CHARACTERS: usize = 48;

/// Names for a picture, of which the first free one is used: the plain one, then numbered ones.
pub(crate) fn file_names(now: OffsetDateTime, prompt: &str, seed: Option<Seed>) -> impl Iterator<Item = String> + use<> {
    let time = now.format(format_description!("[year]-[month]-[day] [hour]-[minute]-[second]")).unwrap_or_default();
    let parts = [time, words(prompt), seed.map(|it| it.to_string()).unwrap_or_default()];
    let stem = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    (1..10_000).map(move |n| if n == 1 { format!("{stem}.png") } else { format!("{stem} ({n}).png") })
}

/// The first words, without what a file system or a reader may trip over.
fn words(prompt: &str) -> String {
    // Tags in angle brackets are for the engine: `<lora:ink:0.5>`.
    let mut depth = 0_usize;
    let plain = prompt.chars().map(|c| match c {
        '<' => {
            depth += 1;
            ' '
        }
        '>' => {
            depth = depth.saturating_sub(1);
            ' '
        }
        _ if depth > 0 || is_trouble(c) => ' ',
        _ => c,
    });
    let plain: String = plain.collect();
    let mut name = String::new();
    for word in plain.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric)).take(WORDS) {
        let left = CHARACTERS.saturating_sub(name.chars().count() + 1);
        if left == 0 || (word.chars().count() > left && !name.is_empty()) {
            break;
        }
        if !name.is_empty() {
            name.push(' ');
        }
        name.extend(word.chars().take(left));
    }
    name.trim_matches(['.', ' ', ',', ';']).to_owned()
}

/// The name that a person gives to files, without what a file system trips over; `None` where
/// nothing is left of it.
pub(crate) fn file_stem(name: &str) -> Option<String> {
    /// In bytes: file systems take 255, with a number and the ending.
    const LONGEST: usize = 200;
    let plain: String = name.chars().map(|c| if is_forbidden(c) { ' ' } else { c }).collect();
    let plain = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    let plain = plain.trim_matches(['.', ' ']);
    let stem = plain[..plain.floor_char_boundary(LONGEST)].trim_end_matches(['.', ' ']);
    if stem.is_empty() {
        return None;
    }
    // Windows takes the name for a device, whatever its ending.
    let first = stem.split('.').next().unwrap_or(stem).trim_end();
    let is_port = |it: &str| ["com", "lpt"].iter().any(|port| it.eq_ignore_ascii_case(port));
    let is_device = first.strip_suffix(|c: char| c.is_ascii_digit()).is_some_and(is_port)
        || ["con", "prn", "aux", "nul"].iter().any(|it| first.eq_ignore_ascii_case(it));
    Some(if is_device { format!("{first}_{}", &stem[first.len()..]) } else { stem.to_owned() })
}

/// True for what no name of a file may have on some system, and for what nobody sees.
fn is_forbidden(c: char) -> bool {
    let forbidden = matches!(c, '<' | '>' | ':' | '"' | '/' | '\\' | '|' | '?' | '*');
    // Marks that turn the writing direction or cannot be seen make one name look like another.
    let unseen =
        matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff0}'..='\u{ffff}');
    forbidden || unseen || c.is_control()
}

fn is_trouble(c: char) -> bool {
    is_forbidden(c) || matches!(c, '(' | ')' | '[' | ']' | '{' | '}' | '%' | '$' | '`')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use time::macros::datetime;

    use super::*;

    fn first(prompt: &str, seed: u64) -> String {
        file_names(datetime!(2026-11-20 19:30:05 UTC), prompt, Some(Seed(seed))).next().unwrap()
    }

    #[test]
    fn a_name_has_the_time_the_first_words_and_the_seed() {
        assert_eq!(first("a red sunset over the sea, oil on canvas", 42), "2026-11-20 19-30-05 a red sunset over the sea 42.png");
        assert_eq!(first("", 42), "2026-11-20 19-30-05 42.png");
        assert_eq!(first("湖の上の夕日", 1), "2026-11-20 19-30-05 湖の上の夕日 1.png");
        let unknown = ["a lake", ""].map(|prompt| file_names(datetime!(2026-11-20 19:30:05 UTC), prompt, None).next().unwrap());
        assert_eq!(unknown, ["2026-11-20 19-30-05 a lake.png", "2026-11-20 19-30-05.png"], "a seed that nobody knows is no number");
    }

    #[test]
    fn what_no_file_may_be_called_is_left_out() {
        assert_eq!(
            first("../../etc/passwd <lora:ink:0.5> (stone:1.2) \u{202e}gnp.exe.", 7),
            "2026-11-20 19-30-05 etc passwd stone 1.2 gnp.exe 7.png"
        );
    }

    #[test]
    fn the_next_names_are_numbered() {
        let names: Vec<String> = file_names(datetime!(2026-11-20 19:30:05 UTC), "a", Some(Seed(1))).take(3).collect();
        assert_eq!(names[1..], ["2026-11-20 19-30-05 a 1 (2).png", "2026-11-20 19-30-05 a 1 (3).png"]);
    }

    proptest! {
        #[test]
        fn every_prompt_gives_a_name_that_every_system_takes(prompt in any::<String>(), seed in any::<u64>()) {
            let name = first(&prompt, seed);
            let end = format!("{seed}.png");
            prop_assert!(name.len() <= 255 && name.starts_with("2026") && name.ends_with(&end));
            prop_assert!(!name.chars().any(|c| c.is_control() || "<>:\"/\\|?*".contains(c)), "{name}");
        }
    }
}
