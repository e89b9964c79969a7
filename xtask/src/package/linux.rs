//! The program for Linux: its build, the libraries that it needs, and its files where Linux looks
//! for them.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use super::file_types::{desktop_media_types, metainfo_media_types, shared_mime_info};
use super::stage::Staged;
use crate::cargo::{cargo, finish, output, root, target_folder};
use crate::failure::Failure;
use crate::files::{copy, copy_folder, create_folder, read, write};
use crate::install::ensure_installed;
use crate::options::Options;
use crate::requirements::{Os, Purpose, Requirement, linux, program, window_requirements};
use crate::shader_compiler::ensure_matrix_units;
use crate::vulkan;

/// Who answers for the packages, in the form that .deb and .rpm ask for.
pub(crate) const MAINTAINER: &str = "The Atelier authors <atelier@localhost>";
pub(crate) const SUMMARY: &str = "Make pictures from words on your own machine";
pub(crate) const DESCRIPTION: &str = "Atelier is a studio for artists: write what you want to see, and watch the picture form. A small model comes \
    with it, so the first picture needs no download. Everything is computed on this machine, with or without a graphics card.";

/// Sizes of the icon in pixels, with their files; a desktop scales the others.
const ICONS: [(&str, &str); 4] = [
    ("48x48", "packaging/linux/icon-48.png"),
    ("128x128", "packaging/linux/icon-128.png"),
    ("256x256", "assets/icon.png"),
    ("512x512", "packaging/icon.png"),
];

pub(crate) const OBJDUMP: Requirement = Requirement {
    name: "objdump",
    reason: "lists the libraries that the program needs",
    probe: program(&["objdump"]),
    packages: linux("binutils", "binutils", "binutils"),
    instruction: "Install binutils with your system's package manager.",
};

/// Builds the program with Vulkan for every processor that meets the floor, in a target folder of
/// its own.
pub(crate) fn build(options: &Options) -> Result<PathBuf, Failure> {
    if Os::current() != Os::Linux {
        return Err(Failure::new("The packages for Linux are made on Linux, or of a program that is named with `--program FILE`."));
    }
    if !cfg!(target_arch = "x86_64") {
        return Err(Failure::new("The packages for Linux are made for x86_64 only, on such a machine."));
    }
    ensure_installed(Purpose::BuildVulkan, options)?;
    let target = target_folder().join("package");
    create_folder(&target)?;
    let hypot = target.join("hypot.o");
    let compiler = env::var_os("CC").unwrap_or_else(|| "cc".into());
    output(Command::new(compiler).args(["-O2", "-fPIC", "-c", "-o"]).arg(&hypot).arg(root().join("packaging/linux/hypot.c")))?;
    let mut command = cargo("rustc");
    command
        .args(["--release", "--locked", "--package", "atelier", "--bin", "atelier", "--features", "vulkan", "--target-dir"])
        .arg(&target);
    // These hold for the program alone, so nothing else is built anew for them.
    command.args(["--", "-C", "link-arg=-Wl,--wrap=hypot,--wrap=hypotf", "-C"]).arg(format!("link-arg={}", hypot.display()));
    // Cargo does not see this variable, hence the folder.
    command.env("ATELIER_PORTABLE", "1");
    vulkan::set_prefixes(&mut command)?;
    finish(&mut command)?;
    let program = target.join("release/atelier");
    ensure_matrix_units(&program)?;
    Ok(program)
}

/// Lays the staged files out below `prefix`, which stands for `/usr`.
pub(crate) fn install_tree(staged: &Staged, prefix: &Path) -> Result<(), Failure> {
    let share = prefix.join("share");
    let put = |from: &Path, to: PathBuf| {
        to.parent().map_or(Ok(()), create_folder)?;
        copy(from, &to)
    };
    put(&staged.folder.join("atelier"), prefix.join("bin/atelier"))?;
    copy_folder(&staged.folder.join("builtin-model"), &share.join("atelier/builtin-model"))?;
    for name in ["LICENSE", "licences.html"] {
        put(&staged.folder.join(name), share.join("atelier").join(name))?;
    }
    let source = root();
    for (size, file) in ICONS {
        put(&source.join(file), share.join(format!("icons/hicolor/{size}/apps/atelier.png")))?;
    }
    put(&source.join("packaging/icon.svg"), share.join("icons/hicolor/scalable/apps/atelier.svg"))?;
    create_folder(&share.join("mime/packages"))?;
    write(&share.join("mime/packages/atelier.xml"), &shared_mime_info())?;
    let fill = |name: &str, to: PathBuf| {
        to.parent().map_or(Ok(()), create_folder)?;
        let text = read(&source.join("packaging/linux").join(name))?;
        write(&to, &filled(&text, &staged.version))
    };
    fill("atelier.desktop", share.join("applications/atelier.desktop"))?;
    fill("atelier.metainfo.xml", share.join("metainfo/atelier.metainfo.xml"))?;
    let manual = share.join("man/man1/atelier.1");
    fill("atelier.1", manual.clone())?;
    output(Command::new("gzip").args(["--best", "--no-name", "--force"]).arg(&manual))?;
    // Neither this person's mask nor files that only the owner may read go into a package.
    output(Command::new("chmod").args(["-R", "u=rwX,go=rX"]).arg(prefix)).map(drop)
}

/// A text for the desktop, with what each package says anew.
fn filled(text: &str, version: &str) -> String {
    text.replace("@VERSION@", version)
        .replace("@DATE@", &today())
        .replace("@MIME_TYPES@", &desktop_media_types())
        .replace("@MEDIA_TYPES@", &metainfo_media_types())
}

/// What the window loads when it opens; without it nothing is shown.
pub(crate) fn window_libraries() -> Vec<Requirement> {
    window_requirements(false)
}

/// The libraries and versions that a program is linked to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Linkage {
    /// Such as `libc.so.6`.
    pub(crate) libraries: Vec<String>,
    /// Newest version of glibc that a symbol asks for.
    pub(crate) glibc: (u32, u32),
    /// Newest version of libstdc++ that a symbol asks for, such as `(3, 4, 29)`.
    pub(crate) libstdcxx: (u32, u32, u32),
}

/// Reads what the program is linked to.
pub(crate) fn linkage(program: &Path) -> Result<Linkage, Failure> {
    Ok(parse_linkage(&output(Command::new("objdump").arg("-p").arg(program))?))
}

fn parse_linkage(text: &str) -> Linkage {
    let mut linkage = Linkage::default();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        if words.clone().next() == Some("NEEDED") {
            linkage.libraries.extend(words.nth(1).map(str::to_owned));
        } else if let Some(symbol) = words.next_back() {
            if let Some(version) = symbol.strip_prefix("GLIBC_") {
                let [major, minor, _] = numbers(version);
                linkage.glibc = linkage.glibc.max((major, minor));
            } else if let Some(version) = symbol.strip_prefix("GLIBCXX_") {
                let [major, minor, patch] = numbers(version);
                linkage.libstdcxx = linkage.libstdcxx.max((major, minor, patch));
            }
        }
    }
    linkage
}

fn numbers(version: &str) -> [u32; 3] {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    std::array::from_fn(|_| parts.next().unwrap_or(0))
}

/// The day of the build in UTC, as `2026-11-22`.
fn today() -> String {
    let secs = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (year, month, day) = civil_date(secs / 86_400);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Date of a day since 1970, in the Gregorian calendar: eras of 400 years, years that begin in
/// March.
const fn civil_date(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let (day, month) = (day_of_year - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    (year_of_era + era * 400 + if month <= 2 { 1 } else { 0 }, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_of_each_library_is_the_floor() {
        let text = "Dynamic Section:\n  NEEDED               libstdc++.so.6\n  NEEDED               libc.so.6\n  INIT  0x1000\n\n\
                    Version References:\n  required from libc.so.6:\n    0x09691a75 0x00 05 GLIBC_2.2.5\n    0x0 0x00 04 GLIBC_2.35\n    \
                    0x0 0x00 04 GLIBC_2.9\n  required from libstdc++.so.6:\n    0x0 0x00 03 GLIBCXX_3.4.29\n    0x0 0x00 03 GLIBCXX_3.4\n";
        let libraries = ["libstdc++.so.6", "libc.so.6"].map(str::to_owned).into();
        assert_eq!(parse_linkage(text), Linkage { libraries, glibc: (2, 35), libstdcxx: (3, 4, 29) });
    }

    #[test]
    fn the_texts_for_the_desktop_name_what_is_opened() {
        let of = |name: &str| filled(&read(&root().join("packaging/linux").join(name)).unwrap(), "1.2.3");
        assert!(of("atelier.desktop").contains("\nMimeType=application/x-atelier-canvas;image/png;"));
        let metainfo = of("atelier.metainfo.xml");
        assert!(metainfo.contains("<mediatype>application/x-atelier-canvas</mediatype>\n") && metainfo.contains("version=\"1.2.3\""));
        for name in ["atelier.desktop", "atelier.metainfo.xml", "atelier.1"] {
            assert!(!["_TYPES@", "@VERSION@", "@DATE@"].iter().any(|it| of(name).contains(it)), "{name} is filled");
        }
    }

    #[test]
    fn days_become_dates() {
        assert_eq!([0, 19_782, 20_779].map(civil_date), [(1970, 1, 1), (2024, 2, 29), (2026, 11, 22)]);
    }
}
