//! Literals and uses of `tr!` in source text, for the test that holds what a person reads.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// Calls whose words no person reads: names of controls, threads and textures, and the log.
const NOT_READ: &[&str] = &[
    "Id::unique",
    "debug_struct",
    "Id::new",
    "id_salt",
    "from_id_salt",
    "with",
    "push_id",
    "sides",
    "row_of_sides",
    "Panel::left",
    "Panel::right",
    "Panel::top",
    "Panel::bottom",
    "load_texture",
    "texture",
    "run_alone",
    "WorkerQueue::start",
    "InputQueue::start",
    "request_discard",
    "expect",
    "run_native",
    "with_title",
    "trace!",
    "debug!",
    "info!",
    "warn!",
    "error!",
    "assert!",
    "assert_eq!",
    "debug_assert!",
    "unreachable!",
    "panic!",
    "format_description!",
];

/// Calls that draw what they are handed, be it one small word.
const DRAWING: &[&str] = &["text", "field", "label", "small", "bold", "hint_text", "button"];

/// Functions of the crates whose words a person reads.
const SPEAKING: &[&str] = &[
    "label",
    "sentence",
    "hint",
    "title",
    "described",
    "words",
    "shown_name",
    "shown_description",
    "advice",
    "problem",
    "remedy",
    "tooltip",
    "note",
    "notes",
    "reason",
    "cause",
    "summary",
    "parts",
    "clauses",
    "clause",
    "notice",
    "warning",
    "written_share",
    "kind_label",
    "kind_words",
    "why_no_pickles",
    "left_out_note",
    "fewer_bits_note",
    "colour_note",
    "upscaler_notes",
    "file_facts",
    "noun",
    "plural",
    "place_of",
    "missing",
    "no_videos",
    "problem_sentences",
    "computes_by",
    "time_ago",
    "duration",
    "seconds",
    "memory_size",
    "file_size",
];

/// Calls that make an error or a note of words.
const SAYING: &[&str] = &[
    "Advice::new",
    "advice",
    "Failure::new",
    "Failure::from",
    "sentence",
    "understand",
    "Failed",
    "Err",
    "ok_or",
    "ok_or_else",
    "map_err",
    "note",
    "left_out",
    "finish_pixels",
    "change",
];

/// Records whose fields a person reads.
const SAYING_RECORDS: &[&str] = &["SettingLine", "Advice", "MissingModel"];

/// Calls whose words are logged and matched, as those of the C++ engine are; a person reads what
/// they are taken for.
const LOGGED: &[&str] = &["CallError::new", "invalid"];

/// A literal text, the call that it is handed to, and its line.
#[derive(Debug, PartialEq)]
pub(crate) struct Literal {
    pub(crate) text: String,
    pub(crate) call: String,
    pub(crate) line: usize,
}

/// A use of `tr!` with the names of its values.
#[derive(Debug, PartialEq)]
pub(crate) struct Use {
    pub(crate) id: String,
    pub(crate) variables: BTreeSet<String>,
}

#[derive(Default)]
pub(crate) struct Found {
    pub(crate) literals: Vec<Literal>,
    pub(crate) uses: Vec<Use>,
}

/// The name of the call whose brackets come next: `Id::unique`, `small`, `tr!`.
fn call_before(before: &[TokenTree]) -> String {
    let mut name = String::new();
    for tree in before.iter().rev() {
        match tree {
            TokenTree::Ident(ident) if name.is_empty() || name.starts_with("::") || name == "!" => name = format!("{ident}{name}"),
            TokenTree::Punct(mark) if mark.as_char() == ':' || (mark.as_char() == '!' && name.is_empty()) => {
                name = format!("{}{name}", mark.as_char());
            }
            _ => break,
        }
    }
    let parts: Vec<&str> = name.split("::").collect();
    parts[parts.len().saturating_sub(2)..].join("::").trim_start_matches(':').to_owned()
}

/// True for `#[cfg(test)]`'s brackets.
fn is_cfg_test(group: &Group) -> bool {
    group.stream().to_string().replace(' ', "") == "cfg(test)"
}

/// Finds all literals and uses. `call`: the one around them.
pub(crate) fn search(stream: TokenStream, call: &str, found: &mut Found) {
    let trees: Vec<TokenTree> = stream.into_iter().collect();
    let mut at = 0;
    let mut is_test = false;
    while let Some(tree) = trees.get(at) {
        match tree {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket && is_attribute(&trees[..at]) => {
                is_test |= is_cfg_test(group);
                // An attribute is read by the compiler, but for the texts of errors.
                let mut inside = Found::default();
                search(group.stream(), "", &mut inside);
                found.uses.extend(inside.uses);
            }
            TokenTree::Group(group) if is_test => {
                // The body of what is only for tests ends it; brackets before it are its arguments.
                is_test = group.delimiter() != Delimiter::Brace;
            }
            TokenTree::Group(group) => {
                let name = match group.delimiter() {
                    Delimiter::Parenthesis | Delimiter::Bracket => call_before(&trees[..at]),
                    Delimiter::Brace | Delimiter::None => String::new(),
                };
                if name == "tr!" {
                    found.uses.extend(use_of(group.stream()));
                }
                // An array, a tuple or a `format!` is handed on to the call around it.
                let handed_on = name.is_empty() && group.delimiter() != Delimiter::Brace || name == "format!" || name == "Some";
                search(group.stream(), if handed_on { call } else { &name }, found);
            }
            TokenTree::Punct(mark) if mark.as_char() == ';' => is_test = false,
            TokenTree::Literal(literal) if !is_test => {
                if let Ok(text) = syn::parse_str::<syn::LitStr>(&literal.to_string()) {
                    found.literals.push(Literal { text: text.value(), call: call.to_owned(), line: literal.span().start().line });
                }
            }
            _ => {}
        }
        at += 1;
    }
}

/// Finds the words of functions and calls that speak to a person, of errors, and of `Display`.
pub(crate) fn search_spoken(stream: TokenStream, is_spoken: bool, found: &mut Vec<Literal>) {
    let trees: Vec<TokenTree> = stream.into_iter().collect();
    let is_name = |at: usize, names: &[&str]| match trees.get(at) {
        Some(TokenTree::Ident(ident)) => names.iter().any(|name| ident == name),
        _ => false,
    };
    let (mut is_test, mut speaks) = (false, false);
    for (at, tree) in trees.iter().enumerate() {
        match tree {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket && is_attribute(&trees[..at]) => {
                is_test |= is_cfg_test(group);
                if matches!(group.stream().into_iter().next(), Some(TokenTree::Ident(ident)) if ident == "error") {
                    search_spoken(group.stream(), true, found);
                }
            }
            TokenTree::Group(group) if is_test => is_test = group.delimiter() != Delimiter::Brace,
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                let is_record = SAYING_RECORDS.contains(&call_before(&trees[..at]).as_str());
                search_spoken(group.stream(), is_spoken || speaks || is_record, found);
                speaks = false;
            }
            TokenTree::Group(group) => {
                let call = call_before(&trees[..at]);
                let is_one_of = |calls: &[&str]| calls.contains(&call.as_str()) || calls.contains(&last_part(&call));
                if is_read_by(&call) && !is_one_of(LOGGED) {
                    search_spoken(group.stream(), is_spoken || is_one_of(SAYING), found);
                }
            }
            TokenTree::Ident(ident) => {
                speaks |= (ident == "fn" && is_name(at + 1, SPEAKING)) || (ident == "Display" && is_name(at + 1, &["for"]));
            }
            TokenTree::Punct(mark) if mark.as_char() == ';' => (is_test, speaks) = (false, false),
            TokenTree::Literal(literal) if is_spoken && !is_test => {
                if let Ok(text) = syn::parse_str::<syn::LitStr>(&literal.to_string())
                    && is_read(&text.value())
                {
                    found.push(Literal { text: text.value(), call: String::new(), line: literal.span().start().line });
                }
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

/// True where these tokens end with what an attribute begins with: `#` or `#!`.
fn is_attribute(before: &[TokenTree]) -> bool {
    let mark = |tree: &TokenTree| if let TokenTree::Punct(mark) = tree { Some(mark.as_char()) } else { None };
    match before {
        [.., hash, bang] if mark(bang) == Some('!') => mark(hash) == Some('#'),
        [.., hash] => mark(hash) == Some('#'),
        [] => false,
    }
}

/// What the brackets of `tr!` hold; `None` where they begin with no literal.
fn use_of(stream: TokenStream) -> Option<Use> {
    let trees: Vec<TokenTree> = stream.into_iter().collect();
    let (TokenTree::Literal(id), rest) = trees.split_first()? else { return None };
    let id = syn::parse_str::<syn::LitStr>(&id.to_string()).ok()?.value();
    let name = |pair: &[TokenTree]| match pair {
        [TokenTree::Punct(mark), TokenTree::Ident(name)] if mark.as_char() == ',' => Some(name.to_string()),
        _ => None,
    };
    // A comma within a closure or generics would be one of several names: values here are plain.
    let variables = rest.windows(2).filter_map(name).collect();
    Some(Use { id, variables })
}

/// The last part of the name of a call.
fn last_part(call: &str) -> &str {
    call.rsplit("::").next().unwrap_or(call)
}

/// True where the words that this call is handed are read by a person.
fn is_read_by(call: &str) -> bool {
    !NOT_READ.contains(&call) && !NOT_READ.contains(&last_part(call))
}

/// True for a word without a capital that is drawn, as in a field that is empty.
fn is_drawn_word(literal: &Literal) -> bool {
    let is_word = literal.text.len() > 1 && literal.text.chars().all(|letter| letter.is_ascii_lowercase());
    is_word && DRAWING.contains(&last_part(&literal.call))
}

/// True for a literal that belongs into the languages.
pub(crate) fn is_fault(literal: &Literal) -> bool {
    (is_read(&literal.text) && is_read_by(&literal.call)) || is_drawn_word(literal)
}

/// True for words that a person would read: a sentence, or a word with a capital.
fn is_read(text: &str) -> bool {
    let mut letters = String::new();
    let mut depth = 0;
    for letter in text.chars() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ if depth == 0 => letters.push(letter),
            _ => {}
        }
    }
    let words: Vec<&str> = letters.split_whitespace().filter(|word| word.chars().filter(|it| it.is_alphabetic()).count() > 1).collect();
    let is_name = |word: &str| word.chars().all(|it| it.is_uppercase() || !it.is_alphabetic());
    let starts_upper = words.first().is_some_and(|word| word.starts_with(char::is_uppercase) && !is_name(word));
    starts_upper || words.len() > 1
}
