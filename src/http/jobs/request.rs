//! The fields of a job.

use atelier_core::recipe::{ControlImage, Rgb8, SkipLayers};
use atelier_media::ExportFormat;
use serde_json::{Value, json};

use crate::http::error::Failure;
use crate::http::fields::Fields;
use crate::http::images::{MAX_IMAGES, MaskSense, bytes_of, decode, decode_mask, format_named};
use crate::http::names;
use crate::http::recipe::{ControlWish, HiresWish, SIDES, STEPS, Wish};

/// Pictures of a job.
pub(super) const PICTURES: std::ops::RangeInclusive<u32> = 1..=8;
/// The highest timestep of a model.
const MAX_TIMESTEP: u32 = 1000;
/// Quality of JPEG where none is asked for.
const JPEG_QUALITY: u8 = 90;
/// Denoising strengths where none is asked for: of a start picture, and of a second pass.
const USUAL_STRENGTH: f32 = 0.75;
const USUAL_HIRES_STRENGTH: f32 = 0.7;

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
        prompt: it.text("prompt").unwrap_or_default(),
        negative_prompt: it.text("negative_prompt").unwrap_or_default(),
        width: it.within("width", SIDES),
        height: it.within("height", SIDES),
        seed: it.whole("seed"),
        pictures: it.within("batch_count", PICTURES),
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
    wish.eta = sample.decimal("eta").filter(|it| *it >= 0.0);
    wish.flow_shift = sample.decimal("flow_shift").filter(|it| *it > 0.0);
    read_further(it, &mut sample, &mut wish);
    it.close(sample);
    for mut lora in it.objects("lora") {
        if lora.flag("is_high_noise") == Some(true) {
            wish.notes.push("is_high_noise is not followed: the LoRA acts in all steps.".to_owned());
        }
        let (name, path, strength) = (lora.word("name"), lora.word("path"), lora.decimal("multiplier"));
        if let Some(name) = name.or(path) {
            wish.loras.push((name, strength.unwrap_or(1.0)));
        }
        it.close(lora);
    }
    let mut hires = it.object("hires");
    if hires.flag("enabled") == Some(true) {
        let named = names::upscaler(&hires.word("upscaler").unwrap_or_default());
        wish.notes.extend(named.note);
        let target = hires.within("target_width", SIDES).zip(hires.within("target_height", SIDES));
        wish.hires = Some(HiresWish {
            scale: hires.decimal("scale").unwrap_or(2.0).clamp(1.0, 4.0),
            target,
            strength: hires.decimal("denoising_strength").unwrap_or(USUAL_HIRES_STRENGTH).clamp(0.0, 1.0),
            steps: hires.within("steps", 0..=*STEPS.end()).filter(|steps| *steps > 0),
            upscaler: named.value,
        });
        hires.leave_usual(&[("custom_sigmas", json!([])), ("upscale_tile_size", json!(0)), ("upscale_tile_size", json!(128))]);
    } else {
        hires.leave_all();
    }
    it.close(hires);
    if it.take("ip_adapter_image").is_some_and(|image| image.as_str() != Some("")) {
        it.fault("ip_adapter_image", "IP-Adapters are not available.");
    }
    // Of a picture that is refused.
    it.leave(&["ip_adapter_strength"]);
    let strength = it.decimal("strength").unwrap_or(USUAL_STRENGTH).clamp(0.0, 1.0);
    let control_strength = it.decimal("control_strength").unwrap_or(ControlImage::USUAL_STRENGTH).clamp(0.0, 1.0);
    let picture = |it: &mut Fields, key: &str| it.take(key).filter(|value| value.as_str() != Some(""));
    let (init, mask) = (picture(it, "init_image"), picture(it, "mask_image"));
    let control = picture(it, "control_image").map(|image| (image, control_strength));
    let references = it.list("ref_images");
    if references.len() > MAX_IMAGES {
        it.fault("ref_images", format!("There are more than {MAX_IMAGES} pictures."));
    }
    let compression = it.within("output_compression", 0..=100).and_then(|it| u8::try_from(it).ok());
    let word = it.word("output_format").unwrap_or_else(|| "png".to_owned());
    let format = format_named(&word, compression.unwrap_or(JPEG_QUALITY).max(1));
    if format.is_none() {
        it.fault("output_format", "Choose png, jpeg or webp.");
    }
    wish.notes.extend(fields.finish()?);
    Ok(JobRequest { wish, format: format.unwrap_or(ExportFormat::Png), init, mask, control, references, strength })
}

/// Reads guidance, noise levels and tiles, and says which settings are not followed.
fn read_further(it: &mut Fields, sample: &mut Fields, wish: &mut Wish) {
    let mut guidance = sample.object("guidance");
    wish.guidance = guidance.decimal("txt_cfg").filter(|it| *it >= 0.0);
    wish.distilled_guidance = guidance.decimal("distilled_guidance").filter(|it| *it >= 0.0);
    // Clients that have no field for it send the other one's value.
    let of_image = guidance.decimal("img_cfg").filter(|it| *it >= 0.0 && Some(*it) != wish.guidance);
    wish.further.image_guidance = of_image.map(Some);
    let mut slg = guidance.object("slg");
    let layers: Vec<u32> =
        slg.list("layers").iter().filter_map(|it| u32::try_from(it.as_u64()?).ok()).take(SkipLayers::MAX_LAYERS).collect();
    let usual = SkipLayers::default();
    let (start, end) = (slg.decimal("layer_start").unwrap_or(usual.start), slg.decimal("layer_end").unwrap_or(usual.end));
    if let Some(scale) = slg.decimal("scale").filter(|scale| *scale > 0.0) {
        wish.further.skip_layers = Some(Some(SkipLayers { scale, layers, start, end }));
    }
    guidance.close(slg);
    sample.close(guidance);
    wish.further.timestep_shift = sample.within("shifted_timestep", 0..=MAX_TIMESTEP).filter(|it| *it > 0).map(Some);
    let sigmas = sample.list("custom_sigmas");
    if sigmas.len() > *STEPS.end() as usize + 1 {
        sample.fault("custom_sigmas", format!("There are more than {} noise levels.", STEPS.end() + 1));
    } else if !sigmas.is_empty() {
        let read: Option<Vec<f32>> = sigmas.iter().map(|it| it.as_f64().map(|it| it as f32).filter(|it| it.is_finite())).collect();
        match read {
            Some(read) => wish.further.sigmas = Some(read),
            None => sample.fault("custom_sigmas", "It is not a list of numbers."),
        }
    }
    let mut tiles = it.object("vae_tiling_params");
    if tiles.flag("enabled") == Some(true) {
        wish.further.vae_tiling = Some(true);
        tiles.leave_usual(&[
            ("temporal_tiling", json!(false)),
            ("tile_size_x", json!(0)),
            ("tile_size_y", json!(0)),
            ("target_overlap", json!(0.5)),
            ("rel_size_x", json!(0)),
            ("rel_size_y", json!(0)),
            ("extra_tiling_args", json!("")),
        ]);
    } else {
        tiles.leave_all();
    }
    it.close(tiles);
    let cache = it.word("cache_mode").filter(|mode| !["disabled", "none", "off"].contains(&mode.as_str()));
    if let Some(mode) = cache {
        wish.notes.push(format!("The step cache {mode} is not used over this interface."));
    }
    // Of a cache that is off.
    it.leave(&["cache_option", "scm_mask", "scm_policy_dynamic"]);
    for (field, words) in [
        ("auto_resize_ref_image", "Reference pictures are resized as the model wants it"),
        ("embed_image_metadata", "Pictures always tell how they were made"),
    ] {
        if it.flag(field) == Some(false) {
            wish.notes.push(format!("{words}: {field} is not followed."));
        }
    }
    if it.flag("increase_ref_index") == Some(true) {
        wish.notes.push("Reference pictures have the places that the model wants: increase_ref_index is not followed.".to_owned());
    }
}

impl JobRequest {
    /// Decodes its pictures into its wish. Blocks.
    pub(super) fn decode(mut self) -> Result<Self, Failure> {
        let picture = |field: &str, value: &Value| -> Result<Rgb8, Failure> { decode(field, &bytes_of(field, value)?) };
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

#[cfg(test)]
mod tests {
    use atelier_core::recipe::PartialRecipe;

    use super::*;

    fn wish(body: &str) -> Wish {
        read(Fields::read(body.as_bytes()).unwrap()).unwrap().wish
    }

    #[test]
    fn what_sd_servers_own_page_sends_where_nobody_chose_changes_nothing() {
        let wish = wish(
            r#"{"prompt": "a lake", "auto_resize_ref_image": true, "increase_ref_index": false, "embed_image_metadata": true, "cache_mode": "disabled",
            "sample_params": {"shifted_timestep": 0, "custom_sigmas": [], "guidance": {"txt_cfg": 7.0, "img_cfg": 7.0,
            "slg": {"layers": [7, 8, 9], "layer_start": 0.01, "layer_end": 0.2, "scale": 0.0}}},
            "vae_tiling_params": {"enabled": false, "tile_size_x": 0}, "lora": [{"path": "ink", "is_high_noise": false}]}"#,
        );
        assert_eq!((wish.further, wish.notes), (PartialRecipe::default(), Vec::<String>::new()));
    }

    #[test]
    fn guidance_noise_levels_and_tiles_are_taken_and_what_is_not_followed_is_said() {
        let wish = wish(
            r#"{"prompt": "a lake", "increase_ref_index": true, "embed_image_metadata": false, "cache_mode": "easycache",
            "sample_params": {"shifted_timestep": 250, "custom_sigmas": [14.6, 3.0, 0], "guidance": {"txt_cfg": 7.0, "img_cfg": 1.5,
            "slg": {"layers": [7, 8], "layer_start": 0.25, "layer_end": 0.5, "scale": 2.5}}},
            "vae_tiling_params": {"enabled": true}, "lora": [{"path": "ink", "is_high_noise": true}]}"#,
        );
        let expected = PartialRecipe {
            image_guidance: Some(Some(1.5)),
            skip_layers: Some(Some(SkipLayers { scale: 2.5, layers: vec![7, 8], start: 0.25, end: 0.5 })),
            timestep_shift: Some(Some(250)),
            sigmas: Some(vec![14.6, 3.0, 0.0]),
            vae_tiling: Some(true),
            ..PartialRecipe::default()
        };
        assert_eq!(wish.further, expected);
        assert_eq!(wish.notes.len(), 4, "{:?}", wish.notes);
    }

    #[test]
    fn noise_levels_are_numbers_and_no_more_than_steps_may_be() {
        let refused = |sigmas: &str| {
            read(Fields::read(format!(r#"{{"sample_params": {{"custom_sigmas": {sigmas}}}}}"#).as_bytes()).unwrap()).is_err()
        };
        assert!(refused(r#"["x"]"#) && refused(&format!("{:?}", vec![1; 152])));
        assert!(!refused(&format!("{:?}", vec![1; 151])));
    }
}
