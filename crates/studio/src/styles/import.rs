//! Import of A1111's list of styles: a style that is there is never replaced without a question,
//! and then goes to the trash. Blocks.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use atelier_core::sentences::list;
use atelier_language::tr;

use super::list::read_style_list;
use super::store::{StyleError, delete_style, read_styles, save_style};
use super::style::Style;

/// What becomes of styles whose names are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakenNames {
    /// They replace the person's own, which go to the trash.
    Replace,
    /// They get other names.
    KeepBoth,
    /// They are left out.
    Skip,
}

/// The styles of a list that are to be written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StyleImport {
    /// The styles, in the order of the list.
    styles: Vec<Style>,
    /// Names among them that the person's own styles have, with other words.
    taken: BTreeSet<String>,
    /// Styles of the list that are there already.
    unchanged: usize,
}

impl StyleImport {
    /// Reads a list, and what of it is in this folder already.
    ///
    /// # Errors
    /// If the list cannot be read.
    pub(super) fn read(folder: &Path, path: &Path) -> io::Result<Self> {
        let own = read_styles(folder).styles;
        let names = names_of(&own);
        let mut import = Self::default();
        for style in read_style_list(path)? {
            let is_own = own.iter().any(|(other, _)| is_same(other, &style));
            if is_own || import.styles.iter().any(|other| is_same(other, &style)) {
                import.unchanged += usize::from(is_own);
                continue;
            }
            if names.contains(&style.name) {
                import.taken.insert(style.name.clone());
            }
            import.styles.push(style);
        }
        Ok(import)
    }

    /// The names that are taken, for a question; none where nothing has to be asked.
    pub fn taken(&self) -> impl Iterator<Item = &str> {
        self.taken.iter().map(String::as_str)
    }

    /// True where the person has to be asked before anything is written.
    pub(super) fn is_question(&self) -> bool {
        !self.taken.is_empty()
    }

    /// Writes the styles, and says what was done. `trash` moves a file to the system's trash.
    pub(super) fn write(self, folder: &Path, taken: TakenNames, trash: fn(&Path) -> Result<(), String>) -> String {
        let mut counts = Counts { unchanged: self.unchanged, ..Counts::default() };
        match self.write_all(folder, taken, trash, &mut counts) {
            Ok(()) => counts.words(),
            Err(error) => format!("{} {error}", counts.words()),
        }
    }

    fn write_all(
        mut self,
        folder: &Path,
        taken: TakenNames,
        trash: fn(&Path) -> Result<(), String>,
        counts: &mut Counts,
    ) -> Result<(), StyleError> {
        // Others may have come while the person thought.
        let mut names = names_of(&read_styles(folder).styles);
        for mut style in self.styles {
            if taken == TakenNames::Skip && self.taken.contains(&style.name) {
                counts.skipped += 1;
                continue;
            }
            // A second style of this name in the list does not replace the first.
            let replaces = taken == TakenNames::Replace && self.taken.remove(&style.name) && names.contains(&style.name);
            if replaces {
                delete_style(folder, &style.name, trash)?;
            } else if names.contains(&style.name) {
                style.name = free_name(&style.name, &names);
            }
            save_style(folder, &style, None)?;
            names.insert(style.name);
            if replaces {
                counts.replaced += 1;
            } else {
                counts.added += 1;
            }
        }
        Ok(())
    }
}

/// What became of the styles of a list.
#[derive(Default)]
struct Counts {
    added: usize,
    replaced: usize,
    skipped: usize,
    unchanged: usize,
}

impl Counts {
    fn words(&self) -> String {
        let part = |count: usize, what: &str| match count {
            0 => None,
            1 => Some(tr!("studio-1-style-was", what)),
            count => Some(tr!("studio-styles-were", count, what)),
        };
        let parts = [
            part(self.added, "added"),
            part(self.replaced, "replaced"),
            part(self.skipped, "skipped"),
            part(self.unchanged, tr!("studio-there-already")),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if parts.is_empty() {
            return tr!("studio-no-style-was-added").to_owned();
        }
        let trash = if self.replaced > 0 { tr!("studio-replaced-styles-are-in") } else { "" };
        format!("{}.{trash}", list(&parts))
    }
}

fn is_same(one: &Style, other: &Style) -> bool {
    one.name.trim() == other.name && one.settings == other.settings
}

fn names_of<T>(styles: &[(Style, T)]) -> BTreeSet<String> {
    styles.iter().map(|(style, _)| style.name.trim().to_owned()).collect()
}

/// The name with the first number that is free.
fn free_name(name: &str, names: &BTreeSet<String>) -> String {
    // One more than there are names.
    let mut numbered = (2..names.len() + 3).map(|n| format!("{name} ({n})"));
    numbered.find(|it| !names.contains(it)).unwrap_or_else(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use atelier_core::recipe::{PartialRecipe, Rgb8};

    use super::*;
    use crate::styles::StyleTask;

    /// A folder with the person's "Ink", which has a picture, and "Oil"; and a list with another
    /// "Ink", the same "Oil", and new ones.
    struct World {
        home: tempfile::TempDir,
    }

    impl World {
        fn new() -> Self {
            let world = Self { home: tempfile::tempdir().unwrap() };
            let style = |name: &str, prompt: &str| Style {
                name: name.into(),
                settings: PartialRecipe { prompt: Some(prompt.into()), ..PartialRecipe::default() },
            };
            let look = Rgb8::new(8, 8, vec![7; 192]).unwrap();
            save_style(&world.folder(), &style("Ink", "my ink"), Some(&look)).unwrap();
            save_style(&world.folder(), &style("Oil", "oil"), None).unwrap();
            let list = "name,prompt\nInk,other ink\nOil,oil\nFog,fog\nFog,thick fog\nFog,fog\n";
            fs::write(world.list(), list).unwrap();
            world
        }

        fn folder(&self) -> std::path::PathBuf {
            self.home.path().join("styles")
        }

        fn list(&self) -> std::path::PathBuf {
            self.home.path().join("styles.csv")
        }

        /// Name and prompt of each style, and whether it has a picture.
        fn styles(&self) -> Vec<(String, String, bool)> {
            let read = read_styles(&self.folder());
            assert_eq!(read.problems, [""; 0]);
            read.styles.into_iter().map(|(it, picture)| (it.name, it.settings.prompt.unwrap_or_default(), picture.is_some())).collect()
        }

        fn import(&self) -> StyleImport {
            let outcome = StyleTask::Import(self.list()).run(&self.folder(), no_trash);
            assert_eq!(outcome.words, None);
            outcome.question.unwrap()
        }

        fn answer(&self, taken: TakenNames, trash: fn(&Path) -> Result<(), String>) -> String {
            StyleTask::Write(Box::new(self.import()), taken).run(&self.folder(), trash).words.unwrap()
        }
    }

    fn no_trash(path: &Path) -> Result<(), String> {
        panic!("{} was removed", path.display())
    }

    /// A trash beside the folder.
    fn trash(path: &Path) -> Result<(), String> {
        let name = path.file_name().unwrap().to_str().unwrap();
        fs::rename(path, path.parent().unwrap().parent().unwrap().join(format!("trashed {name}"))).map_err(|error| error.to_string())
    }

    fn row(name: &str, prompt: &str, has_picture: bool) -> (String, String, bool) {
        (name.to_owned(), prompt.to_owned(), has_picture)
    }

    #[test]
    fn nothing_is_written_before_the_question_about_a_taken_name_is_answered() {
        let world = World::new();
        let before = world.styles();
        let import = world.import();
        assert_eq!((import.taken().collect::<Vec<_>>(), import.unchanged), (vec!["Ink"], 1));
        assert_eq!(world.styles(), before);
    }

    #[test]
    fn a_taken_name_is_skipped_kept_beside_or_replaced_by_way_of_the_trash() {
        let fogs = [row("Fog", "fog", false), row("Fog (2)", "thick fog", false)];
        for (taken, ink, words) in [
            (TakenNames::Skip, vec![row("Ink", "my ink", true)], "2 styles were added, 1 style was skipped and 1 style was there already."),
            (
                TakenNames::KeepBoth,
                vec![row("Ink", "my ink", true), row("Ink (2)", "other ink", false)],
                "3 styles were added and 1 style was there already.",
            ),
            (
                TakenNames::Replace,
                vec![row("Ink", "other ink", false)],
                "2 styles were added, 1 style was replaced and 1 style was there already. Replaced styles are in your system's trash.",
            ),
        ] {
            let world = World::new();
            let trash = if taken == TakenNames::Replace { trash } else { no_trash };
            assert_eq!(world.answer(taken, trash), words);
            let expected: Vec<_> = fogs.iter().cloned().chain(ink).chain([row("Oil", "oil", false)]).collect();
            assert_eq!(world.styles(), expected);
            let is_trashed = |name: &str| world.home.path().join(name).is_file();
            assert_eq!([is_trashed("trashed Ink.json"), is_trashed("trashed Ink.png")], [taken == TakenNames::Replace; 2]);
        }
    }

    #[test]
    fn styles_of_one_name_in_a_list_do_not_replace_each_other() {
        let world = World::new();
        fs::write(world.list(), "name,prompt\nInk,one\nInk,two\n").unwrap();
        assert!(world.answer(TakenNames::Replace, trash).starts_with("1 style was added and 1 style was replaced."));
        assert_eq!(world.styles(), [row("Ink", "one", false), row("Ink (2)", "two", false), row("Oil", "oil", false)]);
    }

    #[test]
    fn where_there_is_no_trash_the_old_style_stays_and_the_reason_is_told() {
        let world = World::new();
        let words = world.answer(TakenNames::Replace, |_| Err("there is no trash".into()));
        assert!(words.contains("there is no trash"), "{words}");
        assert!(world.styles().contains(&row("Ink", "my ink", true)));
    }

    #[test]
    fn a_style_that_came_while_the_person_thought_is_not_replaced() {
        let world = World::new();
        let import = world.import();
        let settings = PartialRecipe { prompt: Some("my fog".into()), ..PartialRecipe::default() };
        save_style(&world.folder(), &Style { name: "Fog".into(), settings }, None).unwrap();
        StyleTask::Write(Box::new(import), TakenNames::Replace).run(&world.folder(), trash);
        let styles = world.styles();
        assert!(styles.contains(&row("Fog", "my fog", false)) && styles.contains(&row("Fog (2)", "fog", false)), "{styles:?}");
    }

    #[test]
    fn the_same_list_again_asks_nothing_and_changes_nothing() {
        let world = World::new();
        world.answer(TakenNames::Replace, trash);
        let before = world.styles();
        fs::write(world.list(), "name,prompt\nInk,other ink\nOil,oil\nFog,fog\n").unwrap();
        let outcome = StyleTask::Import(world.list()).run(&world.folder(), no_trash);
        assert_eq!((outcome.words.as_deref(), outcome.question), (Some("3 styles were there already."), None));
        assert_eq!(world.styles(), before);
    }
}
