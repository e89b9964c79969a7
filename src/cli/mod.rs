//! The command line: `atelier generate`, `grid`, `upscale`, `cutout`, `detect`, `plan`, `inspect`,
//! `queue`, `models`, `gallery`, `devices`, `doctor`, `serve`, `studios`, `mcp` and `serve-device`.
//!
//! Flags are parsed first (`flags`) and resolved second (`resolve`); then one job runs to its end
//! (`job`). Invariants: standard output carries paths or, with `--json`, one event a line (`json`),
//! and nothing else; the exit code is one of `exit`'s; both outputs go through one filter
//! (`plain_text`), so no stranger's text steers a terminal. Not here: how pictures are made (the
//! engine is reached by its [`Handle`] alone) and anything of the window.

mod access;
mod devices;
mod doctor;
mod exit;
mod flags;
mod gallery;
mod grid;
mod http;
mod inspect;
mod interrupt;
mod job;
mod job_progress;
pub mod json;
mod mcp;
mod measure;
mod models;
mod plan;
mod printer;
mod pull_first;
mod queue;
mod reporter;
mod resolve;
mod serve;
mod studios;
mod usage_error;
mod vision;

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser};

use exit::Exit;
pub use flags::{
    Command, CutoutFlags, DetectFlags, DevicesFlags, DoctorFlags, GalleryFlags, GenerateFlags, GridFlags, HttpFlags, InspectFlags,
    McpFlags, ModelsFlags, PlanFlags, QueueFlags, ServeFlags, StudiosFlags, UpscaleFlags,
};
use flags::{CommonFlags, ServerFlags};
use interrupt::{Interrupt, Press, no_ctrl_c};
use job::JobOutput;
use printer::Printer;
use reporter::{ProgressLine, quiet_reporter, reporter, write_message};
use usage_error::UsageError;

use atelier_core::cpu_math::CpuMath;
use atelier_core::device::SimulatedDevices;
use atelier_core::paths::Paths;
use atelier_core::placement::{Module, ModuleSet, Placement};
use atelier_core::plain_text::{PlainWriter, plain, plain_line};
use atelier_core::processor::{CPU_LEVEL_VARIABLE, ProcessorError};
use atelier_core::recipe::{PlacementText, Recipe};
use atelier_core::sd_cli::{CommandLine, NoSetting};
use atelier_engine::{Handle, ServerAddress, Task, choose_processor as choose_processor_level, simulate_devices};
use atelier_library::{Builtin, BuiltinError, check_files};
use atelier_studio::EngineWake;
use atelier_studio::picture_index::PictureIndex;
use atelier_studio::terminal;

/// A parsed command line.
#[derive(Debug)]
pub struct Invocation {
    /// `None`: no command was given, the window is meant.
    pub command: Option<Command>,
    /// The files that the window opens.
    pub files: Vec<PathBuf>,
    simulate: Option<SimulatedDevices>,
    cpu_math: Option<CpuMath>,
}

/// Environment variable with simulated devices in the form of `--simulate-devices`, for programs
/// that are started without flags. The flag wins.
pub const SIMULATE_VARIABLE: &str = "ATELIER_SIMULATE_DEVICES";

/// Parses the flags. `Err`: help or an error was printed; the program ends with this code.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Invocation, ExitCode> {
    parse_to(args, &mut terminal::stderr()).map_err(ExitCode::from)
}

fn parse_to(args: impl IntoIterator<Item = OsString>, err: &mut dyn Write) -> Result<Invocation, Exit> {
    let args: Vec<OsString> = args.into_iter().collect();
    let cli = flags::Cli::try_parse_from(&args).map_err(|error| {
        // The exit code is enough where neither output can be written to.
        if error.use_stderr() {
            // It repeats words of the command line, which may be names of files: the same error
            // about harmless words.
            let shown = args.iter().map(|arg| plain_line(&arg.to_string_lossy()).into_owned());
            let error = flags::Cli::try_parse_from(shown).err().unwrap_or(error);
            let _ = write!(err, "{}", error.render());
            if args.iter().any(|arg| arg == "generate")
                && let Some(sentence) = instead(&error)
            {
                let _ = writeln!(err, "{sentence}");
            }
            return Exit::Usage;
        }
        let _ = error.print();
        Exit::Done
    })?;
    if let Some(sentence) = cli.files.iter().find_map(|file| mistyped_command(file)) {
        return Err(refused(&UsageError::NoSuchCommand(sentence), err));
    }
    Ok(Invocation { command: cli.command, files: cli.files, simulate: cli.simulate_devices, cpu_math: cli.cpu_math })
}

/// What does the work of an option of sd-cli that `generate` lacks.
fn instead(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidArg) else { return None };
    let option = NoSetting::named(name).filter(|_| error.kind() == ErrorKind::UnknownArgument)?;
    Some(format!("note: {name} of sd-cli: {}", option.reason()))
}

/// A sentence, where this is more likely a mistyped command than a file for the window.
fn mistyped_command(file: &Path) -> Option<String> {
    let word = file.to_str()?;
    if word.contains(['/', '\\', '.', ':']) || file.exists() {
        return None;
    }
    let command = flags::Cli::command();
    let names = command.get_subcommands().map(clap::Command::get_name);
    let closest = names.map(|name| (strsim::jaro(word, name), name)).max_by(|a, b| a.0.total_cmp(&b.0));
    let advice = match closest.filter(|(likeness, _)| *likeness > 0.7) {
        Some((_, name)) => format!("did you mean {name}?"),
        None => "list the commands with --help".to_owned(),
    };
    Some(format!("there is no command or file named {word}; {advice}"))
}

/// Decides which instructions of the processor this process uses. Call it before anything of the
/// engine runs. `Err`: a sentence for a person, which was printed on standard error; the program
/// ends with this code.
pub fn choose_processor() -> Result<(), (String, ExitCode)> {
    let variable = std::env::var(CPU_LEVEL_VARIABLE).ok();
    match choose_processor_level(variable.as_deref()) {
        Ok(warning) => {
            if let Some(text) = warning {
                write_message(&mut terminal::stderr(), &format!("warning: {text}"));
            }
            Ok(())
        }
        Err(error) => {
            let text = error.advice().to_string();
            write_message(&mut terminal::stderr(), &format!("error: {text}"));
            let exit = if matches!(error, ProcessorError::UnknownLevel(_)) { Exit::Usage } else { Exit::Failed };
            Err((text, exit.into()))
        }
    }
}

/// Adds the simulated devices that the flags or the environment name. Call it before an engine is
/// started. `Err`: the error was printed; the program ends with this code.
pub fn add_simulated_devices(invocation: &Invocation) -> Result<(), ExitCode> {
    let added = match (&invocation.simulate, std::env::var(SIMULATE_VARIABLE)) {
        (Some(devices), _) => simulate_devices(devices).map_err(anyhow::Error::from),
        (None, Ok(text)) => text.parse().map_err(anyhow::Error::from).and_then(|devices| Ok(simulate_devices(&devices)?)),
        (None, Err(_)) => Ok(()),
    };
    added.map_err(|error| {
        write_message(&mut terminal::stderr(), &format!("error: {error}"));
        Exit::Usage.into()
    })
}

/// Makes `--cpu-math` hold for this process, if it was given. Call it before the engine starts.
pub fn choose_cpu_math(invocation: &Invocation) {
    if let Some(wanted) = invocation.cpu_math {
        let used = atelier_engine::choose_cpu_math(Some(wanted));
        if used != wanted {
            let words = format!("warning: this CPU does not support {wanted}; using {used}");
            write_message(&mut terminal::stderr(), &words);
        }
    }
}

/// Shows the help, for a program without a window.
#[must_use]
pub fn help() -> ExitCode {
    let _ = flags::Cli::command().print_help();
    Exit::Usage.into()
}

/// Runs a command with the engine that `start_engine` starts, if it needs one.
pub fn run(command: Command, start_engine: impl FnOnce(EngineWake) -> Handle) -> ExitCode {
    let interrupt = Arc::new(Interrupt::default());
    let err: Box<dyn Write + Send> = Box::new(terminal::stderr());
    let terminal = terminal::is_seen();
    // Not locked: a lender reads it on another thread, to end with the process that started it.
    let mut stdin = BufReader::new(io::stdin());
    let answers: Option<&mut dyn BufRead> = if terminal && io::stdin().is_terminal() { Some(&mut stdin) } else { None };
    let out = &mut *terminal::own_stdout();
    let env = Env { out, err, terminal, answers, paths: Paths::find, builtin: Builtin::find, interrupt, listen: listen_for_ctrl_c };
    run_in(command, start_engine, env).into()
}

/// System that a command runs on; tests give their own.
struct Env<'a, P> {
    out: &'a mut (dyn Write + Send),
    err: Box<dyn Write + Send>,
    terminal: bool,
    /// Answers of the person; `None` where nobody is there.
    answers: Option<&'a mut dyn BufRead>,
    paths: P,
    builtin: fn() -> Result<Builtin, BuiltinError>,
    interrupt: Arc<Interrupt>,
    /// Lets Ctrl-C press the interrupt.
    listen: fn(&Arc<Interrupt>) -> Result<(), ctrlc::Error>,
}

fn run_in<P>(command: Command, start_engine: impl FnOnce(EngineWake) -> Handle, env: Env<'_, P>) -> Exit
where
    P: Fn() -> Result<Paths, atelier_core::paths::NoHome>,
{
    let Env { out, err, terminal, answers, paths, builtin, interrupt, listen } = env;
    // Nothing below has to think of what a stranger's text does to a terminal.
    let mut err: Box<dyn Write + Send> = Box::new(PlainWriter::new(err));
    let mut plain_out;
    let out: &mut (dyn Write + Send) = if command.prints_raw_paths() {
        out
    } else {
        plain_out = PlainWriter::new(out);
        &mut plain_out
    };
    // The loop waits for events on the handle itself.
    let start = || Arc::new(start_engine(Box::new(|| ())));
    let (jobs, servers, report, path_flags, automatic) = match command {
        Command::Models(flags) => {
            let paths = match paths() {
                Ok(paths) => paths,
                Err(error) => return failed(&error.into(), err.as_mut()),
            };
            if let Err(error) = listen(&interrupt) {
                write_message(&mut err, &no_ctrl_c(&error));
            }
            let trash = atelier_library::to_trash;
            return models::run(*flags, models::ModelsEnv { out, err: err.as_mut(), terminal, paths, interrupt, trash });
        }
        Command::Gallery(flags) => {
            let paths = match paths() {
                Ok(paths) => paths,
                Err(error) => return failed(&error.into(), err.as_mut()),
            };
            if let Err(error) = listen(&interrupt) {
                write_message(&mut err, &no_ctrl_c(&error));
            }
            let trash = &mut atelier_gallery::SystemTrash;
            return gallery::run(*flags, gallery::GalleryEnv { out, err: err.as_mut(), terminal, paths, interrupt, trash });
        }
        Command::Generate(flags) if flags.list_devices => {
            return list_devices(&flags.common.servers, flags.report.json, &start(), out, err.as_mut());
        }
        Command::Generate(flags) if flags.as_command => {
            return match with_lookup(&flags.common, &paths, &builtin, |lookup| resolve::as_command(&flags, &paths, lookup)) {
                Ok(copied) => print_command(&copied, out, err.as_mut()),
                Err(error) => refused(&error, err.as_mut()),
            };
        }
        Command::Generate(flags) if flags.studio.is_some() => {
            let folders = match paths() {
                Ok(folders) => folders,
                Err(error) => return failed(&error.into(), err.as_mut()),
            };
            let word = flags.studio.as_deref().unwrap_or_default();
            return match with_lookup(&flags.common, &paths, &builtin, |lookup| resolve::for_studio(&flags, &paths, lookup)) {
                Ok(jobs) => {
                    studios::generate(&flags, word, jobs, studios::RemoteEnv { out, err, terminal, paths: folders, interrupt, listen })
                }
                Err(error) => refused(&error, err.as_mut()),
            };
        }
        Command::Studios(flags) => {
            let paths = match paths() {
                Ok(paths) => paths,
                Err(error) => return failed(&error.into(), err.as_mut()),
            };
            if let Err(error) = listen(&interrupt) {
                write_message(&mut err, &no_ctrl_c(&error));
            }
            let input = &mut io::stdin();
            return studios::run(flags, studios::StudiosEnv { out, err: err.as_mut(), input, paths, interrupt: &interrupt });
        }
        Command::Queue(flags) => {
            let paths = match paths() {
                Ok(paths) => paths,
                Err(error) => return failed(&error.into(), err.as_mut()),
            };
            return queue::run(*flags, start, queue::QueueEnv { out, err, terminal, paths, builtin, interrupt, listen });
        }
        Command::Generate(flags) => {
            if let Some(name) = pull_first::model_name(&flags.common.model)
                && let Ok(paths) = paths()
            {
                let is_json = flags.report.json;
                let env = pull_first::PullEnv {
                    out: &mut *out,
                    err: err.as_mut(),
                    terminal,
                    answers,
                    paths: &paths,
                    interrupt: &interrupt,
                    listen,
                };
                if let Some(exit) = pull_first::pull_first(name, &flags.common.library, &flags.pull, is_json, env) {
                    return exit;
                }
            }
            let jobs = with_lookup(&flags.common, &paths, &builtin, |lookup| resolve::generate(&flags, &paths, lookup));
            (jobs, flags.common.servers, flags.report, flags.paths, !flags.no_auto_placement)
        }
        Command::Grid(flags) => {
            let resolved = with_lookup(&flags.common, &paths, &builtin, |lookup| grid::resolve(&flags, lookup));
            return match resolved {
                Ok(sheet) => {
                    grid::run(&flags, sheet, &start(), grid::GridEnv { out, err, terminal, paths: paths().ok(), interrupt, listen })
                }
                Err(error) => refused(&error, err.as_mut()),
            };
        }
        Command::Upscale(flags) => {
            let find = |name: &str| models::find_upscaler(name, &flags.library, &paths);
            let pickles = || models::allows_pickles(&paths);
            (resolve::upscale(&flags, find, pickles).map(|job| vec![job]), flags.servers, flags.report, flags.paths, true)
        }
        Command::Plan(flags) => {
            return match with_lookup(&flags.common, &paths, &builtin, |lookup| resolve::plan(&flags, lookup)) {
                Ok((recipe, changed)) => match plan::run(&recipe, changed, &flags, &start(), out, err.as_mut()) {
                    Ok(true) => Exit::Done,
                    Ok(false) => Exit::Failed,
                    Err(error) => failed(&error, err.as_mut()),
                },
                Err(error) => refused(&error, err.as_mut()),
            };
        }
        Command::Cutout(flags) => {
            if let Err(error) = listen(&interrupt) {
                write_message(&mut err, &no_ctrl_c(&error));
            }
            return vision::cutout(&flags, out, err.as_mut(), &interrupt);
        }
        Command::Detect(flags) => {
            if let Err(error) = listen(&interrupt) {
                write_message(&mut err, &no_ctrl_c(&error));
            }
            return vision::detect(&flags, out, err.as_mut(), &interrupt);
        }
        Command::Inspect(flags) => return inspect::run(&flags, out, err.as_mut()),
        Command::Devices(flags) if flags.measure => {
            return match measure::run(&flags, &start(), out, err.as_mut()) {
                Ok(()) => Exit::Done,
                Err(error) => failed(&error, err.as_mut()),
            };
        }
        Command::Devices(flags) => return list_devices(&flags.servers, flags.json, &start(), out, err.as_mut()),
        Command::Doctor(flags) => {
            if let Err(error) = listen(&interrupt) {
                write_message(&mut err, &no_ctrl_c(&error));
            }
            let env = doctor::DoctorEnv { out, err: err.as_mut(), paths: paths(), builtin: builtin(), interrupt };
            return doctor::run(&flags, &start(), env);
        }
        Command::Serve(flags) => {
            let paths = match paths() {
                Ok(paths) => paths,
                Err(error) => return failed(&error.into(), err.as_mut()),
            };
            if let Some(command) = &flags.command {
                return access::run(command, &paths, out, err.as_mut());
            }
            let env = http::HttpEnv { out, err: err.as_mut(), paths, builtin: builtin(), interrupt, listen };
            return http::serve(*flags, start, env);
        }
        Command::Mcp(flags) => {
            let paths = match paths() {
                Ok(paths) => paths,
                Err(error) => return failed(&error.into(), err.as_mut()),
            };
            let env = http::HttpEnv { out, err: err.as_mut(), paths, builtin: builtin(), interrupt, listen };
            return mcp::run(*flags, start, env);
        }
        Command::ServeDevice(flags) => {
            return serve::serve(flags, out, err.as_mut()).unwrap_or_else(|error| failed(&error, err.as_mut()));
        }
    };
    let jobs = match jobs {
        Ok(jobs) => jobs,
        Err(error) => return refused(&error, err.as_mut()),
    };
    let handle = start();
    let jobs: Vec<_> = jobs.into_iter().map(|job| complete_streaming(job, &servers.rpc_servers, &handle, err.as_mut())).collect();
    interrupt.watch(&handle);
    let mut reporter = if report.json { quiet_reporter(err) } else { reporter(err, terminal) };
    reporter.update(&ProgressLine::new("Starting"));
    let printer = Printer::new(out, report.json).with_null(path_flags.null);
    let mut output = JobOutput::new(printer, reporter, &report);
    if let Err(error) = listen(&interrupt) {
        output.reporter.message(&no_ctrl_c(&error));
    }
    if !automatic && let Err(busy) = handle.place_automatically(false) {
        output.reporter.message(&format!("warning: {busy}"));
    }
    for server in servers.rpc_servers {
        if let Err(busy) = handle.add_server(server) {
            output.reporter.message(&format!("warning: {busy}"));
        }
    }
    let mut index = PictureIndex::new(paths().ok());
    let mut exit = Exit::Done;
    for job in jobs {
        let of_job = job::run_job(&handle, job, &mut index, &interrupt, &mut output);
        // Whatever went wrong with one of them is what the command says.
        exit = if matches!(of_job, Exit::Done) { exit } else { of_job };
        if matches!(of_job, Exit::Cancelled) || interrupt.pressed() {
            break;
        }
    }
    exit
}

/// Adds what streaming of layers needs to a job that asks for it without, with a note.
fn complete_streaming(
    mut job: resolve::ResolvedJob,
    servers: &[ServerAddress],
    handle: &Handle,
    err: &mut dyn Write,
) -> resolve::ResolvedJob {
    let Task::Generate { recipe, .. } = &mut job.task else { return job };
    if recipe.placement.stream_layers.is_empty() {
        return job;
    }
    // Where it cannot be resolved, the job says why.
    let Ok(devices) = devices::query(handle, servers, err) else { return job };
    let whole = whole_modules(recipe, handle);
    let with = Placement::parse(&recipe.placement, &devices).ok().and_then(|it| it.with_needs_of_streaming(&devices, whole));
    if let Some(with) = with {
        recipe.placement = with.text();
        let PlacementText { params_backend, max_vram, .. } = &recipe.placement;
        job.notes.push(format!(
            "Streaming layers needs weights in RAM and a memory budget: --params-backend {params_backend} --max-vram {max_vram} \
             is used."
        ));
    }
    job
}

/// Modules of a recipe that run as a whole although others of their kind have layers: by the files, and
/// by an estimate, which knows the picture's size.
fn whole_modules(recipe: &Recipe, handle: &Handle) -> ModuleSet {
    if !recipe.placement.stream_layers.contains(Module::Vae) {
        return ModuleSet::NONE;
    }
    // Where a file cannot be read, the job says why.
    if check_files(&recipe.files, &[]).is_ok_and(|checked| !checked.family.streams_vae(&recipe.files)) {
        return ModuleSet::VAE;
    }
    plan::query_estimate(recipe, handle).map_or(ModuleSet::NONE, |estimate| estimate.needs.whole())
}

/// Resolves flags with the library that they name.
fn with_lookup<T>(
    common: &CommonFlags,
    paths: &impl Fn() -> Result<Paths, atelier_core::paths::NoHome>,
    builtin: &dyn Fn() -> Result<Builtin, BuiltinError>,
    resolve: impl FnOnce(&resolve::Lookup<'_>) -> Result<T, UsageError>,
) -> Result<T, UsageError> {
    let model = |name: &str| models::find(name, &common.library, paths);
    let like = |path: &Path| models::open_picture(path, &common.library, paths, builtin);
    let loras = |names: &[String]| models::find_loras(names, common.model.lora_model_dir.as_deref(), &common.library, paths);
    let upscaler = |name: &str| models::find_upscaler(name, &common.library, paths);
    resolve(&resolve::Lookup { model: &model, loras: &loras, like: &like, upscaler: &upscaler, builtin })
}

fn listen_for_ctrl_c(interrupt: &Arc<Interrupt>) -> Result<(), ctrlc::Error> {
    let interrupt = Arc::clone(interrupt);
    let listening = ctrlc::set_handler(move || {
        if interrupt.press() == Press::Again {
            std::process::exit(Exit::Cancelled as i32);
        }
    });
    match listening {
        // A download before the job listens already, with the one interrupt of the process.
        Err(ctrlc::Error::MultipleHandlers) => Ok(()),
        listening => listening,
    }
}

fn refused(error: &UsageError, err: &mut dyn Write) -> Exit {
    write_message(err, &format!("error: {error}"));
    if error.is_missing_resource() { Exit::Failed } else { Exit::Usage }
}

/// Prints a command line on standard output, and on standard error what it cannot express.
fn print_command(copied: &CommandLine, out: &mut dyn Write, err: &mut dyn Write) -> Exit {
    for note in &copied.left_out {
        write_message(err, note);
    }
    if plain(&copied.line) != copied.line {
        let words = "note: terminal control characters in the command are shown as numbers, such as \\u001b";
        write_message(err, words);
    }
    match writeln!(out, "{}", copied.line).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => failed(&error.into(), err),
        Ok(()) | Err(_) => Exit::Done,
    }
}

fn list_devices(servers: &ServerFlags, json: bool, handle: &Handle, out: &mut dyn Write, err: &mut dyn Write) -> Exit {
    let listed = devices::query(handle, &servers.rpc_servers, err);
    match listed.map(|devices| devices::print(&devices, atelier_engine::processor(), json, out)) {
        Err(error) => failed(&error, err),
        Ok(Err(error)) if error.kind() != io::ErrorKind::BrokenPipe => failed(&error.into(), err),
        Ok(Ok(()) | Err(_)) => Exit::Done,
    }
}

fn failed(error: &anyhow::Error, err: &mut dyn Write) -> Exit {
    write_message(err, &format!("error: {error:#}"));
    Exit::Failed
}

#[cfg(test)]
mod tests;
