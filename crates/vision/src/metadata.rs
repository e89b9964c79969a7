//! What a file says of its graph, read before it is opened: operations, and the class names that
//! exporters of detectors write.

/// Maximum number of classes that are read.
const MAX_CLASSES: usize = 10_000;

/// Field of the model's message that holds its graph.
const GRAPH_FIELD: u64 = 7;
/// Field of a graph that holds a node.
const NODE_FIELD: u64 = 1;
/// Field of a node that holds the name of its operation.
const OPERATION_FIELD: u64 = 4;
/// Field of the model's message that holds a pair of texts.
const METADATA_FIELD: u64 = 14;
/// Operations on whole numbers: the runtime's sums of them overflow on some processors, and a mask
/// comes out wrong without an error.
const WHOLE_NUMBER_OPERATIONS: [&[u8]; 4] = [b"ConvInteger", b"MatMulInteger", b"QLinearConv", b"QLinearMatMul"];
const LENGTH_DELIMITED: u64 = 2;

/// Names of the classes by number, from the text `{0: 'face', 1: 'hand'}` of the pair `names`;
/// empty where there is none. Linear in the file's length.
pub(crate) fn class_names(model: &[u8]) -> Vec<String> {
    let pairs = Fields(model).filter(|(field, _)| *field == METADATA_FIELD);
    let mut texts = pairs.filter_map(|(_, pair)| {
        let text = |wanted| Fields(pair).find(|(field, _)| *field == wanted).map(|(_, text)| text);
        (text(1)? == b"names").then(|| text(2)).flatten()
    });
    texts.next().and_then(|text| std::str::from_utf8(text).ok()).map(names_of).unwrap_or_default()
}

/// True where a graph computes with whole numbers of 8 bits. Linear in the file's length.
pub(crate) fn is_quantised(model: &[u8]) -> bool {
    let graphs = Fields(model).filter(|(field, _)| *field == GRAPH_FIELD);
    let nodes = graphs.flat_map(|(_, graph)| Fields(graph)).filter(|(field, _)| *field == NODE_FIELD);
    let mut operations = nodes.flat_map(|(_, node)| Fields(node)).filter(|(field, _)| *field == OPERATION_FIELD);
    operations.any(|(_, operation)| WHOLE_NUMBER_OPERATIONS.contains(&operation))
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

/// The length-delimited fields of a message; ends at the first that is cut.
struct Fields<'a>(&'a [u8]);

impl<'a> Iterator for Fields<'a> {
    type Item = (u64, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let tag = self.number()?;
            match tag & 7 {
                0 => _ = self.number()?,
                1 => _ = self.0.split_off(..8)?,
                LENGTH_DELIMITED => {
                    let length = usize::try_from(self.number()?).ok()?;
                    return Some((tag >> 3, self.0.split_off(..length)?));
                }
                5 => _ = self.0.split_off(..4)?,
                _ => return None,
            }
        }
    }
}

impl Fields<'_> {
    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = *self.0.split_off_first()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_quoted_texts() {
        assert_eq!(names_of(r#"{0: 'face', 1: "person's hand"}"#), ["face", "person's hand"]);
        assert!(names_of("{0: 'face").is_empty());
    }

    #[test]
    fn a_cut_message_ends_where_it_is_cut() {
        // Field 14 of six bytes, of which two are there.
        assert!(class_names(&[14 << 3 | 2, 6, 10, 5]).is_empty());
        assert!(class_names(&[0xff; 32]).is_empty());
    }
}
