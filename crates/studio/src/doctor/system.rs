//! The program itself, its devices with their drivers, and the display.

use super::finding::Finding;
use super::subject::{Display, Subject};
use crate::version;
use atelier_core::device::{DeviceKind, gpus};
use atelier_core::format::memory_size;

pub(super) fn program() -> Finding {
    Finding::ok("Program", format!("Atelier {} with {}.", version::FULL, atelier_engine::version()))
}

pub(super) fn devices(subject: &Subject<'_>, report: &mut dyn FnMut(Finding)) {
    const TOPIC: &str = "Devices";
    for note in &subject.driver_notes {
        report(Finding::attention("Graphics driver", note, ""));
    }
    let devices = match &subject.devices {
        Ok(devices) => devices,
        Err(sentence) => return report(Finding::broken(TOPIC, sentence, "Check your graphics driver, then run the check again.")),
    };
    let name = |device: &atelier_core::device::Device| {
        let memory = if device.memory_total_bytes == 0 { String::new() } else { format!(", {}", memory_size(device.memory_total_bytes)) };
        format!("{} ({}{memory})", device.name, device.description.trim())
    };
    let all: Vec<String> = gpus(devices).iter().filter_map(|backends| backends.first()).map(|device| name(device)).collect();
    let is_card = |kind| matches!(kind, DeviceKind::Gpu | DeviceKind::IntegratedGpu);
    if devices.is_empty() {
        report(Finding::broken(TOPIC, "The engine found no devices.", "Reinstall Atelier."));
    } else if devices.iter().any(|device| is_card(device.kind)) {
        report(Finding::ok(TOPIC, format!("{}.", all.join("; "))));
    } else {
        let hint = "Generating works on the CPU, but slower. If this machine has a GPU, install its driver.";
        report(Finding::attention(TOPIC, format!("No GPU is used, only {}.", all.join("; ")), hint));
    }
}

pub(super) fn display(display: Display) -> Finding {
    match display {
        Display::Present => Finding::ok("Display", "A display is available."),
        Display::Absent => Finding::attention(
            "Display",
            "No display is available, so the window cannot open.",
            "Start Atelier from a desktop session; `atelier generate` works without a display.",
        ),
    }
}
