//! Work of graphs: operations and bytes by kind.

use serde::{Deserialize, Serialize};

/// Kind of a node of a graph, by what limits its speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkKind {
    /// Matrix products.
    Product,
    /// Convolutions, direct or as a product over the unfolded image. The unfolding belongs to them.
    Convolution,
    /// Attention in one node.
    Attention,
    /// Sums, products by elements, and activations that are computed in vectors. Limited by memory.
    Elementwise,
    /// Softmax, GELU, tanh and other functions that a processor computes value by value. Goes by
    /// bytes, as all that follow.
    Transcendental,
    /// Norms. Limited by memory.
    Normalization,
    /// Copies, changes of layout, lookups, scaling of images. Limited by memory.
    Copy,
}

impl WorkKind {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Product, Self::Convolution, Self::Attention, Self::Elementwise, Self::Transcendental, Self::Normalization, Self::Copy];

    /// True where time goes by bytes, not by floating point operations.
    #[must_use]
    pub const fn is_limited_by_memory(self) -> bool {
        matches!(self, Self::Elementwise | Self::Transcendental | Self::Normalization | Self::Copy)
    }
}

/// Number type of the weights of a node, or of its first operand where it has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WeightType {
    /// 32 bits.
    F32,
    /// 16 bits, IEEE.
    F16,
    /// 16 bits, the upper half of 32.
    Bf16,
    /// Quantised, 8 bits.
    Q8_0,
    /// Quantised, 4 bits.
    Q4_0,
    /// Quantised, 4 bits with a minimum.
    Q4_1,
    /// Quantised, 5 bits.
    Q5_0,
    /// Quantised, 5 bits with a minimum.
    Q5_1,
    /// Quantised in superblocks, 2 bits.
    Q2K,
    /// Quantised in superblocks, 3 bits.
    Q3K,
    /// Quantised in superblocks, 4 bits.
    Q4K,
    /// Quantised in superblocks, 5 bits.
    Q5K,
    /// Quantised in superblocks, 6 bits.
    Q6K,
    /// Any other.
    Other,
}

impl WeightType {
    /// All that have a name.
    pub const NAMED: [Self; 13] = [
        Self::F32,
        Self::F16,
        Self::Bf16,
        Self::Q8_0,
        Self::Q4_0,
        Self::Q4_1,
        Self::Q5_0,
        Self::Q5_1,
        Self::Q2K,
        Self::Q3K,
        Self::Q4K,
        Self::Q5K,
        Self::Q6K,
    ];

    /// Its name in ggml; `None` for `Other`.
    #[must_use]
    pub const fn ggml_name(self) -> Option<&'static str> {
        Some(match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::Q8_0 => "q8_0",
            Self::Q4_0 => "q4_0",
            Self::Q4_1 => "q4_1",
            Self::Q5_0 => "q5_0",
            Self::Q5_1 => "q5_1",
            Self::Q2K => "q2_K",
            Self::Q3K => "q3_K",
            Self::Q4K => "q4_K",
            Self::Q5K => "q5_K",
            Self::Q6K => "q6_K",
            Self::Other => return None,
        })
    }

    /// The type of this name in ggml: `f16`, `q4_K`.
    #[must_use]
    pub fn from_ggml(name: &str) -> Self {
        Self::NAMED.into_iter().find(|it| it.ggml_name() == Some(name)).unwrap_or(Self::Other)
    }
}

/// Size of a node: small ones run at a fraction of the rate of large ones. The limits are those of
/// `shim/graph_work.cpp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeSize {
    /// A product or convolution with fewer than 16 rows or columns; attention with heads of fewer
    /// than 32 values.
    Narrow,
    /// Below 2^27 operations, or 2^20 bytes; a product with fewer than 128 rows or columns.
    Small,
    /// Below 2^32 operations, or 2^26 bytes.
    Medium,
    /// All others.
    Large,
}

impl NodeSize {
    /// All of them, the smallest first.
    pub const ALL: [Self; 4] = [Self::Narrow, Self::Small, Self::Medium, Self::Large];
}

/// Nodes that run at one rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct WorkClass {
    /// Their kind.
    pub kind: WorkKind,
    /// The type of their weights.
    pub weights: WeightType,
    /// Their size.
    pub size: NodeSize,
}

/// An amount of work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkAmount {
    /// Number of nodes.
    pub nodes: u64,
    /// Floating point operations; a multiplication with its addition is two. 0 for what is limited
    /// by memory.
    pub operations: u64,
    /// Bytes read and written.
    pub bytes: u64,
}

impl WorkAmount {
    fn add(&mut self, other: Self) {
        self.nodes = self.nodes.saturating_add(other.nodes);
        self.operations = self.operations.saturating_add(other.operations);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }

    const fn without(self, part: Self) -> Self {
        Self {
            nodes: self.nodes.saturating_sub(part.nodes),
            operations: self.operations.saturating_sub(part.operations),
            bytes: self.bytes.saturating_sub(part.bytes),
        }
    }

    const fn times(self, count: u64) -> Self {
        Self {
            nodes: self.nodes.saturating_mul(count),
            operations: self.operations.saturating_mul(count),
            bytes: self.bytes.saturating_mul(count),
        }
    }
}

/// Amount of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkPart {
    /// The class.
    pub class: WorkClass,
    /// The amount.
    pub amount: WorkAmount,
}

/// Work of graphs. Sums saturate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// Each class once, in their order.
    parts: Vec<WorkPart>,
    /// Number of graphs.
    graphs: u64,
    /// Bytes of inputs that are copied to the device.
    input_bytes: u64,
    /// Bytes of results that are copied from the device.
    output_bytes: u64,
}

impl Work {
    /// Graphs without nodes, with bytes of inputs and results.
    #[must_use]
    pub const fn of_graphs(graphs: u64, input_bytes: u64, output_bytes: u64) -> Self {
        Self { parts: Vec::new(), graphs, input_bytes, output_bytes }
    }

    /// The amount of each class, in the order of classes.
    #[must_use]
    pub fn parts(&self) -> &[WorkPart] {
        &self.parts
    }

    /// Number of graphs: one for each evaluation of a module that runs whole.
    #[must_use]
    pub const fn graphs(&self) -> u64 {
        self.graphs
    }

    /// Bytes of inputs that are copied to the device.
    #[must_use]
    pub const fn input_bytes(&self) -> u64 {
        self.input_bytes
    }

    /// Bytes of results that are copied from the device.
    #[must_use]
    pub const fn output_bytes(&self) -> u64 {
        self.output_bytes
    }

    /// Floating point operations of all classes.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.parts.iter().fold(0, |sum, part| sum.saturating_add(part.amount.operations))
    }

    /// Sum of a kind, whatever its weights and sizes.
    #[must_use]
    pub fn of_kind(&self, kind: WorkKind) -> WorkAmount {
        let mut sum = WorkAmount::default();
        for part in self.parts.iter().filter(|part| part.class.kind == kind) {
            sum.add(part.amount);
        }
        sum
    }

    /// Adds nodes of a class.
    pub fn add_nodes(&mut self, class: WorkClass, amount: WorkAmount) {
        match self.parts.binary_search_by_key(&class, |part| part.class) {
            Ok(index) => {
                if let Some(part) = self.parts.get_mut(index) {
                    part.amount.add(amount);
                }
            }
            Err(index) => self.parts.insert(index, WorkPart { class, amount }),
        }
    }

    /// Adds other work.
    pub fn add(&mut self, other: &Self) {
        for part in &other.parts {
            self.add_nodes(part.class, part.amount);
        }
        self.graphs = self.graphs.saturating_add(other.graphs);
        self.input_bytes = self.input_bytes.saturating_add(other.input_bytes);
        self.output_bytes = self.output_bytes.saturating_add(other.output_bytes);
    }

    /// What is left without other work that is a part of it.
    #[must_use]
    pub fn without(&self, part: &Self) -> Self {
        let amount_of = |class| part.parts.iter().find(|it| it.class == class).map_or_else(WorkAmount::default, |it| it.amount);
        let left = |of: &WorkPart| WorkPart { class: of.class, amount: of.amount.without(amount_of(of.class)) };
        Self {
            parts: self.parts.iter().map(left).filter(|it| it.amount != WorkAmount::default()).collect(),
            graphs: self.graphs.saturating_sub(part.graphs),
            input_bytes: self.input_bytes.saturating_sub(part.input_bytes),
            output_bytes: self.output_bytes.saturating_sub(part.output_bytes),
        }
    }

    /// The same, so many times.
    #[must_use]
    pub fn times(&self, count: u64) -> Self {
        Self {
            parts: self.parts.iter().map(|part| WorkPart { class: part.class, amount: part.amount.times(count) }).collect(),
            graphs: self.graphs.saturating_mul(count),
            input_bytes: self.input_bytes.saturating_mul(count),
            output_bytes: self.output_bytes.saturating_mul(count),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(kind: WorkKind, size: NodeSize) -> WorkClass {
        WorkClass { kind, weights: WeightType::F16, size }
    }

    #[test]
    fn work_adds_up_by_class_and_multiplies() {
        let large = class(WorkKind::Product, NodeSize::Large);
        let small = class(WorkKind::Product, NodeSize::Small);
        let mut work = Work::of_graphs(1, 10, 20);
        work.add_nodes(large, WorkAmount { nodes: 1, operations: 100, bytes: 7 });
        work.add_nodes(small, WorkAmount { nodes: 2, operations: 10, bytes: 3 });
        work.add_nodes(large, WorkAmount { nodes: 1, operations: 50, bytes: 1 });
        assert_eq!(work.parts().iter().map(|part| part.class).collect::<Vec<_>>(), [small, large]);
        let mut both = work.clone();
        both.add(&work);
        assert_eq!(both, work.times(2));
        assert_eq!(both.without(&work), work);
        assert_eq!(work.without(&both), Work::default());
        assert_eq!(both.of_kind(WorkKind::Product), WorkAmount { nodes: 8, operations: 320, bytes: 22 });
        assert_eq!((both.operations(), both.graphs(), both.input_bytes(), both.output_bytes()), (320, 2, 20, 40));
        assert_eq!(both.of_kind(WorkKind::Copy), WorkAmount::default());
        assert_eq!(work.times(u64::MAX).operations(), u64::MAX, "sums saturate");
    }

    #[test]
    fn types_have_the_names_of_ggml() {
        let names = ["f32", "q4_K", "q8_0", "iq2_xs"].map(WeightType::from_ggml);
        assert_eq!(names, [WeightType::F32, WeightType::Q4K, WeightType::Q8_0, WeightType::Other]);
    }
}
