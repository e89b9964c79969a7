//! From the flags of a part, of borders and of the start picture's fit to a recipe.

use super::super::flags::{AreaFlags, InputFlags};
use super::UsageError;
use atelier_core::recipe::Recipe;

/// How much is generated anew where nobody says so.
const USUAL_STRENGTH: f32 = 0.75;

/// The strength of the start picture that the flags name. Borders begin as noise alone.
pub(super) fn strength(inputs: &InputFlags, area: &AreaFlags) -> f32 {
    inputs.strength.unwrap_or(if area.outpaint.is_some() { 1.0 } else { USUAL_STRENGTH })
}

/// Sets the part, the borders and the fit of a recipe whose pictures are set.
///
/// # Errors
/// For flags without effect.
pub(super) fn apply(recipe: &mut Recipe, inputs: &InputFlags, flags: &AreaFlags) -> Result<(), UsageError> {
    if inputs.init_img.is_some() || flags.only_masked || flags.outpaint.is_some() {
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
                "--start-fit has no effect without a picture to start from. Add one with --init-img, or leave it out.",
            ));
        }
        if recipe.changes_part() {
            return Err(UsageError::WithoutEffect(
                "--start-fit has no effect with --only-masked or --outpaint: the picture keeps its size and shape. Leave it out.",
            ));
        }
        recipe.start_fit = fit;
    }
    Ok(())
}
