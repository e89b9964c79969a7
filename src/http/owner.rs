//! Whose job it is: the name of a token, else the address of the client.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

/// Longest name in characters.
pub(crate) const MAX_NAME_CHARS: usize = 64;

/// Somebody who asks for pictures: a person with a token, or the programs of this computer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner(Arc<str>);

impl Owner {
    /// Programs of this computer that send no token.
    #[must_use]
    pub fn this_computer() -> Self {
        Self("Programs on this computer".into())
    }

    /// The person whose token it is.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self(name.into())
    }

    /// One of those who share a token, told apart by their addresses.
    #[must_use]
    pub fn sharing(name: &str, address: IpAddr) -> Self {
        Self(format!("{name} {address}").into())
    }

    /// The name that is shown.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0
    }

    /// True where the person at the machine asks, who may also free its memory.
    #[must_use]
    pub fn is_this_computer(&self) -> bool {
        *self == Self::this_computer()
    }

    /// The name of a folder for pictures, on every system.
    #[must_use]
    pub fn folder_name(&self) -> String {
        let kept = |c: char| if c.is_alphanumeric() || matches!(c, ' ' | '_' | '-') { c } else { '-' };
        let name: String = self.0.chars().map(kept).take(MAX_NAME_CHARS).collect();
        let name = name.trim_matches([' ', '-']);
        if name.is_empty() { "somebody".to_owned() } else { name.to_owned() }
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
    fn a_name_cannot_leave_its_folder() {
        for (name, folder) in [("Anna", "Anna"), ("../../etc", "etc"), ("a/b\\c:d", "a-b-c-d"), ("..", "somebody"), ("", "somebody")] {
            assert_eq!(Owner::named(name).folder_name(), folder);
        }
        assert_eq!(Owner::sharing("guest", "fe80::1".parse().unwrap()).folder_name(), "guest fe80--1");
    }
}
