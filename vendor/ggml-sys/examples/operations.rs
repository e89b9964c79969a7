//! Speed of ggml's own operations on the processor, one thread, by CPU time (on Linux): what the engine computes with where no kernels
//! are registered. `cargo xtask bench -- --cpu` runs it beside ours.
//!
//! `operations ROW...` writes `ROW<tab>VALUE` for each: GFLOP/s of `product FEATURES TOKENS DEPTH` and `convolution SIZExSIZE IN>OUT` (3 x 3, unfolded),
//! milliseconds of `attention SIZE TOKENS HEADS`. Weights, keys and values are binary16.
#![allow(unsafe_code, clippy::print_stdout, reason = "calls C")]

use std::ffi::{c_int, c_void};
use std::process::ExitCode;
use std::ptr::null_mut;
use std::time::Duration;

// Brings the engine's libraries.
use ggml_sys as _;

/// ggml's context, tensor and graph.
type Pointer = *mut c_void;

#[repr(C)]
struct InitParams {
    bytes: usize,
    buffer: Pointer,
    no_alloc: bool,
}

const F32: c_int = 0;
const F16: c_int = 1;

unsafe extern "C" {
    fn ggml_init(params: InitParams) -> Pointer;
    fn ggml_free(context: Pointer);
    fn ggml_new_tensor_4d(context: Pointer, kind: c_int, n0: i64, n1: i64, n2: i64, n3: i64) -> Pointer;
    fn ggml_get_data(tensor: Pointer) -> Pointer;
    fn ggml_nbytes(tensor: Pointer) -> usize;
    fn ggml_mul_mat(context: Pointer, a: Pointer, b: Pointer) -> Pointer;
    fn ggml_conv_2d(context: Pointer, a: Pointer, b: Pointer, s0: c_int, s1: c_int, p0: c_int, p1: c_int, d0: c_int, d1: c_int) -> Pointer;
    fn ggml_flash_attn_ext(context: Pointer, q: Pointer, k: Pointer, v: Pointer, mask: Pointer, scale: f32, bias: f32, cap: f32)
    -> Pointer;
    fn ggml_new_graph(context: Pointer) -> Pointer;
    fn ggml_build_forward_expand(graph: Pointer, tensor: Pointer);
    fn ggml_graph_compute_with_ctx(context: Pointer, graph: Pointer, threads: c_int) -> c_int;
}

fn main() -> ExitCode {
    for row in std::env::args().skip(1) {
        let Some(value) = measure(&row) else {
            eprintln!("no row is called {row:?}");
            return ExitCode::from(2);
        };
        println!("{row}\t{value}");
    }
    ExitCode::SUCCESS
}

fn measure(row: &str) -> Option<f64> {
    let (kind, numbers) = row.split_once(' ')?;
    let numbers: Option<Vec<i64>> =
        numbers.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty()).map(|part| part.parse().ok()).collect();
    // SAFETY: a context of ggml's own, freed once; tensors of the shapes that each operation asks for.
    unsafe {
        let context = ggml_init(InitParams { bytes: 3 << 30, buffer: null_mut(), no_alloc: false });
        let value = match (kind, numbers?.as_slice()) {
            ("product", &[features, tokens, depth]) => {
                let out = ggml_mul_mat(context, tensor(context, F16, [depth, features, 1, 1]), tensor(context, F32, [depth, tokens, 1, 1]));
                2e-9 * (features * tokens * depth) as f64 / best(context, out)
            }
            ("convolution", &[size, _, inward, outward]) => {
                let (weights, image) = (tensor(context, F16, [3, 3, inward, outward]), tensor(context, F32, [size, size, inward, 1]));
                2e-9 * (size * size * inward * outward * 9) as f64 / best(context, ggml_conv_2d(context, weights, image, 1, 1, 1, 1, 1, 1))
            }
            ("attention", &[size, tokens, heads]) => {
                let queries = tensor(context, F32, [size, tokens, heads, 1]);
                let (keys, values) = (tensor(context, F16, [size, tokens, heads, 1]), tensor(context, F16, [size, tokens, heads, 1]));
                1e3 * best(context, ggml_flash_attn_ext(context, queries, keys, values, null_mut(), 0.1, 0.0, 0.0))
            }
            _ => return None,
        };
        ggml_free(context);
        Some(value)
    }
}

/// A tensor full of zeros.
unsafe fn tensor(context: Pointer, kind: c_int, [n0, n1, n2, n3]: [i64; 4]) -> Pointer {
    // SAFETY: the context has room; the tensor has so many bytes.
    unsafe {
        let tensor = ggml_new_tensor_4d(context, kind, n0, n1, n2, n3);
        ggml_get_data(tensor).cast::<u8>().write_bytes(0, ggml_nbytes(tensor));
        tensor
    }
}

/// Seconds of CPU time of the quickest of several computations of `out`.
unsafe fn best(context: Pointer, out: Pointer) -> f64 {
    // SAFETY: `out` is a node of the context.
    unsafe {
        let graph = ggml_new_graph(context);
        ggml_build_forward_expand(graph, out);
        let (mut best, mut spent) = (Duration::MAX, Duration::ZERO);
        // Each call takes its working memory from the context.
        for _ in 0..6 {
            let start = cpu_time();
            ggml_graph_compute_with_ctx(context, graph, 1);
            let took = cpu_time().saturating_sub(start);
            best = best.min(took);
            spent += took;
            if spent > Duration::from_secs(1) {
                break;
            }
        }
        best.as_secs_f64()
    }
}

/// CPU time of this thread.
#[cfg(target_os = "linux")]
fn cpu_time() -> Duration {
    #[repr(C)]
    struct Time {
        seconds: i64,
        nanoseconds: i64,
    }
    unsafe extern "C" {
        fn clock_gettime(clock: c_int, time: *mut Time) -> c_int;
    }
    const THREAD_CPU_TIME: c_int = 3;
    let mut time = Time { seconds: 0, nanoseconds: 0 };
    // SAFETY: the C library's function on 64-bit Linux.
    unsafe { clock_gettime(THREAD_CPU_TIME, &raw mut time) };
    Duration::new(time.seconds.unsigned_abs(), time.nanoseconds.unsigned_abs() as u32)
}

/// Time since the first call: other systems have no such clock by this name.
#[cfg(not(target_os = "linux"))]
fn cpu_time() -> Duration {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    START.get_or_init(std::time::Instant::now).elapsed()
}
