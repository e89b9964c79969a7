//! On Windows the resources of `atelier.exe`: icon, version and manifest. Nothing of the engine.

use std::env;
use std::io;

/// Environment variable with the version and its commit, from the build script of `crates/studio`.
const VERSION_VARIABLE: &str = "DEP_ATELIER_STUDIO_VERSION";

const ICON: &str = "packaging/windows/atelier.ico";
const MANIFEST: &str = "packaging/windows/atelier.manifest";

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    if env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "windows") {
        embed_resources(&env::var(VERSION_VARIABLE).map_err(io::Error::other)?)?;
    }
    Ok(())
}

fn embed_resources(version: &str) -> io::Result<()> {
    println!("cargo:rerun-if-changed={ICON}");
    println!("cargo:rerun-if-changed={MANIFEST}");
    let mut resource = winresource::WindowsResource::new();
    resource
        .set_icon(&absolute(ICON)?)
        .set_manifest_file(&absolute(MANIFEST)?)
        // English (United States), the language of the window.
        .set_language(0x0409)
        .set("ProductName", "Atelier")
        // The name by which the task manager and "Open with" call the program.
        .set("FileDescription", "Atelier")
        .set("OriginalFilename", "atelier.exe")
        .set("ProductVersion", version);
    resource.compile_for("atelier")
}

/// The resource compiler runs in another folder.
fn absolute(path: &str) -> io::Result<String> {
    Ok(env::current_dir()?.join(path).display().to_string())
}
