//! The AppImage: one file that runs on any Linux with a desktop, without an installation.
//!
//! No registry brings today's runtime of AppImages, and older ones want a library that newer
//! systems do not have. The one in front is ours (packaging/linux/runtime): it needs no FUSE and is
//! linked statically.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::linux::install_tree;
use super::stage::Staged;
use crate::cargo::{cargo, finish, output, target_folder};
use crate::failure::Failure;
use crate::files::replace_folder;
use crate::requirements::{Requirement, linux, program};

const TARGET: &str = "x86_64-unknown-linux-gnu";
/// In bytes 8 to 10 of the ELF head, which are unused there: an AppImage of the second kind.
const MAGIC: &[u8] = b"AI\x02";

pub(crate) const MKSQUASHFS: Requirement = Requirement {
    name: "mksquashfs",
    reason: "packs the AppImage",
    probe: program(&["mksquashfs"]),
    packages: linux("squashfs-tools", "squashfs-tools", "squashfs-tools"),
    instruction: "Install squashfs-tools with your system's package manager.",
};

/// Packs what is staged.
pub(crate) fn package(staged: &Staged, out: &Path) -> Result<PathBuf, Failure> {
    let above = out.join("tree").join("appimage");
    replace_folder(&above)?;
    let folder = above.join("AppDir");
    install_tree(staged, &folder.join("usr"))?;
    let links = [
        ("AppRun", "usr/bin/atelier"),
        ("atelier.desktop", "usr/share/applications/atelier.desktop"),
        ("atelier.svg", "usr/share/icons/hicolor/scalable/apps/atelier.svg"),
        (".DirIcon", "usr/share/icons/hicolor/256x256/apps/atelier.png"),
    ];
    for (name, target) in links {
        symlink(target, folder.join(name)).map_err(|error| Failure::new(format!("{name} cannot be linked: {error}")))?;
    }
    let image = above.join("image.squashfs");
    let mut command = Command::new("mksquashfs");
    command.args([&folder, &image]);
    // The runtime reads gzip, since a decoder in Rust is in the program's dependencies already.
    output(command.args(["-root-owned", "-noappend", "-no-xattrs", "-comp", "gzip", "-b", "1M", "-quiet", "-no-progress"]))?;
    let file = out.join(format!("Atelier-{}-x86_64.AppImage", staged.version));
    join(&runtime()?, &image, &file)?;
    check(&file, &above)?;
    Ok(file)
}

fn runtime() -> Result<PathBuf, Failure> {
    let target = target_folder().join("package");
    let mut command = cargo("build");
    command.args(["--release", "--locked", "--package", "appimage-runtime", "--target", TARGET, "--target-dir"]).arg(&target);
    // With a target named, this holds for the program alone and not for what runs at build time.
    finish(command.env("RUSTFLAGS", "-C target-feature=+crt-static"))?;
    Ok(target.join(TARGET).join("release/appimage-runtime"))
}

/// Writes the runtime with the mark of AppImages in it, and the image behind.
fn join(runtime: &Path, image: &Path, file: &Path) -> Result<(), Failure> {
    let failed = |error| Failure::new(format!("{} cannot be written: {error}", file.display()));
    let mut bytes = fs::read(runtime).map_err(failed)?;
    match bytes.get_mut(8..8 + MAGIC.len()) {
        Some(place) => place.copy_from_slice(MAGIC),
        None => return Err(Failure::new(format!("{} is no program.", runtime.display()))),
    }
    bytes.extend(fs::read(image).map_err(failed)?);
    fs::write(file, bytes).and_then(|()| fs::set_permissions(file, fs::Permissions::from_mode(0o755))).map_err(failed)
}

/// Unpacks the file with its own runtime and compares.
fn check(file: &Path, above: &Path) -> Result<(), Failure> {
    output(Command::new(file).arg("--appimage-extract").current_dir(above))?;
    output(Command::new("diff").args(["--recursive", "--no-dereference", "AppDir", "squashfs-root"]).current_dir(above)).map(drop)
}
