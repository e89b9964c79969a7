//! `atelier serve-device`: lends this machine's devices, and says plainly to whom.
//!
//! The devices compute what a borrower sends, and a driver or ggml may end the process over it. So
//! a process of its own lends, and this one starts it again at the same port. That one ends with
//! this one.

use std::env;
use std::io::{self, BufRead, BufReader, Read as _, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::HumanBytes;

use super::exit::Exit;
use super::flags::ServeFlags;
use super::resolve::threads;
use atelier_core::device::Device;
use atelier_engine::{Confinement, ServeEvent, ServeOptions, serve as serve_devices};

/// Set for the process that lends: the port to listen at, or nothing for the one that was asked
/// for.
const LENDER_VARIABLE: &str = "ATELIER_LENDER_PORT";
/// A lender that ends sooner than this after its start is not started again at once.
const SHORT_LIFE: Duration = Duration::from_secs(5);

/// Lends until the program is ended; returns only where it cannot begin. Standard output carries
/// the address, and nothing else.
pub(super) fn serve(flags: ServeFlags, out: &mut (dyn Write + Send), err: &mut (dyn Write + Send)) -> anyhow::Result<Exit> {
    match env::var(LENDER_VARIABLE) {
        Ok(port) => {
            let port = port.parse().unwrap_or(flags.port);
            Err(lend(ServeFlags { port, ..flags }, out, err))
        }
        Err(_) => supervise(out, err),
    }
}

/// Ends this process when its standard input does, which the other process holds open.
fn end_with_parent() {
    let wait = || {
        // An error is an end too.
        let _ = io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(Exit::Done as i32);
    };
    // Without a thread it lends all the same.
    let _ = thread::Builder::new().name("parent".into()).spawn(wait);
}

/// Runs lenders one after the other, for as long as they end by a crash.
fn supervise(out: &mut (dyn Write + Send), err: &mut (dyn Write + Send)) -> anyhow::Result<Exit> {
    let mut port = String::new();
    loop {
        let started = Instant::now();
        let mut lender = start_lender(&port)?;
        // `wait` would close it, and the lender, which ends with its standard input, might lose its
        // own exit code.
        let _stdin = lender.stdin.take();
        if let Some(said) = lender.stdout.take() {
            for line in BufReader::new(said).lines().map_while(Result::ok) {
                if port.is_empty() {
                    line.rsplit(':').next().unwrap_or_default().clone_into(&mut port);
                    // Whoever started it may not listen; it lends all the same.
                    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
                }
            }
        }
        let status = lender.wait()?;
        // A crash has no code on Unix, a large one on Windows.
        if let Some(code @ 0..=2) = status.code() {
            return Ok(if code == 0 { Exit::Done } else { Exit::Failed });
        }
        anyhow::ensure!(!port.is_empty(), "the lending process crashed at the start ({status})");
        let _ = writeln!(err, "The lending process crashed ({status}), probably because of a borrower's data. Restarting.");
        thread::sleep(SHORT_LIFE.saturating_sub(started.elapsed()).min(Duration::from_secs(1)));
    }
}

/// Starts this program with the same words, as a lender.
fn start_lender(port: &str) -> io::Result<Child> {
    let mut command = Command::new(env::current_exe()?);
    command.args(env::args_os().skip(1)).env(LENDER_VARIABLE, port);
    // The pipe of its standard input closes with this process.
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()
}

fn lend(flags: ServeFlags, out: &mut (dyn Write + Send), err: &mut (dyn Write + Send)) -> anyhow::Error {
    let ServeFlags { host, port, device, cache, cache_limit, memory, allow_network, threads: requested_threads } = flags;
    if let Some(folder) = &cache
        && let Err(error) = std::fs::create_dir_all(folder)
    {
        return anyhow::Error::new(error).context(format!("the folder {} cannot be created", folder.display()));
    }
    let cache_limit_bytes = u64::from(cache_limit) << 30;
    let options = ServeOptions {
        host,
        port,
        devices: device,
        cache,
        cache_limit_bytes,
        memory_bytes: memory,
        threads: threads(requested_threads),
        allow_network,
        confines_process: true,
    };
    let outputs = Mutex::new((out, err));
    let report = |event| {
        let mut outputs = outputs.lock().unwrap_or_else(PoisonError::into_inner);
        let (out, err) = &mut *outputs;
        if let ServeEvent::Listening { address, .. } = &event {
            // Not before: a thread that is older than the confinement would not be confined.
            end_with_parent();
            // Whoever started it may not listen; it lends all the same.
            let _ = writeln!(out, "{address}").and_then(|()| out.flush());
        }
        let _ = err.write_all(words(&event).as_bytes());
    };
    match serve_devices(&options, &report) {
        Ok(never) => match never {},
        Err(error) => error.into(),
    }
}

fn words(event: &ServeEvent) -> String {
    match event {
        ServeEvent::Listening { address, devices, confinement } => listening(*address, devices, confinement),
        ServeEvent::Borrowed(peer) => format!("Lent to {peer}.\n"),
        ServeEvent::Returned(peer, None) => format!("{peer} disconnected.\n"),
        ServeEvent::Returned(peer, Some(why)) => format!("{peer} was disconnected: {why}\n"),
        ServeEvent::Refused(peer, why) => format!("{peer} was refused: {why}.\n"),
    }
}

fn listening(address: SocketAddr, devices: &[Device], confinement: &Confinement) -> String {
    let port = address.port();
    let lent = |it: &Device| format!("Lending {} ({}, {}).", it.name, it.description, HumanBytes(it.memory_total_bytes));
    let mut lines: Vec<String> = devices.iter().map(lent).collect();
    lines.push("The connection has no encryption and no login.".to_owned());
    let is_confined = !matches!(confinement, Confinement::None(_));
    let takes_over = if is_confined { "" } else { ", and could take over this account" };
    lines.push(if address.ip().is_loopback() {
        format!("Only programs on this machine can connect: they can use these devices{takes_over}. From another machine, through an SSH tunnel:")
    } else {
        format!(
            "WARNING: every machine that reaches {address} can use these devices, and read what is sent{takes_over}. Safer, without --allow-network:"
        )
    });
    lines.push(format!("  ssh -N -L {port}:127.0.0.1:{port} USER@THIS_MACHINE"));
    lines.push(format!("  atelier generate --rpc-servers 127.0.0.1:{port} --backend rpc0 ..."));
    lines.push(walls(confinement));
    lines.push(format!("Listening at {address}. Press Ctrl-C to stop.\n"));
    lines.join("\n")
}

/// What the process that lends is kept from, should a borrower take it over.
fn walls(confinement: &Confinement) -> String {
    match confinement {
        Confinement::Strict => {
            "The lending process is sandboxed: it has no access to your files, other programs and new connections. It keeps the devices and the \
                                folder of weights."
                .to_owned()
        }
        Confinement::Drivers => {
            "The lending process is sandboxed: it has no access to your files, other programs and new connections. For graphics drivers it still \
                                 reads system folders, and writes to /dev, /tmp and the drivers' caches."
                .to_owned()
        }
        Confinement::None(reason) => format!("The lending process is not sandboxed: {reason}."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::device::DeviceKind;

    #[test]
    fn what_is_lent_to_whom_is_said_plainly() {
        let device = Device {
            name: "CUDA0".into(),
            description: "A card".into(),
            kind: DeviceKind::Gpu,
            gpu: None,
            memory_total_bytes: 8 << 30,
            memory_free_bytes: 1,
            memory_allocated_bytes: 0,
        };
        let said = |address: &str, confinement: Confinement| {
            words(&ServeEvent::Listening { address: address.parse().unwrap(), devices: vec![device.clone()], confinement })
        };
        let (here, everywhere) = (said("127.0.0.1:7", Confinement::Strict), said("0.0.0.0:7", Confinement::Drivers));
        let open = said("0.0.0.0:7", Confinement::None("this kernel has no Landlock".into()));
        for text in [&here, &everywhere, &open] {
            assert!(text.contains("Lending CUDA0 (A card, 8.00 GiB).") && text.contains("no encryption and no login"), "{text}");
            assert!(text.contains("ssh -N -L 7:127.0.0.1:7"), "{text}");
        }
        assert!(here.contains("Only programs on this machine") && !here.contains("WARNING"));
        assert!(everywhere.contains("WARNING: every machine") && !everywhere.contains("take over") && everywhere.contains("/tmp"));
        assert!(open.contains("could take over this account") && open.contains("not sandboxed: this kernel has no Landlock."), "{open}");
        let unconfined = said("127.0.0.1:7", Confinement::None("why".into()));
        assert!(unconfined.contains("could take over this account"), "{unconfined}");
    }
}
