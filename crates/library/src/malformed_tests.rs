//! Tests of the readers against files that mean no good: random bytes, and good headers with random
//! damage.

use std::io::Cursor;
use std::sync::LazyLock;

use proptest::prelude::*;

use super::disk::Facts;
use super::header::{HeaderError, read_from};
use super::{Header, identify};

/// The heads of good files: enough for the header, and little of the data.
static GOOD: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let dir = tempfile::tempdir().unwrap();
    let mut heads = Vec::new();
    for format in [testkit::tiny::Format::Safetensors, testkit::tiny::Format::GgufQ8] {
        let options = testkit::tiny::Options { format, encoder_layers: 1, ..Default::default() };
        let files = testkit::tiny::zimage(dir.path(), &options).unwrap();
        for path in [files.diffusion, files.llm] {
            let mut head = std::fs::read(path).unwrap();
            head.truncate(16_384);
            heads.push(head);
        }
    }
    heads
});

/// Reads as if the file went on for long enough, and checks what is promised of every header.
fn read(bytes: &[u8], file_bytes: u64) -> Result<Header, HeaderError> {
    let header = read_from(&mut Cursor::new(bytes), file_bytes, "file")?;
    // Nothing is in memory that was not read: a tensor takes at least 24 bytes in a file, and so do
    // its parts.
    assert!(header.tensors.len() * 24 <= bytes.len());
    let text: usize = header.tensors.iter().map(|it| it.name.len() + it.shape.len()).sum();
    let metadata: usize = header.metadata.keys().map(String::len).sum();
    assert!(text + metadata <= bytes.len());
    for tensor in &header.tensors {
        assert!(tensor.offset + tensor.bytes <= file_bytes);
        assert_eq!(tensor.dtype.bytes_of(&tensor.shape), Some(tensor.bytes));
    }
    let kind = identify(&header);
    assert!(!kind.name.is_empty());
    // Cached facts of a file are short, whatever the file says.
    let facts = Facts::of(&header);
    assert!(serde_json::to_string(&facts).unwrap().len() < 100_000);
    Ok(header)
}

#[test]
fn the_good_headers_are_read() {
    for head in GOOD.iter() {
        assert!(read(head, 1 << 30).is_ok());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2048), claimed in any::<u64>()) {
        let _ = read(&bytes, bytes.len() as u64);
        let _ = read(&bytes, claimed);
        let _ = read(&[b"GGUF\x03\0\0\0".as_slice(), &bytes].concat(), bytes.len() as u64 + 8);
        let _ = read(&[&(bytes.len() as u64).to_le_bytes(), b"{".as_slice(), &bytes].concat(), bytes.len() as u64 + 9);
    }

    #[test]
    fn damaged_headers_never_panic(
        which in 0usize..4,
        damage in proptest::collection::vec((0usize..16_384, any::<u8>()), 1..8),
        cut in proptest::option::of(0usize..16_384),
        long in any::<bool>(),
    ) {
        let mut bytes = GOOD[which].clone();
        for (at, value) in damage {
            let at = at % bytes.len();
            bytes[at] = value;
        }
        bytes.truncate(cut.unwrap_or(usize::MAX));
        let _ = read(&bytes, if long { 1 << 30 } else { bytes.len() as u64 });
    }

    #[test]
    fn damaged_numbers_never_panic(which in 2usize..4, at in 8usize..3000, value in prop_oneof![any::<u64>(), 0u64..64, (0u64..64).prop_map(|it| u64::MAX - it)]) {
        let mut bytes = GOOD[which].clone();
        let at = at.min(bytes.len() - 8);
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        let _ = read(&bytes, 1 << 30);
    }

    #[test]
    fn a_header_that_ends_anywhere_never_panics(which in 0usize..4, cut in 0usize..4096, claimed in prop_oneof![Just(None), any::<u64>().prop_map(Some)]) {
        let mut bytes = GOOD[which].clone();
        bytes.truncate(cut);
        let _ = read(&bytes, claimed.unwrap_or(bytes.len() as u64));
    }

    #[test]
    fn any_metadata_is_read_or_refused(
        key in prop_oneof![Just("ss_tag_frequency"), Just("modelspec.trigger_phrase"), Just("modelspec.title"), Just("ss_network_dim")],
        text in prop_oneof![
            "\\PC{0,80}",
            "\\{(\"[a-z]{0,4}\":\\{(\"[a-z ]{0,8}\":[0-9]{1,22},?){0,4}\\},?){0,3}\\}",
            (0usize..2000).prop_map(|depth| "[".repeat(depth)),
            (0usize..70_000).prop_map(|length| "x".repeat(length)),
        ],
    ) {
        let metadata = serde_json::json!({ key: text, "other": 1 });
        let tensor = serde_json::json!({"dtype": "F16", "shape": [4, 4], "data_offsets": [0, 32]});
        let json = serde_json::json!({"__metadata__": metadata, "lora_unet_x.lora_down.weight": tensor}).to_string();
        let mut bytes = (json.len() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(json.as_bytes());
        let header = read(&bytes, bytes.len() as u64 + 32);
        prop_assert!(header.is_ok());
    }

    #[test]
    fn any_json_is_read_or_refused(json in "\\{(\"[a-z_]{1,12}\":(\\{\"dtype\":\"(F16|F32|U8|X)\",\"shape\":\\[[0-9]{1,20}(,[0-9]{1,20}){0,6}\\],\"data_offsets\":\\[[0-9]{1,20},[0-9]{1,20}\\]\\}|[0-9]{1,4}|\\{\\}|null),?){0,4}\\}") {
        let mut bytes = (json.len() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(json.as_bytes());
        let _ = read(&bytes, 1 << 40);
    }
}

fn safetensors(header: &str) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &[0; 8]].concat()
}

#[test]
fn headers_with_more_tensors_notes_or_dimensions_than_are_read_are_refused_with_the_count() {
    const ENTRY: &str = r#"{"dtype":"F32","shape":[1],"data_offsets":[0,4]}"#;
    let empty = r#"{"dtype":"F32","shape":[0],"data_offsets":[0,0]}"#;
    let many: Vec<String> = (0..40_000).map(|n| format!("\"t{n}\":{empty}")).collect();
    let notes: Vec<String> = (0..20_000).map(|n| format!("\"n{n}\":{n}")).collect();
    let gguf = [&b"GGUF\x03\0\0\0"[..], &40_000_u64.to_le_bytes(), &0_u64.to_le_bytes(), &vec![0; 1 << 20]].concat();
    for (bytes, words) in [
        (safetensors(&format!("{{{}}}", many.join(","))), "40000 tensors"),
        (safetensors(&format!("{{\"__metadata__\":{{{}}},\"a\":{ENTRY}}}", notes.join(","))), "20000 notes"),
        (
            safetensors(&format!("{{\"a\":{{\"dtype\":\"F32\",\"shape\":[{}1],\"data_offsets\":[0,4]}}}}", "1,".repeat(100_000))),
            "more dimensions",
        ),
        (safetensors(&format!("{{\"{}\":{ENTRY}}}", "a".repeat(2000))), "impossible length"),
        (gguf, "40000 tensors"),
    ] {
        let error = read_from(&mut Cursor::new(&bytes), bytes.len() as u64, "file").unwrap_err();
        assert!(error.advice.sentence.contains(words), "{error}");
    }
}

#[test]
fn notes_of_any_kind_and_length_are_read_within_their_bytes() {
    let long = "x".repeat(60_000);
    let texts: Vec<String> = (0..1000).map(|n| format!("\"n{n}\":\"{long}\"")).collect();
    let tags = "x".repeat(100_000);
    let header = format!(
        "{{\"__metadata__\":{{\"number\":7,\"list\":[1,2],\"ss_tag_frequency\":\"{tags}\",\"long\":\"{tags}\",{}}},\"a\":{{\"dtype\":\"F32\",\"shape\":[1],\
        \"data_offsets\":[0,4]}}}}",
        texts.join(",")
    );
    let bytes = safetensors(&header);
    let metadata = read_from(&mut Cursor::new(&bytes), bytes.len() as u64, "file").unwrap().metadata;
    assert_eq!((metadata["number"].as_str(), metadata["ss_tag_frequency"].len()), ("7", 100_000));
    assert!(!metadata.contains_key("list") && !metadata.contains_key("long"));
    assert!(metadata.values().map(String::len).sum::<usize>() <= 16 << 20);
    assert!(metadata.len() > 200, "those that fit are kept");
}
