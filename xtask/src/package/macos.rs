//! The image for macOS: a bundle with one program for both kinds of Mac.
//!
//! The steps are scripts of packaging/macos, since Apple's tools run on a Mac alone; `cargo xtask
//! check --macos` (`macos_check`) says elsewhere whether the program compiles for it.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::file_types::info_plist_types;
use super::stage::Staged;
use crate::cargo::{cargo, finish, output, root, target_folder};
use crate::failure::Failure;
use crate::files::{create_folder, read, write};
use crate::install::ensure_installed;
use crate::options::Options;
use crate::requirements::{Os, Purpose};

/// Oldest macOS that the program runs on, as Info.plist says too.
pub(crate) const OLDEST: &str = "11.0";

const TARGETS: [&str; 2] = ["aarch64-apple-darwin", "x86_64-apple-darwin"];

/// Builds the program for both kinds of Mac, and makes one file of them.
pub(crate) fn build(options: &Options) -> Result<PathBuf, Failure> {
    ensure_mac()?;
    ensure_installed(Purpose::Build, options)?;
    let target = target_folder().join("package");
    let mut programs = Vec::new();
    for name in TARGETS {
        // Where Rust came without rustup, its library for the other kind of Mac has to be there.
        let _ = Command::new("rustup").args(["target", "add", name]).status();
        let mut command = cargo("build");
        command
            .args(["--release", "--locked", "--package", "atelier", "--features", "metal", "--target", name, "--target-dir"])
            .arg(&target);
        command.env("ATELIER_PORTABLE", "1").env("MACOSX_DEPLOYMENT_TARGET", OLDEST);
        finish(&mut command)?;
        programs.push(target.join(name).join("release/atelier"));
    }
    let universal = target.join("universal/atelier");
    universal.parent().map_or(Ok(()), create_folder)?;
    output(Command::new("lipo").arg("-create").args(&programs).arg("-output").arg(&universal))?;
    Ok(universal)
}

/// Makes bundle and image, signed and notarised where the environment says by whom.
pub(crate) fn package(staged: &Staged, out: &Path) -> Result<PathBuf, Failure> {
    ensure_mac()?;
    let app = out.join("tree/macos/Atelier.app");
    app.parent().map_or(Ok(()), create_folder)?;
    let image = out.join(format!("Atelier-{}.dmg", staged.version));
    let info = app.with_file_name("Info.plist");
    write(&info, &info_plist(&staged.version)?)?;
    run("bundle.sh", &[staged.folder.as_os_str(), info.as_os_str(), app.as_os_str()])?;
    run("keychain.sh", &[])?;
    run("sign.sh", &[app.as_os_str()])?;
    run("dmg.sh", &[app.as_os_str(), image.as_os_str()])?;
    run("notarise.sh", &[image.as_os_str()])?;
    Ok(image)
}

/// The bundle's description of itself.
fn info_plist(version: &str) -> Result<String, Failure> {
    let text = read(&root().join("packaging/macos/Info.plist"))?;
    Ok(text.replace("@VERSION@", version).replace("@FILE_TYPES@", &info_plist_types()))
}

fn run(script: &str, arguments: &[&std::ffi::OsStr]) -> Result<(), Failure> {
    let path = root().join("packaging/macos").join(script);
    // Standard output is for the path of the image.
    let text = output(Command::new("sh").arg(path).args(arguments))?;
    eprint!("{text}");
    Ok(())
}

fn ensure_mac() -> Result<(), Failure> {
    if Os::current() == Os::Macos {
        return Ok(());
    }
    Err(Failure::new(
        "The image for macOS needs a Mac: Apple's linker, lipo, codesign and hdiutil run nowhere else. `cargo xtask check --macos` says here \
         whether the program compiles for it.",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bundle_says_its_version_and_the_type_of_its_files() {
        let text = info_plist("1.2.3").unwrap();
        assert_eq!(text.matches("<string>1.2.3</string>").count(), 2);
        assert!(text.contains("\t<key>UTExportedTypeDeclarations</key>\n") && !text.contains('@'), "{text}");
        assert!(text.contains(&format!("<string>{OLDEST}</string>")));
        assert_eq!(text.matches("<dict>").count(), text.matches("</dict>").count());
    }
}
