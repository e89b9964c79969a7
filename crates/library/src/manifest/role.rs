//! Roles of the files of a model, in the words of the format.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use atelier_core::recipe::FileRole;
use atelier_language::tr;

/// Role of a file of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A part that the engine loads.
    Part(FileRole),
    /// A low-rank adapter.
    Lora,
    /// A word that was taught to a text encoder.
    Embedding,
    /// A model that tells what is in front from its background.
    Cutout,
    /// A model that finds things in a picture.
    Detector,
}

impl Role {
    /// The word of the format.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Part(FileRole::Taesd) => "tae",
            Self::Part(role) => role.key(),
            Self::Lora => "lora",
            Self::Embedding => "embedding",
            Self::Cutout => "cutout",
            Self::Detector => "detector",
        }
    }

    /// The name shown to a person.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Part(role) => role.label(),
            Self::Lora => "LoRA",
            Self::Embedding => tr!("library-embedding"),
            Self::Cutout => tr!("library-cut-out-model-2"),
            Self::Detector => tr!("library-detector"),
        }
    }

    pub(super) fn from_key(key: &str) -> Option<Self> {
        match key {
            "tae" => Some(Self::Part(FileRole::Taesd)),
            // Without more detail the encoder is a language model, as new families have it.
            "text_encoder" => Some(Self::Part(FileRole::Llm)),
            "lora" => Some(Self::Lora),
            "embedding" => Some(Self::Embedding),
            "cutout" => Some(Self::Cutout),
            "detector" => Some(Self::Detector),
            _ => FileRole::from_key(key).map(Self::Part),
        }
    }
}

impl Serialize for Role {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.key())
    }
}

impl<'de> Deserialize<'de> for Role {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let key = String::deserialize(deserializer)?;
        Self::from_key(&key).ok_or_else(|| de::Error::custom(tr!("library-there-is-no-role", key)))
    }
}
