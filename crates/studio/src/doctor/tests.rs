//! Tests on homes where something is broken.

use std::fs;
use std::path::Path;

use super::*;
use atelier_core::device::{Device, DeviceKind};
use atelier_core::paths::Paths;
use atelier_library::Builtin;
use testkit::tiny;

/// A home with a built-in model; the rest is not there yet.
struct Home {
    folder: tempfile::TempDir,
    paths: Paths,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("builtin")).unwrap();
        tiny::builtin(&folder.path().join("builtin"), &tiny::Options::default()).unwrap();
        let paths = Paths::beneath(&folder.path().join("home"));
        fs::create_dir_all(&paths.models).unwrap();
        Self { folder, paths }
    }

    fn examine(&self) -> Vec<Finding> {
        self.examine_with(Ok(vec![device(DeviceKind::Cpu), device(DeviceKind::Gpu)]), false)
    }

    fn examine_with(&self, devices: Result<Vec<Device>, String>, sums: bool) -> Vec<Finding> {
        let subject = Subject {
            paths: Ok(self.paths.clone()),
            devices,
            driver_notes: Vec::new(),
            builtin: Builtin::open(&self.folder.path().join("builtin")),
            display: Display::Present,
            sums,
            go_on: &|| true,
        };
        let mut findings = Vec::new();
        examine(&subject, &mut |finding| findings.push(finding));
        findings
    }
}

fn device(kind: DeviceKind) -> Device {
    let name = if kind == DeviceKind::Cpu { "CPU" } else { "Vulkan0" };
    Device {
        name: name.into(),
        description: "Some device".into(),
        kind,
        gpu: None,
        memory_total_bytes: 8 << 30,
        memory_free_bytes: 8 << 30,
        memory_allocated_bytes: 0,
    }
}

/// The findings about this topic that are not fine.
fn faults<'a>(findings: &'a [Finding], topic: &str) -> Vec<(Health, &'a str)> {
    findings.iter().filter(|it| it.topic == topic && it.health != Health::Ok).map(|it| (it.health, it.advice.sentence.as_str())).collect()
}

#[test]
fn a_new_home_has_nothing_broken_and_nothing_is_left_behind() {
    let home = Home::new();
    let findings = home.examine();
    assert!(findings.iter().all(|it| it.health != Health::Broken), "{findings:?}");
    for topic in [
        "Program",
        "Devices",
        "Display",
        "Built-in model",
        "Settings folder",
        "Data folder",
        "Pictures folder",
        "Models folder",
        "Settings",
    ] {
        assert!(findings.iter().any(|it| it.topic == topic), "{topic}");
    }
    assert!(!home.paths.data.exists() && !home.paths.pictures.exists(), "a check makes no folders");
    let left: Vec<_> = fs::read_dir(home.folder.path().join("home")).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left, ["models"]);
}

#[test]
fn a_machine_without_a_card_or_a_display_works_and_is_told_so() {
    let home = Home::new();
    let findings = home.examine_with(Ok(vec![device(DeviceKind::Cpu)]), false);
    assert_eq!(faults(&findings, "Devices")[0].0, Health::Attention);
    let findings = home.examine_with(Err("The engine did not answer.".into()), false);
    assert_eq!(faults(&findings, "Devices"), [(Health::Broken, "The engine did not answer.")]);
    assert_eq!(system::display(Display::Absent).health, Health::Attention);
}

#[test]
fn a_folder_that_is_a_file_or_cannot_be_written_is_broken() {
    let home = Home::new();
    fs::create_dir_all(home.paths.pictures.parent().unwrap()).unwrap();
    fs::write(&home.paths.pictures, "").unwrap();
    fs::write(&home.paths.data, "").unwrap();
    let findings = home.examine();
    assert!(faults(&findings, "Pictures folder")[0].1.contains("is a file where a folder should be"));
    assert_eq!(faults(&findings, "Data folder")[0].0, Health::Broken);
    // Nobody may make a file there, whatever their rights.
    #[cfg(target_os = "linux")]
    assert_eq!(folders::folder("Models folder", Path::new("/proc/self/atelier"), 1).health, Health::Broken);
}

#[test]
fn too_little_space_needs_attention() {
    let folder = tempfile::tempdir().unwrap();
    let finding = folders::folder("Models folder", folder.path(), u64::MAX);
    assert!(finding.health == Health::Attention && finding.advice.sentence.contains("nearly full"), "{finding:?}");
}

#[test]
fn settings_that_cannot_be_read_are_broken_and_chosen_files_that_are_gone_need_attention() {
    let home = Home::new();
    fs::create_dir_all(home.paths.settings_file.parent().unwrap()).unwrap();
    for (text, words) in [("{ not json", "damaged"), ("[]", "damaged"), (r#"{"version": 99}"#, "newer Atelier")] {
        fs::write(&home.paths.settings_file, text).unwrap();
        let findings = home.examine();
        let fault = &faults(&findings, "Settings")[0];
        assert!(fault.0 == Health::Broken && fault.1.contains(words), "{text}: {fault:?}");
        assert_eq!(fs::read_to_string(&home.paths.settings_file).unwrap(), text, "it is only looked at");
    }
    let broken = home.paths.models.join("broken.gguf");
    fs::write(&broken, "GGUF but not really").unwrap();
    let text = serde_json::json!({"version": 1, "recipe": {"files": {"vae": "/nowhere/ae.safetensors", "diffusion": broken}}});
    fs::write(&home.paths.settings_file, text.to_string()).unwrap();
    fs::write(home.paths.settings_file.with_file_name("settings.json.bad"), "").unwrap();
    let findings = home.examine();
    assert_eq!(faults(&findings, "Chosen model").iter().map(|it| it.0).collect::<Vec<_>>(), [Health::Broken, Health::Attention]);
    assert!(faults(&findings, "Settings")[0].1.contains("settings.json.bad"));
    assert!(findings.iter().filter(|it| it.health != Health::Ok && it.topic == "Chosen model").all(|it| !it.advice.hint.is_empty()));
}

#[test]
fn damaged_model_files_are_broken_where_they_are_atelier_s_own_and_named_elsewhere() {
    let home = Home::new();
    fs::write(home.paths.models.join("cut.safetensors"), b"\xff\xff\x00\x00\x00\x00\x00\x00{").unwrap();
    let findings = home.examine();
    let found = faults(&findings, "Model files");
    assert!(found[0].0 == Health::Broken && found[0].1.contains("cut.safetensors"), "{found:?}");
    fs::write(home.folder.path().join("builtin/manifest.json"), "{").unwrap();
    assert_eq!(faults(&home.examine(), "Built-in model")[0].0, Health::Broken);
}

#[test]
fn the_built_in_model_is_compared_byte_by_byte() {
    let folder = tempfile::tempdir().unwrap();
    // The sum of "abc".
    let sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let entry = |role: &str| format!(r#"{{"role":"{role}","filename":"{role}","size":3,"sha256":"{sum}"}}"#);
    let entries = ["diffusion", "llm", "tae"].map(entry).join(",");
    let manifest = format!(r#"{{"id":"small","name":"Small","description":"Paints.","files":[{entries}]}}"#);
    fs::write(folder.path().join("manifest.json"), manifest).unwrap();
    let health = |contents: &str| {
        for role in ["diffusion", "llm", "tae"] {
            fs::write(folder.path().join(role), contents).unwrap();
        }
        let mut found = Vec::new();
        models::builtin(&Builtin::open(folder.path()), &mut |finding| found.push(finding));
        found.remove(0).health
    };
    assert_eq!((health("abc"), health("abd"), health("ab")), (Health::Ok, Health::Broken, Health::Broken));
}
