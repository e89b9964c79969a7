//! The frame loop: folds what happened into the state, lets the views draw it, carries out
//! commands.
//!
//! It stands above the features and hands each engine event and command to the feature that it
//! concerns; what came of work in the background says itself whom it concerns. Nothing here waits,
//! and no feature knows it.

mod closing;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use eframe::egui;

use crate::gui::autosave::{Autosave, SettingsWrite};
use crate::gui::canvas::state::ShownPicture;
use crate::gui::command::{Command, Commands};
use crate::gui::context::{Answer, Background, Context};
use crate::gui::create::count::quick_count;
use crate::gui::create::prompt_history::PromptHistory;
use crate::gui::create::view::prompt_field;
use crate::gui::due::{self, Due};
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::features::Features;
use crate::gui::history::{ChangeCause, History, Snapshot};
use crate::gui::input_queue::InputQueue;
use crate::gui::notices::Notices;
use crate::gui::options::{Beside, Options};
use crate::gui::pace::{self, FramePace};
use crate::gui::shared::{Closing, EngineJob, ErrorCard, Jobs, LanguageChoice, Screen, Shared};
use crate::gui::side_panel::SidePanel;
use crate::gui::state::State;
use crate::gui::window_command::WindowCommand;
use crate::gui::workers::{Wake, Worker};
use crate::gui::{
    canvas, create, devices, frame, frame_cost, gallery, grid, guides, live, memory, models, overlays, palette, phrases, program, queue,
    sharing, studios, styles, system_fonts, theme,
};
use crate::settings::{self, ChosenStudio, Settings, Zoom};
use atelier_core::advice::Advice;
use atelier_core::mailbox::Mailbox;
use atelier_core::paths::Paths;
use atelier_engine::{Cause, End, Event, Failure, Handle, JobId, LogLevel, Residency};
use atelier_gallery::PictureSummary;
use atelier_language::tr;
use atelier_library::disk::WILDCARDS_FOLDER;
use atelier_studio::crash_report::Watch;
use atelier_studio::gallery_service::{GalleryEvent, GalleryService};
use atelier_studio::instance::{Handover, Instance};
use atelier_studio::library_service::{LibraryService, LibrarySnapshot};
use atelier_studio::next_recipe::{NextRecipe, RecentRecipes};
use atelier_studio::queue::{QueueOptions, QueueService};
use atelier_studio::tags::TAGS_FOLDER;
use atelier_studio::trials::Trials;

/// Thumbnails that go to the graphics card in a frame, and the time after which no other one
/// begins: a page is full after a few frames, and none is late.
const MAX_UPLOADS: usize = 12;
const UPLOAD_TIME: Duration = Duration::from_millis(4);
/// Longest time that opening a file waits for the library's folders to be listed.
const LIST_WITHIN_SECS: f64 = 5.0;

/// The window without its frame: driven by `eframe`, and by tests in its place.
pub struct App {
    pub(super) state: State,
    pub(super) engine: Arc<Handle>,
    queue: QueueService,
    pub(super) background: Background,
    /// `None` where this person has no library.
    library: Option<LibraryService>,
    /// `None` where this person has no folders.
    gallery: Option<GalleryService>,
    autosave: Autosave,
    /// Origin of the changes of the recipe that are being made.
    cause: ChangeCause,
    /// Files to open as soon as the library knows where models are.
    opening: Option<Opening>,
    /// The right to be this person's one window; `None` where it is not the only one.
    instance: Option<Instance>,
    handovers: Option<Arc<Mailbox<Handover>>>,
    /// Holds the folder of its own backups, where this is a window beside another one.
    _beside: Option<Beside>,
    /// True once the system asks the program to end.
    terminated: Arc<AtomicBool>,
}

struct Opening {
    files: Vec<PathBuf>,
    /// Not later than this.
    due: Due,
}

impl App {
    /// Calls a feature with what it may change, then carries out the commands that it has for
    /// others.
    pub(super) fn with(&mut self, ctx: &egui::Context, call: impl FnOnce(Features<'_>, &mut Context<'_>)) {
        let mut commands = Commands::default();
        let mut context = Context {
            egui: ctx,
            engine: &self.engine,
            background: &self.background,
            queue: &self.queue,
            library: self.library.as_ref(),
            gallery: self.gallery.as_ref(),
            notices: &mut self.state.notices,
            shared: &mut self.state.shared,
            cause: &mut self.cause,
            commands: &mut commands,
        };
        let features = Features {
            create: &mut self.state.create,
            devices: &mut self.state.devices,
            models: &mut self.state.models,
            gallery: &mut self.state.gallery,
            canvas: &mut self.state.canvas,
            grid: &mut self.state.grid,
            guides: &mut self.state.guides,
            styles: &mut self.state.styles,
            live: &mut self.state.live,
            memory: &mut self.state.memory,
            palette: &mut self.state.palette,
            phrases: &mut self.state.phrases,
            program: &mut self.state.program,
            queue: &mut self.state.queue,
            sharing: &mut self.state.sharing,
            studios: &mut self.state.studios,
            autosave: &mut self.autosave,
        };
        call(features, &mut context);
        self.observe_recipe(ctx);
        for command in commands.into_vec() {
            self.update(ctx, command);
        }
    }

    /// Hands a command to its feature.
    fn update_feature(&mut self, ctx: &egui::Context, command: Command) {
        match command {
            Command::Create(it) => self.with(ctx, |features, context| {
                if matches!(it, create::Command::Show(_)) {
                    canvas::update::picture_chosen(features.canvas, context);
                }
                create::update::update(features.create, it, context);
            }),
            Command::Devices(it) => self.with(ctx, |features, context| devices::update::update(features.devices, it, context)),
            Command::Models(it) => self.with(ctx, |features, context| models::update::update(features.models, it, context)),
            Command::Gallery(it) => self.with(ctx, |features, context| gallery::update::update(features.gallery, it, context)),
            Command::Canvas(it) => self.with(ctx, |features, context| canvas::update::update(features.canvas, it, context)),
            Command::Grid(it) => self.with(ctx, |features, context| grid::update::update(features, it, context)),
            Command::Guides(it) => self.with(ctx, |features, context| guides::update::update(features.guides, it, context)),
            Command::Styles(it) => {
                self.with(ctx, |features, context| styles::update::update(features.styles, features.create, it, context));
            }
            Command::Live(it) => self.with(ctx, |features, context| live::update::update(features.live, it, context)),
            Command::Memory(it) => self.with(ctx, |features, context| memory::update::update(features.memory, it, context)),
            Command::Palette(it) => self.with(ctx, |features, context| palette::update::update(features.palette, it, context)),
            Command::Phrases(it) => self.with(ctx, |features, context| phrases::update::update(features.phrases, it, context)),
            Command::Program(it) => self.with(ctx, |features, context| program::update::update(features.program, it, context)),
            Command::Queue(it) => self.with(ctx, |features, context| queue::update::update(features.queue, it, context)),
            Command::Sharing(it) => self.with(ctx, |features, context| sharing::update::update(features.sharing, it, context)),
            Command::Studios(it) => self.with(ctx, |features, context| studios::update::update(features.studios, it, context)),
            Command::Window(command) => self.update_window(ctx, command),
        }
    }
}

impl App {
    /// A window for this engine.
    ///
    /// # Errors
    /// Fails if the system can start no thread.
    pub fn new(ctx: &egui::Context, engine: Handle, options: &Options, settings: Settings) -> std::io::Result<Self> {
        // Before any thread that says something.
        let language = LanguageChoice { chosen: settings.language, system: options.system_language };
        language.apply();
        theme::install(ctx);
        // Else the fonts of the system are looked for already.
        if system_fonts::han_locale().is_some() {
            system_fonts::follow_language(ctx);
        }
        ctx.add_plugin(FramePace::default());
        ctx.add_plugin(InputQueue::default());
        let waker = ctx.clone();
        let wake: Wake = Arc::new(move || due::wake(&waker));
        let background = Background::start(options.paths.as_ref().map(Paths::reading_marks), Arc::clone(&wake), Answer::panicked)?;
        let engine = Arc::new(engine);
        let queue_wake = Arc::clone(&wake);
        let queue_options = QueueOptions { studios_network: options.studios_network, ..QueueOptions::of_window(options.paths.as_ref()) };
        let queue = QueueService::start(queue_options, Arc::clone(&engine), move || queue_wake())?;
        let builtin = options.builtin.as_deref().ok().map(atelier_library::builtin_card);
        let library = options.library.clone().map(|it| LibraryService::start(it, builtin.clone(), move || wake())).transpose()?;
        let waker = ctx.clone();
        let wake = move || due::wake(&waker);
        let folder = settings.pictures_folder.clone().unwrap_or_else(|| options.pictures_folder.clone());
        let gallery = options.paths.as_ref().map(|paths| GalleryService::start(paths, folder, wake)).transpose()?;
        theme::set_theme(ctx, settings.theme);
        // The window's own commands have these keys.
        ctx.options_mut(|options| options.zoom_with_keyboard = false);
        ctx.set_zoom_factor(settings.zoom.factor());
        let mut next = NextRecipe::new(settings.recipe.clone(), settings.builtin, options.builtin.clone());
        next.recent_recipes = RecentRecipes::new(&settings.recent_models);
        if let Some(ChosenStudio { model, own_recipe }) = settings.studio.clone() {
            next.resume_studio(model, own_recipe);
        }
        let pictures_folder = settings.pictures_folder.clone().unwrap_or_else(|| options.pictures_folder.clone());
        let state = State {
            shared: Shared {
                screen: Screen::default(),
                history: History::new(Snapshot {
                    recipe: next.recipe.clone(),
                    custom_recipe: next.custom_recipe.clone(),
                    pins: BTreeSet::default(),
                }),
                next,
                counts_automatically: settings.counts_automatically,
                quick_count: 1,
                library: Arc::new(LibrarySnapshot { cards: builtin.iter().cloned().collect(), ..LibrarySnapshot::default() }),
                unplaced: Vec::new(),
                missing_files: BTreeSet::new(),
                jobs: Jobs::default(),
                jobs_of_others: Jobs::default(),
                queue: Arc::default(),
                residency: Residency::default(),
                error: None,
                without_references: None,
                dialog_open: false,
                theme: settings.theme,
                language,
                zoom: settings.zoom,
                side_panel: if settings.hides_side_panel { SidePanel::Hidden } else { SidePanel::default() },
            },
            notices: Notices::default(),
            closing: Closing::No,
            unsaved: Vec::new(),
            asks_beside: options.beside.is_some(),
            create: create::State {
                prompts: PromptHistory::new(settings.prompts.clone()),
                open_folds: settings.open_folds.clone(),
                recent_settings: settings.recent_settings.clone(),
                wildcards: options.paths.as_ref().map(|paths| paths.data.join(WILDCARDS_FOLDER)),
                tags: options.paths.as_ref().map(|paths| paths.data.join(TAGS_FOLDER)),
                ..create::State::new(settings.preview, pictures_folder)
            },
            devices: devices::State::from_settings(&settings),
            models: models::State::new(builtin, options.library.is_some()),
            gallery: gallery::State { auto_advance: settings.auto_advance, ..gallery::State::default() },
            canvas: match &options.beside {
                None => canvas::State::new(options.paths.clone()),
                Some(beside) => canvas::State::beside(beside.backups.as_ref().map(|own| own.path().to_owned())),
            },
            // A window beside another one leaves its sheet alone.
            grid: grid::State::new(options.paths.as_ref().filter(|_| options.beside.is_none()).map(Paths::sheet_file)),
            guides: guides::State::default(),
            styles: styles::State { folder: options.paths.as_ref().map(Paths::styles), ..styles::State::default() },
            live: live::State::new(options.paths.clone()),
            palette: palette::State::new(settings.recent_commands.clone()),
            phrases: phrases::State::new(settings.shows_phrases),
            memory: memory::State::from_settings(&settings, options.settings_path.as_deref()),
            program: program::State::new(options.paths.clone(), options.updates.clone(), settings.updates.clone()),
            queue: queue::State::default(),
            sharing: sharing::State::new(options, settings.sharing.clone()),
            studios: studios::State::new(options),
        };
        let autosave = Autosave::new(options.settings_path.clone(), settings);
        let mut app = Self {
            state,
            engine,
            queue,
            background,
            library,
            gallery,
            autosave,
            cause: ChangeCause::Step(tr!("window-change-of-settings")),
            opening: None,
            instance: None,
            handovers: None,
            _beside: options.beside.clone(),
            terminated: Arc::default(),
        };
        app.with(ctx, |features, context| {
            memory::update::start(features.memory, context);
            styles::update::start(features.styles, context);
            canvas::update::start(features.canvas, context);
            grid::update::start(features.grid, context);
            devices::requests::start(features.devices, context);
            program::update::start(context);
            studios::update::start(features.studios, context);
        });
        Ok(app)
    }

    /// Makes this window the one that later starts come to.
    ///
    /// # Errors
    /// Fails if the system can start no thread.
    pub fn serve(&mut self, ctx: &egui::Context, mut instance: Instance) -> std::io::Result<()> {
        let ctx = ctx.clone();
        self.handovers = Some(instance.listen(Arc::clone(&self.terminated), move || due::wake(&ctx))?);
        self.instance = Some(instance);
        Ok(())
    }

    /// Watches this window, so that the next start knows how it ended.
    pub fn watch(&mut self, ctx: &egui::Context, watch: Watch) {
        self.with(ctx, |features, context| program::update::watch(features.program, watch, context));
    }

    /// Set to true, from any thread, when the system asks the program to end: everything stops and
    /// is kept, and the window closes.
    #[must_use]
    pub fn terminated(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.terminated)
    }

    /// Opens files as soon as it is known where models are: a picture's recipe names its model.
    pub fn open(&mut self, ctx: &egui::Context, files: Vec<PathBuf>) {
        if files.is_empty() {
            return;
        }
        self.state.shared.screen = Screen::Create;
        let opening = self.opening.get_or_insert_with(|| Opening { files: Vec::new(), due: Due::default() });
        opening.files.extend(files);
        opening.due.begin_in(ctx, LIST_WITHIN_SECS);
        ctx.request_repaint();
    }

    /// Shows a person what was found out before there was a window.
    pub fn tell(&mut self, advice: Advice) {
        self.state.shared.error = Some(ErrorCard::of(advice).at(self.state.shared.screen));
    }

    /// The state, to be read.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Folds in what happened since the last frame. Never waits.
    pub fn logic(&mut self, ctx: &egui::Context) {
        theme::rest_caret(ctx);
        self.queue_events(ctx);
        while let Some(event) = self.engine.try_next() {
            // A job is announced before the engine has it, so the announcement is there by now.
            self.queue_events(ctx);
            self.with(ctx, |features, context| engine_event(features, event, context));
        }
        while let Some(answer) = self.background.next_answer() {
            self.cause = ChangeCause::Step(tr!("window-change-of-settings"));
            self.with(ctx, |features, context| answer.apply(features, context));
        }
        self.cause = ChangeCause::Step(models::Command::Use(String::new()).label());
        while let Some(event) = self.library.as_ref().and_then(LibraryService::try_next) {
            self.with(ctx, |features, context| models::update::library_event(features.models, event, context));
        }
        self.cause = ChangeCause::Step(tr!("window-change-of-settings"));
        let (begun, mut uploads) = (Instant::now(), 0);
        let has_time = |uploads| uploads < MAX_UPLOADS && begun.elapsed() < UPLOAD_TIME;
        while has_time(uploads)
            && let Some(event) = self.gallery.as_ref().and_then(GalleryService::try_next)
        {
            uploads += usize::from(matches!(event, GalleryEvent::Thumbnail(..)));
            self.with(ctx, |features, context| match event {
                GalleryEvent::Newest(pictures) => {
                    features.create.unread_pictures = own_pictures(features.program, pictures);
                    features.create.examples.ask_again();
                }
                GalleryEvent::BestOf(files, pictures) => {
                    features.create.examples.set_own(&files, own_pictures(features.program, pictures));
                }
                event => gallery::update::gallery_event(features.gallery, event, context),
            });
        }
        if !has_time(uploads) {
            ctx.request_repaint();
        }
        while let Some(Handover { files }) = self.handovers.as_ref().and_then(|it| it.try_next()) {
            bring_forward(ctx);
            self.open(ctx, files);
        }
        let is_listed = self.state.models.is_known;
        if let Some(Opening { files, .. }) = self.opening.take_if(|it| is_listed || it.due.has_come(ctx)) {
            self.with(ctx, |_, context| create::open::open(files, false, context));
        }
        self.follow_picture(ctx);
        self.state.shared.side_panel.follow_width(ctx);
        self.with(
            ctx,
            |Features { canvas, create, devices, grid, guides, live, models, gallery, memory, program, sharing, studios, .. }, context| {
                let live_size_px = || live.shown_size_px().filter(|_| create.session.following());
                create.document_size_px = canvas.shown_size_px().or_else(live_size_px);
                context.shared.quick_count = quick_count(devices.board.times.predicted(), context.shared.chosen_resident().is_some());
                create::pictures::refresh_textures(create, context);
                create::pictures::refresh_examples(create, context);
                create::pictures::read_kept(create, models.is_known, context);
                create::word_lists_update::refresh(create, context);
                create::update::refresh_files(create, context);
                create::token_requests::refresh(create, context);
                grid::update::refresh(grid, context);
                guides::update::refresh(guides, context);
                if devices::requests::refresh(devices, context) {
                    // The newest question takes the place of others.
                    models.fit_queries.drop_pending();
                }
                models::update::refresh(models, &devices.board, context);
                models::update::refresh_fits(models, devices, context);
                let elsewhere = match context.shared.screen {
                    Screen::Models => models.visible_cards().filter_map(|card| gallery.latest_of_card(card)).collect(),
                    Screen::Create => create::pictures::wanted_thumbnails(create, gallery, context.shared),
                    Screen::Devices | Screen::Gallery => Vec::new(),
                };
                gallery::update::refresh(gallery, elsewhere, context);
                memory::update::refresh(memory, devices.fits(context.shared), context);
                program::update::refresh(program, context);
                sharing::update::refresh(sharing, context);
                studios::update::refresh(studios, context);
            },
        );
        self.follow_phrases(ctx);
        if self.terminated.load(Ordering::Acquire) {
            // The state says so from here on, without a moment in which files would be taken.
            self.save_and_close(ctx, true);
            self.terminated.store(false, Ordering::Release);
        }
        self.closing(ctx);
        if let Some(write) = self.autosave.refresh(ctx, &self.state) {
            self.write_settings(write);
        }
        if let Some(secs) = self.state.notices.expire(ctx.time(), overlays::is_notice_pointed_at(ctx)) {
            due::wake_in(ctx, secs);
        }
        self.pace_frames(ctx);
    }

    /// Says whether jobs compute, which leaves little of the processor to drawing, and has what that
    /// takes looked at.
    fn pace_frames(&self, ctx: &egui::Context) {
        let shared = &self.state.shared;
        let is_computing = shared.jobs.at_work().chain(shared.jobs_of_others.at_work()).next().is_some();
        if pace::set_computing(ctx, is_computing) {
            let ctx = ctx.clone();
            self.background.run_silently(Worker::Files, move || pace::looked(&ctx, frame_cost::cores(), frame_cost::drawing_secs()));
        }
    }

    /// Has the settings written.
    fn write_settings(&self, write: SettingsWrite) {
        let SettingsWrite { path, attempt, settings } = write;
        self.background.run(
            Worker::Files,
            move || {
                settings::save(&path, &settings).map_err(|error| error.to_string()).inspect_err(|sentence| tracing::warn!("{sentence}"))
            },
            move |saved, features, context| {
                if let Some(sentence) = features.autosave.ended(context.egui, attempt, saved) {
                    context.notice(sentence);
                }
            },
        );
    }

    /// Lets the canvas and the live picture follow what has changed.
    fn follow_picture(&mut self, ctx: &egui::Context) {
        let is_open = self.state.closing == Closing::No;
        self.with(ctx, |Features { canvas, create, live, .. }, context| {
            if canvas.edited().is_some() {
                // It was made of the picture under the pointer.
                create.session.choose_pointed();
            }
            let follows = create.session.following();
            let shown = match live.shown().filter(|_| follows) {
                // Before its first picture there is nothing that could be painted on.
                Some(_) => live.shown_source(),
                None => create::update::shown_source(create).map(|(id, source)| (ShownPicture::Session(id), source)),
            };
            canvas.shown_origin = match &shown {
                Some((ShownPicture::Session(id), _)) => create.session.get(*id).and_then(|picture| picture.origin),
                _ => None,
            };
            canvas::update::refresh(canvas, shown, follows, create.shows_pixels(context.egui), context);
            if is_open {
                live::update::refresh(live, canvas, create, context);
            }
        });
    }

    /// Has what phrases did found out while nothing else is asked for.
    fn follow_phrases(&mut self, ctx: &egui::Context) {
        let is_open = self.state.closing == Closing::No;
        self.with(ctx, |Features { create, devices, live, phrases, .. }, context| {
            let has_jobs = context.shared.has_jobs_of_anybody();
            let is_trying = devices.trials.as_ref().is_some_and(Trials::is_running);
            let is_free = is_open && !has_jobs && !is_trying && !live.is_on && !live.is_running();
            phrases::update::refresh(phrases, create, is_free, context);
        });
    }

    /// Folds in what the queue says.
    fn queue_events(&mut self, ctx: &egui::Context) {
        while let Some(event) = self.queue.try_next() {
            self.with(ctx, |Features { create, queue, sharing, .. }, context| {
                sharing::update::note_event(sharing, &event);
                queue::update::queue_event(queue, create, event, context);
            });
        }
    }

    /// Draws the window and carries out its commands.
    pub fn ui(&mut self, ui: &mut egui::Ui) {
        let ctx = ui.ctx().clone();
        // Keys are taken before the widgets see them and carried out after, so that a prompt typed
        // in this very frame counts.
        let mut late = Commands::default();
        frame::keys(&ctx, &self.state, &mut late);
        let mut commands = Commands::default();
        frame::window(ui, &self.state, &mut commands);
        self.state.create.focus_prompt = false;
        self.state.create.focus_dialog = false;
        self.state.styles.focus_dialog = false;
        let gallery = &mut self.state.gallery;
        (gallery.focus_search, gallery.focus_cursor) = (false, false);
        let models = &mut self.state.models;
        (models.focus_search, models.focus_card, models.focus_token) = (false, false, false);
        let commands: Vec<Command> = commands.into_vec().into_iter().chain(late.into_vec()).collect();
        let has_changed = !commands.is_empty();
        for command in commands {
            let points = matches!(command, Command::Create(create::Command::PointAt(Some(_))));
            self.update(&ctx, command);
            if points {
                // The next command means this picture.
                self.follow_picture(&ctx);
            }
        }
        if has_changed {
            // Not a frame later: the picture is waited for.
            self.follow_picture(&ctx);
        }
    }

    /// Takes note of changes of the recipe, so that they can be undone.
    fn observe_recipe(&mut self, ctx: &egui::Context) {
        let Shared { history, next, .. } = &mut self.state.shared;
        let held = ctx.input(|input| input.pointer.any_down());
        history.observe(&next.recipe, next.custom_recipe.as_deref(), &self.state.devices.board.pins, self.cause, ctx.time(), held);
    }

    /// Brings settings of the history back.
    fn restore(&mut self, ctx: &egui::Context, step: fn(&mut History) -> Option<&Snapshot>) {
        let Some(Snapshot { recipe, custom_recipe, pins }) = step(&mut self.state.shared.history).cloned() else { return };
        let before = std::mem::replace(&mut self.state.shared.next.recipe, recipe);
        self.state.shared.next.custom_recipe = custom_recipe;
        if self.state.devices.board.pins != pins {
            self.state.devices.board.pins = pins;
            self.state.devices.board.mark_stale();
        }
        let after = &self.state.shared.next.recipe;
        prompt_field::text_restored(ctx, (&before.prompt, &after.prompt), (&before.negative_prompt, &after.negative_prompt));
    }

    /// The settings as they would be written now.
    #[cfg(test)]
    pub(super) fn settings(&self) -> Settings {
        self.autosave.settings(&self.state)
    }

    /// The settings as the last frame saw them.
    #[cfg(test)]
    pub(super) const fn seen_settings(&self) -> &Settings {
        self.autosave.seen()
    }

    /// Carries out a command, where it can be done now.
    fn update(&mut self, ctx: &egui::Context, command: Command) {
        let command = command.redirected(&self.state);
        if command.is_of_hidden_picture(&self.state) {
            return self.with(ctx, |_, context| context.notice(tr!("window-this-is-a-canvas")));
        }
        if let Err(reason) = command.enabled(&self.state) {
            let is_generate = [create::Command::Generate.into(), canvas::Command::Generate.into()].contains(&command);
            // Of a setting that is not there, the palette's Enter would seem to do nothing.
            if is_generate || matches!(command, Command::Create(create::Command::ShowSetting(_))) {
                self.with(ctx, |_, context| context.notice(reason));
            }
            return;
        }
        ctx.request_repaint();
        let cause = std::mem::replace(&mut self.cause, cause_of(&command));
        self.update_feature(ctx, command);
        self.cause = cause;
    }

    /// Carries out a command of the window itself.
    fn update_window(&mut self, ctx: &egui::Context, command: WindowCommand) {
        match command {
            WindowCommand::SetScreen(screen) => {
                if self.state.shared.screen != screen {
                    self.state.notices.clear();
                }
                self.state.shared.screen = screen;
            }
            // What it means depends on the view.
            WindowCommand::Find => {}
            WindowCommand::ToggleSidePanel => self.state.shared.side_panel.toggle(ctx),
            WindowCommand::Quit => ctx.send_viewport_cmd(egui::ViewportCommand::Close),
            WindowCommand::SetTheme(theme) => {
                self.state.shared.theme = theme;
                theme::set_theme(ctx, theme);
            }
            WindowCommand::SetLanguage(language) => {
                let before = system_fonts::han_locale();
                self.state.shared.language.chosen = language;
                self.state.shared.language.apply();
                if system_fonts::han_locale() != before {
                    system_fonts::follow_language(ctx);
                }
            }
            WindowCommand::Undo => self.restore(ctx, History::undo),
            WindowCommand::Redo => self.restore(ctx, History::redo),
            WindowCommand::DismissError => self.state.shared.error = None,
            WindowCommand::CopyError => {
                if let Some(error) = &self.state.shared.error {
                    ctx.copy_text(error.to_text());
                    self.with(ctx, |_, context| context.notice(tr!("common-copied")));
                }
            }
            WindowCommand::Larger => self.set_zoom(ctx, self.state.shared.zoom.larger()),
            WindowCommand::Smaller => self.set_zoom(ctx, self.state.shared.zoom.smaller()),
            WindowCommand::UsualSize => self.set_zoom(ctx, Zoom::default()),
            WindowCommand::StopAndClose | WindowCommand::SaveAndClose => self.save_and_close(ctx, false),
            WindowCommand::StayOpen | WindowCommand::KeepUnsaved => self.state.closing = Closing::No,
            WindowCommand::CloseUnsaved | WindowCommand::CloseBeside => self.stop(ctx),
            WindowCommand::StayBeside => self.state.asks_beside = false,
        }
    }

    fn set_zoom(&mut self, ctx: &egui::Context, zoom: Zoom) {
        self.state.shared.zoom = zoom;
        ctx.set_zoom_factor(zoom.factor());
    }
}

/// Origin of the changes that a command makes.
fn cause_of(command: &Command) -> ChangeCause {
    match command {
        Command::Create(create::Command::ChangeRecipe(_) | create::Command::TypePrompt(_))
        | Command::Devices(devices::Command::SetText(_) | devices::Command::SetBudget(..) | devices::Command::SetModuleBudget(..)) => {
            ChangeCause::Edit
        }
        other => ChangeCause::Step(other.label()),
    }
}

/// Brings the window before others, or lets the task bar show that it has something, where the
/// system forbids that.
fn bring_forward(ctx: &egui::Context) {
    ctx.send_viewport_cmd(egui::ViewportCommand::Minimized(false));
    ctx.send_viewport_cmd(egui::ViewportCommand::Focus);
    if ctx.input(|input| input.viewport().focused) != Some(true) {
        ctx.send_viewport_cmd(egui::ViewportCommand::RequestUserAttention(egui::UserAttentionType::Informational));
    }
}

/// Hands an event of the engine to the features that it concerns.
fn engine_event(features: Features<'_>, event: Event, context: &mut Context<'_>) {
    let Features { canvas, create, devices, live, models, memory, phrases, program, .. } = features;
    if live::looks::engine_event(live, &event, context)
        || devices::trials::engine_event(devices, &event)
        || phrases::update::engine_event(phrases, &event, context)
    {
        return;
    }
    if let Some(job) = event.job().and_then(|job| context.shared.jobs_of_others.get_mut(job)) {
        let id = job.id;
        if is_for_others(&event, job) {
            if matches!(event, Event::Begin { .. }) {
                devices::requests::job_began(devices);
            }
            if matches!(event, Event::End { .. }) {
                context.shared.jobs_of_others.remove(id);
                devices::requests::list_devices(context);
            }
            return;
        }
    }
    match event {
        Event::Begin { job, begin } => {
            devices::requests::job_began(devices);
            create.last_seed = begin.seeds.first().copied().or(create.last_seed);
            if let Some(job) = context.shared.jobs.get_mut(job) {
                canvas::update::job_began(canvas, job.id, &job.recipe);
                job.begun = true;
                job.progress.begin(begin);
            }
        }
        Event::Phase { job, phase } => {
            if let Some(job) = context.shared.jobs.get_mut(job) {
                job.progress.phase(phase);
            }
        }
        Event::Step { job, step } => {
            if let Some(job) = context.shared.jobs.get_mut(job) {
                job.progress.step(step);
            }
        }
        Event::Preview { job, preview } => create::pictures::preview(create, job, preview),
        Event::Picture { job, picture } => {
            canvas::candidates::picture(canvas, job, &picture, context);
            create::pictures::picture(create, job, &picture, context);
        }
        // A warning without a job is about the system, so the person sees it.
        Event::Log { job: None, level: LogLevel::Warn, text } => context.notice(text),
        Event::Log { job: _, level, text } => match level {
            LogLevel::Debug => tracing::debug!(target: "engine", "{text}"),
            LogLevel::Info => tracing::info!(target: "engine", "{text}"),
            LogLevel::Warn => tracing::warn!(target: "engine", "{text}"),
            LogLevel::Error => tracing::error!(target: "engine", "{text}"),
        },
        Event::Devices(found) => {
            program::update::devices_listed(program, &found, context);
            devices::requests::devices_listed(devices, found, context);
        }
        Event::Server { server, added } => devices::requests::server_answered(devices, &server, added, context),
        Event::Estimated { recipe, estimate } if models.fit_queries.is_pending(&recipe) => models::update::estimated(models, estimate.ok()),
        Event::Estimated { recipe, estimate } => devices::requests::estimated(devices, &recipe, estimate, context),
        Event::Measured { job, peaks, copies, .. } => devices::requests::job_measured(devices, job, (peaks, copies), context),
        Event::Rates { devices: measured, is_measuring } => {
            devices::requests::rates_measured(devices, is_measuring);
            models::update::rates_measured(models, &measured);
        }
        Event::Waiting { job, behind } => {
            if let Some(job) = context.shared.jobs.get_mut(job) {
                job.progress.waits(behind);
            }
        }
        Event::Residency(residency) => {
            memory::update::end_preloading(memory, context.background);
            devices::requests::residency_changed(devices, &residency);
            context.shared.residency = residency;
        }
        Event::End { job, end } => {
            canvas::candidates::job_ended(canvas, job);
            job_ended(create, devices, job, end, context);
        }
    }
}

/// Those of these pictures that are the person's: what others asked for is shown to them alone.
fn own_pictures(program: &program::State, mut pictures: Vec<PictureSummary>) -> Vec<PictureSummary> {
    if let Some(paths) = &program.paths {
        let shared = paths.shared_pictures();
        pictures.retain(|it| !it.path.starts_with(&shared));
    }
    pictures
}

/// Folds an event about somebody else's job into what the queue shows of it; what is made is shown to
/// them alone. Returns false where the event concerns this machine.
fn is_for_others(event: &Event, job: &mut EngineJob) -> bool {
    match event {
        Event::Begin { begin, .. } => {
            job.begun = true;
            job.progress.begin(begin.clone());
        }
        Event::Phase { phase, .. } => job.progress.phase(*phase),
        Event::Step { step, .. } => job.progress.step(*step),
        Event::Waiting { behind, .. } => job.progress.waits(behind.clone()),
        Event::Preview { .. } | Event::Picture { .. } | Event::End { .. } => {}
        _ => return false,
    }
    true
}

fn job_ended(create: &mut create::State, devices: &mut devices::State, job: JobId, end: End, context: &mut Context<'_>) {
    let ended = context.shared.jobs.remove(job);
    devices::requests::list_devices(context);
    create::pictures::job_ended(create, job, matches!(end, End::Done { .. }));
    if let (End::Done { timings, pictures, .. }, Some(job)) = (&end, &ended) {
        devices::requests::job_done(devices, job, timings, pictures.len());
    }
    match end {
        End::Done { notes, .. } if !notes.is_empty() => context.notice(notes.join(" ")),
        End::Done { .. } | End::Cancelled => {}
        End::Failed(Failure { advice, log, cause }) => {
            create::update::check_files_again(create);
            let mut card = ErrorCard { details: log, ..ErrorCard::of(advice) };
            if let (Some(Cause::OutOfMemory(met)), Some(job)) = (cause, ended) {
                devices::requests::add_remedies(devices, &mut card, &met, &job);
            }
            context.shared.error = Some(card.at(context.shared.screen_of_making()));
        }
    }
}
