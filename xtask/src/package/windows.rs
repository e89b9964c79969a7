//! The program for Windows and its setup program.
//!
//! On another system the program is built with mingw-w64 (`windows_toolchain`), Vulkan included:
//! its shaders' generator is built for the machine at hand, and the loader is looked for when the
//! program starts. On Windows itself it is built with the compiler at hand; that has not been
//! tried.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::file_types::nsis_definitions;
use super::stage::Staged;
use crate::cargo::{cargo, finish, output, root, target_folder};
use crate::failure::Failure;
use crate::files::{copy, write};
use crate::install::{ensure, ensure_installed};
use crate::options::Options;
use crate::requirements::{GLSLC, Os, Packages, Purpose, Requirement, program};
use crate::shader_compiler::ensure_matrix_units;
use crate::vulkan;
use crate::windows_toolchain::{TARGET, ensure_toolchain, set_target};

pub(crate) const MAKENSIS: Requirement = Requirement {
    name: "makensis",
    reason: "packs the setup program",
    probe: program(&["makensis", PROGRAM_FILES_MAKENSIS]),
    packages: Packages { apt: "nsis", dnf: "mingw-nsis-base", pacman: "", brew: "makensis", winget: "NSIS.NSIS" },
    instruction: "Install NSIS 3 from https://nsis.sourceforge.io.",
};

/// Where NSIS installs itself on Windows, without a place in PATH.
const PROGRAM_FILES_MAKENSIS: &str = r"C:\Program Files (x86)\NSIS\makensis.exe";

/// File that a build makes for a console (`packaging/windows/console`), and its name when it is
/// installed.
const CONSOLE_BUILT: &str = "atelier-console.exe";
const CONSOLE_INSTALLED: &str = "atelier.com";

/// Builds the program for every processor that meets the floor, in a target folder of its own, and
/// the one for the console beside it.
pub(crate) fn build(options: &Options) -> Result<PathBuf, Failure> {
    let target = target_folder().join("package");
    let mut command = cargo("build");
    command.args(["--release", "--locked", "--package", "atelier", "--package", "atelier-console", "--target-dir"]).arg(&target);
    // Cargo does not see this variable, hence the folder.
    command.env("ATELIER_PORTABLE", "1");
    // Where the Vulkan SDK is; the engine's build looks for it there.
    let has_vulkan = Os::current() != Os::Windows || std::env::var_os("VULKAN_SDK").is_some();
    if has_vulkan {
        command.args(["--features", "vulkan"]);
    }
    let folder = if Os::current() == Os::Windows {
        ensure_installed(Purpose::Build, options)?;
        if !has_vulkan {
            eprintln!("VULKAN_SDK is not set: this build is for the processor alone. The Vulkan SDK sets it.");
        }
        target.join("release")
    } else {
        ensure_installed(Purpose::Build, options)?;
        ensure(&[GLSLC], options)?;
        let sysroot = ensure_toolchain(options)?;
        set_target(&mut command, sysroot.as_deref())?;
        vulkan::set_separate_prefixes(&mut command)?;
        target.join(TARGET).join("release")
    };
    finish(&mut command)?;
    let program = folder.join("atelier.exe");
    if has_vulkan {
        ensure_matrix_units(&program)?;
    }
    Ok(program)
}

/// Puts what only Windows has beside the staged program, which was built at `program`.
pub(crate) fn stage_extras(program: &Path, staged: &Path) -> Result<(), Failure> {
    copy(&program.with_file_name(CONSOLE_BUILT), &staged.join(CONSOLE_INSTALLED))?;
    copy(&root().join("packaging/windows/atelier.ico"), &staged.join("atelier.ico"))
}

/// Packs what is staged.
pub(crate) fn package(staged: &Staged, out: &Path) -> Result<PathBuf, Failure> {
    let file = out.join(format!("Atelier-{}-x64-setup.exe", staged.version));
    let installed = fs::canonicalize(PROGRAM_FILES_MAKENSIS).unwrap_or_else(|_| "makensis".into());
    let mut command = Command::new(installed);
    command.args(["-V2", "-WX", "-INPUTCHARSET", "UTF8"]);
    let size = folder_size(&staged.folder)?.div_ceil(1024);
    let file_types = out.join("atelier-types.nsh");
    write(&file_types, &nsis_definitions())?;
    for (name, value) in [
        ("VERSION", staged.version.clone()),
        ("VERSION_FIELDS", version_fields(&staged.version)),
        ("STAGE", staged.folder.display().to_string()),
        ("OUT", file.display().to_string()),
        ("KILOBYTES", size.to_string()),
        ("FILE_TYPES", file_types.display().to_string()),
    ] {
        command.arg(format!("-D{name}={value}"));
    }
    // makensis writes what it does to standard output, where only the file's path belongs.
    output(command.arg(root().join("packaging/windows/atelier.nsi")))?;
    Ok(file)
}

/// The four numbers of a Windows version: `0.1.0` is `0.1.0.0`; what follows a `-` is left out.
pub(crate) fn version_fields(version: &str) -> String {
    let numbers: Vec<&str> = version.split(['-', '+']).next().unwrap_or_default().split('.').chain(["0"; 4]).take(4).collect();
    numbers.join(".")
}

/// Bytes of all files in a folder.
fn folder_size(folder: &Path) -> Result<u64, Failure> {
    let failed = |error: std::io::Error| Failure::new(format!("{} cannot be read: {error}", folder.display()));
    let mut size = 0;
    for entry in folder.read_dir().map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let metadata = entry.metadata().map_err(failed)?;
        size += if metadata.is_dir() { folder_size(&entry.path())? } else { metadata.len() };
    }
    Ok(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_versions_have_four_numbers() {
        assert_eq!(version_fields("0.1.0"), "0.1.0.0");
        assert_eq!(version_fields("1.2.3-beta.4"), "1.2.3.0");
    }

    #[test]
    fn the_size_counts_files_at_every_depth() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("a"), [0; 10]).unwrap();
        fs::create_dir(root.path().join("b")).unwrap();
        fs::write(root.path().join("b/c"), [0; 5]).unwrap();
        assert_eq!(folder_size(root.path()).unwrap(), 15);
    }
}
