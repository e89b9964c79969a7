//! What is in memory, as plain data for whoever shows it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use atelier_core::placement::Module;
use atelier_core::recipe::ModelFiles;

/// The models in memory, the latest used first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Residency {
    /// The models.
    pub models: Vec<Resident>,
    /// By device: bytes that models held which are gone, and that were not free afterwards. Drivers keep some for themselves.
    pub unreturned_bytes: BTreeMap<String, u64>,
    /// What text encoders made of texts, also for models that are gone.
    #[serde(default)]
    pub encodings: RememberedTexts,
}

/// Encodings of texts that are remembered, so that no text encoder runs, nor is loaded, for a text that it has read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RememberedTexts {
    /// How many were found since the engine was started.
    pub found: u64,
    /// How many had to be made since then.
    pub made: u64,
    /// Bytes of RAM that they take now.
    pub bytes: u64,
}

impl Residency {
    /// Bytes of weights that all models together hold on each device, by its whole name; what they share counts once.
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

/// A number of a model in memory, which no other ever has.
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
    /// What it holds where.
    pub parts: Vec<ResidentPart>,
    /// When it was used last, in seconds since 1970.
    pub used_at_secs: u64,
    /// Whether a job uses it now.
    pub in_use: bool,
    /// Whether it stays until it is let go.
    pub kept: bool,
    /// Text encodings that were remembered, so that no encoder ran.
    pub encodings_found: u64,
    /// Text encodings that had to be made.
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
    /// How many bytes.
    pub bytes: u64,
    /// The model that read it from the files; another one where it was borrowed.
    pub owner: ResidentId,
    /// Whether another model in memory uses the same weights.
    pub shared: bool,
}
