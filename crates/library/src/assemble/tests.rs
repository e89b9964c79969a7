use std::fs;

use testkit::tiny::{self, Options};

use super::*;
use crate::check_files;
use crate::disk::{FileStatus, Folder, inspect_file, walk};
use crate::header::Header;
use crate::kind::tests::{Listed, header};

/// The files of a folder, looked into.
fn scan(dir: &Path) -> Vec<Arc<DiskFile>> {
    let found = walk(&Folder::recognise(dir), &|| true).files;
    found
        .into_iter()
        .map(|it| {
            Arc::new(DiskFile { status: inspect_file(&it.path), path: it.path, bytes: it.bytes, modified: it.modified, hint: it.hint })
        })
        .collect()
}

/// A file with this header that is not on any disk.
fn file(path: &str, bytes: u64, header: &Header) -> Arc<DiskFile> {
    let status = FileStatus::Known(Arc::new(Facts::of(header)));
    Arc::new(DiskFile { path: path.into(), bytes, modified: None, hint: None, status })
}

fn made(path: &str, bytes: u64, tensors: Listed<'_>) -> Arc<DiskFile> {
    file(path, bytes, &header(tensors))
}

const FLUX: Listed<'_> = &[("double_blocks.0.img_attn.qkv.weight", &[9216, 3072]), ("txt_in.weight", &[3072, 4096])];
const CLIP_L: Listed<'_> = &[("text_model.embeddings.token_embedding.weight", &[49_408, 768])];
const CLIP_G: Listed<'_> = &[("text_model.embeddings.token_embedding.weight", &[49_408, 1280])];
const T5: Listed<'_> = &[("enc.blk.0.attn_q.weight", &[4096, 4096]), ("token_embd.weight", &[32_128, 4096])];
const VAE16: Listed<'_> = &[("decoder.conv_in.weight", &[512, 16, 3, 3])];
const VAE4: Listed<'_> = &[("decoder.conv_in.weight", &[512, 4, 3, 3])];

fn name_of(assembly: &Assembly, role: FileRole) -> Option<String> {
    assembly.files.get(role).map(file_name)
}

#[test]
fn the_tiny_model_is_put_together_and_passes_the_check() {
    let dir = tempfile::tempdir().unwrap();
    let files = tiny::zimage(dir.path(), &Options { vocabulary: 151_936, ..Options::default() }).unwrap();
    let scan = scan(dir.path());
    let main = scan.iter().find(|it| it.path == files.diffusion).unwrap();
    let assembly = assemble(main, &scan, &Catalogue::shipped(), &ModelFiles::default()).unwrap();
    assert_eq!((assembly.family, assembly.missing.as_slice()), (Family::ZImage, &[][..]));
    assert_eq!(assembly.files.get(FileRole::Llm), Some(files.llm.as_path()));
    assert_eq!(assembly.files.get(FileRole::Taesd), Some(files.taesd.as_path()));
    check_files(&assembly.files, &[]).unwrap();

    fs::remove_file(&files.llm).unwrap();
    let scan = self::scan(dir.path());
    let main = scan.iter().find(|it| it.path == files.diffusion).unwrap();
    let assembly = assemble(main, &scan, &Catalogue::shipped(), &ModelFiles::default()).unwrap();
    let [missing] = assembly.missing.as_slice() else { panic!("{assembly:?}") };
    let sentence = "Also needs a text encoder (Qwen3-4B): Qwen3-4B-Instruct-2507-Q4_K_M.gguf, about 2.5 GB, included with z-image-turbo.";
    assert_eq!((missing.role, missing.bytes(), missing.sentence().as_str()), (FileRole::Llm, Some(2_497_281_120), sentence));
    let taesd = scan.iter().find(|it| it.path == files.taesd).unwrap();
    assert_eq!(assemble(taesd, &scan, &Catalogue::shipped(), &ModelFiles::default()), None, "no model is built round a decoder");
}

#[test]
fn only_parts_that_fit_are_taken() {
    let scan = [
        made("/m/flux.gguf", 6_000, FLUX),
        made("/e/clip_g.gguf", 100, CLIP_G),
        made("/e/t5.gguf", 2_000, T5),
        made("/e/vae4.gguf", 300, VAE4),
    ];
    let assembly = assemble(&scan[0], &scan, &Catalogue::shipped(), &ModelFiles::default()).unwrap();
    assert_eq!(name_of(&assembly, FileRole::T5xxl).as_deref(), Some("t5.gguf"));
    let missing: Vec<(FileRole, &str)> = assembly.missing.iter().map(|it| (it.role, it.what.as_str())).collect();
    assert_eq!(missing, [(FileRole::ClipL, "the text encoder (CLIP-L)"), (FileRole::Vae, "a VAE")]);
    assert!(assembly.missing.iter().all(|it| it.offer.is_some()));
}

#[test]
fn of_several_that_fit_the_known_the_near_and_the_modest_go_first() {
    let proposed = |paths: &[(&str, u64)]| {
        let mut scan = vec![made("/m/flux.gguf", 6_000, FLUX), made("/e/clip_l.gguf", 100, CLIP_L), made("/e/vae.gguf", 300, VAE16)];
        scan.extend(paths.iter().map(|(path, bytes)| made(path, *bytes, T5)));
        name_of(&assemble(&scan[0], &scan, &Catalogue::shipped(), &ModelFiles::default()).unwrap(), FileRole::T5xxl).unwrap()
    };
    assert_eq!(proposed(&[("/m/near.gguf", 10), ("/e/t5xxl_q4_k.gguf", 5)]), "t5xxl_q4_k.gguf");
    assert_eq!(proposed(&[("/m/near.gguf", 10), ("/e/far.gguf", 20)]), "near.gguf");
    assert_eq!(proposed(&[("/e/small.gguf", 10), ("/e/good.gguf", 5_000), ("/e/huge.gguf", 9_000)]), "good.gguf");
    assert_eq!(proposed(&[("/e/huge.gguf", 9_000), ("/e/large.gguf", 8_000)]), "large.gguf");
    assert_eq!(proposed(&[("/e/a.gguf", 10), ("/e/b.gguf", 10)]), "a.gguf", "the same at each start");
}

#[test]
fn a_whole_model_needs_nothing_and_a_language_model_must_have_the_width() {
    let dir = tempfile::tempdir().unwrap();
    testkit::sd15(&dir.path().join("sd15.safetensors"), 1, testkit::Contents::HeaderOnly).unwrap();
    let scan = scan(dir.path());
    let assembly = assemble(&scan[0], &scan, &Catalogue::shipped(), &ModelFiles::default()).unwrap();
    assert_eq!((assembly.files.iter().count(), assembly.missing.len()), (1, 0));

    let anima: Listed<'_> = &[("net.llm_adapter.blocks.0.cross_attn.q_proj.weight", &[8, 8])];
    let qwen = |width: u64| -> Vec<(&str, Vec<u64>)> { vec![("model.embed_tokens.weight", vec![151_936, width])] };
    let at = |width: u64| {
        let shapes = qwen(width);
        let listed: Vec<(&str, &[u64])> = shapes.iter().map(|(name, shape)| (*name, shape.as_slice())).collect();
        made(&format!("/e/{width}.gguf"), 10, &listed)
    };
    let scan = [made("/m/anima.gguf", 100, anima), at(2560), at(1024)];
    assert_eq!(
        name_of(&assemble(&scan[0], &scan, &Catalogue::shipped(), &ModelFiles::default()).unwrap(), FileRole::Llm).as_deref(),
        Some("1024.gguf")
    );
}
