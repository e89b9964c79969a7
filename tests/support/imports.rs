//! Imports between the files of a crate, with re-exports followed to the file that has the name.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::{PlaceKind, Source};

/// A file: its module and its source.
pub(crate) struct File {
    /// Path from the root of the workspace.
    pub(crate) name: String,
    /// Module, such as `atelier_engine::cache`.
    pub(crate) module: String,
    pub(crate) source: Source,
}

/// The files of several crates by their imports.
pub(crate) struct Imports<'a> {
    files: &'a [File],
    /// By module: index of its file.
    modules: BTreeMap<&'a str, usize>,
    /// By module and name: the path that the name is imported from.
    names: BTreeMap<(&'a str, &'a str), String>,
    /// By module: modules of which all names are imported.
    globs: BTreeMap<&'a str, Vec<String>>,
}

impl<'a> Imports<'a> {
    /// Reads the imports of these files.
    pub(crate) fn new(files: &'a [File]) -> Self {
        let modules: BTreeMap<&str, usize> = files.iter().enumerate().map(|(at, file)| (file.module.as_str(), at)).collect();
        let mut imports = Self { files, modules, names: BTreeMap::new(), globs: BTreeMap::new() };
        for file in files {
            for place in file.source.paths.iter().filter(|place| place.module == file.module) {
                let (PlaceKind::Import(name) | PlaceKind::Export(name)) = &place.kind else { continue };
                let path = imports.absolute(&file.module, &place.path);
                if name == "*" {
                    imports.globs.entry(&file.module).or_default().push(path);
                } else {
                    imports.names.insert((&file.module, name), path);
                }
            }
        }
        imports
    }

    /// A path that begins with a module beside or below, from the crate's root.
    fn absolute(&self, module: &str, path: &str) -> String {
        let below = format!("{module}::{path}");
        if self.longest_module(&below).is_some_and(|found| found.len() > module.len()) { below } else { path.to_owned() }
    }

    /// The longest beginning of a path that is a module.
    fn longest_module(&self, path: &str) -> Option<&'a str> {
        let mut rest = path;
        loop {
            if let Some((module, _)) = self.modules.get_key_value(rest) {
                return Some(module);
            }
            rest = rest.rsplit_once("::")?.0;
        }
    }

    /// The file that has the name of this path.
    fn file_of(&self, path: &str) -> Option<usize> {
        let mut path = path.to_owned();
        // Re-exports of re-exports end somewhere; a circle of them would not compile.
        for _ in 0..8 {
            let module = self.longest_module(&path)?;
            let rest = path[module.len()..].trim_start_matches("::").to_owned();
            let name = rest.split("::").next().unwrap_or_default();
            let Some(target) = self.names.get(&(module, name)).filter(|target| **target != path && !name.is_empty()) else {
                return self.modules.get(module).copied();
            };
            path = format!("{target}{}", &rest[name.len()..]);
        }
        None
    }

    /// Files that this one imports, tests written out in it and names that it only hands on left out.
    fn imported_by(&self, at: usize) -> BTreeSet<usize> {
        let file = &self.files[at];
        let places = file.source.paths.iter().filter(|it| it.module == file.module && !matches!(it.kind, PlaceKind::Export(_)));
        let found = places.filter_map(|place| self.file_of(&self.absolute(&file.module, &place.path)));
        found.filter(|other| *other != at).collect()
    }

    /// Groups of files that import each other in a circle, each as the names of its files.
    pub(crate) fn circles(&self) -> Vec<Vec<&'a str>> {
        let next: Vec<BTreeSet<usize>> = (0..self.files.len()).map(|at| self.imported_by(at)).collect();
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

    #[test]
    fn files_that_import_each_other_are_a_circle() {
        let found = circles(&[("x", "mod a; mod b;"), ("x::a", "use super::b::B;"), ("x::b", "fn f() { crate::a::f() }")]);
        assert_eq!(found, [["x::a", "x::b"]]);
        assert_eq!(circles(&[("x", ""), ("x::a", "use super::b::B;"), ("x::b", "use std::fmt;")]), Vec::<Vec<String>>::new());
    }

    #[test]
    fn a_module_that_only_hands_names_on_is_in_no_circle() {
        let root = "mod a; mod b; pub use a::A; pub(crate) use b::{B, f as g};";
        assert_eq!(circles(&[("x", root), ("x::a", "use super::B;"), ("x::b", "use std::fmt;")]), Vec::<Vec<String>>::new());
        assert_eq!(circles(&[("x", root), ("x::a", "use crate::g;"), ("x::b", "use super::A;")]), [["x::a", "x::b"]]);
    }

    #[test]
    fn a_module_that_uses_its_child_is_in_a_circle_with_a_child_that_uses_it() {
        assert_eq!(circles(&[("x", "mod a; use a::A; struct R(A);"), ("x::a", "use super::R;")]), [["x", "x::a"]]);
        assert_eq!(circles(&[("x", "mod a; use a::A;"), ("x::a", "mod tests { use super::super::R; }")]), Vec::<Vec<String>>::new());
    }
}
