//! What a reader reads: noted while it reads an empty body, so that the document says what the code
//! does, and no list beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Map, Value, json};

/// The fields that a reader asks for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Description(Arc<Mutex<Noted>>);

#[derive(Debug, Default)]
struct Noted {
    fields: BTreeMap<String, Field>,
    required: BTreeSet<String>,
}

/// What a field holds.
#[derive(Debug)]
enum Field {
    Plain(Value),
    Object(Description),
    Objects(Description),
}

impl Description {
    /// Notes a field; what was noted of it first counts.
    pub(super) fn note(&self, key: &str, schema: impl FnOnce() -> Value) {
        self.0.lock().fields.entry(key.to_owned()).or_insert_with(|| Field::Plain(schema()));
    }

    pub(super) fn note_required(&self, key: &str) {
        self.0.lock().required.insert(key.to_owned());
    }

    /// The description of the fields in this field, or in each object of its list.
    pub(super) fn inside(&self, key: &str, is_list: bool) -> Self {
        let inside = Self::default();
        let field = if is_list { Field::Objects(inside.clone()) } else { Field::Object(inside.clone()) };
        self.0.lock().fields.insert(key.to_owned(), field);
        inside
    }

    /// As parameters of a query.
    pub(crate) fn parameters(&self) -> Vec<Value> {
        let noted = self.0.lock();
        let parameter = |(key, field): (&String, &Field)| json!({"name": key, "in": "query", "required": noted.required.contains(key), "schema": field.schema()});
        noted.fields.iter().map(parameter).collect()
    }

    /// As a JSON schema.
    pub(crate) fn schema(&self) -> Value {
        let noted = self.0.lock();
        let properties: Map<String, Value> = noted.fields.iter().map(|(key, field)| (key.clone(), field.schema())).collect();
        let mut schema = json!({"type": "object", "properties": properties});
        if !noted.required.is_empty() {
            schema["required"] = json!(noted.required);
        }
        schema
    }
}

impl Field {
    fn schema(&self) -> Value {
        match self {
            Self::Plain(schema) => schema.clone(),
            Self::Object(inside) => inside.schema(),
            Self::Objects(inside) => json!({"type": "array", "items": inside.schema()}),
        }
    }
}

/// Values of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    Text,
    Whole,
    Number,
    Picture,
}

impl Item {
    pub(super) fn schema(self) -> Value {
        match self {
            Self::Text => json!({"type": "string"}),
            Self::Whole => json!({"type": "integer"}),
            Self::Number => json!({"type": "number"}),
            Self::Picture => json!({"type": "string", "contentEncoding": "base64"}),
        }
    }
}

/// A schema with the value that counts where the field is absent.
pub(super) fn with_default(mut schema: Value, usual: impl Into<Value>) -> Value {
    schema["default"] = usual.into();
    schema
}

/// A decimal with the digits that it is written with.
pub(super) fn decimal(number: f32) -> Value {
    Value::from(number.to_string().parse().unwrap_or(f64::from(number)))
}

#[cfg(test)]
mod tests {
    use super::super::Fields;
    use super::*;

    #[test]
    fn what_is_read_is_described_also_where_a_switch_is_needed_for_it() {
        let description = Fields::describe(|mut it| {
            if it.prose("prompt").is_empty() {
                it.missing("prompt");
            }
            it.within_or("n", 1..=10, 2);
            it.clamped_or("strength", 0.0..=1.0, 0.7);
            it.named_or("format", &["png", "webp"], "png");
            it.list("layers", Item::Whole);
            let mut inner = it.object("hires");
            if inner.switch("enabled", false) {
                inner.not_negative("scale");
            }
            it.close(inner);
            for mut object in it.objects("lora") {
                object.word("name");
                object.picture("picture");
                it.close(object);
            }
            it.finish()
        });
        let expected = json!({"type": "object", "required": ["prompt"], "properties": {
            "prompt": {"type": "string", "maxLength": 32_000, "default": ""},
            "n": {"type": "integer", "minimum": 1, "maximum": 10, "default": 2},
            "strength": {"type": "number", "minimum": 0.0, "maximum": 1.0, "default": 0.7},
            "format": {"type": "string", "enum": ["png", "webp"], "default": "png"},
            "layers": {"type": "array", "items": {"type": "integer"}},
            "hires": {"type": "object", "properties": {"enabled": {"type": "boolean", "default": false}, "scale": {"type": "number", "minimum": 0}}},
            "lora": {"type": "array", "items": {"type": "object", "properties": {
                "name": {"type": "string", "maxLength": 32_000}, "picture": {"type": "string", "contentEncoding": "base64"}}}},
        }});
        assert_eq!(description.schema(), expected);
        let of_query = Fields::describe(|mut it| {
            it.switch("small", true);
            if it.whole("page").is_none() {
                it.missing("page");
            }
        });
        let expected = json!([
            {"name": "page", "in": "query", "required": true, "schema": {"type": "integer"}},
            {"name": "small", "in": "query", "required": false, "schema": {"type": "boolean", "default": true}},
        ]);
        assert_eq!(Value::Array(of_query.parameters()), expected);
    }
}
