//! `atelier serve`: other programs use this machine's models over HTTP, until Ctrl-C.
//!
//! Standard output carries the address, and nothing else; standard error says who may use it.

use std::collections::BTreeSet;
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::exit::Exit;
use super::flags::{HttpFlags, LibraryFlags};
use super::interrupt::{Interrupt, no_ctrl_c};
use super::reporter::write_message;
use super::resolve::threads;
use crate::http::{Access, Caller, CannotServe, DiskQuota, Prepared, Retention, Server, ServerOptions, lan_address};
use atelier_core::paths::Paths;
use atelier_engine::Handle;
use atelier_library::{Builtin, BuiltinError};
use atelier_peers::{Announcement, Network, NotAnnounced, StudioId};
use atelier_studio::queue::{ModelLookup, QueueEvent, QueueOptions, QueueService};

/// Longest time until a press of Ctrl-C is acknowledged.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Most devices without a token that are told of in a run: more are a flood.
const MAX_TOLD: usize = 10;
/// Longest wait for the engine to stop at the end.
pub(super) const END_WITHIN: Duration = Duration::from_secs(10);

/// System that the command runs on; tests give their own.
pub(super) struct HttpEnv<'a> {
    pub(super) out: &'a mut (dyn Write + Send),
    pub(super) err: &'a mut (dyn Write + Send),
    pub(super) paths: Paths,
    pub(super) builtin: Result<Builtin, BuiltinError>,
    pub(super) interrupt: Arc<Interrupt>,
    pub(super) listen: fn(&Arc<Interrupt>) -> Result<(), ctrlc::Error>,
}

/// Serves until Ctrl-C.
pub(super) fn serve(flags: HttpFlags, start_engine: impl FnOnce() -> Arc<Handle>, env: HttpEnv<'_>) -> Exit {
    let HttpEnv { out, err, paths, builtin, interrupt, listen } = env;
    let access = Access {
        host: flags.host,
        port: flags.port,
        allow_network: flags.allow_network,
        require_token: flags.require_token,
        people: flags.person,
        token: flags.token,
        token_days: flags.token_days,
        hosts: flags.allow_host,
        origins: flags.allow_origin,
    };
    let Prepared { listeners, policy, tokens } = match access.prepare(&paths) {
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
        quota: DiskQuota::of_gigabytes(flags.disk_quota),
        retention: Retention::of_days(flags.keep_days),
        takes_any_guidance: flags.keep_guidance,
    };
    let addresses: Vec<SocketAddr> = listeners.iter().filter_map(|it| it.local_addr().ok()).collect();
    let is_network = addresses.iter().any(|it| !it.ip().is_loopback());
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
    if flags.keep_days > 0 && (is_network || needs_token) {
        let days = if flags.keep_days == 1 { "a day".to_owned() } else { format!("{} days", flags.keep_days) };
        let kept = "unless they were marked or their program asked to save them; --keep-days 0 keeps all.";
        write_message(err, &format!("Pictures of other people go to the trash after {days}, {kept}"));
    }
    let announcement = if flags.announce { announce(&flags.name.unwrap_or_default(), &addresses, server.id(), err) } else { None };
    // Somebody may have come already.
    let has_come = Arc::new(AtomicBool::new(true));
    let come = Arc::clone(&has_come);
    server.wake_with(move || come.store(true, Ordering::Release));
    let mut told = BTreeSet::new();
    while !interrupt.pressed() {
        if has_come.swap(false, Ordering::AcqRel) {
            for line in refusals(&server.guests().asking, &mut told) {
                write_message(err, &line);
            }
        }
        // The queue keeps the pictures; nobody else reads these.
        while engine.try_next().is_some() {}
        match queue.next_within(POLL_INTERVAL) {
            Some(QueueEvent::Problem(advice)) => write_message(err, &format!("error: {advice}")),
            Some(QueueEvent::Notice(advice)) => write_message(err, &format!("warning: {}", advice.sentence)),
            _ => {}
        }
    }
    write_message(err, "Stopping. Jobs whose clients wait are cancelled.");
    // Before there is nobody who would answer.
    drop(announcement);
    drop(server);
    if !queue.finish(END_WITHIN) {
        write_message(err, "warning: the queue did not end in time");
    }
    Exit::Cancelled
}

/// Announces the server in the network, and says so or why not.
fn announce(name: &str, addresses: &[SocketAddr], id: &StudioId, err: &mut dyn Write) -> Option<Announcement> {
    // Other computers always need a token.
    match Announcement::start(name, addresses, true, id, Network::Local) {
        Ok(announcement) => {
            write_message(err, &format!("Announced in the network as {}.", announcement.name()));
            Some(announcement)
        }
        Err(error) => {
            let only_here = matches!(error, NotAnnounced::OnlyThisComputer);
            let hint = if only_here { " To listen to others, add --host 0.0.0.0 --allow-network." } else { "" };
            write_message(err, &format!("warning: {error}{hint}"));
            None
        }
    }
}

/// The queue of a server with these folders of models.
pub(super) fn queue_options(paths: &Paths, library: &LibraryFlags) -> QueueOptions {
    let models = ModelLookup::new(paths.clone()).with(library.models_root.clone(), library.catalogue.clone());
    QueueOptions { models: Some(models), ..QueueOptions::of_command(paths) }
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

/// Lines that name those who came without a token and are not among `told`, and one that ends them.
fn refusals(asking: &[Caller], told: &mut BTreeSet<IpAddr>) -> Vec<String> {
    let mut lines = Vec::new();
    for caller in asking {
        if told.len() < MAX_TOLD && told.insert(caller.address) {
            lines.push(refusal(caller));
            if told.len() == MAX_TOLD {
                lines.push("Further devices without a token are refused without a line here.".to_owned());
            }
        }
    }
    lines
}

/// The line that names a device which came without a token.
fn refusal(caller: &Caller) -> String {
    let Caller { address, program } = caller;
    let named = program.as_ref().map(|name| format!(", whose program calls itself \"{name}\",")).unwrap_or_default();
    format!("A device at {address}{named} came without a token that counts, and was refused. Give it one with --person NAME.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_without_a_token_is_told_with_what_its_program_calls_itself() {
        let told = |program: Option<&str>| refusal(&Caller { address: [192, 168, 1, 23].into(), program: program.map(str::to_owned) });
        assert!(told(Some("Blender")).starts_with("A device at 192.168.1.23, whose program calls itself \"Blender\", came"));
        assert!(told(None).starts_with("A device at 192.168.1.23 came without a token"));
    }

    #[test]
    fn each_device_without_a_token_is_told_once_and_a_flood_of_them_ends() {
        let device = |last: u8| Caller { address: [10, 0, 0, last].into(), program: None };
        let mut told = BTreeSet::new();
        let first = refusals(&[device(1), device(2)], &mut told);
        assert!(first.len() == 2 && first[1].contains("10.0.0.2"), "{first:?}");
        assert_eq!(refusals(&[device(2), device(1)], &mut told), Vec::<String>::new());
        let many: Vec<Caller> = (1..=250).map(device).collect();
        let rest = refusals(&many, &mut told);
        assert!(rest.len() == MAX_TOLD - 1 && rest[MAX_TOLD - 2].starts_with("Further devices"), "{rest:?}");
        assert!(refusals(&many, &mut told).is_empty() && told.len() == MAX_TOLD);
    }

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
