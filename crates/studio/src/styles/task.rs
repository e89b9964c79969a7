//! What a person can have done with styles, for a worker's thread.

use std::path::{Path, PathBuf};

use atelier_core::recipe::ImageSource;
use atelier_language::tr;

use super::import::{StyleImport, TakenNames};
use super::store::{delete_style, save_style};
use super::style::Style;

/// Something that is done with styles.
#[derive(Debug)]
pub enum StyleTask {
    /// Nothing: they are only read.
    Read,
    /// Write this one, with a small look of the picture where there is one.
    Save(Box<Style>, Option<ImageSource>),
    /// Move the one of this name to the trash.
    Delete(String),
    /// Read A1111's list of styles and write them, unless something has to be asked first.
    Import(PathBuf),
    /// Write the styles of a list after a question; this is what becomes of those whose names are
    /// taken.
    Write(Box<StyleImport>, TakenNames),
}

/// What came of a task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StyleOutcome {
    /// A sentence about it.
    pub words: Option<String>,
    /// The styles that wait for an answer; nothing of them was written.
    pub question: Option<StyleImport>,
}

impl From<String> for StyleOutcome {
    fn from(words: String) -> Self {
        Self { words: Some(words), question: None }
    }
}

impl StyleTask {
    /// Carries it out in this folder and says what came of it. `trash` moves a file to the system's
    /// trash. Blocks.
    pub fn run(self, folder: &Path, trash: fn(&Path) -> Result<(), String>) -> StyleOutcome {
        match self {
            Self::Read => StyleOutcome::default(),
            Self::Save(style, picture) => {
                // Without its picture it is a style all the same.
                let picture = picture.and_then(|picture| atelier_media::read_image(&picture).ok());
                let saved = save_style(folder, &style, picture.as_ref());
                saved.map_or_else(|error| error.to_string(), |()| tr!("studio-is-saved-as-a", name = style.name)).into()
            }
            Self::Delete(name) => {
                let deleted = delete_style(folder, &name, trash);
                deleted.map_or_else(|error| error.to_string(), |()| tr!("studio-the-style-is-in", name)).into()
            }
            Self::Import(path) => match StyleImport::read(folder, &path) {
                Err(error) => tr!("studio-could-not-be-read", path = path.display(), error).into(),
                Ok(import) if import.is_question() => StyleOutcome { words: None, question: Some(import) },
                Ok(import) => import.write(folder, TakenNames::KeepBoth, trash).into(),
            },
            Self::Write(import, taken) => import.write(folder, taken, trash).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::styles::read_styles;

    #[test]
    fn a_list_is_imported_and_a_style_goes_to_the_trash() {
        let folder = tempfile::tempdir().unwrap();
        let (list, styles) = (folder.path().join("styles.csv"), folder.path().join("styles"));
        fs::write(&list, "name,prompt,negative_prompt\nInk,ink of {prompt},\nOil,oil,photo\n").unwrap();
        let trash = |path: &Path| fs::remove_file(path).map_err(|error| error.to_string());
        assert_eq!(StyleTask::Import(list.clone()).run(&styles, trash).words.as_deref(), Some("2 styles were added."));
        let words = StyleTask::Delete("Ink".into()).run(&styles, trash).words;
        assert_eq!(words.as_deref(), Some("The style Ink is in your system's trash."));
        assert_eq!(read_styles(&styles).styles.len(), 1);
        fs::write(&list, "a,b").unwrap();
        assert!(StyleTask::Import(list).run(&styles, trash).words.unwrap().contains("could not be read"));
        let refused = StyleTask::Delete("Oil".into()).run(&styles, |_| Err("there is no trash".into())).words.unwrap();
        assert!(refused.contains("there is no trash") && read_styles(&styles).styles.len() == 1);
    }
}
