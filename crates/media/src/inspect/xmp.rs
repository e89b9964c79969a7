//! Texts in XMP.

use roxmltree::{Document, Node, ParsingOptions};

use super::texts::{Texts, USER_COMMENT};

/// Elements of a packet that are read.
const MOST_NODES: u32 = 1 << 16;
const EXIF: &str = "http://ns.adobe.com/exif/1.0/";
const XMP: &str = "http://ns.adobe.com/xap/1.0/";
const DUBLIN_CORE: &str = "http://purl.org/dc/elements/1.1/";

/// Properties that are read, with the keys that they get.
const PROPERTIES: [(&str, &str, &str); 3] =
    [(EXIF, "UserComment", USER_COMMENT), (XMP, "CreatorTool", "CreatorTool"), (DUBLIN_CORE, "description", "description")];

/// Adds the texts of a packet; one that is not well-formed has none.
pub(super) fn read(packet: &str, texts: &mut Texts) {
    let options = ParsingOptions { nodes_limit: MOST_NODES, ..ParsingOptions::default() };
    let Ok(document) = Document::parse_with_options(packet.trim_matches(['\0', '\u{feff}']), options) else { return };
    for node in document.descendants().filter(Node::is_element) {
        for (namespace, name, key) in PROPERTIES {
            if node.has_tag_name((namespace, name)) {
                // In the element itself, or in the first entry of a list of languages.
                let text = node.descendants().filter(Node::is_text).filter_map(|it| it.text()).find(|text| !text.trim().is_empty());
                texts.push(key, text.unwrap_or_default().trim());
            } else if let Some(text) = node.attribute((namespace, name)) {
                texts.push(key, text);
            }
        }
    }
}
