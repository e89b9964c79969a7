//! This studio, announced in the network for as long as it is shared.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use atelier_core::advice::Advice;
use atelier_language::tr;
use mdns_sd::{IfKind, ServiceDaemon, ServiceInfo};

use crate::network::{Network, failed};
use crate::record::{ACCESS_KEY, ID_KEY, OPEN_ACCESS, PATH, PATH_KEY, SERVICE, TOKEN_ACCESS, VERSION, VERSION_KEY, clean_name};
use crate::{StudioError, StudioId};

/// Longest wait until the network was told that the studio is gone.
const GOODBYE_WITHIN: Duration = Duration::from_secs(1);

/// A studio that is announced. Dropping it tells the network that it is gone; that blocks for a
/// moment.
pub struct Announcement {
    daemon: ServiceDaemon,
    name: String,
}

/// A studio is not announced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotAnnounced {
    /// It listens to this computer alone, so nobody else could use it.
    OnlyThisComputer,
    Failed(StudioError),
}

impl NotAnnounced {
    /// The reason as a sentence, and the next step.
    #[must_use]
    pub fn advice(&self) -> Advice {
        match self {
            Self::OnlyThisComputer => Advice::new(tr!("peers-nothing-is-announced-because"), ""),
            Self::Failed(error) => error.advice(),
        }
    }
}

impl fmt::Display for NotAnnounced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.advice().fmt(f)
    }
}

impl Announcement {
    /// Announces a server that listens at these addresses, by this name; an empty one is
    /// [`default_name`]. `needs_token`: of other computers. The system may give the name a number
    /// where another studio has it.
    ///
    /// # Errors
    /// Where nobody else could use it, or the system lets nothing be announced.
    pub fn start(name: &str, listeners: &[SocketAddr], needs_token: bool, id: &StudioId, network: Network) -> Result<Self, NotAnnounced> {
        let is_reached = |it: &&SocketAddr| network != Network::Local || !it.ip().is_loopback();
        let address = *listeners.iter().find(is_reached).ok_or(NotAnnounced::OnlyThisComputer)?;
        let name = Some(clean_name(name)).filter(|it| !it.is_empty()).unwrap_or_else(default_name);
        let daemon = network.daemon().map_err(NotAnnounced::Failed)?;
        register(&daemon, &name, address, needs_token, id).map_err(|error| NotAnnounced::Failed(failed(&error)))?;
        Ok(Self { daemon, name })
    }

    /// The name that it was given.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

fn register(daemon: &ServiceDaemon, name: &str, address: SocketAddr, needs_token: bool, id: &StudioId) -> mdns_sd::Result<()> {
    // The computer's own name is nobody's business.
    let host = format!("atelier-{:08x}.local.", rand::random::<u32>());
    let access = if needs_token { TOKEN_ACCESS } else { OPEN_ACCESS };
    let told = [
        (VERSION_KEY, VERSION.to_string()),
        (PATH_KEY, PATH.to_owned()),
        (ACCESS_KEY, access.to_owned()),
        (ID_KEY, id.as_str().to_owned()),
    ];
    let (ip, port) = (address.ip(), address.port());
    let info = if ip.is_unspecified() {
        if ip.is_ipv4() {
            daemon.disable_interface(IfKind::IPv6)?;
        }
        ServiceInfo::new(SERVICE, name, &host, (), port, &told[..])?.enable_addr_auto()
    } else {
        let mut info = ServiceInfo::new(SERVICE, name, &host, ip, port, &told[..])?;
        info.set_interfaces(vec![IfKind::Addr(ip)]);
        info
    };
    daemon.register(info)
}

impl fmt::Debug for Announcement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Announcement").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Drop for Announcement {
    fn drop(&mut self) {
        // Its thread says goodbye before it ends. Where it has ended already, there is nobody to tell.
        let told = self.daemon.shutdown().is_ok_and(|ended| ended.recv_timeout(GOODBYE_WITHIN).is_ok());
        if !told {
            tracing::warn!("the network may list this studio for a while although it is gone");
        }
    }
}

/// "Studio of Anna", by the name of the account or else of this computer.
#[must_use]
pub fn default_name() -> String {
    let account = ["USER", "USERNAME"].into_iter().find_map(|variable| std::env::var(variable).ok());
    let names = [account, sysinfo::System::host_name()];
    let name = names.into_iter().flatten().map(|name| clean_name(&name)).find(|name| !name.is_empty());
    clean_name(&tr!("peers-studio-of", name = name.as_deref().unwrap_or("Atelier")))
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::time::Instant;

    use super::*;
    use crate::{Browser, StudioAddress};

    /// Longer than a name is probed and announced on the slowest machine: reaching it is a failure.
    const LIMIT: Duration = Duration::from_mins(1);
    /// A port that nobody has: another run of this test may be under way.
    fn network() -> Network {
        let socket = std::net::UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
        Network::ThisComputer { port: socket.local_addr().unwrap().port() }
    }

    #[test]
    fn a_server_of_this_computer_alone_is_not_announced() {
        let loopback = [SocketAddr::from((Ipv4Addr::LOCALHOST, 7860))];
        let refused = Announcement::start("Anna", &loopback, false, &StudioId::draw(), Network::Local).unwrap_err();
        assert_eq!(refused, NotAnnounced::OnlyThisComputer);
        assert!(refused.to_string().contains("only this computer"), "{refused}");
        assert!(!default_name().is_empty() && default_name().starts_with("Studio of "));
    }

    #[test]
    fn an_announced_studio_is_found_until_it_says_goodbye() {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 7861));
        let network = network();
        let id = StudioId::draw();
        let announced = Announcement::start("Studio of Anna", &[address], true, &id, network).unwrap();
        let mut browser = Browser::start(network).unwrap();
        let until = |browser: &mut Browser, count: usize| {
            let deadline = Instant::now() + LIMIT;
            while browser.studios().len() != count {
                assert!(browser.wait(deadline.saturating_duration_since(Instant::now())), "waited in vain for {count}");
            }
        };
        until(&mut browser, 1);
        let found = browser.studios().remove(0);
        assert_eq!((found.name.as_str(), found.needs_token), (announced.name(), true));
        assert_eq!((found.address, found.id), (StudioAddress::of(address).unwrap(), Some(id)));
        drop(announced);
        until(&mut browser, 0);
    }
}
