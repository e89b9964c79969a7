//! From a graph to settings: back from the node that saves, over its samplers, to texts, model and
//! size.
//!
//! Only nodes of [`classes`] are gone through, each by what it is known to hand on; what another
//! node computes is not understood. Every value of every node on the way is in a field or listed.

mod loras;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use atelier_language::tr;
use serde_json::{Map, Value};

use super::classes::{self, Join, Parts, WholeLoader};
use super::graph::{Graph, Link, Node, as_link};
use crate::inspect::a1111;
use crate::inspect::fields::{bounded, decimal, shown, whole};
use crate::inspect::settings::{PictureModel, PictureSettings};

/// Nodes that are gone through on the way to one thing.
const MAX_HOPS: usize = 256;
/// Nodes that are gone through for one value, one inside another.
const MAX_DEPTH: usize = 64;
/// Samplers of a graph that are looked at: those of pictures that were saved from one graph.
const MAX_SAMPLERS: usize = 64;
/// LoRAs on the way to one sampler after which no others are taken.
const MAX_LORAS: usize = 256;
/// Texts that one node joins.
const MAX_PARTS: usize = 64;
/// Bytes of a value that is only listed.
const MAX_SHOWN: usize = 1000;

/// Settings of the picture that the graph saves. Where it saves several that differ, what they
/// share.
pub(super) fn settings(graph: &Graph) -> PictureSettings {
    let mut samplers: Vec<(&str, BTreeSet<&str>)> = Vec::new();
    for end in ends(graph) {
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
        return PictureSettings { not_understood: all_nodes(graph), ..PictureSettings::default() };
    };
    for other in found {
        settings.keep_shared(&other);
    }
    settings
}

/// Nodes that pictures end in: those that save, else those that show, else those that nothing else
/// takes from.
fn ends(graph: &Graph) -> Vec<&str> {
    let saving = |word: &str| -> Vec<&str> {
        graph.iter().filter(|(_, node)| node.class.contains(word) && node.links().next().is_some()).map(|(id, _)| id).collect()
    };
    let last = || {
        let taken: BTreeSet<&str> = graph.iter().flat_map(|(_, node)| node.links().map(|(_, link)| link.node)).collect();
        graph.iter().filter(|(id, node)| !taken.contains(id) && node.links().next().is_some()).map(|(id, _)| id).collect()
    };
    [saving("Save"), saving("Preview")].into_iter().find(|ends| ends.iter().any(|id| leads_to_sampler(graph, id))).unwrap_or_else(last)
}

fn leads_to_sampler(graph: &Graph, id: &str) -> bool {
    graph.ancestors(id).iter().any(|id| graph.get(id).is_some_and(is_sampler))
}

/// Samplers that start from no other sampler's picture.
fn first_samplers<'a>(graph: &'a Graph, ancestors: &BTreeSet<&'a str>) -> Vec<&'a str> {
    // In order, as the ids are.
    let samplers: Vec<&str> = ancestors.iter().copied().filter(|id| graph.get(id).is_some_and(is_sampler)).collect();
    let starts_first = |id: &&str| {
        let latent = graph.get(id).and_then(latent_of);
        let before = latent.map(|(_, link)| graph.ancestors(link.node)).unwrap_or_default();
        !before.iter().any(|other| other != id && samplers.binary_search(other).is_ok())
    };
    samplers.iter().copied().filter(starts_first).collect()
}

/// A node that takes latents, or all that makes a picture, and makes others by steps.
fn is_sampler(node: &Node) -> bool {
    let has = |name: &str| node.inputs.contains_key(name);
    latent_of(node).is_some() && ((has("steps") && (has("seed") || has("noise_seed"))) || has("sigmas"))
}

/// Inputs of a sampler that latents come by: `pipe` has words and model too.
const LATENT_INPUTS: [&str; 4] = ["latent_image", "latent", "samples", PIPE];
const PIPE: &str = "pipe";

fn latent_of(node: &Node) -> Option<(&'static str, Link<'_>)> {
    LATENT_INPUTS.into_iter().find_map(|name| Some((name, node.link(name)?)))
}

/// Every node by class and values, of a graph that makes no picture that is understood.
fn all_nodes(graph: &Graph) -> Vec<(String, String)> {
    let listed = |(id, node): (&str, &Node)| {
        let line = line_of(node, |name, value| !classes::is_without_meaning(name, &shown(value)));
        (format!("{} (node {id})", node.class), line)
    };
    graph.iter().map(listed).collect()
}

/// Those values of a node that are to be listed, in one line.
fn line_of(node: &Node, mut is_listed: impl FnMut(&str, &Value) -> bool) -> String {
    let mut line = String::new();
    for (name, value) in &node.inputs {
        if as_link(value).is_some() || value.is_null() || !is_listed(name, value) {
            continue;
        }
        let comma = if line.is_empty() { "" } else { ", " };
        line.extend([comma, name, ": "]);
        line.push_str(&bounded(&shown(value), MAX_SHOWN));
        if line.len() > 16 * MAX_SHOWN {
            line.push_str("...");
            break;
        }
    }
    line
}

impl PictureSettings {
    /// Leaves what both say; what differs is listed as not understood.
    fn keep_shared(&mut self, other: &Self) {
        macro_rules! keep {
            ($($field:ident),*) => { $(if self.$field != other.$field {
                let (one, two) = (begin_of(&self.$field), begin_of(&other.$field));
                self.not_understood.push((stringify!($field).to_owned(), tr!("media-one-or-two", one, two)));
                self.$field = Default::default();
            })* };
        }
        keep!(size, prompt, negative_prompt, seed, steps, guidance, distilled_guidance, flow_shift, eta, clip_skip, strength);
        keep!(sampler, scheduler, model, vae, loras);
        let known: BTreeSet<_> = self.not_understood.iter().cloned().collect();
        self.not_understood.extend(other.not_understood.iter().filter(|it| !known.contains(it)).cloned());
    }
}

/// The beginning of a value.
fn begin_of(value: &impl fmt::Debug) -> String {
    bounded(&format!("{value:?}"), MAX_SHOWN)
}

/// The way back from one sampler.
struct Walk<'a> {
    graph: &'a Graph,
    ancestors: &'a BTreeSet<&'a str>,
    /// Values that are in a field, by node and input.
    used: Vec<(&'a str, &'a str)>,
    settings: PictureSettings,
}

/// One of the two sides of guidance.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Positive,
    Negative,
}

impl Side {
    const fn input(self) -> &'static str {
        match self {
            Self::Positive => "positive",
            Self::Negative => "negative",
        }
    }
}

impl<'a> Walk<'a> {
    fn new(graph: &'a Graph, ancestors: &'a BTreeSet<&'a str>) -> Self {
        Self { graph, ancestors, used: Vec::new(), settings: PictureSettings::default() }
    }

    fn settings(mut self, id: &'a str) -> PictureSettings {
        self.sampling(id);
        let guider = self.link(id, "guider").map(|link| self.behind(link).node);
        for id in [Some(id), guider].into_iter().flatten() {
            self.words(id, Side::Positive);
            self.words(id, Side::Negative);
            self.model(id);
        }
        self.latent(id);
        self.vae();
        self.list_the_rest();
        self.settings
    }

    /// Lists what is in no field, and nodes of which it is not known what they do.
    fn list_the_rest(&mut self) {
        let used: BTreeSet<(&str, &str)> = self.used.drain(..).collect();
        for id in self.ancestors {
            let Some(node) = self.graph.get(id) else { continue };
            let is_listed = |name: &str, value: &Value| !used.contains(&(id, name)) && !classes::is_without_meaning(name, &shown(value));
            let line = line_of(node, is_listed);
            if !line.is_empty() || !classes::is_known(&node.class) {
                self.settings.not_understood.push((format!("{} (node {id})", node.class), line));
            }
        }
    }

    fn node(&self, id: &str) -> Option<&'a Node> {
        self.graph.get(id)
    }

    fn link(&self, id: &str, input: &str) -> Option<Link<'a>> {
        self.node(id)?.link(input)
    }

    /// Where a link comes from behind the nodes that only choose or pass on.
    fn behind(&mut self, link: Link<'a>) -> Link<'a> {
        let mut link = link;
        for _ in 0..MAX_DEPTH {
            let before = self.used.len();
            let Some(next) = self.passed_on(link).and_then(|input| self.link(link.node, &input)) else {
                // A choice of what is not there stays to be listed.
                self.used.truncate(before);
                return link;
            };
            if !self.graph.walk(1) {
                return link;
            }
            link = next;
        }
        link
    }

    /// The input whose value a node hands on as it is, whatever it is.
    fn passed_on(&mut self, link: Link<'a>) -> Option<String> {
        let id = link.node;
        let node = self.node(id)?;
        match node.class.as_str() {
            "Reroute" | "Reroute (rgthree)" => Some(String::new()),
            "ComfySwitchNode" => {
                let is_on = self.take(id, "switch", Value::as_bool)?;
                Some(if is_on { "on_true" } else { "on_false" }.to_owned())
            }
            "ImpactSwitch" => self.whole::<u32>(id, "select").map(|index| format!("input{index}")),
            // Of the inputs that are there, the first one is handed on.
            "Any Switch (rgthree)" => node.inputs.keys().find(|name| name.starts_with("any_")).cloned(),
            _ => None,
        }
    }

    /// Takes a value that `read` understands, from the node itself or from where it is handed on;
    /// what is not understood stays to be listed.
    fn take<T>(&mut self, id: &'a str, input: &str, read: impl FnOnce(&Value) -> Option<T>) -> Option<T> {
        let before = self.used.len();
        let found = self.value(id, input, MAX_DEPTH).and_then(|value| read(&value));
        if found.is_none() {
            self.used.truncate(before);
        }
        found
    }

    /// The value of an input; the values that it was made of count as used.
    fn value(&mut self, id: &'a str, input: &str, depth: usize) -> Option<Cow<'a, Value>> {
        let (name, value) = self.node(id)?.inputs.get_key_value(input)?;
        if let Some(link) = as_link(value) {
            return self.output(link, depth.checked_sub(1)?);
        }
        self.used.push((id, name));
        Some(Cow::Borrowed(value))
    }

    /// What comes out of a node.
    fn output(&mut self, link: Link<'a>, depth: usize) -> Option<Cow<'a, Value>> {
        if !self.graph.walk(1) {
            return None;
        }
        let node = self.node(link.node)?;
        if let Some(inputs) = classes::named(classes::VALUES, &node.class) {
            let input = inputs.get(link.output as usize).or_else(|| inputs.last())?;
            let value = self.value(link.node, input, depth)?;
            let has_remark = || value.as_str().is_some_and(|text| text.lines().any(|line| line.trim_start().starts_with('#')));
            return (!classes::WITH_REMARKS.contains(&node.class.as_str()) || !has_remark()).then_some(value);
        }
        if let Some(join) = classes::JOINS.iter().find(|join| join.class == node.class) {
            return self.joined(link.node, join, depth).map(|text| Cow::Owned(Value::from(text)));
        }
        match node.class.as_str() {
            // The model's name is its fourth output.
            "Checkpoint Loader with Name (Image Saver)" if link.output == 3 => self.value(link.node, "ckpt_name", depth),
            _ => {
                let input = self.passed_on(link)?;
                self.value(link.node, &input, depth)
            }
        }
    }

    fn joined(&mut self, id: &'a str, join: &Join, depth: usize) -> Option<String> {
        let has = |name: &str| self.graph.get(id).is_some_and(|node| node.inputs.contains_key(name));
        let names: Vec<String> = match join.parts {
            Parts::Named(names) => names.iter().filter(|name| has(name)).map(|name| (*name).to_owned()).collect(),
            Parts::Counted { prefix, count } => {
                let count = usize::try_from(whole(&*self.value(id, count, depth)?)?).ok().filter(|count| *count <= MAX_PARTS)?;
                (1..=count).map(|n| format!("{prefix}{n}")).filter(|name| has(name)).collect()
            }
        };
        let trims = match join.trims_by {
            Some(switch) if has(switch) => match shown(&*self.value(id, switch, depth)?).as_str() {
                "true" => true,
                "false" => false,
                _ => return None,
            },
            _ => false,
        };
        if names.is_empty() {
            return None;
        }
        let mut parts = Vec::new();
        for name in names {
            let value = self.value(id, &name, depth)?;
            let text = self.graph.copy(value.as_str()?)?;
            let text = if trims { text.trim().to_owned() } else { text };
            if !(join.leaves_out_empty && text.is_empty()) {
                parts.push(text);
            }
        }
        // What gives a list gives no text.
        if has("return_list") && self.value(id, "return_list", depth)?.as_bool()? {
            return None;
        }
        // Between fewer parts nothing stands.
        let separator = match parts.len() {
            0 | 1 => String::new(),
            _ if has(join.separator) => self.value(id, join.separator, depth)?.as_str()?.replace("\\n", "\n"),
            _ => String::new(),
        };
        Some(parts.join(&separator))
    }

    fn text(&mut self, id: &'a str, input: &str) -> Option<String> {
        let graph = self.graph;
        self.take(id, input, |value| {
            // Some loaders have the name with its picture.
            let is_with_picture = |map: &&Map<String, Value>| map.keys().all(|key| ["content", "image", "title"].contains(&key.as_str()));
            let named = value.as_object().filter(is_with_picture).and_then(|map| map.get("content"));
            graph.copy(named.unwrap_or(value).as_str()?)
        })
    }

    fn decimal(&mut self, id: &'a str, input: &str) -> Option<f32> {
        self.take(id, input, decimal)
    }

    fn whole<T: TryFrom<i128>>(&mut self, id: &'a str, input: &str) -> Option<T> {
        self.take(id, input, |value| T::try_from(whole(value)?).ok())
    }

    /// The node that a part of a sampler comes from: itself where it has no such link; none where
    /// its class is not one of `known`.
    fn part(&mut self, id: &'a str, input: &str, is_known: impl FnOnce(&str) -> bool) -> Option<&'a str> {
        let Some(link) = self.link(id, input) else { return Some(id) };
        let link = self.behind(link);
        is_known(&self.node(link.node)?.class).then_some(link.node)
    }

    fn sampling(&mut self, id: &'a str) {
        if let Some(noise) = self.part(id, "noise", |class| classes::NOISES.contains(&class)) {
            for input in ["seed", "noise_seed"] {
                if self.settings.seed.is_none() {
                    self.settings.seed = self.whole(noise, input);
                }
                if self.settings.seed.is_none()
                    && let Some(seed) = self.take(noise, input, |value| Some(shown(value)))
                {
                    self.settings.not_understood.push(("seed".to_owned(), seed));
                }
            }
        }
        if let Some(sigmas) = self.part(id, "sigmas", |class| classes::named(classes::SIGMAS, class).is_some()) {
            self.settings.steps = self.whole(sigmas, "steps");
            let of_class = self.node(sigmas).and_then(|node| classes::named(classes::SIGMAS, &node.class));
            let of_class = of_class.filter(|name| !name.is_empty()).map(|name| (*name).to_owned());
            self.settings.scheduler = self.text(sigmas, "scheduler").or(of_class);
            self.settings.strength = self.decimal(sigmas, "denoise");
        }
        if let Some(method) = self.part(id, "sampler", |class| classes::named(classes::SAMPLERS, class).is_some()) {
            let of_class = self.node(method).and_then(|node| classes::named(classes::SAMPLERS, &node.class));
            let of_class = of_class.filter(|name| !name.is_empty()).map(|name| (*name).to_owned());
            if of_class.is_some() {
                self.settings.eta = self.decimal(method, "eta");
            }
            self.settings.sampler = of_class.or_else(|| self.text(method, "sampler_name"));
        }
        if let Some(guider) = self.part(id, "guider", |class| classes::GUIDERS.contains(&class)) {
            self.settings.guidance = self.decimal(guider, "cfg");
            if self.settings.guidance.is_none() && self.node(guider).is_some_and(|node| node.class == "BasicGuider") {
                // It has one conditioning and no guidance.
                self.settings.guidance = Some(1.0);
            }
        }
        // All of the steps are the usual end.
        let steps = self.settings.steps;
        self.take(id, "end_at_step", |value| (whole(value)? == i128::from(steps?)).then_some(()));
    }

    /// The one text on a side of guidance. Several that differ are listed.
    fn words(&mut self, id: &'a str, side: Side) {
        let field = |settings: &PictureSettings| match side {
            Side::Positive => settings.prompt.is_some(),
            Side::Negative => settings.negative_prompt.is_some(),
        };
        if field(&self.settings) {
            return;
        }
        let found = match (self.link(id, side.input()), self.link(id, "conditioning"), self.link(id, PIPE)) {
            (Some(link), ..) => self.words_behind(link, side),
            (None, Some(link), _) if side == Side::Positive => self.words_behind(link, side),
            (None, _, Some(link)) => self.words_of_loader(link, side).map(|words| vec![words]),
            _ => return,
        };
        // What was not followed is listed with its node.
        let Some(mut texts) = found else { return };
        texts.sort();
        texts.dedup();
        // One of two that are mixed is often left empty.
        if texts.len() > 1 {
            texts.retain(|text| !text.is_empty());
        }
        if texts.len() == 1 {
            match side {
                Side::Positive => self.settings.prompt = texts.pop(),
                Side::Negative => self.settings.negative_prompt = texts.pop(),
            }
            return;
        }
        let parts = texts.into_iter().map(|text| (tr!("media-one-text-of-several", input = side.input()), text));
        self.settings.not_understood.extend(parts);
    }

    /// The texts behind a conditioning; `None` where a way ends in a node that is not understood.
    fn words_behind(&mut self, link: Link<'a>, side: Side) -> Option<Vec<String>> {
        let (mut texts, mut open, mut seen) = (Vec::new(), vec![link], BTreeSet::new());
        let mut words = Vec::new();
        let mut is_whole = true;
        while let Some(link) = open.pop() {
            let link = self.behind(link);
            if seen.len() >= MAX_HOPS || !seen.insert((link.node, link.output)) {
                continue;
            }
            let Some(node) = self.node(link.node) else {
                is_whole = false;
                continue;
            };
            if self.settings.distilled_guidance.is_none() && classes::is_known(&node.class) {
                self.settings.distilled_guidance = self.decimal(link.node, "guidance");
            }
            if node.class == classes::ZERO_WORDS {
                texts.push(String::new());
            } else if let Some(inputs) = classes::named(classes::ENCODERS, &node.class) {
                let before = self.used.len();
                let text = self.encoded(link.node, inputs, side);
                words.extend(self.used.split_off(before));
                self.clip(link.node);
                is_whole &= text.is_some();
                texts.extend(text);
            } else if let Some(inputs) = classes::named(classes::HAND_WORDS_ON, &node.class) {
                let input = inputs.get(link.output as usize).or_else(|| inputs.last());
                let next = input.and_then(|input| node.link(input));
                is_whole &= next.is_some();
                open.extend(next);
            } else if let Some(inputs) = classes::named(classes::MIX_WORDS, &node.class) {
                open.extend(inputs.iter().filter_map(|input| node.link(input)));
            } else {
                let before = self.used.len();
                let text = self.words_of_loader(link, side);
                words.extend(self.used.split_off(before));
                is_whole &= text.is_some();
                texts.extend(text);
            }
        }
        // Where nothing is told of some of the words, none of them is the prompt, and all of them
        // are listed.
        if !is_whole {
            return None;
        }
        self.used.extend(words);
        Some(texts)
    }

    /// The text that a node encodes. Where it takes several, the one that says most is it, and the
    /// others are listed.
    fn encoded(&mut self, id: &'a str, inputs: &[&str], side: Side) -> Option<String> {
        let node = self.node(id)?;
        let mut texts: Vec<(&str, String)> = Vec::new();
        for input in inputs.iter().filter(|input| node.inputs.contains_key(**input)) {
            texts.push((input, self.text(id, input)?));
        }
        let main = texts.iter().find(|(_, text)| !text.is_empty()).or_else(|| texts.first()).map(|(_, text)| text.clone())?;
        let others = texts.into_iter().filter(|(_, text)| !text.is_empty() && *text != main);
        self.settings.not_understood.extend(others.map(|(input, text)| (format!("{}: {input}", side.input()), text)));
        if side == Side::Positive {
            self.settings.only_round_brackets = !classes::READ_AS_A1111.contains(&node.class.as_str());
        }
        Some(main)
    }

    fn loader(&self, link: Link<'_>) -> Option<&'static WholeLoader> {
        let class = &self.node(link.node)?.class;
        classes::WHOLE_LOADERS.iter().find(|loader| loader.class == class)
    }

    /// The text of a node that loads and encodes. Its pipe has both sides.
    fn words_of_loader(&mut self, link: Link<'a>, side: Side) -> Option<String> {
        let loader = self.loader(link)?;
        let [positive, negative] = loader.words;
        let side = if link.output == positive {
            Side::Positive
        } else if link.output == negative {
            Side::Negative
        } else {
            side
        };
        self.text(link.node, side.input())
    }

    /// The way of the text encoder, for what is left out of it.
    fn clip(&mut self, id: &'a str) {
        let mut id = id;
        for _ in 0..MAX_HOPS {
            let Some(link) = self.link(id, "clip") else { return };
            let link = self.behind(link);
            let Some(node) = self.node(link.node).filter(|node| classes::is_known(&node.class)) else { return };
            if !self.graph.walk(1) {
                return;
            }
            if node.class == "CLIPSetLastLayer" && self.settings.clip_skip.is_none() {
                self.settings.clip_skip = self.skipped_layers(link.node, "stop_at_clip_layer");
            }
            id = link.node;
        }
    }

    /// Layers are counted from the end, by a number below zero.
    fn skipped_layers(&mut self, id: &'a str, input: &str) -> Option<u32> {
        self.take(id, input, |value| u32::try_from(whole(value)?.checked_neg()?).ok())
    }

    /// The way of the model: LoRAs, shift, and the file.
    fn model(&mut self, id: &'a str) {
        let mut id = id;
        let mut seen = BTreeSet::new();
        while let Some(link) = ["model", PIPE].into_iter().find_map(|input| self.link(id, input)) {
            let link = self.behind(link);
            let Some(node) = self.node(link.node) else { return };
            if seen.len() >= MAX_HOPS || !seen.insert(link.node) || !self.graph.walk(1 + node.inputs.len()) {
                return;
            }
            let is_handed_on = classes::HAND_MODEL_ON.contains(&node.class.as_str());
            let file = classes::named(classes::MODEL_FILES, &node.class).copied();
            let is_loader = self.loader(link).is_some();
            if !(is_handed_on || is_loader || file.is_some()) {
                return;
            }
            if is_handed_on || is_loader {
                let loras = self.loras(link.node);
                if self.settings.loras.len() < MAX_LORAS {
                    // The one that is nearest to the sampler was added last.
                    self.settings.loras.splice(0..0, loras);
                }
            }
            if node.class.starts_with("ModelSampling") && self.settings.flow_shift.is_none() {
                self.settings.flow_shift = self.decimal(link.node, "shift");
            }
            if is_loader && self.settings.clip_skip.is_none() {
                self.settings.clip_skip = self.skipped_layers(link.node, "clip_skip");
            }
            if let Some(input) = file.or(is_loader.then_some("ckpt_name")) {
                if self.settings.model.is_none() {
                    self.settings.model = PictureModel::of(self.text(link.node, input), None);
                }
                return;
            }
            id = link.node;
        }
    }

    /// The way of the latents: the size of empty ones, or the picture that they are of.
    fn latent(&mut self, sampler: &'a str) {
        let mut open = self.node(sampler).and_then(latent_of).map(|(_, link)| link);
        let (mut is_empty, mut is_of_picture) = (false, false);
        for _ in 0..MAX_HOPS {
            let Some(link) = open.take() else { break };
            let link = self.behind(link);
            let Some(node) = self.node(link.node) else { break };
            let class = node.class.as_str();
            if classes::EMPTY_LATENTS.contains(&class) {
                is_empty = true;
                self.size(link.node, "width", "height");
            } else if let Some(loader) = self.loader(link)
                && (link.output == loader.latent || self.link(sampler, PIPE) == Some(link))
            {
                is_empty = true;
                self.size_of_loader(link.node);
            } else if classes::PICTURE_LATENTS.contains(&class) {
                is_of_picture = true;
            } else if let Some(input) = classes::named(classes::HAND_LATENTS_ON, class) {
                open = node.link(input);
            }
        }
        // From nothing, all of it is noise; where it is not known what it is from, a part of the
        // noise is not a start picture's strength.
        if !is_of_picture
            && let Some(strength) = self.settings.strength.take()
            && strength != 1.0
        {
            let name = if is_empty { "denoise of an empty latent" } else { "denoise" };
            self.settings.not_understood.push((name.to_owned(), strength.to_string()));
        }
    }

    fn size(&mut self, id: &'a str, width: &str, height: &str) {
        let before = self.used.len();
        let side = |side: u32| (side > 0).then_some(side);
        self.settings.size = self.whole(id, width).and_then(side).zip(self.whole(id, height).and_then(side));
        if self.settings.size.is_none() {
            self.used.truncate(before);
        }
    }

    /// The size of a node that has a list of sizes, or sides of its own.
    fn size_of_loader(&mut self, id: &'a str) {
        let listed = self.take(id, "resolution", |value| a1111::size(value.as_str()?));
        if listed.is_some() {
            self.settings.size = listed;
        } else {
            self.take(id, "resolution", |value| value.as_str()?.contains("custom").then_some(()));
            self.size(id, "empty_latent_width", "empty_latent_height");
        }
    }

    /// A VAE of its own; of several, none is chosen.
    fn vae(&mut self) {
        let is_loader = |id: &&str| self.node(id).is_some_and(|node| node.class == "VAELoader");
        let loaders: Vec<&str> = self.ancestors.iter().copied().filter(is_loader).collect();
        if let [id] = loaders.as_slice() {
            self.settings.vae = PictureModel::of(self.text(id, "vae_name"), None);
        }
    }
}
