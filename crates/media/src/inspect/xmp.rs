//! Texts in XMP.

use atelier_language::tr;
use roxmltree::{Document, Node, ParsingOptions};

use super::texts::{DESCRIPTION, IMAGE_DESCRIPTION, Texts, USER_COMMENT};

/// Elements of a packet that are read.
const MAX_NODES: u32 = 1 << 16;
/// Signs of equality in a packet that is read: each attribute has one, and the parser compares
/// those of an element with each other.
const MAX_ASSIGNMENTS: usize = 1 << 14;
/// Declarations of namespaces in a packet that is read: each inner element that has one repeats
/// those of the outer ones.
const MAX_NAMESPACES: usize = 1 << 10;
const EXIF: &str = "http://ns.adobe.com/exif/1.0/";
const XMP: &str = "http://ns.adobe.com/xap/1.0/";
const TIFF: &str = "http://ns.adobe.com/tiff/1.0/";
const DUBLIN_CORE: &str = "http://purl.org/dc/elements/1.1/";

/// A property that is read, with the key that its text gets.
struct Property {
    namespace: &'static str,
    name: &'static str,
    key: &'static str,
}

const PROPERTIES: [Property; 4] = [
    Property { namespace: EXIF, name: "UserComment", key: USER_COMMENT },
    Property { namespace: XMP, name: "CreatorTool", key: "CreatorTool" },
    Property { namespace: DUBLIN_CORE, name: "description", key: DESCRIPTION },
    Property { namespace: TIFF, name: "ImageDescription", key: IMAGE_DESCRIPTION },
];

/// How far one property is read.
#[derive(Clone, Copy, Default)]
struct Search {
    is_found: bool,
    /// The end of the last element of the property that has begun, as an offset in the packet.
    end: usize,
}

/// Adds the texts of a packet, the first of each property; one that is not well-formed is passed over.
pub(super) fn read(packet: &str, texts: &mut Texts) {
    let packet = packet.trim_matches(['\0', '\u{feff}']);
    let assignments = packet.bytes().filter(|byte| *byte == b'=').count();
    if assignments > MAX_ASSIGNMENTS || packet.matches("xmlns").count() > MAX_NAMESPACES {
        return texts.pass_over("XMP", tr!("media-it-has-more-attributes"));
    }
    let options = ParsingOptions { nodes_limit: MAX_NODES, ..ParsingOptions::default() };
    let document = match Document::parse_with_options(packet, options) {
        Ok(document) => document,
        Err(roxmltree::Error::NodesLimitReached) => {
            return texts.pass_over("XMP", tr!("media-it-has-more-elements"));
        }
        Err(_) => return texts.pass_over_damaged("XMP"),
    };
    let mut searches = [Search::default(); PROPERTIES.len()];
    // One way through, in the order of the packet: a text counts for each property that an element
    // round it names.
    for node in document.descendants() {
        for (property, search) in PROPERTIES.iter().zip(&mut searches).filter(|(_, search)| !search.is_found) {
            let text = if node.is_text() {
                // In the element itself, or in the first entry of a list of languages.
                node.text().map(str::trim).filter(|_| node.range().start < search.end)
            } else {
                look_into(node, property, search)
            };
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                search.is_found = true;
                texts.push(property.key, text);
            }
        }
    }
}

/// The text of an element that has the property as an attribute. An element that is the property
/// begins here.
fn look_into<'a>(node: Node<'a, '_>, property: &Property, search: &mut Search) -> Option<&'a str> {
    if node.has_tag_name((property.namespace, property.name)) {
        search.end = search.end.max(node.range().end);
        return None;
    }
    node.attribute((property.namespace, property.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(packet: &str) -> (Vec<(String, String)>, usize) {
        let mut texts = Texts::default();
        read(packet, &mut texts);
        (texts.iter().map(|(key, text)| (key.to_owned(), text.to_owned())).collect(), texts.passed_over().len())
    }

    fn packet(inside: &str) -> String {
        format!("<x xmlns:e=\"{EXIF}\" xmlns:p=\"{XMP}\" xmlns:d=\"{DUBLIN_CORE}\" xmlns:r=\"urn:r\">{inside}</x>")
    }

    fn text(key: &str, text: &str) -> (String, String) {
        (key.to_owned(), text.to_owned())
    }

    #[test]
    fn the_first_text_of_each_property_is_read() {
        let inside = "<d:description> </d:description><d:description><r:Alt><r:li>\n</r:li><r:li> a lake </r:li><r:li>ein See</r:li></r:Alt>\
            </d:description><r:D p:CreatorTool=\"Draw Things\"/><e:UserComment/>after<e:UserComment>{}</e:UserComment>";
        let expected = [text("description", "a lake"), text("CreatorTool", "Draw Things"), text(USER_COMMENT, "{}")];
        assert_eq!(found(&packet(inside)), (expected.to_vec(), 0));
        assert_eq!(found(&packet("<e:UserComment><d:description>both</d:description></e:UserComment>")).0.len(), 2);
    }

    #[test]
    fn a_packet_that_is_not_well_formed_is_told_and_tiffs_description_is_one_too() {
        assert_eq!(found("<x><d:description>a lake</x>"), (Vec::new(), 1));
        let inside = format!("<t:ImageDescription xmlns:t=\"{TIFF}\">a lake</t:ImageDescription>");
        assert_eq!(found(&packet(&inside)), (vec![text(IMAGE_DESCRIPTION, "a lake")], 0));
    }

    #[test]
    fn nested_elements_and_many_attributes_are_bounded() {
        let nested = "<e:UserComment>".repeat(32_000) + "deep" + &"</e:UserComment>".repeat(32_000);
        assert_eq!(found(&packet(&nested)), (vec![text(USER_COMMENT, "deep")], 0));
        assert_eq!(found(&packet(&"<r:a/>".repeat(MAX_NODES as usize))), (Vec::new(), 1));
        let attributes: Vec<String> = (0..100_000).map(|n| format!(" a{n}=\"\"")).collect();
        assert_eq!(found(&format!("<x{}/>", attributes.concat())), (Vec::new(), 1));
        let spaces: Vec<String> = (0..20_000).map(|n| format!("<a xmlns:n{n}=\"urn:{n}\">")).collect();
        assert_eq!(found(&(spaces.concat() + &"</a>".repeat(20_000))), (Vec::new(), 1));
    }
}
