//! `cargo xtask test --packages`: makes the packages and tries them as people get them, on a new
//! system.

use std::process::Command;

use super::make;
use crate::cargo::{finish, root};
use crate::failure::Failure;
use crate::format::Format;
use crate::install::ensure;
use crate::options::Options;
use crate::requirements::{Os, Requirement, XDOTOOL, XVFB, linux, program};

const LINUX: [Format; 4] = [Format::Deb, Format::Tar, Format::Appimage, Format::Rpm];
/// Tried under wine.
const WINDOWS: [Format; 2] = [Format::Windows, Format::Msi];

const DEBOOTSTRAP: Requirement = Requirement {
    name: "debootstrap",
    reason: "makes the new Debian that the packages are tried on",
    probe: program(&["debootstrap"]),
    packages: linux("debootstrap", "debootstrap", "debootstrap"),
    instruction: "Install debootstrap with your system's package manager.",
};

const IMAGEMAGICK: Requirement = Requirement {
    name: "ImageMagick",
    reason: "photographs the window and looks at the pictures",
    probe: program(&["identify"]),
    packages: linux("imagemagick", "ImageMagick", "imagemagick"),
    instruction: "Install ImageMagick with your system's package manager.",
};

const RPM: Requirement = Requirement {
    name: "rpm",
    reason: "installs the .rpm",
    probe: program(&["rpm"]),
    packages: linux("rpm", "rpm", "rpm-tools"),
    instruction: "Install rpm with your system's package manager.",
};

/// Makes and tries the formats that are named, or those for Linux; the others take a build for
/// another system.
pub(crate) fn test(options: &Options) -> Result<(), Failure> {
    let formats = if options.formats.is_empty() { &LINUX[..] } else { &options.formats };
    if let Some(other) = formats.iter().find(|it| !LINUX.contains(it) && !WINDOWS.contains(it)) {
        return Err(Failure::new(format!("`{}` cannot be tried by this chore yet.", other.name())));
    }
    if Os::current() != Os::Linux {
        return Err(Failure::new("The packages are tried on a new Debian inside the system at hand, so this runs on Linux only."));
    }
    ensure(&[DEBOOTSTRAP, IMAGEMAGICK, XVFB, XDOTOOL], options)?;
    let (linux, windows): (Vec<Format>, Vec<Format>) = formats.iter().copied().partition(|it| LINUX.contains(it));
    if !linux.is_empty() {
        ensure(&[RPM], options)?;
        run_script("packaging/linux/test.sh", &linux, options)?;
    }
    if !windows.is_empty() {
        run_script("packaging/windows/test.sh", &windows, options)?;
    }
    Ok(())
}

/// Makes these formats and gives them to a script that tries them.
fn run_script(path: &str, formats: &[Format], options: &Options) -> Result<(), Failure> {
    let mut script = Command::new(root().join(path));
    for &format in formats {
        script.arg(format!("--{}", format.name())).arg(make(format, options)?);
    }
    finish(script.args(&options.rest).current_dir(root()))
}
