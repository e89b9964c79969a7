//! Lists of words that prompts name as `__name__`: text files, a line each, and YAML files, in which
//! keys are folders. Those of other programs are read where they lie.
//!
//! What a folder holds is a stranger's: files, bytes and lines are bounded, links are not followed,
//! and what cannot be read is passed over with a sentence.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::yaml::{indented_lines, split_key, unquoted};
use atelier_core::words::Wildcards;
use atelier_language::tr;

/// Folder of lists in Atelier's own data.
pub const WILDCARDS_FOLDER: &str = "wildcards";

/// Where other programs have lists, below their own folder: Fooocus and others, the extension Dynamic
/// Prompts of A1111 and Forge, Impact Pack of `ComfyUI`, SD.Next, and `SwarmUI`.
const OF_OTHERS: [&str; 5] = [
    "wildcards",
    "extensions/sd-dynamic-prompts/wildcards",
    "custom_nodes/ComfyUI-Impact-Pack/wildcards",
    "models/wildcards",
    "Data/Wildcards",
];

const MAX_FILES: usize = 5_000;
const MAX_FOLDERS_DEEP: usize = 8;
const MAX_FILE_BYTES: u64 = 8 << 20;
const MAX_LINES: usize = 500_000;

/// Lists of words, by the name in a prompt: the path below their folder without the extension, or
/// the keys of a YAML file, with `/` between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WildcardLists {
    lists: BTreeMap<String, Vec<String>>,
    lines: usize,
}

impl WildcardLists {
    /// Reads the lists of folders; of one name in two folders, the earlier folder's list. Within a
    /// folder, lists of one name are one.
    /// Returns a sentence for each thing that could not be read.
    #[must_use]
    pub fn read(folders: &[PathBuf]) -> (Self, Vec<String>) {
        let (mut lists, mut notes) = (Self::default(), Vec::new());
        for folder in folders {
            lists.read_folder(folder, &mut notes);
        }
        (lists, notes)
    }

    /// Reads the lists of a person's own folder, where it is there, then those that other programs
    /// have beside these folders of models, as [`Self::read`] does.
    #[must_use]
    pub fn read_beside(own: Option<&Path>, models: &[PathBuf]) -> (Self, Vec<String>) {
        let folders: Vec<PathBuf> = Self::folders_beside(own, models).into_iter().filter(|folder| folder.is_dir()).collect();
        Self::read(&folders)
    }

    /// The folders that [`Self::read_beside`] reads, those among them that are not there.
    #[must_use]
    pub fn folders_beside(own: Option<&Path>, models: &[PathBuf]) -> Vec<PathBuf> {
        own.map(Path::to_owned).into_iter().chain(models.iter().flat_map(|folder| folders_of_others(folder))).collect()
    }

    /// The names of all lists.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.lists.keys().map(String::as_str)
    }

    fn read_folder(&mut self, root: &Path, notes: &mut Vec<String>) {
        let earlier: BTreeSet<String> = self.lists.keys().cloned().collect();
        let mut waiting = vec![(root.to_owned(), String::new(), 0)];
        let mut files = Vec::new();
        while let Some((folder, prefix, depth)) = waiting.pop() {
            let entries = match fs::read_dir(&folder) {
                Ok(entries) => entries,
                Err(error) => {
                    notes.push(format!("{}: {error}", folder.display()));
                    continue;
                }
            };
            for entry in entries.flatten() {
                // Of the entry itself: a link may lead out of the folder.
                let Ok(kind) = entry.file_type() else { continue };
                let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
                if kind.is_dir() && depth < MAX_FOLDERS_DEEP && !name.starts_with('.') {
                    waiting.push((entry.path(), format!("{prefix}{name}/"), depth + 1));
                } else if kind.is_file() && files.len() < MAX_FILES {
                    files.push((prefix.clone(), name, entry.path()));
                }
            }
        }
        files.sort();
        for (prefix, name, path) in files {
            let Some((stem, extension)) = name.rsplit_once('.') else { continue };
            let is_yaml = match extension.to_ascii_lowercase().as_str() {
                "txt" => false,
                "yaml" | "yml" => true,
                _ => continue,
            };
            match read_text(&path) {
                Ok(text) if is_yaml => {
                    for (keys, line) in yaml_lines(&text).into_iter().filter(|(keys, _)| !earlier.contains(keys)) {
                        self.add(&keys, line);
                    }
                }
                Ok(text) => {
                    let name = format!("{prefix}{stem}");
                    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
                    if !earlier.contains(&name) {
                        lines.for_each(|line| self.add(&name, line.to_owned()));
                    }
                }
                Err(sentence) => notes.push(format!("{}: {sentence}", path.display())),
            }
            if self.lines >= MAX_LINES {
                notes.push(tr!("library-the-first-lines-of", max_lines = MAX_LINES));
                return;
            }
        }
    }

    fn add(&mut self, name: &str, line: String) {
        if self.lines < MAX_LINES {
            self.lines += 1;
            self.lists.entry(name.to_owned()).or_default().push(line);
        }
    }
}

impl Wildcards for WildcardLists {
    fn lines(&self, name: &str) -> Vec<&str> {
        if !name.contains('*') {
            return self.lists.get(name).into_iter().flatten().map(String::as_str).collect();
        }
        self.lists.iter().filter(|(it, _)| is_list_named(name, it)).flat_map(|(_, lines)| lines).map(String::as_str).collect()
    }
}

/// Folders where the program whose models a folder holds may have lists: the folder is the program's
/// own, or the one named `models` in it.
fn folders_of_others(models: &Path) -> BTreeSet<PathBuf> {
    let is_part = models.file_name().is_some_and(|name| name.eq_ignore_ascii_case("models"));
    let roots = [Some(models), models.parent().filter(|_| is_part)].into_iter().flatten();
    roots.flat_map(|root| OF_OTHERS.map(|place| root.join(place))).collect()
}

/// True where a prompt names a list by this pattern, in which `*` stands for anything.
#[must_use]
pub fn is_list_named(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = rest.get(at + part.len()..).unwrap_or_default();
    }
    rest.ends_with(last)
}

fn read_text(path: &Path) -> Result<String, String> {
    let file = fs::File::open(path).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(tr!("library-is-too-large-for").to_owned());
    }
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned())
}

/// Lines of lists in YAML, each with its keys: `key:` with `- line` below it, deeper keys, and
/// `key: [line, line]`. The rest of YAML is passed over.
fn yaml_lines(text: &str) -> Vec<(String, String)> {
    let mut keys: Vec<(usize, String)> = Vec::new();
    let mut lines = Vec::new();
    for (indent, content) in indented_lines(text, MAX_LINES) {
        let is_item = content == "-" || content.starts_with("- ");
        // An item may stand below its key, or as far left as that.
        while keys.last().is_some_and(|(at, _)| *at > indent || (*at == indent && !is_item)) {
            keys.pop();
        }
        let path = || keys.iter().map(|(_, key)| key.as_str()).collect::<Vec<_>>().join("/");
        if is_item {
            let item = unquoted(content.trim_start_matches('-'));
            if !item.is_empty() && !keys.is_empty() {
                lines.push((path(), item.to_owned()));
            }
            continue;
        }
        let Some((key, value)) = split_key(content) else { continue };
        if keys.len() >= MAX_FOLDERS_DEEP {
            continue;
        }
        keys.push((indent, key.to_owned()));
        let path = keys.iter().map(|(_, key)| key.as_str()).collect::<Vec<_>>().join("/");
        let inline = value.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
        let items = inline.into_iter().flat_map(|it| it.split(','));
        let one = Some(value).filter(|it| inline.is_none() && !it.is_empty() && !it.starts_with(['|', '>', '&', '*', '{']));
        lines.extend(items.chain(one).map(unquoted).filter(|it| !it.is_empty()).map(|it| (path.clone(), it.to_owned())));
    }
    lines
}

#[cfg(test)]
mod tests;
