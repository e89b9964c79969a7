//! Opening a server: where it listens, and who may ask.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs as _, UdpSocket};

use atelier_core::advice::Advice;
use atelier_core::paths::Paths;

use super::clock::now_secs;
use super::guard::Policy;
use super::register::{Admission, admissions, revoke};
use super::tokens::{self, SHARED, Tokens};

/// Where to listen and whom to answer, as a person says it.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// The address to listen at; `None`: this computer alone.
    pub host: Option<String>,
    /// 0: a free one.
    pub port: u16,
    /// Other computers may be listened to.
    pub allow_network: bool,
    /// Programs of this computer need a token too.
    pub require_token: bool,
    /// Those who get tokens of their own.
    pub people: Vec<String>,
    /// A token that several share.
    pub token: Option<String>,
    /// Days after which new tokens end; `None`: never.
    pub token_days: Option<u32>,
    /// Names of this computer beside its own.
    pub hosts: Vec<String>,
    /// Origins of pages that may ask.
    pub origins: Vec<String>,
}

/// What a server begins with.
#[derive(Debug)]
pub struct Prepared {
    /// The first is the server's address.
    pub listeners: Vec<TcpListener>,
    pub policy: Policy,
    /// Names and tokens of the people who were asked for.
    pub tokens: Vec<(String, String)>,
}

/// The server cannot begin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotServe {
    /// What was asked for cannot be.
    #[error("{0}")]
    Usage(String),
    #[error("port {0} is in use, perhaps by another server of pictures; stop that one, or choose another port with --port")]
    PortInUse(u16),
    #[error("{0}")]
    Failed(String),
}

impl From<Advice> for CannotServe {
    fn from(advice: Advice) -> Self {
        Self::Failed(advice.to_string())
    }
}

impl Access {
    /// Finds out who may ask, and takes the port. Blocks.
    ///
    /// # Errors
    /// Where something that was asked for cannot be, or the port or the file of tokens cannot be had.
    pub fn prepare(&self, paths: &Paths) -> Result<Prepared, CannotServe> {
        let addresses = self.addresses()?;
        if self.is_for_network() && !self.allow_network {
            return Err(CannotServe::Usage(format!(
                "{} is reached by other computers; to listen to them, add --allow-network",
                addresses.first().map_or_else(String::new, |it| it.ip().to_string())
            )));
        }
        let (tokens, told) = self.tokens(paths)?;
        let mut hosts: Vec<String> = self.hosts.iter().map(|it| it.to_lowercase()).collect();
        if let Some(name) = sysinfo::System::host_name().map(|it| it.to_lowercase()) {
            hosts.push(format!("{name}.local"));
            hosts.push(name);
        }
        let mut origins = Vec::new();
        for origin in &self.origins {
            let plain = origin.trim_end_matches('/');
            let name = plain.strip_prefix("https://").or_else(|| plain.strip_prefix("http://"));
            if name.is_none_or(|name| name.is_empty() || name.contains(['/', '*', ' '])) {
                return Err(CannotServe::Usage(format!("{origin} is not an origin; write it as https://lite.koboldai.net")));
            }
            origins.push(plain.to_owned());
        }
        let policy = Policy { hosts, origins, tokens, requires_token: self.require_token };
        Ok(Prepared { listeners: bind(&addresses)?, policy, tokens: told })
    }

    /// The tokens that are accepted, and those of the people who were asked for. Blocks.
    ///
    /// # Errors
    /// Where a token or a name cannot be used, or the file of tokens cannot be had.
    pub fn tokens(&self, paths: &Paths) -> Result<(Tokens, Vec<(String, String)>), CannotServe> {
        let mut tokens = Tokens::default();
        if let Some(token) = &self.token {
            tokens.add(SHARED, token, true).map_err(|advice| CannotServe::Usage(advice.to_string()))?;
        }
        let mut people = self.people.clone();
        // Somebody must be able to come in.
        if people.is_empty() && self.token.is_none() && (self.is_for_network() || self.require_token) {
            people.push(SHARED.to_owned());
        }
        let told = tokens.of_people(&tokens::file_in(&paths.data), &people, self.token_days, now_secs())?;
        Ok((tokens, told))
    }

    /// Takes the token of a person back, for every later start too. Blocks.
    ///
    /// # Errors
    /// Where the file of tokens cannot be had.
    pub fn forget(paths: &Paths, person: &str) -> Result<(), CannotServe> {
        tokens::forget(&tokens::file_in(&paths.data), person)?;
        Ok(())
    }

    /// Everybody who may come in by a token of this person's files, or without one. Blocks.
    ///
    /// # Errors
    /// Where the files cannot be had.
    pub fn admissions(paths: &Paths) -> Result<Vec<Admission>, CannotServe> {
        Ok(admissions(&paths.data)?)
    }

    /// Takes the token of this name back, and what let the device of this address in, also where a server
    /// runs; false where there is neither. Blocks.
    ///
    /// # Errors
    /// Where the files cannot be had.
    pub fn revoke(paths: &Paths, name: &str) -> Result<bool, CannotServe> {
        Ok(revoke(&paths.data, name)?)
    }

    /// True where others can come than this computer's own programs.
    fn is_for_network(&self) -> bool {
        self.addresses().is_ok_and(|addresses| addresses.iter().any(|it| !it.ip().is_loopback()))
    }

    /// Where to listen: the first is needed, further ones are taken where the system has them.
    fn addresses(&self) -> Result<Vec<SocketAddr>, CannotServe> {
        let Some(host) = &self.host else {
            return Ok(vec![(Ipv4Addr::LOCALHOST, self.port).into(), (Ipv6Addr::LOCALHOST, self.port).into()]);
        };
        if let Ok(address) = host.parse::<IpAddr>() {
            return Ok(vec![(address, self.port).into()]);
        }
        let found = (host.as_str(), self.port).to_socket_addrs().ok().and_then(|mut found| found.next());
        found.map(|it| vec![it]).ok_or_else(|| CannotServe::Usage(format!("there is no address {host}; choose another one with --host")))
    }
}

fn bind(addresses: &[SocketAddr]) -> Result<Vec<TcpListener>, CannotServe> {
    let mut listeners: Vec<TcpListener> = Vec::new();
    for address in addresses {
        let first = listeners.first().and_then(|it| it.local_addr().ok());
        // Both have the port that the system gave the first.
        let wanted = first.map_or(*address, |first| SocketAddr::new(address.ip(), first.port()));
        match TcpListener::bind(wanted) {
            Ok(listener) => listeners.push(listener),
            // This system may have no IPv6, or another program the port there.
            Err(_) if first.is_some() => {}
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                return Err(CannotServe::PortInUse(address.port()));
            }
            Err(error) => return Err(CannotServe::Failed(format!("cannot listen at {address}: {error}; choose another one with --host"))),
        }
    }
    Ok(listeners)
}

/// The address of this computer in its network, where it has one.
#[must_use]
pub fn lan_address() -> Option<IpAddr> {
    // Nothing is sent: the system only says from where it would be. The address is one of those that
    // are kept for documentation.
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_loopback() && !address.is_unspecified()).then_some(address)
}
