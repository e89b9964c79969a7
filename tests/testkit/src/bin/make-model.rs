//! `make-model MODEL FOLDER`: writes a model with random weights and prints the flags with which
//! `atelier` opens it, one a line.
//!
//! Models: `tiny` (16 MB), `sd15` (2 GB), `sdxl` (7 GB), `zimage` (21 GB), `flux` (33 GB);
//! `tiny-q8` is `tiny` in `Q8_0`.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use testkit::headers::{self, Parts};
use testkit::{Contents, sd15, tiny};

/// Flags of `atelier` and the file after each.
type Flags = Vec<(&'static str, PathBuf)>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, folder] = arguments.as_slice() else {
        eprintln!("usage: make-model tiny|tiny-q8|sd15|sdxl|zimage|flux FOLDER");
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
    let tiny = |format| {
        let files = tiny::zimage(folder, &tiny::Options { format, ..tiny::Options::default() })?;
        Ok(vec![("--diffusion-model", files.diffusion), ("--llm", files.llm), ("--taesd", files.taesd)])
    };
    match model {
        "tiny" => tiny(tiny::Format::Safetensors),
        "tiny-q8" => tiny(tiny::Format::GgufQ8),
        "sd15" => Ok(one("sd15.safetensors", |path| sd15(path, 1, Contents::Whole))?),
        "sdxl" => Ok(one("sdxl.safetensors", |path| headers::sdxl_with(path, Contents::Whole))?),
        "zimage" => Ok(flags(headers::zimage_with(folder, Contents::Whole)?, "--llm")),
        "flux" => Ok(flags(headers::flux_dev_with(folder, Contents::Whole)?, "--t5xxl")),
        other => Err(format!("no model is called {other}").into()),
    }
}

fn flags(parts: Parts, text: &'static str) -> Flags {
    let clip = parts.clip_l.map(|file| ("--clip_l", file));
    [("--diffusion-model", parts.diffusion), (text, parts.text), ("--vae", parts.vae)].into_iter().chain(clip).collect()
}
