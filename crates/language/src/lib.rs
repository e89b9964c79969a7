//! What a person reads, in their language.
//!
//! Texts are Fluent's, in `texts/LANGUAGE/PART.ftl`. The language is one for the process, since a
//! person reads one at a time; without a choice it is English, as on the command line. What a
//! language lacks is said in English.

#[cfg(test)]
#[path = "../../../tests/support/fluent.rs"]
mod fluent;
mod language;
mod texts;

pub use language::{Language, choose_language, chosen_language};
pub use texts::{catalogue_english, catalogue_text, decimal, english, kind_text, text, text_with};

/// The text of an id in the chosen language: `&'static str`, or `String` where it has variables.
///
/// Values are shown as `Display` shows them, but for decimals: those are written as in the language
/// ([`decimal`]). A value that is a whole number selects plural forms.
#[macro_export]
macro_rules! tr {
    ($id:literal) => {
        $crate::text($id)
    };
    ($id:literal, $($name:ident $(= $value:expr)?),+ $(,)?) => {
        $crate::text_with($id, &[$((stringify!($name), $crate::value_of!($name $(, $value)?))),+])
    };
}

/// A value that [`tr!`] was given by its name alone, or with an expression.
#[doc(hidden)]
#[macro_export]
macro_rules! value_of {
    ($name:ident) => {
        &$name as &dyn std::fmt::Display
    };
    ($name:ident, $value:expr) => {
        &$value as &dyn std::fmt::Display
    };
}
