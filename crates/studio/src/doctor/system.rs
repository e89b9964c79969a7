//! The program itself, its devices with their drivers, and the display.

use super::finding::Finding;
use super::subject::{Display, Subject};
use crate::version;
use atelier_core::device::{DeviceKind, cards};
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
        Err(sentence) => return report(Finding::broken(TOPIC, sentence, "Look at your graphics driver, then run this again.")),
    };
    let name = |device: &atelier_core::device::Device| {
        let memory = if device.memory_total_bytes == 0 { String::new() } else { format!(", {}", memory_size(device.memory_total_bytes)) };
        format!("{} ({}{memory})", device.name, device.description.trim())
    };
    let all: Vec<String> = cards(devices).iter().filter_map(|backends| backends.first()).map(|device| name(device)).collect();
    let is_card = |kind| matches!(kind, DeviceKind::Gpu | DeviceKind::IntegratedGpu);
    if devices.is_empty() {
        report(Finding::broken(TOPIC, "The engine found no device at all.", "Install Atelier again."));
    } else if devices.iter().any(|device| is_card(device.kind)) {
        report(Finding::ok(TOPIC, format!("{}.", all.join("; "))));
    } else {
        let hint = "Pictures are made all the same, only slower. Install your card's driver if this machine has a graphics card.";
        report(Finding::attention(TOPIC, format!("No graphics card is used, only {}.", all.join("; ")), hint));
    }
}

pub(super) fn display(display: Display) -> Finding {
    match display {
        Display::Present => Finding::ok("Display", "There is a display for the window."),
        Display::Absent => Finding::attention(
            "Display",
            "There is no display here, so the window cannot open.",
            "Start it from a desktop session; `atelier generate` works without one.",
        ),
    }
}
