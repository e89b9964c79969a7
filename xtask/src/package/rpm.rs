//! The package for Fedora, openSUSE, RHEL and what descends from them.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::linux::{DESCRIPTION, Linkage, MAINTAINER, SUMMARY, install_tree, linkage, window_libraries};
use super::stage::Staged;
use crate::cargo::output;
use crate::failure::Failure;
use crate::files::{copy, replace_folder, write};
use crate::requirements::{Probe, Requirement, linux, program, window_requirements};

pub(crate) const RPMBUILD: Requirement = Requirement {
    name: "rpmbuild",
    reason: "packs the .rpm",
    probe: program(&["rpmbuild"]),
    packages: linux("rpm", "rpm-build", "rpm-tools"),
    instruction: "Install rpm-build with your system's package manager.",
};

/// Packs what is staged.
pub(crate) fn package(staged: &Staged, out: &Path) -> Result<PathBuf, Failure> {
    let folder = out.join("tree").join("rpm");
    replace_folder(&folder)?;
    let tree = folder.join("tree");
    install_tree(staged, &tree.join("usr"))?;
    let linked = linkage(&staged.folder.join("atelier"))?;
    let spec = folder.join("atelier.spec");
    write(&spec, &spec_file(&staged.version, &tree, &linked))?;
    let mut command = Command::new("rpmbuild");
    command.args(["-bb", "--quiet", "--target", "x86_64", "--define"]).arg(format!("_topdir {}", folder.display())).arg(&spec);
    output(&mut command)?;
    let name = format!("atelier-{}-1.x86_64.rpm", staged.version);
    copy(&folder.join("RPMS/x86_64").join(&name), &out.join(&name))?;
    Ok(out.join(name))
}

/// The names of libraries are the same in all these distributions; those of packages are not.
fn spec_file(version: &str, tree: &Path, linked: &Linkage) -> String {
    let requires = requires(linked).into_iter().map(|it| format!("Requires: {it}\n"));
    let recommends = recommends().into_iter().map(|it| format!("Recommends: {it}\n"));
    let relations: String = requires.chain(recommends).collect();
    format!(
        "%global debug_package %{{nil}}\n%global __os_install_post %{{nil}}\n%global _build_id_links none\n\
         %global _binary_payload w6T0.xzdio\n\
         Name: atelier\nVersion: {version}\nRelease: 1\nSummary: {SUMMARY}\nLicense: MIT OR Apache-2.0\nPackager: {MAINTAINER}\n\
         AutoReqProv: no\n{relations}\n%description\n{DESCRIPTION}\n\n%install\nmkdir -p %{{buildroot}}\ncp -a {tree}/. %{{buildroot}}/\n\n\
         %files\n%defattr(-,root,root,-)\n%dir /usr/share/atelier\n/usr/bin/atelier\n/usr/share/atelier/*\n\
         /usr/share/applications/atelier.desktop\n/usr/share/icons/hicolor/*/apps/atelier.*\n/usr/share/metainfo/atelier.metainfo.xml\n\
         /usr/share/mime/packages/atelier.xml\n/usr/share/man/man1/atelier.1.gz\n",
        tree = tree.display(),
    )
}

fn requires(linked: &Linkage) -> Vec<String> {
    let Linkage { libraries, glibc, libstdcxx } = linked;
    let mut names = vec![format!("libc.so.6(GLIBC_{}.{})(64bit)", glibc.0, glibc.1)];
    if libraries.iter().any(|it| it == "libstdc++.so.6") {
        names.push(format!("libstdc++.so.6(GLIBCXX_{}.{}.{})(64bit)", libstdcxx.0, libstdcxx.1, libstdcxx.2));
    }
    // The linker itself is part of libc and provided under another form of its name.
    names.extend(libraries.iter().filter(|it| !it.starts_with("ld-linux")).map(|it| provided(it)));
    names.extend(window_libraries().iter().filter_map(library_name));
    names
}

/// Used where they are there: another display server, graphics cards, drivers in software.
fn recommends() -> Vec<String> {
    let required: Vec<String> = window_libraries().iter().filter_map(library_name).collect();
    let wayland = window_requirements(true).iter().filter_map(library_name).filter(|it| !required.contains(it)).collect::<Vec<_>>();
    wayland.into_iter().chain([provided("libvulkan.so.1"), "mesa-dri-drivers".to_owned(), "xdg-desktop-portal".to_owned()]).collect()
}

fn library_name(requirement: &Requirement) -> Option<String> {
    match requirement.probe {
        Probe::Library(name) => Some(provided(name)),
        _ => None,
    }
}

fn provided(library: &str) -> String {
    format!("{library}()(64bit)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_requires_libraries_by_name_and_version() {
        let libraries = ["libc.so.6", "libm.so.6", "libstdc++.so.6", "ld-linux-x86-64.so.2"].map(str::to_owned).into();
        let linked = Linkage { libraries, glibc: (2, 35), libstdcxx: (3, 4, 29) };
        let spec = spec_file("1.2.3", Path::new("/tree"), &linked);
        for line in [
            "Version: 1.2.3",
            "Requires: libc.so.6(GLIBC_2.35)(64bit)",
            "Requires: libstdc++.so.6(GLIBCXX_3.4.29)(64bit)",
            "Requires: libm.so.6()(64bit)",
            "Requires: libX11.so.6()(64bit)",
            "Recommends: libwayland-client.so.0()(64bit)",
            "Recommends: libvulkan.so.1()(64bit)",
        ] {
            assert!(spec.lines().any(|it| it == line), "{line}\n{spec}");
        }
        assert!(!spec.contains("ld-linux"));
    }
}
