//! Advice for failures of the engine, from its status and its log lines. Pure.

use crate::ffi::{CallError, Status};
use crate::protocol::{Cause, Failure, OutOfMemory, PhaseKind, RemoteError};
use crate::remote::last_error;
use atelier_core::advice::Advice;
use atelier_core::format::file_size;
use atelier_core::sentences::sentence;
use atelier_language::{text, tr};

/// The texts of an error and of its hint.
const OUT_OF_MEMORY: (&str, &str) = ("engine-there-is-not-enough-memory-for", "engine-choose-a-smaller-size-turn-on");

/// Advice where a device is full while the model is read or the prompt is encoded: neither the
/// picture's size nor its decoding matters there.
const NO_ROOM_FOR_WEIGHTS_HINT: &str = "engine-close-other-programs-that";

/// Advice where one tensor is larger than a device's buffers may be.
const TOO_LARGE_HINT: &str = "engine-run-the-text-encoder";

/// Fragments of the engine's log lines (stable-diffusion.cpp, ggml), and the texts of the advice for a
/// person.
/// The first that matches wins.
const KNOWN: &[(&[&str], &str, &str)] = &[
    (&["too large for params buffer", " takes no tensor of "], "engine-a-part-of-the", TOO_LARGE_HINT),
    (&[" does not compute "], "engine-this-device-does-not", "engine-choose-another-quantisation-of"),
    (&["no dequantization available"], "engine-a-model-file-has", "engine-look-for-the-same"),
    (
        &["out of memory", "failed to allocate", "alloc compute buffer failed", "alloc params backend buffer failed", "not enough memory"],
        OUT_OF_MEMORY.0,
        OUT_OF_MEMORY.1,
    ),
    (&["load lora tensors from"], "engine-a-lora-could-not", "engine-the-file-may-be"),
    (&["photomaker found no word before img"], "engine-photomaker-did-not-find", "engine-write-the-word-img"),
    (&["photomaker found img too late"], "engine-the-word-img-is", "engine-start-the-prompt-with"),
    (
        &["photomaker did not take", "the photomaker file could not be read"],
        "engine-photomaker-could-not-be",
        "engine-the-file-may-be-damaged-or",
    ),
    (&["get sd version from file failed"], "engine-atelier-does-not-recognise", "engine-choose-the-diffusion-file"),
    (&["read tensor data failed"], "engine-a-model-file-could", "engine-the-file-may-be-damaged-or-its-disk"),
    (&["not in model metadata", "not in model file", "was not loaded"], "engine-a-part-of-the-model-is", "engine-check-that-the-files"),
    (
        &["wrong shape", "has invalid shape", "ggml_can_mul_mat", "can_repeat"],
        "engine-the-models-files-do",
        "engine-choose-the-text-encoder",
    ),
    (&["backend config failed", "failed to initialize"], "engine-a-device-could-not", "engine-choose-another-device-in"),
    (&["no kernel image", "invalid device function"], "engine-this-build-of-atelier", "engine-choose-the-cpu-or"),
    (
        &["illegal memory access", "unspecified launch failure", "misaligned address"],
        "engine-the-gpu-stopped-during",
        "engine-restart-atelier-before-using-this-gpu",
    ),
];

/// The failure of a call, with the log lines that led to it.
pub(crate) fn of_call(error: &CallError, log: Vec<String>) -> Failure {
    let said = |needle: &str| {
        let has = |line: &str| line.to_ascii_lowercase().contains(needle);
        has(&error.message) || log.iter().any(|line| has(line))
    };
    let known = KNOWN.iter().find(|(needles, ..)| needles.iter().any(|needle| said(needle)));
    let (sentence, hint) = match (error.status, known) {
        (Status::NoMemory, _) => (text(OUT_OF_MEMORY.0), text(OUT_OF_MEMORY.1)),
        (_, Some((_, sentence, hint))) => (text(sentence), text(hint)),
        (Status::Aborted, None) => (tr!("engine-the-engine-stopped-during"), tr!("engine-the-model-was-unloaded")),
        (Status::Failed | Status::Cancelled | Status::Lost | Status::DeviceLost, None) => {
            (tr!("engine-the-engine-could-not"), tr!("engine-see-the-details-for"))
        }
    };
    let mut log = log;
    if !error.message.is_empty() {
        log.push(error.message.clone());
    }
    if let (Status::DeviceLost, Some(device)) = (error.status, &error.lost) {
        let hint = tr!("engine-restart-atelier-before-using");
        return Failure { log, ..Failure::new(tr!("engine-stopped-responding-and-its", device), hint) };
    }
    if let Some(server) = &error.lost {
        let error = last_error().unwrap_or_else(|| RemoteError::Lost(server.clone()));
        return Failure { log, ..error.into() };
    }
    match &error.out_of_memory {
        Some(missing) => {
            let OutOfMemory { device, phase, bytes_wanted, bytes_free } = missing;
            let (wanted, free) = (file_size(*bytes_wanted), file_size(*bytes_free));
            let advice = if missing.is_allocation_limit() && device == "CPU" {
                // A limit of this process, or memory in pieces.
                Advice::new(tr!("engine-there-is-not-enough", phase = phase.label(), wanted), text(OUT_OF_MEMORY.1))
            } else if missing.is_allocation_limit() {
                let sentence = tr!("engine-cannot-allocate-at-once", device, wanted, phase = phase.label(), free);
                Advice::new(sentence, text(TOO_LARGE_HINT))
            } else {
                let sentence = tr!("engine-has-too-little-memory", device, phase = phase.label(), wanted, free);
                let is_early = device != "CPU" && matches!(phase, PhaseKind::Loading | PhaseKind::Encoding);
                Advice::new(sentence, text(if is_early { NO_ROOM_FOR_WEIGHTS_HINT } else { OUT_OF_MEMORY.1 }))
            };
            Failure { advice, log, cause: Some(Cause::OutOfMemory(missing.clone())) }
        }
        None => Failure { log, ..Failure::new(sentence, hint) },
    }
}

/// The failure of a conversion, with the log lines that led to it.
pub(crate) fn of_conversion(error: &CallError, mut log: Vec<String>) -> Failure {
    const NO_MEMORY: (&str, &str) = ("engine-there-is-not-enough-memory-to", "engine-close-other-programs-then-try-again");
    const OTHER: &str = "engine-check-that-the-file";
    let said = |needle: &str| log.iter().chain([&error.message]).any(|line| line.to_ascii_lowercase().contains(needle));
    let known = KNOWN.iter().find(|(needles, ..)| needles.iter().any(|needle| said(needle)));
    let (why, hint) = match (error.status, known) {
        (Status::NoMemory, _) => (text(NO_MEMORY.0), text(NO_MEMORY.1)),
        (_, Some((_, sentence, hint))) => (text(sentence), text(hint)),
        (_, None) => (error.message.as_str(), text(OTHER)),
    };
    let why = sentence(why);
    log.push(error.message.clone());
    Failure { log, ..Failure::new(why, hint) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::PhaseKind;

    fn failure(status: Status, message: &str, log: &[&str]) -> Failure {
        let error = CallError { status, message: message.into(), out_of_memory: None, lost: None };
        of_call(&error, log.iter().map(|&line| line.into()).collect())
    }

    #[test]
    fn the_engine_s_words_become_advice_and_stay_in_the_details() {
        let failure = failure(Status::Failed, "the engine made no picture", &["Z: alloc compute buffer failed"]);
        assert!(failure.advice.sentence.contains("memory") && failure.advice.hint.contains("smaller"), "{failure:?}");
        assert_eq!(failure.log, ["Z: alloc compute buffer failed", "the engine made no picture"]);
    }

    #[test]
    fn an_assert_about_shapes_means_files_that_do_not_fit() {
        let failure = failure(Status::Aborted, "ggml.c:3: GGML_ASSERT(ggml_can_mul_mat(a, b)) failed", &[]);
        assert!(failure.advice.sentence.contains("do not fit together"), "{failure:?}");
    }

    #[test]
    fn a_device_without_room_is_named_with_the_bytes() {
        let missing = OutOfMemory { device: "GPU1".into(), phase: PhaseKind::Decoding, bytes_wanted: 3_000_000, bytes_free: 1_000_000 };
        let error = CallError { status: Status::NoMemory, message: String::new(), out_of_memory: Some(missing.clone()), lost: None };
        let failure = of_call(&error, Vec::new());
        assert_eq!(failure.advice.sentence, "GPU1 has too little memory: decoding needed 3.0 MB, and 1.0 MB were free.");
        assert_eq!(failure.cause, Some(Cause::OutOfMemory(missing.clone())));
        let fitting = OutOfMemory { bytes_free: 8_000_000, ..missing };
        let error = CallError { status: Status::NoMemory, message: String::new(), out_of_memory: Some(fitting), lost: None };
        let sentence = of_call(&error, Vec::new()).advice.sentence;
        assert_eq!(sentence, "GPU1 cannot allocate 3.0 MB at once for decoding, although 8.0 MB were free.");
    }

    #[test]
    fn a_lost_server_is_named_with_what_to_do() {
        let error = CallError { status: Status::Lost, message: String::new(), out_of_memory: None, lost: Some("studio:50052".into()) };
        let failure = of_call(&error, Vec::new());
        assert_eq!(failure.advice.sentence, "The connection to studio:50052 was lost.");
        assert_eq!(failure.advice.hint, "Check that `atelier serve-device` still runs there, then try again.");
        assert_eq!(failure.cause, Some(Cause::Remote(RemoteError::Lost("studio:50052".into()))));
    }

    #[test]
    fn a_lost_device_is_named_and_not_offered_again() {
        let error = CallError { status: Status::DeviceLost, message: String::new(), out_of_memory: None, lost: Some("Vulkan0".into()) };
        let failure = of_call(&error, Vec::new());
        assert!(failure.advice.sentence.starts_with("Vulkan0 stopped responding"), "{failure:?}");
        assert!(failure.advice.hint.contains("Restart") && failure.advice.hint.contains("another device"), "{failure:?}");
    }

    #[test]
    fn a_card_without_code_for_it_is_said_to_be_one() {
        let failure = failure(Status::Aborted, "CUDA error", &["CUDA error: no kernel image is available for execution on the device"]);
        assert!(failure.advice.sentence.contains("does not support this GPU"), "{failure:?}");
    }

    #[test]
    fn what_nobody_foresaw_still_says_what_to_do() {
        for status in [Status::Failed, Status::Aborted, Status::NoMemory] {
            let failure = failure(status, "", &[]);
            assert!(!failure.advice.sentence.is_empty() && !failure.advice.hint.is_empty());
        }
    }
}
