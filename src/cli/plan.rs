//! `atelier plan`: what a picture would take of each device, and the placement that fits best.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use indicatif::HumanBytes;

use super::devices;
use super::flags::PlanFlags;
use super::json::{Fit, Line, Plan, PlanFix, Predicted};
use atelier_core::device::Device;
use atelier_core::format::seconds;
use atelier_core::placement::{self, AutomaticPlacement, DeviceCapacity, ModuleSet, Pins, Placement, PlanError, PlanRequest};
use atelier_core::recipe::{PlacementText, Recipe};
use atelier_core::sentences::{list, sentence};
use atelier_core::time::TimePrediction;
use atelier_engine::{Estimate, Event, Handle};

/// Longest wait for an estimate: headers of a large model on a slow disk take a while to read.
const TIMEOUT: Duration = Duration::from_mins(5);

/// Predicts, plans and prints; `Ok(false)` where nothing fits. `changed`: sentences on settings
/// that were brought into their limits.
pub(super) fn run(
    recipe: &Recipe,
    changed: Vec<String>,
    flags: &PlanFlags,
    handle: &Handle,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<bool> {
    let listed = devices::query(handle, &flags.common.servers.rpc_servers, err)?;
    let placement = Placement::parse(&recipe.placement, &listed)?;
    let estimate = query_estimate(recipe, handle)?;
    let capacities = capacities_of(&listed, &estimate);
    let prediction = placement::Prediction::of(&placement, &estimate.needs, &capacities)?;
    let in_use: Vec<_> = estimate.needs.modules.keys().copied().collect();
    let pins = placement::pins(&recipe.placement, &listed)?;
    let request = plan_request(&capacities, &estimate, &pins, &placement);
    // What names no device is placed as `generate` places it.
    let automatic = if recipe.placement == PlacementText::default() { placement::automatic(&request, None)? } else { None };
    let (planned, sentence, fixes) = match placement::plan(&request) {
        Ok(plan) => (placed(plan.clone(), automatic, &estimate, &capacities)?, None, plan.better),
        Err(PlanError::Short(short)) => (short.nearest.clone(), Some(sentence(&short.to_string())), short.fixes),
        Err(error @ PlanError::Device(_)) => return Err(error.into()),
    };
    let mut notes = changed;
    notes.extend(placement::notes(&placement, &listed, &in_use, estimate.needs.whole()));
    for (device, share) in placement.split_batch.iter().zip(placement.shares()).skip(1) {
        let missing = placement::Prediction::of(&share, &estimate.needs, &capacities)?.missing_bytes;
        notes.push(match missing {
            0 => format!("Its share of a batch fits on {device}."),
            missing => {
                format!("Its share of a batch does not fit on {device}: {} are missing.", atelier_core::format::memory_size(missing))
            }
        });
    }
    let mut streaming = Vec::new();
    for offer in placement::streaming_budgets(&request, &planned.placement)? {
        let prediction = placement::Prediction::of(&offer.placement, &estimate.needs, &capacities)?;
        let predicted = Predicted::new(recipe, &estimate, &offer.placement, &prediction);
        streaming.push(PlanFix { changes: vec![offer.words()], predicted });
    }
    let plan = Plan {
        width: recipe.width,
        height: recipe.height,
        devices: Line::device_list(&listed),
        requested: Predicted::new(recipe, &estimate, &placement, &prediction),
        notes,
        suggested: Fit {
            predicted: Predicted::new(recipe, &estimate, &planned.placement, &planned.prediction),
            reasons: planned.reasons,
            message: sentence,
            fixes: fixes.iter().map(|fix| PlanFix::new(recipe, &estimate, fix)).collect(),
        },
        streaming,
    };
    let fits = plan.suggested.message.is_none();
    let text = if flags.json {
        format!("{}\n", serde_json::to_string(&Line::Plan(Box::new(plan)))?)
    } else {
        format!("{}\n{}", devices::table(&listed), words(&plan))
    };
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        Ok(()) | Err(_) => Ok(fits),
    }
}

/// The plan, or the placement that is quicker as a whole.
fn placed(
    plan: placement::Plan,
    automatic: Option<AutomaticPlacement>,
    estimate: &Estimate,
    capacities: &[DeviceCapacity],
) -> anyhow::Result<placement::Plan> {
    let Some(AutomaticPlacement { placement, note }) = automatic.filter(|it| it.placement != plan.placement) else { return Ok(plan) };
    let prediction = placement::Prediction::of(&placement, &estimate.needs, capacities)?;
    Ok(placement::Plan { placement, prediction, reasons: note.into_iter().collect(), ..plan })
}

/// Predicted time of a picture where its recipe places it; `None` where devices were not measured.
pub(super) fn predicted_time(recipe: &Recipe, listed: &[Device], handle: &Handle) -> anyhow::Result<Option<TimePrediction>> {
    let estimate = query_estimate(recipe, handle)?;
    let capacities = capacities_of(listed, &estimate);
    let mut placement = Placement::parse(&recipe.placement, listed)?;
    if recipe.placement == PlacementText::default() {
        let pins = placement::pins(&recipe.placement, listed)?;
        let request = plan_request(&capacities, &estimate, &pins, &placement);
        if let Some(automatic) = placement::automatic(&request, None)? {
            placement = automatic.placement;
        }
    }
    let prediction = placement::Prediction::of(&placement, &estimate.needs, &capacities)?;
    Ok(estimate.time(recipe, &placement, &prediction).ok())
}

fn capacities_of(listed: &[Device], estimate: &Estimate) -> Vec<DeviceCapacity> {
    let slack = |name: &str| estimate.slack_bytes.get(name).copied().unwrap_or(0);
    listed.iter().map(|device| DeviceCapacity::for_planning(device, slack(&device.name))).collect()
}

fn plan_request<'a>(capacities: &'a [DeviceCapacity], estimate: &'a Estimate, pins: &'a Pins, placement: &'a Placement) -> PlanRequest<'a> {
    PlanRequest {
        capacities,
        needs: &estimate.needs,
        pins,
        budgets: &placement.budgets,
        stream_layers: placement.stream_layers,
        time: Some(estimate.plan_time()),
        alternatives: &estimate.alternatives,
    }
}

/// The engine's estimate of a recipe, once it has one.
pub(super) fn query_estimate(recipe: &Recipe, handle: &Handle) -> anyhow::Result<Estimate> {
    handle.estimate(recipe.clone())?;
    let deadline = Instant::now() + TIMEOUT;
    while let Some(left) = deadline.checked_duration_since(Instant::now()) {
        if let Some(Event::Estimated { estimate, .. }) = handle.next_within(left) {
            return estimate.map_err(|failure| anyhow::anyhow!("{} {}", failure.advice.sentence, failure.advice.hint));
        }
    }
    anyhow::bail!("the engine gave no estimate; check that the model's files are readable")
}

/// The report for people.
fn words(plan: &Plan) -> String {
    let mut text = String::new();
    let is_same = plan.requested == plan.suggested.predicted;
    let title = if is_same { "This placement is the best fit".to_owned() } else { "As asked".to_owned() };
    // Writing to a string does not fail.
    let _ = write!(text, "{title}, {} x {} pixels: {}", plan.width, plan.height, predicted(&plan.requested));
    for note in &plan.notes {
        let _ = writeln!(text, "note: {note}");
    }
    let fit = &plan.suggested;
    if let Some(sentence) = &fit.message {
        let _ = writeln!(text, "\n{sentence}");
    }
    if !is_same {
        let title = if fit.message.is_none() { "Best fit" } else { "Nearest fit" };
        let _ = write!(text, "\n{title}: {}", predicted(&fit.predicted));
    }
    for reason in &fit.reasons {
        let _ = writeln!(text, "- {reason}");
    }
    let better = if fit.message.is_none() { "Possible improvements" } else { "Ways to make it fit" };
    for (title, fixes) in [(better, &fit.fixes), ("Memory that streaming would free", &plan.streaming)] {
        if !fixes.is_empty() {
            let _ = writeln!(text, "\n{title}:");
        }
        for fix in fixes {
            let _ = writeln!(text, "- {} ({})", fix.changes.join(", and "), flags(&fix.predicted));
        }
    }
    text
}

/// A placement as flags, and its table.
fn predicted(it: &Predicted) -> String {
    let mut rows = vec![["DEVICE", "PHASE", "RESIDENT", "STAGED", "COMPUTE", "SLACK", "TOTAL", "LIMIT", ""].map(str::to_owned)];
    for device in &it.devices {
        let is_used = device.phases.iter().any(|phase| phase.total_bytes > 0);
        for phase in device.phases.iter().filter(|_| is_used) {
            let bytes = |bytes: u64| if bytes == 0 { "-".to_owned() } else { HumanBytes(bytes).to_string() };
            let over = phase.total_bytes.saturating_sub(device.limit_bytes);
            rows.push([
                device.name.clone(),
                phase.phase.label().to_owned(),
                bytes(phase.resident_bytes),
                bytes(phase.staged_bytes),
                bytes(phase.compute_bytes),
                bytes(phase.overhead_bytes.saturating_add(phase.shared_bytes)),
                bytes(phase.total_bytes),
                bytes(device.limit_bytes),
                if over > 0 { format!("over by {}", HumanBytes(over)) } else { String::new() },
            ]);
        }
    }
    format!("{}\n{}{}\n", flags(it), devices::aligned(&rows), time(it))
}

/// Seconds of a picture, as a sentence.
fn time(it: &Predicted) -> String {
    let Some(time) = &it.time else {
        return match &it.unmeasured_devices[..] {
            [] => String::new(),
            devices => format!("Time per picture is unknown: run `atelier devices --measure` once, for {}.", list(devices)),
        };
    };
    let parts = [
        ("load", time.load_secs),
        ("encode", time.encode_secs),
        ("denoise", time.denoise_secs),
        ("upscale", time.upscale_secs),
        ("decode", time.decode_secs),
    ];
    let parts: Vec<String> = parts.iter().filter(|(_, of)| *of > 0.0).map(|(what, of)| format!("{what} {}", seconds(*of))).collect();
    format!(
        "About {} a picture: {} ({} a step). First preview after {}, each further picture {}.",
        seconds(time.total_secs),
        parts.join(", "),
        seconds(time.step_secs),
        seconds(time.first_preview_secs),
        seconds(time.next_picture_secs)
    )
}

fn flags(it: &Predicted) -> String {
    let flag = |name: &str, value: &str| if value.is_empty() { String::new() } else { format!(" {name} {value}") };
    let parts = [
        flag("--backend", &it.backend),
        flag("--params-backend", &it.params_backend),
        flag("--max-vram", &it.max_vram),
        match it.stream_layers {
            ModuleSet::NONE => String::new(),
            ModuleSet::DIFFUSION => " --stream-layers".to_owned(),
            modules => format!(" --stream-layers {modules}"),
        },
    ];
    parts.concat().trim_start().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::device::DeviceKind;
    use atelier_core::placement::PhaseKind;
    use atelier_core::time::PhaseTime;

    fn predicted_with(time: Option<&TimePrediction>, unmeasured: &[&str]) -> Predicted {
        let device = Device {
            name: "CPU".into(),
            description: String::new(),
            kind: DeviceKind::Cpu,
            gpu: None,
            memory_total_bytes: 0,
            memory_free_bytes: 0,
            memory_allocated_bytes: 0,
        };
        let placement = Placement::all_on("CPU");
        let estimate = Estimate::default();
        let prediction = placement::Prediction::of(&placement, &estimate.needs, &[DeviceCapacity::new(device, 0)]).unwrap();
        Predicted {
            time: time.map(Into::into),
            unmeasured_devices: unmeasured.iter().map(|name| (*name).to_owned()).collect(),
            ..Predicted::new(&Recipe::default(), &estimate, &placement, &prediction)
        }
    }

    #[test]
    fn seconds_are_told_by_phase_and_devices_without_rates_by_name() {
        let phase =
            PhaseTime { module: placement::Module::Vae, phase: PhaseKind::Decoding, device: "CPU".into(), secs: 1.5, each_picture: true };
        let prediction = TimePrediction {
            phases: vec![phase],
            load_secs: 3.0,
            step_secs: 0.4,
            denoise_secs: 8.0,
            decode_secs: 1.5,
            first_preview_secs: 3.4,
            total_secs: 12.5,
            next_picture_secs: 9.4,
            ..TimePrediction::default()
        };
        let sentence = "About 13 s a picture: load 3 s, denoise 8 s, decode 1.5 s (0.4 s a step). First preview after 3.4 s, each further picture 9.4 s.";
        assert_eq!(time(&predicted_with(Some(&prediction), &[])), sentence);
        let unknown = "Time per picture is unknown: run `atelier devices --measure` once, for CPU and GPU0.";
        assert_eq!(time(&predicted_with(None, &["CPU", "GPU0"])), unknown);
        let json = serde_json::to_value(predicted_with(Some(&prediction), &[])).unwrap();
        assert_eq!((json["time"]["total_secs"].as_f64(), json["time"]["phases"][0]["phase"].as_str()), (Some(12.5), Some("decoding")));
    }
}
