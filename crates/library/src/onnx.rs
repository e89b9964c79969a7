//! Reads what an ONNX file says of its model: the shapes that it takes and gives, its operations,
//! how many weights it has, and the names of classes that exporters of detectors write.
//!
//! The file is a stranger's. Weights are passed over and not read; what is kept is short, and what
//! is counted has an end. What runs such a model is `atelier-vision`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use atelier_language::{english, tr};

use super::container::Flaw;
use super::header::{Fault, HeaderError, error_for, file_name, other_than_onnx};
use super::kind::DETECTOR_OF;
use super::manifest::Role;
use super::sniff;

/// Numbers of all fields together that are read: the largest models in use have some 100,000.
const MAX_NUMBERS: u32 = 1 << 24;
/// Dimensions of a shape that are read; a picture has four.
const MAX_DIMENSIONS: usize = 16;
/// Bytes of the name of an operation, and of the text with the names of classes.
const MAX_OPERATION_BYTES: u64 = 64;
const MAX_NAMES_BYTES: u64 = 1 << 20;
/// Names of classes that are read.
const MAX_CLASSES: usize = 10_000;

/// Fields of the messages of the format, by their numbers.
const MODEL_GRAPH: u64 = 7;
const MODEL_METADATA: u64 = 14;
const GRAPH_NODE: u64 = 1;
const GRAPH_WEIGHTS: u64 = 5;
const GRAPH_INPUT: u64 = 11;
const GRAPH_OUTPUT: u64 = 12;
const NODE_OPERATION: u64 = 4;
const WEIGHTS_DIMENSION: u64 = 1;
const WEIGHTS_TYPE: u64 = 2;
const WEIGHTS_PLACE: u64 = 14;

/// Value of [`WEIGHTS_PLACE`] of weights that lie in a file beside the model.
const IN_ANOTHER_FILE: u64 = 1;

/// Operations on whole numbers: `rten`'s sums of them overflow on some processors, and a mask comes
/// out wrong without an error.
const WHOLE_NUMBER_OPERATIONS: [&str; 4] = ["ConvInteger", "MatMulInteger", "QLinearConv", "QLinearMatMul"];

/// Detectors of `MediaPipe`. Their files name nothing; they are known by their shapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchored {
    /// Faces, with points of eyes, nose, mouth and ears.
    Faces,
    /// Palms, with points that tell where the fingers are.
    Hands,
}

impl Anchored {
    /// Name of what it finds.
    const fn class_name(self) -> &'static str {
        match self {
            Self::Faces => "face",
            Self::Hands => "hand",
        }
    }
}

/// What an ONNX file says of its model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OnnxHeader {
    /// Lengths of the dimensions of its first input, `None` where a file leaves one open; empty
    /// where it has no shape.
    pub input: Vec<Option<u64>>,
    /// The same of its first output.
    pub output: Vec<Option<u64>>,
    /// Names of the classes that it tells apart, by number; empty where the file has none.
    pub class_names: Vec<String>,
    /// Width and height in pixels of the pictures that a detector without a size of its own was
    /// exported for.
    pub picture_size: Option<(u64, u64)>,
    /// Weights of it lie in another file.
    pub is_in_parts: bool,
    /// It computes with whole numbers of 8 bits.
    pub is_quantised: bool,
    /// Number of values in all weights.
    pub parameters: u64,
    /// The number type that most bytes of the weights have: `F16`.
    pub quantisation: &'static str,
}

impl OnnxHeader {
    /// Reads it from a source of so many bytes; `name` stands in errors.
    ///
    /// # Errors
    /// If it cannot be read, is cut short, or is no ONNX model.
    pub fn read(source: &mut (impl Read + Seek), file_bytes: u64, name: &str) -> Result<Self, HeaderError> {
        if file_bytes == 0 {
            return Err(HeaderError::new(Fault::Empty, tr!("library-is-empty", name), tr!("library-download-the-file-again-2")));
        }
        let fail = |error: io::Error| error_for(name, error.into(), file_bytes);
        let mut start = Vec::with_capacity(sniff::BYTES);
        source.by_ref().take(sniff::BYTES as u64).read_to_end(&mut start).map_err(fail)?;
        source.seek(SeekFrom::Start(0)).map_err(fail)?;
        if let Some(error) = other_than_onnx(&start, name) {
            return Err(error);
        }
        let mut fields = Fields { source: BufReader::new(source), at: 0, file_bytes, numbers: 0 };
        let header = fields.model().map_err(|flaw| error_for(name, flaw, file_bytes))?;
        let not_a_model =
            || HeaderError::new(Fault::NotAModel, tr!("library-is-not-an-onnx", name), tr!("library-choose-another-onnx-file"));
        header.ok_or_else(not_a_model)
    }

    /// What the model is for, where its shapes tell: one opacity for each pixel, or a table of
    /// things with names.
    #[must_use]
    pub fn role(&self) -> Option<Role> {
        let channels_are_last = self.channels_are_last();
        let is_picture = channels_are_last || matches!(self.input.as_slice(), [_, None | Some(3), _, _]);
        let is_mask = match self.output.as_slice() {
            [_, _, _, channels] if channels_are_last => *channels == Some(1),
            [_, channels, _, _] => matches!(channels, None | Some(1)),
            _ => false,
        };
        if is_picture && is_mask && self.class_names.is_empty() {
            Some(Role::Cutout)
        } else if is_picture && self.output.len() == 3 && !self.class_names.is_empty() {
            Some(Role::Detector)
        } else {
            None
        }
    }

    /// True where each pixel's three numbers lie together in its input, as models of Keras and
    /// TensorFlow Lite have them.
    #[must_use]
    pub fn channels_are_last(&self) -> bool {
        matches!(self.input.as_slice(), [_, channels, _, Some(3)] if *channels != Some(3))
    }

    /// The detector of `MediaPipe` that it is: one with a box and points for each of its anchors.
    #[must_use]
    pub fn anchored(&self) -> Option<Anchored> {
        const ANCHORS: [u64; 3] = [896, 2016, 2304];
        let is_square = match *self.input.as_slice() {
            [_, Some(3), height, width] | [_, height, width, Some(3)] => height.is_some() && height == width,
            _ => false,
        };
        match *self.output.as_slice() {
            [_, Some(anchors), Some(16)] if is_square && ANCHORS.contains(&anchors) => Some(Anchored::Faces),
            [_, Some(anchors), Some(18)] if is_square && ANCHORS.contains(&anchors) => Some(Anchored::Hands),
            _ => None,
        }
    }

    /// Its name in English: `detector of face, hand`.
    #[must_use]
    pub fn name(&self) -> String {
        /// Classes that are named.
        const NAMED: usize = 4;
        match self.role() {
            Some(Role::Cutout) => english("library-kind-cut-out").to_owned(),
            Some(Role::Detector) => {
                let more = if self.class_names.len() > NAMED { ", …" } else { "" };
                let named: Vec<&str> = self.class_names.iter().take(NAMED).map(String::as_str).collect();
                format!("{DETECTOR_OF}{}{more}", named.join(", "))
            }
            _ => english("library-kind-onnx").to_owned(),
        }
    }
}

/// Reads what an ONNX file says of its model.
///
/// # Errors
/// As [`OnnxHeader::read`].
pub fn read_onnx_header(path: &Path) -> Result<OnnxHeader, HeaderError> {
    let name = file_name(path);
    let unreadable = |error: io::Error| error_for(&name, Flaw::Io(error), 0);
    let mut file = File::open(path).map_err(unreadable)?;
    let file_bytes = file.metadata().map_err(unreadable)?.len();
    OnnxHeader::read(&mut file, file_bytes, &name)
}

/// The quoted texts of a Python dictionary, in their order.
fn names_of(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(['\'', '"']) {
        let quote = &rest[start..=start];
        let Some(length) = rest[start + 1..].find(quote) else { break };
        if names.len() == MAX_CLASSES {
            break;
        }
        names.push(rest[start + 1..start + 1 + length].to_owned());
        rest = &rest[start + length + 2..];
    }
    names
}

/// Width and height of a text such as `[height, width]`.
fn sides_of(text: &str) -> Option<(u64, u64)> {
    let mut numbers = text.split(|letter: char| !letter.is_ascii_digit()).filter_map(|number| number.parse().ok());
    let height = numbers.next()?;
    Some((numbers.next().unwrap_or(height), height))
}

/// Name of a number type, and bytes of a value of it.
fn number_type(number: u64) -> (&'static str, u64) {
    match number {
        1 => ("F32", 4),
        2 => ("U8", 1),
        3 => ("I8", 1),
        6 => ("I32", 4),
        7 => ("I64", 8),
        10 => ("F16", 2),
        11 => ("F64", 8),
        16 => ("BF16", 2),
        _ => (tr!("library-other-numbers"), 1),
    }
}

/// A field of a message: what it holds is read next, or passed over.
struct Field {
    /// Its number.
    number: u64,
    /// Its value, where it is a number.
    value: Option<u64>,
    /// Place in the file where it ends.
    end: u64,
}

/// The fields of nested messages, in the order in which they lie in a file.
struct Fields<S: Read> {
    source: BufReader<S>,
    /// Place in the file.
    at: u64,
    file_bytes: u64,
    /// Numbers that were read.
    numbers: u32,
}

impl<S: Read + Seek> Fields<S> {
    /// `None` where there is no graph.
    fn model(&mut self) -> Result<Option<OnnxHeader>, Flaw> {
        let mut header = OnnxHeader::default();
        let (mut bytes, mut has_graph) = (BTreeMap::new(), false);
        while let Some(field) = self.next(self.file_bytes)? {
            match field.number {
                MODEL_GRAPH => {
                    has_graph = true;
                    self.graph(field.end, &mut header, &mut bytes)?;
                }
                MODEL_METADATA => self.metadata(field.end, &mut header)?,
                _ => {}
            }
            self.go_to(field.end)?;
        }
        if header.class_names.is_empty()
            && let Some(anchored) = header.anchored()
        {
            header.class_names.push(anchored.class_name().to_owned());
        }
        header.quantisation = bytes.into_iter().max_by_key(|(_, bytes)| *bytes).map_or("", |(name, _)| name);
        Ok(has_graph.then_some(header))
    }

    fn graph(&mut self, end: u64, header: &mut OnnxHeader, bytes: &mut BTreeMap<&'static str, u64>) -> Result<(), Flaw> {
        while let Some(field) = self.next(end)? {
            match field.number {
                GRAPH_NODE if !header.is_quantised => {
                    let operation = match self.inner(NODE_OPERATION, field.end)? {
                        Some(operation) => self.short_text(operation.end, MAX_OPERATION_BYTES)?,
                        None => None,
                    };
                    header.is_quantised = operation.is_some_and(|it| WHOLE_NUMBER_OPERATIONS.contains(&it.as_str()));
                }
                GRAPH_WEIGHTS => {
                    let (values, number, is_beside) = self.weights(field.end)?;
                    header.is_in_parts |= is_beside;
                    let (name, each) = number_type(number);
                    header.parameters = header.parameters.saturating_add(values);
                    let sum = bytes.entry(name).or_default();
                    *sum = sum.saturating_add(values.saturating_mul(each));
                }
                GRAPH_INPUT if header.input.is_empty() => header.input = self.shape(field.end)?,
                GRAPH_OUTPUT if header.output.is_empty() => header.output = self.shape(field.end)?,
                _ => {}
            }
            self.go_to(field.end)?;
        }
        Ok(())
    }

    /// Number of values of a tensor, number of their type, and whether they lie in another file.
    fn weights(&mut self, end: u64) -> Result<(u64, u64, bool), Flaw> {
        let (mut values, mut number, mut is_beside) = (1u64, 0, false);
        while let Some(field) = self.next(end)? {
            match (field.number, field.value) {
                (WEIGHTS_DIMENSION, Some(length)) => values = values.saturating_mul(length),
                // Several in one field.
                (WEIGHTS_DIMENSION, None) => {
                    while self.at < field.end {
                        values = values.saturating_mul(self.number()?);
                    }
                }
                (WEIGHTS_TYPE, Some(value)) => number = value,
                (WEIGHTS_PLACE, Some(value)) => is_beside = value == IN_ANOTHER_FILE,
                _ => {}
            }
            self.go_to(field.end)?;
        }
        Ok((values, number, is_beside))
    }

    /// The shape of an input or output; empty where it has none. Its type is field 2, in that the
    /// one of a tensor field 1, in that the shape field 2, with a field 1 for each dimension.
    fn shape(&mut self, end: u64) -> Result<Vec<Option<u64>>, Flaw> {
        let mut end = end;
        for number in [2, 1, 2] {
            match self.inner(number, end)? {
                Some(field) => end = field.end,
                None => return Ok(Vec::new()),
            }
        }
        let mut shape = Vec::new();
        while let Some(dimension) = self.next(end)? {
            if dimension.number == 1 && shape.len() < MAX_DIMENSIONS {
                shape.push(self.inner(1, dimension.end)?.and_then(|length| length.value));
            }
            self.go_to(dimension.end)?;
        }
        Ok(shape)
    }

    /// What exporters of detectors write as pairs of texts: names of classes, and size of pictures.
    fn metadata(&mut self, end: u64, header: &mut OnnxHeader) -> Result<(), Flaw> {
        let Some(key) = self.inner(1, end)? else { return Ok(()) };
        let name = self.short_text(key.end, MAX_OPERATION_BYTES)?;
        self.go_to(key.end)?;
        let Some(value) = self.inner(2, end)? else { return Ok(()) };
        match name.as_deref() {
            Some("names") if header.class_names.is_empty() => {
                header.class_names = self.short_text(value.end, MAX_NAMES_BYTES)?.as_deref().map(names_of).unwrap_or_default();
            }
            Some("imgsz") => header.picture_size = self.short_text(value.end, MAX_OPERATION_BYTES)?.as_deref().and_then(sides_of),
            _ => {}
        }
        Ok(())
    }

    /// The next field of this number; what comes before it is passed over.
    fn inner(&mut self, number: u64, end: u64) -> Result<Option<Field>, Flaw> {
        while let Some(field) = self.next(end)? {
            if field.number == number {
                return Ok(Some(field));
            }
            self.go_to(field.end)?;
        }
        Ok(None)
    }

    /// The text from here to a place; `None` where it is longer than this or no text.
    fn short_text(&mut self, end: u64, max_bytes: u64) -> Result<Option<String>, Flaw> {
        let length = end.saturating_sub(self.at);
        if length > max_bytes {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        self.source.by_ref().take(length).read_to_end(&mut bytes)?;
        self.at += bytes.len() as u64;
        if (bytes.len() as u64) < length {
            return Err(Flaw::CutShort { promised_bytes: end });
        }
        Ok(String::from_utf8(bytes).ok())
    }

    /// The next field before a place; `None` at it.
    fn next(&mut self, end: u64) -> Result<Option<Field>, Flaw> {
        if self.at >= end {
            return Ok(None);
        }
        let tag = self.number()?;
        let (mut value, mut length) = (None, 0);
        match tag & 7 {
            0 => value = Some(self.number()?),
            1 => length = 8,
            2 => length = self.number()?,
            5 => length = 4,
            _ => return Err(Flaw::Damaged(tr!("library-it-has-a-field").into())),
        }
        let field_end = self.at.saturating_add(length);
        if field_end > self.file_bytes {
            return Err(Flaw::CutShort { promised_bytes: field_end });
        }
        if field_end > end {
            return Err(Flaw::Damaged(tr!("library-a-part-of-it").into()));
        }
        Ok(Some(Field { number: tag >> 3, value, end: field_end }))
    }

    /// Passes over what lies before a place.
    fn go_to(&mut self, place: u64) -> Result<(), Flaw> {
        // Both places lie within the file.
        let distance = i64::try_from(place.saturating_sub(self.at)).unwrap_or(i64::MAX);
        self.source.seek_relative(distance)?;
        self.at = self.at.max(place);
        Ok(())
    }

    /// A number of seven bits a byte, the lowest first.
    fn number(&mut self) -> Result<u64, Flaw> {
        self.numbers += 1;
        if self.numbers > MAX_NUMBERS {
            return Err(Flaw::Unsupported(tr!("library-it-has-more-parts").into()));
        }
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let mut byte = [0];
            match self.source.read_exact(&mut byte) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    return Err(Flaw::CutShort { promised_bytes: self.at + 1 });
                }
                read => read?,
            }
            self.at += 1;
            number |= u64::from(byte[0] & 0x7f) << shift;
            if byte[0] & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Flaw::Damaged(tr!("library-a-number-in-it").into()))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use testkit::onnx;

    fn read(bytes: &[u8]) -> Result<OnnxHeader, HeaderError> {
        OnnxHeader::read(&mut Cursor::new(bytes), bytes.len() as u64, "a.onnx")
    }

    #[test]
    fn a_model_is_known_by_its_shapes_and_the_names_of_its_classes() {
        let segmenter = read(&onnx::red_segmenter(64)).unwrap();
        assert_eq!((segmenter.role(), segmenter.name()), (Some(Role::Cutout), "cut-out model".to_owned()));
        assert_eq!(segmenter.input, [Some(1), Some(3), Some(64), Some(64)]);
        assert_eq!((segmenter.parameters, segmenter.quantisation), (3, "F32"));
        let detector = read(&onnx::detector(64, &["face", "left hand"], &[])).unwrap();
        assert_eq!((detector.role(), detector.name()), (Some(Role::Detector), "detector of face, left hand".to_owned()));
        let quantised = read(&onnx::quantised_segmenter(64)).unwrap();
        assert!(quantised.is_quantised && !segmenter.is_quantised);
        let by_keras = read(&onnx::channels_last_segmenter(64)).unwrap();
        assert_eq!((by_keras.role(), by_keras.input.last()), (Some(Role::Cutout), Some(&Some(3))));
        // Two opacities for each pixel are none.
        let two = OnnxHeader { output: vec![None, None, None, Some(2)], ..by_keras };
        assert_eq!(two.role(), None);
        let faces = read(&onnx::face_detector(0)).unwrap();
        assert_eq!(
            (faces.role(), faces.anchored(), faces.class_names.as_slice()),
            (Some(Role::Detector), Some(Anchored::Faces), ["face".to_owned()].as_slice())
        );
        let hands = OnnxHeader { output: vec![None, Some(2016), Some(18)], ..faces };
        assert_eq!((hands.anchored(), detector.anchored()), (Some(Anchored::Hands), None));
        // A table of things without names could be anything.
        let nameless = OnnxHeader { class_names: Vec::new(), ..detector };
        assert_eq!((nameless.role(), nameless.name().as_str()), (None, "ONNX model"));
    }

    #[test]
    fn what_is_cut_or_no_model_is_refused_with_its_kind() {
        let whole = onnx::red_segmenter(64);
        for end in 1..whole.len() {
            // A file that ends between two fields is a smaller one.
            if let Err(error) = read(&whole[..end]) {
                assert!(matches!(error.fault, Fault::CutShort | Fault::NotAModel), "{end}: {error}");
                assert!(error.advice.sentence.starts_with("a.onnx"), "{error}");
            }
        }
        assert_eq!(read(&[]).unwrap_err().fault, Fault::Empty);
        assert_eq!(read(&whole[..whole.len() - 30]).unwrap_err().fault, Fault::CutShort);
        assert_eq!(read(&[8, 7]).unwrap_err().fault, Fault::NotAModel);
        assert_eq!(read(&[0xff; 32]).unwrap_err().fault, Fault::Damaged);
        // A graph of two bytes with a node of nine.
        assert_eq!(read(&[7 << 3 | 2, 2, 1 << 3 | 2, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0]).unwrap_err().fault, Fault::Damaged);
    }

    #[test]
    fn a_detector_of_any_size_tells_which_it_was_exported_for() {
        let header = read(&onnx::detector_of_any_size("[320, 640]", "face", &[8.0, 8.0, 4.0, 4.0, 0.9])).unwrap();
        assert_eq!((header.input.as_slice(), header.picture_size), ([Some(1), Some(3), None, None].as_slice(), Some((640, 320))));
        assert_eq!(header.class_names, ["face"]);
        assert_eq!((sides_of("640"), sides_of("any")), (Some((640, 640)), None));
    }

    #[test]
    fn weights_in_another_file_are_noticed() {
        assert!(read(&onnx::segmenter_in_parts(64)).unwrap().is_in_parts);
        assert!(!read(&onnx::red_segmenter(64)).unwrap().is_in_parts);
    }

    #[test]
    fn names_are_the_quoted_texts() {
        assert_eq!(names_of(r#"{0: 'face', 1: "person's hand"}"#), ["face", "person's hand"]);
        assert!(names_of("{0: 'face").is_empty());
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let _ = read(&bytes);
        }
    }
}
