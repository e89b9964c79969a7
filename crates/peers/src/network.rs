//! Where studios are announced and searched.

use mdns_sd::{IfKind, ServiceDaemon};

use crate::StudioError;

/// Networks in which studios are announced and searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// Those that this computer is in.
    #[default]
    Local,
    /// This computer alone, at a port of its own in place of that of mDNS: for tests.
    ThisComputer { port: u16 },
}

impl Network {
    /// Starts the thread that speaks mDNS.
    pub(crate) fn daemon(self) -> Result<ServiceDaemon, StudioError> {
        let started = match self {
            Self::Local => ServiceDaemon::new(),
            Self::ThisComputer { port } => ServiceDaemon::new_with_port(port),
        };
        let daemon = started.map_err(|error| failed(&error))?;
        let limited = match self {
            Self::Local => daemon.disable_interface(vec![IfKind::LoopbackV4, IfKind::LoopbackV6]),
            Self::ThisComputer { .. } => daemon.disable_interface(IfKind::All).and_then(|()| daemon.enable_interface(IfKind::LoopbackV4)),
        };
        limited.map_err(|error| failed(&error))?;
        Ok(daemon)
    }
}

pub(crate) fn failed(error: &mdns_sd::Error) -> StudioError {
    StudioError::NoNetwork(error.to_string())
}
