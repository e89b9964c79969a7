//! The header of a model file: which tensors it has, and where they lie.
//!
//! No weights are read. The file is untrusted: every count, length and offset is checked before
//! anything is allocated for it, and memory grows only with bytes that were read. What the tensors
//! mean is `kind`'s business.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::adapter::PEFT;
use super::container::{Contents, Flaw, Format, TensorInfo, check_count, shown};
use super::{companions, gguf, limits, safetensors, shards, sniff};
use atelier_core::advice::Advice;
use atelier_language::{self as language, tr};

use atelier_core::format::file_size;

/// Header of a model file. All tensors lie within the file and apart from each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The container.
    pub format: Format,
    /// The tensors, in the file's order.
    pub tensors: Vec<TensorInfo>,
    /// Short texts and numbers; longer ones and lists are left out.
    pub metadata: BTreeMap<String, String>,
    /// The file's length in bytes.
    pub file_bytes: u64,
}

/// Kinds of faults of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// It cannot be opened or read.
    Unreadable,
    /// It has no bytes.
    Empty,
    /// It is something else than a model.
    NotAModel,
    /// Python pickled it: opening it can run programs, so its header is not read.
    Pickle,
    /// It ends before its header says.
    CutShort,
    /// Its header contradicts itself.
    Damaged,
    /// It is whole, and the engine does not read its kind.
    Unsupported,
}

/// A file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{advice}")]
pub struct HeaderError {
    /// The kind of fault.
    pub fault: Fault,
    /// The fault, with the file's name, and a remedy.
    pub advice: Advice,
}

impl HeaderError {
    pub(crate) fn new(fault: Fault, sentence: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { fault, advice: Advice::new(sentence, hint) }
    }
}

/// Reads the header of a safetensors or GGUF file. Of a model in several files, that of all of
/// them, where this is one of them or their index.
///
/// # Errors
/// If the file cannot be read, is damaged or cut short, or is something else; the error says which,
/// and what to do.
pub fn read_header(path: &Path) -> Result<Header, HeaderError> {
    let path = shards::opened(path);
    let mut parts = shards::all(&path).into_iter();
    let Some(first) = parts.next() else {
        let mut header = read_file(&path)?;
        header.metadata.extend(settings_beside(&path));
        return Ok(header);
    };
    let name = file_name(&path);
    let mut whole = read_file(&first)?;
    companions::check_alone(&whole.tensors).map_err(|flaw| error_for(&name, flaw, whole.file_bytes))?;
    for part in parts {
        let part = read_file(&part)?;
        companions::check_alone(&part.tensors).map_err(|flaw| error_for(&name, flaw, part.file_bytes))?;
        whole.file_bytes = whole.file_bytes.saturating_add(part.file_bytes);
        whole.tensors.extend(part.tensors);
    }
    let mut names = HashSet::with_capacity(whole.tensors.len());
    let twice = whole.tensors.iter().find(|tensor| !names.insert(tensor.name.as_str()));
    if let Some(tensor) = twice {
        return Err(error_for(&name, Flaw::Damaged(tr!("library-its-parts-name-twice", shown = shown(&tensor.name))), whole.file_bytes));
    }
    check_count(whole.tensors.len()).map_err(|flaw| error_for(&name, flaw, whole.file_bytes))?;
    Ok(whole)
}

/// PEFT's settings of an adapter, which lie beside it and not in it.
fn settings_beside(adapter: &Path) -> Option<(String, String)> {
    const MAX_BYTES: u64 = 1 << 20;
    if adapter.file_stem()? != "adapter_model" {
        return None;
    }
    let mut text = String::new();
    File::open(adapter.with_file_name("adapter_config.json")).ok()?.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    Some((PEFT.to_owned(), text))
}

fn read_file(path: &Path) -> Result<Header, HeaderError> {
    let name = file_name(path);
    let unreadable = |error: &io::Error| error_for(&name, Flaw::Io(io::Error::new(error.kind(), error.to_string())), 0);
    let mut file = File::open(path).map_err(|error| unreadable(&error))?;
    let metadata = file.metadata().map_err(|error| unreadable(&error))?;
    if metadata.is_dir() {
        return Err(HeaderError::new(Fault::NotAModel, tr!("library-is-a-folder-not", name), tr!("library-choose-a-safetensors-or")));
    }
    read_from(&mut file, metadata.len(), &name)
}

/// Reads the header of `file_bytes` bytes; `name` stands in errors.
pub(crate) fn read_from(source: &mut (impl Read + Seek), file_bytes: u64, name: &str) -> Result<Header, HeaderError> {
    let fail = |flaw| error_for(name, flaw, file_bytes);
    if file_bytes == 0 {
        return Err(HeaderError::new(Fault::Empty, tr!("library-is-empty", name), tr!("library-download-the-file-again-2")));
    }
    let mut start = Vec::with_capacity(sniff::BYTES);
    source.by_ref().take(sniff::BYTES as u64).read_to_end(&mut start).map_err(|error| fail(error.into()))?;
    source.seek(SeekFrom::Start(0)).map_err(|error| fail(error.into()))?;
    let format = if start.starts_with(b"GGUF") {
        Format::Gguf
    } else if let Some(error) = other_kind(&start, name) {
        return Err(error);
    } else if start.get(8).is_some_and(|it| *it != b'{') {
        return Err(HeaderError::new(
            Fault::NotAModel,
            tr!("library-is-neither-a-safetensors", name),
            tr!("library-choose-the-models-safetensors"),
        ));
    } else {
        Format::Safetensors
    };
    let contents = match format {
        Format::Gguf => gguf::read(source, file_bytes),
        Format::Safetensors => safetensors::read(source, file_bytes),
    };
    let contents = contents
        .and_then(|it| check_places(it, file_bytes))
        .and_then(|it| limits::check(it, format))
        .and_then(companions::check)
        .map_err(fail)?;
    Ok(Header { format, tensors: contents.tensors, metadata: contents.metadata, file_bytes })
}

/// The error for a file that begins so, where it is something else than a model.
pub(crate) fn other_kind(start: &[u8], name: &str) -> Option<HeaderError> {
    let sniff::Other { what, hint } = sniff::what(start)?;
    let fault = if hint == sniff::PICKLE { Fault::Pickle } else { Fault::NotAModel };
    Some(HeaderError::new(fault, tr!("library-is-not-a-model", name, what = language::text(what)), language::text(hint)))
}

/// The error for a file that begins so, where it is certainly no ONNX model.
pub(crate) fn other_than_onnx(start: &[u8], name: &str) -> Option<HeaderError> {
    let sniff::Other { what, hint } = sniff::other_than_onnx(start)?;
    let sentence = tr!("library-is-another-than-onnx", name, what = language::text(what));
    Some(HeaderError::new(Fault::NotAModel, sentence, language::text(hint)))
}

/// Every tensor has its own name and its own place within the file.
fn check_places(contents: Contents, file_bytes: u64) -> Result<Contents, Flaw> {
    let mut names = HashSet::with_capacity(contents.tensors.len());
    let mut places = Vec::with_capacity(contents.tensors.len());
    for tensor in &contents.tensors {
        if !names.insert(tensor.name.as_str()) {
            return Err(Flaw::Damaged(tr!("library-it-names-twice", shown = shown(&tensor.name))));
        }
        let end = tensor.offset.checked_add(tensor.bytes);
        places.push((tensor.offset, end.ok_or_else(|| Flaw::Damaged(tr!("library-the-place-of-is", shown = shown(&tensor.name))))?));
    }
    let promised_bytes = places.iter().map(|(_, end)| *end).max().unwrap_or(0);
    if promised_bytes > file_bytes {
        return Err(Flaw::CutShort { promised_bytes });
    }
    places.sort_unstable();
    if places.windows(2).any(|pair| matches!(pair, [(_, end), (next, _)] if next < end)) {
        return Err(Flaw::Damaged(tr!("library-two-of-its-tensors").into()));
    }
    Ok(contents)
}

pub(crate) fn error_for(name: &str, flaw: Flaw, file_bytes: u64) -> HeaderError {
    let again = tr!("library-download-the-file-again-2").to_owned();
    let (fault, sentence, hint) = match flaw {
        Flaw::Io(error) if error.kind() == io::ErrorKind::NotFound => {
            (Fault::Unreadable, tr!("library-no-longer-exists", name), tr!("library-choose-the-file-again").into())
        }
        Flaw::Io(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            (Fault::Unreadable, tr!("library-is-not-readable", name), tr!("library-change-its-permissions-or").into())
        }
        Flaw::Io(error) => (Fault::Unreadable, tr!("library-cannot-be-read", name, error), tr!("library-check-that-its-disk").into()),
        Flaw::CutShort { promised_bytes } => {
            let (promised, there) = (file_size(promised_bytes), file_size(file_bytes));
            let sentence = if promised == there {
                tr!("library-is-cut-short-its-last-bytes", name, promised_bytes = promised_bytes.saturating_sub(file_bytes))
            } else {
                tr!("library-is-cut-short-its", name, promised, there)
            };
            (Fault::CutShort, sentence, again)
        }
        Flaw::Damaged(what) => (Fault::Damaged, tr!("library-is-damaged", name, what), again),
        Flaw::Unsupported(what) => (Fault::Unsupported, tr!("library-cannot-be-used", name, what), tr!("library-look-for-the-same").into()),
    };
    HeaderError::new(fault, sentence, hint)
}

/// The file's own name, for sentences.
#[must_use]
pub fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn fault(path: &Path) -> HeaderError {
        let error = read_header(path).unwrap_err();
        assert!(error.advice.sentence.ends_with('.') && error.advice.hint.ends_with('.'), "{error}");
        assert!(error.advice.sentence.starts_with(&file_name(path)), "{error}");
        error
    }

    #[test]
    fn every_format_of_the_tiny_model_is_read_with_the_same_shapes() {
        let dir = tempfile::tempdir().unwrap();
        let read = |format| {
            let inner = dir.path().join(format!("{format:?}"));
            fs::create_dir(&inner).unwrap();
            let options = testkit::tiny::Options { format, ..Default::default() };
            let header = read_header(&testkit::tiny::zimage(&inner, &options).unwrap().diffusion).unwrap();
            let end = header.tensors.iter().map(|it| it.offset + it.bytes).max().unwrap();
            assert!(end <= header.file_bytes && header.file_bytes < end + 32);
            let shapes: BTreeMap<String, Vec<u64>> = header.tensors.iter().map(|it| (it.name.clone(), it.shape.clone())).collect();
            (header, shapes)
        };
        let (safetensors, shapes) = read(testkit::tiny::Format::Safetensors);
        let (gguf, same) = read(testkit::tiny::Format::Gguf);
        let (quantised, again) = read(testkit::tiny::Format::GgufQ8);
        assert_eq!((&shapes, &shapes), (&same, &again));
        assert_eq!((safetensors.format, gguf.format), (Format::Safetensors, Format::Gguf));
        assert_eq!(safetensors.metadata["format"], "pt");
        assert_eq!(gguf.metadata["general.architecture"], "lumina2");
        let dtype = |header: &Header| header.tensors.iter().find(|it| it.name == "x_embedder.weight").unwrap().dtype.name();
        assert_eq!([dtype(&safetensors), dtype(&gguf), dtype(&quantised)], ["F16", "F16", "Q8_0"]);
    }

    #[test]
    fn the_offsets_lead_to_the_bytes_of_the_weights() {
        let dir = tempfile::tempdir().unwrap();
        let value = |format| {
            let options = testkit::tiny::Options { format, ..Default::default() };
            let path = testkit::tiny::zimage(dir.path(), &options).unwrap().diffusion;
            let header = read_header(&path).unwrap();
            let tensor = header.tensors.iter().find(|it| it.name == "layers.1.attention.qkv.weight").unwrap();
            let bytes = fs::read(&path).unwrap();
            bytes[tensor.offset as usize..][..tensor.bytes as usize].to_vec()
        };
        assert_eq!(value(testkit::tiny::Format::Safetensors), value(testkit::tiny::Format::Gguf));
    }

    #[test]
    fn every_broken_file_is_refused_with_a_sentence_and_a_hint() {
        let dir = tempfile::tempdir().unwrap();
        let faults: BTreeMap<&str, Fault> =
            testkit::broken::diffusion_files(dir.path()).unwrap().iter().map(|(what, path)| (*what, fault(path).fault)).collect();
        let expected = BTreeMap::from([
            ("truncated in its data", Fault::CutShort),
            ("truncated in its header", Fault::CutShort),
            ("a truncated GGUF", Fault::CutShort),
            ("empty", Fault::Empty),
            ("text", Fault::NotAModel),
            ("a picture", Fault::NotAModel),
            ("a huge header", Fault::Damaged),
            ("beyond the end", Fault::CutShort),
            ("overlapping", Fault::Damaged),
            ("a wrong size", Fault::Damaged),
            ("an overflowing shape", Fault::Damaged),
            ("absurd counts", Fault::Damaged),
        ]);
        assert_eq!(faults, expected);
    }

    #[test]
    fn a_download_that_stopped_is_described_in_the_sizes_that_people_see() {
        let dir = tempfile::tempdir().unwrap();
        let error = fault(&testkit::broken::truncated_in_data(dir.path()).unwrap());
        let sentence = "truncated-in-data.safetensors is cut short: its header promises 9.2 MB, the file has 5.5 MB.";
        assert_eq!((error.advice.sentence.as_str(), error.advice.hint.as_str()), (sentence, "Download the file again."));
    }

    #[test]
    fn a_file_that_lacks_its_last_bytes_is_told_from_a_whole_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = testkit::tiny::zimage(dir.path(), &testkit::tiny::Options::default()).unwrap().diffusion;
        let whole = fs::metadata(&path).unwrap().len();
        File::options().write(true).open(&path).unwrap().set_len(whole - 7).unwrap();
        assert_eq!(fault(&path).advice.sentence, "tiny-zimage.safetensors is cut short: its last 7 bytes are missing.");
    }

    #[test]
    fn a_missing_file_and_a_folder_are_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(fault(&dir.path().join("gone.gguf")).fault, Fault::Unreadable);
        assert_eq!(fault(dir.path()).fault, Fault::NotAModel);
    }

    #[test]
    fn a_name_that_comes_twice_is_refused() {
        let header = r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}"#;
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(&[0; 8]);
        let error = read_from(&mut io::Cursor::new(&bytes), bytes.len() as u64, "a.safetensors").unwrap_err();
        assert_eq!((error.fault, error.advice.sentence.as_str()), (Fault::Damaged, "a.safetensors is damaged: it names a twice."));
    }
}
