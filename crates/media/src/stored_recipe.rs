//! The recipe as it is stored in a picture: types of their own, so that old pictures stay readable
//! when the program changes.
//!
//! Invariants: no path is stored, only names and sizes of files; where modules ran is not stored,
//! it is about the machine and not about the picture; fields of later versions are passed over;
//! numbers from a file are brought into range. Pure: no files.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};

use atelier_core::cpu_math::CpuMath;
use atelier_core::json::has_more_values;
use atelier_core::picture_note::{NoteKind, PictureNote};
use atelier_core::placement::Change;
use atelier_core::recipe::{LoraMode, PictureInfo, Recipe, RequiredFile, Stored, StoredFile, bare_name};

/// The version that this program writes.
const VERSION: u32 = 1;
/// Values of a JSON text of a picture that is read. The graph of a large workflow has some ten
/// thousand.
pub(crate) const MAX_VALUES: usize = 1 << 17;
/// Notes of a picture, remedies of a note and characters of its sentence that are read.
const MAX_NOTES: usize = 16;
const MAX_REMEDIES: usize = 8;
const MAX_CHARACTERS: usize = 500;
/// A recipe as it is stored in a picture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredRecipe {
    #[serde(default, deserialize_with = "or_usual")]
    version: u32,
    #[serde(default, deserialize_with = "or_usual")]
    app: String,
    #[serde(default, deserialize_with = "or_usual", skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// Of a picture of which only a part was generated, or that was upscaled, the size at which the
    /// model worked is stored in place of its own.
    #[serde(flatten)]
    settings: Stored<StoredFile>,
    /// How the processor computed, where that changed the bytes.
    #[serde(default, deserialize_with = "or_usual", skip_serializing_if = "Option::is_none")]
    cpu_math: Option<String>,
    /// The name of the studio that made it, where that was another one than the one that kept it.
    #[serde(default, deserialize_with = "or_usual", skip_serializing_if = "Option::is_none")]
    studio: Option<String>,
    #[serde(default, deserialize_with = "or_usual", skip_serializing_if = "Option::is_none")]
    upscaled: Option<StoredUpscale>,
    #[serde(default, deserialize_with = "or_usual", skip_serializing_if = "Vec::is_empty")]
    notes: Vec<StoredNote>,
}

/// A field that makes no sense costs itself alone.
fn or_usual<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(deserializer: D) -> Result<T, D::Error> {
    Ok(serde_json::from_value(serde_json::Value::deserialize(deserializer)?).unwrap_or_default())
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
        let remedies = self.remedies.iter().take(MAX_REMEDIES).filter_map(change).filter(is_local).collect();
        let kind = if self.wrong { NoteKind::Wrong } else { NoteKind::Changed };
        PictureNote { kind, sentence: self.sentence.chars().take(MAX_CHARACTERS).collect(), remedies, change: None }
    }
}

/// True for a change whose files are named without folders, and that is about the picture.
fn is_local(change: &Change) -> bool {
    match change {
        Change::Quantisation { name, .. } | Change::WithoutLora { name } => bare_name(name) == Some(name),
        other => !other.is_placement(),
    }
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
        Self::of(&Recipe::default(), PictureInfo { index: 0, seed: None, cpu_math: None, merged_loras: false }, 512, 512, |_| 0)
    }
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
    /// The stored form of one picture of a recipe, with its own seed and its size in pixels.
    /// `size_of` gives a file's size in bytes.
    #[must_use]
    pub fn of(recipe: &Recipe, info: PictureInfo, width: u32, height: u32, size_of: impl Fn(&Path) -> u64) -> Self {
        let file = |path: &Path| StoredFile {
            name: path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
            bytes: size_of(path),
        };
        let (width, height) = if recipe.has_own_size() { (recipe.width, recipe.height) } else { (width, height) };
        let mut used = Recipe { width, height, seed: info.seed, last_step: recipe.draft_step(), ..recipe.clone() };
        if used.lora_mode == LoraMode::Auto && info.merged_loras {
            used.lora_mode = LoraMode::Immediately;
        }
        used.embeddings = recipe.used_embeddings().map(Path::to_owned).collect();
        Self {
            version: VERSION,
            app: concat!("Atelier ", env!("CARGO_PKG_VERSION")).to_owned(),
            model: None,
            settings: Stored::of(&used, &file),
            cpu_math: info.cpu_math.map(|math| math.name().to_owned()),
            studio: None,
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

    /// With the pictures of the recipe that was asked for in place of those that another studio kept
    /// for it under names of its own.
    #[must_use]
    pub fn with_pictures_of(self, asked: Self) -> Self {
        Self { settings: self.settings.with_pictures_of(asked.settings), ..self }
    }

    /// With the name of the studio that made it for this one.
    #[must_use]
    pub fn made_on(self, studio: &str) -> Self {
        Self { studio: Some(studio.to_owned()), ..self }
    }

    /// The name of the studio that made it, where that was another one than the one that kept it.
    #[must_use]
    pub fn studio(&self) -> Option<&str> {
        self.studio.as_deref()
    }

    /// With what a person should know of the picture.
    #[must_use]
    pub fn with_notes(self, notes: &[PictureNote]) -> Self {
        Self { notes: notes.iter().map(StoredNote::from).collect(), ..self }
    }

    /// What a person should know of the picture.
    #[must_use]
    pub fn notes(&self) -> Vec<PictureNote> {
        self.notes.iter().take(MAX_NOTES).map(StoredNote::note).collect()
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

    /// The picture was upscaled to this size in pixels.
    pub fn set_upscaled(&mut self, model: StoredFile, width: u32, height: u32) {
        self.upscaled = Some(StoredUpscale { model, width, height });
    }

    /// True where the picture stopped before its last step.
    #[must_use]
    pub fn is_draft(self) -> bool {
        self.into_recipe(|_, _, _| None).recipe.draft_step().is_some()
    }

    /// The recipe as it is told to people: every file counts as found, under its own name.
    #[must_use]
    pub fn with_names(self) -> RestoredRecipe {
        self.into_recipe(|_, name, _| Some(PathBuf::from(name)))
    }

    /// The recipe that makes this picture again. `resolve` finds a file on this machine by its
    /// name, which is never a path, and its size in bytes.
    #[must_use]
    pub fn into_recipe(self, resolve: impl Fn(RequiredFile, &str, u64) -> Option<PathBuf>) -> RestoredRecipe {
        let (mut missing, had_start_picture) = (Vec::new(), self.settings.has_start_picture());
        let (mut recipe, notes) = self.settings.restore(&mut |need, file: StoredFile| {
            let name = bare_name(&file.name);
            let found = name.and_then(|name| resolve(need, name, file.bytes));
            if found.is_none() {
                missing.push(MissingFile { need, name: name.unwrap_or_default().to_owned(), bytes: file.bytes });
            }
            found
        });
        // Without their picture these say nothing.
        recipe.hires = recipe.hires.filter(|_| recipe.init.is_some() || !had_start_picture);
        recipe.area = recipe.area.filter(|_| recipe.init.is_some() && recipe.mask.is_some());
        recipe.outpaint = recipe.outpaint.filter(|_| recipe.init.is_some());
        RestoredRecipe { recipe, missing, notes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::canvas::{AreaFill, AreaSettings, Borders, StartFit};
    use atelier_core::recipe::{
        ControlImage, FileRole, Hires, ImageSource, InitImage, Lora, Person, PlacementText, Preprocessor, Rgb8, Rng, Sampler, Scheduler,
        Seed, SeedBlend,
    };

    const INFO: PictureInfo = PictureInfo { index: 2, seed: Some(Seed(44)), cpu_math: Some(CpuMath::Bf16), merged_loras: false };

    fn full() -> Recipe {
        let mut recipe = Recipe {
            prompt: "a lake, 湖\n\"quoted\"".into(),
            negative_prompt: "fog".into(),
            negative_in_prompt: true,
            template: "a {lake|sea}".into(),
            words_seed: Some(Seed::MAX),
            sampler: Some(Sampler::Dpmpp2sA),
            scheduler: Some(Scheduler::KlOptimal),
            eta: Some(0.3),
            flow_shift: Some(3.0),
            clip_skip: Some(2),
            seed: Some(Seed(42)),
            seed_blend: Some(SeedBlend { seed: Seed(43), amount: 0.25 }),
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
            control: Some(ControlImage {
                image: ImageSource::File("/home/someone/pose.png".into()),
                strength: 0.8,
                start: 0.1,
                end: 0.6,
                preprocessor: Some(Preprocessor::SoftEdge),
            }),
            person: Person {
                images: vec![ImageSource::File("/home/someone/ann.png".into())],
                style_strength: 35.0,
                id_embedding: Some("/home/someone/id_embeds.bin".into()),
            },
            loras: vec![Lora::new("/home/someone/loras/ink.safetensors".into(), 0.7)],
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
        let expected = Recipe {
            seed: Some(Seed(44)),
            batch_count: 1,
            width: 640,
            height: 480,
            placement: PlacementText::default(),
            threads: None,
            ..moved
        };
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
    fn what_upscales_the_missing_start_picture_goes_with_it_and_a_missing_guide_costs_itself_alone() {
        let hires = Some(Hires::default());
        let control = |recipe: Recipe| Recipe { hires: hires.clone(), ..recipe };
        let without_images =
            |recipe: &Recipe| restored(&stored(recipe), |need, name, _| (need != RequiredFile::Image).then(|| name.into())).recipe;
        assert_eq!(without_images(&control(full())).hires, None);
        let from_noise = Recipe { init: None, mask: None, ..control(full()) };
        let back = without_images(&from_noise);
        assert_eq!((back.control, back.hires), (None, hires.clone()));
    }

    #[test]
    fn names_from_a_stranger_never_lead_out_of_a_folder() {
        let text = r#"{"files":{"model":{"name":"../../etc/passwd"},"vae":{"name":"C:\\x\\.."},"llm":{"name":"/"}},"loras":[{"name":"C:x","strength":1}]}"#;
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
        assert_eq!((it.recipe.prompt.as_str(), it.recipe.seed, it.recipe.sampler), ("a lake", Some(Seed(7)), None));
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
    fn numbers_out_of_range_are_brought_into_it_with_a_note() {
        let it =
            restored(r#"{"width":0,"height":4000000000,"steps":0,"guidance":1e300,"init":{"name":"a.png","strength":77}}"#, |_, _, _| {
                Some(PathBuf::from("a.png"))
            });
        assert_eq!((it.recipe.width, it.recipe.height, it.recipe.steps), (64, 16_384, 1));
        assert_eq!((it.recipe.guidance, it.recipe.init.unwrap().strength), (7.0, 1.0));
        assert_eq!(it.notes.len(), 5, "{:?}", it.notes);
        let faulty = restored(r#"{"width":-1,"prompt":"a lake","model":7,"notes":{}}"#, |_, _, _| None);
        assert_eq!((faulty.recipe.width, faulty.recipe.prompt.as_str(), faulty.notes.len()), (512, "a lake", 1));
        assert!(StoredRecipe::from_json("not json").is_none());
    }
}
