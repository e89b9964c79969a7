//! The register of a server: which devices were let in and who was there when, as files of this
//! person have it from one start to the next.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use atelier_core::advice::Advice;
use parking_lot::{Mutex, RwLock};

use super::approvals::{Approvals, too_many};
use super::guard::Entry;
use super::hub::now_ms;
use super::kept_file;
use super::uses::Uses;

/// Its files, in the folder of data.
const APPROVALS_FILE: &str = "serve-approvals.json";
const USES_FILE: &str = "serve-uses.json";

/// Who may come in without a token, and when tokens and devices were used.
#[derive(Debug)]
pub(super) struct Register {
    approvals_file: PathBuf,
    uses_file: PathBuf,
    approvals: RwLock<Approvals>,
    uses: Mutex<Uses>,
    /// Held while a file is changed.
    changing: Mutex<()>,
}

impl Register {
    /// The register in this folder; what cannot be read lets nobody in. Blocks.
    pub(super) fn open(data: &Path) -> Self {
        let (approvals_file, uses_file) = (data.join(APPROVALS_FILE), data.join(USES_FILE));
        let approvals = Approvals::read(&approvals_file).unwrap_or_else(|advice| {
            tracing::warn!("{advice}");
            Approvals::default()
        });
        let uses = Mutex::new(read_uses(&uses_file));
        Self { approvals_file, uses_file, approvals: RwLock::new(approvals), uses, changing: Mutex::default() }
    }

    /// True where this device was let in at this address of this computer.
    pub(super) fn admits(&self, address: IpAddr, here: IpAddr) -> bool {
        self.approvals.read().admits(address, here, &self.uses.lock(), now_secs())
    }

    /// The devices that were let in.
    pub(super) fn devices(&self) -> Vec<IpAddr> {
        let mut approvals = self.approvals.read().clone();
        approvals.remove_ended(&self.uses.lock(), now_secs());
        approvals.all().map(|(address, _)| address).collect()
    }

    /// Notes that somebody was let in by this; true where that is to be written.
    pub(super) fn note_use(&self, entry: &Entry) -> bool {
        self.uses.lock().note(entry, now_secs())
    }

    /// Writes down who was there. Blocks.
    pub(super) fn write_uses(&self) {
        let _changing = self.changing.lock();
        // Another server of this person may have written since.
        let mut uses = read_uses(&self.uses_file);
        uses.merge(self.uses.lock().clone(), now_secs());
        if let Err(error) = kept_file::write(&self.uses_file, &uses) {
            tracing::warn!("the last uses are not kept in {}: {error}", self.uses_file.display());
        }
    }

    /// Changes the approvals here and in their file. Blocks.
    fn change(&self, change: impl FnOnce(&mut Approvals) -> bool) -> Result<(), Advice> {
        let _changing = self.changing.lock();
        let mut approvals = Approvals::read(&self.approvals_file)?;
        approvals.remove_ended(&self.uses.lock(), now_secs());
        if change(&mut approvals) {
            approvals.write(&self.approvals_file)?;
        }
        *self.approvals.write() = approvals;
        Ok(())
    }
}

fn read_uses(file: &Path) -> Uses {
    kept_file::read(file).unwrap_or_else(|error| {
        tracing::warn!("the last uses in {} cannot be read: {error}", file.display());
        Uses::default()
    })
}

fn now_secs() -> i64 {
    now_ms() / 1000
}

/// The answer to a device without a token, which holds for as long as the server runs, and for later
/// starts once it is kept.
#[derive(Debug)]
#[must_use = "an answer is forgotten at the next start unless it is kept"]
pub struct DeviceAnswer {
    register: Arc<Register>,
    address: IpAddr,
    /// The address of this computer that a welcome device asked.
    here: Option<IpAddr>,
}

impl DeviceAnswer {
    /// Answers a device. `here`: the address of this computer that it asked; `None` where it is not
    /// let in.
    pub(super) fn new(register: &Arc<Register>, address: IpAddr, here: Option<IpAddr>) -> Self {
        let mut approvals = register.approvals.write();
        // Too many are told once it is kept.
        let _ = match here {
            Some(here) => approvals.add(address, here, now_secs()),
            None => approvals.remove(address),
        };
        drop(approvals);
        Self { register: Arc::clone(register), address, here }
    }

    /// Keeps it for later starts. Blocks.
    ///
    /// # Errors
    /// If the file of approvals cannot be read or written, or has too many.
    pub fn keep(self) -> Result<(), Advice> {
        let Self { register, address, here } = self;
        let mut has_room = true;
        register.change(|approvals| match here {
            Some(here) => {
                has_room = approvals.add(address, here, now_secs());
                has_room
            }
            None => approvals.remove(address),
        })?;
        if has_room { Ok(()) } else { Err(too_many(&register.approvals_file)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEVICE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 7));
    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));

    #[test]
    fn an_answer_holds_at_once_and_for_later_starts_once_it_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let register = Arc::new(Register::open(folder.path()));
        let is_let_in_later = || Register::open(folder.path()).admits(DEVICE, HERE);
        let answer = DeviceAnswer::new(&register, DEVICE, Some(HERE));
        assert!(register.admits(DEVICE, HERE) && !is_let_in_later());
        answer.keep().unwrap();
        assert!(register.admits(DEVICE, HERE) && is_let_in_later());
        assert_eq!(register.devices(), [DEVICE]);
        let answer = DeviceAnswer::new(&register, DEVICE, None);
        assert!(!register.admits(DEVICE, HERE) && is_let_in_later());
        answer.keep().unwrap();
        assert!(!register.admits(DEVICE, HERE) && !is_let_in_later());
        assert!(register.devices().is_empty());
    }

    #[test]
    fn a_file_that_cannot_be_read_lets_nobody_in_and_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(APPROVALS_FILE);
        std::fs::write(&file, b"{").unwrap();
        let register = Arc::new(Register::open(folder.path()));
        let advice = DeviceAnswer::new(&register, DEVICE, Some(HERE)).keep().unwrap_err();
        assert!(advice.sentence.contains(APPROVALS_FILE), "{advice}");
        assert!(register.admits(DEVICE, HERE), "for as long as this server runs");
        assert_eq!(std::fs::read(&file).unwrap(), b"{");
    }

    #[test]
    fn uses_of_two_servers_are_both_kept() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (Register::open(folder.path()), Register::open(folder.path()));
        let (anna, device) = (Entry::Token("Anna".into()), Entry::Device(DEVICE));
        assert!(first.note_use(&anna) && second.note_use(&device));
        first.write_uses();
        second.write_uses();
        let kept = read_uses(&folder.path().join(USES_FILE));
        assert!(kept.of(&anna).is_some() && kept.of(&device).is_some());
    }
}
