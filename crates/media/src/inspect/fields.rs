//! Fields of a JSON object, each taken once.

use atelier_core::json::has_more_values;
use serde_json::{Map, Value};

use super::settings::{PictureSettings, Tool};
use crate::stored_recipe::MAX_VALUES;

/// True where a text looks like a JSON object.
pub(super) fn is_object(text: &str) -> bool {
    trimmed(text).starts_with('{')
}

fn trimmed(text: &str) -> &str {
    text.trim_matches(['\0', '\u{feff}', ' ', '\n', '\r', '\t'])
}

/// Reads a JSON object of a stranger; one of too many values is none. What Python writes and JSON
/// does not have is mended.
pub(super) fn object(text: &str) -> Option<Map<String, Value>> {
    let text = trimmed(text);
    if !text.starts_with('{') || has_more_values(text.as_bytes(), MAX_VALUES) {
        return None;
    }
    let value = serde_json::from_str(text).or_else(|_| serde_json::from_str(&mended(text))).ok()?;
    if let Value::Object(map) = value { Some(map) } else { None }
}

/// `NaN` and `Infinity` are null, half of a surrogate pair is the sign for what cannot be read, and
/// signs of control within strings are escaped.
fn mended(text: &str) -> String {
    let mut mended = String::with_capacity(text.len());
    let (mut rest, mut is_string) = (text, false);
    while let Some(c) = rest.chars().next() {
        let number = ["NaN", "-Infinity", "Infinity"].into_iter().find(|word| !is_string && rest.starts_with(word));
        let taken = match (c, number) {
            (_, Some(word)) => {
                mended.push_str("null");
                word.len()
            }
            ('\\', None) => {
                let (escape, taken) = escape(rest);
                mended.push_str(escape);
                taken
            }
            (c, None) if is_string && c < ' ' => {
                let code = u32::from(c);
                mended.push_str("\\u00");
                mended.extend([code >> 4, code & 15].into_iter().filter_map(|digit| char::from_digit(digit, 16)));
                c.len_utf8()
            }
            (c, None) => {
                is_string ^= c == '"';
                mended.push(c);
                c.len_utf8()
            }
        };
        rest = rest.get(taken..).unwrap_or_default();
    }
    mended
}

/// What the escape that a text begins with becomes, and its bytes there. The character after the
/// sign is no end of the string.
fn escape(text: &str) -> (&str, usize) {
    let unit = |at: usize| u16::from_str_radix(text.get(at..)?.strip_prefix("\\u")?.get(..4)?, 16).ok();
    let (escape, taken) = match (unit(0), unit(6)) {
        (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => (None, 12),
        (Some(0xd800..=0xdfff), _) => (Some("\\ufffd"), 6),
        _ => (None, 1 + text.chars().nth(1).map_or(0, char::len_utf8)),
    };
    (escape.or_else(|| text.get(..taken)).unwrap_or(text), taken)
}

/// True of a graph of `ComfyUI` that ran: its nodes name their class.
pub(super) fn is_graph(map: &Map<String, Value>) -> bool {
    map.values().any(|node| node.get("class_type").is_some())
}

/// The fields of an object. What is not taken was not understood.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields(Map<String, Value>);

impl Fields {
    /// The fields of a JSON text, where it is an object.
    pub(super) fn parse(text: &str) -> Option<Self> {
        object(text).map(Self)
    }

    pub(super) const fn of(map: Map<String, Value>) -> Self {
        Self(map)
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    pub(super) fn keys(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    pub(super) fn insert(&mut self, key: String, value: Value) {
        self.0.insert(key, value);
    }

    /// A field, which stays.
    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// Takes a field as it is.
    pub(super) fn value(&mut self, key: &str) -> Option<Value> {
        self.0.remove(key)
    }

    /// Takes a field that `read` understands.
    pub(super) fn take<T>(&mut self, key: &str, read: impl FnOnce(&Value) -> Option<T>) -> Option<T> {
        let found = self.0.get(key).and_then(read)?;
        self.0.remove(key);
        Some(found)
    }

    /// Takes what `read` understands of a list; where that is not all of it, the list stays too.
    pub(super) fn each<T>(&mut self, key: &str, read: impl Fn(&Value) -> Option<T>) -> Vec<T> {
        let Some(list) = self.0.get(key).and_then(Value::as_array) else { return Vec::new() };
        let found: Vec<T> = list.iter().filter_map(read).collect();
        if found.len() == list.len() {
            self.0.remove(key);
        }
        found
    }

    pub(super) fn text(&mut self, key: &str) -> Option<String> {
        self.take(key, |value| value.as_str().map(str::to_owned))
    }

    /// Takes a string that is not empty.
    pub(super) fn name(&mut self, key: &str) -> Option<String> {
        self.take(key, |value| value.as_str().filter(|it| !it.is_empty() && *it != "None").map(str::to_owned))
    }

    /// Takes a whole number, also one that is written as a string.
    pub(super) fn whole<T: TryFrom<i128>>(&mut self, key: &str) -> Option<T> {
        self.take(key, |value| T::try_from(whole(value)?).ok())
    }

    /// Takes a number, also one that is written as a string.
    pub(super) fn decimal(&mut self, key: &str) -> Option<f32> {
        self.take(key, decimal)
    }

    /// Takes two whole numbers with these keys; both or none.
    pub(super) fn size(&mut self, width: &str, height: &str) -> Option<(u32, u32)> {
        let side = |value: Option<&Value>| value.and_then(whole).and_then(|side| u32::try_from(side).ok()).filter(|side| *side > 0);
        let size = (side(self.0.get(width))?, side(self.0.get(height))?);
        self.0.remove(width);
        self.0.remove(height);
        Some(size)
    }

    /// The settings that sites with generators of their own write beside a graph, under the names
    /// that they share.
    pub(super) fn site_settings(&mut self) -> PictureSettings {
        PictureSettings {
            tool: Some(Tool::ComfyUi),
            size: self.size("width", "height"),
            prompt: self.text("prompt"),
            negative_prompt: self.text("negativePrompt"),
            seed: self.whole("seed"),
            steps: self.whole("steps"),
            guidance: self.decimal("cfgScale"),
            clip_skip: self.whole("clipSkip").filter(skips_layers),
            ..PictureSettings::default()
        }
    }

    /// Drops fields that say nothing of the picture.
    pub(super) fn drop(&mut self, keys: &[&str]) {
        for key in keys {
            self.0.remove(*key);
        }
    }

    /// What was not taken, by name and value; fields that are empty or switched off are left out.
    pub(super) fn left(self) -> Vec<(String, String)> {
        let is_empty = |value: &Value| match value {
            Value::Null | Value::Bool(false) => true,
            Value::String(text) => text.is_empty(),
            Value::Array(list) => list.is_empty(),
            Value::Object(map) => map.is_empty(),
            Value::Bool(true) | Value::Number(_) => false,
        };
        self.0.into_iter().filter(|(_, value)| !is_empty(value)).map(|(key, value)| (key, shown(&value))).collect()
    }
}

/// The text of an object's field, if there is one and it is not empty.
pub(super) fn text_of(object: &Value, key: &str) -> Option<String> {
    object.get(key).and_then(Value::as_str).filter(|it| !it.is_empty()).map(str::to_owned)
}

/// True for the kinds of adapters in lists of resources, in any letter case.
pub(super) fn is_lora_kind(kind: &str) -> bool {
    ["lora", "locon", "lycoris", "dora"].iter().any(|it| it.eq_ignore_ascii_case(kind))
}

/// A value as a person reads it: a string without its quotation marks.
pub(super) fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

pub(super) fn whole(value: &Value) -> Option<i128> {
    match value {
        // 20.0 is a whole number too.
        Value::Number(number) => {
            number.as_i128().or_else(|| number.as_f64().filter(|it| it.fract() == 0.0 && it.abs() < 9e15).map(|it| it as i128))
        }
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

pub(super) fn decimal(value: &Value) -> Option<f32> {
    let number = match value {
        Value::Number(number) => number.as_f64()? as f32,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    number.is_finite().then_some(number)
}

/// False of the CLIP skip that many programs write of every picture: 1 leaves the layer to the model
/// there, which for SDXL is not the last one.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "it is a filter of options")]
pub(super) const fn skips_layers(layers: &u32) -> bool {
    *layers > 1
}

/// The name of a file in a path of either system.
pub(super) fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// The beginning of a text, of at most so many bytes.
pub(super) fn bounded(text: &str, most: usize) -> String {
    if text.len() <= most { text.to_owned() } else { text[..text.floor_char_boundary(most)].to_owned() + "..." }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_surrogate_pairs_and_signs_of_control_in_strings_are_mended() {
        let map = object("{\"a\": \"\\ud83d lake \\uDE00\", \"b\": \"\\ud83d\\ude00 \\\\ud83d\", \"c\": \"a\tb\nc\", \"d\": 1}").unwrap();
        let expected = serde_json::json!({ "a": "\u{fffd} lake \u{fffd}", "b": "\u{1f600} \\ud83d", "c": "a\tb\nc", "d": 1 });
        assert_eq!(Value::Object(map), expected);
        for broken in ["{\"a\": \"\\ud83d", "{\"a\": \"\\", "{\"a\": \"\\u\u{e9}\u{e9}\"}", "{\"a\": \"\\ud83d\\u\"}"] {
            assert!(object(broken).is_none(), "{broken}");
        }
    }

    #[test]
    fn numbers_that_are_none_become_null_outside_of_strings() {
        let map = object(r#"{"a": [NaN, -Infinity, Infinity], "b": "NaN \" NaN", "c": 1}"#).unwrap();
        assert_eq!(Value::Object(map), serde_json::json!({ "a": [null, null, null], "b": "NaN \" NaN", "c": 1 }));
    }

    #[test]
    fn a_field_is_taken_only_where_it_is_understood() {
        let mut fields = Fields::parse(r#"{"steps": "20", "seed": 1e300, "scale": 7, "width": 64, "height": -1, "on": false}"#).unwrap();
        assert_eq!((fields.whole::<u32>("steps"), fields.whole::<i64>("seed"), fields.decimal("scale")), (Some(20), None, Some(7.0)));
        assert_eq!(fields.size("width", "height"), None);
        let left: Vec<String> = fields.left().into_iter().map(|(key, _)| key).collect();
        assert_eq!(left, ["height", "seed", "width"]);
    }

    #[test]
    fn what_has_too_many_values_is_no_object_and_commas_in_texts_do_not_count() {
        let list = |item: &str| format!("{{\"a\": [{}0]}}", item.repeat(MAX_VALUES));
        assert!(object(&list("0,")).is_none() && object(&list("{},")).is_none());
        assert!(object(&format!("{{\"a\": \"{}\"}}", ",".repeat(MAX_VALUES + 1))).is_some());
        assert!(object(&format!("{{\"a\": [{}0]}}", "0,".repeat(1000))).is_some());
    }

    #[test]
    fn what_is_too_deep_is_no_object() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(object(&deep).is_none());
        assert!(object("[1]").is_none() && object("").is_none());
    }
}
