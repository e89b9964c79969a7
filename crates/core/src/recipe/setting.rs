//! The types of settings: their limits, and their form in files.

use std::collections::BTreeMap;
use std::fmt::{Debug, Display};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use atelier_language::tr;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::form::{FileForm, bare_name};
use super::sampling::{GUIDANCE, SHARE, STEPS};
use super::{
    ControlImage, EarlierSteps, FileRole, GuidanceRange, Hires, ImageSource, InitImage, Lora, LoraMode, ModelFiles, Part, Person,
    PlacementText, PredictionType, RedrawTiles, RequiredFile, Rng, Sampler, Scheduler, Seed, SeedBlend, SeedNumber, SkipLayers, StepCache,
    TensorType, TensorTypeRules, TileSize, Upscale, VaeFormat,
};
use crate::canvas::{AreaSettings, Borders, StartFit};
use crate::sentences::capitalized;

/// Characters of a prompt: more are no description, and a text encoder takes minutes and gigabytes
/// for them.
pub(super) const MAX_PROMPT_CHARS: usize = 10_000;
/// Noise levels; the highest of any schedule is about 15, and of edge cases a few thousand.
const SIGMAS: RangeInclusive<f32> = 0.0..=100_000.0;
/// Noise levels: one more than steps.
pub(super) const MAX_SIGMAS: usize = 1001;
/// Files of a kind that are read: more are no recipe.
pub(super) const MAX_FILES: usize = 64;

/// Finds the files of a stored recipe, and takes sentences on what could not be read.
pub struct Reader<'a, F> {
    pub(super) find: &'a mut dyn FnMut(RequiredFile, F) -> Option<PathBuf>,
    pub(super) notes: &'a mut Vec<String>,
}

impl<F> Reader<'_, F> {
    fn find(&mut self, kind: RequiredFile, file: F) -> Option<PathBuf> {
        (self.find)(kind, file)
    }

    fn image(&mut self, file: F) -> Option<ImageSource> {
        self.find(RequiredFile::Image, file).map(ImageSource::File)
    }
}

/// The type of a setting.
pub trait Setting: Clone + PartialEq + Serialize + DeserializeOwned {
    /// Its values; `()` where its type says enough.
    type Limits;
    /// Its form in a file.
    type Stored<F: FileForm>: Clone + Debug + PartialEq + Serialize + DeserializeOwned;

    /// Brings it into its limits, with a sentence where that changed it.
    fn limit(&mut self, name: &str, limits: &Self::Limits, usual: &Self, notes: &mut Vec<String>);

    /// Its form in a file.
    fn store<F: FileForm>(&self, file: &dyn Fn(&Path) -> F) -> Self::Stored<F>;

    /// The value of that form.
    fn restore<F: FileForm>(stored: Self::Stored<F>, reader: &mut Reader<'_, F>) -> Self;

    /// Reads it as a field of a recipe that is no file.
    ///
    /// # Errors
    /// Those of the deserializer.
    fn read_field<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }

    /// Writes it as a field of a recipe that is no file.
    ///
    /// # Errors
    /// Those of the serializer.
    fn write_field<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.serialize(serializer)
    }
}

/// A sentence on a setting that was brought into its limits.
fn changed(name: &str, used: impl Display, asked: impl Display) -> String {
    tr!("core-instead-of", capitalized = capitalized(name), used, asked)
}

/// Leaves out what a list has beyond its limit.
fn shorten<T>(list: &mut Vec<T>, name: &str, max: usize, notes: &mut Vec<String>) {
    if list.len() > max {
        notes.push(changed(name, max, list.len()));
        list.truncate(max);
    }
}

fn clamp_whole(value: &mut u32, name: &str, limits: &RangeInclusive<u32>, notes: &mut Vec<String>) {
    let clamped = (*value).clamp(*limits.start(), *limits.end());
    if clamped != *value {
        notes.push(changed(name, clamped, *value));
        *value = clamped;
    }
}

/// What is no number becomes the usual one.
fn clamp_real(value: &mut f32, name: &str, limits: &RangeInclusive<f32>, usual: f32, notes: &mut Vec<String>) {
    let clamped = if value.is_finite() { value.clamp(*limits.start(), *limits.end()) } else { usual };
    if clamped.to_bits() != value.to_bits() && clamped != *value {
        notes.push(changed(name, clamped, *value));
        *value = clamped;
    }
}

/// Implements the form of types that are the same in every file.
macro_rules! same_form {
    () => {
        type Stored<F: FileForm> = Self;

        fn store<F: FileForm>(&self, _: &dyn Fn(&Path) -> F) -> Self {
            self.clone()
        }

        fn restore<F: FileForm>(stored: Self, _: &mut Reader<'_, F>) -> Self {
            stored
        }
    };
}

/// Types of which every value can be used.
macro_rules! unlimited {
    ($($type:ty),*) => {
        $(impl Setting for $type {
            type Limits = ();
            same_form!();

            fn limit(&mut self, _: &str, (): &(), _: &Self, _: &mut Vec<String>) {}
        })*
    };
}

unlimited!(
    bool,
    Option<Sampler>,
    Option<Scheduler>,
    Option<PredictionType>,
    Option<VaeFormat>,
    Option<TensorType>,
    TensorTypeRules,
    Option<Rng>,
    LoraMode,
    Rng,
    StartFit,
    PlacementText
);

/// Its limit is the number of characters.
impl Setting for String {
    type Limits = usize;
    same_form!();

    fn limit(&mut self, name: &str, limits: &Self::Limits, _: &Self, notes: &mut Vec<String>) {
        let Some((end, _)) = self.char_indices().nth(*limits) else { return };
        notes.push(tr!("core-the-first-of-characters", capitalized = capitalized(name), limits, length = self.chars().count()));
        self.truncate(end);
    }
}

/// Everywhere a number, as it was before there were seeds without sign.
impl Setting for Option<Seed> {
    type Limits = ();
    type Stored<F: FileForm> = SeedNumber;

    fn limit(&mut self, _: &str, (): &(), _: &Self, _: &mut Vec<String>) {}

    fn store<F: FileForm>(&self, _: &dyn Fn(&Path) -> F) -> SeedNumber {
        SeedNumber(*self)
    }

    fn restore<F: FileForm>(stored: SeedNumber, _: &mut Reader<'_, F>) -> Self {
        stored.0
    }

    fn read_field<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        SeedNumber::deserialize(deserializer).map(|number| number.0)
    }

    fn write_field<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        SeedNumber(*self).serialize(serializer)
    }
}

impl Setting for u32 {
    type Limits = RangeInclusive<Self>;
    same_form!();

    fn limit(&mut self, name: &str, limits: &Self::Limits, _: &Self, notes: &mut Vec<String>) {
        clamp_whole(self, name, limits, notes);
    }
}

impl Setting for Option<u32> {
    type Limits = RangeInclusive<u32>;
    same_form!();

    fn limit(&mut self, name: &str, limits: &Self::Limits, _: &Self, notes: &mut Vec<String>) {
        if let Some(value) = self {
            clamp_whole(value, name, limits, notes);
        }
    }
}

impl Setting for Option<TileSize> {
    type Limits = RangeInclusive<u32>;
    same_form!();

    fn limit(&mut self, name: &str, limits: &Self::Limits, _: &Self, notes: &mut Vec<String>) {
        let Some(asked) = *self else { return };
        let used = asked.within(limits);
        if used != asked {
            notes.push(changed(name, used, asked));
            *self = Some(used);
        }
    }
}

impl Setting for f32 {
    type Limits = RangeInclusive<Self>;
    same_form!();

    fn limit(&mut self, name: &str, limits: &Self::Limits, usual: &Self, notes: &mut Vec<String>) {
        clamp_real(self, name, limits, *usual, notes);
    }
}

impl Setting for Option<f32> {
    type Limits = RangeInclusive<f32>;
    same_form!();

    fn limit(&mut self, name: &str, limits: &Self::Limits, _: &Self, notes: &mut Vec<String>) {
        match self {
            Some(value) if value.is_finite() => clamp_real(value, name, limits, *value, notes),
            Some(value) => {
                notes.push(changed(name, tr!("core-the-usual-one"), *value));
                *self = None;
            }
            None => {}
        }
    }
}

/// Noise levels, from the highest to the last, which is usually 0.
impl Setting for Vec<f32> {
    type Limits = usize;
    same_form!();

    fn limit(&mut self, name: &str, limits: &usize, _: &Self, notes: &mut Vec<String>) {
        shorten(self, name, *limits, notes);
        for value in self {
            clamp_real(value, name, &SIGMAS, 0.0, notes);
        }
    }
}

impl Setting for Option<SkipLayers> {
    type Limits = ();
    same_form!();

    fn limit(&mut self, name: &str, (): &(), _: &Self, notes: &mut Vec<String>) {
        let Some(skip) = self else { return };
        let usual = SkipLayers::default();
        clamp_real(&mut skip.scale, name, &SkipLayers::SCALES, usual.scale, notes);
        clamp_real(&mut skip.start, tr!("core-start-of-the-skip"), &SHARE, usual.start, notes);
        clamp_real(&mut skip.end, tr!("core-end-of-the-skip"), &SHARE, usual.end, notes);
        shorten(&mut skip.layers, tr!("core-skipped-layers"), SkipLayers::MAX_LAYERS, notes);
        for layer in &mut skip.layers {
            clamp_whole(layer, tr!("core-skipped-layer"), &(0..=SkipLayers::MAX_LAYER), notes);
        }
    }
}

impl Setting for Vec<GuidanceRange> {
    type Limits = ();
    same_form!();

    fn limit(&mut self, name: &str, (): &(), _: &Self, notes: &mut Vec<String>) {
        shorten(self, name, GuidanceRange::MAX, notes);
        let usual = GuidanceRange::default();
        for range in self {
            clamp_real(&mut range.guidance, tr!("core-guidance-in-a-part-of"), &GUIDANCE, usual.guidance, notes);
            clamp_real(&mut range.start, tr!("core-start-of-the-guidance"), &SHARE, usual.start, notes);
            clamp_real(&mut range.end, tr!("core-end-of-the-guidance"), &SHARE, usual.end, notes);
        }
    }
}

impl Setting for Option<StepCache> {
    type Limits = ();
    same_form!();

    fn limit(&mut self, _: &str, (): &(), _: &Self, notes: &mut Vec<String>) {
        if let Some(cache) = self {
            cache.limit(|name, used, asked| notes.push(changed(name, used, asked)));
        }
    }
}

impl Setting for Option<SeedBlend> {
    type Limits = ();
    same_form!();

    fn limit(&mut self, name: &str, (): &(), _: &Self, notes: &mut Vec<String>) {
        if let Some(blend) = self {
            clamp_real(&mut blend.amount, name, &SHARE, SeedBlend::default().amount, notes);
        }
    }
}

impl Setting for Option<Borders> {
    type Limits = ();
    same_form!();

    fn limit(&mut self, _: &str, (): &(), _: &Self, notes: &mut Vec<String>) {
        if let Some(Borders { left, top, right, bottom }) = self {
            for (name, side) in [
                (tr!("core-left-border"), left),
                (tr!("core-top-border"), top),
                (tr!("core-right-border"), right),
                (tr!("core-bottom-border"), bottom),
            ] {
                clamp_whole(side, name, &(0..=Borders::MAX), notes);
            }
        }
    }
}

impl Setting for Option<AreaSettings> {
    type Limits = ();
    same_form!();

    fn limit(&mut self, _: &str, (): &(), _: &Self, notes: &mut Vec<String>) {
        let Some(area) = self else { return };
        let (min, max) = AreaSettings::CONTEXT_RANGE;
        clamp_real(&mut area.context, tr!("core-context-of-the-masked"), &(min..=max), AreaSettings::default().context, notes);
        if let Some(feather) = &mut area.feather {
            clamp_whole(feather, tr!("core-feather"), &(0..=AreaSettings::MAX_FEATHER), notes);
        }
    }
}

impl Setting for ModelFiles {
    type Limits = ();
    type Stored<F: FileForm> = BTreeMap<String, F>;

    fn limit(&mut self, _: &str, (): &(), _: &Self, _: &mut Vec<String>) {}

    fn store<F: FileForm>(&self, file: &dyn Fn(&Path) -> F) -> Self::Stored<F> {
        self.iter().map(|(role, path)| (role.key().to_owned(), file(path))).collect()
    }

    fn restore<F: FileForm>(stored: Self::Stored<F>, reader: &mut Reader<'_, F>) -> Self {
        let mut files = Self::default();
        for (key, file) in stored.into_iter().take(MAX_FILES) {
            let Some(role) = FileRole::from_key(&key) else {
                reader.notes.push(tr!("core-this-version-of-atelier-does-not-know-the", key));
                continue;
            };
            if let Some(path) = reader.find(RequiredFile::File(role), file) {
                files.set(role, path);
            }
        }
        files
    }
}

fn store_image<F: FileForm>(image: &ImageSource, file: &dyn Fn(&Path) -> F) -> Option<F> {
    match image {
        ImageSource::File(path) => Some(file(path)),
        ImageSource::Pixels(_) => F::of_pixels(),
    }
}

impl Setting for Option<ImageSource> {
    type Limits = ();
    type Stored<F: FileForm> = Option<F>;

    fn limit(&mut self, _: &str, (): &(), _: &Self, _: &mut Vec<String>) {}

    fn store<F: FileForm>(&self, file: &dyn Fn(&Path) -> F) -> Self::Stored<F> {
        self.as_ref().and_then(|image| store_image(image, file))
    }

    fn restore<F: FileForm>(stored: Self::Stored<F>, reader: &mut Reader<'_, F>) -> Self {
        stored.and_then(|file| reader.image(file))
    }
}

impl Setting for Vec<ImageSource> {
    type Limits = ();
    type Stored<F: FileForm> = Vec<F>;

    fn limit(&mut self, name: &str, (): &(), _: &Self, notes: &mut Vec<String>) {
        shorten(self, name, MAX_FILES, notes);
    }

    fn store<F: FileForm>(&self, file: &dyn Fn(&Path) -> F) -> Self::Stored<F> {
        self.iter().filter_map(|image| store_image(image, file)).collect()
    }

    fn restore<F: FileForm>(mut stored: Self::Stored<F>, reader: &mut Reader<'_, F>) -> Self {
        shorten(&mut stored, tr!("core-pictures"), MAX_FILES, reader.notes);
        stored.into_iter().filter_map(|file| reader.image(file)).collect()
    }
}

/// A picture with a strength.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredImage<F> {
    #[serde(flatten)]
    file: F,
    #[serde(default)]
    strength: Option<f32>,
}

impl Setting for Option<InitImage> {
    type Limits = ();
    type Stored<F: FileForm> = Option<StoredImage<F>>;

    fn limit(&mut self, _: &str, (): &(), _: &Self, notes: &mut Vec<String>) {
        if let Some(image) = self {
            clamp_real(&mut image.strength, tr!("core-denoising-strength"), &SHARE, InitImage::USUAL_STRENGTH, notes);
        }
    }

    fn store<F: FileForm>(&self, file: &dyn Fn(&Path) -> F) -> Self::Stored<F> {
        let image = self.as_ref()?;
        Some(StoredImage { file: store_image(&image.image, file)?, strength: Some(image.strength) })
    }

    fn restore<F: FileForm>(stored: Self::Stored<F>, reader: &mut Reader<'_, F>) -> Self {
        let StoredImage { file, strength } = stored?;
        Some(InitImage { image: reader.image(file)?, strength: strength.unwrap_or(InitImage::USUAL_STRENGTH) })
    }
}

/// A picture with a strength that acts in a part of the steps; a part that is absent is all of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredControl<F> {
    #[serde(flatten)]
    file: F,
    #[serde(default)]
    strength: Option<f32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start: Option<f32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    end: Option<f32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    preprocessor: Option<String>,
}

/// The stored form of the part of the steps in which a `ControlNet` or a LoRA acts.
fn store_part_of_steps(start: f32, end: f32) -> (Option<f32>, Option<f32>) {
    (Some(start).filter(|start| *start != 0.0), Some(end).filter(|end| *end != ControlImage::USUAL_END))
}

impl Setting for Option<ControlImage> {
    type Limits = ();
    type Stored<F: FileForm> = Option<StoredControl<F>>;

    fn limit(&mut self, _: &str, (): &(), _: &Self, notes: &mut Vec<String>) {
        if let Some(control) = self {
            clamp_real(&mut control.strength, tr!("core-control-strength"), &SHARE, ControlImage::USUAL_STRENGTH, notes);
            clamp_real(&mut control.start, tr!("core-start-of-the-control"), &SHARE, 0.0, notes);
            clamp_real(&mut control.end, tr!("core-end-of-the-control"), &SHARE, ControlImage::USUAL_END, notes);
        }
    }

    fn store<F: FileForm>(&self, file: &dyn Fn(&Path) -> F) -> Self::Stored<F> {
        let ControlImage { image, strength, start, end, preprocessor } = self.as_ref()?;
        let (start, end) = store_part_of_steps(*start, *end);
        let preprocessor = preprocessor.map(|it| it.key().to_owned());
        Some(StoredControl { file: store_image(image, file)?, strength: Some(*strength), start, end, preprocessor })
    }

    fn restore<F: FileForm>(stored: Self::Stored<F>, reader: &mut Reader<'_, F>) -> Self {
        let StoredControl { file, strength, start, end, preprocessor } = stored?;
        let mut control = ControlImage::new(reader.image(file)?);
        control.strength = strength.unwrap_or(control.strength);
        control.start = start.unwrap_or(control.start);
        control.end = end.unwrap_or(control.end);
        control.preprocessor = preprocessor.and_then(|name| {
            let known = name.parse().ok();
            if known.is_none() {
                reader.notes.push(tr!("core-this-version-of-atelier-does-not", name));
            }
            known
        });
        Some(control)
    }
}

/// Pictures of a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredPerson<F> {
    #[serde(default = "Vec::new")]
    images: Vec<F>,
    #[serde(default)]
    style_strength: Option<f32>,
    #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
    id_embedding: Option<F>,
}

impl Setting for Person {
    type Limits = ();
    type Stored<F: FileForm> = StoredPerson<F>;

    fn limit(&mut self, _: &str, (): &(), _: &Self, notes: &mut Vec<String>) {
        shorten(&mut self.images, tr!("core-pictures-of-the-person"), Self::MAX_IMAGES, notes);
        clamp_real(&mut self.style_strength, tr!("core-style-strength"), &Self::STYLE_STRENGTHS, Self::USUAL_STYLE_STRENGTH, notes);
    }

    fn store<F: FileForm>(&self, file: &dyn Fn(&Path) -> F) -> Self::Stored<F> {
        StoredPerson {
            images: self.images.store(file),
            style_strength: Some(self.style_strength),
            id_embedding: self.id_embedding.as_deref().map(file),
        }
    }

    fn restore<F: FileForm>(stored: Self::Stored<F>, reader: &mut Reader<'_, F>) -> Self {
        Self {
            images: Setting::restore(stored.images, reader),
            style_strength: stored.style_strength.unwrap_or(Self::USUAL_STYLE_STRENGTH),
            id_embedding: stored.id_embedding.and_then(|file| reader.find(RequiredFile::IdEmbedding, file)),
        }
    }
}

/// An upscaled second pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredHires<F> {
    #[serde(default)]
    scale: Option<f32>,
    #[serde(default)]
    strength: Option<f32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    steps: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    target: Option<(u32, u32)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sigmas: Vec<f32>,
    #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
    upscaler: Option<F>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tile_size: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    latent: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    allow_pickle: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tiles: Option<RedrawTiles>,
}

impl Setting for Option<Hires> {
    type Limits = ();
    type Stored<F: FileForm> = Option<StoredHires<F>>;

    fn limit(&mut self, _: &str, (): &(), _: &Self, notes: &mut Vec<String>) {
        let Some(hires) = self else { return };
        let usual = Hires::default();
        let (min, max) = Hires::SCALES;
        clamp_real(&mut hires.scale, tr!("core-upscale-factor"), &(min..=max), usual.scale, notes);
        clamp_real(&mut hires.strength, tr!("core-denoising-strength-of-the"), &SHARE, usual.strength, notes);
        if let Some(steps) = &mut hires.steps {
            clamp_whole(steps, tr!("core-steps-of-the-second"), &STEPS, notes);
        }
        if let Some((width, height)) = &mut hires.target {
            let (min, max) = Hires::SIDES;
            clamp_whole(width, tr!("core-width-of-the-second"), &(min..=max), notes);
            clamp_whole(height, tr!("core-height-of-the-second"), &(min..=max), notes);
        }
        Setting::limit(&mut hires.sigmas, tr!("core-sigmas-of-the-second-pass"), &MAX_SIGMAS, &Vec::new(), notes);
        if hires.sigmas.len() == 1 {
            hires.sigmas.clear();
            notes.push(tr!("core-sigmas-of-the-second").to_owned());
        }
        if let Some(side) = &mut hires.tile_size {
            clamp_whole(side, tr!("core-tile-size-of-the"), &Upscale::TILES, notes);
        }
        if let Some(tiles) = &mut hires.tiles {
            let (min, max) = RedrawTiles::SIDES;
            if let Some(side) = &mut tiles.side {
                clamp_whole(side, tr!("core-tile-side"), &(min..=max), notes);
            }
            let words = tiles.words.chars().count();
            if words > RedrawTiles::MAX_CHARACTERS {
                notes.push(changed(tr!("core-characters-of-the-tile"), RedrawTiles::MAX_CHARACTERS, words));
                tiles.words = tiles.words.chars().take(RedrawTiles::MAX_CHARACTERS).collect();
            }
        }
    }

    fn store<F: FileForm>(&self, file: &dyn Fn(&Path) -> F) -> Self::Stored<F> {
        let Hires { scale, target, strength, steps, sigmas, upscaler, tile_size, latent, allow_pickle, tiles } = self.as_ref()?;
        Some(StoredHires {
            scale: Some(*scale),
            strength: Some(*strength),
            steps: *steps,
            target: *target,
            sigmas: sigmas.clone(),
            upscaler: upscaler.as_deref().map(file),
            tile_size: *tile_size,
            latent: latent.map(|it| it.key().to_owned()),
            // The person of this machine agreed, and nobody else.
            allow_pickle: *allow_pickle && F::stores(Part::Machine),
            tiles: tiles.clone(),
        })
    }

    fn restore<F: FileForm>(stored: Self::Stored<F>, reader: &mut Reader<'_, F>) -> Self {
        let StoredHires { scale, strength, steps, target, sigmas, upscaler, tile_size, latent, allow_pickle, tiles } = stored?;
        let usual = Hires::default();
        let latent = latent.and_then(|name| {
            let known = name.parse().ok();
            if known.is_none() {
                reader.notes.push(tr!("core-this-version-of-atelier", name));
            }
            known
        });
        Some(Hires {
            scale: scale.unwrap_or(usual.scale),
            target,
            strength: strength.unwrap_or(usual.strength),
            steps,
            sigmas,
            latent,
            upscaler: upscaler.and_then(|file| reader.find(RequiredFile::File(FileRole::Upscaler), file)),
            tile_size,
            allow_pickle: allow_pickle && F::stores(Part::Machine),
            tiles,
        })
    }
}

/// What is made of a finished picture; its model in the form of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredUpscale<F> {
    model: F,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    repeats: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tile_size: Option<u32>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    allow_pickle: bool,
}

impl Setting for Option<Upscale> {
    type Limits = ();
    type Stored<F: FileForm> = Option<StoredUpscale<F>>;

    fn limit(&mut self, _: &str, (): &(), _: &Self, notes: &mut Vec<String>) {
        let Some(upscale) = self else { return };
        clamp_whole(&mut upscale.repeats, tr!("core-times-that-the-picture"), &Upscale::REPEATS, notes);
        if let Some(side) = &mut upscale.tile_size {
            clamp_whole(side, tr!("core-tile-size-of-the"), &Upscale::TILES, notes);
        }
    }

    fn store<F: FileForm>(&self, file: &dyn Fn(&Path) -> F) -> Self::Stored<F> {
        let Upscale { model, repeats, tile_size, allow_pickle } = self.as_ref()?;
        Some(StoredUpscale {
            model: file(model),
            repeats: Some(*repeats),
            tile_size: *tile_size,
            // The person of this machine agreed, and nobody else.
            allow_pickle: *allow_pickle && F::stores(Part::Machine),
        })
    }

    fn restore<F: FileForm>(stored: Self::Stored<F>, reader: &mut Reader<'_, F>) -> Self {
        let StoredUpscale { model, repeats, tile_size, allow_pickle } = stored?;
        let model = reader.find(RequiredFile::File(FileRole::Upscaler), model)?;
        let allow_pickle = allow_pickle && F::stores(Part::Machine);
        Some(Upscale { repeats: repeats.unwrap_or(1), tile_size, allow_pickle, ..Upscale::by(model) })
    }
}

/// A low-rank adapter with its strength.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredLora<F> {
    #[serde(flatten)]
    file: F,
    strength: f32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    encoder_strength: Option<f32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start: Option<f32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    end: Option<f32>,
}

impl Setting for Vec<Lora> {
    type Limits = ();
    type Stored<F: FileForm> = Vec<StoredLora<F>>;

    fn limit(&mut self, _: &str, (): &(), _: &Self, notes: &mut Vec<String>) {
        for lora in self {
            let stem = lora.path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
            let name = tr!("core-strength-of", stem);
            clamp_real(&mut lora.strength, &name, &Lora::STRENGTHS, 1.0, notes);
            if let Some(strength) = &mut lora.encoder_strength {
                clamp_real(strength, &tr!("core-in-text-encoders", name), &Lora::STRENGTHS, 1.0, notes);
            }
            clamp_real(&mut lora.start, &tr!("core-start-of", stem), &SHARE, 0.0, notes);
            clamp_real(&mut lora.end, &tr!("core-end-of", stem), &SHARE, ControlImage::USUAL_END, notes);
        }
    }

    fn store<F: FileForm>(&self, file: &dyn Fn(&Path) -> F) -> Self::Stored<F> {
        let store = |lora: &Lora| {
            let (start, end) = store_part_of_steps(lora.start, lora.end);
            StoredLora { file: file(&lora.path), strength: lora.strength, encoder_strength: lora.encoder_strength, start, end }
        };
        self.iter().map(store).collect()
    }

    fn restore<F: FileForm>(mut stored: Self::Stored<F>, reader: &mut Reader<'_, F>) -> Self {
        shorten(&mut stored, tr!("core-setting-loras"), MAX_FILES, reader.notes);
        let mut restore = |StoredLora { file, strength, encoder_strength, start, end }: StoredLora<F>| {
            let lora = Lora { encoder_strength, ..Lora::new(reader.find(RequiredFile::Lora, file)?, strength) };
            Some(Lora { start: start.unwrap_or(lora.start), end: end.unwrap_or(lora.end), ..lora })
        };
        stored.into_iter().filter_map(&mut restore).collect()
    }
}

impl Setting for Vec<PathBuf> {
    type Limits = ();
    type Stored<F: FileForm> = Vec<F>;

    fn limit(&mut self, name: &str, (): &(), _: &Self, notes: &mut Vec<String>) {
        shorten(self, name, MAX_FILES, notes);
    }

    fn store<F: FileForm>(&self, file: &dyn Fn(&Path) -> F) -> Self::Stored<F> {
        self.iter().map(|path| file(path)).collect()
    }

    fn restore<F: FileForm>(mut stored: Self::Stored<F>, reader: &mut Reader<'_, F>) -> Self {
        shorten(&mut stored, tr!("core-setting-embeddings"), MAX_FILES, reader.notes);
        stored.into_iter().filter_map(|file| reader.find(RequiredFile::Embedding, file)).collect()
    }
}

/// Earlier steps of a branch, with the settings in which they may differ from the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredSteps<F> {
    #[serde(default)]
    until_step: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    picture: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seed: Option<SeedNumber>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seed_blend: Option<SeedBlend>,
    #[serde(default)]
    prompt: String,
    #[serde(default)]
    negative_prompt: String,
    #[serde(default)]
    guidance: f32,
    #[serde(default)]
    distilled_guidance: f32,
    #[serde(default)]
    control_strength: f32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    control_start: Option<f32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    control_end: Option<f32>,
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    loras: Vec<StoredLora<F>>,
}

impl Setting for Vec<EarlierSteps> {
    type Limits = ();
    type Stored<F: FileForm> = Vec<StoredSteps<F>>;

    fn limit(&mut self, name: &str, (): &(), _: &Self, notes: &mut Vec<String>) {
        shorten(self, name, EarlierSteps::MAX, notes);
        for steps in self {
            clamp_real(&mut steps.guidance, tr!("core-guidance-of-the-earlier"), &GUIDANCE, 1.0, notes);
            clamp_real(&mut steps.distilled_guidance, tr!("core-distilled-guidance-of-the"), &GUIDANCE, 1.0, notes);
            clamp_real(&mut steps.control_strength, tr!("core-control-strength-of-the"), &SHARE, 1.0, notes);
            clamp_real(&mut steps.control_start, tr!("core-start-of-the-control-of"), &SHARE, 0.0, notes);
            clamp_real(&mut steps.control_end, tr!("core-end-of-the-control-of"), &SHARE, ControlImage::USUAL_END, notes);
            Setting::limit(&mut steps.prompt, tr!("core-prompt-of-the-earlier"), &MAX_PROMPT_CHARS, &String::new(), notes);
            Setting::limit(&mut steps.negative_prompt, tr!("core-negative-prompt-of-the"), &MAX_PROMPT_CHARS, &String::new(), notes);
            Setting::limit(&mut steps.seed_blend, tr!("core-seed-blend-of-the"), &(), &None, notes);
            Setting::limit(&mut steps.loras, tr!("core-loras-of-the-earlier"), &(), &Vec::new(), notes);
        }
    }

    fn store<F: FileForm>(&self, file: &dyn Fn(&Path) -> F) -> Self::Stored<F> {
        let store = |steps: &EarlierSteps| StoredSteps {
            until_step: steps.until_step,
            picture: steps.picture.clone(),
            seed: steps.seed.map(|seed| SeedNumber(Some(seed))),
            seed_blend: steps.seed_blend,
            prompt: steps.prompt.clone(),
            negative_prompt: steps.negative_prompt.clone(),
            guidance: steps.guidance,
            distilled_guidance: steps.distilled_guidance,
            control_strength: steps.control_strength,
            control_start: store_part_of_steps(steps.control_start, steps.control_end).0,
            control_end: store_part_of_steps(steps.control_start, steps.control_end).1,
            loras: steps.loras.store(file),
        };
        self.iter().map(store).collect()
    }

    fn restore<F: FileForm>(mut stored: Self::Stored<F>, reader: &mut Reader<'_, F>) -> Self {
        shorten(&mut stored, tr!("core-setting-earlier_steps"), EarlierSteps::MAX, reader.notes);
        let restore = |steps: StoredSteps<F>| EarlierSteps {
            until_step: steps.until_step,
            picture: steps.picture.as_deref().and_then(bare_name).map(str::to_owned),
            seed: steps.seed.and_then(|number| number.0),
            seed_blend: steps.seed_blend,
            prompt: steps.prompt,
            negative_prompt: steps.negative_prompt,
            guidance: steps.guidance,
            distilled_guidance: steps.distilled_guidance,
            control_strength: steps.control_strength,
            control_start: steps.control_start.unwrap_or(0.0),
            control_end: steps.control_end.unwrap_or(ControlImage::USUAL_END),
            loras: Setting::restore(steps.loras, reader),
        };
        stored.into_iter().map(restore).collect()
    }
}
