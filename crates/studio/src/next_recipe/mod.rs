//! The recipe of the next picture, from one model and one picture's settings to the next: the
//! built-in model, a person's own files, parts of a picture's settings, LoRAs in prompts. Window
//! and command line both begin here. Pure.

mod other_studio;
mod prompt_loras;
mod prompt_reading;
mod recent_recipes;
mod unmet_requirement;

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use atelier_core::recipe::{FileRole, Lora, ModelFiles, PartialRecipe, RecallPart, Recipe};
use atelier_language::tr;
use atelier_library::Builtin;

use prompt_reading::PromptReading;
pub use prompt_reading::add_named_loras;
use recent_recipes::KEPT_BY_ANOTHER_MODEL;
pub use recent_recipes::{RecentRecipes, same_paths};
pub use unmet_requirement::UnmetRequirement;

use crate::studio_model::StudioModel;

/// The recipe of the next picture, with what it is made from.
#[derive(Debug)]
pub struct NextRecipe {
    /// The settings of the next picture.
    pub recipe: Recipe,
    /// The model that comes with the program; where it cannot be used, a sentence that says why.
    pub builtin: Result<Arc<Builtin>, String>,
    /// The recipe as it was with the person's own files, while the built-in model is used.
    pub custom_recipe: Option<Box<Recipe>>,
    /// The last recipe of each model that was used.
    pub recent_recipes: RecentRecipes,
    /// The LoRAs of the library, by which a prompt can name them.
    pub lora_files: Arc<[PathBuf]>,
    /// The last model that is known to read a control picture without a `ControlNet`.
    pub with_control: Option<ModelFiles>,
    /// The model of another studio that is used in place of the recipe's files.
    pub studio: Option<StudioModel>,
    /// The settings that suit that model, as far as its studio told them.
    pub studio_defaults: PartialRecipe,
    /// The recipe as it was with this computer's model, while another studio's is used.
    pub own_recipe: Option<Box<Recipe>>,
    /// What the prompt was last read as.
    prompt_reading: RefCell<Option<Arc<PromptReading>>>,
}

impl NextRecipe {
    /// The recipe that a window opens with. `uses_builtin`: the settings were made with the
    /// built-in model, and their files are the person's own. Who has chosen no model begins with
    /// the built-in one.
    #[must_use]
    pub fn new(mut recipe: Recipe, uses_builtin: bool, builtin: Result<Arc<Builtin>, String>) -> Self {
        let mut custom_recipe = None;
        match &builtin {
            Ok(builtin) if uses_builtin => {
                let own = std::mem::replace(&mut recipe.files, builtin.files().clone());
                recipe.negative_in_prompt = builtin.manifest().defaults.negative_in_prompt;
                custom_recipe = (!own.is_empty()).then(|| Box::new(Recipe { files: own, ..Recipe::default() }));
            }
            Ok(builtin) if recipe.files.is_empty() => builtin.apply(&mut recipe),
            Ok(_) | Err(_) => {}
        }
        Self {
            recipe,
            builtin,
            custom_recipe,
            recent_recipes: RecentRecipes::default(),
            lora_files: Arc::from([]),
            with_control: None,
            studio: None,
            studio_defaults: PartialRecipe::default(),
            own_recipe: None,
            prompt_reading: RefCell::default(),
        }
    }

    /// True if the recipe has the built-in model.
    #[must_use]
    pub fn uses_builtin(&self) -> bool {
        self.builtin.as_ref().is_ok_and(|builtin| builtin.is_in(&self.recipe))
    }

    /// True where the model can follow a control picture.
    #[must_use]
    pub fn takes_control(&self) -> bool {
        self.recipe.has_control_net() || self.reads_control()
    }

    /// True where the model is known to read a control picture without a `ControlNet`.
    #[must_use]
    pub fn reads_control(&self) -> bool {
        self.with_control.as_ref() == Some(&self.recipe.files)
    }

    /// `Ok` if a picture can be made, here or by the other studio whose model is chosen.
    ///
    /// # Errors
    /// The first requirement that is not met.
    pub fn ready_anywhere(&self) -> Result<(), UnmetRequirement> {
        if self.studio.is_none() {
            return self.ready();
        }
        if self.is_described() { Ok(()) } else { Err(UnmetRequirement::Prompt) }
    }

    /// True where words or a start picture say what the picture is of.
    fn is_described(&self) -> bool {
        !self.recipe.prompt.trim().is_empty() || self.recipe.init.is_some()
    }

    /// `Ok` if a picture can be made here.
    ///
    /// # Errors
    /// The first requirement that is not met.
    pub fn ready(&self) -> Result<(), UnmetRequirement> {
        use FileRole::{ClipG, ClipL, Diffusion, Llm, Model, T5xxl};
        if self.studio.is_some() {
            return Err(UnmetRequirement::OwnModel);
        }
        let files = &self.recipe.files;
        if files.get(Model).is_none() && files.get(Diffusion).is_none() {
            return Err(UnmetRequirement::Model);
        }
        if files.get(Model).is_none() && [Llm, ClipL, ClipG, T5xxl].iter().all(|role| files.get(*role).is_none()) {
            return Err(UnmetRequirement::TextEncoder);
        }
        if self.recipe.control.is_some() && !self.takes_control() {
            return Err(UnmetRequirement::Controlnet);
        }
        match (self.recipe.has_photomaker(), self.recipe.person.is_empty()) {
            (true, true) => return Err(UnmetRequirement::Person),
            (false, false) => return Err(UnmetRequirement::Photomaker),
            (true, false) | (false, true) => {}
        }
        if !self.unknown_loras().is_empty() {
            return Err(UnmetRequirement::Lora);
        }
        // The built-in model was trained with empty prompts too.
        if !self.is_described() && !self.uses_builtin() {
            return Err(UnmetRequirement::Prompt);
        }
        self.recipe.check_person_word().map_err(|_| UnmetRequirement::PersonWord)
    }

    /// Uses a LoRA, with strength 1 where it is new. One that the prompt names is used already.
    pub fn use_lora(&mut self, path: PathBuf) {
        if self.prompt_loras().iter().any(|lora| lora.path == path) {
            return;
        }
        let Recipe { loras, disabled_loras, .. } = &mut self.recipe;
        if loras.iter().any(|lora| lora.path == path) {
            return;
        }
        let disabled = disabled_loras.iter().position(|lora| lora.path == path);
        loras.push(disabled.map_or(Lora::new(path, 1.0), |at| disabled_loras.remove(at)));
    }

    /// Has an embedding at hand.
    pub fn use_embedding(&mut self, path: PathBuf) {
        if !self.recipe.embeddings.contains(&path) {
            self.recipe.embeddings.push(path);
        }
    }

    /// Makes these files the model, in place of the one that was there.
    pub fn replace_model(&mut self, files: ModelFiles) {
        if self.uses_builtin() {
            self.use_own_files();
        }
        self.recipe.files = files;
        self.recipe.negative_in_prompt = false;
        self.recipe.drop_unusable_guides();
    }

    /// Something that is worth knowing before a picture is made, though it may well work.
    #[must_use]
    pub fn advice(&self) -> Option<&'static str> {
        use FileRole::{Diffusion, Model, Taesd, Vae};
        let files = &self.recipe.files;
        let lone = files.get(Model).is_none() && files.get(Diffusion).is_some();
        (lone && files.get(Vae).is_none() && files.get(Taesd).is_none()).then_some(tr!("studio-most-models-of-this"))
    }

    /// True if the recipe has these files.
    #[must_use]
    pub fn is_chosen(&self, files: &ModelFiles) -> bool {
        same_paths(files, &self.recipe.files)
    }

    /// True if these are the files of the built-in model.
    #[must_use]
    pub fn is_builtin(&self, files: &ModelFiles) -> bool {
        self.builtin.as_ref().is_ok_and(|builtin| same_paths(builtin.files(), files))
    }

    /// The name of the model of these files: the built-in one's, else its main file's.
    #[must_use]
    pub fn model_name(&self, files: &ModelFiles) -> String {
        if let Some(builtin) = self.builtin.as_ref().ok().filter(|_| self.is_builtin(files)) {
            return builtin.manifest().name.clone();
        }
        let main = files.main();
        let stem = main.or_else(|| files.iter().next().map(|(_, path)| path)).and_then(Path::file_stem);
        stem.map_or_else(|| tr!("studio-no-files").to_owned(), |stem| stem.to_string_lossy().into_owned())
    }

    /// Makes the built-in model the one in use. The person's own files and their settings are
    /// remembered, so that one can go back.
    pub fn use_builtin(&mut self) {
        let Ok(builtin) = &self.builtin else { return };
        self.custom_recipe = Some(Box::new(self.recipe.clone()));
        builtin.apply(&mut self.recipe);
        // They were made for another model.
        self.recipe.loras.clear();
        self.recipe.drop_unusable_guides();
    }

    /// Goes from the built-in model back to the person's own files.
    pub fn use_own_files(&mut self) {
        let own = self.custom_recipe.take().map(|own| *own).unwrap_or_default();
        let now = std::mem::take(&mut self.recipe);
        self.recipe = with_model_of(&now, own);
    }

    /// Takes a part of a picture's settings over; where it is computed stays as it is. In its words
    /// all is chosen already.
    pub fn recall(&mut self, part: RecallPart, from: &PartialRecipe) {
        self.apply_settings(&part.select(from).with_words_as_letters());
    }

    /// Takes settings over, of a picture or a style.
    pub fn apply_settings(&mut self, settings: &PartialRecipe) {
        if let Some(files) = &settings.files {
            self.change_sides(files);
            if *files != self.recipe.files && settings.loras.is_none() {
                // They were made for another model.
                self.recipe.loras.clear();
            }
        }
        if settings.init.is_some() {
            // The picture had one start picture, or none.
            self.recipe.further_starts.clear();
        }
        settings.apply(&mut self.recipe);
        self.follow_builtin();
        // A picture that was controlled without a ControlNet has a model that can do so.
        let own = settings.control.clone().flatten().filter(|_| settings.files.as_ref() == Some(&self.recipe.files));
        self.recipe.drop_unusable_guides();
        if self.recipe.control.is_none() {
            self.recipe.control = own;
        }
    }

    /// Reads the negative prompt as the built-in model does where it is the one in use: earlier
    /// versions of it, whose settings may come from files, read it in another way.
    fn follow_builtin(&mut self) {
        if let Ok(builtin) = &self.builtin
            && self.uses_builtin()
        {
            self.recipe.negative_in_prompt = builtin.manifest().defaults.negative_in_prompt;
        }
    }

    /// Remembers the person's own files beside the built-in model, and the other way round, before
    /// these files become the model.
    fn change_sides(&mut self, files: &ModelFiles) {
        match (self.uses_builtin(), self.is_builtin(files)) {
            (false, true) => self.use_builtin(),
            (true, false) => self.use_own_files(),
            _ => {}
        }
    }

    /// Sets the file of a role. The first one after the built-in model begins a model of one's own.
    pub fn use_file(&mut self, role: FileRole, path: PathBuf) {
        if self.uses_builtin() {
            self.use_own_files();
        }
        self.recipe.files.set(role, path);
    }
}

/// The recipe `other`, with prompt, seed, pictures and placement of `now`: everything that does not
/// depend on the model.
#[must_use]
pub fn with_model_of(now: &Recipe, mut other: Recipe) -> Recipe {
    other.take_parts(now, &KEPT_BY_ANOTHER_MODEL);
    other
}

/// Settings of a picture that suit another model too: what was made for its own is left out.
#[must_use]
pub fn without_model(settings: PartialRecipe) -> PartialRecipe {
    PartialRecipe { files: None, loras: None, negative_in_prompt: None, ..settings }
}
