//! Values of flags, read from what was typed; an error says what to write.

use atelier_core::recipe::{GuidanceRange, Lora, LoraStrengths, SHARE, Seed, read_seed, split_part_of_steps};

/// Bytes of a number of GiB.
pub(super) fn gib(text: &str) -> Result<u64, String> {
    const GIB: f64 = (1_u64 << 30) as f64;
    let number = text.parse().ok().filter(|value: &f64| (1e-6..=1e6).contains(value));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and far below the largest number")]
    number.map(|number| (number * GIB) as u64).ok_or_else(|| "write a number of GiB, as 6 or 0.5".to_owned())
}

pub(super) fn finite(text: &str) -> Result<f32, String> {
    text.parse().ok().filter(|value: &f32| value.is_finite()).ok_or_else(|| "write a number".to_owned())
}

/// A seed that is not drawn at random.
pub(super) fn known_seed(text: &str) -> Result<Seed, String> {
    read_seed(text)?.0.ok_or_else(|| "write a whole number that is not negative".to_owned())
}

pub(super) fn unit(text: &str) -> Result<f32, String> {
    finite(text).ok().filter(|value| SHARE.contains(value)).ok_or_else(|| "write a number from 0 to 1".to_owned())
}

/// `FILE`, `FILE:STRENGTH` or `FILE:ENCODER:STRENGTH`, as tags have them, with `@0.2-0.8` behind it
/// for a part of the steps. A colon that no number follows belongs to the file's name, as in
/// `C:\ink.safetensors`, and so does an `@` that no range follows.
pub(super) fn lora(text: &str) -> Result<Lora, String> {
    let Some((text, part)) = split_part_of_steps(text) else { return lora_in_all_steps(text) };
    let (start, end) = checked_part(part)?;
    Ok(Lora { start, end, ..lora_in_all_steps(text)? })
}

/// `GUIDANCE@0.2-0.8`.
pub(super) fn guidance_range(text: &str) -> Result<GuidanceRange, String> {
    let range = GuidanceRange::parse(text).ok_or("write the guidance and the part of the steps, as 3@0.2-0.8")?;
    checked_part((range.start, range.end))?;
    Ok(range)
}

/// A start and an end of which some steps lie between.
fn checked_part((start, end): (f32, f32)) -> Result<(f32, f32), String> {
    let is_part = SHARE.contains(&start) && SHARE.contains(&end) && start < end;
    let wrong = || "write the part of the steps as two numbers from 0 to 1, as @0.2-0.8".to_owned();
    is_part.then_some((start, end)).ok_or_else(wrong)
}

fn lora_in_all_steps(text: &str) -> Result<Lora, String> {
    let number = |text: &'_ str| text.rsplit_once(':').and_then(|(rest, number)| Some((rest.to_owned(), finite(number).ok()?)));
    let (path, strengths) = match number(text) {
        None => (text.to_owned(), LoraStrengths::same(1.0)),
        Some((rest, strength)) => match number(&rest) {
            None => (rest, LoraStrengths::same(strength)),
            Some((path, encoder)) => (path, LoraStrengths::new(strength, encoder)),
        },
    };
    if path.is_empty() {
        return Err("name a file".to_owned());
    }
    Ok(Lora::with_strengths(path.into(), strengths))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guidance_has_a_part_of_the_steps() {
        assert_eq!(guidance_range("3.5@0.2-0.8"), Ok(GuidanceRange { guidance: 3.5, start: 0.2, end: 0.8 }));
        for wrong in ["3", "3@", "@0.2-0.8", "x@0.2-0.8", "3@0.8-0.2", "3@0-2", "3@0.5"] {
            assert!(guidance_range(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_lora_is_a_file_and_perhaps_a_strength() {
        let read = |text| lora(text).map(|it| (it.path.to_str().unwrap().to_owned(), it.strength));
        assert_eq!(read("ink.safetensors"), Ok(("ink.safetensors".into(), 1.0)));
        assert_eq!(read("a/ink.safetensors:0.5"), Ok(("a/ink.safetensors".into(), 0.5)));
        assert_eq!(read(r"C:\ink.safetensors"), Ok((r"C:\ink.safetensors".into(), 1.0)));
        assert_eq!(read(r"C:\ink.safetensors:-1"), Ok((r"C:\ink.safetensors".into(), -1.0)));
        assert!(read("").is_err() && read(":0.5").is_err());
    }

    #[test]
    fn a_lora_may_have_a_part_of_the_steps() {
        let read = |text| lora(text).map(|it| (it.path.to_str().unwrap().to_owned(), it.strength, it.start, it.end));
        assert_eq!(read("ink.safetensors@0.2-0.8"), Ok(("ink.safetensors".into(), 1.0, 0.2, 0.8)));
        assert_eq!(read("a@b/ink.safetensors:0.5:-1@0-0.4"), Ok(("a@b/ink.safetensors".into(), -1.0, 0.0, 0.4)));
        for name in ["ink@2.safetensors", "ink@0.2-0.8.safetensors", "ink@", "ink@x-y", "ink@1-"] {
            assert_eq!(read(name), Ok((name.to_owned(), 1.0, 0.0, 1.0)));
        }
        for wrong in ["ink@0.8-0.2", "ink@0-2", "ink@0.5-0.5", "ink@NaN-1", "@0-1"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_that_are_none_are_refused() {
        assert!(finite("nan").is_err() && finite("inf").is_err() && finite("x").is_err());
        assert!(unit("1.01").is_err() && unit("-0.1").is_err());
        assert_eq!(unit("1"), Ok(1.0));
        assert_eq!(["7", "18446744073709551615"].map(known_seed), [Ok(Seed(7)), Ok(Seed::MAX)]);
        assert!(["-1", "x", "18446744073709551616"].iter().all(|text| known_seed(text).is_err()));
    }
}
