//! The fields of generations, edits and variations, from JSON or a form.

use atelier_core::recipe::Rgb8;
use atelier_gallery::queue::User;
use atelier_media::ExportFormat;
use axum::body::{Body, Bytes};
use axum::extract::{FromRequest as _, Multipart, Request};
use axum::http::request::Parts;
use serde_json::{Value, json};

use crate::http::error::Failure;
use crate::http::fields::Fields;
use crate::http::images::{MAX_IMAGES, MaskSense, decode_fine, decode_mask, read_format};
use crate::http::names;
use crate::http::recipe::{PICTURES, SIDES, STEPS, Wish};

/// Beginnings of names that clients have built in: they mean whatever is here.
const ANY_MODEL: [&str; 3] = ["gpt-image", "chatgpt-image", "dall-e"];
/// Quality of JPEG where none is asked for.
const JPEG_QUALITY: u8 = 90;
/// Most previews of a streamed picture.
const PARTIAL_IMAGES: std::ops::RangeInclusive<u32> = 0..=3;
/// Parts of a form that are pictures: one, one of several, and the mask.
pub(super) const IMAGE: &str = "image";
const ONE_OF_IMAGES: &str = "image[]";
pub(super) const MASK: &str = "mask";
/// Parts of a form.
const MAX_PARTS: usize = 64;

/// What a client wants done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Generate,
    Edit,
    Vary,
}

impl Purpose {
    /// Denoising strength where none is asked for and all of the picture may change.
    const fn strength(self) -> f32 {
        match self {
            Self::Vary => 0.6,
            Self::Generate | Self::Edit => 0.75,
        }
    }

    /// The beginning of its events' names.
    pub(super) const fn events(self) -> &'static str {
        match self {
            Self::Generate => "image_generation",
            Self::Edit | Self::Vary => "image_edit",
        }
    }
}

/// A request.
#[derive(Debug)]
pub(super) struct ImageRequest {
    pub(super) wish: Wish,
    pub(super) format: ExportFormat,
    pub(super) answers_links: bool,
    pub(super) is_streamed: bool,
    pub(super) partial_images: u32,
    pub(super) quality: String,
    images: Vec<Bytes>,
    mask: Option<Bytes>,
    strength: Option<f32>,
    purpose: Purpose,
}

/// The fields and pictures of a form.
pub(super) async fn read_form(parts: Parts, body: Bytes) -> Result<(Fields, Vec<Bytes>, Option<Bytes>), Failure> {
    let broken = |_| Failure::Unreadable("The form cannot be read.".to_owned());
    let request = Request::from_parts(parts, Body::from(body));
    let mut form = Multipart::from_request(request, &()).await.map_err(|_| Failure::Unreadable("The body is not a form.".to_owned()))?;
    let (mut fields, mut images, mut mask, mut count) = (Fields::default(), Vec::new(), None, 0);
    while let Some(part) = form.next_field().await.map_err(broken)? {
        count += 1;
        if count > MAX_PARTS {
            return Err(Failure::Unreadable(format!("The form has more than {MAX_PARTS} parts.")));
        }
        let name = part.name().unwrap_or_default().to_owned();
        let bytes = part.bytes().await.map_err(broken)?;
        match name.as_str() {
            IMAGE | ONE_OF_IMAGES => images.push(bytes),
            MASK => mask = Some(bytes),
            _ => match String::from_utf8(bytes.to_vec()) {
                Ok(text) => fields.set(&name, Value::String(text)),
                Err(_) => fields.fault(&name, "It is not a text."),
            },
        }
    }
    if images.len() > MAX_IMAGES {
        fields.fault(IMAGE, format!("There are more than {MAX_IMAGES} pictures."));
    }
    Ok((fields, images, mask))
}

/// Reads a request.
pub(super) fn read(mut fields: Fields, images: Vec<Bytes>, mask: Option<Bytes>, purpose: Purpose) -> Result<ImageRequest, Failure> {
    let it = &mut fields;
    let mut wish = Wish {
        model: it.word("model").filter(|name| !ANY_MODEL.iter().any(|it| name.to_ascii_lowercase().starts_with(it))),
        prompt: it.prose("prompt"),
        negative_prompt: it.prose("negative_prompt"),
        pictures: Some(it.within_or("n", PICTURES, 1)),
        seed: it.seed("seed"),
        steps: it.within("steps", STEPS),
        is_shaped_as_start: true,
        user: User::named(&it.word("user").unwrap_or_default()),
        ..Wish::default()
    };
    if purpose == Purpose::Generate && wish.prompt.trim().is_empty() {
        it.missing("prompt");
    }
    (wish.width, wish.height) = read_size(it);
    let quality = it.named_or("quality", &["auto", "low", "medium", "standard", "high", "hd", "xhigh", "max"], "auto");
    match quality.as_str() {
        "auto" | "standard" | "medium" => {}
        "low" => wish.effort = Some(0.5),
        "high" | "hd" => wish.effort = Some(1.5),
        "xhigh" | "max" => wish.effort = Some(2.0),
        _ => it.fault("quality", "Choose auto, low, medium or high."),
    }
    let (guidance, cfg_scale) = (it.not_negative("guidance"), it.not_negative("cfg_scale"));
    wish.guidance = guidance.or(cfg_scale);
    if let Some(name) = it.word("sampler") {
        let named = names::sampler(&name).ok_or_else(|| Failure::invalid("sampler", format!("There is no sampler named {name}.")))?;
        (wish.sampler, wish.scheduler) = (Some(named.value.0), named.value.1);
        wish.notes.extend(named.note);
    }
    if let Some(name) = it.word("scheduler") {
        let named = names::scheduler(&name).ok_or_else(|| Failure::invalid("scheduler", format!("There is no scheduler named {name}.")))?;
        wish.scheduler = named.value.or(wish.scheduler);
        wish.notes.extend(named.note);
    }
    for mut lora in it.objects("loras") {
        let (name, weight) = (lora.word("name"), lora.decimal_or("weight", 1.0));
        wish.loras.extend(name.map(|name| (name, weight)));
        it.close(lora);
    }
    if it.word("background").as_deref() == Some("transparent") {
        wish.notes.push("The background is opaque: models here have no transparent one.".to_owned());
    }
    let compression = it.within_or("output_compression", 0..=100, JPEG_QUALITY.into());
    let format = read_format(it, "output_format", u8::try_from(compression).unwrap_or(JPEG_QUALITY).max(1));
    let response_format = it.named_or("response_format", &["b64_json", "url"], "b64_json");
    if !["b64_json", "url"].contains(&response_format.as_str()) {
        it.fault("response_format", "Choose b64_json or url.");
    }
    let is_streamed = it.switch("stream", false);
    let partial_images = it.within_or("partial_images", PARTIAL_IMAGES, 0);
    let strength = it.clamped("strength", 0.0..=1.0);
    // A strength is that of a start picture.
    wish.is_edit = purpose == Purpose::Edit && strength.is_none();
    if purpose != Purpose::Generate && images.is_empty() {
        it.missing(IMAGE);
    }
    it.leave_usual(&[("moderation", json!("auto"))]);
    wish.notes.extend(fields.finish()?);
    Ok(ImageRequest {
        wish,
        format,
        answers_links: response_format == "url",
        is_streamed,
        partial_images,
        quality,
        images,
        mask,
        strength,
        purpose,
    })
}

fn read_size(it: &mut Fields) -> (Option<u32>, Option<u32>) {
    let Some(size) = it.word("size").filter(|size| !size.eq_ignore_ascii_case("auto")) else { return (None, None) };
    let sides = size.to_ascii_lowercase().split_once('x').and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)));
    match sides {
        Some((width, height)) if SIDES.contains(&width) && SIDES.contains(&height) => (Some(width), Some(height)),
        _ => {
            it.fault("size", format!("Write WIDTHxHEIGHT, with sides from {} to {}, or auto.", SIDES.start(), SIDES.end()));
            (None, None)
        }
    }
}

impl ImageRequest {
    /// Decodes its pictures into its wish. Further pictures are references. Blocks.
    pub(super) fn decode(mut self) -> Result<Self, Failure> {
        let images: Vec<Rgb8> =
            std::mem::take(&mut self.images).iter().map(|bytes| decode_fine("image", bytes)).collect::<Result<_, _>>()?;
        let mask = self.mask.take().map(|bytes| decode_mask("mask", &bytes, MaskSense::Transparent)).transpose()?;
        let mut images = images.into_iter();
        if let Some(first) = images.next() {
            let usual = if mask.is_some() { 1.0 } else { self.purpose.strength() };
            self.wish.init = Some((first, self.strength.unwrap_or(usual)));
        }
        self.wish.references.extend(images);
        self.wish.mask = mask;
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<ImageRequest, Failure> {
        read(Fields::read(text.as_bytes()).unwrap(), Vec::new(), None, Purpose::Generate)
    }

    #[test]
    fn names_of_openais_models_mean_whatever_is_here() {
        for name in ["gpt-image-1", "dall-e-2", "chatgpt-image-latest", "GPT-Image-1", ""] {
            assert_eq!(read_text(&format!(r#"{{"prompt": "a", "model": "{name}"}}"#)).unwrap().wish.model, None, "{name}");
        }
        assert_eq!(read_text(r#"{"prompt": "a", "model": "flux"}"#).unwrap().wish.model.as_deref(), Some("flux"));
    }

    #[test]
    fn sizes_qualities_and_formats_are_read_or_refused_by_name() {
        let request = read_text(
            r#"{"prompt": "a", "n": "2", "size": "640x384", "quality": "low", "output_format": "jpeg", "output_compression": 50,
                "background": "transparent", "stream": "true", "partial_images": 2, "moderation": "low", "user": "x", "style": null}"#,
        )
        .unwrap();
        assert_eq!(
            (request.wish.width, request.wish.height, request.wish.pictures, request.wish.effort),
            (Some(640), Some(384), Some(2), Some(0.5))
        );
        assert_eq!((request.format, request.is_streamed, request.partial_images), (ExportFormat::Jpeg { quality: 50 }, true, 2));
        let unread = "These fields mean nothing here and were not read: moderation.";
        assert_eq!(request.wish.user, User::named("x"));
        assert!(request.wish.notes.len() == 2 && request.wish.notes[1] == unread, "{:?}", request.wish.notes);
        for (body, field) in [
            (r#"{"prompt": "a", "size": "10x10"}"#, "size"),
            (r#"{"prompt": "a", "size": "large"}"#, "size"),
            (r#"{"prompt": "a", "n": 11}"#, "n"),
            (r#"{"prompt": "a", "output_format": "gif"}"#, "output_format"),
            (r#"{"prompt": "a", "quality": "best"}"#, "quality"),
            (r#"{"prompt": " "}"#, "prompt"),
        ] {
            let Err(Failure::Invalid(faults)) = read_text(body) else { panic!("{body}") };
            assert_eq!(faults[0].field, [field], "{body}");
        }
        let Err(Failure::Invalid(faults)) = read(Fields::default(), Vec::new(), None, Purpose::Edit) else { panic!() };
        assert_eq!(faults[0].field, ["image"]);
        let is_edit =
            |text: &str| read(Fields::read(text.as_bytes()).unwrap(), vec![Bytes::new()], None, Purpose::Edit).unwrap().wish.is_edit;
        assert!(is_edit("{}") && !is_edit(r#"{"strength": 0.5}"#), "a strength is that of a start picture");
    }
    #[test]
    fn qualities_are_parts_of_the_models_steps_and_each_purpose_has_its_strength() {
        for (names, effort) in [
            (&["auto", "standard", "medium"][..], None),
            (&["low"][..], Some(0.5)),
            (&["high", "hd"][..], Some(1.5)),
            (&["xhigh", "max"][..], Some(2.0)),
        ] {
            for name in names {
                assert_eq!(read_text(&format!(r#"{{"prompt": "a", "quality": "{name}"}}"#)).unwrap().wish.effort, effort, "{name}");
            }
        }
        let mut png = std::io::Cursor::new(Vec::new());
        image::RgbImage::new(4, 4).write_to(&mut png, image::ImageFormat::Png).unwrap();
        let png = Bytes::from(png.into_inner());
        let wish = |purpose, has_mask: bool, text: &str| {
            let (fields, mask) = (Fields::read(text.as_bytes()).unwrap(), has_mask.then(|| png.clone()));
            read(fields, vec![png.clone(), png.clone()], mask, purpose).unwrap().decode().unwrap().wish
        };
        let strength = |purpose, has_mask, text: &str| wish(purpose, has_mask, text).init.map(|(_, strength)| strength);
        assert_eq!(strength(Purpose::Edit, false, "{}"), Some(0.75));
        assert_eq!(strength(Purpose::Edit, true, "{}"), Some(1.0));
        assert_eq!(strength(Purpose::Edit, true, r#"{"strength": 0.5}"#), Some(0.5));
        assert_eq!(strength(Purpose::Vary, false, "{}"), Some(0.6));
        let edit = wish(Purpose::Edit, true, "{}");
        assert_eq!((edit.references.len(), edit.mask.is_some(), edit.prompt.as_str()), (1, true, ""));
    }
}
