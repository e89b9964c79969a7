//! State of sharing this computer's models.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use atelier_core::paths::Paths;
use atelier_library::Builtin;
use atelier_peers::Announcement;
use qrcode::{Color, QrCode};

use crate::gui::options::Options;
use crate::http::{Guests, SHARED_TOKEN, Server};
use crate::settings::SharingSettings;

/// State of sharing this computer's models.
#[derive(Debug, Default)]
pub struct State {
    /// This person's folders; without them tokens and pictures have no place.
    pub paths: Option<Paths>,
    pub(crate) builtin: Option<Arc<Builtin>>,
    /// The dialog is shown.
    pub is_open: bool,
    /// What is kept from one start to the next.
    pub settings: SharingSettings,
    /// The port to listen at; 0: a free one.
    pub port: u16,
    /// Sharing is to begin by itself, once the window is seen.
    pub(crate) is_start_due: bool,
    pub(crate) phase: Phase,
    /// The name that is typed for a person who is to get a token.
    pub person: String,
    /// Tokens are being made or taken back.
    pub is_changing: bool,
    /// The code that is shown.
    pub(crate) code: Option<PhoneCode>,
}

impl State {
    /// The state at the start: nothing is shared yet. A window beside another one, which may have
    /// the port, shares nothing by itself.
    #[must_use]
    pub fn new(options: &Options, settings: SharingSettings) -> Self {
        let (paths, builtin) = (options.paths.clone(), options.builtin.clone().ok());
        let is_start_due = settings.at_start && paths.is_some() && options.beside.is_none();
        Self { paths, builtin, settings, port: options.sharing_port, is_start_due, ..Self::default() }
    }

    pub(crate) fn running(&self) -> Option<&Running> {
        match &self.phase {
            Phase::On(running) => Some(running),
            Phase::Off | Phase::Starting | Phase::Stopping => None,
        }
    }

    /// Where the server is reached; `None` while there is none.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.running().map(|it| it.server.address())
    }
}

/// How far the server is.
#[derive(Debug, Default)]
pub(crate) enum Phase {
    #[default]
    Off,
    Starting,
    On(Box<Running>),
    Stopping,
}

/// A server that runs.
#[derive(Debug)]
pub(crate) struct Running {
    /// Where it is to be announced: it is, or why not. Ends before the server does.
    pub(crate) announced: Option<Result<Announcement, String>>,
    pub(crate) server: Server,
    /// This computer's address in its network, where others are listened to.
    pub(crate) lan: Option<IpAddr>,
    /// Those who have a token, with it.
    pub(crate) people: Vec<(String, String)>,
    pub(crate) guests: Guests,
    pub(crate) usage: Usage,
}

/// Disk space that owners use, as it was measured last.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    /// Bytes by the owner's name; `None` where they cannot be measured.
    pub(crate) bytes: BTreeMap<String, Option<u64>>,
    /// Pictures were kept since.
    pub(crate) is_stale: bool,
    pub(crate) is_measuring: bool,
}

impl Running {
    /// The owners whose disk space is shown. Who shares a token is an owner by their address.
    pub(crate) fn owners(&self) -> BTreeSet<&str> {
        let people = self.people.iter().map(|(name, _)| name).filter(|name| *name != SHARED_TOKEN);
        people.chain(&self.guests.connected).map(String::as_str).collect()
    }

    /// The address that others enter.
    pub(crate) fn url(&self) -> String {
        let mut address = self.server.address();
        if let Some(ip) = self.lan.filter(|_| address.ip().is_unspecified()) {
            address.set_ip(ip);
        }
        format!("http://{address}")
    }

    /// The address with the token of a person, which no server and no log sees behind `#`.
    pub(crate) fn link(&self, person: &str) -> Option<String> {
        let (_, token) = self.people.iter().find(|(name, _)| name == person)?;
        Some(format!("{}/#t={token}", self.url()))
    }
}

/// A person's link as squares that a phone's camera reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PhoneCode {
    pub(crate) person: String,
    /// Squares of a side.
    pub(crate) side: usize,
    /// Row by row: true where a square is dark.
    pub(crate) dark: Vec<bool>,
}

impl PhoneCode {
    /// `None` where the link is too long.
    pub(crate) fn new(person: &str, link: &str) -> Option<Self> {
        let code = QrCode::new(link.as_bytes()).ok()?;
        let dark = code.to_colors().into_iter().map(|colour| colour == Color::Dark).collect();
        Some(Self { person: person.to_owned(), side: code.width(), dark })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_has_the_three_corners_by_which_cameras_find_it() {
        let code = PhoneCode::new("Anna", "http://192.168.1.5:7860/#t=0123456789abcdef0123456789abcdef").unwrap();
        assert_eq!(code.dark.len(), code.side * code.side);
        let is_dark = |x: usize, y: usize| code.dark[y * code.side + x];
        let last = code.side - 7;
        for (left, top) in [(0, 0), (last, 0), (0, last)] {
            let ring = (0..7)
                .all(|at| is_dark(left + at, top) && is_dark(left + at, top + 6) && is_dark(left, top + at) && is_dark(left + 6, top + at));
            assert!(ring && is_dark(left + 3, top + 3) && !is_dark(left + 1, top + 1), "corner at {left}, {top}");
        }
    }
}
