//! Tiny ONNX models that cut out and detect, written message by message.

/// A model that cuts out what is red: in front where red is over a half, in the colours of `ISNet`.
#[must_use]
pub fn red_segmenter(side: u64) -> Vec<u8> {
    let weights = tensor("weights", &[1, 3, 1, 1], &[40.0, 0.0, 0.0]);
    let attributes = [integers("dilations", &[1, 1]), integers("pads", &[0; 4]), integers("strides", &[1, 1])].concat();
    let convolution = [node("Conv", &["input", "weights"], "logits"), attributes].concat();
    let nodes = [convolution, node("Sigmoid", &["logits"], "output")];
    model(&nodes, &[weights], &[1, 3, side, side], &[1, 1, side, side], &[])
}

/// A model that cuts out what is red, with each pixel's numbers together, as models of Keras have
/// them: in front where red is over a half, in colours from 0 to 1.
#[must_use]
pub fn channels_last_segmenter(side: u64) -> Vec<u8> {
    let (weights, half) = (tensor("weights", &[1, 3, 1, 1], &[40.0, 0.0, 0.0]), tensor("half", &[1], &[-20.0]));
    let turn = |from: &str, to: &str, order: &[u64]| [node("Transpose", &[from], to), integers("perm", order)].concat();
    let attributes = [integers("dilations", &[1, 1]), integers("pads", &[0; 4]), integers("strides", &[1, 1])].concat();
    let nodes = [
        turn("input", "planes", &[0, 3, 1, 2]),
        [node("Conv", &["planes", "weights", "half"], "logits"), attributes].concat(),
        node("Sigmoid", &["logits"], "mask"),
        turn("mask", "output", &[0, 2, 3, 1]),
    ];
    model(&nodes, &[weights, half], &[1, side, side, 3], &[1, side, side, 1], &[])
}

/// A model that cuts out, whose weights lie in another file.
#[must_use]
pub fn segmenter_in_parts(side: u64) -> Vec<u8> {
    let place = bytes(13, &[bytes(1, b"location"), bytes(2, b"weights.data")].concat());
    let shape = [1, 3, 1, 1].iter().flat_map(|length| number(1, *length));
    let weights: Vec<u8> = shape.chain(number(2, FLOAT)).chain(bytes(8, b"weights")).chain(place).chain(number(14, 1)).collect();
    let nodes = [node("Conv", &["input", "weights"], "output")];
    model(&nodes, &[weights], &[1, 3, side, side], &[1, 1, side, side], &[])
}

/// A detector that takes pictures of any size and was exported for one of `size`, as exporters
/// write it; it finds this one thing in the pixels of that size.
#[must_use]
pub fn detector_of_any_size(size: &str, class: &str, detection: &[f32; 5]) -> Vec<u8> {
    // More places than values, as in any real one.
    const PLACES: usize = 8;
    let mut table = vec![0.0; detection.len() * PLACES];
    for (row, value) in detection.iter().enumerate() {
        table[row * PLACES] = *value;
    }
    let shape = [1, detection.len() as u64, PLACES as u64];
    let names = format!("{{0: '{class}'}}");
    let nodes = [node("Identity", &["found"], "output")];
    model(&nodes, &[tensor("found", &shape, &table)], &[1, 3, ANY, ANY], &shape, &[("imgsz", size), ("names", names.as_str())])
}

/// A detector in the form of YOLO 8 that finds this in every picture: middle, size (pixels of its
/// input), and probability of each of its classes; then what else it tells of each, as points.
///
/// # Panics
/// Where detections differ in their number of values, or have fewer than classes and four.
#[must_use]
pub fn detector(side: u64, classes: &[&str], detections: &[Vec<f32>]) -> Vec<u8> {
    let rows = detections.first().map_or(classes.len() + 4, Vec::len);
    let is_whole = |values: &Vec<f32>| values.len() == rows && rows >= classes.len() + 4;
    assert!(detections.iter().all(is_whole), "one probability a class");
    // More places than values, as in any real one.
    let places = detections.len().max(rows) + 1;
    let mut table = vec![0.0; rows * places];
    for (place, values) in detections.iter().enumerate() {
        for (row, value) in values.iter().enumerate() {
            table[row * places + place] = *value;
        }
    }
    let shape = [1, rows as u64, places as u64];
    let names = classes.iter().enumerate().map(|(number, name)| format!("{number}: '{name}'")).collect::<Vec<_>>().join(", ");
    let names = format!("{{{names}}}");
    let found = tensor("found", &shape, &table);
    model(&[node("Identity", &["found"], "output")], &[found], &[1, 3, side, side], &shape, &[("names", names.as_str())])
}

/// A detector in the form of `MediaPipe`'s of faces, with each pixel's numbers together, that finds
/// one 32 pixels wide and 24 high with its middle 4 pixels right of and 4 above this anchor's, at a
/// score of 3.
///
/// # Panics
/// Where there is no such anchor.
#[must_use]
pub fn face_detector(anchor: usize) -> Vec<u8> {
    const ANCHORS: usize = 896;
    const VALUES: usize = 16;
    let (mut boxes, mut scores) = (vec![0.0; ANCHORS * VALUES], vec![-9.0; ANCHORS]);
    boxes[anchor * VALUES..][..4].copy_from_slice(&[4.0, -4.0, 32.0, 24.0]);
    scores[anchor] = 3.0;
    let shapes = [[1, ANCHORS as u64, VALUES as u64], [1, ANCHORS as u64, 1]];
    let nodes = [node("Identity", &["boxes"], "found"), node("Identity", &["scores"], "found_scores")];
    let tensors = [tensor("boxes", &shapes[0], &boxes), tensor("scores", &shapes[1], &scores)];
    let results: [(&str, &[u64]); 2] = [("found", &shapes[0]), ("found_scores", &shapes[1])];
    model_of(&nodes, &tensors, &[1, 128, 128, 3], &results, &[])
}

/// A model that computes with whole numbers of 8 bits, which it makes of its input.
#[must_use]
pub fn quantised_segmenter(side: u64) -> Vec<u8> {
    let nodes = [node("DynamicQuantizeLinear", &["input"], "whole"), node("ConvInteger", &["whole", "weights"], "output")];
    model(&nodes, &[tensor("weights", &[1, 3, 1, 1], &[1.0; 3])], &[1, 3, side, side], &[1, 1, side, side], &[])
}

/// A model whose result needs more memory than any machine has.
#[must_use]
pub fn memory_bomb() -> Vec<u8> {
    let mut shape = Vec::new();
    for length in [1_u64, 1, 1 << 20, 1 << 20] {
        shape.extend(length.to_le_bytes());
    }
    let shape = [number(1, 4), number(2, INT64), bytes(8, b"shape"), bytes(9, &shape)].concat();
    let nodes = [node("ConstantOfShape", &["shape"], "output")];
    model(&nodes, &[shape], &[1, 3, 64, 64], &[1, 1, 64, 64], &[])
}

const FLOAT: u64 = 1;
const INT64: u64 = 7;
/// Kind of an attribute of several numbers.
const INTEGERS: u64 = 7;
/// Length of a dimension that a model leaves open.
const ANY: u64 = 0;

fn model(nodes: &[Vec<u8>], tensors: &[Vec<u8>], input: &[u64], output: &[u64], texts: &[(&str, &str)]) -> Vec<u8> {
    model_of(nodes, tensors, input, &[("output", output)], texts)
}

/// A model with these results, by name and shape.
fn model_of(nodes: &[Vec<u8>], tensors: &[Vec<u8>], input: &[u64], results: &[(&str, &[u64])], texts: &[(&str, &str)]) -> Vec<u8> {
    let mut graph: Vec<u8> = nodes.iter().flat_map(|node| bytes(1, node)).collect();
    graph.extend(bytes(2, b"graph"));
    graph.extend(tensors.iter().flat_map(|tensor| bytes(5, tensor)));
    graph.extend(bytes(11, &value("input", input)));
    graph.extend(results.iter().flat_map(|(name, shape)| bytes(12, &value(name, shape))));
    let opset = number(2, 13);
    let mut model = [number(1, 7), bytes(7, &graph), bytes(8, &opset)].concat();
    model.extend(texts.iter().flat_map(|(key, text)| bytes(14, &[bytes(1, key.as_bytes()), bytes(2, text.as_bytes())].concat())));
    model
}

fn node(operation: &str, inputs: &[&str], output: &str) -> Vec<u8> {
    let inputs = inputs.iter().flat_map(|input| bytes(1, input.as_bytes()));
    inputs.chain(bytes(2, output.as_bytes())).chain(bytes(3, output.as_bytes())).chain(bytes(4, operation.as_bytes())).collect()
}

/// An attribute of a node.
fn integers(name: &str, values: &[u64]) -> Vec<u8> {
    let values = values.iter().flat_map(|value| number(8, *value));
    let attribute: Vec<u8> = bytes(1, name.as_bytes()).into_iter().chain(values).chain(number(20, INTEGERS)).collect();
    bytes(5, &attribute)
}

fn tensor(name: &str, shape: &[u64], values: &[f32]) -> Vec<u8> {
    let raw: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let shape = shape.iter().flat_map(|length| number(1, *length));
    shape.chain(number(2, FLOAT)).chain(bytes(8, name.as_bytes())).chain(bytes(9, &raw)).collect()
}

fn value(name: &str, shape: &[u64]) -> Vec<u8> {
    let dimension = |length: u64| if length == ANY { bytes(2, b"any") } else { number(1, length) };
    let shape: Vec<u8> = shape.iter().flat_map(|length| bytes(1, &dimension(*length))).collect();
    let tensor = [number(1, FLOAT), bytes(2, &shape)].concat();
    [bytes(1, name.as_bytes()), bytes(2, &bytes(1, &tensor))].concat()
}

fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

fn bytes(field: u64, value: &[u8]) -> Vec<u8> {
    [varint(field << 3 | 2), varint(value.len() as u64), value.to_vec()].concat()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}
