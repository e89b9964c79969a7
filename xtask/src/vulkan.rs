//! Builds with Vulkan; and `cargo xtask test --vulkan`, one in a folder of its own, tested on the
//! device that Mesa plays with the processor.
//!
//! The engine wants newer Vulkan headers than Debian 12 has. On Debian those of the next release
//! are fetched with apt, from the mirror that this system uses and checked by its keys, into a
//! folder beside the build: nothing is installed, and nothing else sees them.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo::{cargo, finish, target_folder};
use crate::debian::{debian_mirror, fetch};
use crate::failure::Failure;
use crate::files::copy_folder;
use crate::install::ensure_installed;
use crate::installed::software_vulkan_driver;
use crate::options::Options;
use crate::requirements::{Os, Purpose};
use crate::shader_compiler;

/// The Debian release whose headers are new enough.
const NEWER_DEBIAN: &str = "trixie";
const NEWER_PACKAGES: [&str; 2] = ["libvulkan-dev", "spirv-headers"];
const SYSTEM_PREFIXES: [&str; 2] = ["/usr/local", "/usr"];

/// Headers that the engine includes, each with an identifier that it has since version 1.3.272.
const VULKAN_HEADER: (&str, &str) = ("vulkan/vulkan_core.h", "VkLayerSettingEXT");
const CPP_HEADER: (&str, &str) = ("vulkan/vulkan_structs.hpp", "LayerSettingEXT");
/// Names of the SPIR-V header that the engine includes; one is enough.
const SPIRV_HEADERS: [&str; 3] = ["spirv/unified1/spirv.hpp", "spirv-headers/spirv.hpp", "spirv.hpp"];

/// Builds with Vulkan, and runs the tests that need it.
pub(crate) fn test(options: &Options) -> Result<(), Failure> {
    if Os::current() != Os::Linux {
        return Err(Failure::new("This test uses Mesa's Vulkan driver that computes on the processor, so it runs on Linux only."));
    }
    ensure_installed(Purpose::TestVulkan, options)?;
    let target = target_folder().join("vulkan");
    let mut command = cargo("test");
    command
        .args(["--package", "atelier", "--no-default-features", "--features", "vulkan", "--test", "vulkan", "--target-dir"])
        .arg(&target);
    command.args(["--", "--nocapture"]).args(&options.rest);
    set_prefixes(&mut command)?;
    let driver = software_vulkan_driver().ok_or_else(|| Failure::new("Mesa's Vulkan driver for the processor was not found."))?;
    // The only one that the loader sees, by its newer name and its older one, so that it is the
    // first device on every machine.
    command.env("VK_DRIVER_FILES", &driver).env("VK_ICD_FILENAMES", &driver);
    finish(&mut command)
}

/// Ensures that a build with these features finds Vulkan's headers and libraries.
pub(crate) fn prepare_build(command: &mut Command, options: &Options) -> Result<(), Failure> {
    let wanted = options.features.as_deref().is_some_and(|list| list.split([',', ' ']).any(|feature| feature == "vulkan"));
    if !wanted || !options.check || Os::current() != Os::Linux {
        return Ok(());
    }
    ensure_installed(Purpose::BuildVulkan, options)?;
    set_prefixes(command)
}

/// Tells `CMake` of headers and a shader compiler that are new enough, fetched where the system's
/// are not.
pub(crate) fn set_prefixes(command: &mut Command) -> Result<(), Failure> {
    let target = target_folder().join("vulkan");
    let headers = find_or_fetch_headers(&target)?;
    prepend_prefixes(command, shader_compiler::find_or_fetch(&target)?.into_iter().chain(headers))
}

/// The same with the headers in a folder of their own, for a build for another system: beside the
/// system's own lie those of its C library.
pub(crate) fn set_separate_prefixes(command: &mut Command) -> Result<(), Failure> {
    let target = target_folder().join("vulkan");
    let prefix = match default_prefixes().into_iter().find(|prefix| is_new_enough(prefix)) {
        Some(prefix) if SYSTEM_PREFIXES.iter().any(|system| prefix == Path::new(system)) => separate_headers(&prefix, &target)?,
        Some(prefix) => prefix,
        None => fetch_headers(&target)?,
    };
    prepend_prefixes(command, shader_compiler::find_or_fetch(&target)?.into_iter().chain([prefix]))
}

/// A folder with copies of the Vulkan headers of `prefix` alone.
fn separate_headers(prefix: &Path, target: &Path) -> Result<PathBuf, Failure> {
    let folder = target.join("separate");
    for name in ["vulkan", "vk_video", "spirv", "spirv-headers"] {
        let from = prefix.join("include").join(name);
        if from.is_dir() {
            copy_folder(&from, &folder.join("include").join(name))?;
        }
    }
    Ok(folder)
}

/// A folder with `include`, for `CMake` to look into first; `None`: the system's own headers will
/// do.
fn find_or_fetch_headers(target: &Path) -> Result<Option<PathBuf>, Failure> {
    if default_prefixes().iter().any(|prefix| is_new_enough(prefix)) {
        return Ok(None);
    }
    fetch_headers(target).map(Some)
}

/// A folder with `include`, fetched from Debian unless that was done before.
fn fetch_headers(target: &Path) -> Result<PathBuf, Failure> {
    let folder = target.join(NEWER_DEBIAN);
    let prefix = folder.join("usr");
    if !is_new_enough(&prefix) {
        let mirror = debian_mirror().ok_or_else(|| {
            Failure::new(
                "The Vulkan headers on this machine are missing or too old: 1.3.272 or newer is needed, and SPIR-V's beside them. Install \
                 your distribution's newest vulkan-headers and spirv-headers, or the Vulkan SDK and set VULKAN_SDK.",
            )
        })?;
        eprintln!("The Vulkan headers on this machine are too old. Those of Debian's {NEWER_DEBIAN} go into {}.", folder.display());
        fetch(&folder, &mirror, NEWER_DEBIAN, &NEWER_PACKAGES.map(str::to_owned))?;
    }
    if is_new_enough(&prefix) { Ok(prefix) } else { Err(Failure::new(format!("{} holds no Vulkan headers.", prefix.display()))) }
}

/// Prefixes that `CMake` searches for the headers.
fn default_prefixes() -> Vec<PathBuf> {
    let mut prefixes: Vec<PathBuf> = env::var_os("CMAKE_PREFIX_PATH").map(|list| env::split_paths(&list).collect()).unwrap_or_default();
    prefixes.extend(env::var_os("VULKAN_SDK").map(PathBuf::from));
    // It takes the first that there is.
    let system = SYSTEM_PREFIXES.map(PathBuf::from).into_iter().find(|it| it.join("include").join(VULKAN_HEADER.0).is_file());
    prefixes.extend(system);
    prefixes
}

fn is_new_enough(prefix: &Path) -> bool {
    let include = prefix.join("include");
    let holds = |(name, word): (&str, &str)| fs::read_to_string(include.join(name)).is_ok_and(|text| text.contains(word));
    holds(VULKAN_HEADER) && holds(CPP_HEADER) && SPIRV_HEADERS.iter().any(|name| include.join(name).is_file())
}

/// Has `CMake` look into these folders before those that the environment names.
fn prepend_prefixes(command: &mut Command, folders: impl Iterator<Item = PathBuf>) -> Result<(), Failure> {
    const VARIABLE: &str = "CMAKE_PREFIX_PATH";
    let rest = env::var_os(VARIABLE).unwrap_or_default();
    let folders = folders.chain(env::split_paths(&rest).filter(|it| !it.as_os_str().is_empty()));
    let list = env::join_paths(folders).map_err(|error| Failure::new(format!("{VARIABLE} cannot hold a folder: {error}")))?;
    if !list.is_empty() {
        command.env(VARIABLE, list);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_new_enough_by_what_they_hold() {
        let root = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let path = root.path().join("include").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        assert!(!is_new_enough(root.path()));
        put(VULKAN_HEADER.0, "typedef struct VkLayerSettingEXT {} VkLayerSettingEXT;");
        put(CPP_HEADER.0, "struct LayerSettingEXT {};");
        assert!(!is_new_enough(root.path()), "SPIR-V is missing");
        put(SPIRV_HEADERS[0], "");
        assert!(is_new_enough(root.path()));
        put(VULKAN_HEADER.0, "// 1.3.239");
        assert!(!is_new_enough(root.path()));
    }
}
