//! Disk space of shared pictures: how much each owner may fill, and does.

use std::io;
use std::path::PathBuf;

use atelier_core::paths::Paths;
use atelier_gallery::queue::Owner;
use atelier_studio::disk_use::bytes_kept;

use super::retention::saved_folder;

/// Decimal, as file managers count.
const GIGABYTE: u64 = 1_000_000_000;

/// Disk space of the pictures of each owner. Once it is full, new jobs of that owner are refused;
/// what was added before is finished, and nothing is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskQuota(u32);

impl DiskQuota {
    /// The largest one, in gigabytes.
    pub const MAX_GIGABYTES: u32 = 1_000_000;
    /// In gigabytes, where nobody chose: thousands of pictures.
    pub const USUAL_GIGABYTES: u32 = 10;

    /// So many gigabytes; 0: without a limit.
    #[must_use]
    pub fn of_gigabytes(gigabytes: u32) -> Self {
        Self(gigabytes.min(Self::MAX_GIGABYTES))
    }

    /// In gigabytes; 0: without a limit.
    #[must_use]
    pub const fn gigabytes(self) -> u32 {
        self.0
    }

    /// The most bytes of this owner's pictures; `None`: without a limit. Programs of this computer
    /// that need no token have none, as the person at the machine: the disk is theirs in any case.
    #[must_use]
    pub fn bytes_of(self, owner: &Owner) -> Option<u64> {
        let is_limited = self.0 > 0 && !owner.is_person() && !owner.is_this_computer();
        is_limited.then(|| u64::from(self.0) * GIGABYTE)
    }
}

impl Default for DiskQuota {
    fn default() -> Self {
        Self(Self::USUAL_GIGABYTES)
    }
}

/// Where the pictures of an owner are kept.
pub(crate) fn folder_of(paths: &Paths, owner: &Owner) -> PathBuf {
    paths.shared_pictures().join(owner.folder_name())
}

/// Bytes that the pictures of an owner take. Blocks.
///
/// # Errors
/// If their folder cannot be read.
pub fn used_bytes(paths: &Paths, owner: &Owner) -> io::Result<u64> {
    let folder = folder_of(paths, owner);
    Ok(bytes_kept(&folder)?.saturating_add(bytes_kept(&saved_folder(&folder))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_owner_has_the_same_space_but_who_has_the_disk_in_any_case() {
        let anna = Owner::named("Anna");
        assert_eq!(DiskQuota::default().bytes_of(&anna), Some(10_000_000_000));
        assert_eq!(DiskQuota::of_gigabytes(0).bytes_of(&anna), None);
        assert_eq!(DiskQuota::of_gigabytes(u32::MAX).gigabytes(), DiskQuota::MAX_GIGABYTES);
        assert_eq!(DiskQuota::default().bytes_of(&Owner::sharing("guest", [10, 0, 0, 7].into())), Some(10_000_000_000));
        for free in [Owner::person(), Owner::this_computer()] {
            assert_eq!(DiskQuota::default().bytes_of(&free), None);
        }
    }
}
