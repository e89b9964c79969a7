//! Names what is not a model by its first bytes: what a browser saved, what an archive holds, what
//! PyTorch pickled.

/// Number of first bytes that are examined.
pub(crate) const BYTES: usize = 512;

/// Kind of a file that is no model.
pub(crate) struct Other {
    /// The text of its name with an article: `a PNG picture`.
    pub(crate) what: &'static str,
    /// The text of what to do instead.
    pub(crate) hint: &'static str,
}

/// The text of the advice on a model of TensorFlow Lite.
const TFLITE: &str = "library-find-the-same-model-as-onnx";
const PICTURE: &str = "library-choose-the-models-safetensors";
const ARCHIVE: &str = "library-unpack-it-and-choose";
/// The text of the advice on a pickle, which also tells one.
pub(crate) const PICKLE: &str = "library-pickle-files-can-execute";
const PAGE: &str = "library-the-download-probably-asked";

/// Says what the file is, where it is not a model; `None` where it could be a safetensors file.
pub(crate) fn what(start: &[u8]) -> Option<Other> {
    const MAGIC: [(&[u8], &str, &str); 15] = [
        (b"\x89PNG", "library-a-png-picture", PICTURE),
        (b"\xff\xd8\xff", "library-a-jpeg-picture", PICTURE),
        (b"GIF8", "library-a-gif-picture", PICTURE),
        (b"RIFF", "library-a-webp-picture-or", PICTURE),
        (b"%PDF", "library-a-pdf-document", PICTURE),
        (b"7z\xbc\xaf\x27\x1c", "library-a-7-zip-archive", ARCHIVE),
        (b"Rar!", "library-a-rar-archive", ARCHIVE),
        (b"\x1f\x8b", "library-a-gzip-archive", ARCHIVE),
        (b"\x28\xb5\x2f\xfd", "library-a-zstd-archive", ARCHIVE),
        (b"\x80\x02", "library-an-old-pytorch-checkpoint", PICKLE),
        (b"\x80\x03", "library-an-old-pytorch-checkpoint", PICKLE),
        (b"\x80\x04", "library-an-old-pytorch-checkpoint", PICKLE),
        (b"version https://git-lfs", "library-a-git-lfs-pointer", "library-download-the-file-itself"),
        (b"\x7fELF", "library-a-program", PICTURE),
        (b"MZ", "library-a-program", PICTURE),
    ];
    // A length that begins like one of these would be longer than any header may be, except for the
    // short ones.
    if could_be_safetensors(start) {
        return None;
    }
    if start.get(4..8) == Some(b"TFL3") {
        return Some(Other { what: "library-a-tensorflow-lite-model", hint: TFLITE });
    }
    if start.starts_with(b"PK\x03\x04") {
        // PyTorch's archive begins with a pickle; its name stands thirty bytes in.
        let pickled = start.windows(8).any(|it| it == b"data.pkl");
        let (what, hint) = if pickled { ("library-a-pytorch-checkpoint-ckpt", PICKLE) } else { ("library-a-zip-archive", ARCHIVE) };
        return Some(Other { what, hint });
    }
    if let Some((_, what, hint)) = MAGIC.iter().find(|(magic, ..)| start.starts_with(magic)) {
        return Some(Other { what, hint });
    }
    text(start).then(|| {
        let lower = start.to_ascii_lowercase();
        let page = lower.windows(5).any(|it| it == b"<html") || lower.windows(9).any(|it| it == b"<!doctype");
        Other { what: if page { "library-a-web-page" } else { "library-a-text" }, hint: PAGE }
    })
}

/// Says what the file is, where it is certainly no ONNX model.
pub(crate) fn other_than_onnx(start: &[u8]) -> Option<Other> {
    const ANOTHER: &str = "library-choose-another-onnx-file";
    if start.starts_with(b"GGUF") {
        return Some(Other { what: "library-a-gguf-model", hint: ANOTHER });
    }
    if could_be_safetensors(start) {
        return Some(Other { what: "library-a-safetensors-model", hint: ANOTHER });
    }
    let Other { what, hint } = what(start)?;
    let hint = match hint {
        PICKLE => "library-export-it-as-onnx",
        PICTURE | ARCHIVE => ANOTHER,
        other => other,
    };
    Some(Other { what, hint })
}

/// A length of less than 4 GiB, then JSON.
fn could_be_safetensors(start: &[u8]) -> bool {
    start.get(8) == Some(&b'{') && start.get(4..8) == Some(&[0; 4])
}

fn text(start: &[u8]) -> bool {
    let end = match std::str::from_utf8(start) {
        Ok(text) => text.len(),
        // The look may have ended inside a character.
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Err(_) => return false,
    };
    let Some(Ok(text)) = start.get(..end).map(std::str::from_utf8) else { return false };
    !text.is_empty() && text.chars().all(|it| !it.is_control() || matches!(it, '\n' | '\r' | '\t'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_language as language;

    fn named(start: &[u8]) -> Option<&'static str> {
        what(start).map(|it| language::text(it.what))
    }

    #[test]
    fn things_are_called_by_their_names() {
        assert_eq!(named(b"\x89PNG\r\n\x1a\n"), Some("a PNG picture"));
        assert_eq!(named(b"PK\x03\x04............archive/data.pkl"), Some("a PyTorch checkpoint (.ckpt, .pt or .pth)"));
        assert_eq!(named(b"PK\x03\x04............notes.txt"), Some("a zip archive"));
        assert_eq!(named(b"<!DOCTYPE html><html lang=en>"), Some("a web page"));
        assert_eq!(named(b"\x1c\0\0\0TFL3\x14\0\x20\0"), Some("a TensorFlow Lite model"));
        assert_eq!(named("Bitte zuerst anmelden. Überall.".as_bytes()), Some("a text"));
        assert_eq!(named(b"version https://git-lfs.github.com/spec/v1\n"), Some("a Git LFS pointer, not the file itself"));
    }

    #[test]
    fn what_is_no_onnx_model_is_named_with_what_to_do() {
        let told = |start: &[u8]| other_than_onnx(start).map(|it| (language::text(it.what), language::text(it.hint)));
        let (what, hint) = told(b"PK\x03\x04............face_yolov8n/data.pkl").unwrap();
        assert!(what.starts_with("a PyTorch checkpoint") && hint.contains("yolo export"), "{what}: {hint}");
        let (what, hint) = told(b"\x1c\0\0\0TFL3\x14\0\x20\0").unwrap();
        assert!(what == "a TensorFlow Lite model" && hint.contains("tf2onnx"), "{what}: {hint}");
        let another = language::text("library-choose-another-onnx-file");
        assert_eq!(told(b"GGUF\x03\0\0\0"), Some(("a GGUF model", another)));
        assert_eq!(told(b"\x40\0\0\0\0\0\0\0{\"a\":"), Some(("a safetensors model", another)));
        assert_eq!(told(b"\xff\xd8\xff\xe0"), Some(("a JPEG picture", another)));
        assert!(told(&testkit::onnx::red_segmenter(64)).is_none());
    }

    #[test]
    fn a_safetensors_file_is_never_taken_for_something_else() {
        for length in [b"MZ\0\0", b"\x1f\x8b\0\0", b"\x80\x02\0\0", b"    "] {
            let mut start = length.to_vec();
            start.extend_from_slice(b"\0\0\0\0{\"a\":");
            assert_eq!(named(&start), None);
        }
    }
}
