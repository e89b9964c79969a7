//! Speed of the kernels, best of several: one thread by its CPU time (on Linux), several by the time
//! that passes.
//!
//! `rates LEVEL THREADS ROW...` writes `ROW<tab>VALUE` for each row: GFLOP/s of `product FEATURES
//! TOKENS DEPTH`, `int8 FORMAT FEATURES TOKENS DEPTH` (quantised weights in eight bits, with the
//! instructions beside the level, or with those of `int8 FORMAT@INT8LEVEL ...`), `convolution SIZExSIZE IN>OUT` (3 x 3) and `peak` (what the
//! registers can do, of one thread), milliseconds of `attention SIZE TOKENS HEADS`. Other weights,
//! keys and values are binary16.
#![allow(unsafe_code, clippy::print_stdout, reason = "measures an interface of pointers")]

use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use atelier_kernels::attention::{Attention, attend};
use atelier_kernels::convolution::{Convolution, Shape, convolve};
use atelier_kernels::int8::{self, Format, Int8Level, Int8Product};
use atelier_kernels::product::{Product, multiply};
use atelier_kernels::{Epilogue, Kernels, Level, Rows, Thread, Values};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let level = arguments.next().unwrap_or_default();
    let Some((level, kernels)) =
        Level::ALL.into_iter().find(|known| format!("{known:?}") == level).and_then(|level| Some((level, level.kernels()?)))
    else {
        eprintln!("this CPU has no level {level:?}; choose one of {:?}", Level::ALL);
        return ExitCode::from(2);
    };
    let Some(threads) = arguments.next().and_then(|threads| threads.parse::<usize>().ok()).filter(|threads| *threads > 0) else {
        eprintln!("the number of threads follows the level");
        return ExitCode::from(2);
    };
    for row in arguments {
        let Some(value) = measure(level, kernels, threads, &row) else {
            eprintln!("no row is called {row:?}");
            return ExitCode::from(2);
        };
        println!("{row}\t{value}");
    }
    ExitCode::SUCCESS
}

fn measure(level: Level, kernels: &Kernels, threads: usize, row: &str) -> Option<f64> {
    let (kind, numbers) = row.split_once(' ').unwrap_or((row, ""));
    let (format, numbers) = match kind {
        "int8" => {
            let (name, numbers) = numbers.split_once(' ')?;
            let (name, int8) = name.split_once('@').map_or((name, None), |(name, int8)| (name, Some(int8)));
            let format = Format::ALL.into_iter().find(|format| format!("{format:?}") == name)?;
            let is_named = |it: &Int8Level| it.is_available() && int8.is_some_and(|int8| format!("{it:?}") == int8);
            let beside = int8.is_none().then(|| Int8Level::beside(level, true));
            (Some((format, beside.or_else(|| Int8Level::ALL.into_iter().find(is_named))?)), numbers)
        }
        _ => (None, numbers),
    };
    let numbers: Option<Vec<usize>> =
        numbers.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty()).map(|part| part.parse().ok()).collect();
    Some(match (kind, numbers?.as_slice()) {
        ("int8", &[features, tokens, depth]) => int8_product(kernels, threads, format?, [tokens, features, depth]),
        ("product", &[features, tokens, depth]) => product(kernels, threads, tokens, features, depth),
        ("convolution", &[size, _, channels, out_channels]) => convolution(kernels, threads, size, channels, out_channels),
        ("attention", &[size, tokens, heads]) => attention(kernels, threads, size, tokens, heads),
        ("peak", []) => peak(level),
        _ => return None,
    })
}

/// GFLOP/s of sums that stay in registers.
#[cfg(target_arch = "x86_64")]
fn peak(level: Level) -> f64 {
    use std::arch::x86_64::{__m512, __m512bh, _mm256_fmadd_ps, _mm256_set1_ps, _mm512_dpbf16_ps, _mm512_fmadd_ps, _mm512_set1_ps};
    use std::hint::black_box;
    use std::mem::transmute;
    const ROUNDS: usize = 10_000_000;
    const SUMS: usize = 12;
    const TILE_ROUNDS: usize = 1_000_000;

    #[target_feature(enable = "avx2,fma")]
    fn avx2() {
        let mut sums = [_mm256_set1_ps(0.0); SUMS];
        let factor = black_box(_mm256_set1_ps(0.5));
        for _ in 0..ROUNDS {
            for sum in &mut sums {
                *sum = _mm256_fmadd_ps(factor, factor, *sum);
            }
        }
        black_box(sums);
    }
    #[target_feature(enable = "avx512f")]
    fn avx512() {
        let mut sums = [_mm512_set1_ps(0.0); SUMS];
        let factor = black_box(_mm512_set1_ps(0.5));
        for _ in 0..ROUNDS {
            for sum in &mut sums {
                *sum = _mm512_fmadd_ps(factor, factor, *sum);
            }
        }
        black_box(sums);
    }
    #[target_feature(enable = "avx512f,avx512bf16")]
    fn avx512_bf16() {
        let mut sums = [_mm512_set1_ps(0.0); SUMS];
        // SAFETY: types of the same size, all of whose bits are values.
        let factor = unsafe { transmute::<__m512, __m512bh>(black_box(_mm512_set1_ps(0.5))) };
        for _ in 0..ROUNDS {
            for sum in &mut sums {
                *sum = _mm512_dpbf16_ps(*sum, factor, factor);
            }
        }
        black_box(sums);
    }
    let (products, work): (usize, fn()) = match level {
        Level::Avx2 => (ROUNDS * SUMS * 8, || {
            // SAFETY: the level's kernels are there, so its instructions are.
            unsafe { avx2() }
        }),
        Level::Avx512 => (ROUNDS * SUMS * 16, || {
            // SAFETY: the level's kernels are there, so its instructions are.
            unsafe { avx512() }
        }),
        Level::Avx512Bf16 => (ROUNDS * SUMS * 32, || {
            // SAFETY: the level's kernels are there, so its instructions are.
            unsafe { avx512_bf16() }
        }),
        Level::AmxBf16 => (TILE_ROUNDS * TILE_PRODUCTS, || {
            // SAFETY: the level's kernels are there, so its instructions are, and the process may use them.
            unsafe { multiply_tiles(TILE_ROUNDS) }
        }),
        Level::Scalar | Level::Neon => return f64::NAN,
    };
    2e-9 * products as f64 / best(1, |_| work())
}

/// Products of a round of [`multiply_tiles`]: four of 16 rows by 16 columns, 32 deep.
#[cfg(target_arch = "x86_64")]
const TILE_PRODUCTS: usize = 4 * 16 * 16 * 32;

/// Multiplies zeros in the tile registers, so many times.
///
/// # Safety
/// The processor has AMX-BF16, and the process may use it.
#[cfg(target_arch = "x86_64")]
unsafe fn multiply_tiles(rounds: usize) {
    /// Shapes of the registers: palette 1, and of each the bytes of a row and the rows.
    #[repr(align(64))]
    struct Shapes([u8; 64]);
    let mut shapes = Shapes([0; 64]);
    shapes.0[0] = 1;
    for register in 0..8 {
        shapes.0[16 + 2 * register] = 64;
        shapes.0[48 + register] = 16;
    }
    // SAFETY: as the caller promises; memory is only read.
    unsafe {
        std::arch::asm!(
            "ldtilecfg [{shapes}]",
            "tilezero tmm0",
            "tilezero tmm1",
            "tilezero tmm2",
            "tilezero tmm3",
            "tilezero tmm4",
            "tilezero tmm5",
            "tilezero tmm6",
            "tilezero tmm7",
            "2:",
            "tdpbf16ps tmm0, tmm4, tmm6",
            "tdpbf16ps tmm1, tmm4, tmm7",
            "tdpbf16ps tmm2, tmm5, tmm6",
            "tdpbf16ps tmm3, tmm5, tmm7",
            "dec {rounds}",
            "jnz 2b",
            "tilerelease",
            shapes = in(reg) &raw const shapes,
            rounds = inout(reg) rounds => _,
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _, out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack, readonly),
        );
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn peak(_: Level) -> f64 {
    f64::NAN
}

fn product(kernels: &Kernels, threads: usize, tokens: usize, features: usize, depth: usize) -> f64 {
    let weights = vec![0x2000_u16; features * depth];
    let activations = vec![0.01_f32; tokens * depth];
    let mut out = vec![0.0_f32; tokens * features];
    let product = Product {
        weights: Rows { data: weights.as_ptr().cast(), stride: depth * 2, values: Values::F16 },
        activations: Rows { data: activations.as_ptr().cast(), stride: depth * 4, values: Values::F32 },
        out: out.as_mut_ptr(),
        out_stride: features,
        tokens,
        features,
        depth,
        epilogue: Epilogue::NONE,
    };
    // SAFETY: the matrices have these sizes.
    let seconds = best(threads, |thread| unsafe { multiply(kernels, &product, thread) });
    2e-9 * (tokens * features * depth) as f64 / seconds
}

fn int8_product(kernels: &Kernels, threads: usize, (format, level): (Format, Int8Level), [tokens, features, depth]: [usize; 3]) -> f64 {
    let weights_stride = depth / format.values() * format.bytes();
    // Factors of small numbers, whose time is that of all others.
    let weights = vec![0x21_u8; features * weights_stride];
    let activations = vec![0.01_f32; tokens * depth];
    let mut out = vec![0.0_f32; tokens * features];
    let product = Int8Product::new(format, [tokens, features, depth], &weights, &activations, &mut out);
    // SAFETY: the matrices have these sizes.
    let seconds = best(threads, |thread| unsafe { int8::multiply(level, kernels, &product, thread) });
    2e-9 * (tokens * features * depth) as f64 / seconds
}

fn convolution(kernels: &Kernels, threads: usize, size: usize, channels: usize, out_channels: usize) -> f64 {
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
    let convolution = Convolution { shape: &shape, weights, image: image.as_ptr(), out: out.as_mut_ptr(), epilogue: Epilogue::NONE };
    // SAFETY: the images have these sizes.
    let seconds = best(threads, |thread| unsafe { convolve(kernels, &convolution, thread) });
    2e-9 * (out_channels * size * size * depth) as f64 / seconds
}

/// Milliseconds.
fn attention(kernels: &Kernels, threads: usize, size: usize, tokens: usize, heads: usize) -> f64 {
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
    1e3 * best(threads, |thread| unsafe { attend(kernels, &attention, thread) })
}

/// Seconds of the fastest of several calls, each of which every thread takes part in.
fn best(threads: usize, work: impl Fn(Thread)) -> f64 {
    if threads == 1 {
        return fastest(cpu_seconds, || work(Thread::ALONE));
    }
    let begun = Instant::now();
    let work = Everywhere(work);
    // Calls that may begin, and parts of them that others have done. The threads do not sleep
    // between calls, as the engine's do not.
    let (calls, parts) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for index in 1..threads {
            let (work, calls, parts) = (&work, &calls, &parts);
            scope.spawn(move || {
                for call in 1.. {
                    let mut allowed = calls.load(Ordering::Acquire);
                    while allowed < call {
                        std::hint::spin_loop();
                        allowed = calls.load(Ordering::Acquire);
                    }
                    if allowed == usize::MAX {
                        break;
                    }
                    work.call(Thread { index, count: threads });
                    parts.fetch_add(1, Ordering::Release);
                }
            });
        }
        let seconds = fastest(
            || begun.elapsed().as_secs_f64(),
            || {
                let wanted = (calls.fetch_add(1, Ordering::Release) + 1) * (threads - 1);
                work.call(Thread { index: 0, count: threads });
                while parts.load(Ordering::Acquire) < wanted {
                    std::hint::spin_loop();
                }
            },
        );
        calls.store(usize::MAX, Ordering::Release);
        seconds
    })
}

/// An operation that several threads may compute at once.
struct Everywhere<F>(F);

// SAFETY: the matrices that it points to outlive it, and each thread writes a part of its own.
unsafe impl<F> Sync for Everywhere<F> {}

impl<F: Fn(Thread)> Everywhere<F> {
    fn call(&self, thread: Thread) {
        (self.0)(thread);
    }
}

/// Seconds of the fastest of several calls by a clock.
fn fastest(clock: impl Fn() -> f64, work: impl Fn()) -> f64 {
    let (mut best, mut spent) = (f64::INFINITY, 0.0);
    for _ in 0..40 {
        let start = clock();
        work();
        let took = clock() - start;
        best = best.min(took);
        spent += took;
        if spent > 1.0 {
            break;
        }
    }
    best
}

/// CPU time of this thread.
#[cfg(target_os = "linux")]
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

/// Time since the first call: other systems have no such clock by this name.
#[cfg(not(target_os = "linux"))]
fn cpu_seconds() -> f64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs_f64()
}
