//! What flags name and somebody has to find: models, LoRAs, pictures.

use std::path::{Path, PathBuf};

use super::super::usage_error::UsageError;
use atelier_core::recipe::Recipe;
use atelier_library::{Builtin, BuiltinError, Runnable};
use atelier_studio::opened_picture::OpenedPicture;

/// A recipe, sentences that are said first, and the name of its model of the library.
pub(super) type ResolvedRecipe = (Recipe, Vec<String>, Option<String>);

/// Finds the files of LoRAs by their names, in the same order.
pub(in crate::cli) type FindLoras<'a> = dyn Fn(&[String]) -> Result<Vec<PathBuf>, UsageError> + 'a;

/// Models and LoRAs that flags name.
pub(in crate::cli) struct Lookup<'a> {
    /// A model of the library, by its name.
    pub(in crate::cli) model: &'a dyn Fn(&str) -> Result<Runnable, UsageError>,
    /// The LoRAs that a prompt names.
    pub(in crate::cli) loras: &'a FindLoras<'a>,
    /// The settings of a picture.
    pub(in crate::cli) like: &'a dyn Fn(&Path) -> Result<OpenedPicture, UsageError>,
    /// The file of an upscaler of the library, by its name.
    pub(in crate::cli) upscaler: &'a dyn Fn(&str) -> Result<PathBuf, UsageError>,
    pub(in crate::cli) builtin: &'a dyn Fn() -> Result<Builtin, BuiltinError>,
}
