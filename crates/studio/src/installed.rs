//! Files that are installed with the program.

use std::path::{Path, PathBuf};

/// The page with the licences of everything that the program is made of.
const LICENCES: &str = "licences.html";

/// The page of licences; `None` in a development build. Blocks.
#[must_use]
pub fn find_licences() -> Option<PathBuf> {
    // A link to the program leads to where it was installed.
    let program = std::env::current_exe().and_then(|path| path.canonicalize()).ok()?;
    candidates(&program).into_iter().find(|path| path.is_file())
}

/// Beside the program (Windows, archives), in a bundle's resources (macOS), or in the shared
/// folders of a prefix (Linux).
fn candidates(program: &Path) -> Vec<PathBuf> {
    let Some(folder) = program.parent() else { return Vec::new() };
    let beneath = |path: &str| folder.parent().map(|prefix| prefix.join(path).join(LICENCES));
    [Some(folder.join(LICENCES)), beneath("Resources"), beneath("share/atelier"), beneath("share/doc/atelier")]
        .into_iter()
        .flatten()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_looked_for_where_each_package_puts_it() {
        let places = candidates(Path::new("/usr/bin/atelier"));
        for place in [
            "/usr/bin/licences.html",
            "/usr/Resources/licences.html",
            "/usr/share/atelier/licences.html",
            "/usr/share/doc/atelier/licences.html",
        ] {
            assert!(places.contains(&PathBuf::from(place)), "{place}");
        }
        assert!(candidates(Path::new("/")).is_empty());
    }
}
