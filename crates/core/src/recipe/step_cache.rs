//! Step caches: parts of a step that are taken from the step before it where little changed.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use atelier_language::tr;
use serde::{Deserialize, Serialize};

use super::CacheMode;

/// Numbers of a mask; no picture has more steps.
const MAX_MASK: usize = 1000;

impl CacheMode {
    /// True where a mask says which steps may be reused: those that work block by block
    /// (`init_cachedit_runtime`).
    #[must_use]
    pub const fn has_mask(self) -> bool {
        matches!(self, Self::DbCache | Self::TaylorSeer | Self::CacheDit)
    }
}

/// A step cache: quicker, and another picture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepCache {
    /// What is reused.
    pub mode: CacheMode,
    /// Values of [`StepCache::OPTIONS`] that are not the engine's own, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, f32>,
    /// Steps that are computed in any case (1) and those that may be reused (0), for the modes that
    /// work block by block; empty: the engine's own choice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mask: Vec<bool>,
    /// Steps of the mask are reused without a look at how much changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_mask_static: bool,
}

impl StepCache {
    /// Names of the options as sd-cli's `--cache-option` has them, with their values. What they do
    /// is in the engine's `sample-cache.cpp`.
    pub const OPTIONS: [(&str, RangeInclusive<f32>); 17] = [
        ("threshold", 0.0..=100.0),
        ("start", 0.0..=0.99),
        ("end", 0.01..=1.0),
        ("decay", 0.0..=1.0),
        ("relative", 0.0..=1.0),
        ("reset", 0.0..=1.0),
        ("Fn", 0.0..=1000.0),
        ("Bn", 0.0..=1000.0),
        ("warmup", 0.0..=1000.0),
        ("derivatives", 0.0..=4.0),
        ("interval", 1.0..=1000.0),
        ("w", 0.0..=1.0),
        ("m", 1.0..=16.0),
        ("lam", 0.0..=1000.0),
        ("window", 1.0..=100.0),
        ("flex", 0.0..=100.0),
        ("stop", 0.0..=1.0),
    ];

    /// With the engine's own values.
    #[must_use]
    pub const fn of(mode: CacheMode) -> Self {
        Self { mode, options: BTreeMap::new(), mask: Vec::new(), is_mask_static: false }
    }

    /// The value of an option, where it has one of its own.
    #[must_use]
    pub fn option(&self, name: &str) -> Option<f32> {
        self.options.get(name).copied()
    }

    /// Reads options as sd-cli has them: `threshold=0.25,start=0.1`.
    ///
    /// # Errors
    /// A sentence's end, on the first that is no option.
    pub fn read_options(text: &str) -> Result<BTreeMap<String, f32>, String> {
        let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
        let read = |pair: &str| {
            let (name, value) = pair.split_once('=').ok_or_else(|| tr!("core-write-name-value-in", pair))?;
            let (name, _) = Self::OPTIONS
                .iter()
                .find(|(own, _)| own.eq_ignore_ascii_case(name.trim()))
                .ok_or_else(|| tr!("core-is-not-one-of", name, known = Self::OPTIONS.map(|(name, _)| name).join(", ")))?;
            let value = value.trim().parse().ok().filter(|value: &f32| value.is_finite());
            Ok(((*name).to_owned(), value.ok_or_else(|| tr!("core-write-a-number-for", name))?))
        };
        pairs.map(read).collect()
    }

    /// The options as sd-cli reads them.
    #[must_use]
    pub fn options_text(&self) -> String {
        self.options.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(",")
    }

    /// Reads a mask as sd-cli has it: `1,1,0`.
    ///
    /// # Errors
    /// A sentence's end, where it has other signs.
    pub fn read_mask(text: &str) -> Result<Vec<bool>, String> {
        let steps = text.split([',', ' ']).filter(|step| !step.is_empty()).map(|step| match step {
            "1" => Ok(true),
            "0" => Ok(false),
            _ => Err(tr!("core-write-1-computed-and").to_owned()),
        });
        steps.collect()
    }

    /// The mask as sd-cli reads it.
    #[must_use]
    pub fn mask_text(&self) -> String {
        self.mask.iter().map(|computed| if *computed { "1" } else { "0" }).collect::<Vec<_>>().join(",")
    }

    /// Brings what is in it into its limits; calls `changed` with the name, the value used and the
    /// one asked for.
    pub(super) fn limit(&mut self, mut changed: impl FnMut(&str, String, String)) {
        self.options.retain(|name, value| {
            let Some((_, range)) = Self::OPTIONS.iter().find(|(own, _)| own == name) else {
                changed(&tr!("core-of-the-step-cache", name), "nothing".to_owned(), value.to_string());
                return false;
            };
            let used = if value.is_finite() { value.clamp(*range.start(), *range.end()) } else { *range.start() };
            if used.to_bits() != value.to_bits() && used != *value {
                changed(&tr!("core-of-the-step-cache", name), used.to_string(), value.to_string());
                *value = used;
            }
            true
        });
        if self.mask.len() > MAX_MASK {
            changed(tr!("core-mask-of-the-step"), MAX_MASK.to_string(), self.mask.len().to_string());
            self.mask.truncate(MAX_MASK);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_and_masks_come_back_from_sd_clis_words() {
        let cache = StepCache {
            options: StepCache::read_options(" threshold=0.25, fn=4,").unwrap(),
            mask: StepCache::read_mask("1,1,0").unwrap(),
            ..StepCache::of(CacheMode::CacheDit)
        };
        assert_eq!((cache.option("threshold"), cache.option("Fn"), cache.option("Bn")), (Some(0.25), Some(4.0), None));
        assert_eq!(StepCache::read_options(&cache.options_text()), Ok(cache.options.clone()));
        assert_eq!(StepCache::read_mask(&cache.mask_text()), Ok(cache.mask));
        for wrong in ["threshold", "speed=1", "threshold=x", "threshold=nan"] {
            assert!(StepCache::read_options(wrong).is_err(), "{wrong}");
        }
        assert!(StepCache::read_mask("1,2").is_err());
    }

    #[test]
    fn values_beyond_their_limits_are_told() {
        let options = [("threshold", 1e9), ("start", f32::NAN), ("end", 0.5), ("speed", 1.0)].map(|(name, value)| (name.to_owned(), value));
        let mut cache = StepCache { options: options.into(), ..StepCache::of(CacheMode::UCache) };
        let mut told = Vec::new();
        cache.limit(|name, used, _| told.push(format!("{name}: {used}")));
        assert_eq!(told, ["speed of the step cache: nothing", "start of the step cache: 0", "threshold of the step cache: 100"]);
        assert_eq!(cache.option("end"), Some(0.5));
    }
}
