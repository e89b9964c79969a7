//! Models that are kept in several files: `a-00001-of-00003.safetensors`, with an index beside
//! them, and split GGUF files.
//!
//! The engine finds the others by the name of one, by the same rule (`model_names.cpp`).

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// An index of the largest models has a few hundred kilobytes.
const MAX_INDEX_BYTES: u64 = 16 << 20;
const MAX_SHARDS: usize = 1000;
const DIGITS: usize = 5;
/// What an index has in its name, before its ending; between the two may be a precision: `.index.json`,
/// `.index.fp16.json`.
const INDEX: &str = ".index.";
const INDEX_ENDING: &str = "json";

/// The place of a file in its set: its number, and how many there are.
fn place(name: &str) -> Option<(usize, usize)> {
    let (stem, _) = name.rsplit_once('.')?;
    let (before, count) = stem.rsplit_once("-of-")?;
    let (_, index) = before.rsplit_once('-')?;
    let number = |text: &str| {
        let is_number = text.len() == DIGITS && text.bytes().all(|it| it.is_ascii_digit());
        is_number.then(|| text.parse::<usize>().ok()).flatten()
    };
    let (index, count) = (number(index)?, number(count)?);
    ((2..=MAX_SHARDS).contains(&count) && (1..=count).contains(&index)).then_some((index, count))
}

/// True for a file of a set that is not the first one: it is no model of its own.
pub(crate) fn is_later(path: &Path) -> bool {
    path.file_name().and_then(|name| place(&name.to_string_lossy())).is_some_and(|(index, _)| index > 1)
}

/// The files of the set that a file is of, in their order; empty where it is a model of its own.
pub(crate) fn all(path: &Path) -> Vec<PathBuf> {
    let Some(name) = path.file_name().map(|name| name.to_string_lossy().into_owned()) else { return Vec::new() };
    let Some((index, count)) = place(&name) else { return Vec::new() };
    let mark = |number: usize| format!("-{number:05}-of-{count:05}.");
    (1..=count).map(|number| path.with_file_name(name.replace(&mark(index), &mark(number)))).collect()
}

/// Bytes of a model, in all files of its set. `own`: those of this file, where a scan has measured
/// them. `None` where the file is not there.
pub(crate) fn whole_bytes(path: &Path, own: Option<u64>) -> Option<u64> {
    let size = |path: &Path| fs::metadata(path).ok().map(|file| file.len());
    let set = all(path);
    let whole = set.iter().try_fold(0, |sum: u64, path| Some(sum.saturating_add(size(path)?)));
    // Of a set that is not whole, the file is all that is known.
    whole.filter(|_| !set.is_empty()).or(own).or_else(|| size(path))
}

/// The file by which the engine opens a model: of an index, the first file that it names.
pub(crate) fn opened(path: &Path) -> PathBuf {
    let is_index = path.file_name().is_some_and(|name| is_index(&name.to_string_lossy()));
    let first = if is_index { first_of_index(path) } else { None };
    first.unwrap_or_else(|| path.to_owned())
}

fn is_index(name: &str) -> bool {
    let of_index = name.rsplit_once(INDEX).and_then(|(_, rest)| rest.strip_suffix(INDEX_ENDING));
    // Of the precision's name with its dot.
    of_index.is_some_and(|precision| precision.is_empty() || (precision.ends_with('.') && precision.matches('.').count() == 1))
}

fn first_of_index(path: &Path) -> Option<PathBuf> {
    let mut text = Vec::new();
    File::open(path).ok()?.take(MAX_INDEX_BYTES).read_to_end(&mut text).ok()?;
    let index: serde_json::Value = serde_json::from_slice(&text).ok()?;
    let names = index.get("weight_map")?.as_object()?.values().filter_map(serde_json::Value::as_str);
    // A name alone: an index names no files elsewhere.
    let first = names.filter(|name| place(name).is_some() && !name.contains(['/', '\\'])).min()?;
    Some(path.with_file_name(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_told_by_the_name_of_any_of_its_files() {
        let all_of = |name: &str| all(Path::new(name)).iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
        let set = ["/m/a-00001-of-00003.safetensors", "/m/a-00002-of-00003.safetensors", "/m/a-00003-of-00003.safetensors"];
        assert_eq!(all_of(set[0]), set);
        assert_eq!(all_of(set[2]), set);
        assert_eq!(all_of("b-00002-of-00002.gguf"), ["b-00001-of-00002.gguf", "b-00002-of-00002.gguf"]);
        for name in
            ["a.safetensors", "a-00001-of-00001.gguf", "a-1-of-3.gguf", "a-00004-of-00003.gguf", "a-00001-of-99999.gguf", "-of-.gguf"]
        {
            assert_eq!(all_of(name), [""; 0], "{name}");
        }
        assert!(is_later(Path::new(set[1])) && !is_later(Path::new(set[0])) && !is_later(Path::new("a.gguf")));
    }

    #[test]
    fn an_index_is_opened_by_its_first_file_and_names_none_elsewhere() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.safetensors.index.json");
        let opened_with = |text: &str| {
            fs::write(&path, text).unwrap();
            opened(&path)
        };
        let map = r#"{"weight_map":{"x":"a-00002-of-00002.safetensors","y":"a-00001-of-00002.safetensors"}}"#;
        assert_eq!(opened_with(map), dir.path().join("a-00001-of-00002.safetensors"));
        let of_halves = dir.path().join("a.safetensors.index.fp16.json");
        fs::write(&of_halves, map.replace("a-0", "a.fp16-0")).unwrap();
        assert_eq!(opened(&of_halves), dir.path().join("a.fp16-00001-of-00002.safetensors"));
        assert!(!is_index("a.index.json.txt") && !is_index("index.json") && !is_index("a.index.b.c.json"));
        for text in [r#"{"weight_map":{"x":"../a-00001-of-00002.safetensors"}}"#, r#"{"weight_map":{"x":1}}"#, "{", "[]"] {
            assert_eq!(opened_with(text), path, "{text}");
        }
    }
}
