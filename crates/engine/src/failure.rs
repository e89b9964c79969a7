//! Advice for failures of the engine, from its status and its log lines. Pure.

use crate::ffi::{CallError, Status};
use crate::protocol::{Cause, Failure, OutOfMemory, PhaseKind, RemoteError};
use crate::remote::last_error;
use atelier_core::advice::Advice;
use atelier_core::format::file_size;
use atelier_core::sentences::sentence;

const OUT_OF_MEMORY: (&str, &str) = (
    "There is not enough memory for this picture.",
    "Choose a smaller size, turn on VAE tiling, or keep weights in RAM (--params-backend cpu).",
);

/// Advice where a device is full while the model is read or the prompt is encoded: neither the
/// picture's size nor its decoding matters there.
const NO_ROOM_FOR_WEIGHTS_HINT: &str =
    "Close other programs that use this device, run the text encoder on the CPU (te=cpu), or keep weights in RAM (--params-backend cpu).";

/// Advice where one tensor is larger than a device's buffers may be.
const TOO_LARGE_HINT: &str = "Run the text encoder on the CPU (te=cpu), turn on VAE tiling, or choose a more quantised file (Q8_0, Q4_0).";

/// Fragments of the engine's log lines (stable-diffusion.cpp, ggml), and the advice for a person.
/// The first that matches wins.
const KNOWN: &[(&[&str], &str, &str)] = &[
    (
        &["too large for params buffer", " takes no tensor of "],
        "A part of the model or the picture is larger than this device can allocate at once.",
        TOO_LARGE_HINT,
    ),
    (
        &[" does not compute "],
        "This device does not support a number type of the model.",
        "Choose another quantisation of the model, or another device for that part.",
    ),
    (
        &["no dequantization available"],
        "A model file has a number type that the engine does not support.",
        "Look for the same model as another .safetensors or .gguf file.",
    ),
    (
        &["out of memory", "failed to allocate", "alloc compute buffer failed", "alloc params backend buffer failed", "not enough memory"],
        OUT_OF_MEMORY.0,
        OUT_OF_MEMORY.1,
    ),
    (
        &["load lora tensors from"],
        "A LoRA could not be loaded, so no picture was generated.",
        "The file may be damaged or its disk disconnected. Download it again, or remove the LoRA.",
    ),
    (
        &["photomaker found no word before img"],
        "PhotoMaker did not find the person in the prompt.",
        "Write the word img once, after the word for the person: a woman img by a lake.",
    ),
    (
        &["photomaker found img too late"],
        "The word img is too late in the prompt for PhotoMaker, or there are too many pictures of the person.",
        "Start the prompt with the person, or use fewer pictures.",
    ),
    (
        &["photomaker did not take", "the photomaker file could not be read"],
        "PhotoMaker could not be loaded, so no picture was generated.",
        "The file may be damaged or an unsupported PhotoMaker. Download it again, or remove PhotoMaker.",
    ),
    (
        &["get sd version from file failed"],
        "Atelier does not recognise this model.",
        "Choose the diffusion file of a supported model, in the right role.",
    ),
    (
        &["read tensor data failed"],
        "A model file could not be read completely.",
        "The file may be damaged or its disk disconnected. Check the disk, or download the file again.",
    ),
    (
        &["not in model metadata", "not in model file", "was not loaded"],
        "A part of the model is missing from its files.",
        "Check that the files belong together and that each one is in its role.",
    ),
    (
        &["wrong shape", "has invalid shape", "ggml_can_mul_mat", "can_repeat"],
        "The model's files do not fit together together.",
        "Choose the text encoder and the VAE that were made for this diffusion file.",
    ),
    (
        &["backend config failed", "failed to initialize"],
        "A device could not be used.",
        "Choose another device in the placement, or leave the placement empty.",
    ),
    (
        &["no kernel image", "invalid device function"],
        "This build of Atelier does not support this GPU.",
        "Choose the CPU or another GPU in the placement, or install the Vulkan build.",
    ),
    (
        &["illegal memory access", "unspecified launch failure", "misaligned address"],
        "The GPU stopped during a calculation.",
        "Restart Atelier before using this GPU again; until then, choose another device in the placement.",
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
        (Status::NoMemory, _) => (OUT_OF_MEMORY.0, OUT_OF_MEMORY.1),
        (_, Some((_, sentence, hint))) => (*sentence, *hint),
        (Status::Aborted, None) => (
            "The engine stopped during a calculation.",
            "The model was unloaded; generate again. If this happens again, check that the model's files belong together.",
        ),
        (Status::Failed | Status::Cancelled | Status::Lost | Status::DeviceLost, None) => {
            ("The engine could not generate this picture.", "See the details for the engine's messages.")
        }
    };
    let mut log = log;
    if !error.message.is_empty() {
        log.push(error.message.clone());
    }
    if let (Status::DeviceLost, Some(device)) = (error.status, &error.lost) {
        let hint = "Restart Atelier before using this device again, or choose another device. If this happens again, update its driver.";
        return Failure { log, ..Failure::new(format!("{device} stopped responding, and its driver reset it."), hint) };
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
                Advice::new(
                    format!("There is not enough memory: {} needed {wanted} of RAM, and the system refused.", phase.label()),
                    OUT_OF_MEMORY.1,
                )
            } else if missing.is_allocation_limit() {
                let sentence = format!("{device} cannot allocate {wanted} at once for {}, although {free} were free.", phase.label());
                Advice::new(sentence, TOO_LARGE_HINT)
            } else {
                let sentence = format!("{device} has too little memory: {} needed {wanted}, and {free} were free.", phase.label());
                let is_early = device != "CPU" && matches!(phase, PhaseKind::Loading | PhaseKind::Encoding);
                Advice::new(sentence, if is_early { NO_ROOM_FOR_WEIGHTS_HINT } else { OUT_OF_MEMORY.1 })
            };
            Failure { advice, log, cause: Some(Cause::OutOfMemory(missing.clone())) }
        }
        None => Failure { log, ..Failure::new(sentence, hint) },
    }
}

/// The failure of a conversion, with the log lines that led to it.
pub(crate) fn of_conversion(error: &CallError, mut log: Vec<String>) -> Failure {
    const NO_MEMORY: (&str, &str) = ("There is not enough memory to convert this file", "Close other programs, then try again.");
    const OTHER: &str = "Check that the file is whole, and that its disk and that of the copy have room.";
    let said = |needle: &str| log.iter().chain([&error.message]).any(|line| line.to_ascii_lowercase().contains(needle));
    let known = KNOWN.iter().find(|(needles, ..)| needles.iter().any(|needle| said(needle)));
    let (why, hint) = match (error.status, known) {
        (Status::NoMemory, _) => NO_MEMORY,
        (_, Some((_, sentence, hint))) => (*sentence, *hint),
        (_, None) => (error.message.as_str(), OTHER),
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
