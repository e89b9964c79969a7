//! What guides a picture beside its words: start picture, mask, reference pictures, control picture
//! and pictures of a person.

use std::path::{Path, PathBuf};

use eframe::egui::{
    Align, ComboBox, Frame, Image, Label, Layout, Margin, Popup, Rect, RichText, Role, Sense, StrokeKind, TextureHandle, Ui, WidgetInfo,
    load::SizedTexture, vec2,
};

use crate::gui::command::Commands;
use crate::gui::create;
use crate::gui::create::panel_setting::Shown;
use crate::gui::create::view::text_row::text_row;
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::guides::command::Command;
use crate::gui::icons::{self, Icon};
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets;
use crate::gui::widgets::{Scale, bare_icon, command_control, file_name, icon_button, slider_row};
use crate::settings::Fold;
use atelier_core::canvas::{AreaSettings, StartFit};
use atelier_core::recipe::{ControlImage, FileRole, ImageSource, Person, Preprocessor, Recipe, SHARE};
use atelier_language::tr;

/// Side of a small look at a picture, in points.
const LOOK: f32 = 44.0;
/// Height of what a preprocessor made of the control picture, in points.
const PREPROCESSED_LOOK: f32 = 120.0;

/// Draws what guides the picture beside its words: the picture to start from, reference pictures,
/// the control picture and a person.
pub(crate) fn guides_section(ui: &mut Ui, state: &State, recipe: &mut Recipe, commands: &mut Commands) {
    let is_open = state.create.open_folds.contains(&Fold::Guides);
    let words = (tr!("guides-guides"), summary(recipe), tr!("guides-pictures-that-guide-the"));
    let mut of_menu = Commands::default();
    let menu = |ui: &mut Ui| add_menu(ui, state, &state.shared.next.recipe, &mut of_menu);
    let is_pressed = widgets::section(ui, (words.0, &words.1, words.2), is_open, menu, |ui| guides_rows(ui, state, recipe, commands));
    commands.append(of_menu);
    if is_pressed {
        commands.push(create::Command::SetFold(Fold::Guides, !is_open));
    }
}

/// "start picture, 2 references", or "none".
fn summary(recipe: &Recipe) -> String {
    let references = recipe.reference_images.len();
    let parts = [
        match recipe.starts().count() {
            0 => None,
            1 => Some(tr!("guides-start-picture-2").to_owned()),
            count => Some(tr!("common-start-pictures", count)),
        },
        recipe.mask.is_some().then(|| tr!("guides-mask-2").to_owned()),
        (references > 0).then(|| tr!("guides-references-count", count = references)),
        recipe.control.is_some().then(|| tr!("guides-control-picture-2").to_owned()),
        (!recipe.person.is_empty()).then(|| tr!("guides-person-2").to_owned()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { tr!("guides-none-2").to_owned() } else { parts.join(", ") }
}

fn guides_rows(ui: &mut Ui, state: &State, recipe: &mut Recipe, commands: &mut Commands) {
    start_rows(ui, state, recipe, commands);
    for (index, picture) in recipe.reference_images.iter().enumerate() {
        let label = tr!("guides-reference-picture", index = index + 1);
        picture_row(ui, state, commands, &label, picture, (None, Command::RemoveReference(index)));
    }
    if let Err(sentence) = state.shared.takes_references()
        && !recipe.reference_images.is_empty()
    {
        ui.add(Label::new(RichText::new(sentence).color(theme::palette(ui).warn)).wrap());
    }
    if let Some(control) = &mut recipe.control {
        picture_row(
            ui,
            state,
            commands,
            tr!("guides-control-picture"),
            &control.image,
            (Some(Command::ChooseControl), Command::ClearControl),
        );
        // A model that reads the picture itself has no strength for it.
        if !state.shared.next.reads_control() {
            let scale = Scale { step: 0.01, decimals: 2, logarithmic: false };
            let hover = tr!("guides-controlnet-strength-0-turns");
            slider_row(ui, tr!("guides-control"), &mut control.strength, SHARE, &scale, hover);
        }
        preprocessor_row(ui, control);
    }
    if let Some(look) = state.guides.look_of(recipe) {
        preprocessed_look(ui, look);
    }
    person_rows(ui, state, recipe, commands);
}

/// Draws the choice of what is made of the control picture.
fn preprocessor_row(ui: &mut Ui, control: &mut ControlImage) {
    widgets::row(ui, tr!("guides-preprocessor"), |ui| {
        let combo = ComboBox::from_id_salt("Preprocessor")
            .width(ui.available_width())
            .icon(widgets::chevron)
            .selected_text(control.preprocessor.map_or(tr!("guides-none"), |it| preprocessor_words(it).0))
            .show_ui(ui, |ui| {
                ui.selectable_value(&mut control.preprocessor, None, tr!("guides-none")).on_hover_text(tr!("guides-use-the-picture-as"));
                for preprocessor in Preprocessor::ALL {
                    let (words, hover) = preprocessor_words(*preprocessor);
                    ui.selectable_value(&mut control.preprocessor, Some(*preprocessor), words).on_hover_text(hover);
                }
            });
        let hover = tr!("guides-what-to-make-of");
        combo.response.on_hover_text(hover).accessible_name(tr!("guides-preprocessor"));
    });
}

/// The name of a preprocessor, and what it does.
fn preprocessor_words(preprocessor: Preprocessor) -> (&'static str, &'static str) {
    match preprocessor {
        Preprocessor::Canny => (tr!("guides-canny"), tr!("guides-draw-thin-outlines")),
        Preprocessor::SoftEdge => (tr!("guides-soft-edge"), tr!("guides-draw-broad-soft-outlines")),
        Preprocessor::LineArt => (tr!("guides-line-art"), tr!("guides-draw-the-dark-lines")),
        Preprocessor::Scribble => (tr!("guides-scribble"), tr!("guides-draw-few-thick-strokes")),
        Preprocessor::Tile => (tr!("guides-tile"), tr!("guides-leave-out-the-details")),
        Preprocessor::Invert => (tr!("guides-invert"), tr!("guides-exchange-dark-and-light")),
        Preprocessor::DepthMap => (tr!("guides-depth-map"), tr!("guides-spread-a-depth-map")),
    }
}

/// Draws what the preprocessor made of the control picture.
fn preprocessed_look(ui: &mut Ui, look: &Result<TextureHandle, String>) {
    match look {
        Ok(texture) => {
            widgets::row(ui, "", |ui| {
                let image = Image::from_texture(SizedTexture::from_handle(texture)).alt_text(tr!("guides-preprocessed-control-picture"));
                let size = vec2(ui.available_width(), PREPROCESSED_LOOK);
                ui.add(image.max_size(size).corner_radius(4)).on_hover_text(tr!("guides-what-the-controlnet-sees"));
            });
        }
        Err(sentence) => {
            ui.add(Label::new(RichText::new(sentence).color(theme::palette(ui).warn)).wrap());
        }
    }
}

/// Draws the steps in which the `ControlNet` acts.
pub(crate) fn control_steps_rows(ui: &mut Ui, state: &State, recipe: &mut Recipe) {
    let is_shown = Shown::Control.check(&state.shared, recipe).is_ok();
    let Some(control) = recipe.control.as_mut().filter(|_| is_shown) else { return };
    let scale = Scale { step: 0.01, decimals: 2, logarithmic: false };
    let hover = tr!("guides-part-of-the-steps");
    slider_row(ui, tr!("guides-control-start"), &mut control.start, SHARE, &scale, hover);
    let hover = tr!("guides-part-of-the-steps-after-which");
    slider_row(ui, tr!("guides-control-end"), &mut control.end, SHARE, &scale, hover);
}

/// Draws the person: which `PhotoMaker`, from which pictures, and how strongly.
fn person_rows(ui: &mut Ui, state: &State, recipe: &mut Recipe, commands: &mut Commands) {
    if !recipe.has_photomaker() && recipe.person.is_empty() {
        return;
    }
    photomaker_row(ui, state, recipe);
    for (index, picture) in recipe.person.images.iter().enumerate() {
        let label = tr!("guides-picture-of-the-person", index = index + 1);
        picture_row(ui, state, commands, &label, picture, (None, Command::RemovePerson(index)));
    }
    widgets::row(ui, tr!("guides-person"), |ui| widgets::command_button(ui, state, commands, Command::AddPerson));
    if recipe.person.is_empty() {
        return;
    }
    let scale = Scale { step: 1.0, decimals: 0, logarithmic: false };
    let hover = tr!("guides-style-strength-of-photomaker");
    slider_row(ui, tr!("guides-style-strength"), &mut recipe.person.style_strength, Person::STYLE_STRENGTHS, &scale, hover);
    if recipe.person.id_embedding.is_some() || state.shared.may_read_faces() {
        faces_rows(ui, state, recipe, commands);
    }
    if let Err(advice) = recipe.check_person_word() {
        ui.add(Label::new(RichText::new(advice.to_string()).color(theme::palette(ui).warn)).wrap());
    }
}

/// Draws the file with features of the faces in the pictures, which the second version of
/// `PhotoMaker` reads.
fn faces_rows(ui: &mut Ui, state: &State, recipe: &mut Recipe, commands: &mut Commands) {
    let own = recipe.person.id_embedding.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
    text_row(ui, tr!("guides-face-embedding"), "id_embeds.bin", &own, tr!("guides-choose-the-file-with-features"), |text| {
        // A path that is no text stays as it is.
        if text != own {
            recipe.person.id_embedding = Some(text.trim()).filter(|text| !text.is_empty()).map(PathBuf::from);
        }
        Ok(())
    });
    if recipe.person.id_embedding.is_none() {
        widgets::row(ui, "", |ui| widgets::command_button(ui, state, commands, Command::ChooseFaces));
    }
}

/// Draws the choice among the library's `PhotoMaker`s; one of another folder is among the model's
/// files.
fn photomaker_row(ui: &mut Ui, state: &State, recipe: &mut Recipe) {
    let chosen = recipe.files.get(FileRole::Photomaker).map(Path::to_owned);
    let mut next = chosen.clone();
    widgets::row(ui, tr!("guides-photomaker"), |ui| {
        let combo = ComboBox::from_id_salt("PhotoMaker")
            .width(ui.available_width())
            .truncate()
            .icon(widgets::chevron)
            .selected_text(chosen.as_deref().map_or_else(|| tr!("guides-none").to_owned(), file_name))
            .show_ui(ui, |ui| {
                let own = chosen.as_deref().filter(|path| state.shared.photomakers().all(|it| it != *path));
                for path in own.into_iter().chain(state.shared.photomakers()) {
                    ui.selectable_value(&mut next, Some(path.to_owned()), file_name(path));
                }
                ui.selectable_value(&mut next, None, tr!("guides-none"));
            });
        let hover = tr!("guides-the-photomaker-file-to");
        combo.response.on_hover_text(hover).accessible_name(tr!("guides-photomaker"));
    });
    if next != chosen {
        match next {
            Some(path) => recipe.files.set(FileRole::Photomaker, path),
            None => recipe.files.remove(FileRole::Photomaker),
        }
    }
}

/// The menu of guides that can be added: what the model cannot use is not offered.
fn add_menu(ui: &mut Ui, state: &State, recipe: &Recipe, commands: &mut Commands) {
    let hover = tr!("guides-add-a-start-reference");
    let button = bare_icon(ui, Icon::Plus, tr!("guides-add-a-guide")).on_hover_text(hover);
    Popup::menu(&button).accessible_name(tr!("guides-add-a-guide")).show(|ui| {
        if recipe.init.is_none() {
            let words = tr!("guides-choose-a-picture-to");
            command_control(ui, state, commands, Command::ChooseStart, |ui| ui.button(words));
        }
        let control = (state.shared.next.takes_control() && recipe.control.is_none()).then_some(Command::ChooseControl);
        let reference = state.shared.takes_references().is_ok().then_some(Command::AddReference);
        let person = state.shared.takes_person().is_ok().then_some(Command::AddPerson);
        for command in reference.into_iter().chain(control).chain(person) {
            widgets::command_button(ui, state, commands, command);
        }
    });
}

fn start_rows(ui: &mut Ui, state: &State, recipe: &mut Recipe, commands: &mut Commands) {
    let has_several = recipe.starts().nth(1).is_some();
    if has_several {
        starts_row(ui, state, recipe, commands);
    }
    let Some(init) = &mut recipe.init else {
        // It has no effect, but it is there.
        if let Some(mask) = &recipe.mask {
            picture_row(ui, state, commands, tr!("guides-mask"), mask, (Some(Command::ChooseMask), Command::ClearMask));
        }
        return;
    };
    if !has_several {
        picture_row(ui, state, commands, tr!("guides-start-picture"), &init.image, (Some(Command::ChooseStart), Command::ClearStart));
    }
    let scale = Scale { step: 0.01, decimals: 2, logarithmic: false };
    slider_row(ui, tr!("guides-strength"), &mut init.strength, SHARE, &scale, tr!("guides-denoising-strength-0-keeps"));
    if !recipe.changes_part() {
        fit_row(ui, &mut recipe.start_fit);
    }
    match &recipe.mask {
        Some(mask) => {
            picture_row(ui, state, commands, tr!("guides-mask"), mask, (Some(Command::ChooseMask), Command::ClearMask));
            let mut is_part = recipe.area.is_some();
            let hover = tr!("guides-inpaint-only-the-masked");
            ui.checkbox(&mut is_part, tr!("guides-only-the-masked-part")).on_hover_text(hover);
            if is_part != recipe.area.is_some() {
                recipe.area = is_part.then(AreaSettings::default);
            }
        }
        None => {
            widgets::row(ui, tr!("guides-mask"), |ui| widgets::command_button(ui, state, commands, Command::ChooseMask));
        }
    }
}

/// Draws several start pictures: how many there are, and each of them, which a click removes.
fn starts_row(ui: &mut Ui, state: &State, recipe: &Recipe, commands: &mut Commands) {
    let palette = theme::palette(ui);
    Frame::new()
        .fill(palette.field)
        .stroke((1.0, palette.line))
        .corner_radius(theme::RADIUS)
        .inner_margin(Margin { left: 6, right: 4, top: 2, bottom: 6 })
        .show(ui, |ui| {
            ui.set_width(ui.available_width());
            let left = |ui: &mut Ui| {
                let words = tr!("common-start-pictures", count = recipe.starts().count());
                ui.label(RichText::new(words).color(palette.text)).on_hover_text(tr!("guides-a-picture-is-made"));
            };
            widgets::row_of_sides(ui, widgets::ROW_HEIGHT, "start pictures", left, |ui| {
                ui.spacing_mut().item_spacing.x = 2.0;
                icon_button(ui, state, commands, Icon::Folder, Command::ChooseStart);
                let all = tr!("guides-remove-all-start-pictures");
                command_control(ui, state, commands, Command::ClearStart, |ui| bare_icon(ui, Icon::Close, all));
            });
            ui.horizontal_wrapped(|ui| {
                ui.spacing_mut().item_spacing = vec2(4.0, 4.0);
                for (index, source) in recipe.starts().enumerate() {
                    start_tile(ui, state, commands, index, source);
                }
            });
        });
}

/// Draws one of several start pictures; a click or Enter removes it. Rows that wrap do not let
/// [`command_control`] draw it.
fn start_tile(ui: &mut Ui, state: &State, commands: &mut Commands, index: usize, source: &ImageSource) {
    let palette = theme::palette(ui);
    let remove = Command::RemoveStart(index);
    let (name, look) = name_and_look(state, source);
    let (rect, response) = ui.allocate_exact_size(vec2(LOOK, LOOK), Sense::click());
    let label = format!("{}: {name}", remove.label());
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &label));
    ui.painter().rect_filled(rect, 4.0, palette.control);
    match look {
        Some(texture) => widgets::paint_square(ui, texture, rect),
        None => icons::paint(ui.painter(), rect, Icon::Picture, palette.weak),
    }
    let is_near = response.hovered() || response.has_focus();
    let corner = Rect::from_center_size(rect.right_top() + vec2(-9.0, 9.0), vec2(16.0, 16.0));
    ui.painter().circle_filled(corner.center(), 8.0, palette.raised);
    icons::paint(ui.painter(), corner, Icon::Close, if is_near { palette.strong } else { palette.text });
    ui.painter().rect_stroke(rect, 4.0, widgets::picture_ring(&response, false, &palette), StrokeKind::Inside);
    if response.on_hover_text(format!("{name}\n{}", remove.tooltip())).clicked() {
        commands.push(remove);
    }
}

/// Draws how a start picture of another shape is brought to the size.
fn fit_row(ui: &mut Ui, fit: &mut StartFit) {
    widgets::row(ui, tr!("guides-resize"), |ui| {
        for (choice, words, hover) in [
            (StartFit::Crop, tr!("guides-crop"), tr!("guides-crop-what-is-outside")),
            (StartFit::Fit, tr!("guides-fit"), tr!("guides-keep-the-whole-picture")),
            (StartFit::Stretch, tr!("guides-stretch"), tr!("guides-stretch-the-picture-to")),
        ] {
            ui.selectable_value(fit, choice, words).on_hover_text(hover).accessible_name(tr!("guides-the-start-picture", words));
        }
    });
}

/// The name of a picture, and a small look at it once that has been read.
fn name_and_look<'a>(state: &'a State, source: &ImageSource) -> (String, Option<&'a TextureHandle>) {
    match source {
        ImageSource::File(path) => (file_name(path), state.create.thumbnail(path)),
        ImageSource::Pixels(pixels) => (tr!("guides-pixels", width = pixels.width(), height = pixels.height()), None),
    }
}

fn picture_row(
    ui: &mut Ui,
    state: &State,
    commands: &mut Commands,
    label: &str,
    source: &ImageSource,
    (choose, clear): (Option<Command>, Command),
) {
    let palette = theme::palette(ui);
    let (name, look) = name_and_look(state, source);
    ui.push_id(label, |ui| {
        Frame::new()
            .fill(palette.field)
            .stroke((1.0, palette.line))
            .corner_radius(theme::RADIUS)
            .inner_margin(Margin { left: 6, right: 4, top: 6, bottom: 6 })
            .show(ui, |ui| {
                ui.set_width(ui.available_width());
                ui.allocate_ui_with_layout(vec2(ui.available_width(), LOOK), Layout::left_to_right(Align::Center), |ui| {
                    if let Some(texture) = look {
                        let image = Image::from_texture(SizedTexture::from_handle(texture)).alt_text(label);
                        ui.add(image.max_size(vec2(LOOK, LOOK)).corner_radius(4));
                    } else {
                        let (rect, _) = ui.allocate_exact_size(vec2(LOOK, LOOK), Sense::hover());
                        icons::paint(ui.painter(), rect, Icon::Picture, palette.weak);
                    }
                    let left = |ui: &mut Ui| {
                        ui.spacing_mut().item_spacing.y = 1.0;
                        ui.with_layout(Layout::top_down(Align::LEFT), |ui| {
                            ui.add_space(6.0);
                            ui.add(Label::new(RichText::new(label).size(theme::SMALL).color(palette.weak)).truncate());
                            let name = widgets::middle_elided(ui, &name, ui.available_width());
                            ui.add(Label::new(name).truncate());
                        });
                    };
                    widgets::sides(ui, label, left, |ui| {
                        ui.spacing_mut().item_spacing.x = 2.0;
                        if let Some(choose) = choose {
                            icon_button(ui, state, commands, Icon::Folder, choose);
                        }
                        icon_button(ui, state, commands, Icon::Close, clear);
                    });
                });
            });
    });
}
