use super::*;
use crate::manifest::Role;
use atelier_core::recipe::FileRole;

fn names(walk: &Walk) -> Vec<String> {
    walk.files.iter().map(|it| it.path.file_name().unwrap().to_string_lossy().into_owned()).collect()
}

fn write(base: &Path, name: &str) {
    let path = base.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "x").unwrap();
}

fn all(folder: &Folder) -> Walk {
    walk(folder, &|| true)
}

#[test]
fn files_are_listed_with_what_their_folder_is_for() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["checkpoints/a.safetensors", "checkpoints/deep/b.GGUF", "loras/c.safetensors", "vae/d.pt", "notes.txt", ".git/e.gguf"] {
        write(dir.path(), &format!("models/{name}"));
    }
    let found = all(&Folder::recognise(dir.path()));
    assert_eq!(names(&found), ["a.safetensors", "b.GGUF", "c.safetensors", "d.pt"]);
    let part = |role| Some(Hint::Role(Role::Part(role)));
    let hints: Vec<Option<Hint>> = found.files.iter().map(|it| it.hint).collect();
    assert_eq!(hints, [part(FileRole::Model), part(FileRole::Model), Some(Hint::Role(Role::Lora)), part(FileRole::Vae)]);
    assert!(found.problems.is_empty() && found.files.iter().all(|it| it.bytes == 1 && it.modified.is_some()));
    let own = all(&Folder::own(&dir.path().join("models")));
    assert!(own.files.iter().all(|it| it.hint.is_none()), "a model may be called vae");
}

#[test]
fn a_folder_that_is_not_there_is_told_and_a_walk_can_be_ended() {
    let dir = tempfile::tempdir().unwrap();
    let found = all(&Folder::recognise(&dir.path().join("gone")));
    assert!(found.files.is_empty() && found.problems[0].contains("Connect its disk"), "{found:?}");
    write(dir.path(), "a.gguf");
    assert!(walk(&Folder::recognise(dir.path()), &|| false).files.is_empty());
}

#[test]
fn folders_without_end_are_left_at_some_depth() {
    let dir = tempfile::tempdir().unwrap();
    let deep = (0..30).fold(String::new(), |path, at| format!("{path}d{at}/"));
    write(dir.path(), &format!("{deep}a.gguf"));
    write(dir.path(), "b.gguf");
    assert_eq!(names(&all(&Folder::recognise(dir.path()))), ["b.gguf"]);
}

#[cfg(unix)]
#[test]
fn loops_of_links_end_and_links_to_files_are_followed() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "m/a.gguf");
    symlink(dir.path(), dir.path().join("m/loop")).unwrap();
    symlink("loop2", dir.path().join("loop2")).unwrap();
    symlink(dir.path().join("m"), dir.path().join("again")).unwrap();
    symlink("m/a.gguf", dir.path().join("link.gguf")).unwrap();
    symlink("nowhere.gguf", dir.path().join("dangling.gguf")).unwrap();
    let found = all(&Folder::recognise(dir.path()));
    let mut listed = names(&found);
    listed.sort();
    assert_eq!(listed, ["a.gguf", "link.gguf"]);

    fs::create_dir(dir.path().join("closed")).unwrap();
    fs::set_permissions(dir.path().join("closed"), fs::Permissions::from_mode(0o000)).unwrap();
    let found = all(&Folder::recognise(dir.path()));
    // Root may read everything and has no problem here.
    let free = fs::read_dir(dir.path().join("closed")).is_ok();
    assert_eq!((found.files.len(), found.problems.len()), (2, usize::from(!free)));
    fs::set_permissions(dir.path().join("closed"), fs::Permissions::from_mode(0o755)).unwrap();
}
