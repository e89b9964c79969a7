//! Endings of the names of an adapter's tensors, as trainers write them.

/// What a tensor of an adapter is to the layer that it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Ending {
    /// A part of the change of a weight, by the engine's word for it (`shim.h`).
    Weight(&'static str),
    /// A whole change of a bias.
    Bias,
    /// Something that the engine does not compute, by its name in a sentence.
    Unknown(&'static str),
}

use Ending::{Bias, Unknown, Weight};

const DOWN: Ending = Weight("lora_down");
const UP: Ending = Weight("lora_up");
const MIDDLE: Ending = Weight("lora_mid");
/// Lengths of a weight's rows after the change (`DoRA`), as the engine is told of them: of its
/// outputs, of its inputs.
pub(crate) const MAGNITUDE_PART: &str = "dora_scale";
pub(crate) const INPUT_MAGNITUDE_PART: &str = "dora_scale_in";
const MAGNITUDE: Ending = Weight(MAGNITUDE_PART);
/// A change of vectors that are looked up, which no product of matrices is.
pub(crate) const EMBEDDING_TABLE: &str = "library-lora-of-an-embedding-table";
const OWN_BIAS: Ending = Unknown("library-lora-with-biases");

/// Longer ones before those they end with.
const ENDINGS: [(&str, Ending); 65] = [
    (".lora_linear_layer.down.weight", DOWN),
    (".lora_linear_layer.up.weight", UP),
    ("_lora.down.weight", DOWN),
    ("_lora.up.weight", UP),
    ("_lora.mid.weight", MIDDLE),
    (".lora.down.weight", DOWN),
    (".lora.up.weight", UP),
    (".lora.mid.weight", MIDDLE),
    (".hada_w1_a", Weight("hada_w1_a")),
    (".hada_w1_b", Weight("hada_w1_b")),
    (".hada_w2_a", Weight("hada_w2_a")),
    (".hada_w2_b", Weight("hada_w2_b")),
    (".hada_t1", Weight("hada_t1")),
    (".hada_t2", Weight("hada_t2")),
    (".lokr_w1", Weight("lokr_w1")),
    (".lokr_w1_a", Weight("lokr_w1_a")),
    (".lokr_w1_b", Weight("lokr_w1_b")),
    (".lokr_w2", Weight("lokr_w2")),
    (".lokr_w2_a", Weight("lokr_w2_a")),
    (".lokr_w2_b", Weight("lokr_w2_b")),
    (".lokr_t2", Weight("lokr_t2")),
    (".lokr_t1", Unknown("library-lokr-with-a-core")),
    (".diff", Weight("diff")),
    (".w_norm", Weight("diff")),
    (".diff_b", Bias),
    (".b_norm", Bias),
    (".alpha", Weight("alpha")),
    (".lora_alpha", Weight("alpha")),
    (".scale", Weight("scale")),
    (".dora_scale", MAGNITUDE),
    (".lora_down.bias", OWN_BIAS),
    (".lora_up.bias", OWN_BIAS),
    (".lora_A.bias", OWN_BIAS),
    (".lora_B.bias", OWN_BIAS),
    (".lora_embedding_A", Unknown(EMBEDDING_TABLE)),
    (".lora_embedding_B", Unknown(EMBEDDING_TABLE)),
    (".oft_blocks", Unknown("OFT")),
    (".oft_diag", Unknown("OFT")),
    (".oft_R", Unknown("OFT")),
    (".boft_R", Unknown("BOFT")),
    (".boft_s", Unknown("BOFT")),
    (".vera_lambda_b", Unknown("VeRA")),
    (".vera_lambda_d", Unknown("VeRA")),
    (".vblora_logits_A", Unknown("VB-LoRA")),
    (".randlora_lambda", Unknown("RandLora")),
    (".delora_lambda", Unknown("DeLoRA")),
    // Singular values between the two halves, which are useless without them.
    (".lora_E", Unknown("AdaLoRA")),
    (".c3a_kernel", Unknown("C3A")),
    (".waveft_spectrum", Unknown("WaveFT")),
    (".shira_weight", Unknown("SHiRA")),
    (".miss_block", Unknown("MiSS")),
    (".trainable_tokens_delta", Unknown("library-trained-tokens")),
    (".fourierft_spectrum", Unknown("FourierFT")),
    (".bone_block", Unknown("Bone")),
    (".road_theta", Unknown("RoAd")),
    (".hra_u", Unknown("HRA")),
    (".ia3_l", Unknown("IA3")),
    (".on_input", Unknown("IA3")),
    (".a1", Unknown("GLoRA")),
    (".a2", Unknown("GLoRA")),
    (".b1", Unknown("GLoRA")),
    (".b2", Unknown("GLoRA")),
    (".set_weight", Unknown("library-weights-to-replace")),
    (".reshape_weight", Unknown("library-lora-that-widens")),
    (".lora_bias", OWN_BIAS),
];

/// What PEFT writes before the adapter's own name: `.lora_A.default_0.weight`.
const NAMED: [(&str, Ending); 12] = [
    (".lora_A", DOWN),
    (".lora_B", UP),
    (".lora_a", DOWN),
    (".lora_b", UP),
    (".lora_down", DOWN),
    (".lora_up", UP),
    (".lora_mid", MIDDLE),
    (".lora_magnitude_vector", MAGNITUDE),
    (".lora_embedding_A", Unknown(EMBEDDING_TABLE)),
    (".lora_embedding_B", Unknown(EMBEDDING_TABLE)),
    (".oft_R", Unknown("OFT")),
    (".boft_R", Unknown("BOFT")),
];

/// How `XLabs`' trainer ends the names of its layers in a block of two streams; the number is the
/// stream's, and stays a part of the layer's name.
const OF_STREAMS: [&str; 2] = ["_lora1", "_lora2"];
const HALVES_OF_STREAMS: [(&str, Ending); 2] = [(".down.weight", DOWN), (".up.weight", UP)];

/// Scales of the tensor before them, and what lies beside it as they do.
const COMPANIONS: [&str; 5] = [".scale_weight", ".weight_scale", ".scale_input", ".input_scale", ".comfy_quant"];

/// The layer's name and what the tensor is to it; `None` where the tensor is no adapter's.
pub(crate) fn split(name: &str) -> Option<(&str, Ending)> {
    if COMPANIONS.iter().any(|end| name.ends_with(end)) {
        return None;
    }
    let bare = name.strip_suffix(".weight").unwrap_or(name);
    let ends = |(end, ending): &(&str, Ending)| {
        let layer = name.strip_suffix(end).or_else(|| bare.strip_suffix(end))?;
        Some((layer, *ending))
    };
    if let Some(found) = ENDINGS.iter().find_map(ends).or_else(|| NAMED.iter().find_map(ends)) {
        return Some(found);
    }
    let of_stream = |(end, ending): &(&str, Ending)| {
        let layer = name.strip_suffix(end).filter(|layer| OF_STREAMS.iter().any(|stream| layer.ends_with(stream)))?;
        Some((layer, *ending))
    };
    if let Some(found) = HALVES_OF_STREAMS.iter().find_map(of_stream) {
        return Some(found);
    }
    if let Some((before, _)) = name.strip_suffix(".bias").and_then(|it| it.rsplit_once('.'))
        && let Some(layer) = [".lora_A", ".lora_B"].iter().find_map(|end| before.strip_suffix(end))
    {
        return Some((layer, OWN_BIAS));
    }
    let (before, _) = bare.rsplit_once('.')?;
    // Those of LoHa, LoKr and AdaLoRA have names after them too; shorter words are parts of models.
    let of_peft = ENDINGS.iter().filter(|(end, _)| [".hada_", ".lokr_", ".lora_E"].iter().any(|start| end.starts_with(start)));
    NAMED.iter().chain(of_peft).find_map(|(end, ending)| Some((before.strip_suffix(end)?, *ending)))
}

/// True for the name of a tensor that adapters alone have.
pub(crate) fn is_of_adapter(name: &str) -> bool {
    // The others end the names of models' own tensors too.
    split(name).is_some_and(|(_, ending)| !matches!(ending, Weight("scale" | "alpha") | Unknown("GLoRA" | "IA3")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_of_all_trainers_are_split_off() {
        for (name, layer, ending) in [
            ("lora_unet_a_b.lora_down.weight", "lora_unet_a_b", DOWN),
            ("a.b.lora_A.weight", "a.b", DOWN),
            ("a.b.lora_B.default_0.weight", "a.b", UP),
            ("a.b.lora_B.my-style.weight", "a.b", UP),
            ("a.b.lora_A", "a.b", DOWN),
            ("a.to_q_lora.up.weight", "a.to_q", UP),
            ("a.q_proj.lora_linear_layer.down.weight", "a.q_proj", DOWN),
            ("a.lora_magnitude_vector", "a", MAGNITUDE),
            ("a.lora_magnitude_vector.default.weight", "a", MAGNITUDE),
            ("a.dora_scale", "a", MAGNITUDE),
            ("a.lokr_w2_a", "a", Weight("lokr_w2_a")),
            ("a.lokr_w2", "a", Weight("lokr_w2")),
            ("a.lokr_w2.default", "a", Weight("lokr_w2")),
            ("a.hada_w1_b.default_0", "a", Weight("hada_w1_b")),
            ("a.diff_b", "a", Bias),
            ("a.w_norm", "a", Weight("diff")),
            ("oft_unet_a.oft_blocks", "oft_unet_a", Unknown("OFT")),
            ("a.hra_u.weight", "a", Unknown("HRA")),
            ("a.lora_E", "a", Unknown("AdaLoRA")),
            ("a.lora_E.default", "a", Unknown("AdaLoRA")),
            ("double_blocks.0.processor.qkv_lora1.down.weight", "double_blocks.0.processor.qkv_lora1", DOWN),
            ("double_blocks.0.processor.proj_lora2.up.weight", "double_blocks.0.processor.proj_lora2", UP),
            ("single_blocks.0.processor.qkv_lora.up.weight", "single_blocks.0.processor.qkv", UP),
            ("a.lora_B.default.bias", "a", OWN_BIAS),
            ("a.embed_tokens.lora_embedding_A", "a.embed_tokens", Unknown(EMBEDDING_TABLE)),
            ("a.embed_tokens.lora_embedding_B.default", "a.embed_tokens", Unknown(EMBEDDING_TABLE)),
        ] {
            assert_eq!(split(name), Some((layer, ending)), "{name}");
            assert!(is_of_adapter(name), "{name}");
        }
        for name in [
            "double_blocks.0.img_attn.norm.query_norm.scale",
            "a.weight",
            "a.bias",
            "alpha",
            "model.layers.0.mlp.b1.weight",
            "a.lora_down.scale_weight",
            "encoder.0.down.weight",
        ] {
            assert!(!is_of_adapter(name), "{name}");
        }
    }
}
