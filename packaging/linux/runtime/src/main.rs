//! The front of Atelier's AppImage: an ELF program with a squashfs image behind it.
//!
//! It unpacks the image once into the cache folder and starts `AppRun` from there, so neither FUSE
//! nor any library is needed, and the second start costs next to nothing: it looks whether
//! everything is still there, and puts back what is not. A version that is not running any more is
//! removed when another one is unpacked. Options are those of other AppImages, as far as they make
//! sense without a mount.

#[cfg(all(test, target_os = "linux"))]
mod fixture;
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
