//! Lists and ranges of values as they are typed.

use super::GridError;
use atelier_language::tr;

/// Values of an axis: more are no comparison.
pub(super) const MAX_VALUES: usize = 200;

/// Which numbers ranges have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ranges {
    /// There are none: what looks like one is text.
    Never,
    Whole,
    Real,
}

/// The values of a text: separated by commas outside of quotes and brackets; in quotes as they are.
/// `1..4` are whole numbers, `0..1/5` five numbers from 0 to 1, `10..50+20` every twentieth.
pub(super) fn values(text: &str, ranges: Ranges) -> Result<Vec<String>, GridError> {
    let mut all = Vec::new();
    for part in split(text) {
        match range(&part, ranges == Ranges::Whole).filter(|_| ranges != Ranges::Never) {
            Some(numbers) => all.extend(numbers?),
            None if part.is_empty() => {}
            None => all.push(unquoted(&part)),
        }
        if all.len() > MAX_VALUES {
            return Err(too_many());
        }
    }
    if all.is_empty() { Err(GridError::new(tr!("core-an-axis-needs-values"))) } else { Ok(all) }
}

/// Why there are no more values than [`MAX_VALUES`].
pub(super) fn too_many() -> GridError {
    GridError::new(tr!("core-an-axis-has-values-at-most", max_values = MAX_VALUES))
}

/// Of a range with more numbers than an axis has values: its step is too small.
fn too_narrow() -> GridError {
    GridError::new(tr!("core-an-axis-has-values", max_values = MAX_VALUES))
}

/// The parts between commas. A bracket or a quote that is never closed is a letter.
fn split(text: &str) -> Vec<String> {
    let closing = |open: char| match open {
        '{' => Some('}'),
        '[' => Some(']'),
        '(' => Some(')'),
        '"' => Some('"'),
        _ => None,
    };
    let mut parts = vec![String::new()];
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        if letter == ',' {
            parts.push(String::new());
            continue;
        }
        let Some(part) = parts.last_mut() else { continue };
        part.push(letter);
        let Some(close) = closing(letter) else { continue };
        let mut depth = 1_usize;
        let inside = rest.as_str().char_indices().find_map(|(at, next)| {
            depth = if next == close { depth - 1 } else { depth + usize::from(next == letter) };
            (depth == 0).then_some(at + next.len_utf8())
        });
        if let Some((inside, after)) = inside.and_then(|end| rest.as_str().split_at_checked(end)) {
            part.push_str(inside);
            rest = after.chars();
        }
    }
    parts.iter().map(|part| part.trim().to_owned()).collect()
}

fn unquoted(part: &str) -> String {
    let inside = part.strip_prefix('"').and_then(|part| part.strip_suffix('"')).filter(|inside| !inside.contains('"'));
    inside.unwrap_or(part).to_owned()
}

/// The numbers of a range; `None` where the text is none.
fn range(text: &str, whole: bool) -> Option<Result<Vec<String>, GridError>> {
    let (from, rest) = text.split_once("..")?;
    let (to, count, step) = match (rest.split_once('/'), rest.split_once('+')) {
        (Some((to, count)), _) => (to, Some(count.trim().parse::<usize>().ok()?), None),
        (None, Some((to, step))) => (to, None, Some(step.trim().parse::<f64>().ok()?)),
        (None, None) => (rest, None, None),
    };
    match (ends_of_digits(from, to).filter(|_| whole), count, whole_step(step)) {
        (Some(ends), Some(count), _) => return Some(spread(ends, count)),
        (Some(ends), None, Some(step)) => return Some(every(ends, step)),
        _ => {}
    }
    let (from, to) = (from.trim().parse::<f64>().ok()?, to.trim().parse::<f64>().ok()?);
    if !(from.is_finite() && to.is_finite()) {
        return None;
    }
    Some(numbers(from, to, count, step, whole))
}

fn numbers(from: f64, to: f64, count: Option<usize>, step: Option<f64>, whole: bool) -> Result<Vec<String>, GridError> {
    let all: Vec<f64> = if let Some(count) = count {
        check_count(count)?;
        (0..count).map(|index| from + (to - from) * index as f64 / (count - 1) as f64).collect()
    } else {
        let step = step.unwrap_or(1.0).abs();
        let steps = if step > 0.0 { ((to - from).abs() / step + 1e-9).floor() } else { f64::INFINITY };
        if steps >= MAX_VALUES as f64 {
            return Err(too_narrow());
        }
        let signed = if to < from { -step } else { step };
        (0..=steps as usize).map(|index| from + signed * index as f64).collect()
    };
    let mut texts: Vec<String> = all.into_iter().map(|value| if whole { number(value.round()) } else { number(value) }).collect();
    texts.dedup();
    Ok(texts)
}

/// Ends that may have more digits than a float keeps, as seeds have.
fn ends_of_digits(from: &str, to: &str) -> Option<(u64, u64)> {
    Some((from.trim().parse().ok()?, to.trim().parse().ok()?))
}

/// The step between such numbers; `None` where it is no whole number above 0.
fn whole_step(step: Option<f64>) -> Option<usize> {
    let step = step.unwrap_or(1.0).abs();
    (step.fract() == 0.0 && (1.0..=f64::from(u32::MAX)).contains(&step)).then_some(step as usize)
}

/// So many numbers from one end to the other, each the nearest whole one.
fn spread((from, to): (u64, u64), count: usize) -> Result<Vec<String>, GridError> {
    check_count(count)?;
    let (least, distance, gaps) = (from.min(to), u128::from(from.abs_diff(to)), count as u128 - 1);
    let at = |index: u128| least + ((2 * distance * index + gaps) / (2 * gaps)) as u64;
    let mut texts: Vec<String> = (0..=gaps).map(|index| at(if to < from { gaps - index } else { index }).to_string()).collect();
    texts.dedup();
    Ok(texts)
}

/// Numbers from one end towards the other, with this step between them.
fn every((from, to): (u64, u64), step: usize) -> Result<Vec<String>, GridError> {
    let distance = from.abs_diff(to);
    if distance / step as u64 >= MAX_VALUES as u64 {
        return Err(too_narrow());
    }
    let at = |by: u64| if to < from { from - by } else { from + by };
    Ok((0..=distance).step_by(step).map(|by| at(by).to_string()).collect())
}

fn check_count(count: usize) -> Result<(), GridError> {
    let is_possible = (2..=MAX_VALUES).contains(&count);
    if is_possible { Ok(()) } else { Err(GridError::new(tr!("core-a-range-has-2", max_values = MAX_VALUES))) }
}

/// A number with as few digits as tell it from its neighbours in a range.
fn number(value: f64) -> String {
    let text = format!("{value:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lists_and_ranges_are_read_as_they_are_meant() {
        let read = |text: &str| values(text, Ranges::Real).unwrap().join(" ");
        for (text, expected) in [
            ("4,8,16", "4 8 16"),
            ("1..20/5", "1 5.75 10.5 15.25 20"),
            ("1..4", "1 2 3 4"),
            ("4..1", "4 3 2 1"),
            ("10..50+20", "10 30 50"),
            ("0..1/5", "0 0.25 0.5 0.75 1"),
            ("-1..1/3", "-1 0 1"),
            ("0.5..2+0.5", "0.5 1 1.5 2"),
            ("euler, heun ,", "euler heun"),
            ("1..x", "1..x"),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
        assert_eq!(values("1..20/5", Ranges::Whole).unwrap().join(" "), "1 6 11 15 20");
        assert_eq!(values("1..2/9, 7", Ranges::Whole).unwrap().join(" "), "1 2 7");
        assert_eq!(values("4..1/3, 9..1+4", Ranges::Whole).unwrap().join(" "), "4 3 1 9 5 1");
        let largest = "18446744073709551611..18446744073709551615";
        assert_eq!(values(&format!("{largest}/3"), Ranges::Whole).unwrap()[1], "18446744073709551613");
        assert_eq!(values("\"a lake, still\", (a, b:1.2),{\"scale\":2,\"steps\":3}", Ranges::Real).unwrap().len(), 3);
        assert_eq!(values("a (dog, cat", Ranges::Never).unwrap(), ["a (dog", "cat"]);
        assert_eq!(values("1..4", Ranges::Never).unwrap(), ["1..4"], "words are no range");
        for wrong in ["", " , ", "1..1000000", "1..2/1", "1..2+0", "1..9/100000"] {
            assert!(values(wrong, Ranges::Real).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_fault_and_bounded(text in ".{0,120}", is_whole in any::<bool>()) {
            if let Ok(values) = values(&text, if is_whole { Ranges::Whole } else { Ranges::Real }) {
                prop_assert!(!values.is_empty() && values.len() <= MAX_VALUES);
            }
        }

        #[test]
        fn a_range_has_its_ends_and_goes_one_way(from in -1000_i32..1000, to in -1000_i32..1000, count in 2_usize..50) {
            let numbers: Vec<i32> = values(&format!("{from}..{to}/{count}"), Ranges::Whole).unwrap().iter().map(|it| it.parse().unwrap()).collect();
            prop_assert_eq!((numbers.first(), numbers.last()), (Some(&from), Some(&to)));
            prop_assert!(numbers.is_sorted() || numbers.is_sorted_by(|a, b| a >= b));
        }
    }
}
