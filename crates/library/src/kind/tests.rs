use std::path::Path;

use super::*;
use crate::{Dtype, Format, read_header};

pub(crate) type Listed<'a> = &'a [(&'a str, &'a [u64])];

/// A header with these tensors in F16.
pub(crate) fn header(tensors: Listed<'_>) -> Header {
    let dtype = Dtype::from_safetensors("F16").unwrap();
    let tensors = tensors.iter().map(|(name, shape)| TensorInfo {
        name: (*name).into(),
        dtype,
        shape: shape.to_vec(),
        offset: 0,
        bytes: dtype.bytes_of(shape).unwrap(),
    });
    Header { format: Format::Safetensors, tensors: tensors.collect(), metadata: BTreeMap::new(), file_bytes: 0 }
}

fn kind(path: &Path) -> FileKind {
    identify(&read_header(path).unwrap())
}

#[test]
fn the_tiny_model_is_told_in_every_format() {
    let dir = tempfile::tempdir().unwrap();
    for format in [testkit::tiny::Format::Safetensors, testkit::tiny::Format::Gguf, testkit::tiny::Format::GgufQ8] {
        let options = testkit::tiny::Options { format, encoder_layers: 1, ..Default::default() };
        let files = testkit::tiny::zimage(dir.path(), &options).unwrap();
        let diffusion = kind(&files.diffusion);
        assert_eq!((diffusion.role, diffusion.family), (Some(FileRole::Diffusion), Some(Family::ZImage)));
        assert_eq!(diffusion.name, "Z-Image diffusion module");
        let llm = kind(&files.llm);
        assert_eq!((llm.role, llm.name.as_str()), (Some(FileRole::Llm), "Qwen3 text encoder"));
        assert_eq!((llm.text_width, llm.vocabulary), (Some(8), Some(151_936)));
        let taesd = kind(&files.taesd);
        assert_eq!((taesd.role, taesd.latent_channels), (Some(FileRole::Taesd), Some(16)));
    }
    let lora = kind(&testkit::tiny::lora(dir.path(), &testkit::tiny::Options::default()).unwrap());
    assert_eq!((lora.is_lora, lora.role, lora.family), (true, None, Some(Family::ZImage)));
    assert!(kind(&testkit::tiny::unmatched_lora(dir.path()).unwrap()).is_lora);
    assert_eq!(kind(&testkit::tiny::upscaler(dir.path(), 2, 1).unwrap()).role, Some(FileRole::Upscaler));
}

#[test]
fn a_whole_sd15_checkpoint_is_told_with_what_it_holds() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sd15.safetensors");
    testkit::sd15(&path, 1, testkit::Contents::HeaderOnly).unwrap();
    let kind = kind(&path);
    assert_eq!((kind.role, kind.family), (Some(FileRole::Model), Some(Family::Sd1)));
    assert_eq!(kind.contains, [FileRole::Diffusion, FileRole::Vae, FileRole::ClipL]);
    assert_eq!(kind.described(), "an SD1.5 full model");
    assert_eq!((kind.parameters, kind.quantisation.as_str()), (1_066_235_307, "F16"));
    assert_eq!((kind.text_width, kind.vocabulary, kind.latent_channels), (Some(768), Some(49_408), Some(4)));
}

#[test]
fn a_whole_model_of_comfyui_has_its_language_model_under_its_kind() {
    for (kind, width) in [("qwen3_4b", 2560), ("qwen25_7b", 3584), ("mistral3_24b", 5120), ("gemma2_2b", 2304)] {
        let table = format!("text_encoders.{kind}.transformer.model.embed_tokens.weight");
        let tensors: [(&str, &[u64]); 3] = [
            ("model.diffusion_model.cap_embedder.0.weight", &[2560]),
            (&table, &[151_936, width]),
            ("vae.decoder.conv_in.weight", &[512, 16, 3, 3]),
        ];
        let whole = identify(&header(&tensors));
        assert_eq!((whole.role, whole.family), (Some(FileRole::Model), Some(Family::ZImage)));
        assert_eq!(whole.contains, [FileRole::Diffusion, FileRole::Llm, FileRole::Vae]);
        assert_eq!((whole.vocabulary, whole.text_width, whole.latent_channels), (Some(151_936), Some(width), Some(16)));
    }
    // T5 keeps its table elsewhere, and is no language model.
    let t5 = identify(&header(&[
        ("model.diffusion_model.double_blocks.0.img_attn.qkv.weight", &[8, 8]),
        ("text_encoders.t5xxl.transformer.encoder.embed_tokens.weight", &[32_128, 4096]),
    ]));
    assert_eq!(t5.contains, [FileRole::Diffusion, FileRole::T5xxl]);
}

#[test]
fn a_flux_that_reads_a_control_picture_is_told_by_the_width_of_its_patches() {
    let dir = tempfile::tempdir().unwrap();
    let told = |inputs| {
        let parts = testkit::families::flux(inputs, dir.path()).unwrap();
        let kind = kind(&parts[0].1.write(dir.path(), "diffusion").unwrap());
        assert_eq!(kind.family, Some(Family::Flux));
        (kind.name, kind.reads_control, kind.sees_start_picture)
    };
    let named = |name: &str, reads, sees| (name.to_owned(), reads, sees);
    assert_eq!(told(64), named("Flux diffusion module", false, false));
    assert_eq!(told(128), named("Flux control diffusion module", true, false));
    assert_eq!(told(196), named("Flux Flex.2 diffusion module", true, true));
    assert_eq!(told(384), named("Flux Fill diffusion module", false, true));
}

#[test]
fn families_are_told_with_and_without_the_prefix() {
    let signs: [(Listed<'_>, Family); 18] = [
        (&[("cap_embedder.0.weight", &[2560])], Family::ZImage),
        (&[("joint_blocks.0.context_block.attn.qkv.weight", &[8, 8])], Family::Sd3),
        (&[("pos_embed.proj.weight", &[8, 16, 2, 2]), ("transformer_blocks.0.attn.add_q_proj.weight", &[8, 8])], Family::Sd3),
        (&[("double_blocks.0.img_attn.qkv.weight", &[8, 8]), ("txt_in.weight", &[3072, 4096])], Family::Flux),
        (&[("double_blocks.0.img_attn.qkv.weight", &[8, 8]), ("txt_in.weight", &[3072, 3584])], Family::LongCat),
        (&[("double_blocks.0.x", &[8]), ("distilled_guidance_layer.in_proj.weight", &[8, 8])], Family::Chroma),
        (&[("double_blocks.0.img_mlp.gate_proj.weight", &[8, 8])], Family::OvisImage),
        (&[("double_blocks.0.x", &[8]), ("double_stream_modulation_img.lin.weight", &[8, 8])], Family::Flux2Klein),
        (&[("double_stream_modulation_img.lin.weight", &[8, 8]), ("single_blocks.47.linear1.weight", &[8, 8])], Family::Flux2),
        (&[("nerf_final_layer_conv.conv.weight", &[8, 8])], Family::ChromaRadiance),
        (&[("transformer_blocks.0.img_mod.1.weight", &[8, 8])], Family::QwenImage),
        (&[("net.llm_adapter.blocks.0.cross_attn.q_proj.weight", &[8, 8])], Family::Anima),
        (&[("layers.0.adaLN_sa_ln.weight", &[8])], Family::ErnieImage),
        (&[("blocks.0.cross_attn.norm_k.weight", &[8])], Family::Wan),
        (&[("adaln_single.emb.timestep_embedder.linear_1.bias", &[8])], Family::Ltx),
        (
            &[("input_blocks.0.0.weight", &[320, 4, 3, 3]), ("input_blocks.1.1.transformer_blocks.0.attn2.to_k.weight", &[320, 768])],
            Family::Sd1,
        ),
        (
            &[("input_blocks.0.0.weight", &[320, 4, 3, 3]), ("input_blocks.4.1.transformer_blocks.0.attn2.to_k.weight", &[640, 2048])],
            Family::Sdxl,
        ),
        (
            &[("conv_in.weight", &[320, 4, 3, 3]), ("down_blocks.0.attentions.0.transformer_blocks.0.attn2.to_k.weight", &[320, 1024])],
            Family::Sd2,
        ),
    ];
    for (tensors, family) in signs {
        let bare = identify(&header(tensors));
        let prefixed: Vec<(String, &[u64])> = tensors.iter().map(|(name, shape)| (format!("{DIFFUSION_PREFIX}{name}"), *shape)).collect();
        let prefixed: Vec<(&str, &[u64])> = prefixed.iter().map(|(name, shape)| (name.as_str(), *shape)).collect();
        let prefixed = identify(&header(&prefixed));
        for kind in [bare, prefixed] {
            assert_eq!((kind.family, kind.role), (Some(family), Some(FileRole::Diffusion)), "{tensors:?}");
        }
    }
}

#[test]
fn a_name_in_english_is_said_as_it_is_kept() {
    for name in [
        "SD1.5 full model",
        "SD2 inpainting full model",
        "SD1.5 edit diffusion module",
        "Flux control diffusion module",
        "Flux Fill diffusion module",
        "Flux.2 klein diffusion module",
        "Qwen3-VL-4B text encoder",
        "small T5 text encoder",
        "language model",
        "detector of face, hand, …",
        "SDXL LoRA",
        "VAE",
        "full model",
        "text encoder of somebody",
        "",
    ] {
        assert_eq!(kind_words(name), name);
    }
}

#[test]
fn text_encoders_are_told_by_their_dimensions() {
    let qwen = |width: u64, layers: u64| {
        let last = format!("model.layers.{}.self_attn.q_norm.weight", layers - 1);
        identify(&header(&[("model.embed_tokens.weight", &[151_936, width]), (&last, &[128])])).name
    };
    assert_eq!(qwen(2560, 36), "Qwen3-4B text encoder");
    assert_eq!(qwen(4096, 36), "Qwen3-8B text encoder");
    assert_eq!(qwen(1024, 28), "Qwen3-0.6B text encoder");
    let gguf = identify(&header(&[("token_embd.weight", &[152_064, 3584]), ("blk.0.attn_q.bias", &[3584])]));
    assert_eq!((gguf.name.as_str(), gguf.vocabulary), ("Qwen2.5-VL-7B text encoder", Some(152_064)));
    let t5 = identify(&header(&[("enc.blk.0.attn_q.weight", &[4096, 4096]), ("token_embd.weight", &[32_128, 4096])]));
    assert_eq!((t5.role, t5.name.as_str()), (Some(FileRole::T5xxl), "T5-XXL text encoder"));
    let clip = |width| identify(&header(&[("text_model.embeddings.token_embedding.weight", &[49_408, width])])).role;
    assert_eq!((clip(768), clip(1280)), (Some(FileRole::ClipL), Some(FileRole::ClipG)));
}

#[test]
fn decoders_and_helper_files_are_recognised() {
    let vae = identify(&header(&[("decoder.conv_in.weight", &[512, 16, 3, 3])]));
    assert_eq!((vae.role, vae.latent_channels), (Some(FileRole::Vae), Some(16)));
    let wan = identify(&header(&[("decoder.conv1.weight", &[384, 16, 3, 3, 3]), ("decoder.middle.0.residual.0.gamma", &[384])]));
    assert_eq!((wan.role, wan.family), (Some(FileRole::Vae), Some(Family::QwenImage)));
    let control = identify(&header(&[
        ("control_model.input_blocks.0.0.weight", &[320, 4, 3, 3]),
        ("control_model.input_blocks.1.1.transformer_blocks.0.attn2.to_k.weight", &[320, 768]),
    ]));
    assert_eq!((control.role, control.family), (Some(FileRole::Controlnet), Some(Family::Sd1)));
    let unknown = identify(&header(&[("anything", &[8])]));
    assert_eq!((unknown.role, unknown.family), (None, None));
    assert_eq!(unknown.described(), "an unknown kind of model file");
}
