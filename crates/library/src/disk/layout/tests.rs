use super::*;

fn folders(base: &Path, names: &[&str]) {
    for name in names {
        fs::create_dir_all(base.join(name)).unwrap();
    }
}

#[test]
fn trees_of_other_programs_are_recognised() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    folders(dir.path(), &["comfy/models/checkpoints", "comfy/custom_nodes", "forge/models/Stable-diffusion", "forge/embeddings", "plain"]);
    let of = |name: &str| Folder::recognise(&at(name));
    assert_eq!((of("comfy").layout, of("comfy").roots), (Layout::ComfyUi, vec![(at("comfy/models"), None)]));
    let forge = of("forge");
    let embeddings = Some(Hint::Role(Role::Embedding));
    assert_eq!((forge.layout, forge.roots), (Layout::A1111, vec![(at("forge/models"), None), (at("forge/embeddings"), embeddings)]));
    assert_eq!((of("plain").layout, of("plain").roots), (Layout::Plain, vec![(at("plain"), None)]));
    assert_eq!((of("gone").layout, of("gone").roots.len()), (Layout::Plain, 1));
    folders(dir.path(), &["comfy/models/loras"]);
    assert_eq!(of("comfy/models").layout, Layout::ComfyUi);
    assert_eq!(of("forge/models").layout, Layout::A1111);
}

#[test]
fn folders_that_comfyui_is_told_of_are_looked_through() {
    let dir = tempfile::tempdir().unwrap();
    folders(dir.path(), &["comfy/models/checkpoints", "far/ckpt", "far/l1", "far/l2"]);
    let list = dir.path().join("comfy").join(EXTRA_PATHS);
    fs::write(&list, "mine:\n  base_path: ../far\n  checkpoints: ckpt\n  loras: |\n    l1\n    l2\n    gone\n  custom_nodes: ckpt\n")
        .unwrap();
    let lora = Some(Hint::Role(Role::Lora));
    let base = dir.path().join("comfy/../far");
    let extra = [(base.join("ckpt"), Some(Hint::Role(Role::Part(FileRole::Model)))), (base.join("l1"), lora), (base.join("l2"), lora)];
    let comfy = Folder::recognise(&dir.path().join("comfy"));
    assert_eq!(comfy.roots[1..], extra);
    let alone = Folder::recognise(&list);
    assert_eq!((alone.layout, alone.roots.as_slice()), (Layout::ComfyUi, extra.as_slice()));
}
