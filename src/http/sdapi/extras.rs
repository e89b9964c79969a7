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
use crate::http::images::{MAX_IMAGES, base64_text, bytes_of, decode, parameters};
use crate::http::json::Json;
use crate::http::names;
use crate::http::payload::Payload;
use crate::http::recipe::{HiresWish, SIDES, Wish};
use crate::http::state::{Previews, SharedApp, outcome, pictures_of};

/// Factors by which pictures are enlarged.
const FACTORS: std::ops::RangeInclusive<f32> = 1.0..=4.0;

/// How a picture is enlarged.
#[derive(Clone, Debug)]
struct Enlargement {
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
    let is_by_size = fields.whole("resize_mode").unwrap_or_default() == 1;
    let scale = fields.decimal("upscaling_resize").unwrap_or(2.0);
    if !FACTORS.contains(&scale) {
        fields.fault("upscaling_resize", format!("It must be from {} to {}.", FACTORS.start(), FACTORS.end()));
    }
    let is_cropped = fields.flag("upscaling_crop") == Some(true);
    let is_other = |fields: &mut Fields, key: &str| fields.decimal(key).is_some_and(|it| it > 0.0);
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
        hires.scale = (wide as f32 / width as f32).min(high as f32 / height as f32).clamp(*FACTORS.start(), *FACTORS.end());
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

pub(super) async fn single(State(app): State<SharedApp>, Extension(owner): Extension<Owner>, Payload(body): Payload) -> Answer {
    let mut fields = Fields::read(&body)?;
    drop(body);
    let mut how = read(&mut fields);
    let image = fields.take("image");
    how.notes.extend(fields.finish()?);
    let Some(image) = image else { return Err(Failure::invalid("image", "It is missing.")) };
    let image = app.decode(move || decode("image", &bytes_of("image", &image)?)).await?;
    let (text, notes) = enlarge(&app, &owner, image, how).await?;
    Ok(Json(json!({"image": text, "html_info": html(&notes)})))
}

pub(super) async fn batch(State(app): State<SharedApp>, Extension(owner): Extension<Owner>, Payload(body): Payload) -> Answer {
    let mut fields = Fields::read(&body)?;
    drop(body);
    let mut how = read(&mut fields);
    let images = fields.list("imageList");
    if images.len() > MAX_IMAGES {
        fields.fault("imageList", format!("There are more than {MAX_IMAGES} pictures."));
    }
    let images = images.into_iter().enumerate().map(|(index, image)| data_of(&mut fields, index, image)).collect::<Vec<_>>();
    how.notes.extend(fields.finish()?);
    let (mut answers, mut notes) = (Vec::new(), Vec::new());
    for data in images {
        let image = app.decode(move || decode("imageList", &bytes_of("imageList", &data)?)).await?;
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

/// The picture in an entry of `imageList`.
fn data_of(fields: &mut Fields, index: usize, image: Value) -> Value {
    let Value::Object(map) = image else { return Value::Null };
    let mut inside = fields.inner(&["imageList", &index.to_string()], map);
    let data = inside.take("data").unwrap_or_default();
    // Of its file.
    inside.leave(&["name"]);
    fields.close(inside);
    data
}

pub(super) async fn png_info(State(app): State<SharedApp>, Payload(body): Payload) -> Answer {
    let mut fields = Fields::read(&body)?;
    drop(body);
    let image = fields.take("image");
    let note = fields.finish()?;
    let Some(image) = image else { return Err(Failure::invalid("image", "It is missing.")) };
    let text = app.decode(move || parameters("image", &bytes_of("image", &image)?)).await?;
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
        let mut fields = Fields::default();
        let data = data_of(&mut fields, 1, json!({"data": "AAAA", "name": "a.png", "rotate": 90}));
        assert_eq!((data, data_of(&mut fields, 2, json!("AAAA"))), (json!("AAAA"), Value::Null));
        assert!(fields.finish().unwrap().unwrap().ends_with(": imageList.1.rotate."));
        assert_eq!(html(&["<script> & more".to_owned()]), "<p>&lt;script&gt; &amp; more</p>");
    }
}
