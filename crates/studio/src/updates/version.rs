//! Versions of three numbers.

use std::fmt;
use std::str::FromStr;

use atelier_language::tr;

use crate::version;

/// A version: major, minor, patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version([u32; 3]);

/// Not three numbers with points between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", tr!("studio-a-version-is-three"))]
pub struct NoVersion;

impl Version {
    /// The version of this program.
    #[must_use]
    pub fn of_program() -> Self {
        // A pre-release counts as its release.
        let number = version::NUMBER.split('-').next().unwrap_or_default();
        number.parse().unwrap_or(Self([0; 3]))
    }
}

impl FromStr for Version {
    type Err = NoVersion;

    fn from_str(text: &str) -> Result<Self, NoVersion> {
        let mut parts = text.split('.');
        let mut number = || {
            let part = parts.next().filter(|it| !it.is_empty() && it.bytes().all(|c| c.is_ascii_digit()));
            part.and_then(|it| it.parse().ok()).ok_or(NoVersion)
        };
        let version = Self([number()?, number()?, number()?]);
        if parts.next().is_some() { Err(NoVersion) } else { Ok(version) }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.0;
        write!(f, "{major}.{minor}.{patch}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number_and_not_by_letter() {
        let version = |text: &str| text.parse::<Version>().unwrap();
        assert!(version("0.10.0") > version("0.9.9") && version("1.0.0") > version("0.99.99") && version("1.2.3") == version("01.2.3"));
        assert_eq!(version("1.20.3").to_string(), "1.20.3");
        for bad in ["", "1", "1.2", "1.2.3.4", "1.2.x", "1..3", "-1.2.3", "1.2.99999999999", "1.2.3 "] {
            assert_eq!(bad.parse::<Version>(), Err(NoVersion), "{bad}");
        }
        assert!(Version::of_program() >= version("0.1.0"));
    }
}
