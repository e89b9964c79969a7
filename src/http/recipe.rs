//! From what a client asked for to a recipe: the model's own settings where nothing was chosen, and
//! the client's where it was. Pure: names are looked up in a list that was read before.

use atelier_core::canvas::{AreaSettings, StartFit};
use atelier_core::recipe::{
    ControlImage, FileRole, Hires, ImageSource, InitImage, Lora, PartialRecipe, Preprocessor, Recipe, Rgb8, Sampler, Scheduler, Seed,
    SeedBlend, SeedNumber, shaped_as,
};
use atelier_core::words::{Wildcards, take_loras_with_comments_if};
use atelier_gallery::queue::User;
use atelier_library::Family;
use atelier_studio::next_recipe::add_named_loras;

use super::error::Failure;
use super::models::{ListedModel, ModelList, named_file};
use super::names::UpscalerName;

/// Steps, sides in pixels and pictures that a client may ask for.
pub(crate) const STEPS: std::ops::RangeInclusive<u32> = 1..=150;
pub(crate) const SIDES: std::ops::RangeInclusive<u32> = 64..=4096;
pub(crate) const PICTURES: std::ops::RangeInclusive<u32> = 1..=10;
/// Guidance from which a distilled model burns its pictures.
const MAX_DISTILLED_GUIDANCE: f32 = 2.0;

/// What a client asked for. `None`: it did not choose.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wish {
    pub(crate) model: Option<String>,
    pub(crate) prompt: String,
    pub(crate) negative_prompt: String,
    /// The prompt before something in it was chosen; empty where nothing was.
    pub(crate) template: String,
    /// Nothing in the prompts is to be chosen: it was, where they come from.
    pub(crate) has_chosen_words: bool,
    pub(crate) width: Option<u32>,
    pub(crate) height: Option<u32>,
    pub(crate) steps: Option<u32>,
    /// Steps in parts of the model's own, where they were not chosen.
    pub(crate) effort: Option<f32>,
    pub(crate) guidance: Option<f32>,
    /// Also one that burns the pictures of a distilled model.
    pub(crate) takes_any_guidance: bool,
    pub(crate) distilled_guidance: Option<f32>,
    pub(crate) sampler: Option<Sampler>,
    pub(crate) scheduler: Option<Scheduler>,
    pub(crate) eta: Option<f32>,
    pub(crate) flow_shift: Option<f32>,
    pub(crate) clip_skip: Option<u32>,
    /// `None`: one is drawn.
    pub(crate) seed: Option<Seed>,
    /// Of what is chosen in the prompts; `None`: the first seed.
    pub(crate) words_seed: Option<Seed>,
    pub(crate) seed_blend: Option<SeedBlend>,
    pub(crate) pictures: Option<u32>,
    pub(crate) vae: Option<String>,
    /// Names of LoRAs beside those in the prompt, with their strengths.
    pub(crate) loras: Vec<(String, f32)>,
    /// What a client sends where nobody chose.
    pub(crate) unchosen: Unchosen,
    /// The start picture and its denoising strength.
    pub(crate) init: Option<(Rgb8, f32)>,
    /// Without a mask it is a reference to a model that changes those.
    pub(crate) is_edit: bool,
    pub(crate) mask: Option<Rgb8>,
    pub(crate) area: Option<AreaSettings>,
    pub(crate) start_fit: Option<StartFit>,
    pub(crate) references: Vec<Rgb8>,
    /// The field whose pictures are refused where the model looks at no references.
    pub(crate) needs_references: Option<&'static str>,
    pub(crate) hires: Option<HiresWish>,
    pub(crate) control: Option<ControlWish>,
    /// The size follows the start picture where none was chosen.
    pub(crate) is_shaped_as_start: bool,
    /// Settings beside those above.
    pub(crate) further: PartialRecipe,
    /// Sides of VAE tiles as parts of the finished picture, as the recipe reads them.
    pub(crate) relative_vae_tiles: Option<(f32, f32)>,
    /// The client asked to save the pictures: they are kept for ever.
    pub(crate) is_saved: bool,
    /// Who takes turns with the client's other users.
    pub(crate) user: User,
    /// Sentences on what was read otherwise than it was written.
    pub(crate) notes: Vec<String>,
}

/// What a client sends where nobody chose, so that the model's own counts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Unchosen {
    pub(crate) steps: Option<u32>,
    pub(crate) guidance: Option<f32>,
    pub(crate) size: Option<(u32, u32)>,
    pub(crate) sampler: Option<Sampler>,
}

impl Unchosen {
    /// What the model's own is otherwise, in a sentence.
    fn note(self, model: &str, recipe: &Recipe) -> Option<String> {
        let Recipe { steps, guidance, width, height, sampler, .. } = recipe;
        let is_other = sampler.is_none_or(|it| self.sampler != Some(it));
        let used = sampler.map_or("the engine's choice", Sampler::label);
        let replaced = [
            self.steps.filter(|sent| sent != steps).map(|sent| format!("steps {sent} by {steps}")),
            self.guidance.filter(|sent| sent != guidance).map(|sent| format!("guidance {sent} by {guidance}")),
            self.size.filter(|sent| *sent != (*width, *height)).map(|(wide, high)| format!("size {wide}x{high} by {width}x{height}")),
            self.sampler.filter(|_| is_other).map(|sent| format!("sampler {} by {used}", sent.label())),
        ];
        let replaced: Vec<String> = replaced.into_iter().flatten().collect();
        (!replaced.is_empty()).then(|| format!("Usual values were replaced by those of {model}: {}.", replaced.join(", ")))
    }
}

impl Wish {
    /// Enlarges a picture: a start that nothing is painted over.
    pub(crate) fn enlarging(image: Rgb8, hires: HiresWish, notes: Vec<String>) -> Self {
        let (width, height) = (Some(image.width()), Some(image.height()));
        Self { width, height, init: Some((image, 0.0)), hires: Some(HiresWish { strength: 0.0, ..hires }), notes, ..Self::default() }
    }

    /// Gives the start picture's shape to the sides that were not chosen. `usual`: the model's own.
    fn shape_as_start(&mut self, usual: (u32, u32)) {
        let Some((image, _)) = self.init.as_ref().filter(|_| self.is_shaped_as_start) else { return };
        let shaped = shaped_as((image.width(), image.height()), usual, (self.width, self.height));
        self.width.get_or_insert(shaped.0);
        self.height.get_or_insert(shaped.1);
    }

    /// Makes the start picture of an edit the first reference, where the model changes those.
    fn settle_edit(&mut self, model: &ListedModel) {
        if self.is_edit
            && model.edits
            && self.mask.is_none()
            && let Some((image, _)) = self.init.take()
        {
            self.references.insert(0, image);
        }
    }

    /// True where lists of words are to be read before something is chosen.
    pub(crate) fn names_wildcards(&self) -> bool {
        !self.has_chosen_words && self.words().names_wildcards()
    }

    /// Chooses in its prompts, with a note: the same for all of its pictures, by the seed of the first
    /// or by that of choices. `random`: the first seed where none was asked for.
    pub(crate) fn choose_words(mut self, random: Seed, lists: &dyn Wildcards) -> Result<Self, Failure> {
        let words = self.words();
        if self.has_chosen_words || !words.is_template() {
            return Ok(self);
        }
        let chosen = words.choose_pictures(random, lists);
        if let Some(fault) = chosen.faults.into_iter().next() {
            return Err(Failure::invalid("prompt", fault));
        }
        let Some(Recipe { prompt, negative_prompt, template, seed, .. }) = chosen.recipes.into_iter().next() else { return Ok(self) };
        self.notes.push(match self.pictures {
            Some(count @ 2..) => format!("Prompt of all {count} pictures: {prompt}"),
            _ => format!("Prompt of seed {}: {prompt}", SeedNumber(seed)),
        });
        Ok(Self { prompt, negative_prompt, template, seed, ..self })
    }

    /// Its prompts, as those of one picture.
    fn words(&self) -> Recipe {
        let (prompt, negative_prompt) = (self.prompt.clone(), self.negative_prompt.clone());
        Recipe { prompt, negative_prompt, seed: self.seed, words_seed: self.words_seed, ..Recipe::default() }
    }
}

/// A picture that the model follows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ControlWish {
    /// The name of a `ControlNet`; `None`: the model follows the picture by itself.
    pub(crate) model: Option<String>,
    pub(crate) image: Rgb8,
    pub(crate) strength: f32,
    /// Parts of the steps in which it acts.
    pub(crate) start: f32,
    pub(crate) end: f32,
    pub(crate) preprocessor: Option<Preprocessor>,
}

/// An enlarged second pass.
#[derive(Clone, Debug, Default)]
pub(crate) struct HiresWish {
    pub(crate) scale: f32,
    pub(crate) target: Option<(u32, u32)>,
    pub(crate) strength: f32,
    pub(crate) steps: Option<u32>,
    /// Noise levels of its own, in place of its strength and steps.
    pub(crate) sigmas: Vec<f32>,
    pub(crate) upscaler: UpscalerName,
    /// Side of the upscaler's tiles in pixels; `None`: the usual one.
    pub(crate) tile_size: Option<u32>,
}

/// A recipe that is ready for the queue.
#[derive(Clone, Debug)]
pub(crate) struct ResolvedWish {
    pub(crate) recipe: Recipe,
    pub(crate) model: ListedModel,
    pub(crate) is_saved: bool,
    pub(crate) user: User,
    pub(crate) notes: Vec<String>,
}

/// The model that a client means: the one it names, else the one of its own, else the first.
pub(crate) fn model_of<'a>(list: &'a ModelList, named: Option<&str>, own: Option<&str>) -> Result<&'a ListedModel, Failure> {
    if let Some(name) = named {
        return list.model(name).ok_or_else(|| Failure::not_found("Model", format!("There is no model named {name} here.")));
    }
    let own = own.and_then(|name| list.model(name));
    own.or(list.models.first()).ok_or_else(|| Failure::not_found("Model", "There is no model here yet. Download one in Atelier."))
}

/// The recipe of a wish. `own_model`: the model that this client chose before; `threads`: those that
/// the server was given.
pub(crate) fn make(mut wish: Wish, list: &ModelList, own_model: Option<&str>, threads: Option<u32>) -> Result<ResolvedWish, Failure> {
    let model = model_of(list, wish.model.as_deref(), own_model)?.clone();
    let mut notes = std::mem::take(&mut wish.notes);
    let mut recipe = Recipe::default();
    model.runnable.apply(&mut recipe);
    wish.shape_as_start((recipe.width, recipe.height));
    wish.settle_edit(&model);
    let is_distilled = model.runnable.defaults.cfg == Some(1.0);

    let mut named = Vec::new();
    let mut unknown = Vec::new();
    // What was chosen has no comments: the marks that are left are words.
    recipe.prompt = take_loras_with_comments_if(&wish.prompt, |tag| {
        let Some(path) = list.lora(&tag.name) else {
            unknown.push(tag.name);
            return false;
        };
        named.push((path.to_owned(), tag));
        true
    });
    let mut asked = Vec::new();
    for (name, strength) in wish.loras {
        match list.lora(&name) {
            Some(path) => asked.push(Lora::new(path.to_owned(), strength)),
            None => return Err(Failure::not_found("LoRA", format!("There is no LoRA named {name} here."))),
        }
    }
    notes.extend(unknown.into_iter().map(|name| format!("There is no LoRA named {name} here; its tag stays in the prompt.")));
    recipe.negative_prompt = wish.negative_prompt;
    // Of words in which nothing was chosen there is none.
    recipe.words_seed = wish.words_seed.filter(|_| !wish.template.is_empty());
    recipe.template = wish.template;

    recipe.width = wish.width.unwrap_or(recipe.width);
    recipe.height = wish.height.unwrap_or(recipe.height);
    if let Some(steps) = wish.steps {
        recipe.steps = steps;
    } else if wish.effort.is_some() && is_distilled {
        notes.push(format!("{} is distilled: it has its own {} steps in every quality.", model.name, recipe.steps));
    } else if let Some(effort) = wish.effort {
        recipe.steps = ((recipe.steps as f32 * effort).round() as u32).clamp(*STEPS.start(), *STEPS.end());
    }
    if let Some(guidance) = wish.guidance {
        if is_distilled && guidance > MAX_DISTILLED_GUIDANCE && !wish.takes_any_guidance {
            notes.push(format!("{} is distilled: guidance {} was used in place of {guidance}.", model.name, recipe.guidance));
        } else {
            recipe.guidance = guidance;
        }
    }
    if let Some(guidance) = wish.distilled_guidance {
        recipe.distilled_guidance = guidance;
    }
    recipe.sampler = wish.sampler.or(recipe.sampler);
    recipe.scheduler = wish.scheduler.or(recipe.scheduler);
    recipe.eta = wish.eta.or(recipe.eta);
    recipe.flow_shift = wish.flow_shift.or(recipe.flow_shift);
    recipe.clip_skip = wish.clip_skip.or(recipe.clip_skip);
    wish.further.apply(&mut recipe);
    recipe.seed = wish.seed;
    recipe.seed_blend = wish.seed_blend;
    recipe.batch_count = wish.pictures.unwrap_or(1);
    recipe.threads = threads;
    if let Some(name) = wish.vae {
        let file = named_file(&list.vaes, &name);
        let file = file.ok_or_else(|| Failure::not_found("VAE", format!("There is no VAE named {name} here.")))?;
        recipe.files.set(FileRole::Vae, &file.path);
    }
    let has_start = wish.init.is_some();
    recipe.init = wish.init.map(|(image, strength)| InitImage { image: ImageSource::Pixels(image), strength });
    if let Some(mask) = wish.mask.filter(|_| has_start) {
        recipe.mask = Some(ImageSource::Pixels(mask));
        recipe.area = wish.area.map(AreaSettings::clamped);
    }
    if let Some(fit) = wish.start_fit {
        recipe.start_fit = fit;
    }
    recipe.reference_images = wish.references.into_iter().map(ImageSource::Pixels).collect();
    if let Some(hires) = wish.hires {
        recipe.hires = Some(hires_of(hires, list)?);
    }
    if let Some(parts) = wish.relative_vae_tiles {
        recipe.set_relative_vae_tiles(parts, Family::latent_pixels_of(model.family));
    }
    if let Some(ControlWish { model, image, strength, start, end, preprocessor }) = wish.control {
        if let Some(name) = model {
            let file = named_file(&list.controlnets, &name);
            let file = file.ok_or_else(|| Failure::not_found("ControlNet", format!("There is no ControlNet named {name} here.")))?;
            recipe.files.set(FileRole::Controlnet, &file.path);
        }
        recipe.control = Some(ControlImage { image: ImageSource::Pixels(image), strength, start, end, preprocessor });
    }
    // The steps of a tag are those of the whole picture.
    let steps = recipe.steps_in_pass(0);
    add_named_loras(&mut recipe.loras, named.into_iter().map(|(path, tag)| tag.lora(path, steps)).chain(asked));
    recipe.embeddings = list.embeddings_in(&[&recipe.prompt, &recipe.negative_prompt]);
    notes.extend(wish.unchosen.note(&model.name, &recipe));
    notes.extend(recipe.clamp());
    Ok(ResolvedWish { recipe, model, is_saved: wish.is_saved, user: wish.user, notes })
}

fn hires_of(wish: HiresWish, list: &ModelList) -> Result<Hires, Failure> {
    let HiresWish { scale, target, strength, steps, sigmas, upscaler, tile_size } = wish;
    let mut latent = None;
    let upscaler = match upscaler {
        UpscalerName::Lanczos => None,
        UpscalerName::Latent(way) => {
            latent = Some(way);
            None
        }
        UpscalerName::Model(name) => {
            let file = named_file(&list.upscalers, &name);
            let file = file.ok_or_else(|| Failure::not_found("Upscaler", format!("There is no upscaler named {name} here.")))?;
            Some(file.path.clone())
        }
    };
    Ok(Hires { scale, target, strength, steps, sigmas, upscaler, tile_size, latent, ..Hires::default() })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use atelier_core::recipe::{ModelFiles, TileSize};
    use atelier_core::words::NoWildcards;
    use atelier_library::{Defaults, Runnable};

    fn list(defaults: Defaults) -> ModelList {
        let files: ModelFiles = [(FileRole::Model, PathBuf::from("/m/model.gguf"))].into_iter().collect();
        let runnable = Runnable { id: "model".into(), name: "Model".into(), files, loras: Vec::new(), defaults };
        let model = ListedModel {
            title: "Model".into(),
            name: "Model".into(),
            file: "model.gguf".into(),
            sha256: None,
            family: None,
            edits: false,
            runnable,
        };
        ModelList { models: vec![model], loras: vec!["/m/ink.safetensors".into()], ..ModelList::default() }
    }

    #[test]
    fn what_was_not_chosen_is_the_models_own_and_a_distilled_model_is_not_burnt() {
        let turbo = Defaults { cfg: Some(1.0), steps: Some(8), width: Some(1024), height: Some(768), ..Defaults::default() };
        let list = list(turbo);
        let made = make(Wish::default(), &list, None, Some(1)).unwrap();
        assert_eq!((made.recipe.steps, made.recipe.guidance, made.recipe.width, made.recipe.height), (8, 1.0, 1024, 768));
        assert_eq!((made.recipe.seed, made.recipe.threads, made.notes.len()), (None, Some(1), 0));
        let wish = Wish { guidance: Some(4.5), steps: Some(22), effort: Some(2.0), ..Wish::default() };
        let made = make(wish, &list, None, None).unwrap();
        assert_eq!((made.recipe.guidance, made.recipe.steps), (1.0, 22));
        assert!(made.notes[0].contains("distilled"), "{:?}", made.notes);
        let made = make(Wish { guidance: Some(1.5), effort: Some(2.0), ..Wish::default() }, &list, None, None).unwrap();
        assert_eq!(
            (made.recipe.guidance, made.recipe.steps, made.notes),
            (1.5, 8, vec!["Model is distilled: it has its own 8 steps in every quality.".to_owned()]),
            "quality does not slow a distilled model down"
        );
        let made = make(Wish { guidance: Some(4.5), takes_any_guidance: true, ..Wish::default() }, &list, None, None).unwrap();
        assert_eq!((made.recipe.guidance, made.notes.len()), (4.5, 0), "where the server was started so");
    }

    #[test]
    fn what_took_the_place_of_a_usual_value_is_told_and_what_is_the_same_is_not() {
        let unchosen = Unchosen { steps: Some(20), guidance: Some(7.0), size: Some((512, 512)), sampler: Some(Sampler::EulerA) };
        let notes = |defaults| make(Wish { unchosen, ..Wish::default() }, &list(defaults), None, None).unwrap().notes;
        let turbo = Defaults { cfg: Some(1.0), steps: Some(8), width: Some(1024), height: Some(768), ..Defaults::default() };
        let told = "Usual values were replaced by those of Model: steps 20 by 8, guidance 7 by 1, size 512x512 by 1024x768, \
            sampler Euler a by the engine's choice.";
        assert_eq!(notes(turbo), [told]);
        let usual = Defaults {
            cfg: Some(7.0),
            steps: Some(20),
            width: Some(512),
            height: Some(512),
            sampler: Some(Sampler::EulerA),
            ..Defaults::default()
        };
        assert_eq!(notes(usual.clone()), Vec::<String>::new());
        let other = Defaults { sampler: Some(Sampler::Lcm), ..usual };
        assert_eq!(notes(other), ["Usual values were replaced by those of Model: sampler Euler a by LCM."]);
    }

    #[test]
    fn relative_tiles_count_the_latents_of_the_model() {
        let mut list = list(Defaults { width: Some(1024), height: Some(512), ..Defaults::default() });
        let mut tile = |family| {
            list.models[0].family = family;
            make(Wish { relative_vae_tiles: Some((0.5, 0.25)), ..Wish::default() }, &list, None, None).unwrap().recipe.vae_tile_size
        };
        assert_eq!(tile(Some(Family::ErnieImage)), Some(TileSize { width: 32, height: 8 }));
        assert_eq!([tile(Some(Family::QwenImage)), tile(None)], [Some(TileSize { width: 64, height: 16 }); 2]);
    }

    #[test]
    fn effort_is_in_parts_of_the_models_own_steps() {
        let list = list(Defaults { steps: Some(20), ..Defaults::default() });
        let steps = |effort| make(Wish { effort: Some(effort), ..Wish::default() }, &list, None, None).unwrap().recipe.steps;
        assert_eq!((steps(0.5), steps(1.5), steps(100.0)), (10, 30, 150));
    }

    #[test]
    fn an_edit_is_a_reference_to_a_model_that_edits_and_the_start_of_any_other() {
        let picture = |width: u32| Rgb8::new(width, 64, vec![0; width as usize * 64 * 3]).unwrap();
        let mut list = list(Defaults { width: Some(128), height: Some(128), ..Defaults::default() });
        let mut made = |edits: bool, is_edit: bool, mask: Option<Rgb8>| {
            list.models[0].edits = edits;
            let (init, references) = (Some((picture(128), 0.75)), vec![picture(192)]);
            let wish = Wish { init, references, mask, is_edit, is_shaped_as_start: true, ..Wish::default() };
            let recipe = make(wish, &list, None, None).unwrap().recipe;
            assert_eq!((recipe.width, recipe.height), (128, 64), "the start's shape");
            let widths = recipe.reference_images.iter().map(|it| if let ImageSource::Pixels(image) = it { image.width() } else { 0 });
            (recipe.init.is_some(), widths.collect::<Vec<_>>())
        };
        assert_eq!(made(true, true, None), (false, vec![128, 192]));
        for kept in [made(false, true, None), made(true, false, None), made(true, true, Some(picture(128)))] {
            assert_eq!(kept, (true, vec![192]));
        }
    }

    #[test]
    fn loras_are_taken_out_of_the_prompt_where_they_are_known() {
        let list = list(Defaults::default());
        let wish = Wish { prompt: "a lake <lora:ink:0.5> <lora:nobody:1>".into(), ..Wish::default() };
        let made = make(wish, &list, None, None).unwrap();
        assert_eq!(made.recipe.prompt, "a lake <lora:nobody:1>");
        assert_eq!(made.recipe.loras, [Lora::new("/m/ink.safetensors".into(), 0.5)]);
        assert!(made.notes[0].contains("nobody"), "{:?}", made.notes);
        let wish = Wish { prompt: "a lake [<lora:ink:0.5>::5]".into(), steps: Some(10), ..Wish::default() };
        let made = make(wish, &list, None, None).unwrap().recipe;
        let ink = Lora { end: 0.5, ..Lora::new("/m/ink.safetensors".into(), 0.5) };
        assert_eq!((made.prompt.as_str(), made.loras), ("a lake", vec![ink]));
        let wish = Wish { loras: vec![("nobody".into(), 1.0)], ..Wish::default() };
        assert!(matches!(make(wish, &list, None, None), Err(Failure::NotFound { what: "LoRA", .. })));
    }

    #[test]
    fn what_is_chosen_in_a_prompt_follows_from_the_seed_and_is_told() {
        let of = |prompt: &str| Wish { prompt: prompt.into(), seed: Some(Seed(3)), ..Wish::default() };
        let template = "{red|blue} lake <lora:ink:0.5>";
        let chosen = of(template).choose_words(Seed(9), &NoWildcards).unwrap();
        let colour = chosen.prompt.split(' ').next().unwrap().to_owned();
        assert!(["red", "blue"].contains(&colour.as_str()), "{}", chosen.prompt);
        assert_eq!(chosen.notes, [format!("Prompt of seed 3: {colour} lake <lora:ink:0.5>")]);
        assert_eq!(of(template).choose_words(Seed(10), &NoWildcards).unwrap().prompt, chosen.prompt, "the same seed chooses the same");
        let made = make(chosen, &list(Defaults::default()), None, None).unwrap().recipe;
        assert_eq!((made.prompt, made.template.as_str(), made.seed), (format!("{colour} lake"), template, Some(Seed(3))));
        let list = list(Defaults::default());
        let own = |prompt: &str, seed| Wish { seed: Some(Seed(seed)), words_seed: Some(Seed(3)), ..of(prompt) };
        for seed in 10..20 {
            let made = make(own(template, seed).choose_words(Seed(9), &NoWildcards).unwrap(), &list, None, None).unwrap().recipe;
            assert_eq!((made.prompt, made.seed, made.words_seed), (format!("{colour} lake"), Some(Seed(seed)), Some(Seed(3))));
        }
        let plain = make(own("a lake", 10).choose_words(Seed(9), &NoWildcards).unwrap(), &list, None, None).unwrap().recipe;
        assert_eq!(plain.words_seed, None, "nothing was chosen");
        let several = Wish { seed: None, pictures: Some(4), ..of("a {lake|lake}") }.choose_words(Seed(9), &NoWildcards).unwrap();
        assert_eq!((several.seed, several.notes), (Some(Seed(9)), vec!["Prompt of all 4 pictures: a lake".to_owned()]));
        for wish in [of("a {lake}"), Wish { has_chosen_words: true, ..of("{red|blue} __colour__") }] {
            assert!(!wish.names_wildcards());
            let same = wish.clone().choose_words(Seed(9), &NoWildcards).unwrap();
            assert_eq!((same.prompt, same.template.as_str(), same.notes.len()), (wish.prompt, "", 0));
        }
        assert!(of("a __colour__ lake").names_wildcards());
        assert!(matches!(of("a __colour__ lake").choose_words(Seed(9), &NoWildcards), Err(Failure::Invalid(_))));
    }

    #[test]
    fn a_model_that_is_named_must_be_there_and_one_that_was_chosen_before_need_not() {
        let list = list(Defaults::default());
        let named = Wish { model: Some("nobody".into()), ..Wish::default() };
        assert!(matches!(make(named, &list, None, None), Err(Failure::NotFound { what: "Model", .. })));
        assert_eq!(make(Wish::default(), &list, Some("gone"), None).unwrap().model.name, "Model");
        assert!(make(Wish::default(), &ModelList::default(), None, None).is_err());
    }
}
