//! What a studio tells of itself in the network, and what of a stranger's telling is believed. Pure.

use std::net::{IpAddr, SocketAddr};

use atelier_core::plain_text::is_steering;
use atelier_language::tr;

use crate::{StudioAddress, StudioId};

/// The type of the service, as DNS-SD has it.
pub(crate) const SERVICE: &str = "_atelier._tcp.local.";
/// Keys of the TXT record: version of what is told, where the interface begins, who is let in, and
/// the studio's identity.
pub(crate) const VERSION_KEY: &str = "v";
pub(crate) const PATH_KEY: &str = "path";
pub(crate) const ACCESS_KEY: &str = "auth";
pub(crate) const ID_KEY: &str = "id";
/// Version of what is told.
pub(crate) const VERSION: u32 = 1;
/// Where the interface begins: at the root.
pub(crate) const PATH: &str = "/";
/// Who is let in: those with a token, or everybody.
pub(crate) const TOKEN_ACCESS: &str = "token";
pub(crate) const OPEN_ACCESS: &str = "none";
/// Longest name, in bytes: a label of DNS has no more.
pub(crate) const MAX_NAME: usize = 63;
/// Addresses of one studio that are looked at.
const MAX_ADDRESSES: usize = 16;

/// A studio that was found in the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundStudio {
    /// Its own word, bounded and in one line. Anybody can take any name.
    pub name: String,
    pub address: StudioAddress,
    /// Those without a token are asked about there.
    pub needs_token: bool,
    /// Its own word too.
    pub id: Option<StudioId>,
}

/// What was read of a service, as it came.
#[derive(Clone, Debug, Default)]
pub struct Record<'a> {
    /// The instance's name with the service's type behind it.
    pub full_name: &'a str,
    pub port: u16,
    pub addresses: Vec<IpAddr>,
    pub version: Option<&'a str>,
    pub path: Option<&'a str>,
    pub access: Option<&'a str>,
    pub id: Option<&'a str>,
}

impl FoundStudio {
    /// The studio of a record; `None` where it makes no sense, is of a version or at a path that is
    /// not known here, or has no address of this network. With `allows_loopback`, this computer's
    /// own counts as one.
    #[must_use]
    pub fn of(record: &Record<'_>, allows_loopback: bool) -> Option<Self> {
        let is_known = record.version.and_then(|it| it.parse::<u32>().ok()) == Some(VERSION) && record.path.is_none_or(|it| it == PATH);
        if !is_known || record.port == 0 {
            return None;
        }
        let addresses = record.addresses.iter().take(MAX_ADDRESSES).map(IpAddr::to_canonical);
        let mut near: Vec<IpAddr> = addresses.filter(|it| is_near(*it) || allows_loopback && it.is_loopback()).collect();
        // The same one at each look, and IPv4 first.
        near.sort();
        let address = StudioAddress::of(SocketAddr::new(*near.first()?, record.port))?;
        let name = shown_name(instance_name(record.full_name)?, &address);
        Some(Self { name, address, needs_token: record.access != Some(OPEN_ACCESS), id: record.id.and_then(StudioId::new) })
    }
}

/// True for addresses of private networks and of the link: a stranger's record leads to no others.
fn is_near(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(it) => it.is_private() || it.is_link_local(),
        // One of the link needs the interface's number beside it, which no URL has.
        IpAddr::V6(it) => it.is_unique_local(),
    }
}

/// The name of an instance, as its full name has it.
fn instance_name(full_name: &str) -> Option<&str> {
    let end = full_name.len().checked_sub(SERVICE.len())?;
    let (name, service) = (full_name.get(..end)?, full_name.get(end..)?);
    if service.eq_ignore_ascii_case(SERVICE) { name.strip_suffix('.') } else { None }
}

/// The name of a studio, or its host where that is none.
pub(crate) fn shown_name(text: &str, address: &StudioAddress) -> String {
    let name = clean_name(text);
    if name.is_empty() { tr!("peers-studio-at", host = address.host()) } else { name }
}

/// A name of a stranger's in one line, without what steers a terminal, of at most 63 bytes.
#[must_use]
pub fn clean_name(text: &str) -> String {
    clean_line(text, MAX_NAME)
}

/// Words of a stranger's in one line, without what steers a terminal, of at most so many bytes.
pub(crate) fn clean_line(text: &str, max_bytes: usize) -> String {
    // Cut first: the whole may be long.
    let text = &text[..text.floor_char_boundary(max_bytes.saturating_mul(2))];
    let is_space = |c: char| c.is_whitespace() || c.is_control();
    let plain: String = text.chars().map(|c| if is_space(c) { ' ' } else { c }).filter(|c| !is_steering(*c)).collect();
    let line = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    line[..line.floor_char_boundary(max_bytes)].trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record<'a>(full_name: &'a str, addresses: &[&str]) -> Record<'a> {
        let addresses = addresses.iter().map(|it| it.parse().unwrap()).collect();
        Record { full_name, port: 7860, addresses, version: Some("1"), path: Some("/"), access: Some("token"), id: None }
    }

    fn found(record: &Record<'_>) -> Option<(String, String)> {
        FoundStudio::of(record, false).map(|it| (it.name, it.address.to_string()))
    }

    #[test]
    fn a_studio_is_found_by_its_record() {
        let told = record("Studio of Anna._atelier._tcp.local.", &["fd00::5", "192.168.1.5", "8.8.8.8"]);
        assert_eq!(found(&told), Some(("Studio of Anna".into(), "http://192.168.1.5:7860".into())));
        assert!(FoundStudio::of(&told, false).unwrap().needs_token);
        let id = "00112233445566778899aabbccddeeff";
        assert_eq!(FoundStudio::of(&Record { id: Some(id), ..told.clone() }, false).unwrap().id, StudioId::new(id));
        assert_eq!(FoundStudio::of(&Record { id: Some("../x"), ..told.clone() }, false).unwrap().id, None, "found all the same");
        let open = Record { access: Some("none"), path: None, ..told.clone() };
        assert!(!FoundStudio::of(&open, false).unwrap().needs_token);
        assert!(FoundStudio::of(&Record { access: None, ..told }, false).unwrap().needs_token, "what is not told is not open");
    }

    #[test]
    fn a_record_leads_to_this_network_alone() {
        for far in [&["8.8.8.8"][..], &["127.0.0.1"], &["::1"], &["0.0.0.0"], &["2001:db8::1"], &["fe80::1"], &["::ffff:8.8.8.8"], &[]] {
            assert_eq!(found(&record("a._atelier._tcp.local.", far)), None, "{far:?}");
        }
        for near in ["10.1.2.3", "172.16.0.1", "169.254.7.7", "fd12::1", "::ffff:192.168.0.2"] {
            assert!(found(&record("a._atelier._tcp.local.", &[near])).is_some(), "{near}");
        }
        assert!(FoundStudio::of(&record("a._atelier._tcp.local.", &["127.0.0.1"]), true).is_some());
    }

    #[test]
    fn a_record_that_is_not_understood_is_passed_over() {
        let told = record("a._atelier._tcp.local.", &["10.0.0.1"]);
        for strange in [
            Record { version: None, ..told.clone() },
            Record { version: Some("2"), ..told.clone() },
            Record { version: Some("one"), ..told.clone() },
            Record { path: Some("/../admin"), ..told.clone() },
            Record { path: Some("//evil.example/"), ..told.clone() },
            Record { port: 0, ..told.clone() },
            Record { full_name: "a._http._tcp.local.", ..told.clone() },
            Record { full_name: "", ..told.clone() },
            Record { full_name: "_atelier._tcp.local.", ..told },
        ] {
            assert_eq!(found(&strange), None, "{strange:?}");
        }
    }

    #[test]
    fn names_are_one_bounded_line_that_steers_nothing() {
        assert_eq!(clean_name(" Studio\n\tof\u{1b}[31m  Anna\u{202e} "), "Studio of [31m Anna");
        assert_eq!(clean_name(&"é".repeat(1000)).len(), 62);
        assert_eq!(clean_name("\u{200b}\r\n"), "");
        let nameless = record("\u{7}._atelier._tcp.local.", &["10.0.0.1"]);
        assert_eq!(found(&nameless).unwrap().0, "Studio at 10.0.0.1");
    }
}
