use std::fs;

use super::*;
use crate::fixture::{Fixture, contents, from_picture, recipe, set_time, write_recipe};
use crate::queue::Owner;
use crate::{DatabaseState, FileIdentity, Order, PictureFlag, Query, ThumbnailSize, Thumbnails};

#[test]
fn a_scan_adds_what_is_new_and_reads_only_what_changed() {
    let mut it = Fixture::new();
    let folder = it.add_folder("art", FolderKind::Added);
    for n in 0..3 {
        it.write(&format!("art/deep/{n}.png"), &recipe("a lake", n), 1_000_000 + n);
    }
    it.write("art/.hidden/x.png", &recipe("hidden", 9), 1);
    fs::write(it.path("art/text.txt"), "no picture").unwrap();
    fs::write(it.path("art/broken.PNG"), "no picture").unwrap();
    let mut calls = 0;
    let marks = it.marks();
    let report = it.database.scan(folder, &marks, &mut |_| calls += 1, &|| false).unwrap();
    assert_eq!((report.files, report.looked_at, report.added, report.damaged, report.missing), (4, 4, 4, 1, 0));
    assert!(calls > 0);
    assert_eq!(it.found("is:import lake"), ["2.png", "1.png", "0.png"]);
    assert_eq!(it.found("is:damaged"), ["broken.PNG"]);

    let again = it.scan(folder);
    assert_eq!((again.added, again.changed, again.looked_at), (0, 0, 4));
    it.write("art/deep/1.png", &recipe("a sea", 5), 2_000_000);
    fs::remove_file(it.path("art/deep/2.png")).unwrap();
    let report = it.scan(folder);
    assert_eq!((report.added, report.changed, report.missing), (0, 1, 1));
    assert_eq!((it.found("sea"), it.found("is:missing")), (vec!["1.png".to_owned()], vec!["2.png".to_owned()]));
    it.write("art/deep/2.png", &recipe("a lake", 2), 1_000_002);
    assert_eq!(it.scan(folder).returned, 1);
    assert_eq!(it.found("is:missing"), Vec::<String>::new());
}

#[test]
fn a_folder_that_is_not_there_is_missing_and_comes_back_as_it_was() {
    let mut it = Fixture::new();
    let folder = it.add_folder("disk/art", FolderKind::Added);
    it.write("disk/art/a.png", &recipe("a lake", 1), 5);
    it.scan(folder);
    let id = it.id("disk/art/a.png");
    it.database.set_rating(&[id], 5).unwrap();
    fs::rename(it.path("disk"), it.path("elsewhere")).unwrap();
    let report = it.scan(folder);
    assert!(report.is_folder_missing && report.missing == 1);
    assert_eq!(it.found("is:missing rating:5"), ["a.png"]);
    fs::rename(it.path("elsewhere"), it.path("disk")).unwrap();
    assert_eq!(it.scan(folder).returned, 1);
    assert_eq!(it.id("disk/art/a.png"), id);
    assert_eq!(it.found("is:here rating:5"), ["a.png"]);
}

#[test]
fn a_moved_file_keeps_its_marks_and_a_copy_is_a_picture_of_its_own() {
    let mut it = Fixture::new();
    let (one, two) = (it.add_folder("one", FolderKind::Added), it.add_folder("two", FolderKind::Added));
    it.write("one/a.png", &recipe("a lake", 1), 5);
    it.write("one/b.png", &recipe("a lake", 2), 6);
    it.scan(one);
    let id = it.id("one/a.png");
    it.database.add_tag(&[id], "kept").unwrap();
    fs::rename(it.path("one/a.png"), it.path("two/other name.png")).unwrap();
    fs::copy(it.path("one/b.png"), it.path("two/copy.png")).unwrap();
    let report = it.scan(two);
    assert_eq!((report.moved, report.added), (1, 1));
    assert_eq!(it.scan(one).missing, 0);
    assert_eq!(it.id("two/other name.png"), id);
    assert_eq!(it.found("tag:kept"), ["other name.png"]);
    assert_eq!(it.found("name:other"), ["other name.png"]);
    // Within one folder, found before it is missed.
    fs::rename(it.path("two/other name.png"), it.path("two/third.png")).unwrap();
    let report = it.scan(two);
    assert_eq!((report.moved, report.missing), (1, 0));
    assert_eq!(it.id("two/third.png"), id);
}

#[test]
fn a_persons_folder_stays_as_it_was_byte_for_byte_and_time_for_time() {
    let mut it = Fixture::new();
    let folder = it.add_folder("art", FolderKind::Added);
    it.write("art/deep/a.png", &recipe("a lake", 1), 5);
    it.write("art/b.png", &recipe("a sea", 2), 6);
    fs::write(it.path("art/broken.jpg"), [0xff, 0xd8, 0xff]).unwrap();
    let before = contents(&it.path("art"));
    it.scan(folder);
    let ids = it.database.search(&Query::default(), Order::Newest).unwrap();
    it.database.set_rating(&ids, 3).unwrap();
    it.database.add_tag(&ids, "x").unwrap();
    it.database.set_note(&ids, "y").unwrap();
    it.database.create_board("z").unwrap();
    it.database.add_to_board(&ids, "z").unwrap();
    it.scan(folder);
    assert_eq!(contents(&it.path("art")), before);
}

#[test]
fn an_index_that_is_lost_is_rebuilt_whole() {
    let mut it = Fixture::new();
    let (own, art) = (it.add_folder("own", FolderKind::Own), it.add_folder("art", FolderKind::Added));
    it.record("own/a.png", &recipe("a lake", 1), 1000);
    let parent = it.path("own/a.png");
    it.record("own/sub/b.png", &from_picture(recipe("a lake again", 2), &parent), 2000);
    it.write("art/c.png", &recipe("a sea", 3), 3000);
    it.scan(art);
    // Saved by name in a folder that is not scanned, as one of a batch, upscaled from another.
    let loose = it.write("desktop/d.png", &recipe("a house", 4), 4000);
    let new = NewPicture { parent: Some(parent), batch: Some(77), ..NewPicture::read(&loose, PictureKind::Candidate).unwrap() };
    it.database.record_picture(&new).unwrap();
    let shared = it.write("own/shared.png", &recipe("a harbour", 6), 5000);
    it.database
        .record_picture(&NewPicture { owner: Owner::named("Anna"), ..NewPicture::read(&shared, PictureKind::Kept).unwrap() })
        .unwrap();
    write_recipe(&it.path("desktop/private.png"), &recipe("private", 5));
    let all = it.database.search(&Query::default(), Order::Newest).unwrap();
    assert_eq!(all.len(), 5);
    it.database.set_rating(&all[..2], 4).unwrap();
    it.database.set_rating(&all[..1], 5).unwrap();
    it.database.set_flag(&all[1..3], Some(PictureFlag::Reject)).unwrap();
    it.database.add_tag(&all, "portrait").unwrap();
    it.database.remove_tag(&all[..1], "portrait").unwrap();
    it.database.set_note(&all[2..], "two\nlines 湖").unwrap();
    for board in ["Empty", "Old name"] {
        it.database.create_board(board).unwrap();
    }
    it.database.add_to_board(&[all[2], all[0]], "old name").unwrap();
    it.database.rename_board("Old name", "New name").unwrap();
    it.database.save_search("lakes", "lake rating>=3").unwrap();
    let told = |it: &Fixture| {
        let ids = it.database.search(&Query::default(), Order::Newest).unwrap();
        let details: Vec<_> = ids.iter().map(|id| it.database.picture(*id).unwrap().unwrap()).collect();
        let on_board = it.found_in_order("board:\"new name\"", Order::Board);
        (details, on_board, it.database.boards().unwrap(), it.database.saved_searches().unwrap(), it.database.folders().unwrap().len())
    };
    let before = told(&it);
    assert_eq!(before.1.len(), 2);
    let owners = |it: &Fixture| (it.found("owner:anna"), it.found("-has:owner").len());
    assert_eq!((owners(&it), &before.0[0].owner), ((vec!["shared.png".to_owned()], 4), &Owner::named("Anna")));

    let mut it = it.lose_database();
    for folder in it.database.folders().unwrap() {
        it.scan(folder.id);
    }
    assert_eq!(told(&it), before);
    assert_eq!(owners(&it).1, 4, "whose a picture is comes back with the marks");
    assert_eq!(it.found("private"), Vec::<String>::new());
    let _ = own;

    // The same after damage.
    let path = it.path("data/gallery.sqlite");
    let Fixture { home, database } = it;
    drop(database);
    fs::write(&path, [3; 5000]).unwrap();
    let (database, state) = Database::open(&path).unwrap();
    assert!(matches!(state, DatabaseState::PutAside(_)));
    let mut it = Fixture { home, database };
    for folder in it.database.folders().unwrap() {
        it.scan(folder.id);
    }
    assert_eq!(told(&it), before);
}

#[test]
fn a_scan_can_be_stopped_and_goes_on_later() {
    let mut it = Fixture::new();
    let folder = it.add_folder("art", FolderKind::Added);
    for n in 0..200 {
        it.write(&format!("art/{n}.png"), &recipe("a lake", n), 1000 + n);
    }
    let asked = std::cell::Cell::new(0);
    let stop = || {
        asked.set(asked.get() + 1);
        asked.get() > 300
    };
    let marks = it.marks();
    let report = it.database.scan(folder, &marks, &mut |_| {}, &stop).unwrap();
    assert!(report.is_stopped && report.missing == 0);
    let found = it.found("");
    assert!(!found.is_empty() && found.len() < 200, "{}", found.len());
    assert_eq!(found[0], "199.png", "newest first");
    assert_eq!(it.scan(folder).added as usize, 200 - found.len());
}

#[test]
fn thousands_of_files_of_one_time_keep_different_ids() {
    let mut it = Fixture::new();
    let folder = it.add_folder("art", FolderKind::Added);
    for n in 0..1500 {
        fs::write(it.path(&format!("art/{n}.png")), format!("{n}")).unwrap();
        set_time(&it.path(&format!("art/{n}.png")), 500);
    }
    assert_eq!(it.scan(folder).added, 1500);
    assert_eq!(it.database.search(&Query::default(), Order::Newest).unwrap().len(), 1500);
}

#[cfg(unix)]
#[test]
fn links_in_circles_and_names_that_are_not_unicode_are_handled() {
    use std::os::unix::ffi::OsStrExt;
    let mut it = Fixture::new();
    let folder = it.add_folder("art", FolderKind::Added);
    let name = std::ffi::OsStr::from_bytes(b"art/\xff\xfe.png");
    let path = it.home.path().join(name);
    write_recipe(&path, &recipe("a lake", 1));
    std::os::unix::fs::symlink(it.path("art"), it.path("art/circle")).unwrap();
    std::os::unix::fs::symlink(it.path("nowhere"), it.path("art/gone.png")).unwrap();
    assert_eq!(it.scan(folder).added, 1);
    assert_eq!(it.scan(folder).added, 0);
    let id = it.database.find_path(&path).unwrap().unwrap();
    assert_eq!(it.database.pictures(&[id]).unwrap()[0].path, path);
    it.database.set_rating(&[id], 2).unwrap();
    let mut it = it.lose_database();
    let folder = it.database.folders().unwrap()[0].id;
    it.scan(folder);
    assert_eq!(it.found("rating:2").len(), 1);
}

#[cfg(unix)]
#[test]
fn a_scan_counts_linked_folders_and_unread_formats() {
    let mut it = Fixture::new();
    let folder = it.add_folder("art", FolderKind::Added);
    fs::create_dir(it.path("elsewhere")).unwrap();
    write_recipe(&it.path("elsewhere/a.png"), &recipe("a lake", 1));
    std::os::unix::fs::symlink(it.path("elsewhere"), it.path("art/outputs")).unwrap();
    std::os::unix::fs::symlink(it.path("art"), it.path("art/circle")).unwrap();
    for name in ["a.AVIF", "b.gif", "notes.txt"] {
        fs::write(it.path("art").join(name), "x").unwrap();
    }
    let report = it.scan(folder);
    assert_eq!((report.files, report.other_formats, report.linked_folders), (0, 2, vec![it.path("art/outputs")]));
}

#[test]
fn folders_inside_each_other_are_one_but_for_ateliers_own() {
    let mut it = Fixture::new();
    let inner = it.add_folder("art/inner", FolderKind::Added);
    it.write("art/inner/a.png", &recipe("a lake", 1), 5);
    it.write("art/own/b.png", &recipe("a sea", 2), 6);
    it.scan(inner);
    let id = it.id("art/inner/a.png");
    it.database.set_rating(&[id], 3).unwrap();
    let outer = it.add_folder("art", FolderKind::Added);
    assert_eq!(it.id("art/inner/a.png"), id);
    assert_eq!(it.add_folder("art/inner", FolderKind::Added), outer);
    assert_eq!(it.scan(outer).added, 1);
    let own = it.add_folder("art/own", FolderKind::Own);
    assert_eq!(it.database.folders().unwrap().len(), 2);
    assert_eq!((it.database.folder_pictures(outer).unwrap(), it.database.folder_pictures(own).unwrap()), (1, 1));
    assert_eq!(it.scan(outer).missing, 0);
    assert_eq!(it.found("rating:3"), ["a.png"]);
    it.database.remove_folder(outer).unwrap();
    assert_eq!(it.found(""), ["b.png"]);
    assert_eq!(it.found("lake"), Vec::<String>::new());
    let outer = it.add_folder("art", FolderKind::Added);
    it.scan(outer);
    assert_eq!(it.found("rating:3"), ["a.png"], "marks come back with the folder");
}

/// Leaves a marker as a program does that ends while it reads this file.
fn end_while_reading(it: &Fixture, path: &Path) {
    let metadata = fs::metadata(path).unwrap();
    let marker = serde_json::json!({ "path": path, "bytes": metadata.len(), "modified_ns": crate::file_identity::modified_ns(&metadata) });
    fs::create_dir_all(it.path("data/reading")).unwrap();
    fs::write(it.path("data/reading/1-1.reading"), format!("{marker}\nleft of a longer line")).unwrap();
}

#[test]
fn a_file_that_ended_the_program_is_left_out_and_marked_and_all_others_are_scanned() {
    let mut it = Fixture::new();
    let folder = it.add_folder("art", FolderKind::Added);
    for n in 0..5 {
        it.write(&format!("art/{n}.png"), &recipe("a lake", n), 1_000_000 + n);
    }
    let bad = it.path("art/3.png");
    end_while_reading(&it, &bad);
    let report = it.scan(folder);
    assert_eq!((report.added, report.newly_left_out, report.left_out), (5, 1, vec![bad.clone()]));
    assert_eq!((it.found("is:damaged"), it.found("lake").len()), (vec!["3.png".to_owned()], 4));
    let again = it.scan(folder);
    assert_eq!((again.changed, again.damaged, again.newly_left_out, again.left_out.len()), (0, 0, 0, 1));

    it.write("art/3.png", &recipe("a new lake", 9), 2_000_000);
    let report = it.scan(folder);
    assert_eq!((report.changed, report.left_out.len()), (1, 0), "a changed file is tried again");
    assert_eq!((it.found("is:damaged").len(), it.found("new")), (0, vec!["3.png".to_owned()]));
}

#[test]
fn a_picture_that_ended_the_program_where_its_thumbnail_was_made_is_marked_and_keeps_what_is_known() {
    let mut it = Fixture::new();
    let folder = it.add_folder("art", FolderKind::Added);
    let path = it.write("art/a.png", &recipe("a lake", 7), 1_000_000);
    it.scan(folder);
    it.database.set_rating(&[it.id("art/a.png")], 4).unwrap();
    end_while_reading(&it, &path);
    assert_eq!(it.scan(folder).newly_left_out, 1);
    assert_eq!((it.found("is:damaged"), it.found("lake rating:4")), (vec!["a.png".to_owned()], vec!["a.png".to_owned()]));
    let thumbnails = Thumbnails::open(&it.path("data/thumbnails.sqlite")).unwrap();
    let hash = FileIdentity::read(&path).unwrap().hash;
    let refused = thumbnails.thumbnail(&it.marks(), &path, hash, ThumbnailSize::Small).unwrap_err();
    assert!(refused.to_string().contains("skipped"), "{refused}");
    // The person takes it for good.
    fs::remove_file(it.path("data/reading/left-out.json")).unwrap();
    assert_eq!((it.scan(folder).changed, it.found("is:damaged").len(), it.found("lake rating:4").len()), (1, 0, 1));
}
