//! The fields of `txt2img` and `img2img`.

use atelier_core::canvas::{AreaFill, AreaSettings, PixelRect, StartFit, selection_bounds};
use atelier_core::recipe::{Hires, ImageSource, Rgb8, Sampler, Seed, SeedBlend};
use atelier_media::{ExportFormat, read_mask};
use serde_json::{Value, json};

use super::controlnet::{self, ControlUnit};
use crate::http::error::Failure;
use crate::http::fields::{Fields, Item};
use crate::http::images::{MAX_IMAGES, MaskSense, bytes_of, decode_fine, decode_mask, read_format};
use crate::http::names;
use crate::http::recipe::{HiresWish, PICTURES, SIDES, STEPS, Wish};

/// What A1111 and its clients send where nobody chose: then the model's own settings count.
const UNCHOSEN_STEPS: [u32; 2] = [50, 20];
const UNCHOSEN_GUIDANCE: f32 = 7.0;
const UNCHOSEN_SIDE: u32 = 512;
const UNCHOSEN_SAMPLERS: [Sampler; 2] = [Sampler::Euler, Sampler::EulerA];
/// A1111's denoising strength, and that of its second pass.
const USUAL_STRENGTH: f32 = 0.75;
const USUAL_HIRES_STRENGTH: f32 = 0.7;
/// Factors of a second pass.
const HIRES_SCALES: std::ops::RangeInclusive<f32> = Hires::SCALES.0..=Hires::SCALES.1;
/// The factor of a second pass where nobody chose.
const USUAL_HIRES_SCALE: f32 = 2.0;
/// Fields of A1111's second pass, which have no effect where it is off.
const HIRES_FIELDS: [&str; 12] = [
    "hr_upscaler",
    "hr_scale",
    "hr_resize_x",
    "hr_resize_y",
    "hr_second_pass_steps",
    "hr_checkpoint_name",
    "hr_sampler_name",
    "hr_scheduler",
    "hr_prompt",
    "hr_negative_prompt",
    "hr_additional_modules",
    "hr_cfg",
];
/// Quality of pictures that are asked for as JPEG.
const JPEG_QUALITY: u8 = 90;
/// Softness of a mask's borders in pixels.
const USUAL_FEATHER: u32 = 4;
/// Most pixels around a mask that the model sees.
const MAX_PADDING: u32 = 4096;

/// A request, read as far as it goes without decoding pictures.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) wish: Wish,
    pub(crate) styles: Vec<String>,
    pub(crate) sends_images: bool,
    /// The format of the answer's pictures.
    pub(crate) format: ExportFormat,
    init_images: Vec<Value>,
    extra_images: Vec<Value>,
    mask: Option<Value>,
    is_mask_inverted: bool,
    /// Pixels of the start picture around the mask that the model sees; `None`: as ever.
    padding: Option<u32>,
    strength: f32,
    unit: Option<ControlUnit>,
}

/// Reads a request. `is_img2img`: it begins with a picture.
pub(crate) fn read(mut fields: Fields, is_img2img: bool) -> Result<Request, Failure> {
    let it = &mut fields;
    let mut wish = Wish { prompt: it.prose("prompt"), negative_prompt: it.prose("negative_prompt"), ..Wish::default() };
    let mut overrides = it.object("override_settings");
    let (chosen, model) = (overrides.word("sd_model_checkpoint"), it.word("model"));
    wish.model = chosen.or(model);
    wish.vae = overrides.word("sd_vae").filter(|name| !is_automatic(name));
    let format = read_format(&mut overrides, "samples_format", JPEG_QUALITY);
    let clip_skip = overrides.whole("CLIP_stop_at_last_layers");
    overrides.leave_usual(&[("eta_noise_seed_delta", json!(0)), ("img2img_fix_steps", json!(false))]);
    it.close(overrides);
    // 0 and 1 are the model's own; the engine makes blank pictures of a 1.
    wish.clip_skip = it.whole("clip_skip").or(clip_skip).and_then(|it| u32::try_from(it).ok()).filter(|it| *it > 1);
    (wish.steps, wish.unchosen.steps) = parted(it.within("steps", STEPS), |it| UNCHOSEN_STEPS.contains(&it));
    (wish.guidance, wish.unchosen.guidance) = parted(it.not_negative("cfg_scale"), |it| it == UNCHOSEN_GUIDANCE);
    wish.distilled_guidance = it.not_negative("distilled_cfg_scale");
    let (width, height) = (it.within("width", SIDES), it.within("height", SIDES));
    let is_usual = [width, height].iter().all(|side| side.is_none_or(|side| side == UNCHOSEN_SIDE));
    // A start picture's size is what its client works with, also where it is the usual one.
    if is_usual && !is_img2img {
        wish.unchosen.size = width.or(height).map(|side| (side, side));
    } else {
        (wish.width, wish.height) = (width, height);
    }
    read_sampling(it, &mut wish)?;
    wish.seed = it.seed("seed");
    let (subseed, amount) = (it.seed("subseed"), it.decimal("subseed_strength").unwrap_or_default());
    if amount > 0.0 {
        let seed = subseed.unwrap_or_else(|| Seed(u64::from(rand::random::<u32>())));
        wish.seed_blend = Some(SeedBlend { seed, amount: amount.min(1.0) });
    }
    let pictures = it.within_or("batch_size", PICTURES, 1) * it.within_or("n_iter", PICTURES, 1);
    if PICTURES.contains(&pictures) {
        wish.pictures = Some(pictures);
    } else {
        it.fault("n_iter", format!("With batch_size this makes {pictures} pictures; at most {} are made at a time.", PICTURES.end()));
    }
    let strength = it.clamped_or("denoising_strength", 0.0..=1.0, if is_img2img { USUAL_STRENGTH } else { USUAL_HIRES_STRENGTH });
    if !is_img2img && it.switch("enable_hr", false) {
        read_hires(it, &mut wish, strength);
    } else {
        it.leave(&HIRES_FIELDS);
    }
    for mut lora in it.objects("lora") {
        let (name, path, strength) = (lora.word("name"), lora.word("path"), lora.decimal_or("multiplier", 1.0));
        if let Some(name) = name.or(path) {
            wish.loras.push((name, strength));
        }
        lora.leave_usual(&[("is_high_noise", json!(false))]);
        it.close(lora);
    }
    if let Some(script) = it.word("script_name").filter(|name| !name.eq_ignore_ascii_case("none")) {
        it.fault("script_name", format!("Script '{script}' not found"));
    }
    if it.switch("restore_faces", false) {
        wish.notes.push("Faces are not restored: the engine does not have it here.".to_owned());
    }
    if it.switch("tiling", false) {
        (wish.further.seamless_x, wish.further.seamless_y) = (Some(true), Some(true));
    }
    wish.is_saved = it.switch("save_images", false);
    let unit = controlnet::read(it, &mut wish.notes)?;
    let (mut init_images, mut mask, mut is_mask_inverted, mut padding) = (Vec::new(), None, false, None);
    if is_img2img {
        init_images = it.list("init_images", Item::Picture);
        mask = it.picture("mask");
        is_mask_inverted = it.switch("inpainting_mask_invert", false);
        read_area(it, &mut wish, mask.is_some());
        // 0 is what clients send where nobody chose.
        padding = Some(it.within_or("inpaint_full_res_padding", 0..=MAX_PADDING, 0)).filter(|pixels| *pixels > 0);
    }
    let extra_images = it.list("extra_images", Item::Picture);
    if init_images.len() + extra_images.len() > MAX_IMAGES {
        it.fault("init_images", format!("There are more than {MAX_IMAGES} pictures."));
    }
    let names = it.list("styles", Item::Text);
    if names.iter().any(|name| !name.is_string()) {
        it.ignore("styles");
    }
    let styles = names.into_iter().filter_map(|name| Some(name.as_str()?.to_owned())).collect();
    let sends_images = it.switch("send_images", true);
    leave_what_says_nothing(it, is_img2img);
    if is_img2img && init_images.is_empty() {
        return Err(Failure::not_found("Init image", "init_images is empty."));
    }
    wish.notes.extend(fields.finish()?);
    Ok(Request { wish, styles, sends_images, format, init_images, extra_images, mask, is_mask_inverted, padding, strength, unit })
}

/// Removes what clients send with every request and what has no effect here, so that a note names
/// only what somebody chose.
fn leave_what_says_nothing(it: &mut Fields, is_img2img: bool) {
    // Nothing about a picture: SillyTavern's own address and login, names of tasks, files that are
    // never written (pictures are kept in any case, and there is no grid).
    it.leave(&["url", "auth", "force_task_id", "comments", "do_not_save_samples", "do_not_save_grid"]);
    // Of a script, and none was named: one that was is refused.
    it.leave(&["script_args"]);
    it.leave_usual(&[
        ("enable_hr", json!(false)),
        ("firstphase_width", json!(0)),
        ("firstphase_height", json!(0)),
        ("override_settings_restore_afterwards", json!(true)),
        ("seed_resize_from_w", json!(0)),
        ("seed_resize_from_w", json!(-1)),
        ("seed_resize_from_h", json!(0)),
        ("seed_resize_from_h", json!(-1)),
        ("s_churn", json!(0)),
        ("s_tmin", json!(0)),
        ("s_tmax", json!(0)),
        ("s_noise", json!(1)),
        ("s_min_uncond", json!(0)),
        ("refiner_checkpoint", json!("")),
        ("refiner_checkpoint", json!("None")),
        ("refiner_switch_at", json!(0)),
        ("refiner_switch_at", json!(0.8)),
        ("disable_extra_networks", json!(false)),
        ("infotext", json!("")),
        ("initial_noise_multiplier", json!(1)),
        ("image_cfg_scale", json!(1.5)),
        ("include_init_images", json!(false)),
        ("init_images", json!([])),
        ("mask", json!("")),
    ]);
    if !is_img2img {
        // How a start picture is laid and painted over; the picture itself, where one came, is named.
        it.leave(&[
            "mask_blur",
            "inpainting_fill",
            "inpaint_full_res",
            "inpaint_full_res_padding",
            "inpainting_mask_invert",
            "resize_mode",
        ]);
    }
}

/// What somebody chose, and what clients send where nobody did.
fn parted<T: Copy>(sent: Option<T>, is_usual: impl Fn(T) -> bool) -> (Option<T>, Option<T>) {
    match sent {
        Some(sent) if is_usual(sent) => (None, Some(sent)),
        sent => (sent, None),
    }
}

fn is_automatic(name: &str) -> bool {
    ["automatic", "none", "auto"].iter().any(|it| name.eq_ignore_ascii_case(it))
}

fn read_sampling(it: &mut Fields, wish: &mut Wish) -> Result<(), Failure> {
    let mut asked = None;
    let (name, index) = (it.word("sampler_name"), it.word("sampler_index"));
    if let Some(name) = name.or(index).filter(|name| !is_automatic(name)) {
        let named = names::sampler(&name).ok_or_else(|| Failure::not_found("Sampler", format!("There is no sampler named {name}.")))?;
        let (sampler, scheduler) = named.value;
        asked = Some(sampler);
        (wish.sampler, wish.unchosen.sampler) = parted(asked, |it| UNCHOSEN_SAMPLERS.contains(&it));
        wish.scheduler = scheduler;
        wish.notes.extend(named.note);
    }
    if let Some(name) = it.word("scheduler") {
        let named =
            names::scheduler(&name).ok_or_else(|| Failure::not_found("Scheduler", format!("There is no scheduler named {name}.")))?;
        wish.scheduler = named.value.or(wish.scheduler);
        wish.notes.extend(named.note);
    }
    // Clients send 0 or 1 whatever the sampler is.
    let is_ancestral = asked.is_some_and(|it| matches!(it, Sampler::EulerA | Sampler::Dpmpp2sA | Sampler::EulerACfgPp));
    wish.eta = it.not_negative("eta").filter(|eta| is_ancestral && *eta != 0.0 && *eta != 1.0);
    if wish.eta.is_some() {
        // Who chose its noise chose the sampler.
        (wish.sampler, wish.unchosen.sampler) = (asked, None);
    }
    Ok(())
}

fn read_hires(it: &mut Fields, wish: &mut Wish, strength: f32) {
    let named = names::upscaler(&it.word("hr_upscaler").unwrap_or_default());
    wish.notes.extend(named.note);
    let mut side = |key: &str| it.whole(key).and_then(|side| u32::try_from(side).ok()).filter(|side| *side > 0);
    let (across, down) = (side("hr_resize_x"), side("hr_resize_y"));
    let steps = side("hr_second_pass_steps");
    let target = across.zip(down);
    let (width, height) = (wish.width.unwrap_or(UNCHOSEN_SIDE), wish.height.unwrap_or(UNCHOSEN_SIDE));
    if let Some((across, down)) = target.filter(|target| !is_shaped_as(*target, (width, height))) {
        wish.notes.push(format!("The second pass is stretched to {across}x{down}, which is another shape; A1111 crops it."));
    }
    if target.is_some_and(|(width, height)| !SIDES.contains(&width) || !SIDES.contains(&height)) {
        it.fault("hr_resize_x", format!("Sides must be from {} to {}.", SIDES.start(), SIDES.end()));
    }
    for (field, what) in [
        ("hr_checkpoint_name", "another model"),
        ("hr_sampler_name", "another sampler"),
        ("hr_scheduler", "another scheduler"),
        ("hr_prompt", "another prompt"),
        ("hr_negative_prompt", "another negative prompt"),
    ] {
        if it.word(field).is_some_and(|name| !name.to_ascii_lowercase().starts_with("use same")) {
            wish.notes.push(format!("The second pass has no place for {what}; that of the picture was used."));
        }
    }
    // A side alone is a factor: the other one follows in the picture's shape.
    let by_side = match (across, down) {
        (Some(across), None) => Some(("hr_resize_x", across as f32 / width as f32)),
        (None, Some(down)) => Some(("hr_resize_y", down as f32 / height as f32)),
        _ => None,
    };
    if let Some((field, scale)) = by_side.filter(|(_, scale)| !HIRES_SCALES.contains(scale)) {
        let sentence =
            format!("It is {scale} times the picture's side; choose from {} to {} times.", HIRES_SCALES.start(), HIRES_SCALES.end());
        it.fault(field, sentence);
    }
    let scale = if across.is_some() || down.is_some() {
        // Clients send a factor beside the sides, which decide alone.
        it.leave(&["hr_scale"]);
        by_side.map_or(USUAL_HIRES_SCALE, |(_, scale)| scale)
    } else {
        it.clamped_or("hr_scale", HIRES_SCALES, USUAL_HIRES_SCALE)
    };
    if scale > 1.0 || target.is_some() {
        let steps = steps.map(|steps| steps.min(*STEPS.end()));
        wish.hires = Some(HiresWish { scale, target, strength, steps, upscaler: named.value, ..HiresWish::default() });
    }
    it.leave_usual(&[
        ("hr_additional_modules", json!([])),
        ("hr_additional_modules", json!(["Use same choices"])),
        ("hr_cfg", json!(0)),
        ("hr_cfg", json!(1)),
    ]);
}

/// True of sizes of one shape; A1111 rounds sides to eight pixels.
fn is_shaped_as((across, down): (u32, u32), (width, height): (u32, u32)) -> bool {
    let difference = f64::from(across) / f64::from(width) - f64::from(down) / f64::from(height);
    difference.abs() * f64::from(width.max(height)) <= 16.0
}

fn read_area(it: &mut Fields, wish: &mut Wish, has_mask: bool) {
    let feather = u32::try_from(it.whole_or("mask_blur", USUAL_FEATHER.into())).unwrap_or(USUAL_FEATHER);
    let fill = match it.whole_or("inpainting_fill", 0) {
        1 => AreaFill::Original,
        2 => AreaFill::Noise,
        3 => AreaFill::Neutral,
        _ => AreaFill::Blur,
    };
    if it.switch("inpaint_full_res", true) {
        wish.area = Some(AreaSettings { feather: Some(feather), fill: Some(fill), ..AreaSettings::default() });
    } else if has_mask {
        // The borders are hard then, and the picture itself lies below the mask.
        let is_other = [
            ("mask_blur", ![0, USUAL_FEATHER].contains(&feather)),
            ("inpainting_fill", matches!(fill, AreaFill::Noise | AreaFill::Neutral)),
        ];
        for (field, _) in is_other.into_iter().filter(|(_, is_other)| *is_other) {
            wish.notes.push(format!("{field} has no effect without inpaint_full_res."));
        }
    }
    wish.start_fit = Some(match it.whole_or("resize_mode", 0) {
        1 => StartFit::Crop,
        2 => StartFit::Fit,
        mode => {
            if mode == 3 {
                wish.notes.push("Latents are not resized; the picture was.".to_owned());
            }
            StartFit::Stretch
        }
    });
}

impl Request {
    /// Decodes the pictures of the request into its wish. Blocks.
    pub(crate) fn decode(mut self) -> Result<Self, Failure> {
        let picture = |field: &str, value: &Value| -> Result<Rgb8, Failure> { decode_fine(field, &bytes_of(field, value)?) };
        let mut starts = std::mem::take(&mut self.init_images).into_iter();
        if let Some(first) = starts.next() {
            self.wish.init = Some((picture("init_images", &first)?, self.strength));
        }
        if starts.len() > 0 {
            self.wish.needs_references = Some("init_images");
        }
        for more in starts {
            self.wish.references.push(picture("init_images", &more)?);
        }
        for extra in std::mem::take(&mut self.extra_images) {
            self.wish.references.push(picture("extra_images", &extra)?);
        }
        if let Some(mask) = self.mask.take() {
            let sense = if self.is_mask_inverted { MaskSense::Black } else { MaskSense::White };
            self.wish.mask = Some(decode_mask("mask", &bytes_of("mask", &mask)?, sense)?);
        }
        self.set_crop()?;
        if let Some(unit) = self.unit.take() {
            let start = self.wish.init.as_ref().map(|(image, _)| image);
            self.wish.control = Some(unit.decode(start)?);
        }
        Ok(self)
    }
}

impl Request {
    /// The part that the model sees: what is masked and so many pixels around it.
    fn set_crop(&mut self) -> Result<(), Failure> {
        let (Some(padding), Some((start, _)), Some(mask)) = (self.padding, &self.wish.init, &self.wish.mask) else { return Ok(()) };
        let (width, height) = (start.width(), start.height());
        // As the engine lays it over the start picture.
        let mask = read_mask(&ImageSource::Pixels(mask.clone()), width, height, StartFit::Crop);
        let mask = mask.map_err(|error| Failure::invalid("mask", error.to_string()))?;
        if let (Some(area), Some(selected)) = (&mut self.wish.area, selection_bounds(&mask)) {
            area.crop = Some(selected.expanded(padding).intersection(&PixelRect::of_size(width, height)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::recipe::Unchosen;

    fn read_text(text: &str, is_img2img: bool) -> Result<Request, Failure> {
        read(Fields::read(text.as_bytes()).unwrap(), is_img2img)
    }

    #[test]
    fn what_a1111_sends_by_itself_was_not_chosen() {
        let usual = r#"{"prompt": "a", "steps": 50, "cfg_scale": 7.0, "width": 512, "height": 512, "sampler_name": "Euler a",
            "scheduler": "automatic", "seed": -1, "clip_skip": 1, "eta": 1.0, "hr_scale": 1, "enable_hr": true, "unheard_of": {}}"#;
        let wish = read_text(usual, false).unwrap().wish;
        assert_eq!((wish.steps, wish.guidance, wish.width, wish.height), (None, None, None, None));
        assert_eq!((wish.sampler, wish.scheduler, wish.clip_skip, wish.eta), (None, None, None, None));
        let sent = Unchosen { steps: Some(50), guidance: Some(7.0), size: Some((512, 512)), sampler: Some(Sampler::EulerA) };
        assert_eq!(wish.unchosen, sent);
        assert!(wish.hires.is_none(), "a second pass of the same size");
        assert_eq!(wish.notes, ["These fields mean nothing here and were not read: unheard_of."]);
        let chosen =
            r#"{"steps": 28, "cfg_scale": "4.5", "width": 512, "height": 768, "sampler_index": "DPM++ 2M Karras", "clip_skip": 2.0}"#;
        let wish = read_text(chosen, false).unwrap().wish;
        assert_eq!((wish.steps, wish.guidance, wish.width, wish.height), (Some(28), Some(4.5), Some(512), Some(768)));
        assert_eq!((wish.sampler, wish.clip_skip), (Some(Sampler::Dpmpp2m), Some(2)));
        assert!(wish.scheduler.is_some() && wish.unchosen == Unchosen::default(), "{:?}", wish.unchosen);
        for (sampler, eta, used) in [
            ("Euler a", "0.5", (Some(Sampler::EulerA), Some(0.5))),
            ("Euler", "0.5", (None, None)),
            ("DPM++ 2S a", "1", (Some(Sampler::Dpmpp2sA), None)),
        ] {
            let wish = read_text(&format!(r#"{{"sampler_name": "{sampler}", "eta": {eta}}}"#), false).unwrap().wish;
            assert_eq!((wish.sampler, wish.eta), used, "{sampler}");
        }
        for (tiling, seamless) in [("true", Some(true)), ("false", None), ("null", None)] {
            let wish = read_text(&format!(r#"{{"tiling": {tiling}}}"#), false).unwrap().wish;
            assert_eq!((wish.further.seamless_x, wish.further.seamless_y, wish.notes.len()), (seamless, seamless, 0), "{tiling}");
        }
        let largest = r#"{"seed": "18446744073709551615", "subseed": 9223372036854775808, "subseed_strength": 0.5}"#;
        let wish = read_text(largest, false).unwrap().wish;
        assert_eq!((wish.seed, wish.seed_blend), (Some(Seed::MAX), Some(SeedBlend { seed: Seed(1 << 63), amount: 0.5 })));
    }

    #[test]
    fn a_second_pass_by_one_side_keeps_the_shape_and_one_of_another_shape_is_told() {
        let read = |fields: &str| read_text(&format!(r#"{{"enable_hr": true, {fields}}}"#), false);
        let scaled = |fields: &str| {
            let wish = read(fields).unwrap().wish;
            let hires = wish.hires.unwrap();
            (hires.scale, hires.target, wish.notes.len())
        };
        assert_eq!(scaled(r#""width": 512, "height": 768, "hr_resize_x": 768, "hr_resize_y": 0, "hr_scale": 2"#), (1.5, None, 0));
        assert_eq!(scaled(r#""width": 512, "height": 768, "hr_resize_y": 1536"#), (2.0, None, 0));
        assert_eq!(scaled(r#""hr_resize_x": 1024"#), (2.0, None, 0), "of A1111's own size");
        assert_eq!(scaled(r#""width": 512, "height": 768, "hr_resize_x": 1000, "hr_resize_y": 1504"#), (2.0, Some((1000, 1504)), 0));
        assert_eq!(scaled(r#""width": 512, "height": 768, "hr_resize_x": 1024, "hr_resize_y": 1024"#), (2.0, Some((1024, 1024)), 1));
        for unused in ["8", "0.5", "\"large\""] {
            let beside = |sides: &str| scaled(&format!(r#""width": 512, "height": 768, {sides}, "hr_scale": {unused}"#));
            assert_eq!(beside(r#""hr_resize_x": 1000, "hr_resize_y": 1504"#), (2.0, Some((1000, 1504)), 0), "{unused}");
            assert_eq!(beside(r#""hr_resize_x": 0, "hr_resize_y": 1152"#), (1.5, None, 0), "{unused}");
        }
        let Err(Failure::Invalid(faults)) = read(r#""width": 512, "height": 768, "hr_resize_x": 256"#) else { panic!() };
        assert_eq!(faults[0].field, ["hr_resize_x"]);
    }

    #[test]
    fn numbers_beyond_their_limits_are_told() {
        let unit = r#"{"image": "AAAA", "guidance_end": 1.5}"#;
        let body = format!(
            r#"{{"enable_hr": true, "hr_scale": 8, "denoising_strength": 0.5, "alwayson_scripts": {{"controlnet": {{"args": [{unit}]}}}}}}"#
        );
        let wish = read_text(&body, false).unwrap().wish;
        assert_eq!(wish.hires.unwrap().scale, 4.0);
        let told = "Brought within limits: hr_scale is 4, alwayson_scripts.controlnet.args.0.guidance_end is 1.";
        assert_eq!(wish.notes, [told]);
    }

    #[test]
    fn what_was_chosen_and_not_read_is_named_and_what_clients_always_send_is_not() {
        let usual = r#"{"url": "http://localhost", "auth": "user:pass", "hr_scale": 2, "hr_prompt": "", "s_noise": 1, "s_tmax": 0.0, "script_args": [],
            "seed_resize_from_h": -1, "override_settings": {"CLIP_stop_at_last_layers": 1}, "seed": 5, "subseed": -1, "mask_blur": 4}"#;
        assert_eq!(read_text(usual, false).unwrap().wish.notes, Vec::<String>::new());
        let chosen = r#"{"s_noise": 1.1, "override_settings": {"sd_hypernetwork": "secret"}, "lora": [{"name": "a", "start": 1}, 7],
            "init_images": ["AAAA"], "enable_hr": true, "hr_cfg": 4, "hr_scheduler": "Karras"}"#;
        let notes = read_text(chosen, false).unwrap().wish.notes.join(" ");
        for name in ["s_noise", "override_settings.sd_hypernetwork", "lora.0.start", "lora.1", "init_images", "hr_cfg", "another scheduler"]
        {
            assert!(notes.contains(name), "{name}: {notes}");
        }
        assert!(!notes.contains("secret"), "{notes}");
    }

    #[test]
    fn values_beyond_the_limits_are_refused_by_their_names() {
        for (body, field) in [
            (r#"{"steps": 151}"#, "steps"),
            (r#"{"width": 4097}"#, "width"),
            (r#"{"height": 32}"#, "height"),
            (r#"{"batch_size": 11}"#, "batch_size"),
            (r#"{"batch_size": 4, "n_iter": 4}"#, "n_iter"),
            (r#"{"script_name": "xyz plot"}"#, "script_name"),
            (r#"{"seed": "abc"}"#, "seed"),
            (r#"{"seed": 18446744073709551616}"#, "seed"),
            (r#"{"subseed": "18446744073709551616", "subseed_strength": 0.5}"#, "subseed"),
        ] {
            let Err(Failure::Invalid(faults)) = read_text(body, false) else { panic!("{body}") };
            assert_eq!(faults[0].field, [field], "{body}");
        }
        assert!(matches!(read_text(r#"{"sampler_name": "Nobody"}"#, false), Err(Failure::NotFound { what: "Sampler", .. })));
        assert!(matches!(read_text("{}", true), Err(Failure::NotFound { what: "Init image", .. })));
    }

    #[test]
    fn a_masked_part_has_the_settings_of_a1111() {
        let body = r#"{"init_images": ["AAAA"], "mask": "AAAA", "mask_blur": 8, "inpainting_fill": 3, "inpaint_full_res": true,
            "inpainting_mask_invert": 1, "resize_mode": 2, "denoising_strength": 0.5, "width": 512, "height": 512}"#;
        let request = read_text(body, true).unwrap();
        let area = request.wish.area.unwrap();
        assert_eq!((area.feather, area.fill, request.wish.start_fit), (Some(8), Some(AreaFill::Neutral), Some(StartFit::Fit)));
        assert_eq!((request.is_mask_inverted, request.strength, request.wish.width), (true, 0.5, Some(512)));
        assert_eq!(request.padding, None, "nobody chose it");
        let whole = |more: &str| {
            let body = format!(r#"{{"init_images": ["AAAA"], "inpaint_full_res": false, {more}}}"#);
            read_text(&body, true).unwrap().wish
        };
        let usual = whole(r#""mask": "AAAA", "mask_blur": 4, "inpainting_fill": 1"#);
        assert_eq!((usual.area, usual.notes.len()), (None, 0));
        let told = ["mask_blur has no effect without inpaint_full_res.", "inpainting_fill has no effect without inpaint_full_res."];
        assert_eq!(whole(r#""mask": "AAAA", "mask_blur": 8, "inpainting_fill": 2"#).notes, told);
        assert_eq!(whole(r#""mask_blur": 8, "inpainting_fill": 2"#).notes.len(), 0, "nor would they without a mask");
    }

    #[test]
    fn a_second_start_picture_is_a_reference_that_the_model_must_look_at_and_an_extra_one_is_not() {
        let mut bytes = std::io::Cursor::new(Vec::new());
        image::RgbImage::new(8, 8).write_to(&mut bytes, image::ImageFormat::Png).unwrap();
        let png = crate::http::images::base64_text(&bytes.into_inner());
        let decoded = |starts: usize, extras: usize| {
            let body = serde_json::json!({"init_images": vec![&png; starts], "extra_images": vec![&png; extras]});
            let wish = read_text(&body.to_string(), true).unwrap().decode().unwrap().wish;
            (wish.init.is_some(), wish.references.len(), wish.needs_references)
        };
        assert_eq!(decoded(1, 0), (true, 0, None));
        assert_eq!(decoded(2, 0), (true, 1, Some("init_images")));
        assert_eq!(decoded(1, 2), (true, 2, None));
    }

    #[test]
    fn padding_is_in_pixels_of_the_start_picture_and_ends_at_its_borders() {
        let png = |image: image::RgbImage| {
            let mut bytes = std::io::Cursor::new(Vec::new());
            image.write_to(&mut bytes, image::ImageFormat::Png).unwrap();
            crate::http::images::base64_text(&bytes.into_inner())
        };
        let start = png(image::RgbImage::new(100, 80));
        // Half as large as the start picture; white from 10 to 19 and from 4 to 7.
        let white = |x: u32, y: u32| if (10..20).contains(&x) && (4..8).contains(&y) { 255 } else { 0 };
        let mask = png(image::RgbImage::from_fn(50, 40, |x, y| image::Rgb([white(x, y); 3])));
        let crop = |padding: u32| {
            let body = serde_json::json!({"init_images": [start], "mask": mask, "inpaint_full_res_padding": padding});
            let request = read_text(&body.to_string(), true).unwrap().decode().unwrap();
            request.wish.area.unwrap().crop
        };
        assert_eq!(crop(0), None);
        let PixelRect { left, top, width, height } = crop(16).unwrap();
        // The borders of the enlarged mask are soft.
        assert!((3..=5).contains(&left) && top == 0 && (50..=54).contains(&width) && (31..=33).contains(&height), "{:?}", crop(16));
        assert_eq!(crop(4096), Some(PixelRect::of_size(100, 80)));
    }
}
