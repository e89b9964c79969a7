//! Small disks that tests fill, empty and protect against changes.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// A disk in memory, which is gone where it is dropped.
#[derive(Debug)]
pub struct SmallDisk {
    folder: PathBuf,
}

impl SmallDisk {
    /// A disk of so many bytes; `None`, which is printed, where the system lets this process mount
    /// none.
    #[must_use]
    pub fn mount(bytes: u64) -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("atelier-small-disk-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).ok()?;
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &format!("size={bytes}"), "tmpfs"]).arg(&folder).output();
        if mounted.is_ok_and(|it| it.status.success()) {
            return Some(Self { folder });
        }
        println!("skipped: this system does not let a test mount a disk");
        // It is empty.
        let _ = fs::remove_dir(folder);
        None
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.folder
    }

    fn filler(&self) -> PathBuf {
        self.folder.join(".filler")
    }

    /// Writes until nothing more fits.
    ///
    /// # Panics
    /// If the filling cannot be begun.
    pub fn fill(&self) {
        #[expect(clippy::expect_used, reason = "a test that cannot go on fails")]
        let mut file = File::options().append(true).create(true).open(self.filler()).expect("the disk can be written to");
        while file.write_all(&[0; 4096]).is_ok() {}
    }

    /// Takes away what [`Self::fill`] wrote.
    pub fn make_room(&self) {
        // A disk that was not filled has room. A child that is being started holds the file a
        // while, also once it is removed: it is emptied.
        let _ = File::options().write(true).open(self.filler()).and_then(|file| file.set_len(0));
        let _ = fs::remove_file(self.filler());
    }

    /// Protects it against changes, or no longer. Nothing may be open for writing then.
    ///
    /// # Panics
    /// If the system refuses.
    pub fn protect(&self, is_protected: bool) {
        let option = if is_protected { "remount,ro" } else { "remount,rw" };
        let done = Command::new("mount").args(["-o", option]).arg(&self.folder).status();
        assert!(done.is_ok_and(|it| it.success()), "{} is in use", self.folder.display());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // What still has a file open there keeps it a while.
        let _ = Command::new("umount").arg("-l").arg(&self.folder).status();
        let _ = fs::remove_dir(&self.folder);
    }
}
