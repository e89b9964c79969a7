//! The program itself, its devices with their drivers, and the display.

use super::finding::Finding;
use super::subject::{Display, Subject};
use crate::version;
use atelier_core::device::{DeviceKind, gpus};
use atelier_core::format::memory_size;
use atelier_language::tr;

pub(super) fn program() -> Finding {
    Finding::ok("Program", tr!("studio-atelier-with", version = version::FULL, version_2 = atelier_engine::version()))
}

pub(super) fn devices(subject: &Subject<'_>, report: &mut dyn FnMut(Finding)) {
    const TOPIC: &str = "Devices";
    for note in &subject.driver_notes {
        report(Finding::attention("Graphics driver", note, ""));
    }
    let devices = match &subject.devices {
        Ok(devices) => devices,
        Err(sentence) => return report(Finding::broken(TOPIC, sentence, tr!("studio-check-your-graphics-driver"))),
    };
    let name = |device: &atelier_core::device::Device| {
        let memory = if device.memory_total_bytes == 0 { String::new() } else { format!(", {}", memory_size(device.memory_total_bytes)) };
        format!("{} ({}{memory})", device.name, device.description.trim())
    };
    let all: Vec<String> = gpus(devices).iter().filter_map(|backends| backends.first()).map(|device| name(device)).collect();
    let is_card = |kind| matches!(kind, DeviceKind::Gpu | DeviceKind::IntegratedGpu);
    if devices.is_empty() {
        report(Finding::broken(TOPIC, tr!("studio-the-engine-found-no"), tr!("studio-reinstall-atelier")));
    } else if devices.iter().any(|device| is_card(device.kind)) {
        report(Finding::ok(TOPIC, format!("{}.", all.join("; "))));
    } else {
        let hint = tr!("studio-generating-works-on-the");
        report(Finding::attention(TOPIC, tr!("studio-no-gpu-is-used", all = all.join("; ")), hint));
    }
}

pub(super) fn display(display: Display) -> Finding {
    match display {
        Display::Present => Finding::ok("Display", tr!("studio-a-display-is-available")),
        Display::Absent => Finding::attention("Display", tr!("studio-no-display-is-available"), tr!("studio-start-atelier-from-a")),
    }
}
