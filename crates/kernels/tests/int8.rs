//! Products of eight bits: each level against the plain loops, and against products of what the
//! weights are.
#![allow(unsafe_code, reason = "the interface takes pointers")]
#![allow(clippy::expect_used, reason = "plain code is always there")]
#![allow(clippy::undocumented_unsafe_blocks, reason = "the matrices of a test have the sizes that it says")]

use atelier_kernels::int8::{Format, Int8Level, Int8Product, multiply};
use atelier_kernels::{Epilogue, Level, Thread, f16_to_f32};

/// Words of a generator with a fixed start.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32
    }

    fn value(&mut self) -> f32 {
        self.next() as f32 / (1_u32 << 30) as f32 - 1.0
    }
}

/// Blocks of any bits with factors of 2^-7 to 2^-6, and the values that they stand for.
fn weights(format: Format, values: usize, random: &mut Random) -> (Vec<u8>, Vec<f64>) {
    let (mut bytes, mut wanted) = (Vec::new(), Vec::new());
    for _ in 0..values / 32 {
        let factor = 0x2000 | (random.next() & 0x3ff) as u16;
        let bits: Vec<u8> = (2..format.bytes()).map(|_| random.next() as u8).collect();
        let value = |index: usize| match format {
            Format::Q8_0 => i32::from(bits[index].cast_signed()),
            Format::Q5_0 => i32::from(nibble(&bits[4..], index)) + i32::from(bits[index / 8] >> (index % 8) & 1) * 16 - 16,
            Format::Q4_0 => i32::from(nibble(&bits, index)) - 8,
        };
        wanted.extend((0..32).map(|index| f64::from(value(index)) * f64::from(f16_to_f32(factor))));
        bytes.extend(factor.to_le_bytes());
        bytes.extend(bits);
    }
    (bytes, wanted)
}

fn nibble(bytes: &[u8], index: usize) -> u8 {
    if index < 16 { bytes[index] & 15 } else { bytes[index - 16] >> 4 }
}

struct Case {
    format: Format,
    tokens: usize,
    features: usize,
    depth: usize,
    weights: Vec<u8>,
    activations: Vec<f32>,
}

impl Case {
    fn computed(&self, level: Int8Level, threads: usize) -> Vec<f32> {
        let &Self { format, tokens, features, depth, .. } = self;
        let stride = features + 3;
        let mut out = vec![f32::NAN; tokens * stride];
        let product = Int8Product {
            weights: self.weights.as_ptr(),
            weights_stride: depth / 32 * format.bytes(),
            format,
            activations: self.activations.as_ptr(),
            activations_stride: depth,
            out: out.as_mut_ptr(),
            out_stride: stride,
            tokens,
            features,
            depth,
            epilogue: Epilogue::NONE,
        };
        let kernels = Level::Scalar.kernels().expect("plain kernels");
        for index in 0..threads {
            unsafe { multiply(level, kernels, &product, Thread { index, count: threads }) };
        }
        assert!(out.chunks(stride).all(|row| row[features..].iter().all(|value| value.is_nan())), "writes beside the result");
        out.chunks(stride).flat_map(|row| row[..features].to_vec()).collect()
    }
}

fn levels() -> impl Iterator<Item = Int8Level> {
    Int8Level::ALL.into_iter().filter(|level| level.is_available())
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn every_level_is_the_plain_loops_and_near_the_product() {
    let mut random = Random(1);
    for format in Format::ALL {
        for (tokens, features, depth) in [(1, 1, 32), (3, 7, 64), (4, 8, 96), (5, 17, 32), (9, 33, 320), (2, 70, 1280), (140, 3, 24_576)] {
            let (weights, values) = weights(format, features * depth, &mut random);
            let activations: Vec<f32> = (0..tokens * depth).map(|_| random.value()).collect();
            let case = Case { format, tokens, features, depth, weights, activations };
            let plain = case.computed(Int8Level::Scalar, 1);
            for level in levels() {
                for threads in [1, 3] {
                    assert_eq!(bits(&case.computed(level, threads)), bits(&plain), "{level:?} {format:?} {tokens} {features} {depth}");
                }
            }
            let (mut error, mut scale) = (0.0, 0.0);
            for (index, &got) in plain.iter().enumerate() {
                let (token, feature) = (index / features, index % features);
                let pairs = values[feature * depth..][..depth].iter().zip(&case.activations[token * depth..][..depth]);
                let (wanted, size) = pairs.fold((0.0, 0.0), |(sum, size), (&a, &b)| {
                    let product = a * f64::from(b);
                    (sum + product, size + product * product)
                });
                error += (f64::from(got) - wanted).powi(2);
                scale += size;
            }
            // The sum of independent terms is as large as the root of their squares, which does not
            // vanish where they cancel.
            let relative = (error / scale).sqrt();
            assert!(relative <= 0.0052, "{format:?} {tokens} {features} {depth}: {relative}");
        }
    }
}

#[test]
fn the_largest_products_do_not_saturate() {
    let block: Vec<u8> = [0x00, 0x3c].into_iter().chain([0x80; 32]).collect();
    for value in [127.0, -127.0] {
        let case = Case { format: Format::Q8_0, tokens: 1, features: 1, depth: 32, weights: block.clone(), activations: vec![value; 32] };
        for level in levels() {
            assert_eq!(case.computed(level, 1), [-128.0 * value * 32.0], "{level:?}");
        }
    }
}

#[test]
fn what_is_not_finite_stays_so_and_zeros_are_zeros() {
    for (value, is_nan) in [(f32::NAN, true), (f32::INFINITY, true), (0.0, false)] {
        let (weights, _) = weights(Format::Q4_0, 32, &mut Random(2));
        let mut activations = vec![0.0; 32];
        activations[5] = value;
        let case = Case { format: Format::Q4_0, tokens: 1, features: 1, depth: 32, weights, activations };
        for level in levels() {
            let got = case.computed(level, 1)[0];
            assert!(if is_nan { got.is_nan() } else { got == 0.0 }, "{level:?}: {got}");
        }
    }
}

#[test]
fn a_level_goes_with_vectors_that_are_no_wider_and_dots_can_be_left_out() {
    let available: Vec<Int8Level> = levels().collect();
    for level in Level::ALL {
        let [plain, quick] = [false, true].map(|has_dots| Int8Level::beside(level, has_dots));
        assert!(available.contains(&plain) && available.contains(&quick) && plain <= quick && !plain.has_dots(), "{level:?}");
    }
    assert_eq!(Int8Level::beside(Level::Scalar, true), Int8Level::Scalar);
    let widest = available.iter().max().copied();
    assert_eq!(Some(Int8Level::beside(Level::AmxBf16, true)), widest);
    if available.contains(&Int8Level::Avx2) {
        assert_eq!(Int8Level::beside(Level::Avx512, false), Int8Level::Avx2);
        assert!(Int8Level::beside(Level::Avx2, true) <= Int8Level::AvxVnni);
    }
}
