//! `atelier devices`: what models can run on.

use std::borrow::Cow;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use indicatif::HumanBytes;

use super::json::Line;
use super::reporter::write_message;
use atelier_core::device::{Device, gpus};
use atelier_core::plain_text::plain_line;
use atelier_core::processor::{CPU_LEVEL_VARIABLE, Processor};
use atelier_engine::{Event, Handle, LogLevel, ServerAddress};

/// Longest wait for the devices: drivers of graphics cards take their time on the first query.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Queries the engine for the devices, those of other machines included. Servers that cannot be
/// used, and what the system lacks for its graphics cards, are reported on `err`.
pub(super) fn query(handle: &Handle, servers: &[ServerAddress], err: &mut dyn Write) -> anyhow::Result<Vec<Device>> {
    for server in servers {
        handle.add_server(server.clone())?;
    }
    handle.list_devices()?;
    let deadline = Instant::now() + TIMEOUT;
    while let Some(left) = deadline.checked_duration_since(Instant::now()) {
        match handle.next_within(left) {
            Some(Event::Devices(devices)) => return Ok(devices),
            // The table is worth having without it, and where nobody reads the warning too.
            Some(Event::Server { added: Err(problem), .. }) => write_message(err, &format!("warning: {problem}")),
            Some(Event::Log { job: None, level: LogLevel::Warn, text }) => write_message(err, &text),
            _ => {}
        }
    }
    anyhow::bail!("the engine did not list its devices; try again, and check your graphics driver if that does not help")
}

/// Prints devices as a table, and the processor's instructions under it; or both as one line of
/// JSON.
pub(super) fn print(devices: &[Device], processor: Processor, json: bool, out: &mut dyn Write) -> io::Result<()> {
    let text = if json {
        format!("{}\n", serde_json::to_string(&Line::devices(devices, processor))?)
    } else {
        format!("{}\n{}\n", table(devices), instructions(processor, &atelier_engine::kernels_names()))
    };
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// The processor's instructions, as a sentence; `kernels` are those of Atelier's own kernels.
fn instructions(processor: Processor, kernels: &[&str]) -> String {
    let Processor { compiled, detected, allowed } = processor;
    let limit = if allowed < detected { format!("; {CPU_LEVEL_VARIABLE} allows {allowed}") } else { String::new() };
    let kernels = if kernels.is_empty() { String::new() } else { format!(" Atelier's kernels use {}.", kernels.join(" and ")) };
    format!("CPU instructions: the engine uses {compiled}, this machine has {detected}{limit}.{kernels}")
}

/// Two backends of a card stand under each other, the better one first; the memory is there once.
pub(super) fn table(devices: &[Device]) -> String {
    let memory = |bytes: u64| if bytes == 0 { "-".to_owned() } else { HumanBytes(bytes).to_string() };
    let title = ["NAME", "TYPE", "MEMORY", "FREE", "DESCRIPTION"].map(str::to_owned);
    let row = |it: &Device| {
        let kind = it.kind.label().to_owned();
        [it.name.clone(), kind, memory(it.memory_total_bytes), memory(it.memory_free_bytes), it.description.clone()]
    };
    let rows = gpus(devices).into_iter().flat_map(|backends| {
        let first = backends.first().copied();
        backends.into_iter().map(move |it| match first.filter(|first| first.name != it.name) {
            None => row(it),
            Some(first) => {
                let same = format!(
                    "The same GPU as {}{}: choose one",
                    first.name,
                    it.gpu.as_ref().map_or_else(String::new, |gpu| format!(" ({gpu})"))
                );
                [it.name.clone(), it.kind.label().to_owned(), "shared".to_owned(), "shared".to_owned(), same]
            }
        })
    });
    aligned(&std::iter::once(title).chain(rows).collect::<Vec<_>>())
}

/// Rows with their columns under each other, whatever is in their cells.
pub(super) fn aligned<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> String {
    let rows: Vec<[Cow<'_, str>; COLUMNS]> = rows.iter().map(|row| row.each_ref().map(|cell| plain_line(cell))).collect();
    let mut widths = [0; COLUMNS];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let mut table = String::new();
    for row in &rows {
        let cells: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        table.push_str(cells.join("  ").trim_end());
        table.push('\n');
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::device::DeviceKind;
    use atelier_core::processor::CpuLevel;

    #[test]
    fn the_instructions_are_a_sentence() {
        let all = Processor { compiled: CpuLevel::Avx2, detected: CpuLevel::Avx512, allowed: CpuLevel::Avx512 };
        assert_eq!(instructions(all, &[]), "CPU instructions: the engine uses avx2, this machine has avx512.");
        let limited = Processor { allowed: CpuLevel::Avx2, ..all };
        assert_eq!(
            instructions(limited, &["avx2"]),
            "CPU instructions: the engine uses avx2, this machine has avx512; ATELIER_CPU_LEVEL allows avx2. Atelier's kernels use avx2."
        );
        assert!(instructions(all, &["avx512", "avx512-vnni"]).ends_with(". Atelier's kernels use avx512 and avx512-vnni."));
    }

    #[test]
    fn the_table_is_aligned_and_says_what_is_not_known() {
        let device = |name: &str, kind, total, description: &str, gpu: Option<&str>| Device {
            name: name.into(),
            description: description.into(),
            kind,
            gpu: gpu.map(str::to_owned),
            memory_total_bytes: total,
            memory_free_bytes: total / 2,
            memory_allocated_bytes: 0,
        };
        let gpu = Some("0000:01:00.0");
        let devices = [
            device("CPU", DeviceKind::Cpu, 0, "Some processor", None),
            device("Vulkan0", DeviceKind::Gpu, 24 << 30, "Some card", gpu),
            device("Vulkan1", DeviceKind::IntegratedGpu, 8 << 30, "Some graphics", None),
            device("CUDA0", DeviceKind::Gpu, 24 << 30, "Some card", gpu),
        ];
        let expected = "\
NAME     TYPE            MEMORY     FREE       DESCRIPTION
CPU      CPU             -          -          Some processor
CUDA0    GPU             24.00 GiB  12.00 GiB  Some card
Vulkan0  GPU             shared     shared     The same GPU as CUDA0 (0000:01:00.0): choose one
Vulkan1  integrated GPU  8.00 GiB   4.00 GiB   Some graphics
";
        assert_eq!(table(&devices), expected);
    }
}
