#![no_main]

use std::fs;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let path = folder.path().join("settings.json");
    fs::write(&path, bytes).expect("room for temporary files");
    let _ = atelier::settings::load(&path);
});
