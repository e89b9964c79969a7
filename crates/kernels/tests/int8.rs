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
    for _ in 0..values / format.values() {
        let mut block: Vec<u8> = (0..format.bytes()).map(|_| random.next() as u8).collect();
        for &at in halves(format) {
            block[at + 1] = 0x20 | block[at + 1] & 3;
        }
        wanted.extend((0..format.values()).map(|index| value(format, &block, index)));
        bytes.extend(block);
    }
    (bytes, wanted)
}

/// Where a block has its factors in binary16.
fn halves(format: Format) -> &'static [usize] {
    match format {
        Format::Q8_0 | Format::Q5_0 | Format::Q4_0 => &[0],
        Format::Q6K => &[208],
        Format::Q5K | Format::Q4K => &[0, 2],
    }
}

/// A value of a block, as ggml's own loops read it.
fn value(format: Format, block: &[u8], index: usize) -> f64 {
    let half = |at: usize| f64::from(f16_to_f32(u16::from_le_bytes([block[at], block[at + 1]])));
    let bit = |at: usize, bit: usize| u16::from(block[at + bit / 8] >> (bit % 8) & 1);
    // The part of 32, and the half byte in chunks of 64 values, whose low halves come first.
    let (part, within) = (index / 32, index % 32);
    let four = |at: usize| u16::from(block[at + index / 64 * 32 + within] >> (part % 2 * 4) & 15);
    let with_minimum = |value: u16| {
        let six = |at: usize| block[4 + at];
        let (factor, minimum) = match part {
            0..4 => (six(part) & 63, six(part + 4) & 63),
            _ => (six(part + 4) & 15 | six(part - 4) >> 6 << 4, six(part + 4) >> 4 | six(part) >> 6 << 4),
        };
        half(0) * f64::from(factor) * f64::from(value) - half(2) * f64::from(minimum)
    };
    match format {
        Format::Q8_0 => half(0) * f64::from(block[2 + index].cast_signed()),
        Format::Q5_0 => half(0) * (f64::from(nibble(&block[6..], index)) + f64::from(bit(2, index)) * 16.0 - 16.0),
        Format::Q4_0 => half(0) * (f64::from(nibble(&block[2..], index)) - 8.0),
        Format::Q6K => {
            let (chunk, quarter) = (index / 128, index % 128 / 32);
            let low = block[chunk * 64 + quarter % 2 * 32 + within] >> (quarter / 2 * 4) & 15;
            let high = block[128 + chunk * 32 + within] >> (quarter * 2) & 3;
            half(208) * f64::from(block[192 + index / 16].cast_signed()) * (f64::from(low | high << 4) - 32.0)
        }
        Format::Q5K => with_minimum(four(48) + bit(16 + within, part) * 16),
        Format::Q4K => with_minimum(four(16)),
    }
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
            weights_stride: depth / format.values() * format.bytes(),
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
            let depth = usize::next_multiple_of(depth, format.values());
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

/// Sums of the values of a block whose bytes count up by 77, without and with their place from 1 on,
/// as ggml's `to_float` gave them.
#[test]
fn blocks_of_256_values_mean_what_ggml_reads_in_them() {
    for (format, sum, weighted) in
        [(Format::Q6K, 492.0, 785_336.0), (Format::Q5K, 95_992.0, 14_104_208.0), (Format::Q4K, 43_016.0, 6_227_824.0)]
    {
        let mut block: Vec<u8> = (0..format.bytes()).map(|at| (at * 77 + 13) as u8).collect();
        // 1, and a half.
        for (&at, high) in halves(format).iter().zip([0x3c, 0x38]) {
            block[at..at + 2].copy_from_slice(&[0, high]);
        }
        let values: Vec<f64> = (0..256).map(|index| value(format, &block, index)).collect();
        let by_place = values.iter().zip(1_u16..).map(|(value, place)| value * f64::from(place));
        assert_eq!((values.iter().sum::<f64>(), by_place.sum::<f64>()), (sum, weighted), "{format:?}");
    }
}

#[test]
fn the_largest_products_do_not_saturate() {
    for format in Format::ALL {
        let depth = format.values();
        for bits in [0x80, 0xff] {
            let mut block = vec![bits; format.bytes()];
            for &at in halves(format) {
                block[at..at + 2].copy_from_slice(&[0x00, 0x3c]);
            }
            let sum: f64 = (0..depth).map(|index| value(format, &block, index)).sum();
            for factor in [127.0, -127.0] {
                let activations = vec![factor; depth];
                let case = Case { format, tokens: 1, features: 1, depth, weights: block.clone(), activations };
                for level in levels() {
                    assert_eq!(f64::from(case.computed(level, 1)[0]), sum * f64::from(factor), "{format:?} {level:?} {bits}");
                }
            }
        }
    }
}

#[test]
fn what_is_not_finite_stays_so_and_zeros_are_zeros() {
    for format in Format::ALL {
        for (value, is_nan) in [(f32::NAN, true), (f32::INFINITY, true), (0.0, false)] {
            let depth = format.values();
            let (weights, _) = weights(format, depth, &mut Random(2));
            let mut activations = vec![0.0; depth];
            activations[5] = value;
            let case = Case { format, tokens: 1, features: 1, depth, weights, activations };
            for level in levels() {
                let got = case.computed(level, 1)[0];
                assert!(if is_nan { got.is_nan() } else { got == 0.0 }, "{format:?} {level:?}: {got}");
            }
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

#[test]
fn with_avx2_alone_all_but_weights_of_eight_bits_gain() {
    for format in Format::ALL {
        assert!(Int8Level::AvxVnni.gains(format, Level::Avx2) && Int8Level::Avx512Vnni.gains(format, Level::Avx512), "{format:?}");
        assert_eq!(Int8Level::Avx2.gains(format, Level::Avx2), format != Format::Q8_0, "{format:?}");
        // The vectors of f32 are twice as wide there, and plain loops are slower than any.
        assert!(!Int8Level::Avx2.gains(format, Level::Avx512) && !Int8Level::Scalar.gains(format, Level::Scalar), "{format:?}");
    }
}
