//! The front of Atelier's AppImage: an ELF program with a squashfs image behind it.
//!
//! It unpacks the image once into the cache folder and starts `AppRun` from there, so neither FUSE nor any library is needed, and the second
//! start costs nothing. A version that is not running any more is removed when another one is unpacked. Options are those of other AppImages,
//! as far as they make sense without a mount.

#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod squashfs;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    run::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {}
