//! Products against a triple loop.
#![allow(unsafe_code, reason = "the interface takes pointers")]
#![allow(clippy::undocumented_unsafe_blocks, reason = "the matrices of a test have the sizes that it says")]

mod reference;

use atelier_kernels::product::{Product, multiply};
use atelier_kernels::{Epilogue, Kernels, Level, Rows, Thread, Values, f16_to_f32};
use proptest::prelude::*;
use reference::{EpilogueOf, Kind, Matrix, Shared, assert_close, factor, levels, numbers, on_threads};

struct Case {
    kinds: (Kind, Kind),
    tokens: usize,
    features: usize,
    depth: usize,
    gap: usize,
    offset: usize,
    threads: usize,
}

fn check(level: Level, kernels: &'static Kernels, case: &Case) {
    let &Case { kinds, tokens, features, depth, gap, offset, threads } = case;
    let weights = Matrix::new(kinds.0, features, depth, gap, offset, 1);
    let activations = Matrix::new(kinds.1, tokens, depth, gap, offset, 2);
    let stride = features + gap;
    let mut out = vec![f32::NAN; tokens * stride];
    let shared = Shared(out.as_mut_ptr());
    on_threads(threads, |thread| {
        let product = Product {
            weights: weights.rows(),
            activations: activations.rows(),
            out: shared.get(),
            out_stride: stride,
            tokens,
            features,
            depth,
            epilogue: Epilogue::NONE,
        };
        unsafe { multiply(kernels, &product, thread) };
    });
    let what = format!("{level:?} {kinds:?} {tokens} x {features} x {depth}, {threads} threads, offset {offset}");
    for (token, got) in out.chunks(stride).enumerate() {
        let wanted: Vec<f64> = (0..features)
            .map(|feature| {
                let pairs = weights.values[feature * depth..][..depth].iter().zip(&activations.values[token * depth..][..depth]);
                pairs.map(|(&a, &b)| factor(level, a) * factor(level, b)).sum()
            })
            .collect();
        assert_close(&got[..features], &wanted, depth, &what);
        assert!(got[features..].iter().all(|value| value.is_nan()), "{what}: writes beside the result");
    }
}

#[test]
fn every_remainder_of_every_size() {
    for (level, kernels) in levels() {
        for size in 1..=70 {
            for case in [
                Case { kinds: (Kind::F32, Kind::F32), tokens: size, features: 19, depth: 37, gap: 0, offset: 0, threads: 1 },
                Case { kinds: (Kind::F16, Kind::F32), tokens: 9, features: size, depth: 33, gap: 3, offset: 2, threads: 1 },
                Case { kinds: (Kind::Bf16, Kind::F32), tokens: 11, features: 21, depth: size, gap: 5, offset: 1, threads: 1 },
                Case { kinds: (Kind::F32, Kind::Bf16), tokens: 10, features: 50, depth: size, gap: 1, offset: 3, threads: 1 },
            ] {
                check(level, kernels, &case);
            }
        }
    }
}

#[test]
fn sizes_around_the_blocks() {
    for (level, kernels) in levels() {
        for (tokens, features, depth) in [
            (255, 479, 256),
            (256, 480, 257),
            (257, 481, 511),
            (97, 361, 300),
            (193, 120, 769),
            (3, 1000, 513),
            (300, 5, 1025),
            (8, 64, 1024),
            (1, 1, 1),
        ] {
            for threads in [1, 3] {
                check(level, kernels, &Case { kinds: (Kind::F32, Kind::F32), tokens, features, depth, gap: 0, offset: 0, threads });
            }
        }
        check(
            level,
            kernels,
            &Case { kinds: (Kind::Q8, Kind::F32), tokens: 20, features: 100, depth: 32 * 21, gap: 0, offset: 0, threads: 2 },
        );
    }
}

#[test]
fn an_epilogue_is_the_same_as_after_the_product() {
    for (level, kernels) in levels() {
        for (tokens, features, depth) in [(1, 1, 1), (20, 33, 40), (300, 500, 600), (5, 1000, 3)] {
            let (weights, activations) = (Matrix::new(Kind::F16, features, depth, 0, 0, 1), Matrix::new(Kind::F32, tokens, depth, 0, 0, 2));
            let (constants, addend) = (numbers(features, 3), numbers(tokens * features, 4));
            let run = |epilogue: EpilogueOf<'_>, threads| {
                let mut out = vec![f32::NAN; tokens * features];
                let shared = Shared(out.as_mut_ptr());
                on_threads(threads, |thread| {
                    let (weights, activations, epilogue) = (weights.rows(), activations.rows(), epilogue.pointers());
                    let out = shared.get();
                    let product = Product { weights, activations, out, out_stride: features, tokens, features, depth, epilogue };
                    unsafe { multiply(kernels, &product, thread) };
                });
                out
            };
            let sums = run(EpilogueOf { constants: None, addend: None, negative_slope: 1.0, has_gelu: false }, 1);
            for epilogue in EpilogueOf::all(&constants, &addend) {
                let wanted: Vec<f32> = sums.iter().enumerate().map(|(at, &sum)| epilogue.value(kernels, sum, at % features, at)).collect();
                assert_eq!(run(epilogue, 3), wanted, "{level:?} {tokens} x {features} x {depth}");
            }
        }
    }
}

#[test]
fn threads_do_not_change_the_result() {
    for (_, kernels) in levels() {
        // Several blocks of depth: the later ones add to what is there.
        let (tokens, features, depth) = (77, 200, 1100);
        let (weights, activations) = (Matrix::new(Kind::F16, features, depth, 0, 0, 1), Matrix::new(Kind::F32, tokens, depth, 0, 0, 2));
        let results: Vec<Vec<f32>> = [1, 2, 5, 16]
            .map(|threads| {
                let mut out = vec![0.0; tokens * features];
                let shared = Shared(out.as_mut_ptr());
                on_threads(threads, |thread| {
                    let (weights, activations) = (weights.rows(), activations.rows());
                    let out = shared.get();
                    let product =
                        Product { weights, activations, out, out_stride: features, tokens, features, depth, epilogue: Epilogue::NONE };
                    unsafe { multiply(kernels, &product, thread) };
                });
                out
            })
            .into();
        assert!(results.iter().all(|result| *result == results[0]));
    }
}

/// Picked one by one by rows of the unit matrix.
#[test]
fn every_binary16_is_multiplied_as_what_it_says() {
    const DEPTH: usize = 256;
    for (level, kernels) in levels() {
        // Whole registers of features, and a rest.
        for features in [256, 256 + 5] {
            let bits: Vec<u16> = (0..=u16::MAX).cycle().take(features * DEPTH).collect();
            let stored: Vec<u16> = bits.into_iter().map(|half| if half & 0x7C00 == 0x7C00 { 0 } else { half }).collect();
            let weights = Rows { data: stored.as_ptr().cast(), stride: DEPTH * 2, values: Values::F16 };
            let unit: Vec<f32> = (0..DEPTH * DEPTH).map(|at| if at % (DEPTH + 1) == 0 { 1.0 } else { 0.0 }).collect();
            let activations = Rows { data: unit.as_ptr().cast(), stride: DEPTH * 4, values: Values::F32 };
            let mut out = vec![f32::NAN; DEPTH * features];
            let product = Product {
                weights,
                activations,
                out: out.as_mut_ptr(),
                out_stride: features,
                tokens: DEPTH,
                features,
                depth: DEPTH,
                epilogue: Epilogue::NONE,
            };
            unsafe { multiply(kernels, &product, Thread::ALONE) };
            for (at, &got) in out.iter().enumerate() {
                let half = stored[at % features * DEPTH + at / features];
                let wanted = factor(level, f16_to_f32(half));
                assert!((f64::from(got) - wanted).abs() == 0.0, "{level:?}, {features} features: {half:#06x} is {got}, not {wanted}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn any_product(
        tokens in 1_usize..130, features in 1_usize..130, blocks in 1_usize..40, threads in 1_usize..5,
        gap in 0_usize..9, offset in 0_usize..64, first in 0_usize..4, second in 0_usize..4,
    ) {
        let kinds = (Kind::ALL[first], Kind::ALL[second]);
        let block = kinds.0.block().max(kinds.1.block());
        for (level, kernels) in levels() {
            check(level, kernels, &Case { kinds, tokens, features, depth: if block > 1 { blocks * block } else { blocks * 7 }, gap, offset, threads });
        }
    }
}
