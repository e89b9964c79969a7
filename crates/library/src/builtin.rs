//! The built-in model: where it is, and what suits it.
//!
//! It is a folder with a manifest that comes with the program, not a part of the executable. The
//! start looks at names and sizes; [`Builtin::verify`] reads everything. Not here: what happens
//! where it is missing; the callers say so and go on without it.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::manifest::{Example, FaultyFile, MANIFEST, Manifest, ManifestError};
use super::vocabulary::Vocabulary;
use atelier_core::recipe::{ModelFiles, Recipe};
use atelier_language::tr;

/// The environment variable that names the folder of the built-in model; for tests, and for who
/// keeps it elsewhere.
pub const BUILTIN_VARIABLE: &str = "ATELIER_BUILTIN";
/// The words that it was trained with, in a file of its folder, and the bytes of it that are looked
/// at.
const WORDS: &str = "words.txt";
const MAX_WORDS_BYTES: usize = 1 << 16;
/// The folder's name beside the program.
const FOLDER: &str = "builtin-model";

/// The model that comes with the program.
#[derive(Clone, Debug, PartialEq)]
pub struct Builtin {
    folder: PathBuf,
    manifest: Manifest,
    files: ModelFiles,
    vocabulary: Vocabulary,
}

/// The built-in model cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BuiltinError {
    /// It is nowhere.
    #[error("{}", tr!("library-the-built-in-model-is-missing", places = places(looked), manifest = MANIFEST))]
    Missing {
        /// The folders that were looked into.
        looked: Vec<PathBuf>,
    },
    /// Its manifest is damaged.
    #[error("{}", tr!("library-the-built-in-model", reason = _0))]
    Manifest(#[from] ManifestError),
    /// A file is damaged.
    #[error("{}", tr!("library-the-built-in-model", reason = _0))]
    File(#[from] FaultyFile),
}

fn places(looked: &[PathBuf]) -> String {
    looked.last().map_or_else(|| tr!("library-no-folder").to_owned(), |last| last.display().to_string())
}

impl Builtin {
    /// Finds the built-in model: the folder that `ATELIER_BUILTIN` names and no other, or else
    /// beside the program, in its packaged resources, or in the source tree.
    ///
    /// # Errors
    /// If it is missing or not whole.
    pub fn find() -> Result<Self, BuiltinError> {
        // A link to the program leads to where it was installed.
        let program = env::current_exe().and_then(|path| path.canonicalize()).ok();
        let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let source = crate_folder.ancestors().nth(2).unwrap_or(crate_folder);
        Self::first_of(folders(env::var_os(BUILTIN_VARIABLE), program.as_deref(), source))
    }

    fn first_of(folders: Vec<PathBuf>) -> Result<Self, BuiltinError> {
        match folders.iter().find(|folder| folder.join(MANIFEST).is_file()) {
            Some(folder) => Self::open(folder),
            None => Err(BuiltinError::Missing { looked: folders }),
        }
    }

    /// The model in this folder. Looks at its manifest, and at its files' names and sizes.
    ///
    /// # Errors
    /// If something is missing or has another size.
    pub fn open(folder: &Path) -> Result<Self, BuiltinError> {
        let manifest = Manifest::read(&folder.join(MANIFEST))?.in_english();
        let files = manifest.locate(folder)?;
        // Without the list nothing is said about words.
        let words = std::fs::read(folder.join(WORDS)).unwrap_or_default();
        let words = words.get(..MAX_WORDS_BYTES.min(words.len())).unwrap_or_default();
        let vocabulary = Vocabulary::parse(&String::from_utf8_lossy(words));
        Ok(Self { folder: folder.to_owned(), manifest, files, vocabulary })
    }

    /// Words of a prompt that it was never trained with, in their order; the first ones.
    #[must_use]
    pub fn unknown_words(&self, prompt: &str) -> Vec<String> {
        self.vocabulary.unknown_words(prompt)
    }

    /// The file of the picture of one of its examples.
    #[must_use]
    pub fn example_file(&self, example: &Example) -> Option<PathBuf> {
        Some(example.picture.as_ref()?.in_folder(&self.folder))
    }

    /// Compares every file with its SHA-256. Reads all of them.
    ///
    /// # Errors
    /// If one is damaged.
    pub fn verify(&self) -> Result<(), BuiltinError> {
        Ok(self.manifest.verify(&self.folder)?)
    }

    /// Its manifest.
    #[must_use]
    pub const fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Its files, by role.
    #[must_use]
    pub const fn files(&self) -> &ModelFiles {
        &self.files
    }

    /// True if this recipe's model is the built-in one.
    #[must_use]
    pub fn is_in(&self, recipe: &Recipe) -> bool {
        recipe.files == self.files
    }

    /// Makes the recipe's model the built-in one, with the settings that suit it.
    pub fn apply(&self, recipe: &mut Recipe) {
        recipe.files = self.files.clone();
        self.manifest.defaults.apply(recipe);
    }
}

/// Folders in which the built-in model can be, in the order of the search.
fn folders(variable: Option<OsString>, program: Option<&Path>, source: &Path) -> Vec<PathBuf> {
    if let Some(folder) = variable.filter(|it| !it.is_empty()) {
        return vec![folder.into()];
    }
    let mut folders = Vec::new();
    if let Some(beside) = program.and_then(Path::parent) {
        folders.push(beside.join(FOLDER));
        if let Some(above) = beside.parent() {
            folders.push(above.join("share").join("atelier").join(FOLDER));
            folders.push(above.join("Resources").join(FOLDER));
        }
    }
    folders.push(source.join("assets").join(FOLDER));
    folders
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use atelier_core::recipe::FileRole;

    /// Puts a model with one file into a folder.
    fn put(folder: &Path, name: &str) {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("d.gguf"), "12345").unwrap();
        let text = format!(
            r#"{{"id":"m","name":"{name}","files":[{{"role":"diffusion","filename":"d.gguf","size":5}}],"defaults":{{"steps":4}}}}"#
        );
        fs::write(folder.join(MANIFEST), text).unwrap();
    }

    #[test]
    fn it_is_looked_for_beside_the_program_then_in_its_resources_then_in_the_source_tree() {
        let root = tempfile::tempdir().unwrap();
        let (program, source) = (root.path().join("usr/bin/atelier"), root.path().join("source"));
        let all = folders(None, Some(&program), &source);
        let places =
            ["usr/bin/builtin-model", "usr/share/atelier/builtin-model", "usr/Resources/builtin-model", "source/assets/builtin-model"];
        assert_eq!(all, places.map(|it| root.path().join(it)));
        for place in places.iter().rev() {
            put(&root.path().join(place), place);
            assert_eq!(Builtin::first_of(all.clone()).unwrap().manifest().name, *place, "an earlier place goes first");
        }
    }

    #[test]
    fn the_variable_overrides_every_place_and_an_empty_one_counts_as_none() {
        let program = Path::new("/usr/bin/atelier");
        assert_eq!(folders(Some("/elsewhere".into()), Some(program), Path::new("/s")), [PathBuf::from("/elsewhere")]);
        assert_eq!(folders(Some(OsString::new()), Some(program), Path::new("/s")).len(), 4);
        assert_eq!(folders(None, None, Path::new("/s")), [PathBuf::from("/s/assets/builtin-model")]);
    }

    #[test]
    fn what_is_missing_or_damaged_is_said_in_a_sentence_that_says_what_to_do() {
        let root = tempfile::tempdir().unwrap();
        let sentence = || Builtin::first_of(vec![root.path().to_owned()]).unwrap_err().to_string();
        assert!(sentence().contains("is missing") && sentence().contains("Reinstall Atelier"), "{}", sentence());
        put(root.path(), "x");
        fs::write(root.path().join("d.gguf"), "1234").unwrap();
        assert!(sentence().contains("d.gguf has 4 bytes and should have 5"), "{}", sentence());
        fs::remove_file(root.path().join("d.gguf")).unwrap();
        assert!(sentence().contains("d.gguf could not be read"), "{}", sentence());
        fs::write(root.path().join(MANIFEST), "{\n").unwrap();
        assert!(sentence().contains("line 2") && sentence().ends_with('.'), "{}", sentence());
    }

    #[test]
    fn a_recipe_takes_its_files_and_settings_and_is_known_by_them() {
        let root = tempfile::tempdir().unwrap();
        put(root.path(), "Small");
        let builtin = Builtin::open(root.path()).unwrap();
        let mut recipe = Recipe { prompt: "a lake".into(), ..Recipe::default() };
        assert!(!builtin.is_in(&recipe));
        builtin.apply(&mut recipe);
        assert!(builtin.is_in(&recipe));
        assert_eq!((recipe.steps, recipe.prompt.as_str()), (4, "a lake"));
        recipe.files.set(FileRole::Vae, "/v");
        assert!(!builtin.is_in(&recipe));
        assert!(builtin.verify().is_ok(), "nothing is promised about its contents");
    }
}
