//! A real Vulkan device takes the diffusion module, and a machine without Vulkan starts all the
//! same.
//!
//! `cargo xtask test --vulkan` brings what this needs: a build with Vulkan, and Mesa's driver that
//! computes on the processor, which is the first device of all those that Vulkan has.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::path::Path;
use std::process::{Command, Output, Stdio};

use atelier::cli::json::{Device, Line};
use atelier_core::paths::{HOME_VARIABLE, Paths};
use atelier_core::recipe::FileRole;
use atelier_library::BUILTIN_VARIABLE;
use image::RgbImage;
use support::{files, folder};

/// ggml passes over devices that are no graphics cards unless it is told which to show.
const SHOWN: (&str, &str) = ("GGML_VK_VISIBLE_DEVICES", "0");

fn atelier(args: &[&str]) -> Command {
    let home = folder("home");
    let mut command = Command::new(env!("CARGO_BIN_EXE_atelier"));
    command.env(HOME_VARIABLE, &home).env(BUILTIN_VARIABLE, home.join("none")).args(args).stdin(Stdio::null());
    command
}

fn good(output: Output) -> Output {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

fn listed(output: &Output) -> Vec<Device> {
    let Line::Devices { devices, .. } = serde_json::from_slice(&output.stdout).unwrap() else { panic!("{output:?}") };
    devices
}

fn picture(backend: &str, path: &Path) -> RgbImage {
    let mut command =
        atelier(&["generate", "-W", "64", "-H", "64", "--cfg", "1", "--steps", "3", "--seed", "42", "-t", "1", "-p", "a lake"]);
    for (flag, role) in [("--diffusion-model", FileRole::Diffusion), ("--llm", FileRole::Llm), ("--taesd", FileRole::Taesd)] {
        command.arg(flag).arg(files().get(role).unwrap());
    }
    good(command.args(["--backend", backend, "-o"]).arg(path).env(SHOWN.0, SHOWN.1).output().unwrap());
    image::open(path).unwrap().into_rgb8()
}

#[test]
fn a_vulkan_device_makes_the_picture_that_the_processor_makes() {
    let devices = listed(&good(atelier(&["devices", "--json"]).env(SHOWN.0, SHOWN.1).output().unwrap()));
    let named = devices.iter().find(|device| device.name == "Vulkan0");
    let device = named.unwrap_or_else(|| panic!("Vulkan has no device here; `cargo xtask test --vulkan` brings one"));
    let cpu = picture("cpu", &folder("pictures").join("cpu.png"));
    let vulkan = picture("te=cpu,diffusion=vulkan0,vae=cpu", &folder("pictures").join("vulkan.png"));
    assert_eq!((vulkan.width(), vulkan.height()), (64, 64));
    let differences = cpu.iter().zip(vulkan.iter()).map(|(one, other)| f64::from(one.abs_diff(*other)));
    let mean = differences.sum::<f64>() / cpu.len() as f64;
    println!("diffusion on {}: {mean:.4} of 255 from the processor's picture, on average", device.description);
    assert!(mean <= 1.0, "{mean}");
}

#[test]
fn rates_are_kept_with_the_version_of_the_driver() {
    good(atelier(&["devices", "--measure", "-t", "1"]).env(SHOWN.0, SHOWN.1).output().unwrap());
    let file = Paths::beneath(&folder("home")).data.join("device-rates.json");
    let kept: serde_json::Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let conditions: Vec<&serde_json::Value> = kept["devices"].as_array().unwrap().iter().map(|device| &device["conditions"]).collect();
    let of = |name: &str| conditions.iter().find(|it| it["device"] == name).unwrap_or_else(|| panic!("{kept}"));
    println!("driver of {}: {}", of("Vulkan0")["description"], of("Vulkan0")["driver"]);
    assert!(of("Vulkan0")["driver"].as_str().is_some_and(|version| !version.is_empty() && version != "0"), "{kept}");
    assert!(of("CPU")["driver"].is_null(), "{kept}");
}

#[cfg(target_os = "linux")]
#[test]
fn without_vulkans_loader_the_program_starts_and_says_what_to_install() {
    // A folder that the linker searches before all others, with a loader that is none.
    let folder = folder("no-loader");
    std::fs::write(folder.join("libvulkan.so.1"), "").unwrap();
    let output = good(atelier(&["devices", "--json"]).env("LD_LIBRARY_PATH", folder).env(SHOWN.0, SHOWN.1).output().unwrap());
    let names: Vec<String> = listed(&output).into_iter().map(|device| device.name).collect();
    assert!(names.contains(&"CPU".to_owned()) && !names.iter().any(|name| name.starts_with("Vulkan")), "{names:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("GPUs are not used") && said.contains("nstall"), "{said}");
}
