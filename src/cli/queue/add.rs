//! `atelier queue add`.

use std::io::Write;
use std::path::{Path, PathBuf, absolute};

use super::environment::{CommandError, open};
use super::report;
use crate::cli::flags::QueueAddFlags;
use crate::cli::printer::Printer;
use crate::cli::usage_error::UsageError;
use crate::cli::{models, pull_first, resolve};
use atelier_core::paths::Paths;
use atelier_core::recipe::{ImageSource, ModelFiles, Recipe};
use atelier_gallery::queue::{Lane, NewJob};
use atelier_library::{Builtin, BuiltinError, Runnable};
use atelier_studio::results::init_file;

/// Adds a job; one whose model is not on this disk waits for its download.
pub(super) fn add(
    flags: &QueueAddFlags,
    paths: &Paths,
    builtin: fn() -> Result<Builtin, BuiltinError>,
    printer: &mut Printer<'_>,
    err: &mut (dyn Write + Send),
) -> Result<(), CommandError> {
    let common = &flags.common;
    if !common.servers.rpc_servers.is_empty() {
        return Err(UsageError::WithoutEffect("--rpc-servers has no effect on a waiting job. Pass it to `atelier queue run`.").into());
    }
    let missing = pull_first::model_name(&common.model).and_then(|name| models::missing_model(name, &common.library, paths));
    let find_model = |name: &str| match &missing {
        Some(entry) => Ok(Runnable {
            id: entry.id.clone(),
            name: entry.name.clone(),
            files: ModelFiles::default(),
            loras: Vec::new(),
            defaults: entry.defaults.clone(),
        }),
        None => models::find(name, &common.library, || Ok(paths.clone())),
    };
    let find_loras =
        |names: &[String]| models::find_loras(names, common.model.lora_model_dir.as_deref(), &common.library, || Ok(paths.clone()));
    let open_picture = |path: &Path| models::open_picture(path, &common.library, || Ok(paths.clone()), &builtin);
    let upscaler = |name: &str| models::find_upscaler(name, &common.library, || Ok(paths.clone()));
    let lookup = resolve::Lookup { model: &find_model, loras: &find_loras, like: &open_picture, upscaler: &upscaler, builtin: &builtin };
    let mut recipes = resolve::queued(flags, missing.is_none(), &|| Ok(paths.clone()), &lookup)?;
    let folder = flags.output.as_deref().map_or_else(|| paths.pictures.clone(), absolute_or_same);
    let lane = if flags.first { Lane::Interactive } else { Lane::Batch };
    let wanted_model = missing.as_ref().map(|entry| entry.id.clone());
    for (recipe, ..) in &mut recipes {
        make_absolute(recipe);
        if let Some(path) = files(recipe).find(|path| !path.exists()) {
            return Err(UsageError::MissingFile(path.to_owned()).into());
        }
    }
    let mut database = open(paths, err)?;
    for (recipe, notes, name) in recipes {
        let of_files = || atelier_library::model_name(&recipe.files).or_else(|| stem(recipe.files.main()?));
        let model = name.or_else(of_files).unwrap_or_default();
        let job = NewJob {
            wanted_model: wanted_model.clone(),
            device: flags.pin.clone(),
            ..NewJob::of_person(recipe, lane, folder.clone(), model)
        };
        let id = database.add_job(&job)?;
        let start = init_file(&job.recipe);
        printer.json(&report::added(id, wanted_model.as_deref(), start.as_deref(), &notes))?;
        for note in &notes {
            printer.text(note)?;
        }
        printer.text(&match &wanted_model {
            Some(model) => {
                format!("Job {id} waits for {model}. Download it and run the job with: atelier queue run --pull")
            }
            None => format!("Job {id} waits for its turn."),
        })?;
    }
    Ok(())
}

/// Another process makes the job, in a folder of its own.
fn make_absolute(recipe: &mut Recipe) {
    recipe.files = recipe.files.iter().map(|(role, path)| (role, absolute_or_same(path))).collect();
    for embedding in &mut recipe.embeddings {
        *embedding = absolute_or_same(embedding);
    }
    for lora in &mut recipe.loras {
        lora.path = absolute_or_same(&lora.path);
    }
    if let Some(upscaler) = recipe.hires.as_mut().and_then(|hires| hires.upscaler.as_mut()) {
        *upscaler = absolute_or_same(upscaler);
    }
    if let Some(upscale) = &mut recipe.upscale {
        upscale.model = absolute_or_same(&upscale.model);
    }
    if let Some(path) = &mut recipe.person.id_embedding {
        *path = absolute_or_same(path);
    }
    for source in recipe.pictures_mut() {
        if let ImageSource::File(path) = source {
            *path = absolute_or_same(path);
        }
    }
}

/// Every file that the job needs.
fn files(recipe: &Recipe) -> impl Iterator<Item = &Path> {
    let model = recipe.files.iter().map(|(_, path)| path);
    let added = recipe.embeddings.iter().chain(recipe.loras.iter().map(|lora| &lora.path));
    let upscalers = recipe.hires.iter().filter_map(|hires| hires.upscaler.as_ref()).chain(recipe.upscale.iter().map(|it| &it.model));
    let pictures = recipe.pictures().filter_map(|source| match source {
        ImageSource::File(path) => Some(path),
        ImageSource::Pixels(_) => None,
    });
    model.chain(added.chain(upscalers).chain(&recipe.person.id_embedding).chain(pictures).map(PathBuf::as_path))
}

fn absolute_or_same(path: &Path) -> PathBuf {
    absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn stem(path: &Path) -> Option<String> {
    Some(path.file_stem()?.to_string_lossy().into_owned())
}
