//! Reads Rust source to say which names it uses: `use` lists are spelled out, and `crate`, `self`
//! and `super` are resolved. It is no compiler: the words inside a macro's brackets are read as
//! what they look like.

use std::collections::BTreeSet;
use std::str::FromStr as _;

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

/// Tokens, paths and items of a source file.
#[derive(Debug, Default)]
pub(crate) struct Source {
    /// Words, marks and literals in order; a text or character is `"`, a number keeps its digits.
    pub(crate) tokens: Vec<Token>,
    /// Every path of several parts and every import, such as `std::fs::read`, spelled out as far as
    /// the file itself tells.
    pub(crate) paths: Vec<Place>,
    /// Names that the file itself declares, outside modules that are written out in it.
    pub(crate) items: BTreeSet<String>,
    /// The same source without its work in the background; `None` where it has none.
    beside_work: Option<Box<Source>>,
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
    ///
    /// # Panics
    /// If it is no Rust.
    pub(crate) fn read(module: &str, text: &str) -> Self {
        let stream = TokenStream::from_str(text).unwrap_or_else(|error| panic!("{module} is no Rust: {error}"));
        let mut has_work = false;
        let beside_work = without_work(stream.clone(), &mut has_work);
        let beside_work = has_work.then(|| Box::new(Self::read_stream(module, beside_work)));
        Self { beside_work, ..Self::read_stream(module, stream) }
    }

    fn read_stream(module: &str, stream: TokenStream) -> Self {
        let mut tokens = Vec::new();
        flatten(stream.clone(), &mut tokens);
        let file: syn::File = syn::parse2(stream).unwrap_or_else(|error| panic!("{module} is no Rust: {error}"));
        let mut reader = Reader { file: module, module: module.to_owned(), paths: Vec::new(), items: BTreeSet::new() };
        reader.visit_file(&file);
        Self { tokens, paths: reader.paths, items: reader.items, beside_work: None }
    }

    /// The source without the closures that it hands to other threads, and the names of functions
    /// in their place: the second argument of `.run(Worker::…, || …)`, `.run_silently(Worker::…, ||
    /// …)` and `.run_alone(…, || …)`.
    pub(crate) fn beside_work(&self) -> &Self {
        self.beside_work.as_deref().unwrap_or(self)
    }

    /// The path with its first name spelled out as the file imports it.
    pub(crate) fn spell_out(&self, place: &Place) -> String {
        let (first, rest) = place.path.split_once("::").unwrap_or((&place.path, ""));
        let imported = self
            .paths
            .iter()
            .find(|it| it.module == place.module && matches!(&it.kind, PlaceKind::Import(name) | PlaceKind::Export(name) if name == first));
        match imported {
            Some(imported) if place.kind == PlaceKind::Inline => format!("{}::{rest}", imported.path),
            _ => place.path.clone(),
        }
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

fn line(span: Span) -> usize {
    span.start().line
}

/// The tokens without closures that are handed to other threads; where there were some, `found`
/// becomes true.
fn without_work(stream: TokenStream, found: &mut bool) -> TokenStream {
    let trees: Vec<TokenTree> = stream.into_iter().collect();
    let mut kept = Vec::new();
    for (at, tree) in trees.iter().enumerate() {
        let TokenTree::Group(group) = tree else {
            kept.push(tree.clone());
            continue;
        };
        let called = match trees[..at].last_chunk() {
            Some([TokenTree::Punct(dot), TokenTree::Ident(name)]) if dot.as_char() == '.' => name.to_string(),
            _ => String::new(),
        };
        let inside: Vec<TokenTree> = group.stream().into_iter().collect();
        let is_comma = |tree: &TokenTree| matches!(tree, TokenTree::Punct(mark) if mark.as_char() == ',');
        let mut arguments: Vec<Vec<TokenTree>> = inside.split_inclusive(is_comma).map(<[TokenTree]>::to_vec).collect();
        let begins_with = |argument: &[TokenTree], words: &[&str]| {
            let given = argument.iter().take(words.len()).map(ToString::to_string);
            argument.len() >= words.len() && given.eq(words.iter().copied())
        };
        let is_handed_on = match called.as_str() {
            "run" | "run_silently" => arguments.first().is_some_and(|first| begins_with(first, &["Worker", ":", ":"])),
            "run_alone" => true,
            _ => false,
        };
        if is_handed_on && let Some(work) = arguments.get_mut(1) {
            // The comma stays.
            let comma = work.pop_if(|last| is_comma(last));
            let is_closure = begins_with(work, &["|", "|"]) || begins_with(work, &["move", "|", "|"]);
            let is_name = work.iter().all(|tree| matches!(tree, TokenTree::Ident(_)) || tree.to_string() == ":");
            if is_closure || is_name {
                *found = true;
                let nothing = proc_macro2::Group::new(Delimiter::Parenthesis, TokenStream::new());
                *work = vec![TokenTree::Group(nothing)];
            }
            work.extend(comma);
        }
        let inner = without_work(arguments.into_iter().flatten().collect(), found);
        let mut group_beside = proc_macro2::Group::new(group.delimiter(), inner);
        group_beside.set_span(group.span());
        kept.push(TokenTree::Group(group_beside));
    }
    kept.into_iter().collect()
}

/// The tokens in order, brackets among them, and `::` as one.
fn flatten(stream: TokenStream, found: &mut Vec<Token>) {
    let mut is_half_of_colons = false;
    for tree in stream {
        let mut add = |text: &str, span: Span| found.push(Token { text: text.to_owned(), line: line(span) });
        let was_half = std::mem::take(&mut is_half_of_colons);
        match tree {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                add(open, group.span_open());
                flatten(group.stream(), found);
                found.push(Token { text: close.to_owned(), line: line(group.span_close()) });
            }
            TokenTree::Ident(word) => add(&word.to_string(), word.span()),
            TokenTree::Punct(mark) if mark.as_char() == ':' && was_half => {
                if let Some(last) = found.last_mut() {
                    "::".clone_into(&mut last.text);
                }
            }
            TokenTree::Punct(mark) => {
                is_half_of_colons = mark.as_char() == ':' && mark.spacing() == proc_macro2::Spacing::Joint;
                add(&mark.as_char().to_string(), mark.span());
            }
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                add(if text.starts_with(|c: char| c.is_ascii_digit()) { &text } else { "\"" }, literal.span());
            }
        }
    }
}

/// Collects the paths and items of a file.
struct Reader<'a> {
    /// The file's module.
    file: &'a str,
    /// The module that is being read.
    module: String,
    paths: Vec<Place>,
    items: BTreeSet<String>,
}

impl Reader<'_> {
    fn add(&mut self, path: &str, line: usize, kind: PlaceKind) {
        self.paths.push(Place { path: resolve(path, &self.module), line, module: self.module.clone(), kind });
    }

    fn add_uses(&mut self, tree: &syn::UseTree, prefix: &str, is_export: bool) {
        let joined = |name: &str| if prefix.is_empty() { name.to_owned() } else { format!("{prefix}::{name}") };
        let kind = |name: String| if is_export { PlaceKind::Export(name) } else { PlaceKind::Import(name) };
        // `self` in a list is what the list is of.
        let path_of = |name: &syn::Ident| if name == "self" && !prefix.is_empty() { prefix.to_owned() } else { joined(&name.to_string()) };
        match tree {
            syn::UseTree::Path(path) => self.add_uses(&path.tree, &joined(&path.ident.to_string()), is_export),
            syn::UseTree::Name(name) => {
                let path = path_of(&name.ident);
                let last = path.rsplit("::").next().unwrap_or_default().to_owned();
                self.add(&path, line(name.span()), kind(last));
            }
            syn::UseTree::Rename(renamed) => {
                self.add(&path_of(&renamed.ident), line(renamed.span()), kind(renamed.rename.to_string()));
            }
            syn::UseTree::Glob(glob) => self.add(prefix, line(glob.span()), kind("*".to_owned())),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.add_uses(tree, prefix, is_export)),
        }
    }

    /// Adds what looks like a path among the tokens of a macro.
    fn add_paths_among(&mut self, tokens: &[Token]) {
        let is_word = |at: usize| tokens.get(at).is_some_and(|it| it.text.starts_with(|c: char| c.is_alphabetic() || c == '_'));
        let mut at = 0;
        while at < tokens.len() {
            let (start, mut path) = (at, String::new());
            while is_word(at) {
                path = if path.is_empty() { tokens[at].text.clone() } else { format!("{path}::{}", tokens[at].text) };
                if !(tokens.get(at + 1).is_some_and(|it| it.text == "::") && is_word(at + 2)) {
                    break;
                }
                at += 2;
            }
            if at > start {
                self.add(&path, tokens[start].line, PlaceKind::Inline);
            }
            at += 1;
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let name = match item {
            syn::Item::Const(it) => Some(&it.ident),
            syn::Item::Enum(it) => Some(&it.ident),
            syn::Item::Fn(it) => Some(&it.sig.ident),
            syn::Item::Macro(it) => it.ident.as_ref(),
            syn::Item::Mod(it) => Some(&it.ident).filter(|_| it.content.is_some()),
            syn::Item::Static(it) => Some(&it.ident),
            syn::Item::Struct(it) => Some(&it.ident),
            syn::Item::Trait(it) => Some(&it.ident),
            syn::Item::Type(it) => Some(&it.ident),
            syn::Item::Union(it) => Some(&it.ident),
            _ => None,
        };
        if let Some(name) = name.filter(|_| self.module == self.file) {
            self.items.insert(name.to_string());
        }
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let inner = format!("{}::{}", self.module, item.ident);
        let outer = std::mem::replace(&mut self.module, inner);
        visit::visit_item_mod(self, item);
        self.module = outer;
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.add_uses(&item.tree, "", !matches!(item.vis, syn::Visibility::Inherited));
    }

    /// `pub(in path)` imports nothing.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1 {
            let names: Vec<String> = path.segments.iter().map(|it| it.ident.to_string()).collect();
            self.add(&names.join("::"), line(path.span()), PlaceKind::Inline);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        visit::visit_macro(self, called);
        let mut tokens = Vec::new();
        flatten(called.tokens.clone(), &mut tokens);
        self.add_paths_among(&tokens);
    }

    fn visit_meta_list(&mut self, list: &'ast syn::MetaList) {
        visit::visit_meta_list(self, list);
        let mut tokens = Vec::new();
        flatten(list.tokens.clone(), &mut tokens);
        self.add_paths_among(&tokens);
    }
}

/// Spells out `self` and `super`; the crate's own name means `crate` too, as tests and the program
/// use it.
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
        let text = r##"const A: X = f("unsafe \" x", r#"un"safe"#, b"x", 'u', '\'', '"'); // unsafe"##;
        assert_eq!(words(text).join(" "), r#"const A : X = f ( " , " , " , " , " , " ) ;"#);
        assert_eq!(words("a!(); /* unsafe /* nested */ still */ b!();").join(" "), "a ! ( ) ; b ! ( ) ;");
    }

    #[test]
    fn what_is_handed_to_another_thread_is_left_out_and_what_becomes_of_it_is_not() {
        let beside = |text: &str| {
            let source = Source::read("crate", &format!("use std::fs; fn f() {{ {text} }}"));
            source.beside_work().paths.iter().filter(|it| it.path == "fs::read").count()
        };
        for handed in [
            "context.run(Worker::Files, move || fs::read(path), |_, _, _| {});",
            "context.run(Worker::Files, || { let (a, b) = (1, 2); fs::read(path) }, |_, _, _| {})",
            "workers.run_silently(Worker::Files, move || fs::read(path));",
            "workers.run(Worker::Files, fs::read, |_, _, _| {});",
            "if x { match y { _ => context.run_alone(\"name\", move || fs::read(path), |_, _, _| {}) } }",
        ] {
            assert_eq!(beside(handed), 0, "{handed}");
        }
        for own in [
            "context.run(Worker::Files, move || path, |_, _, _| fs::read(path));",
            "context.run(Worker::Files, fs::read(path), |_, _, _| {});",
            "let work = || fs::read(path); context.run(Worker::Files, work, |_, _, _| {});",
            "context.run(Own::Files, move || fs::read(path), |_, _, _| {});",
            "context.with(Worker::Files, move || fs::read(path));",
            "run(Worker::Files, move || fs::read(path));",
        ] {
            assert_eq!(beside(own), 1, "{own}");
        }
    }

    #[test]
    fn a_path_is_spelled_out_as_its_file_imports_it() {
        let source = Source::read("crate::a", "use std::fs; use crate::b::{self as c}; fn f() { fs::read(x); c::d(); e::f() }");
        let spelled: Vec<String> = source.paths.iter().filter(|it| it.kind == PlaceKind::Inline).map(|it| source.spell_out(it)).collect();
        assert_eq!(spelled, ["std::fs::read", "crate::b::d", "e::f"]);
    }

    #[test]
    fn lines_are_counted_through_texts_and_comments() {
        let source = Source::read("crate", "/*\n\n*/ const A: &str = \"\n\"; unsafe fn f() {}");
        assert_eq!(source.line_of_token("unsafe"), Some(4));
    }

    #[test]
    fn what_a_file_declares_is_told_and_what_its_modules_declare_is_not() {
        let source = Source::read("crate", "struct A; enum B {} fn c() {} mod d; mod e { const F: u8 = 0; } macro_rules! g { () => {} }");
        assert_eq!(source.items, ["A", "B", "c", "e", "g"].map(str::to_owned).into());
    }

    #[test]
    fn paths_inside_macros_and_attributes_are_found() {
        assert_eq!(paths("crate", "fn f() { assert!(a::b(c)) } #[derive(serde::Serialize)] struct S;"), ["a::b", "serde::Serialize"]);
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
