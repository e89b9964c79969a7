//! Engines in the target folder that were built with other files of vendor/ggml-sys than those that
//! lie there, or with another shader compiler. Cargo does not build them anew by itself.

#[path = "../../vendor/ggml-sys/build/engine_inputs.rs"]
mod engine_inputs;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::cargo::{cargo, finish, root, target_folder};
use crate::failure::Failure;
use crate::windows_toolchain;

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
    engines(builds)
        .map(|engine| engine.join("out"))
        .filter(|out| out.join("build").is_dir())
        .any(|out| inputs.iter().any(|input| engine_inputs::is_changed(sources, input, &out.join(engine_inputs::COPIES))))
}

/// Removes engines that were built with another shader compiler than this one. Cargo does not see the
/// difference, and `CMake` keeps the compiler that it found first.
pub(crate) fn remove_engines_of_others(target: &Path, glslc: &Path) -> Result<(), Failure> {
    let folders = ["", "vulkan", "package"].map(|name| target.join(name));
    let profiles = ["debug", "release"].map(PathBuf::from).into_iter().chain([Path::new(windows_toolchain::TARGET).join("release")]);
    for folder in profiles.flat_map(|profile| folders.clone().map(|folder| folder.join(&profile))) {
        for engine in engines(&folder.join("build")) {
            let known = fs::read_to_string(engine.join("out/build/CMakeCache.txt")).unwrap_or_default();
            let compiler = known.lines().find_map(|line| line.strip_prefix("Vulkan_GLSLC_EXECUTABLE:FILEPATH="));
            if compiler.is_none_or(|it| Path::new(it) == glslc) {
                continue;
            }
            eprintln!("The engine in {} was built with another glslc: it is built anew, which takes some minutes.", folder.display());
            for old in engines(&folder.join(".fingerprint")).chain([engine]) {
                fs::remove_dir_all(&old).map_err(|error| Failure::new(format!("{} cannot be removed: {error}", old.display())))?;
            }
        }
    }
    Ok(())
}

/// Folders of the engine's crate in one of cargo's.
fn engines(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|it| it.file_name().to_string_lossy().starts_with("diffusion-rs-sys-")).map(|it| it.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_of_another_compiler_are_removed() {
        let target = tempfile::tempdir().unwrap();
        let release = target.path().join("package/release");
        let put = |name: &str, compiler: &str| {
            let folder = release.join("build").join(name).join("out/build");
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("CMakeCache.txt"), format!("A:BOOL=ON\nVulkan_GLSLC_EXECUTABLE:FILEPATH={compiler}\n")).unwrap();
        };
        put("diffusion-rs-sys-1", "/bin/glslc");
        fs::create_dir_all(release.join(".fingerprint/diffusion-rs-sys-1")).unwrap();
        remove_engines_of_others(target.path(), Path::new("/new/glslc")).unwrap();
        assert_eq!(engines(&release.join("build")).chain(engines(&release.join(".fingerprint"))).count(), 0);
        put("diffusion-rs-sys-2", "/new/glslc");
        remove_engines_of_others(target.path(), Path::new("/new/glslc")).unwrap();
        assert_eq!(engines(&release.join("build")).count(), 1);
    }

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
