//! Group normalisation and constants of rows against plain loops.
#![allow(unsafe_code, reason = "the interface takes pointers")]
#![allow(clippy::undocumented_unsafe_blocks, reason = "the matrices of a test have the sizes that it says")]

mod reference;

use atelier_kernels::planes::{
    GroupNorm, LayerNorm, Modulation, Operation, apply_constant, combine, gelu, group_norm, layer_norm, modulate, spread, transpose,
};
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
                let norm = GroupNorm { from: source.get(), to: target.get(), group_size, total, epsilon: 1e-6, ..plain(group_size) };
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

/// A norm after which nothing is done.
fn plain(channel_size: usize) -> GroupNorm {
    GroupNorm {
        from: std::ptr::null(),
        to: std::ptr::null_mut(),
        group_size: channel_size,
        total: channel_size,
        epsilon: 1e-6,
        channel_size,
        row_size: channel_size,
        factors: std::ptr::null(),
        terms: std::ptr::null(),
        activate: None,
    }
}

/// Squares values, and marks those of a row that is not called with its neighbours up to a multiple
/// of 16.
unsafe extern "C" fn square(count: std::ffi::c_int, to: *mut f32, from: *const f32) {
    for i in 0..count as usize {
        let whole = i < count as usize / 16 * 16;
        unsafe { *to.add(i) = (*from.add(i)).powi(2) + if whole { 0.0 } else { 1000.0 } };
    }
}

#[test]
fn what_follows_a_group_norm_is_the_same_as_after_it() {
    for (level, kernels) in levels() {
        for (row_size, rows, channels, group) in
            [(1, 1, 4, 2), (7, 5, 6, 3), (16, 9, 5, 2), (48, 100, 4, 1), (2100, 2, 3, 3), (64, 64, 10, 5)]
        {
            let channel_size = row_size * rows;
            let total = channel_size * channels;
            let from = numbers(total, 15);
            let (factors, terms) = (numbers(channels, 16), numbers(channels, 17));
            let run = |factors: *const f32, terms: *const f32, activate| {
                let mut to = vec![f32::NAN; total];
                let (source, target) = (Shared(from.as_ptr().cast_mut()), Shared(to.as_mut_ptr()));
                let (factors, terms) = (Shared(factors.cast_mut()), Shared(terms.cast_mut()));
                on_threads(2, |thread| {
                    let norm = GroupNorm {
                        from: source.get(),
                        to: target.get(),
                        group_size: group * channel_size,
                        total,
                        factors: factors.get(),
                        terms: terms.get(),
                        activate,
                        row_size,
                        ..plain(channel_size)
                    };
                    unsafe { group_norm(kernels, &norm, thread) };
                });
                to
            };
            let mut wanted = run(std::ptr::null(), std::ptr::null(), None);
            for (index, value) in wanted.iter_mut().enumerate() {
                *value = *value * factors[index / channel_size] + 0.0;
                *value += terms[index / channel_size];
            }
            let what = format!("{level:?}, {channels} channels of {rows} x {row_size}");
            assert_eq!(run(factors.as_ptr(), terms.as_ptr(), None), wanted, "{what}");
            for row in wanted.chunks_mut(row_size) {
                unsafe { square(row_size as i32, row.as_mut_ptr(), row.as_ptr()) };
            }
            assert_eq!(run(factors.as_ptr(), terms.as_ptr(), Some(square)), wanted, "{what}, activated");
        }
    }
}

#[test]
fn layer_norms() {
    for (level, kernels) in levels() {
        for (length, rows, shift) in [(1, 3, 0.0), (17, 5, 2.0), (1280, 7, -300.0), (4099, 2, 10.0)] {
            let from: Vec<f32> = numbers(length * rows, 18).into_iter().map(|value| value + shift).collect();
            let (factors, terms) = (numbers(length, 19), numbers(length, 20));
            let run = |factors: *const f32, terms: *const f32, is_in_place: bool| {
                let mut to = if is_in_place { from.clone() } else { vec![f32::NAN; from.len()] };
                let target = Shared(to.as_mut_ptr());
                let source = if is_in_place { target } else { Shared(from.as_ptr().cast_mut()) };
                let (factors, terms) = (Shared(factors.cast_mut()), Shared(terms.cast_mut()));
                on_threads(3, |thread| {
                    let (factors, terms) = (factors.get().cast_const(), terms.get().cast_const());
                    let norm = LayerNorm { from: source.get(), to: target.get(), rows, length, epsilon: 1e-6, factors, terms };
                    unsafe { layer_norm(kernels, &norm, thread) };
                });
                to
            };
            let what = format!("{level:?}, {rows} rows of {length}");
            let mut wanted = run(std::ptr::null(), std::ptr::null(), false);
            for (got, values) in wanted.chunks(length).zip(from.chunks(length)) {
                let mean = values.iter().map(|&value| f64::from(value)).sum::<f64>() / length as f64;
                let variance = values.iter().map(|&value| (f64::from(value) - mean).powi(2)).sum::<f64>() / length as f64;
                for (&got, &value) in got.iter().zip(values) {
                    let wanted = (f64::from(value) - mean) / (variance + 1e-6).sqrt();
                    assert!((f64::from(got) - wanted).abs() < 2e-4, "{what}: {got}, not {wanted}");
                }
            }
            // What follows is the same as after it.
            for (at, value) in wanted.iter_mut().enumerate() {
                *value *= factors[at % length];
            }
            assert_eq!(run(factors.as_ptr(), std::ptr::null(), false), wanted, "{what}, multiplied");
            for (at, value) in wanted.iter_mut().enumerate() {
                *value += terms[at % length];
            }
            assert_eq!(run(factors.as_ptr(), terms.as_ptr(), true), wanted, "{what}, multiplied and added");
        }
    }
}

#[test]
fn modulations_are_the_same_as_step_by_step() {
    for (level, kernels) in levels() {
        for (length, rows) in [(1, 5), (16, 3), (37, 8), (1280, 7)] {
            let (from, addend) = (numbers(length * rows, 22), numbers(length * rows, 23));
            let (factors, terms) = (numbers(length, 24), numbers(length, 25));
            for has_terms in [false, true] {
                let wanted: Vec<f32> = (0..from.len())
                    .map(|at| {
                        let product = from[at] * factors[at % length];
                        let sum = addend[at] + product;
                        if has_terms { sum + terms[at % length] } else { sum }
                    })
                    .collect();
                // A place of its own, that of the factor, that of the addend, and one tensor for both.
                for place in 0..4 {
                    let mut memory = [from.clone(), addend.clone(), vec![f32::NAN; from.len()]];
                    let [at_from, at_addend, at_new] = memory.each_mut().map(|values| Shared(values.as_mut_ptr()));
                    let to = [at_new, at_from, at_addend, at_from][place];
                    let added = if place == 3 { at_from } else { at_addend };
                    let (by, then) = (Shared(factors.as_ptr().cast_mut()), Shared(terms.as_ptr().cast_mut()));
                    on_threads(3, |thread| {
                        let terms = if has_terms { then.get().cast_const() } else { std::ptr::null() };
                        let (from, factors, addend, to) = (at_from.get(), by.get(), added.get(), to.get());
                        let modulation = Modulation { from, factors, addend, terms, to, rows, length };
                        unsafe { modulate(kernels, &modulation, thread) };
                    });
                    let got = &memory[[2, 0, 1, 0][place]];
                    if place < 3 {
                        assert_eq!(*got, wanted, "{level:?}, {rows} rows of {length}, place {place}");
                        continue;
                    }
                    for (at, (got, value)) in got.iter().zip(&from).enumerate() {
                        let sum = value + value * factors[at % length];
                        let wanted = if has_terms { sum + terms[at % length] } else { sum };
                        assert!((got - wanted).abs() == 0.0, "{level:?}, {rows} rows of {length}, in place of itself");
                    }
                }
            }
        }
    }
}

#[test]
fn gelus() {
    let special = [0.0, -0.0, -9.999, -10.0, -11.0, 10.0, -1e30, 1e30, f32::MIN_POSITIVE, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
    let from: Vec<f32> = special.into_iter().chain(numbers(1000, 21).into_iter().map(|value| value * 12.0)).collect();
    for (level, kernels) in levels() {
        for count in (0..70).chain([from.len()]) {
            let mut to = vec![7.0; count + 1];
            unsafe { gelu(kernels, from.as_ptr(), count, to.as_mut_ptr()) };
            assert!((to[count] - 7.0).abs() == 0.0, "{level:?}: writes beside the result");
            for (&got, &value) in to[..count].iter().zip(&from) {
                let exact = f64::from(value);
                let inner = (2.0 / std::f64::consts::PI).sqrt() * (exact + 0.044_715 * exact.powi(3));
                let wanted = if value <= -10.0 { 0.0 } else { exact / (1.0 + (-2.0 * inner).exp()) };
                let is_same = f64::from(got) == wanted || (f64::from(got) - wanted).abs() <= 2e-5 * wanted.abs() + 1e-30;
                assert!(is_same || (got.is_nan() && value.is_nan()), "{level:?}: GELU of {value} is {got}, not {wanted}");
            }
        }
    }
}

#[test]
fn constants() {
    for (level, kernels) in levels() {
        for count in 0..70 {
            let from = numbers(count, 10);
            for operation in [Operation::Add, Operation::Multiply] {
                let mut to = vec![f32::NAN; count + 1];
                unsafe { apply_constant(kernels, operation, from.as_ptr(), count, 0.37, to.as_mut_ptr()) };
                let wanted: Vec<f32> =
                    from.iter().map(|value| if operation == Operation::Add { value + 0.37 } else { value * 0.37 }).collect();
                assert_eq!(to[..count], wanted, "{level:?}");
                assert!(to[count].is_nan());
            }
        }
    }
}

#[test]
fn pairs_of_values() {
    for (level, kernels) in levels() {
        for count in 0..70 {
            let (from, other) = (numbers(count, 11), numbers(count, 12));
            for operation in [Operation::Add, Operation::Multiply] {
                let wanted: Vec<f32> =
                    from.iter().zip(&other).map(|(a, b)| if operation == Operation::Add { a + b } else { a * b }).collect();
                let mut to = vec![f32::NAN; count + 1];
                unsafe { combine(kernels, operation, from.as_ptr(), other.as_ptr(), count, to.as_mut_ptr()) };
                assert_eq!(to[..count], wanted, "{level:?}");
                assert!(to[count].is_nan(), "{level:?} {count}: writes beside the result");
                let mut in_place = from.clone();
                unsafe { combine(kernels, operation, in_place.as_ptr(), other.as_ptr(), count, in_place.as_mut_ptr()) };
                assert_eq!(in_place, wanted, "{level:?}");
            }
        }
    }
}

#[test]
fn values_that_are_spread() {
    for (count, stride, times) in (0..20).flat_map(|count| (1..5).flat_map(move |stride| (1..5).map(move |times| (count, stride, times)))) {
        let from = numbers(count * stride, 13);
        let mut to = vec![f32::NAN; count * times + 1];
        unsafe { spread(from.as_ptr(), stride, count, times, to.as_mut_ptr()) };
        let wanted: Vec<f32> = (0..count * times).map(|i| from[i / times * stride]).collect();
        assert_eq!(to[..count * times], wanted, "{count} values {stride} apart, {times} times");
        assert!(to[count * times].is_nan());
    }
}

#[test]
fn transposed_matrices() {
    for (level, kernels) in levels() {
        for (rows, columns) in (0..40).flat_map(|rows| (0..40).map(move |columns| (rows, columns))) {
            let (from_stride, to_stride) = (columns + 3, rows + 1);
            let from = numbers(rows * from_stride, 14);
            let mut to = vec![f32::NAN; columns * to_stride];
            unsafe { transpose(kernels, from.as_ptr(), from_stride, rows, columns, to.as_mut_ptr(), to_stride) };
            for (column, values) in to.chunks(to_stride).enumerate() {
                let wanted: Vec<f32> = (0..rows).map(|row| from[row * from_stride + column]).collect();
                assert_eq!(values[..rows], wanted, "{level:?}: column {column} of {rows} x {columns}");
                assert!(values[rows].is_nan(), "{level:?}: writes beside the result");
            }
        }
    }
}
