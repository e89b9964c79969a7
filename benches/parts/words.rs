//! Typing in a long prompt with many tags: from a key to the frame that shows its letter.

use std::fmt::Write as _;
use std::time::Instant;

use atelier::gui::{App, Options};
use atelier::settings::Settings;
use atelier_core::paths::Paths;
use atelier_core::recipe::Recipe;
use atelier_studio::tags::TAGS_FOLDER;
use eframe::egui::accesskit::Role;
use eframe::egui::{Event, Key, Modifiers};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;

use super::frames::{options_in, window};
use super::{LIMIT, Outcome};

const TAGS: usize = 200_000;
const WORDS: usize = 2_000;
/// Keys of each row.
const KEYS: usize = 200;

/// Syllables of tags and words; many of them begin with the same letters, as people's do.
const SYLLABLES: [&str; 16] = ["ha", "ri", "blu", "sto", "mo", "la", "ki", "ren", "to", "ve", "sal", "or", "dun", "pe", "wi", "gra"];

/// A word of a number, of so many syllables.
fn word(mut number: usize, syllables: usize) -> String {
    let mut word = String::new();
    for _ in 0..syllables {
        word.push_str(SYLLABLES[number % SYLLABLES.len()]);
        number /= SYLLABLES.len();
    }
    word
}

/// Prints the rows: milliseconds from a key to the drawn frame.
pub(super) fn measure() -> Outcome<()> {
    let home = tempfile::tempdir()?;
    let paths = Paths::beneath(home.path());
    let folder = paths.data.join(TAGS_FOLDER);
    std::fs::create_dir_all(&folder)?;
    let mut tags = String::new();
    for n in 0..TAGS {
        writeln!(tags, "{},0,{},\"{}_x\"", word(n, 5), (n * 7919) % 3_000_000, word(n + TAGS, 5))?;
    }
    std::fs::write(folder.join("tags.csv"), tags)?;
    // Of short words, because a prompt has 10,000 letters at most.
    let words = (0..WORDS).map(|n| if n % 9 == 0 { format!("({}:1.2),", word(n / 9, 1)) } else { word(n * 31, 1) });
    let prompt = words.collect::<Vec<_>>().join(" ");
    let recipe = Recipe { prompt: prompt + ", ", ..Recipe::default() };
    let options = Options { paths: Some(paths), ..options_in(home.path(), Err("it is not measured".into())) };
    let mut harness = window(options, Settings { recipe, ..Settings::default() });
    let deadline = Instant::now() + LIMIT;
    while harness.state().as_ref().is_none_or(|app| app.state().create.word_lists.tags.is_empty()) {
        harness.step();
        if Instant::now() > deadline {
            return Err("the tags were not read".into());
        }
    }
    harness.get_by_role_and_label(Role::MultilineTextInput, "Prompt").focus();
    harness.run_steps(3);
    harness.key_press_modifiers(Modifiers::COMMAND, Key::End);
    harness.run_steps(3);
    println!("| {WORDS} words, {TAGS} tags | median | 95 of 100 within | longest |");
    println!("|---|---|---|---|");
    row("a key without a list", &mut harness, |n| if n % 2 == 0 { "q" } else { " " });
    // A comma ends the word before, so that the list opens for the letters after it.
    row("a key with a list", &mut harness, |n| ["h", "a", "r", "i", ","][n % 5]);
    row("a frame without a key", &mut harness, |_| "");
    harness.key_press_modifiers(Modifiers::COMMAND, Key::Home);
    harness.run_steps(3);
    row("a key before all words", &mut harness, |n| if n % 2 == 0 { "q" } else { " " });
    if let Some(app) = harness.state_mut().take() {
        app.finish();
    }
    Ok(())
}

fn row(name: &str, harness: &mut Harness<'static, Option<App>>, key: impl Fn(usize) -> &'static str) {
    let mut millis = Vec::with_capacity(KEYS);
    for n in 0..KEYS {
        let begun = Instant::now();
        let letter = key(n);
        if !letter.is_empty() {
            harness.event(Event::Text(letter.into()));
        }
        harness.step();
        millis.push(begun.elapsed().as_secs_f64() * 1000.0);
    }
    millis.sort_by(f64::total_cmp);
    let within = |share: f64| millis[((millis.len() - 1) as f64 * share) as usize];
    println!("| {name} | {:.2} ms | {:.2} ms | {:.2} ms |", within(0.5), within(0.95), within(1.0));
}
