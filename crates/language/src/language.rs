//! The languages, and which of them is in use.

use std::sync::atomic::{AtomicUsize, Ordering};

/// A language of the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    #[default]
    English,
    German,
    Japanese,
}

impl Language {
    /// All of them, English first.
    pub const ALL: [Self; 3] = [Self::English, Self::German, Self::Japanese];

    /// Its tag of BCP 47, by which settings name it.
    #[must_use]
    pub const fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::German => "de",
            Self::Japanese => "ja",
        }
    }

    /// What its speakers call it.
    #[must_use]
    pub const fn own_name(self) -> &'static str {
        match self {
            Self::English => "English",
            Self::German => "Deutsch",
            Self::Japanese => "日本語",
        }
    }

    /// What stands before the decimals of a number.
    #[must_use]
    pub const fn decimal_mark(self) -> char {
        match self {
            Self::English | Self::Japanese => '.',
            Self::German => ',',
        }
    }

    /// True if a machine wrote its texts and nobody checked them.
    #[must_use]
    pub const fn is_machine_made(self) -> bool {
        !matches!(self, Self::English)
    }

    /// True where its letters are Han letters too, in forms of its own.
    #[must_use]
    pub const fn writes_han(self) -> bool {
        matches!(self, Self::Japanese)
    }

    /// The language of a tag or of a locale of a system, such as `de-AT` or `ja_JP.UTF-8`.
    #[must_use]
    pub fn from_locale(locale: &str) -> Option<Self> {
        let primary = locale.split(['-', '_', '.', '@']).next()?;
        Self::ALL.into_iter().find(|it| it.tag().eq_ignore_ascii_case(primary))
    }
}

static CHOSEN: AtomicUsize = AtomicUsize::new(0);

/// Sets the language of all that is said from now on, in all threads.
pub fn choose_language(language: Language) {
    // Nothing else is published with it, and a sentence too late in the earlier language harms none.
    CHOSEN.store(language as usize, Ordering::Relaxed);
}

/// The language in use.
#[must_use]
pub fn chosen_language() -> Language {
    Language::ALL.get(CHOSEN.load(Ordering::Relaxed)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locale_is_known_by_its_language() {
        for (locale, language) in [
            ("de", Some(Language::German)),
            ("de-AT", Some(Language::German)),
            ("DE_de.UTF-8@euro", Some(Language::German)),
            ("ja_JP", Some(Language::Japanese)),
            ("en-GB", Some(Language::English)),
            ("den", None),
            ("C", None),
            ("", None),
        ] {
            assert_eq!(Language::from_locale(locale), language, "{locale}");
        }
    }

    #[test]
    fn a_language_is_found_by_its_tag_and_stands_at_its_number() {
        for (at, language) in Language::ALL.into_iter().enumerate() {
            assert_eq!(language as usize, at);
            assert_eq!(Language::from_locale(language.tag()), Some(language));
        }
    }
}
