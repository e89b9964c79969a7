//! The graph as it was drawn, in the form of the graph that runs. The values of a node have no
//! names in it: those of well-known nodes are known here, others are left out.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::graph::{Graph, MAX_NODES, Node, as_link};
use crate::inspect::fields::{bounded, shown};

/// Names of a node's values in their order; `""` is one that belongs to the interface.
const VALUES: &[(&str, &[&str])] = &[
    ("KSampler", &["seed", "", "steps", "cfg", "sampler_name", "scheduler", "denoise"]),
    (
        "KSamplerAdvanced",
        &[
            "add_noise",
            "noise_seed",
            "",
            "steps",
            "cfg",
            "sampler_name",
            "scheduler",
            "start_at_step",
            "end_at_step",
            "return_with_leftover_noise",
        ],
    ),
    ("SamplerCustom", &["add_noise", "noise_seed", "", "cfg"]),
    ("RandomNoise", &["noise_seed", ""]),
    ("KSamplerSelect", &["sampler_name"]),
    ("BasicScheduler", &["scheduler", "steps", "denoise"]),
    ("KarrasScheduler", &["steps", "sigma_max", "sigma_min", "rho"]),
    ("ExponentialScheduler", &["steps", "sigma_max", "sigma_min"]),
    ("SDTurboScheduler", &["steps", "denoise"]),
    ("AlignYourStepsScheduler", &["model_type", "steps", "denoise"]),
    ("GITSScheduler", &["coeff", "steps", "denoise"]),
    ("Flux2Scheduler", &["steps", "width", "height"]),
    ("CFGGuider", &["cfg"]),
    ("FluxGuidance", &["guidance"]),
    ("CLIPTextEncode", &["text"]),
    ("CLIPTextEncodeFlux", &["clip_l", "t5xxl", "guidance"]),
    ("CLIPTextEncodeSD3", &["clip_l", "clip_g", "t5xxl", "empty_padding"]),
    ("CLIPTextEncodeSDXL", &["width", "height", "crop_w", "crop_h", "target_width", "target_height", "text_g", "text_l"]),
    ("TextEncodeQwenImageEdit", &["prompt"]),
    ("TextEncodeQwenImageEditPlus", &["prompt"]),
    ("CLIPSetLastLayer", &["stop_at_clip_layer"]),
    ("CheckpointLoaderSimple", &["ckpt_name"]),
    ("UNETLoader", &["unet_name", "weight_dtype"]),
    ("UnetLoaderGGUF", &["unet_name"]),
    ("CLIPLoader", &["clip_name", "type", "device"]),
    ("CLIPLoaderGGUF", &["clip_name", "type"]),
    ("DualCLIPLoader", &["clip_name1", "clip_name2", "type", "device"]),
    ("DualCLIPLoaderGGUF", &["clip_name1", "clip_name2", "type"]),
    ("TripleCLIPLoader", &["clip_name1", "clip_name2", "clip_name3"]),
    ("VAELoader", &["vae_name"]),
    ("LoraLoader", &["lora_name", "strength_model", "strength_clip"]),
    ("LoraLoaderModelOnly", &["lora_name", "strength_model"]),
    ("ModelSamplingSD3", &["shift"]),
    ("ModelSamplingAuraFlow", &["shift"]),
    ("EmptyLatentImage", &["width", "height", "batch_size"]),
    ("EmptySD3LatentImage", &["width", "height", "batch_size"]),
    ("EmptyFlux2LatentImage", &["width", "height", "batch_size"]),
    ("LoadImage", &["image", ""]),
    ("PrimitiveNode", &["value", ""]),
    ("PrimitiveInt", &["value", ""]),
    ("PrimitiveFloat", &["value", ""]),
    ("PrimitiveString", &["value"]),
    ("PrimitiveStringMultiline", &["value"]),
    ("SaveImage", &["filename_prefix"]),
];

/// Modes of a node that does not run, and of one that is passed through.
const MUTED: u64 = 2;
const BYPASSED: u64 = 4;
/// Nodes that keep what comes in by a name of theirs, and nodes that bring it to elsewhere.
const KEEPERS: [&str; 2] = ["SetNode", "easy setNode"];
const BRINGERS: [&str; 2] = ["GetNode", "easy getNode"];
/// Ids in a subgraph that stand for what comes in and what goes out.
const FROM_OUTSIDE: &str = "-10";
const TO_OUTSIDE: &str = "-20";
/// Values of a node without names that are told of, bytes of each, and inputs that it may be for.
const MAX_UNNAMED: usize = 8;
const MAX_UNNAMED_BYTES: usize = 60;
const MAX_PROMOTED: usize = 64;
/// Bytes of values that are copied: a subgraph's once for each node that stands for it.
const MAX_COPIED: usize = 32 << 20;
/// Subgraphs within each other.
const MAX_DEPTH: usize = 16;
/// Nodes and borders of subgraphs in a row that only pass on.
const MAX_PASSED: usize = 64;
/// Steps on all ways together: an input that is looked at, or [`STEP_BYTES`] that are copied.
const MAX_STEPS: usize = 1 << 20;
const STEP_BYTES: usize = 16;
/// What becomes of a seed after a picture: values of the interface.
const AFTER_A_PICTURE: [&str; 4] = ["fixed", "randomize", "increment", "decrement"];

/// A drawn graph; `None` where it is none.
pub(super) fn graph(map: &Map<String, Value>) -> Option<Graph> {
    map.get("nodes")?.as_array()?;
    let definitions = map.get("definitions").and_then(|it| it.get("subgraphs")).and_then(Value::as_array);
    let named = definitions.into_iter().flatten().filter_map(|it| Some((it.get("id")?.as_str()?, Level::of(it.as_object()?))));
    let subgraphs = named.take(MAX_NODES).collect();
    let mut drawing =
        Drawing { subgraphs: &subgraphs, nodes: BTreeMap::new(), left: MAX_NODES, bytes_left: MAX_COPIED, steps: Cell::new(MAX_STEPS) };
    drawing.add(&Level::of(map), "", &[], &BTreeMap::new());
    let is_cut = drawing.left == 0 || drawing.steps.get() == 0;
    Graph::of_nodes(drawing.nodes, is_cut)
}

/// An end of a link: a node, and the index of its output.
type End = (String, u64);

/// A link as it is drawn.
#[derive(Clone, Debug)]
struct Drawn<'a> {
    from: End,
    to: End,
    /// Its type, where it is told.
    kind: Option<&'a str>,
}

/// The drawing, or a subgraph in it.
struct Level<'a> {
    nodes: BTreeMap<String, &'a Value>,
    links: BTreeMap<u64, Drawn<'a>>,
    /// Names of what comes in, by index.
    inputs: Vec<&'a str>,
    /// Of these, in their order, those that a node within has a value of its own for: a node that
    /// stands for the subgraph has the values that count.
    promoted: Vec<&'a str>,
    /// What each output brings.
    outputs: BTreeMap<u64, Drawn<'a>>,
    /// The link that comes into the node that keeps it, by name.
    kept: BTreeMap<&'a str, u64>,
}

impl<'a> Level<'a> {
    fn of(map: &'a Map<String, Value>) -> Self {
        let list = |key: &str| map.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let links: BTreeMap<u64, Drawn<'a>> = list("links").iter().filter_map(link).collect();
        let ends = links.values().filter(|link| link.to.0 == TO_OUTSIDE).map(|link| (link.to.1, link.clone())).collect();
        let nodes: BTreeMap<String, &'a Value> = list("nodes").iter().filter_map(|node| Some((id_of(node.get("id")?)?, node))).collect();
        let inputs: Vec<&'a str> =
            list("inputs").iter().map(|input| input.get("name").and_then(Value::as_str).unwrap_or_default()).collect();
        let is_value = |(id, slot): &End| {
            let slot = nodes.get(id).and_then(|node| slots(node).get(usize::try_from(*slot).ok()?));
            slot.is_some_and(|slot| slot.get("widget").is_some())
        };
        let of_values: BTreeSet<u64> =
            links.values().filter(|link| link.from.0 == FROM_OUTSIDE && is_value(&link.to)).map(|link| link.from.1).collect();
        let promoted = inputs.iter().zip(0..).filter(|(_, index)| of_values.contains(index)).map(|(name, _)| *name).collect();
        let keepers = list("nodes").iter().filter(|node| is_one_of(node, &KEEPERS));
        let kept = keepers.filter_map(|node| Some((kept_name(node)?, slots(node).iter().find_map(|slot| slot.get("link")?.as_u64())?)));
        Self { inputs, promoted, outputs: ends, kept: kept.collect(), nodes, links }
    }

    /// The values that a node which stands for this subgraph gives to what comes in, by name. Where
    /// it is not told which is whose, each that may have one has all of them, so that none counts.
    fn input_values(&self, node: &Value) -> Map<String, Value> {
        let values = match node.get("widgets_values") {
            Some(Value::Array(values)) => values,
            Some(Value::Object(named)) => return named.clone(),
            _ => return Map::new(),
        };
        let own: Vec<&str> = slots(node).iter().filter_map(|slot| slot.get("widget")?.get("name")?.as_str()).collect();
        let named = [proxies(node), self.promoted.clone(), own].into_iter().find(|names| names.len() == values.len());
        if let Some(names) = named {
            let given = names.into_iter().zip(values).filter(|(name, value)| !name.is_empty() && !value.is_null());
            return given.map(|(name, value)| (name.to_owned(), value.clone())).collect();
        }
        if values.iter().all(Value::is_null) {
            return Map::new();
        }
        let short = |value: &Value| bounded(&shown(value), MAX_UNNAMED_BYTES);
        let all: Vec<String> = values.iter().take(MAX_UNNAMED).map(short).collect();
        self.promoted.iter().take(MAX_PROMOTED).map(|name| ((*name).to_owned(), json!({ "widgets_values": all }))).collect()
    }

    fn link(&self, slot: &Value) -> Option<&Drawn<'a>> {
        self.links.get(&slot.get("link")?.as_u64()?)
    }
}

/// The nodes of a drawing, as they would run.
struct Drawing<'a> {
    /// Subgraphs by id, which is the class of the nodes that stand for one.
    subgraphs: &'a BTreeMap<&'a str, Level<'a>>,
    nodes: BTreeMap<String, Node>,
    /// Nodes that may still be looked at.
    left: usize,
    /// Bytes that may still be copied.
    bytes_left: usize,
    /// Steps that may still be taken on the ways of links.
    steps: Cell<usize>,
}

impl<'a> Drawing<'a> {
    /// Adds the nodes of a level. `outside`: the subgraphs round it; `inputs`: what comes in, by
    /// index.
    fn add(&mut self, level: &Level<'_>, prefix: &str, outside: &[&'a str], inputs: &BTreeMap<u64, Value>) {
        for (id, node) in &level.nodes {
            let Some(left) = self.left.checked_sub(1) else { return };
            self.left = left;
            let mode = node.get("mode").and_then(Value::as_u64).unwrap_or_default();
            let Some(class) = node.get("type").and_then(Value::as_str).filter(|_| ![MUTED, BYPASSED].contains(&mode)) else { continue };
            let subgraphs = self.subgraphs;
            let inner = subgraphs.get_key_value(class).filter(|(class, _)| outside.len() < MAX_DEPTH && !outside.contains(*class));
            let own = format!("{prefix}{id}");
            if !self.takes(own.len() + class.len() + bytes_of(node.get("widgets_values").unwrap_or(&Value::Null))) {
                return;
            }
            let inputs_of_node = inner.map_or_else(|| values(node, class), |(_, inner)| inner.input_values(node));
            let mut found = Node { class: class.to_owned(), inputs: inputs_of_node };
            for slot in slots(node) {
                if let (Some(name), Some(link)) = (slot.get("name").and_then(Value::as_str), level.link(slot))
                    && let Some(value) = self.source(link, level, prefix, inputs)
                {
                    if !self.takes(name.len() + bytes_of(&value)) {
                        return;
                    }
                    found.inputs.insert(name.to_owned(), value);
                }
            }
            let Some((class, inner)) = inner else {
                self.nodes.insert(own, found);
                continue;
            };
            let named = inner.inputs.iter().zip(0..).filter_map(|(name, index)| Some((index, found.inputs.get(*name)?.clone())));
            let named = named.collect();
            self.add(inner, &format!("{own}:"), &[outside, &[*class]].concat(), &named);
        }
    }

    /// Takes room for a copy; where there is none, nothing more is looked at.
    fn takes(&mut self, bytes: usize) -> bool {
        let left = self.bytes_left.checked_sub(bytes);
        self.bytes_left = left.unwrap_or_default();
        if left.is_none() {
            self.left = 0;
        }
        left.is_some()
    }

    /// What a link brings: `[id, output]`, or the value that a subgraph is given.
    fn source<'l>(&'l self, link: &'l Drawn<'l>, level: &'l Level<'l>, prefix: &str, inputs: &BTreeMap<u64, Value>) -> Option<Value> {
        let (mut link, mut level, mut prefix) = (link, level, prefix.to_owned());
        // The nodes that stand for the subgraphs which the way has come into, each with its level.
        let mut hosts: Vec<(&Level<'_>, String, &Value)> = Vec::new();
        for _ in 0..MAX_PASSED {
            let (id, output) = &link.from;
            if id == FROM_OUTSIDE {
                let Some((outer, outer_prefix, host)) = hosts.pop() else { return inputs.get(output).cloned() };
                if !self.walks(slots(host).len()) {
                    return None;
                }
                let name = *level.inputs.get(usize::try_from(*output).ok()?)?;
                let slot = slots(host).iter().find(|slot| slot.get("name").and_then(Value::as_str) == Some(name));
                let Some(next) = slot.and_then(|slot| outer.link(slot)) else {
                    let bytes = bytes_of(host.get("widgets_values").unwrap_or(&Value::Null));
                    if !self.walks(bytes / STEP_BYTES) {
                        return None;
                    }
                    return level.input_values(host).get(name).cloned();
                };
                (link, level, prefix) = (next, outer, outer_prefix);
                continue;
            }
            let node = *level.nodes.get(id)?;
            if !self.walks(slots(node).len() + (prefix.len() + id.len()) / STEP_BYTES) {
                return None;
            }
            let inner = node.get("type").and_then(Value::as_str).and_then(|class| self.subgraphs.get(class));
            let next = if is_one_of(node, &BRINGERS) {
                level.links.get(level.kept.get(kept_name(node)?)?)
            } else if is_one_of(node, &KEEPERS) {
                slots(node).iter().find_map(|slot| level.link(slot))
            } else if node.get("mode").and_then(Value::as_u64) == Some(BYPASSED) {
                // Of a node that is passed through, what comes in of the same type goes out.
                slots(node).iter().filter_map(|slot| level.link(slot)).find(|it| it.kind == link.kind)
            } else if let Some(inner) = inner {
                hosts.push((level, prefix.clone(), node));
                prefix = format!("{prefix}{id}:");
                level = inner;
                inner.outputs.get(output)
            } else {
                return Some(Value::from(vec![Value::from(format!("{prefix}{id}")), Value::from(*output)]));
            };
            link = next?;
        }
        None
    }

    /// Takes one and so many further steps; false where there are no more.
    fn walks(&self, further: usize) -> bool {
        let left = self.steps.get().checked_sub(1 + further);
        self.steps.set(left.unwrap_or_default());
        left.is_some()
    }
}

fn is_one_of(node: &Value, classes: &[&str]) -> bool {
    node.get("type").and_then(Value::as_str).is_some_and(|class| classes.contains(&class))
}

/// The name by which a node keeps what comes in, or brings what another one keeps.
fn kept_name(node: &Value) -> Option<&str> {
    node.get("widgets_values")?.get(0)?.as_str()
}

/// Bytes that a copy of a value takes, about.
fn bytes_of(value: &Value) -> usize {
    size_of::<Value>()
        + match value {
            Value::String(text) => text.len(),
            Value::Array(list) => list.iter().map(bytes_of).sum(),
            Value::Object(map) => map.iter().map(|(name, value)| name.len() + bytes_of(value)).sum(),
            _ => 0,
        }
}

/// What each value of a node that stands for a subgraph is shown for, in the form of early versions:
/// the name of what comes in, or nothing where it is a value of a node within, which has it.
fn proxies(node: &Value) -> Vec<&str> {
    fn name(entry: &Value) -> Option<&str> {
        let is_of_input = id_of(entry.get(0)?)? == "-1";
        if is_of_input { entry.get(1)?.as_str() } else { None }
    }
    let list = node.get("properties").and_then(|it| it.get("proxyWidgets")).and_then(Value::as_array);
    list.into_iter().flatten().map(|entry| name(entry).unwrap_or_default()).collect()
}

fn slots(node: &Value) -> &[Value] {
    node.get("inputs").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// `[id, from node, its output, to node, its input, type]`, or an object with these names.
fn link(value: &Value) -> Option<(u64, Drawn<'_>)> {
    let at = |index: usize, name: &str| value.get(index).or_else(|| value.get(name));
    let end = |node: (usize, &str), slot: (usize, &str)| Some((id_of(at(node.0, node.1)?)?, at(slot.0, slot.1)?.as_u64()?));
    let drawn = Drawn {
        from: end((1, "origin_id"), (2, "origin_slot"))?,
        to: end((3, "target_id"), (4, "target_slot"))?,
        kind: at(5, "type").and_then(Value::as_str),
    };
    Some((at(0, "id")?.as_u64()?, drawn))
}

fn id_of(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned).or_else(|| value.as_i64().map(|id| id.to_string()))
}

/// A node's own values by name. Nodes of newer drawings name them in their inputs.
fn values(node: &Value, class: &str) -> Map<String, Value> {
    match node.get("widgets_values") {
        Some(Value::Object(named)) => named.clone(),
        Some(Value::Array(values)) => {
            // A number in the place of a value of the interface: there is none, and all are in other places.
            let is_shifted = |names: &[&str]| names.iter().zip(values).any(|(name, value)| name.is_empty() && value.is_number());
            let known = VALUES.iter().find(|(it, _)| *it == class).map(|(_, names)| names.to_vec()).filter(|names| !is_shifted(names));
            let names = known.unwrap_or_else(|| {
                let names: Vec<&str> = slots(node).iter().filter_map(|slot| slot.get("widget")?.get("name")?.as_str()).collect();
                if names.len() == values.len() { names } else { Vec::new() }
            });
            let named = values.iter().enumerate().filter_map(|(index, value)| {
                let name = match names.get(index) {
                    Some(&"") => return None,
                    Some(name) => (*name).to_owned(),
                    None if value.as_str().is_some_and(|it| AFTER_A_PICTURE.contains(&it)) => return None,
                    // What it is, the drawing does not tell.
                    None => format!("widgets_values[{index}]"),
                };
                // A list of a text and a number would be a link.
                let literal = if as_link(value).is_some() { Value::from(value.to_string()) } else { value.clone() };
                Some((name, literal))
            });
            named.collect()
        }
        _ => Map::new(),
    }
}
