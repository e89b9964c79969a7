#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use super::*;
use atelier_core::recipe::Seed;
use atelier_core::words::{Draw, Prompt};

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("colour.txt", "\u{feff}red\r\n# a note\n\n  blue  \n");
    write("land/tree.txt", "pine\noak");
    write(
        "pack.yaml",
        "# A pack\ntop:\n  - one # first\n  - \"two, three\"\nnest:\n  deep:\n  - p\n  - 2::q\n  other: [r, 's']\nlone: word\n",
    );
    write("image.png", "no list");
    folder
}

#[test]
fn lists_are_named_by_their_place_and_by_keys() {
    let folder = folder();
    let (lists, notes) = WildcardLists::read(&[folder.path().to_owned()]);
    assert_eq!(notes, Vec::<String>::new());
    let names: Vec<&str> = lists.names().collect();
    assert_eq!(names, ["colour", "land/tree", "lone", "nest/deep", "nest/other", "top"], "as the dynamicprompts package names them");
    assert_eq!(lists.lines("colour"), ["red", "blue"]);
    assert_eq!(lists.lines("top"), ["one", "two, three"]);
    assert_eq!(lists.lines("nest/*"), ["p", "2::q", "r", "s"]);
    assert_eq!((lists.lines("*tree"), lists.lines("../colour"), lists.lines("lan*x")), (vec!["pine", "oak"], vec![], vec![]));
    let prompt = Prompt::parse("__nest/deep__").expand(&mut Draw::of_picture(Seed(1)), &lists).prompt;
    assert!(["p", "q"].contains(&prompt.as_str()), "{prompt}");
}

#[test]
fn the_first_of_two_folders_counts_and_a_missing_one_is_told() {
    let (one, other) = (folder(), tempfile::tempdir().unwrap());
    fs::write(other.path().join("colour.txt"), "green").unwrap();
    fs::write(other.path().join("more.yaml"), "top: [three]").unwrap();
    let missing = other.path().join("none");
    let (lists, notes) = WildcardLists::read(&[other.path().to_owned(), one.path().to_owned(), missing.clone()]);
    assert_eq!((lists.lines("colour"), lists.lines("top")), (vec!["green"], vec!["three"]));
    assert!(notes.len() == 1 && notes[0].starts_with(&missing.display().to_string()), "{notes:?}");
}

#[test]
fn lists_of_other_programs_are_found_beside_their_models() {
    let (own, program) = (folder(), tempfile::tempdir().unwrap());
    for (name, text) in [
        ("extensions/sd-dynamic-prompts/wildcards/fish.txt", "carp"),
        ("extensions/sd-dynamic-prompts/wildcards/colour.txt", "green"),
        ("models/wildcards/bird.txt", "owl"),
        ("models/Lora/wildcards/none.txt", "x"),
    ] {
        let path = program.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    for place in [program.path().join("models"), program.path().to_owned()] {
        let (lists, notes) = WildcardLists::read_beside(Some(own.path()), &[place]);
        assert_eq!((lists.lines("fish"), lists.lines("bird"), notes), (vec!["carp"], vec!["owl"], Vec::new()));
        assert_eq!((lists.lines("colour"), lists.lines("none")), (vec!["red", "blue"], vec![]), "one's own first");
    }
    let missing = own.path().join("none");
    assert_eq!(WildcardLists::read_beside(Some(&missing), &[missing.join("models")]), (WildcardLists::default(), Vec::new()));
}

#[cfg(unix)]
#[test]
fn no_link_leads_out_of_the_folder() {
    let (folder, other) = (folder(), tempfile::tempdir().unwrap());
    fs::write(other.path().join("secret.txt"), "key").unwrap();
    std::os::unix::fs::symlink(other.path(), folder.path().join("out")).unwrap();
    std::os::unix::fs::symlink(other.path().join("secret.txt"), folder.path().join("secret.txt")).unwrap();
    let (lists, _) = WildcardLists::read(&[folder.path().to_owned()]);
    assert!(!lists.names().any(|name| name.contains("secret")));
}

proptest::proptest! {
    #[test]
    fn no_text_is_a_fault(text in "[a-z:\\-\\[\\], \n#'\"]{0,200}") {
        let lines = yaml_lines(&text);
        proptest::prop_assert!(lines.iter().all(|(name, line)| !name.is_empty() && !line.is_empty()));
    }
}
