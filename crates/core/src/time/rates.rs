//! Rates of devices.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::work::{NodeSize, WeightType, Work, WorkClass, WorkKind};

/// Rate of a class of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassRate {
    /// The class.
    pub class: WorkClass,
    /// Floating point operations per second; bytes per second for what is limited by memory.
    pub per_sec: f64,
}

/// Rates of a device. What is not above 0 counts as unknown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceRates {
    /// Rates of computation.
    pub classes: Vec<ClassRate>,
    /// Bytes per second from RAM to the device; over the network for a remote one. Unknown: free,
    /// as for the processor.
    pub copy_to_per_sec: f64,
    /// Bytes per second from the device to RAM.
    pub copy_from_per_sec: f64,
    /// Bytes per second of weights from files to the device, the files being in the system's cache.
    pub load_per_sec: f64,
    /// Bytes per second of RAM that is used for the first time, which the system clears. Unknown:
    /// free, as for a card's own memory.
    #[serde(default)]
    pub allocate_per_sec: f64,
    /// Seconds for each node, beside its work: launches.
    pub node_secs: f64,
    /// Seconds for each graph, beside its nodes: set-up, for a remote device the round trip.
    pub graph_secs: f64,
}

/// Rates of the devices of a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineRates {
    /// By whole name.
    pub devices: BTreeMap<String, DeviceRates>,
    /// Seconds to open a model, beside its weights: headers, tokenizers.
    pub open_secs: f64,
}

impl DeviceRates {
    /// Rate of a class: its own; else that of the nearest smaller, then larger size; else the
    /// slowest of the kind. `None`: the kind was not measured.
    #[must_use]
    pub fn of_class(&self, class: WorkClass) -> Option<f64> {
        let at = |size: NodeSize| self.exact(WorkClass { size, ..class });
        let smaller = NodeSize::ALL.into_iter().rev().filter(|size| *size <= class.size);
        let larger = NodeSize::ALL.into_iter().filter(|size| *size > class.size);
        smaller.chain(larger).find_map(at).or_else(|| {
            let of_kind = self.classes.iter().filter(|it| it.class.kind == class.kind && it.per_sec > 0.0);
            of_kind.map(|it| it.per_sec).min_by(f64::total_cmp)
        })
    }

    fn exact(&self, class: WorkClass) -> Option<f64> {
        self.classes.iter().find(|it| it.class == class && it.per_sec > 0.0).map(|it| it.per_sec)
    }

    /// Seconds of graphs with their inputs and results; `None` where a kind of theirs was not
    /// measured.
    #[must_use]
    pub fn secs(&self, work: &Work) -> Option<f64> {
        let mut secs = work.graphs() as f64 * positive(self.graph_secs);
        for part in work.parts() {
            let amount = if part.class.kind.is_limited_by_memory() { part.amount.bytes } else { part.amount.operations };
            secs += part.amount.nodes as f64 * positive(self.node_secs) + amount as f64 / self.of_class(part.class)?;
        }
        Some(
            secs + seconds_of_copy(work.input_bytes(), self.copy_to_per_sec) + seconds_of_copy(work.output_bytes(), self.copy_from_per_sec),
        )
    }

    /// Seconds to copy bytes to the device.
    #[must_use]
    pub fn copy_to_secs(&self, bytes: u64) -> f64 {
        seconds_of_copy(bytes, self.copy_to_per_sec)
    }

    /// Seconds to read weights from files to the device.
    #[must_use]
    pub fn load_secs(&self, bytes: u64) -> f64 {
        seconds_of_copy(bytes, self.load_per_sec)
    }

    /// True where all kinds of work were measured.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        let any = |kind| WorkClass { kind, weights: WeightType::F16, size: NodeSize::Large };
        WorkKind::ALL.into_iter().all(|kind| self.of_class(any(kind)).is_some())
    }
}

/// Seconds to copy; none where the rate is unknown.
pub(super) fn seconds_of_copy(bytes: u64, per_sec: f64) -> f64 {
    if per_sec > 0.0 { bytes as f64 / per_sec } else { 0.0 }
}

pub(super) const fn positive(secs: f64) -> f64 {
    secs.max(0.0)
}

#[cfg(test)]
mod tests {
    use super::super::work::WorkAmount;
    use super::*;

    fn class(kind: WorkKind, weights: WeightType, size: NodeSize) -> WorkClass {
        WorkClass { kind, weights, size }
    }

    #[test]
    fn a_class_that_was_not_measured_has_the_rate_of_the_nearest() {
        let large = class(WorkKind::Product, WeightType::F16, NodeSize::Large);
        let small = class(WorkKind::Product, WeightType::F16, NodeSize::Small);
        let quantised = class(WorkKind::Product, WeightType::Q4K, NodeSize::Large);
        let rates = DeviceRates {
            classes: [(large, 100.0), (small, 10.0), (quantised, 70.0)].map(|(class, per_sec)| ClassRate { class, per_sec }).into(),
            ..DeviceRates::default()
        };
        let of = |weights, size| rates.of_class(class(WorkKind::Product, weights, size));
        assert_eq!(of(WeightType::F16, NodeSize::Medium), Some(10.0), "the smaller one, so that nothing is promised");
        assert_eq!(of(WeightType::F16, NodeSize::Narrow), Some(10.0));
        assert_eq!(of(WeightType::Q8_0, NodeSize::Large), Some(10.0), "the slowest of the kind");
        assert_eq!(rates.of_class(class(WorkKind::Attention, WeightType::F16, NodeSize::Large)), None);
        assert!(!rates.is_complete());
    }

    #[test]
    fn seconds_of_work_are_those_of_its_nodes_its_graphs_and_its_copies() {
        let product = class(WorkKind::Product, WeightType::F16, NodeSize::Large);
        let copy = class(WorkKind::Copy, WeightType::F32, NodeSize::Large);
        let mut work = Work::of_graphs(2, 30, 40);
        work.add_nodes(product, WorkAmount { nodes: 3, operations: 1000, bytes: 5 });
        work.add_nodes(copy, WorkAmount { nodes: 1, operations: 0, bytes: 50 });
        let rates = DeviceRates {
            classes: vec![ClassRate { class: product, per_sec: 100.0 }, ClassRate { class: copy, per_sec: 10.0 }],
            copy_to_per_sec: 10.0,
            copy_from_per_sec: 20.0,
            load_per_sec: 0.0,
            allocate_per_sec: 0.0,
            node_secs: 0.5,
            graph_secs: 0.25,
        };
        let [nodes, graphs, compute, memory, copies] = [4.0 * 0.5, 2.0 * 0.25, 10.0, 5.0, 3.0 + 2.0];
        assert_eq!(rates.secs(&work), Some(nodes + graphs + compute + memory + copies));
        assert_eq!(DeviceRates::default().secs(&work), None);
    }
}
