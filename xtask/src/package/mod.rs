//! `cargo xtask package`: builds the program for others' machines, stages what belongs to it (`stage`), and packs that in each format.
//!
//! Each format is a module with `fn package(staged: &Staged, out: &Path) -> Result<PathBuf, Failure>`, which returns the file made in `out`.
//! Formats for another system that also need a build of their own have `fn build(options: &Options) -> Result<PathBuf, Failure>`, which
//! returns the program.

mod deb;
mod licences;
pub(crate) mod linux;
mod macos;
mod msi;
pub(crate) mod stage;
mod tar;
mod windows;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Failure;
use crate::chores::target_folder;
use crate::install::ensure;
use crate::options::Options;
use crate::requirements::Requirement;
use stage::{Staged, TargetSystem};

/// What a person downloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Deb,
    Rpm,
    Appimage,
    Tar,
    Windows,
    Msi,
    Macos,
}

impl Format {
    pub(crate) const ALL: [Self; 7] = [Self::Deb, Self::Rpm, Self::Appimage, Self::Tar, Self::Windows, Self::Msi, Self::Macos];

    /// Name on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Deb => "deb",
            Self::Rpm => "rpm",
            Self::Appimage => "appimage",
            Self::Tar => "tar",
            Self::Windows => "windows",
            Self::Msi => "msi",
            Self::Macos => "macos",
        }
    }

    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    const fn system(self) -> TargetSystem {
        match self {
            Self::Deb | Self::Rpm | Self::Appimage | Self::Tar => TargetSystem::Linux,
            Self::Windows | Self::Msi => TargetSystem::Windows,
            Self::Macos => TargetSystem::Macos,
        }
    }

    /// Programs that pack this format; those that build the program are its build's.
    fn requirements(self) -> Vec<Requirement> {
        match self {
            Self::Deb => vec![linux::OBJDUMP, deb::DPKG_DEB],
            Self::Tar => vec![linux::OBJDUMP, tar::XZ],
            Self::Windows => vec![windows::MAKENSIS],
            Self::Msi => vec![msi::WIXL],
            Self::Rpm | Self::Appimage | Self::Macos => Vec::new(),
        }
    }
}

/// Makes each format in turn. The last line on standard output is the path of the last file made.
pub(crate) fn package(options: &Options) -> Result<(), Failure> {
    if options.formats.is_empty() {
        let names = Format::ALL.map(Format::name).join(", ");
        return Err(Failure::new(format!("Name the formats to make: {names}. For example `cargo xtask package deb tar`.")));
    }
    let out = packages_folder();
    create_folder(&out)?;
    for &format in &options.formats {
        ensure(&format.requirements(), options)?;
        let program = match &options.program {
            Some(program) => program.clone(),
            None => build(format.system(), options)?,
        };
        let staged = stage::stage(&program, format.system(), &out.join("stage").join(format.name()))?;
        if format.system() == TargetSystem::Windows {
            windows::stage_extras(&program, &staged.folder)?;
        }
        let file = match format {
            Format::Windows => windows::package(&staged, &out)?,
            Format::Msi => msi::package(&staged, &out)?,
            Format::Macos => macos::package(&staged, &out)?,
            Format::Deb => deb::package(&staged, &out)?,
            Format::Tar => tar::package(&staged, &out)?,
            Format::Rpm | Format::Appimage => return Err(not_there_yet(format)),
        };
        report(&staged, &file)?;
    }
    Ok(())
}

/// Folder of the finished files.
pub(crate) fn packages_folder() -> PathBuf {
    target_folder().join("packages")
}

fn build(system: TargetSystem, options: &Options) -> Result<PathBuf, Failure> {
    match system {
        TargetSystem::Windows => windows::build(options),
        TargetSystem::Macos => macos::build(options),
        TargetSystem::Linux => linux::build(options),
    }
}

fn not_there_yet(format: Format) -> Failure {
    Failure::new(format!("The format `{}` is not there yet.", format.name()))
}

/// Prints the size to standard error and the path to standard output.
fn report(staged: &Staged, file: &Path) -> Result<(), Failure> {
    let size = fs::metadata(file).map_err(|error| Failure::new(format!("{} was not made: {error}", file.display())))?.len();
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    eprintln!("{name}: {:.1} MiB, version {}", size as f64 / f64::from(1 << 20), staged.version);
    println!("{}", file.display());
    Ok(())
}

/// Creates a folder and those above it.
pub(crate) fn create_folder(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| Failure::new(format!("{} cannot be made: {error}", folder.display())))
}

/// Creates a folder that is empty.
pub(crate) fn replace_folder(folder: &Path) -> Result<(), Failure> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|error| Failure::new(format!("{} cannot be emptied: {error}", folder.display())))?;
    }
    create_folder(folder)
}

/// Runs a program to its end and returns what it wrote to standard output; a failure says what it wrote to standard error.
pub(crate) fn output(command: &mut Command) -> Result<String, Failure> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| Failure::new(format!("{program} could not be started: {error}")))?;
    let [text, error] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    if output.status.success() {
        Ok(text)
    } else {
        Err(Failure::new(format!("{program} did not succeed ({}).\n{text}{error}", output.status)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_found_by_its_name() {
        for format in Format::ALL {
            assert_eq!(Format::parse(format.name()), Some(format));
        }
        assert_eq!(Format::parse("zip"), None);
    }
}
