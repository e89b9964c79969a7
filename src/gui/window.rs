//! The frame round the window: opening it, its icon, its place on the screen, and closing it.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use eframe::egui;

use crate::gui::app::App;
use crate::gui::engine_waker::EngineWaker;
use crate::gui::monitors::{Monitor, PixelArea, place_on};
use crate::gui::options::Options;
use crate::gui::pace;
use crate::gui::typed_path::parse_path;
use crate::settings::{self, LoadedSettings, Settings, WindowPlace};
use atelier_engine::{Handle, choose_cpu_math};
use atelier_language::tr;
use atelier_studio::crash_report::Watch;
use atelier_studio::instance::{self, Claim};
use atelier_studio::{EngineWake, on_termination};

/// The window's first size, in points.
const FIRST_SIZE: [f32; 2] = [1360.0, 860.0];
/// The window's smallest size, in points.
const MIN_SIZE: [f32; 2] = [820.0, 560.0];
const ICON: &[u8] = include_bytes!("../../assets/icon.png");

/// The window could not be opened, or broke.
#[derive(Debug, thiserror::Error)]
pub enum WindowError {
    /// The system would not open it.
    #[error("{}", tr!("window-the-window-could-not", reason = _0))]
    Open(String),
}

/// Opens the window and returns when it is closed and everything is written.
///
/// Where this person has a window already, that one gets the files and comes forward, and nothing
/// else happens. `start_engine` is called at once, on this thread, so that the engine starts while
/// the window opens.
///
/// # Errors
/// Fails if the system cannot open a window.
pub fn run(options: &Options, files: &[PathBuf], start_engine: impl FnOnce(EngineWake) -> Handle) -> Result<(), WindowError> {
    let files: Vec<PathBuf> = files.iter().map(|file| absolute(&parse_path(file))).collect();
    let (instance, mut options) = match options.paths.as_ref().map(|paths| instance::claim(&paths.data, &files)) {
        Some(Claim::HandedOver) => return Ok(()),
        Some(Claim::First(instance)) => (Some(instance), options.clone()),
        Some(Claim::Beside) => (None, options.clone().beside()),
        Some(Claim::Alone) | None => (None, options.clone()),
    };
    // The report of a second window would take the place of the first one's.
    let watch = options.paths.as_ref().filter(|_| instance.is_some()).map(Watch::new);
    if let Some(watch) = &watch {
        watch.hook_panics();
    }
    let LoadedSettings { settings, problem, is_left_alone } = load_settings(&options);
    if is_left_alone {
        options.settings_path = None;
    }
    // Before the engine starts. A flag has chosen already, and the environment may.
    choose_cpu_math(settings.cpu_math);
    let waker = EngineWaker::default();
    let engine_waker = waker.clone();
    let handle = start_engine(Box::new(move || engine_waker.wake()));
    let unread = handle.unread();
    let native = native_options(&options, &settings);
    let create: eframe::AppCreator<'_> = Box::new(move |cc| {
        if let Some(place) = &settings.window {
            restore_place(cc, place);
        }
        let mut app = App::new(&cc.egui_ctx, handle, &options, settings)?;
        if let Some(instance) = instance {
            app.serve(&cc.egui_ctx, instance)?;
            if let Some(watch) = watch {
                app.watch(&cc.egui_ctx, watch);
            }
        }
        if let Some(advice) = problem {
            app.tell(advice);
        }
        app.open(&cc.egui_ctx, files);
        let (terminated, ctx) = (app.terminated(), cc.egui_ctx.clone());
        on_termination(move || {
            terminated.store(true, Ordering::Release);
            ctx.request_repaint();
        });
        waker.connect(&cc.egui_ctx, unread);
        cc.egui_ctx.request_repaint();
        Ok(Box::new(Framed(Some(app))))
    });
    eframe::run_native("Atelier", native, create).map_err(|error| WindowError::Open(error.to_string()))
}

/// The settings of this person. A window beside another one only looks at them, and loads no model
/// unasked: the other one may be loading it.
fn load_settings(options: &Options) -> LoadedSettings {
    match (&options.settings_path, &options.paths) {
        (Some(path), _) => settings::load(path),
        (None, Some(paths)) if options.beside.is_some() => {
            let settings = settings::look(&paths.settings_file).unwrap_or_default().0;
            LoadedSettings { settings: Settings { preload: false, ..settings }, ..LoadedSettings::default() }
        }
        (None, _) => LoadedSettings::default(),
    }
}

/// The path from the root; as it is where there is no current folder.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn native_options(options: &Options, settings: &Settings) -> eframe::NativeOptions {
    let mut viewport = egui::ViewportBuilder::default()
        .with_title("Atelier")
        .with_app_id("atelier")
        .with_inner_size(FIRST_SIZE)
        .with_min_inner_size(MIN_SIZE);
    if let Some(icon) = icon() {
        viewport = viewport.with_icon(icon);
    }
    if let Some(place) = settings.window {
        viewport = viewport.with_inner_size([place.width, place.height]).with_maximized(place.maximized);
        if let (Some(x), Some(y)) = (place.x, place.y) {
            viewport = viewport.with_position([x, y]);
        }
    }
    eframe::NativeOptions { viewport, renderer: renderer(options.wgpu || settings.wgpu), persist_window: false, ..Default::default() }
}

/// Puts the window, before it is shown, where it was: which monitors there are and how many pixels
/// a point has there is known only now.
fn restore_place(creation: &eframe::CreationContext<'_>, place: &WindowPlace) {
    let Some(window) = creation.winit_window() else { return };
    let monitors: Vec<Monitor> = window
        .available_monitors()
        .map(|monitor| {
            let (at, size) = (monitor.position(), monitor.size());
            let area = PixelArea { x: at.x.into(), y: at.y.into(), width: size.width.into(), height: size.height.into() };
            Monitor { area, scale: monitor.scale_factor() }
        })
        .filter(|it| it.area.width > 0.0 && it.area.height > 0.0)
        .collect();
    // Wayland tells no window its place and lets none choose it.
    let (Some(target), Ok(mut position)) = (place_on(&monitors, place), window.outer_position()) else { return };
    let corner = (target.x.round() as i32, target.y.round() as i32);
    if (position.x, position.y) != corner {
        (position.x, position.y) = corner;
        // A maximized window fills the monitor that it is on.
        if place.maximized {
            window.set_maximized(false);
        }
        window.set_outer_position(position);
        if place.maximized {
            window.set_maximized(true);
        }
    }
    let mut size = window.inner_size();
    let wanted = (target.width.round() as u32, target.height.round() as u32);
    if !place.maximized && (size.width, size.height) != wanted {
        (size.width, size.height) = wanted;
        // The system's own answer comes with the next resize.
        let _ = window.request_inner_size(size);
    }
}

#[cfg(feature = "wgpu")]
fn renderer(wgpu: bool) -> eframe::Renderer {
    if wgpu { eframe::Renderer::Wgpu } else { eframe::Renderer::Glow }
}

#[cfg(not(feature = "wgpu"))]
fn renderer(wgpu: bool) -> eframe::Renderer {
    if wgpu {
        tracing::warn!("this build of Atelier cannot draw with wgpu; it draws with OpenGL");
    }
    eframe::Renderer::Glow
}

/// The picture on the window and in the task bar.
fn icon() -> Option<egui::IconData> {
    let image = image::load_from_memory_with_format(ICON, image::ImageFormat::Png).ok()?.into_rgba8();
    let (width, height) = image.dimensions();
    Some(egui::IconData { rgba: image.into_raw(), width, height })
}

/// Adapter to `eframe`; empty once the window is closed.
struct Framed(Option<App>);

impl eframe::App for Framed {
    fn logic(&mut self, ctx: &egui::Context, frame: &mut eframe::Frame) {
        if let Some(secs) = frame.info().cpu_usage {
            pace::frame_took(ctx, secs.into());
        }
        if let Some(app) = &mut self.0 {
            app.logic(ctx);
        }
    }

    fn ui(&mut self, ui: &mut egui::Ui, _frame: &mut eframe::Frame) {
        if let Some(app) = &mut self.0 {
            app.ui(ui);
        }
    }

    fn on_exit(&mut self, _gl: Option<&eframe::glow::Context>) {
        if let Some(app) = self.0.take() {
            app.finish();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_icon_can_be_read() {
        let icon = icon().unwrap();
        assert!(icon.width == icon.height && icon.width >= 128);
    }
}
