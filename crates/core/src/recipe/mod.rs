//! A recipe: everything needed to make a picture again.
//!
//! Plain data. Nothing here reads a file or knows the engine; stored forms have their own types
//! (`atelier_media`, the settings).

use std::path::{Path, PathBuf};

use atelier_language::tr;

mod branch;
mod control;
mod earlier_steps;
mod embedding_words;
mod family_setting;
mod files;
mod fine;
mod form;
mod guidance_range;
mod hires;
mod image;
mod inputs;
mod lora_mode;
mod part;
mod part_of_steps;
mod person;
mod person_check;
mod recall;
mod sampling;
mod seed;
mod setting;
mod settings;
mod skip_layers;
mod starts;
mod step_cache;
mod step_reuse;
mod step_share;
mod step_words;
mod templates;
mod tensor_type;
mod tile_size;
mod upscale;
mod variations;

pub use control::{ControlImage, Preprocessor};
pub use earlier_steps::EarlierSteps;
pub use embedding_words::{add_words, embedding_places, embedding_word, names_embedding, replace_embedding_words, without_embedding};
pub use family_setting::FamilySetting;
pub use files::{FileRole, ModelFiles};
pub use fine::{FineColours, PrintConversion, Samples};
pub use form::{FileForm, LocalFile, StoredFile, bare_name};
pub use guidance_range::GuidanceRange;
pub use hires::{Hires, LatentUpscaler, RedrawTiles};
pub use image::{ImageSource, Rgb8};
pub use inputs::{InitImage, Lora, LoraStrengths, PictureInfo, PlacementText, shaped_as};
pub use lora_mode::LoraMode;
pub use part::{Part, RequiredFile};
pub use part_of_steps::{split_part_of_steps, steps_before};
pub use person::{Person, check_person_word};
pub use recall::RecallPart;
pub use sampling::{CacheMode, PredictionType, Rng, SHARE, Sampler, Scheduler, UnknownName, VaeFormat};
pub use seed::{Seed, SeedBlend, SeedNumber, read_seed};
pub use setting::{Reader, Setting};
pub use settings::{Affects, PartialRecipe, ROWS, Recipe, Row, Rows, SETTING_NAMES, Stored, changed_settings, setting_name};
pub use skip_layers::SkipLayers;
pub use starts::first_of_other_size;
pub use step_cache::StepCache;
pub use step_share::{StepCounts, StepShare};
pub use step_words::MAX_STEP_RANGES;
pub use templates::ChosenPictures;
pub use tensor_type::{RulesError, TensorType, TensorTypeRules};
pub use tile_size::TileSize;
pub use upscale::Upscale;

impl Recipe {
    /// Overlap of VAE tiles where none is chosen, as a part of a tile: the engine's own.
    pub const USUAL_VAE_TILE_OVERLAP: f32 = 0.5;

    /// Brings every setting into its limits, and the number of steps to that of the sigmas. Returns a
    /// sentence on each that was changed.
    pub fn clamp(&mut self) -> Vec<String> {
        let mut notes = self.clamp_rows();
        if self.sigmas.len() == 1 {
            self.sigmas.clear();
            notes.push(tr!("core-sigmas-there-is-only").to_owned());
        }
        if let Some(steps) = self.sigmas.len().checked_sub(1).and_then(|steps| u32::try_from(steps).ok())
            && steps != self.steps
        {
            notes.push(tr!("core-steps-instead-of-for", steps, steps_2 = self.steps));
            self.steps = steps;
        }
        notes
    }

    /// True where classifier-free guidance is on in some step: the negative prompt is encoded too,
    /// and such a step denoises twice. As `resolve_guidance` of stable-diffusion.cpp decides it: 1 alone switches
    /// it off, values below 1 do not.
    #[must_use]
    pub fn uses_guidance(&self) -> bool {
        let mut all = self.guidance_ranges.iter().map(|range| range.guidance).chain([self.guidance]);
        all.any(|guidance| !guidance.is_nan() && guidance != 1.0)
    }

    /// True where the negative prompt changes the picture.
    #[must_use]
    pub fn uses_negative_prompt(&self) -> bool {
        self.negative_in_prompt || self.uses_guidance()
    }

    /// The prompt and the negative prompt as the model reads them. With
    /// [`negative_in_prompt`](Self::negative_in_prompt), "a lake" and "boats, the sun" are "a lake,
    /// without boats, without the sun" and nothing.
    #[must_use]
    pub fn model_prompts(&self) -> (String, &str) {
        if !self.negative_in_prompt {
            return (self.prompt.clone(), &self.negative_prompt);
        }
        let negative =
            self.negative_prompt.split([',', ';', '\n']).map(|phrase| phrase.trim().trim_end_matches('.')).filter(|it| !it.is_empty());
        let absences: Vec<String> = negative.map(|phrase| format!("without {phrase}")).collect();
        let prompt = match self.prompt.trim().trim_end_matches([',', '.']) {
            _ if absences.is_empty() => self.prompt.clone(),
            "" => absences.join(", "),
            prompt => format!("{prompt}, {}", absences.join(", ")),
        };
        (prompt, "")
    }

    /// The embeddings that a prompt names, of earlier steps too: those that have an effect.
    pub fn used_embeddings(&self) -> impl Iterator<Item = &Path> {
        let earlier = self.earlier_steps.iter().flat_map(|steps| [&steps.prompt, &steps.negative_prompt]);
        let prompts: Vec<&String> = [&self.prompt, &self.negative_prompt].into_iter().chain(earlier).collect();
        let is_named = move |path: &&PathBuf| {
            let word = embedding_word(path);
            prompts.iter().any(|prompt| names_embedding(prompt, &word))
        };
        self.embeddings.iter().filter(is_named).map(PathBuf::as_path)
    }

    /// True where a part of the init image is generated, and what comes back has its size or that
    /// of its extension.
    #[must_use]
    pub fn changes_part(&self) -> bool {
        self.area.is_some() || self.outpaint.is_some_and(|borders| !borders.is_empty())
    }

    /// The number of one of the sampler's further arguments; the last one counts.
    #[must_use]
    pub fn sampler_argument(&self, name: &str) -> Option<f32> {
        let mut pairs = self.sampler_arguments.split(',').filter_map(|pair| pair.split_once('='));
        pairs.rfind(|(own, _)| own.trim() == name).and_then(|(_, value)| value.trim().parse().ok())
    }

    /// True where the init image itself is upscaled, in place of a picture that is generated first.
    #[must_use]
    pub fn upscales_init(&self) -> bool {
        self.hires.is_some() && !self.changes_part() && self.init.as_ref().is_some_and(|init| init.strength <= 0.0)
    }

    /// True where nothing is generated: the init image is only upscaled.
    #[must_use]
    pub fn only_upscales(&self) -> bool {
        self.upscales_init() && self.hires.as_ref().is_some_and(|hires| hires.strength <= 0.0)
    }

    /// Steps that the engine runs of a whole picture: from an init image only the last ones.
    #[must_use]
    pub fn steps_to_run(&self) -> u32 {
        match &self.init {
            Some(init) if init.strength < 1.0 => {
                // As stable-diffusion.cpp counts them: the product cut to a whole number, one more
                // step, never more than all.
                let steps = (self.steps as f32 * init.strength) as u32;
                (steps + 1).min(self.steps)
            }
            _ => self.steps,
        }
    }

    /// Steps that the engine runs in a pass of the picture, from 0: the parts of a picture, and
    /// what is upscaled, run all of them.
    #[must_use]
    pub fn steps_in_pass(&self, pass: u32) -> u32 {
        let is_second = !self.changes_part() && (pass > 0 || self.upscales_init());
        match &self.hires {
            // The engine's own second pass has as many as the first ran.
            Some(hires) if is_second && hires.latent_upscaler().is_some() && !self.upscales_init() => {
                hires.own_steps().unwrap_or_else(|| self.steps_to_run())
            }
            Some(hires) if is_second => hires.own_steps().unwrap_or(self.steps),
            _ if is_second || self.changes_part() => self.steps,
            _ => self.steps_to_run(),
        }
        .max(1)
    }

    /// Steps that the engine runs in a pass of the picture, from 0: those of a pass, or of a draft
    /// of it.
    #[must_use]
    pub fn steps_until_end_of_pass(&self, pass: u32) -> u32 {
        let steps = self.steps_in_pass(pass);
        self.last_step.map_or(steps, |last| last.clamp(1, steps))
    }

    /// The step of its first pass after which the picture stops as a draft; `None` where it is
    /// finished.
    #[must_use]
    pub fn draft_step(&self) -> Option<u32> {
        self.last_step.map(|last| last.max(1)).filter(|last| *last < self.steps_in_pass(0))
    }

    /// The step after which a draft usually stops: a quarter of the steps is enough to judge a
    /// composition.
    #[must_use]
    pub fn usual_last_step(&self) -> u32 {
        (self.steps_in_pass(0) / 4).max(1)
    }

    /// The recipe that finishes a draft of this recipe and seed, which the file `picture` shows;
    /// `None` where it is no draft.
    #[must_use]
    pub fn finishing(&self, seed: Option<Seed>, picture: Option<String>) -> Option<Self> {
        let step = self.draft_step()?;
        let whole = Self { seed, batch_count: 1, last_step: None, ..self.clone() };
        Some(Self { earlier_steps: whole.steps_until(step, picture), ..whole })
    }

    /// True where the picture has another size than `width` x `height`.
    #[must_use]
    pub fn has_own_size(&self) -> bool {
        self.changes_part() || self.hires.is_some() || self.upscale.is_some()
    }

    /// Width and height in pixels after the second pass, before they are snapped to what a model
    /// can make.
    #[must_use]
    pub fn final_size(&self) -> (u32, u32) {
        let size = (self.width, self.height);
        self.hires.as_ref().map_or(size, |hires| hires.size(size))
    }

    /// Sets the sides of VAE tiles to parts of the final width and height, or, above 1, to those of so
    /// many tiles in a row and in a column, as the engine's VAE counts them, by the size and overlap
    /// that it has now. A side whose part is 0 stays as it is. `latent_pixels`: those of a side of one
    /// value of the model's latents.
    pub fn set_relative_vae_tiles(&mut self, (wide, high): (f32, f32), latent_pixels: u32) {
        if wide <= 0.0 && high <= 0.0 {
            return;
        }
        let overlap = self.vae_tile_overlap.unwrap_or(Self::USUAL_VAE_TILE_OVERLAP);
        let part = |value: f32| if value > 1.0 { 1.0 / (value - value * overlap + overlap) } else { value };
        let (width, height) = self.final_size();
        let own = self.vae_tile_size.unwrap_or(TileSize::square(TileSize::USUAL_SIDE));
        let side = |pixels: u32, value: f32, own: u32| {
            if value > 0.0 { (pixels as f32 / latent_pixels as f32 * part(value)).round() as u32 } else { own }
        };
        self.vae_tile_size = Some(TileSize { width: side(width, wide, own.width), height: side(height, high, own.height) });
    }

    /// Removes the init image with the further ones, and what is said of it.
    pub fn remove_init(&mut self) {
        (self.init, self.mask, self.area, self.outpaint) = (None, None, None, None);
        self.further_starts.clear();
    }

    /// Sets the control picture; what was chosen beside it stays.
    pub fn set_control_picture(&mut self, image: ImageSource) {
        match &mut self.control {
            Some(control) => control.image = image,
            None => self.control = Some(ControlImage::new(image)),
        }
    }

    /// True where the model has a `ControlNet`, which reads a control picture.
    #[must_use]
    pub fn has_control_net(&self) -> bool {
        self.files.get(FileRole::Controlnet).is_some()
    }

    /// True where the model has a `PhotoMaker`, which reads pictures of a person.
    #[must_use]
    pub fn has_photomaker(&self) -> bool {
        self.files.get(FileRole::Photomaker).is_some()
    }

    /// Every picture that the recipe begins with or is guided by.
    pub fn pictures(&self) -> impl Iterator<Item = &ImageSource> {
        let init = self.init.iter().map(|init| &init.image);
        let control = self.control.iter().map(|control| &control.image);
        init.chain(&self.mask).chain(&self.reference_images).chain(control).chain(&self.person.images)
    }

    /// Every picture that the recipe begins with or is guided by.
    pub fn pictures_mut(&mut self) -> impl Iterator<Item = &mut ImageSource> {
        let init = self.init.iter_mut().map(|init| &mut init.image);
        let control = self.control.iter_mut().map(|control| &mut control.image);
        init.chain(&mut self.mask).chain(&mut self.reference_images).chain(control).chain(&mut self.person.images)
    }

    /// Removes the control picture where no `ControlNet` reads it, and pictures of a person where
    /// no `PhotoMaker` does: after a change of the model they would only be refused.
    pub fn drop_unusable_guides(&mut self) {
        if !self.has_control_net() {
            self.control = None;
        }
        if !self.has_photomaker() {
            self.person.images.clear();
            self.person.id_embedding = None;
        }
    }

    /// True where both use the same model, opened in the same way, so that one context serves both.
    #[must_use]
    pub fn opens_like(&self, other: &Self) -> bool {
        self.only(Affects::Opening) == other.only(Affects::Opening)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canvas::AreaSettings;

    #[test]
    fn a_recipe_survives_json() {
        let mut recipe = Recipe { prompt: "a lake, \"quoted\"\nand a line".into(), sampler: Some(Sampler::Dpmpp2sA), ..Recipe::default() };
        recipe.files.set(FileRole::Llm, "/models/qwen.gguf");
        recipe.mask = Rgb8::new(1, 1, vec![1, 2, 3]).map(ImageSource::Pixels);
        let text = serde_json::to_string(&recipe).unwrap();
        assert!(text.contains("\"dpm++2s_a\"") && text.contains("\"llm\""), "{text}");
        assert_eq!(serde_json::from_str::<Recipe>(&text).unwrap(), recipe);
    }

    #[test]
    fn from_an_init_image_only_the_last_steps_run() {
        let steps = |strength| {
            let image = ImageSource::File("x.png".into());
            Recipe { steps: 20, init: Some(InitImage { image, strength }), ..Recipe::default() }.steps_to_run()
        };
        assert_eq!((steps(0.75), steps(0.0), steps(0.999), steps(1.0)), (16, 1, 20, 20));
    }

    #[test]
    fn a_second_pass_and_a_part_run_all_steps() {
        let init = |strength| Some(InitImage { image: ImageSource::File("x.png".into()), strength });
        let recipe = Recipe { steps: 20, init: init(0.5), ..Recipe::default() };
        assert_eq!((recipe.steps_in_pass(0), recipe.steps_in_pass(1)), (11, 20));
        assert_eq!(Recipe { area: Some(AreaSettings::default()), ..recipe.clone() }.steps_in_pass(0), 20);
        assert_eq!(Recipe { init: init(0.0), hires: Some(Hires::default()), ..recipe.clone() }.steps_in_pass(0), 20);
        let own = Hires { steps: Some(7), ..Hires::default() };
        let refined = Recipe { hires: Some(own), ..recipe.clone() };
        assert_eq!((refined.steps_in_pass(0), refined.steps_in_pass(1)), (11, 7));
        assert_eq!(Recipe { init: init(0.0), ..refined }.steps_in_pass(0), 7);
        assert_eq!(Recipe { steps: 0, ..recipe }.steps_in_pass(0), 1);
    }

    #[test]
    fn a_model_that_reads_the_negative_prompt_in_its_prompt_gets_it_there() {
        let prompts = |prompt: &str, negative: &str, negative_in_prompt| {
            let texts = (prompt.to_owned(), negative.to_owned());
            let recipe = Recipe { prompt: texts.0, negative_prompt: texts.1, negative_in_prompt, guidance: 1.0, ..Recipe::default() };
            let (prompt, negative) = recipe.model_prompts();
            (prompt, negative.to_owned(), recipe.uses_negative_prompt())
        };
        let read = |prompt: &str, negative: &str, uses| (prompt.to_owned(), negative.to_owned(), uses);
        assert_eq!(prompts("a lake", "boats, the sun", false), read("a lake", "boats, the sun", false));
        assert_eq!(prompts("a lake", "boats, the sun", true), read("a lake, without boats, without the sun", "", true));
        assert_eq!(prompts("A lake at dawn. ", " boats;\n, ", true), read("A lake at dawn, without boats", "", true));
        assert_eq!(prompts("", "snow", true), read("without snow", "", true));
        assert_eq!(prompts("a lake", "(fog:1.2).", true), read("a lake, without (fog:1.2)", "", true));
        assert_eq!(prompts("a lake. ", " ,", true), read("a lake. ", "", true));
    }

    #[test]
    fn guidance_counts_unless_it_is_one() {
        let uses = |guidance| Recipe { guidance, ..Recipe::default() }.uses_guidance();
        assert_eq!([0.0, 0.5, 1.0, 1.1, 7.0].map(uses), [true, true, false, true, true]);
        assert!(!uses(f32::NAN), "a job takes 1 instead");
    }
}
