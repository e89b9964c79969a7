//! From flags to tasks. Pure, except that it asks whether an output is a folder, lists the pictures
//! of a person, and looks models up: the built-in one, those of the library, and the names of
//! files.

mod area;
mod lookup;
mod person;
mod prompt_files;
mod starts;
mod templates;

use std::path::{Path, PathBuf};

use super::flags::{
    CommonFlags, DeviceFlags, GenerateFlags, GridFlags, HiresFlags, LikeFlags, ModelFlags, ModuleDeviceFlags, PictureFlags, PlanFlags,
    PreviewMethod, QueueAddFlags, UpscaleFlags, is_model_name,
};
use super::models::find_embeddings;
use super::usage_error::UsageError;
use atelier_core::paths::{NoHome, Paths};
use atelier_core::placement::{self, Module, ModuleSet, OldFlags, PlacementError};
use atelier_core::recipe::{
    ControlImage, FileRole, Hires, ImageSource, InitImage, Lora, ModelFiles, PartialRecipe, PlacementText, Preprocessor, Recipe, Seed,
    SeedNumber, Upscale, shaped_as,
};
use atelier_core::sd_cli::{self, CommandLine, ParsedCommand, RelativeTileSize};
use atelier_core::words::take_loras;
use atelier_engine::{PreviewOptions, Task};
use atelier_library::{Family, ModelKind, Problem, family_of, open_folders};
use atelier_studio::next_recipe::without_model;
use atelier_studio::opened_picture::OpenedPicture;
use atelier_studio::results::Destination;

pub(super) use lookup::Lookup;
use lookup::ResolvedRecipe;

/// A job of the engine with the destination of its pictures.
#[derive(Debug, PartialEq)]
pub(super) struct ResolvedJob {
    pub(super) task: Task,
    pub(super) destination: Destination,
    /// Folder of the previews.
    pub(super) previews: Option<PathBuf>,
    /// The model's name, where a manifest gives it.
    pub(super) model: Option<String>,
    /// Sentences that are said first: parts of a pasted command that Atelier does not support, and
    /// what was added.
    pub(super) notes: Vec<String>,
}

pub(super) fn generate(
    flags: &GenerateFlags,
    paths: impl Fn() -> Result<Paths, NoHome>,
    lookup: &Lookup<'_>,
) -> Result<Vec<ResolvedJob>, UsageError> {
    let all = recipes(flags, &paths, lookup)?;
    let mut earlier = 0;
    let mut jobs = Vec::with_capacity(all.len());
    for (recipe, notes, name) in all {
        let count = recipe.batch_count;
        jobs.push(generate_job(flags, &paths, (recipe, notes, name), earlier)?);
        earlier += count;
    }
    Ok(jobs)
}

/// The job of a recipe, whose pictures come after as many of earlier jobs.
fn generate_job(
    flags: &GenerateFlags,
    paths: &impl Fn() -> Result<Paths, NoHome>,
    (recipe, notes, name): ResolvedRecipe,
    earlier: u32,
) -> Result<ResolvedJob, UsageError> {
    let model = name.or_else(|| atelier_library::model_name(&recipe.files));
    let destination = destination(flags, paths, &recipe, earlier)?;
    let every = flags.preview_interval;
    let preview = match (&flags.preview, flags.preview_method) {
        (None, _) => PreviewOptions::Off,
        (Some(_), PreviewMethod::Proj) => PreviewOptions::Projection { every },
        (Some(_), PreviewMethod::Tae) => PreviewOptions::TinyAutoencoder { every },
    };
    let task = Task::Generate { recipe: Box::new(recipe), preview, shares_steps: false };
    Ok(ResolvedJob { task, destination, previews: flags.preview.clone(), model, notes })
}

/// Where the pictures of a recipe go, which come after as many of earlier jobs.
fn destination(
    flags: &GenerateFlags,
    paths: &impl Fn() -> Result<Paths, NoHome>,
    recipe: &Recipe,
    earlier: u32,
) -> Result<Destination, UsageError> {
    let recipe = Box::new(recipe.clone());
    let has_metadata = has_metadata(flags);
    Ok(match &flags.output {
        Some(path) if path.is_dir() => Destination::Folder { folder: path.clone(), recipe, has_metadata },
        Some(path) => Destination::Named { path: png(path)?, earlier, recipe, has_metadata },
        None => Destination::Folder { folder: paths()?.pictures, recipe, has_metadata },
    })
}

/// True where pictures keep their settings: neither a flag nor a pasted command says otherwise.
fn has_metadata(flags: &GenerateFlags) -> bool {
    let pasted = flags.from_command.as_deref().and_then(|command| sd_cli::read(command).ok());
    !flags.disable_image_metadata && !pasted.is_some_and(|command| command.without_metadata)
}

/// What another studio is asked for: a recipe without model and files, sentences that are said first,
/// and where its pictures go.
pub(super) type RemoteJobFlags = (Recipe, Vec<String>, Destination);

/// The jobs of these flags for another studio. LoRAs stay in the prompts: they are that studio's.
pub(super) fn for_studio(
    flags: &GenerateFlags,
    paths: impl Fn() -> Result<Paths, NoHome>,
    lookup: &Lookup<'_>,
) -> Result<Vec<RemoteJobFlags>, UsageError> {
    let by_name = |names: &[String]| -> Result<Vec<PathBuf>, UsageError> { Ok(names.iter().map(PathBuf::from).collect()) };
    let lookup = Lookup { loras: &by_name, ..*lookup };
    let starts = starts::all(&flags.common.inputs)?;
    let all = templates::choose_pictures(&flags.templates, &flags.picture(), &starts, (&paths, &lookup), |picture| {
        Ok((recipe_for_studio(picture, &flags.common), Vec::new(), None))
    })?;
    let mut earlier = 0;
    let mut jobs = Vec::with_capacity(all.len());
    for (mut recipe, notes, _) in all {
        let steps = recipe.steps_in_pass(0);
        for lora in std::mem::take(&mut recipe.loras) {
            recipe.prompt.push(' ');
            recipe.prompt.push_str(&lora.tag(lora.path.display(), steps));
        }
        let destination = destination(flags, &paths, &recipe, earlier)?;
        earlier += recipe.batch_count;
        jobs.push((recipe, notes, destination));
    }
    Ok(jobs)
}

/// What flags choose, in a recipe that has the usual values otherwise.
fn recipe_for_studio(picture: &PictureFlags, common: &CommonFlags) -> Recipe {
    let usual = Recipe::default();
    let CommonFlags { sampling, inputs, area, .. } = common;
    let file = |path: &PathBuf| ImageSource::File(path.clone());
    Recipe {
        prompt: picture.prompt.clone().unwrap_or_default(),
        negative_prompt: picture.negative_prompt.clone().unwrap_or_default(),
        width: picture.width.unwrap_or(usual.width),
        height: picture.height.unwrap_or(usual.height),
        seed: picture.seed.map_or(usual.seed, |number| number.0),
        batch_count: picture.batch_count,
        steps: sampling.steps.unwrap_or(usual.steps),
        guidance: sampling.cfg_scale.unwrap_or(usual.guidance),
        distilled_guidance: sampling.guidance.unwrap_or(usual.distilled_guidance),
        sampler: sampling.sampling_method,
        scheduler: sampling.scheduler,
        eta: sampling.eta,
        flow_shift: sampling.flow_shift,
        clip_skip: sampling.clip_skip.and_then(|layers| u32::try_from(layers).ok()).filter(|layers| *layers > 0),
        init: picture.start.as_ref().map(|path| InitImage { image: file(path), strength: area::strength(inputs, area) }),
        mask: inputs.mask.as_ref().map(file),
        reference_images: inputs.ref_image.iter().map(file).collect(),
        ..usual
    }
}

/// These flags as a command line of sd-cli.
pub(super) fn as_command(
    flags: &GenerateFlags,
    paths: impl Fn() -> Result<Paths, NoHome>,
    lookup: &Lookup<'_>,
) -> Result<CommandLine, UsageError> {
    let all = recipes(flags, &paths, lookup)?;
    let others = all.len().saturating_sub(1);
    let (recipe, mut left_out, _) = all.into_iter().next().unwrap_or_default();
    if others > 0 {
        left_out.push(format!("Further pictures with other prompts or start pictures: {others}."));
    }
    let CommandLine { mut line, left_out: unsaid } = sd_cli::write(&recipe);
    left_out.extend(unsaid);
    if !has_metadata(flags) {
        line.push_str(" --disable-image-metadata");
    }
    Ok(CommandLine { line, left_out })
}

pub(super) fn upscale(
    flags: &UpscaleFlags,
    find: impl FnOnce(&str) -> Result<PathBuf, UsageError>,
    pickles: impl FnOnce() -> Result<bool, UsageError>,
) -> Result<ResolvedJob, UsageError> {
    let path = png(&flags.output)?;
    let devices = &flags.devices;
    if devices.split_batch.is_some() {
        return Err(UsageError::WithoutEffect("--split-batch has no effect on an upscaler: it runs on one device. Remove --split-batch."));
    }
    let old = with_module_devices(OldFlags { offload_to_cpu: devices.offload_to_cpu, ..OldFlags::default() }, &flags.module_devices)?;
    let text = old.before(&PlacementText {
        backend: devices.backend.clone(),
        params_backend: devices.params_backend.clone(),
        max_vram: devices.max_vram.clone(),
        stream_layers: if devices.stream_layers { [Module::Upscaler].into_iter().collect() } else { ModuleSet::NONE },
        split_batch: String::new(),
    });
    placement::check_shape(&text)?;
    let model = match flags.model.to_str() {
        Some(name) if is_model_name(&flags.model) => find(name)?,
        _ => flags.model.clone(),
    };
    let mut allow_pickle = flags.allow_pickle;
    if let (false, Err(error)) = (allow_pickle, atelier_library::read_header(&model))
        && error.fault == atelier_library::Fault::Pickle
    {
        allow_pickle = pickles()?;
        if !allow_pickle {
            let hint = format!("{} If you trust the author of this file, add --allow-pickle.", error.advice.hint);
            return Err(Problem::new(error.advice.sentence, hint).into());
        }
    }
    let task = Task::Upscale {
        image: ImageSource::File(flags.input.clone()),
        model: model.clone(),
        allow_pickle,
        placement: text,
        threads: threads(devices.threads),
    };
    let destination = Destination::Upscaled { path, source: flags.input.clone(), model };
    Ok(ResolvedJob { task, destination, previews: None, model: None, notes: Vec::new() })
}

/// The recipes of these flags: one for each start picture, each prompt of a list and each picture of
/// a template.
fn recipes(
    flags: &GenerateFlags,
    paths: &impl Fn() -> Result<Paths, NoHome>,
    lookup: &Lookup<'_>,
) -> Result<Vec<ResolvedRecipe>, UsageError> {
    let starts = starts::all(&flags.common.inputs)?;
    templates::choose_pictures(&flags.templates, &flags.picture(), &starts, (paths, lookup), |picture| recipe(flags, picture, lookup))
}

/// The recipe, the unsupported parts of a pasted command, and the name of a model of the library.
fn recipe(flags: &GenerateFlags, picture: &PictureFlags, lookup: &Lookup<'_>) -> Result<ResolvedRecipe, UsageError> {
    let (recipe, left_out, name) = if let Some(command) = &flags.from_command {
        let ParsedCommand { mut recipe, person_folder, embeddings_folder, relative_tile_size, left_out, .. } = sd_cli::read(command)?;
        if let Some(folder) = embeddings_folder {
            recipe.embeddings = find_embeddings(&folder, &[&recipe.prompt, &recipe.negative_prompt])?;
        }
        if let Some(folder) = person_folder {
            recipe.person.images = person::images(&folder)?;
        }
        recipe.files = open_folders(&recipe.files);
        set_relative_tiles(&mut recipe, relative_tile_size);
        let mut notes: Vec<String> = left_out.iter().map(|it| format!("left out: {it}")).collect();
        notes.extend(recipe.clamp());
        (recipe, notes, None)
    } else {
        recipe_like(&flags.like, picture, &flags.common, lookup)?
    };
    check_complete(&recipe)?;
    recipe.check_person_word().map_err(UsageError::Person)?;
    Ok((recipe, left_out, name))
}

/// The recipe that `plan` predicts, and a sentence on each setting that was changed.
pub(super) fn plan(flags: &PlanFlags, lookup: &Lookup<'_>) -> Result<(Recipe, Vec<String>), UsageError> {
    let picture = PictureFlags {
        prompt: Some(flags.prompt.clone()),
        negative_prompt: Some(flags.negative_prompt.clone()),
        width: flags.width,
        height: flags.height,
        seed: Some(SeedNumber(Some(Seed::default()))),
        batch_count: 1,
        files: flags.files.clone(),
        start: starts::only(&flags.common.inputs, "atelier plan is about one picture")?,
    };
    let picture = prompt_files::with_files(&picture)?;
    let (mut recipe, _) = recipe_of_flags(&picture, &flags.common, None, lookup)?;
    let notes = recipe.clamp();
    check_complete(&recipe)?;
    Ok((recipe, notes))
}

/// The recipes of jobs of the queue, what could not be taken from the picture that they are like, and
/// the name of their model of the library; one that has no files yet is none to complain about.
pub(super) fn queued(
    flags: &QueueAddFlags,
    is_model_here: bool,
    paths: &impl Fn() -> Result<Paths, NoHome>,
    lookup: &Lookup<'_>,
) -> Result<Vec<ResolvedRecipe>, UsageError> {
    let (picture, starts) = (flags.picture(), starts::all(&flags.common.inputs)?);
    templates::choose_pictures(&flags.templates, &picture, &starts, (paths, lookup), |picture| {
        let (recipe, notes, name) = recipe_like(&flags.like, picture, &flags.common, lookup)?;
        if is_model_here {
            check_complete(&recipe)?;
            recipe.check_person_word().map_err(UsageError::Person)?;
        }
        Ok((recipe, notes, name))
    })
}

/// The recipe that a sheet begins with, what could not be taken over, and the name of its model.
pub(super) fn of_sheet(flags: &GridFlags, lookup: &Lookup<'_>) -> Result<(Recipe, Vec<String>, Option<String>), UsageError> {
    let start = starts::only(&flags.common.inputs, "all pictures of a sheet begin with one start picture")?;
    let picture = prompt_files::with_files(&PictureFlags { start, ..flags.picture() })?;
    let (recipe, notes, name) = recipe_like(&flags.like, &picture, &flags.common, lookup)?;
    check_complete(&recipe)?;
    recipe.check_person_word().map_err(UsageError::Person)?;
    Ok((recipe, notes, name))
}

/// The recipe of flags and of the picture that it is to be like, or to go on from after a step,
/// what could not be taken from that, and the name of a model of the library.
fn recipe_like(
    like: &LikeFlags,
    picture: &PictureFlags,
    common: &CommonFlags,
    lookup: &Lookup<'_>,
) -> Result<(Recipe, Vec<String>, Option<String>), UsageError> {
    let opened = like.like.as_deref().map(|path| (lookup.like)(path)).transpose()?;
    if let (Some(path), Some(opened), None) = (&like.like, &opened, &picture.prompt)
        && opened.settings.prompt.is_none()
    {
        return Err(UsageError::NoPrompt(path.clone()));
    }
    let mut notes: Vec<String> = opened.as_ref().map(|picture| picture.sentences().collect()).unwrap_or_default();
    let (mut recipe, name) = recipe_of_flags(picture, common, opened.as_ref(), lookup)?;
    if let (Some(path), Some(opened)) = (&like.like, &opened)
        && (like.finish || like.from_step.is_some())
    {
        let mut parent = recipe.clone();
        let settings = opened.settings.clone();
        let is_same_model = settings.files.as_ref() == Some(&recipe.files);
        let settings = if is_same_model { PartialRecipe { files: None, ..settings } } else { without_model(settings) };
        settings.apply(&mut parent);
        let step = like.from_step.or(parent.draft_step()).ok_or_else(|| UsageError::NoDraft(path.clone()))?;
        recipe.last_step = common.steps.last_step;
        recipe.earlier_steps = parent.steps_until(step, path.file_name().map(|name| name.to_string_lossy().into_owned()));
    }
    notes.extend(recipe.clamp());
    Ok((recipe, notes, name))
}

fn check_complete(recipe: &Recipe) -> Result<(), UsageError> {
    if recipe.files.get(FileRole::Model).or(recipe.files.get(FileRole::Diffusion)).is_none() {
        return Err(UsageError::NoModel);
    }
    if recipe.control.is_some() && recipe.files.get(FileRole::Controlnet).is_none() {
        return Err(UsageError::NoControlNet);
    }
    recipe.check_person().map_err(UsageError::Person)
}

/// The recipe of flags, beginning with the settings of the picture `like`, and the name of a model
/// of the library.
fn recipe_of_flags(
    picture: &PictureFlags,
    common: &CommonFlags,
    like: Option<&OpenedPicture>,
    lookup: &Lookup<'_>,
) -> Result<(Recipe, Option<String>), UsageError> {
    let CommonFlags { model, sampling, guidance, family, inputs, person, area, hires, steps, devices, module_devices, modules, .. } =
        common;
    // Contradictions are reported before any model is looked up.
    let old = OldFlags {
        clip_on_cpu: modules.clip_on_cpu,
        vae_on_cpu: modules.vae_on_cpu,
        control_net_cpu: modules.control_net_cpu,
        ..OldFlags::default()
    };
    let placement = placement(devices, module_devices, old)?;
    if let (Some(sentence), Some(_)) = (FileRole::ClipVision.without_effect(), &model.clip_vision) {
        return Err(UsageError::WithoutEffect(sentence));
    }
    let (prompt, tags) = take_loras(picture.prompt.as_deref().unwrap_or_default());
    let mut usual = Recipe { files: files(model), ..Recipe::default() };
    let mut name = None;
    if let Some(asked) = model.model.as_deref().filter(|it| is_model_name(it)).and_then(Path::to_str) {
        let found = (lookup.model)(asked)?;
        found.apply(&mut usual);
        // A file that is named beside the model takes the place of the model's own.
        for (role, path) in files(model).iter().filter(|(role, _)| *role != FileRole::Model) {
            usual.files.set(role, path);
        }
        name = Some(found.name);
    }
    let mut settings = like.map(|picture| picture.settings.clone()).unwrap_or_default();
    let has_own_model = usual.files.main().is_some();
    if let Some(files) = settings.files.take().filter(|_| !has_own_model) {
        let named = std::mem::replace(&mut usual.files, files);
        for (role, path) in named.iter() {
            usual.files.set(role, path);
        }
    }
    if usual.files.is_empty() && name.is_none() {
        let missing = like.and_then(|picture| picture.missing.iter().find(|it| it.kind == ModelKind::Model));
        if let Some(missing) = missing {
            return Err(UsageError::ModelOfPicture(missing.sentence()));
        }
        (lookup.builtin)()?.apply(&mut usual);
    }
    let settings = if has_own_model { without_model(settings) } else { settings };
    settings.apply(&mut usual);
    let loras: Vec<Lora> = usual.loras.iter().chain(&model.lora).cloned().collect();
    let mut embeddings = model.embedding.clone();
    if let Some(folder) = &model.embd_dir {
        let prompts = [picture.prompt.as_deref(), picture.negative_prompt.as_deref()];
        embeddings.extend(find_embeddings(folder, &prompts.map(Option::unwrap_or_default))?);
    }
    let file = |path: &PathBuf| ImageSource::File(path.clone());
    let mut recipe = Recipe {
        prompt: if picture.prompt.is_some() { prompt } else { usual.prompt },
        negative_prompt: picture.negative_prompt.clone().unwrap_or(usual.negative_prompt),
        negative_in_prompt: usual.negative_in_prompt,
        template: if picture.prompt.is_some() { String::new() } else { usual.template },
        // That of a picture chose its words; another one is asked for where something is chosen.
        words_seed: usual.words_seed,
        width: picture.width.unwrap_or(usual.width),
        height: picture.height.unwrap_or(usual.height),
        steps: sampling.steps.unwrap_or(usual.steps),
        guidance: sampling.cfg_scale.unwrap_or(usual.guidance),
        guidance_ranges: if guidance.cfg_range.is_empty() { usual.guidance_ranges } else { guidance.cfg_range.clone() },
        distilled_guidance: sampling.guidance.unwrap_or(usual.distilled_guidance),
        sampler: sampling.sampling_method.or(usual.sampler),
        scheduler: sampling.scheduler.or(usual.scheduler),
        eta: sampling.eta.or(usual.eta),
        flow_shift: sampling.flow_shift.or(usual.flow_shift),
        prediction: sampling.prediction.or(usual.prediction),
        image_guidance: guidance.img_cfg_scale.or(usual.image_guidance),
        skip_layers: guidance.skip().or(usual.skip_layers),
        sigmas: guidance.sigmas.as_ref().map_or(usual.sigmas, |sigmas| sigmas.0.clone()),
        timestep_shift: guidance.timestep_shift.or(usual.timestep_shift),
        sampler_arguments: guidance.extra_sample_args.clone().unwrap_or(usual.sampler_arguments),
        seamless_x: guidance.circular || guidance.circularx || usual.seamless_x,
        seamless_y: guidance.circular || guidance.circulary || usual.seamless_y,
        step_cache: guidance.cache().or(usual.step_cache),
        // A number that is none asks for the model's own.
        clip_skip: sampling.clip_skip.map_or(usual.clip_skip, |layers| u32::try_from(layers).ok().filter(|layers| *layers > 0)),
        seed: picture.seed.map_or(usual.seed, |number| number.0),
        seed_blend: steps.seed_blend().or(usual.seed_blend),
        rng: sampling.rng.unwrap_or(usual.rng),
        sampler_rng: sampling.sampler_rng.or(usual.sampler_rng),
        batch_count: picture.batch_count,
        vae_tiling: modules.vae_tiling || usual.vae_tiling,
        vae_tile_size: modules.vae_tile_size.or(usual.vae_tile_size),
        vae_tile_overlap: modules.vae_tile_overlap.or(usual.vae_tile_overlap),
        flash_attention: !modules.no_diffusion_fa && (usual.flash_attention || modules.diffusion_fa),
        insists_on_flash_attention: modules.diffusion_fa || usual.insists_on_flash_attention,
        vae_conv_scale: modules.vae_conv_scale || usual.vae_conv_scale,
        zero_cond_t: family.qwen_image_zero_cond_t || usual.zero_cond_t,
        chroma_dit_mask: usual.chroma_dit_mask && !family.chroma_disable_dit_mask,
        chroma_t5_mask: family.chroma_enable_t5_mask || usual.chroma_t5_mask,
        chroma_t5_padding: family.chroma_t5_mask_pad.unwrap_or(usual.chroma_t5_padding),
        vae_format: family.vae_format.or(usual.vae_format),
        weight_type: family.weight_type.or(usual.weight_type),
        tensor_type_rules: family.tensor_type_rules.clone().unwrap_or(usual.tensor_type_rules),
        init: picture.start.as_ref().map(|path| InitImage { image: file(path), strength: area::strength(inputs, area) }).or(usual.init),
        // A mask belongs to its picture.
        mask: inputs.mask.as_ref().map(file).or(usual.mask.filter(|_| picture.start.is_none())),
        further_starts: Vec::new(),
        start_fit: usual.start_fit,
        area: usual.area,
        outpaint: usual.outpaint,
        hires: hires_of(hires, lookup)?.or(usual.hires),
        upscale: upscale_of(hires, lookup)?.or(usual.upscale),
        earlier_steps: usual.earlier_steps,
        last_step: steps.last_step.or(usual.last_step),
        reference_images: if inputs.ref_image.is_empty() { usual.reference_images } else { inputs.ref_image.iter().map(file).collect() },
        resize_references: usual.resize_references && !family.disable_auto_resize_ref_image,
        number_references: family.increase_ref_index || usual.number_references,
        control: inputs
            .control_image
            .as_ref()
            .map(|path| ControlImage {
                image: file(path),
                strength: inputs.control_strength,
                start: inputs.control_start,
                end: inputs.control_end,
                preprocessor: inputs.control_prepare.or(inputs.canny.then_some(Preprocessor::Canny)),
            })
            .or(usual.control),
        person: person::of_flags(person, usual.person)?,
        loras,
        lora_mode: model.lora_apply_mode.unwrap_or(usual.lora_mode),
        disabled_loras: Vec::new(),
        embeddings: usual.embeddings.into_iter().chain(embeddings).collect(),
        placement,
        memory_map: devices.mmap,
        threads: threads(devices.threads),
        files: usual.files,
    };
    area::apply(&mut recipe, inputs, area)?;
    templates::add_tagged_loras(&mut recipe, &tags, lookup)?;
    // A part has the size of its crop, and a picture of the gallery tells its own.
    let has_size = recipe.changes_part() || like.is_some_and(|picture| picture.settings.width.is_some());
    let start = picture.start.as_ref().filter(|_| !has_size).and_then(|path| atelier_media::image_size(&file(path)).ok());
    if let Some(own) = start {
        let (width, height) = shaped_as(own, (usual.width, usual.height), (picture.width, picture.height));
        recipe.width = picture.width.unwrap_or(width);
        recipe.height = picture.height.unwrap_or(height);
    }
    set_relative_tiles(&mut recipe, modules.vae_relative_tile_size);
    Ok((recipe, name))
}

/// Sets the VAE's tiles in relation to the picture, by the latents of the recipe's model.
fn set_relative_tiles(recipe: &mut Recipe, size: Option<RelativeTileSize>) {
    if let Some(size) = size {
        recipe.set_relative_vae_tiles(size.parts(), Family::latent_pixels_of(family_of(&recipe.files)));
    }
}

/// The second pass that flags ask for.
fn hires_of(flags: &HiresFlags, lookup: &Lookup<'_>) -> Result<Option<Hires>, UsageError> {
    let Some(scale) = flags.scale() else { return Ok(None) };
    let upscaler = flags.model().map(|path| upscaler_file(&path, lookup)).transpose()?;
    let strength = flags.hires_strength.unwrap_or(Hires::default().strength);
    let (steps, tiles) = (flags.hires_steps, flags.tiles());
    let sigmas = flags.hires_sigmas.as_ref().map(|sigmas| sigmas.0.clone()).unwrap_or_default();
    let (target, latent) = (flags.target(), flags.latent());
    let (tile_size, allow_pickle) = (flags.hires_upscale_tile_size, flags.allow_pickle);
    Ok(Some(Hires { scale, target, strength, steps, sigmas, upscaler, tile_size, latent, allow_pickle, tiles }))
}

/// What flags make of the finished picture.
fn upscale_of(flags: &HiresFlags, lookup: &Lookup<'_>) -> Result<Option<Upscale>, UsageError> {
    let Some(path) = &flags.upscale_model else { return Ok(None) };
    let model = upscaler_file(path, lookup)?;
    let repeats = flags.upscale_repeats.unwrap_or(1);
    Ok(Some(Upscale { model, repeats, tile_size: flags.upscale_tile_size, allow_pickle: flags.allow_pickle }))
}

fn upscaler_file(path: &Path, lookup: &Lookup<'_>) -> Result<PathBuf, UsageError> {
    if is_model_name(path) { (lookup.upscaler)(&path.to_string_lossy()) } else { Ok(path.to_owned()) }
}

fn files(flags: &ModelFlags) -> ModelFiles {
    let by_role = [
        (FileRole::Model, &flags.model),
        (FileRole::Diffusion, &flags.diffusion_model),
        (FileRole::UncondDiffusion, &flags.uncond_diffusion_model),
        (FileRole::Llm, &flags.llm),
        (FileRole::LlmVision, &flags.llm_vision),
        (FileRole::ClipL, &flags.clip_l),
        (FileRole::ClipG, &flags.clip_g),
        (FileRole::T5xxl, &flags.t5xxl),
        (FileRole::Vae, &flags.vae),
        (FileRole::Taesd, &flags.taesd),
        (FileRole::Controlnet, &flags.control_net),
        (FileRole::Photomaker, &flags.photo_maker),
    ];
    open_folders(&by_role.into_iter().filter_map(|(role, path)| Some((role, path.clone()?))).collect())
}

fn placement(flags: &DeviceFlags, module_devices: &ModuleDeviceFlags, old: OldFlags) -> Result<PlacementText, PlacementError> {
    let old = with_module_devices(OldFlags { offload_to_cpu: flags.offload_to_cpu, ..old }, module_devices)?;
    let text = old.before(&PlacementText {
        backend: flags.backend.clone(),
        params_backend: flags.params_backend.clone(),
        max_vram: flags.max_vram.clone(),
        stream_layers: flags.stream_layers,
        split_batch: flags.split_batch.clone(),
    });
    placement::check_shape(&text)?;
    Ok(text)
}

fn with_module_devices(mut old: OldFlags, flags: &ModuleDeviceFlags) -> Result<OldFlags, PlacementError> {
    for (option, device) in flags.by_option() {
        old.devices.set(option, device)?;
    }
    Ok(old)
}

pub(super) fn threads(asked: Option<i32>) -> Option<u32> {
    asked.and_then(|threads| u32::try_from(threads).ok()).filter(|threads| *threads > 0)
}

/// A name without an extension is taken as it is: it was asked for.
fn png(path: &Path) -> Result<PathBuf, UsageError> {
    let other = path.extension().is_some_and(|extension| !extension.eq_ignore_ascii_case("png"));
    if other || path.file_name().is_none() { Err(UsageError::NotPng) } else { Ok(path.to_path_buf()) }
}

#[cfg(test)]
mod tests;
