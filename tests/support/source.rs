//! Reads Rust source just well enough to say which names it uses: comments and texts are left out, `use` lists are spelled out, and
//! `crate`, `self` and `super` are resolved. It is no compiler: macros are read as what they look like.

/// Tokens and paths of a source file.
#[derive(Debug, Default)]
pub(crate) struct Source {
    /// Words, marks and literals in order; a text or character is `"`, a number keeps its digits.
    pub(crate) tokens: Vec<Token>,
    /// Every path that is written, such as `std::fs::read`, spelled out as far as the file itself tells.
    pub(crate) paths: Vec<Place>,
}

/// A word, a mark or a literal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    /// The word or mark itself.
    pub(crate) text: String,
    /// The line it stands on, from 1.
    pub(crate) line: usize,
}

/// A path and the line it stands on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Its parts, joined by `::`.
    pub(crate) path: String,
    /// The line it begins on, from 1.
    pub(crate) line: usize,
    /// Module that it stands in: the file's own, or one that is written out in the file.
    pub(crate) module: String,
    /// Meaning of the path.
    pub(crate) kind: PlaceKind,
}

/// Meaning of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PlaceKind {
    /// Written where it is used.
    Inline,
    /// Imported, under this name (`*` for all names).
    Import(String),
    /// Imported under this name and handed on by `pub`, to anybody.
    Export(String),
}

impl Source {
    /// Reads `text`, which is the module `module`, such as `atelier_engine::ffi`.
    pub(crate) fn read(module: &str, text: &str) -> Self {
        let tokens = tokens(text);
        let paths = paths(module, &tokens);
        Self { tokens, paths }
    }

    /// Line of the first token of this text, if there is one.
    pub(crate) fn line_of_token(&self, text: &str) -> Option<usize> {
        self.tokens.iter().find(|token| token.text == text).map(|token| token.line)
    }
}

/// True where `path` is `prefix` or something inside it.
pub(crate) fn is_inside(path: &str, prefix: &str) -> bool {
    path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

fn tokens(text: &str) -> Vec<Token> {
    let mut found = Vec::new();
    let (mut rest, mut line) = (text, 1);
    while let Some(first) = rest.chars().next() {
        let length = token_length(rest, first);
        let (token, after) = rest.split_at(length);
        let shown = match first {
            _ if first.is_whitespace() || token.starts_with("//") || token.starts_with("/*") => None,
            '"' | '\'' if !is_lifetime(token) => Some("\""),
            // Prefixed texts: r"", b"", c"", br#""#.
            _ if first.is_alphabetic() && (token.ends_with('"') || token.ends_with('#') || token.ends_with('\'')) => Some("\""),
            _ => Some(token),
        };
        if let Some(shown) = shown {
            found.push(Token { text: shown.to_owned(), line });
        }
        line += token.matches('\n').count();
        rest = after;
    }
    found
}

fn is_lifetime(token: &str) -> bool {
    token.starts_with('\'') && (token.len() == 1 || !token.ends_with('\''))
}

/// Bytes of the token, space or comment that `rest` begins with.
fn token_length(rest: &str, first: char) -> usize {
    let until = |end: fn(char) -> bool| rest.find(end).unwrap_or(rest.len());
    if first.is_whitespace() {
        return until(|c| !c.is_whitespace());
    }
    if rest.starts_with("//") {
        return until(|c| c == '\n');
    }
    if rest.starts_with("/*") {
        return block_comment_length(rest);
    }
    if let Some(length) = raw_text_length(rest) {
        return length;
    }
    let prefix = usize::from(["b\"", "c\"", "b'"].iter().any(|it| rest.starts_with(it)));
    match rest[prefix..].chars().next() {
        Some('"') => return prefix + quoted_length(&rest[prefix..], '"'),
        Some('\'') if prefix == 1 || is_character(rest) => return prefix + quoted_length(&rest[prefix..], '\''),
        Some('\'') => return 1 + rest[1..].find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len() - 1),
        _ => {}
    }
    if first.is_alphanumeric() || first == '_' {
        return until(|c| !c.is_alphanumeric() && c != '_');
    }
    if rest.starts_with("::") { 2 } else { first.len_utf8() }
}

/// True where the quote opens a character rather than a lifetime.
fn is_character(rest: &str) -> bool {
    let mut chars = rest.chars().skip(1);
    match chars.next() {
        Some('\\') => true,
        Some(_) => chars.next() == Some('\''),
        None => false,
    }
}

fn quoted_length(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

fn raw_text_length(rest: &str) -> Option<usize> {
    let prefix = ["br", "cr", "r"].into_iter().find(|prefix| rest.starts_with(prefix))?;
    let after = &rest[prefix.len()..];
    let hashes = after.len() - after.trim_start_matches('#').len();
    let body = after[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    Some(body.find(&end).map_or(rest.len(), |at| prefix.len() + hashes + 1 + at + end.len()))
}

fn block_comment_length(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        let left = &rest[at..];
        if left.starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if left.starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += left.chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

fn paths(module: &str, tokens: &[Token]) -> Vec<Place> {
    let mut found = Vec::new();
    // Modules written out in this file, with the depth of braces at which each ends.
    let mut modules: Vec<(String, usize)> = Vec::new();
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(token) = tokens.get(at) {
        let here = modules.last().map_or(module, |(name, _)| name.as_str());
        match token.text.as_str() {
            "{" => depth += 1,
            "}" => {
                depth = depth.saturating_sub(1);
                modules.pop_if(|(_, end)| *end == depth);
            }
            "mod" if text(tokens, at + 2) == "{" => {
                let inner = format!("{here}::{}", text(tokens, at + 1));
                modules.push((inner, depth));
                (depth, at) = (depth + 1, at + 2);
            }
            // `pub(in path)` imports nothing.
            "in" if text(tokens, at.wrapping_sub(1)) == "(" && text(tokens, at.wrapping_sub(2)) == "pub" => {
                while !matches!(text(tokens, at + 1), ")" | "") {
                    at += 1;
                }
            }
            "use" => {
                let before = text(tokens, at.wrapping_sub(1));
                let is_export = before == "pub" || (before == ")" && tokens[..at].iter().rev().take(8).any(|it| it.text == "pub"));
                at = use_tree(tokens, at + 1, "", &Import { module: here, is_export }, &mut found).saturating_sub(1);
            }
            word if is_word(word) && text(tokens, at.wrapping_sub(1)) != "::" => {
                let mut path = String::from(word);
                let mut end = at;
                while text(tokens, end + 1) == "::" && is_word(text(tokens, end + 2)) {
                    path = format!("{path}::{}", text(tokens, end + 2));
                    end += 2;
                }
                if end > at {
                    found.push(Place { path: resolve(&path, here), line: token.line, module: here.to_owned(), kind: PlaceKind::Inline });
                }
                at = end;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// A `use` statement.
struct Import<'a> {
    /// Module that it stands in.
    module: &'a str,
    is_export: bool,
}

/// Reads one branch of a `use` from `at`, adds its paths, and returns its end.
fn use_tree(tokens: &[Token], mut at: usize, prefix: &str, import: &Import<'_>, found: &mut Vec<Place>) -> usize {
    let mut path = prefix.to_owned();
    let mut name = None;
    let line = tokens.get(at).map_or(0, |token| token.line);
    loop {
        match text(tokens, at) {
            "{" => {
                at += 1;
                while !matches!(text(tokens, at), "}" | "" | ";") {
                    at = use_tree(tokens, at, &path, import, found);
                    if text(tokens, at) == "," {
                        at += 1;
                    }
                }
                return at + 1;
            }
            "as" => {
                name = Some(text(tokens, at + 1).to_owned());
                at += 2;
            }
            "*" => {
                name = Some("*".to_owned());
                at += 1;
            }
            "::" => at += 1,
            word if is_word(word) => {
                if path.is_empty() {
                    word.clone_into(&mut path);
                } else if word != "self" {
                    path = format!("{path}::{word}");
                }
                at += 1;
            }
            _ => {
                let name = name.unwrap_or_else(|| path.rsplit("::").next().unwrap_or_default().to_owned());
                let kind = if import.is_export { PlaceKind::Export(name) } else { PlaceKind::Import(name) };
                found.push(Place { path: resolve(&path, import.module), line, module: import.module.to_owned(), kind });
                return at;
            }
        }
    }
}

fn text(tokens: &[Token], at: usize) -> &str {
    tokens.get(at).map_or("", |token| &token.text)
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Spells out `self` and `super`; the crate's own name means `crate` too, as tests and the program use it.
fn resolve(path: &str, here: &str) -> String {
    let mut parts: Vec<&str> = path.split("::").collect();
    let mut base: Vec<&str> = Vec::new();
    match parts.first() {
        Some(&"atelier") => parts[0] = "crate",
        Some(&"crate") => parts[0] = here.split("::").next().unwrap_or("crate"),
        Some(&("self" | "super")) => {
            base = here.split("::").collect();
            while let Some(&("self" | "super")) = parts.first() {
                if parts.remove(0) == "super" {
                    base.pop();
                }
            }
        }
        _ => {}
    }
    base.extend(parts);
    base.join("::")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        Source::read("crate", text).tokens.into_iter().map(|token| token.text).collect()
    }

    fn paths(module: &str, text: &str) -> Vec<String> {
        Source::read(module, text).paths.into_iter().map(|place| place.path).collect()
    }

    #[test]
    fn comments_and_texts_say_nothing() {
        assert_eq!(words("a // unsafe\n/* unsafe /* nested */ still */ b"), ["a", "b"]);
        assert_eq!(
            words(r##"f("unsafe \" x", r#"un"safe"#, b"x", 'u', '\'', '"')"##),
            ["f", "(", "\"", ",", "\"", ",", "\"", ",", "\"", ",", "\"", ",", "\"", ")"]
        );
    }

    #[test]
    fn lifetimes_are_not_the_beginning_of_a_character() {
        assert_eq!(
            words("fn f<'a>(x: &'a str, y: &'static u8) { unsafe }"),
            "fn f < 'a > ( x : & 'a str , y : & 'static u8 ) { unsafe }".split(' ').collect::<Vec<_>>()
        );
    }

    #[test]
    fn lines_are_counted_through_texts_and_comments() {
        let source = Source::read("crate", "/*\n\n*/ \"\n\" unsafe");
        assert_eq!(source.line_of_token("unsafe"), Some(4));
    }

    #[test]
    fn use_lists_are_spelled_out() {
        assert_eq!(
            paths("crate::ui", "use std::{fs::{self, File as F}, io}; pub use a::*; use b;"),
            ["std::fs", "std::fs::File", "std::io", "a", "b"]
        );
    }

    #[test]
    fn paths_in_code_are_found_and_relative_ones_resolved() {
        assert_eq!(
            paths("crate::engine::cache", "fn f() { std::fs::read(x); super::ffi::Context::new(); crate::ui::draw() }"),
            ["std::fs::read", "crate::engine::ffi::Context::new", "crate::ui::draw"]
        );
    }

    #[test]
    fn super_inside_a_module_of_the_file_is_the_file_itself() {
        assert_eq!(
            paths("crate::a", "mod tests { use super::*; use super::super::b; } fn f() { super::c::d() }"),
            ["crate::a", "crate::b", "crate::c::d"]
        );
    }

    #[test]
    fn inside_means_the_whole_name() {
        assert!(is_inside("std::fs::read", "std::fs") && is_inside("egui", "egui"));
        assert!(!is_inside("egui_tiles::Tree", "egui") && !is_inside("std::fs", "std::fs::read"));
    }
}
