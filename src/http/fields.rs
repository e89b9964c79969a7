//! Fields of a JSON body, or of a query, as clients send them: null means "not given", whole numbers come as
//! decimals and as text, switches as numbers. What cannot be read is collected, and refused at the
//! end with the field's name; what nobody read is named in a note, without its value, which may be a
//! password.
//!
//! Each read says a field's name, type, limits and usual value, which is also how the document of the
//! server gets them ([`Description`]): nothing else lists the fields of a body.

mod description;

use std::ops::RangeInclusive;

use serde_json::{Map, Value, json};

use super::error::{Failure, Fault};
use atelier_core::recipe::Seed;
use description::{decimal, with_default};

pub(crate) use description::{Description, Item};

/// Longest text in characters.
pub(crate) const MAX_TEXT_CHARS: usize = 32_000;
/// Objects of a list.
const MAX_OBJECTS: usize = 256;
/// Names in a note, and characters of each.
const MAX_UNREAD: usize = 16;
const MAX_NAME_CHARS: usize = 60;

/// The fields of an object.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fields {
    map: Map<String, Value>,
    /// The fields that this one lies in.
    inside: Vec<String>,
    is_query: bool,
    faults: Vec<Fault>,
    unread: Unread,
    /// Numbers that were brought within their limits, each as `field is number`.
    limited: Vec<String>,
    /// Notes what is read, where a document is made and not a picture.
    description: Option<Description>,
}

/// Names of fields that said something of no use here.
#[derive(Clone, Debug, Default)]
struct Unread {
    names: Vec<String>,
    /// How many there are beside these.
    more: usize,
}

impl Unread {
    fn add(&mut self, inside: &[String], key: &str) {
        if self.names.len() < MAX_UNREAD {
            let path = inside.iter().map(String::as_str).chain([key]).collect::<Vec<_>>().join(".");
            self.names.push(path.chars().filter(|it| !it.is_control()).take(MAX_NAME_CHARS).collect());
        } else {
            self.more += 1;
        }
    }

    fn add_all(&mut self, other: Self) {
        self.more += other.more;
        for name in other.names {
            self.add(&[], &name);
        }
    }

    fn note(&self) -> Option<String> {
        let more = if self.more > 0 { format!(" and {} more", self.more) } else { String::new() };
        let names = self.names.join(", ");
        (!names.is_empty()).then(|| format!("These fields mean nothing here and were not read: {names}{more}."))
    }
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

    pub(crate) fn of_query(map: Map<String, Value>) -> Self {
        Self { map, is_query: true, ..Self::default() }
    }

    /// The fields that `read` asks for; that it cannot use an empty body does not matter.
    pub(crate) fn describe<T>(read: impl FnOnce(Self) -> T) -> Description {
        let description = Description::default();
        read(Self::described_by(description.clone()));
        description
    }

    /// An empty body that notes each read. Switches count as on, so that a reader also asks for what
    /// they switch.
    fn described_by(description: Description) -> Self {
        Self { description: Some(description), ..Self::default() }
    }

    fn note(&self, key: &str, schema: impl FnOnce() -> Value) {
        if let Some(description) = &self.description {
            description.note(key, schema);
        }
    }

    /// The value of a field; `None` where it is absent or null.
    pub(crate) fn take(&mut self, key: &str) -> Option<Value> {
        self.note(key, || json!({}));
        self.map.remove(key).filter(|value| !value.is_null())
    }

    /// Sets a field of a form.
    pub(crate) fn set(&mut self, key: &str, value: Value) {
        self.map.insert(key.to_owned(), value);
    }

    /// Notes that a field cannot be used.
    pub(crate) fn fault(&mut self, key: &str, sentence: impl Into<String>) {
        let field = self.path(&[key]);
        self.faults.push(Fault { field, sentence: sentence.into(), is_in_query: self.is_query });
    }

    /// Notes that a field is needed and not there, unless something is wrong with it already.
    pub(crate) fn missing(&mut self, key: &str) {
        if let Some(description) = &self.description {
            description.note_required(key);
        }
        let field = self.path(&[key]);
        if !self.faults.iter().any(|fault| fault.field == field) {
            self.fault(key, "It is missing.");
        }
    }

    pub(crate) fn text(&mut self, key: &str) -> Option<String> {
        self.note(key, text_schema);
        match self.take(key)? {
            Value::String(text) if text.chars().count() <= MAX_TEXT_CHARS => return Some(text),
            Value::String(_) => self.fault(key, format!("It has more than {MAX_TEXT_CHARS} characters.")),
            Value::Number(number) => return Some(number.to_string()),
            _ => self.fault(key, "It is not a text."),
        }
        None
    }

    /// A text, empty where there is none.
    pub(crate) fn prose(&mut self, key: &str) -> String {
        self.note(key, || with_default(text_schema(), ""));
        self.text(key).unwrap_or_default()
    }

    /// One of these words, in any case; the caller tells what is none of them.
    pub(crate) fn named_or(&mut self, key: &str, names: &[&str], usual: &str) -> String {
        self.note(key, || with_default(json!({"type": "string", "enum": names}), usual));
        self.word(key).unwrap_or_else(|| usual.to_owned()).to_ascii_lowercase()
    }

    /// A picture as its client sends it, which is not decoded.
    pub(crate) fn picture(&mut self, key: &str) -> Option<Value> {
        self.note(key, || Item::Picture.schema());
        self.take(key).filter(|value| value.as_str() != Some(""))
    }

    /// A text that is not empty.
    pub(crate) fn word(&mut self, key: &str) -> Option<String> {
        self.text(key).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    pub(crate) fn number(&mut self, key: &str) -> Option<f64> {
        self.note(key, || Item::Number.schema());
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

    pub(crate) fn decimal_or(&mut self, key: &str, usual: f32) -> f32 {
        self.note(key, || with_default(Item::Number.schema(), decimal(usual)));
        self.decimal(key).unwrap_or(usual)
    }

    /// A number from 0 on; what is below is not given.
    pub(crate) fn not_negative(&mut self, key: &str) -> Option<f32> {
        self.note(key, || json!({"type": "number", "minimum": 0}));
        self.decimal(key).filter(|number| *number >= 0.0)
    }

    /// A number that is brought within these limits, with a note.
    pub(crate) fn clamped(&mut self, key: &str, limits: RangeInclusive<f32>) -> Option<f32> {
        self.note(key, || decimal_schema(&limits));
        let asked = self.decimal(key)?;
        let used = asked.clamp(*limits.start(), *limits.end());
        if used != asked && self.limited.len() < MAX_UNREAD {
            self.limited.push(format!("{} is {used}", self.path(&[key]).join(".")));
        }
        Some(used)
    }

    pub(crate) fn clamped_or(&mut self, key: &str, limits: RangeInclusive<f32>, usual: f32) -> f32 {
        self.note(key, || with_default(decimal_schema(&limits), decimal(usual)));
        self.clamped(key, limits).unwrap_or(usual)
    }

    /// A whole number; a decimal that is one counts.
    pub(crate) fn whole(&mut self, key: &str) -> Option<i64> {
        self.note(key, || Item::Whole.schema());
        self.at_most(key, i64::MAX.into()).and_then(|number| i64::try_from(number).ok())
    }

    /// A seed; `None` also where it is negative, which is how clients ask for one that is drawn.
    pub(crate) fn seed(&mut self, key: &str) -> Option<Seed> {
        self.note(key, || json!({"type": "integer", "maximum": Seed::MAX.0}));
        self.at_most(key, u64::MAX.into()).and_then(|number| Seed::try_from(number).ok())
    }

    /// A whole number from `i64::MIN` to `largest`.
    fn at_most(&mut self, key: &str, largest: i128) -> Option<i128> {
        // Seeds have more digits than a decimal keeps.
        let digits = match self.map.get(key) {
            Some(Value::String(text)) => text.trim().parse().ok(),
            Some(Value::Number(number)) => number.as_i128(),
            _ => None,
        };
        let number = if let Some(digits) = digits {
            self.map.remove(key);
            digits
        } else {
            let number = self.number(key)?;
            if number.fract() != 0.0 {
                self.fault(key, "It is not a whole number.");
                return None;
            }
            number as i128
        };
        if number > largest {
            self.fault(key, format!("It must be at most {largest}."));
        } else if number < i128::from(i64::MIN) {
            self.fault(key, format!("It must be at least {}.", i64::MIN));
        } else {
            return Some(number);
        }
        None
    }

    pub(crate) fn whole_or(&mut self, key: &str, usual: i64) -> i64 {
        self.note(key, || with_default(Item::Whole.schema(), usual));
        self.whole(key).unwrap_or(usual)
    }

    /// A whole number within these limits.
    pub(crate) fn within(&mut self, key: &str, limits: RangeInclusive<u32>) -> Option<u32> {
        self.note(key, || whole_schema(&limits));
        let whole = self.whole(key)?;
        let found = u32::try_from(whole).ok().filter(|it| limits.contains(it));
        if found.is_none() {
            self.fault(key, format!("It must be from {} to {}.", limits.start(), limits.end()));
        }
        found
    }

    pub(crate) fn within_or(&mut self, key: &str, limits: RangeInclusive<u32>, usual: u32) -> u32 {
        self.note(key, || with_default(whole_schema(&limits), usual));
        self.within(key, limits).unwrap_or(usual)
    }

    /// Whether something is on; `usual`: where it is not said.
    pub(crate) fn switch(&mut self, key: &str, usual: bool) -> bool {
        self.note(key, || with_default(json!({"type": "boolean"}), usual));
        self.flag(key).unwrap_or(usual)
    }

    pub(crate) fn flag(&mut self, key: &str) -> Option<bool> {
        self.note(key, || json!({"type": "boolean"}));
        if self.description.is_some() {
            return Some(true);
        }
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
    pub(crate) fn list(&mut self, key: &str, item: Item) -> Vec<Value> {
        self.note(key, || json!({"type": "array", "items": item.schema()}));
        self.values(key)
    }

    fn values(&mut self, key: &str) -> Vec<Value> {
        match self.take(key) {
            Some(Value::Array(values)) => values,
            Some(value) => vec![value],
            None => Vec::new(),
        }
    }

    /// The fields inside a field; none where it is absent or something else.
    pub(crate) fn object(&mut self, key: &str) -> Self {
        if let Some(description) = &self.description {
            return Self::described_by(description.inside(key, false));
        }
        match self.take(key) {
            Some(Value::Object(map)) => self.inner(&[key], map),
            found => {
                // An empty list is how PHP writes an object without fields.
                if found.is_some_and(|value| value.as_array().is_none_or(|list| !list.is_empty())) {
                    self.ignore(key);
                }
                self.inner(&[key], Map::new())
            }
        }
    }

    /// The fields of each object of a list; one object counts as a list of it.
    pub(crate) fn objects(&mut self, key: &str) -> Vec<Self> {
        if let Some(description) = &self.description {
            return vec![Self::described_by(description.inside(key, true))];
        }
        let values = self.values(key);
        if values.len() > MAX_OBJECTS {
            self.fault(key, format!("There are more than {MAX_OBJECTS}."));
            return Vec::new();
        }
        let mut found = Vec::new();
        for (index, value) in values.into_iter().enumerate() {
            match value {
                Value::Object(map) => found.push(self.inner(&[key, &index.to_string()], map)),
                Value::Null => {}
                _ => self.ignore(&format!("{key}.{index}")),
            }
        }
        found
    }

    /// The fields of a map that was found below these keys.
    pub(crate) fn inner(&self, keys: &[&str], map: Map<String, Value>) -> Self {
        Self { map, inside: self.path(keys), ..Self::default() }
    }

    fn path(&self, keys: &[&str]) -> Vec<String> {
        self.inside.iter().cloned().chain(keys.iter().map(|key| (*key).to_owned())).collect()
    }

    /// The names of the fields that are called so, in any case.
    pub(crate) fn spelled(&self, key: &str) -> Vec<String> {
        if self.description.is_some() {
            return vec![key.to_owned()];
        }
        self.map.keys().filter(|name| name.eq_ignore_ascii_case(key)).cloned().collect()
    }

    /// Names a field as unread whose value was taken and is of no use.
    pub(crate) fn ignore(&mut self, key: &str) {
        self.unread.add(&self.inside, key);
    }

    /// Removes fields that change nothing here, so that they are not named as unread.
    pub(crate) fn leave(&mut self, keys: &[&str]) {
        for key in keys {
            self.map.remove(*key);
        }
    }

    /// Removes those of the fields that have the value that clients send where nobody chose.
    pub(crate) fn leave_usual(&mut self, usual: &[(&str, Value)]) {
        for (key, usual) in usual {
            let is_usual = |found: &Value| found == usual || (usual.is_number() && found.as_f64() == usual.as_f64());
            if self.map.get(*key).is_some_and(is_usual) {
                self.map.remove(*key);
            }
        }
    }

    /// Forgets all of it, where it has no effect because a switch is off.
    pub(crate) fn leave_all(&mut self) {
        self.map.clear();
        self.faults.clear();
        self.unread = Unread::default();
        self.limited.clear();
    }

    /// Takes over what was wrong in the fields of a field, and what nobody read there.
    pub(crate) fn close(&mut self, inner: Self) {
        let (faults, unread, limited) = inner.into_parts();
        self.faults.extend(faults);
        self.unread.add_all(unread);
        let room = MAX_UNREAD.saturating_sub(self.limited.len());
        self.limited.extend(limited.into_iter().take(room));
    }

    fn into_parts(self) -> (Vec<Fault>, Unread, Vec<String>) {
        let Self { map, inside, faults, mut unread, limited, .. } = self;
        for (key, _) in map.iter().filter(|(_, value)| !value.is_null()) {
            unread.add(&inside, key);
        }
        (faults, unread, limited)
    }

    /// Where nothing was wrong, the note on what nobody read and what was brought within limits.
    pub(crate) fn finish(self) -> Result<Option<String>, Failure> {
        let (faults, unread, limited) = self.into_parts();
        if !faults.is_empty() {
            return Err(Failure::Invalid(faults));
        }
        let limited = (!limited.is_empty()).then(|| format!("Brought within limits: {}.", limited.join(", ")));
        let notes: Vec<String> = unread.note().into_iter().chain(limited).collect();
        Ok((!notes.is_empty()).then(|| notes.join(" ")))
    }
}

fn text_schema() -> Value {
    json!({"type": "string", "maxLength": MAX_TEXT_CHARS})
}

fn whole_schema(limits: &RangeInclusive<u32>) -> Value {
    json!({"type": "integer", "minimum": limits.start(), "maximum": limits.end()})
}

fn decimal_schema(limits: &RangeInclusive<f32>) -> Value {
    json!({"type": "number", "minimum": decimal(*limits.start()), "maximum": decimal(*limits.end())})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_switches_are_read_as_clients_send_them() {
        let body = br#"{"a": 2.0, "b": "7", "c": null, "d": 1, "e": "true", "f": 9007199254740993, "g": "x", "h": 1.5, "i": 5000, "j": {},
            "k": " 9007199254740993", "l": 18446744073709551615, "m": "18446744073709551615", "n": 18446744073709551615,
            "o": " 9223372036854775808", "p": -1, "q": "-1", "r": 7.0, "s": 18446744073709551616, "t": "1e30",
            "u": -1e30, "v": "-9223372036854775809"}"#;
        let mut it = Fields::read(body).unwrap();
        assert_eq!((it.whole("a"), it.whole("b"), it.whole("c"), it.whole("absent")), (Some(2), Some(7), None, None));
        assert_eq!((it.flag("d"), it.flag("e")), (Some(true), Some(true)));
        assert_eq!([it.whole("f"), it.whole("k")], [Some(9_007_199_254_740_993); 2], "seeds keep every digit");
        assert_eq!((it.number("g"), it.whole("h"), it.within("i", 1..=150), it.text("j")), (None, None, None, None));
        assert_eq!([it.whole("l"), it.whole("m")], [None; 2], "no other number in its place");
        assert_eq!(["n", "o"].map(|key| it.seed(key)), [Some(Seed::MAX), Some(Seed(1 << 63))]);
        assert_eq!(["p", "q", "r", "absent"].map(|key| it.seed(key)), [None, None, Some(Seed(7)), None]);
        assert_eq!(["s", "t"].map(|key| it.seed(key)), [None; 2], "no other seed in its place");
        assert_eq!([it.whole("u"), it.whole("v")], [None; 2], "nor one in place of one that is too small");
        let Err(Failure::Invalid(faults)) = it.finish() else { panic!("nothing was refused") };
        assert_eq!(faults.iter().map(|it| it.field.join(".")).collect::<Vec<_>>(), ["g", "h", "i", "j", "l", "m", "s", "t", "u", "v"]);
        assert!(faults[4..6].iter().all(|it| it.sentence == "It must be at most 9223372036854775807."));
        assert!(faults[6..8].iter().all(|it| it.sentence == "It must be at most 18446744073709551615."));
        assert!(faults[8..].iter().all(|it| it.sentence == "It must be at least -9223372036854775808."));
    }

    #[test]
    fn what_nobody_read_is_named_without_its_value_and_nothing_else_is() {
        let body =
            br#"{"seed": 7, "auth": "user:secret", "absent": null, "s_noise": 1.0, "off": true, "inner": {"read": 1, "deep": {"x": 1}},
            "list": [{"a": 1, "b": 2}, "wrong"], "wrong": "text", "none": []}"#;
        let mut it = Fields::read(body).unwrap();
        assert_eq!(it.whole("seed"), Some(7));
        it.leave_usual(&[("s_noise", Value::from(1)), ("off", Value::from(false))]);
        let mut inner = it.object("inner");
        assert_eq!(inner.whole("read"), Some(1));
        it.close(inner);
        for mut object in it.objects("list") {
            assert_eq!(object.whole("a"), Some(1));
            it.close(object);
        }
        for key in ["wrong", "none"] {
            let object = it.object(key);
            it.close(object);
        }
        let note = it.finish().unwrap().unwrap();
        let (_, names) = note.trim_end_matches('.').split_once(": ").unwrap();
        let mut names: Vec<&str> = names.split(", ").collect();
        names.sort_unstable();
        assert_eq!(names, ["auth", "inner.deep", "list.0.b", "list.1", "off", "wrong"]);
        assert!(!note.contains("secret"), "{note}");
    }

    #[test]
    fn a_note_on_what_nobody_read_stays_short() {
        let map = (0..1000).map(|index| (format!("{index}{}", "\u{1b}x".repeat(1000)), Value::from(1))).collect();
        let note = Fields::of(map).finish().unwrap().unwrap();
        assert!(note.ends_with("and 984 more.") && note.chars().count() < 1200, "{note}");
        assert!(!note.contains('\u{1b}'), "{note}");
        assert_eq!(Fields::default().finish().unwrap(), None);
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
