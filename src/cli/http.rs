//! `atelier serve`: other programs use this machine's models over HTTP, until Ctrl-C.
//!
//! Standard output carries the address, and nothing else; standard error says who may use it.

use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::Duration;

use super::exit::Exit;
use super::flags::HttpFlags;
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
const END_WITHIN: Duration = Duration::from_secs(10);
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
    let models = ModelLookup::new(paths.clone()).with(flags.library.models_root.clone(), flags.library.catalogue.clone());
    let queue_options = QueueOptions { models: Some(models), ..QueueOptions::of_command(&paths) };
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
    for line in welcome(server.address(), is_network, needs_token, &tokens) {
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
    let told = tokens.of_people(&paths.data.join(TOKENS_FILE), &people).map_err(|advice| CannotServe::Failed(advice.to_string()))?;
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

/// Who may use it, in sentences.
fn welcome(address: SocketAddr, is_network: bool, needs_token: bool, tokens: &[(String, String)]) -> Vec<String> {
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
    }
    lines.push(format!("Open http://{address} in a browser to see what is here. Press Ctrl-C to stop."));
    lines
}
