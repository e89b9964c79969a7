//! A start without pictures: prompts that the chosen model does well with, and the person's own.

use super::*;
use atelier_gallery::{Database, FolderKind, NewPicture, PictureKind};
use atelier_library::{Example, ModelCard, ModelKind};
use atelier_studio::library_service::LibrarySnapshot;
use atelier_studio::results;
use std::time::SystemTime;

/// Pictures of earlier sessions that a start shows in the filmstrip at most.
const NEWEST: usize = 60;

const PORTRAIT: &str = "an old fisherman in a yellow raincoat";

fn examples() -> Vec<Example> {
    let example = |prompt: &str, (width, height)| {
        let (width, height) = (Some(width), Some(height));
        Example { prompt: prompt.into(), width, height, seed: None, picture: None }
    };
    vec![example(PORTRAIT, (64, 96)), example("a fjord at sunrise", (96, 64))]
}

/// Has the library know the model of [`ready`], with examples.
pub(super) fn know_model(studio: &mut Studio) {
    let main_file = ready().files.main().map(Path::to_owned);
    let card = ModelCard { id: "m".into(), kind: ModelKind::Model, main_file, examples: examples(), ..ModelCard::default() };
    studio.app_mut().state.shared.library = Arc::new(LibrarySnapshot { cards: vec![card], ..LibrarySnapshot::default() });
    studio.harness.run_ok();
}

#[test]
fn a_model_without_pictures_shows_prompts_and_a_click_makes_one_in_its_shape() {
    let mut studio = Studio::open(Recipe { prompt: String::new(), batch_count: 2, ..ready() });
    assert!(studio.sees("Write a prompt, then press Generate.") && !studio.sees(PORTRAIT));
    know_model(&mut studio);
    assert!(studio.paints(&format!("{PORTRAIT}…")), "the empty prompt shows what this model does well");
    assert!(studio.sees("There is no picture of this model yet"));
    assert!(studio.paints("64 × 96 pixels") && studio.paints("96 × 64 pixels"));
    studio.harness.check_accessibility();
    let [portrait, fjord] = [PORTRAIT, "a fjord at sunrise"].map(|it| studio.harness.get_by_role_and_label(Role::Button, it).rect());
    assert!(!portrait.intersect(fjord).is_positive());

    studio.click(PORTRAIT);
    let recipe = &studio.app().state.shared.next.recipe;
    assert_eq!((recipe.prompt.as_str(), recipe.width, recipe.height), (PORTRAIT, 64, 96));
    let (job, recipe, _) = studio.take();
    assert_eq!((recipe.prompt.as_str(), recipe.width, recipe.height, recipe.batch_count), (PORTRAIT, 64, 96, 2));
    studio.begin(job, vec![1, 2]);
    assert!(!studio.sees("a fjord at sunrise"), "the pictures themselves");
    studio.press(Modifiers::COMMAND, Key::Z);
    assert_eq!(studio.app().state.shared.next.recipe.prompt, "", "it can be undone");
}

#[test]
fn a_model_that_lacks_a_part_offers_no_prompts() {
    let mut recipe = ready();
    recipe.files = atelier_core::recipe::ModelFiles::default();
    recipe.files.set(FileRole::Diffusion, "/models/sd15.safetensors");
    let mut studio = Studio::open(recipe);
    know_model(&mut studio);
    assert!(studio.sees("Add the text encoder that belongs to this model.") && !studio.sees(PORTRAIT));
}

/// Keeps one picture of this model, and then so many of another program that a start shows none.
fn keep_pictures(home: &Path) {
    let paths = Paths::beneath(home);
    let (mut database, _) = Database::open(&paths.gallery_file()).unwrap();
    let folder = home.join("Pictures");
    std::fs::create_dir_all(&folder).unwrap();
    database.add_folder(&folder, FolderKind::Own).unwrap();
    let mut keep = |path: &Path, kind, minutes: u64| {
        let time = SystemTime::now() - Duration::from_mins(minutes);
        std::fs::File::options().append(true).open(path).unwrap().set_modified(time).unwrap();
        database.record_picture(&NewPicture::read(path, kind).unwrap()).unwrap();
    };
    let info = PictureInfo { index: 0, seed: Some(Seed(5)), cpu_math: None, merged_loras: false };
    let own = results::store_picture(&folder, &ready(), info, &[], &image(64, 90)).unwrap();
    keep(&own, PictureKind::Kept, 200);
    for n in 0..NEWEST {
        let path = folder.join(format!("other{n}.png"));
        std::fs::write(&path, testkit::pictures::png(&[])).unwrap();
        keep(&path, PictureKind::Import, 100 - n as u64);
    }
}

#[test]
fn pictures_that_the_person_made_with_the_model_come_before_its_prompts() {
    let home = tempfile::tempdir().unwrap();
    keep_pictures(home.path());
    let settings = Settings { recipe: Recipe { prompt: String::new(), ..ready() }, ..Settings::default() };
    let mut studio = Studio::at(home, settings, Err("none".into()), [1440.0, 900.0]);
    know_model(&mut studio);
    studio.until("its thumbnail", |app| {
        let own = app.state.create.examples.own.first();
        own.is_some_and(|it| app.state.gallery.thumbnails.get(it.id).is_some())
    });
    assert!(studio.app().state.create.session.is_empty() && studio.sees("Your best pictures with this model"));
    let own = studio.harness.get_by_role_and_label(Role::Button, "Your picture: a lake").rect();
    let prompt = studio.harness.get_by_role_and_label(Role::Button, PORTRAIT).rect();
    assert!((own.top(), own.left()) < (prompt.top(), prompt.left()), "{own:?} {prompt:?}");
    studio.harness.check_accessibility();
    studio.click("Your picture: a lake");
    studio.until("the picture", |app| !app.state.create.session.is_empty());
    let next = &studio.app().state.shared.next.recipe;
    assert_eq!((next.prompt.as_str(), next.seed), ("a lake", Some(Seed(5))));

    // Another model has neither.
    let mut recipe = ready();
    recipe.files.set(FileRole::Model, "/models/other.safetensors");
    let mut studio = Studio::open(recipe);
    know_model(&mut studio);
    assert!(!studio.sees("Your picture") && !studio.sees(PORTRAIT));
}
