//! Conversion of a model's file to GGUF.

use std::path::Path;
use std::ptr::null;

use super::callbacks::{JobCallbacks, RawCallbacks};
use super::error::CallError;
use super::params::{Strings, raw_tensor_type};
use atelier_core::recipe::{FileRole, TensorType, TensorTypeRules};

/// A file that is converted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConversionParams<'a> {
    pub(crate) input: &'a Path,
    /// The role of the file, by which the engine knows its tensors.
    pub(crate) role: FileRole,
    /// `None`: as the file has them.
    pub(crate) weight_type: Option<TensorType>,
    pub(crate) rules: &'a TensorTypeRules,
    pub(crate) threads: u32,
    /// Entries of the new file's metadata.
    pub(crate) entries: &'a [(String, String)],
}

/// Bytes of the new file, which is written where `output` is given. Progress comes as steps of
/// 1 MiB.
pub(crate) fn convert(params: &ConversionParams<'_>, output: Option<&Path>, callbacks: &dyn JobCallbacks) -> Result<u64, CallError> {
    let mut strings = Strings::default();
    let input = strings.path(Some(params.input))?;
    let output = output.map_or(Ok(null()), |output| strings.path(Some(output)))?;
    let prefix = strings.text(prefix(params.role))?;
    let rules = strings.text(&params.rules.to_string())?;
    let weight_type = params.weight_type.map_or(ggml_sys::sd_type_t::SD_TYPE_COUNT, raw_tensor_type);
    let mut entries = Vec::with_capacity(params.entries.len());
    for (key, value) in params.entries {
        entries.push(ggml_sys::atelier_text_entry { key: strings.text(key)?, value: strings.text(value)? });
    }
    let raw_callbacks = RawCallbacks::new(&callbacks);
    let mut bytes = 0;
    // SAFETY: `strings` and `entries` outlive the call; `raw_callbacks` borrows `callbacks`; `bytes`
    // is a local to be written.
    let status = unsafe {
        ggml_sys::atelier_convert(
            input,
            prefix,
            weight_type as i32,
            rules,
            i32::try_from(params.threads).unwrap_or(1),
            entries.as_ptr(),
            entries.len(),
            output,
            raw_callbacks.as_ptr(),
            &raw mut bytes,
        )
    };
    CallError::check(status).map(|()| bytes)
}

/// What the engine puts before the names of a file of this role (`new_sd_ctx`).
const fn prefix(role: FileRole) -> &'static str {
    match role {
        FileRole::Diffusion | FileRole::UncondDiffusion => "model.diffusion_model.",
        FileRole::Llm => "text_encoders.llm.",
        FileRole::LlmVision => "text_encoders.llm.visual.",
        FileRole::ClipL => "text_encoders.clip_l.transformer.",
        FileRole::ClipG => "text_encoders.clip_g.transformer.",
        FileRole::T5xxl => "text_encoders.t5xxl.transformer.",
        FileRole::Vae => "vae.",
        FileRole::Taesd => "tae.",
        FileRole::Model | FileRole::ClipVision | FileRole::Controlnet | FileRole::Photomaker | FileRole::Upscaler => "",
    }
}
