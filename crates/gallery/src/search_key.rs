//! Names in the form in which they are compared.

/// A name in small letters and digits alone, so that `z-image`, `Z Image` and `z_image` are the
/// same.
pub(crate) fn search_key(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}
