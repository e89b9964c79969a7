//! The archive for a person without root: it runs where it is unpacked, and `install.sh` puts it
//! into the home folder.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::linux::install_tree;
use super::stage::Staged;
use crate::cargo::{output, root};
use crate::failure::Failure;
use crate::files::{copy, replace_folder};

/// Packs what is staged.
pub(crate) fn package(staged: &Staged, out: &Path) -> Result<PathBuf, Failure> {
    let name = format!("atelier-{}-linux-x86_64", staged.version);
    let above = out.join("tree").join("tar");
    replace_folder(&above)?;
    let folder = above.join(&name);
    install_tree(staged, &folder)?;
    copy(&root().join("packaging/linux/install.sh"), &folder.join("install.sh"))?;
    let file = out.join(format!("{name}.tar.xz"));
    let mut command = Command::new("tar");
    command
        .args(["--create", "--use-compress-program=xz --threads=0", "--owner=0", "--group=0", "--numeric-owner", "--sort=name", "--file"])
        .arg(&file);
    output(command.arg("--directory").arg(&above).arg(&name))?;
    Ok(file)
}
