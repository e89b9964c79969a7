//! From flags to what another studio is asked for. What it does not take is refused by the flags
//! themselves.

use atelier_core::recipe::Recipe;
use atelier_media::{PictureError, read_image};
use atelier_peers::JobRequest;
use atelier_studio::studio_model::sent_mask;

use crate::cli::flags::GenerateFlags;

/// The request of a recipe, whose settings are left to the model where no flag chose them. Reads its
/// pictures.
pub(super) fn request(flags: &GenerateFlags, recipe: &Recipe) -> Result<JobRequest, PictureError> {
    let (picture, sampling) = (&flags.picture, &flags.common.sampling);
    let init = match &recipe.init {
        Some(init) => Some((read_image(&init.image)?, init.strength)),
        None => None,
    };
    Ok(JobRequest {
        model: flags.common.model.model.as_ref().map(|name| name.to_string_lossy().into_owned()),
        prompt: recipe.prompt.clone(),
        negative_prompt: recipe.negative_prompt.clone(),
        width: picture.width,
        height: picture.height,
        seed: Some(recipe.seed),
        pictures: recipe.batch_count,
        steps: sampling.steps,
        guidance: sampling.cfg_scale,
        distilled_guidance: sampling.guidance,
        sampler: recipe.sampler,
        scheduler: recipe.scheduler,
        eta: recipe.eta,
        flow_shift: recipe.flow_shift,
        clip_skip: recipe.clip_skip,
        init,
        mask: recipe.mask.as_ref().map(sent_mask).transpose()?,
        references: recipe.reference_images.iter().map(read_image).collect::<Result<_, _>>()?,
    })
}

/// Settings that were chosen and that the picture was not made with, each in a sentence.
pub(super) fn differences(request: &JobRequest, used: &Recipe) -> Vec<String> {
    let mut sentences = Vec::new();
    let mut compare = |name: &str, asked: Option<String>, used: Option<String>| {
        if let Some(asked) = asked.filter(|asked| Some(asked) != used.as_ref()) {
            sentences.push(format!("{name}: {} instead of {asked}.", used.as_deref().unwrap_or("the model's own")));
        }
    };
    let text = |value: f32| value.to_string();
    compare("Steps", request.steps.map(|it| it.to_string()), Some(used.steps.to_string()));
    compare("Guidance", request.guidance.map(text), Some(text(used.guidance)));
    compare("Distilled guidance", request.distilled_guidance.map(text), Some(text(used.distilled_guidance)));
    compare("Sampler", request.sampler.map(|it| it.label().to_owned()), used.sampler.map(|it| it.label().to_owned()));
    compare("Scheduler", request.scheduler.map(|it| it.label().to_owned()), used.scheduler.map(|it| it.label().to_owned()));
    compare("Eta", request.eta.map(text), used.eta.map(text));
    compare("Flow shift", request.flow_shift.map(text), used.flow_shift.map(text));
    compare("CLIP skip", request.clip_skip.map(|it| it.to_string()), used.clip_skip.map(|it| it.to_string()));
    sentences
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::flags::{Cli, Command};
    use atelier_core::recipe::Sampler;

    #[test]
    fn a_setting_that_was_not_chosen_is_left_to_the_model() {
        let args = ["atelier", "generate", "--studio", "Anna", "-m", "Dream", "-p", "a lake", "--steps", "4"];
        let Ok(Cli { command: Some(Command::Generate(flags)), .. }) = Cli::try_parse_from(args) else { panic!() };
        let recipe = Recipe { prompt: "a lake".into(), steps: 4, ..Recipe::default() };
        let asked = request(&flags, &recipe).unwrap();
        let expected = JobRequest {
            model: Some("Dream".into()),
            prompt: "a lake".into(),
            seed: Some(-1),
            pictures: 1,
            steps: Some(4),
            ..JobRequest::default()
        };
        assert_eq!(asked, expected);
    }

    #[test]
    fn what_was_made_otherwise_is_named() {
        let request = JobRequest { steps: Some(4), guidance: Some(1.5), sampler: Some(Sampler::EulerA), ..JobRequest::default() };
        let same = Recipe { steps: 4, guidance: 1.5, sampler: Some(Sampler::EulerA), eta: Some(0.5), ..Recipe::default() };
        assert!(differences(&request, &same).is_empty(), "what was not chosen is the model's own");
        let other = Recipe { steps: 20, sampler: None, ..same };
        assert_eq!(differences(&request, &other), ["Steps: 20 instead of 4.", "Sampler: the model's own instead of Euler a."]);
    }
}
