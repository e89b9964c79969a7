//! From flags to what another studio is asked for. What it does not take is refused by the flags
//! themselves.

use atelier_core::recipe::Recipe;
use atelier_media::PictureError;
use atelier_peers::JobRequest;
use atelier_studio::remote_job::request_of;

use crate::cli::flags::GenerateFlags;

/// The request of a recipe, whose settings are left to the model where no flag chose them. Reads its
/// pictures.
pub(super) fn request(flags: &GenerateFlags, recipe: &Recipe) -> Result<JobRequest, PictureError> {
    let (picture, sampling) = (&flags.picture, &flags.common.sampling);
    let model = flags.common.model.model.as_ref().map(|name| name.to_string_lossy().into_owned());
    Ok(JobRequest {
        width: picture.width,
        height: picture.height,
        steps: sampling.steps,
        guidance: sampling.cfg_scale,
        distilled_guidance: sampling.guidance,
        ..request_of(model, recipe)?
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::flags::{Cli, Command};

    #[test]
    fn a_setting_that_was_not_chosen_is_left_to_the_model() {
        let args = ["atelier", "generate", "--studio", "Anna", "-m", "Dream", "-p", "a lake", "--steps", "4"];
        let Ok(Cli { command: Some(Command::Generate(flags)), .. }) = Cli::try_parse_from(args) else { panic!() };
        let recipe = Recipe { prompt: "a lake".into(), steps: 4, ..Recipe::default() };
        let asked = request(&flags, &recipe).unwrap();
        let expected =
            JobRequest { model: Some("Dream".into()), prompt: "a lake".into(), pictures: 1, steps: Some(4), ..JobRequest::default() };
        assert_eq!(asked, expected);
    }
}
