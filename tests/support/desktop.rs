//! Uses the real program as a person does: on a screen, with a pointer and a keyboard.
//!
//! The window's controls are found by their accessible names, through the loopback port that eframe
//! opens in builds with the feature `inspection`; input comes from the X server, so it takes the
//! way that a person's takes. No window manager runs. Nothing here injects events into egui, and
//! nothing waits for a fixed time: everything waits for something to be seen.

#![allow(dead_code, reason = "a box of tools: no test needs all of them")]

use std::fs::{self, File};
use std::io::{BufReader, BufWriter};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use eframe::egui::accesskit::{Node, NodeId, Role, Toggled, TreeUpdate};
use egui_inspection::protocol::{read_handshake, read_message, write_message};
use egui_inspection::{PROTOCOL_VERSION, Request, Response};
use image::RgbImage;
use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::{ClientMessageEvent, ConnectionExt as _, EventMask};

use crate::screen::{Area, Screen};

/// Longest time until the program opens its window.
const START: Duration = Duration::from_mins(1);
/// Longest time until a control appears, or comes to rest, before a click, on a busy machine.
const CONTROL_TIMEOUT: Duration = Duration::from_mins(2);
/// Time between two polls.
const POLL_INTERVAL: Duration = Duration::from_millis(30);

/// A control of the window, as a screen reader would hear of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Control {
    pub(crate) name: String,
    /// Button, text field, ...
    pub(crate) role: Role,
    /// Its place on the screen; `None` where it is not drawn.
    pub(crate) area: Option<Area>,
    /// Its value: a text, a number.
    pub(crate) value: String,
    /// It can be used.
    pub(crate) enabled: bool,
    /// State of a switch; `None` where it is no switch.
    pub(crate) on: Option<bool>,
    /// Keys go to it.
    pub(crate) has_keyboard: bool,
}

/// A free port of a loopback address that no other window has. Between asking and use a port of
/// 127.0.0.1 could be taken by another program, or by the very connection that waits for the
/// program to listen, which then speaks with itself.
fn unused_address() -> Result<SocketAddr> {
    static WINDOWS: AtomicU8 = AtomicU8::new(1);
    let [_, _, high, low] = std::process::id().to_be_bytes();
    let host = Ipv4Addr::new(127, 1 + high % 250, low, WINDOWS.fetch_add(1, Ordering::Relaxed));
    Ok(TcpListener::bind((host, 0))?.local_addr()?)
}

/// The program, running on a screen of its own.
pub(crate) struct Desktop {
    program: Child,
    window: u32,
    reader: BufReader<TcpStream>,
    writer: BufWriter<TcpStream>,
    log: PathBuf,
    screen: Screen,
    _folder: tempfile::TempDir,
}

impl Desktop {
    /// Starts `program` on a new screen of `size` pixels and waits until its window is there.
    pub(crate) fn start(program: &Path, args: &[&str], env: &[(&str, &str)], size: (u32, u32)) -> Result<Self> {
        let screen = Screen::start(size.0, size.1)?;
        let folder = tempfile::tempdir()?;
        let log = folder.path().join("program.log");
        let output = File::create(&log)?;
        let address = unused_address()?;
        let program = Command::new(program)
            .args(args)
            .env("DISPLAY", &screen.display)
            .env("EGUI_INSPECTION", address.to_string())
            .env("LIBGL_ALWAYS_SOFTWARE", "1")
            // Tests name controls in English, whatever their machine speaks.
            .env("LC_ALL", "C")
            .env_remove("WAYLAND_DISPLAY")
            .env_remove("WAYLAND_SOCKET")
            .envs(env.iter().copied())
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .with_context(|| format!("{} could not be started", program.display()))?;
        let mut program = Guard(Some(program));
        let stream = connect(address, &mut program).with_context(|| said(&log))?;
        let mut reader = BufReader::new(stream.try_clone()?);
        let version = read_handshake(&mut reader)?;
        ensure!(version == PROTOCOL_VERSION, "the program speaks version {version} of the inspection protocol");
        let program = program.0.take().context("the program is gone")?;
        let mut desktop = Self { program, window: 0, reader, writer: BufWriter::new(stream), log, screen, _folder: folder };
        desktop.window = desktop.wait("the window", START, Self::visible_window)?;
        // Without a window manager nothing gives a window the keyboard.
        desktop.xdotool(&["windowfocus", &desktop.window.to_string()])?;
        Ok(desktop)
    }

    /// The control of this name, if the window shows one.
    pub(crate) fn find(&mut self, name: &str) -> Result<Option<Control>> {
        self.find_by(|it| it.name == name)
    }

    /// The control that `is_it` knows. Where there are several, a control goes before the text that
    /// labels it, and one that can be used before one that cannot.
    pub(crate) fn find_by(&mut self, is_it: impl Fn(&Control) -> bool) -> Result<Option<Control>> {
        let mut found: Vec<Control> = self.controls()?.into_iter().filter(is_it).collect();
        found.sort_by_key(|it| (matches!(it.role, Role::Label | Role::TextRun), !it.enabled, it.area.is_none()));
        Ok(found.into_iter().next())
    }

    /// Every control that has a name or a value.
    pub(crate) fn controls(&mut self) -> Result<Vec<Control>> {
        let Response::Tree { pixels_per_point, accesskit, .. } = self.ask(&Request::GetTree)? else { bail!("no tree came") };
        Ok(accesskit.map(|tree| controls_of(&tree, pixels_per_point)).unwrap_or_default())
    }

    /// Waits until the window shows a control of this name.
    pub(crate) fn wait_for(&mut self, name: &str, limit: Duration) -> Result<Control> {
        self.wait(&format!("\u{201c}{name}\u{201d}"), limit, |it| it.find(name))
    }

    /// Waits until `look` sees something, and says what it was waiting for if it never does.
    pub(crate) fn wait<T>(&mut self, what: &str, limit: Duration, mut look: impl FnMut(&mut Self) -> Result<Option<T>>) -> Result<T> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(seen) = look(self).with_context(|| said(&self.log))? {
                return Ok(seen);
            }
            if let Some(status) = self.program.try_wait()? {
                bail!("the program ended ({status}) while the test waited for {what}; {}", said(&self.log));
            }
            if Instant::now() > deadline {
                let shown: Vec<String> = self.controls()?.into_iter().map(|it| format!("{} = {:?}", it.name, it.value)).collect();
                bail!("{what} did not come within {} s; the window shows {shown:?}; {}", limit.as_secs(), said(&self.log));
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Place of the control that `look` sees, once it has stopped moving: what a window shows when
    /// it opens settles for some frames.
    pub(crate) fn resting_place(
        &mut self,
        what: &str,
        limit: Duration,
        mut look: impl FnMut(&mut Self) -> Result<Option<Control>>,
    ) -> Result<Area> {
        let mut last = None;
        self.wait(what, limit, |it| {
            let area = look(it)?.and_then(|control| control.area);
            let resting = area.filter(|_| area == last);
            last = area;
            Ok(resting)
        })
    }

    /// Moves the pointer to the control of this name and clicks, once it can be used and has
    /// stopped moving.
    pub(crate) fn click(&mut self, name: &str) -> Result<()> {
        let what = format!("\u{201c}{name}\u{201d}, ready to be clicked,");
        let area = self.resting_place(&what, CONTROL_TIMEOUT, |it| Ok(it.find(name)?.filter(|control| control.enabled)))?;
        let (x, y) = area.centre();
        self.click_at(x, y)
    }

    /// Clicks on a point of the screen, in pixels.
    pub(crate) fn click_at(&mut self, x: u32, y: u32) -> Result<()> {
        self.move_to(x, y)?;
        self.xdotool(&["click", "1"])
    }

    /// Presses and releases the secondary button on a point of the screen, in pixels.
    pub(crate) fn right_click_at(&mut self, x: u32, y: u32) -> Result<()> {
        self.move_to(x, y)?;
        self.xdotool(&["click", "3"])
    }

    /// Moves the pointer to a point of the screen, in pixels.
    pub(crate) fn move_to(&mut self, x: u32, y: u32) -> Result<()> {
        self.xdotool(&["mousemove", "--sync", &x.to_string(), &y.to_string()])
    }

    /// Drags from one point of the screen to another, in pixels, as a hand does: a little at a
    /// time.
    pub(crate) fn drag(&mut self, from: (u32, u32), to: (u32, u32)) -> Result<()> {
        const PARTS: u32 = 8;
        self.move_to(from.0, from.1)?;
        self.xdotool(&["mousedown", "1"])?;
        for part in 1..=PARTS {
            let between = |from: u32, to: u32| (from * (PARTS - part) + to * part) / PARTS;
            self.move_to(between(from.0, to.0), between(from.1, to.1))?;
            // The program answers once it has seen the pointer there.
            self.controls()?;
        }
        self.xdotool(&["mouseup", "1"])
    }

    /// Turns the wheel downwards at a point of the screen, so many notches.
    pub(crate) fn scroll_down(&mut self, (x, y): (u32, u32), notches: u32) -> Result<()> {
        self.move_to(x, y)?;
        self.xdotool(&["click", "--repeat", &notches.to_string(), "--delay", "15", "5"])
    }

    /// Types a text into whatever has the keyboard: what a plain keyboard writes. For other letters
    /// xdotool changes the keyboard under the program's hands, and letters get lost.
    pub(crate) fn type_text(&mut self, text: &str) -> Result<()> {
        ensure!(text.is_ascii(), "{text:?} is not on a plain keyboard");
        self.xdotool(&["type", "--delay", "8", "--", text])
    }

    /// Presses a key, by the names of X: `Escape`, `ctrl+Return`.
    pub(crate) fn press(&mut self, key: &str) -> Result<()> {
        self.xdotool(&["key", key])
    }

    /// Replaces what the text field of this name holds, and waits until it holds the new text.
    pub(crate) fn fill(&mut self, name: &str, text: &str) -> Result<()> {
        let has_keyboard = |it: &Control| it.name == name && it.has_keyboard;
        if self.find_by(has_keyboard)?.is_none() {
            self.click(name)?;
            // Keys that come in one frame with the click are taken before it: nothing is selected.
            self.wait(&format!("the keyboard in \u{201c}{name}\u{201d}"), CONTROL_TIMEOUT, |it| it.find_by(has_keyboard))?;
            // A frame more, which sees the button go up.
            self.controls()?;
        }
        self.press("ctrl+a")?;
        self.type_text(text)?;
        self.wait(&format!("{text:?} in \u{201c}{name}\u{201d}"), CONTROL_TIMEOUT, |it| Ok(it.find(name)?.filter(|it| it.value == text)))?;
        Ok(())
    }

    /// Picture of the screen.
    pub(crate) fn shot(&self) -> Result<RgbImage> {
        self.screen.shot()
    }

    /// Writes what the screen shows as a PNG, once it has come to rest: what the program knows
    /// reaches the screen a frame later.
    pub(crate) fn screenshot(&mut self, path: &Path) -> Result<RgbImage> {
        let mut last = None;
        let image = self.wait("a screen that has come to rest", CONTROL_TIMEOUT, |it| {
            // The program answers with a frame: however long that takes, two looks see two frames.
            it.controls()?;
            let now = it.shot()?;
            let resting = last.as_ref() == Some(&now);
            last = Some(now.clone());
            Ok(resting.then_some(now))
        })?;
        image.save(path)?;
        Ok(image)
    }

    /// The area of the window on the screen.
    pub(crate) fn window_area(&self) -> Result<Area> {
        let text = self.xdotool_says(&["getwindowgeometry", "--shell", &self.window.to_string()])?;
        let field = |name: &str| -> Result<u32> {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
            line.and_then(|value| value.parse().ok()).with_context(|| format!("xdotool says no {name}"))
        };
        Ok(Area { x: field("X")?, y: field("Y")?, width: field("WIDTH")?, height: field("HEIGHT")? })
    }

    /// Moves and sizes the window as a window manager does, in pixels.
    pub(crate) fn place_window(&mut self, area: Area) -> Result<()> {
        let (window, text) = (self.window.to_string(), |number: u32| number.to_string());
        self.xdotool(&["windowmove", &window, &text(area.x), &text(area.y)])?;
        self.xdotool(&["windowsize", &window, &text(area.width), &text(area.height)])?;
        self.wait("the window in its new place", CONTROL_TIMEOUT, |it| Ok((it.window_area()? == area).then_some(())))
    }

    /// The name by which other programs find the screen.
    pub(crate) fn display(&self) -> &str {
        &self.screen.display
    }

    /// A property of the window, as its bytes.
    pub(crate) fn property(&self, name: &str) -> Result<Vec<u8>> {
        let (connection, _) = x11rb::connect(Some(&self.screen.display))?;
        let atom = connection.intern_atom(true, name.as_bytes())?.reply()?.atom;
        Ok(connection.get_property(false, self.window, atom, 0_u32, 0, 4 << 20)?.reply()?.value)
    }

    /// Clicks on a point of the screen that is no text field, and waits until no text field has the
    /// keyboard: a key that comes in the same frame as the click is still typed into the field.
    pub(crate) fn click_beside_text(&mut self, x: u32, y: u32) -> Result<()> {
        self.click_at(x, y)?;
        self.wait("a keyboard that no text field has", CONTROL_TIMEOUT, |it| Ok((!it.types_into_text()?).then_some(())))
    }

    /// A text field has the keyboard.
    fn types_into_text(&mut self) -> Result<bool> {
        let Response::Tree { accesskit, .. } = self.ask(&Request::GetTree)? else { bail!("no tree came") };
        let focused = |tree: &TreeUpdate| tree.nodes.iter().find(|(id, _)| *id == tree.focus).map(|(_, node)| node.role());
        Ok(matches!(accesskit.as_ref().and_then(focused), Some(Role::TextInput | Role::MultilineTextInput)))
    }

    /// Asks the program to end, as the system does when its person logs out.
    pub(crate) fn terminate(&self) -> Result<()> {
        let killed = Command::new("kill").args(["-TERM", &self.program.id().to_string()]).status()?;
        ensure!(killed.success(), "the program could not be told to end");
        Ok(())
    }

    /// Asks the window to close, as the button in its title bar does.
    pub(crate) fn close(&mut self) -> Result<()> {
        let (connection, _) = x11rb::connect(Some(&self.screen.display))?;
        let atom = |name: &str| -> Result<u32> { Ok(connection.intern_atom(false, name.as_bytes())?.reply()?.atom) };
        let message = ClientMessageEvent::new(32, self.window, atom("WM_PROTOCOLS")?, [atom("WM_DELETE_WINDOW")?, 0, 0, 0, 0]);
        connection.send_event(false, self.window, EventMask::NO_EVENT, message)?.check()?;
        connection.flush()?;
        Ok(())
    }

    /// Waits until the program has ended.
    pub(crate) fn wait_for_end(&mut self, limit: Duration) -> Result<ExitStatus> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(status) = self.program.try_wait()? {
                return Ok(status);
            }
            if Instant::now() > deadline {
                bail!("the program did not end within {} s; {}", limit.as_secs(), said(&self.log));
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Ends the program at once, as a power cut does.
    pub(crate) fn kill(&mut self) -> Result<ExitStatus> {
        self.program.kill()?;
        Ok(self.program.wait()?)
    }

    /// The number of the program's process.
    pub(crate) fn process_id(&self) -> u32 {
        self.program.id()
    }

    /// Output of the program so far.
    pub(crate) fn output(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    fn visible_window(&mut self) -> Result<Option<u32>> {
        let output = self.xdotool_command(&["search", "--onlyvisible", "--pid", &self.program.id().to_string()]).output()?;
        // Without a match xdotool fails, as it does while the window is being made.
        Ok(String::from_utf8_lossy(&output.stdout).lines().next().and_then(|line| line.parse().ok()))
    }

    fn ask(&mut self, request: &Request) -> Result<Response> {
        write_message(&mut self.writer, request)?;
        match read_message(&mut self.reader)? {
            Response::Error { message } => Err(anyhow!(message)),
            answer => Ok(answer),
        }
    }

    fn xdotool(&self, args: &[&str]) -> Result<()> {
        self.xdotool_says(args).map(drop)
    }

    fn xdotool_says(&self, args: &[&str]) -> Result<String> {
        let output = self
            .xdotool_command(args)
            .output()
            .context("xdotool could not be started: install the package `xdotool`, or let `cargo xtask test` do it")?;
        if !output.status.success() {
            bail!("xdotool {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    fn xdotool_command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("xdotool");
        command.args(args).env("DISPLAY", &self.screen.display);
        command
    }
}

impl Drop for Desktop {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

/// Ends the program where starting fails half-way.
struct Guard(Option<Child>);

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(program) = &mut self.0 {
            let _ = program.kill();
            let _ = program.wait();
        }
    }
}

fn connect(address: SocketAddr, program: &mut Guard) -> Result<TcpStream> {
    let deadline = Instant::now() + START;
    loop {
        if let Ok(stream) = TcpStream::connect(address) {
            stream.set_read_timeout(Some(START))?;
            stream.set_nodelay(true)?;
            return Ok(stream);
        }
        let ended = program.0.as_mut().map(Child::try_wait).transpose()?.flatten();
        if let Some(status) = ended {
            bail!("the program ended ({status}) before it opened a window");
        }
        if Instant::now() > deadline {
            bail!("the program opened no window within {} s", START.as_secs());
        }
        thread::sleep(POLL_INTERVAL);
    }
}

fn said(log: &Path) -> String {
    format!("the program said: {:?}", fs::read_to_string(log).unwrap_or_default())
}

/// The named controls of a tree, with their places in pixels.
pub(crate) fn controls_of(tree: &TreeUpdate, pixels_per_point: f32) -> Vec<Control> {
    let node = |id: &NodeId| tree.nodes.iter().find(|(other, _)| other == id).map(|(_, node)| node);
    let own = |node: &Node| node.label().or_else(|| node.value().filter(|_| node.role() == Role::Label)).map(str::to_owned);
    let name = |it: &Node| {
        let labels: Vec<String> = it.labelled_by().iter().filter_map(node).filter_map(own).collect();
        let labelled = (!labels.is_empty()).then(|| labels.join(" "));
        own(it).or(labelled).or_else(|| it.placeholder().map(str::to_owned)).unwrap_or_default()
    };
    let scale = |length: f64| (length * f64::from(pixels_per_point)).max(0.0) as u32;
    let control = |id: NodeId, it: &Node| Control {
        name: name(it),
        role: it.role(),
        area: it.bounds().map(|at| Area { x: scale(at.x0), y: scale(at.y0), width: scale(at.x1 - at.x0), height: scale(at.y1 - at.y0) }),
        value: it.value().map(str::to_owned).or_else(|| it.numeric_value().map(|number| number.to_string())).unwrap_or_default(),
        enabled: !it.is_disabled(),
        on: it.toggled().map(|toggled| toggled == Toggled::True),
        has_keyboard: id == tree.focus,
    };
    tree.nodes.iter().map(|(id, node)| control(*id, node)).filter(|it| !it.name.is_empty() || !it.value.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use eframe::egui::accesskit::{Rect, TreeId};

    use super::*;

    fn tree(nodes: Vec<Node>) -> TreeUpdate {
        let nodes = nodes.into_iter().enumerate().map(|(index, node)| (NodeId(index as u64), node)).collect();
        TreeUpdate { nodes, tree: None, tree_id: TreeId::ROOT, focus: NodeId(0) }
    }

    #[test]
    fn a_field_is_called_what_its_label_says_and_stands_where_the_screen_shows_it() {
        let mut label = Node::new(Role::Label);
        label.set_value("Prompt");
        let mut field = Node::new(Role::MultilineTextInput);
        field.push_labelled_by(NodeId(0));
        field.set_value("a red sunset");
        field.set_bounds(Rect { x0: 10.0, y0: 20.0, x1: 30.0, y1: 50.0 });
        let controls = controls_of(&tree(vec![label, field]), 2.0);
        assert_eq!((controls[0].name.as_str(), controls[1].name.as_str()), ("Prompt", "Prompt"));
        assert_eq!(controls[1].value, "a red sunset");
        assert_eq!(controls[1].area, Some(Area { x: 20, y: 40, width: 40, height: 60 }));
    }

    #[test]
    fn a_placeholder_names_a_field_that_has_no_other_name_and_what_has_neither_is_left_out() {
        let mut field = Node::new(Role::TextInput);
        field.set_placeholder("Search");
        field.set_disabled();
        let controls = controls_of(&tree(vec![field, Node::new(Role::GenericContainer)]), 1.0);
        assert_eq!(controls.len(), 1);
        assert_eq!((controls[0].name.as_str(), controls[0].enabled), ("Search", false));
    }

    #[test]
    fn of_two_fields_the_one_that_keys_go_to_is_known() {
        let fields = ["Prompt", "Negative prompt"].map(|name| {
            let mut field = Node::new(Role::MultilineTextInput);
            field.set_label(name);
            field
        });
        let focused = TreeUpdate { focus: NodeId(1), ..tree(fields.into()) };
        let keyboards: Vec<bool> = controls_of(&focused, 1.0).iter().map(|it| it.has_keyboard).collect();
        assert_eq!(keyboards, [false, true]);
    }
}
