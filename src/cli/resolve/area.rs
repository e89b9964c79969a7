//! From the flags of a part, of borders and of the start picture's fit to a recipe.

use super::super::flags::{AreaFlags, InputFlags};
use super::UsageError;
use atelier_core::recipe::{InitImage, Recipe};

/// The strength of the start picture that the flags name. Borders begin as noise alone.
pub(super) fn strength(inputs: &InputFlags, area: &AreaFlags) -> f32 {
    inputs.strength.unwrap_or(if area.outpaint.is_some() { 1.0 } else { InitImage::USUAL_STRENGTH })
}

/// Sets the part, the borders and the fit of a recipe whose pictures are set.
///
/// # Errors
/// For flags without effect.
pub(super) fn apply(recipe: &mut Recipe, inputs: &InputFlags, flags: &AreaFlags) -> Result<(), UsageError> {
    if !inputs.init_img.is_empty() || flags.only_masked || flags.outpaint.is_some() {
        // What another picture says of its part does not belong to this one.
        (recipe.area, recipe.outpaint) = (None, flags.outpaint);
    }
    if flags.only_masked || (flags.outpaint.is_some() && flags.detail().is_some()) {
        recipe.area = Some(flags.settings());
    }
    if let (Some(flag), false) = (flags.detail(), flags.only_masked || flags.outpaint.is_some()) {
        return Err(UsageError::OnlyOfAPart(flag));
    }
    if let Some(fit) = flags.start_fit {
        if recipe.init.is_none() {
            return Err(UsageError::WithoutEffect(
                "--start-fit has no effect without a start picture. Add --init-img, or remove --start-fit.",
            ));
        }
        if recipe.changes_part() {
            return Err(UsageError::WithoutEffect(
                "--start-fit has no effect with --only-masked or --outpaint: the picture keeps its size and shape. Remove --start-fit.",
            ));
        }
        recipe.start_fit = fit;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::super::flags::{Cli, Command};
    use super::*;
    use atelier_core::canvas::{AreaFill, AreaSettings, Borders, StartFit};
    use atelier_core::recipe::{ImageSource, InitImage};

    /// The recipe of these flags, on top of one that changes a part of another picture.
    fn recipe(args: &[&str]) -> Result<Recipe, String> {
        let all = [&["atelier", "generate", "-p", "x", "-m", "m.gguf"], args].concat();
        let cli = Cli::try_parse_from(all).map_err(|error| error.to_string())?;
        let Some(Command::Generate(flags)) = cli.command else { panic!("another command") };
        let (inputs, area) = (&flags.common.inputs, &flags.common.area);
        let mut recipe = Recipe { area: Some(AreaSettings { context: 7.0, ..AreaSettings::default() }), ..Recipe::default() };
        recipe.init =
            inputs.init_img.first().cloned().map(|path| InitImage { image: ImageSource::File(path), strength: strength(inputs, area) });
        apply(&mut recipe, inputs, area).map_err(|error| error.to_string())?;
        Ok(recipe)
    }

    #[test]
    fn flags_of_a_part_replace_the_settings_of_another_picture() {
        let only =
            recipe(&["-i", "a.png", "--mask", "m.png", "--only-masked", "--context", "2", "--fill", "noise", "--no-soft-mask"]).unwrap();
        let expected = AreaSettings { context: 2.0, fill: Some(AreaFill::Noise), soft_mask: false, ..AreaSettings::default() };
        assert_eq!((only.area, only.init.map(|it| it.strength)), (Some(expected), Some(0.75)));
        assert_eq!(recipe(&["-i", "a.png", "--mask", "m.png"]).unwrap().area, None);
        assert_eq!(recipe(&[]).unwrap().area.map(|it| it.context), Some(7.0), "of --like");
    }

    #[test]
    fn borders_begin_as_noise_unless_a_strength_is_named() {
        let wide = recipe(&["-i", "a.png", "--outpaint", "left=64,bottom=8"]).unwrap();
        assert_eq!((wide.outpaint, wide.area), (Some(Borders { left: 64, bottom: 8, ..Borders::default() }), None));
        assert_eq!(wide.init.map(|it| it.strength), Some(1.0));
        let soft = recipe(&["-i", "a.png", "--outpaint", "left=64", "--strength", "0.9", "--feather", "12"]).unwrap();
        assert_eq!((soft.init.map(|it| it.strength), soft.area.and_then(|it| it.feather)), (Some(0.9), Some(12)));
    }

    #[test]
    fn what_would_have_no_effect_is_refused() {
        assert_eq!(recipe(&["-i", "a.png", "--start-fit", "stretch"]).map(|it| it.start_fit), Ok(StartFit::Stretch));
        let says = |args: &[&str], words: &str| {
            let error = recipe(args).unwrap_err();
            assert!(error.contains(words), "{args:?}: {error}");
        };
        says(&["--start-fit", "fit"], "without a start picture");
        says(&["-i", "a.png", "--mask", "m.png", "--only-masked", "--start-fit", "fit"], "keeps its size");
        says(&["-i", "a.png", "--outpaint", "left=8", "--start-fit", "fit"], "keeps its size");
        says(&["-i", "a.png", "--mask", "m.png", "--feather", "3"], "--feather has no effect");
        says(&["-i", "a.png", "--no-seam-correction"], "--no-seam-correction has no effect");
        says(&["-i", "a.png", "--only-masked"], "--mask");
        says(&["-i", "a.png", "--mask", "m.png", "--outpaint", "left=8"], "cannot be used with");
        says(&["--outpaint", "left=8"], "--init-img");
    }
}
