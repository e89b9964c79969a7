//! Civitai's generator: its resources beside A1111's settings, and its own settings beside a graph.

use serde_json::Value;

use super::fields::{Fields, decimal, is_lora_kind, text_of};
use super::settings::{MAX_LORAS, PictureLora, PictureModel, PictureSettings};
use super::texts::{EXTRA_METADATA, Texts};
use crate::stored_recipe::MAX_VALUES;
use atelier_core::json::has_more_values;

/// The model and the LoRAs of a list of resources.
#[derive(Debug, Default)]
pub(super) struct Resources {
    pub(super) model: Option<PictureModel>,
    pub(super) loras: Vec<PictureLora>,
}

impl Resources {
    /// Reads `[{"type": "checkpoint", "modelVersionId": 7, "modelName": "..."}, ...]`; a text that
    /// is none has none.
    pub(super) fn of(text: &str) -> Self {
        let is_short = !has_more_values(text.as_bytes(), MAX_VALUES);
        let list: Option<Vec<Value>> = if is_short { serde_json::from_str(text).ok() } else { None };
        Self::of_list(&list.unwrap_or_default())
    }

    fn of_list(list: &[Value]) -> Self {
        let mut found = Self::default();
        for resource in list {
            let text = |key: &str| text_of(resource, key);
            let kind = text("type").unwrap_or_default().to_lowercase();
            let name = text("modelName").or_else(|| text("name")).or_else(|| text("air"));
            match kind.as_str() {
                "checkpoint" | "model" if found.model.is_none() => found.model = PictureModel::of(name, text("hash")),
                kind if is_lora_kind(kind) => {
                    let strength = resource.get("weight").or_else(|| resource.get("strength")).and_then(decimal).unwrap_or(1.0);
                    // One more than is read, so that it is told.
                    if let Some(name) = name
                        && found.loras.len() <= MAX_LORAS
                    {
                        found.loras.push(PictureLora::new(name, text("hash"), strength));
                    }
                }
                _ => {}
            }
        }
        found
    }
}

/// Settings in `extraMetadata`, which the generator writes beside the graph that ran.
pub(super) fn extra(texts: &Texts) -> Option<PictureSettings> {
    let mut fields = texts.get(EXTRA_METADATA).and_then(Fields::parse)?;
    // Embeddings and the numbers of versions have no field: all of the list stays to be seen.
    let resources = fields.get("resources").and_then(Value::as_array).map(|list| Resources::of_list(list)).unwrap_or_default();
    let settings =
        PictureSettings { sampler: fields.name("sampler"), model: resources.model, loras: resources.loras, ..fields.site_settings() };
    Some(PictureSettings { not_understood: fields.left(), ..settings })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_models_and_loras_and_others_are_none() {
        let list = r#"[{"type":"embed","modelName":"e"},{"type":"checkpoint","modelName":"Sea: Turbo, v2"},{"type":"lora","weight":0.4,"modelName":"Knob"},7]"#;
        let found = Resources::of(list);
        assert_eq!(found.model.unwrap().name.as_deref(), Some("Sea: Turbo, v2"));
        assert_eq!(found.loras, [PictureLora::new("Knob".to_owned(), None, 0.4)]);
        for text in ["", "{}", "[", "[[[]]]"] {
            assert!(Resources::of(text).model.is_none());
        }
    }
}
