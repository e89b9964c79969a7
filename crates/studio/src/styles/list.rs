//! A1111's `styles.csv`: name, prompt, negative prompt. Blocks.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use atelier_core::recipe::PartialRecipe;
use atelier_language::tr;

use super::style::Style;

/// Bytes and rows that are read.
const MAX_BYTES: u64 = 4 << 20;
const MAX_ROWS: usize = 1000;

/// Reads the styles of a file. Rows without a name or without words are passed over.
///
/// # Errors
/// If it cannot be read, or has no column `name`.
pub fn read_style_list(path: &Path) -> io::Result<Vec<Style>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, tr!("studio-the-file-is-too")));
    }
    let text = String::from_utf8_lossy(&bytes);
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.trim_start_matches('\u{feff}').as_bytes());
    let headers = reader.headers().map_err(io::Error::other)?.clone();
    let column = |name: &str| headers.iter().position(|it| it.trim().eq_ignore_ascii_case(name));
    let Some(name) = column("name") else {
        return Err(io::Error::new(io::ErrorKind::InvalidData, tr!("studio-the-column-name-of")));
    };
    // Early versions called the prompt `text`.
    let (prompt, negative) = (column("prompt").or_else(|| column("text")), column("negative_prompt"));
    let mut styles = Vec::new();
    for row in reader.records().take(MAX_ROWS).flatten() {
        let text = |at: Option<usize>| at.and_then(|at| row.get(at)).map(str::trim).filter(|it| !it.is_empty()).map(str::to_owned);
        let (Some(name), settings) =
            (text(Some(name)), PartialRecipe { prompt: text(prompt), negative_prompt: text(negative), ..PartialRecipe::default() })
        else {
            continue;
        };
        if !settings.is_empty() {
            styles.push(Style { name, settings });
        }
    }
    Ok(styles)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read(text: &str) -> io::Result<Vec<Style>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("styles.csv");
        fs::write(&path, text).unwrap();
        read_style_list(&path)
    }

    #[test]
    fn styles_of_a1111_are_read() {
        let text = "\u{feff}name,prompt,negative_prompt\nInk,\"ink drawing of {prompt}, \"\"fine\"\" lines\",colour\n\
                    --- Divider ---,,\nFog,,\"fog,\nhaze\"\n,nameless,\nShort,oil\n";
        let styles = read(text).unwrap();
        let rows: Vec<_> =
            styles.iter().map(|it| (it.name.as_str(), it.settings.prompt.as_deref(), it.settings.negative_prompt.as_deref())).collect();
        let ink = ("Ink", Some("ink drawing of {prompt}, \"fine\" lines"), Some("colour"));
        assert_eq!(rows, [ink, ("Fog", None, Some("fog,\nhaze")), ("Short", Some("oil"), None)]);
        assert_eq!(read("name,text\nOld,oil\n").unwrap()[0].settings.prompt.as_deref(), Some("oil"));
    }

    #[test]
    fn what_is_no_list_of_styles_is_refused() {
        assert!(read("a,b\n1,2\n").unwrap_err().to_string().contains("the column"));
        assert!(read("").is_err() && read_style_list(Path::new("/nowhere/styles.csv")).is_err());
        assert!(read(&"x".repeat(MAX_BYTES as usize + 1)).unwrap_err().to_string().contains("too large"));
    }
}
