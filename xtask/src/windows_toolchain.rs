//! `cargo xtask toolchain windows`: what a build for Windows on another system needs beside a
//! compiler for C++, namely Rust's standard library for that target.
//!
//! rustup brings it where it reaches its server. Elsewhere it is built once from its sources, which
//! Debian packs for each version of Rust: a minute of work, kept in the person's cache folder. With
//! bitcode, or the program could not be optimised as a whole.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo::{cargo, cargo_program, finish, output};
use crate::debian;
use crate::failure::Failure;
use crate::files::{create_folder, replace_folder};
use crate::install::ensure;
use crate::options::Options;
use crate::requirements::{DPKG_DEB, Os, Requirement, linux, program};

/// The target when the build runs on another system.
pub(crate) const TARGET: &str = "x86_64-pc-windows-gnu";

/// The part of Debian that has the sources of today's Rust.
const SUITE: &str = "trixie-backports";

/// Names of mingw-w64's compilers, the variant with POSIX threads first: the other one has no
/// `std::thread`.
const C_COMPILERS: &[&str] = &["x86_64-w64-mingw32-gcc-posix", "x86_64-w64-mingw32-gcc"];
const CPP_COMPILERS: &[&str] = &["x86_64-w64-mingw32-g++-posix", "x86_64-w64-mingw32-g++"];

const MINGW_C: Requirement = Requirement {
    name: "mingw-w64's C compiler",
    reason: "compiles and links for Windows",
    probe: program(C_COMPILERS),
    packages: linux("gcc-mingw-w64-x86-64-posix", "mingw64-gcc", "mingw-w64-gcc"),
    instruction: "Install mingw-w64 with POSIX threads.",
};

const MINGW_CPP: Requirement = Requirement {
    name: "mingw-w64's C++ compiler",
    reason: "compiles the engine for Windows",
    probe: program(CPP_COMPILERS),
    packages: linux("g++-mingw-w64-x86-64-posix", "mingw64-gcc-c++", "mingw-w64-gcc"),
    instruction: "Install mingw-w64 with POSIX threads.",
};

/// The chore: makes sure that everything is here, and says where.
pub(crate) fn install(options: &Options) -> Result<(), Failure> {
    if Os::current() == Os::Windows {
        eprintln!("On Windows the compiler at hand builds for Windows; nothing else is needed.");
        return Ok(());
    }
    match ensure_toolchain(options)? {
        None => eprintln!("Rust's standard library for Windows came with this Rust."),
        Some(sysroot) => eprintln!("Rust's standard library for Windows is in {}.", sysroot.display()),
    }
    Ok(())
}

/// Ensures that compiler and standard library are here. Returns the sysroot to build with; `None`:
/// rustc's own has the library.
pub(crate) fn ensure_toolchain(options: &Options) -> Result<Option<PathBuf>, Failure> {
    ensure(&[MINGW_C, MINGW_CPP], options)?;
    ensure_library(TARGET, "windows-std", options)
}

/// Ensures that Rust's standard library for a target is here, in a folder of this name or rustc's
/// own. Returns the sysroot to build with; `None`: rustc's own has the library.
pub(crate) fn ensure_library(target: &str, name: &str, options: &Options) -> Result<Option<PathBuf>, Failure> {
    let own = output(Command::new(rustc()).args(["--print", "target-libdir", "--target", target]))?;
    if holds_library(Path::new(own.trim())) {
        return Ok(None);
    }
    let version = rustc_version()?;
    let sysroot = cache_folder()?.join(format!("{name}-{version}"));
    if holds_library(&library_folder(target, &sysroot)) {
        return Ok(Some(sysroot));
    }
    if Command::new("rustup").args(["target", "add", target]).status().is_ok_and(|status| status.success()) {
        return Ok(None);
    }
    eprintln!("rustup does not bring Rust's standard library for {target} here, so it is built into {}.", sysroot.display());
    ensure(&[DPKG_DEB], options)?;
    build_library(target, &version, &sysroot)?;
    Ok(Some(sysroot))
}

/// Tells a cargo command to build for Windows.
pub(crate) fn set_target(command: &mut Command, sysroot: Option<&Path>) -> Result<(), Failure> {
    let c = compiler(C_COMPILERS)?;
    let cpp = compiler(CPP_COMPILERS)?;
    command.args(["--target", TARGET, "--config", &format!("target.{TARGET}.linker={c:?}")]);
    if let Some(sysroot) = sysroot {
        // As a list, so that a space in a folder's name does no harm.
        command.args(["--config", &format!("target.{TARGET}.rustflags=[\"--sysroot\", {:?}]", sysroot.display().to_string())]);
    }
    for (name, compiler) in [("CC_x86_64_pc_windows_gnu", c), ("CXX_x86_64_pc_windows_gnu", cpp)] {
        if env::var_os(name).is_none() {
            command.env(name, compiler);
        }
    }
    // libclang looks for the headers of a compiler of its own.
    let folders = ["include", "../../../../x86_64-w64-mingw32/include"].map(|folder| header_folder(c, folder)).into_iter().flatten();
    let arguments: Vec<String> = folders.map(|folder| format!("-isystem \"{}\"", folder.display())).collect();
    command.env("BINDGEN_EXTRA_CLANG_ARGS_x86_64_pc_windows_gnu", arguments.join(" "));
    Ok(())
}

/// A folder of the compiler's headers, named from its own folder.
fn header_folder(compiler: &str, folder: &str) -> Option<PathBuf> {
    let output = Command::new(compiler).arg(format!("-print-file-name={folder}")).output().ok()?;
    Path::new(String::from_utf8_lossy(&output.stdout).trim()).canonicalize().ok()
}

fn compiler(names: &[&'static str]) -> Result<&'static str, Failure> {
    let found = names.iter().find(|name| Command::new(name).arg("--version").output().is_ok());
    found.copied().ok_or_else(|| Failure::new("mingw-w64's compiler was not found. `cargo xtask toolchain windows` installs it."))
}

fn rustc() -> std::ffi::OsString {
    env::var_os("RUSTC").unwrap_or_else(|| Path::new(&cargo_program()).with_file_name("rustc").into())
}

/// Such as `1.95.0`.
fn rustc_version() -> Result<String, Failure> {
    let text = output(Command::new(rustc()).arg("--version"))?;
    parse_version(&text).ok_or_else(|| Failure::new(format!("rustc's version was not understood: {text}")))
}

fn parse_version(text: &str) -> Option<String> {
    text.split_whitespace().nth(1).map(str::to_owned)
}

/// Folder beside the source trees: all of them use the same library.
pub(crate) fn cache_folder() -> Result<PathBuf, Failure> {
    let named =
        env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(|| env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")));
    let folder =
        named.ok_or_else(|| Failure::new("Neither XDG_CACHE_HOME nor HOME says where Rust's library for other systems can be kept."))?;
    Ok(folder.join("atelier-build"))
}

fn library_folder(target: &str, sysroot: &Path) -> PathBuf {
    sysroot.join("lib/rustlib").join(target).join("lib")
}

fn holds_library(folder: &Path) -> bool {
    let Ok(entries) = folder.read_dir() else { return false };
    entries.flatten().any(|entry| library_crate(&entry.file_name().to_string_lossy()) == Some("std"))
}

/// The crate of a compiled library: `std` for `libstd.rlib` and `libstd-0123.rlib`.
fn library_crate(file_name: &str) -> Option<&str> {
    file_name.strip_prefix("lib")?.strip_suffix(".rlib")?.split('-').next()
}

/// Builds the standard library as Rust's own distribution does: its profile `dist`, with stable
/// features only.
fn build_library(target: &str, version: &str, sysroot: &Path) -> Result<(), Failure> {
    // A version has dots, so the name's end is no extension.
    let name = sysroot.file_name().unwrap_or_default().to_string_lossy();
    let beside = |suffix: &str| sysroot.with_file_name(format!("{name}-{suffix}"));
    let work = beside("work");
    replace_folder(&work)?;
    let mirror = debian::debian_mirror().ok_or_else(|| {
        Failure::new(format!("Without rustup this works on Debian only. Install Rust's library for {target} from where this Rust came."))
    })?;
    debian::fetch(&work, &mirror, SUITE, &[format!("rust-src={version}+*")]).map_err(|_| {
        Failure::new(format!(
            "Debian no longer has the sources of Rust {version}. Install the library for {target} from where this Rust came, or a Rust whose \
             sources Debian has (package rust-src)."
        ))
    })?;
    let sources = work.join(format!("usr/src/rustc-{version}/library"));
    let built = work.join("target");
    let mut build = cargo("build");
    build
        .args(["--locked", "--profile", "dist", "--features", "backtrace,panic-unwind", "--config", "profile.dist.debug=0"])
        .args(["--target", target, "--target-dir"])
        .arg(&built)
        .current_dir(sources.join("sysroot"))
        // The library is written in features that are not stable.
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTFLAGS", "-Zforce-unstable-if-unmarked -Cembed-bitcode=yes");
    finish(&mut build)?;
    let built = built.join(target).join("dist/deps");
    let unfinished = beside("unfinished");
    replace_folder(&unfinished)?;
    let folder = library_folder(target, &unfinished);
    create_folder(&folder)?;
    let failed = |error: std::io::Error| Failure::new(format!("Rust's library for {target} cannot be kept: {error}"));
    for entry in built.read_dir().map_err(failed)?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        // The crate `sysroot` only names the others.
        if library_crate(&name).is_some_and(|krate| krate != "sysroot") {
            fs::copy(entry.path(), folder.join(name)).map_err(failed)?;
        }
    }
    // Whole or not there.
    fs::rename(&unfinished, sysroot).map_err(failed)?;
    fs::remove_dir_all(&work).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_second_word() {
        assert_eq!(parse_version("rustc 1.95.0 (59807616e 2026-04-14)\n").as_deref(), Some("1.95.0"));
        assert_eq!(parse_version("rustc"), None);
    }

    #[test]
    fn a_library_is_known_with_and_without_its_hash() {
        assert_eq!([library_crate("libstd.rlib"), library_crate("libstd-0a1b.rlib")], [Some("std"); 2]);
        assert_eq!([library_crate("libstd_detect-0a1b.rlib"), library_crate("libstd-0a1b.rmeta")], [Some("std_detect"), None]);
        let root = tempfile::tempdir().unwrap();
        assert!(!holds_library(root.path()) && !holds_library(&root.path().join("absent")));
        fs::write(root.path().join("libstd-0a1b.rlib"), "").unwrap();
        assert!(holds_library(root.path()));
    }
}
