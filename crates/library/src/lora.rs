//! Check of a LoRA against a model. The engine applies tensors by name and ends the process where shapes contradict each other.
//!
//! Pure: headers in, an answer out. LoHa and LoKr are let pass, because their shapes are products of several tensors.

use std::collections::HashMap;

use super::cache::IdentifiedFile;
use super::container::shown;
use super::family::Family;
use super::kind::DIFFUSION_PREFIX;
use super::problem::Problem;

/// The endings of a pair's two halves, as trainers write them.
const HALVES: [(&str, &str); 5] = [
    (".lora_down.weight", ".lora_up.weight"),
    (".lora_A.weight", ".lora_B.weight"),
    (".lora_A.default.weight", ".lora_B.default.weight"),
    (".lora.down.weight", ".lora.up.weight"),
    ("_lora.down.weight", "_lora.up.weight"),
];

/// Prefixes of a tensor's name in a LoRA for the diffusion module.
const PREFIXES: [&str; 8] =
    ["model.diffusion_model.", "diffusion_model.", "transformer.", "lora_unet_", "lora_transformer_", "lycoris_", "unet.", "unet_"];

/// Checks one LoRA against the files of a model.
pub(crate) fn check(name: &str, lora: &IdentifiedFile, family: Family, model: &[&IdentifiedFile]) -> Result<(), Problem> {
    if !lora.kind.is_lora {
        return Err(Problem::new(
            format!("{name} is {}, not a LoRA.", lora.kind.described()),
            "Remove it from the LoRAs, or choose another file.",
        ));
    }
    let other_model = || {
        Problem::new(
            format!("{name} was made for another model: nothing in it fits {}.", family.label()),
            format!("Choose a LoRA made for {}, or remove this one.", family.label()),
        )
    };
    if let (Some(made_for), true) = (lora.kind.family, family.is_unet())
        && made_for != family
    {
        let sentence = format!("{name} was made for {}, and the model is {}.", made_for.label(), family.label());
        return Err(Problem::new(sentence, other_model().advice.hint));
    }
    let pairs = pairs(lora, name)?;
    if pairs.is_empty() {
        return Ok(());
    }
    let targets = Targets::new(model, family);
    let mut fitting = 0usize;
    for pair in &pairs {
        match targets.named(&pair.target) {
            Some([rows, columns]) if [rows, columns] == [pair.rows, pair.columns] => fitting += 1,
            Some([rows, columns]) => {
                let sentence = format!(
                    "{name} does not fit this model: {} is {}x{} there, and {rows}x{columns} in the model.",
                    shown(&pair.target),
                    pair.rows,
                    pair.columns
                );
                return Err(Problem::new(sentence, other_model().advice.hint));
            }
            // The engine takes Z-Image's names as they are; other families have several spellings, so shapes must do.
            None => fitting += usize::from(family != Family::ZImage && targets.have_shape(pair.rows, pair.columns)),
        }
    }
    if fitting == 0 { Err(other_model()) } else { Ok(()) }
}

/// Two halves that make one change: `rows` outputs from `columns` inputs.
struct Pair {
    target: String,
    rows: u64,
    columns: u64,
}

fn pairs(lora: &IdentifiedFile, name: &str) -> Result<Vec<Pair>, Problem> {
    let shapes: HashMap<&str, &[u64]> = lora.header.tensors.iter().map(|it| (it.name.as_str(), it.shape.as_slice())).collect();
    let mut pairs = Vec::new();
    for (down_name, down) in &shapes {
        for (down_end, up_end) in HALVES {
            let Some(target) = down_name.strip_suffix(down_end) else { continue };
            let Some(up) = shapes.get(format!("{target}{up_end}").as_str()) else { continue };
            let (Some([rank, columns]), Some([rows, up_rank])) = (down.first_chunk(), up.first_chunk()) else {
                return Err(damaged(name, target));
            };
            if rank != up_rank || *rank == 0 {
                return Err(damaged(name, target));
            }
            pairs.push(Pair { target: target.to_owned(), rows: *rows, columns: *columns });
        }
    }
    Ok(pairs)
}

fn damaged(name: &str, target: &str) -> Problem {
    Problem::new(
        format!("{name} is damaged: the two halves of {} do not match.", shown(target)),
        "Download the file again, or remove it from the LoRAs.",
    )
}

/// The matrices that a LoRA can change.
struct Targets {
    /// By name without dots and underscores, which trainers exchange.
    by_name: HashMap<String, [u64; 2]>,
    /// The most rows of any matrix with this many columns.
    rows_by_columns: HashMap<u64, u64>,
}

impl Targets {
    fn new(model: &[&IdentifiedFile], family: Family) -> Self {
        let mut targets = Self { by_name: HashMap::new(), rows_by_columns: HashMap::new() };
        for tensor in model.iter().flat_map(|it| &it.header.tensors) {
            let Some(&[rows, columns]) = tensor.shape.first_chunk() else { continue };
            let most = targets.rows_by_columns.entry(columns).or_default();
            *most = rows.max(*most);
            let Some(name) = tensor.name.strip_suffix(".weight") else { continue };
            let name = name.strip_prefix(DIFFUSION_PREFIX).unwrap_or(name);
            if tensor.shape.len() == 2 {
                targets.by_name.insert(squashed(name), [rows, columns]);
            }
            if family == Family::ZImage {
                // Trainers see three matrices where the file has one, and call the last one otherwise.
                if let Some(attention) = name.strip_suffix("attention.qkv") {
                    for part in ["to_q", "to_k", "to_v"] {
                        targets.by_name.insert(squashed(&format!("{attention}attention.{part}")), [rows / 3, columns]);
                    }
                } else if let Some(attention) = name.strip_suffix("attention.out") {
                    targets.by_name.insert(squashed(&format!("{attention}attention.to_out.0")), [rows, columns]);
                }
            }
        }
        targets
    }

    fn named(&self, target: &str) -> Option<[u64; 2]> {
        let target = target.strip_prefix("lora.").unwrap_or(target);
        let bare = PREFIXES.iter().find_map(|prefix| target.strip_prefix(prefix))?;
        self.by_name.get(&squashed(bare)).copied()
    }

    /// True if some matrix, or a part of a fused one, has this shape.
    fn have_shape(&self, rows: u64, columns: u64) -> bool {
        self.rows_by_columns.get(&columns).is_some_and(|most| rows <= *most)
    }
}

fn squashed(name: &str) -> String {
    name.chars().filter(|it| !matches!(it, '.' | '_')).collect()
}

#[cfg(test)]
mod tests {
    use super::super::kind::identify;
    use super::super::kind::tests::{Listed, header};
    use super::*;

    fn known(tensors: Listed<'_>) -> IdentifiedFile {
        let header = header(tensors);
        IdentifiedFile { kind: identify(&header), header }
    }

    fn answer(lora: Listed<'_>, model: Listed<'_>) -> Result<(), Problem> {
        let model = known(model);
        check("a.safetensors", &known(lora), model.kind.family.unwrap(), &[&model])
    }

    const Z_IMAGE: Listed<'_> = &[
        ("model.diffusion_model.cap_embedder.0.weight", &[2560]),
        ("model.diffusion_model.layers.0.attention.qkv.weight", &[768, 256]),
        ("model.diffusion_model.layers.0.attention.out.weight", &[256, 256]),
    ];
    const FLUX: Listed<'_> = &[("double_blocks.0.img_attn.qkv.weight", &[9216, 3072]), ("txt_in.weight", &[3072, 4096])];
    const SDXL: Listed<'_> =
        &[("input_blocks.0.0.weight", &[320, 4, 3, 3]), ("input_blocks.4.1.transformer_blocks.0.attn2.to_k.weight", &[640, 2048])];

    #[test]
    fn a_fused_matrix_is_changed_by_its_parts_or_as_a_whole() {
        for (down, up, rows) in [
            ("diffusion_model.layers.0.attention.to_k.lora_A.weight", "diffusion_model.layers.0.attention.to_k.lora_B.weight", 256),
            ("transformer.layers.0.attention.to_out.0.lora_A.weight", "transformer.layers.0.attention.to_out.0.lora_B.weight", 256),
            ("lora_unet_layers_0_attention_qkv.lora_down.weight", "lora_unet_layers_0_attention_qkv.lora_up.weight", 768),
        ] {
            assert_eq!(answer(&[(down, &[4, 256]), (up, &[rows, 4])], Z_IMAGE), Ok(()), "{down}");
            let problem = answer(&[(down, &[4, 256]), (up, &[rows + 1, 4])], Z_IMAGE).unwrap_err();
            assert!(problem.advice.sentence.contains("does not fit this model"), "{problem}");
        }
    }

    #[test]
    fn halves_of_different_ranks_are_damage() {
        let lora: Listed<'_> = &[("lora_unet_x.lora_down.weight", &[4, 256]), ("lora_unet_x.lora_up.weight", &[256, 8])];
        let sentence = answer(lora, Z_IMAGE).unwrap_err().advice.sentence;
        assert_eq!(sentence, "a.safetensors is damaged: the two halves of lora_unet_x do not match.");
    }

    #[test]
    fn where_names_have_several_spellings_shapes_decide() {
        let pair = |rows, columns| {
            let (down, up) = ("transformer.single.0.to_q.lora_A.weight", "transformer.single.0.to_q.lora_B.weight");
            answer(&[(down, &[16, columns]), (up, &[rows, 16])], FLUX)
        };
        assert_eq!(pair(3072, 3072), Ok(()));
        assert!(pair(3072, 3840).is_err());
        assert!(pair(12_288, 3072).is_err());
    }

    #[test]
    fn a_lora_for_another_unet_is_called_by_its_family() {
        let lora: Listed<'_> = &[
            ("lora_unet_down_blocks_0_attn2_to_k.lora_down.weight", &[8, 768]),
            ("lora_unet_down_blocks_0_attn2_to_k.lora_up.weight", &[320, 8]),
        ];
        assert_eq!(answer(lora, SDXL).unwrap_err().advice.sentence, "a.safetensors was made for SD1.5, and the model is SDXL.");
    }

    #[test]
    fn kinds_of_adapters_that_are_not_understood_are_let_pass() {
        assert_eq!(answer(&[("lycoris_x.lokr_w1", &[4, 4]), ("lycoris_x.lokr_w2", &[64, 64])], Z_IMAGE), Ok(()));
    }
}
