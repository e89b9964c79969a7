//! GFLOP/s of the kernels on one thread, by the thread's CPU time, best of several: `cargo run --release --example gflops`. Linux only.
#![allow(clippy::format_collect, reason = "a table of a few lines")]
#![allow(unsafe_code, clippy::print_stdout, reason = "measures an interface of pointers")]

use atelier_kernels::attention::{Attention, attend};
use atelier_kernels::convolution::{Convolution, Shape, convolve};
use atelier_kernels::product::{Product, multiply};
use atelier_kernels::{Kernels, Level, Rows, Thread, Values};

/// Tokens, features and depth of products in image models.
const PRODUCTS: [(usize, usize, usize); 6] =
    [(4096, 320, 320), (256, 1280, 1280), (256, 10240, 1280), (1088, 3840, 3840), (77, 768, 3072), (64, 9728, 2560)];
/// Width and height, channels, and channels of the result of convolutions of 3 x 3.
const CONVOLUTIONS: [(usize, usize, usize); 8] =
    [(64, 320, 320), (16, 1280, 1280), (8, 1280, 1280), (128, 512, 512), (256, 256, 256), (256, 128, 128), (256, 64, 64), (256, 64, 3)];
/// Head size, tokens and heads.
const ATTENTIONS: [(usize, usize, usize); 3] = [(40, 4096, 8), (64, 1024, 20), (128, 1088, 16)];

fn main() {
    let only: Vec<String> = std::env::args().skip(1).collect();
    let wants = |name: &str| only.is_empty() || only.iter().any(|part| name.contains(part.as_str()));
    let levels: Vec<(Level, &Kernels)> =
        Level::ALL.into_iter().filter(|&level| level != Level::Scalar).filter_map(|level| Some((level, level.kernels()?))).collect();
    println!("{:32} {}", "", levels.iter().map(|(level, _)| format!("{:>11}", format!("{level:?}"))).collect::<String>());
    for (tokens, features, depth) in PRODUCTS {
        for half in [false, true] {
            let name = format!("product {features} {tokens} {depth} {}", if half { "f16" } else { "f32" });
            if wants(&name) {
                let rates = levels.iter().map(|(_, kernels)| product(kernels, tokens, features, depth, half));
                println!("{name:32} {}", rates.map(|rate| format!("{rate:11.0}")).collect::<String>());
            }
        }
    }
    for (size, channels, out_channels) in CONVOLUTIONS {
        let name = format!("convolution {size}x{size} {channels}>{out_channels}");
        if wants(&name) {
            let rates = levels.iter().map(|(_, kernels)| convolution(kernels, size, channels, out_channels));
            println!("{name:32} {}", rates.map(|rate| format!("{rate:11.0}")).collect::<String>());
        }
    }
    for (size, tokens, heads) in ATTENTIONS {
        let name = format!("attention {size} {tokens} {heads} ms");
        if wants(&name) {
            let rates = levels.iter().map(|(_, kernels)| attention(kernels, size, tokens, heads));
            println!("{name:32} {}", rates.map(|rate| format!("{rate:11.0}")).collect::<String>());
        }
    }
}

fn product(kernels: &Kernels, tokens: usize, features: usize, depth: usize, half: bool) -> f64 {
    let weights = vec![0.01_f32; features * depth];
    let activations = vec![0.01_f32; tokens * depth];
    let mut out = vec![0.0_f32; tokens * features];
    let (bytes, values) = if half { (2, Values::F16) } else { (4, Values::F32) };
    let product = Product {
        weights: Rows { data: weights.as_ptr().cast(), stride: depth * bytes, values },
        activations: Rows { data: activations.as_ptr().cast(), stride: depth * 4, values: Values::F32 },
        out: out.as_mut_ptr(),
        out_stride: features,
        tokens,
        features,
        depth,
    };
    // SAFETY: the matrices have these sizes.
    let seconds = best(|| unsafe { multiply(kernels, &product, Thread::ALONE) });
    2e-9 * (tokens * features * depth) as f64 / seconds
}

fn convolution(kernels: &Kernels, size: usize, channels: usize, out_channels: usize) -> f64 {
    let depth = channels * 9;
    let weights = vec![0x2000_u16; out_channels * depth];
    let image = vec![0.01_f32; channels * size * size];
    let mut out = vec![0.0_f32; out_channels * size * size];
    let shape = Shape {
        width: size,
        height: size,
        channels,
        out_channels,
        kernel: (3, 3),
        stride: (1, 1),
        padding: (1, 1),
        dilation: (1, 1),
        out: (size, size),
        groups: 1,
    };
    let weights = Rows { data: weights.as_ptr().cast(), stride: depth * 2, values: Values::F16 };
    let convolution = Convolution { shape: &shape, weights, image: image.as_ptr(), out: out.as_mut_ptr() };
    // SAFETY: the images have these sizes.
    let seconds = best(|| unsafe { convolve(kernels, &convolution, Thread::ALONE) });
    2e-9 * (out_channels * size * size * depth) as f64 / seconds
}

/// Milliseconds.
fn attention(kernels: &Kernels, size: usize, tokens: usize, heads: usize) -> f64 {
    let queries = vec![0.01_f32; heads * tokens * size];
    let keys = vec![0x2000_u16; heads * tokens * size];
    let mut out = vec![0.0_f32; heads * tokens * size];
    let rows = Rows { data: keys.as_ptr().cast(), stride: size * 2, values: Values::F16 };
    let attention = Attention {
        queries: Rows { data: queries.as_ptr().cast(), stride: size * 4, values: Values::F32 },
        query_head_stride: tokens * size * 4,
        keys: rows,
        key_head_stride: tokens * size * 2,
        values: rows,
        value_head_stride: tokens * size * 2,
        mask: std::ptr::null(),
        mask_stride: 0,
        mask_head_stride: 0,
        out: out.as_mut_ptr(),
        out_stride: heads * size,
        out_head_stride: size,
        scale: 0.1,
        heads,
        key_heads: heads,
        query_count: tokens,
        key_count: tokens,
        key_size: size,
        value_size: size,
    };
    // SAFETY: the matrices have these sizes.
    1e3 * best(|| unsafe { attend(kernels, &attention, Thread::ALONE) })
}

/// Seconds of CPU time of the fastest of several calls.
fn best(work: impl Fn()) -> f64 {
    let (mut best, mut spent) = (f64::INFINITY, 0.0);
    for _ in 0..40 {
        let start = cpu_seconds();
        work();
        let took = cpu_seconds() - start;
        best = best.min(took);
        spent += took;
        if spent > 1.0 {
            break;
        }
    }
    best
}

/// CPU time of this thread.
fn cpu_seconds() -> f64 {
    #[repr(C)]
    struct Time {
        seconds: i64,
        nanoseconds: i64,
    }
    unsafe extern "C" {
        fn clock_gettime(clock: i32, time: *mut Time) -> i32;
    }
    const THREAD_CPU_TIME: i32 = 3;
    let mut time = Time { seconds: 0, nanoseconds: 0 };
    // SAFETY: the C library's function on 64-bit Linux.
    unsafe { clock_gettime(THREAD_CPU_TIME, &raw mut time) };
    time.seconds as f64 + time.nanoseconds as f64 * 1e-9
}
