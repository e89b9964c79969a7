use std::collections::BTreeMap;
use std::sync::Arc;

use super::*;
use crate::disk::{DiskFile, FileStatus, Folder, ScanResult};
use crate::{Assembly, Catalogue, Family, Loose, Models, installed, usage};
use atelier_core::recipe::FileRole;

/// Two downloaded models, of which the second shares a file with the first by a hard link.
struct World {
    dir: tempfile::TempDir,
    downloaded: Vec<DownloadRecord>,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut world = Self { dir, downloaded: Vec::new() };
        for (model, files) in [("one", ["a.gguf", "ae.safetensors"]), ("two", ["b.gguf", "ae.safetensors"])] {
            let folder = world.root().join(model);
            fs::create_dir_all(&folder).unwrap();
            let listed: Vec<String> =
                files.iter().zip(["model", "vae"]).map(|(it, role)| format!(r#"{{"role":"{role}","filename":"{it}"}}"#)).collect();
            let manifest = format!(r#"{{"id":"{model}","name":"{model}","files":[{}]}}"#, listed.join(","));
            fs::write(folder.join("manifest.json"), manifest).unwrap();
            for file in files {
                let (path, twin) = (folder.join(file), world.root().join("one").join(file));
                if twin.is_file() {
                    fs::hard_link(&twin, &path).unwrap();
                } else {
                    fs::write(&path, file.repeat(100)).unwrap();
                }
                let metadata = fs::metadata(&path).unwrap();
                world.downloaded.push(DownloadRecord { path, bytes: metadata.len(), modified: modified(&metadata), sha256: None });
            }
        }
        world
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("models")
    }

    fn models(&self) -> Models {
        Models::new(&self.root(), Catalogue::default(), &ScanResult::default())
    }

    fn plan(&self, model: &str) -> Result<Removal, RemovalError> {
        let models = self.models();
        Removal::plan(models.installed_as(model).unwrap(), &self.root(), &models, &self.downloaded)
    }

    /// Everything there is, by name.
    fn tree(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        all_files(&self.root()).unwrap().into_iter().map(|it| (it.clone(), fs::read(it).unwrap())).collect()
    }

    /// A trash that keeps what it is given.
    fn trash(&self) -> impl FnMut(&Path) -> Result<(), String> {
        let bin = self.dir.path().join("trash");
        let mut n = 0;
        move |path| {
            fs::create_dir_all(&bin).unwrap();
            n += 1;
            fs::rename(path, bin.join(n.to_string())).map_err(|error| error.to_string())
        }
    }
}

#[test]
fn a_whole_model_goes_as_one_and_what_another_shares_with_it_stays() {
    let world = World::new();
    let before = world.tree();
    let removal = world.plan("one").unwrap();
    assert_eq!((removal.going.len(), removal.staying.len(), removal.whole), (2, 0, true));
    let mut moved = Vec::new();
    let mut trash = world.trash();
    removal
        .carry_out(&mut |path| {
            moved.push(path.to_owned());
            trash(path)
        })
        .unwrap();
    assert_eq!(moved, [world.root().join("one")]);
    let after: BTreeMap<_, _> = before.into_iter().filter(|(path, _)| path.starts_with(world.root().join("two"))).collect();
    assert_eq!(world.tree(), after);
    let (models, problems) = installed(&world.root());
    assert!(models.len() == 1 && models[0].files.is_ok() && problems.is_empty());
}

#[test]
fn what_a_person_put_there_or_changed_stays() {
    let world = World::new();
    let one = world.root().join("one");
    fs::write(one.join("mine.txt"), "notes").unwrap();
    fs::write(one.join("a.gguf"), "changed").unwrap();
    let removal = world.plan("one").unwrap();
    assert_eq!(
        (removal.going.as_slice(), removal.staying.as_slice()),
        (&[one.join("ae.safetensors")][..], &[(one.join("a.gguf"), Stays::Changed)][..])
    );
    removal.carry_out(&mut world.trash()).unwrap();
    let left: Vec<PathBuf> = world.tree().into_keys().filter(|it| it.starts_with(&one)).collect();
    assert_eq!(left, [one.join("a.gguf"), one.join("mine.txt")]);
}

#[test]
fn what_atelier_did_not_download_is_not_deleted() {
    let mut world = World::new();
    let downloaded = std::mem::take(&mut world.downloaded);
    let before = world.tree();
    assert!(matches!(world.plan("one"), Err(RemovalError::NotOurs { .. })));
    world.downloaded = downloaded.into_iter().map(|it| DownloadRecord { modified: it.modified.map(|it| it + 1), ..it }).collect();
    assert!(matches!(world.plan("one"), Err(RemovalError::NotOurs { .. })));
    assert_eq!(world.tree(), before);
    let models = world.models();
    let elsewhere = Removal::plan(models.installed_as("one").unwrap(), world.dir.path(), &models, &world.downloaded);
    assert!(matches!(elsewhere, Err(RemovalError::Outside { .. })));
}

#[test]
fn a_file_that_a_loose_model_uses_stays_with_it() {
    let world = World::new();
    let vae = world.root().join("one/ae.safetensors");
    let main = DiskFile { path: "/far/flux.gguf".into(), bytes: 1, modified: None, hint: None, status: FileStatus::Unread };
    let files = [(FileRole::Diffusion, main.path.clone()), (FileRole::Vae, vae.clone())].into_iter().collect();
    let assembly = Assembly { family: Family::Flux, files, missing: Vec::new() };
    let mut models = world.models();
    models.loose.push(Loose { id: "flux".into(), main: Arc::new(main), assembly });
    let removal = Removal::plan(models.installed_as("one").unwrap(), &world.root(), &models, &world.downloaded).unwrap();
    assert_eq!(
        (removal.going.len(), removal.staying.as_slice(), removal.whole),
        (1, &[(vae.clone(), Stays::UsedBy("flux".into()))][..], false)
    );
    removal.carry_out(&mut world.trash()).unwrap();
    assert!(vae.is_file() && !world.root().join("one/a.gguf").exists());
}

#[test]
fn a_trash_that_takes_nothing_changes_nothing() {
    let world = World::new();
    let before = world.tree();
    let error = world.plan("one").unwrap().carry_out(&mut |_| Err("there is no trash".into())).unwrap_err();
    assert!(error.to_string().contains("there is no trash. The file was not deleted"), "{error}");
    assert_eq!(world.tree(), before);
}

#[cfg(unix)]
#[test]
fn links_are_never_followed_to_be_deleted() {
    use std::os::unix::fs::symlink;
    let mut world = World::new();
    let theirs = world.dir.path().join("theirs");
    fs::rename(world.root().join("one"), &theirs).unwrap();
    symlink(&theirs, world.root().join("one")).unwrap();
    assert!(world.models().installed_as("one").is_none(), "a linked folder is no model of ours");
    fs::remove_file(world.root().join("one")).unwrap();
    fs::rename(&theirs, world.root().join("one")).unwrap();
    // The person put their own file elsewhere and a link in its place.
    let (path, real) = (world.root().join("one/a.gguf"), world.root().join("one/real.gguf"));
    fs::rename(&path, &real).unwrap();
    symlink("real.gguf", &path).unwrap();
    let metadata = fs::symlink_metadata(&path).unwrap();
    for it in world.downloaded.iter_mut().filter(|it| it.path == path) {
        (it.bytes, it.modified) = (metadata.len(), modified(&metadata));
    }
    let removal = world.plan("one").unwrap();
    assert_eq!(removal.staying, [(path, Stays::NotOurs)]);
}

#[test]
fn use_of_the_disk_counts_shared_bytes_once() {
    let world = World::new();
    let scan = ScanResult { folders: vec![Folder::own(&world.root())], ..ScanResult::default() };
    let used = usage(&world.models(), &scan);
    let models: Vec<(&str, u64, u64)> = used.models.iter().map(|it| (it.id.as_str(), it.bytes, it.shared)).collect();
    let shared = if cfg!(unix) { 1400 } else { 0 };
    assert_eq!(models, [("one", 2000, shared), ("two", 2000, shared)]);
    assert_eq!((used.folders[0].files, used.folders[0].bytes, used.total), (4, 4000, 4000 - shared));
}

/// A file that came by a link, alone in the folders that were made for it.
fn linked(world: &mut World) -> PathBuf {
    let path = world.root().join("ann--ink/lora/ink.safetensors");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "ink").unwrap();
    let metadata = fs::metadata(&path).unwrap();
    world.downloaded.push(DownloadRecord { path: path.clone(), bytes: 3, modified: modified(&metadata), sha256: None });
    path
}

#[test]
fn a_file_that_came_by_a_link_goes_with_its_folders() {
    let mut world = World::new();
    let path = linked(&mut world);
    let plan = |world: &World, path: &Path| Removal::plan_file("ink", path, &world.root(), &world.models(), &world.downloaded);
    let removal = plan(&world, &path).unwrap();
    assert_eq!((removal.going.as_slice(), removal.bytes, &removal.folder), (&[path.clone()][..], 3, &world.root().join("ann--ink")));
    fs::write(world.root().join("ann--ink/mine.txt"), "words").unwrap();
    assert_eq!(plan(&world, &path).unwrap().folder, world.root().join("ann--ink/lora"), "what is beside it stays");
    fs::write(world.root().join("ann--ink/lora/mine.txt"), "words").unwrap();
    let before = world.tree().len();
    plan(&world, &path).unwrap().carry_out(&mut world.trash()).unwrap();
    assert_eq!((world.tree().len(), path.exists()), (before - 1, false));
}

#[test]
fn a_loose_file_that_is_not_ours_changed_used_or_outside_stays() {
    let mut world = World::new();
    let path = linked(&mut world);
    let plan = |world: &World, path: &Path| Removal::plan_file("ink", path, &world.root(), &world.models(), &world.downloaded);
    let mine = world.root().join("mine.gguf");
    fs::write(&mine, "mine").unwrap();
    assert!(matches!(plan(&world, &mine), Err(RemovalError::NotOurs { .. })));
    let outside = world.dir.path().join("outside.gguf");
    fs::write(&outside, "x").unwrap();
    assert!(matches!(plan(&world, &outside), Err(RemovalError::Outside { .. })));
    let used = world.root().join("one/a.gguf");
    assert!(matches!(plan(&world, &used), Err(RemovalError::Stays { why: Stays::UsedBy(model), .. }) if model == "one"));
    fs::write(&path, "other").unwrap();
    let error = plan(&world, &path).unwrap_err();
    assert!(error.to_string().ends_with("stays, because it was changed since it was downloaded, so nothing is deleted."), "{error}");
    assert!(path.exists() && mine.exists() && outside.exists() && used.exists());
}
