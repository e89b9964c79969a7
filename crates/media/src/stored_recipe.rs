//! The recipe as it is stored in a picture: types of their own, so that old pictures stay readable when the program changes.
//!
//! Invariants: no path is stored, only names and sizes of files; where modules ran is not stored, it is about the machine and not about
//! the picture; fields of later versions are passed over; numbers from a file are brought into range. Pure: no files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::MAX_SIDE;
use atelier_core::canvas::{Borders, StartFit};
use atelier_core::cpu_math::CpuMath;
use atelier_core::json::has_more_values;
use atelier_core::picture_note::{NoteKind, PictureNote};
use atelier_core::placement::Change;
use atelier_core::recipe::{
    ControlImage, EarlierSteps, FileRole, Hires, ImageSource, InitImage, Lora, ModelFiles, Person, PictureInfo, Recipe, RedrawTiles, Rng,
    SeedBlend, StoredArea,
};

/// The version that this program writes.
const VERSION: u32 = 1;
/// Values of a JSON text of a picture that is read. The graph of a large workflow has some ten thousand.
pub(crate) const MAX_VALUES: usize = 1 << 17;
/// Notes of a picture, remedies of a note and characters of its sentence that are read.
const MOST_NOTES: usize = 16;
const MOST_REMEDIES: usize = 8;
const MOST_CHARACTERS: usize = 500;
/// More files of a kind than this are no recipe.
const MOST_FILES: usize = 64;

/// A recipe as it is stored in a picture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoredRecipe {
    version: u32,
    app: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    files: BTreeMap<String, StoredFile>,
    prompt: String,
    negative_prompt: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    negative_in_prompt: bool,
    width: u32,
    height: u32,
    steps: u32,
    guidance: f32,
    distilled_guidance: f32,
    #[serde(skip_serializing_if = "Option::is_none")]
    sampler: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scheduler: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    eta: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flow_shift: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clip_skip: Option<u32>,
    seed: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed_blend: Option<SeedBlend>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rng: Option<String>,
    vae_tiling: bool,
    flash_attention: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    vae_conv_scale: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    init: Option<StoredImage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mask: Option<StoredFile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_fit: Option<String>,
    /// Of a picture of which only a part was generated, the size at which the model worked is stored in place of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    area: Option<StoredArea>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outpaint: Option<Borders>,
    /// Of a picture that was enlarged, the size of the first pass is stored in place of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    hires: Option<StoredHires>,
    /// Of a branch, the settings of its first steps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    earlier_steps: Vec<StoredSteps>,
    /// Of a draft, its last step.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_step: Option<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reference_images: Vec<StoredFile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    control: Option<StoredImage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    person: Option<StoredPerson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    loras: Vec<StoredLora>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    embeddings: Vec<StoredFile>,
    /// How the processor computed, where that changed the bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_math: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upscaled: Option<StoredUpscale>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<StoredNote>,
}

/// Something that a person should know of the picture.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct StoredNote {
    /// Something went wrong; else something was changed.
    wrong: bool,
    sentence: String,
    /// Changes of the recipe, as `Change` writes them; unknown ones are passed over.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    remedies: Vec<serde_json::Value>,
}

impl From<&PictureNote> for StoredNote {
    fn from(note: &PictureNote) -> Self {
        // Those about the machine say nothing elsewhere, and too much.
        let remedies = note.remedies.iter().filter(|change| !change.is_placement());
        Self {
            wrong: note.kind == NoteKind::Wrong,
            sentence: note.sentence.clone(),
            remedies: remedies.filter_map(|change| serde_json::to_value(change).ok()).collect(),
        }
    }
}

impl StoredNote {
    fn note(&self) -> PictureNote {
        let change = |value: &serde_json::Value| serde_json::from_value::<Change>(value.clone()).ok();
        let remedies = self.remedies.iter().take(MOST_REMEDIES).filter_map(change).filter(is_local).collect();
        let kind = if self.wrong { NoteKind::Wrong } else { NoteKind::Changed };
        PictureNote { kind, sentence: self.sentence.chars().take(MOST_CHARACTERS).collect(), remedies }
    }
}

/// True for a change whose files are named without folders, and that is about the picture.
fn is_local(change: &Change) -> bool {
    match change {
        Change::Quantisation { name, .. } | Change::WithoutLora { name } => bare_name(name) == Some(name),
        other => !other.is_placement(),
    }
}

/// A file, known by its name and size.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoredFile {
    /// Its name, without folders. Empty: pixels that were in no file.
    pub name: String,
    /// Its size in bytes; 0 where not known.
    pub bytes: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct StoredImage {
    #[serde(flatten)]
    file: StoredFile,
    strength: f32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct StoredPerson {
    images: Vec<StoredFile>,
    style_strength: f32,
    #[serde(skip_serializing_if = "Option::is_none")]
    id_embedding: Option<StoredFile>,
}

impl Default for StoredPerson {
    fn default() -> Self {
        Self { images: Vec::new(), style_strength: Person::USUAL_STYLE_STRENGTH, id_embedding: None }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct StoredHires {
    scale: f32,
    strength: f32,
    #[serde(skip_serializing_if = "Option::is_none")]
    upscaler: Option<StoredFile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tiles: Option<RedrawTiles>,
}

impl Default for StoredHires {
    fn default() -> Self {
        let Hires { scale, strength, .. } = Hires::default();
        Self { scale, strength, upscaler: None, tiles: None }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct StoredLora {
    #[serde(flatten)]
    file: StoredFile,
    strength: f32,
}

/// Earlier steps of a branch, with the settings in which they may differ from the others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct StoredSteps {
    until_step: u32,
    /// Name of the picture that they were taken from.
    #[serde(skip_serializing_if = "Option::is_none")]
    picture: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed_blend: Option<SeedBlend>,
    prompt: String,
    negative_prompt: String,
    guidance: f32,
    distilled_guidance: f32,
    control_strength: f32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    loras: Vec<StoredLora>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct StoredUpscale {
    model: StoredFile,
    width: u32,
    height: u32,
}

impl Default for StoredRecipe {
    fn default() -> Self {
        Self::of(&Recipe::default(), PictureInfo { index: 0, seed: -1, cpu_math: None }, 512, 512, |_| 0)
    }
}

/// Kind of a file that a stored recipe needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequiredFile {
    /// A file of the model.
    File(FileRole),
    /// A low-rank adapter.
    Lora,
    /// A textual inversion.
    Embedding,
    /// A picture to start from, a mask, a reference or a control picture, or one of a person.
    Image,
    /// Features of the faces in pictures of a person.
    IdEmbedding,
}

/// A file that a recipe needs and that was not found on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingFile {
    /// Its kind.
    pub need: RequiredFile,
    /// Its name; empty where it was no file.
    pub name: String,
    /// Its size in bytes; 0 where not known.
    pub bytes: u64,
}

/// A recipe read from a picture.
#[derive(Clone, Debug, PartialEq)]
pub struct RestoredRecipe {
    /// The recipe; what is missing is left out of it.
    pub recipe: Recipe,
    /// Files that were not found.
    pub missing: Vec<MissingFile>,
    /// Parts that this version does not know, in sentences for a person.
    pub notes: Vec<String>,
}

impl StoredRecipe {
    /// The stored form of one picture of a recipe, with its own seed and its size in pixels. `size_of` gives a file's size in bytes.
    #[must_use]
    pub fn of(recipe: &Recipe, info: PictureInfo, width: u32, height: u32, size_of: impl Fn(&Path) -> u64) -> Self {
        let file = |path: &Path| StoredFile {
            name: path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
            bytes: size_of(path),
        };
        let image = |source: &ImageSource| match source {
            ImageSource::File(path) => file(path),
            ImageSource::Pixels(_) => StoredFile::default(),
        };
        let stored_loras = |loras: &[Lora]| loras.iter().map(|it| StoredLora { file: file(&it.path), strength: it.strength }).collect();
        let (width, height) = if recipe.has_own_size() { (recipe.width, recipe.height) } else { (width, height) };
        Self {
            version: VERSION,
            app: concat!("Atelier ", env!("CARGO_PKG_VERSION")).to_owned(),
            model: None,
            files: recipe.files.iter().map(|(role, path)| (role.key().to_owned(), file(path))).collect(),
            prompt: recipe.prompt.clone(),
            negative_prompt: recipe.negative_prompt.clone(),
            negative_in_prompt: recipe.negative_in_prompt,
            width,
            height,
            steps: recipe.steps,
            guidance: recipe.guidance,
            distilled_guidance: recipe.distilled_guidance,
            sampler: recipe.sampler.map(|it| it.key().to_owned()),
            scheduler: recipe.scheduler.map(|it| it.key().to_owned()),
            eta: recipe.eta,
            flow_shift: recipe.flow_shift,
            clip_skip: recipe.clip_skip,
            seed: info.seed,
            seed_blend: recipe.seed_blend,
            rng: (recipe.rng != Rng::default()).then(|| recipe.rng.key().to_owned()),
            vae_tiling: recipe.vae_tiling,
            flash_attention: recipe.flash_attention,
            vae_conv_scale: recipe.vae_conv_scale,
            init: recipe.init.as_ref().map(|init| StoredImage { file: image(&init.image), strength: init.strength }),
            mask: recipe.mask.as_ref().map(image),
            start_fit: (recipe.start_fit != StartFit::default()).then(|| recipe.start_fit.key().to_owned()),
            area: recipe.area.map(StoredArea::from),
            outpaint: recipe.outpaint,
            hires: recipe.hires.as_ref().map(|hires| StoredHires {
                scale: hires.scale,
                strength: hires.strength,
                upscaler: hires.upscaler.as_deref().map(file),
                tiles: hires.tiles.clone(),
            }),
            earlier_steps: recipe
                .earlier_steps
                .iter()
                .map(|steps| StoredSteps {
                    until_step: steps.until_step,
                    picture: steps.picture.clone(),
                    seed: steps.seed,
                    seed_blend: steps.seed_blend,
                    prompt: steps.prompt.clone(),
                    negative_prompt: steps.negative_prompt.clone(),
                    guidance: steps.guidance,
                    distilled_guidance: steps.distilled_guidance,
                    control_strength: steps.control_strength,
                    loras: stored_loras(&steps.loras),
                })
                .collect(),
            last_step: recipe.draft_step(),
            reference_images: recipe.reference_images.iter().map(image).collect(),
            control: recipe.control.as_ref().map(|control| StoredImage { file: image(&control.image), strength: control.strength }),
            person: (!recipe.person.is_empty()).then(|| StoredPerson {
                images: recipe.person.images.iter().map(image).collect(),
                style_strength: recipe.person.style_strength,
                id_embedding: recipe.person.id_embedding.as_deref().map(file),
            }),
            loras: stored_loras(&recipe.loras),
            embeddings: recipe.used_embeddings().map(file).collect(),
            cpu_math: info.cpu_math.map(|math| math.name().to_owned()),
            upscaled: None,
            notes: Vec::new(),
        }
    }

    /// How the processor computed, where that changed the bytes and is known here.
    #[must_use]
    pub fn cpu_math(&self) -> Option<CpuMath> {
        self.cpu_math.as_ref().and_then(|name| name.parse().ok())
    }

    /// With the model's name, which is for people: its files are found by their own names.
    #[must_use]
    pub fn named(self, model: Option<String>) -> Self {
        Self { model, ..self }
    }

    /// With what a person should know of the picture.
    #[must_use]
    pub fn with_notes(self, notes: &[PictureNote]) -> Self {
        Self { notes: notes.iter().map(StoredNote::from).collect(), ..self }
    }

    /// What a person should know of the picture.
    #[must_use]
    pub fn notes(&self) -> Vec<PictureNote> {
        self.notes.iter().take(MOST_NOTES).map(StoredNote::note).collect()
    }

    /// The model's name, where it has one.
    #[must_use]
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// Reads the stored text; `None` where it is none of ours.
    #[must_use]
    pub fn from_json(text: &str) -> Option<Self> {
        if has_more_values(text.as_bytes(), MAX_VALUES) {
            return None;
        }
        serde_json::from_str(text).ok()
    }

    /// The text that is stored.
    ///
    /// # Errors
    /// Never in practice: every field has a form in JSON.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }

    /// The picture was enlarged to this size in pixels.
    pub fn set_upscaled(&mut self, model: StoredFile, width: u32, height: u32) {
        self.upscaled = Some(StoredUpscale { model, width, height });
    }

    /// The recipe that makes this picture again. `resolve` finds a file on this machine by its name, which is never a path, and its size
    /// in bytes.
    #[must_use]
    pub fn into_recipe(self, resolve: impl Fn(RequiredFile, &str, u64) -> Option<PathBuf>) -> RestoredRecipe {
        let (mut missing, mut notes) = (Vec::new(), Vec::new());
        let mut find = |need: RequiredFile, file: &StoredFile| -> Option<PathBuf> {
            let name = bare_name(&file.name);
            let found = name.and_then(|name| resolve(need, name, file.bytes));
            if found.is_none() {
                missing.push(MissingFile { need, name: name.unwrap_or_default().to_owned(), bytes: file.bytes });
            }
            found
        };

        let mut files = ModelFiles::default();
        for (key, file) in self.files.iter().take(MOST_FILES) {
            let Some(role) = FileRole::from_key(key) else {
                notes.push(format!("This version of Atelier does not know the part \"{key}\" of the model; it is left out."));
                continue;
            };
            if let Some(path) = find(RequiredFile::File(role), file) {
                files.set(role, path);
            }
        }
        let strength = |value: f32| value.clamp(0.0, 1.0);
        let init = self.init.as_ref().and_then(|init| Some((find(RequiredFile::Image, &init.file)?, strength(init.strength))));
        let mask = self.mask.as_ref().and_then(|file| find(RequiredFile::Image, file)).map(ImageSource::File);
        let reference_images = self
            .reference_images
            .iter()
            .take(MOST_FILES)
            .filter_map(|file| find(RequiredFile::Image, file))
            .map(ImageSource::File)
            .collect();
        let control =
            self.control.as_ref().and_then(|control| Some((find(RequiredFile::Image, &control.file)?, strength(control.strength))));
        let person = self.person.map_or_else(Person::default, |person| {
            let images = person.images.iter().take(Person::MOST_IMAGES).filter_map(|file| find(RequiredFile::Image, file));
            let images = images.map(ImageSource::File).collect();
            let id_embedding = person.id_embedding.as_ref().and_then(|file| find(RequiredFile::IdEmbedding, file));
            Person { images, style_strength: person.style_strength, id_embedding }.clamped()
        });
        let mut found_loras = |loras: &[StoredLora]| -> Vec<Lora> {
            let found = loras.iter().take(MOST_FILES).filter_map(|lora| {
                let path = find(RequiredFile::Lora, &lora.file)?;
                Some(Lora { path, strength: lora.strength.clamp(-10.0, 10.0) })
            });
            found.collect()
        };
        let loras = found_loras(&self.loras);
        let earlier_steps = self.earlier_steps.into_iter().take(EarlierSteps::MOST).map(|steps| {
            let loras = found_loras(&steps.loras);
            let picture = steps.picture.as_deref().and_then(bare_name).map(str::to_owned);
            let steps = EarlierSteps {
                until_step: steps.until_step,
                picture,
                seed: steps.seed,
                seed_blend: steps.seed_blend,
                prompt: steps.prompt,
                negative_prompt: steps.negative_prompt,
                guidance: steps.guidance,
                distilled_guidance: steps.distilled_guidance,
                control_strength: steps.control_strength,
                loras,
            };
            steps.clamped()
        });
        let earlier_steps = earlier_steps.collect();

        let embeddings = self.embeddings.iter().take(MOST_FILES).filter_map(|file| find(RequiredFile::Embedding, file)).collect();

        // Without the picture that it enlarges it says nothing.
        let hires = self.hires.as_ref().filter(|_| init.is_some() || self.init.is_none()).map(|hires| {
            let upscaler = hires.upscaler.as_ref().and_then(|file| find(RequiredFile::File(FileRole::Upscaler), file));
            Hires { scale: hires.scale, strength: hires.strength, upscaler, allow_pickle: false, tiles: hires.tiles.clone() }.clamped()
        });

        let defaults = Recipe::default();
        // Without their picture they say nothing.
        let area = self.area.filter(|_| init.is_some() && mask.is_some()).map(Into::into);
        let outpaint = self.outpaint.filter(|_| init.is_some()).map(Borders::clamped);
        let sampler = known(self.sampler.as_deref(), "sampler", &mut notes);
        let scheduler = known(self.scheduler.as_deref(), "scheduler", &mut notes);
        let rng = known(self.rng.as_deref(), "random number generator", &mut notes).unwrap_or_default();
        let recipe = Recipe {
            files,
            prompt: self.prompt,
            negative_prompt: self.negative_prompt,
            negative_in_prompt: self.negative_in_prompt,
            width: in_range(self.width, MAX_SIDE, defaults.width),
            height: in_range(self.height, MAX_SIDE, defaults.height),
            steps: in_range(self.steps, 10_000, defaults.steps),
            guidance: finite(self.guidance).unwrap_or(defaults.guidance),
            distilled_guidance: finite(self.distilled_guidance).unwrap_or(defaults.distilled_guidance),
            sampler,
            scheduler,
            eta: self.eta.and_then(finite),
            flow_shift: self.flow_shift.and_then(finite),
            clip_skip: self.clip_skip,
            seed: self.seed,
            seed_blend: self.seed_blend.map(SeedBlend::clamped),
            rng,
            batch_count: 1,
            vae_tiling: self.vae_tiling,
            flash_attention: self.flash_attention,
            vae_conv_scale: self.vae_conv_scale,
            init: init.map(|(path, strength)| InitImage { image: ImageSource::File(path), strength }),
            mask,
            start_fit: self.start_fit.as_deref().and_then(StartFit::from_key).unwrap_or_default(),
            area,
            outpaint,
            hires,
            earlier_steps,
            last_step: self.last_step.filter(|step| (1..=10_000).contains(step)),
            reference_images,
            control: control.map(|(path, strength)| ControlImage { image: ImageSource::File(path), strength }),
            person,
            loras,
            disabled_loras: Vec::new(),
            embeddings,
            placement: defaults.placement,
            threads: None,
        };
        RestoredRecipe { recipe, missing, notes }
    }
}

fn known<T: std::str::FromStr>(name: Option<&str>, what: &str, notes: &mut Vec<String>) -> Option<T> {
    let name = name?;
    let found = name.parse().ok();
    if found.is_none() {
        notes.push(format!("This version of Atelier does not have the {what} \"{name}\"; the usual one is used."));
    }
    found
}

fn in_range(value: u32, most: u32, otherwise: u32) -> u32 {
    if (1..=most).contains(&value) { value } else { otherwise }
}

fn finite(value: f32) -> Option<f32> {
    value.is_finite().then_some(value)
}

/// The name, where it is one and not a way into some folder; whichever system's separators it uses.
fn bare_name(name: &str) -> Option<&str> {
    let name = name.rsplit(['/', '\\']).next()?;
    (!name.is_empty() && name != "." && name != ".." && !name.contains(['\0', ':'])).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::canvas::{AreaFill, AreaSettings};
    use atelier_core::recipe::{PlacementText, Rgb8, Sampler, Scheduler};

    const INFO: PictureInfo = PictureInfo { index: 2, seed: 44, cpu_math: Some(CpuMath::Bf16) };

    fn full() -> Recipe {
        let mut recipe = Recipe {
            prompt: "a lake, 湖\n\"quoted\"".into(),
            negative_prompt: "fog".into(),
            negative_in_prompt: true,
            sampler: Some(Sampler::Dpmpp2sA),
            scheduler: Some(Scheduler::KlOptimal),
            eta: Some(0.3),
            flow_shift: Some(3.0),
            clip_skip: Some(2),
            seed: 42,
            seed_blend: Some(SeedBlend { seed: 43, amount: 0.25 }),
            last_step: Some(9),
            rng: Rng::Cpu,
            batch_count: 4,
            vae_tiling: true,
            flash_attention: false,
            vae_conv_scale: true,
            init: Some(InitImage { image: ImageSource::File("/home/someone/in.png".into()), strength: 0.5 }),
            mask: Some(ImageSource::File("/home/someone/mask.png".into())),
            start_fit: StartFit::Fit,
            reference_images: vec![ImageSource::File("/home/someone/ref.png".into())],
            control: Some(ControlImage { image: ImageSource::File("/home/someone/pose.png".into()), strength: 0.9 }),
            person: Person {
                images: vec![ImageSource::File("/home/someone/ann.png".into())],
                style_strength: 35.0,
                id_embedding: Some("/home/someone/id_embeds.bin".into()),
            },
            loras: vec![Lora { path: "/home/someone/loras/ink.safetensors".into(), strength: 0.7 }],
            embeddings: vec!["/home/someone/embeddings/fog.safetensors".into()],
            placement: PlacementText { backend: "te=RPC0[10.0.0.4:50052]".into(), ..PlacementText::default() },
            threads: Some(3),
            ..Recipe::default()
        };
        recipe.files.set(FileRole::Diffusion, "/home/someone/models/z.gguf");
        recipe.files.set(FileRole::Llm, "/home/someone/models/qwen.gguf");
        recipe
    }

    fn stored(recipe: &Recipe) -> String {
        StoredRecipe::of(recipe, INFO, 640, 480, |path| path.as_os_str().len() as u64).to_json().unwrap()
    }

    fn restored(text: &str, resolve: impl Fn(RequiredFile, &str, u64) -> Option<PathBuf>) -> RestoredRecipe {
        StoredRecipe::from_json(text).unwrap().into_recipe(resolve)
    }

    #[test]
    fn a_recipe_comes_back_with_the_files_that_are_found_by_name_and_size() {
        let folder = |need| match need {
            RequiredFile::File(_) => "/other/models",
            RequiredFile::Lora => "/other/loras",
            RequiredFile::Embedding => "/other/embeddings",
            RequiredFile::Image | RequiredFile::IdEmbedding => "/other/images",
        };
        let it = restored(&stored(&full()), |need, name, bytes| {
            assert!(bytes > 0);
            Some(Path::new(folder(need)).join(name))
        });
        assert_eq!((it.missing.len(), it.notes.len()), (0, 0));
        let text = serde_json::to_string(&full()).unwrap();
        let text = text.replace("/home/someone/models", "/other/models").replace("/home/someone/loras", "/other/loras");
        let text = text.replace("/home/someone/embeddings", "/other/embeddings");
        let moved: Recipe = serde_json::from_str(&text.replace("/home/someone", "/other/images")).unwrap();
        let expected =
            Recipe { seed: 44, batch_count: 1, width: 640, height: 480, placement: PlacementText::default(), threads: None, ..moved };
        assert_eq!(it.recipe, expected);
    }

    #[test]
    fn no_folder_and_no_machine_is_told() {
        let text = stored(&full());
        for secret in ["someone", "/", "10.0.0.4"] {
            assert!(!text.replace("\\\"", "").contains(secret), "{secret} in {text}");
        }
    }

    #[test]
    fn what_is_not_found_is_named_and_left_out() {
        let mut recipe = full();
        recipe.mask = Rgb8::new(1, 1, vec![0; 3]).map(ImageSource::Pixels);
        let it = restored(&stored(&recipe), |_, _, _| None);
        assert_eq!(it.missing.len(), 10);
        assert!(it.missing.iter().any(|it| it.need == RequiredFile::Embedding && it.name == "fog.safetensors"));
        assert!(it.missing.iter().any(|it| it.need == RequiredFile::File(FileRole::Llm) && it.name == "qwen.gguf"));
        assert!(it.missing.iter().any(|it| it.need == RequiredFile::Image && it.name.is_empty()));
        assert!(it.missing.iter().any(|it| it.need == RequiredFile::IdEmbedding && it.name == "id_embeds.bin"));
        assert!(it.recipe.person.is_empty() && it.recipe.person.id_embedding.is_none());
        assert!(it.recipe.files.is_empty() && it.recipe.loras.is_empty() && it.recipe.init.is_none() && it.recipe.mask.is_none());
    }

    #[test]
    fn names_from_a_stranger_never_lead_out_of_a_folder() {
        let text =
            r#"{"files":{"model":{"name":"../../etc/passwd"},"vae":{"name":"C:\\x\\.."},"llm":{"name":"/"}},"loras":[{"name":"C:x"}]}"#;
        let it = restored(text, |_, name, _| {
            assert_eq!(name, "passwd");
            None
        });
        assert_eq!(it.missing.len(), 4);
    }

    #[test]
    fn fields_and_names_of_later_versions_are_passed_over() {
        let text = r#"{"version":9,"prompt":"a lake","seed":7,"colour":"blue","sampler":"quantum","scheduler":"karras",
            "files":{"audio":{"name":"a"}},"upscaled":{"model":{"name":"x"},"tiles":4}}"#;
        let it = restored(text, |_, _, _| None);
        assert_eq!((it.recipe.prompt.as_str(), it.recipe.seed, it.recipe.sampler), ("a lake", 7, None));
        assert_eq!(it.recipe.scheduler, Some(Scheduler::Karras));
        assert_eq!(it.notes.len(), 2);
        assert!(it.notes.iter().any(|note| note.contains("quantum")));
    }

    #[test]
    fn a_part_comes_back_with_its_picture_and_the_size_at_which_the_model_worked() {
        let area = AreaSettings { feather: Some(9), fill: Some(AreaFill::Blur), ..AreaSettings::default() };
        let recipe = Recipe { area: Some(area), outpaint: Some(Borders { left: 32, ..Borders::default() }), ..full() };
        let text = stored(&recipe);
        let it = restored(&text, |_, name, _| Some(name.into())).recipe;
        assert_eq!((it.area, it.outpaint, it.start_fit), (recipe.area, recipe.outpaint, StartFit::Fit));
        assert_eq!((it.width, it.height), (recipe.width, recipe.height));
        let without = restored(&text, |need, name, _| (need != RequiredFile::Image).then(|| name.into())).recipe;
        assert_eq!((without.area, without.outpaint), (None, None));
    }

    #[test]
    fn a_branch_comes_back_with_the_settings_and_the_name_of_its_parent() {
        let parent = Recipe { prompt: "day".into(), ..full() };
        let recipe = Recipe { earlier_steps: parent.steps_until(3, Some("1.png".into())), loras: Vec::new(), ..full() };
        let text = stored(&recipe);
        assert!(!text.contains("someone"), "no folders: {text}");
        let back = restored(&text, |_, name, _| Some(Path::new("/home/someone/loras").join(name))).recipe.earlier_steps;
        assert_eq!(back, recipe.earlier_steps);
        let without = restored(&text, |need, name, _| (need != RequiredFile::Lora).then(|| name.into()));
        assert!(without.recipe.earlier_steps[0].loras.is_empty() && without.missing.iter().any(|it| it.need == RequiredFile::Lora));
        let strange = r#"{"earlier_steps":[{"until_step":3,"picture":"../x/y.png","guidance":-7,"control_strength":9}]}"#;
        let strange = &restored(strange, |_, _, _| None).recipe.earlier_steps[0];
        assert_eq!((strange.picture.as_deref(), strange.guidance, strange.control_strength), (Some("y.png"), 0.0, 1.0));
    }

    #[test]
    fn notes_stay_with_the_picture_and_strangers_name_no_folders_in_them() {
        let quantisation = |name: &str| Change::Quantisation { module: atelier_core::placement::Module::Diffusion, name: name.into() };
        let runs = Change::RunsOn { module: atelier_core::placement::Module::Vae, device: "RPC0[10.0.0.4:50052]".into() };
        let wrong = PictureNote::wrong("One colour.", vec![Change::FlashAttentionOff, quantisation("q8.gguf"), runs]);
        let notes = [wrong, PictureNote::changed("The size is now 64 x 64.")];
        let stored = StoredRecipe::of(&full(), INFO, 64, 64, |_| 0).with_notes(&notes).to_json().unwrap();
        assert!(!stored.contains("10.0.0.4"), "{stored}");
        let expected = PictureNote { remedies: vec![Change::FlashAttentionOff, quantisation("q8.gguf")], ..notes[0].clone() };
        assert_eq!(StoredRecipe::from_json(&stored).unwrap().notes(), [expected, notes[1].clone()]);
        let strange = r#"{"notes":[{"wrong":true,"sentence":"x","remedies":["vae_tiling",{"quantisation":{"module":"vae","name":"../x"}},7,"later"]}]}"#;
        assert_eq!(StoredRecipe::from_json(strange).unwrap().notes(), [PictureNote::wrong("x", vec![Change::VaeTiling])]);
    }

    #[test]
    fn numbers_out_of_range_become_the_default() {
        let it =
            restored(r#"{"width":0,"height":4000000000,"steps":0,"guidance":1e300,"init":{"name":"a.png","strength":77}}"#, |_, _, _| {
                Some(PathBuf::from("a.png"))
            });
        assert_eq!((it.recipe.width, it.recipe.height, it.recipe.steps), (512, 512, 20));
        assert_eq!((it.recipe.guidance, it.recipe.init.unwrap().strength), (7.0, 1.0));
        assert!(StoredRecipe::from_json(r#"{"width":-1}"#).is_none());
        assert!(StoredRecipe::from_json("not json").is_none());
    }
}
