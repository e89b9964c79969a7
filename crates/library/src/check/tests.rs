use std::path::Path;

use super::*;
use testkit::tiny::{self, Format, Options, TinyFiles};

fn roles(files: &TinyFiles) -> ModelFiles {
    ModelFiles::from_iter([
        (FileRole::Diffusion, files.diffusion.clone()),
        (FileRole::Llm, files.llm.clone()),
        (FileRole::Taesd, files.taesd.clone()),
    ])
}

fn tiny(dir: &Path, options: &Options) -> ModelFiles {
    roles(&tiny::zimage(dir, options).unwrap())
}

fn lora(path: PathBuf) -> Lora {
    Lora::new(path, 1.0)
}

fn problem(files: &ModelFiles, loras: &[Lora]) -> Problem {
    let problem = check_files(files, loras).unwrap_err();
    assert!(problem.advice.sentence.ends_with('.') && problem.advice.hint.ends_with('.'), "{problem}");
    problem
}

#[test]
fn the_tiny_model_and_its_lora_pass_in_every_format() {
    for format in [Format::Safetensors, Format::Gguf, Format::GgufQ8] {
        let dir = tempfile::tempdir().unwrap();
        let options = Options { format, ..Options::default() };
        let files = tiny(dir.path(), &options);
        let checked = check_files(&files, &[lora(tiny::lora(dir.path(), &options).unwrap())]).unwrap();
        assert_eq!((checked.family, checked.size_multiple), (Family::ZImage, 16));
        assert_eq!((checked.files, checked.notes), (files, Vec::new()));
    }
}

#[test]
fn a_whole_sd15_checkpoint_needs_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sd15.safetensors");
    testkit::sd15(&path, 1, testkit::Contents::HeaderOnly).unwrap();
    let files = ModelFiles::from_iter([(FileRole::Model, path.clone())]);
    let loras = [lora(tiny::unmatched_lora(dir.path()).unwrap())];
    let checked = check_files(&files, &loras).unwrap();
    assert_eq!((checked.family, checked.size_multiple), (Family::Sd1, 64));
    let moved = check_files(&ModelFiles::from_iter([(FileRole::Diffusion, path)]), &[]).unwrap();
    assert_eq!(moved.files, files);
    assert_eq!(moved.notes, ["sd15.safetensors is an SD1.5 full model and is used as Full model."]);
}

#[test]
fn a_diffusion_module_given_as_a_full_model_is_moved_and_said() {
    let dir = tempfile::tempdir().unwrap();
    let right = tiny(dir.path(), &Options::default());
    let mut files = right.clone();
    files.set(FileRole::Model, files.get(FileRole::Diffusion).unwrap().to_owned());
    files.remove(FileRole::Diffusion);
    let checked = check_files(&files, &[]).unwrap();
    assert_eq!(checked.files, right);
    assert_eq!(checked.notes, ["tiny-zimage.safetensors is a Z-Image diffusion module and is used as Diffusion."]);
}

#[test]
fn two_files_that_were_exchanged_are_put_right() {
    let dir = tempfile::tempdir().unwrap();
    let right = tiny(dir.path(), &Options::default());
    let sd15 = dir.path().join("sd15.safetensors");
    testkit::sd15(&sd15, 1, testkit::Contents::HeaderOnly).unwrap();
    let mut files = right.clone();
    files.set(FileRole::Model, files.get(FileRole::Diffusion).unwrap().to_owned());
    files.set(FileRole::Diffusion, sd15.clone());
    let checked = check_files(&files, &[]).unwrap();
    assert_eq!((checked.family, checked.notes.len()), (Family::ZImage, 2));
    assert_eq!(checked.files.get(FileRole::Diffusion), right.get(FileRole::Diffusion));
    assert_eq!(checked.files.get(FileRole::Model), Some(sd15.as_path()));
}

#[test]
fn a_tiny_autoencoder_given_as_a_vae_is_moved() {
    let dir = tempfile::tempdir().unwrap();
    let right = tiny(dir.path(), &Options::default());
    let mut files = right.clone();
    files.set(FileRole::Vae, files.get(FileRole::Taesd).unwrap().to_owned());
    files.remove(FileRole::Taesd);
    let checked = check_files(&files, &[]).unwrap();
    assert_eq!((checked.files, checked.notes.len()), (right, 1));
}

#[test]
fn a_language_model_in_the_place_of_the_diffusion_module_is_called_by_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let files = roles(&testkit::broken::llm_as_diffusion(dir.path()).unwrap());
    let problem = problem(&files, &[]);
    assert_eq!(problem.advice.sentence, "tiny-qwen3.safetensors is a language model, and was chosen as Diffusion.");
    assert_eq!(problem.advice.hint, "Choose it as Text encoder (LLM) instead.");
}

#[test]
fn what_is_missing_is_listed() {
    let dir = tempfile::tempdir().unwrap();
    let mut files = tiny(dir.path(), &Options::default());
    files.remove(FileRole::Llm);
    assert_eq!(problem(&files, &[]).advice.sentence, "This Z-Image model also needs a text encoder (Qwen3-4B).");
    files.remove(FileRole::Taesd);
    assert_eq!(problem(&files, &[]).advice.sentence, "This Z-Image model also needs a text encoder (Qwen3-4B) and a VAE.");
    files.remove(FileRole::Diffusion);
    assert_eq!(problem(&files, &[]).advice.sentence, "No model is chosen yet.");
    files.set(FileRole::Llm, dir.path().join("tiny-qwen3.safetensors"));
    assert_eq!(problem(&files, &[]).advice.sentence, "No model is chosen yet.");
}

#[test]
fn a_vocabulary_smaller_than_the_tokenizer_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let files = roles(&testkit::broken::small_vocabulary(dir.path()).unwrap());
    let sentence = problem(&files, &[]).advice.sentence;
    assert_eq!(sentence, "tiny-qwen3.safetensors knows 151673 words, and the text encoder of Z-Image needs at least 151674.");
    assert!(check_files(&tiny(dir.path(), &Options { vocabulary: 151_674, ..Options::default() }), &[]).is_ok());
}

#[test]
fn an_encoder_of_another_width_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let files = roles(&testkit::broken::wrong_width(dir.path()).unwrap());
    let sentence = problem(&files, &[]).advice.sentence;
    assert_eq!(sentence, "tiny-qwen3.safetensors does not belong to this model: it is 16 wide, and the model reads 8.");
}

#[test]
fn the_encoder_in_a_whole_model_must_fit_too_unless_another_takes_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let whole = |parts: &TinyFiles| {
        let modules: [(&str, &Path); 2] =
            [("model.diffusion_model.", &parts.diffusion), ("text_encoders.qwen3_4b.transformer.", &parts.llm)];
        let model = testkit::layouts::joined(&modules, &dir.path().join("whole.safetensors")).unwrap();
        ModelFiles::from_iter([(FileRole::Model, model), (FileRole::Taesd, parts.taesd.clone())])
    };
    let files = whole(&testkit::broken::wrong_width(dir.path()).unwrap());
    let sentence = problem(&files, &[]).advice.sentence;
    assert_eq!(sentence, "whole.safetensors does not belong to this model: it is 16 wide, and the model reads 8.");
    let files = whole(&testkit::broken::small_vocabulary(dir.path()).unwrap());
    let sentence = problem(&files, &[]).advice.sentence;
    assert_eq!(sentence, "whole.safetensors knows 151673 words, and the text encoder of Z-Image needs at least 151674.");
    let right = tiny::zimage(dir.path(), &Options::default()).unwrap();
    let mut with_another = files;
    with_another.set(FileRole::Llm, right.llm.clone());
    check_files(&with_another, &[]).unwrap();
    check_files(&whole(&right), &[]).unwrap();
}

#[test]
fn a_decoder_of_another_family_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let sd15 = dir.path().join("sd15.safetensors");
    testkit::sd15(&sd15, 1, testkit::Contents::HeaderOnly).unwrap();
    let mut files = tiny(dir.path(), &Options::default());
    files.remove(FileRole::Diffusion);
    files.remove(FileRole::Llm);
    files.set(FileRole::Model, sd15);
    assert!(problem(&files, &[]).advice.sentence.contains("cannot show the pictures of SD1.5"));
}

#[test]
fn every_broken_diffusion_file_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut files = tiny(dir.path(), &Options::default());
    for (what, path) in testkit::broken::diffusion_files(dir.path()).unwrap() {
        let name = file_name(&path);
        files.set(FileRole::Diffusion, path);
        assert!(problem(&files, &[]).advice.sentence.starts_with(&name), "{what}");
    }
}

#[test]
fn loras_that_do_not_fit_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let files = tiny(dir.path(), &Options::default());
    let sentence = |path| problem(&files, &[lora(path)]).advice.sentence;
    assert_eq!(
        sentence(tiny::unmatched_lora(dir.path()).unwrap()),
        "unmatched-lora.safetensors was made for another model: nothing in it fits Z-Image."
    );
    assert!(sentence(testkit::broken::wide_lora(dir.path()).unwrap()).contains("does not fit this model"));
    assert!(sentence(testkit::broken::truncated_in_data(dir.path()).unwrap()).contains("cut short"));
    let taesd = files.get(FileRole::Taesd).unwrap().to_owned();
    assert_eq!(sentence(taesd), "tiny-taesd.safetensors is a tiny autoencoder, not a LoRA.");
}

#[test]
fn a_lora_chosen_as_a_model_is_sent_to_the_loras() {
    let dir = tempfile::tempdir().unwrap();
    let path = tiny::lora(dir.path(), &Options::default()).unwrap();
    let problem = problem(&ModelFiles::from_iter([(FileRole::Model, path)]), &[]);
    assert_eq!(problem.advice.hint, "Add it to the LoRAs instead.");
}

#[test]
fn sizes_are_snapped_to_the_nearest_multiple_within_bounds() {
    assert_eq!(snap(512, 64, 64, 2048), 512);
    assert_eq!(snap(500, 64, 64, 2048), 512);
    assert_eq!(snap(480, 64, 64, 2048), 512);
    assert_eq!(snap(479, 64, 64, 2048), 448);
    assert_eq!(snap(1, 16, 64, 2048), 64);
    assert_eq!(snap(9999, 16, 64, 2048), 2048);
    assert_eq!(snap(9999, 64, 64, 2000), 1984);
    assert_eq!(snap(7, 0, 1, 100), 7);
    assert_eq!(snap(u32::MAX, 64, 64, u32::MAX), u32::MAX / 64 * 64);
    assert_eq!(snap(5, 64, 70, 100), 128);
}

proptest::proptest! {
    #[test]
    fn a_snapped_size_is_a_multiple_within_bounds(value: u32, multiple in 1u32..256, min in 1u32..4096, room in 256u32..8192) {
        let snapped = snap(value, multiple, min, min + room);
        proptest::prop_assert_eq!(snapped % multiple, 0);
        proptest::prop_assert!((min..=min + room).contains(&snapped));
        if (min..=min + room).contains(&value) && value > min + multiple && value + multiple < min + room {
            proptest::prop_assert!(value.abs_diff(snapped) <= multiple / 2);
        }
    }
}

#[test]
fn a_controlnet_goes_with_models_of_its_own_family_alone() {
    let dir = tempfile::tempdir().unwrap();
    let files = testkit::families::controlled_sd15(dir.path()).unwrap();
    let mut right = ModelFiles::from_iter([(FileRole::Model, files.model), (FileRole::Taesd, files.taesd)]);
    right.set(FileRole::Controlnet, files.controlnet.clone());
    assert_eq!(check_files(&right, &[]).unwrap().files, right);
    let mut wrong = tiny(dir.path(), &Options::default());
    wrong.set(FileRole::Controlnet, files.controlnet);
    assert_eq!(problem(&wrong, &[]).advice.sentence, "controlnet.safetensors is a ControlNet, and the engine has none for Z-Image.");
}

#[test]
fn a_photomaker_goes_with_sdxl_alone() {
    let dir = tempfile::tempdir().unwrap();
    let write = |family: &str| -> ModelFiles {
        let parts = testkit::families::family(family, dir.path()).unwrap();
        parts
            .iter()
            .map(|(role, part)| (FileRole::from_key(role).unwrap(), part.write(dir.path(), &format!("{family}-{role}")).unwrap()))
            .collect()
    };
    for (version, is_v2) in [("PhotoMaker", false), ("PhotoMaker v2", true)] {
        let path = dir.path().join("pm.safetensors");
        testkit::families::photomaker_of_zeros(is_v2).write(&path).unwrap();
        let kind = identify(&read_header(&path).unwrap());
        assert_eq!((kind.name.as_str(), kind.role, kind.is_lora, kind.reads_faces), (version, Some(FileRole::Photomaker), false, is_v2));
        let mut files = write("sdxl");
        files.set(FileRole::Photomaker, path.clone());
        let checked = check_files(&files, &[]).unwrap();
        assert_eq!((checked.files, checked.needs_id_embedding, checked.notes), (files, is_v2, Vec::new()));
        let mut wrong = write("sd15");
        wrong.set(FileRole::Photomaker, path);
        let advice = problem(&wrong, &[]).advice;
        assert_eq!(advice.sentence, "pm.safetensors is a PhotoMaker, which works with SDXL alone, and the model is SD1.5.");
    }
}

#[test]
fn only_some_families_look_at_reference_pictures_and_files_without_effect_are_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let plain = tiny(dir.path(), &Options::default());
    let mut files = plain.clone();
    let path = dir.path().join("vision.safetensors");
    testkit::families::clip_vision().write(&path).unwrap();
    files.set(FileRole::ClipVision, path);
    let checked = check_files(&files, &[]).unwrap();
    assert_eq!((checked.files, checked.looks_at_references), (plain, false));
    assert_eq!(checked.notes, [FileRole::ClipVision.without_effect().unwrap()]);
    assert!(Family::Flux.looks_at_references() && Family::QwenImage.looks_at_references() && !Family::Sdxl.looks_at_references());
}

#[test]
fn a_model_that_edits_is_told_by_its_family_or_by_the_name_of_its_edition() {
    for (family, name) in [
        (Family::Flux, "flux1-kontext-dev-Q8_0.gguf"),
        (Family::QwenImage, "Qwen_Image_Edit_2509"),
        (Family::Flux2, "flux2-dev.gguf"),
        (Family::Flux2Klein, ""),
    ] {
        assert!(family.edits_references(name), "{name}");
    }
    for (family, name) in [
        (Family::Flux, "flux1-dev-special-edition.gguf"),
        (Family::QwenImage, "qwen-image-Q4_0.gguf"),
        (Family::Sdxl, "my-edit.safetensors"),
        (Family::ZImage, "kontext"),
    ] {
        assert!(!family.edits_references(name), "{name}");
    }
    let catalogue = crate::Catalogue::shipped();
    let edits =
        |entry: &&crate::Manifest| entry.family.as_deref().and_then(Family::from_label).is_some_and(|it| it.edits_references(&entry.id));
    let ids: Vec<&str> = catalogue.entries().iter().filter(edits).map(|it| it.id.as_str()).collect();
    assert_eq!(ids, ["flux.1-kontext-dev", "flux.2-klein-4b", "flux.2-klein-9b", "flux.2-dev", "qwen-image-edit-2511"]);
}

/// The least by which both are told: names alone.
fn ideogram(path: &Path) -> PathBuf {
    let names = ["embed_image_indicator.weight", "layers.0.attention.qkv.weight"];
    let mut tensors = serde_json::Map::new();
    for (name, at) in names.iter().zip(0u64..) {
        tensors.insert((*name).to_owned(), serde_json::json!({"dtype": "F16", "shape": [2, 2], "data_offsets": [at * 8, at * 8 + 8]}));
    }
    let header = serde_json::to_string(&tensors).unwrap();
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend([0; 16]);
    std::fs::write(path, bytes).unwrap();
    path.to_owned()
}

#[test]
fn an_unconditional_diffusion_file_goes_with_ideogram_alone() {
    let dir = tempfile::tempdir().unwrap();
    let own = ideogram(&dir.path().join("uncond.safetensors"));
    let mut files = tiny(dir.path(), &Options::default());
    files.set(FileRole::UncondDiffusion, &own);
    assert!(problem(&files, &[]).advice.sentence.contains("which Z-Image has no use for"), "{}", problem(&files, &[]));
    let zimage = files.get(FileRole::Diffusion).unwrap().to_owned();
    files.set(FileRole::Diffusion, ideogram(&dir.path().join("ideogram.safetensors")));
    // What is still missing is its encoder or its VAE, and no role is wrong.
    assert!(!problem(&files, &[]).advice.sentence.contains("uncond"), "{}", problem(&files, &[]));
    files.set(FileRole::UncondDiffusion, zimage);
    assert!(!problem(&files, &[]).advice.sentence.is_empty());
}
