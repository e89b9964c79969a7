//! Convolutions against plain loops.
#![allow(unsafe_code, reason = "the interface takes pointers")]
#![allow(clippy::undocumented_unsafe_blocks, reason = "the matrices of a test have the sizes that it says")]

mod reference;

use atelier_kernels::convolution::{Convolution, Shape, convolve};
use atelier_kernels::{Epilogue, Kernels, Level};
use proptest::prelude::*;
use reference::{EpilogueOf, Kind, Matrix, Shared, assert_close, factor, is_close, levels, numbers, on_threads};

fn shape(width: usize, height: usize, channels: usize, out_channels: usize, kernel: (usize, usize)) -> Shape {
    Shape {
        width,
        height,
        channels,
        out_channels,
        kernel,
        stride: (1, 1),
        padding: (kernel.0 / 2, kernel.1 / 2),
        dilation: (1, 1),
        out: (0, 0),
        groups: 1,
    }
    .with_out()
}

trait WithOut {
    fn with_out(self) -> Self;
}

impl WithOut for Shape {
    fn with_out(mut self) -> Self {
        let size = |size: usize, kernel: usize, stride: usize, padding: usize, dilation: usize| {
            (size + 2 * padding).saturating_sub(dilation * (kernel - 1) + 1) / stride + 1
        };
        self.out.0 = size(self.width, self.kernel.0, self.stride.0, self.padding.0, self.dilation.0);
        self.out.1 = size(self.height, self.kernel.1, self.stride.1, self.padding.1, self.dilation.1);
        self
    }
}

fn check(level: Level, kernels: &'static Kernels, shape: &Shape, kind: Kind, threads: usize) {
    check_used(level, kernels, shape, kind, threads, (shape.out_channels, shape.channels));
}

/// As [`check`], where in each group the weights of all output channels but the first `used.0` and
/// of all channels but the first `used.1` are zeros. These channels of the image are no numbers:
/// they show where they are read.
fn check_used(level: Level, kernels: &'static Kernels, shape: &Shape, kind: Kind, threads: usize, used: (usize, usize)) {
    let (channels, out_channels) = (shape.channels / shape.groups, shape.out_channels / shape.groups);
    let window = shape.kernel.0 * shape.kernel.1;
    let depth = channels * window;
    let mut weights = numbers(shape.out_channels * depth, 3);
    for (index, weight) in weights.iter_mut().enumerate() {
        if index / depth % out_channels >= used.0 || index % depth / window >= used.1 {
            *weight *= 0.0;
        }
    }
    let weights = Matrix::of(kind, &weights, depth, 0, 0);
    // Nothing may be read beside the image: the allocation ends with it.
    let mut image = numbers(shape.channels * shape.width * shape.height, 4);
    for (index, value) in image.iter_mut().enumerate() {
        if index / (shape.width * shape.height) % channels >= used.1.min(if used.0 == 0 { 0 } else { channels }) {
            *value = f32::NAN;
        }
    }
    let mut out = vec![f32::NAN; shape.out_channels * shape.out.0 * shape.out.1];
    let shared = Shared(out.as_mut_ptr());
    let from = Shared(image.as_ptr().cast_mut());
    on_threads(threads, |thread| {
        let convolution = Convolution { shape, weights: weights.rows(), image: from.get(), out: shared.get(), epilogue: Epilogue::NONE };
        unsafe { convolve(kernels, &convolution, thread) };
    });
    let what = format!("{level:?} {shape:?} {kind:?} {threads} threads");
    let wanted = sums(level, shape, &weights.values, &image, used.1);
    // Where products of bfloat16 are slow, many channels are computed in f32.
    if level.rounds_to_bf16() && !is_close(&out, &wanted, depth) {
        assert_close(&out, &sums(Level::Scalar, shape, &weights.values, &image, used.1), depth, &what);
    } else {
        assert_close(&out, &wanted, depth, &what);
    }
}

/// The convolution of an image whose channels but the first `used` of each group have no weights.
fn sums(level: Level, shape: &Shape, weights: &[f32], image: &[f32], used: usize) -> Vec<f64> {
    let (channels, out_channels) = (shape.channels / shape.groups, shape.out_channels / shape.groups);
    let depth = channels * shape.kernel.0 * shape.kernel.1;
    let mut wanted = Vec::new();
    for out_channel in 0..shape.out_channels {
        let group = out_channel / out_channels;
        for row in 0..shape.out.1 {
            for column in 0..shape.out.0 {
                let mut sum = 0.0;
                for channel in 0..channels.min(used) {
                    for ky in 0..shape.kernel.1 {
                        for kx in 0..shape.kernel.0 {
                            let y = (row * shape.stride.1 + ky * shape.dilation.1) as isize - shape.padding.1 as isize;
                            let x = (column * shape.stride.0 + kx * shape.dilation.0) as isize - shape.padding.0 as isize;
                            if (0..shape.height as isize).contains(&y) && (0..shape.width as isize).contains(&x) {
                                let at = ((group * channels + channel) * shape.height + y as usize) * shape.width + x as usize;
                                let weight = weights[out_channel * depth + (channel * shape.kernel.1 + ky) * shape.kernel.0 + kx];
                                if weight != 0.0 {
                                    sum += factor(level, weight) * factor(level, image[at]);
                                }
                            }
                        }
                    }
                }
                wanted.push(sum);
            }
        }
    }
    wanted
}

#[test]
fn sizes_of_image_models() {
    for (level, kernels) in levels() {
        for (width, channels, out_channels, kernel) in
            [(8, 33, 40, 3), (16, 20, 17, 3), (64, 4, 9, 3), (64, 5, 3, 3), (50, 7, 64, 1), (9, 3, 12, 5), (32, 3, 16, 16)]
        {
            check(level, kernels, &shape(width, width + 1, channels, out_channels, (kernel, kernel)), Kind::F16, 2);
        }
    }
}

#[test]
fn every_width() {
    for (level, kernels) in levels() {
        for width in 1..=60 {
            // The larger one by lines.
            for height in [3, 520 / width + 1] {
                check(level, kernels, &shape(width, height, 3, 5, (3, 3)), Kind::F32, 1);
            }
        }
    }
}

#[test]
fn channels_whose_weights_are_zero_are_not_read() {
    for (level, kernels) in levels() {
        // By windows and by lines; weights shared by threads and pixels shared by them.
        for plain in [shape(9, 7, 12, 10, (3, 3)), shape(40, 30, 12, 10, (3, 3)), shape(2, 2, 12, 30, (3, 3)), shape(30, 20, 8, 6, (1, 1))]
        {
            for shape in [plain, Shape { stride: (2, 2), ..plain }.with_out(), Shape { groups: 2, ..plain }] {
                for used in [(0, 0), (1, 1), (3, 1), (2, 5), (5, 4), (3, usize::MAX), (usize::MAX, 3)] {
                    for threads in [1, 3] {
                        check_used(level, kernels, &shape, Kind::F16, threads, used);
                        check_used(level, kernels, &shape, Kind::F32, threads, used);
                    }
                }
            }
        }
    }
}

#[test]
fn small_windows_over_many_channels() {
    for (level, kernels) in levels() {
        let plain = shape(27, 24, 64, 56, (3, 3));
        let padded = |padding| Shape { padding, ..plain }.with_out();
        for shape in [plain, padded((0, 0)), padded((2, 1)), padded((5, 4)), Shape { groups: 2, channels: 98, out_channels: 100, ..plain }]
        {
            for threads in [1, 3] {
                check(level, kernels, &shape, Kind::F16, threads);
            }
        }
        // Weights in several blocks of rows.
        check(level, kernels, &shape(24, 24, 1400, 110, (3, 3)), Kind::F16, 1);
        for used in [(50, 60), (55, 49), (56, 20), (20, 64)] {
            check_used(level, kernels, &plain, Kind::F32, 2, used);
        }
    }
}

#[test]
fn an_epilogue_is_the_same_as_after_the_convolution() {
    for (level, kernels) in levels() {
        let plain = shape(9, 7, 6, 10, (3, 3));
        for shape in [
            plain,
            Shape { groups: 2, ..plain },
            shape(40, 30, 6, 10, (3, 3)),
            shape(2, 2, 12, 30, (3, 3)),
            shape(70, 60, 4, 300, (1, 1)),
            shape(25, 23, 49, 53, (3, 3)),
        ] {
            let depth = shape.channels / shape.groups * shape.kernel.0 * shape.kernel.1;
            let pixels = shape.out.0 * shape.out.1;
            let mut weights = numbers(shape.out_channels * depth, 3);
            // The last channels have no sums.
            weights[(shape.out_channels - 2) * depth..].fill(0.0);
            let weights = Matrix::of(Kind::F32, &weights, depth, 0, 0);
            let image = numbers(shape.channels * shape.width * shape.height, 4);
            let (constants, addend) = (numbers(shape.out_channels, 5), numbers(shape.out_channels * pixels, 6));
            let run = |epilogue: EpilogueOf<'_>, threads| {
                let mut out = vec![f32::NAN; shape.out_channels * pixels];
                let (shared, from) = (Shared(out.as_mut_ptr()), Shared(image.as_ptr().cast_mut()));
                on_threads(threads, |thread| {
                    let (weights, epilogue) = (weights.rows(), epilogue.pointers());
                    let convolution = Convolution { shape: &shape, weights, image: from.get(), out: shared.get(), epilogue };
                    unsafe { convolve(kernels, &convolution, thread) };
                });
                out
            };
            let sums = run(EpilogueOf { constants: None, addend: None, negative_slope: 1.0, has_gelu: false }, 1);
            for epilogue in EpilogueOf::all(&constants, &addend) {
                let wanted: Vec<f32> = sums.iter().enumerate().map(|(at, &sum)| epilogue.value(kernels, sum, at / pixels, at)).collect();
                assert_eq!(run(epilogue, 3), wanted, "{level:?} {shape:?}");
            }
        }
    }
}

#[test]
fn strides_padding_dilation_and_groups() {
    for (level, kernels) in levels() {
        let plain = shape(19, 14, 6, 8, (3, 3));
        for shape in [
            Shape { stride: (2, 2), ..plain },
            Shape { stride: (2, 1), padding: (0, 1), ..plain },
            Shape { stride: (3, 2), dilation: (2, 3), padding: (4, 5), ..plain },
            Shape { dilation: (2, 2), padding: (2, 2), ..plain },
            Shape { padding: (0, 0), ..plain },
            Shape { padding: (5, 4), ..plain },
            Shape { groups: 2, ..plain },
            Shape { groups: 6, out_channels: 6, ..plain },
            Shape { kernel: (1, 1), padding: (0, 0), stride: (2, 2), ..plain },
            Shape { kernel: (1, 1), padding: (1, 1), ..plain },
            Shape { kernel: (1, 3), padding: (0, 1), ..plain },
            Shape { kernel: (3, 1), padding: (1, 0), ..plain },
        ] {
            for threads in [1, 4] {
                check(level, kernels, &shape.with_out(), Kind::F16, threads);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn any_convolution(
        size in (1_usize..40, 1_usize..20), channels in 1_usize..20, out_channels in 1_usize..30, kernel in (1_usize..5, 1_usize..5),
        stride in (1_usize..4, 1_usize..4), padding in (0_usize..4, 0_usize..4), dilation in (1_usize..4, 1_usize..4),
        groups in 1_usize..4, threads in 1_usize..4, half in any::<bool>(),
    ) {
        let shape = Shape {
            width: size.0, height: size.1, channels: channels * groups, out_channels: out_channels * groups,
            kernel, stride, padding, dilation, out: (0, 0), groups,
        };
        prop_assume!(size.0 + 2 * padding.0 > dilation.0 * (kernel.0 - 1) && size.1 + 2 * padding.1 > dilation.1 * (kernel.1 - 1));
        for (level, kernels) in levels() {
            check(level, kernels, &shape.with_out(), if half { Kind::F16 } else { Kind::F32 }, threads);
        }
    }

    #[test]
    fn any_window_over_every_pixel(
        size in (8_usize..90, 20_usize..60), channels in 1_usize..40, out_channels in 1_usize..20, kernel in (1_usize..6, 1_usize..6),
        padding in (0_usize..4, 0_usize..4), dilation in (1_usize..4, 1_usize..4), groups in 1_usize..3, threads in 1_usize..4,
        half in any::<bool>(),
    ) {
        let shape = Shape {
            width: size.0, height: size.1, channels: channels * groups, out_channels: out_channels * groups,
            kernel, stride: (1, 1), padding, dilation, out: (0, 0), groups,
        };
        prop_assume!(size.0 + 2 * padding.0 > dilation.0 * (kernel.0 - 1) && size.1 + 2 * padding.1 > dilation.1 * (kernel.1 - 1));
        for (level, kernels) in levels() {
            check(level, kernels, &shape.with_out(), if half { Kind::F16 } else { Kind::F32 }, threads);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    #[test]
    fn any_small_window_over_many_channels(
        size in (24_usize..60, 24_usize..30), channels in 48_usize..52, out_channels in 48_usize..60, padding in (0_usize..4, 0_usize..4),
        threads in 1_usize..4, half in any::<bool>(),
    ) {
        let shape = Shape { padding, ..shape(size.0, size.1, channels, out_channels, (3, 3)) }.with_out();
        for (level, kernels) in levels() {
            check(level, kernels, &shape, if half { Kind::F16 } else { Kind::F32 }, threads);
        }
    }
}
