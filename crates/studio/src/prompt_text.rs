//! Prompts in text files of strangers, for window and command line.

use std::io::{self, Read};

/// MiB of a text of prompts at most: a larger file is none.
pub const MAX_MIB: u64 = 16;

/// Why a text of prompts was not read.
#[derive(Debug)]
pub enum PromptTextError {
    /// It cannot be read.
    Unreadable(io::Error),
    /// It is larger than [`MAX_MIB`].
    TooLarge,
    /// It is no text in UTF-8.
    NoText,
}

/// Reads a text of prompts, without a byte order mark. Blocks.
///
/// # Errors
/// Where it cannot be read, is too large or is no text.
pub fn read_prompt_text(source: impl Read) -> Result<String, PromptTextError> {
    let mut bytes = Vec::new();
    source.take((MAX_MIB << 20) + 1).read_to_end(&mut bytes).map_err(PromptTextError::Unreadable)?;
    if bytes.len() as u64 > MAX_MIB << 20 {
        return Err(PromptTextError::TooLarge);
    }
    // UTF-16 without a mark is valid UTF-8 with NUL characters, which no prompt has.
    let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
    let mut text = text.ok_or(PromptTextError::NoText)?;
    if text.starts_with('\u{feff}') {
        text.remove(0);
    }
    Ok(text)
}
