//! The texts of each language, read once.

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::OnceLock;

use fluent_bundle::concurrent::FluentBundle;
use fluent_bundle::{FluentArgs, FluentError, FluentResource, FluentValue};
use unic_langid::LanguageIdentifier;

use crate::language::{Language, chosen_language};

/// The files of a language, one for each part of the window and each crate that speaks to a person.
macro_rules! files {
    ($tag:literal) => {
        [
            include_str!(concat!("../texts/", $tag, "/canvas.ftl")),
            include_str!(concat!("../texts/", $tag, "/catalogue.ftl")),
            include_str!(concat!("../texts/", $tag, "/common.ftl")),
            include_str!(concat!("../texts/", $tag, "/core.ftl")),
            include_str!(concat!("../texts/", $tag, "/create.ftl")),
            include_str!(concat!("../texts/", $tag, "/devices.ftl")),
            include_str!(concat!("../texts/", $tag, "/downloads.ftl")),
            include_str!(concat!("../texts/", $tag, "/engine.ftl")),
            include_str!(concat!("../texts/", $tag, "/gallery.ftl")),
            include_str!(concat!("../texts/", $tag, "/grid.ftl")),
            include_str!(concat!("../texts/", $tag, "/guides.ftl")),
            include_str!(concat!("../texts/", $tag, "/index.ftl")),
            include_str!(concat!("../texts/", $tag, "/library.ftl")),
            include_str!(concat!("../texts/", $tag, "/live.ftl")),
            include_str!(concat!("../texts/", $tag, "/media.ftl")),
            include_str!(concat!("../texts/", $tag, "/memory.ftl")),
            include_str!(concat!("../texts/", $tag, "/models.ftl")),
            include_str!(concat!("../texts/", $tag, "/palette.ftl")),
            include_str!(concat!("../texts/", $tag, "/peers.ftl")),
            include_str!(concat!("../texts/", $tag, "/phrases.ftl")),
            include_str!(concat!("../texts/", $tag, "/program.ftl")),
            include_str!(concat!("../texts/", $tag, "/queue.ftl")),
            include_str!(concat!("../texts/", $tag, "/sharing.ftl")),
            include_str!(concat!("../texts/", $tag, "/studio.ftl")),
            include_str!(concat!("../texts/", $tag, "/studios.ftl")),
            include_str!(concat!("../texts/", $tag, "/styles.ftl")),
            include_str!(concat!("../texts/", $tag, "/vision.ftl")),
            include_str!(concat!("../texts/", $tag, "/window.ftl")),
        ]
    };
}

const fn files(language: Language) -> &'static [&'static str] {
    match language {
        Language::English => &files!("en"),
        Language::German => &files!("de"),
        Language::Japanese => &files!("ja"),
    }
}

/// A language, read.
struct Texts {
    /// What needs no value, by id: the interface asks for hundreds of them a frame.
    plain: HashMap<&'static str, &'static str>,
    bundle: FluentBundle<FluentResource>,
}

impl Texts {
    /// Reads the files of a language; what cannot be read in them is left out, and is English then.
    fn read(language: Language) -> Self {
        let tag: LanguageIdentifier = language.tag().parse().unwrap_or_default();
        let mut bundle = FluentBundle::new_concurrent(vec![tag]);
        // Values are names, numbers and sizes; marks around them would be letters without a glyph.
        bundle.set_use_isolating(false);
        let mut ids: Vec<&'static str> = Vec::new();
        for &file in files(language) {
            let resource = match FluentResource::try_new(file.to_owned()) {
                Ok(resource) | Err((resource, _)) => resource,
            };
            let _ids_twice = bundle.add_resource(resource);
            ids.extend(
                file.lines().filter_map(|line| line.split_once(" =")).map(|(id, _)| id).filter(|id| !id.starts_with([' ', '#', '-'])),
            );
        }
        let plain = ids.into_iter().filter_map(|id| Some((id, &*Box::leak(format(&bundle, id, None)?.into_boxed_str())))).collect();
        Self { plain, bundle }
    }

    /// The texts of a language. They are read at the first call, in about 10 ms, and kept.
    fn of(language: Language) -> &'static Self {
        static TEXTS: [OnceLock<Texts>; Language::ALL.len()] = [const { OnceLock::new() }; Language::ALL.len()];
        TEXTS[language as usize].get_or_init(|| Self::read(language))
    }
}

/// The text of an id, if all its variables have values.
fn format(bundle: &FluentBundle<FluentResource>, id: &str, args: Option<&FluentArgs>) -> Option<String> {
    let pattern = bundle.get_message(id)?.value()?;
    let mut errors: Vec<FluentError> = Vec::new();
    let text = bundle.format_pattern(pattern, args, &mut errors).into_owned();
    errors.is_empty().then_some(text)
}

/// The text of an id that has no variables, in the chosen language. An id without a text is its own.
#[must_use]
pub fn text(id: &'static str) -> &'static str {
    let known = |language| Texts::of(language).plain.get(id).copied();
    known(chosen_language()).or_else(|| known(Language::English)).unwrap_or(id)
}

/// The text of an id with these values of its variables, in the chosen language.
#[must_use]
pub fn text_with(id: &'static str, values: &[(&'static str, &dyn Display)]) -> String {
    let args: FluentArgs = values.iter().map(|(name, value)| (*name, fluent_value(name, value.to_string()))).collect();
    let known = |language| format(&Texts::of(language).bundle, id, Some(&args));
    known(chosen_language()).or_else(|| known(Language::English)).unwrap_or_else(|| id.to_owned())
}

/// Variables whose values are names, or words that somebody wrote. They stay as they are, also
/// where they look like a number: a model may be called 1.5.
const NAMES: &[&str] = &[
    "address",
    "endpoint",
    "file",
    "filename",
    "folder",
    "folder_2",
    "host",
    "lora",
    "model",
    "name",
    "name_2",
    "ours",
    "path",
    "prompt",
    "repo",
    "search",
    "server",
    "stem",
    "studio",
    "text",
    "theirs",
    "title",
    "version",
    "version_2",
    "wire_version",
    "word",
];

/// Start of the ids of what our catalogue and the built-in model say of themselves.
const CATALOGUE: &str = "catalogue-";

/// Start of the ids of kinds of model files.
const KIND: &str = "library-kind-";

/// The English of a text without variables: what files and other programs are given.
#[must_use]
pub fn english(id: &'static str) -> &'static str {
    Texts::of(Language::English).plain.get(id).copied().unwrap_or(id)
}

/// Ids that start so, by their English.
fn ids_by_english(start: &str) -> HashMap<&'static str, &'static str> {
    let english = Texts::of(Language::English).plain.iter();
    english.filter(|(id, _)| id.starts_with(start)).map(|(id, words)| (*words, *id)).collect()
}

/// A kind of model file in the chosen language, by its English; `None` for what is no text.
#[must_use]
pub fn kind_text(name: &str) -> Option<&'static str> {
    static IDS: OnceLock<HashMap<&'static str, &'static str>> = OnceLock::new();
    IDS.get_or_init(|| ids_by_english(KIND)).get(name).map(|id| text(id))
}

/// The English of a text of the catalogue, by its id: what files and other programs are given.
#[must_use]
pub fn catalogue_english(id: &str) -> Option<&'static str> {
    if id.starts_with(CATALOGUE) { Texts::of(Language::English).plain.get(id).copied() } else { None }
}

/// What a catalogue says, in the chosen language. The texts of ours are known by their English,
/// which is what a downloaded model keeps of them; what a person wrote stays as it is.
#[must_use]
pub fn catalogue_text(said: &str) -> &str {
    static IDS: OnceLock<HashMap<&'static str, &'static str>> = OnceLock::new();
    let Some(id) = IDS.get_or_init(|| ids_by_english(CATALOGUE)).get(said) else { return said };
    text(id)
}

/// A number as it is written in the language in use: `1,5` where decimals have a comma. Other words
/// stay as they are.
#[must_use]
pub fn decimal(words: String) -> String {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    match words.split_once('.') {
        Some((whole, part)) if digits(whole.strip_prefix('-').unwrap_or(whole)) && digits(part) => {
            format!("{whole}{}{part}", chosen_language().decimal_mark())
        }
        _ => words,
    }
}

/// The value of this variable as Fluent takes it: whole numbers select plural forms, and read the
/// same as letters.
fn fluent_value(variable: &str, text: String) -> FluentValue<'static> {
    // Up to 9 digits: Fluent's numbers are f64.
    match text.parse::<u32>() {
        Ok(number) if text.len() <= 9 && number.to_string() == text => FluentValue::from(number),
        _ if NAMES.contains(&variable) => FluentValue::from(text),
        _ => FluentValue::from(decimal(text)),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::fluent;

    /// Ids and variables of a language.
    fn messages(language: Language) -> BTreeMap<&'static str, BTreeSet<&'static str>> {
        let mut messages = BTreeMap::new();
        for (id, variables) in files(language).iter().flat_map(|file| fluent::messages(file)) {
            assert!(messages.insert(id, variables).is_none(), "{language:?}: {id} stands twice");
        }
        messages
    }

    #[test]
    fn every_language_has_the_same_texts_with_the_same_variables() {
        let english = messages(Language::English);
        for language in Language::ALL {
            let own = messages(language);
            let lacking: Vec<_> = english.keys().filter(|id| !own.contains_key(*id)).collect();
            let unknown: Vec<_> = own.keys().filter(|id| !english.contains_key(*id)).collect();
            assert!(lacking.is_empty() && unknown.is_empty(), "{language:?} lacks {lacking:?}, and has of its own {unknown:?}");
            let different: Vec<_> = own.iter().filter(|(id, found)| english[*id] != **found).collect();
            assert!(different.is_empty(), "{language:?} has other variables: {different:?}");
        }
    }

    #[test]
    fn texts_without_variables_are_kept_and_all_others_take_values() {
        for language in Language::ALL {
            let texts = Texts::of(language);
            for (id, variables) in messages(language) {
                assert_eq!(texts.plain.contains_key(id), variables.is_empty(), "{language:?}: {id}");
                let args: FluentArgs = variables.iter().map(|name| (*name, FluentValue::from(3))).collect();
                let text = format(&texts.bundle, id, Some(&args));
                assert!(text.is_some_and(|it| !it.trim().is_empty() && !it.contains("{ $")), "{language:?}: {id}");
            }
        }
    }

    #[test]
    fn whole_numbers_are_numbers_and_all_else_stays_as_it_is() {
        let shown = |text: &str| fluent_value("count", text.to_owned());
        assert!(matches!(shown("3"), FluentValue::Number(_)) && matches!(shown("0"), FluentValue::Number(_)));
        for text in ["007", "+3", "3.0", "", "1234567890", "-1", "３"] {
            assert_eq!(shown(text), FluentValue::from(text.to_owned()), "{text}");
        }
    }

    #[test]
    fn what_holds_a_name_is_a_variable_of_a_text() {
        let texts = messages(Language::English);
        let used: BTreeSet<_> = texts.values().flatten().copied().collect();
        let unknown: Vec<_> = NAMES.iter().filter(|name| !used.contains(*name)).collect();
        assert!(unknown.is_empty() && NAMES.is_sorted(), "{unknown:?}");
    }

    #[test]
    fn texts_that_are_known_by_their_english_have_other_words_in_each_language() {
        for start in [CATALOGUE, KIND] {
            let texts = || Texts::of(Language::English).plain.iter().filter(move |(id, _)| id.starts_with(start));
            for (id, words) in texts() {
                assert_eq!((english(id), catalogue_english(id).is_some()), (*words, start == CATALOGUE));
                let shown = if start == KIND { kind_text(words) } else { Some(catalogue_text(words)) };
                assert_eq!(shown, Some(*words), "{id}: English is the language of a start");
                for language in Language::ALL.into_iter().skip(1) {
                    assert_ne!(Texts::of(language).plain[id], *words, "{language:?}: {id}");
                }
            }
            assert_eq!(ids_by_english(start).len(), texts().count(), "two ids say the same, and are known by it");
        }
        for own in ["", "My best one.", "catalogue-none", "Filter"] {
            assert_eq!((catalogue_english(own), catalogue_text(own)), (None, own));
        }
        assert_eq!((kind_text("VAE"), kind_text("Filter"), english("no-such-id")), (None, None, "no-such-id"));
    }

    #[test]
    fn an_id_without_a_text_is_its_own_text() {
        assert_eq!(text("no-such-id"), "no-such-id");
        assert_eq!(text_with("no-such-id", &[("a", &1)]), "no-such-id");
    }
}
