//! `cargo xtask check --macos`: whether the program, its shim of C++ included, compiles for a Mac,
//! on a system that is none.
//!
//! Zig compiles C++ for it without Apple's SDK. The engine itself is left out, and nothing is
//! linked: that needs a Mac.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo::{cargo_program, finish, output, root, target_folder};
use crate::failure::Failure;
use crate::gpu_kit::engine_sources;
use crate::install::{ensure, ensure_installed};
use crate::options::Options;
use crate::package::macos::OLDEST;
use crate::requirements::{Purpose, Requirement, linux, program};
use crate::windows_toolchain::{cache_folder, ensure_library};

const TARGET: &str = "aarch64-apple-darwin";

/// From `PyPI`: the compiler, and the program that lets cargo use it.
const TOOLS: [&str; 2] = ["ziglang==0.17.1", "cargo-zigbuild==0.24.0"];

const PYTHON: Requirement = Requirement {
    name: "Python with venv",
    reason: "brings Zig, which compiles C++ for a Mac",
    probe: program(&["python3"]),
    packages: linux("python3-venv", "python3", "python"),
    instruction: "Install Python 3 with its module venv.",
};

/// Checks the program in a target folder of its own.
pub(crate) fn check(options: &Options) -> Result<(), Failure> {
    ensure_installed(Purpose::Build, options)?;
    ensure(&[PYTHON], options)?;
    let tools = install_tools()?;
    let sysroot = ensure_library(TARGET, "macos-std", options)?;
    let engine = engine_sources()?;
    let mut command = Command::new(tools.join("cargo-zigbuild"));
    command.current_dir(root()).args(["check", "--locked", "--package", "atelier", "--bin", "atelier", "--target", TARGET, "--target-dir"]);
    command.arg(target_folder().join("macos-check"));
    if let Some(sysroot) = sysroot {
        command.args(["--config", &format!("target.{TARGET}.rustflags=[\"--sysroot\", {:?}]", sysroot.display().to_string())]);
    }
    command.env("PATH", path_with(&tools)?).env("CARGO", cargo_program()).env("MACOSX_DEPLOYMENT_TARGET", OLDEST);
    // The engine's crate then stops after its bindings; its headers are in its sources.
    command.env("DOCS_RS", "1").env("DEP_STABLE_DIFFUSION_ROOT", engine);
    let result = finish(&mut command);
    // Zig's compiler leaves it behind when it is asked who it is.
    let _ = fs::remove_file(root().join("vendor/ggml-sys/a.o"));
    result?;
    eprintln!("The program compiles for macOS. Linking and starting it needs a Mac.");
    Ok(())
}

/// Folder of the tools' programs, in a Python environment of their own.
fn install_tools() -> Result<PathBuf, Failure> {
    let folder = cache_folder()?.join("zig");
    let programs = folder.join("bin");
    let is_there = output(Command::new(programs.join("cargo-zigbuild")).arg("--version")).is_ok();
    if !is_there {
        output(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        output(Command::new(programs.join("python3")).args(["-m", "pip", "install", "--quiet"]).args(TOOLS))?;
    }
    Ok(programs)
}

fn path_with(folder: &Path) -> Result<OsString, Failure> {
    let rest = env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder.to_owned()).chain(env::split_paths(&rest));
    env::join_paths(folders).map_err(|error| Failure::new(format!("PATH cannot hold {}: {error}", folder.display())))
}
