//! Seeds, and start noise between those of two.

use std::fmt;
use std::num::{ParseIntError, TryFromIntError};
use std::str::FromStr;

use atelier_language::tr;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A seed: 64 bits without sign, and every one of them can be used. The generator `cuda` (Philox)
/// reads all bits, the others the last 32 alone.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seed(pub u64);

impl Seed {
    /// The largest one.
    pub const MAX: Self = Self(u64::MAX);

    /// The seed that lies this many after this one. After the last one comes 0.
    #[must_use]
    pub const fn after(self, by: u64) -> Self {
        Self(self.0.wrapping_add(by))
    }

    /// The seed that lies this many before this one. Before 0 comes the last one.
    #[must_use]
    pub const fn before(self, by: u64) -> Self {
        Self(self.0.wrapping_sub(by))
    }

    /// Its bits as a number with sign, for what has no other: the engine and `SQLite`.
    #[must_use]
    pub const fn bits(self) -> i64 {
        self.0.cast_signed()
    }

    /// The seed of these bits.
    #[must_use]
    pub const fn from_bits(bits: i64) -> Self {
        Self(bits.cast_unsigned())
    }
}

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// As a number: what differs between pictures is listed in this form.
impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl TryFrom<i128> for Seed {
    type Error = TryFromIntError;

    fn try_from(number: i128) -> Result<Self, Self::Error> {
        u64::try_from(number).map(Self)
    }
}

impl FromStr for Seed {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

/// A seed, or none, as one number, as files, command lines and other programs have it: -1 where the
/// seed is drawn at random, or nobody knows it. Read, every negative number is that, and so is null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeedNumber(pub Option<Seed>);

impl SeedNumber {
    const NONE: i64 = -1;
}

impl fmt::Display for SeedNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(seed) => fmt::Display::fmt(&seed, f),
            None => fmt::Display::fmt(&Self::NONE, f),
        }
    }
}

impl FromStr for SeedNumber {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.parse::<i64>() {
            Ok(number) => Ok(Self(u64::try_from(number).ok().map(Seed))),
            Err(_) => text.parse().map(|seed| Self(Some(seed))),
        }
    }
}

impl Serialize for SeedNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(seed) => seed.serialize(serializer),
            None => serializer.serialize_i64(Self::NONE),
        }
    }
}

impl<'de> Deserialize<'de> for SeedNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberVisitor)
    }
}

struct NumberVisitor;

impl Visitor<'_> for NumberVisitor {
    type Value = SeedNumber;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number up to {}", Seed::MAX)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<SeedNumber, E> {
        Ok(SeedNumber(Some(Seed(number))))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<SeedNumber, E> {
        Ok(SeedNumber(u64::try_from(number).ok().map(Seed)))
    }

    fn visit_unit<E: Error>(self) -> Result<SeedNumber, E> {
        Ok(SeedNumber(None))
    }
}

/// Reads a seed; a negative one is drawn at random.
///
/// # Errors
/// What to write, as the end of a sentence.
pub fn read_seed(text: &str) -> Result<SeedNumber, String> {
    text.parse().map_err(|_| tr!("core-write-a-whole-number-up", most = Seed::MAX))
}

/// The start noise of a picture, turned towards that of another seed: neighbours of a picture that
/// is liked.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SeedBlend {
    /// The other seed.
    #[serde(deserialize_with = "at_least_zero")]
    pub seed: Seed,
    /// 0: the picture's own noise; 1: the other one's. Spherical interpolation lies between.
    pub amount: f32,
}

impl Default for SeedBlend {
    fn default() -> Self {
        Self { seed: Seed(0), amount: 0.2 }
    }
}

/// A seed of a file; one written with a sign is 0, as it always was here.
fn at_least_zero<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Seed, D::Error> {
    SeedNumber::deserialize(deserializer).map(|number| number.0.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read(value: serde_json::Value) -> Option<SeedNumber> {
        serde_json::from_value(value).ok()
    }

    #[test]
    fn after_the_last_seed_comes_zero() {
        assert_eq!([Seed(7).after(1), Seed::MAX.after(1), Seed(u64::MAX - 1).after(3)], [Seed(8), Seed(0), Seed(1)]);
        assert_eq!([Seed(i64::MAX.unsigned_abs()).after(1), Seed(0).before(1)], [Seed(1 << 63), Seed::MAX]);
    }

    #[test]
    fn every_seed_is_read_and_a_larger_number_is_refused() {
        let read = ["-1", "7", "9223372036854775808", "18446744073709551615", "-9223372036854775808"].map(read_seed);
        assert_eq!(read, [None, Some(Seed(7)), Some(Seed(1 << 63)), Some(Seed::MAX), None].map(|seed| Ok(SeedNumber(seed))));
        let most = "write a whole number up to 18446744073709551615";
        assert_eq!(["18446744073709551616", "many", "", "1.5"].map(read_seed), [(); 4].map(|()| Err(most.to_owned())));
    }

    #[test]
    fn what_files_of_before_have_for_a_random_seed_is_none() {
        for value in [json!(-1), json!(i64::MIN), json!(null)] {
            assert_eq!(read(value), Some(SeedNumber(None)));
        }
        for value in [json!(1.5), json!(1e300), json!("7"), json!(true)] {
            assert_eq!(read(value.clone()), None, "{value}");
        }
        assert_eq!(serde_json::from_str::<SeedNumber>("18446744073709551616").ok(), None);
        let blend: SeedBlend = serde_json::from_value(json!({"seed": -4, "amount": 0.5})).unwrap();
        assert_eq!(blend, SeedBlend { seed: Seed(0), amount: 0.5 });
    }

    proptest! {
        #[test]
        fn a_seed_survives_every_form(seed in prop_oneof![any::<u64>(), Just(u64::MAX), Just(1_u64 << 63)], is_known in any::<bool>()) {
            let (own, number) = (Seed(seed), SeedNumber(is_known.then_some(Seed(seed))));
            prop_assert_eq!(own.to_string().parse::<Seed>(), Ok(own));
            prop_assert_eq!(number.to_string().parse::<SeedNumber>(), Ok(number));
            prop_assert_eq!(Seed::from_bits(own.bits()), own);
            prop_assert_eq!(own.after(9).before(9), own);
            prop_assert_eq!(serde_json::to_string(&own).unwrap(), seed.to_string());
            prop_assert_eq!(serde_json::from_str::<SeedNumber>(&serde_json::to_string(&number).unwrap()).unwrap(), number);
            prop_assert_eq!(read(serde_json::to_value(number).unwrap()), Some(number));
        }
    }
}
