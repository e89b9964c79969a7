//! Text files beside a picture, of the same name.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::exif::plain;
use super::fields::{is_graph, object, shown};
use super::texts::Texts;
use crate::png::PARAMETERS;
use crate::png_text::MAX_TEXT;

const ENDINGS: [&str; 3] = ["txt", "json", "swarm.json"];

/// The text file beside the picture by name and text, and what a picture with the same settings
/// would hold by key.
pub(super) fn read(picture: &Path) -> Option<((String, String), Texts)> {
    ENDINGS.iter().find_map(|ending| {
        let path = picture.with_extension(ending);
        let text = text(&path)?;
        let texts = texts(&text);
        Some(((path.file_name()?.to_string_lossy().into_owned(), text), texts))
    })
}

/// A text file; `None` where there is none, or it is too long.
fn text(path: &Path) -> Option<String> {
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(MAX_TEXT + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= MAX_TEXT).then(|| plain(&bytes).trim_start_matches('\u{feff}').to_owned())
}

fn texts(text: &str) -> Texts {
    let mut texts = Texts::default();
    let Some(map) = object(text) else {
        texts.push(PARAMETERS, text);
        // Easy Diffusion has one field a line.
        for (key, value) in text.lines().filter_map(|line| line.split_once(':')) {
            if texts.is_full() {
                break;
            }
            texts.push(key.trim(), value.trim());
        }
        return texts;
    };
    if map.contains_key("nodes") {
        texts.push("workflow", text);
    } else if is_graph(&map) {
        texts.push("prompt", text);
    } else if map.contains_key("sui_image_params") {
        texts.push(PARAMETERS, text);
    } else {
        for (key, value) in &map {
            texts.push(key.as_str(), shown(value));
        }
    }
    texts
}
