//! Who uses whom among the files of several crates, with re-exports followed to the file that
//! declares the name.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::{Place, PlaceKind, Source};

/// A file: its module and its source.
pub(crate) struct File {
    /// Path from the root of the workspace.
    pub(crate) name: String,
    /// Module, such as `atelier_engine::cache`.
    pub(crate) module: String,
    /// Tokens, paths and items.
    pub(crate) source: Source,
}

/// The files of several crates by their imports.
pub(crate) struct Imports<'a> {
    files: &'a [File],
    /// By module: index of its file.
    modules: BTreeMap<&'a str, usize>,
    /// By module and name: the path that the name is imported from.
    names: BTreeMap<(&'a str, &'a str), &'a str>,
    /// By module: modules of which all names are imported.
    globs: BTreeMap<&'a str, Vec<&'a str>>,
}

/// What a path leads to.
enum Target {
    /// A module itself, and not what is in it.
    Module,
    /// Something that this file declares.
    Item(usize),
}

impl<'a> Imports<'a> {
    /// Reads the imports of these files.
    pub(crate) fn new(files: &'a [File]) -> Self {
        let modules: BTreeMap<&str, usize> = files.iter().enumerate().map(|(at, file)| (file.module.as_str(), at)).collect();
        let mut imports = Self { files, modules, names: BTreeMap::new(), globs: BTreeMap::new() };
        for file in files {
            for place in own_places(file) {
                match &place.kind {
                    PlaceKind::Import(name) | PlaceKind::Export(name) if name == "*" => {
                        imports.globs.entry(&file.module).or_default().push(&place.path);
                    }
                    PlaceKind::Import(name) | PlaceKind::Export(name) => {
                        imports.names.insert((&file.module, name), &place.path);
                    }
                    PlaceKind::Inline => {}
                }
            }
        }
        imports
    }

    /// The target of a path that is written in this module; `None` outside these crates.
    fn target(&self, module: &str, path: &str) -> Option<Target> {
        let (mut module, mut path) = (module.to_owned(), path.to_owned());
        // Re-exports of re-exports end somewhere; a circle of them would not compile.
        for _ in 0..16 {
            let (first, rest) = path.split_once("::").map_or((path.as_str(), None), |(first, rest)| (first, Some(rest)));
            let child = format!("{module}::{first}");
            if self.modules.contains_key(child.as_str()) {
                let Some(rest) = rest else { return Some(Target::Module) };
                (module, path) = (child, rest.to_owned());
            } else if let Some(imported) = self.names.get(&(module.as_str(), first)).filter(|imported| **imported != path) {
                path = rest.map_or_else(|| (*imported).to_owned(), |rest| format!("{imported}::{rest}"));
            } else if let Some(at) = self.modules.get(module.as_str()).filter(|at| self.files[**at].source.items.contains(first)) {
                return Some(Target::Item(*at));
            } else if self.modules.contains_key(first) {
                let Some(rest) = rest else { return Some(Target::Module) };
                (module, path) = (first.to_owned(), rest.to_owned());
            } else {
                let globs = self.globs.get(module.as_str()).into_iter().flatten();
                let below = |glob: &str| {
                    self.modules.get_key_value(format!("{module}::{glob}").as_str()).map_or(glob.to_owned(), |it| (*it.0).to_owned())
                };
                return globs.map(|glob| below(glob)).filter(|glob| *glob != module).find_map(|glob| self.target(&glob, &path));
            }
        }
        None
    }

    /// Files that declare what this one uses, tests written out in it and names that it only hands
    /// on left out.
    fn used_by(&self, at: usize) -> BTreeSet<usize> {
        let file = &self.files[at];
        let places = own_places(file).filter(|place| !matches!(place.kind, PlaceKind::Export(_)));
        let found = places.filter_map(|place| match self.target(&file.module, &place.path)? {
            Target::Item(other) => Some(other),
            Target::Module => None,
        });
        found.filter(|other| *other != at).collect()
    }

    /// Groups of files that import each other in a circle, each as the names of its files.
    pub(crate) fn circles(&self) -> Vec<Vec<&'a str>> {
        let next: Vec<BTreeSet<usize>> = (0..self.files.len()).map(|at| self.used_by(at)).collect();
        let reached: Vec<BTreeSet<usize>> = (0..self.files.len())
            .map(|start| {
                let (mut seen, mut open) = (BTreeSet::new(), vec![start]);
                while let Some(at) = open.pop() {
                    open.extend(next[at].iter().filter(|it| seen.insert(**it)));
                }
                seen
            })
            .collect();
        let mut circles: Vec<Vec<&str>> = Vec::new();
        for at in (0..self.files.len()).filter(|at| reached[*at].contains(at)) {
            let circle: Vec<usize> = reached[at].iter().copied().filter(|other| reached[*other].contains(&at)).collect();
            if circle.first() == Some(&at) {
                circles.push(circle.into_iter().map(|it| self.files[it].name.as_str()).collect());
            }
        }
        circles
    }
}

/// Paths of the file's own module: modules that are written out in a file are its tests.
fn own_places(file: &File) -> impl Iterator<Item = &Place> {
    file.source.paths.iter().filter(|place| place.module == file.module)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let read = |(module, text): &(&str, &str)| File {
            name: (*module).to_owned(),
            module: (*module).to_owned(),
            source: Source::read(module, text),
        };
        let files: Vec<File> = files.iter().map(read).collect();
        Imports::new(&files).circles().into_iter().map(|it| it.into_iter().map(str::to_owned).collect()).collect()
    }

    const NONE: [[&str; 2]; 0] = [];

    #[test]
    fn files_that_import_each_other_are_a_circle() {
        let found =
            circles(&[("x", "mod a; mod b;"), ("x::a", "use super::b::B; fn f() {}"), ("x::b", "struct B; fn g() { crate::a::f() }")]);
        assert_eq!(found, [["x::a", "x::b"]]);
        assert_eq!(circles(&[("x", ""), ("x::a", "use super::b::B;"), ("x::b", "use std::fmt; struct B;")]), NONE);
    }

    #[test]
    fn a_module_that_only_hands_names_on_is_in_no_circle() {
        let root = "mod a; mod b; pub use a::A; pub(crate) use b::{B, f as g};";
        let b = "struct B; fn f() {}";
        assert_eq!(circles(&[("x", root), ("x::a", "use super::B; struct A;"), ("x::b", b)]), NONE);
        assert_eq!(
            circles(&[("x", root), ("x::a", "use super::g; struct A;"), ("x::b", "use super::A; struct B; fn f() {}")]),
            [["x::a", "x::b"]]
        );
        assert_eq!(
            circles(&[("x", "mod a; mod b; pub use a::*;"), ("x::a", "use super::b::B; struct A;"), ("x::b", "use super::A; struct B;")]),
            [["x::a", "x::b"]]
        );
    }

    #[test]
    fn a_module_that_is_imported_by_its_name_is_followed_where_it_is_used() {
        let (root, hub) = ("mod a; mod hub;", "mod inner; pub use inner::f;");
        let files =
            |used: &'static str| [("x", root), ("x::a", used), ("x::hub", hub), ("x::hub::inner", "use super::super::a::A; fn f() {}")];
        assert_eq!(circles(&files("use super::hub; struct A; fn g() { hub::f() }")), [["x::a", "x::hub::inner"]]);
        assert_eq!(circles(&files("use super::hub; struct A;")), NONE);
    }

    #[test]
    fn a_module_that_uses_its_child_is_in_a_circle_with_a_child_that_uses_it() {
        assert_eq!(circles(&[("x", "mod a; use a::A; struct R(A);"), ("x::a", "use super::R; struct A;")]), [["x", "x::a"]]);
        assert_eq!(circles(&[("x", "mod a; use a::A; struct R;"), ("x::a", "struct A; mod tests { use super::super::R; }")]), NONE);
    }
}
