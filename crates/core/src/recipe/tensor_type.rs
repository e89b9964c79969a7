//! Types of weights, and the rules by which weights get one as a model is loaded.

use std::fmt;
use std::str::FromStr;

use atelier_language::tr;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::sampling::{UnknownName, named_by_engine};
use crate::module::Module;

named_by_engine! {
    /// A type of weights that others can be converted to (`ggml_quantize_chunk`).
    TensorType {
        /// 32 bits.
        F32 = "f32", "F32";
        /// 16 bits, half precision.
        F16 = "f16", "F16";
        /// 16 bits, with the range of 32.
        Bf16 = "bf16", "BF16";
        /// 8.5 bits: hardly any loss.
        Q8_0 = "q8_0", "Q8_0";
        /// 6.6 bits.
        Q6K = "q6_K", "Q6_K";
        /// 6 bits.
        Q5_1 = "q5_1", "Q5_1";
        /// 5.5 bits.
        Q5_0 = "q5_0", "Q5_0";
        /// 5.5 bits, in blocks of 256.
        Q5K = "q5_K", "Q5_K";
        /// 5 bits.
        Q4_1 = "q4_1", "Q4_1";
        /// 4.5 bits.
        Q4_0 = "q4_0", "Q4_0";
        /// 4.5 bits, in blocks of 256.
        Q4K = "q4_K", "Q4_K";
        /// 4.5 bits, on a curve.
        Iq4Nl = "iq4_nl", "IQ4_NL";
        /// 4.3 bits.
        Iq4Xs = "iq4_xs", "IQ4_XS";
        /// 4.3 bits, floating.
        Mxfp4 = "mxfp4", "MXFP4";
        /// 4.5 bits, floating.
        Nvfp4 = "nvfp4", "NVFP4";
        /// 3.4 bits.
        Q3K = "q3_K", "Q3_K";
        /// 3.4 bits, from a table.
        Iq3S = "iq3_s", "IQ3_S";
        /// 3.1 bits.
        Iq3Xxs = "iq3_xxs", "IQ3_XXS";
        /// 2.6 bits.
        Q2K = "q2_K", "Q2_K";
        /// 2.6 bits, from a table.
        Iq2S = "iq2_s", "IQ2_S";
        /// 2.3 bits.
        Iq2Xs = "iq2_xs", "IQ2_XS";
        /// 2.1 bits.
        Iq2Xxs = "iq2_xxs", "IQ2_XXS";
        /// 2.1 bits: three values.
        Tq2_0 = "tq2_0", "TQ2_0";
        /// 1.75 bits.
        Iq1M = "iq1_m", "IQ1_M";
        /// 1.7 bits: three values.
        Tq1_0 = "tq1_0", "TQ1_0";
        /// 1.6 bits.
        Iq1S = "iq1_s", "IQ1_S";
        /// 1.1 bits: two values.
        Q1_0 = "q1_0", "Q1_0";
    }
}

/// Types by name of weight: `PATTERN=TYPE,...`, where the first pattern that occurs in a name
/// decides. Patterns are regular expressions over the engine's names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TensorTypeRules(Vec<(String, TensorType)>);

/// Rules that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RulesError {
    /// No pattern, or no type.
    #[error("{}", tr!("core-is-not-a-rule", reason = _0))]
    Shape(String),
    /// The type is unknown.
    #[error("{}", tr!("core-in", rule, reason))]
    Type {
        /// The rule.
        rule: String,
        /// Which types there are.
        reason: UnknownName,
    },
    /// The pattern is none that is looked for.
    #[error("{}", tr!("core-the-pattern", pattern, reason))]
    Pattern {
        /// The pattern.
        pattern: String,
        /// End of a sentence.
        reason: &'static str,
    },
    /// More than are read.
    #[error("{}", tr!("core-there-are-more-than", most = TensorTypeRules::MAX))]
    TooMany,
}

impl TensorTypeRules {
    /// Rules that are read; no model needs ten.
    const MAX: usize = 64;
    /// Characters of a pattern; names of weights have up to 150.
    const MAX_PATTERN_CHARS: usize = 200;

    /// Puts a rule before the others, in the place of one with the same pattern.
    pub fn set(&mut self, pattern: &str, to: TensorType) {
        self.0.retain(|(other, _)| other != pattern);
        self.0.insert(0, (pattern.to_owned(), to));
    }

    /// The pattern of a module's weights, by the beginnings of the engine's names; `None`: they are
    /// converted by name alone.
    #[must_use]
    pub const fn pattern_of(module: Module) -> Option<&'static str> {
        match module {
            Module::Diffusion => Some("^model\\.diffusion_model\\."),
            Module::ClipL => Some("^(cond_stage_model\\.transformer|text_encoders\\.clip_l)\\."),
            Module::ClipG => Some("^(cond_stage_model\\.1|text_encoders\\.clip_g)\\."),
            Module::T5 => Some("^text_encoders\\.t5xxl\\."),
            Module::Llm => Some("^text_encoders\\.llm\\."),
            Module::ClipVision | Module::Vae | Module::Controlnet | Module::Photomaker | Module::Upscaler => None,
        }
    }

    /// True without rules.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromStr for TensorTypeRules {
    type Err = RulesError;

    fn from_str(text: &str) -> Result<Self, RulesError> {
        let mut rules = Vec::new();
        for rule in text.split(',').map(str::trim).filter(|rule| !rule.is_empty()) {
            let shape = || RulesError::Shape(rule.chars().take(Self::MAX_PATTERN_CHARS).collect());
            let (pattern, to) = rule.split_once('=').ok_or_else(shape)?;
            let (pattern, to) = (pattern.trim(), to.trim());
            if pattern.is_empty() || to.is_empty() {
                return Err(shape());
            }
            check_pattern(pattern)
                .map_err(|reason| RulesError::Pattern { pattern: pattern.chars().take(Self::MAX_PATTERN_CHARS).collect(), reason })?;
            let to = to.parse().map_err(|reason| RulesError::Type { rule: rule.to_owned(), reason })?;
            rules.push((pattern.to_owned(), to));
            if rules.len() > Self::MAX {
                return Err(RulesError::TooMany);
            }
        }
        Ok(Self(rules))
    }
}

/// Whether a pattern is one that the engine reads; the error is the end of a sentence. Its library
/// reads more than is needed for names, some of which takes it without end.
fn check_pattern(pattern: &str) -> Result<(), &'static str> {
    const REPEATS: &str = "*+?";
    if pattern.chars().count() > TensorTypeRules::MAX_PATTERN_CHARS {
        return Err(tr!("core-is-too-long"));
    }
    if pattern.chars().any(|it| it.is_control() || !it.is_ascii()) {
        return Err(tr!("core-has-characters-that-no"));
    }
    let (mut groups, mut can_repeat, mut chars) = (0u32, false, pattern.chars());
    while let Some(it) = chars.next() {
        match it {
            '\\' => {
                // No references to groups, which are searched without end.
                let next = chars.next().ok_or(tr!("core-ends-with-a-backslash"))?;
                if next.is_ascii_alphanumeric() && !"dDwWsS".contains(next) {
                    return Err(tr!("core-has-an-escape-that"));
                }
                can_repeat = true;
            }
            '[' => {
                let (class, rest) = chars.as_str().split_once(']').ok_or(tr!("core-has-a-bracket-that-is-not-closed"))?;
                let set = class.strip_prefix('^').unwrap_or(class);
                let is_backward = |it: &[u8]| matches!(it, [from, b'-', to] if from > to);
                if set.is_empty() || set.contains(['[', '\\']) || set.as_bytes().windows(3).any(is_backward) {
                    return Err(tr!("core-has-brackets-that-cannot"));
                }
                chars = rest.chars();
                can_repeat = true;
            }
            ']' => return Err(tr!("core-has-a-bracket-that-is-not-opened")),
            '{' | '}' => return Err(tr!("core-counts-repetitions-which-is")),
            '(' => {
                if chars.as_str().starts_with('?') {
                    return Err(tr!("core-has-a-group-which"));
                }
                groups += 1;
                can_repeat = false;
            }
            ')' => {
                groups = groups.checked_sub(1).ok_or(tr!("core-has-a-bracket-that-is-not"))?;
                // A repeated group of repetitions is searched without end.
                if chars.as_str().starts_with(|next| REPEATS.contains(next)) {
                    return Err(tr!("core-repeats-a-group-which"));
                }
                can_repeat = false;
            }
            '^' | '$' | '|' => can_repeat = false,
            _ if REPEATS.contains(it) => {
                if !std::mem::replace(&mut can_repeat, false) {
                    return Err(tr!("core-repeats-nothing"));
                }
            }
            _ => can_repeat = true,
        }
    }
    // Each repetition multiplies the time that a name takes.
    let repeats = pattern.chars().filter(|it| REPEATS.contains(*it)).count();
    match (groups, repeats) {
        (0, 0..=MAX_REPEATS) => Ok(()),
        (0, _) => Err(tr!("core-has-too-many-repetitions")),
        _ => Err(tr!("core-has-a-bracket-that")),
    }
}

/// Repetitions of a pattern: a name of 150 characters is searched in less than a millisecond.
const MAX_REPEATS: usize = 3;

impl fmt::Display for TensorTypeRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, (pattern, to)) in self.0.iter().enumerate() {
            write!(f, "{}{pattern}={to}", if n == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl Serialize for TensorTypeRules {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TensorTypeRules {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_and_written_as_sd_cli_has_them() {
        let text = r"^model\.diffusion_model\.=q8_0,^vae\.=f16,layers\.[^0-9]+\[x\]\.attention=q4_K";
        let rules: TensorTypeRules = text.parse().unwrap();
        assert_eq!(rules.to_string(), text);
        assert_eq!(" model.=Q8_0 ,, vae.=f16,".parse::<TensorTypeRules>().unwrap().to_string(), "model.=q8_0,vae.=f16");
        assert!("".parse::<TensorTypeRules>().unwrap().is_empty());
        let value = serde_json::to_value(&rules).unwrap();
        assert_eq!(serde_json::from_value::<TensorTypeRules>(value).unwrap(), rules);
    }

    #[test]
    fn a_rule_that_cannot_be_read_is_refused_with_a_sentence() {
        let refused = |text: &str| text.parse::<TensorTypeRules>().unwrap_err().to_string();
        assert!(refused("model.=q9").contains("q8_0"), "{}", refused("model.=q9"));
        for (text, reason) in [
            ("q8_0", "is not a rule"),
            ("=q8_0", "is not a rule"),
            ("model=", "is not a rule"),
            ("(a=q8_0", "not closed"),
            ("a)=q8_0", "not opened"),
            ("[a=q8_0", "not closed"),
            ("[z-a]=q8_0", "cannot be read"),
            ("[]=q8_0", "cannot be read"),
            ("a]=q8_0", "not opened"),
            ("*a=q8_0", "repeats nothing"),
            ("a**=q8_0", "repeats nothing"),
            ("(a*)*b=q8_0", "repeats a group"),
            ("a{9999}=q8_0", "counts repetitions"),
            ("a{2}=q8_0", "counts repetitions"),
            ("(?:a)=q8_0", "not supported"),
            (r"(a)\1=q8_0", "escape"),
            ("a\\=q8_0", "backslash"),
            ("a.*b.*c.*d.*e=q8_0", "too many repetitions"),
            ("ä=q8_0", "no weight's name"),
        ] {
            assert!(refused(text).contains(reason), "{text}: {}", refused(text));
        }
        assert!(refused(&format!("{}=q8_0", "a".repeat(201))).contains("too long"));
        assert_eq!(refused(&"a=q8_0,".repeat(65)), "there are more than 64 rules");
    }

    #[test]
    fn a_rule_of_a_module_goes_before_the_others_and_is_there_once() {
        let mut rules: TensorTypeRules = "attention=q4_0".parse().unwrap();
        let pattern = TensorTypeRules::pattern_of(Module::Diffusion).unwrap();
        rules.set(pattern, TensorType::Q8_0);
        rules.set(pattern, TensorType::Q4_0);
        assert_eq!(rules.to_string(), r"^model\.diffusion_model\.=q4_0,attention=q4_0");
        for module in Module::ALL.into_iter().filter_map(TensorTypeRules::pattern_of) {
            assert_eq!(check_pattern(module), Ok(()));
        }
    }
}
