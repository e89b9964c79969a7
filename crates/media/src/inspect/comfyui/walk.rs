//! From a graph to settings: back from the node that saves, over its samplers, to texts, model and size.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use super::graph::{Graph, Link, Node};
use crate::inspect::fields::{decimal, shown, whole};
use crate::inspect::settings::{PictureLora, PictureModel, PictureSettings};

/// Nodes that are gone through on the way to one thing.
const MAX_HOPS: usize = 256;
/// Samplers of a graph that are looked at: those of pictures that were saved from one graph.
const MAX_SAMPLERS: usize = 64;
/// LoRAs on the way to one sampler after which no others are taken.
const MAX_LORAS: usize = 256;
/// Characters of a value that is only listed.
const MAX_SHOWN: usize = 400;

/// Settings of the picture that the graph saves. Where it saves several that differ, what they share.
pub(super) fn settings(graph: &Graph) -> PictureSettings {
    let saving = |word: &str| -> Vec<&str> {
        graph.iter().filter(|(_, node)| node.class.contains(word) && node.links().next().is_some()).map(|(id, _)| id).collect()
    };
    let ends = Some(saving("Save")).filter(|ends| !ends.is_empty()).unwrap_or_else(|| saving("Preview"));
    let mut samplers: Vec<(&str, BTreeSet<&str>)> = Vec::new();
    for end in &ends {
        let ancestors = graph.ancestors(end);
        let first: Vec<&str> = first_samplers(graph, &ancestors);
        for id in first {
            if !graph.walk(ancestors.len()) {
                break;
            }
            let is_full = samplers.len() == MAX_SAMPLERS;
            match samplers.iter_mut().find(|(it, _)| *it == id) {
                Some((_, all)) => all.extend(&ancestors),
                None if is_full => graph.cut(),
                None => samplers.push((id, ancestors.clone())),
            }
        }
    }
    let mut found = samplers.iter().map(|(id, ancestors)| Walk::new(graph, ancestors).settings(id));
    let Some(mut settings) = found.next() else {
        return PictureSettings {
            not_understood: other_nodes(graph, graph.iter().map(|(id, _)| id), &BTreeSet::new()),
            ..PictureSettings::default()
        };
    };
    for other in found {
        settings.keep_shared(&other);
    }
    settings
}

/// Samplers that start from no other sampler's picture.
fn first_samplers<'a>(graph: &'a Graph, ancestors: &BTreeSet<&'a str>) -> Vec<&'a str> {
    // In order, as the ids are.
    let samplers: Vec<&str> = ancestors.iter().copied().filter(|id| graph.get(id).is_some_and(is_sampler)).collect();
    let starts_first = |id: &&str| {
        let latent = graph.get(id).and_then(latent_of);
        let before = latent.map(|link| graph.ancestors(link.node)).unwrap_or_default();
        !before.iter().any(|other| other != id && samplers.binary_search(other).is_ok())
    };
    samplers.iter().copied().filter(starts_first).collect()
}

/// A node that takes latents and makes others, by steps.
fn is_sampler(node: &Node) -> bool {
    let has = |name: &str| node.inputs.contains_key(name);
    latent_of(node).is_some() && ((has("steps") && (has("seed") || has("noise_seed"))) || has("sigmas"))
}

fn latent_of(node: &Node) -> Option<Link<'_>> {
    ["latent_image", "latent", "samples"].into_iter().find_map(|name| node.link(name))
}

/// Nodes that were not understood, by class and values.
fn other_nodes<'a>(graph: &'a Graph, ids: impl Iterator<Item = &'a str>, understood: &BTreeSet<&str>) -> Vec<(String, String)> {
    let node = |id: &'a str| {
        let node = graph.get(id).filter(|_| !understood.contains(id))?;
        let values = node.inputs.iter().filter(|(_, value)| !value.is_array() && !value.is_null());
        let mut line = String::new();
        for (name, value) in values {
            let comma = if line.is_empty() { "" } else { ", " };
            line.extend([comma, name, ": ", &shown(value)]);
            if line.len() > 4 * MAX_SHOWN {
                break;
            }
        }
        Some((format!("{} (node {id})", node.class), line.chars().take(MAX_SHOWN).collect()))
    };
    ids.filter_map(node).collect()
}

impl PictureSettings {
    /// Leaves what both say; what differs is listed as not understood.
    fn keep_shared(&mut self, other: &Self) {
        macro_rules! keep {
            ($($field:ident),*) => { $(if self.$field != other.$field {
                let (one, two) = (begin_of(&self.$field), begin_of(&other.$field));
                self.not_understood.push((stringify!($field).to_owned(), format!("{one} or {two}: the file does not tell which")));
                self.$field = Default::default();
            })* };
        }
        keep!(size, prompt, negative_prompt, seed, steps, guidance, distilled_guidance, flow_shift, clip_skip, strength);
        keep!(sampler, scheduler, model, vae, loras);
    }
}

/// The beginning of a value.
fn begin_of(value: &impl fmt::Debug) -> String {
    format!("{value:?}").chars().take(MAX_SHOWN).collect()
}

/// The way back from one sampler, with the nodes that were understood on it.
struct Walk<'a> {
    graph: &'a Graph,
    ancestors: &'a BTreeSet<&'a str>,
    understood: BTreeSet<&'a str>,
    settings: PictureSettings,
}

impl<'a> Walk<'a> {
    fn new(graph: &'a Graph, ancestors: &'a BTreeSet<&'a str>) -> Self {
        Self { graph, ancestors, understood: BTreeSet::new(), settings: PictureSettings::default() }
    }

    fn settings(mut self, id: &'a str) -> PictureSettings {
        let Some(sampler) = self.graph.get(id) else { return self.settings };
        self.understood.insert(id);
        self.sampling(sampler);
        let guider = self.node(sampler, "guider");
        for node in [Some(sampler), guider].into_iter().flatten() {
            self.conditioning(node);
            self.model(node);
        }
        self.latent(sampler);
        self.vae();
        for id in self.ancestors {
            // What saves, decodes and only passes on says nothing.
            if self.graph.get(id).is_some_and(|node| {
                ["Save", "Preview", "VAEDecode", "Reroute", "PrimitiveNode"].iter().any(|word| node.class.contains(word))
            }) {
                self.understood.insert(id);
            }
        }
        let others = other_nodes(self.graph, self.ancestors.iter().copied(), &self.understood);
        self.settings.not_understood.extend(others);
        self.settings
    }

    /// The node that an input comes from, which is understood from now on.
    fn node(&mut self, node: &'a Node, input: &str) -> Option<&'a Node> {
        let id = node.link(input)?.node;
        let source = self.graph.get(id)?;
        self.understood.insert(id);
        Some(source)
    }

    fn value(&mut self, node: &'a Node, input: &str) -> Option<&'a Value> {
        let value = self.graph.value(node, input)?;
        if let Some(link) = node.link(input) {
            self.understood.insert(link.node);
        }
        Some(value)
    }

    fn name(&mut self, node: &'a Node, input: &str) -> Option<String> {
        let value = self.value(node, input)?;
        // Some loaders have the name with its picture.
        let value = value.get("content").unwrap_or(value);
        self.graph.copy(value.as_str()?)
    }

    fn decimal(&mut self, node: &'a Node, input: &str) -> Option<f32> {
        self.value(node, input).and_then(decimal)
    }

    fn whole<T: TryFrom<i64>>(&mut self, node: &'a Node, input: &str) -> Option<T> {
        self.value(node, input).and_then(whole).and_then(|it| T::try_from(it).ok())
    }

    fn sampling(&mut self, sampler: &'a Node) {
        let noise = self.node(sampler, "noise").unwrap_or(sampler);
        self.settings.seed = self.whole(noise, "seed").or_else(|| self.whole(noise, "noise_seed"));
        if self.settings.seed.is_none()
            && let Some(seed) = self.value(noise, "seed").or_else(|| self.value(noise, "noise_seed"))
        {
            self.settings.not_understood.push(("seed".to_owned(), shown(seed)));
        }
        let sigmas = self.node(sampler, "sigmas").unwrap_or(sampler);
        self.settings.steps = self.whole(sigmas, "steps");
        self.settings.scheduler = self.name(sigmas, "scheduler").or_else(|| scheduler_of_class(&sigmas.class));
        self.settings.strength = self.decimal(sigmas, "denoise");
        let method = self.node(sampler, "sampler").unwrap_or(sampler);
        self.settings.sampler = self.name(method, "sampler_name");
        let guider = self.node(sampler, "guider").unwrap_or(sampler);
        self.settings.guidance = self.decimal(guider, "cfg");
        if self.settings.guidance.is_none() && guider.class == "BasicGuider" {
            // It has one conditioning and no guidance.
            self.settings.guidance = Some(1.0);
        }
        for (name, unusual) in [("start_at_step", "0"), ("end_at_step", "10000")] {
            if let Some(value) = self.value(sampler, name).map(shown)
                && value != unusual
                && value != self.settings.steps.unwrap_or_default().to_string()
            {
                self.settings.not_understood.push((name.to_owned(), value));
            }
        }
    }

    fn conditioning(&mut self, node: &'a Node) {
        for input in ["positive", "conditioning"] {
            if self.settings.prompt.is_none() {
                self.settings.prompt = self.text(node, input);
            }
        }
        if self.settings.negative_prompt.is_none() {
            self.settings.negative_prompt = self.text(node, "negative");
        }
    }

    /// The one text behind a conditioning. Several that differ are listed.
    fn text(&mut self, node: &'a Node, input: &str) -> Option<String> {
        let mut texts: Vec<String> = Vec::new();
        let mut open: Vec<Link<'a>> = node.link(input).into_iter().collect();
        let mut seen = BTreeSet::new();
        while let Some(link) = open.pop() {
            let Some(node) = self.graph.get(link.node) else { continue };
            if seen.len() >= MAX_HOPS || !seen.insert((link.node, link.output)) {
                continue;
            }
            if self.settings.distilled_guidance.is_none() {
                self.settings.distilled_guidance = self.decimal(node, "guidance");
            }
            if node.class == "ConditioningZeroOut" {
                self.understood.insert(link.node);
                texts.push(String::new());
                continue;
            }
            let found: Vec<String> = ["text", "prompt", "text_g", "text_l", "clip_l", "clip_g", "t5xxl"]
                .into_iter()
                .filter_map(|name| self.string(node, name))
                .collect();
            if !found.is_empty() {
                self.understood.insert(link.node);
                self.clip(node);
                texts.extend(found);
                continue;
            }
            // What takes both hands on both.
            let both = node.link("positive").zip(node.link("negative"));
            match both {
                Some((positive, negative)) => open.push(if link.output == 1 { negative } else { positive }),
                None => {
                    open.extend(node.links().filter(|(name, _)| !["clip", "model", "vae", "image"].contains(name)).map(|(_, link)| link));
                }
            }
            if ["FluxGuidance", "Reroute"].contains(&node.class.as_str()) {
                self.understood.insert(link.node);
            }
        }
        texts.sort();
        texts.dedup();
        // A text for one of two encoders is often left empty.
        if texts.len() > 1 {
            texts.retain(|text| !text.is_empty());
        }
        if let [text] = texts.as_slice() {
            return Some(text.clone());
        }
        let parts = texts.into_iter().map(|text| (format!("{input}: one text of several"), text));
        self.settings.not_understood.extend(parts);
        None
    }

    /// A text of a node, put together where it is.
    fn string(&mut self, node: &'a Node, input: &str) -> Option<String> {
        let link = node.link(input);
        if let Some(source) = link.and_then(|link| self.graph.get(link.node))
            && source.class == "StringConcatenate"
        {
            let parts: Option<Vec<String>> = ["string_a", "string_b"].into_iter().map(|name| self.name(source, name)).collect();
            let delimiter = self.name(source, "delimiter").unwrap_or_default();
            if let Some(link) = link {
                self.understood.insert(link.node);
            }
            return Some(parts?.join(&delimiter));
        }
        let text = self.value(node, input)?.as_str()?;
        self.graph.copy(text)
    }

    /// The way of the text encoder, for what is left out of it.
    fn clip(&mut self, node: &'a Node) {
        let mut node = Some(node);
        for _ in 0..MAX_HOPS {
            let Some(source) = node.and_then(|node| self.graph.get(node.link("clip")?.node)) else { return };
            if source.class == "CLIPSetLastLayer" {
                let layer: Option<i64> = self.whole(source, "stop_at_clip_layer");
                self.settings.clip_skip = layer.and_then(i64::checked_neg).and_then(|layer| u32::try_from(layer).ok());
                self.understood.extend(node.and_then(|node| node.link("clip")).map(|link| link.node));
            }
            node = Some(source);
        }
    }

    /// The way of the model: LoRAs, shift, and the file.
    fn model(&mut self, node: &'a Node) {
        let mut node = node;
        let mut seen = BTreeSet::new();
        while let Some(link) = node.link("model").or_else(|| node.link("")) {
            let Some(source) = self.graph.get(link.node) else { return };
            if seen.len() >= MAX_HOPS || !seen.insert(link.node) {
                return;
            }
            if !self.graph.walk(source.inputs.len()) {
                return;
            }
            let loras = self.loras(source);
            let is_known = !loras.is_empty();
            if self.settings.loras.len() < MAX_LORAS {
                // The one that is nearest to the sampler was added last.
                self.settings.loras.splice(0..0, loras);
            }
            let shift = if source.class.contains("Sampling") { self.decimal(source, "shift") } else { None };
            let name = ["ckpt_name", "unet_name", "model_name", "model_path"].into_iter().find_map(|name| self.name(source, name));
            if is_known || shift.is_some() || name.is_some() || source.class == "Reroute" {
                self.understood.insert(link.node);
            }
            self.settings.flow_shift = self.settings.flow_shift.or(shift);
            if name.is_some() {
                self.settings.model = PictureModel::of(name, None);
                return;
            }
            node = source;
        }
    }

    /// LoRAs of one node, which may have several: `lora_name`, `lora_01` with `strength_01`, `lora_1: {on, lora, strength}`.
    fn loras(&mut self, node: &'a Node) -> Vec<PictureLora> {
        let mut loras = Vec::new();
        for (input, value) in &node.inputs {
            let lora = match value {
                Value::Object(map) if map.get("on") != Some(&Value::Bool(false)) => {
                    let name = map.get("lora").and_then(Value::as_str);
                    name.zip(map.get("strength").and_then(decimal)).map(|(name, strength)| (name.to_owned(), strength))
                }
                _ if input == "lora_name" => {
                    let strength = self.decimal(node, "strength_model").or_else(|| self.decimal(node, "strength"));
                    self.name(node, input).zip(strength)
                }
                Value::String(name) => {
                    let number = input.strip_prefix("lora_").filter(|rest| rest.chars().all(|c| c.is_ascii_digit()));
                    number.and_then(|number| Some((name.clone(), self.decimal(node, &format!("strength_{number}"))?)))
                }
                _ => None,
            };
            if let Some((name, strength)) = lora.filter(|(name, _)| name != "None") {
                loras.push(PictureLora { name, hash: None, strength });
            }
        }
        loras
    }

    /// The way of the latents: the size of empty ones, or the picture that they are of.
    fn latent(&mut self, sampler: &'a Node) {
        let mut open: Vec<Link<'a>> = latent_of(sampler).into_iter().collect();
        let mut seen = BTreeSet::new();
        let mut is_of_picture = false;
        while let Some(link) = open.pop() {
            let Some(node) = self.graph.get(link.node).filter(|_| seen.len() < MAX_HOPS && seen.insert(link.node)) else { continue };
            if node.class.contains("Empty") && node.class.contains("Latent") {
                self.understood.insert(link.node);
                self.settings.size = self.whole(node, "width").zip(self.whole(node, "height"));
                continue;
            }
            is_of_picture |= node.class.contains("VAEEncode");
            open.extend(node.links().filter(|(name, _)| *name != "vae").map(|(_, link)| link));
        }
        // From nothing, all of it is noise.
        if !is_of_picture && self.settings.strength == Some(1.0) {
            self.settings.strength = None;
        }
    }

    /// A VAE of its own.
    fn vae(&mut self) {
        for id in self.ancestors {
            if let Some(node) = self.graph.get(id).filter(|node| node.class == "VAELoader") {
                self.understood.insert(id);
                self.settings.vae = PictureModel::of(self.name(node, "vae_name"), None);
            }
        }
    }
}

/// Schedulers that are nodes of their own.
fn scheduler_of_class(class: &str) -> Option<String> {
    let name = match class {
        "KarrasScheduler" => "karras",
        "ExponentialScheduler" => "exponential",
        "AlignYourStepsScheduler" => "ays",
        "GITSScheduler" => "gits",
        _ => return None,
    };
    Some(name.to_owned())
}
