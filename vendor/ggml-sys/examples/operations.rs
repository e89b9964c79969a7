//! Speed of ggml's own operations on the processor, one thread, by CPU time (on Linux): what the
//! engine computes with where no kernels are registered. `cargo xtask bench -- --cpu` runs it
//! beside ours.
//!
//! `operations ROW...` writes `ROW<tab>VALUE` for each: GFLOP/s of `product FEATURES TOKENS DEPTH`
//! and `convolution SIZExSIZE IN>OUT` (3 x 3, unfolded), milliseconds of `attention SIZE TOKENS
//! HEADS`. Weights, keys and values are binary16.
#![allow(unsafe_code, clippy::print_stdout, reason = "calls C")]

use std::ffi::{CStr, c_int};
use std::process::ExitCode;
use std::ptr::{from_ref, null_mut};

use ggml_sys::{
    ATELIER_OK, ATELIER_OPERATION_ATTENTION, ATELIER_OPERATION_PRODUCT, ATELIER_OPERATION_UNFOLDED, atelier_callbacks, atelier_last_error,
    atelier_measurement, atelier_measurement_free, atelier_measurement_new, atelier_measurement_run, atelier_operation,
};

/// Computations of which the fastest counts.
const REPEATS: usize = 6;
/// Seconds after which no further one begins.
const LIMIT_SECS: f64 = 1.0;
const CALLBACKS: atelier_callbacks =
    atelier_callbacks { user: null_mut(), log: None, phase: None, load: None, step: None, preview: None, cancelled: None };

fn main() -> ExitCode {
    let mut measurement = null_mut();
    // SAFETY: the name and the callbacks live during the call; `measurement` is a local to be
    // written.
    let status = unsafe { atelier_measurement_new(c"CPU".as_ptr(), 1, from_ref(&CALLBACKS), &raw mut measurement) };
    if status != ATELIER_OK {
        // SAFETY: a string of this thread that lives until its next call.
        eprintln!("{}", unsafe { CStr::from_ptr(atelier_last_error()) }.to_string_lossy());
        return ExitCode::FAILURE;
    }
    for row in std::env::args().skip(1) {
        let Some(value) = measure(measurement, &row) else {
            eprintln!("no row is called {row:?}");
            return ExitCode::from(2);
        };
        println!("{row}\t{value}");
    }
    // SAFETY: it came from `atelier_measurement_new` and is freed once.
    unsafe { atelier_measurement_free(measurement) };
    ExitCode::SUCCESS
}

fn measure(measurement: *mut atelier_measurement, row: &str) -> Option<f64> {
    let (kind, numbers) = row.split_once(' ')?;
    let numbers: Option<Vec<i64>> =
        numbers.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty()).map(|part| part.parse().ok()).collect();
    Some(match (kind, numbers?.as_slice()) {
        ("product", &[features, tokens, depth]) => {
            2e-9 * (features * tokens * depth) as f64 / best(measurement, ATELIER_OPERATION_PRODUCT, [features, tokens, depth])?
        }
        ("convolution", &[size, _, inward, outward]) => {
            2e-9 * (size * size * inward * outward * 9) as f64 / best(measurement, ATELIER_OPERATION_UNFOLDED, [size, inward, outward])?
        }
        ("attention", &[size, tokens, heads]) => 1e3 * best(measurement, ATELIER_OPERATION_ATTENTION, [size, tokens, heads])?,
        _ => return None,
    })
}

/// Seconds of the fastest of several computations.
fn best(measurement: *mut atelier_measurement, kind: c_int, size: [i64; 3]) -> Option<f64> {
    let operation = atelier_operation { kind, weights: c"f16".as_ptr(), size, nodes: 1 };
    let (mut seconds, mut count) = ([0.0; REPEATS], 0);
    // SAFETY: a live measurement; the operation and the callbacks live during the call; `seconds`
    // has the length that is passed.
    let status = unsafe {
        atelier_measurement_run(
            measurement,
            &raw const operation,
            LIMIT_SECS,
            from_ref(&CALLBACKS),
            seconds.as_mut_ptr(),
            seconds.len(),
            &raw mut count,
        )
    };
    (status == ATELIER_OK).then(|| seconds.iter().take(count).copied().reduce(f64::min)).flatten()
}
