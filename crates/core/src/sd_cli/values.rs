//! Values as sd-cli writes them. Errors are the end of a sentence.

use std::fmt;
use std::str::FromStr;

use atelier_language::tr;

use crate::recipe::Person;

/// `AxB`, or `A` for both.
pub(super) fn sides<T>(text: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<(T, T), String> {
    let (width, height) = text.split_once(['x', 'X']).unwrap_or((text, text));
    Ok((read(width.trim())?, read(height.trim())?))
}

pub(super) fn above_zero(text: &str) -> Result<u32, String> {
    text.parse().ok().filter(|number| *number > 0).ok_or_else(|| tr!("core-write-a-whole-number").to_owned())
}

/// 0 or less is the default.
pub(super) fn whole(text: &str) -> Result<Option<u32>, String> {
    let number: i64 = text.parse().map_err(|_| tr!("core-write-any-whole-number").to_owned())?;
    if number <= 0 { Ok(None) } else { u32::try_from(number).map(Some).map_err(|_| tr!("core-write-a-smaller-number").to_owned()) }
}

pub(super) fn finite(text: &str) -> Result<f32, String> {
    text.parse().ok().filter(|number: &f32| number.is_finite()).ok_or_else(|| tr!("core-write-a-number").to_owned())
}

/// Reads numbers that are separated by commas, in square brackets or not.
///
/// # Errors
/// A sentence's end, where one is no number of this kind.
pub fn numbers<T: FromStr>(text: &str) -> Result<Vec<T>, String> {
    let inner = text.trim().trim_start_matches('[').trim_end_matches(']');
    let parts = inner.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts.map(|part| part.parse().map_err(|_| tr!("core-write-numbers-separated-by", part))).collect()
}

pub(super) fn percent(text: &str) -> Result<f32, String> {
    let number = finite(text)?;
    if Person::STYLE_STRENGTHS.contains(&number) { Ok(number) } else { Err(tr!("core-write-a-number-from").to_owned()) }
}

pub(super) fn named<T: FromStr<Err: fmt::Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}
