//! The catalogue: models that can be had, as a JSON array of [`Manifest`]s. One comes with the
//! program; a person's own files add to it.
//!
//! Invariants: a wrong entry is reported with file and line, and the others still load; of two
//! entries with the same id the later file's counts, so that a person's own goes before ours. Not
//! here: downloads, and what is on the disk.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::family::Family;
use super::manifest::{Defaults, Example, MAX_VALUES, Manifest, ManifestError, ModelFile, Role, read_text, too_many_values};
use atelier_core::json::has_more_values;
use atelier_core::recipe::FileRole;
use atelier_language::tr;

mod split;

use split::{Piece, split};

/// The catalogue that comes with the program.
const SHIPPED: &str = include_str!("../../../assets/catalogue.json");
/// Memory that making a picture takes beside the weights, about.
pub const WORKING_BYTES: u64 = 1_500_000_000;
/// Entries of a file that are read.
const MAX_PIECES: usize = 4096;
/// Its name in errors.
const SHIPPED_NAME: &str = "catalogue.json";

/// Models that can be had.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Catalogue {
    entries: Vec<Manifest>,
}

/// A file of the catalogue that would fill a gap.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    /// The entry that has it.
    pub model: String,
    /// The file.
    pub file: ModelFile,
}

impl Catalogue {
    /// The catalogue that comes with the program.
    #[must_use]
    pub fn shipped() -> Self {
        let mut catalogue = Self::default();
        let problems = catalogue.add(SHIPPED, Path::new(SHIPPED_NAME));
        for problem in problems {
            // A test holds that there is none.
            tracing::error!("{problem}");
        }
        catalogue.entries = catalogue.entries.into_iter().map(Manifest::in_english).collect();
        catalogue
    }

    /// The shipped catalogue, what stands in the person's folder for catalogues (`*.json`, by
    /// name), and these files. What is wrong in them comes back beside.
    #[must_use]
    pub fn open(folder: &Path, files: &[PathBuf]) -> (Self, Vec<ManifestError>) {
        let mut catalogue = Self::shipped();
        let mut problems = Vec::new();
        for path in own_files(folder).iter().chain(files) {
            problems.extend(catalogue.add_file(path));
        }
        (catalogue, problems)
    }

    /// Adds the entries of a file; what is wrong in it comes back.
    pub fn add_file(&mut self, path: &Path) -> Vec<ManifestError> {
        match read_text(path) {
            Ok(text) => self.add(&text, path),
            Err(error) => vec![error],
        }
    }

    /// Adds the entries of a text: a JSON array of manifests, or a single one. `path` is only named
    /// in errors.
    pub fn add(&mut self, text: &str, path: &Path) -> Vec<ManifestError> {
        if has_more_values(text.as_bytes(), MAX_VALUES) {
            return vec![too_many_values(path, 1)];
        }
        let mut problems = Vec::new();
        let mut seen = HashSet::new();
        for piece in split(text, MAX_PIECES) {
            match piece {
                Piece::Entry { text, line } => match Manifest::parse_at(text, path, line) {
                    Ok(entry) if seen.contains(&entry.id) => {
                        let what = tr!("library-there-is-another-entry", id = entry.id);
                        problems.push(ManifestError::Wrong { path: path.to_owned(), line, what });
                    }
                    Ok(entry) => {
                        seen.insert(entry.id.clone());
                        self.entries.retain(|it| it.id != entry.id);
                        self.entries.push(entry);
                    }
                    Err(problem) => problems.push(problem),
                },
                Piece::Wrong { line, what } => {
                    problems.push(ManifestError::Wrong { path: path.to_owned(), line, what: what.into() });
                }
            }
        }
        problems
    }

    /// Its entries, in their order.
    #[must_use]
    pub fn entries(&self) -> &[Manifest] {
        &self.entries
    }

    /// An entry as it would be installed: `ID`, or one of its variants, as `ID:VARIANT` or by the
    /// id that it has on the disk.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Manifest> {
        if let Some((id, variant)) = name.split_once(':') {
            return self.entry(id)?.as_variant(variant);
        }
        self.entry(name).cloned().or_else(|| {
            let variants = self.entries.iter().flat_map(|entry| entry.variants.iter().filter_map(|it| entry.as_variant(&it.name)));
            variants.into_iter().find(|it| it.id == name)
        })
    }

    /// The entry with this id.
    #[must_use]
    pub fn entry(&self, id: &str) -> Option<&Manifest> {
        self.entries.iter().find(|it| it.id == id)
    }

    /// The id that is most like this one, for "did you mean".
    #[must_use]
    pub fn like(&self, id: &str) -> Option<&str> {
        let alike = |entry: &&Manifest| strsim::normalized_damerau_levenshtein(&entry.id, id);
        let best = self.entries.iter().max_by(|one, two| alike(one).total_cmp(&alike(two)))?;
        (alike(&best) > 0.5).then_some(best.id.as_str())
    }

    /// The settings that suit a model of this family: those of the entry whose main file is called
    /// most like this one.
    #[must_use]
    pub fn defaults_for(&self, family: Family, file: &str) -> Defaults {
        let Some(entry) = self.entry_like(family, file) else { return Defaults::default() };
        // Of the editions of Qwen-Image-Edit only one learned it, and it spoils the others.
        let zero_cond_t = entry.defaults.zero_cond_t && edition(&entry.id) == edition(file);
        Defaults { zero_cond_t, ..entry.defaults.clone() }
    }

    /// What a model of this family is good at: the examples of the entry whose main file is called
    /// most like this one.
    #[must_use]
    pub fn examples_for(&self, family: Family, file: &str) -> Vec<Example> {
        self.entry_like(family, file).map(|it| it.examples.clone()).unwrap_or_default()
    }

    /// The entry of this family whose main file is called most like this one.
    fn entry_like(&self, family: Family, file: &str) -> Option<&Manifest> {
        let alike = |entry: &&Manifest| {
            let main = |it: &&ModelFile| matches!(it.role, Role::Part(role) if role.is_main());
            let names = entry.files.iter().filter(main).map(|it| it.filename.as_str().to_lowercase());
            let file = file.to_lowercase();
            names.map(|name| strsim::normalized_damerau_levenshtein(&name, &file)).max_by(f64::total_cmp)
        };
        let of_family = self.entries.iter().filter(|it| it.family.as_deref().and_then(Family::from_label) == Some(family));
        let with_worth = of_family.filter_map(|entry| Some((entry, alike(&entry)?)));
        with_worth.max_by(|one, two| one.1.total_cmp(&two.1)).map(|(entry, _)| entry)
    }

    /// The file that a model of this family would take in this role, and where it comes from.
    /// `near` prefers the entry that has a file of this name.
    #[must_use]
    pub fn offer(&self, family: Family, role: FileRole, near: &str) -> Option<Offer> {
        let of_family = |entry: &&Manifest| entry.family.as_deref().and_then(Family::from_label) == Some(family);
        let near = |entry: &&Manifest| {
            let all = entry.files.iter().chain(entry.variants.iter().flat_map(|it| &it.files));
            all.into_iter().any(|it| it.filename.as_str() == near)
        };
        let mut entries: Vec<&Manifest> = self.entries.iter().filter(of_family).collect();
        entries.sort_by_key(|entry| !near(entry));
        entries.into_iter().find_map(|entry| {
            let file = entry.files.iter().find(|it| it.role == Role::Part(role))?;
            Some(Offer { model: entry.id.clone(), file: file.clone() })
        })
    }
}

/// The year and month in a name, such as 2511.
fn edition(name: &str) -> Option<&str> {
    name.split(|it: char| !it.is_ascii_digit()).find(|digits| digits.len() == 4)
}

/// The person's own catalogue files, by name.
fn own_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> =
        entries.map(|it| it.path()).filter(|it| it.extension().is_some_and(|it| it.eq_ignore_ascii_case("json")) && it.is_file()).collect();
    files.sort();
    files
}

#[cfg(test)]
mod tests;
