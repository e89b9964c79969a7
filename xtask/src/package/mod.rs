//! `cargo xtask package`: builds the program for others' machines, stages what belongs to it
//! (`stage`), and packs that in each format.
//!
//! Each format is a module with `fn package(staged: &Staged, out: &Path) -> Result<PathBuf,
//! Failure>`, which returns the file made in `out`. Formats for another system that also need a
//! build of their own have `fn build(options: &Options) -> Result<PathBuf, Failure>`, which returns
//! the program.

#[cfg(unix)]
mod appimage;
mod deb;
mod file_types;
mod licences;
pub(crate) mod linux;
pub(crate) mod macos;
mod msi;
mod rpm;
pub(crate) mod stage;
mod tar;
mod trial;
mod windows;

use std::fs;
use std::path::{Path, PathBuf};

use crate::cargo::target_folder;
use crate::failure::Failure;
use crate::format::Format;
use crate::install::ensure;
use crate::options::Options;
use crate::requirements::{DPKG_DEB, Requirement, XZ};
use stage::{Staged, TargetSystem};
pub(crate) use trial::test;

impl Format {
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
            Self::Deb => vec![linux::OBJDUMP, DPKG_DEB],
            Self::Tar => vec![XZ],
            Self::Rpm => vec![linux::OBJDUMP, rpm::RPMBUILD],
            #[cfg(unix)]
            Self::Appimage => vec![appimage::MKSQUASHFS],
            #[cfg(not(unix))]
            Self::Appimage => Vec::new(),
            Self::Windows => vec![windows::MAKENSIS],
            Self::Msi => vec![msi::WIXL],
            Self::Macos => Vec::new(),
        }
    }
}

/// Makes each format in turn. The last line on standard output is the path of the last file made.
pub(crate) fn package(options: &Options) -> Result<(), Failure> {
    if options.formats.is_empty() {
        let names = Format::ALL.map(Format::name).join(", ");
        return Err(Failure::new(format!("Name the formats to make: {names}. For example `cargo xtask package deb tar`.")));
    }
    options.formats.iter().try_for_each(|&format| make(format, options).map(drop))
}

/// Makes one file, and prints its size to standard error and its path to standard output.
fn make(format: Format, options: &Options) -> Result<PathBuf, Failure> {
    ensure(&format.requirements(), options)?;
    let program = match &options.program {
        Some(program) => program.clone(),
        None => build(format.system(), options)?,
    };
    let out = packages_folder();
    let staged = stage::stage(&program, format.system(), &out.join("stage").join(format.name()))?;
    if format.system() == TargetSystem::Windows {
        windows::stage_extras(&program, &staged.folder)?;
    }
    let file = match format {
        Format::Deb => deb::package(&staged, &out)?,
        Format::Rpm => rpm::package(&staged, &out)?,
        #[cfg(unix)]
        Format::Appimage => appimage::package(&staged, &out)?,
        #[cfg(not(unix))]
        Format::Appimage => return Err(Failure::new("The AppImage is made on Linux.")),
        Format::Tar => tar::package(&staged, &out)?,
        Format::Windows => windows::package(&staged, &out)?,
        Format::Msi => msi::package(&staged, &out)?,
        Format::Macos => macos::package(&staged, &out)?,
    };
    report(&staged, &program, &file)?;
    Ok(file)
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

fn report(staged: &Staged, program: &Path, file: &Path) -> Result<(), Failure> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let [whole, program] = [file, program].map(mib_of);
    eprintln!("{name}: {:.1} MiB, with a program of {:.1} MiB; version {}", whole?, program?, staged.version);
    println!("{}", file.display());
    Ok(())
}

fn mib_of(file: &Path) -> Result<f64, Failure> {
    let metadata = fs::metadata(file).map_err(|error| Failure::new(format!("{} was not made: {error}", file.display())))?;
    Ok(metadata.len() as f64 / f64::from(1 << 20))
}
