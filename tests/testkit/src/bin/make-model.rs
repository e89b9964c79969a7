//! `make-model MODEL FOLDER`: writes a model with random weights and prints the flags with which
//! `atelier` opens it, one a line.
//!
//! Models: `tiny` (16 MB), `sd15` (2 GB), `sdxl` (7 GB), `zimage` (21 GB), `flux` (33 GB);
//! `tiny-q8` is `tiny` in `Q8_0`, `tiny-lora` and `tiny-q8-lora` have a LoRA, `tiny-upscaler` an
//! upscaler, `sd15-control` a `ControlNet` that needs `--control-image`.
//! `family-NAME` and `reading-NAME` are the tiny models of testkit's families.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use testkit::families::{self, Part};
use testkit::headers::{self, Parts};
use testkit::{Contents, sd15, tiny};

/// Flags of `atelier` and the file after each.
type Flags = Vec<(&'static str, PathBuf)>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, folder] = arguments.as_slice() else {
        eprintln!("usage: make-model MODEL FOLDER");
        return ExitCode::from(2);
    };
    match make(model, Path::new(folder)) {
        Ok(flags) => {
            for (flag, file) in flags {
                println!("{flag}\n{}", file.display());
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{model} could not be made in {folder}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn make(model: &str, folder: &Path) -> Result<Flags, Box<dyn Error>> {
    std::fs::create_dir_all(folder)?;
    let one = |file: &str, write: fn(&Path) -> std::io::Result<()>| {
        let path = folder.join(file);
        write(&path).map(|()| vec![("--model", path)])
    };
    let tiny = |format| -> std::io::Result<Flags> {
        let files = tiny::zimage(folder, &tiny::Options { format, ..tiny::Options::default() })?;
        Ok(vec![("--diffusion-model", files.diffusion), ("--llm", files.llm), ("--taesd", files.taesd)])
    };
    let with = |mut flags: Flags, flag, file| {
        flags.push((flag, file));
        flags
    };
    let options = tiny::Options::default();
    if let Some((_, name)) = model.split_once("family-") {
        return written(families::family(name, folder)?, folder);
    }
    if let Some((_, name)) = model.split_once("reading-") {
        return written(families::reading(name), folder);
    }
    match model {
        "tiny" => Ok(tiny(tiny::Format::Safetensors)?),
        "tiny-q8" => Ok(tiny(tiny::Format::GgufQ8)?),
        "tiny-lora" => Ok(with(tiny(tiny::Format::Safetensors)?, "--lora", tiny::lora(folder, &options)?)),
        "tiny-q8-lora" => Ok(with(tiny(tiny::Format::GgufQ8)?, "--lora", tiny::lora(folder, &options)?)),
        "tiny-upscaler" => Ok(with(tiny(tiny::Format::Safetensors)?, "--upscale-model", tiny::upscaler(folder, 2, 1)?)),
        "sd15-control" => {
            let files = families::controlled_sd15(folder)?;
            Ok(vec![("--model", files.model), ("--taesd", files.taesd), ("--control-net", files.controlnet)])
        }
        "sd15" => Ok(one("sd15.safetensors", |path| sd15(path, 1, Contents::Whole))?),
        "sdxl" => Ok(one("sdxl.safetensors", |path| headers::sdxl_with(path, Contents::Whole))?),
        "zimage" => Ok(flags(headers::zimage_with(folder, Contents::Whole)?, "--llm")),
        "flux" => Ok(flags(headers::flux_dev_with(folder, Contents::Whole)?, "--t5xxl")),
        other => Err(format!("no model is called {other}").into()),
    }
}

/// Writes a family's files.
fn written(parts: Vec<(&'static str, Part)>, folder: &Path) -> Result<Flags, Box<dyn Error>> {
    let flag = |role| match role {
        "diffusion" => "--diffusion-model",
        "llm" => "--llm",
        "taesd" => "--taesd",
        "vae" => "--vae",
        "model" => "--model",
        "clip_l" => "--clip_l",
        "clip_g" => "--clip_g",
        "t5xxl" => "--t5xxl",
        other => unreachable!("no flag takes a {other}"),
    };
    parts.into_iter().map(|(role, part)| Ok((flag(role), part.write(folder, role)?))).collect()
}

fn flags(parts: Parts, text: &'static str) -> Flags {
    let clip = parts.clip_l.map(|file| ("--clip_l", file));
    [("--diffusion-model", parts.diffusion), (text, parts.text), ("--vae", parts.vae)].into_iter().chain(clip).collect()
}
