//! `atelier serve`: other programs use this machine's models over HTTP, until Ctrl-C.
//!
//! Standard output carries the address, and nothing else; standard error says who may use it.

use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs as _, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use super::exit::Exit;
use super::flags::{HttpFlags, LibraryFlags};
use super::interrupt::{Interrupt, no_ctrl_c};
use super::reporter::write_message;
use super::resolve::threads;
use crate::http::guard::Policy;
use crate::http::{SHARED_TOKEN, Server, ServerOptions, Tokens};
use atelier_core::paths::Paths;
use atelier_engine::Handle;
use atelier_library::{Builtin, BuiltinError};
use atelier_studio::queue::{ModelLookup, QueueEvent, QueueOptions, QueueService};

/// Longest time until a press of Ctrl-C is acknowledged.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Longest wait for the engine to stop at the end.
pub(super) const END_WITHIN: Duration = Duration::from_secs(10);
/// The file of tokens, in the folder of data.
const TOKENS_FILE: &str = "serve-tokens.json";

/// System that the command runs on; tests give their own.
pub(super) struct HttpEnv<'a> {
    pub(super) out: &'a mut (dyn Write + Send),
    pub(super) err: &'a mut (dyn Write + Send),
    pub(super) paths: Paths,
    pub(super) builtin: Result<Builtin, BuiltinError>,
    pub(super) interrupt: Arc<Interrupt>,
    pub(super) listen: fn(&Arc<Interrupt>) -> Result<(), ctrlc::Error>,
}

/// The server cannot begin.
#[derive(Debug, thiserror::Error)]
enum CannotServe {
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    Failed(String),
}

/// Serves until Ctrl-C.
pub(super) fn serve(flags: HttpFlags, start_engine: impl FnOnce() -> Arc<Handle>, env: HttpEnv<'_>) -> Exit {
    let HttpEnv { out, err, paths, builtin, interrupt, listen } = env;
    let (listeners, policy, tokens) = match prepare(&flags, &paths) {
        Ok(prepared) => prepared,
        Err(error) => {
            write_message(err, &format!("error: {error}"));
            return if matches!(error, CannotServe::Usage(_)) { Exit::Usage } else { Exit::Failed };
        }
    };
    if let Err(error) = listen(&interrupt) {
        write_message(err, &no_ctrl_c(&error));
    }
    if let Err(error) = &builtin {
        write_message(err, &format!("warning: {error}"));
    }
    let engine = start_engine();
    for server in flags.servers.rpc_servers {
        if let Err(busy) = engine.add_server(server) {
            write_message(err, &format!("warning: {busy}"));
        }
    }
    let queue_options = queue_options(&paths, &flags.library);
    let options = ServerOptions {
        paths,
        models_root: flags.library.models_root,
        catalogues: flags.library.catalogue,
        builtin: builtin.ok(),
        default_model: flags.model,
        threads: threads(flags.threads),
        policy,
    };
    let is_network = listeners.iter().any(|it| it.local_addr().is_ok_and(|it| !it.ip().is_loopback()));
    let needs_token = options.policy.requires_token;
    let started = QueueService::start(queue_options, Arc::clone(&engine), || {}).and_then(|queue| {
        let server = Server::start(listeners, options, queue.connect(), Arc::clone(&engine))?;
        Ok((queue, server))
    });
    let (queue, server) = match started {
        Ok(started) => started,
        Err(error) => {
            write_message(err, &format!("error: {error}"));
            return Exit::Failed;
        }
    };
    // Whoever started it may not listen; it serves all the same.
    let _ = writeln!(out, "http://{}", server.address()).and_then(|()| out.flush());
    for line in welcome(server.address(), is_network, needs_token, &tokens, lan_address()) {
        write_message(err, &line);
    }
    while !interrupt.pressed() {
        // The queue keeps the pictures; nobody else reads these.
        while engine.try_next().is_some() {}
        match queue.next_within(POLL_INTERVAL) {
            Some(QueueEvent::Problem(advice)) => write_message(err, &format!("error: {advice}")),
            Some(QueueEvent::Notice(advice)) => write_message(err, &format!("warning: {}", advice.sentence)),
            _ => {}
        }
    }
    write_message(err, "Stopping. Jobs whose clients wait are cancelled.");
    drop(server);
    if !queue.finish(END_WITHIN) {
        write_message(err, "warning: the queue did not end in time");
    }
    Exit::Cancelled
}

/// The queue of a server with these folders of models.
pub(super) fn queue_options(paths: &Paths, library: &LibraryFlags) -> QueueOptions {
    let models = ModelLookup::new(paths.clone()).with(library.models_root.clone(), library.catalogue.clone());
    QueueOptions { models: Some(models), ..QueueOptions::of_command(paths) }
}

type Prepared = (Vec<TcpListener>, Policy, Vec<(String, String)>);

/// Finds out who may ask, and takes the port.
fn prepare(flags: &HttpFlags, paths: &Paths) -> Result<Prepared, CannotServe> {
    let addresses = addresses(flags)?;
    let is_network = addresses.iter().any(|it| !it.ip().is_loopback());
    if is_network && !flags.allow_network {
        return Err(CannotServe::Usage(format!(
            "{} is reached by other computers; to listen to them, add --allow-network",
            addresses.first().map_or_else(String::new, |it| it.ip().to_string())
        )));
    }
    let mut tokens = Tokens::default();
    if let Some(token) = &flags.token {
        tokens.add(SHARED_TOKEN, token, true).map_err(|advice| CannotServe::Usage(advice.to_string()))?;
    }
    let mut people = flags.person.clone();
    // Somebody must be able to come in.
    if people.is_empty() && flags.token.is_none() && (is_network || flags.require_token) {
        people.push(SHARED_TOKEN.to_owned());
    }
    let now_secs = time::OffsetDateTime::now_utc().unix_timestamp();
    let told = tokens
        .of_people(&paths.data.join(TOKENS_FILE), &people, flags.token_days, now_secs)
        .map_err(|advice| CannotServe::Failed(advice.to_string()))?;
    let mut hosts: Vec<String> = flags.allow_host.iter().map(|it| it.to_lowercase()).collect();
    if let Some(name) = sysinfo::System::host_name().map(|it| it.to_lowercase()) {
        hosts.push(format!("{name}.local"));
        hosts.push(name);
    }
    let mut origins = Vec::new();
    for origin in &flags.allow_origin {
        let plain = origin.trim_end_matches('/');
        let name = plain.strip_prefix("https://").or_else(|| plain.strip_prefix("http://"));
        if name.is_none_or(|name| name.is_empty() || name.contains(['/', '*', ' '])) {
            return Err(CannotServe::Usage(format!("{origin} is not an origin; write it as https://lite.koboldai.net")));
        }
        origins.push(plain.to_owned());
    }
    let policy = Policy { hosts, origins, tokens, requires_token: flags.require_token };
    Ok((bind(&addresses)?, policy, told))
}

/// Where to listen: the first is needed, further ones are taken where the system has them.
fn addresses(flags: &HttpFlags) -> Result<Vec<SocketAddr>, CannotServe> {
    let Some(host) = &flags.host else {
        return Ok(vec![(Ipv4Addr::LOCALHOST, flags.port).into(), (Ipv6Addr::LOCALHOST, flags.port).into()]);
    };
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![(address, flags.port).into()]);
    }
    let found = (host.as_str(), flags.port).to_socket_addrs().ok().and_then(|mut found| found.next());
    found.map(|it| vec![it]).ok_or_else(|| CannotServe::Usage(format!("there is no address {host}; choose another one with --host")))
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
                return Err(CannotServe::Failed(format!(
                    "port {} is in use, perhaps by another server of pictures; stop that one, or choose another port with --port",
                    address.port()
                )));
            }
            Err(error) => return Err(CannotServe::Failed(format!("cannot listen at {address}: {error}; choose another one with --host"))),
        }
    }
    Ok(listeners)
}

/// The address of this computer in its network, where it has one.
fn lan_address() -> Option<IpAddr> {
    // Nothing is sent: the system only says from where it would be. The address is one of those that
    // are kept for documentation.
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_loopback() && !address.is_unspecified()).then_some(address)
}

/// Who may use it, in sentences. `lan`: this computer's address in its network.
fn welcome(address: SocketAddr, is_network: bool, needs_token: bool, tokens: &[(String, String)], lan: Option<IpAddr>) -> Vec<String> {
    let mut lines = Vec::new();
    lines.push(if is_network {
        "Other computers can use this server with a token. The connection has no encryption: others in the network may read what is sent."
            .to_owned()
    } else if needs_token {
        "Only programs on this computer can use this server, with a token.".to_owned()
    } else {
        "Only programs on this computer can use this server.".to_owned()
    });
    for (person, token) in tokens {
        lines.push(format!("Token of {person}: {token}"));
        // Behind # it reaches neither the server nor a log.
        let reached = if address.ip().is_unspecified() { lan } else { Some(address.ip()) };
        if let Some(ip) = reached.filter(|_| is_network) {
            lines.push(format!("  On a phone in this network: http://{}/#t={token}", SocketAddr::new(ip, address.port())));
        }
    }
    lines.push(format!("Open http://{address} in a browser to see what is here. Press Ctrl-C to stop."));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phone_gets_a_link_with_its_token_where_other_computers_are_listened_to() {
        let tokens = [("Anna".to_owned(), "0123456789abcdef".to_owned())];
        let lan = Some(IpAddr::from([192, 168, 1, 5]));
        let said = |address: &str, is_network| welcome(address.parse().unwrap(), is_network, true, &tokens, lan).join("\n");
        assert!(said("0.0.0.0:7860", true).contains("http://192.168.1.5:7860/#t=0123456789abcdef"));
        assert!(said("192.168.1.9:7860", true).contains("http://192.168.1.9:7860/#t="));
        assert!(!said("127.0.0.1:7860", false).contains("#t="));
    }
}
