//! The fields of a job.

use atelier_core::recipe::{ControlImage, Rgb8};
use atelier_media::ExportFormat;
use serde_json::Value;

use super::further;
use crate::http::error::Failure;
use crate::http::fields::{Fields, Item};
use crate::http::images::{MAX_IMAGES, MaskSense, bytes_of, decode_fine, decode_mask, read_format};
use crate::http::names;
use crate::http::recipe::{ControlWish, SIDES, STEPS, Wish};

/// Pictures of a job.
pub(super) const PICTURES: std::ops::RangeInclusive<u32> = 1..=8;
/// Quality of JPEG where none is asked for.
const JPEG_QUALITY: u8 = 90;
/// Denoising strength of a start picture where none is asked for.
const USUAL_STRENGTH: f32 = 0.75;

/// A job, read as far as it goes without decoding pictures.
#[derive(Debug)]
pub(super) struct JobRequest {
    pub(super) wish: Wish,
    pub(super) format: ExportFormat,
    init: Option<Value>,
    mask: Option<Value>,
    control: Option<(Value, f32)>,
    references: Vec<Value>,
    strength: f32,
}

/// Reads a job.
pub(super) fn read(mut fields: Fields) -> Result<JobRequest, Failure> {
    let it = &mut fields;
    let mut wish = Wish {
        model: it.word("model"),
        prompt: it.prose("prompt"),
        negative_prompt: it.prose("negative_prompt"),
        has_chosen_words: it.switch("words_are_chosen", false),
        width: it.within("width", SIDES),
        height: it.within("height", SIDES),
        seed: it.seed("seed"),
        words_seed: it.seed("words_seed"),
        pictures: Some(it.within_or("batch_count", PICTURES, 1)),
        clip_skip: it.whole("clip_skip").and_then(|it| u32::try_from(it).ok()).filter(|it| *it > 1),
        is_shaped_as_start: true,
        ..Wish::default()
    };
    let mut sample = it.object("sample_params");
    wish.steps = sample.within("sample_steps", STEPS);
    if let Some(name) = sample.word("sample_method") {
        match names::sampler(&name) {
            Some(named) => {
                (wish.sampler, wish.scheduler) = (Some(named.value.0), named.value.1);
                wish.notes.extend(named.note);
            }
            None => sample.fault("sample_method", format!("There is no sampler named {name}.")),
        }
    }
    if let Some(name) = sample.word("scheduler") {
        match names::scheduler(&name) {
            Some(named) => {
                wish.scheduler = named.value.or(wish.scheduler);
                wish.notes.extend(named.note);
            }
            None => sample.fault("scheduler", format!("There is no scheduler named {name}.")),
        }
    }
    wish.eta = sample.not_negative("eta");
    wish.flow_shift = sample.decimal("flow_shift").filter(|it| *it > 0.0);
    further::read(it, &mut sample, &mut wish);
    it.close(sample);
    for mut lora in it.objects("lora") {
        if lora.switch("is_high_noise", false) {
            wish.notes.push("is_high_noise is not followed: the LoRA acts in all steps.".to_owned());
        }
        let (name, path, strength) = (lora.word("name"), lora.word("path"), lora.decimal_or("multiplier", 1.0));
        if let Some(name) = name.or(path) {
            wish.loras.push((name, strength));
        }
        it.close(lora);
    }
    further::read_hires(it, &mut wish);
    if it.picture("ip_adapter_image").is_some() {
        it.fault("ip_adapter_image", "IP-Adapters are not available.");
    }
    // Of a picture that is refused.
    it.leave(&["ip_adapter_strength"]);
    let strength = it.clamped_or("strength", 0.0..=1.0, USUAL_STRENGTH);
    let control_strength = it.clamped_or("control_strength", 0.0..=1.0, ControlImage::USUAL_STRENGTH);
    let (init, mask) = (it.picture("init_image"), it.picture("mask_image"));
    let control = it.picture("control_image").map(|image| (image, control_strength));
    let references = it.list("ref_images", Item::Picture);
    if references.len() > MAX_IMAGES {
        it.fault("ref_images", format!("There are more than {MAX_IMAGES} pictures."));
    }
    let compression = it.within_or("output_compression", 0..=100, JPEG_QUALITY.into());
    let format = read_format(it, "output_format", u8::try_from(compression).unwrap_or(JPEG_QUALITY).max(1));
    wish.notes.extend(fields.finish()?);
    Ok(JobRequest { wish, format, init, mask, control, references, strength })
}

impl JobRequest {
    /// Decodes its pictures into its wish. Blocks.
    pub(super) fn decode(mut self) -> Result<Self, Failure> {
        let picture = |field: &str, value: &Value| -> Result<Rgb8, Failure> { decode_fine(field, &bytes_of(field, value)?) };
        if let Some(init) = self.init.take() {
            self.wish.init = Some((picture("init_image", &init)?, self.strength));
        }
        if let Some(mask) = self.mask.take() {
            self.wish.mask = Some(decode_mask("mask_image", &bytes_of("mask_image", &mask)?, MaskSense::White)?);
        }
        if let Some((image, strength)) = self.control.take() {
            let image = picture("control_image", &image)?;
            self.wish.control =
                Some(ControlWish { model: None, image, strength, start: 0.0, end: ControlImage::USUAL_END, preprocessor: None });
        }
        for image in std::mem::take(&mut self.references) {
            self.wish.references.push(picture("ref_images", &image)?);
        }
        Ok(self)
    }
}
