//! From flags to tasks: what the flags mean together. Pure, except that it asks whether an output is a folder.

use std::path::{Path, PathBuf};

use super::flags::{DeviceFlags, GenerateFlags, ModelFlags, PreviewMethod, UpscaleFlags};
use super::output::Output;
use crate::engine::{PreviewOptions, Task};
use crate::paths::{NoHome, Paths};
use crate::placement::{self, PlacementError};
use crate::recipe::{ControlImage, FileRole, ImageSource, InitImage, ModelFiles, PlacementText, Recipe};

/// The flags cannot mean anything.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum UsageError {
    #[error("no model is named; give one with --model, or its parts with --diffusion-model, --llm, --vae and so on")]
    NoModel,
    #[error("Atelier writes PNG files; give the output a name that ends in .png")]
    NotPng,
    #[error("--control-image needs a ControlNet; name its file with --control-net")]
    NoControlNet,
    #[error(transparent)]
    Placement(#[from] PlacementError),
    #[error(transparent)]
    NoHome(#[from] NoHome),
}

/// A job, and where its pictures go.
#[derive(Debug, PartialEq)]
pub(super) struct Job {
    pub(super) task: Task,
    pub(super) output: Output,
    pub(super) previews: Option<PathBuf>,
}

pub(super) fn generate(flags: &GenerateFlags, paths: impl FnOnce() -> Result<Paths, NoHome>) -> Result<Job, UsageError> {
    let recipe = recipe(flags)?;
    let output = match &flags.output {
        Some(path) if path.is_dir() => Output::Folder { folder: path.clone(), recipe: Box::new(recipe.clone()) },
        Some(path) => Output::Named { path: png(path)?, recipe: Box::new(recipe.clone()) },
        None => Output::Folder { folder: paths()?.pictures, recipe: Box::new(recipe.clone()) },
    };
    let every = flags.preview_interval;
    let preview = match (&flags.preview, flags.preview_method) {
        (None, _) => PreviewOptions::Off,
        (Some(_), PreviewMethod::Proj) => PreviewOptions::Projection { every },
        (Some(_), PreviewMethod::Tae) => PreviewOptions::TinyAutoencoder { every },
    };
    Ok(Job { task: Task::Generate { recipe: Box::new(recipe), preview }, output, previews: flags.preview.clone() })
}

pub(super) fn upscale(flags: &UpscaleFlags) -> Result<Job, UsageError> {
    let task = Task::Upscale {
        image: ImageSource::File(flags.input.clone()),
        model: flags.model.clone(),
        placement: placement(&flags.devices, &[])?,
        threads: threads(flags.devices.threads),
    };
    let output = Output::Enlarged { path: png(&flags.output)?, source: flags.input.clone(), model: flags.model.clone() };
    Ok(Job { task, output, previews: None })
}

fn recipe(flags: &GenerateFlags) -> Result<Recipe, UsageError> {
    let GenerateFlags { model, picture, sampling, inputs, devices, modules, .. } = flags;
    let files = files(model);
    if files.get(FileRole::Model).or(files.get(FileRole::Diffusion)).is_none() {
        return Err(UsageError::NoModel);
    }
    if inputs.control_image.is_some() && files.get(FileRole::Controlnet).is_none() {
        return Err(UsageError::NoControlNet);
    }
    let on_cpu = [(modules.clip_on_cpu, "te=cpu"), (modules.vae_on_cpu, "vae=cpu"), (modules.control_net_cpu, "controlnet=cpu")];
    let on_cpu: Vec<&str> = on_cpu.into_iter().filter_map(|(asked, entry)| asked.then_some(entry)).collect();
    let file = |path: &PathBuf| ImageSource::File(path.clone());
    Ok(Recipe {
        files,
        prompt: picture.prompt.clone(),
        negative_prompt: picture.negative_prompt.clone(),
        width: picture.width,
        height: picture.height,
        steps: sampling.steps,
        guidance: sampling.cfg_scale,
        distilled_guidance: sampling.guidance,
        sampler: sampling.sampling_method,
        scheduler: sampling.scheduler,
        eta: sampling.eta,
        flow_shift: sampling.flow_shift,
        clip_skip: sampling.clip_skip.and_then(|layers| u32::try_from(layers).ok()).filter(|layers| *layers > 0),
        seed: picture.seed,
        batch_count: picture.batch_count,
        vae_tiling: modules.vae_tiling,
        flash_attention: !modules.no_diffusion_fa,
        init: inputs.init_img.as_ref().map(|path| InitImage { image: file(path), strength: inputs.strength }),
        mask: inputs.mask.as_ref().map(file),
        reference_images: inputs.ref_image.iter().map(file).collect(),
        control: inputs.control_image.as_ref().map(|path| ControlImage { image: file(path), strength: inputs.control_strength }),
        loras: model.lora.clone(),
        placement: placement(devices, &on_cpu)?,
        threads: threads(devices.threads),
    })
}

fn files(flags: &ModelFlags) -> ModelFiles {
    let by_role = [
        (FileRole::Model, &flags.model),
        (FileRole::Diffusion, &flags.diffusion_model),
        (FileRole::Llm, &flags.llm),
        (FileRole::LlmVision, &flags.llm_vision),
        (FileRole::ClipL, &flags.clip_l),
        (FileRole::ClipG, &flags.clip_g),
        (FileRole::T5xxl, &flags.t5xxl),
        (FileRole::ClipVision, &flags.clip_vision),
        (FileRole::Vae, &flags.vae),
        (FileRole::Taesd, &flags.taesd),
        (FileRole::Controlnet, &flags.control_net),
        (FileRole::Photomaker, &flags.photo_maker),
    ];
    by_role.into_iter().filter_map(|(role, path)| Some((role, path.clone()?))).collect()
}

/// What the old flags ask for goes first, so that explicit entries win.
fn placement(flags: &DeviceFlags, on_cpu: &[&str]) -> Result<PlacementText, PlacementError> {
    let join = |first: &[&str], text: &str| {
        let entries = first.iter().copied().chain([text.trim()]).filter(|entry| !entry.is_empty());
        entries.collect::<Vec<_>>().join(",")
    };
    let offloaded: &[&str] = if flags.offload_to_cpu { &["*=cpu"] } else { &[] };
    let text = PlacementText {
        backend: join(on_cpu, &flags.backend),
        params_backend: join(offloaded, &flags.params_backend),
        max_vram: flags.max_vram.trim().to_owned(),
        stream_layers: flags.stream_layers,
    };
    placement::check_shape(&text)?;
    Ok(text)
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
mod tests {
    use clap::Parser;

    use super::super::flags::{Cli, Command};
    use super::*;
    use crate::placement::{Module, parse_backend, parse_params_backend};
    use crate::recipe::{Lora, Sampler, Scheduler};

    fn job(args: &[&str]) -> Result<Job, UsageError> {
        match Cli::try_parse_from([&["atelier"], args].concat()).unwrap().command.unwrap() {
            Command::Generate(flags) => generate(&flags, || Ok(Paths::beneath(Path::new("/home/x")))),
            Command::Upscale(flags) => upscale(&flags),
            Command::Devices(_) | Command::ServeDevice(_) => panic!("no job"),
        }
    }

    fn recipe_of(args: &[&str]) -> Recipe {
        match job(&[&["generate", "-p", "x"], args].concat()).unwrap().task {
            Task::Generate { recipe, .. } => *recipe,
            Task::Upscale { .. } => panic!("no recipe"),
        }
    }

    fn refused(args: &[&str]) -> clap::error::ErrorKind {
        Cli::try_parse_from([&["atelier", "generate"], args].concat()).unwrap_err().kind()
    }

    #[test]
    fn the_least_that_can_be_said_is_the_default_recipe() {
        let mut expected = Recipe { prompt: "x".into(), ..Recipe::default() };
        expected.files.set(FileRole::Model, "m.gguf");
        assert_eq!(recipe_of(&["-m", "m.gguf"]), expected);
    }

    #[test]
    fn every_flag_reaches_the_recipe() {
        let it = recipe_of(&[
            "--diffusion",
            "d",
            "--llm",
            "l",
            "--llm_vision",
            "lv",
            "--vae",
            "v",
            "--tae",
            "t",
            "--clip_l",
            "cl",
            "--clip-g",
            "cg",
            "--t5xxl",
            "t5",
            "--clip_vision",
            "cv",
            "--control-net",
            "cn",
            "--photo-maker",
            "pm",
            "--lora",
            "a:0.5",
            "--lora",
            "b",
            "-n",
            "--no fog",
            "-W",
            "640",
            "-H",
            "480",
            "--steps",
            "8",
            "--cfg",
            "1.5",
            "--guidance",
            "4",
            "--sampler",
            "euler_a",
            "--scheduler",
            "Karras",
            "-s",
            "-3",
            "--batch",
            "2",
            "--clip-skip",
            "2",
            "--flow-shift",
            "3",
            "--eta",
            "0.5",
            "--vae-tiling",
            "--no-diffusion-fa",
            "--init",
            "i.png",
            "--strength",
            "0.4",
            "--mask",
            "m.png",
            "-r",
            "r1",
            "-r",
            "r2",
            "--control-image",
            "c.png",
            "--control-strength",
            "0.8",
            "-t",
            "3",
            "--backend",
            "cpu",
            "--params-backend",
            "te=disk",
            "--max-vram",
            "-1",
            "--stream-layers",
        ]);
        let roles: Vec<(FileRole, &str)> = it.files.iter().map(|(role, path)| (role, path.to_str().unwrap())).collect();
        let expected = [
            (FileRole::Diffusion, "d"),
            (FileRole::Llm, "l"),
            (FileRole::LlmVision, "lv"),
            (FileRole::ClipL, "cl"),
            (FileRole::ClipG, "cg"),
            (FileRole::T5xxl, "t5"),
            (FileRole::ClipVision, "cv"),
            (FileRole::Vae, "v"),
            (FileRole::Taesd, "t"),
            (FileRole::Controlnet, "cn"),
            (FileRole::Photomaker, "pm"),
        ];
        assert_eq!(roles, expected);
        let image = |name: &str| ImageSource::File(name.into());
        let placement =
            PlacementText { backend: "cpu".into(), params_backend: "te=disk".into(), max_vram: "-1".into(), stream_layers: true };
        let expected = Recipe {
            files: it.files.clone(),
            prompt: "x".into(),
            negative_prompt: "--no fog".into(),
            width: 640,
            height: 480,
            steps: 8,
            guidance: 1.5,
            distilled_guidance: 4.0,
            sampler: Some(Sampler::EulerA),
            scheduler: Some(Scheduler::Karras),
            eta: Some(0.5),
            flow_shift: Some(3.0),
            clip_skip: Some(2),
            seed: -3,
            batch_count: 2,
            vae_tiling: true,
            flash_attention: false,
            init: Some(InitImage { image: image("i.png"), strength: 0.4 }),
            mask: Some(image("m.png")),
            reference_images: vec![image("r1"), image("r2")],
            control: Some(ControlImage { image: image("c.png"), strength: 0.8 }),
            loras: vec![Lora { path: "a".into(), strength: 0.5 }, Lora { path: "b".into(), strength: 1.0 }],
            placement,
            threads: Some(3),
        };
        assert_eq!(it, expected);
    }

    #[test]
    fn old_flags_are_translated_and_explicit_entries_win() {
        let it = recipe_of(&[
            "-m",
            "m",
            "--clip-on-cpu",
            "--vae-on-cpu",
            "--control-net-cpu",
            "--offload-to-cpu",
            "--backend",
            "cuda0,vae=cuda1",
            "--params-backend",
            "te=disk",
        ]);
        let (runs, lives) = (parse_backend(&it.placement.backend).unwrap(), parse_params_backend(&it.placement.params_backend).unwrap());
        let places = [Module::Diffusion, Module::Te, Module::Vae, Module::Controlnet].map(|module| runs.place_of(module).to_owned());
        assert_eq!(places, ["cuda0", "cpu", "cuda1", "cpu"]);
        assert_eq!((lives.place_of(Module::Te), lives.place_of(Module::Vae)), ("disk", "cpu"));
    }

    #[test]
    fn the_later_of_two_opposite_flags_wins() {
        assert!(recipe_of(&["-m", "m", "--no-diffusion-fa", "--diffusion-fa"]).flash_attention);
        assert!(!recipe_of(&["-m", "m", "--diffusion-fa", "--no-diffusion-fa"]).flash_attention);
    }

    #[test]
    fn upstreams_numbers_for_automatic_are_understood() {
        let it = recipe_of(&["-m", "m", "--clip-skip", "-1", "-t", "-1"]);
        assert_eq!((it.clip_skip, it.threads), (None, None));
    }

    #[test]
    fn pictures_go_where_they_were_asked_to_go() {
        let folder = tempfile::tempdir().unwrap();
        let output = |args: &[&str]| job(&[&["generate", "-p", "x", "-m", "m"], args].concat()).map(|job| job.output);
        assert!(matches!(output(&[]), Ok(Output::Folder { folder, .. }) if folder.ends_with("Pictures/Atelier")));
        assert!(matches!(output(&["-o", "a.PNG"]), Ok(Output::Named { path, .. }) if path == Path::new("a.PNG")));
        assert!(matches!(output(&["-o", folder.path().to_str().unwrap()]), Ok(Output::Folder { folder: it, .. }) if it == folder.path()));
        assert_eq!(output(&["-o", "a.jpg"]), Err(UsageError::NotPng));
    }

    #[test]
    fn previews_are_made_as_asked() {
        let preview = |args: &[&str]| match job(&[&["generate", "-p", "x", "-m", "m"], args].concat()).unwrap() {
            Job { task: Task::Generate { preview, .. }, previews, .. } => (preview, previews.is_some()),
            other => panic!("{other:?}"),
        };
        assert_eq!(preview(&[]), (PreviewOptions::Off, false));
        assert_eq!(preview(&["--preview", "p"]), (PreviewOptions::TinyAutoencoder { every: 1 }, true));
        let asked = preview(&["--preview", "p", "--preview-method", "proj", "--preview-interval", "4"]);
        assert_eq!(asked, (PreviewOptions::Projection { every: 4 }, true));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        use clap::error::ErrorKind;
        assert_eq!(job(&["generate", "-p", "x"]), Err(UsageError::NoModel));
        assert_eq!(job(&["generate", "-p", "x", "--vae", "v"]), Err(UsageError::NoModel));
        assert_eq!(job(&["generate", "-p", "x", "-m", "m", "--control-image", "c"]), Err(UsageError::NoControlNet));
        for placement in [["--backend", "disk"], ["--backend", "head=cpu"], ["--max-vram", "cuda0=six"], ["--params-backend", "te="]] {
            let refused = job(&[&["generate", "-p", "x", "-m", "m"], &placement[..]].concat());
            assert!(matches!(refused, Err(UsageError::Placement(_))), "{placement:?}");
        }
        assert_eq!(refused(&["-m", "m"]), ErrorKind::MissingRequiredArgument);
        for bad in [["--sampler", "eular"], ["-W", "0"], ["-W", "20000"], ["--steps", "0"], ["--cfg", "nan"], ["-b", "0"]] {
            assert_eq!(refused(&[&["-p", "x", "-m", "m"], &bad[..]].concat()), ErrorKind::ValueValidation, "{bad:?}");
        }
        assert_eq!(refused(&["-p", "x", "-m", "m", "--mask", "m.png"]), ErrorKind::MissingRequiredArgument);
    }

    #[test]
    fn an_upscale_names_its_files() {
        let it = job(&["upscale", "-m", "4x.pth", "-i", "a.jpg", "-o", "b.png", "--backend", "cpu"]).unwrap();
        assert!(matches!(&it.task, Task::Upscale { model, placement, .. } if model.ends_with("4x.pth") && placement.backend == "cpu"));
        assert!(matches!(it.output, Output::Enlarged { .. }));
    }
}
