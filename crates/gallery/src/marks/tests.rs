use super::*;
use crate::fixture::{Fixture, recipe};
use crate::{FolderKind, Order};

fn four() -> (Fixture, Vec<PictureId>) {
    let mut it = Fixture::new();
    it.add_folder("own", FolderKind::Own);
    let ids = (0..4).map(|n| it.record(&format!("own/{n}.png"), &recipe("a lake", n), 1000 + n)).collect();
    (it, ids)
}

fn refused(result: Result<(), GalleryError>) -> String {
    match result.unwrap_err() {
        GalleryError::Refused(sentence) => sentence,
        other => panic!("{other}"),
    }
}

#[test]
fn what_is_no_rating_tag_note_or_board_is_refused_in_a_sentence() {
    let (mut it, ids) = four();
    assert!(refused(it.database.set_rating(&ids, 6)).contains("0 (none) to 5"));
    assert!(refused(it.database.add_tag(&ids, "  ")).contains("1 to 100"));
    assert!(refused(it.database.add_tag(&ids, "two\nlines")).contains("line breaks"));
    assert!(refused(it.database.set_note(&ids, &"x".repeat(70_000))).contains("too long"));
    assert!(refused(it.database.add_to_board(&ids, "none")).contains("create it first"));
    assert!(refused(it.database.create_board("")).contains("board"));
    it.database.create_board("Summer").unwrap();
    assert!(refused(it.database.create_board("summer")).contains("already"));
    it.database.create_board("Winter").unwrap();
    assert!(refused(it.database.rename_board("winter", "SUMMER")).contains("already"));
    it.database.rename_board("winter", "WINTER").unwrap();
    assert_eq!(it.database.boards().unwrap().iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["Summer", "WINTER"]);
}

#[test]
fn marks_change_many_pictures_at_once_or_none() {
    let (mut it, ids) = four();
    it.database.set_rating(&ids, 2).unwrap();
    it.database.add_tag(&ids[..2], "Lake").unwrap();
    it.database.add_tag(&ids[..3], "lake").unwrap();
    it.database.set_flag(&ids, Some(PictureFlag::Pick)).unwrap();
    it.database.set_flag(&ids[1..], None).unwrap();
    assert_eq!(it.found("rating:2").len(), 4);
    assert_eq!(it.found("flag:pick"), ["0.png"]);
    assert_eq!(it.database.tags().unwrap(), [("Lake".to_owned(), 3)]);
    it.database.remove_tag(&ids, "LAKE").unwrap();
    assert_eq!(it.database.tags().unwrap(), []);
    // Of those that are gone, nothing is changed and nothing fails.
    it.database.set_rating(&[PictureId(7), ids[0]], 5).unwrap();
    it.database.add_tag(&[PictureId(7)], "ghost").unwrap();
    assert_eq!(it.found("rating:5"), ["0.png"]);
    assert_eq!(it.database.models().unwrap(), [("z_image_turbo-Q4".to_owned(), 4)]);
}

#[test]
fn a_board_keeps_the_order_that_a_person_gave_it() {
    let (mut it, ids) = four();
    it.database.create_board("Wall").unwrap();
    it.database.add_to_board(&[ids[2], ids[0]], "wall").unwrap();
    it.database.add_to_board(&[ids[0], ids[3]], "Wall").unwrap();
    assert_eq!(it.found_in_order("board:wall", Order::Board), ["2.png", "0.png", "3.png"]);
    it.database.order_board("wall", &[ids[3], ids[2]]).unwrap();
    assert_eq!(it.found_in_order("board:wall", Order::Board), ["3.png", "2.png", "0.png"]);
    it.database.remove_from_board(&[ids[2]], "wall").unwrap();
    assert_eq!(it.found_in_order("board:wall", Order::Board), ["3.png", "0.png"]);
    it.database.remove_board("wall").unwrap();
    assert_eq!((it.found("board:wall").len(), it.found("").len()), (0, 4));
}

#[test]
fn searches_are_kept_by_name() {
    let (mut it, _) = four();
    it.database.save_search("Good", "rating>=4").unwrap();
    it.database.save_search("good", "rating:5").unwrap();
    let expected = SavedSearch { name: "Good".into(), query: "rating:5".into() };
    assert_eq!(it.database.saved_searches().unwrap(), [expected]);
    it.database.remove_search("GOOD").unwrap();
    assert_eq!(it.database.saved_searches().unwrap(), []);
}

#[test]
fn marks_wait_for_a_journal_that_cannot_be_written_and_are_written_later() {
    let (mut it, ids) = four();
    let journal = it.path("own/.atelier-marks.jsonl");
    // A folder of this name stands in the way.
    std::fs::create_dir(&journal).unwrap();
    it.database.set_rating(&ids, 3).unwrap();
    assert_eq!(it.found("rating:3").len(), 4);
    std::fs::remove_dir(&journal).unwrap();
    it.database.set_rating(&ids[..1], 1).unwrap();
    assert_eq!(std::fs::read_to_string(&journal).unwrap().lines().count(), 4);
    let mut it = it.lose_database();
    let folder = it.database.folders().unwrap()[0].id;
    it.scan(folder);
    assert_eq!((it.found("rating:3").len(), it.found("rating:1")), (3, vec!["0.png".to_owned()]));
}
