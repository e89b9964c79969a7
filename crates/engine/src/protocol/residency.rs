//! The models in memory.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use atelier_core::placement::Module;
use atelier_core::recipe::{ModelFiles, PlacementText};

/// The models in memory, the latest used first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Residency {
    /// The models.
    pub models: Vec<Resident>,
    /// Bytes by device that evicted models held and the driver did not return.
    pub unreturned_bytes: BTreeMap<String, u64>,
    /// Cached text encodings, those of evicted models included.
    #[serde(default)]
    pub encodings: RememberedTexts,
}

/// Statistics of cached text encodings: for a text in the cache no text encoder runs, nor is
/// loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RememberedTexts {
    /// Hits since the engine was started.
    pub found: u64,
    /// Misses since the engine was started.
    pub made: u64,
    /// Bytes of RAM in use now.
    pub bytes: u64,
}

impl Residency {
    /// Bytes of weights on each device, by its whole name; shared ones count once.
    #[must_use]
    pub fn held_bytes(&self) -> BTreeMap<String, u64> {
        let parts = self.models.iter().flat_map(|model| &model.parts);
        let once: BTreeMap<_, _> = parts.map(|part| ((part.owner, part.module, &part.device), part.bytes)).collect();
        let mut held = BTreeMap::new();
        for ((_, _, device), bytes) in once {
            *held.entry(device.clone()).or_default() += bytes;
        }
        held
    }
}

/// Number of a model in memory; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ResidentId(pub u64);

/// A model in memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resident {
    /// Its number.
    pub id: ResidentId,
    /// Its files.
    pub files: ModelFiles,
    /// The devices of its modules, without budgets.
    #[serde(default)]
    pub placement: PlacementText,
    /// Its weights by module and device.
    pub parts: Vec<ResidentPart>,
    /// Time of its last use, in seconds since 1970.
    pub used_at_secs: u64,
    /// A job uses it now.
    pub in_use: bool,
    /// It is exempt from eviction.
    pub kept: bool,
    /// Text encodings found in the cache.
    pub encodings_found: u64,
    /// Text encodings that were computed.
    pub encodings_made: u64,
}

impl Resident {
    /// Bytes of all its parts, shared ones included.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.bytes).sum()
    }
}

/// Weights of a module in a device's memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResidentPart {
    /// The module.
    pub module: Module,
    /// The device's whole name; the CPU's means RAM.
    pub device: String,
    /// Their size in bytes.
    pub bytes: u64,
    /// The model that they were read for; another one where they are borrowed.
    pub owner: ResidentId,
    /// Another model in memory uses the same weights.
    pub shared: bool,
}
