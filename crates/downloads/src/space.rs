//! Free space of a disk.

use std::io;
use std::path::Path;

/// Bytes that this person may still write where a path is, or will be.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    // A folder that is yet to be made is on the disk of the nearest one that is there.
    let mut there = path;
    loop {
        match ask(there) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => match there.parent() {
                Some(parent) if !parent.as_os_str().is_empty() => there = parent,
                Some(_) => return ask(Path::new(".")),
                None => return Err(error),
            },
            other => return other,
        }
    }
}

#[cfg(unix)]
fn ask(path: &Path) -> io::Result<u64> {
    let disk = rustix::fs::statvfs(path)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(not(unix))]
fn ask(path: &Path) -> io::Result<u64> {
    let path = std::fs::canonicalize(path)?;
    // `\\?\C:\x` is on the disk that is mounted as `C:\`.
    let path = path.to_string_lossy().trim_start_matches(r"\\?\").to_owned();
    let disks = sysinfo::Disks::new_with_refreshed_list();
    let on = disks.list().iter().filter(|disk| Path::new(&path).starts_with(disk.mount_point()));
    let nearest = on.max_by_key(|disk| disk.mount_point().as_os_str().len());
    nearest.map(sysinfo::Disk::available_space).ok_or_else(|| io::ErrorKind::NotFound.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_yet_to_be_made_is_on_the_disk_of_its_parent() {
        let folder = tempfile::tempdir().unwrap();
        assert!(free_bytes(folder.path()).unwrap() > 0);
        assert!(free_bytes(&folder.path().join("a/b/c")).unwrap() > 0);
        assert!(free_bytes(Path::new("yet/to/be/made")).unwrap() > 0);
    }
}
