//! Reads ComfyUI's `extra_model_paths.yaml`: sections of `key: value`, where a value is a path or,
//! after `|`, several on lines of their own.
//!
//! This is the part of YAML that the file is written in, by its own example. The rest (anchors,
//! tags, lists in brackets) is passed over: a full reader would bring its own troubles, such as
//! texts that unfold without end.

use std::collections::BTreeMap;

/// The most lines that are read.
const MAX_LINES: usize = 10_000;

/// The sections, each with its keys and their values.
pub(super) fn sections(text: &str) -> BTreeMap<String, Vec<(String, Vec<String>)>> {
    let mut sections: BTreeMap<String, Vec<(String, Vec<String>)>> = BTreeMap::new();
    let mut section: Option<String> = None;
    // The indentation of the key whose lines follow.
    let mut block: Option<usize> = None;
    for (indent, content) in indented_lines(text, MAX_LINES) {
        let entries = section.as_ref().and_then(|it| sections.get_mut(it));
        if let (Some(key_indent), Some((_, values))) = (block, entries.and_then(|it| it.last_mut()))
            && indent > key_indent
        {
            values.push(unquoted(content.trim_start_matches("- ")).to_owned());
            continue;
        }
        block = None;
        let Some((key, value)) = split_key(content) else { continue };
        if indent == 0 {
            sections.entry(key.to_owned()).or_default();
            section = Some(key.to_owned());
        } else if let Some(entries) = section.as_ref().and_then(|it| sections.get_mut(it)) {
            let several = value.is_empty() || value.starts_with(['|', '>']);
            block = several.then_some(indent);
            let values = if several { Vec::new() } else { vec![unquoted(value).to_owned()] };
            entries.push((key.to_owned(), values));
        }
    }
    sections
}

/// The first lines of a text that say something, each with its indentation in bytes, and without
/// comment and space around it.
pub(super) fn indented_lines(text: &str, max_lines: usize) -> impl Iterator<Item = (usize, &str)> {
    let bare = text.lines().take(max_lines).map(without_comment);
    let lines = bare.map(|bare| (bare.len() - bare.trim_start().len(), bare.trim()));
    lines.filter(|(_, content)| !content.is_empty() && *content != "---")
}

/// `key: value`. A colon inside a value, as in `C:\models`, is followed by no space.
pub(super) fn split_key(content: &str) -> Option<(&str, &str)> {
    let (key, value) = content.split_once(": ").or_else(|| content.strip_suffix(':').map(|key| (key, "")))?;
    let key = unquoted(key.trim());
    (!key.is_empty()).then_some((key, value.trim()))
}

pub(super) fn unquoted(text: &str) -> &str {
    let text = text.trim();
    let inside = |quote: char| text.strip_prefix(quote).and_then(|it| it.strip_suffix(quote));
    inside('"').or_else(|| inside('\'')).unwrap_or(text)
}

/// A `#` begins a comment at the start of a line or after a space, outside quotation marks.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '#' && before.is_whitespace() => return line.get(..at).unwrap_or(line),
            None if (c == '"' || c == '\'') && before.is_whitespace() => quote = Some(c),
            Some(_) | None => {}
        }
        before = c;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_comfyui_is_read() {
        let text = "# Rename this to extra_model_paths.yaml\n\na111:\n    base_path: path/to/stable-diffusion-webui/\n\n    checkpoints: models/Stable-diffusion\n    loras: |\n         models/Lora\n         models/LyCORIS # old\n    vae: 'models/VAE # mine'\n\ncomfyui:\n  base_path: C:\\ComfyUI\n  is_default: true\n  text_encoders:\n    - models/text_encoders/\n    - \"models/clip\"\n#other_ui:\n#    base_path: x\n";
        let sections = sections(text);
        let values = |section: &str, key: &str| -> Vec<String> {
            sections[section].iter().filter(|(it, _)| it == key).flat_map(|(_, values)| values.clone()).collect()
        };
        assert_eq!(sections.keys().collect::<Vec<_>>(), ["a111", "comfyui"]);
        assert_eq!(values("a111", "base_path"), ["path/to/stable-diffusion-webui/"]);
        assert_eq!(values("a111", "loras"), ["models/Lora", "models/LyCORIS"]);
        assert_eq!(values("a111", "vae"), ["models/VAE # mine"]);
        assert_eq!(values("comfyui", "base_path"), ["C:\\ComfyUI"]);
        assert_eq!(values("comfyui", "text_encoders"), ["models/text_encoders/", "models/clip"]);
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC*|[a: |\n#'\"-]{0,80}") {
            let _ = sections(&text);
        }
    }
}
