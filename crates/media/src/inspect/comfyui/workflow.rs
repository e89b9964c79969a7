//! The graph as it was drawn, in the form of the graph that runs. The values of a node have no names in it: those of well-known nodes are
//! known here, others are left out.

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

/// A drawn graph; `None` where it is none.
pub(super) fn graph(map: &Map<String, Value>) -> Option<Graph> {
    let drawn = map.get("nodes")?.as_array()?;
    // Link, by its id: the node that it comes from, and that node's output.
    let links: BTreeMap<u64, (String, u64)> = map.get("links").and_then(Value::as_array).into_iter().flatten().filter_map(link).collect();
    Graph::of_nodes(drawn.iter().take(MAX_NODES).filter_map(|node| read(node, &links)).collect(), drawn.len() > MAX_NODES)
}

/// `[id, from node, its output, to node, its input, type]`, or an object with these names.
fn link(value: &Value) -> Option<(u64, (String, u64))> {
    let at = |index: usize, name: &str| value.get(index).or_else(|| value.get(name));
    Some((at(0, "id")?.as_u64()?, (id_of(at(1, "origin_id")?)?, at(2, "origin_slot")?.as_u64()?)))
}

fn id_of(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned).or_else(|| value.as_i64().map(|id| id.to_string()))
}

fn read(node: &Value, links: &BTreeMap<u64, (String, u64)>) -> Option<(String, Node)> {
    let mode = node.get("mode").and_then(Value::as_u64).unwrap_or_default();
    if mode == MUTED {
        return None;
    }
    let id = id_of(node.get("id")?)?;
    let class = node.get("type")?.as_str()?.to_owned();
    let slots = node.get("inputs").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let link_of = |slot: &Value| {
        let (node, output) = links.get(&slot.get("link")?.as_u64()?)?;
        Some(Value::from(vec![Value::from(node.as_str()), Value::from(*output)]))
    };
    let mut inputs = Map::new();
    if mode == BYPASSED {
        // What comes out is what went in: the walk follows any link of a node that it does not know.
        for slot in slots {
            let (Some(name), Some(link)) = (slot.get("name").and_then(Value::as_str), link_of(slot)) else { continue };
            inputs.insert(name.to_owned(), link);
        }
        return Some((id, Node { class: "Reroute".to_owned(), inputs }));
    }
    match node.get("widgets_values") {
        Some(Value::Object(named)) => inputs.extend(named.iter().map(|(name, value)| (name.clone(), value.clone()))),
        Some(Value::Array(values)) => {
            let names = VALUES.iter().find(|(it, _)| *it == class).map(|(_, names)| *names).unwrap_or_default();
            let named = names.iter().zip(values).filter(|(name, _)| !name.is_empty());
            inputs.extend(named.map(|(name, value)| ((*name).to_owned(), value.clone())));
        }
        _ => {}
    }
    for slot in slots {
        if let (Some(name), Some(link)) = (slot.get("name").and_then(Value::as_str), link_of(slot)) {
            inputs.insert(name.to_owned(), link);
        }
    }
    Some((id, Node { class, inputs }))
}
