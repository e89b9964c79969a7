//! A model of another studio: how the queue names it, and what of a recipe goes there. Pure but for
//! [`sent_mask`].

use atelier_core::recipe::{ImageSource, Part, Recipe, Rgb8, changed_settings};
use atelier_media::{PictureError, read_rgba_image};
use atelier_peers::MAX_PICTURES;

/// What a job of a studio has for its device, before the studio's name; no device is called so.
const DEVICE: &str = "studio:";
/// Settings that a studio takes, beside prompts, size and number of pictures.
const SENT: [&str; 10] =
    ["steps", "guidance", "distilled_guidance", "sampler", "scheduler", "eta", "flow_shift", "clip_skip", "seed", "init"];
/// Settings that go there with the start picture, or beside it.
const SENT_PICTURES: [&str; 2] = ["mask", "reference_images"];
/// Parts that are about this computer, its models or its desk: a studio has its own.
const OWN: [Part; 4] = [Part::Model, Part::Effort, Part::Machine, Part::DisabledLoras];

/// A model of a studio that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudioModel {
    /// The studio's name among those that are kept.
    pub studio: String,
    /// The model's name there.
    pub model: String,
}

impl StudioModel {
    /// The model of a job of the queue with this device; `None` for one that is made here.
    #[must_use]
    pub fn of_job(device: Option<&str>, model: &str) -> Option<Self> {
        Some(Self { studio: studio_of(device?)?.to_owned(), model: model.to_owned() })
    }

    /// The device of its jobs in the queue.
    #[must_use]
    pub fn device(&self) -> String {
        format!("{DEVICE}{}", self.studio)
    }

    /// A recipe as it is asked for there: without what is about this computer.
    #[must_use]
    pub fn asked(mut recipe: Recipe) -> Recipe {
        recipe.take_parts(&Recipe::default(), &OWN);
        recipe
    }

    /// Names of the settings of a recipe that no studio takes.
    #[must_use]
    pub fn not_taken(recipe: &Recipe) -> Vec<&'static str> {
        let usual = Recipe::default();
        let mut rest = Self::asked(recipe.clone());
        rest.take_parts(&usual, &[Part::Prompt, Part::NegativePrompt, Part::Size, Part::FurtherStarts]);
        for key in SENT.iter().chain(&SENT_PICTURES) {
            rest.take_setting(key, &usual);
        }
        if recipe.batch_count <= MAX_PICTURES {
            rest.batch_count = usual.batch_count;
        }
        changed_settings(&usual, &rest)
    }
}

/// The studio of a job's device; `None` for a device of this computer.
#[must_use]
pub fn studio_of(device: &str) -> Option<&str> {
    device.strip_prefix(DEVICE)
}

/// A mask in black and white, as a studio takes it; transparent pixels are kept, as in
/// [`atelier_media::read_mask`]. Blocks.
///
/// # Errors
/// If it cannot be read.
pub(crate) fn sent_mask(source: &ImageSource) -> Result<Rgb8, PictureError> {
    let rgba = read_rgba_image(source)?;
    let over_black = |value: u8, alpha: u8| (u32::from(value) * u32::from(alpha) / 255) as u8;
    let pixels = rgba.samples.chunks_exact(4).flat_map(|it| [it[0], it[1], it[2]].map(|value| over_black(value, it[3]))).collect();
    Rgb8::new(rgba.width, rgba.height, pixels).ok_or(PictureError::Empty)
}

#[cfg(test)]
mod tests {
    use atelier_core::recipe::{FileRole, InitImage, Lora, Sampler, Seed};

    use super::*;

    #[test]
    fn a_job_of_a_studio_is_known_by_its_device() {
        let model = StudioModel { studio: "Studio of Anna".into(), model: "Dream".into() };
        assert_eq!(StudioModel::of_job(Some(&model.device()), "Dream"), Some(model));
        assert_eq!(StudioModel::of_job(Some("CUDA0"), "Dream"), None);
        assert_eq!(StudioModel::of_job(None, "Dream"), None);
    }

    #[test]
    fn what_no_studio_takes_is_named_and_what_is_about_this_computer_is_not() {
        let mut recipe = Recipe {
            prompt: "a lake".into(),
            width: 64,
            steps: 4,
            seed: Some(Seed(7)),
            sampler: Some(Sampler::EulerA),
            clip_skip: Some(2),
            batch_count: 8,
            threads: Some(1),
            flash_attention: false,
            init: Some(InitImage { image: ImageSource::File("a.png".into()), strength: 0.5 }),
            mask: Some(ImageSource::File("m.png".into())),
            ..Recipe::default()
        };
        recipe.files.set(FileRole::Model, "/a.gguf");
        assert!(StudioModel::not_taken(&recipe).is_empty());
        let asked = StudioModel::asked(recipe.clone());
        assert!(asked.files.is_empty() && asked.threads.is_none() && asked.steps == 4);
        let other = Recipe { batch_count: 9, seamless_x: true, loras: vec![Lora::new("/ink.safetensors".into(), 1.0)], ..recipe };
        assert_eq!(StudioModel::not_taken(&other), ["seamless tiling", "number of pictures", "LoRAs"]);
    }
}
