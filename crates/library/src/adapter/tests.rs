//! Names of trainers x kinds of adapters x families, by headers alone. What the engine makes of
//! them is in `tests/adapters.rs`.

use super::*;
use crate::kind::identify;
use crate::kind::tests::{Listed, header};

type Named = Vec<(String, Vec<u64>)>;

fn known(tensors: &Named) -> IdentifiedFile {
    let listed: Vec<(&str, &[u64])> = tensors.iter().map(|(name, shape)| (name.as_str(), shape.as_slice())).collect();
    let header = header(&listed);
    IdentifiedFile { kind: identify(&header), header }
}

fn named(tensors: Listed<'_>) -> Named {
    tensors.iter().map(|(name, shape)| ((*name).to_owned(), shape.to_vec())).collect()
}

/// Places of an adapter in a model of one file: the engine's names, in order.
fn placed(adapter: &Named, family: Family, role: FileRole, model: &Named) -> Result<Vec<String>, String> {
    let model = known(model);
    let names = place("a.safetensors", &known(adapter), family, &[(role, &model)]);
    let mut names: Vec<_> = names.map_err(|problem| problem.advice.sentence)?.into_iter().map(|(_, to)| to).collect();
    names.sort();
    Ok(names)
}

/// A layer of a family: how it stands in a file, its shape, and for each way in which trainers
/// write it what the engine calls it.
struct Case {
    family: Family,
    role: FileRole,
    model: Listed<'static>,
    /// Rows and columns of the change, and the points of a kernel.
    size: (u64, u64, u64),
    place: &'static str,
    layers: &'static [&'static str],
}

const CASES: &[Case] = &[
    Case {
        family: Family::ZImage,
        role: FileRole::Diffusion,
        model: &[("layers.1.attention.qkv.weight", &[768, 256]), ("cap_embedder.0.weight", &[16])],
        size: (256, 256, 1),
        place: "model.diffusion_model.layers.1.attention.qkv.weight#256",
        layers: &[
            "diffusion_model.layers.1.attention.to_k",
            "transformer.layers.1.attention.to_k",
            "lora_unet_layers_1_attention_to_k",
            "lycoris_layers_1_attention_to_k",
            "lora_transformer_layers_1_attention_to_k",
            "base_model.model.layers.1.attention.to_k",
            "base_model.model.diffusion_model.layers.1.attention.to_k",
            "model.diffusion_model.layers.1.attention.to_k",
            "layers.1.attention.to_k",
            "_orig_mod.layers.1.attention.to_k",
            "transformer.layers.1.attention.qkv.1",
        ],
    },
    Case {
        family: Family::Flux,
        role: FileRole::Diffusion,
        model: &[("double_blocks.3.txt_attn.qkv.weight", &[96, 32]), ("txt_in.weight", &[32, 64])],
        size: (32, 32, 1),
        place: "model.diffusion_model.double_blocks.3.txt_attn.qkv.weight#64",
        layers: &[
            "transformer.transformer_blocks.3.attn.add_v_proj",
            "lora_unet_transformer_blocks_3_attn_add_v_proj",
            "lora_unet_transformer_blocks_3_attn_add_v_proj_",
            "transformer.double_blocks.3.txt_attn.qkv.2",
        ],
    },
    Case {
        family: Family::Flux,
        role: FileRole::Diffusion,
        model: &[("double_blocks.3.txt_attn.qkv.weight", &[96, 32]), ("txt_in.weight", &[32, 64])],
        size: (96, 32, 1),
        place: "model.diffusion_model.double_blocks.3.txt_attn.qkv.weight#0",
        layers: &[
            "double_blocks.3.processor.qkv_lora2",
            "diffusion_model.double_blocks.3.processor.qkv_lora2",
            "transformer.transformer_blocks.3.attn.to_added_qkv",
        ],
    },
    Case {
        family: Family::Flux,
        role: FileRole::Diffusion,
        model: &[("double_blocks.3.img_attn.proj.weight", &[32, 32]), ("txt_in.weight", &[32, 64])],
        size: (32, 32, 1),
        place: "model.diffusion_model.double_blocks.3.img_attn.proj.weight#0",
        layers: &["double_blocks.3.processor.proj_lora1"],
    },
    Case {
        family: Family::Flux,
        role: FileRole::Diffusion,
        model: &[("single_blocks.2.linear1.weight", &[224, 32]), ("double_blocks.0.x", &[8]), ("txt_in.weight", &[32, 64])],
        size: (96, 32, 1),
        place: "model.diffusion_model.single_blocks.2.linear1.weight#0",
        layers: &[
            "single_blocks.2.processor.qkv",
            "diffusion_model.single_blocks.2.linear1_qkv",
            "lora_unet_single_blocks_2_linear1_qkv",
            "lycoris_single_transformer_blocks_2_attn_to_qkv",
        ],
    },
    Case {
        family: Family::Flux,
        role: FileRole::Diffusion,
        model: &[("single_blocks.2.linear2.weight", &[32, 160]), ("double_blocks.0.x", &[8]), ("txt_in.weight", &[32, 64])],
        size: (32, 160, 1),
        place: "model.diffusion_model.single_blocks.2.linear2.weight#0",
        layers: &["single_blocks.2.processor.proj", "single_blocks.2.linear2"],
    },
    Case {
        family: Family::Flux2Klein,
        role: FileRole::Diffusion,
        model: &[("single_blocks.2.linear1.weight", &[288, 32]), ("double_stream_modulation_img.lin.weight", &[192, 32])],
        size: (192, 32, 1),
        place: "model.diffusion_model.single_blocks.2.linear1.weight#96",
        layers: &[
            "transformer.single_transformer_blocks.2.proj_mlp",
            "lora_unet_single_transformer_blocks_2_proj_mlp",
            "transformer.single_blocks.2.linear1.3",
        ],
    },
    Case {
        family: Family::Sd3,
        role: FileRole::Model,
        model: &[("model.diffusion_model.joint_blocks.0.x_block.attn.qkv.weight", &[96, 32])],
        size: (32, 32, 1),
        place: "model.diffusion_model.joint_blocks.0.x_block.attn.qkv.weight#0",
        layers: &["transformer.transformer_blocks.0.attn.to_q", "lora_transformer_transformer_blocks_0_attn_to_q"],
    },
    Case {
        family: Family::Sd3,
        role: FileRole::Model,
        model: &[("model.diffusion_model.joint_blocks.0.context_block.attn.qkv.weight", &[96, 32])],
        size: (96, 32, 1),
        place: "model.diffusion_model.joint_blocks.0.context_block.attn.qkv.weight#0",
        layers: &["transformer.transformer_blocks.0.attn.to_added_qkv", "lora_unet_joint_blocks_0_context_block_attn_qkv"],
    },
    Case {
        family: Family::ZImage,
        role: FileRole::Diffusion,
        model: &[("context_refiner.1.attention.qkv.weight", &[768, 256]), ("cap_embedder.0.weight", &[16])],
        size: (768, 256, 1),
        place: "model.diffusion_model.context_refiner.1.attention.qkv.weight#0",
        layers: &["lycoris_context_refiner_1_attention_to_qkv", "diffusion_model.context_refiner.1.attention.qkv"],
    },
    Case {
        family: Family::Chroma,
        role: FileRole::Diffusion,
        model: &[("distilled_guidance_layer.layers.1.in_layer.weight", &[32, 64]), ("txt_in.weight", &[32, 64])],
        size: (32, 64, 1),
        place: "model.diffusion_model.distilled_guidance_layer.layers.1.in_layer.weight#0",
        layers: &["transformer.distilled_guidance_layer.layers.1.linear_1", "lora_unet_distilled_guidance_layer_layers_1_in_layer"],
    },
    Case {
        family: Family::QwenImage,
        role: FileRole::Diffusion,
        model: &[("transformer_blocks.7.attn.to_out.0.weight", &[32, 32]), ("transformer_blocks.0.img_mod.1.weight", &[64, 32])],
        size: (32, 32, 1),
        place: "model.diffusion_model.transformer_blocks.7.attn.to_out.0.weight#0",
        layers: &[
            "transformer.transformer_blocks.7.attn.to_out.0",
            "transformer_blocks.7.attn.to_out.0",
            "lora_unet_transformer_blocks_7_attn_to_out_0",
            "diffusion_model.transformer_blocks.7.attn.to_out.0",
        ],
    },
    Case {
        family: Family::Sd1,
        role: FileRole::Model,
        model: &[
            ("model.diffusion_model.input_blocks.0.0.weight", &[32, 4, 3, 3]),
            ("model.diffusion_model.output_blocks.4.1.transformer_blocks.0.attn1.to_out.0.weight", &[64, 64]),
            ("model.diffusion_model.output_blocks.4.1.transformer_blocks.0.attn2.to_k.weight", &[64, 768]),
        ],
        size: (64, 64, 1),
        place: "model.diffusion_model.output_blocks.4.1.transformer_blocks.0.attn1.to_out.0.weight#0",
        layers: &[
            "lora_unet_up_blocks_1_attentions_1_transformer_blocks_0_attn1_to_out_0",
            "lora_unet_output_blocks_4_1_transformer_blocks_0_attn1_to_out_0",
            "unet.up_blocks.1.attentions.1.transformer_blocks.0.attn1.to_out.0",
            "unet.up_blocks.1.attentions.1.transformer_blocks.0.attn1.processor.to_out",
            "base_model.model.up_blocks.1.attentions.1.transformer_blocks.0.attn1.to_out.0",
        ],
    },
    Case {
        family: Family::Sdxl,
        role: FileRole::Model,
        model: &[
            ("model.diffusion_model.input_blocks.0.0.weight", &[32, 4, 3, 3]),
            ("model.diffusion_model.input_blocks.7.0.out_layers.3.weight", &[64, 32, 3, 3]),
            ("model.diffusion_model.input_blocks.4.1.transformer_blocks.0.attn2.to_k.weight", &[64, 2048]),
        ],
        size: (64, 32, 9),
        place: "model.diffusion_model.input_blocks.7.0.out_layers.3.weight#0",
        layers: &[
            "lora_unet_down_blocks_2_resnets_0_conv2",
            "lora_unet_input_blocks_7_0_out_layers_3",
            "unet.down_blocks.2.resnets.0.conv2",
        ],
    },
    Case {
        family: Family::Sdxl,
        role: FileRole::Model,
        model: &[
            ("model.diffusion_model.input_blocks.4.1.transformer_blocks.0.attn2.to_k.weight", &[64, 2048]),
            ("conditioner.embedders.1.model.transformer.resblocks.9.attn.in_proj_weight", &[3840, 1280]),
        ],
        size: (1280, 1280, 1),
        place: "cond_stage_model.1.transformer.text_model.encoder.layers.9.self_attn.in_proj.weight#1280",
        layers: &[
            "lora_te2_text_model_encoder_layers_9_self_attn_k_proj",
            "text_encoder_2.text_model.encoder.layers.9.self_attn.k_proj",
            "te2_text_model_encoder_layers_9_self_attn_k_proj",
            "text_encoder_2.text_model.encoder.layers.9.self_attn.to_k",
            "clip_g.transformer.text_model.encoder.layers.9.self_attn.k_proj",
            "text_encoders.clip_g.transformer.text_model.encoder.layers.9.self_attn.k_proj",
        ],
    },
    Case {
        family: Family::Sd1,
        role: FileRole::Model,
        model: &[
            ("model.diffusion_model.input_blocks.1.1.transformer_blocks.0.attn2.to_k.weight", &[64, 768]),
            ("cond_stage_model.transformer.text_model.encoder.layers.11.mlp.fc1.weight", &[3072, 768]),
        ],
        size: (3072, 768, 1),
        place: "cond_stage_model.transformer.text_model.encoder.layers.11.mlp.fc1.weight#0",
        layers: &[
            "lora_te_text_model_encoder_layers_11_mlp_fc1",
            "lora_te1_text_model_encoder_layers_11_mlp_fc1",
            "text_encoder.text_model.encoder.layers.11.mlp.fc1",
            "text_model.encoder.layers.11.mlp.fc1",
            "clip_l.transformer.text_model.encoder.layers.11.mlp.fc1",
        ],
    },
    Case {
        family: Family::Flux,
        role: FileRole::T5xxl,
        model: &[("enc.blk.5.ffn_up.weight", &[64, 32])],
        size: (64, 32, 1),
        place: "text_encoders.t5xxl.transformer.encoder.block.5.layer.1.DenseReluDense.wi_1.weight#0",
        layers: &[
            "lora_te3_encoder_block_5_layer_1_DenseReluDense_wi_1",
            "text_encoder_2.encoder.block.5.layer.1.DenseReluDense.wi_1",
            "t5xxl.transformer.encoder.block.5.layer.1.DenseReluDense.wi_1",
            "t5.encoder.block.5.layer.1.DenseReluDense.wi_1",
        ],
    },
    Case {
        family: Family::ZImage,
        role: FileRole::Llm,
        model: &[("model.layers.3.self_attn.q_proj.weight", &[64, 32])],
        size: (64, 32, 1),
        place: "text_encoders.llm.model.layers.3.self_attn.q_proj.weight#0",
        layers: &[
            "text_encoder.model.layers.3.self_attn.q_proj",
            "text_encoder.layers.3.self_attn.q_proj",
            "lora_te_layers_3_self_attn_q_proj",
            "text_encoders.qwen3_4b.transformer.model.layers.3.self_attn.q_proj",
            "text_encoders.mistral3_24b.transformer.model.layers.3.self_attn.q_proj",
            "text_encoder.model.language_model.layers.3.self_attn.q_proj",
        ],
    },
    Case {
        family: Family::ZImage,
        role: FileRole::Model,
        model: &[
            ("model.diffusion_model.cap_embedder.0.weight", &[32]),
            ("text_encoders.qwen3_4b.transformer.model.embed_tokens.weight", &[1000, 32]),
            ("text_encoders.qwen3_4b.transformer.model.layers.3.self_attn.q_proj.weight", &[64, 32]),
        ],
        size: (64, 32, 1),
        place: "text_encoders.llm.model.layers.3.self_attn.q_proj.weight#0",
        layers: &["text_encoder.model.layers.3.self_attn.q_proj", "text_encoders.qwen3_4b.transformer.model.layers.3.self_attn.q_proj"],
    },
    Case {
        family: Family::Anima,
        role: FileRole::Diffusion,
        model: &[("net.blocks.3.self_attn.q_proj.weight", &[64, 32]), ("net.llm_adapter.blocks.0.cross_attn.q_proj.weight", &[8, 8])],
        size: (64, 32, 1),
        place: "model.diffusion_model.net.blocks.3.self_attn.q_proj.weight#0",
        layers: &["diffusion_model.blocks.3.self_attn.q_proj", "lora_unet_blocks_3_self_attn_q_proj", "net.blocks.3.self_attn.q_proj"],
    },
];

/// Ways to write the two halves of a `LoRA`.
const HALVES: [(&str, &str); 9] = [
    (".lora_down.weight", ".lora_up.weight"),
    (".lora_A.weight", ".lora_B.weight"),
    (".lora_A.default.weight", ".lora_B.default.weight"),
    (".lora_A.default_0.weight", ".lora_B.default_0.weight"),
    (".lora_A.my-style.weight", ".lora_B.my-style.weight"),
    (".lora.down.weight", ".lora.up.weight"),
    ("_lora.down.weight", "_lora.up.weight"),
    (".lora_linear_layer.down.weight", ".lora_linear_layer.up.weight"),
    (".lora_A", ".lora_B"),
];

#[test]
fn every_way_to_write_a_lora_is_put_in_its_place() {
    for case in CASES {
        let (rows, columns, area) = case.size;
        let down = if area == 1 { vec![4, columns] } else { vec![4, columns, 3, 3] };
        let up = if area == 1 { vec![rows, 4] } else { vec![rows, 4, 1, 1] };
        for layer in case.layers {
            for (down_end, up_end) in HALVES {
                let adapter = vec![
                    (format!("{layer}{down_end}"), down.clone()),
                    (format!("{layer}{up_end}"), up.clone()),
                    (format!("{layer}.alpha"), vec![]),
                ];
                let place = format!("lora.{}", case.place);
                let right = ["alpha", "lora_down", "lora_up"].map(|part| format!("{place}.{part}"));
                let names = placed(&adapter, case.family, case.role, &named(case.model));
                assert_eq!(names, Ok(right.to_vec()), "{layer}{down_end}");
            }
        }
    }
}

#[test]
fn the_streams_of_xlabs_trainer_have_their_own_places() {
    let model = named(&[
        ("double_blocks.0.img_attn.qkv.weight", &[96, 32]),
        ("double_blocks.0.txt_attn.qkv.weight", &[96, 32]),
        ("txt_in.weight", &[32, 64]),
    ]);
    let adapter = named(&[
        ("double_blocks.0.processor.qkv_lora1.down.weight", &[4, 32]),
        ("double_blocks.0.processor.qkv_lora1.up.weight", &[96, 4]),
        ("double_blocks.0.processor.qkv_lora2.down.weight", &[8, 32]),
        ("double_blocks.0.processor.qkv_lora2.up.weight", &[96, 8]),
    ]);
    let place = |stream: &str, half: &str| format!("lora.model.diffusion_model.double_blocks.0.{stream}_attn.qkv.weight#0.lora_{half}");
    let right = [place("img", "down"), place("img", "up"), place("txt", "down"), place("txt", "up")];
    assert_eq!(placed(&adapter, Family::Flux, FileRole::Diffusion, &model), Ok(right.to_vec()));
}

/// Tensors of each kind of change of a matrix of `rows` x `columns`, with a kernel of `area` points
/// (1 or 9).
fn kinds(rows: u64, columns: u64, area: u64) -> Vec<Vec<(&'static str, Vec<u64>)>> {
    let kernel = |a: u64, b: u64| if area == 1 { vec![a, b] } else { vec![a, b, 3, 3] };
    let mut kinds = vec![
        vec![("diff", kernel(rows, columns))],
        vec![
            ("hada_w1_a", vec![rows, 2]),
            ("hada_w1_b", vec![2, columns * area]),
            ("hada_w2_a", vec![rows, 2]),
            ("hada_w2_b", vec![2, columns * area]),
        ],
        vec![("lokr_w1", vec![4, 4]), ("lokr_w2", kernel(rows / 4, columns / 4))],
        vec![("lokr_w1", vec![2, 4]), ("lokr_w2_a", vec![rows / 2, 3]), ("lokr_w2_b", vec![3, columns / 4 * area])],
        vec![
            ("lokr_w1_a", vec![4, 1]),
            ("lokr_w1_b", vec![1, 2]),
            ("lokr_w2_a", vec![rows / 4, 3]),
            ("lokr_w2_b", vec![3, columns / 2 * area]),
        ],
    ];
    if area > 1 {
        let core = vec![2, 2, 3, 3];
        kinds.push(vec![
            ("hada_t1", core.clone()),
            ("hada_w1_a", vec![2, rows]),
            ("hada_w1_b", vec![2, columns]),
            ("hada_t2", core.clone()),
            ("hada_w2_a", vec![2, rows]),
            ("hada_w2_b", vec![2, columns]),
        ]);
        kinds.push(vec![("lokr_w1", vec![4, 4]), ("lokr_t2", core), ("lokr_w2_a", vec![2, rows / 4]), ("lokr_w2_b", vec![2, columns / 4])]);
    }
    kinds
}

#[test]
fn every_kind_of_change_is_put_in_its_place_and_one_of_another_shape_is_refused() {
    for case in CASES {
        let (rows, columns, area) = case.size;
        let (model, layer) = (named(case.model), case.layers[0]);
        for kind in kinds(rows, columns, area) {
            let adapter: Named = kind.iter().map(|(part, shape)| (format!("{layer}.{part}"), shape.clone())).collect();
            let mut right: Vec<_> = kind.iter().map(|(part, _)| format!("lora.{}.{part}", case.place)).collect();
            right.sort();
            assert_eq!(placed(&adapter, case.family, case.role, &model), Ok(right), "{kind:?}");
            for at in 0..adapter.len() {
                for axis in 0..adapter[at].1.len() {
                    let mut wrong = adapter.clone();
                    wrong[at].1[axis] += 1;
                    assert!(placed(&wrong, case.family, case.role, &model).is_err(), "{:?}", wrong[at]);
                }
                let mut half = adapter.clone();
                half.remove(at);
                let is_refused = placed(&half, case.family, case.role, &model).is_err();
                assert!(is_refused || adapter[at].0.contains("_t"), "{half:?}");
            }
        }
    }
}

const MODEL: Listed<'_> = &[
    ("layers.0.attention.qkv.weight", &[768, 256]),
    ("layers.0.attention.out.weight", &[256, 256]),
    ("layers.0.attention_norm1.weight", &[256]),
    ("layers.0.adaLN_modulation.0.weight", &[1024, 256]),
    ("layers.0.adaLN_modulation.0.bias", &[1024]),
    ("cap_embedder.0.weight", &[16]),
];

fn placed_in_z_image(adapter: Listed<'_>) -> Result<Vec<String>, String> {
    placed(&named(adapter), Family::ZImage, FileRole::Diffusion, &named(MODEL))
}

#[test]
fn biases_norms_and_lengths_of_rows_have_places() {
    let names = placed_in_z_image(&[
        ("lora_unet_layers_0_attention_norm1.w_norm", &[256]),
        ("lora_unet_layers_0_adaLN_modulation_0.diff_b", &[1024]),
        ("lora_unet_layers_0_attention_to_v.lora_down.weight", &[4, 256]),
        ("lora_unet_layers_0_attention_to_v.lora_up.weight", &[256, 4]),
        ("lora_unet_layers_0_attention_to_v.dora_scale", &[256, 1]),
        ("lora_unet_layers_0_attention_out.lora_down.weight", &[4, 256]),
        ("lora_unet_layers_0_attention_out.lora_up.weight", &[256, 4]),
        ("lora_unet_layers_0_attention_out.dora_scale", &[1, 256]),
    ]);
    let start = "lora.model.diffusion_model.layers.0";
    assert_eq!(
        names.unwrap(),
        [
            format!("{start}.adaLN_modulation.0.bias#0.diff"),
            format!("{start}.attention.out.weight#0.dora_scale_in"),
            format!("{start}.attention.out.weight#0.lora_down"),
            format!("{start}.attention.out.weight#0.lora_up"),
            format!("{start}.attention.qkv.weight#512.dora_scale"),
            format!("{start}.attention.qkv.weight#512.lora_down"),
            format!("{start}.attention.qkv.weight#512.lora_up"),
            format!("{start}.attention_norm1.weight#0.diff"),
        ]
    );
}

#[test]
fn what_has_no_place_is_left_out_and_what_has_none_at_all_is_refused() {
    let whole: Listed<'_> = &[
        ("diffusion_model.layers.0.attention.out.lora_A.weight", &[4, 256]),
        ("diffusion_model.layers.0.attention.out.lora_B.weight", &[256, 4]),
    ];
    let beyond: Listed<'_> = &[
        ("diffusion_model.layers.9.attention.out.lora_A.weight", &[4, 256]),
        ("diffusion_model.layers.9.attention.out.lora_B.weight", &[256, 4]),
    ];
    assert_eq!(placed_in_z_image(&[whole, beyond].concat()).unwrap().len(), 2);
    assert_eq!(placed_in_z_image(beyond).unwrap_err(), "a.safetensors was made for another model: nothing in it fits Z-Image.");
}

#[test]
fn refusals_name_the_cause() {
    for (adapter, sentence) in [
        (
            &[("oft_unet_layers_0_attention_out.oft_blocks", &[4_u64, 64, 64][..])][..],
            "a.safetensors is of a kind that the engine does not compute: OFT (oft_unet_layers_0_attention_out.oft_blocks).",
        ),
        (
            &[
                ("diffusion_model.layers.0.attention.out.a1.weight", &[4, 256]),
                ("diffusion_model.layers.0.attention.out.a2.weight", &[256, 4]),
            ],
            "a.safetensors is of a kind that the engine does not compute: GLoRA (diffusion_model.layers.0.attention.out.a1.weight).",
        ),
        (
            &[("lycoris_layers_0_attention_out.weight", &[256]), ("lycoris_layers_0_attention_out.on_input", &[])],
            "a.safetensors is of a kind that the engine does not compute: IA3 (lycoris_layers_0_attention_out.on_input).",
        ),
        (
            &[
                ("base_model.model.model.embed_tokens.lora_embedding_A", &[4, 1000]),
                ("base_model.model.model.embed_tokens.lora_embedding_B", &[64, 4]),
            ],
            "a.safetensors is of a kind that the engine does not compute: LoRA of an embedding table \
            (base_model.model.model.embed_tokens.lora_embedding_A).",
        ),
        (
            &[
                ("lora_unet_layers_0_attention_out.lora_down.weight", &[4, 256]),
                ("lora_unet_layers_0_attention_out.lora_up.weight", &[256, 4]),
                ("lora_te1_text_model_embeddings_token_embedding.lora_down.weight", &[4, 1000]),
                ("lora_te1_text_model_embeddings_token_embedding.lora_up.weight", &[64, 4]),
            ],
            "a.safetensors is of a kind that the engine does not compute: LoRA of an embedding table \
            (lora_te1_text_model_embeddings_token_embedding.lora_down.weight).",
        ),
        (
            &[("text_encoders.llm.model.embed_tokens.lora_A.default.weight", &[4, 1000])],
            "a.safetensors is of a kind that the engine does not compute: LoRA of an embedding table \
            (text_encoders.llm.model.embed_tokens.lora_A.default.weight).",
        ),
        (
            &[
                ("lora_unet_layers_0_attention_out.lora_down.weight", &[4, 256]),
                ("lora_unet_layers_0_attention_out.lora_up.weight", &[256, 8]),
            ],
            "a.safetensors is damaged: the two halves of lora_unet_layers_0_attention_out do not match.",
        ),
        (
            &[("lora_unet_layers_0_attention_out.lora_down.weight", &[4, 256])],
            "a.safetensors is damaged: a part of lora_unet_layers_0_attention_out is missing.",
        ),
        (
            &[
                ("lora_unet_layers_0_attention_to_q.lora_down.weight", &[4, 256]),
                ("lora_unet_layers_0_attention_to_q.lora_up.weight", &[768, 4]),
            ],
            "a.safetensors does not fit this model: lora_unet_layers_0_attention_to_q is 768x256 there, and 256x256 in the model.",
        ),
        (
            &[("layers.0.attention.out.diff", &[256, 256]), ("lora_unet_layers_0_attention_out.diff", &[256, 256])],
            "a.safetensors is damaged: it changes lora_unet_layers_0_attention_out twice.",
        ),
        (
            &[("layers.0.attention.out.diff_b", &[256])],
            "a.safetensors does not fit this model: it changes the bias of layers.0.attention.out, which has none.",
        ),
    ] {
        assert_eq!(placed_in_z_image(adapter).unwrap_err(), sentence);
    }
    let of_sdxl: Listed<'_> = &[
        ("lora_unet_down_blocks_1_attentions_0_transformer_blocks_0_attn2_to_k.lora_down.weight", &[8, 2048]),
        ("lora_unet_down_blocks_1_attentions_0_transformer_blocks_0_attn2_to_k.lora_up.weight", &[640, 8]),
    ];
    let sd1 = &CASES.iter().find(|case| case.family == Family::Sd1).unwrap().model;
    let sentence = placed(&named(of_sdxl), Family::Sd1, FileRole::Model, &named(sd1)).unwrap_err();
    assert_eq!(sentence, "a.safetensors was made for SDXL, and the model is SD1.5.");
}

#[test]
fn halves_that_a_layer_of_diffusers_exchanges_begin_in_the_middle() {
    let model: Listed<'_> = &[("final_layer.adaLN_modulation.1.weight", &[64, 32]), ("txt_in.weight", &[32, 64])];
    let adapter: Listed<'_> =
        &[("transformer.norm_out.linear.lora_A.weight", &[4, 32]), ("transformer.norm_out.linear.lora_B.weight", &[64, 4])];
    let names = placed(&named(adapter), Family::Flux, FileRole::Diffusion, &named(model)).unwrap();
    assert_eq!(names[0], "lora.model.diffusion_model.final_layer.adaLN_modulation.1.weight#32.lora_down");
    // Of SD3's blocks the last one alone has two halves for the text.
    for (rows, first_row) in [(64, 32), (192, 0)] {
        let layer = "joint_blocks.0.context_block.adaLN_modulation.1";
        let model = vec![(format!("model.diffusion_model.{layer}.weight"), vec![rows, 32])];
        let half = |end: &str, shape: [u64; 2]| (format!("transformer.transformer_blocks.0.norm1_context.linear{end}"), shape.to_vec());
        let adapter = vec![half(".lora_A.weight", [4, 32]), half(".lora_B.weight", [rows, 4])];
        let names = placed(&adapter, Family::Sd3, FileRole::Model, &model).unwrap();
        assert_eq!(names[0], format!("lora.model.diffusion_model.{layer}.weight#{first_row}.lora_down"));
    }
}
