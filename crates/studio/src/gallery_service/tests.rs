//! The gallery's threads on a disk that becomes full.

use std::fs;
use std::time::Duration;

use atelier_core::recipe::{PictureInfo, Recipe, Rgb8, Seed};
use atelier_gallery::{Database, Order, Query};
use atelier_media::{Metadata, write_picture};
use testkit::disk::SmallDisk;

use super::*;

/// Longer than anything here takes.
const LONG: Duration = Duration::from_mins(1);

/// The first event that this accepts.
fn wait<T>(service: &GalleryService, what: &str, mut accept: impl FnMut(GalleryEvent) -> Option<T>) -> T {
    let deadline = Instant::now() + LONG;
    loop {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        if let Some(accepted) = service.events.next_within(Duration::from_millis(100)).and_then(&mut accept) {
            return accepted;
        }
    }
}

#[test]
fn a_rating_that_finds_no_room_is_kept_and_written_once_there_is_some() {
    let Some(disk) = SmallDisk::mount(3 << 20) else { return };
    let paths = Paths::beneath(disk.path());
    fs::create_dir_all(&paths.pictures).unwrap();
    let image = Rgb8::new(8, 4, vec![9; 96]).unwrap();
    let info = PictureInfo { index: 0, seed: Some(Seed(1)), cpu_math: None, merged_loras: false };
    write_picture(&paths.pictures.join("a.png"), &image, &Metadata::of(&Recipe::default(), None, info, &[], &image)).unwrap();
    let service = GalleryService::start(&paths, paths.pictures.clone(), || {}).unwrap();
    // Once the scan is over nothing else is to be written.
    let (mut id, mut is_scanned) = (None, false);
    let id = wait(&service, "the picture", |event| {
        match event {
            GalleryEvent::Found(found) => id = found.ids.first().copied().or(id),
            GalleryEvent::Scanning(None) => is_scanned = true,
            _ => {}
        }
        id.filter(|_| is_scanned)
    });
    disk.fill();
    for rating in [2, 5] {
        service.send(GalleryRequest::Mark(vec![id], Mark::Rating(rating)));
    }
    let notice = wait(&service, "the sentence", |event| if let GalleryEvent::Notice(sentence) = event { Some(sentence) } else { None });
    assert!(notice.starts_with("Your marks cannot be saved") && notice.contains("They are kept"), "{notice}");
    disk.make_room();
    wait(&service, "the marks", |event| matches!(event, GalleryEvent::Changed).then_some(()));
    assert!(service.finish(LONG));
    let (database, _) = Database::open(&paths.gallery_file()).unwrap();
    assert_eq!(database.search(&Query::parse("rating:5"), Order::Newest).unwrap(), [id], "the last rating holds");
}
