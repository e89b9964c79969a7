//! Names of modules, with every alias.
//!
//! Invariant: a name means the same as to the engine; what it does not know has a dot.

use crate::module::Module;

/// Name of all text encoders together.
pub(crate) const ENCODERS: &str = "te";

/// Every name of every module, or of all text encoders together; the engine's own names, in lower
/// case and without hyphens and underscores.
pub(crate) const MODULE_NAMES: [(&[Module], &[&str]); 7] = [
    (&[Module::Diffusion], &["diffusion", "model", "unet", "dit"]),
    (&Module::ENCODERS, &[ENCODERS, "clip", "text", "textencoder", "textencoders", "conditioner", "cond", "llm", "t5", "t5xxl"]),
    (&[Module::ClipVision], &["clipvision", "vision"]),
    (&[Module::Vae], &["vae", "firststage", "autoencoder", "tae"]),
    (&[Module::Controlnet], &["controlnet", "control"]),
    (&[Module::Photomaker], &["photomaker", "photomakerid", "pmid", "photo"]),
    (&[Module::Upscaler], &["upscaler", "esrgan", "hires"]),
];

/// Names of one text encoder, after a name of all of them and a dot: `te.t5`. Atelier's own: to
/// sd-cli, `t5` alone means all.
const ENCODER_NAMES: [(&[Module], &[&str]); 4] = [
    (&[Module::ClipL], &["clipl", "l"]),
    (&[Module::ClipG], &["clipg", "g", "bigg"]),
    (&[Module::T5], &["t5", "t5xxl", "umt5"]),
    (&[Module::Llm], &["llm", "qwen", "gemma", "mistral"]),
];

/// The modules with this name or alias: one, or all text encoders. Case, hyphens and underscores do
/// not matter.
#[must_use]
pub fn modules_named(name: &str) -> Option<&'static [Module]> {
    fn find(table: &'static [(&'static [Module], &'static [&'static str])], name: &str) -> Option<&'static [Module]> {
        table.iter().find(|(_, names)| names.contains(&name)).map(|(modules, _)| *modules)
    }
    let plain = plain(name);
    match plain.split_once('.') {
        Some((all, one)) => find(&MODULE_NAMES, all).filter(|all| *all == Module::ENCODERS).and_then(|_| find(&ENCODER_NAMES, one)),
        None => find(&MODULE_NAMES, &plain),
    }
}

/// A name in lower case, without hyphens and underscores.
pub(crate) fn plain(name: &str) -> String {
    name.trim().chars().filter(|c| !matches!(c, '-' | '_')).map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_alias_names_its_module_in_any_spelling() {
        let aliases: [(&[Module], &[&str]); 11] = [
            (&[Module::Diffusion], &["diffusion", "model", "UNet", "dit"]),
            (&Module::ENCODERS, &["te", "clip", "text", "text-encoder", "TextEncoders", "conditioner", "cond", "llm", "t5", "T5XXL"]),
            (&[Module::ClipL], &["te.clip_l", "te.clip-l", "clip.L", "TE.ClipL"]),
            (&[Module::ClipG], &["te.clip_g", "text_encoder.clip_g", "clip.bigG"]),
            (&[Module::T5], &["te.t5", "te.t5xxl", "cond.T5-XXL", "t5.t5", "te.umt5"]),
            (&[Module::Llm], &["te.llm", "textencoders.llm", "te.qwen"]),
            (&[Module::ClipVision], &["clip_vision", "clip-vision", "ClipVision", "vision"]),
            (&[Module::Vae], &["vae", "first_stage", "autoencoder", "tae"]),
            (&[Module::Controlnet], &["controlnet", "control-net", "control"]),
            (&[Module::Photomaker], &["photomaker", "photomaker_id", "pmid", "photo"]),
            (&[Module::Upscaler], &["upscaler", "esrgan", "hires"]),
        ];
        for (modules, names) in aliases {
            for name in names {
                assert_eq!(modules_named(name), Some(modules), "{name}");
            }
        }
        for name in ["sampler", "te.", ".t5", "te.vae", "vae.t5", "te.t5.t5", "te.te"] {
            assert_eq!(modules_named(name), None, "{name}");
        }
        for module in Module::ALL {
            assert_eq!(modules_named(module.key()), Some(&[module][..]));
        }
    }
}
