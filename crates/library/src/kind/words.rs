//! Names of kinds of files, in the words of a person's language.
//!
//! They are kept in English, as the cache of headers and other programs have them: a text of
//! `library-kind-`, or the name of a model before one.

use atelier_language::{english, kind_text, text, tr};

/// What stands after the name of a model.
const KINDS_OF: [&str; 3] = ["library-kind-full-model", "library-kind-diffusion-module", "library-kind-text-encoder"];
/// Variant of a UNet that starts from a reference picture.
pub(super) const EDIT: &str = " edit";
/// Variant of a UNet that fills a masked part.
pub(super) const INPAINTING: &str = " inpainting";
/// Variant that is given a control picture beside the noise.
pub(super) const CONTROL: &str = " control";
/// What stands before the things that a detector finds.
pub(crate) const DETECTOR_OF: &str = "detector of ";

/// The name of a kind of file, in the chosen language.
#[must_use]
pub(crate) fn kind_words(name: &str) -> String {
    if let Some(words) = kind_text(name) {
        return words.to_owned();
    }
    if let Some(classes) = name.strip_prefix(DETECTOR_OF) {
        return tr!("library-detector-of", classes);
    }
    for id in KINDS_OF {
        if let Some(of) = name.strip_suffix(english(id)).and_then(|it| it.strip_suffix(' ')) {
            return tr!("library-kind-of", of = variant_words(of), kind = text(id));
        }
    }
    name.to_owned()
}

/// A family with its variant.
fn variant_words(of: &str) -> String {
    if let Some(family) = of.strip_suffix(INPAINTING) {
        tr!("library-of-family-inpainting", family)
    } else if let Some(family) = of.strip_suffix(EDIT) {
        tr!("library-of-family-edit", family)
    } else if let Some(family) = of.strip_suffix(CONTROL) {
        tr!("library-of-family-control", family)
    } else {
        of.to_owned()
    }
}
