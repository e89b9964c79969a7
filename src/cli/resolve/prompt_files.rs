//! Prompts in text files.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::cli::flags::{PictureFlags, PromptFileFlags};
use crate::cli::usage_error::UsageError;
use atelier_studio::prompt_text::{MAX_MIB, PromptTextError, read_prompt_text};

/// What stands for standard input in the place of a file.
const STDIN: &str = "-";

/// These flags with the prompts of the files that they name.
///
/// # Errors
/// Where a file is not there or is no text, and where both prompts are to come from standard input.
pub(super) fn with_files(picture: &PictureFlags) -> Result<PictureFlags, UsageError> {
    let mut picture = picture.clone();
    let PromptFileFlags { prompt_file, negative_prompt_file } = std::mem::take(&mut picture.files);
    if [&prompt_file, &negative_prompt_file].iter().all(|file| file.as_deref() == Some(Path::new(STDIN))) {
        return Err(UsageError::OneStandardInput);
    }
    if let Some(file) = prompt_file {
        picture.prompt = Some(prompt(&file)?);
    }
    if let Some(file) = negative_prompt_file {
        picture.negative_prompt = Some(prompt(&file)?);
    }
    Ok(picture)
}

/// The whole text, without the line end that editors and `echo` put behind it.
fn prompt(file: &Path) -> Result<String, UsageError> {
    let text = if file == Path::new(STDIN) { read(io::stdin().lock(), Path::new("standard input"))? } else { read_text(file)? };
    Ok(text.strip_suffix("\r\n").or_else(|| text.strip_suffix('\n')).unwrap_or(&text).to_owned())
}

/// The text of a file, without a byte order mark.
///
/// # Errors
/// With the name of the file: where it cannot be read, is too large or is no text.
pub(super) fn read_text(file: &Path) -> Result<String, UsageError> {
    let open = File::open(file).map_err(|error| UsageError::TextFile(file.to_owned(), error.to_string()))?;
    read(open, file)
}

fn read(source: impl Read, name: &Path) -> Result<String, UsageError> {
    read_prompt_text(source).map_err(|error| {
        let sentence = match error {
            PromptTextError::Unreadable(error) => error.to_string(),
            PromptTextError::TooLarge => format!("is larger than {MAX_MIB} MiB, which is too large for prompts"),
            PromptTextError::NoText => "is not text in UTF-8; save it as UTF-8".to_owned(),
        };
        UsageError::TextFile(name.to_owned(), sentence)
    })
}
