//! Devices without a token that were let in by their addresses.
//!
//! An address proves nothing: a router may give it to another device, and whoever is in the same
//! network can take it. So an approval counts only at the address of this computer that the device
//! asked, which is seldom the same in another network, and ends once nobody uses it.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;

use atelier_core::advice::Advice;
use serde::{Deserialize, Serialize};

use super::clock::DAY_SECS;
use super::guard::Entry;
use super::kept_file;
use super::uses::Uses;

/// Days without use after which an approval ends.
pub const APPROVAL_DAYS: u32 = 30;
/// Most approvals.
const MAX_APPROVALS: usize = 1000;

/// One device's approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Approval {
    /// The address of this computer that it asked.
    here: IpAddr,
    /// Seconds since 1970.
    since: i64,
    /// What the program called itself that asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    program: Option<String>,
}

/// A device that was let in. Times are in seconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Device {
    pub(super) address: IpAddr,
    pub(super) program: Option<String>,
    pub(super) since: i64,
    /// When its approval ends, if it is not used meanwhile.
    pub(super) until: i64,
}

/// The devices that were let in, by their addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Approvals(BTreeMap<IpAddr, Approval>);

impl Approvals {
    /// Those of a file. Blocks.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(super) fn read(file: &Path) -> Result<Self, Advice> {
        kept_file::read(file).map_err(|error| faulty(file, &error))
    }

    /// Blocks.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(super) fn write(&self, file: &Path) -> Result<(), Advice> {
        kept_file::write(file, self).map_err(|error| faulty(file, &error))
    }

    /// True where this device was let in at this address of this computer.
    pub(super) fn admits(&self, address: IpAddr, here: IpAddr, uses: &Uses, now_secs: i64) -> bool {
        self.0.get(&address).is_some_and(|it| it.here == here && it.until(address, uses) > now_secs)
    }

    /// Lets a device in; false where too many were let in.
    pub(super) fn add(&mut self, address: IpAddr, here: IpAddr, program: Option<String>, now_secs: i64) -> bool {
        let has_room = self.0.len() < MAX_APPROVALS || self.0.contains_key(&address);
        if has_room {
            self.0.insert(address, Approval { here, since: now_secs, program });
        }
        has_room
    }

    /// False where it was not let in.
    pub(super) fn remove(&mut self, address: IpAddr) -> bool {
        self.0.remove(&address).is_some()
    }

    /// Forgets those that have ended.
    pub(super) fn remove_ended(&mut self, uses: &Uses, now_secs: i64) {
        self.0.retain(|address, it| it.until(*address, uses) > now_secs);
    }

    /// The devices, also those whose approval has ended.
    pub(super) fn all(&self, uses: &Uses) -> impl Iterator<Item = Device> {
        self.0.iter().map(|(address, it)| Device {
            address: *address,
            program: it.program.clone(),
            since: it.since,
            until: it.until(*address, uses),
        })
    }
}

impl Approval {
    /// When it ends, if it is not used meanwhile.
    fn until(&self, address: IpAddr, uses: &Uses) -> i64 {
        let used = uses.of(&Entry::Device(address)).unwrap_or(self.since).max(self.since);
        used.saturating_add(i64::from(APPROVAL_DAYS) * DAY_SECS)
    }
}

pub(super) fn too_many(file: &Path) -> Advice {
    Advice::new("Too many devices have access.", format!("Revoke some, or remove {}.", file.display()))
}

fn faulty(file: &Path, error: &dyn std::fmt::Display) -> Advice {
    Advice::new(
        format!("The devices in {} cannot be used: {error}.", file.display()),
        "Repair the file, or remove it to let devices in anew. Until then an answer holds for as long as the server runs.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 168, 1, 5));

    fn device(last: u8) -> IpAddr {
        IpAddr::from([192, 168, 1, last])
    }

    #[test]
    fn an_approval_is_for_one_address_in_one_network_and_stays_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("approvals.json");
        let mut approvals = Approvals::read(&file).unwrap();
        assert!(approvals.add(device(23), HERE, Some("Blender/4.2".into()), 100));
        approvals.write(&file).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(file.metadata().unwrap().permissions().mode() & 0o077, 0, "it is its owner's alone");
        }
        let mut again = Approvals::read(&file).unwrap();
        assert_eq!(again, approvals);
        assert_eq!(again.all(&Uses::default()).next().unwrap().program.as_deref(), Some("Blender/4.2"));
        let admits = |approvals: &Approvals, address: IpAddr, here: IpAddr| approvals.admits(address, here, &Uses::default(), 101);
        assert!(admits(&again, device(23), HERE));
        assert!(!admits(&again, device(24), HERE), "another device");
        assert!(!admits(&again, device(23), device(6)), "another network, or another address of this computer");
        assert!(again.remove(device(23)) && !again.remove(device(23)));
        assert!(!admits(&again, device(23), HERE));
        std::fs::write(&file, br#"{"192.168.1.24": {"here": "192.168.1.5", "since": 100}}"#).unwrap();
        assert!(admits(&Approvals::read(&file).unwrap(), device(24), HERE), "one of before programs were noted");
        std::fs::write(&file, br#"{"somebody": {}}"#).unwrap();
        assert!(Approvals::read(&file).unwrap_err().sentence.contains("approvals.json"));
    }

    #[test]
    fn an_approval_ends_after_thirty_days_without_use() {
        const LASTS: i64 = 30 * DAY_SECS;
        let mut approvals = Approvals::default();
        approvals.add(device(1), HERE, None, 1000);
        approvals.add(device(2), HERE, None, 1000);
        let mut uses = Uses::default();
        uses.note(&Entry::Device(device(2)), 5000);
        let admitted = |now: i64| [1, 2].map(|last| approvals.admits(device(last), HERE, &uses, now));
        assert_eq!(admitted(1000 + LASTS - 1), [true, true]);
        assert_eq!(admitted(1000 + LASTS), [false, true]);
        assert_eq!(admitted(5000 + LASTS), [false, false]);
        let mut rest = approvals.clone();
        rest.remove_ended(&uses, 1000 + LASTS);
        assert_eq!(rest.all(&uses).collect::<Vec<_>>(), [Device { address: device(2), program: None, since: 1000, until: 5000 + LASTS }]);
        // A use of an approval before this one does not end it.
        approvals.add(device(2), HERE, None, 2 * LASTS);
        assert!(approvals.admits(device(2), HERE, &uses, 2 * LASTS + 1));
    }
}
