//! `ControlNet` units, and the lists about them. Preprocessors are those of the engine; others are
//! refused, because the picture would be followed as it is.

use atelier_core::recipe::{ControlImage, Preprocessor, Rgb8};
use axum::extract::State;
use serde_json::{Map, Value, json};

use super::reply::Answer;
use crate::http::error::Failure;
use crate::http::fields::Fields;
use crate::http::images::{bytes_of, decode};
use crate::http::json::Json;
use crate::http::models::NamedFile;
use crate::http::recipe::ControlWish;
use crate::http::state::SharedApp;

/// A unit that is switched on.
#[derive(Clone, Debug)]
pub(crate) struct ControlUnit {
    model: Option<String>,
    image: Option<Value>,
    strength: f32,
    start: f32,
    end: f32,
    preprocessor: Option<Preprocessor>,
}

impl ControlUnit {
    /// Its picture, else the start picture. Blocks.
    pub(crate) fn decode(self, start: Option<&Rgb8>) -> Result<ControlWish, Failure> {
        let image = match self.image {
            Some(value) => decode("alwayson_scripts.ControlNet.image", &bytes_of("alwayson_scripts.ControlNet.image", &value)?)?,
            None => start.cloned().ok_or_else(|| Failure::invalid("alwayson_scripts", "The ControlNet unit has no image."))?,
        };
        let Self { model, strength, start, end, preprocessor, .. } = self;
        Ok(ControlWish { model, image, strength, start, end, preprocessor })
    }
}

/// The unit of a request; at most one is taken.
pub(crate) fn read(fields: &mut Fields, notes: &mut Vec<String>) -> Result<Option<ControlUnit>, Failure> {
    let mut units = fields.objects("controlnet_units");
    let mut scripts = fields.object("alwayson_scripts");
    // Those that are left are named as unread.
    for name in scripts.spelled("ControlNet") {
        let mut script = scripts.object(&name);
        units.extend(script.objects("args"));
        scripts.close(script);
    }
    fields.close(scripts);
    let mut found = None;
    for mut unit in units {
        let read = read_unit(&mut unit, notes)?;
        if read.is_none() {
            // It is switched off.
            unit.leave_all();
        }
        fields.close(unit);
        let Some(read) = read else { continue };
        if found.replace(read).is_some() {
            fields.fault("alwayson_scripts", "A picture follows one ControlNet; switch the other units off.");
        }
    }
    Ok(found)
}

fn read_unit(unit: &mut Fields, notes: &mut Vec<String>) -> Result<Option<ControlUnit>, Failure> {
    let (image, input_image) = (unit.picture("image"), unit.picture("input_image"));
    let image = match image.or(input_image) {
        Some(Value::Object(map)) => {
            let mut inside = unit.inner(&["image"], map);
            let image = inside.picture("image");
            unit.close(inside);
            image
        }
        image => image,
    };
    let model = unit.word("model").filter(|name| !name.eq_ignore_ascii_case("none"));
    // Where it is not said, a unit with something in it is on.
    if !unit.flag("enabled").unwrap_or(image.is_some() || model.is_some()) {
        return Ok(None);
    }
    let module = unit.word("module").filter(|name| !name.eq_ignore_ascii_case("none"));
    let preprocessor = module.as_deref().and_then(Preprocessor::named_by_a1111);
    if let (Some(module), None) = (&module, preprocessor) {
        let sentence = format!("There is no preprocessor {module}. Send the prepared picture, with the module \"none\".");
        return Err(Failure::invalid("alwayson_scripts", sentence));
    }
    let strength = unit.decimal_or("weight", ControlImage::USUAL_STRENGTH);
    if strength > 1.0 {
        notes.push("The control strength is at most 1.".to_owned());
    }
    let mut part = |key: &str, usual: f32| unit.clamped_or(key, 0.0..=1.0, usual);
    let (start, end) = (part("guidance_start", 0.0), part("guidance_end", ControlImage::USUAL_END));
    leave_what_says_nothing(unit, preprocessor.is_some());
    Ok(Some(ControlUnit { model, image, strength: strength.clamp(0.0, 1.0), start, end, preprocessor }))
}

/// Removes what clients send with every unit.
fn leave_what_says_nothing(unit: &mut Fields, has_preprocessor: bool) {
    // How memory is used, and a picture that is never in the answer.
    unit.leave(&["low_vram", "lowvram", "save_detected_map"]);
    if !has_preprocessor {
        unit.leave(&["processor_res", "threshold_a", "threshold_b", "pixel_perfect"]);
    }
    // The defaults of A1111 and those of webuiapi.
    unit.leave_usual(&[
        ("mask", json!("")),
        ("processor_res", json!(-1)),
        ("processor_res", json!(512)),
        ("threshold_a", json!(-1)),
        ("threshold_a", json!(64)),
        ("threshold_b", json!(-1)),
        ("threshold_b", json!(64)),
        ("pixel_perfect", json!(false)),
        ("guess_mode", json!(false)),
        ("resize_mode", json!(1)),
        ("resize_mode", json!("Crop and Resize")),
        ("resize_mode", json!("Resize and Fill")),
        ("control_mode", json!(0)),
        ("control_mode", json!("Balanced")),
        ("hr_option", json!("Both")),
    ]);
}

pub(super) async fn version() -> Answer {
    Ok(Json(json!({"version": 3})))
}

pub(super) async fn settings() -> Answer {
    Ok(Json(json!({"control_net_unit_count": 1})))
}

pub(super) async fn model_list(State(app): State<SharedApp>) -> Answer {
    let list = app.models().await?;
    let names: Vec<String> = list.controlnets.iter().map(NamedFile::title).collect();
    Ok(Json(json!({"model_list": names})))
}

/// The preprocessors that can be asked for.
fn modules() -> impl Iterator<Item = &'static str> {
    std::iter::once("none").chain(Preprocessor::ALL.iter().map(|it| it.key()))
}

pub(super) async fn module_list() -> Answer {
    let names: Vec<&str> = modules().collect();
    let detail: Map<String, Value> = modules().map(|name| (name.to_owned(), json!({"model_free": false, "sliders": []}))).collect();
    Ok(Json(json!({"module_list": names, "module_detail": detail})))
}

pub(super) async fn control_types(State(app): State<SharedApp>) -> Answer {
    let list = app.models().await?;
    let models: Vec<String> = std::iter::once("None".to_owned()).chain(list.controlnets.iter().map(NamedFile::title)).collect();
    let all =
        json!({"module_list": modules().collect::<Vec<_>>(), "model_list": models, "default_option": "none", "default_model": "None"});
    Ok(Json(json!({"control_types": {"All": all}})))
}

pub(super) async fn detect() -> Answer {
    Err(Failure::invalid("controlnet_module", "Pictures are not prepared by themselves here: name the module in the unit of a picture."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<(Option<ControlUnit>, Vec<String>), Failure> {
        let mut notes = Vec::new();
        let mut fields = Fields::read(text.as_bytes()).unwrap();
        let unit = read(&mut fields, &mut notes)?;
        notes.extend(fields.finish()?);
        Ok((unit, notes))
    }

    #[test]
    fn one_unit_is_read_in_every_form_and_others_are_refused() {
        let (unit, notes) = read_text(
            r#"{"alwayson_scripts": {"ControlNet": {"args": [{"image": {"image": "AAAA", "mask": null}, "model": "canny [12345678]", "weight": 1.5}]},
                "ADetailer": {"args": []}}}"#,
        )
        .unwrap();
        let unit = unit.unwrap();
        assert_eq!((unit.model.as_deref(), unit.strength, unit.image.is_some()), (Some("canny [12345678]"), 1.0, true));
        assert!(notes.iter().any(|note| note.contains("alwayson_scripts.ADetailer")), "{notes:?}");
        let (unit, notes) =
            read_text(r#"{"alwayson_scripts": {"controlnet": {"args": [{"enabled": false, "image": "AAAA", "mask": "AAAA"}, {}]}}}"#)
                .unwrap();
        assert!(unit.is_none() && notes.is_empty(), "{notes:?}");
        let (_, notes) = read_text(
            r#"{"controlnet_units": [{"image": {"image": "AAAA", "mask": "AAAA"}, "control_mode": 2, "threshold_a": 64, "hr_option": "Both"}]}"#,
        )
        .unwrap();
        let named = "These fields mean nothing here and were not read: controlnet_units.0.image.mask, controlnet_units.0.control_mode.";
        assert_eq!(notes, [named]);
        assert!(read_text(r#"{"controlnet_units": [{"input_image": "AAAA", "module": "depth_midas"}]}"#).is_err());
        let (unit, _) = read_text(r#"{"controlnet_units": [{"input_image": "AAAA", "module": "canny", "guidance_end": 0.5}]}"#).unwrap();
        assert_eq!(unit.map(|it| (it.preprocessor, it.end)), Some((Some(Preprocessor::Canny), 0.5)));
        assert!(read_text(r#"{"controlnet_units": [{"input_image": "AAAA"}, {"input_image": "AAAA"}]}"#).is_err());
    }

    #[test]
    fn a_unit_without_a_picture_follows_the_start_picture() {
        let unit = ControlUnit { model: None, image: None, strength: 1.0, start: 0.0, end: 1.0, preprocessor: None };
        assert!(unit.clone().decode(None).is_err());
        let start = Rgb8::new(1, 1, vec![1, 2, 3]).unwrap();
        assert_eq!(unit.decode(Some(&start)).unwrap().image, start);
    }
}
