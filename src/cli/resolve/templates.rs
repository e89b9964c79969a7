//! Prompts that stand for several: lists of them, choices and wildcards.

use std::path::{Path, PathBuf};

use super::lookup::{Lookup, ResolvedRecipe};
use super::prompt_files;
use crate::cli::flags::{PictureFlags, TemplateFlags};
use crate::cli::usage_error::UsageError;
use atelier_core::paths::{NoHome, Paths};
use atelier_core::recipe::{Recipe, Seed, SeedNumber};
use atelier_core::words::{LoraTag, Prompt, prompt_lines, take_loras_with_comments};
use atelier_library::LibraryConfig;
use atelier_library::disk::WildcardLists;
use atelier_studio::next_recipe::add_named_loras;

/// Prompts of one list.
const MAX_PROMPTS: usize = 10_000;

/// The recipes that `resolve` makes of the start pictures, for each of these of the prompts, each with
/// what is chosen in it. The prompts have one seed after the other, of pictures and of choices; the
/// start pictures have the same ones.
pub(super) fn choose_pictures(
    flags: &TemplateFlags,
    picture: &PictureFlags,
    starts: &[Option<PathBuf>],
    (paths, lookup): (&impl Fn() -> Result<Paths, NoHome>, &Lookup<'_>),
    resolve: impl Fn(&PictureFlags) -> Result<ResolvedRecipe, UsageError>,
) -> Result<Vec<ResolvedRecipe>, UsageError> {
    let picture = prompt_files::with_files(picture)?;
    let lines = flags.prompts.as_deref().map(prompts).transpose()?;
    let mut all = Vec::new();
    for start in starts {
        let of_start = PictureFlags { start: start.clone(), ..picture.clone() };
        let Some(lines) = &lines else {
            all.extend(pictures(resolve(&of_start)?, &of_start, (flags, flags.words_seed), paths, lookup)?);
            continue;
        };
        for (number, prompt) in (0..).zip(lines) {
            let by = u64::from(picture.batch_count).saturating_mul(number);
            let after = |first: Option<SeedNumber>| first.map(|SeedNumber(seed)| SeedNumber(seed.map(|seed| seed.after(by))));
            let of_line = PictureFlags { prompt: Some(prompt.clone()), seed: after(picture.seed), ..of_start.clone() };
            all.extend(pictures(resolve(&of_line)?, &of_line, (flags, after(flags.words_seed)), paths, lookup)?);
        }
    }
    Ok(all)
}

/// The pictures of a recipe: each chooses anew, from this seed on where one is asked for. What
/// another picture says is no template, also beside words that are typed.
fn pictures(
    resolved: ResolvedRecipe,
    picture: &PictureFlags,
    (flags, words_seed): (&TemplateFlags, Option<SeedNumber>),
    paths: &impl Fn() -> Result<Paths, NoHome>,
    lookup: &Lookup<'_>,
) -> Result<Vec<ResolvedRecipe>, UsageError> {
    let (mut recipe, mut notes, name) = resolved;
    let typed = [&picture.prompt, &picture.negative_prompt].map(Option::is_some);
    if typed.contains(&true) {
        let untyped = [&mut recipe.prompt, &mut recipe.negative_prompt].into_iter().zip(typed).filter(|(_, is_typed)| !is_typed);
        for (words, _) in untyped {
            let letters = Prompt::parse(words).as_letters();
            *words = letters;
        }
    }
    if !typed.contains(&true) || !recipe.is_template() {
        if recipe.template.is_empty() {
            // Of words in which nothing was chosen there is none.
            recipe.words_seed = None;
        }
        return Ok(vec![(recipe, notes, name)]);
    }
    if let Some(SeedNumber(seed)) = words_seed {
        recipe.words_seed = seed;
    }
    let mut lists = WildcardLists::default();
    if recipe.names_wildcards() {
        let is_usual = flags.wildcards.is_empty();
        let (read, unread) = if is_usual { LibraryConfig::word_lists(&paths()?) } else { WildcardLists::read(&flags.wildcards) };
        lists = read;
        notes.extend(unread);
    }
    let chosen = recipe.choose_pictures(Seed(u64::from(rand::random::<u32>())), &lists);
    if let Some(fault) = chosen.faults.into_iter().next() {
        return Err(UsageError::Template(fault));
    }
    let mut all = Vec::new();
    for mut recipe in chosen.recipes {
        let (prompt, tags) = take_loras_with_comments(&recipe.prompt);
        add_tagged_loras(&mut recipe, &tags, lookup)?;
        recipe.prompt = prompt;
        // What holds for all of them is said once.
        let mut own = std::mem::take(&mut notes);
        own.push(format!("Prompt of seed {}: {}", SeedNumber(recipe.seed), recipe.prompt));
        all.push((recipe, own, name.clone()));
    }
    Ok(all)
}

fn prompts(file: &Path) -> Result<Vec<String>, UsageError> {
    let text = prompt_files::read_text(file)?;
    let lines: Vec<String> = prompt_lines(&text).map(str::to_owned).collect();
    if lines.is_empty() {
        return Err(UsageError::NoPrompts(file.to_owned()));
    }
    if lines.len() > MAX_PROMPTS {
        return Err(UsageError::TextFile(file.to_owned(), format!("has {} prompts; {MAX_PROMPTS} are read at most", lines.len())));
    }
    Ok(lines)
}

/// Adds the LoRAs of these tags, in the steps of the recipe that they name.
pub(super) fn add_tagged_loras(recipe: &mut Recipe, tags: &[LoraTag], lookup: &Lookup<'_>) -> Result<(), UsageError> {
    if tags.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = tags.iter().map(|tag| tag.name.clone()).collect();
    let (found, steps) = ((lookup.loras)(&names)?, recipe.steps_in_pass(0));
    add_named_loras(&mut recipe.loras, found.into_iter().zip(tags).map(|(path, tag)| tag.lora(path, steps)));
    Ok(())
}
