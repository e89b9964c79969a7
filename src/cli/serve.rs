//! `atelier serve-device`: lends this machine's devices, and says plainly to whom.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

use indicatif::HumanBytes;

use super::flags::ServeFlags;
use super::resolve::threads;
use atelier_core::device::Device;
use atelier_engine::{ServeEvent, ServeOptions, serve as serve_devices};

/// Lends until the program is ended; returns only where it cannot begin. Standard output carries the address, and nothing else.
pub(super) fn serve(flags: ServeFlags, out: &mut (dyn Write + Send), err: &mut (dyn Write + Send)) -> anyhow::Error {
    let ServeFlags { host, port, device, cache, cache_limit, allow_network, threads: requested_threads } = flags;
    if let Some(folder) = &cache
        && let Err(error) = std::fs::create_dir_all(folder)
    {
        return anyhow::Error::new(error).context(format!("the folder {} cannot be made", folder.display()));
    }
    let cache_limit_bytes = u64::from(cache_limit) << 30;
    let options =
        ServeOptions { host, port, devices: device, cache, cache_limit_bytes, threads: threads(requested_threads), allow_network };
    let outputs = Mutex::new((out, err));
    let report = |event| {
        let mut outputs = outputs.lock().unwrap_or_else(PoisonError::into_inner);
        let (out, err) = &mut *outputs;
        if let ServeEvent::Listening { address, .. } = &event {
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
        ServeEvent::Listening { address, devices } => listening(*address, devices),
        ServeEvent::Borrowed(peer) => format!("Lent to {peer}.\n"),
        ServeEvent::Returned(peer, None) => format!("{peer} has left.\n"),
        ServeEvent::Returned(peer, Some(why)) => format!("{peer} was cut off: {why}\n"),
        ServeEvent::Refused(peer, why) => format!("{peer} was turned away: {why}.\n"),
    }
}

fn listening(address: SocketAddr, devices: &[Device]) -> String {
    let port = address.port();
    let lent = |it: &Device| format!("Lending {} ({}, {}).", it.name, it.description, HumanBytes(it.memory_total_bytes));
    let mut lines: Vec<String> = devices.iter().map(lent).collect();
    lines.push("The connection has no encryption and no login.".to_owned());
    lines.push(if address.ip().is_loopback() {
        "Only this machine can connect. From another one, through an SSH tunnel:".to_owned()
    } else {
        format!(
            "WARNING: every machine that reaches {address} can use these devices and read what is sent. Safer, without --allow-network:"
        )
    });
    lines.push(format!("  ssh -N -L {port}:127.0.0.1:{port} USER@THIS_MACHINE"));
    lines.push(format!("  atelier generate --rpc-servers 127.0.0.1:{port} --backend rpc0 ..."));
    lines.push(format!("Listening at {address}. Press Ctrl-C to stop.\n"));
    lines.join("\n")
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
            card: None,
            memory_total_bytes: 8 << 30,
            memory_free_bytes: 1,
            memory_allocated_bytes: 0,
        };
        let said = |address: &str| words(&ServeEvent::Listening { address: address.parse().unwrap(), devices: vec![device.clone()] });
        let (here, everywhere) = (said("127.0.0.1:7"), said("0.0.0.0:7"));
        for text in [&here, &everywhere] {
            assert!(text.contains("Lending CUDA0 (A card, 8.00 GiB).") && text.contains("no encryption and no login"), "{text}");
            assert!(text.contains("ssh -N -L 7:127.0.0.1:7"), "{text}");
        }
        assert!(here.contains("Only this machine") && !here.contains("WARNING"));
        assert!(everywhere.contains("WARNING: every machine"));
    }
}
