//! Staging: what every format contains, in one folder.
//!
//! ```text
//! atelier, atelier.exe   the program
//! builtin-model/         the model that comes with it
//! LICENSE                Atelier's own
//! licences.html          those of every dependency and of the engine
//! ```

use std::path::{Path, PathBuf};

use super::licences;
use crate::cargo::root;
use crate::failure::Failure;
use crate::files::{copy, copy_folder, replace_folder, write};
pub(crate) use crate::requirements::Os as TargetSystem;

/// A folder with everything that is installed.
#[derive(Debug)]
pub(crate) struct Staged {
    pub(crate) folder: PathBuf,
    /// Version of the workspace, such as `0.1.0`.
    pub(crate) version: String,
}

/// Name of the program's file on a system.
pub(crate) const fn program_name(system: TargetSystem) -> &'static str {
    match system {
        TargetSystem::Windows => "atelier.exe",
        TargetSystem::Linux | TargetSystem::Macos => "atelier",
    }
}

/// Puts the program and what belongs to it into `folder`, which is emptied before.
pub(crate) fn stage(program: &Path, system: TargetSystem, folder: &Path) -> Result<Staged, Failure> {
    replace_folder(folder)?;
    copy(program, &folder.join(program_name(system)))?;
    copy_folder(&root().join("assets/builtin-model"), &folder.join("builtin-model"))?;
    copy(&root().join("LICENSE"), &folder.join("LICENSE"))?;
    write(&folder.join("licences.html"), &licences::page(system)?)?;
    Ok(Staged { folder: folder.to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_staged_folder_holds_the_program_and_its_model_and_nothing_of_before() {
        let root = tempfile::tempdir().unwrap();
        let (program, folder) = (root.path().join("built"), root.path().join("stage"));
        fs::write(&program, "program").unwrap();
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("old"), "").unwrap();
        let staged = stage(&program, TargetSystem::Linux, &folder).unwrap();
        assert_eq!(fs::read_to_string(staged.folder.join("atelier")).unwrap(), "program");
        assert!(staged.folder.join("builtin-model/manifest.json").is_file() && staged.folder.join("LICENSE").is_file());
        let licences = fs::read_to_string(folder.join("licences.html")).unwrap();
        assert!(["serde", "ggml", "Open Font License", "Niels Lohmann"].iter().all(|word| licences.contains(word)));
        assert!(!folder.join("old").exists());
    }
}
