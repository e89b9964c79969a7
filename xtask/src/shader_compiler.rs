//! glslc, which compiles Vulkan's shaders while the engine is built, new enough for matrix units.
//!
//! ggml leaves out every shader whose extension the compiler does not know, with one line in a log
//! that nobody sees: with Debian 12's, the program leaves the matrix units of every GPU unused. On
//! Debian a new one is fetched with apt into a folder beside the build. It runs with the C library
//! that is fetched with it, since this system's may be too old for it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cargo::target_folder;
use crate::debian::{debian_mirror, fetch};
use crate::failure::Failure;
use crate::files::create_folder;
use crate::stale_engine::remove_engines_of_others;

/// Extensions of GLSL for which ggml has shaders: matrix units (the second is NVIDIA's), products
/// of 8-bit integers and of bf16.
const EXTENSIONS: [&str; 4] = ["GL_KHR_cooperative_matrix", "GL_NV_cooperative_matrix2", "GL_EXT_integer_dot_product", "GL_EXT_bfloat16"];

/// Extensions of SPIR-V that stand in the compiled shaders which use matrix units.
const IN_PROGRAMS: [&str; 2] = ["SPV_KHR_cooperative_matrix", "SPV_NV_cooperative_matrix2"];

/// The first Debian release whose glslc knows all of them.
const DEBIAN: &str = "forky";
const PACKAGES: [&str; 5] = ["glslc", "libshaderc1", "libc6", "libstdc++6", "libgcc-s1"];
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";
const LOADER: &str = "ld-linux-x86-64.so.2";

/// A prefix with `bin/glslc`, below `target` and fetched at the first call; `None`: that of this
/// machine is used, because it knows every extension or because there is no Debian to fetch a newer
/// one from, which is said.
///
/// # Errors
/// There is none, and none can be fetched.
pub(crate) fn find_or_fetch(target: &Path) -> Result<Option<PathBuf>, Failure> {
    let sdk = env::var_os("VULKAN_SDK").map(|folder| PathBuf::from(folder).join("bin/glslc"));
    let own = sdk.iter().chain([&PathBuf::from("glslc")]).find_map(|it| knows_all(it, target));
    if own == Some(true) {
        return Ok(None);
    }
    let mirror = debian_mirror().filter(|_| cfg!(target_arch = "x86_64"));
    if own.is_some() && mirror.is_none() {
        eprintln!(
            "This machine's glslc is too old for all matrix units of GPUs, so Vulkan will be slower than it could be. shaderc 2025.3 or \
                 newer knows them: install your distribution's newest, or the Vulkan SDK and set VULKAN_SDK."
        );
        return Ok(None);
    }
    let folder = target.join(DEBIAN);
    let prefix = folder.join("glslc");
    let program = prefix.join("bin/glslc");
    if knows_all(&program, target) != Some(true) {
        let mirror = mirror.ok_or_else(|| Failure::new("glslc is missing: install shaderc, or the Vulkan SDK and set VULKAN_SDK."))?;
        eprintln!("This machine's glslc is missing or too old. That of Debian's {DEBIAN} goes into {}.", folder.display());
        fetch(&folder, &mirror, DEBIAN, &PACKAGES.map(str::to_owned))?;
        write_starter(&folder, &program)?;
    }
    match knows_all(&program, target) {
        Some(true) => {
            remove_engines_of_others(&target_folder(), &program)?;
            Ok(Some(prefix))
        }
        _ => Err(Failure::new(format!("{} was fetched and does not compile shaders for matrix units.", program.display()))),
    }
}

/// True where `glslc` knows every extension; `None`: it does not run.
fn knows_all(glslc: &Path, target: &Path) -> Option<bool> {
    let shader = target.join("extensions.comp");
    let extensions = EXTENSIONS.map(|name| format!("#extension {name} : require")).join("\n");
    create_folder(target).ok()?;
    fs::write(&shader, format!("#version 450\n{extensions}\nvoid main() {{}}\n")).ok()?;
    let mut command = Command::new(glslc);
    command.args(["-fshader-stage=compute", "--target-env=vulkan1.3", "-o", "-"]).arg(&shader);
    Some(command.stdout(Stdio::null()).stderr(Stdio::null()).status().ok()?.success())
}

/// Writes the script that starts the fetched glslc with the fetched libraries.
fn write_starter(folder: &Path, program: &Path) -> Result<(), Failure> {
    let libraries = folder.join(LIBRARIES);
    let text = format!(
        "#!/bin/sh\nexec '{}' --library-path '{}' '{}' \"$@\"\n",
        libraries.join(LOADER).display(),
        libraries.display(),
        folder.join("usr/bin/glslc").display()
    );
    program.parent().map_or(Ok(()), create_folder)?;
    let failed = |error: std::io::Error| Failure::new(format!("{} cannot be written: {error}", program.display()));
    fs::write(program, text).map_err(failed)?;
    #[cfg(unix)]
    fs::set_permissions(program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).map_err(failed)?;
    Ok(())
}

/// Ensures that a built program holds shaders for matrix units.
///
/// # Errors
/// The engine was built with an older compiler, perhaps in a folder of an earlier build.
pub(crate) fn ensure_matrix_units(program: &Path) -> Result<(), Failure> {
    let bytes = fs::read(program).map_err(|error| Failure::new(format!("{} cannot be read: {error}", program.display())))?;
    // SPIR-V holds texts in words of its file's order, which is the one of the machines we build for.
    let missing = IN_PROGRAMS.iter().find(|name| !bytes.windows(name.len()).any(|it| it == name.as_bytes()));
    missing.map_or(Ok(()), |name| {
        Err(Failure::new(format!(
            "{} has no shaders with {name}, so it would leave the matrix units of GPUs unused. Remove its target folder and build again.",
            program.display()
        )))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_without_shaders_for_matrix_units_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("atelier");
        fs::write(&program, "SPV_KHR_cooperative_matrix\0VK_NV_cooperative_matrix2").unwrap();
        assert!(ensure_matrix_units(&program).unwrap_err().message.is_some_and(|it| it.contains("SPV_NV_cooperative_matrix2")));
        fs::write(&program, "SPV_KHR_cooperative_matrix\0SPV_NV_cooperative_matrix2").unwrap();
        ensure_matrix_units(&program).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_compiler_is_known_by_what_it_compiles() {
        let folder = tempfile::tempdir().unwrap();
        let compiler = |name: &str, script: &str| {
            let path = folder.path().join(name);
            fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
            path
        };
        // Refuses one extension, as Debian 12's and 13's do.
        let old = compiler("old", "for file; do :; done; ! grep -q GL_EXT_bfloat16 \"$file\"");
        let new = compiler("new", "for file; do :; done; grep -q GL_NV_cooperative_matrix2 \"$file\"");
        assert_eq!(knows_all(&old, folder.path()), Some(false));
        assert_eq!(knows_all(&new, folder.path()), Some(true));
        assert_eq!(knows_all(&folder.path().join("none"), folder.path()), None);
    }
}
