//! Version with commit for the program (`ATELIER_VERSION`), which the program's own build script
//! hears of as `DEP_ATELIER_STUDIO_VERSION`.

use std::env;
use std::io;
use std::path::Path;
use std::process::Command;

/// Environment variable with the commit, for builds from a copy of the sources without git.
const COMMIT_VARIABLE: &str = "ATELIER_COMMIT";
/// From this crate's folder to the workspace's.
const WORKSPACE: &str = "../..";

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed={COMMIT_VARIABLE}");
    let number = env::var("CARGO_PKG_VERSION").map_err(io::Error::other)?;
    let version = format!("{number} ({})", commit());
    println!("cargo:rustc-env=ATELIER_VERSION={version}");
    println!("cargo:version={version}");
    Ok(())
}

/// The commit in seven digits. Only release builds ask git: a development build would be made again
/// after every commit.
fn commit() -> String {
    if let Some(given) = env::var(COMMIT_VARIABLE).ok().filter(|it| !it.is_empty()) {
        return given;
    }
    if env::var("PROFILE").is_ok_and(|profile| profile != "release") {
        return "development build".into();
    }
    commit_of_git().unwrap_or_else(|| "unknown commit".into())
}

/// `None` where there is no git, or this folder is not the top of a repository.
fn commit_of_git() -> Option<String> {
    let top = git(&["rev-parse", "--show-toplevel"])?;
    if Path::new(&top).canonicalize().ok()? != Path::new(WORKSPACE).canonicalize().ok()? {
        return None;
    }
    // Written to by every commit and checkout.
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    if Path::new(&log).is_file() {
        println!("cargo:rerun-if-changed={log}");
    }
    git(&["rev-parse", "--short=7", "HEAD"])
}

/// First line that git prints; `None` where it fails or is not installed.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok().filter(|it| it.status.success())?;
    String::from_utf8(output.stdout).ok()?.lines().next().map(str::to_owned)
}
