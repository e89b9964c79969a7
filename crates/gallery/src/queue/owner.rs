//! Whose job it is: the person at the machine, or somebody who asks over the network; and which of
//! the users that one owner tells apart.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use atelier_language::tr;
use sha2::{Digest as _, Sha256};

/// Somebody who asks for pictures, by the name that is shown.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner(Arc<str>);

impl Owner {
    /// Longest name in characters.
    pub const MAX_CHARS: usize = 64;
    /// The name of the programs of this computer, in files and for other programs.
    const THIS_COMPUTER: &'static str = "Programs on this computer";

    /// The person at the machine, by window or command line; the only one without a name.
    #[must_use]
    pub fn person() -> Self {
        Self("".into())
    }

    /// Programs of this computer that ask over the network and send no token.
    #[must_use]
    pub fn this_computer() -> Self {
        Self(Self::THIS_COMPUTER.into())
    }

    /// The person whose token it is; without a name, the one at the machine.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self(name.into())
    }

    /// One of those who share a token, told apart by their addresses.
    #[must_use]
    pub fn sharing(name: &str, address: IpAddr) -> Self {
        Self(format!("{name} {address}").into())
    }

    /// The owner of a picture as the index and journals have it; `None` where that is no name.
    pub(crate) fn of_picture(name: &str) -> Option<Self> {
        // Those who share a token have their address behind its name.
        const MAX_STORED_CHARS: usize = Owner::MAX_CHARS + 64;
        let is_name = !name.trim().is_empty() && name.chars().count() <= MAX_STORED_CHARS && !name.chars().any(char::is_control);
        is_name.then(|| Self::named(name))
    }

    /// What [`Self::of_picture`] reads; `None` for the person at the machine.
    pub(crate) fn stored(&self) -> Option<&str> {
        (!self.is_person()).then_some(&*self.0)
    }

    /// The name, as files and other programs have it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0
    }

    /// The name that the window shows: in its language where it is nobody's own.
    #[must_use]
    pub fn label(&self) -> &str {
        if self.is_this_computer() { tr!("gallery-programs-on-this-computer") } else { &self.0 }
    }

    /// True for the person at the machine.
    #[must_use]
    pub fn is_person(&self) -> bool {
        self.0.is_empty()
    }

    /// True for the programs of this computer, which may also free its memory.
    #[must_use]
    pub fn is_this_computer(&self) -> bool {
        *self.0 == *Self::THIS_COMPUTER
    }

    /// The name of a folder for pictures, on every system. No two names share a folder, so the
    /// folder tells whose pictures are in it.
    #[must_use]
    pub fn folder_name(&self) -> String {
        let kept = |c: char| if c.is_alphanumeric() || matches!(c, ' ' | '_' | '-') { c } else { '-' };
        let name: String = self.0.chars().map(kept).take(Self::MAX_CHARS).collect();
        let name = name.trim_matches([' ', '-']);
        if *name == *self.0 && !name.is_empty() {
            return name.to_owned();
        }
        let digest = Sha256::digest(self.0.as_bytes());
        let name = if name.is_empty() { "somebody" } else { name };
        format!("{name} {:02x}{:02x}{:02x}{:02x}", digest[0], digest[1], digest[2], digest[3])
    }
}

/// One of those who ask in an owner's name, where its program tells them apart. It divides the owner
/// for the order of jobs alone, never for rights. A digest, since nobody here needs the name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct User(i64);

impl User {
    /// The user of this name; without a name, the one of all jobs that name none.
    #[must_use]
    pub fn named(name: &str) -> Self {
        let name = name.trim();
        if name.is_empty() {
            return Self::default();
        }
        let digest: [u8; 32] = Sha256::digest(name.as_bytes()).into();
        Self(digest.first_chunk().copied().map_or(0, i64::from_le_bytes))
    }

    /// As the database has it; 0 where no name was told.
    pub(super) const fn number(self) -> i64 {
        self.0
    }

    pub(super) const fn from_number(number: i64) -> Self {
        Self(number)
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_leave_its_folder_and_shares_it_with_no_other() {
        let folder = |name: &str| Owner::named(name).folder_name();
        assert_eq!(folder("Anna"), "Anna");
        for (name, begins) in [("../../etc", "etc "), ("a/b\\c:d", "a-b-c-d "), ("..", "somebody "), ("", "somebody ")] {
            let folder = folder(name);
            assert!(folder.starts_with(begins) && folder.len() == begins.len() + 8, "{folder}");
        }
        assert_ne!(folder("a/b"), folder("a:b"));
        assert_ne!(folder("a/b"), folder("a-b"));
        assert_eq!(Owner::of_picture("Anna").as_ref().and_then(Owner::stored), Some("Anna"));
        let shared = Owner::sharing(&"g".repeat(Owner::MAX_CHARS), "2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff".parse().unwrap());
        assert_eq!(Owner::of_picture(shared.name()), Some(shared));
        for wrong in ["", " ", "B\nen", &"x".repeat(1000)] {
            assert_eq!(Owner::of_picture(wrong), None, "{wrong:?}");
        }
        assert_eq!(Owner::person().stored(), None);
        assert!(Owner::sharing("guest", "fe80::1".parse().unwrap()).folder_name().starts_with("guest fe80--1 "));
    }

    #[test]
    fn only_the_programs_of_this_computer_have_a_name_of_the_languages() {
        assert_eq!(Owner::this_computer().label(), Owner::this_computer().name(), "in English");
        assert_eq!(Owner::named(Owner::this_computer().name()), Owner::this_computer(), "as it is stored");
        for name in ["Anna", "gallery-programs-on-this-computer", "programs on this computer", ""] {
            assert!(Owner::named(name).label() == name && !Owner::named(name).is_this_computer(), "{name}");
        }
    }

    #[test]
    fn a_user_is_the_same_by_the_same_name_and_nobody_without_one() {
        let users = ["anna@example.org", " anna@example.org ", "ben@example.org", " "].map(User::named);
        assert_eq!(users[0], users[1]);
        assert!(users[0] != users[2] && users[0] != User::default());
        assert_eq!(users[3], User::default());
        assert_eq!(User::from_number(users[0].number()), users[0]);
    }
}
