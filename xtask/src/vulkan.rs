//! Builds with Vulkan; and `cargo xtask test --vulkan`, one in a folder of its own, tested on the
//! device that Mesa plays with the processor.
//!
//! The engine wants newer Vulkan headers than Debian 12 has. On Debian those of the next release
//! are fetched with apt, from the mirror that this system uses and checked by its keys, into a
//! folder beside the build: nothing is installed, and nothing else sees them.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo::{cargo, finish, target_folder};
use crate::failure::Failure;
use crate::files::copy_folder;
use crate::install::ensure_installed;
use crate::installed::software_vulkan_driver;
use crate::options::Options;
use crate::requirements::{Os, Purpose};

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
    set_header_path(&mut command)?;
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
    set_header_path(command)
}

/// Tells `CMake` of headers that are new enough, fetched where the system's are not.
pub(crate) fn set_header_path(command: &mut Command) -> Result<(), Failure> {
    if let Some(prefix) = find_or_fetch_headers(&target_folder().join("vulkan"))? {
        command.env("CMAKE_PREFIX_PATH", prepend_path("CMAKE_PREFIX_PATH", &prefix)?);
    }
    Ok(())
}

/// Tells `CMake` of headers in a folder of their own, for a build for another system: beside the
/// system's own lie those of its C library.
pub(crate) fn set_separate_header_path(command: &mut Command) -> Result<(), Failure> {
    let target = target_folder().join("vulkan");
    let prefix = match default_prefixes().into_iter().find(|prefix| is_new_enough(prefix)) {
        Some(prefix) if SYSTEM_PREFIXES.iter().any(|system| prefix == Path::new(system)) => separate_headers(&prefix, &target)?,
        Some(prefix) => prefix,
        None => fetch_headers(&target)?,
    };
    command.env("CMAKE_PREFIX_PATH", prepend_path("CMAKE_PREFIX_PATH", &prefix)?);
    Ok(())
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

/// The mirror of Debian from which this system is kept up to date; `None`: it is no Debian.
pub(crate) fn debian_mirror() -> Option<String> {
    let fields = ["indextargets", "--format", "$(ORIGIN) $(REPO_URI)", "Created-By: Packages"];
    let output = Command::new("apt-get").args(fields).output().ok().filter(|it| it.status.success())?;
    mirror_in(&String::from_utf8_lossy(&output.stdout))
}

/// The first of apt's sources that is Debian's own, and not of corrections to it.
fn mirror_in(targets: &str) -> Option<String> {
    let uris = targets.lines().filter_map(|line| line.strip_prefix("Debian "));
    uris.map(str::trim).find(|uri| !uri.trim_end_matches('/').ends_with("-security")).map(str::to_owned)
}

/// Fetches packages of a Debian release into a folder of ours, with lists of ours, and unpacks them
/// there.
pub(crate) fn fetch(folder: &Path, mirror: &str, release: &str, packages: &[String]) -> Result<(), Failure> {
    let apt = folder.join("apt");
    let write = || {
        fs::create_dir_all(apt.join("lists/partial"))?;
        fs::create_dir_all(apt.join("cache/archives/partial"))?;
        fs::write(apt.join("debian.sources"), sources(mirror, release))
    };
    write().map_err(|error| Failure::new(format!("{} cannot be written: {error}", apt.display())))?;
    let get = || {
        let mut command = Command::new("apt-get");
        let settings = [
            ("Dir::State::lists", apt.join("lists")),
            ("Dir::Cache", apt.join("cache")),
            ("Dir::Etc::sourcelist", apt.join("debian.sources")),
            ("Dir::Etc::sourceparts", "-".into()),
            // Packages alone, no icons and descriptions.
            ("Acquire::IndexTargets::deb::DEP-11::DefaultEnabled", "false".into()),
            ("Acquire::Languages", "none".into()),
            // The folder is ours, and apt's own user may not enter it.
            ("APT::Sandbox::User", "".into()),
        ];
        for (name, value) in settings {
            let mut setting = OsString::from(format!("{name}="));
            setting.push(value.as_os_str());
            command.arg("-o").arg(setting);
        }
        command.arg("--quiet").current_dir(&apt);
        command
    };
    finish(get().arg("update"))?;
    finish(get().arg("download").args(packages))?;
    let entries = fs::read_dir(&apt).map_err(|error| Failure::new(format!("{} cannot be read: {error}", apt.display())))?;
    let packages = entries.flatten().map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|it| it == "deb"));
    packages.into_iter().try_for_each(|package| finish(Command::new("dpkg-deb").arg("--extract").arg(package).arg(folder)))
}

fn sources(mirror: &str, release: &str) -> String {
    let keys = "/usr/share/keyrings/debian-archive-keyring.gpg";
    format!("Types: deb\nURIs: {mirror}\nSuites: {release}\nComponents: main\nSigned-By: {keys}\n")
}

/// A list of folders with this one before those that it holds already.
fn prepend_path(variable: &str, folder: &Path) -> Result<OsString, Failure> {
    let rest = env::var_os(variable).unwrap_or_default();
    let folders = std::iter::once(folder.to_owned()).chain(env::split_paths(&rest).filter(|it| !it.as_os_str().is_empty()));
    env::join_paths(folders).map_err(|error| Failure::new(format!("{variable} cannot hold {}: {error}", folder.display())))
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

    #[test]
    fn the_mirror_is_the_systems_own() {
        let targets =
            "Node Source https://node.example/\nDebian http://mirror.example/debian-security/\nDebian http://mirror.example/debian/\n";
        assert_eq!(mirror_in(targets).as_deref(), Some("http://mirror.example/debian/"));
        assert_eq!(mirror_in("Ubuntu http://mirror.example/ubuntu/\n"), None);
        assert!(sources("http://mirror.example/debian/", "trixie").contains("\nURIs: http://mirror.example/debian/\nSuites: trixie\n"));
    }
}
