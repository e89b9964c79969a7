//! The operations that are timed, by the class of work whose rate they give.

use crate::ffi::{Operation, OperationKind};
use atelier_core::time::{NodeSize, WeightType, WorkClass, WorkKind};

/// Bytes of a value of activations.
const VALUE_BYTES: u64 = 4;

/// An operation that stands for a class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) class: WorkClass,
    pub(super) operation: Operation,
    /// Floating point operations of one node; bytes where memory is the limit.
    pub(super) amount: u64,
}

impl Sample {
    fn new(size: NodeSize, weights: WeightType, nodes: u32, kind: OperationKind) -> Self {
        let product = |sizes: [u32; 3]| sizes.into_iter().map(u64::from).product::<u64>();
        let (work, amount) = match kind {
            OperationKind::Product(sizes) => (WorkKind::Product, 2 * product(sizes)),
            OperationKind::Convolution(sizes) | OperationKind::UnfoldedConvolution(sizes) => {
                (WorkKind::Convolution, 18 * u64::from(sizes[0]) * product(sizes))
            }
            OperationKind::Attention(sizes) => (WorkKind::Attention, 4 * u64::from(sizes[1]) * product(sizes)),
            OperationKind::Add(values) => (WorkKind::Elementwise, 3 * VALUE_BYTES * u64::from(values)),
            OperationKind::Silu(values) => (WorkKind::Elementwise, 2 * VALUE_BYTES * u64::from(values)),
            OperationKind::Gelu(values) | OperationKind::SoftMax(values) => (WorkKind::Transcendental, 2 * VALUE_BYTES * u64::from(values)),
            OperationKind::Norm(values) => (WorkKind::Normalization, 2 * VALUE_BYTES * u64::from(values)),
            OperationKind::Permute(values) | OperationKind::Transpose(values) => (WorkKind::Copy, 2 * VALUE_BYTES * u64::from(values)),
            OperationKind::Convert(values) => (WorkKind::Copy, 3 * VALUE_BYTES / 2 * u64::from(values)),
            OperationKind::Allocate(bytes)
            | OperationKind::Upload(bytes)
            | OperationKind::UploadToNew(bytes)
            | OperationKind::Download(bytes) => (WorkKind::Copy, u64::from(bytes)),
        };
        Self { class: WorkClass { kind: work, weights, size }, operation: Operation { kind, weights, nodes }, amount }
    }
}

/// All samples of a device, the small ones of a kind before the large ones. `is_direct`: it
/// computes convolutions without unfolding the image.
pub(super) fn samples(is_direct: bool) -> Vec<Sample> {
    use NodeSize::{Large, Medium, Narrow, Small};
    use OperationKind::{Add, Attention, Convert, Gelu, Norm, Permute, Product, Silu, SoftMax, Transpose};
    let mut all = Vec::new();
    for weights in WeightType::NAMED {
        all.push(Sample::new(Narrow, weights, 8, Product([1280, 1, 1280])));
        all.push(Sample::new(Small, weights, 8, Product([768, 77, 768])));
        all.push(Sample::new(Small, weights, 2, Product([1280, 77, 1280])));
        all.push(Sample::new(Medium, weights, 2, Product([1280, 256, 1280])));
    }
    for weights in [WeightType::F16, WeightType::Q8_0] {
        all.push(Sample::new(Large, weights, 1, Product([1536, 1024, 1536])));
    }
    let convolve = if is_direct { OperationKind::Convolution } else { OperationKind::UnfoldedConvolution };
    for weights in [WeightType::F32, WeightType::F16] {
        all.push(Sample::new(Narrow, weights, 2, convolve([128, 64, 4])));
        all.push(Sample::new(Small, weights, 4, convolve([16, 128, 128])));
        all.push(Sample::new(Medium, weights, 1, convolve([32, 320, 320])));
        all.push(Sample::new(Medium, weights, 1, convolve([192, 64, 64])));
    }
    all.push(Sample::new(Large, WeightType::F16, 1, convolve([96, 128, 256])));
    for (size, nodes, sizes) in [
        (Narrow, 1, [8, 512, 8]),
        (Small, 4, [64, 77, 12]),
        (Small, 2, [64, 256, 6]),
        (Medium, 1, [64, 512, 12]),
        (Medium, 1, [40, 1024, 8]),
        (Large, 1, [64, 1088, 16]),
    ] {
        all.push(Sample::new(size, WeightType::F16, nodes, Attention(sizes)));
    }
    // Each as often as it is met in pictures beside the others of its kind.
    for (size, nodes, values) in [(Small, 8, 1 << 15), (Medium, 2, 1 << 20), (Large, 1, 12 << 20)] {
        for kind in [Add, Silu, Gelu, SoftMax, Norm, Permute, Convert, Transpose] {
            all.push(Sample::new(size, WeightType::F32, nodes, kind(values)));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Limits of `NodeSize`, as its variants say.
    fn size_of(sample: &Sample) -> NodeSize {
        let is_narrow = match sample.operation.kind {
            OperationKind::Product([features, tokens, _]) => features.min(tokens) < 16,
            OperationKind::Attention([head, ..]) => head < 32,
            OperationKind::Convolution([_, _, channels]) | OperationKind::UnfoldedConvolution([_, _, channels]) => channels < 16,
            _ => false,
        };
        let is_low = matches!(sample.operation.kind, OperationKind::Product([features, tokens, _]) if features.min(tokens) < 128);
        let (small, medium) = if sample.class.kind.is_limited_by_memory() { (1 << 20, 1 << 26) } else { (1 << 27, 1 << 32) };
        match sample.amount {
            _ if is_narrow => NodeSize::Narrow,
            amount if amount < small || is_low => NodeSize::Small,
            amount if amount < medium => NodeSize::Medium,
            _ => NodeSize::Large,
        }
    }

    #[test]
    fn a_sample_is_of_the_size_that_it_stands_for() {
        for sample in [samples(true), samples(false)].concat() {
            assert_eq!(sample.class.size, size_of(&sample), "{sample:?}");
        }
    }

    #[test]
    fn there_is_a_sample_of_every_kind_of_work() {
        for kind in WorkKind::ALL {
            assert!(samples(true).iter().any(|sample| sample.class.kind == kind), "{kind:?}");
        }
    }
}
