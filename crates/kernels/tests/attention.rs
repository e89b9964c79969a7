//! Attention against plain loops.
#![allow(unsafe_code, reason = "the interface takes pointers")]
#![allow(clippy::undocumented_unsafe_blocks, reason = "the matrices of a test have the sizes that it says")]

mod reference;

use atelier_kernels::attention::{Attention, attend};
use atelier_kernels::{Kernels, Level};
use proptest::prelude::*;
use reference::{Kind, Matrix, Shared, f16, levels, numbers, on_threads};

#[derive(Clone, Copy, Debug)]
struct Case {
    heads: usize,
    key_heads: usize,
    queries: usize,
    keys: usize,
    key_size: usize,
    value_size: usize,
    kind: Kind,
    mask: bool,
    threads: usize,
}

/// The result, which is as close to plain loops as the level's rounding allows.
fn check(level: Level, kernels: &'static Kernels, case: Case) -> Vec<f32> {
    let Case { heads, key_heads, queries, keys, key_size, value_size, kind, .. } = case;
    let query = Matrix::new(Kind::F32, heads * queries, key_size, 0, 0, 5);
    let key = Matrix::new(kind, key_heads * keys, key_size, 0, 0, 6);
    let value = Matrix::new(kind, key_heads * keys, value_size, 0, 0, 7);
    // Some keys are hidden from some queries, never all.
    let mask: Vec<u16> = numbers(queries * keys, 8)
        .into_iter()
        .enumerate()
        .map(|(i, number)| if number > 0.5 && i % keys > 0 { 0xFC00 } else { f16(number) })
        .collect();
    let scale = 1.0 / (key_size as f32).sqrt();
    let mut out = vec![f32::NAN; heads * queries * value_size];
    let shared = Shared(out.as_mut_ptr());
    let mask_start = Shared(if case.mask { mask.as_ptr().cast_mut() } else { std::ptr::null_mut() });
    on_threads(case.threads, |thread| {
        let (queries_rows, keys_rows, values_rows) = (query.rows(), key.rows(), value.rows());
        let attention = Attention {
            queries: queries_rows,
            query_head_stride: queries * queries_rows.stride,
            keys: keys_rows,
            key_head_stride: keys * keys_rows.stride,
            values: values_rows,
            value_head_stride: keys * values_rows.stride,
            mask: mask_start.get().cast(),
            mask_stride: keys * 2,
            mask_head_stride: 0,
            // As ggml: the heads of a query are neighbours.
            out: shared.get(),
            out_stride: heads * value_size,
            out_head_stride: value_size,
            scale,
            heads,
            key_heads,
            query_count: queries,
            key_count: keys,
            key_size,
            value_size,
        };
        unsafe { attend(kernels, &attention, thread) };
    });
    let allowed = if level.rounds_to_bf16() { 0.012 } else { 2e-6 };
    for head in 0..heads {
        let key_head = head / (heads / key_heads);
        for q in 0..queries {
            let scores: Vec<f64> = (0..keys)
                .map(|k| {
                    let a = &query.values[(head * queries + q) * key_size..][..key_size];
                    let b = &key.values[(key_head * keys + k) * key_size..][..key_size];
                    let dot: f64 = a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
                    dot * f64::from(scale) + if case.mask { f64::from(atelier_kernels::f16_to_f32(mask[q * keys + k])) } else { 0.0 }
                })
                .collect();
            let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let weights: Vec<f64> = scores.iter().map(|score| (score - largest).exp()).collect();
            let total: f64 = weights.iter().sum();
            for v in 0..value_size {
                let at = |k: usize| f64::from(value.values[(key_head * keys + k) * value_size + v]);
                let wanted = weights.iter().enumerate().map(|(k, weight)| weight * at(k)).sum::<f64>() / total;
                let got = out[(q * heads + head) * value_size + v];
                assert!((f64::from(got) - wanted).abs() <= allowed, "{level:?} {case:?}: {got}, not {wanted}");
            }
        }
    }
    out
}

#[test]
fn sizes_of_image_models() {
    let plain =
        Case { heads: 2, key_heads: 2, queries: 130, keys: 200, key_size: 40, value_size: 40, kind: Kind::F16, mask: false, threads: 2 };
    for (level, kernels) in levels() {
        for case in [
            plain,
            Case { keys: 77, ..plain },
            Case { keys: 1, ..plain },
            Case { keys: 1100, mask: true, ..plain },
            Case { keys: 481, kind: Kind::F32, ..plain },
            Case { key_size: 64, value_size: 64, ..plain },
            Case { heads: 1, key_heads: 1, key_size: 128, value_size: 96, threads: 3, ..plain },
            Case { heads: 6, key_heads: 2, mask: true, ..plain },
            Case { key_size: 1, value_size: 1, queries: 1, ..plain },
        ] {
            check(level, kernels, case);
        }
    }
}

#[test]
fn heads_of_many_queries_do_not_depend_on_the_number_of_threads() {
    // More blocks than keys are packed once for, and parts of threads that end inside a head.
    let case =
        Case { heads: 3, key_heads: 3, queries: 1300, keys: 490, key_size: 7, value_size: 17, kind: Kind::F16, mask: false, threads: 1 };
    for (level, kernels) in levels() {
        let alone = check(level, kernels, case);
        for threads in [2, 5] {
            assert_eq!(alone, check(level, kernels, Case { threads, ..case }), "{level:?}, {threads} threads");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn any_attention(
        key_heads in 1_usize..4, shared in 1_usize..3, queries in 1_usize..150, keys in 1_usize..600, key_size in 1_usize..70,
        value_size in 1_usize..70, half in any::<bool>(), mask in any::<bool>(), threads in 1_usize..4,
    ) {
        let kind = if half { Kind::F16 } else { Kind::F32 };
        let case = Case { heads: key_heads * shared, key_heads, queries, keys, key_size, value_size, kind, mask, threads };
        for (level, kernels) in levels() {
            check(level, kernels, case);
        }
    }
}
