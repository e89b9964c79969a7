//! What a person should know of a finished picture: what was changed for them, and what went wrong.

use serde::{Deserialize, Serialize};

use crate::placement::Change;
use crate::recipe::Recipe;

/// Something that a person should know of a picture. It stays with the picture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PictureNote {
    /// Its weight.
    pub kind: NoteKind,
    /// The reason, as sentences for a person.
    pub sentence: String,
    /// Changes of the recipe that may help, the most likely first.
    #[serde(default)]
    pub remedies: Vec<Change>,
    /// The change of the recipe that was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
}

/// Weight of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    /// The picture was made with other settings than were asked for.
    Changed,
    /// The picture is probably not what was asked for.
    Wrong,
}

impl PictureNote {
    /// A note on something that was changed, without remedies.
    #[must_use]
    pub fn changed(sentence: impl Into<String>) -> Self {
        Self { kind: NoteKind::Changed, sentence: sentence.into(), remedies: Vec::new(), change: None }
    }

    /// A note on a change of the recipe.
    #[must_use]
    pub fn of_change(change: Change, sentence: impl Into<String>) -> Self {
        Self { change: Some(change), ..Self::changed(sentence) }
    }

    /// True where a LoRA that was asked for is not in the picture, or not all of it.
    #[must_use]
    pub fn is_of_lora(&self) -> bool {
        self.kind == NoteKind::Wrong && matches!(self.remedies.as_slice(), [Change::WithoutLora { .. }])
    }

    /// A note on something that went wrong.
    #[must_use]
    pub fn wrong(sentence: impl Into<String>, remedies: Vec<Change>) -> Self {
        Self { kind: NoteKind::Wrong, sentence: sentence.into(), remedies, change: None }
    }
}

/// The recipe with which a picture was made: as asked for, with the changes that its notes tell of.
#[must_use]
pub fn used_recipe(mut asked: Recipe, notes: &[PictureNote]) -> Recipe {
    for change in notes.iter().filter_map(|note| note.change.as_ref()) {
        change.apply(&mut asked);
    }
    asked
}
