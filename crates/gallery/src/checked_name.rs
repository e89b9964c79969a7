//! Names that persons give: of tags, boards and saved searches.

use crate::GalleryError;

/// Longest name, in characters.
const MAX_NAME: usize = 100;

/// The name without spaces around it.
pub(crate) fn checked_name(name: &str, kind: &str) -> Result<String, GalleryError> {
    let name = name.trim();
    if name.is_empty() || name.chars().count() > MAX_NAME || name.chars().any(char::is_control) {
        return Err(GalleryError::Refused(format!("The name of a {kind} has 1 to {MAX_NAME} characters, and no line breaks.")));
    }
    Ok(name.to_owned())
}
