//! The graph as it was drawn, in the form of the graph that runs. The values of a node have no
//! names in it: those of well-known nodes are known here, others are left out.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::graph::{Graph, MAX_NODES, Node};

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
/// Ids in a subgraph that stand for what comes in and what goes out.
const FROM_OUTSIDE: &str = "-10";
const TO_OUTSIDE: &str = "-20";
/// Subgraphs within each other, and nodes in a row that only pass on.
const MAX_DEPTH: usize = 16;

/// A drawn graph; `None` where it is none.
pub(super) fn graph(map: &Map<String, Value>) -> Option<Graph> {
    map.get("nodes")?.as_array()?;
    let definitions = map.get("definitions").and_then(|it| it.get("subgraphs")).and_then(Value::as_array);
    let named = definitions.into_iter().flatten().filter_map(|it| Some((it.get("id")?.as_str()?, Level::of(it.as_object()?))));
    let subgraphs = named.take(MAX_NODES).collect();
    let mut drawing = Drawing { subgraphs: &subgraphs, nodes: BTreeMap::new(), left: MAX_NODES };
    drawing.add(&Level::of(map), "", &[], &BTreeMap::new());
    Graph::of_nodes(drawing.nodes, drawing.left == 0)
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
    /// Where each output comes from.
    outputs: BTreeMap<u64, End>,
}

impl<'a> Level<'a> {
    fn of(map: &'a Map<String, Value>) -> Self {
        let list = |key: &str| map.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let links: BTreeMap<u64, Drawn<'a>> = list("links").iter().filter_map(link).collect();
        let ends = links.values().filter(|link| link.to.0 == TO_OUTSIDE).map(|link| (link.to.1, link.from.clone()));
        Self {
            nodes: list("nodes").iter().filter_map(|node| Some((id_of(node.get("id")?)?, node))).collect(),
            inputs: list("inputs").iter().map(|input| input.get("name").and_then(Value::as_str).unwrap_or_default()).collect(),
            outputs: ends.collect(),
            links,
        }
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
            let mut found = Node { class: class.to_owned(), inputs: values(node, class) };
            for slot in slots(node) {
                if let (Some(name), Some(link)) = (slot.get("name").and_then(Value::as_str), level.link(slot))
                    && let Some(value) = self.source(link, level, prefix, inputs)
                {
                    found.inputs.insert(name.to_owned(), value);
                }
            }
            let own = format!("{prefix}{id}");
            let subgraphs = self.subgraphs;
            let Some((class, inner)) = subgraphs.get_key_value(class).filter(|_| outside.len() < MAX_DEPTH && !outside.contains(&class))
            else {
                self.nodes.insert(own, found);
                continue;
            };
            let named = inner.inputs.iter().zip(0..).filter_map(|(name, index)| Some((index, found.inputs.get(*name)?.clone())));
            let named = named.collect();
            self.add(inner, &format!("{own}:"), &[outside, &[*class]].concat(), &named);
        }
    }

    /// What a link brings: `[id, output]`, or the value that a subgraph is given.
    fn source(&self, link: &Drawn<'_>, level: &Level<'_>, prefix: &str, inputs: &BTreeMap<u64, Value>) -> Option<Value> {
        let mut link = link;
        for _ in 0..MAX_DEPTH {
            let (id, output) = &link.from;
            if id == FROM_OUTSIDE {
                return inputs.get(output).cloned();
            }
            let node = level.nodes.get(id)?;
            if node.get("mode").and_then(Value::as_u64) != Some(BYPASSED) {
                let (id, output) = self.end(node, format!("{prefix}{id}"), *output)?;
                return Some(Value::from(vec![Value::from(id), Value::from(output)]));
            }
            // Of a node that is passed through, what comes in of the same type goes out.
            link = slots(node).iter().filter_map(|slot| level.link(slot)).find(|it| it.kind == link.kind)?;
        }
        None
    }

    /// The node that an output comes from, which may be in a subgraph that the node stands for.
    fn end(&self, node: &Value, id: String, output: u64) -> Option<End> {
        let (mut node, mut id, mut output) = (node, id, output);
        for _ in 0..=MAX_DEPTH {
            let Some(inner) = self.subgraphs.get(node.get("type")?.as_str()?) else { return Some((id, output)) };
            let (from, inner_output) = inner.outputs.get(&output)?;
            node = inner.nodes.get(from)?;
            (id, output) = (format!("{id}:{from}"), *inner_output);
        }
        None
    }
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
            let known = VALUES.iter().find(|(it, _)| *it == class).map(|(_, names)| names.to_vec());
            let names = known.unwrap_or_else(|| {
                let names: Vec<&str> = slots(node).iter().filter_map(|slot| slot.get("widget")?.get("name")?.as_str()).collect();
                if names.len() == values.len() { names } else { Vec::new() }
            });
            let named = names.iter().zip(values).filter(|(name, _)| !name.is_empty());
            named.map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
        }
        _ => Map::new(),
    }
}
