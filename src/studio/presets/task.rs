//! What a person can have done with presets, for a worker's thread.

use std::path::{Path, PathBuf};

use atelier_core::recipe::ImageSource;

use super::preset::Preset;
use super::store::{delete_preset, save_preset};
use super::styles::read_styles;

/// Something that is done with presets.
#[derive(Debug)]
pub enum PresetTask {
    /// Nothing: they are only read.
    Read,
    /// Write this one, with a small look of the picture where there is one.
    Save(Box<Preset>, Option<ImageSource>),
    /// Move the one of this name to the trash.
    Delete(String),
    /// Write those of A1111's list of styles.
    Import(PathBuf),
}

impl PresetTask {
    /// Carries it out in this folder and says what came of it. `trash` moves a file to the system's trash. Blocks.
    #[must_use]
    pub fn run(self, folder: &Path, trash: fn(&Path) -> Result<(), String>) -> Option<String> {
        match self {
            Self::Read => None,
            Self::Save(preset, picture) => {
                // Without its picture it is a preset all the same.
                let picture = picture.and_then(|picture| atelier_media::read_image(&picture).ok());
                let saved = save_preset(folder, &preset, picture.as_ref());
                Some(saved.map_or_else(|error| error.to_string(), |()| format!("{} is saved as a style.", preset.name)))
            }
            Self::Delete(name) => {
                let deleted = delete_preset(folder, &name, trash);
                Some(deleted.map_or_else(|error| error.to_string(), |()| format!("The style {name} is in your system's trash.")))
            }
            Self::Import(path) => Some(import(folder, &path).map_or_else(
                |words| words,
                |count| if count == 1 { "1 style was added.".to_owned() } else { format!("{count} styles were added.") },
            )),
        }
    }
}

/// Writes the styles of a list; their number, or a sentence.
fn import(folder: &Path, path: &Path) -> Result<usize, String> {
    let styles = read_styles(path).map_err(|error| format!("{} could not be read: {error}.", path.display()))?;
    styles.iter().try_for_each(|style| save_preset(folder, style, None)).map_err(|error| error.to_string())?;
    Ok(styles.len())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::studio::presets::read_presets;

    #[test]
    fn a_list_is_imported_and_a_style_goes_to_the_trash() {
        let folder = tempfile::tempdir().unwrap();
        let (list, styles) = (folder.path().join("styles.csv"), folder.path().join("styles"));
        fs::write(&list, "name,prompt,negative_prompt\nInk,ink of {prompt},\nOil,oil,photo\n").unwrap();
        let trash = |path: &Path| fs::remove_file(path).map_err(|error| error.to_string());
        assert_eq!(PresetTask::Import(list.clone()).run(&styles, trash).as_deref(), Some("2 styles were added."));
        let words = PresetTask::Delete("Ink".into()).run(&styles, trash);
        assert_eq!(words.as_deref(), Some("The style Ink is in your system's trash."));
        assert_eq!(read_presets(&styles).presets.len(), 1);
        fs::write(&list, "a,b").unwrap();
        assert!(PresetTask::Import(list).run(&styles, trash).unwrap().contains("could not be read"));
        let refused = PresetTask::Delete("Oil".into()).run(&styles, |_| Err("there is no trash".into())).unwrap();
        assert!(refused.contains("there is no trash") && read_presets(&styles).presets.len() == 1);
    }
}
