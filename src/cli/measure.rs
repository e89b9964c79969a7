//! `atelier devices --measure`: how fast the devices compute.

use std::io::{self, Write};
use std::time::Duration;

use super::devices::{aligned, query};
use super::flags::DevicesFlags;
use super::json::Line;
use super::reporter::write_message;
use atelier_core::time::{DeviceRates, NodeSize, WeightType, WorkClass, WorkKind};
use atelier_engine::{Event, Handle, MeasureDevices, MeasuredDevice, MeasuredRates};

/// Longest wait for a device: one takes some seconds, a slow one behind a slow network more.
const TIMEOUT: Duration = Duration::from_mins(2);
/// Columns: the heading, the kind of work and the type of weights.
const COLUMNS: [(&str, WorkKind, WeightType); 6] = [
    ("F16", WorkKind::Product, WeightType::F16),
    ("Q8_0", WorkKind::Product, WeightType::Q8_0),
    ("Q4_K", WorkKind::Product, WeightType::Q4K),
    ("CONVOLUTION", WorkKind::Convolution, WeightType::F16),
    ("ATTENTION", WorkKind::Attention, WeightType::F16),
    ("MEMORY", WorkKind::Elementwise, WeightType::F32),
];

/// Measures all devices, those of servers included, and prints their rates as a table or as one
/// line of JSON.
pub(super) fn run(flags: &DevicesFlags, handle: &Handle, out: &mut dyn Write, err: &mut dyn Write) -> anyhow::Result<()> {
    query(handle, &flags.servers.rpc_servers, err)?;
    let threads = flags.threads.and_then(|threads| u32::try_from(threads).ok()).filter(|threads| *threads > 0);
    handle.measure(Some(MeasureDevices { names: Vec::new(), again: true, threads }))?;
    let devices = loop {
        match handle.next_within(TIMEOUT) {
            Some(Event::Rates { devices, is_measuring: false }) => break devices,
            Some(Event::Rates { devices, .. }) => {
                if let Some(device) = devices.last() {
                    // The table is worth having without it.
                    write_message(err, &progress(device));
                }
            }
            Some(_) => {}
            None => anyhow::bail!("a device did not respond; try again without its server, or check its graphics driver"),
        }
    };
    let text = if flags.json { format!("{}\n", serde_json::to_string(&Line::rates(&devices))?) } else { table(&devices) };
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

fn progress(MeasuredDevice { device, measured }: &MeasuredDevice) -> String {
    match measured {
        Ok(it) if it.is_unsteady() => format!(
            "{device}: {} of {} times were unsteady because the computer is busy; measure again when it is idle",
            it.unsteady_samples, it.samples
        ),
        Ok(MeasuredRates { secs, .. }) => format!("{device}: measured in {secs:.1} s"),
        Err(failure) => format!("{device}: {}", failure.advice),
    }
}

/// GFLOP/s of large work, GB/s of memory and copies, microseconds of launches. What is not known is
/// a dash.
fn table(devices: &[MeasuredDevice]) -> String {
    let number = |value: f64| if value > 0.0 { format!("{value:.*}", usize::from(value < 99.5)) } else { "-".to_owned() };
    let row = |device: &MeasuredDevice| {
        let none = DeviceRates::default();
        let rates = device.measured.as_ref().map_or(&none, |it| &it.rates);
        let of = |(_, kind, weights): (&str, WorkKind, WeightType)| {
            rates.of_class(WorkClass { kind, weights, size: NodeSize::Large }).map_or(0.0, |per_sec| per_sec / 1e9)
        };
        let [f16, q8, q4, convolution, attention, memory] = COLUMNS.map(|column| number(of(column)));
        let [to, from] = [rates.copy_to_per_sec, rates.copy_from_per_sec].map(|per_sec| number(per_sec / 1e9));
        let [node, graph] = [rates.node_secs, rates.graph_secs].map(|secs| number(secs * 1e6));
        [device.device.clone(), f16, q8, q4, convolution, attention, memory, to, from, node, graph]
    };
    let [f16, q8, q4, convolution, attention, memory] = COLUMNS.map(|(title, ..)| title.to_owned());
    let title = ["NAME".to_owned(), f16, q8, q4, convolution, attention, memory, "TO".into(), "FROM".into(), "NODE".into(), "GRAPH".into()];
    let rows: Vec<_> = std::iter::once(title).chain(devices.iter().map(row)).collect();
    let legend = "F16, Q8_0, Q4_K (products by type of weights), CONVOLUTION, ATTENTION: GFLOP/s. MEMORY, and copies TO and FROM a device: GB/s.\n\
                  NODE, GRAPH: microseconds to start an operation, and a series of them.\n";
    aligned(&rows) + legend
}

#[cfg(test)]
mod tests {
    use atelier_core::time::ClassRate;
    use atelier_engine::Failure;

    use super::*;

    fn measured() -> Vec<MeasuredDevice> {
        let class = |kind, weights, per_sec| ClassRate { class: WorkClass { kind, weights, size: NodeSize::Large }, per_sec };
        let classes = COLUMNS.into_iter().zip([90e9, 80e9, 70e9, 60e9, 50e9, 1234e9]);
        let rates = DeviceRates {
            classes: classes.map(|((_, kind, weights), per_sec)| class(kind, weights, per_sec)).collect(),
            copy_to_per_sec: 12.5e9,
            node_secs: 3e-6,
            ..DeviceRates::default()
        };
        let measured = MeasuredRates { rates, samples: 10, unsteady_samples: 3, secs: 2.0 };
        vec![
            MeasuredDevice { device: "CUDA0".into(), measured: Ok(measured) },
            MeasuredDevice { device: "RPC0".into(), measured: Err(Failure::new("It is gone.", "Look at it.")) },
        ]
    }

    #[test]
    fn the_table_says_what_is_not_known() {
        let expected = "\
NAME   F16   Q8_0  Q4_K  CONVOLUTION  ATTENTION  MEMORY  TO    FROM  NODE  GRAPH
CUDA0  90.0  80.0  70.0  60.0         50.0       1234    12.5  -     3.0   -
RPC0   -     -     -     -            -          -       -     -     -     -
";
        assert!(table(&measured()).starts_with(expected), "{}", table(&measured()));
    }

    #[test]
    fn a_busy_computer_and_a_failure_are_told() {
        let lines: Vec<String> = measured().iter().map(progress).collect();
        assert!(lines[0].contains("3 of 10 times were unsteady"), "{lines:?}");
        assert_eq!(lines[1], "RPC0: It is gone. Look at it.");
    }
}
