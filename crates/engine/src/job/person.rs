//! The person of a recipe, checked and read for the engine.

use crate::ffi::PERSON_SIDE;
use crate::protocol::Failure;
use atelier_core::advice::Advice;
use atelier_core::canvas::StartFit;
use atelier_core::recipe::{ImageSource, Recipe, Rgb8};
use atelier_language::tr;
use atelier_library::face_count;
use atelier_media::fit_image;

/// Checks that a recipe has a `PhotoMaker` and pictures of a person, or neither, and what else the
/// `PhotoMaker` needs. Not its words.
///
/// # Errors
/// If the engine would leave the person out.
pub(crate) fn check_person(recipe: &Recipe, needs_id_embedding: bool) -> Result<(), Advice> {
    recipe.check_person()?;
    if !needs_id_embedding || recipe.person.is_empty() {
        return Ok(());
    }
    let path = recipe
        .person
        .id_embedding
        .as_deref()
        .ok_or_else(|| Advice::new(tr!("engine-photomaker-v2-needs-a"), tr!("engine-make-one-with-face")))?;
    let faces = face_count(path).map_err(|problem| problem.advice)?;
    let pictures = recipe.person.images.len();
    if usize::try_from(faces) != Ok(pictures) {
        return Err(Advice::new(tr!("engine-the-face-embedding-file", faces, pictures), tr!("engine-use-the-same-pictures")));
    }
    Ok(())
}

/// The pictures of a person, read by `read`, as the engine takes them: their middle square. The
/// engine itself reads beyond the end of narrow ones.
pub(crate) fn read_person<E: From<Failure>>(recipe: &Recipe, read: impl Fn(&ImageSource) -> Result<Rgb8, E>) -> Result<Vec<Rgb8>, E> {
    let square = |source: &ImageSource| {
        let image = fit_image(&read(source)?, PERSON_SIDE, PERSON_SIDE, StartFit::Crop);
        image.map_err(|error| E::from(Failure::from(Advice::new(error.to_string(), tr!("engine-choose-another-picture-of")))))
    };
    recipe.person.images.iter().map(square).collect()
}
