//! The order in which cells cost least.

use super::{Cell, Grid};
use crate::recipe::{Affects, FileRole, ModelFiles, Recipe, Sampler};

/// What a cell shares with others; equal numbers are shared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Sharing {
    /// The open model.
    pub(super) model: usize,
    /// LoRAs and what else the encodings of its texts depend on.
    pub(super) encoder: usize,
    /// The texts of its first pass.
    first_texts: Vec<usize>,
    /// Its steps.
    pub(super) steps: usize,
    /// All of its texts.
    pub(super) texts: Vec<usize>,
}

/// The steps of a recipe: those of its first pass, which can be kept, and those after.
pub(super) fn steps(recipe: &Recipe) -> (u32, u32) {
    let first = if recipe.upscales_init() { 0 } else { recipe.draft_step().unwrap_or_else(|| recipe.steps_in_pass(0)) };
    let redraws = recipe.hires.as_ref().is_some_and(|hires| hires.strength > 0.0) && !recipe.changes_part();
    let is_draft = recipe.draft_step().is_some();
    (first, if redraws && (!is_draft || recipe.upscales_init()) { recipe.steps_in_pass(1) } else { 0 })
}

/// Evaluations of the diffusion module for so many steps; the last one of a pass is computed at once.
pub(super) fn evaluations(recipe: &Recipe, steps: u32, is_whole: bool) -> u64 {
    let each = u64::from(recipe.sampler.map_or(1, Sampler::evaluations));
    let all = u64::from(steps) * each;
    if is_whole && steps > 0 { all - (each - 1) } else { all }
}

/// True for files that make encodings of texts.
const fn reads_texts(role: FileRole) -> bool {
    matches!(
        role,
        FileRole::Model | FileRole::Llm | FileRole::LlmVision | FileRole::ClipL | FileRole::ClipG | FileRole::T5xxl | FileRole::Photomaker
    )
}

/// What each picture shares with the others.
pub(super) fn sharings(recipes: &[&Recipe]) -> Vec<Sharing> {
    let (mut models, mut encoders, mut texts, mut all_steps) =
        (Numbers::default(), Numbers::default(), Numbers::default(), Numbers::default());
    let number = |recipe: &&Recipe| {
        let recipe = *recipe;
        let model = models.of(recipe.only(Affects::Opening));
        let files: ModelFiles =
            recipe.files.iter().filter(|(role, _)| reads_texts(*role)).map(|(role, path)| (role, path.into())).collect();
        let open = recipe.only(Affects::Opening);
        let (mask, padding) = (open.chroma_t5_mask, open.chroma_t5_padding);
        let how = (open.placement, open.threads, open.flash_attention, mask, padding, open.weight_type, open.tensor_type_rules);
        // The size is one of the numbers that some encoders are given.
        let is_redrawn = steps(recipe).1 > 0 && recipe.hires.as_ref().is_some_and(|hires| hires.latent_upscaler().is_none());
        let sizes = [Some((recipe.width, recipe.height)), is_redrawn.then(|| recipe.final_size())];
        let shown = (recipe.person.clone(), recipe.reference_images.clone());
        let encoder = encoders.of((files, how, recipe.loras.clone(), recipe.embeddings.clone(), recipe.clip_skip, shown));
        let (prompt, negative) = recipe.model_prompts();
        let negative = recipe.uses_guidance().then(|| negative.to_owned());
        let (mut own, mut first_texts) = (Vec::<usize>::new(), Vec::new());
        for size in sizes.into_iter().flatten() {
            for text in [Some(&prompt), negative.as_ref()].into_iter().flatten() {
                let number = texts.of((encoder, size, text.clone()));
                if !own.contains(&number) {
                    own.push(number);
                }
            }
            if first_texts.is_empty() {
                first_texts.clone_from(&own);
            }
        }
        let begins_like = Recipe { last_step: None, ..recipe.only(Affects::Steps) };
        let begin = all_steps.of((model, begins_like, (recipe.width, recipe.height), recipe.mask.clone(), recipe.reference_images.clone()));
        Sharing { model, encoder, first_texts, steps: begin, texts: own }
    };
    recipes.iter().map(number).collect()
}

/// Numbers for things that are equal, in the order in which they come.
struct Numbers<T>(Vec<T>);

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: PartialEq> Numbers<T> {
    fn of(&mut self, it: T) -> usize {
        self.0.iter().position(|other| *other == it).unwrap_or_else(|| {
            self.0.push(it);
            self.0.len() - 1
        })
    }
}

impl Grid {
    /// Indices of these cells in the order in which they cost least: a model is opened once, a text
    /// is encoded once, and cells with the same steps follow each other, drafts first.
    #[must_use]
    pub fn order(cells: &[Cell]) -> Vec<usize> {
        let recipes: Vec<&Recipe> = cells.iter().map(|cell| &cell.recipe).collect();
        let sharings = sharings(&recipes);
        let mut order: Vec<usize> = (0..cells.len()).collect();
        order.sort_by_key(|index| (sharings.get(*index), cells.get(*index).map(|cell| steps(&cell.recipe).0), *index));
        order
    }
}
