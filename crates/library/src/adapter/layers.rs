//! Layers of a model that an adapter can change, in the engine's names, and the names by which
//! trainers call them.

use std::collections::HashMap;

use super::aliases::{self, Part, Slot};
use crate::cache::IdentifiedFile;
use crate::family::Family;
use crate::kind::{DIFFUSION_PREFIXES, in_language_model};
use atelier_core::recipe::FileRole;

/// A layer with a weight.
pub(super) struct Layer {
    /// In the engine's names, without `.weight`.
    pub(super) name: String,
    /// Outputs.
    rows: u64,
    /// Inputs; 1 of a norm.
    inputs: u64,
    /// Points of a convolution's kernel; else 1.
    area: u64,
    pub(super) has_bias: bool,
}

/// Rows of a layer's weight.
pub(super) struct Place<'a> {
    pub(super) layer: &'a Layer,
    part: Part,
    first_row: u64,
    pub(super) rows: u64,
}

impl Place<'_> {
    /// Where it has all rows, they go on at the beginning.
    pub(super) const fn first_row(&self) -> u64 {
        self.first_row
    }

    pub(super) const fn inputs(&self) -> u64 {
        self.layer.inputs
    }

    pub(super) const fn area(&self) -> u64 {
        self.layer.area
    }

    pub(super) const fn columns(&self) -> u64 {
        self.layer.inputs.saturating_mul(self.layer.area)
    }

    /// True where its rows stand in another order than the adapter's.
    pub(super) fn is_swapped(&self) -> bool {
        self.part == Part::Swapped
    }
}

/// The layers of a model's files.
pub(super) struct Layers {
    family: Family,
    all: Vec<Layer>,
    by_name: HashMap<(Slot, String), (usize, Part)>,
}

/// Beginnings of names, of which several can follow each other, and the module that they tell.
/// Longer ones first.
const PREFIXES: [(&str, Option<Slot>); 38] = [
    ("text_encoders_clip_l_transformer_", Some(Slot::ClipL)),
    ("text_encoders_clip_g_transformer_", Some(Slot::ClipG)),
    ("text_encoders_t5xxl_transformer_", Some(Slot::T5)),
    ("conditioner_embedders_0_transformer_", Some(Slot::Encoder(1))),
    ("conditioner_embedders_1_model_", Some(Slot::Encoder(2))),
    ("cond_stage_model_1_model_", Some(Slot::Encoder(2))),
    ("cond_stage_model_1_transformer_", Some(Slot::Encoder(2))),
    ("cond_stage_model_transformer_", Some(Slot::Encoder(1))),
    ("cond_stage_model_model_", Some(Slot::Encoder(1))),
    ("model_diffusion_model_", Some(Slot::Diffusion)),
    ("text_encoders_llm_", Some(Slot::Llm)),
    ("base_model_model_", None),
    ("first_stage_model_", Some(Slot::Vae)),
    ("diffusion_model_", Some(Slot::Diffusion)),
    ("lora_transformer_", Some(Slot::Diffusion)),
    ("text_encoder_1_", Some(Slot::Encoder(1))),
    ("text_encoder_2_", Some(Slot::Encoder(2))),
    ("text_encoder_3_", Some(Slot::Encoder(3))),
    ("text_encoder_", Some(Slot::Encoder(1))),
    ("language_model_", None),
    ("transformer_", None),
    ("t5xxl_", Some(Slot::T5)),
    ("clip_l_", Some(Slot::ClipL)),
    ("clip_g_", Some(Slot::ClipG)),
    ("lora_unet_", Some(Slot::Diffusion)),
    ("lycoris_", None),
    ("module_", None),
    ("model_", None),
    ("lora_", None),
    ("unet_", Some(Slot::Diffusion)),
    ("dora_", None),
    ("te1_", Some(Slot::Encoder(1))),
    ("te2_", Some(Slot::Encoder(2))),
    ("te3_", Some(Slot::Encoder(3))),
    ("vae_", Some(Slot::Vae)),
    ("t5_", Some(Slot::T5)),
    ("net_", None),
    ("te_", Some(Slot::Encoder(1))),
];

/// No name has more beginnings than this.
const MAX_PREFIXES: u32 = 5;

impl Layers {
    pub(super) fn new(family: Family, model: &[(FileRole, &IdentifiedFile)]) -> Self {
        let mut layers: Vec<Layer> = Vec::new();
        let mut own_names: Vec<(Slot, String)> = Vec::new();
        let mut index: HashMap<String, usize> = HashMap::new();
        let mut biases = Vec::new();
        for (role, file) in model {
            for tensor in &file.header.tensors {
                let Some((slot, rest)) = slot_of(family, *role, &tensor.name) else { continue };
                let Some((own_name, leaf)) = aliases::layer_and_leaf(rest) else { continue };
                let (layer_name, is_part) = aliases::engine_name(family, slot, own_name);
                let name = format!("{}{layer_name}", aliases::engine_prefix(family, slot));
                if leaf == "bias" {
                    biases.push(name);
                    continue;
                }
                let Some((rows, inputs, area)) = sizes(&tensor.shape) else { continue };
                let layer = Layer { name: name.clone(), rows, inputs, area, has_bias: false };
                if let Some(known) = index.get(&name).and_then(|at| layers.get_mut(*at)) {
                    // A file of one module is used in the place of the whole model's; parts are
                    // joined.
                    let rows = if is_part { known.rows.saturating_add(rows) } else { rows };
                    *known = Layer { rows, ..layer };
                } else {
                    index.insert(name, layers.len());
                    layers.push(layer);
                    own_names.push((slot, layer_name));
                }
            }
        }
        for at in biases.iter().filter_map(|name| index.get(name)) {
            if let Some(layer) = layers.get_mut(*at) {
                layer.has_bias = true;
            }
        }
        let mut by_name: HashMap<_, _> =
            own_names.iter().enumerate().map(|(at, (slot, name))| ((*slot, joined(name)), (at, Part::Whole))).collect();
        for (at, (slot, name)) in own_names.iter().enumerate() {
            let sizes = layers.get(at).map_or((0, 0), |layer| (layer.rows, layer.inputs));
            for (alias, part) in aliases::names_of_trainers(family, *slot, name, sizes) {
                by_name.entry((*slot, joined(&alias))).or_insert((at, part));
            }
        }
        Self { family, all: layers, by_name }
    }

    /// The place that a trainer calls so.
    pub(super) fn find(&self, name: &str) -> Option<Place<'_>> {
        let name = joined(name).replace("_orig_mod_", "");
        let name = name.replace("_processor_", "_");
        // One trainer ends each name with the sign between its parts (ComfyUI, issue 4347).
        let name = name.trim_end_matches('_');
        // ComfyUI names a language model after its kind: `text_encoders.qwen3_4b.transformer.model`.
        let of_llm = || {
            let (_, rest) = name.strip_prefix("text_encoders_")?.split_once("_transformer_")?;
            self.find_joined(rest, Some(Slot::Llm), MAX_PREFIXES)
        };
        self.find_joined(name, None, MAX_PREFIXES).or_else(of_llm)
    }

    fn find_joined(&self, name: &str, slot: Option<Slot>, prefixes_left: u32) -> Option<Place<'_>> {
        let own_slot = slot.map_or(Some(Slot::Diffusion), |slot| slot.in_family(self.family));
        if let Some((at, part)) = own_slot.and_then(|slot| self.by_name.get(&(slot, name.to_owned()))) {
            let layer = self.all.get(*at)?;
            let (first_row, rows) = part.rows(layer.rows, layer.inputs)?;
            return Some(Place { layer, part: *part, first_row, rows });
        }
        if prefixes_left == 0 {
            return None;
        }
        // Without a prefix it is of the text encoder, if it is of one.
        if slot.is_none() && name.starts_with("text_model_") {
            return self.find_joined(name, Some(Slot::Encoder(1)), prefixes_left);
        }
        PREFIXES.iter().find_map(|(prefix, told)| {
            let rest = name.strip_prefix(prefix)?;
            self.find_joined(rest, told.or(slot), prefixes_left - 1)
        })
    }
}

/// A name with the sign between its parts that all trainers can write.
fn joined(name: &str) -> String {
    name.replace('.', "_")
}

/// Outputs, inputs and points of the kernel of a weight.
fn sizes(shape: &[u64]) -> Option<(u64, u64, u64)> {
    match shape {
        [rows] => Some((*rows, 1, 1)),
        [rows, inputs, kernel @ ..] => Some((*rows, *inputs, kernel.iter().product())),
        [] => None,
    }
}

/// The module that a tensor of a file belongs to, and its name in it.
fn slot_of(family: Family, role: FileRole, name: &str) -> Option<(Slot, &str)> {
    const PARTS: [(&str, Slot); 11] = [
        ("cond_stage_model.1.", Slot::ClipG),
        ("cond_stage_model.", Slot::ClipL),
        ("conditioner.embedders.0.open_clip.", Slot::ClipL),
        ("conditioner.embedders.0.", Slot::ClipL),
        ("conditioner.embedders.1.", Slot::ClipG),
        ("text_encoders.clip_l.", Slot::ClipL),
        ("text_encoders.clip_g.", Slot::ClipG),
        ("text_encoders.t5xxl.", Slot::T5),
        ("text_encoders.llm.", Slot::Llm),
        ("first_stage_model.", Slot::Vae),
        ("vae.", Slot::Vae),
    ];
    let of_role = match role {
        FileRole::Diffusion => Some(Slot::Diffusion),
        FileRole::ClipL => Some(Slot::ClipL),
        FileRole::ClipG => Some(Slot::ClipG),
        FileRole::T5xxl => Some(Slot::T5),
        FileRole::Llm => Some(Slot::Llm),
        FileRole::Vae => Some(Slot::Vae),
        _ => None,
    };
    let diffusion = DIFFUSION_PREFIXES.iter().map(|prefix| (*prefix, Slot::Diffusion));
    let of_prefix = diffusion.chain(PARTS).find_map(|(prefix, slot)| Some((slot, name.strip_prefix(prefix)?)));
    if let Some((slot, rest)) = of_prefix.or_else(|| Some((Slot::Llm, in_language_model(name)?))) {
        return (role == FileRole::Model || of_role == Some(slot)).then_some((slot, rest));
    }
    match of_role {
        Some(slot) => Some((slot, name)),
        // HiDream-O1's whole model has no prefixes, and no LoRAs.
        None => (role == FileRole::Model && family == Family::HidreamO1).then_some((Slot::Diffusion, name)),
    }
}
