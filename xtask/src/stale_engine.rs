//! Engines in the target folder that were built with other files of vendor/ggml-sys than those that
//! lie there. Cargo does not build them anew by itself.

#[path = "../../vendor/ggml-sys/build/engine_inputs.rs"]
mod engine_inputs;

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use crate::cargo::{cargo, finish, root, target_folder};
use crate::failure::Failure;

/// Removes such engines, so that the next build makes them.
pub(crate) fn remove_stale_engines() -> Result<(), Failure> {
    remove_stale_engine(&target_folder().join("debug"), &[])?;
    remove_stale_engine(&target_folder().join("release"), &["--release".as_ref()])
}

/// Removes such an engine from one folder of builds; `arguments` name that folder to `cargo clean`.
pub(crate) fn remove_stale_engine(folder: &Path, arguments: &[&OsStr]) -> Result<(), Failure> {
    if !has_stale_engine(&folder.join("build"), &root().join("vendor/ggml-sys")) {
        return Ok(());
    }
    eprintln!("The files that the engine is built with have changed: it is built anew, which takes some minutes.");
    finish(cargo("clean").args(["--package", "diffusion-rs-sys"]).args(arguments))
}

/// True where `builds`, cargo's folder of build outputs, has an engine that differs from the files
/// in `sources`.
fn has_stale_engine(builds: &Path, sources: &Path) -> bool {
    let Ok(inputs) = engine_inputs::inputs(sources) else { return false };
    let builds = fs::read_dir(builds).into_iter().flatten().flatten();
    let engines = builds.filter(|it| it.file_name().to_string_lossy().starts_with("diffusion-rs-sys-")).map(|it| it.path().join("out"));
    engines
        .filter(|out| out.join("build").is_dir())
        .any(|out| inputs.iter().any(|input| engine_inputs::is_changed(sources, input, &out.join(engine_inputs::COPIES))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_is_stale_once_a_file_that_it_was_built_with_differs() {
        let folder = std::env::temp_dir().join(format!("atelier-stale-engine-{}", std::process::id()));
        let (builds, sources) = (folder.join("build"), folder.join("ggml-sys"));
        let copies = builds.join("diffusion-rs-sys-1234/out").join(engine_inputs::COPIES);
        fs::create_dir_all(sources.join("patches")).unwrap();
        fs::create_dir_all(&copies).unwrap();
        for name in ["engine.cmake", "patches/ggml-cpu.c.patch"] {
            fs::write(sources.join(name), name).unwrap();
            fs::write(copies.join(Path::new(name).file_name().unwrap()), name).unwrap();
        }
        assert!(!has_stale_engine(&builds, &sources));
        assert!(!has_stale_engine(&folder.join("none"), &sources), "nothing was built");
        fs::write(sources.join("engine.cmake"), "changed").unwrap();
        assert!(has_stale_engine(&builds, &sources));
        fs::remove_dir_all(&folder).unwrap();
    }
}
