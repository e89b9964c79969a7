//! Remedies: sets of changes that make a recipe fit, or run after a failure. Pure.

use atelier_core::placement::{Change, Placement, WeightLocation};
use atelier_core::recipe::{PlacementText, Recipe};
use atelier_language::tr;

/// Set of changes that makes a recipe fit, ready to be applied.
#[derive(Clone, Debug, PartialEq)]
pub struct Remedy {
    /// The changes as an instruction: "Decode in tiles".
    pub label: String,
    changes: Vec<Change>,
    placement: PlacementText,
}

impl Remedy {
    pub(crate) fn new(changes: Vec<Change>, placement: &Placement) -> Self {
        // Weights that move with their module are not worth a word.
        let moves_along = |change: &&Change| match change {
            Change::Weights { module, location: WeightLocation::Device(location) } => {
                changes.iter().any(|other| matches!(other, Change::RunsOn { module: it, device } if it == module && device == location))
            }
            _ => false,
        };
        let label = changes.iter().filter(|change| !moves_along(change)).enumerate().map(|(n, change)| {
            let text = change.to_string();
            if n == 0 { text } else { lowercase_first(&text) }
        });
        Self { label: label.collect::<Vec<_>>().join(tr!("devices-and")), changes, placement: placement.text() }
    }

    /// Applies the changes and the placement to a recipe.
    pub fn apply(&self, recipe: &mut Recipe) {
        recipe.placement = self.placement.clone();
        for change in &self.changes {
            change.apply(recipe);
        }
    }
}

fn lowercase_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::placement::Module;
    use atelier_core::recipe::FileRole;

    #[test]
    fn another_quantisation_takes_the_place_of_the_file_it_is_most_like() {
        let mut recipe = Recipe::default();
        recipe.files.set(FileRole::ClipL, "/m/clip_l-F16.gguf");
        recipe.files.set(FileRole::T5xxl, "/m/enc/t5xxl-F16.gguf");
        let change = Change::Quantisation { module: Module::T5, name: "t5xxl-Q8_0.gguf".into() };
        let remedy = Remedy::new(vec![change, Change::VaeTiling], &Placement::all_on("GPU0"));
        assert_eq!(remedy.label, "Use t5xxl-Q8_0.gguf for the T5 encoder, and decode in tiles (VAE tiling)");
        remedy.apply(&mut recipe);
        assert_eq!(recipe.files.get(FileRole::T5xxl), Some(std::path::Path::new("/m/enc/t5xxl-Q8_0.gguf")));
        assert_eq!(recipe.files.get(FileRole::ClipL), Some(std::path::Path::new("/m/clip_l-F16.gguf")));
        assert!(recipe.vae_tiling && recipe.placement.backend == "all=GPU0");
    }

    #[test]
    fn weights_that_go_along_need_no_words() {
        let runs = Change::RunsOn { module: Module::Vae, device: "CPU".into() };
        let weights = |location: WeightLocation| Change::Weights { module: Module::Vae, location };
        let label = |changes: Vec<Change>| Remedy::new(changes, &Placement::all_on("GPU0")).label;
        assert_eq!(label(vec![runs.clone(), weights(WeightLocation::Device("CPU".into()))]), "Run the VAE on CPU");
        assert!(label(vec![runs, weights(WeightLocation::Disk)]).contains("disk"));
    }
}
