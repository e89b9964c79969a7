//! `extra-single-image`, `extra-batch-images` and `png-info`.

use atelier_core::recipe::Rgb8;
use atelier_gallery::queue::{Lane, Owner};
use atelier_media::{ExportFormat, a1111};
use axum::Extension;
use axum::extract::State;
use serde_json::{Map, Value, json};

use super::reply::{Answer, noted};
use crate::http::error::Failure;
use crate::http::fields::Fields;
use crate::http::held::Held;
use crate::http::images::{MAX_IMAGES, base64_text, bytes_of, decode_fine, parameters};
use crate::http::json::Json;
use crate::http::names;
use crate::http::payload::Payload;
use crate::http::recipe::{HiresWish, SIDES, Wish};
use crate::http::state::{Previews, SharedApp, outcome, pictures_of};

/// Factors by which pictures are enlarged.
const FACTORS: std::ops::RangeInclusive<f32> = 1.0..=4.0;

/// How a picture is enlarged.
#[derive(Clone, Debug)]
pub(super) struct Enlargement {
    hires: HiresWish,
    /// The client wants both sides of the target, and the rest cut off.
    is_cropped: bool,
    notes: Vec<String>,
}

fn read(fields: &mut Fields) -> Enlargement {
    let named = names::upscaler(&fields.word("upscaler_1").unwrap_or_default());
    let mut notes: Vec<String> = named.note.into_iter().collect();
    let mut side = |key: &str| fields.within(key, SIDES);
    let target = side("upscaling_resize_w").zip(side("upscaling_resize_h"));
    let is_by_size = fields.whole_or("resize_mode", 0) == 1;
    let scale = fields.decimal_or("upscaling_resize", 2.0);
    if !FACTORS.contains(&scale) {
        fields.fault("upscaling_resize", format!("It must be from {} to {}.", FACTORS.start(), FACTORS.end()));
    }
    let is_cropped = fields.switch("upscaling_crop", false);
    let is_other = |fields: &mut Fields, key: &str| fields.decimal_or(key, 0.0) > 0.0;
    let restorers = ["gfpgan_visibility", "codeformer_visibility"].map(|key| is_other(fields, key));
    if restorers.contains(&true) {
        notes.push("Faces are not restored here.".to_owned());
    }
    if is_other(fields, "extras_upscaler_2_visibility") {
        notes.push("One upscaler is used at a time.".to_owned());
    }
    // Which results a page shows, and parts of the restoring and of the second upscaler named above.
    fields.leave(&["show_extras_results", "codeformer_weight", "upscaler_2", "upscale_first"]);
    let target = target.filter(|_| is_by_size);
    Enlargement { hires: HiresWish { scale, target, upscaler: named.value, ..HiresWish::default() }, is_cropped, notes }
}

/// The picture of this field, which is needed.
fn needed(fields: &mut Fields, key: &str) -> Value {
    fields.picture(key).unwrap_or_else(|| {
        fields.missing(key);
        Value::Null
    })
}

/// How a picture is enlarged, and the picture.
pub(super) fn read_single(mut fields: Fields) -> Result<(Enlargement, Value), Failure> {
    let mut how = read(&mut fields);
    let image = needed(&mut fields, "image");
    how.notes.extend(fields.finish()?);
    Ok((how, image))
}

/// How pictures are enlarged, and the pictures.
pub(super) fn read_batch(mut fields: Fields) -> Result<(Enlargement, Vec<Value>), Failure> {
    let mut how = read(&mut fields);
    let mut images = Vec::new();
    for mut entry in fields.objects("imageList") {
        images.push(needed(&mut entry, "data"));
        // Of its file.
        entry.leave(&["name"]);
        fields.close(entry);
    }
    if images.is_empty() {
        fields.missing("imageList");
    }
    if images.len() > MAX_IMAGES {
        fields.fault("imageList", format!("There are more than {MAX_IMAGES} pictures."));
    }
    how.notes.extend(fields.finish()?);
    Ok((how, images))
}

/// The picture whose settings are wanted, and the note on what nobody read.
pub(super) fn read_png(mut fields: Fields) -> Result<(Value, Option<String>), Failure> {
    let image = needed(&mut fields, "image");
    Ok((image, fields.finish()?))
}

/// Notes as the HTML that A1111 answers; they may have names from the request.
fn html(notes: &[String]) -> String {
    let escaped = |note: &String| note.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    notes.iter().map(|note| format!("<p>{}</p>", escaped(note))).collect::<Vec<_>>().concat()
}

/// Enlarges a picture as a job of the queue: a start picture that nothing is painted over.
async fn enlarge(app: &SharedApp, owner: &Owner, image: Rgb8, how: Enlargement) -> Result<(String, Vec<String>), Failure> {
    let Enlargement { mut hires, is_cropped, mut notes } = how;
    let (width, height) = (image.width(), image.height());
    if let Some((wide, high)) = hires.target {
        if is_cropped && u64::from(wide) * u64::from(height) != u64::from(high) * u64::from(width) {
            notes.push("The picture keeps its shape: upscaling_crop is not followed.".to_owned());
        }
        // Its own shape, as large as both sides allow.
        let asked = (wide as f32 / width as f32).min(high as f32 / height as f32);
        hires.scale = asked.clamp(*FACTORS.start(), *FACTORS.end());
        if hires.scale != asked {
            notes.push(format!("The picture is made {} times as large: {wide}x{high} is beyond the limits.", hires.scale));
        }
        hires.target = None;
    }
    let made = app.make(owner, Wish::enlarging(image, hires, notes)).await?;
    let mut waiter = app.add(owner, made, Previews::Never, Lane::Interactive).await?;
    let view = waiter.end().await;
    outcome(&view)?;
    let pictures = pictures_of(&view, ExportFormat::Png).await?;
    let none = || Failure::Failed(atelier_core::advice::Advice::new("The enlarged picture is missing.", "Try again."));
    let text = pictures.first().map(|picture| base64_text(&picture.bytes)).ok_or_else(none)?;
    Ok((text, view.all_notes()))
}

pub(super) async fn single(
    State(app): State<SharedApp>,
    Extension(owner): Extension<Owner>,
    _held: Held,
    Payload(body, upload): Payload,
) -> Answer {
    let (how, image) = read_single(Fields::read(&body)?)?;
    drop(body);
    let image = app.decode_upload(upload, move || decode_fine("image", &bytes_of("image", &image)?)).await?;
    let (text, notes) = enlarge(&app, &owner, image, how).await?;
    Ok(Json(json!({"image": text, "html_info": html(&notes)})))
}

pub(super) async fn batch(
    State(app): State<SharedApp>,
    Extension(owner): Extension<Owner>,
    _held: Held,
    // Until the end: each picture is decoded once the one before it is made.
    Payload(body, _upload): Payload,
) -> Answer {
    let (how, images) = read_batch(Fields::read(&body)?)?;
    drop(body);
    let (mut answers, mut notes) = (Vec::new(), Vec::new());
    for data in images {
        let image = app.decode(move || decode_fine("imageList", &bytes_of("imageList", &data)?)).await?;
        let (text, more) = enlarge(&app, &owner, image, how.clone()).await?;
        answers.push(text);
        for note in more {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    Ok(Json(json!({"images": answers, "html_info": html(&notes)})))
}

pub(super) async fn png_info(State(app): State<SharedApp>, Payload(body, upload): Payload) -> Answer {
    let (image, note) = read_png(Fields::read(&body)?)?;
    drop(body);
    let text = app.decode_upload(upload, move || parameters("image", &bytes_of("image", &image)?)).await?;
    let read = a1111::parse(&text);
    let pairs: Map<String, Value> = read.pairs.into_iter().map(|(key, value)| (key, Value::String(value))).collect();
    let mut items = Map::new();
    if !text.is_empty() {
        items.insert("parameters".to_owned(), Value::String(text.clone()));
    }
    Ok(Json(noted(json!({"info": text, "items": items, "parameters": pairs}), note)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_escaped_and_what_webuiapi_always_sends_makes_none() {
        let body =
            br#"{"resize_mode": 0, "show_extras_results": true, "gfpgan_visibility": 0, "codeformer_visibility": 0, "codeformer_weight": 0,
            "upscaling_resize": 2, "upscaling_resize_w": 512, "upscaling_resize_h": 512, "upscaling_crop": true, "upscaler_1": "Lanczos",
            "upscaler_2": "None", "extras_upscaler_2_visibility": 0, "upscale_first": false}"#;
        let mut fields = Fields::read(body).unwrap();
        let how = read(&mut fields);
        assert_eq!((how.notes, fields.finish().unwrap()), (Vec::new(), None));
        let batch = |body: &str| read_batch(Fields::read(body.as_bytes()).unwrap());
        let (how, images) = batch(r#"{"imageList": [{"data": "AAAA", "name": "a.png", "rotate": 90}, "BBBB"]}"#).unwrap();
        assert_eq!((images, how.notes.len()), (vec![json!("AAAA")], 1));
        assert!(how.notes[0].contains("imageList.0.rotate") && how.notes[0].contains("imageList.1"), "{:?}", how.notes);
        let Err(Failure::Invalid(faults)) = batch(r#"{"imageList": [{"name": "a.png"}]}"#) else { panic!("a picture is needed") };
        assert_eq!(faults[0].field, ["imageList", "0", "data"]);
        // As npm's stable-diffusion-api sends it.
        let Err(Failure::Invalid(faults)) = batch(r#"{"image_list": [{"image": "AAAA", "name": "a.png"}]}"#) else {
            panic!("no picture was sent")
        };
        assert_eq!(faults[0].field, ["imageList"]);
        assert_eq!(html(&["<script> & more".to_owned()]), "<p>&lt;script&gt; &amp; more</p>");
    }
}
