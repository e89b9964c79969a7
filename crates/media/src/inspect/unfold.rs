//! JSON in comments that has other programs' texts inside.
//!
//! Sites and savers write graphs there, or all texts of a PNG file by their keys.

use serde_json::Value;

use super::fields::{is_graph, is_object, object, shown};
use super::texts::{
    CAPTION, COMMENT, DESCRIPTION, EXTRA_METADATA, GRAPH, IMAGE_DESCRIPTION, Texts, USER_COMMENT, WINDOWS_COMMENT, WORKFLOW,
};
use crate::png::PARAMETERS;

/// Keys of texts that may have others inside.
const COMMENTS: [&str; 7] = [USER_COMMENT, COMMENT, IMAGE_DESCRIPTION, PARAMETERS, WINDOWS_COMMENT, DESCRIPTION, CAPTION];

/// The texts with those that JSON in a comment has inside: `ComfyUI`'s graphs and A1111's text.
/// `None` without such. `NovelAI` puts all its texts into one comment where a format has no keys.
pub(super) fn unfolded(texts: &Texts) -> Option<Texts> {
    if texts.all(GRAPH).any(is_object) {
        return None;
    }
    let comments = COMMENTS.into_iter().flat_map(|key| texts.all(key));
    comments.filter_map(|text| Some((text, object(text)?))).find_map(|(text, map)| {
        let inner = |key: &'static str| map.get(key).map(|value| (key, shown(value)));
        let mut unfolded = texts.clone();
        let parts = if is_graph(&map) {
            vec![(GRAPH, text.to_owned())]
        } else if map.get("Software").is_some_and(|it| it == "NovelAI") {
            ["Software", "Source", "Description", "Comment"].into_iter().filter_map(inner).collect()
        } else {
            let graph = map
                .get(GRAPH)
                .filter(|value| value.as_object().is_some_and(is_graph) || value.as_str().is_some_and(is_object))
                .map(|it| (GRAPH, shown(it)));
            let parameters = map.get(PARAMETERS).and_then(Value::as_str).map(|text| (PARAMETERS, text.to_owned()));
            graph.into_iter().chain(inner(WORKFLOW).filter(|(_, text)| is_object(text))).chain(parameters).collect()
        };
        if parts.is_empty() {
            return None;
        }
        for (key, text) in parts.into_iter().chain(inner(EXTRA_METADATA)) {
            unfolded.push(key, text);
        }
        Some(unfolded)
    })
}
