//! `atelier inspect`: what picture files say of how they were made, whichever program made them.

use std::io::{self, Write};
use std::path::Path;

use super::exit::Exit;
use super::flags::InspectFlags;
use super::json::{Inspected, InspectedModel, Line};
use super::printer::Printer;
use super::reporter::write_message;
use atelier_core::plain_text::indented;
use atelier_core::sentences::with_commas;
use atelier_media::{PictureSettings, Tool, read_settings, read_stealth_settings};

/// Prints what each file says. A file that cannot be read is reported on standard error, and the
/// others are still read.
pub(super) fn run(flags: &InspectFlags, out: &mut dyn Write, err: &mut dyn Write) -> Exit {
    let mut printer = Printer::new(out, flags.json);
    let mut exit = Exit::Done;
    for path in &flags.files {
        let read = if flags.stealth { read_stealth_settings(path) } else { read_settings(path) };
        match read.map(|settings| print(&mut printer, path, settings)) {
            Ok(Ok(())) => {}
            // Nobody reads any more.
            Ok(Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => return Exit::Done,
            Ok(Err(error)) => {
                write_message(err, &format!("error: {error}"));
                return Exit::Failed;
            }
            Err(error) => {
                write_message(err, &format!("error: {error}"));
                exit = Exit::Failed;
            }
        }
    }
    exit
}

fn print(printer: &mut Printer<'_>, path: &Path, settings: PictureSettings) -> io::Result<()> {
    let tool = settings.tool;
    let it = Inspected::new(path.to_string_lossy().into_owned(), settings);
    if printer.is_json() {
        return printer.json(&Line::Inspect(Box::new(it)));
    }
    printer.path(path)?;
    lines(tool, &it).iter().try_for_each(|line| printer.lines(line))
}

/// The lines for people; fields that the file does not tell are left out.
fn lines(tool: Option<Tool>, it: &Inspected) -> Vec<String> {
    let mut lines = Vec::new();
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            lines.push(format!("  {name}: {}", indented(&value, 4)));
        }
    };
    let number = |value: Option<f32>| value.map(|it| it.to_string());
    let model = |model: &Option<InspectedModel>| {
        model.as_ref().map(|it| {
            let name = it.name.clone().unwrap_or_default();
            it.hash.as_ref().map_or_else(|| name.clone(), |hash| format!("{name} [{hash}]").trim_start().to_owned())
        })
    };
    let without = if it.unknown_fields.is_empty() { "none: the file contains no settings" } else { "none: no settings could be read" };
    add("tool", Some(tool.map_or(without, Tool::label).to_owned()));
    add("made on", it.studio.clone());
    add("picture", Some(format!("{} x {} pixels", it.file_width, it.file_height)));
    add("prompt", it.prompt.clone());
    add("negative prompt", it.negative_prompt.clone());
    add("seed", it.seed.map(|it| it.to_string()));
    add("seed of choices", it.words_seed.map(|it| it.to_string()));
    let blend = it.blend_seed.zip(it.blend).map(|(seed, amount)| format!("{seed}, amount {amount}"));
    add("second seed", blend);
    add("steps", it.steps.map(|it| it.to_string()));
    add("guidance", number(it.guidance));
    add("guidance in parts of the steps", it.guidance_ranges.as_ref().map(|ranges| ranges.join(", ")));
    add("distilled guidance", number(it.distilled_guidance));
    add("sampler", it.sampler.clone());
    add("scheduler", it.scheduler.clone());
    add("size", it.width.zip(it.height).map(|(width, height)| format!("{width} x {height}")));
    add("image guidance", number(it.image_guidance));
    let skipped = it.skip_layers.as_deref().map(with_commas).unwrap_or_default();
    let range = it.skip_layer_start.zip(it.skip_layer_end).map(|(start, end)| format!(", from {start} to {end} of the steps"));
    let range = range.unwrap_or_default();
    add("skip-layer guidance", it.slg_scale.map(|scale| format!("{scale}, layers {skipped}{range}")));
    add("sigmas", it.sigmas.as_deref().map(with_commas));
    add("sampler arguments", it.sampler_arguments.clone());
    for (edges, is_seamless) in [("left, right", it.seamless_x), ("top, bottom", it.seamless_y)] {
        add("seamless", is_seamless.filter(|seamless| *seamless).map(|_| edges.to_owned()));
    }
    add("flow shift", number(it.flow_shift));
    add("timestep shift", it.timestep_shift.map(|it| it.to_string()));
    let cache = [&it.cache_mode, &it.cache_options, &it.cache_mask].into_iter().flatten().cloned().collect::<Vec<_>>();
    add("step cache", Some(cache.join(", ")).filter(|cache| !cache.is_empty()));
    let size = it.vae_tile_size.map_or_else(|| "the usual size".to_owned(), |size| size.to_string());
    let overlap = it.vae_tile_overlap.map(|overlap| format!(", overlap {overlap}")).unwrap_or_default();
    add("VAE tiles", it.vae_tiling.map(|_| format!("{size}{overlap}")));
    add("eta", number(it.eta));
    add("CLIP skip", it.clip_skip.map(|it| it.to_string()));
    add("strength", number(it.strength));
    add(
        "upscaled",
        it.hires_scale.map(|scale| {
            let strength = it.hires_strength.map(|strength| format!(", strength {strength}")).unwrap_or_default();
            let upscaler = it.hires_upscaler.as_ref().map(|name| format!(", {name}")).unwrap_or_default();
            let steps = it.hires_steps.map(|steps| format!(", {steps} steps")).unwrap_or_default();
            let sigmas = it.hires_sigmas.as_deref().map(|sigmas| format!(", sigmas {}", with_commas(sigmas))).unwrap_or_default();
            let size = it.hires_width.zip(it.hires_height).map(|(width, height)| format!("to {width} x {height}"));
            let size = size.unwrap_or_else(|| format!("{scale} times"));
            format!("{size}{strength}{steps}{sigmas}{upscaler}")
        }),
    );
    add("upscaled when finished", it.upscaler.clone());
    let named = |name: &str, value: Option<f32>| value.map(|value| format!("{name} {value}"));
    let control = [
        it.control_model.clone(),
        it.control_preprocessor.clone(),
        named("strength", it.control_strength),
        named("from", it.control_start),
        named("to", it.control_end),
    ];
    add("control", Some(control.into_iter().flatten().collect::<Vec<_>>().join(", ")));
    add("noise", it.rng.clone());
    add("sampler's noise", it.sampler_rng.clone());
    add("CPU arithmetic", it.cpu_math.clone());
    add("model", model(&it.model));
    add("VAE", model(&it.vae));
    for lora in &it.loras {
        let hash = lora.hash.as_ref().map(|hash| format!(" [{hash}]")).unwrap_or_default();
        let range = lora.start.zip(lora.end).map(|(start, end)| format!(", from {start} to {end} of the steps")).unwrap_or_default();
        add("LoRA", Some(format!("{} {}{range}{hash}", lora.name, lora.strength)));
    }
    for field in &it.unknown_fields {
        add("not understood", Some(format!("{}: {}", field.name, field.value)));
    }
    for text in &it.raw_texts {
        add("raw text", Some(format!("{}: {}", text.key, text.text)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use testkit::pictures::{png, tool_pictures};

    use super::*;
    use atelier_core::recipe::Seed;

    fn run_with(files: Vec<std::path::PathBuf>, json: bool) -> (Exit, String, String) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let exit = run(&InspectFlags { files, json, stealth: false }, &mut out, &mut err);
        (exit, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
    }

    #[test]
    fn every_file_is_told_for_people_and_for_programs() {
        let folder = tempfile::tempdir().unwrap();
        let wanted = ["a1111.png", "comfyui both graphs.png"];
        let pictures = tool_pictures().into_iter().filter(|picture| wanted.contains(&picture.name));
        let files: Vec<_> = pictures.map(|picture| picture.write(folder.path()).unwrap()).collect();
        let (exit, out, err) = run_with(files.clone(), false);
        assert_eq!((exit, err.as_str()), (Exit::Done, ""));
        for words in [
            "  tool: A1111 or Forge\n",
            "  tool: ComfyUI\n",
            "  seed: 3305821237\n",
            "  sampler: DPM++ 2M\n",
            "  size: 768 x 512\n",
            "  model: sd_xl_base_1.0 [31e35c80fc]\n",
            "  LoRA: ink 0.8 [0a1b2c3d4e5f]\n",
            "  upscaled: 2 times, strength 0.4, 12 steps, 4x-UltraSharp\n",
            "  raw text: parameters: a lake, größer",
        ] {
            assert!(out.contains(words), "{words}: {out}");
        }
        let (_, out, _) = run_with(files, true);
        let lines: Vec<Line> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let [Line::Inspect(a1111), Line::Inspect(comfyui)] = lines.as_slice() else { panic!("{lines:?}") };
        assert_eq!((a1111.tool.as_deref(), comfyui.tool.as_deref()), (Some("a1111"), Some("comfyui")));
        assert_eq!((a1111.seed, comfyui.width, comfyui.rng.as_deref()), (Some(Seed(3_305_821_237)), Some(768), Some("cpu")));
        assert_eq!((a1111.file_width, a1111.loras.len(), comfyui.unknown_fields.len()), (32, 1, 1));
    }

    #[test]
    fn one_file_that_is_no_picture_does_not_keep_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let (text, picture) = (folder.path().join("a.txt"), folder.path().join("b.png"));
        std::fs::write(&text, "text").unwrap();
        std::fs::write(&picture, png(&[])).unwrap();
        let (exit, out, err) = run_with(vec![text, picture], false);
        assert_eq!(exit, Exit::Failed);
        assert!(err.contains("a.txt") && err.lines().count() == 1, "{err}");
        assert!(out.contains("b.png\n  tool: none"), "{out}");
    }
}
