//! Classes of nodes that are known, by what they hand on. What a node of another class computes is
//! not understood.

/// Where a node has the values that come out of it: one input for each output; outputs beyond the
/// last have the last one's.
pub(super) const VALUES: &[(&str, &[&str])] = &[
    ("PrimitiveNode", &["value"]),
    ("PrimitiveInt", &["value"]),
    ("PrimitiveFloat", &["value"]),
    ("PrimitiveBoolean", &["value"]),
    ("PrimitiveString", &["value"]),
    ("PrimitiveStringMultiline", &["value"]),
    ("ReroutePrimitive|pysssss", &["value"]),
    ("ShowText|pysssss", &["text"]),
    ("PreviewAny", &["source"]),
    ("Seed (rgthree)", &["seed"]),
    ("Seed Everywhere", &["seed"]),
    ("CR Seed", &["seed"]),
    ("Seed", &["seed"]),
    ("easy seed", &["seed"]),
    ("easy globalSeed", &["value"]),
    ("Seed Generator (Image Saver)", &["seed"]),
    ("SeedGenerator", &["seed"]),
    ("INTConstant", &["value"]),
    ("FloatConstant", &["value"]),
    ("StringConstant", &["string"]),
    ("ImpactInt", &["value"]),
    ("ImpactFloat", &["value"]),
    ("easy int", &["value"]),
    ("easy float", &["value"]),
    ("easy string", &["value"]),
    ("Int Literal", &["int"]),
    ("Int Literal (Image Saver)", &["int"]),
    ("Float Literal", &["float"]),
    ("Float Literal (Image Saver)", &["float"]),
    ("Width/Height Literal (Image Saver)", &["int"]),
    ("Cfg Literal (Image Saver)", &["float"]),
    ("String Literal", &["string"]),
    ("String Literal (Image Saver)", &["string"]),
    ("Sampler Selector (Image Saver)", &["sampler_name"]),
    ("Scheduler Selector (Image Saver)", &["scheduler"]),
    ("Primitive integer [Crystools]", &["int"]),
    ("Primitive float [Crystools]", &["float"]),
    ("Primitive string [Crystools]", &["string"]),
    ("Primitive string multiline [Crystools]", &["string"]),
    ("CR Text", &["text"]),
    ("CR Prompt Text", &["prompt"]),
    ("CR Multiline Text", &["text"]),
    ("Text String", &["text", "text_b", "text_c", "text_d"]),
    // A line that begins with a sign for a remark would be left out: see `has_remarks`.
    ("Text Multiline", &["text"]),
    ("Text box", &["text"]),
    ("easy positive", &["positive"]),
    ("easy negative", &["negative"]),
    ("ImpactWildcardProcessor", &["populated_text"]),
    ("KSampler Config (rgthree)", &["steps_total", "refiner_step", "cfg", "sampler_name", "scheduler"]),
    ("KSamplerSelect", &["sampler_name"]),
];

/// Classes whose text leaves out lines that begin with `#`.
pub(super) const WITH_REMARKS: &[&str] = &["Text Multiline"];

/// Texts that are joined: the inputs that begin so, in the order of their names, and the input with
/// what stands between them.
pub(super) struct Join {
    pub(super) class: &'static str,
    pub(super) parts: Parts,
    pub(super) separator: &'static str,
    /// Empty texts are left out.
    pub(super) leaves_out_empty: bool,
    /// Its switch that takes the room round each text away, where that is on.
    pub(super) trims_by: Option<&'static str>,
}

pub(super) enum Parts {
    /// These inputs.
    Named(&'static [&'static str]),
    /// As many as an input says, numbered from 1.
    Counted { prefix: &'static str, count: &'static str },
}

pub(super) const JOINS: &[Join] = &[
    Join {
        class: "StringConcatenate",
        parts: Parts::Named(&["string_a", "string_b"]),
        separator: "delimiter",
        leaves_out_empty: false,
        trims_by: None,
    },
    Join {
        class: "Text Concatenate",
        parts: Parts::Named(&["text_a", "text_b", "text_c", "text_d"]),
        separator: "delimiter",
        leaves_out_empty: true,
        trims_by: Some("clean_whitespace"),
    },
    Join {
        class: "JoinStrings",
        parts: Parts::Named(&["string1", "string2"]),
        separator: "delimiter",
        leaves_out_empty: false,
        trims_by: None,
    },
    Join {
        class: "JoinStringMulti",
        parts: Parts::Counted { prefix: "string_", count: "inputcount" },
        separator: "delimiter",
        leaves_out_empty: true,
        trims_by: None,
    },
    Join {
        class: "CR Text Concatenate",
        parts: Parts::Named(&["text1", "text2"]),
        separator: "separator",
        leaves_out_empty: false,
        trims_by: None,
    },
    Join {
        class: "easy promptConcat",
        parts: Parts::Named(&["prompt1", "prompt2"]),
        separator: "separator",
        leaves_out_empty: false,
        trims_by: None,
    },
];

/// Nodes that make words of texts: the inputs with texts, the one that says most first.
pub(super) const ENCODERS: &[(&str, &[&str])] = &[
    ("CLIPTextEncode", &["text"]),
    ("CLIPTextEncodeControlnet", &["text"]),
    ("CLIPTextEncodeSDXL", &["text_g", "text_l"]),
    ("CLIPTextEncodeSDXLRefiner", &["text"]),
    ("CLIPTextEncodeFlux", &["t5xxl", "clip_l"]),
    ("CLIPTextEncodeSD3", &["t5xxl", "clip_g", "clip_l"]),
    ("CLIPTextEncodeHiDream", &["llama", "t5xxl", "clip_g", "clip_l"]),
    ("CLIPTextEncodeHunyuanDiT", &["mt5xl", "bert"]),
    ("CLIPTextEncodeKandinsky5", &["qwen25_7b", "clip_l"]),
    ("CLIPTextEncodeLumina2", &["user_prompt", "system_prompt"]),
    ("CLIPTextEncodePixArtAlpha", &["text"]),
    ("TextEncodeQwenImageEdit", &["prompt"]),
    ("TextEncodeQwenImageEditPlus", &["prompt"]),
    ("TextEncodeZImageOmni", &["prompt"]),
    ("BNK_CLIPTextEncodeAdvanced", &["text"]),
    ("smZ CLIPTextEncode", &["text"]),
    ("ImpactWildcardEncode", &["populated_text"]),
];

/// Of these, those that may read more than round brackets as A1111 does: square ones and `BREAK`, or
/// `BREAK` and LoRAs in the words.
pub(super) const READ_AS_A1111: &[&str] = &["smZ CLIPTextEncode", "ImpactWildcardEncode"];

/// Nodes that hand words on as they are: the input of each output.
pub(super) const HAND_WORDS_ON: &[(&str, &[&str])] = &[
    ("FluxGuidance", &["conditioning"]),
    ("FluxDisableGuidance", &["conditioning"]),
    ("FluxKontextMultiReferenceLatentMethod", &["conditioning"]),
    ("ReferenceLatent", &["conditioning"]),
    ("ConditioningSetTimestepRange", &["conditioning"]),
    ("ConditioningSetArea", &["conditioning"]),
    ("ConditioningSetAreaPercentage", &["conditioning"]),
    ("ConditioningSetAreaStrength", &["conditioning"]),
    ("ConditioningSetMask", &["conditioning"]),
    ("ControlNetApply", &["conditioning"]),
    ("ControlNetApplyAdvanced", &["positive", "negative"]),
    ("ControlNetApplySD3", &["positive", "negative"]),
    ("ControlNetInpaintingAliMamaApply", &["positive", "negative"]),
    ("ACN_AdvancedControlNetApply", &["positive", "negative"]),
    ("ACN_AdvancedControlNetApply_v2", &["positive", "negative"]),
    ("InpaintModelConditioning", &["positive", "negative"]),
    ("InstructPixToPixConditioning", &["positive", "negative"]),
    ("unCLIPConditioning", &["conditioning"]),
    ("StyleModelApply", &["conditioning"]),
    ("GLIGENTextBoxApply", &["conditioning_to"]),
];

/// Nodes that mix the words of several inputs.
pub(super) const MIX_WORDS: &[(&str, &[&str])] = &[
    ("ConditioningCombine", &["conditioning_1", "conditioning_2"]),
    ("ConditioningConcat", &["conditioning_to", "conditioning_from"]),
    ("ConditioningAverage", &["conditioning_to", "conditioning_from"]),
];

/// Words of nothing.
pub(super) const ZERO_WORDS: &str = "ConditioningZeroOut";

/// Nodes that hand a model on, changed by what else they have.
pub(super) const HAND_MODEL_ON: &[&str] = &[
    "LoraLoader",
    "LoraLoaderModelOnly",
    "LoraLoader|pysssss",
    "Power Lora Loader (rgthree)",
    "Lora Loader Stack (rgthree)",
    "Lora Loader (LoraManager)",
    "CR Load LoRA",
    "CR Apply LoRA Stack",
    "ModelSamplingSD3",
    "ModelSamplingAuraFlow",
    "ModelSamplingFlux",
    "ModelSamplingDiscrete",
    "ModelSamplingContinuousEDM",
    "ModelSamplingContinuousV",
    "ModelSamplingLTXV",
    "ModelSamplingStableCascade",
    "RescaleCFG",
    "RenormCFG",
    "CFGNorm",
    "CFGZeroStar",
    "FreeU",
    "FreeU_V2",
    "HyperTile",
    "PatchModelAddDownscale",
    "PerturbedAttentionGuidance",
    "SelfAttentionGuidance",
    "SkipLayerGuidanceDiT",
    "SkipLayerGuidanceSD3",
    "DifferentialDiffusion",
    "TomePatchModel",
    "TorchCompileModel",
    "EasyCache",
    "LazyCache",
    "TCFG",
    "EpsilonScaling",
    "Mahiro",
    "PathchSageAttentionKJ",
    "ModelPatchTorchSettings",
    "CLIPSetLastLayer",
    "ImpactWildcardEncode",
];

/// Nodes that open a model's file: the input with its name.
pub(super) const MODEL_FILES: &[(&str, &str)] = &[
    ("CheckpointLoaderSimple", "ckpt_name"),
    ("CheckpointLoader", "ckpt_name"),
    ("CheckpointLoaderSimpleWithNoiseSelect", "ckpt_name"),
    ("CheckpointLoader|pysssss", "ckpt_name"),
    ("CheckpointLoaderNF4", "ckpt_name"),
    ("Checkpoint Loader (Simple)", "ckpt_name"),
    ("Checkpoint Loader with Name (Image Saver)", "ckpt_name"),
    ("CR Load Checkpoint", "ckpt_name"),
    ("ImageOnlyCheckpointLoader", "ckpt_name"),
    ("unCLIPCheckpointLoader", "ckpt_name"),
    ("UNETLoader", "unet_name"),
    ("UNETLoaderNF4", "unet_name"),
    ("UnetLoaderGGUF", "unet_name"),
    ("UnetLoaderGGUFAdvanced", "unet_name"),
    ("NunchakuFluxDiTLoader", "model_path"),
    ("NunchakuQwenImageDiTLoader", "model_name"),
    ("DiffusersLoader", "model_path"),
];

/// Nodes that have all of a picture but its sampler.
pub(super) struct WholeLoader {
    pub(super) class: &'static str,
    /// Indices of the outputs with the words, positive and negative, and with the latents.
    pub(super) words: [u64; 2],
    pub(super) latent: u64,
}

pub(super) const WHOLE_LOADERS: &[WholeLoader] = &[
    WholeLoader { class: "Efficient Loader", words: [1, 2], latent: 3 },
    WholeLoader { class: "easy fullLoader", words: [4, 5], latent: 6 },
    WholeLoader { class: "easy a1111Loader", words: [4, 5], latent: 6 },
    WholeLoader { class: "easy comfyLoader", words: [4, 5], latent: 6 },
];

/// Empty latents of a width and a height.
pub(super) const EMPTY_LATENTS: &[&str] = &[
    "EmptyLatentImage",
    "EmptySD3LatentImage",
    "EmptyFlux2LatentImage",
    "EmptyHunyuanImageLatent",
    "EmptyHunyuanLatentVideo",
    "EmptyMochiLatentVideo",
    "EmptyLTXVLatentVideo",
    "EmptyCosmosLatentVideo",
    "EmptyChromaRadianceLatentImage",
    "EmptyQwenImageLayeredLatentImage",
    "StableCascade_EmptyLatentImage",
];

/// Nodes that hand latents on in their size: the input.
pub(super) const HAND_LATENTS_ON: &[(&str, &str)] =
    &[("RepeatLatentBatch", "samples"), ("LatentFromBatch", "samples"), ("SetLatentNoiseMask", "samples")];

/// Latents of a picture.
pub(super) const PICTURE_LATENTS: &[&str] =
    &["VAEEncode", "VAEEncodeTiled", "VAEEncodeForInpaint", "InpaintModelConditioning", "InstructPixToPixConditioning"];

/// Schedules of their own: the class, and the name of the schedule where the class is one.
pub(super) const SIGMAS: &[(&str, &str)] = &[
    ("BasicScheduler", ""),
    ("KarrasScheduler", "karras"),
    ("ExponentialScheduler", "exponential"),
    ("AlignYourStepsScheduler", "ays"),
    ("GITSScheduler", "gits"),
    ("BetaSamplingScheduler", "beta"),
    ("SDTurboScheduler", ""),
    ("PolyexponentialScheduler", ""),
    ("Flux2Scheduler", ""),
    ("LTXVScheduler", ""),
    ("VPScheduler", ""),
    ("LaplaceScheduler", ""),
];

/// Samplers that are nodes of their own, with the name of each.
pub(super) const SAMPLERS: &[(&str, &str)] = &[
    ("KSamplerSelect", ""),
    ("SamplerEulerAncestral", "euler_ancestral"),
    ("SamplerDPMPP_2M_SDE", "dpmpp_2m_sde"),
    ("SamplerDPMPP_3M_SDE", "dpmpp_3m_sde"),
    ("SamplerDPMPP_SDE", "dpmpp_sde"),
    ("SamplerDPMPP_2S_Ancestral", "dpmpp_2s_ancestral"),
    ("SamplerLMS", "lms"),
    ("SamplerER_SDE", "er_sde"),
];

/// Noise, and guiders.
pub(super) const NOISES: &[&str] = &["RandomNoise", "DisableNoise"];
pub(super) const GUIDERS: &[&str] = &["BasicGuider", "CFGGuider"];

/// Nodes that only open, decode or show, and say no more than their own values.
const OTHERS: &[&str] = &[
    "VAEDecode",
    "VAEDecodeTiled",
    "VAELoader",
    "SaveImage",
    "PreviewImage",
    "SaveImageWebsocket",
    "CLIPLoader",
    "DualCLIPLoader",
    "TripleCLIPLoader",
    "QuadrupleCLIPLoader",
    "CLIPLoaderGGUF",
    "DualCLIPLoaderGGUF",
    "TripleCLIPLoaderGGUF",
    "LoadImage",
    "Reroute",
    "Reroute (rgthree)",
    "ComfySwitchNode",
    "ImpactSwitch",
    "Any Switch (rgthree)",
    "CR LoRA Stack",
    "LoRA Stacker",
    "KSampler",
    "KSamplerAdvanced",
    "KSampler (Efficient)",
    "SamplerCustom",
    "SamplerCustomAdvanced",
    ZERO_WORDS,
];

/// Values that say nothing of the picture, whatever node has them.
const WITHOUT_MEANING: &[&str] = &[
    "filename_prefix",
    "filename",
    "path",
    "preview_method",
    "vae_decode",
    "upload",
    "choose file to upload",
    "Random seed after every gen",
    "image_output",
    "save_prefix",
    "link_id",
    "control_after_generate",
    "PowerLoraLoaderHeaderWidget",
    "➕ Add Lora",
    "Select to add Wildcard",
    "Select to add LoRA",
];

/// Values that say nothing where they are the usual ones.
const USUAL: &[(&str, &str)] = &[
    ("batch_size", "1"),
    ("weight_dtype", "default"),
    ("device", "default"),
    ("add_noise", "enable"),
    ("add_noise", "true"),
    ("return_with_leftover_noise", "disable"),
    ("start_at_step", "0"),
    ("end_at_step", "10000"),
    ("vae_name", "Baked VAE"),
    ("lora_name", "None"),
    ("config_name", "Default"),
    ("token_normalization", "none"),
    ("weight_interpretation", "comfy"),
    ("positive_token_normalization", "none"),
    ("positive_weight_interpretation", "comfy"),
    ("negative_token_normalization", "none"),
    ("negative_weight_interpretation", "comfy"),
];

/// The entry of a class in one of the lists.
pub(super) fn named<T>(list: &'static [(&'static str, T)], class: &str) -> Option<&'static T> {
    list.iter().find(|(name, _)| *name == class).map(|(_, entry)| entry)
}

/// True where it is known what nodes of a class do.
pub(super) fn is_known(class: &str) -> bool {
    let lists = [HAND_MODEL_ON, EMPTY_LATENTS, PICTURE_LATENTS, NOISES, GUIDERS, OTHERS];
    lists.iter().any(|list| list.contains(&class))
        || named(VALUES, class).is_some()
        || JOINS.iter().any(|join| join.class == class)
        || named(ENCODERS, class).is_some()
        || named(HAND_WORDS_ON, class).is_some()
        || named(MIX_WORDS, class).is_some()
        || named(MODEL_FILES, class).is_some()
        || named(HAND_LATENTS_ON, class).is_some()
        || named(SIGMAS, class).is_some()
        || named(SAMPLERS, class).is_some()
        || WHOLE_LOADERS.iter().any(|loader| loader.class == class)
}

/// True where a value says nothing of the picture.
pub(super) fn is_without_meaning(input: &str, value: &str) -> bool {
    WITHOUT_MEANING.contains(&input) || USUAL.iter().any(|(name, usual)| *name == input && *usual == value)
}
