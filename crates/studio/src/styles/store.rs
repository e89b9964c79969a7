//! The folder of styles: one JSON file each, and beside it a picture where it has one. Blocks.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use atelier_core::owner_only;
use atelier_core::paths;
use atelier_core::recipe::Rgb8;
use atelier_language::tr;
use atelier_media::Metadata;

use super::style::Style;

/// Styles that are read, and bytes of each.
const MAX_STYLES: usize = 1000;
const MAX_BYTES: u64 = 1 << 20;
/// Bytes of all styles together.
const MAX_ALL_BYTES: u64 = 64 << 20;
/// Characters of a name, and of the file name made of it.
const MAX_CHARACTERS: usize = 80;
/// Longest side of a style's picture, in pixels.
const PICTURE_PX: u32 = 192;

/// The styles of a person.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Styles {
    /// The styles by name, each with its picture's file where it has one.
    pub styles: Vec<(Style, Option<PathBuf>)>,
    /// Files that could not be read, in sentences.
    pub problems: Vec<String>,
}

/// A style could not be written or deleted. Its text is a sentence with the next step.
#[derive(Debug, thiserror::Error)]
pub enum StyleError {
    /// It has no name.
    #[error("{}", tr!("studio-the-style-has-no"))]
    NoName,
    /// The disk refused.
    #[error("{}", tr!("studio-could-not-be-written", path = path.display(), source))]
    Write { path: PathBuf, source: io::Error },
}

/// Reads the styles of a folder; there are none where it is not there.
#[must_use]
pub fn read_styles(folder: &Path) -> Styles {
    let mut read = Styles::default();
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|it| it == "json")).collect();
    files.sort();
    if files.len() > MAX_STYLES {
        read.problems.push(tr!("studio-has-more-than-styles", folder = folder.display(), max_styles = MAX_STYLES));
    }
    let mut bytes = 0;
    for path in files.into_iter().take(MAX_STYLES) {
        bytes += fs::metadata(&path).map_or(0, |it| it.len());
        if bytes > MAX_ALL_BYTES {
            read.problems.push(tr!("studio-the-styles-in-are", folder = folder.display(), path = path.display()));
            break;
        }
        match read_style(&path) {
            Ok(style) => {
                let picture = path.with_extension("png");
                read.styles.push((style, picture.is_file().then_some(picture)));
            }
            Err(error) => read.problems.push(tr!("studio-the-style-could-not", path = path.display(), error)),
        }
    }
    read.styles.sort_by_key(|(style, _)| style.name.to_lowercase());
    read
}

fn read_style(path: &Path) -> io::Result<Style> {
    let mut text = String::new();
    fs::File::open(path)?.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, tr!("studio-it-is-too-long")));
    }
    let mut style: Style = serde_json::from_str(&text)?;
    if style.name.trim().is_empty() {
        style.name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    }
    Ok(style)
}

/// Writes a style, replacing the one of this name, with a small look where there is a picture.
///
/// # Errors
/// If it has no name, or cannot be written.
pub fn save_style(folder: &Path, style: &Style, picture: Option<&Rgb8>) -> Result<(), StyleError> {
    let path = file_of(folder, &style.name)?;
    let failed = |source: io::Error| StyleError::Write { path: path.clone(), source };
    let text = serde_json::to_vec_pretty(style).map_err(|error| failed(error.into()))?;
    // A style holds prompts.
    owner_only::ensure_folder(folder).and_then(|()| paths::write_private(&path, &text)).map_err(failed)?;
    let look = path.with_extension("png");
    match picture {
        Some(picture) => atelier_media::write_picture(&look, &atelier_media::thumbnail(picture, PICTURE_PX), &Metadata::default())
            .map_err(|error| failed(io::Error::other(error))),
        None => paths::remove_if_there(&look).map_err(failed),
    }
}

/// Moves the style of this name with its picture to the system's trash, which is `trash`; succeeds
/// where there is none.
///
/// # Errors
/// If the system refuses.
pub fn delete_style(folder: &Path, name: &str, trash: fn(&Path) -> Result<(), String>) -> Result<(), StyleError> {
    let path = file_of(folder, name)?;
    for path in [path.with_extension("png"), path] {
        if path.is_file() {
            trash(&path).map_err(|reason| StyleError::Write { source: io::Error::other(reason), path })?;
        }
    }
    Ok(())
}

/// The file of the style of this name: the one that is there, else a free one that is named after
/// it.
fn file_of(folder: &Path, name: &str) -> Result<PathBuf, StyleError> {
    let name = name.trim();
    if name.is_empty() {
        return Err(StyleError::NoName);
    }
    let safe = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_') { c } else { ' ' };
    let words: String = name.chars().take(MAX_CHARACTERS).map(safe).collect();
    let stem = Some(words.split_whitespace().collect::<Vec<_>>().join(" ")).filter(|it| !it.is_empty()).unwrap_or_else(|| "style".into());
    let names = (1..=MAX_STYLES).map(|n| if n == 1 { format!("{stem}.json") } else { format!("{stem} {n}.json") });
    let is_its = |path: &PathBuf| !path.exists() || read_style(path).is_ok_and(|style| style.name.trim() == name);
    let found = names.map(|name| folder.join(name)).find(is_its);
    found.ok_or_else(|| StyleError::Write { path: folder.to_owned(), source: io::Error::other(tr!("studio-there-are-too-many")) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::recipe::PartialRecipe;

    fn style(name: &str, steps: u32) -> Style {
        Style { name: name.into(), settings: PartialRecipe { steps: Some(steps), ..PartialRecipe::default() } }
    }

    #[test]
    fn styles_are_kept_by_name_replaced_and_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("styles");
        assert_eq!(read_styles(&folder), Styles::default());
        let picture = Rgb8::new(400, 200, vec![7; 400 * 200 * 3]).unwrap();
        save_style(&folder, &style("Ink / wash", 4), Some(&picture)).unwrap();
        save_style(&folder, &style("Ink: wash", 5), None).unwrap();
        save_style(&folder, &style("aquarelle", 6), None).unwrap();
        save_style(&folder, &style("Ink: wash", 7), None).unwrap();
        let read = read_styles(&folder);
        let names: Vec<_> = read.styles.iter().map(|(it, picture)| (it.name.as_str(), it.settings.steps, picture.is_some())).collect();
        assert_eq!(names, [("aquarelle", Some(6), false), ("Ink / wash", Some(4), true), ("Ink: wash", Some(7), false)]);
        let trash = |path: &Path| fs::remove_file(path).map_err(|error| error.to_string());
        delete_style(&folder, "Ink / wash", trash).unwrap();
        delete_style(&folder, "never was", trash).unwrap();
        assert_eq!((read_styles(&folder).styles.len(), fs::read_dir(&folder).unwrap().count()), (2, 2));
        assert!(matches!(save_style(&folder, &style(" ", 1), None), Err(StyleError::NoName)));
    }

    #[cfg(unix)]
    #[test]
    fn styles_are_their_owners_alone() {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("styles");
        // As an earlier version made it.
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        save_style(&folder, &style("Ink", 4), None).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&folder.join("Ink.json"))), (0o700, 0o600));
    }

    #[test]
    fn a_damaged_file_costs_only_itself() {
        let folder = tempfile::tempdir().unwrap();
        save_style(folder.path(), &style("Ink", 4), None).unwrap();
        fs::write(folder.path().join("bad.json"), "{").unwrap();
        fs::write(folder.path().join("long.json"), vec![b' '; MAX_BYTES as usize + 1]).unwrap();
        fs::write(folder.path().join("unnamed.json"), "{}").unwrap();
        let read = read_styles(folder.path());
        assert_eq!(read.styles.iter().map(|(it, _)| it.name.as_str()).collect::<Vec<_>>(), ["Ink", "unnamed"]);
        assert_eq!(read.problems.len(), 2);
        assert!(read.problems[0].contains("bad.json"), "{:?}", read.problems);
        assert!(save_style(folder.path(), &style("bad", 1), None).is_ok(), "the damaged one stays where it is");
        assert_eq!(fs::read_to_string(folder.path().join("bad.json")).unwrap(), "{");
    }
}
