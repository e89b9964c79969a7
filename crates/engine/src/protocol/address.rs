//! Network address of a server: `host:port`.

use std::fmt;
use std::str::FromStr;

use atelier_language::tr;
use serde::{Deserialize, Serialize};

/// The port that servers listen at by default.
pub const DEFAULT_PORT: u16 = 50052;

/// A server's address, with its port: `192.168.1.20:50052`, `studio.local:50052`,
/// `[fe80::1]:50052`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ServerAddress(String);

/// A text that is no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", tr!("engine-is-not-an-address", reason = _0))]
pub struct NotAnAddress(String);

impl ServerAddress {
    /// The address as text: `host:port`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ServerAddress {
    type Err = NotAnAddress;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refused = || NotAnAddress(text.to_owned());
        let plain = text.trim();
        let bare =
            |host: &str| !host.is_empty() && host.len() <= 253 && host.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c));
        let bracketed = |host: &str| {
            let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
            inner.is_some_and(|inner| inner.parse::<std::net::Ipv6Addr>().is_ok())
        };
        let (host, port) = match plain.rsplit_once(':') {
            Some((host, port)) if !plain.ends_with(']') => (host, port.parse::<u16>().map_err(|_| refused())?),
            _ => (plain, DEFAULT_PORT),
        };
        if port == 0 || !(bare(host) || bracketed(host)) {
            return Err(refused());
        }
        Ok(Self(format!("{host}:{port}")))
    }
}

impl TryFrom<String> for ServerAddress {
    type Error = NotAnAddress;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<ServerAddress> for String {
    fn from(address: ServerAddress) -> Self {
        address.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_and_perhaps_a_port() {
        let read = |text: &str| text.parse::<ServerAddress>().map(|it| it.0);
        for (text, expected) in [
            (" 192.168.1.20:5000 ", "192.168.1.20:5000"),
            ("studio.local", "studio.local:50052"),
            ("[::1]:7", "[::1]:7"),
            ("[::1]", "[::1]:50052"),
        ] {
            assert_eq!(read(text), Ok(expected.into()));
            assert_eq!(read(expected), Ok(expected.into()));
        }
        for text in ["", ":50052", "host:", "host:0", "host:70000", "host:x", "a b:1", "::1", "[x]:1", "http://host:1", "host:1:2"] {
            assert_eq!(read(text), Err(NotAnAddress(text.into())), "{text}");
        }
    }
}
