//! Fields of a JSON body as clients send them: null means "not given", whole numbers come as
//! decimals and as text, switches as numbers. What cannot be read is collected, and refused at the
//! end with the field's name.

use serde_json::{Map, Value};

use super::error::{Failure, Fault};

/// Longest text in characters.
pub(crate) const MAX_TEXT_CHARS: usize = 32_000;

/// The fields of an object.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fields {
    map: Map<String, Value>,
    /// The fields that this one lies in.
    inside: Vec<String>,
    faults: Vec<Fault>,
}

impl Fields {
    /// Reads a body; an empty one has no fields.
    pub(crate) fn read(body: &[u8]) -> Result<Self, Failure> {
        if body.iter().all(u8::is_ascii_whitespace) {
            return Ok(Self::default());
        }
        match serde_json::from_slice(body) {
            Ok(Value::Object(map)) => Ok(Self { map, ..Self::default() }),
            Ok(Value::Null) => Ok(Self::default()),
            Ok(_) => Err(Failure::Unreadable("The body is not a JSON object.".to_owned())),
            // What serde says quotes the body, which may hold a password.
            Err(error) => Err(Failure::Unreadable(format!("The body is not JSON: line {}, column {}.", error.line(), error.column()))),
        }
    }

    pub(crate) fn of(map: Map<String, Value>) -> Self {
        Self { map, ..Self::default() }
    }

    /// The value of a field; `None` where it is absent or null.
    pub(crate) fn take(&mut self, key: &str) -> Option<Value> {
        self.map.remove(key).filter(|value| !value.is_null())
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.map.get(key).is_some_and(|value| !value.is_null())
    }

    /// Sets a field of a form.
    pub(crate) fn set(&mut self, key: &str, value: Value) {
        self.map.insert(key.to_owned(), value);
    }

    /// Notes that a field cannot be used.
    pub(crate) fn fault(&mut self, key: &str, sentence: impl Into<String>) {
        let field = self.inside.iter().cloned().chain([key.to_owned()]).collect();
        self.faults.push(Fault { field, sentence: sentence.into() });
    }

    pub(crate) fn text(&mut self, key: &str) -> Option<String> {
        match self.take(key)? {
            Value::String(text) if text.chars().count() <= MAX_TEXT_CHARS => return Some(text),
            Value::String(_) => self.fault(key, format!("It has more than {MAX_TEXT_CHARS} characters.")),
            Value::Number(number) => return Some(number.to_string()),
            _ => self.fault(key, "It is not a text."),
        }
        None
    }

    /// A text that is not empty.
    pub(crate) fn word(&mut self, key: &str) -> Option<String> {
        self.text(key).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    pub(crate) fn number(&mut self, key: &str) -> Option<f64> {
        let value = self.take(key)?;
        let number = match &value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) if text.trim().is_empty() => return None,
            Value::String(text) => text.trim().parse().ok(),
            Value::Bool(is_on) => Some(f64::from(u8::from(*is_on))),
            _ => None,
        };
        let number = number.filter(|number| number.is_finite());
        if number.is_none() {
            self.fault(key, "It is not a number.");
        }
        number
    }

    pub(crate) fn decimal(&mut self, key: &str) -> Option<f32> {
        self.number(key).map(|number| number as f32)
    }

    /// A whole number; a decimal that is one counts.
    pub(crate) fn whole(&mut self, key: &str) -> Option<i64> {
        // Seeds have more digits than a decimal keeps.
        if let Some(whole) = self.map.get(key).and_then(Value::as_i64) {
            return Some(whole);
        }
        let number = self.number(key)?;
        if number.fract() != 0.0 || number.abs() > 9e18 {
            self.fault(key, "It is not a whole number.");
            return None;
        }
        Some(number as i64)
    }

    /// A whole number within these limits.
    pub(crate) fn within(&mut self, key: &str, limits: std::ops::RangeInclusive<u32>) -> Option<u32> {
        let whole = self.whole(key)?;
        let found = u32::try_from(whole).ok().filter(|it| limits.contains(it));
        if found.is_none() {
            self.fault(key, format!("It must be from {} to {}.", limits.start(), limits.end()));
        }
        found
    }

    pub(crate) fn flag(&mut self, key: &str) -> Option<bool> {
        match self.take(key)? {
            Value::Bool(is_on) => return Some(is_on),
            Value::Number(number) => return Some(number.as_f64().is_some_and(|it| it != 0.0)),
            Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
                "true" | "1" | "yes" | "on" => return Some(true),
                "false" | "0" | "no" | "off" | "" => return Some(false),
                _ => self.fault(key, "It is neither true nor false."),
            },
            _ => self.fault(key, "It is neither true nor false."),
        }
        None
    }

    /// The values of a list; one value counts as a list of it.
    pub(crate) fn list(&mut self, key: &str) -> Vec<Value> {
        match self.take(key) {
            Some(Value::Array(values)) => values,
            Some(value) => vec![value],
            None => Vec::new(),
        }
    }

    /// The fields inside a field; none where it is absent or something else.
    pub(crate) fn object(&mut self, key: &str) -> Self {
        let inside = self.inside.iter().cloned().chain([key.to_owned()]).collect();
        match self.take(key) {
            Some(Value::Object(map)) => Self { map, inside, faults: Vec::new() },
            _ => Self { map: Map::new(), inside, faults: Vec::new() },
        }
    }

    /// Takes over what was wrong in the fields of a field.
    pub(crate) fn close(&mut self, inner: Self) {
        self.faults.extend(inner.faults);
    }

    /// `Ok` where nothing was wrong.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        if self.faults.is_empty() { Ok(()) } else { Err(Failure::Invalid(self.faults)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_switches_are_read_as_clients_send_them() {
        let body =
            br#"{"a": 2.0, "b": "7", "c": null, "d": 1, "e": "true", "f": 9007199254740993, "g": "x", "h": 1.5, "i": 5000, "j": {}}"#;
        let mut it = Fields::read(body).unwrap();
        assert_eq!((it.whole("a"), it.whole("b"), it.whole("c"), it.whole("absent")), (Some(2), Some(7), None, None));
        assert_eq!((it.flag("d"), it.flag("e")), (Some(true), Some(true)));
        assert_eq!(it.whole("f"), Some(9_007_199_254_740_993), "seeds keep every digit");
        assert_eq!((it.number("g"), it.whole("h"), it.within("i", 1..=150), it.text("j")), (None, None, None, None));
        let Err(Failure::Invalid(faults)) = it.finish() else { panic!("nothing was refused") };
        assert_eq!(faults.iter().map(|it| it.field.join(".")).collect::<Vec<_>>(), ["g", "h", "i", "j"]);
    }

    #[test]
    fn a_body_is_an_object_or_nothing_and_is_never_repeated() {
        assert!(Fields::read(b"").is_ok() && Fields::read(b" null ").is_ok());
        let refused = Fields::read(br#"{"auth": "user:secret", oops"#).unwrap_err();
        assert!(!refused.sentence().contains("secret"), "{}", refused.sentence());
        assert!(Fields::read(b"[1]").is_err());
        let deep = "[".repeat(1000);
        assert!(Fields::read(format!("{{\"a\":{deep}").as_bytes()).is_err(), "as deep as the reader goes");
    }
}
