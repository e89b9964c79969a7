//! Reading and applying the patches of the engine's sources.

#[path = "../build/patch.rs"]
mod patch;

use std::fs;
use std::path::Path;

use patch::{Hunk, Patch};

const EXAMPLE: &str = "--- src/one.cpp\n\n# Why.\n@@\n int a;\n-int b;\n+int c;\n+\n+int d;\n\n@@\n-gone\n# Why not.\n@@\n \n+x\n";

#[test]
fn a_patch_is_read_into_what_it_searches_and_what_takes_its_place() {
    let hunk = |search: &str, replacement: &str| Hunk { search: search.into(), replacement: replacement.into() };
    let patch = Patch::parse(EXAMPLE).unwrap();
    assert_eq!(patch.source, "src/one.cpp");
    assert_eq!(patch.hunks, [hunk("int a;\nint b;\n", "int a;\nint c;\n\nint d;\n"), hunk("gone\n", ""), hunk("\n", "\nx\n")]);
}

#[test]
fn a_patch_replaces_each_text_and_nothing_else() {
    let patch = Patch::parse(EXAMPLE.split("# Why not").next().unwrap()).unwrap();
    assert_eq!(patch.apply("first\nint a;\nint b;\ngone\nlast\n").unwrap(), "first\nint a;\nint c;\n\nint d;\nlast\n");
}

#[test]
fn a_text_that_is_missing_or_there_twice_is_named() {
    let patch = Patch::parse("--- a.cpp\n@@\n-here\n+there\n@@\n-again\n").unwrap();
    for (text, says) in [
        ("nothing\nagain\n", "hunk 1 once, but contains it 0 times:\nhere"),
        ("here\nagain\nagain\n", "hunk 2 once, but contains it 2 times:\nagain"),
    ] {
        let error = patch.apply(text).unwrap_err();
        assert!(error.starts_with("a.cpp ") && error.contains(says), "{error}");
    }
}

#[test]
fn what_is_no_patch_is_refused_with_its_line() {
    for (text, says) in [
        ("", "no line `--- path`"),
        ("--- a.cpp\n", "no hunk"),
        ("@@\n-x\n", "line 1: a hunk before"),
        ("--- a.cpp\n-x\n", "line 2: stands outside"),
        ("--- a.cpp\n@@\n-x\n\n-y\n", "line 5: stands outside"),
        ("--- a.cpp\n@@\n-x\n\u{e9}\n", "line 4: begins with none"),
        ("--- a.cpp\n@@\n+x\n", "hunk 1: searches or changes nothing"),
        ("--- a.cpp\n@@\n x\n", "hunk 1: searches or changes nothing"),
    ] {
        let error = Patch::parse(text).unwrap_err();
        assert!(error.contains(says), "{text:?}: {error}");
    }
}

/// The engine's build leaves out what this crate compiles, but for ggml's devices of other machines,
/// which it does not build.
#[test]
fn a_patched_source_is_compiled_once() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let left_out = fs::read_to_string(folder.join("engine_sources.cmake")).unwrap();
    for entry in fs::read_dir(folder.join("patches")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let is_compiled = Path::new(name).extension().is_some_and(|it| it == "cpp") && name != "ggml-rpc.cpp";
        assert!(!is_compiled || left_out.contains(name), "{name}");
    }
}

/// The build reads all but one of them; that one is applied by cmake.
#[test]
fn every_file_among_the_patches_is_one_and_is_called_like_its_source() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("patches");
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|it| it == "patch") {
            let patch = Patch::parse(&fs::read_to_string(&path).unwrap()).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            assert_eq!(path.file_stem(), Path::new(&patch.source).file_name());
            count += 1;
        }
    }
    assert!(count >= 10, "{count}");
}
