//! What our pages name is there: files that are linked, paths in ARCHITECTURE.md, commands in
//! README.md.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "support/rust_files.rs"]
mod rust_files;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use rust_files::rust_files;

/// The most that ARCHITECTURE.md may have, in bytes: one reading.
const MAX_ARCHITECTURE_BYTES: usize = 15_000;
/// Folders of the repository that hold no pages of ours; hidden ones hold none either, and may be
/// folders of a test that runs at this moment.
const NOT_OURS: [&str; 3] = ["target", "corpus", "node_modules"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Our pages, by path.
fn pages() -> Vec<PathBuf> {
    let (mut pages, mut folders) = (Vec::new(), vec![root().to_owned()]);
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()) {
            let name = path.file_name().unwrap().to_str().unwrap();
            if name.starts_with('.') || NOT_OURS.contains(&name) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages
}

/// Targets of the links of a text that lead to files beside it.
fn links(text: &str) -> Vec<&str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
    targets.filter(|it| !it.contains("://") && !it.starts_with('#')).map(|it| it.split('#').next().unwrap()).collect()
}

/// Words in backticks that are paths from the root.
fn paths(text: &str) -> Vec<&str> {
    let quoted = text.split('`').skip(1).step_by(2);
    let is_path = |word: &&str| {
        let first = word.split('/').next().unwrap();
        word.contains('/') && !word.contains([' ', '*', '<', '{']) && root().join(first).is_dir()
    };
    quoted.filter(is_path).collect()
}

/// Commands of `atelier` in the blocks of a shell.
fn commands(text: &str) -> Vec<Vec<String>> {
    let blocks = text.split("```sh\n").skip(1).filter_map(|rest| rest.split_once("```"));
    let lines = blocks.flat_map(|(block, _)| block.lines());
    let commands = lines.flat_map(|line| line.split(" #").next().unwrap().split("&&"));
    commands
        .filter_map(|command| shell_words::split(command).ok())
        .filter(|words| words.first().is_some_and(|it| it == "atelier"))
        .collect()
}

#[test]
fn every_link_leads_to_a_file() {
    let pages = pages();
    assert!(pages.len() > 10, "only {} pages were found", pages.len());
    let mut broken = Vec::new();
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        let folder = page.parent().unwrap();
        broken.extend(links(&text).into_iter().filter(|it| !folder.join(it).exists()).map(|it| format!("{}: {it}", page.display())));
    }
    assert!(broken.is_empty(), "these links lead nowhere:\n{}", broken.join("\n"));
}

#[test]
fn architecture_is_one_reading_and_names_what_is_there() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    assert!(text.len() <= MAX_ARCHITECTURE_BYTES, "ARCHITECTURE.md has {} bytes; what is about one crate goes into its README", text.len());
    let paths = paths(&text);
    assert!(paths.len() > 20, "only {} paths were found", paths.len());
    let gone: Vec<&str> = paths.into_iter().filter(|path| !root().join(path).exists()).collect();
    assert!(gone.is_empty(), "ARCHITECTURE.md names what is not there: {gone:?}");
}

#[test]
fn the_commands_of_the_readme_are_understood() {
    let text = fs::read_to_string(root().join("README.md")).unwrap();
    let commands = commands(&text);
    assert!(commands.len() > 8, "only {} commands were found", commands.len());
    for words in commands {
        let parsed = atelier::cli::parse(words.iter().map(OsString::from));
        assert!(parsed.is_ok_and(|it| it.command.is_some()), "{words:?} is not understood");
    }
}

#[test]
fn the_desktop_opens_canvas_files_with_atelier() {
    let read = |path: &str| fs::read_to_string(root().join(path)).unwrap();
    // What the packages say follows from there, which xtask's own tests hold.
    let ending = format!("ending: \"{}\"", atelier_media::canvas_file::CANVAS_ENDING);
    assert!(read("xtask/src/package/file_types.rs").contains(&ending));
    let entry = read("packaging/linux/atelier.desktop");
    assert!(entry.lines().any(|line| line == "MimeType=@MIME_TYPES@") && entry.contains("Exec=atelier %F"));
    assert!(read("packaging/windows/atelier.nsi").contains("WriteRegStr HKCU \"${ENDING_KEY}\" \"\" \"${CANVAS_CLASS}\""));
}

#[test]
fn every_picture_of_a_screen_is_one_that_is_taken_anew() {
    let files = rust_files([root().join("tests"), root().join("xtask/src")]);
    let mut takers: String = files.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    takers.push_str(&fs::read_to_string(root().join("tests/http/clients/run.py")).unwrap());
    for path in fs::read_dir(root().join("docs/screenshots")).unwrap().map(|it| it.unwrap().path()) {
        let (name, stem) = (path.file_name().unwrap().to_str().unwrap(), path.file_stem().unwrap().to_str().unwrap());
        assert!(takers.contains(name) || takers.contains(&format!("\"{stem}\"")), "nobody takes {name}: it shows an older window");
    }
}

#[test]
fn links_paths_and_commands_are_read() {
    assert_eq!(links("[a](b.md#c) ![](d/e.png) [f](https://g) [h](#i)"), ["b.md", "d/e.png"]);
    assert_eq!(paths("`src/cli` `src` `gui/x` `crates/{a,b}` `cargo x/y`"), ["src/cli"]);
    let text = "```sh\natelier a --b \"c d\"   # atelier e\natelier f && atelier g\nssh h\n```\natelier i\n";
    assert_eq!(commands(text), [vec!["atelier", "a", "--b", "c d"], vec!["atelier", "f"], vec!["atelier", "g"]]);
}
