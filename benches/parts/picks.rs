//! The planner's pick beside the alternatives, each run and timed: `cargo xtask bench -- --time
//! --picks [--only TEXT] [--threads N]`.
//!
//! Simulated devices belong to a process, so each set of them has one of its own. There every
//! device is measured, and for each model the pick is made from the rates alone, as for a first
//! picture. Then the pick and the alternatives make two pictures each, of which the quicker counts:
//! what disturbs a picture only makes it longer.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use super::time::{Case, estimate, lend, list_devices, measure_devices, models, picture, warm_secs};
use super::{Outcome, make};
use atelier_core::device::Device;
use atelier_core::placement::{DeviceCapacity, Pins, Placement, PlanRequest, RankedPlacement, pins, ranked};
use atelier_core::recipe::{PlacementText, Recipe};
use atelier_engine::{Estimate, Handle, simulate_devices, start_remembering};

/// Sets of devices, by speed and memory in GiB: two slower ones; a slow one; one that is quick and
/// small; one that is smaller than most models beside one that is slow.
const MACHINES: [&str; 4] =
    ["GPU0:8/speed=0.5,GPU1:8/speed=0.25", "GPU0:8/speed=0.2", "GPU0:0.25/speed=1", "GPU0:0.12/speed=1,GPU1:8/speed=0.6"];
/// The same, with a lender on loopback; modules that are named run there.
const LENT: (&str, [&str; 2]) = ("GPU0:8/speed=0.5", ["vae=RPC0", "diffusion=RPC0"]);
/// Placements of which each case tries the best by prediction, beside the plain ones.
const MAX_RANKED: usize = 4;
/// Ratio to the quickest within which a pick is good.
const GOOD: f64 = 1.1;
/// First word of a part's lines for the whole.
const RESULT: &str = "RESULT";

/// Prints the table of all sets of devices.
pub(super) fn measure(threads: u32, only: &str) -> Outcome<()> {
    println!("| devices | model | pick | s | quickest | s | ratio | tried |\n|---|---|---|---|---|---|---|---|");
    let mut ratios = Vec::new();
    let parts = MACHINES.map(|machine| (machine, "")).into_iter().chain(LENT.1.map(|named| (LENT.0, named)));
    for (machine, named) in parts {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["--picks-part", machine, "--named", named, "--threads", &threads.to_string(), "--only", only])
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().ok_or("the part is silent")?;
        for line in BufReader::new(output).lines() {
            let line = line?;
            match line.strip_prefix(RESULT) {
                Some(ratio) => ratios.push(ratio.trim().parse::<f64>()?),
                None => println!("{line}"),
            }
        }
        if !child.wait()?.success() {
            println!("| {machine} {named} | could not be measured | | | | | | |");
        }
    }
    let good = ratios.iter().filter(|ratio| **ratio <= GOOD).count();
    let share = 100.0 * good as f64 / ratios.len().max(1) as f64;
    println!("\n{} cases; the pick was the quickest, or within {:.0} % of it, in {good}: {share:.0} %", ratios.len(), (GOOD - 1.0) * 100.0);
    Ok(())
}

/// Measures the cases of one set of devices; `named`: the text of what is pinned.
pub(super) fn part(folder: &Path, machine: &str, named: &str, threads: u32, only: &str) -> Outcome<()> {
    simulate_devices(&machine.parse()?)?;
    let home = tempfile::tempdir_in(folder)?;
    let mut cases = models(&make(home.path().join("models"))?, threads)?;
    cases.retain(|case| format!("{machine} {named} {}", case.model).contains(only));
    if cases.is_empty() {
        return Ok(());
    }
    let engine = start_remembering(|| (), &home.path().join("measured.json"));
    let _lender = if named.is_empty() { None } else { Some(lend(&engine, home.path(), threads)?) };
    let devices = list_devices(&engine)?;
    measure_devices(&engine, threads)?;
    for Case { model, recipe } in cases {
        let placement = PlacementText { backend: named.into(), ..PlacementText::default() };
        let recipe = Recipe { placement, ..recipe };
        let ranked = ranked_for(&estimate(&engine, &recipe)?, &recipe, &devices)?;
        let Some(pick) = ranked.first().map(|it| it.placement.clone()) else {
            println!("| {machine} {named} | {model} | nothing fits | | | | | |");
            continue;
        };
        let mut tried: Vec<(Placement, f64)> = Vec::new();
        for placement in alternatives(&ranked) {
            let secs = secs(&engine, &recipe, &placement)?;
            tried.push((placement, secs));
        }
        let picked = tried.iter().find(|(placement, _)| *placement == pick).map_or(f64::NAN, |(_, secs)| *secs);
        let Some((quickest, least)) = tried.iter().min_by(|a, b| a.1.total_cmp(&b.1)) else { continue };
        println!(
            "| {machine} {named} | {model} | {} | {picked:.2} | {} | {least:.2} | {:.2} | {} |",
            words(&pick),
            words(quickest),
            picked / least,
            tried.len()
        );
        println!("{RESULT} {}", picked / least);
    }
    Ok(())
}

/// The placements that fit round what is pinned, as the engine compares them.
fn ranked_for(estimate: &Estimate, recipe: &Recipe, devices: &[Device]) -> Outcome<Vec<RankedPlacement>> {
    let slack = |device: &Device| estimate.slack_bytes.get(&device.name).copied().unwrap_or(0);
    let capacities: Vec<DeviceCapacity> = devices.iter().map(|device| DeviceCapacity::for_planning(device, slack(device))).collect();
    let pins: Pins = pins(&recipe.placement, devices)?;
    let request = PlanRequest::unconstrained(&capacities, &estimate.needs, estimate.plan_time());
    Ok(ranked(&PlanRequest { pins: &pins, ..request })?)
}

/// The best by prediction, the worst, and one from the middle: a wrong order shows where the far
/// ones are quicker.
fn alternatives(ranked: &[RankedPlacement]) -> Vec<Placement> {
    let mut indices: Vec<usize> = (0..ranked.len().min(MAX_RANKED)).collect();
    indices.extend([ranked.len() / 2, ranked.len().saturating_sub(1)]);
    indices.sort_unstable();
    indices.dedup();
    indices.into_iter().filter_map(|index| ranked.get(index)).map(|it| it.placement.clone()).collect()
}

/// Seconds of a picture with a placement, the model being in memory.
fn secs(engine: &Handle, recipe: &Recipe, placement: &Placement) -> Outcome<f64> {
    engine.unload()?;
    let recipe = Recipe { placement: placement.text(), ..recipe.clone() };
    let mut least = f64::INFINITY;
    for seed in 0..2 {
        least = least.min(warm_secs(&picture(engine, &recipe, seed)?));
    }
    Ok(least)
}

fn words(placement: &Placement) -> String {
    let PlacementText { backend, params_backend, max_vram, stream_layers, .. } = placement.text();
    let stream = if stream_layers.is_empty() { "" } else { "stream" };
    [backend.as_str(), &params_backend, &max_vram, stream].join(" ").trim().to_owned()
}
