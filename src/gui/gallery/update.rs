//! Effects of the Gallery view's commands, and of what the gallery's threads report. Nothing here
//! waits.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use atelier_core::recipe::{ImageSource, RecallPart, Rgb8};
use atelier_gallery::{PictureFlag, PictureId, PictureState, PictureSummary};
use atelier_language::tr;
use eframe::egui::{ColorImage, TextureOptions};

use crate::gui::clipboard;
use crate::gui::context::Context;
use crate::gui::create;
use crate::gui::create::larger::Remake;
use crate::gui::create::own_models::OwnModels;
use crate::gui::create::remake;
use crate::gui::dialog::FileDialog;
use crate::gui::features::Features;
use crate::gui::gallery::command::Command;
use crate::gui::gallery::compare::CompareMode;
use crate::gui::gallery::state::{Comparison, Dialog, ExportChoice, FilesUse, LargePicture, Mode, State};
use crate::gui::guides;
use crate::gui::pixels;
use crate::gui::shared::Screen;
use crate::gui::viewport::View;
use crate::gui::window_command::WindowCommand;
use crate::gui::workers::Worker;
use atelier_studio::gallery_service::{GalleryEvent, GalleryRequest, Mark};
use atelier_studio::opened_picture::{self, OpenedPicture};

/// Neighbours of the picture that is looked at whose pixels are read beforehand.
const PREFETCH: usize = 1;

/// Carries out a command.
pub(crate) fn update(state: &mut State, command: Command, context: &mut Context<'_>) {
    match command {
        Command::FocusSearch => {
            state.mode = Mode::Grid;
            state.focus_search = true;
            context.shared.screen = Screen::Gallery;
            context.shared.side_panel.show(context.egui);
        }
        Command::SetSearch(text) => {
            state.search.text = text;
            search(state, context);
        }
        Command::RemoveCondition(index) => {
            // The index counts the conditions of the search whose answer is shown.
            if state.found.search.text == state.search.text {
                state.search.text = state.found.query.without(index);
                search(state, context);
            }
        }
        Command::ShowAll => {
            state.search.text.clear();
            search(state, context);
        }
        Command::SetOrder(order) => {
            state.search.order = order;
            search(state, context);
        }
        Command::SetGrouping(grouping) => {
            state.search.grouping = grouping;
            search(state, context);
        }
        Command::SetCellSide(side) => state.cell_side = side,
        Command::SetVisible(from, to) => state.visible = (from, to),
        Command::MoveTo(index, extends) => {
            // It belongs to the picture that the cursor leaves.
            save_note(state, context);
            state.set_cursor(index, extends);
        }
        Command::Toggle(index) => state.toggle(index),
        Command::SelectBand(indices, keeps) => {
            if !keeps {
                state.selection.clear();
            }
            state.selection.extend(indices.iter().filter_map(|at| state.found.ids.get(*at)));
            // Arrow keys go on from the end of the band.
            if let Some(last) = indices.last() {
                state.cursor = Some(*last);
            }
        }
        Command::SelectAll => state.selection = state.found.ids.iter().copied().collect(),
        Command::SelectNone => state.selection = BTreeSet::new(),
        Command::Look => {
            state.mode = if matches!(state.mode, Mode::Look(_)) { Mode::Grid } else { Mode::Look(View::Fit) };
            state.focus_cursor = true;
        }
        Command::LookAt(id) => {
            if let Some(index) = state.found.ids.iter().position(|it| *it == id) {
                state.set_cursor(index, false);
                state.mode = Mode::Look(View::Fit);
            } else {
                context.notice(tr!("gallery-this-picture-is-hidden"));
            }
        }
        Command::CloseLook => {
            state.mode = Mode::Grid;
            state.focus_cursor = true;
            if let Some(screen) = state.came_from.take() {
                context.follow_up(WindowCommand::SetScreen(screen));
            }
        }
        Command::SetView(view) => set_view(state, view),
        Command::ToggleActualSize => toggle_actual_size(state, context),
        Command::Compare => {
            if let Some((first, second)) = state.pair() {
                let mode = CompareMode::default();
                state.mode = Mode::Compare(Comparison { first, second, mode, view: View::Fit, divider: 0.5 });
                state.came_from = None;
            }
        }
        Command::CompareFrom(screen, first, second) => {
            let mode = CompareMode::default();
            state.mode = Mode::Compare(Comparison { first, second, mode, view: View::Fit, divider: 0.5 });
            state.came_from = Some(screen);
            context.follow_up(WindowCommand::SetScreen(Screen::Gallery));
        }
        Command::SetCompareMode(mode) => with_comparison(state, |it| it.mode = mode),
        Command::SwapCompared => with_comparison(state, |it| std::mem::swap(&mut it.first, &mut it.second)),
        Command::SetDivider(divider) => with_comparison(state, |it| it.divider = divider.clamp(0.0, 1.0)),
        Command::Rate(stars) => {
            mark(state, Mark::Rating(stars), context);
            advance(state, context);
        }
        Command::Flag(flag) => {
            context.follow_up(create::Command::NotePicks(state.targets(), flag == Some(PictureFlag::Pick)));
            mark(state, Mark::Flag(flag), context);
            advance(state, context);
        }
        Command::SetAutoAdvance(advances) => state.auto_advance = advances,
        Command::FlagOf(ids, flag) => send_mark(state, ids, Mark::Flag(flag), context),
        Command::EditTag(text) => state.tag_text = text,
        Command::AddTag => {
            let tag = std::mem::take(&mut state.tag_text).trim().to_owned();
            if !tag.is_empty() {
                mark(state, Mark::AddTag(tag), context);
            }
        }
        Command::RemoveTag(tag) => mark(state, Mark::RemoveTag(tag), context),
        Command::EditNote(id, text) => state.note_text = Some((id, text)),
        Command::SaveNote => save_note(state, context),
        Command::Delete => {
            let targets = state.targets();
            if !targets.is_empty() {
                send(GalleryRequest::Trash(targets), context);
                context.follow_up(create::Command::ForgetTrash);
            }
        }
        Command::Restore => send(GalleryRequest::RestoreTrashed, context),
        Command::UseSettings => {
            if let Some(path) = current_file(state, context) {
                context.follow_up(WindowCommand::SetScreen(Screen::Create));
                context.follow_up(create::Command::OpenPicture(path));
            }
        }
        Command::Recall(part) => {
            if let Some(path) = current_file(state, context) {
                recall(path, part, context);
            }
        }
        Command::StartFrom => {
            if let Some(path) = current_file(state, context) {
                context.follow_up(WindowCommand::SetScreen(Screen::Create));
                context.follow_up(guides::Command::StartFromFile(path));
            }
        }
        Command::UseAsReference => use_files(state, FilesUse::Reference, context),
        Command::UseForPerson => use_files(state, FilesUse::Person, context),
        Command::UseForControl => {
            if let Some(path) = current_file(state, context) {
                context.shared.next.recipe.set_control_picture(ImageSource::File(path));
                context.follow_up(WindowCommand::SetScreen(Screen::Create));
            }
        }
        Command::Upscale(way) => use_files(state, FilesUse::Remake(Remake::Upscale(way)), context),
        Command::FinishDrafts => use_files(state, FilesUse::Remake(Remake::FinishDraft), context),
        Command::CopyPicture => {
            if let Some(path) = current_file(state, context) {
                clipboard::copy_file(path, context);
            }
        }
        Command::CopyText(text) => {
            context.egui.copy_text(text);
            context.notice(tr!("common-copied"));
        }
        Command::ShowInFolder => {
            if let Some(path) = current_file(state, context) {
                let folder = path.parent().map(PathBuf::from).unwrap_or_default();
                context.show_folder(folder, Some(path));
            }
        }
        Command::SetDialog(dialog) => {
            state.dialog = match dialog {
                Some(Dialog::Export(_)) if state.dialog.is_none() => Some(Dialog::Export(state.last_export.clone())),
                dialog => dialog,
            };
        }
        Command::ChooseExportFolder => {
            let without = |features: Features<'_>, _: &mut Context<'_>| {
                let pictures = &features.create.pictures_folder;
                if let Some(Dialog::Export(choice)) = &mut features.gallery.dialog {
                    choice.folder = Some(pictures.parent().unwrap_or(pictures).display().to_string());
                }
            };
            context.choose(FileDialog::folder(tr!("gallery-choose-the-folder-for-the-copies")), without, |paths, features, context| {
                if let Some(folder) = paths.into_iter().next() {
                    export_to(features.gallery, folder, context);
                }
            });
        }
        Command::Export => {
            if let Some(folder) = state.typed_folder() {
                export_to(state, folder, context);
            }
        }
        Command::SaveSearch => {
            if let Some(Dialog::SaveSearch(name)) = state.dialog.take() {
                send(GalleryRequest::SaveSearch(name.trim().to_owned(), state.search.text.trim().to_owned()), context);
            }
        }
        Command::DeleteSearch(name) => send(GalleryRequest::DeleteSearch(name), context),
        Command::AddFolder => {
            choose(tr!("gallery-show-the-pictures-of-a-folder"), context, |folder, _, context| {
                send(GalleryRequest::AddFolder(folder), context);
            });
        }
        Command::AddPaths(paths) => send(GalleryRequest::Import(paths), context),
        Command::ForgetFolder(folder) => send(GalleryRequest::ForgetFolder(folder), context),
        Command::Rescan => send(GalleryRequest::Rescan, context),
    }
}

fn send(request: GalleryRequest, context: &mut Context<'_>) {
    match context.gallery {
        Some(gallery) => gallery.send(request),
        None => context.notice(tr!("gallery-no-folder-for-the")),
    }
}

fn search(state: &State, context: &mut Context<'_>) {
    send(GalleryRequest::Search(state.search.clone()), context);
}

/// Asks where the files of the selected pictures are, and remembers what they are for.
fn use_files(state: &mut State, purpose: FilesUse, context: &mut Context<'_>) {
    let targets = state.targets();
    if !targets.is_empty() {
        state.asked.last_files += 1;
        state.asked.files.push((state.asked.last_files, purpose));
        send(GalleryRequest::SummariesOf(targets, state.asked.last_files), context);
    }
}

/// Uses the files of these pictures, as far as they are there, for what they were asked for.
fn files_known(state: &mut State, number: u64, summaries: &[PictureSummary], context: &mut Context<'_>) {
    let Some(index) = state.asked.files.iter().position(|(asked, _)| *asked == number) else { return };
    let (_, purpose) = state.asked.files.remove(index);
    let files: Vec<PathBuf> = summaries.iter().filter(|it| it.state == PictureState::Here).map(|it| it.path.clone()).collect();
    if files.is_empty() {
        summaries.first().into_iter().for_each(|missing| context.notice(not_there(missing)));
        return;
    }
    match purpose {
        FilesUse::Remake(remake) => {
            remake::remake_files(remake, files, context);
        }
        FilesUse::Reference => {
            context.shared.next.recipe.reference_images.extend(files.into_iter().map(ImageSource::File));
            context.follow_up(WindowCommand::SetScreen(Screen::Create));
        }
        FilesUse::Person => {
            context.shared.add_person_pictures(files.into_iter().map(ImageSource::File));
            context.follow_up(WindowCommand::SetScreen(Screen::Create));
        }
    }
}

/// The file of the picture with the cursor; says so where it is not there.
fn current_file(state: &State, context: &mut Context<'_>) -> Option<PathBuf> {
    let summary = state.summaries.get(&state.current()?)?;
    if summary.state == PictureState::Here {
        return Some(summary.path.clone());
    }
    context.notice(not_there(summary));
    None
}

fn not_there(summary: &PictureSummary) -> String {
    tr!("gallery-is-missing-reconnect-its", path = summary.path.display())
}

/// Changes a mark in the state at once, and in the index.
fn mark(state: &mut State, mark: Mark, context: &mut Context<'_>) {
    let targets = state.targets();
    if targets.is_empty() {
        return;
    }
    send_mark(state, targets, mark, context);
}

/// Goes on to the next picture after a mark of a single one, where the person wants that.
fn advance(state: &mut State, context: &mut Context<'_>) {
    let next = state.cursor.map(|at| at + 1).filter(|next| *next < state.found.ids.len());
    if let Some(next) = next.filter(|_| state.auto_advance && state.target_count() == 1) {
        save_note(state, context);
        state.set_cursor(next, false);
    }
}

fn send_mark(state: &mut State, ids: Vec<PictureId>, mark: Mark, context: &mut Context<'_>) {
    state.mark(&ids, &mark, context.gallery.is_some());
    send(GalleryRequest::Mark(ids, mark), context);
}

/// Keeps the note that was typed.
fn save_note(state: &mut State, context: &mut Context<'_>) {
    let Some((id, text)) = state.note_text.take() else { return };
    send_mark(state, vec![id], Mark::Note(text), context);
}

fn with_comparison(state: &mut State, change: impl FnOnce(&mut Comparison)) {
    if let Mode::Compare(comparison) = &mut state.mode {
        change(comparison);
    }
}

fn set_view(state: &mut State, view: View) {
    match &mut state.mode {
        Mode::Look(it) => *it = view,
        Mode::Compare(comparison) => comparison.view = view,
        Mode::Grid => {}
    }
}

fn toggle_actual_size(state: &mut State, context: &Context<'_>) {
    let (id, view) = match &state.mode {
        Mode::Look(view) => (state.current(), *view),
        Mode::Compare(comparison) => (Some(comparison.first), comparison.view),
        Mode::Grid => return,
    };
    let Some(Ok(picture)) = id.and_then(|id| state.pixels.get(&id)) else { return };
    let size = eframe::egui::vec2(picture.width as f32, picture.height as f32);
    let next = if view == View::Fit { view.actual(size, context.egui.pixels_per_point()) } else { View::Fit };
    set_view(state, next);
}

/// Asks the gallery's threads for what is in sight, whenever that is something else than before.
/// `elsewhere`: pictures of other views whose thumbnails are wanted.
pub(crate) fn refresh(state: &mut State, elsewhere: Vec<PictureId>, context: &mut Context<'_>) {
    let is_on_screen = context.shared.screen == Screen::Gallery;
    if is_on_screen && !state.was_on_screen {
        // Another program, or the command line, may have added or taken some.
        send_if_there(GalleryRequest::Refresh, context);
    }
    state.was_on_screen = is_on_screen;
    if !is_on_screen {
        // The page that opens next, too: so it is there at once.
        let page = state.next_page();
        let summaries = page.iter().copied().filter(|id| !state.summaries.contains_key(id)).collect();
        ask(&mut state.asked.summaries, summaries, context, GalleryRequest::Summaries);
        let thumbnails = elsewhere.into_iter().chain(page).filter(|id| !state.thumbnails.is_known(*id)).collect();
        ask_for_thumbnails(&mut state.asked.thumbnails, thumbnails, context);
        return;
    }
    let mut in_sight: Vec<PictureId> = state.in_sight().collect();
    let near = state.cursor.into_iter().flat_map(|at| at.saturating_sub(PREFETCH)..=at + PREFETCH);
    let cursor: Vec<PictureId> = near.filter_map(|at| state.found.ids.get(at)).copied().collect();
    in_sight.extend(cursor.iter().filter(|id| !in_sight.contains(id)).copied().collect::<Vec<_>>());
    if let Some(details) = state.current_details() {
        in_sight.extend(details.parent.iter().chain(details.children.iter().take(12)).chain(details.batch.iter().take(12)));
    }
    let compared = match &state.mode {
        Mode::Compare(it) => vec![it.first, it.second],
        Mode::Grid | Mode::Look(_) => Vec::new(),
    };
    let missing = |known: &dyn Fn(&PictureId) -> bool| in_sight.iter().copied().filter(|id| !known(id)).collect::<Vec<_>>();
    if std::mem::take(&mut state.is_outdated) {
        state.asked.summaries.clear();
        send_if_there(GalleryRequest::Summaries(in_sight.clone()), context);
    }
    let summaries = missing(&|id| state.summaries.contains_key(id));
    ask(&mut state.asked.summaries, summaries, context, GalleryRequest::Summaries);
    let thumbnails = missing(&|id| state.thumbnails.is_known(*id));
    ask_for_thumbnails(&mut state.asked.thumbnails, thumbnails, context);
    let detailed: Vec<PictureId> = state.current().into_iter().chain(compared.iter().copied()).collect();
    state.details.retain(|id, _| detailed.contains(id));
    let details = detailed.into_iter().filter(|id| !state.details.contains_key(id)).collect();
    ask(&mut state.asked.details, details, context, GalleryRequest::Details);
    let large = match &state.mode {
        Mode::Grid => Vec::new(),
        Mode::Look(_) => state.current().into_iter().chain(cursor.iter().copied().filter(|id| Some(*id) != state.current())).collect(),
        Mode::Compare(_) => compared,
    };
    state.pixels.retain(|id, _| large.contains(id));
    let pixels = large.into_iter().filter(|id| !state.pixels.contains_key(id)).collect();
    ask(&mut state.asked.pixels, pixels, context, GalleryRequest::Pixels);
}

/// Sends a request for these pictures where it is another one than the last.
fn ask(last: &mut Vec<PictureId>, ids: Vec<PictureId>, context: &Context<'_>, request: impl FnOnce(Vec<PictureId>) -> GalleryRequest) {
    if *last == ids {
        return;
    }
    last.clone_from(&ids);
    if !ids.is_empty() {
        send_if_there(request(ids), context);
    }
}

/// Asks for these thumbnails unless all of them are on their way: a list that is sent again is made
/// again. `pending` loses those that arrive.
fn ask_for_thumbnails(pending: &mut Vec<PictureId>, ids: Vec<PictureId>, context: &Context<'_>) {
    if ids.iter().all(|id| pending.contains(id)) {
        return;
    }
    pending.clone_from(&ids);
    send_if_there(GalleryRequest::Thumbnails(ids), context);
}

fn send_if_there(request: GalleryRequest, context: &Context<'_>) {
    if let Some(gallery) = context.gallery {
        gallery.send(request);
    }
}

/// An event of the gallery's threads.
pub(crate) fn gallery_event(state: &mut State, event: GalleryEvent, context: &mut Context<'_>) {
    match event {
        GalleryEvent::Found(found) => state.set_found(found),
        GalleryEvent::Changed => state.is_outdated = true,
        GalleryEvent::Marked => drop(state.unwritten_marks.pop_front()),
        GalleryEvent::Summaries(summaries) => {
            for summary in &summaries {
                let is_other = |old: &PictureSummary| (old.state, old.file_hash) != (summary.state, summary.file_hash);
                if state.summaries.get(&summary.id).is_some_and(is_other) {
                    state.thumbnails.remove(summary.id);
                    state.details.remove(&summary.id);
                }
            }
            state.add_summaries(summaries);
        }
        GalleryEvent::SummariesOf(number, summaries) => files_known(state, number, &summaries, context),
        GalleryEvent::Details(id, details) => match details {
            Some(details) => state.add_details(id, details),
            None => drop(state.details.remove(&id)),
        },
        GalleryEvent::Thumbnail(id, pixels) => {
            state.asked.thumbnails.retain(|asked| *asked != id);
            let texture = pixels.map(|it| context.egui.load_texture("gallery", pixels::to_screen(&it, usize::MAX), TextureOptions::LINEAR));
            state.thumbnails.insert(id, texture);
        }
        GalleryEvent::Pixels(id, Ok(pixels)) => {
            let max_side_px = context.egui.input(|input| input.max_texture_side);
            context.run(
                Worker::Pixels,
                move || (pixels::to_screen(&pixels, max_side_px), pixels),
                move |(image, pixels), features, context| large_ready(features.gallery, id, &pixels, image, context),
            );
        }
        GalleryEvent::Pixels(id, Err(sentence)) => drop(state.pixels.insert(id, Err(sentence))),
        GalleryEvent::Overview(overview) => state.overview = overview,
        GalleryEvent::Scanning(scan) => {
            state.scanning =
                scan.map(|(folder, count)| tr!("gallery-looking-through", folder = crate::gui::widgets::file_name(&folder), count));
        }
        GalleryEvent::Trashed(count) => {
            state.can_restore = true;
            context.notice(match count {
                1 => tr!("gallery-1-picture-was-moved").to_owned(),
                _ => tr!("gallery-pictures-were-moved-to", count),
            });
        }
        GalleryEvent::Restored(ids) => {
            state.can_restore = false;
            match ids.len() {
                // Why, was said.
                0 => {}
                1 => context.notice(tr!("gallery-1-picture-was-restored")),
                count => context.notice(tr!("gallery-pictures-were-restored", count)),
            }
            state.restored = ids;
        }
        // The Create view's.
        GalleryEvent::Newest(_) | GalleryEvent::BestOf(..) => {}
        GalleryEvent::Notice(sentence) => context.notice(sentence),
    }
}

/// Takes a part of the settings of a picture over.
fn recall(path: PathBuf, part: RecallPart, context: &Context<'_>) {
    let known = OwnModels::of(context.shared);
    context.run(
        Worker::Files,
        move || opened_picture::read_opened_picture(&path, &known.known()),
        move |picture, _, context| {
            context.name_change(part.label());
            recalled(part, picture, context);
        },
    );
}

fn recalled(part: RecallPart, picture: Option<OpenedPicture>, context: &mut Context<'_>) {
    let Some(picture) = picture else {
        context.notice(tr!("gallery-this-file-contains-no"));
        return;
    };
    context.shared.next.recall(part, &picture.settings);
    let mut words = part.notice().to_owned();
    if part.has_model() {
        for sentence in picture.sentences() {
            words.push(' ');
            words.push_str(&sentence);
        }
    }
    context.notice(words);
}

/// A picture is converted for the screen.
fn large_ready(state: &mut State, id: PictureId, pixels: &Arc<Rgb8>, image: ColorImage, context: &mut Context<'_>) {
    let texture = context.egui.load_texture("gallery large", image, TextureOptions::LINEAR);
    let picture = LargePicture { texture, pixels: Arc::clone(pixels), width: pixels.width(), height: pixels.height() };
    state.pixels.insert(id, Ok(picture));
    compare_pixels(state, context);
}

/// Asks for the difference of the two pictures that are compared, once both are here.
fn compare_pixels(state: &mut State, context: &mut Context<'_>) {
    let Mode::Compare(Comparison { first, second, .. }) = state.mode else { return };
    let (Some(Ok(a)), Some(Ok(b))) = (state.pixels.get(&first), state.pixels.get(&second)) else { return };
    let max_side_px = context.egui.input(|input| input.max_texture_side);
    let (pixels, other) = (Arc::clone(&a.pixels), Arc::clone(&b.pixels));
    context.run(
        Worker::Pixels,
        move || pixels::difference(&pixels, &other, max_side_px),
        move |image, features, context| {
            let texture = context.egui.load_texture("gallery difference", image, TextureOptions::LINEAR);
            features.gallery.difference = Some((first, second, texture));
        },
    );
}

/// Exports what is selected, which may have changed while the dialog of folders was open, as the
/// dialog says.
pub(crate) fn export_to(state: &mut State, folder: PathBuf, context: &mut Context<'_>) {
    let Some(export) = state.export(folder) else { return };
    if let Some(Dialog::Export(choice)) = state.dialog.take() {
        state.last_export = ExportChoice { name: String::new(), ..choice };
    }
    send(GalleryRequest::Export(state.targets(), export), context);
}

/// Asks for a folder.
fn choose(title: &str, context: &mut Context<'_>, apply: fn(PathBuf, Features<'_>, &mut Context<'_>)) {
    let without = |_: Features<'_>, context: &mut Context<'_>| {
        context.notice(tr!("gallery-this-system-has-no"));
    };
    context.choose(FileDialog::folder(title), without, move |paths, features, context| {
        if let Some(folder) = paths.into_iter().next() {
            apply(folder, features, context);
        }
    });
}
