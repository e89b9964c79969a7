//! Packages of a Debian release, unpacked into a folder of ours: for what this system's release has
//! too old. Nothing is installed.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::cargo::finish;
use crate::failure::Failure;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mirror_is_the_systems_own() {
        let targets =
            "Node Source https://node.example/\nDebian http://mirror.example/debian-security/\nDebian http://mirror.example/debian/\n";
        assert_eq!(mirror_in(targets).as_deref(), Some("http://mirror.example/debian/"));
        assert_eq!(mirror_in("Ubuntu http://mirror.example/ubuntu/\n"), None);
        assert!(sources("http://mirror.example/debian/", "trixie").contains("\nURIs: http://mirror.example/debian/\nSuites: trixie\n"));
    }
}
