//! Studios of the network, as they come and go.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use mdns_sd::{Receiver, ScopedIp, ServiceDaemon, ServiceEvent};

use crate::network::{Network, failed};
use crate::record::{ACCESS_KEY, ID_KEY, PATH_KEY, Record, SERVICE, VERSION_KEY};
use crate::{FoundStudio, StudioError};

/// Studios that are listed; further ones are passed over.
const MAX_FOUND: usize = 64;

/// Looks for studios until it is dropped.
pub struct Browser {
    daemon: ServiceDaemon,
    events: Receiver<ServiceEvent>,
    network: Network,
    /// By their full names.
    found: BTreeMap<String, FoundStudio>,
}

impl Browser {
    /// Begins to look.
    ///
    /// # Errors
    /// If the system lets nothing be searched.
    pub fn start(network: Network) -> Result<Self, StudioError> {
        let daemon = network.daemon()?;
        let events = daemon.browse(SERVICE).map_err(|error| failed(&error))?;
        Ok(Self { daemon, events, network, found: BTreeMap::new() })
    }

    /// Waits until another studio is found or one is gone; false where neither happens within this
    /// time.
    pub fn wait(&mut self, within: Duration) -> bool {
        let deadline = Instant::now() + within;
        while let Ok(event) = self.events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            if self.fold(event) {
                return true;
            }
        }
        false
    }

    /// The studios that are there now, by their names.
    #[must_use]
    pub fn studios(&self) -> Vec<FoundStudio> {
        let mut studios: Vec<FoundStudio> = self.found.values().cloned().collect();
        studios.sort_by(|a, b| a.name.cmp(&b.name));
        studios
    }

    /// Waits for the studio of this name, in small letters or large ones, for at most this time.
    pub fn find(&mut self, name: &str, within: Duration) -> Option<FoundStudio> {
        let deadline = Instant::now() + within;
        loop {
            let found = self.studios().into_iter().find(|studio| studio.name.to_lowercase() == name.to_lowercase());
            if found.is_some() || !self.wait(deadline.saturating_duration_since(Instant::now())) {
                return found;
            }
        }
    }

    /// True where the list has changed.
    fn fold(&mut self, event: ServiceEvent) -> bool {
        match event {
            ServiceEvent::ServiceResolved(service) => {
                let addresses: Vec<IpAddr> = service.addresses.iter().map(ScopedIp::to_ip_addr).collect();
                let record = Record {
                    full_name: &service.fullname,
                    port: service.port,
                    addresses,
                    version: service.get_property_val_str(VERSION_KEY),
                    path: service.get_property_val_str(PATH_KEY),
                    access: service.get_property_val_str(ACCESS_KEY),
                    id: service.get_property_val_str(ID_KEY),
                };
                let Some(studio) = FoundStudio::of(&record, self.network != Network::Local) else { return false };
                if self.found.len() >= MAX_FOUND && !self.found.contains_key(&service.fullname) {
                    return false;
                }
                self.found.insert(service.fullname.clone(), studio.clone()) != Some(studio)
            }
            ServiceEvent::ServiceRemoved(_, full_name) => self.found.remove(&full_name).is_some(),
            _ => false,
        }
    }
}

impl fmt::Debug for Browser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Browser").field("found", &self.found).finish_non_exhaustive()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Nobody waits for its thread, which ends by itself; one that has ended is what is wanted.
        let _ = self.daemon.shutdown();
    }
}
