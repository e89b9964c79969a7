//! Servers whose devices are borrowed, and their connection state. Pure.

use atelier_engine::{RemoteReport, ServerAddress};
use atelier_language::tr;

/// Server whose devices are borrowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteServer {
    /// Host and port.
    pub address: ServerAddress,
    pub state: ServerState,
    /// Result of the last test, as a sentence.
    pub test_result: Option<Result<String, String>>,
    /// True while a test runs.
    pub testing: bool,
}

/// Connection state of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerState {
    /// A request is on its way.
    Connecting,
    /// Connected, with the local names of its devices.
    Connected(Vec<String>),
    /// No connection, with the reason as a sentence.
    Unreachable(String),
}

impl RemoteServer {
    /// A server whose answer is pending.
    #[must_use]
    pub const fn new(address: ServerAddress) -> Self {
        Self { address, state: ServerState::Connecting, test_result: None, testing: false }
    }
}

/// Result of a test as a sentence.
pub(in crate::gui) fn test_summary(report: &RemoteReport) -> String {
    let devices = match &report.devices[..] {
        [] => tr!("devices-lends-no-devices").to_owned(),
        [one] => tr!("devices-lends-2", description = one.described()),
        many => tr!("devices-lends-devices", many = many.len()),
    };
    let trip_ms = report.round_trip.as_secs_f64() * 1e3;
    let bandwidth = report.bandwidth.map_or(String::new(), |bytes| tr!("devices-mb-a-second", rate = format!("{:.0}", bytes / 1e6)));
    let program = if report.is_stock { tr!("devices-ggmls-rpc-server") } else { tr!("devices-it") };
    tr!("devices-answers-and-ms-there", program, devices, trip_ms = format!("{trip_ms:.1}"), bandwidth, wire_version = report.wire_version)
}

/// Shell command for an SSH tunnel to this server, to be run on this machine; the server is then at
/// 127.0.0.1.
#[must_use]
pub fn ssh_tunnel_command(address: &ServerAddress) -> String {
    let (host, port) = address.as_str().rsplit_once(':').unwrap_or((address.as_str(), ""));
    format!("ssh -N -L {port}:127.0.0.1:{port} {host}")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_tunnel_leads_to_the_servers_own_port() {
        assert_eq!(ssh_tunnel_command(&"studio.local:50053".parse().unwrap()), "ssh -N -L 50053:127.0.0.1:50053 studio.local");
    }

    #[test]
    fn a_test_is_told_in_numbers() {
        let report = RemoteReport {
            devices: Vec::new(),
            round_trip: Duration::from_micros(1240),
            bandwidth: Some(940.4e6),
            wire_version: "atelier-3".into(),
            is_stock: false,
        };
        assert_eq!(
            test_summary(&report),
            "It answers and lends no devices: 1.2 ms there and back, 940 MB a second, wire version atelier-3."
        );
        let stock = RemoteReport { bandwidth: None, wire_version: "ggml 4.0.0".into(), is_stock: true, ..report };
        assert_eq!(test_summary(&stock), "ggml's rpc-server answers and lends no devices: 1.2 ms there and back, wire version ggml 4.0.0.");
    }
}
