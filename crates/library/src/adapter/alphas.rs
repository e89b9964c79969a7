//! How strong a LoRA is where its tensors do not say it: PEFT keeps that in `adapter_config.json`
//! beside the file, and diffusers in its metadata.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Key of the metadata under which diffusers keeps PEFT's settings of each module
/// (`save_lora_weights`), each with the module's name before it: `transformer.lora_alpha`.
const DIFFUSERS: &str = "lora_adapter_metadata";
/// Key under which the file beside an adapter stands in its metadata.
pub(crate) const PEFT: &str = "adapter_config";
/// Larger factors make noise of every picture, and are a mistake of who wrote them.
const MAX_ALPHA: f64 = 1e6;

/// PEFT's settings of an adapter, by their names.
pub(super) struct Alphas(Map<String, Value>);

impl Alphas {
    pub(super) fn of(metadata: &BTreeMap<String, String>) -> Self {
        let read = |key: &str| match serde_json::from_str(metadata.get(key)?) {
            Ok(Value::Object(settings)) => Some(settings),
            _ => None,
        };
        Self(read(DIFFUSERS).or_else(|| read(PEFT)).unwrap_or_default())
    }

    /// What the change of this layer is multiplied by, times its rank; `None` where that is the
    /// rank itself, or nothing says it.
    pub(super) fn alpha(&self, layer: &str, rank: u64) -> Option<f32> {
        let (module, rest) = layer.split_once('.').unwrap_or(("", layer));
        let of_module = self.0.contains_key(&format!("{module}.lora_alpha"));
        let setting = |name: &str| self.0.get(&if of_module { format!("{module}.{name}") } else { name.to_owned() });
        let layer = if of_module { rest } else { layer };
        let of_layer = setting("alpha_pattern").and_then(Value::as_object).and_then(|pattern| {
            let is_own = |name: &str| layer.strip_suffix(name).is_some_and(|it| it.is_empty() || it.ends_with('.'));
            pattern.iter().find(|(key, _)| layer_named(key).is_some_and(|name| is_own(&name)))?.1.as_f64()
        });
        // LoHa and LoKr have the shorter name.
        let alpha = of_layer.or_else(|| setting("lora_alpha")?.as_f64()).or_else(|| setting("alpha")?.as_f64())?;
        let is_stabilised = setting("use_rslora").and_then(Value::as_bool).unwrap_or(false);
        // PEFT divides by the root of the rank here, the engine by the rank.
        let alpha = if is_stabilised { alpha * (rank as f64).sqrt() } else { alpha };
        ((alpha - rank as f64).abs() > f64::EPSILON && alpha.abs() <= MAX_ALPHA).then_some(alpha as f32)
    }

    /// A setting that says how strong layers are, and that is not understood.
    pub(super) fn unread(&self) -> Option<String> {
        let is_alpha = |value: &Value| value.is_null() || value.as_f64().is_some_and(|it| it.abs() <= MAX_ALPHA);
        self.0.iter().find_map(|(key, value)| match key.rsplit('.').next()? {
            "lora_alpha" | "alpha" if !is_alpha(value) => Some(format!("{key}: {value}")),
            "alpha_pattern" => {
                let pattern = value.as_object()?.iter().find(|(name, value)| layer_named(name).is_none() || !is_alpha(value))?;
                Some(format!("{}: {}", pattern.0, pattern.1))
            }
            _ => None,
        })
    }
}

/// The end of layers' names that a key of a pattern stands for, which PEFT reads as a regular
/// expression: nearly all are names, with or without the marks of begin and end. `None` for others.
fn layer_named(key: &str) -> Option<String> {
    let name = key.trim_start_matches('^').trim_end_matches('$').replace("\\.", ".");
    (!name.is_empty() && !name.contains(['*', '+', '?', '(', '[', '{', '|', '\\', '^', '$'])).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alphas(key: &str, text: &str) -> Alphas {
        Alphas::of(&BTreeMap::from([(key.to_owned(), text.to_owned())]))
    }

    #[test]
    fn diffusers_says_it_for_each_module_and_peft_for_all() {
        let text =
            r#"{"transformer.r":8,"transformer.lora_alpha":16,"transformer.alpha_pattern":{"attn.to_q":4},"text_encoder.lora_alpha":8}"#;
        let diffusers = alphas(DIFFUSERS, text);
        assert_eq!(diffusers.alpha("transformer.layers.0.attn.to_k", 8), Some(16.0));
        assert_eq!(diffusers.alpha("transformer.layers.0.attn.to_q", 8), Some(4.0));
        assert_eq!(diffusers.alpha("transformer.layers.0.attn.into_q", 8), Some(16.0));
        assert_eq!(diffusers.alpha("text_encoder.layers.0.q_proj", 8), None, "its rank");
        assert_eq!(diffusers.alpha("unet.conv_in", 8), None, "another module");
        let peft = alphas(PEFT, r#"{"r":16,"lora_alpha":8,"use_rslora":true}"#);
        assert_eq!(peft.alpha("base_model.model.layers.0.attn.to_k", 16), Some(32.0));
        let loha = alphas(PEFT, r#"{"peft_type":"LOHA","r":8,"alpha":4,"alpha_pattern":{"to_q":2}}"#);
        assert_eq!(loha.alpha("base_model.model.layers.0.attn.to_k", 8), Some(4.0));
        assert_eq!(loha.alpha("base_model.model.layers.0.attn.to_q", 8), Some(2.0));
    }

    #[test]
    fn what_is_not_understood_is_named() {
        let unread = |text: &str| alphas(DIFFUSERS, text).unread();
        assert_eq!(unread(r#"{"transformer.lora_alpha":16,"transformer.alpha_pattern":{"^layers\\.0.attn.to_q$":4}}"#), None);
        assert_eq!(alphas(PEFT, r#"{"alpha_pattern":{"^layers\\.0.to_q$":4}}"#).alpha("model.layers.0.to_q", 8), Some(4.0));
        let pattern = r#"{"unet.lora_alpha":16,"unet.alpha_pattern":{"down_blocks.*to_q":4}}"#;
        assert_eq!(unread(pattern).as_deref(), Some("down_blocks.*to_q: 4"));
        assert_eq!(alphas(DIFFUSERS, pattern).alpha("unet.down_blocks.0.to_q", 8), Some(16.0));
        assert_eq!(unread(r#"{"lora_alpha":"8"}"#).as_deref(), Some("lora_alpha: \"8\""));
        assert_eq!(unread(r#"{"lora_alpha":1e300}"#).as_deref(), Some("lora_alpha: 1e+300"));
    }

    #[test]
    fn what_says_nothing_usable_changes_nothing() {
        for text in ["", "[]", "{}", r#"{"lora_alpha":"8"}"#, r#"{"lora_alpha":1e300}"#, r#"{"lora_alpha":null}"#] {
            assert_eq!(alphas(PEFT, text).alpha("layers.0", 4), None, "{text}");
        }
    }
}
