//! `atelier studios`: studios of the network, those that are kept, and their models; and pictures
//! that one of them makes (`generate --studio`).

mod generate;
mod locate;
mod request;

use std::io::{self, Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use super::devices::aligned;
use super::exit::Exit;
use super::flags::{StudiosCommand, StudiosFlags};
use super::interrupt::Interrupt;
use super::json::StudioLine;
use super::printer::Printer;
use super::reporter::write_message;
use atelier_core::paths::Paths;
use atelier_core::recipe::PartialRecipe;
use atelier_library::Defaults;
use atelier_peers::{AccessToken, Browser, FoundStudio, KeptStudio, KeptStudios, Network, StudioLink};
pub(super) use generate::{RemoteEnv, generate};
use locate::{locate, read_kept};

/// Longest time until a press of Ctrl-C ends a search.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Longest token that is read from standard input, in bytes.
const MAX_TOKEN_INPUT: u64 = 4096;

/// System that the command runs on; tests give their own.
pub(super) struct StudiosEnv<'a> {
    pub(super) out: &'a mut dyn Write,
    pub(super) err: &'a mut dyn Write,
    pub(super) input: &'a mut dyn Read,
    pub(super) paths: Paths,
    pub(super) interrupt: &'a Interrupt,
}

/// Carries out the command.
pub(super) fn run(flags: StudiosFlags, env: StudiosEnv<'_>) -> Exit {
    let StudiosEnv { out, err, input, paths, interrupt } = env;
    let file = paths.studios_file();
    let done = match flags.command {
        None => list(flags.seconds, &file, interrupt, &mut Printer::new(out, flags.json), err),
        Some(StudiosCommand::Add { studio, name, token, json }) => {
            add((&studio, name.as_deref(), token.as_deref()), input, &file, &mut Printer::new(out, json), err)
        }
        Some(StudiosCommand::Rm { name }) => forget(&name, &file, &mut Printer::new(out, false)),
        Some(StudiosCommand::Models { studio, json }) => models(&studio, &file, &mut Printer::new(out, json), err),
    };
    match done {
        Ok(()) if interrupt.pressed() => Exit::Cancelled,
        Ok(()) => Exit::Done,
        // Nobody reads any more.
        Err(error) if error.downcast_ref::<io::Error>().is_some_and(|it| it.kind() == io::ErrorKind::BrokenPipe) => Exit::Done,
        Err(error) => {
            write_message(err, &format!("error: {error:#}"));
            Exit::Failed
        }
    }
}

/// Lists what is found within this time, and what is kept.
fn list(seconds: u64, file: &Path, interrupt: &Interrupt, printer: &mut Printer<'_>, err: &mut dyn Write) -> anyhow::Result<()> {
    let kept = read_kept(file)?;
    let found = match search(Duration::from_secs(seconds), interrupt) {
        Ok(found) => found,
        Err(error) if kept.iter().next().is_some() => {
            // Those that are kept can be used all the same.
            write_message(err, &format!("warning: {error:#}"));
            Vec::new()
        }
        Err(error) => return Err(error),
    };
    let lines = lines(&found, &kept);
    for line in &lines {
        printer.json(line)?;
    }
    if lines.is_empty() {
        printer.text("No studio was found. Others share theirs with: atelier serve --host 0.0.0.0 --allow-network --announce")?;
        return Ok(());
    }
    let rows = lines.iter().filter_map(|line| match line {
        StudioLine::Studio { name, url, is_found, needs_token, has_token, .. } => {
            let state = if *is_found { "in the network" } else { "kept" };
            let token = match (has_token, needs_token) {
                (true, _) => "token kept",
                (false, Some(false)) => "open",
                (false, Some(true)) => "needs a token",
                (false, None) => "",
            };
            Some([name.clone(), url.clone(), state.to_owned(), token.to_owned()])
        }
        StudioLine::Model { .. } => None,
    });
    let title = ["NAME", "ADDRESS", "STATE", "ACCESS"].map(str::to_owned);
    let table: Vec<[String; 4]> = std::iter::once(title).chain(rows).collect();
    printer.lines(aligned(&table).trim_end_matches('\n'))?;
    Ok(())
}

/// The studios of the network that are found within this time.
fn search(within: Duration, interrupt: &Interrupt) -> anyhow::Result<Vec<FoundStudio>> {
    if within.is_zero() {
        return Ok(Vec::new());
    }
    let mut browser = Browser::start(Network::Local)?;
    let deadline = Instant::now() + within;
    while !interrupt.pressed() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        browser.wait(left.min(POLL_INTERVAL));
    }
    Ok(browser.studios())
}

/// A line for each studio that is found or kept; one that is both has one.
fn lines(found: &[FoundStudio], kept: &KeptStudios) -> Vec<StudioLine> {
    let of_found = found.iter().map(|studio| {
        let known = kept.at(&studio.address);
        StudioLine::Studio {
            name: studio.name.clone(),
            url: studio.address.to_string(),
            is_found: true,
            is_kept: known.is_some(),
            needs_token: Some(studio.needs_token),
            has_token: known.is_some_and(|it| it.token.is_some()),
        }
    });
    let others = kept.iter().filter(|studio| !found.iter().any(|it| it.address == studio.address));
    of_found.chain(others.map(kept_line)).collect()
}

/// The line of a studio that is kept and was not looked for.
fn kept_line(studio: &KeptStudio) -> StudioLine {
    StudioLine::Studio {
        name: studio.name.clone(),
        url: studio.address.to_string(),
        is_found: false,
        is_kept: true,
        needs_token: None,
        has_token: studio.token.is_some(),
    }
}

/// Keeps a studio, once it has let this computer in.
fn add(
    (word, name, token): (&str, Option<&str>, Option<&str>),
    input: &mut dyn Read,
    file: &Path,
    printer: &mut Printer<'_>,
    err: &mut dyn Write,
) -> anyhow::Result<()> {
    let mut located = locate(word, file)?;
    if let Some(note) = &located.note {
        write_message(err, note);
    }
    if let Some(token) = token {
        let mut typed = String::new();
        let text = if token == "-" {
            input.take(MAX_TOKEN_INPUT).read_to_string(&mut typed)?;
            typed.as_str()
        } else {
            token
        };
        located.token = Some(AccessToken::new(text).ok_or_else(|| anyhow::anyhow!("this is not a token"))?);
    }
    if let Some(name) = name {
        anyhow::ensure!(!StudioLink::is_address(name), "{name} is an address; choose another name with --name");
        name.clone_into(&mut located.name);
    }
    let studio = located.studio()?;
    studio.name().clone_into(&mut located.name);
    let offer = studio.offer()?;
    let mut kept = read_kept(file)?;
    if name.is_none()
        && let Some(other) = kept.named(&located.name).filter(|it| it.address != located.address)
    {
        anyhow::bail!("a studio named {} is kept already, at {}; choose another name with --name", other.name, other.address);
    }
    let added = KeptStudio { name: located.name, address: located.address, token: located.token, id: offer.id };
    let line = kept_line(&added);
    let sentence = format!("{} is kept; it has {}.", added.name, counted(offer.models.len()));
    anyhow::ensure!(kept.keep(added), "too many studios are kept; remove one with: atelier studios rm");
    kept.write(file)?;
    printer.json(&line)?;
    printer.text(&sentence)?;
    Ok(())
}

fn counted(models: usize) -> String {
    if models == 1 { "1 model".to_owned() } else { format!("{models} models") }
}

fn forget(name: &str, file: &Path, printer: &mut Printer<'_>) -> anyhow::Result<()> {
    let mut kept = read_kept(file)?;
    anyhow::ensure!(kept.forget(name), "no studio named {name} is kept; list them with: atelier studios");
    kept.write(file)?;
    printer.text(&format!("{name} and its token are forgotten."))?;
    Ok(())
}

fn models(word: &str, file: &Path, printer: &mut Printer<'_>, err: &mut dyn Write) -> anyhow::Result<()> {
    let located = locate(word, file)?;
    if let Some(note) = &located.note {
        write_message(err, note);
    }
    let studio = located.studio()?;
    let models = studio.offer()?.models;
    for model in &models {
        let defaults = defaults_of(&model.defaults);
        printer.json(&StudioLine::Model { studio: studio.name().to_owned(), name: model.name.clone(), defaults })?;
        printer.text(&model.name)?;
    }
    if models.is_empty() {
        printer.text(&format!("{} has no models.", studio.name()))?;
    }
    Ok(())
}

/// What a studio tells of the settings that suit a model, as those of a model here are told.
fn defaults_of(told: &PartialRecipe) -> Defaults {
    Defaults {
        steps: told.steps,
        cfg: told.guidance,
        distilled_guidance: told.distilled_guidance,
        width: told.width,
        height: told.height,
        sampler: told.sampler.flatten(),
        scheduler: told.scheduler.flatten(),
        flow_shift: told.flow_shift.flatten(),
        eta: told.eta.flatten(),
        clip_skip: told.clip_skip.flatten(),
        ..Defaults::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_studio_that_is_found_and_kept_has_one_line_with_its_own_name() {
        let address = |text: &str| text.parse::<StudioLink>().unwrap().address;
        let mut kept = KeptStudios::default();
        for (name, url) in [("Anna", "192.168.1.5"), ("Ben", "192.168.1.6")] {
            assert!(kept.keep(KeptStudio {
                name: name.into(),
                address: address(url),
                token: AccessToken::new("0123456789abcdef"),
                id: None
            }));
        }
        let found = |name: &str, url: &str| FoundStudio { name: name.into(), address: address(url), needs_token: true, id: None };
        let lines = lines(&[found("Studio of Anna", "192.168.1.5"), found("Ben", "192.168.1.66")], &kept);
        let told: Vec<(&str, bool, bool, bool)> = lines
            .iter()
            .map(|line| match line {
                StudioLine::Studio { name, is_found, is_kept, has_token, .. } => (name.as_str(), *is_found, *is_kept, *has_token),
                StudioLine::Model { .. } => panic!(),
            })
            .collect();
        // Whoever takes the name of a studio that is kept is not taken for it.
        assert_eq!(told, [("Studio of Anna", true, true, true), ("Ben", true, false, false), ("Ben", false, true, true)]);
    }
}
