//! Models in the forms in which people keep them: what the library takes, the engine opens, and it
//! is the same model.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod support;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use atelier_core::recipe::{FileRole, ModelFiles, PredictionType, Recipe, TensorType};
use atelier_library::{check_files, open_folders};
use support::engine::Engine;
use support::{folder, of_clip, of_zeros, recipe, written};
use testkit::draft::Draft;
use testkit::families::{self, Part};
use testkit::gguf_forms::{GgufForm, convert, split};
use testkit::layouts::{Form, Scales, diffusers_flux, diffusers_folder, diffusers_sd3, diffusers_zimage, fp8, joined, renamed, sharded};

const DIFFUSION: &str = "model.diffusion_model.";
/// Beginning of SD1.5's text encoder.
const SD15_CLIP: &str = "cond_stage_model.transformer.";
/// Beginning of Z-Image's text encoder in a whole model of `ComfyUI`.
const COMFYUI_LLM: &str = "text_encoders.qwen3_4b.transformer.";

const SDXL_GGUF: &str = "city96's GGUF of SDXL's UNet";
const SD3_DIFFUSERS: &str = "diffusers' names of SD3";

/// A layout: a name, and the files of the model in it.
type Layout = (&'static str, ModelFiles);

fn files(list: &[(FileRole, PathBuf)]) -> ModelFiles {
    list.iter().cloned().collect()
}

/// The files of a family of tiny models; text encoders that are in them tell words apart.
fn whole(family: &str, dir: &Path) -> ModelFiles {
    let parts =
        if matches!(family, "sd3" | "ovis" | "zimage") { families::family(family, dir).unwrap() } else { families::reading(family) };
    written(parts, dir)
}

/// The whole SDXL, of which the larger encoder has its real size.
fn whole_sdxl() -> &'static ModelFiles {
    static FILES: OnceLock<ModelFiles> = OnceLock::new();
    FILES.get_or_init(|| whole("sdxl", &folder("layouts-sdxl")))
}

/// These files, with another one for a part.
fn with(files: &ModelFiles, role: FileRole, path: impl Into<PathBuf>) -> ModelFiles {
    let mut files = files.clone();
    files.set(role, path);
    files
}

/// The whole model of a family with CLIP, before it is written: what is made of it has the same
/// holes.
fn draft(family: &str) -> Draft {
    let Part::Draft(draft) = families::reading(family).swap_remove(0).1 else { unreachable!("it is one") };
    draft
}

/// A file with the tensors that get a name.
fn named(from: &Draft, to: PathBuf, name: impl Fn(&str) -> Option<String>) -> PathBuf {
    from.renamed(name).write(&to).unwrap();
    to
}

/// A file with the tensors that begin so, without the beginning.
fn part(from: &Draft, to: PathBuf, prefix: &str) -> PathBuf {
    named(from, to, |name| name.strip_prefix(prefix).map(str::to_owned))
}

fn layouts_of_sd15(whole: &ModelFiles, dir: &Path) -> Vec<Layout> {
    let (model, taesd) = (draft("sd15"), whole.get(FileRole::Taesd).unwrap().to_owned());
    let clip = part(&model, dir.join("clip.safetensors"), SD15_CLIP);
    let unet = part(&model, dir.join("unet.safetensors"), DIFFUSION);
    let with_prefix = named(&model, dir.join("unet-prefix.safetensors"), |name| name.starts_with(DIFFUSION).then(|| name.to_owned()));
    let old_clip = named(&model, dir.join("old-clip.safetensors"), |name| Some(name.strip_prefix(SD15_CLIP)?.replace("text_model.", "")));
    let old = named(&model, dir.join("old.safetensors"), |name| Some(name.replace("transformer.text_model.", "transformer.")));
    let shards = dir.join("shards");
    std::fs::create_dir_all(&shards).unwrap();
    let index = sharded(&unet, &shards, 3).unwrap();
    let gguf = |form| convert(&unet, &dir.join(format!("unet-{form:?}.gguf")), "sd1", form).unwrap();
    let folder = dir.join("diffusers");
    diffusers_folder(&[("unet", &unet), ("text_encoder", &clip)], &folder).unwrap();
    let in_parts = |unet: &Path, clip: &Path| {
        files(&[(FileRole::Diffusion, unet.to_owned()), (FileRole::ClipL, clip.to_owned()), (FileRole::Taesd, taesd.clone())])
    };
    vec![
        ("UNet and CLIP", in_parts(&unet, &clip)),
        ("UNet with a prefix", in_parts(&with_prefix, &clip)),
        ("UNet as GGUF", in_parts(&gguf(GgufForm::Plain), &clip)),
        ("city96's GGUF of the UNet", in_parts(&gguf(GgufForm::Wide), &clip)),
        ("CLIP without text_model", in_parts(&unet, &old_clip)),
        ("whole without text_model", files(&[(FileRole::Model, old), (FileRole::Taesd, taesd.clone())])),
        ("a folder of diffusers", open_folders(&files(&[(FileRole::Model, folder.clone()), (FileRole::Taesd, taesd.clone())]))),
        ("its UNet's folder", open_folders(&in_parts(&folder.join("unet"), &clip))),
        ("UNet in shards, by its index", in_parts(&index, &clip)),
        ("UNet in shards, by one of them", in_parts(&shards.join("model-00002-of-00003.safetensors"), &clip)),
    ]
}

fn layouts_of_sdxl(whole: &ModelFiles, dir: &Path) -> Vec<Layout> {
    let (model, taesd) = (draft("sdxl"), whole.get(FileRole::Taesd).unwrap().to_owned());
    let unet = part(&model, dir.join("unet.safetensors"), DIFFUSION);
    let clip_l = part(&model, dir.join("clip_l.safetensors"), "conditioner.embedders.0.transformer.");
    let clip_g = part(&model, dir.join("clip_g.safetensors"), "conditioner.embedders.1.model.");
    let city96 = convert(&unet, &dir.join("unet.gguf"), "sdxl", GgufForm::Wide).unwrap();
    let in_parts = files(&[(FileRole::Diffusion, unet), (FileRole::ClipL, clip_l), (FileRole::ClipG, clip_g), (FileRole::Taesd, taesd)]);
    let as_gguf = with(&in_parts, FileRole::Diffusion, city96);
    vec![("UNet, CLIP-L and OpenCLIP's CLIP-G", in_parts), (SDXL_GGUF, as_gguf)]
}

fn layouts_of_sd3(whole: &ModelFiles, dir: &Path) -> Vec<Layout> {
    let diffusion = diffusers_sd3(whole.get(FileRole::Diffusion).unwrap(), &dir.join("diffusers-sd3.safetensors")).unwrap();
    vec![(SD3_DIFFUSERS, with(whole, FileRole::Diffusion, diffusion))]
}

fn layouts_of_zimage(whole: &ModelFiles, dir: &Path) -> Vec<Layout> {
    let [module, llm] = [FileRole::Diffusion, FileRole::Llm].map(|role| whole.get(role).unwrap());
    let diffusers = diffusers_zimage(module, &dir.join("diffusers-zimage.safetensors")).unwrap();
    // The parts of a fused matrix lie in several files.
    let shards = dir.join("shards");
    std::fs::create_dir_all(&shards).unwrap();
    let index = sharded(&diffusers, &shards, 3).unwrap();
    let gguf = convert(module, &dir.join("module.gguf"), "lumina2", GgufForm::Plain).unwrap();
    let of_module = split(module, dir, "module", "lumina2", 2).unwrap();
    let of_llm = split(llm, dir, "llm", "qwen3", 3).unwrap();
    let comfyui = joined(&[(DIFFUSION, module), (COMFYUI_LLM, llm)], &dir.join("comfyui.safetensors")).unwrap();
    let taesd = whole.get(FileRole::Taesd).unwrap().to_owned();
    vec![
        ("diffusers' names", with(whole, FileRole::Diffusion, diffusers)),
        ("diffusers' names in shards", with(whole, FileRole::Diffusion, index)),
        ("GGUF", with(whole, FileRole::Diffusion, gguf)),
        ("split GGUF, by its first file", with(whole, FileRole::Diffusion, &of_module[0])),
        ("split GGUF, by its last file", with(whole, FileRole::Diffusion, &of_module[1])),
        ("a text encoder in split GGUF", with(whole, FileRole::Llm, &of_llm[0])),
        ("ComfyUI's module and text encoder in one", files(&[(FileRole::Model, comfyui), (FileRole::Taesd, taesd)])),
    ]
}

/// Those of Flux and of Ovis-Image, which is Flux with another text encoder and another feed-forward
/// of its double blocks.
fn layouts_of_flux(whole: &ModelFiles, dir: &Path) -> Vec<Layout> {
    const HEAD: usize = 128;
    let diffusion = diffusers_flux(whole.get(FileRole::Diffusion).unwrap(), &dir.join("diffusers-flux.safetensors"), HEAD).unwrap();
    vec![("Flux's blocks in diffusers' names", with(whole, FileRole::Diffusion, diffusion))]
}

/// Read, mapped, and converted: the type of weights, and whether files are mapped.
const WAYS: [(Option<TensorType>, bool); 3] = [(None, false), (None, true), (Some(TensorType::Q8_0), false)];
/// Layouts of a diffusion module beside a CLIP-G of real size, which takes seconds and gigabytes
/// each way. Small models are kept like them, and show the other ways.
const MAPPED_ALONE: [&str; 2] = [SDXL_GGUF, SD3_DIFFUSERS];

#[test]
fn the_engine_opens_every_layout_that_the_library_takes_and_makes_the_same_picture() {
    let engine = Engine::start();
    for (family, layouts) in [
        ("sd15", layouts_of_sd15 as fn(&ModelFiles, &Path) -> Vec<Layout>),
        ("sdxl", layouts_of_sdxl as fn(&ModelFiles, &Path) -> Vec<Layout>),
        ("sd3", layouts_of_sd3),
        ("zimage", layouts_of_zimage),
        ("ovis", layouts_of_flux),
        ("flux", layouts_of_flux),
    ] {
        let dir = folder(&format!("layouts-{family}"));
        let whole = if family == "sdxl" { whole_sdxl().clone() } else { whole(family, &dir) };
        let run = |files: &ModelFiles, (weight_type, memory_map): (Option<TensorType>, bool)| {
            engine.run(&Recipe { files: files.clone(), weight_type, memory_map, ..of_clip() }).pixels().to_vec()
        };
        let right = WAYS.map(|way| run(&whole, way));
        assert!(right[0] == right[1] && right[0] != right[2], "{family}");
        for (name, files) in layouts(&whole, &dir) {
            let checked = check_files(&files, &[]).unwrap_or_else(|problem| panic!("{family}, {name}: {problem}"));
            assert!(checked.encodes_pictures, "{family}, {name}");
            for (way, right) in WAYS.iter().zip(&right) {
                if !MAPPED_ALONE.contains(&name) || way.1 {
                    assert_eq!(run(&files, *way), *right, "{family}, {name}, {way:?}");
                }
            }
        }
    }
}

/// A matrix 256 wide can be quantised, a kernel cannot: city96's converter makes the one of the other.
#[test]
fn what_city96s_converter_quantised_is_computed_as_the_values_that_it_means() {
    let engine = Engine::start();
    let dir = folder("layouts-city96");
    let (model, taesd) = (draft("sd15"), whole("sd15", &dir).get(FileRole::Taesd).unwrap().to_owned());
    let clip = part(&model, dir.join("clip.safetensors"), SD15_CLIP);
    let unet = part(&model, dir.join("unet.safetensors"), DIFFUSION);
    let in_parts = files(&[(FileRole::Diffusion, unet.clone()), (FileRole::ClipL, clip), (FileRole::Taesd, taesd)]);
    let picture = |form| {
        let gguf = convert(&unet, &dir.join(format!("unet-{form:?}.gguf")), "sd1", form).unwrap();
        let files = with(&in_parts, FileRole::Diffusion, gguf);
        check_files(&files, &[]).unwrap_or_else(|problem| panic!("{form:?}: {problem}"));
        engine.run(&Recipe { files, ..of_zeros() }).pixels().to_vec()
    };
    let stored = picture(GgufForm::WideQ8);
    assert_eq!(stored, picture(GgufForm::PlainQ8));
    assert_ne!(stored, picture(GgufForm::Plain), "eight bits change the picture");
}

#[test]
fn fp8_is_computed_as_the_values_that_it_means_in_every_part() {
    let engine = Engine::start();
    let dir = folder("layouts-fp8");
    let whole = written(families::family("zimage-vae", &dir).unwrap(), &dir);
    let run = |files: ModelFiles, weight_type| {
        engine.run(&Recipe { files, weight_type, steps: 1, prompt: "a lake".into(), ..recipe() }).pixels().to_vec()
    };
    let plain = run(whole.clone(), None);
    for role in [FileRole::Diffusion, FileRole::Llm, FileRole::Vae] {
        for scales in [Scales::None, Scales::Whole, Scales::Rows] {
            let with = |form: Form, weight_type| {
                let path = dir.join(format!("{}-{scales:?}-{form:?}.safetensors", role.key()));
                let mut files = whole.clone();
                files.set(role, fp8(whole.get(role).unwrap(), &path, scales, form).unwrap());
                check_files(&files, &[]).unwrap_or_else(|problem| panic!("{role:?}: {problem}"));
                run(files, weight_type)
            };
            let stored = with(Form::Stored, None);
            assert_eq!(stored, with(Form::Computed, None), "{role:?}, {scales:?}");
            assert_ne!(stored, plain, "{role:?}, {scales:?}: eight bits change the picture");
            let converted = with(Form::Stored, Some(TensorType::Q8_0));
            assert_eq!(converted, with(Form::Computed, Some(TensorType::Q8_0)), "{role:?}, {scales:?}: scales count before the conversion");
            assert_ne!(converted, stored, "{role:?}, {scales:?}");
        }
    }
}

/// The text encoder stands under its kind, with what belongs to no picture.
#[test]
fn a_whole_model_of_comfyui_is_its_parts() {
    let engine = Engine::start();
    let dir = folder("layouts-comfyui");
    let parts = families::family("zimage-vae", &dir).unwrap().into_iter().map(|(key, mut part)| {
        if let (true, Part::Draft(draft)) = (key == "llm", &mut part) {
            draft.add("logit_scale", &[1]);
            draft.add("lm_head.weight", &[4]);
            draft.add("visual.blocks.0.norm1.weight", &[4]);
        }
        (FileRole::from_key(key).unwrap(), part.write(&dir, key).unwrap())
    });
    let parts: ModelFiles = parts.collect();
    let run = |files: &ModelFiles, weight_type| {
        let said = engine.run(&Recipe { files: files.clone(), weight_type, steps: 1, prompt: "a lake".into(), ..recipe() });
        assert!(said.pictures()[0].notes.iter().all(|note| !note.sentence.contains("left")), "{:?}", said.pictures()[0].notes);
        said.pixels().to_vec()
    };
    let [module, llm, vae] = [FileRole::Diffusion, FileRole::Llm, FileRole::Vae].map(|role| parts.get(role).unwrap().to_owned());
    let decoder = renamed(&vae, &dir.join("decoder.safetensors"), |name| (!name.starts_with("encoder.")).then(|| name.to_owned())).unwrap();
    let scale = renamed(&llm, &dir.join("scale.safetensors"), |name| (name == "logit_scale").then(|| name.to_owned())).unwrap();
    for scales in [None, Some(Scales::Whole), Some(Scales::Rows)] {
        let encoder = scales.map_or_else(
            || llm.clone(),
            |scales| fp8(&llm, &dir.join(format!("llm-{scales:?}.safetensors")), scales, Form::Stored).unwrap(),
        );
        let in_parts = with(&parts, FileRole::Llm, encoder.clone());
        for (layout, start, vae) in [("whole", COMFYUI_LLM, &vae), ("decoder", "text_encoders.mistral3_24b.transformer.", &decoder)] {
            let path = dir.join(format!("{layout}-{scales:?}.safetensors"));
            // Beside the encoder, and not in it.
            let beside = start.trim_end_matches("transformer.");
            let model = joined(&[(DIFFUSION, &module), (start, &encoder), (beside, &scale), ("vae.", vae)], &path).unwrap();
            let whole = files(&[(FileRole::Model, model)]);
            let checked = check_files(&whole, &[]).unwrap_or_else(|problem| panic!("{layout}, {scales:?}: {problem}"));
            assert_eq!(checked.encodes_pictures, layout == "whole");
            for weight_type in [None, Some(TensorType::Q8_0)] {
                assert_eq!(run(&whole, weight_type), run(&in_parts, weight_type), "{layout}, {scales:?}, {weight_type:?}");
            }
        }
    }
}

#[test]
fn an_autoencoder_may_have_prefixes_and_decodes_without_its_encoder() {
    /// The name that a tensor has in a layout; `None` where it is left out.
    type Rename = fn(&str) -> Option<String>;
    let engine = Engine::start();
    let dir = folder("layouts-autoencoder");
    let whole = written(families::family("zimage-vae", &dir).unwrap(), &dir);
    let run = |files: &ModelFiles| engine.run(&Recipe { files: files.clone(), steps: 1, ..recipe() }).pixels().to_vec();
    let right = run(&whole);
    assert!(right.iter().any(|value| *value != right[0]), "a picture of one colour");
    let layouts: [(&str, Rename); 3] = [
        ("first-stage", |name| Some(format!("first_stage_model.{name}"))),
        ("prefix", |name| Some(format!("vae.{name}"))),
        ("decoder", |name| (!name.starts_with("encoder.")).then(|| name.to_owned())),
    ];
    for (layout, name) in layouts {
        let vae = renamed(whole.get(FileRole::Vae).unwrap(), &dir.join(format!("{layout}.safetensors")), name).unwrap();
        let mut files = whole.clone();
        files.set(FileRole::Vae, vae);
        let checked = check_files(&files, &[]).unwrap_or_else(|problem| panic!("{layout}: {problem}"));
        assert_eq!(checked.encodes_pictures, layout != "decoder", "{layout}");
        assert_eq!(run(&files), right, "{layout}");
    }
}

#[test]
fn what_a_model_predicts_is_told_by_its_marks_or_by_the_setting() {
    let engine = Engine::start();
    let dir = folder("layouts-prediction");
    let (unmarked, taesd) = (draft("sd15"), whole("sd15", &dir).get(FileRole::Taesd).unwrap().to_owned());
    let marked = |marks: &[&str]| {
        let mut model = unmarked.clone();
        for mark in marks {
            model.add(mark, &[1]);
        }
        model
    };
    let run = |files, prediction| engine.run(&Recipe { files, prediction, steps: 2, ..of_zeros() }).pixels().to_vec();
    let without_signal = marked(&["v_pred", "ztsnr"]);
    let of = |name: &str, model: &Draft| {
        let path = dir.join(format!("{name}.safetensors"));
        model.write(&path).unwrap();
        files(&[(FileRole::Model, path), (FileRole::Taesd, taesd.clone())])
    };
    let (of_noise, of_velocity) = (of("noise", &unmarked), of("velocity", &marked(&["v_pred"])));
    let (noise, velocity) = (run(of_noise.clone(), None), run(of_velocity.clone(), None));
    assert_ne!(noise, velocity);
    assert_eq!(run(of_noise, Some(PredictionType::V)), velocity);
    assert_eq!(run(of_velocity, Some(PredictionType::Eps)), noise, "the setting wins");
    let picture = run(of("no-signal", &without_signal), None);
    assert!(picture != velocity && picture != noise, "the schedule begins from noise alone");

    // The marks count in a file of the UNet alone, too.
    let clip = part(&without_signal, dir.join("clip.safetensors"), SD15_CLIP);
    let unet = named(&without_signal, dir.join("unet.safetensors"), |name| match name {
        "v_pred" | "ztsnr" => Some(name.to_owned()),
        _ => name.strip_prefix(DIFFUSION).map(str::to_owned),
    });
    let files = files(&[(FileRole::Diffusion, unet), (FileRole::ClipL, clip), (FileRole::Taesd, taesd)]);
    assert_eq!(run(files, None), picture);
}

#[test]
fn a_part_that_is_missing_is_named() {
    let dir = folder("layouts-missing");
    let model = whole("sd15", &dir).get(FileRole::Model).unwrap().to_owned();
    let index = sharded(&model, &dir, 2).unwrap();
    std::fs::remove_file(dir.join("model-00002-of-00002.safetensors")).unwrap();
    let problem = check_files(&files(&[(FileRole::Model, index)]), &[]).unwrap_err();
    assert_eq!(problem.advice.sentence, "model-00002-of-00002.safetensors no longer exists.");
    let unet = part(&draft("sd15"), dir.join("unet.safetensors"), DIFFUSION);
    let parts = split(&unet, &dir, "unet", "sd1", 2).unwrap();
    std::fs::remove_file(&parts[1]).unwrap();
    let problem = check_files(&files(&[(FileRole::Diffusion, parts[0].clone())]), &[]).unwrap_err();
    assert_eq!(problem.advice.sentence, "unet-00002-of-00002.gguf no longer exists.");
}

#[test]
fn what_the_engine_leaves_out_is_told_unless_it_changes_nothing() {
    let engine = Engine::start();
    let notes = |files: ModelFiles| {
        let said = engine.run(&Recipe { files, ..of_zeros() });
        said.pixels();
        said.pictures()[0].notes.iter().map(|note| note.sentence.clone()).filter(|it| it.contains("left")).collect::<Vec<_>>()
    };
    for (family, role, harmless, missed) in [
        (
            "sd15",
            FileRole::Model,
            &[
                "betas",
                "model_ema.decay",
                "first_stage_model.loss.logvar",
                "cond_stage_model.transformer.text_model.embeddings.position_ids",
            ][..],
            "model.diffusion_model.input_blocks.1.1.gate",
        ),
        ("sdxl", FileRole::Model, &["conditioner.embedders.1.model.logit_scale"], "conditioner.embedders.0.transformer.text_model.adapter"),
        ("zimage", FileRole::Diffusion, &["scaled_fp8", "layers.0.attention.out.scale_input"], "layers.0.attention.gate"),
        ("zimage", FileRole::Llm, &["lm_head.weight", "visual.blocks.0.norm1.weight"], "model.layers.0.self_attn.sinks"),
        ("sd3", FileRole::Diffusion, &["scaled_fp8"], "joint_blocks.0.x_block.attn.gate"),
        ("ovis", FileRole::Diffusion, &["__x0__"], "double_blocks.0.img_attn.gate"),
    ] {
        let with = |more: &[&str]| {
            // Of its own: the other's files are mapped.
            let dir = folder(&format!("layouts-left-out-{family}-{}-{}", role.key(), more.len()));
            let parts = families::family(family, &dir).unwrap().into_iter().map(|(key, mut part)| {
                if let (true, Part::Draft(draft)) = (key == role.key(), &mut part) {
                    for name in more {
                        draft.add(name, &[4]);
                    }
                }
                (FileRole::from_key(key).unwrap(), part.write(&dir, key).unwrap())
            });
            notes(parts.collect())
        };
        // Nor is any of the model's own. Where CLIP-G has its real size, the number of what is told
        // has to show it.
        if !matches!(family, "sdxl" | "sd3") {
            assert_eq!(with(harmless), [""; 0], "{family} {role:?}");
        }
        let told = with(&[harmless, &[missed]].concat());
        let end = missed.rsplit('.').next().unwrap();
        assert!(
            matches!(told.as_slice(), [one] if one.starts_with("The engine does not know 1 tensor of this model") && one.contains(end)),
            "{family} {role:?}: {told:?}"
        );
    }
}

#[test]
fn a_projection_that_was_converted_is_turned_too() {
    let engine = Engine::start();
    let dir = folder("layouts-converted");
    let whole = whole_sdxl();
    let run = |model: &Path| {
        let mut files = whole.clone();
        files.set(FileRole::Model, model);
        engine.run(&Recipe { files, prompt: "a lake".into(), ..of_zeros() }).pixels().to_vec()
    };
    let right = run(whole.get(FileRole::Model).unwrap());
    // With rows and columns exchanged, as the engine would read it.
    let wrong = {
        let (mut model, path) = (draft("sdxl"), dir.join("exchanged.safetensors"));
        model.rename("conditioner.embedders.1.model.text_projection", "conditioner.embedders.1.transformer.text_projection.weight");
        model.write(&path).unwrap();
        run(&path)
    };
    let distance = |a: &[u8], b: &[u8]| a.iter().zip(b).map(|(a, b)| u64::from(a.abs_diff(*b)).pow(2)).sum::<u64>();
    let change = distance(&wrong, &right);
    assert!(change > 0, "the projection changes the picture");
    for is_renamed in [false, true] {
        let converted = run(&families::converted_sdxl(is_renamed).write(&dir, &format!("converted-{is_renamed}")).unwrap());
        assert!(distance(&converted, &right) * 10 < change, "{is_renamed}: {} of {change}", distance(&converted, &right));
    }
}
