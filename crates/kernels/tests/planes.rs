//! Group normalisation and constants of rows against plain loops.
#![allow(unsafe_code, reason = "the interface takes pointers")]
#![allow(clippy::undocumented_unsafe_blocks, reason = "the matrices of a test have the sizes that it says")]

mod reference;

use atelier_kernels::planes::{GroupNorm, RowOperation, apply_constant, group_norm};
use reference::{Shared, levels, numbers, on_threads};

#[test]
fn group_norms() {
    for (level, kernels) in levels() {
        for (group_size, groups, last, shift) in [(1, 3, 1, 0.0), (5, 4, 2, 0.0), (4096, 2, 4096, 300.0), (10_000, 3, 77, -5.0)] {
            let total = group_size * (groups - 1) + last;
            let from: Vec<f32> = numbers(total, 9).into_iter().map(|value| value + shift).collect();
            let mut to = vec![f32::NAN; total];
            let (source, target) = (Shared(from.as_ptr().cast_mut()), Shared(to.as_mut_ptr()));
            on_threads(3, |thread| {
                let norm = GroupNorm { from: source.get(), to: target.get(), group_size, total, epsilon: 1e-6 };
                unsafe { group_norm(kernels, &norm, thread) };
            });
            for (got, values) in to.chunks(group_size).zip(from.chunks(group_size)) {
                let mean = values.iter().map(|&value| f64::from(value)).sum::<f64>() / values.len() as f64;
                let variance = values.iter().map(|&value| (f64::from(value) - mean).powi(2)).sum::<f64>() / values.len() as f64;
                for (&got, &value) in got.iter().zip(values) {
                    let wanted = (f64::from(value) - mean) / (variance + 1e-6).sqrt();
                    assert!((f64::from(got) - wanted).abs() < 2e-4, "{level:?} {group_size}: {got}, not {wanted}");
                }
            }
        }
    }
}

#[test]
fn constants() {
    for (level, kernels) in levels() {
        for count in 0..70 {
            let from = numbers(count, 10);
            for operation in [RowOperation::Add, RowOperation::Multiply] {
                let mut to = vec![f32::NAN; count + 1];
                unsafe { apply_constant(kernels, operation, from.as_ptr(), count, 0.37, to.as_mut_ptr()) };
                let wanted: Vec<f32> =
                    from.iter().map(|value| if operation == RowOperation::Add { value + 0.37 } else { value * 0.37 }).collect();
                assert_eq!(to[..count], wanted, "{level:?}");
                assert!(to[count].is_nan());
            }
        }
    }
}
