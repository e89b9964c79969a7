//! Notes on pictures: what was changed for the person or went wrong.

use crate::gui::tests::*;
use atelier_core::picture_note::PictureNote;
use atelier_core::placement::Change;

/// Makes a picture with these notes.
fn make(studio: &mut Studio, seed: u64, notes: Vec<PictureNote>) {
    let (job, ..) = studio.generate();
    studio.begin(job, vec![seed]);
    let info = PictureInfo { index: 0, seed: Some(Seed(seed)), cpu_math: None, merged_loras: false };
    let before = studio.app().state.create.session.len();
    studio.port.send(Event::Picture { job, picture: Picture { info, notes, image: image(64, 9) } });
    studio.until("the picture", |app| {
        app.state.create.session.len() > before && app.state.create.session.writing() == 0 && app.state.create.converting_picture.is_none()
    });
    studio.done(job);
}

fn flat() -> PictureNote {
    PictureNote::wrong("This picture has only one colour.", vec![Change::FlashAttentionOff, Change::VaeTiling])
}

#[test]
fn what_went_wrong_stays_with_the_picture_with_buttons_that_mend_it() {
    let mut studio = Studio::open(ready());
    make(&mut studio, 7, vec![PictureNote::changed("The size is now 64 x 64."), flat()]);
    assert!(studio.app().state.notices.shown().is_none(), "it is no line that goes away");
    studio.harness.run_steps(60);
    assert!(studio.sees("The size is now 64 x 64.") && studio.sees("This picture has only one colour."));
    assert!(studio.harness.query_all_by_label_contains("Picture 1, seed 7\nThe size is now").next().is_some(), "its thumbnail says it too");
    studio.harness.check_accessibility();

    studio.click("Turn off flash attention");
    let (job, recipe, _) = studio.take();
    assert_eq!((recipe.flash_attention, recipe.seed), (false, Some(Seed(7))), "the same picture, mended");
    assert!(!studio.app().state.shared.next.recipe.flash_attention && studio.app().state.shared.next.recipe.seed.is_none());
    studio.begin(job, vec![7]);
    studio.picture(job, 0, 7);
    studio.done(job);
    assert!(!studio.sees("About this picture"), "the new one is without");
    studio.press(Modifiers::NONE, Key::PageDown);
    assert!(studio.sees("About this picture"));
    studio.click("Hide the notes");
    assert!(!studio.sees("About this picture"));
    studio.click("Show the notes");
    assert!(studio.sees("About this picture"));
}

#[test]
fn notes_are_in_the_file_and_come_back_when_it_is_opened_after_a_restart() {
    let mut studio = Studio::open(ready());
    make(&mut studio, 7, vec![flat()]);
    let PictureFile::At(path) = studio.app().state.create.session.shown().unwrap().stored.clone() else { panic!("it is not kept") };
    let mut again = Studio::open(ready());
    let ctx = again.harness.ctx.clone();
    again.harness.state_mut().as_mut().unwrap().open(&ctx, vec![path]);
    again.until("the picture", |app| app.state.create.session.len() == 1 && app.state.create.converting_picture.is_none());
    assert!(again.sees("This picture has only one colour."));
    assert_eq!(again.app().state.create.session.shown().unwrap().notes, [flat()]);
    again.click("Decode in tiles (VAE tiling)");
    let (_, recipe, _) = again.take();
    assert_eq!((recipe.vae_tiling, recipe.seed), (true, Some(Seed(7))));
}

#[test]
fn a_picture_without_notes_has_no_mark() {
    let mut studio = Studio::open(ready());
    make(&mut studio, 7, Vec::new());
    assert!(!studio.sees("About this picture"));
    assert!(studio.harness.query_by_role_and_label(Role::Button, "Picture 1, seed 7").is_some());
}
