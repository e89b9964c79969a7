//! The package for Debian, Ubuntu and what descends from them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::linux::{DESCRIPTION, Linkage, MAINTAINER, SUMMARY, install_tree, linkage, window_libraries};
use super::stage::Staged;
use crate::cargo::output;
use crate::failure::Failure;
use crate::files::{create_folder, read, replace_folder, write};
use crate::requirements::window_requirements;

/// Used where they are there: another display server, graphics cards, the desktop's file dialogs.
const RECOMMENDED: [&str; 3] = ["libvulkan1", "mesa-vulkan-drivers", "xdg-desktop-portal"];

/// Packs what is staged.
pub(crate) fn package(staged: &Staged, out: &Path) -> Result<PathBuf, Failure> {
    let folder = out.join("tree").join("deb");
    replace_folder(&folder)?;
    let usr = folder.join("usr");
    install_tree(staged, &usr)?;
    let documents = usr.join("share/doc/atelier");
    create_folder(&documents)?;
    write(&documents.join("copyright"), &copyright(&read(&staged.folder.join("LICENSE"))?)?)?;
    let control = folder.join("DEBIAN");
    create_folder(&control)?;
    let kib = kib_of(&usr)?;
    let linked = linkage(&staged.folder.join("atelier"))?;
    write(&control.join("control"), &control_file(&staged.version, kib, &depends(&linked)?))?;
    let sums =
        output(Command::new("sh").args(["-c", "find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum"]).current_dir(&folder))?;
    write(&control.join("md5sums"), &sums)?;
    output(Command::new("chmod").args(["-R", "u=rwX,go=rX"]).arg(&folder))?;
    let file = out.join(format!("atelier_{}_amd64.deb", staged.version));
    output(Command::new("dpkg-deb").args(["--root-owner-group", "-Zxz", "--build"]).args([&folder, &file]))?;
    Ok(file)
}

fn control_file(version: &str, kib: u64, depends: &[String]) -> String {
    let recommended: Vec<&str> = wayland_packages().into_iter().chain(RECOMMENDED).collect();
    format!(
        "Package: atelier\nVersion: {version}\nArchitecture: amd64\nMaintainer: {MAINTAINER}\nInstalled-Size: {kib}\nDepends: {}\n\
         Recommends: {}\nSection: graphics\nPriority: optional\nDescription: {SUMMARY}\n{}",
        depends.join(", "),
        recommended.join(", "),
        wrapped(DESCRIPTION)
    )
}

/// The licence without the text of Apache's, which every Debian has.
fn copyright(licence: &str) -> Result<String, Failure> {
    let mit = licence.split("\n====").nth(1).and_then(|section| section.split_once('\n')).map(|(_, text)| text.trim());
    let mit = mit.filter(|text| text.starts_with("MIT License")).ok_or_else(|| Failure::new("LICENSE has another form than expected."))?;
    Ok(format!(
        "Atelier is licensed, at your choice, under the Apache License, Version 2.0, which is in\n/usr/share/common-licenses/Apache-2.0, or \
         under the MIT License:\n\n{mit}\n\nIt contains the work of others, whose licences are in /usr/share/atelier/licences.html.\n"
    ))
}

/// What the program is linked to, then what its window loads.
fn depends(linked: &Linkage) -> Result<Vec<String>, Failure> {
    let mut packages: Vec<String> = Vec::new();
    for library in &linked.libraries {
        let package = match library.as_str() {
            "libc.so.6" | "libm.so.6" | "libdl.so.2" | "libpthread.so.0" | "librt.so.1" | "ld-linux-x86-64.so.2" => {
                format!("libc6 (>= {}.{})", linked.glibc.0, linked.glibc.1)
            }
            "libstdc++.so.6" => format!("libstdc++6 (>= {})", gcc_of(linked.libstdcxx.2)),
            "libgcc_s.so.1" => "libgcc-s1".to_owned(),
            other => {
                return Err(Failure::new(format!("The program is linked to {other}; say in {} which package has it.", file!())));
            }
        };
        if !packages.contains(&package) {
            packages.push(package);
        }
    }
    packages.extend(window_libraries().iter().map(|it| it.packages.apt.to_owned()));
    Ok(packages)
}

fn wayland_packages() -> Vec<&'static str> {
    let [with, without] = [true, false].map(window_requirements);
    with.iter().map(|it| it.packages.apt).filter(|name| without.iter().all(|it| it.packages.apt != *name)).collect()
}

/// The release of gcc whose libstdc++ was the first with `GLIBCXX_3.4.patch`.
const fn gcc_of(patch: u32) -> u32 {
    match patch {
        0..=25 => 8,
        26..=28 => 10,
        29 => 11,
        30 => 12,
        31 | 32 => 13,
        33 => 14,
        _ => 15,
    }
}

/// Lines of at most 78 characters, each indented by one as in a control file.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        if let Some(line) = lines.last_mut()
            && line.len() + word.len() < 78
        {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(format!(" {word}"));
        }
    }
    lines.into_iter().map(|line| line + "\n").collect()
}

/// Size of all files, each rounded up to KiB as dpkg does.
fn kib_of(folder: &Path) -> Result<u64, Failure> {
    let entries = fs::read_dir(folder).map_err(|error| Failure::new(format!("{} cannot be read: {error}", folder.display())))?;
    entries.flatten().try_fold(1, |sum, entry| {
        let path = entry.path();
        let kib = if path.is_dir() { kib_of(&path)? } else { entry.metadata().map_or(0, |it| it.len()).div_ceil(1024) };
        Ok(sum + kib)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linked(libraries: &[&str]) -> Linkage {
        Linkage { libraries: libraries.iter().map(|&it| it.to_owned()).collect(), glibc: (2, 35), libstdcxx: (3, 4, 29) }
    }

    #[test]
    fn the_package_depends_on_what_is_linked_and_what_the_window_loads() {
        let depends = depends(&linked(&["libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6"])).unwrap().join(", ");
        assert!(depends.starts_with("libstdc++6 (>= 11), libc6 (>= 2.35), libgcc-s1, libx11-6, libx11-xcb1, "), "{depends}");
        assert!(depends.contains("libegl1") && !depends.contains("wayland"), "{depends}");
    }

    #[test]
    fn the_copyright_names_debians_copy_of_apaches_licence() {
        let text = copyright(&read(&crate::cargo::root().join("LICENSE")).unwrap()).unwrap();
        assert!(text.contains("Copyright (c)") && text.contains("THE SOFTWARE IS PROVIDED"), "{text}");
        assert!(!text.contains("Derivative Works") && text.contains("/usr/share/common-licenses/Apache-2.0"));
    }

    #[test]
    fn a_library_without_a_package_stops_the_chore() {
        let failure = depends(&linked(&["libvulkan.so.1"])).unwrap_err();
        assert!(failure.message.unwrap().contains("libvulkan.so.1"));
    }

    #[test]
    fn the_control_file_has_every_field_once_and_short_lines() {
        let text = control_file("1.2.3", 100, &["libc6".to_owned()]);
        for field in ["Package", "Version", "Architecture", "Maintainer", "Installed-Size", "Depends", "Recommends", "Description"] {
            assert_eq!(text.lines().filter(|line| line.starts_with(&format!("{field}: "))).count(), 1, "{field}");
        }
        assert!(text.ends_with('\n') && text.contains("libwayland-client0"));
        let description = text.split_once("Description: ").unwrap().1;
        assert!(description.lines().skip(1).all(|line| line.starts_with(' ') && line.len() <= 79 && line.len() > 2), "{text}");
    }
}
