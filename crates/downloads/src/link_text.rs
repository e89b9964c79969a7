//! Names of files in the text of links. Pure.
//!
//! Links are taken apart as they are written, not by the rules of browsers: those resolve `..` in a
//! path, which is to be refused.

use percent_encoding::percent_decode_str;

/// The name of the file at this address, by the address; `None` where it is not escaped as it
/// should be.
#[must_use]
pub fn name_in(url: &str) -> Option<String> {
    unescaped(url.split(['?', '#']).next()?.rsplit('/').next()?)
}

/// A part of an address in plain text: `%20` is a space. `None` where `%` is not followed by two
/// hexadecimal digits, or the text is not UTF-8.
#[must_use]
pub fn unescaped(text: &str) -> Option<String> {
    let is_escape = |rest: &str| rest.len() >= 2 && rest.bytes().take(2).all(|it| it.is_ascii_hexdigit());
    if !text.split('%').skip(1).all(is_escape) {
        return None;
    }
    percent_decode_str(text).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_decoded_and_broken_ones_are_refused() {
        assert_eq!(unescaped("a%20b%c3%a9").as_deref(), Some("a bé"));
        for broken in ["%", "a%2", "%zz", "%c3"] {
            assert_eq!(unescaped(broken), None, "{broken}");
        }
        assert_eq!(name_in("https://example.org/x/c%20d.gguf?key=1").as_deref(), Some("c d.gguf"));
    }
}
