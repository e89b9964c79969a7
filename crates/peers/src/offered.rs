//! The models that another studio offers, with the settings that suit each. Pure.

use std::str::FromStr;

use atelier_core::recipe::PartialRecipe;
use serde_json::Value;

use crate::StudioId;
use crate::identity::id_in;
use crate::record::clean_line;

/// Models that are listed, and bytes of a name.
const MAX_MODELS: usize = 2000;
const MAX_MODEL_NAME: usize = 300;

/// What a studio offers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Offer {
    /// By which it is found again at another address.
    pub id: Option<StudioId>,
    pub models: Vec<OfferedModel>,
}

/// A model of another studio.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OfferedModel {
    /// Its name there.
    pub name: String,
    /// The settings that suit it, within their limits; none where the studio does not tell them.
    pub defaults: PartialRecipe,
}

/// What a studio's capabilities offer; `None` where they list no models.
pub(crate) fn offer_in(answer: &Value) -> Option<Offer> {
    Some(Offer { id: id_in(answer), models: offered_models(answer)? })
}

/// The models in a studio's capabilities; `None` where they list none. Those whose names cannot be
/// shown as they are, are left out.
fn offered_models(answer: &Value) -> Option<Vec<OfferedModel>> {
    let listed = answer.get("models")?.as_array()?;
    let told = answer.get("model_defaults");
    let names = listed.iter().take(MAX_MODELS).filter_map(Value::as_str);
    let shown = names.filter(|name| !name.is_empty() && clean_line(name, MAX_MODEL_NAME) == **name);
    let offered = shown.map(|name| {
        let defaults = told.and_then(|it| it.get(name)).filter(|it| it.is_object()).map(defaults_in).unwrap_or_default();
        OfferedModel { name: name.to_owned(), defaults }
    });
    Some(offered.collect())
}

/// The settings of a model, in the words of a request.
fn defaults_in(told: &Value) -> PartialRecipe {
    let sample = |key: &str| told.get("sample_params")?.get(key);
    let guidance = |key: &str| sample("guidance")?.get(key);
    let mut defaults = PartialRecipe {
        width: whole(told.get("width")),
        height: whole(told.get("height")),
        steps: whole(sample("sample_steps")),
        guidance: number(guidance("txt_cfg")),
        distilled_guidance: number(guidance("distilled_guidance")),
        // What is not named, or not known here, is left to the model.
        sampler: Some(named(sample("sample_method"))),
        scheduler: Some(named(sample("scheduler"))),
        eta: Some(number(sample("eta"))),
        flow_shift: Some(number(sample("flow_shift"))),
        clip_skip: Some(whole(told.get("clip_skip"))),
        ..PartialRecipe::default()
    };
    // Sentences on what was out of its limits would be about another person's studio.
    drop(defaults.clamp());
    defaults
}

fn whole(value: Option<&Value>) -> Option<u32> {
    u32::try_from(value?.as_u64()?).ok()
}

fn number(value: Option<&Value>) -> Option<f32> {
    Some(value?.as_f64()? as f32).filter(|it| it.is_finite())
}

fn named<T: FromStr>(value: Option<&Value>) -> Option<T> {
    value?.as_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use atelier_core::recipe::{Recipe, Sampler, Scheduler, Seed};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_model_has_the_settings_that_its_studio_tells() {
        let answer = json!({"models": ["Turbo", "Old"], "model_defaults": {"Turbo": {"width": 768, "height": 512, "clip_skip": 2,
            "sample_params": {"sample_steps": 8, "sample_method": "euler_a", "scheduler": "karras", "eta": null, "flow_shift": 3.0,
            "guidance": {"txt_cfg": 1.0, "distilled_guidance": 3.5}}}}});
        let offered = offered_models(&answer).unwrap();
        assert_eq!(offered.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["Turbo", "Old"]);
        assert!(offered[1].defaults.is_empty(), "an older studio tells none");
        let mut recipe = Recipe { prompt: "a lake".into(), seed: Some(Seed(7)), eta: Some(0.5), ..Recipe::default() };
        offered[0].defaults.apply(&mut recipe);
        let expected = Recipe {
            prompt: "a lake".into(),
            seed: Some(Seed(7)),
            width: 768,
            height: 512,
            steps: 8,
            guidance: 1.0,
            distilled_guidance: 3.5,
            sampler: Some(Sampler::EulerA),
            scheduler: Some(Scheduler::Karras),
            eta: None,
            flow_shift: Some(3.0),
            clip_skip: Some(2),
            ..Recipe::default()
        };
        assert_eq!(recipe, expected);
    }

    #[test]
    fn settings_that_make_no_sense_stay_out_or_within_their_limits() {
        let answer = json!({"models": ["a", "b"], "model_defaults": {"a": {"width": -1, "height": 1e9,
            "sample_params": {"sample_steps": 4_000_000_000_u32, "sample_method": "of tomorrow", "guidance": 7}}, "b": [1]}});
        let offered = offered_models(&answer).unwrap();
        let told = &offered[0].defaults;
        assert_eq!((told.width, told.height, told.guidance, told.sampler), (None, None, None, Some(None)));
        assert!(told.steps.is_some_and(|steps| steps < 100_000), "{:?}", told.steps);
        assert!(offered[1].defaults.is_empty());
        assert_eq!(offered_models(&json!({"models": 7})), None);
    }
}
