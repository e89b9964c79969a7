//! When tokens and devices were used last: by that approvals end, and the person is told.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::clock::DAY_SECS;
use super::guard::Entry;

/// A use so soon after the one before is not written down.
const WRITTEN_EVERY_SECS: i64 = 60 * 60;
/// What was not used for so long is forgotten.
const KEPT_SECS: i64 = 365 * DAY_SECS;

/// The last use of each, in seconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Uses {
    tokens: BTreeMap<String, i64>,
    devices: BTreeMap<IpAddr, i64>,
}

impl Uses {
    pub(super) fn of(&self, entry: &Entry) -> Option<i64> {
        match entry {
            Entry::Free => None,
            Entry::Token(name) => self.tokens.get(name).copied(),
            Entry::Device(address) => self.devices.get(address).copied(),
        }
    }

    /// Notes a use; true where it is to be written down.
    pub(super) fn note(&mut self, entry: &Entry, now_secs: i64) -> bool {
        if self.of(entry).is_some_and(|last| (last..last.saturating_add(WRITTEN_EVERY_SECS)).contains(&now_secs)) {
            return false;
        }
        match entry {
            Entry::Free => return false,
            Entry::Token(name) => self.tokens.insert(name.clone(), now_secs),
            Entry::Device(address) => self.devices.insert(*address, now_secs),
        };
        true
    }

    /// Adds what another process has noted: of each the last use. One that is yet to come, by a clock
    /// that was wrong, is none.
    pub(super) fn merge(&mut self, other: Self, now_secs: i64) {
        for (name, at) in other.tokens {
            let last = self.tokens.entry(name).or_insert(at);
            *last = at.max(*last);
        }
        for (address, at) in other.devices {
            let last = self.devices.entry(address).or_insert(at);
            *last = at.max(*last);
        }
        let is_kept = |at: i64| (now_secs.saturating_sub(KEPT_SECS)..=now_secs).contains(&at);
        self.tokens.retain(|_, at| is_kept(*at));
        self.devices.retain(|_, at| is_kept(*at));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_use_is_written_once_an_hour_and_of_two_processes_the_last_one_counts() {
        const NOW: i64 = 2 * KEPT_SECS;
        let (anna, device) = (Entry::Token("Anna".into()), Entry::Device([10, 0, 0, 7].into()));
        let mut uses = Uses::default();
        let noted = [0, WRITTEN_EVERY_SECS - 1, WRITTEN_EVERY_SECS].map(|later| uses.note(&anna, NOW + later));
        assert_eq!(noted, [true, false, true]);
        assert!(uses.note(&anna, NOW), "the clock was set back");
        assert!(!uses.note(&Entry::Free, NOW));
        let mut other = Uses::default();
        other.note(&anna, NOW - 1);
        other.note(&device, NOW - 2);
        for (name, at) in [("Ben", NOW + 1), ("Carol", NOW - KEPT_SECS - 1)] {
            other.note(&Entry::Token(name.into()), at);
        }
        uses.merge(other, NOW);
        assert_eq!((uses.of(&anna), uses.of(&device)), (Some(NOW), Some(NOW - 2)));
        assert_eq!(["Ben", "Carol"].map(|name| uses.of(&Entry::Token(name.into()))), [None; 2]);
        let text = serde_json::to_string(&uses).unwrap();
        assert_eq!(serde_json::from_str::<Uses>(&text).unwrap(), uses);
    }
}
