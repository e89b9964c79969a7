//! Splitting of a command line into words, by the rules of Unix shells or, where it was clearly
//! written for one, of Windows' shells.

use std::iter::Peekable;
use std::str::Chars;

/// The words of a command; `None` where a quotation mark is never closed.
pub(super) fn split(line: &str) -> Option<Vec<String>> {
    if is_for_windows(line) { split_for_windows(line) } else { shell_words::split(line).ok() }
}

/// True where a backslash outside single quotes parts a Windows path, or a line goes on after `^`
/// or a backtick.
fn is_for_windows(line: &str) -> bool {
    let (mut quote, mut before) = (None, ['\n'; 2]);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None, '^' | '`') if ends_line(&mut chars) => return true,
            (None | Some('"'), '\\') if before[1] == ':' && before[0].is_ascii_alphabetic() => return true,
            // A character after a Unix shell's backslash is no quotation mark.
            (None | Some('"'), '\\') => drop(chars.next()),
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
        before = [before[1], c];
    }
    false
}

fn ends_line(chars: &mut Peekable<Chars<'_>>) -> bool {
    matches!(chars.peek(), Some('\n' | '\r'))
}

/// Backslashes are themselves, except before a quotation mark inside double quotes; a single
/// quotation mark quotes where a word begins.
fn split_for_windows(line: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match quote {
            Some(open) if c == open => quote = None,
            Some('"') if c == '\\' && chars.peek() == Some(&'"') => word.get_or_insert_default().extend(chars.next()),
            None if c == '"' || (c == '\'' && word.is_none()) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if matches!(c, '^' | '`') && ends_line(&mut chars) => {}
            None if c.is_whitespace() => words.extend(word.take()),
            Some(_) | None => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(line: &str) -> Vec<String> {
        split(line).unwrap()
    }

    #[test]
    fn unix_quotes_and_continued_lines_are_read() {
        assert_eq!(words("sd -p 'a \"cat\"' \\\n -n \"no\\\"fog\" x\\ y ''"), ["sd", "-p", "a \"cat\"", "-n", "no\"fog", "x y", ""]);
        assert_eq!(words(r"sd -m 'C:\m.gguf' -p it\'s"), ["sd", "-m", r"C:\m.gguf", "-p", "it's"]);
    }

    #[test]
    fn windows_paths_keep_their_backslashes() {
        let expected = ["sd.exe", "-m", r"C:\my models\m.gguf", "-p", "the cat's \"hat\"", "--vae", r"D:\v.safetensors"];
        assert_eq!(words("sd.exe -m \"C:\\my models\\m.gguf\" ^\r\n -p \"the cat's \\\"hat\\\"\" --vae D:\\v.safetensors"), expected);
        assert_eq!(words("sd.exe -p 'a cat' `\n-m C:\\m.gguf"), ["sd.exe", "-p", "a cat", "-m", r"C:\m.gguf"]);
    }

    #[test]
    fn a_quotation_mark_that_is_never_closed_is_refused() {
        assert_eq!(split("sd -p 'a cat"), None);
        assert_eq!(split("sd -m C:\\m.gguf -p \"a cat"), None);
    }

    proptest! {
        #[test]
        fn words_that_are_quoted_come_back(words in proptest::collection::vec(any::<String>(), 0..6)) {
            prop_assert_eq!(split(&shell_words::join(&words)), Some(words));
        }
    }
}
