//! Names that persons give: of tags, boards and saved searches.

use crate::GalleryError;
use atelier_language::tr;

/// Longest name, in characters.
const MAX_NAME: usize = 100;

/// The name without spaces around it.
pub(crate) fn checked_name(name: &str, kind: &str) -> Result<String, GalleryError> {
    let name = name.trim();
    if name.is_empty() || name.chars().count() > MAX_NAME || name.chars().any(char::is_control) {
        return Err(GalleryError::Refused(tr!("index-the-name-of-a", kind, max_name = MAX_NAME)));
    }
    Ok(name.to_owned())
}
