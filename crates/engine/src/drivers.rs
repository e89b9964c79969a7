//! Libraries that this system lacks for its graphics cards to be used, with the command that
//! installs them.

use super::ffi;
use atelier_language::tr;

/// Names the library that is missing, and how it is installed here; `None`: nothing is known to be
/// missing.
pub(crate) fn missing() -> Option<String> {
    ffi::is_vulkan_loader_missing().then(|| {
        let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
        tr!("engine-gpus-are-not-used", how_to_install = how_to_install(std::env::consts::OS, &release))
    })
}

/// `os` as [`std::env::consts::OS`] has it, and the text of `os-release` where there is one.
fn how_to_install(os: &str, os_release: &str) -> &'static str {
    match os {
        "windows" => tr!("engine-install-your-gpus-newest"),
        "macos" => tr!("engine-install-it-with-brew"),
        _ => {
            let ids: Vec<String> = os_release.lines().filter_map(ids_in).flatten().collect();
            let is_like = |names: &[&str]| ids.iter().any(|id| names.contains(&id.as_str()));
            if is_like(&["debian", "ubuntu"]) {
                tr!("engine-install-it-with-sudo-apt-install")
            } else if is_like(&["fedora", "rhel", "centos"]) {
                tr!("engine-install-it-with-sudo-dnf-install")
            } else if is_like(&["arch"]) {
                tr!("engine-install-it-with-sudo")
            } else {
                tr!("engine-install-the-vulkan-loader")
            }
        }
    }
}

/// The systems that a line of `os-release` names: `ID=debian`, `ID_LIKE="rhel fedora"`.
fn ids_in(line: &str) -> Option<Vec<String>> {
    let (key, value) = line.split_once('=')?;
    let ids = value.trim().trim_matches(['"', '\'']).split_whitespace();
    matches!(key.trim(), "ID" | "ID_LIKE").then(|| ids.map(str::to_ascii_lowercase).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_system_is_told_its_own_command() {
        for (os, release, told) in [
            ("linux", "NAME=\"Debian GNU/Linux\"\nID=debian\n", "apt install libvulkan1"),
            ("linux", "ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n", "apt install libvulkan1"),
            ("linux", "ID=fedora\n", "dnf install vulkan-loader"),
            ("linux", "ID='almalinux'\nID_LIKE='rhel centos fedora'\n", "dnf install vulkan-loader"),
            ("linux", "ID=manjaro\nID_LIKE=arch\n", "pacman -S vulkan-icd-loader"),
            ("linux", "PRETTY_NAME=debian\n", "your system's package manager"),
            ("linux", "", "your system's package manager"),
            ("windows", "", "winget install KhronosGroup.VulkanRT"),
            ("macos", "", "brew install vulkan-loader"),
        ] {
            assert!(how_to_install(os, release).contains(told), "{os} {release}");
        }
    }

    #[test]
    fn a_build_without_vulkan_misses_nothing() {
        assert!(cfg!(feature = "vulkan") || missing().is_none());
    }
}
