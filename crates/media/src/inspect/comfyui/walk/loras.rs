//! LoRAs of the nodes on the way of a model.

use serde_json::{Map, Value};

use super::{MAX_DEPTH, Walk};
use crate::inspect::comfyui::graph::as_link;
use crate::inspect::fields::decimal;
use crate::inspect::settings::PictureLora;

/// Entries of one node with a list of LoRAs.
const MAX_STACKED: usize = 64;
/// Names of the values of an entry that are read.
const ENTRY: [&str; 4] = ["on", "lora", "strength", "strengthTwo"];

impl<'a> Walk<'a> {
    /// LoRAs of one node, which may have several: `lora_name`, `lora_01` with `strength_01`,
    /// `lora_1: {on, lora, strength}`, `loras: [{name, strength}]`, or a list from another node.
    pub(super) fn loras(&mut self, id: &'a str) -> Vec<PictureLora> {
        let Some(node) = self.node(id) else { return Vec::new() };
        if self.is_off(id) {
            return Vec::new();
        }
        let mut loras = self.stacked(id);
        for (input, value) in &node.inputs {
            match value {
                _ if input == "lora_name" => loras.extend(self.lora(id, input, &["strength_model", "lora_model_strength", "strength"])),
                _ if input == "loras" => loras.extend(self.listed_loras(id, input, value)),
                Value::Object(map) if input.starts_with("lora_") => loras.extend(self.entry(id, input, map)),
                Value::String(_) => {
                    let number = input.strip_prefix("lora_").filter(|rest| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_digit()));
                    loras.extend(number.and_then(|number| self.lora(id, input, &[&format!("strength_{number}")])));
                }
                _ => {}
            }
        }
        loras.retain(|lora| lora.name != "None");
        if let Some(lora) = loras.last_mut() {
            for input in ["strength_clip", "lora_clip_strength"] {
                lora.encoder_strength =
                    self.take(id, input, decimal).filter(|strength| *strength != lora.strength).or(lora.encoder_strength);
            }
        }
        loras
    }

    /// True of a node whose own switch is off, so that it changes nothing: all of it is understood.
    fn is_off(&mut self, id: &'a str) -> bool {
        let is_on = |value: &Value| match value.as_str()? {
            "On" => Some(true),
            "Off" => Some(false),
            _ => None,
        };
        let is_off = self.take(id, "switch", is_on) == Some(false);
        if is_off && let Some(node) = self.node(id) {
            self.used.extend(node.inputs.iter().filter(|(_, value)| as_link(value).is_none()).map(|(input, _)| (id, input.as_str())));
        }
        is_off
    }

    /// `{on, lora, strength, strengthTwo}`, the last one for the text encoders. One that is off
    /// changes nothing.
    fn entry(&mut self, id: &'a str, input: &'a str, map: &Map<String, Value>) -> Option<PictureLora> {
        let name = map.get("lora").and_then(Value::as_str);
        let strength = map.get("strength").and_then(decimal);
        let encoder = match map.get("strengthTwo") {
            None | Some(Value::Null) => Some(None),
            Some(value) => decimal(value).map(Some),
        };
        let found = name.zip(strength).zip(encoder).map(|((name, strength), encoder)| PictureLora {
            encoder_strength: encoder.filter(|it| *it != strength),
            ..PictureLora::new(name.to_owned(), None, strength)
        });
        let is_off = map.get("on") == Some(&Value::Bool(false));
        if (is_off || found.is_some()) && map.keys().all(|key| ENTRY.contains(&key.as_str())) {
            self.used.push((id, input));
        }
        found.filter(|_| !is_off)
    }

    /// `[{name, strength, clipStrength, active}]`, which the program wraps where it sends it. A list
    /// that is understood in part stays listed.
    fn listed_loras(&mut self, id: &'a str, input: &'a str, value: &Value) -> Vec<PictureLora> {
        let list = value.get("__value__").unwrap_or(value).as_array().map(Vec::as_slice).unwrap_or_default();
        let read = |entry: &Value| {
            let strength = entry.get("strength").and_then(decimal)?;
            let encoder_strength = entry.get("clipStrength").and_then(decimal).filter(|it| *it != strength);
            let lora = PictureLora { encoder_strength, ..PictureLora::new(entry.get("name")?.as_str()?.to_owned(), None, strength) };
            Some((lora, entry.get("active") != Some(&Value::Bool(false))))
        };
        let found: Vec<(PictureLora, bool)> = list.iter().take(MAX_STACKED).filter_map(read).collect();
        if !list.is_empty() && found.len() == list.len() {
            self.used.push((id, input));
        }
        found.into_iter().filter(|(_, is_active)| *is_active).map(|(lora, _)| lora).collect()
    }

    /// A LoRA by its input, with the first strength that is there; neither counts as used without
    /// the other.
    fn lora(&mut self, id: &'a str, input: &str, strengths: &[&str]) -> Option<PictureLora> {
        let before = self.used.len();
        let found = self.text(id, input).zip(strengths.iter().find_map(|strength| self.decimal(id, strength)));
        if found.is_none() {
            self.used.truncate(before);
        }
        found.map(|(name, strength)| PictureLora::new(name, None, strength))
    }

    /// LoRAs of the lists that a node takes: `CR LoRA Stack`, `LoRA Stacker`.
    fn stacked(&mut self, id: &'a str) -> Vec<PictureLora> {
        let (mut loras, mut id) = (Vec::new(), id);
        for _ in 0..MAX_DEPTH {
            let Some(link) = self.link(id, "lora_stack") else { break };
            id = link.node;
            let Some(node) = self.node(id).filter(|node| ["CR LoRA Stack", "LoRA Stacker"].contains(&node.class.as_str())) else { break };
            if !self.graph.walk(1 + MAX_STACKED) {
                break;
            }
            let count = self.whole(id, "lora_count").unwrap_or(MAX_STACKED);
            let is_simple = self.text(id, "input_mode").is_none_or(|mode| mode == "simple");
            let weights = if is_simple { ["model_weight", "lora_wt"] } else { ["model_str", "model_weight"] };
            let mut own = Vec::new();
            for n in 1..=count.min(MAX_STACKED) {
                let has = |name: &str| node.inputs.contains_key(name);
                let (name, switch) = (format!("lora_name_{n}"), format!("switch_{n}"));
                if !has(&name) {
                    continue;
                }
                let is_off = has(&switch) && self.text(id, &switch).as_deref() != Some("On");
                let is_none = is_off || node.inputs.get(&name).and_then(Value::as_str) == Some("None");
                let strengths = weights.map(|weight| format!("{weight}_{n}"));
                if is_none {
                    for input in node.inputs.keys().filter(|input| input.ends_with(&format!("_{n}"))) {
                        self.used.push((id, input));
                    }
                } else if let Some(lora) = self.lora(id, &name, &strengths.each_ref().map(String::as_str)) {
                    let encoder_strength = self.take(id, &format!("clip_weight_{n}"), decimal).filter(|it| *it != lora.strength);
                    own.push(PictureLora { encoder_strength, ..lora });
                }
            }
            loras.splice(0..0, own);
        }
        loras
    }
}
