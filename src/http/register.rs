//! The register of a server: which tokens there are, which devices were let in and who was there
//! when, as files of this person have it. Other processes change them too, at any time.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use atelier_core::advice::Advice;
use parking_lot::{Mutex, RwLock};

use super::approvals::{Approvals, too_many};
use super::clock::now_secs;
use super::guard::{Entry, Policy};
use super::kept_file::{self, Followed};
use super::tokens;
use super::uses::Uses;
use super::visitors::Caller;

/// Its files, in the folder of data.
const APPROVALS_FILE: &str = "serve-approvals.json";
const USES_FILE: &str = "serve-uses.json";

/// Who may come in, and when tokens and devices were used.
#[derive(Debug)]
pub(super) struct Register {
    data: PathBuf,
    tokens_file: Mutex<Followed>,
    approvals_file: Mutex<Followed>,
    approvals: RwLock<Approvals>,
    uses: Mutex<Uses>,
    has_unwritten: AtomicBool,
    /// Held while a file is changed.
    changing: Mutex<()>,
}

impl Register {
    /// The register in this folder. Blocks.
    pub(super) fn open(data: &Path) -> Self {
        Self {
            data: data.to_owned(),
            tokens_file: Mutex::new(Followed::new(tokens::file_in(data))),
            approvals_file: Mutex::new(Followed::new(data.join(APPROVALS_FILE))),
            approvals: RwLock::default(),
            uses: Mutex::new(read_uses(data)),
            has_unwritten: AtomicBool::new(false),
            changing: Mutex::default(),
        }
    }

    /// Reads what was changed in the files since it was read last, the tokens into this policy; true
    /// where something was. What cannot be read stays as it was. Blocks.
    pub(super) fn refresh(&self, policy: &RwLock<Policy>) -> bool {
        let are_tokens_read = self.tokens_file.lock().refresh(|file| {
            let mut tokens = policy.read().tokens.clone();
            tokens.reload(file, now_secs())?;
            policy.write().tokens = tokens;
            Ok(())
        });
        let are_approvals_read = self.approvals_file.lock().refresh(|file| {
            *self.approvals.write() = Approvals::read(file)?;
            Ok(())
        });
        are_tokens_read || are_approvals_read
    }

    /// True where this device was let in at this address of this computer.
    pub(super) fn admits(&self, address: IpAddr, here: IpAddr) -> bool {
        self.approvals.read().admits(address, here, &self.uses.lock(), now_secs())
    }

    /// The devices that were let in.
    pub(super) fn devices(&self) -> Vec<Caller> {
        let now_secs = now_secs();
        // In this order everywhere.
        let approvals = self.approvals.read();
        let uses = self.uses.lock();
        approvals.all(&uses).filter(|it| it.until > now_secs).map(|it| Caller { address: it.address, program: it.program }).collect()
    }

    /// Notes that somebody was let in by this; true where that is to be written.
    pub(super) fn note_use(&self, entry: &Entry) -> bool {
        let is_to_be_written = self.uses.lock().note(entry, now_secs());
        if is_to_be_written {
            self.has_unwritten.store(true, Ordering::Release);
        }
        is_to_be_written
    }

    /// Writes down who was there, where that was not written yet. Blocks.
    pub(super) fn write_uses(&self) {
        let _changing = self.changing.lock();
        if !self.has_unwritten.swap(false, Ordering::AcqRel) {
            return;
        }
        if let Err(error) = kept_file::write(&self.data.join(USES_FILE), &self.all_uses()) {
            tracing::warn!("the last uses are not kept in {USES_FILE}: {error}");
        }
    }

    /// The last uses, with those that another server of this person has written since. Blocks.
    fn all_uses(&self) -> Uses {
        let written = read_uses(&self.data);
        let mut uses = self.uses.lock();
        uses.merge(written, now_secs());
        uses.clone()
    }

    /// Changes the approvals here and in their file. Blocks.
    fn change(&self, change: impl FnOnce(&mut Approvals) -> bool) -> Result<(), Advice> {
        let _changing = self.changing.lock();
        let file = self.data.join(APPROVALS_FILE);
        let mut approvals = Approvals::read(&file)?;
        approvals.remove_ended(&self.all_uses(), now_secs());
        if change(&mut approvals) {
            approvals.write(&file)?;
        }
        *self.approvals.write() = approvals;
        Ok(())
    }
}

fn read_uses(data: &Path) -> Uses {
    kept_file::read(&data.join(USES_FILE)).unwrap_or_else(|error| {
        tracing::warn!("the last uses in {USES_FILE} cannot be read: {error}");
        Uses::default()
    })
}

/// Somebody who may come in by the files of this person. Times are in seconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    /// Of the person who has the token; of a device, its address.
    pub name: String,
    /// A device without a token.
    pub is_device: bool,
    /// What the program of a device called itself when it asked.
    pub program: Option<String>,
    /// `None`: nobody noted it.
    pub since_secs: Option<i64>,
    /// `None`: not since then.
    pub used_secs: Option<i64>,
    /// When it ends, if nothing is used meanwhile; `None`: never.
    pub until_secs: Option<i64>,
}

/// Everybody who may come in by the files in this folder: people, then devices. Blocks.
///
/// # Errors
/// If a file cannot be read.
pub(super) fn admissions(data: &Path) -> Result<Vec<Admission>, Advice> {
    let (uses, now_secs) = (read_uses(data), now_secs());
    let used = |entry: &Entry, since: Option<i64>| uses.of(entry).filter(|used| since.is_none_or(|since| *used >= since));
    let tokens = tokens::kept_in(&tokens::file_in(data), now_secs)?;
    let approvals = Approvals::read(&data.join(APPROVALS_FILE))?;
    let people = tokens.into_iter().map(|it| Admission {
        used_secs: used(&Entry::Token(it.name.clone()), it.since),
        name: it.name,
        is_device: false,
        program: None,
        since_secs: it.since,
        until_secs: it.until,
    });
    let devices = approvals.all(&uses).filter(|it| it.until > now_secs).map(|it| Admission {
        name: it.address.to_string(),
        is_device: true,
        program: it.program,
        since_secs: Some(it.since),
        used_secs: used(&Entry::Device(it.address), Some(it.since)),
        until_secs: Some(it.until),
    });
    Ok(people.chain(devices).collect())
}

/// Takes the token of this name back, and what let the device of this address in; servers that run
/// learn of it. False where there is neither. Blocks.
///
/// # Errors
/// If a file cannot be read or written.
pub(super) fn revoke(data: &Path, name: &str) -> Result<bool, Advice> {
    let had_token = tokens::forget(&tokens::file_in(data), name)?;
    let Ok(address) = name.parse::<IpAddr>() else { return Ok(had_token) };
    let file = data.join(APPROVALS_FILE);
    let mut approvals = Approvals::read(&file)?;
    let was_let_in = approvals.remove(address.to_canonical());
    if was_let_in {
        approvals.write(&file)?;
    }
    Ok(had_token || was_let_in)
}

/// What becomes of a device without a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Welcome {
    /// It is let in at this address of this computer; its program called itself so.
    At(IpAddr, Option<String>),
    TurnedAway,
    /// It does not ask any more: what was answered elsewhere holds.
    Answered,
}

/// The answer to a device without a token, which holds for as long as the server runs, and for later
/// starts once it is kept.
#[derive(Debug)]
#[must_use = "an answer is forgotten at the next start unless it is kept"]
pub struct DeviceAnswer {
    register: Arc<Register>,
    address: IpAddr,
    welcome: Welcome,
}

impl DeviceAnswer {
    /// Answers a device.
    pub(super) fn new(register: &Arc<Register>, address: IpAddr, welcome: Welcome) -> Self {
        // Too many are told once it is kept.
        let _ = change(&mut register.approvals.write(), address, &welcome);
        Self { register: Arc::clone(register), address, welcome }
    }

    /// Keeps it for later starts. Blocks.
    ///
    /// # Errors
    /// If the file of approvals cannot be read or written, or has too many.
    pub fn keep(self) -> Result<(), Advice> {
        let Self { register, address, welcome } = self;
        let mut is_changed = false;
        register.change(|approvals| {
            is_changed = change(approvals, address, &welcome);
            is_changed
        })?;
        let has_room = is_changed || !matches!(welcome, Welcome::At(..));
        if has_room { Ok(()) } else { Err(too_many(&register.data.join(APPROVALS_FILE))) }
    }
}

/// Answers a device in these approvals; false where that changes nothing.
fn change(approvals: &mut Approvals, address: IpAddr, welcome: &Welcome) -> bool {
    match welcome {
        Welcome::At(here, program) => approvals.add(address, *here, program.clone(), now_secs()),
        Welcome::TurnedAway => approvals.remove(address),
        Welcome::Answered => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEVICE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 7));
    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));

    fn let_in() -> Welcome {
        Welcome::At(HERE, Some("Blender/4.2".into()))
    }

    /// The register as a server has it that starts now.
    fn opened(data: &Path) -> Arc<Register> {
        let register = Register::open(data);
        register.refresh(&RwLock::default());
        Arc::new(register)
    }

    #[test]
    fn an_answer_holds_at_once_and_after_a_restart_once_it_is_saved() {
        let folder = tempfile::tempdir().unwrap();
        let register = opened(folder.path());
        let is_let_in_later = || opened(folder.path()).admits(DEVICE, HERE);
        let answer = DeviceAnswer::new(&register, DEVICE, let_in());
        assert!(register.admits(DEVICE, HERE) && !is_let_in_later());
        answer.keep().unwrap();
        assert!(register.admits(DEVICE, HERE) && is_let_in_later());
        let device = Caller { address: DEVICE, program: Some("Blender/4.2".into()) };
        assert_eq!((register.devices(), opened(folder.path()).devices()), (vec![device.clone()], vec![device]));
        DeviceAnswer::new(&register, DEVICE, Welcome::Answered).keep().unwrap();
        assert!(register.admits(DEVICE, HERE) && is_let_in_later(), "as it was answered before");
        let answer = DeviceAnswer::new(&register, DEVICE, Welcome::TurnedAway);
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
        let register = opened(folder.path());
        let advice = DeviceAnswer::new(&register, DEVICE, let_in()).keep().unwrap_err();
        assert!(advice.sentence.contains(APPROVALS_FILE), "{advice}");
        assert!(register.admits(DEVICE, HERE), "for as long as this server runs");
        assert_eq!(std::fs::read(&file).unwrap(), b"{");
        revoke(folder.path(), "10.0.0.7").unwrap_err();
        assert!(!revoke(folder.path(), "Anna").unwrap(), "tokens are elsewhere");
        admissions(folder.path()).unwrap_err();
    }

    #[test]
    fn last_uses_of_two_servers_are_merged() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (opened(folder.path()), opened(folder.path()));
        let (anna, device) = (Entry::Token("Anna".into()), Entry::Device(DEVICE));
        assert!(first.note_use(&anna) && second.note_use(&device));
        first.write_uses();
        second.write_uses();
        let kept = read_uses(folder.path());
        assert!(kept.of(&anna).is_some() && kept.of(&device).is_some());
        assert!(second.uses.lock().of(&anna).is_some() && first.all_uses().of(&device).is_some(), "each knows of the other's");
    }

    #[test]
    fn who_may_come_in_is_listed_and_a_server_that_runs_learns_who_may_no_longer() {
        let folder = tempfile::tempdir().unwrap();
        let policy = RwLock::new(Policy::default());
        let register = Arc::new(Register::open(folder.path()));
        let people = ["Anna".to_owned(), "Ben".to_owned()];
        let told = policy.write().tokens.of_people(&tokens::file_in(folder.path()), &people, None, 1000).unwrap();
        DeviceAnswer::new(&register, DEVICE, let_in()).keep().unwrap();
        assert!(register.refresh(&policy) && !register.refresh(&policy));
        assert!(register.note_use(&Entry::Token("Ben".into())));
        register.write_uses();
        let listed = admissions(folder.path()).unwrap();
        let about: Vec<_> = listed.iter().map(|it| (it.name.as_str(), it.is_device, it.used_secs.is_some())).collect();
        assert_eq!(about, [("Anna", false, false), ("Ben", false, true), ("10.0.0.7", true, false)]);
        assert_eq!([&listed[0], &listed[2]].map(|it| it.program.as_deref()), [None, Some("Blender/4.2")]);
        assert_eq!((listed[0].since_secs, listed[0].until_secs), (Some(1000), None));
        let device = &listed[2];
        assert_eq!(device.until_secs.zip(device.since_secs).map(|(until, since)| until - since), Some(30 * 24 * 60 * 60));

        let named = |text: &str| policy.read().tokens.name_of(text, 1000).map(|it| it.name.clone());
        assert!(revoke(folder.path(), "Anna").unwrap() && revoke(folder.path(), "10.0.0.7").unwrap());
        for nobody in ["Anna", "10.0.0.7", "10.0.0.8", ""] {
            assert!(!revoke(folder.path(), nobody).unwrap(), "{nobody}");
        }
        assert!(named(&told[0].1).is_some() && register.admits(DEVICE, HERE), "not yet");
        assert!(register.refresh(&policy));
        assert_eq!([&told[0].1, &told[1].1].map(|it| named(it)), [None, Some("Ben".to_owned())]);
        assert!(!register.admits(DEVICE, HERE));
    }
}
