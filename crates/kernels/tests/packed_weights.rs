//! Packed weights that are kept: the bytes of results, what is kept of whom, and for how long.
#![allow(unsafe_code, reason = "the interface takes pointers")]
#![allow(clippy::undocumented_unsafe_blocks, reason = "the matrices of a test have the sizes that it says")]

mod reference;

use std::sync::{Mutex, MutexGuard, PoisonError};

use atelier_kernels::convolution::{Convolution, Shape, convolve};
use atelier_kernels::packed_weights::{forget, keep, total_bytes};
use atelier_kernels::product::{Product, multiply};
use atelier_kernels::{Epilogue, Kernels, Level, Rows, Values};
use reference::{Kind, Matrix, Shared, levels, numbers, on_threads};

/// What is kept belongs to the process: one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    let guard = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    assert_eq!(total_bytes(), 0, "a test forgot to forget");
    guard
}

struct Case {
    weights: Matrix,
    activations: Vec<f32>,
    tokens: usize,
    features: usize,
    depth: usize,
}

impl Case {
    fn new(kind: Kind, tokens: usize, features: usize, depth: usize) -> Self {
        let weights = Matrix::new(kind, features, depth, 0, 0, 1);
        Self { weights, activations: numbers(tokens * depth, 2), tokens, features, depth }
    }

    fn product(&self, weights: Rows, out: *mut f32) -> Product {
        let &Self { tokens, features, depth, .. } = self;
        let activations = Rows { data: self.activations.as_ptr().cast(), stride: depth * 4, values: Values::F32 };
        Product { weights, activations, out, out_stride: features, tokens, features, depth, epilogue: Epilogue::NONE }
    }

    fn run(&self, kernels: &'static Kernels, weights: Rows, threads: usize) -> Vec<f32> {
        let mut out = vec![f32::NAN; self.tokens * self.features];
        let (out_pointer, data) = (Shared(out.as_mut_ptr()), Shared(weights.data.cast_mut()));
        on_threads(threads, |thread| {
            let rows = Rows { data: data.get(), ..weights };
            unsafe { multiply(kernels, &self.product(rows, out_pointer.get()), thread) };
        });
        out
    }

    fn packed_bytes(&self, kernels: &Kernels) -> usize {
        self.product(self.weights.rows(), std::ptr::null_mut()).packed_bytes(kernels)
    }

    /// First byte and length of the weights.
    fn memory(&self) -> (*const u8, usize) {
        let rows = self.weights.rows();
        (rows.data, rows.stride * self.features)
    }
}

const OWNER: usize = 7;

#[test]
fn a_product_of_kept_weights_has_the_same_bytes_and_packs_them_once() {
    let _alone = alone();
    for (level, kernels) in levels() {
        for kind in Kind::ALL {
            // Threads divide the features, or the tokens; several blocks of columns and of depth.
            for (tokens, features, depth) in [(13, 1000, 704), (300, 40, 544), (9, 17, 32)] {
                let case = Case::new(kind, tokens, features, depth);
                let wanted = case.run(kernels, case.weights.rows(), 1);
                for threads in [1, 3] {
                    let (start, bytes) = case.memory();
                    keep(start, bytes, OWNER, usize::MAX);
                    let what = format!("{level:?} {kind:?} {tokens} x {features} x {depth}, {threads} threads");
                    assert_eq!(case.run(kernels, case.weights.rows(), threads), wanted, "packing, {what}");
                    assert_eq!(total_bytes(), case.packed_bytes(kernels), "{what}");
                    assert_eq!(case.run(kernels, case.weights.rows(), threads), wanted, "kept, {what}");
                    assert_eq!(total_bytes(), case.packed_bytes(kernels), "{what}");
                    forget(start, bytes);
                    assert_eq!(total_bytes(), 0, "{what}");
                }
            }
        }
    }
}

/// The owner changes weights against its promise: that is how one sees that they are not read.
#[test]
fn what_is_kept_is_used_until_it_is_forgotten() {
    let _alone = alone();
    for (level, kernels) in levels() {
        let mut values = numbers(40 * 64, 3);
        let rows = |values: &[f32]| Rows { data: values.as_ptr().cast(), stride: 64 * 4, values: Values::F32 };
        let case = Case::new(Kind::F32, 20, 40, 64);
        let before = case.run(kernels, rows(&values), 2);
        let (start, bytes) = (values.as_ptr().cast::<u8>(), values.len() * 4);
        keep(start, bytes, OWNER, usize::MAX);
        assert_eq!(case.run(kernels, rows(&values), 2), before);
        values.fill(1.0);
        assert_eq!(case.run(kernels, rows(&values), 2), before, "{level:?}");
        // A part of the memory is enough.
        forget(start.wrapping_add(bytes / 2), 1);
        let after = case.run(kernels, rows(&values), 2);
        assert_ne!(after, before, "{level:?}");
        // Nothing is kept of memory that nobody names again.
        assert_eq!(total_bytes(), 0);
        values.fill(2.0);
        assert_ne!(case.run(kernels, rows(&values), 2), after, "{level:?}");
    }
}

#[test]
fn an_owner_keeps_what_its_limit_holds_and_others_have_theirs() {
    let _alone = alone();
    let kernels = Level::Scalar.kernels().unwrap();
    let cases = [1, 2, 3].map(|_| Case::new(Kind::F16, 12, 30, 96));
    let each = cases[0].packed_bytes(kernels);
    for case in &cases[..2] {
        keep(case.memory().0, case.memory().1, OWNER, 2 * each - 1);
    }
    keep(cases[2].memory().0, cases[2].memory().1, OWNER + 1, each);
    let wanted = cases[0].run(kernels, cases[0].weights.rows(), 1);
    for case in cases.iter().chain(&cases) {
        assert_eq!(case.run(kernels, case.weights.rows(), 1), wanted);
    }
    assert_eq!(total_bytes(), 2 * each, "one of the first owner's and the other's");
    forget(cases[0].memory().0, cases[0].memory().1);
    cases[1].run(kernels, cases[1].weights.rows(), 1);
    assert_eq!(total_bytes(), 2 * each, "the place of the first is free");
    for case in &cases {
        forget(case.memory().0, case.memory().1);
    }
}

#[test]
fn a_convolution_of_kept_weights_has_the_same_bytes() {
    let _alone = alone();
    for (level, kernels) in levels() {
        for (side, channels, out_channels, kernel, stride) in [(9, 40, 70, 3, 1), (24, 19, 33, 3, 2), (6, 300, 300, 1, 1), (40, 3, 5, 3, 1)]
        {
            let padding = kernel / 2;
            let side_out = (side + 2 * padding - kernel) / stride + 1;
            let shape = Shape {
                width: side,
                height: side,
                channels,
                out_channels,
                kernel: (kernel, kernel),
                stride: (stride, stride),
                padding: (padding, padding),
                dilation: (1, 1),
                out: (side_out, side_out),
                groups: 1,
            };
            let weights = Matrix::new(Kind::F16, out_channels, channels * kernel * kernel, 0, 0, 1);
            let image = numbers(channels * side * side, 2);
            let from = Shared(image.as_ptr().cast_mut());
            let run = |threads| {
                let mut result = vec![f32::NAN; out_channels * side_out * side_out];
                let shared = Shared(result.as_mut_ptr());
                on_threads(threads, |thread| {
                    let (image, out) = (from.get(), shared.get());
                    let convolution = Convolution { shape: &shape, weights: weights.rows(), image, out, epilogue: Epilogue::NONE };
                    unsafe { convolve(kernels, &convolution, thread) };
                });
                result
            };
            let (image, out) = (from.get(), std::ptr::null_mut());
            let whole = Convolution { shape: &shape, weights: weights.rows(), image, out, epilogue: Epilogue::NONE };
            let packed_bytes = whole.packed_bytes(kernels);
            let wanted = run(1);
            for threads in [1, 4] {
                let (start, bytes) = (weights.rows().data, weights.rows().stride * out_channels);
                keep(start, bytes, OWNER, usize::MAX);
                for _ in 0..2 {
                    assert_eq!(run(threads), wanted, "{level:?} {shape:?}, {threads} threads");
                    assert_eq!(total_bytes(), packed_bytes, "{level:?} {shape:?}");
                }
                forget(start, bytes);
            }
        }
    }
}

/// Two pictures at once: both first threads pack, one of them what is kept.
#[test]
fn threads_that_pack_the_same_weights_at_once_give_the_same_bytes() {
    let _alone = alone();
    let kernels = Level::fastest_f32().kernels().unwrap();
    let case = Case::new(Kind::F16, 64, 64, 512);
    let wanted = case.run(kernels, case.weights.rows(), 1);
    let (start, bytes) = case.memory();
    for _ in 0..50 {
        keep(start, bytes, OWNER, usize::MAX);
        let data = Shared(start.cast_mut());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let rows = Rows { data: data.get(), ..case.weights.rows() };
                    assert!(case.run(kernels, rows, 2) == wanted);
                });
            }
        });
        assert_eq!(total_bytes(), case.packed_bytes(kernels));
        forget(start, bytes);
    }
}
