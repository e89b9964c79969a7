//! Names that complete what is being typed in a prompt: LoRAs, embeddings, lists of words, styles and
//! tags.

use std::path::{Path, PathBuf};

use crate::gui::create::embeddings::{known_embeddings, takes_embeddings};
use crate::gui::create::loras::known_loras;
use crate::gui::create::word_lists::WordLists;
use crate::gui::shared::Shared;
use crate::gui::styles::{self, state::changes_of};
use atelier_core::words::{NameKind, TypedName};
use atelier_language::tr;

/// Names that are offered at once.
const MAX_CANDIDATES: usize = 8;
/// Styles among them.
const MAX_STYLES: usize = 3;

/// What is done beside writing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// This embedding is to be at hand.
    Embedding(PathBuf),
    /// The style of this name is applied.
    Style(String),
}

/// A name that can take the place of what was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// What the list shows.
    pub(crate) name: String,
    /// What is known of it, in few words.
    pub(crate) about: String,
    /// What is written.
    pub(crate) text: String,
    pub(crate) effect: Option<Effect>,
}

/// The names that begin with, or have in them, what was typed.
pub(crate) fn candidates(shared: &Shared, lists: &WordLists, styles: &styles::State, typed: &TypedName<'_>) -> Vec<Candidate> {
    let letters = typed.letters.to_lowercase();
    let has = |name: &str| name.to_lowercase().contains(&letters);
    match typed.kind {
        NameKind::Lora => {
            let loras = known_loras(shared).filter(|lora| has(lora.name()) || has(stem(lora.path)));
            let candidate = |path: &Path, family: Option<&str>| Candidate {
                name: stem(path).to_owned(),
                about: family.unwrap_or("LoRA").to_owned(),
                text: format!("<lora:{}:1>", stem(path)),
                effect: None,
            };
            loras.take(MAX_CANDIDATES).map(|lora| candidate(lora.path, lora.family())).collect()
        }
        NameKind::Embedding if takes_embeddings(shared) => {
            let embeddings = known_embeddings(shared).filter(|(_, path)| has(stem(path)));
            let candidate = |path: &Path| Candidate {
                name: stem(path).to_owned(),
                about: tr!("create-embedding").to_owned(),
                text: stem(path).to_owned(),
                effect: Some(Effect::Embedding(path.to_owned())),
            };
            embeddings.take(MAX_CANDIDATES).map(|(_, path)| candidate(path)).collect()
        }
        NameKind::Embedding => Vec::new(),
        NameKind::Wildcard => {
            let candidate = |name: &String| Candidate {
                name: name.clone(),
                about: tr!("create-list-of-words").to_owned(),
                text: format!("__{name}__"),
                effect: None,
            };
            lists.wildcards.iter().flatten().filter(|name| has(name)).take(MAX_CANDIDATES).map(candidate).collect()
        }
        NameKind::Tag => {
            let found = lists.tags.find(typed.letters, MAX_CANDIDATES).into_iter();
            let found_styles = styles_named(shared, styles, &letters);
            let candidate = |tag: atelier_studio::tags::FoundTag<'_>| Candidate {
                name: tag.name.to_owned(),
                about: tag.alias.map_or_else(|| short_count(tag.count), |alias| format!("{alias}, {}", short_count(tag.count))),
                // Brackets of a name are letters.
                text: tag.name.replace('(', r"\(").replace(')', r"\)"),
                effect: None,
            };
            // What is already whole needs no completion.
            let found_tags = found.filter(|tag| tag.name.to_lowercase() != letters).map(candidate);
            found_styles.chain(found_tags).take(MAX_CANDIDATES).collect()
        }
    }
}

/// Styles whose names begin so, with what they change.
fn styles_named<'a>(shared: &'a Shared, styles: &'a styles::State, letters: &'a str) -> impl Iterator<Item = Candidate> + 'a {
    let recipe = &shared.next.recipe;
    let named = styles.list.styles.iter().map(|(style, _)| style).filter(move |style| style.name.to_lowercase().starts_with(letters));
    named.take(MAX_STYLES).map(move |style| Candidate {
        name: style.name.clone(),
        about: tr!("create-style-changes", changes = changes_of(&style.settings_for(recipe), recipe).join(", ")),
        text: String::new(),
        effect: Some(Effect::Style(style.name.clone())),
    })
}

fn stem(path: &Path) -> &str {
    path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default()
}

/// "1.8 M", "12 k", "900".
fn short_count(count: u64) -> String {
    match count {
        1_000_000.. => format!("{}.{} M", count / 1_000_000, count / 100_000 % 10),
        1_000.. => format!("{} k", count / 1_000),
        _ => count.to_string(),
    }
}
