//! `cargo xtask gpu-kit`: one archive for a machine with a graphics card, without network and
//! without Rust.
//!
//! ```text
//! run.sh, *.py          the measurements (packaging/gpu-kit)
//! atelier               the packaged program, with Vulkan
//! builtin-model/        the model that comes with it
//! make-model            writes models with random weights (tests/testkit)
//! lib/                  Vulkan's loader, for machines that have a driver alone
//! tools/, assets/, cargo/   what the built-in model's training needs: its scripts, the model, the tokenizer's merge list
//! ```

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo::{cargo, finish, output, root, target_folder};
use crate::failure::Failure;
use crate::files::{copy, copy_folder, create_folder, replace_folder};
use crate::install::ensure;
use crate::options::Options;
use crate::package::stage::{self, TargetSystem};
use crate::package::{linux, packages_folder};
use crate::requirements::{Os, XZ};

/// What a machine that is lent may take along, in bytes.
const LIMIT: u64 = 64 << 20;

const NAME: &str = "atelier-gpu-kit";

/// The tokenizer's merge list, below the engine's crate.
const MERGES: &str = "stable-diffusion.cpp/src/tokenizers/vocab/qwen_merges.hpp";

const LOADER: &str = "libvulkan.so.1";

/// Builds, collects and packs. The last line on standard output is the kit's path.
pub(crate) fn gpu_kit(options: &Options) -> Result<(), Failure> {
    if Os::current() != Os::Linux {
        return Err(Failure::new("The kit is for machines with Linux, and is made on Linux."));
    }
    ensure(&[XZ], options)?;
    let program = options.program.clone().map_or_else(|| linux::build(options), Ok)?;
    let make_model = build_make_model()?;
    let above = packages_folder().join("tree").join("gpu-kit");
    replace_folder(&above)?;
    let folder = above.join(NAME);
    stage::stage(&program, TargetSystem::Linux, &folder)?;
    copy(&make_model, &folder.join("make-model"))?;
    // Symbols are for those who look for faults; the kit is small. Without strip it is larger.
    let _ = Command::new("strip").arg(folder.join("atelier")).arg(folder.join("make-model")).output();
    copy_folder(&root().join("packaging/gpu-kit"), &folder)?;
    collect_training(&folder)?;
    collect_loader(&folder);
    let file = packages_folder().join(format!("{NAME}.tar.xz"));
    let mut command = Command::new("tar");
    command.args(["--create", "--xz", "--owner=0", "--group=0", "--exclude=__pycache__", "--file"]).arg(&file);
    output(command.arg("--directory").arg(&above).arg(NAME))?;
    let size = fs::metadata(&file).map_or(0, |it| it.len());
    eprintln!("The kit has {:.1} MiB. There: tar -xf {NAME}.tar.xz && {NAME}/run.sh", size as f64 / f64::from(1 << 20));
    if size > LIMIT {
        return Err(Failure::new(format!("{} is larger than the {} MiB that may be carried.", file.display(), LIMIT >> 20)));
    }
    println!("{}", file.display());
    Ok(())
}

/// The program that writes random models; optimised, since they have gigabytes.
fn build_make_model() -> Result<PathBuf, Failure> {
    let target = target_folder().join("package");
    let mut command = cargo("build");
    command.args(["--release", "--locked", "--package", "testkit", "--bin", "make-model", "--target-dir"]).arg(&target);
    finish(&mut command)?;
    Ok(target.join("release/make-model"))
}

/// The scripts of the built-in model's training where they look for each other; the model is there
/// once.
fn collect_training(folder: &Path) -> Result<(), Failure> {
    let scripts = folder.join("tools/builtin-model");
    copy_folder(&root().join("tools/builtin-model"), &scripts)?;
    create_folder(&folder.join("assets"))?;
    output(Command::new("ln").args(["-s", "../builtin-model"]).arg(folder.join("assets/builtin-model")))?;
    let engine = engine_sources()?;
    let name = engine.file_name().unwrap_or_default();
    let to = folder.join("cargo/registry/src/any").join(name).join(MERGES);
    to.parent().map_or(Ok(()), create_folder)?;
    copy(&engine.join(MERGES), &to)
}

/// Folder of the engine's crate among cargo's sources.
pub(crate) fn engine_sources() -> Result<PathBuf, Failure> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| Some(env::home_dir()?.join(".cargo")));
    let registries = home.and_then(|home| fs::read_dir(home.join("registry/src")).ok()).into_iter().flatten().flatten();
    let crates = registries.filter_map(|registry| fs::read_dir(registry.path()).ok()).flat_map(Iterator::flatten);
    let engine = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("diffusion-rs-sys-"));
    let found = crates.map(|entry| entry.path()).filter(engine).find(|path| path.join(MERGES).is_file());
    found.ok_or_else(|| Failure::new("The engine's sources are not among cargo's. Run `cargo fetch` and try again."))
}

/// Takes this machine's loader along, if it has one.
fn collect_loader(folder: &Path) {
    let places = ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"];
    let found = places.iter().map(|place| Path::new(place).join(LOADER)).find(|path| path.is_file());
    let to = folder.join("lib");
    let copied = found.is_some_and(|loader| create_folder(&to).and_then(|()| copy(&loader, &to.join(LOADER))).is_ok());
    if !copied {
        eprintln!("No {LOADER} is here to take along; the machine with the card needs its own.");
    }
}
