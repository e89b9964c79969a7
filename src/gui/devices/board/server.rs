//! Other machines whose devices are borrowed, and how they answer. Pure.

use atelier_engine::{RemoteReport, ServerAddress};

/// Another machine whose devices are borrowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Where it is.
    pub address: ServerAddress,
    /// Whether it answers.
    pub state: ServerState,
    /// What the last test found, as a sentence.
    pub tested: Option<Result<String, String>>,
    /// Whether a test is under way.
    pub testing: bool,
}

/// Whether a server answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerState {
    /// It was asked.
    Asking,
    /// It lends these devices, by their names here.
    Lends(Vec<String>),
    /// It does not; a sentence says why.
    Silent(String),
}

impl Server {
    /// A server that is being asked.
    #[must_use]
    pub const fn new(address: ServerAddress) -> Self {
        Self { address, state: ServerState::Asking, tested: None, testing: false }
    }
}

/// What a test found, as a sentence.
pub(in crate::gui) fn found(report: &RemoteReport) -> String {
    let devices = match &report.devices[..] {
        [] => "lends nothing".to_owned(),
        [one] => format!("lends {}", one.description),
        many => format!("lends {} devices", many.len()),
    };
    let trip_ms = report.round_trip.as_secs_f64() * 1e3;
    let megabytes = report.bandwidth / 1e6;
    format!("It answers and {devices}: {trip_ms:.1} ms there and back, {megabytes:.0} MB a second, wire version {}.", report.wire_version)
}

/// The command that makes an encrypted way to this server, to be run on this machine; it is then reached at 127.0.0.1.
#[must_use]
pub fn tunnel(address: &ServerAddress) -> String {
    let (host, port) = address.as_str().rsplit_once(':').unwrap_or((address.as_str(), ""));
    format!("ssh -N -L {port}:127.0.0.1:{port} {host}")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_tunnel_leads_to_the_servers_own_port() {
        assert_eq!(tunnel(&"studio.local:50053".parse().unwrap()), "ssh -N -L 50053:127.0.0.1:50053 studio.local");
    }

    #[test]
    fn a_test_is_told_in_numbers() {
        let report = RemoteReport {
            devices: Vec::new(),
            round_trip: Duration::from_micros(1240),
            bandwidth: 940.4e6,
            wire_version: "atelier-3".into(),
        };
        assert_eq!(found(&report), "It answers and lends nothing: 1.2 ms there and back, 940 MB a second, wire version atelier-3.");
    }
}
