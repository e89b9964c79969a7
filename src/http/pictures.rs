//! An owner's own kept pictures: listed, fetched, rated and upscaled by their numbers.

use std::sync::Arc;

use atelier_core::advice::Advice;
use atelier_core::reading::ReadingMarks;
use atelier_core::recipe::{ImageSource, InitImage};
use atelier_gallery::queue::{Lane, Owner};
use atelier_gallery::{
    Database, GalleryError, Order, PictureDetails, PictureId, PictureState, Query, ThumbnailSize, Thumbnails, field_term,
};
use atelier_media::{ExportFormat, export_pixels, read_image};
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use serde_json::{Value, json};

use super::error::Failure;
use super::fields::{Description, Fields};
use super::images::file_bytes;
use super::jobs::accepted;
use super::json::Json;
use super::names::UpscalerName;
use super::payload::Payload;
use super::recipe::{HiresWish, ResolvedWish, Wish};
use super::retention::is_in;
use super::state::{Previews, SharedApp, blocking};

/// Pictures in a list.
const MAX_LISTED: usize = 60;
const BEST_RATING: u8 = 5;
/// By how much a picture is enlarged.
const SCALE: f32 = 2.0;
const THUMBNAIL: ExportFormat = ExportFormat::Jpeg { quality: 85 };

pub(crate) fn routes() -> Router<SharedApp> {
    Router::new()
        .route("/atelier/v1/pictures", get(list))
        .route("/atelier/v1/pictures/{id}", get(picture))
        .route("/atelier/v1/pictures/{id}/thumbnail", get(thumbnail))
        .route("/atelier/v1/pictures/{id}/rating", post(rate))
        .route("/atelier/v1/pictures/{id}/upscale", post(upscale))
}

/// Works with the gallery's index on another thread.
async fn with_gallery<T: Send + 'static>(
    app: &SharedApp,
    work: impl FnOnce(&mut Database) -> Result<T, GalleryError> + Send + 'static,
) -> Result<T, Failure> {
    let app = Arc::clone(app);
    let result = blocking(move || app.with_gallery(work)).await?;
    result.map_err(|error| {
        tracing::warn!("the gallery could not be asked: {error}");
        Failure::Failed(Advice::new("The gallery cannot be read now.", "Try again."))
    })
}

fn unknown() -> Failure {
    Failure::not_found("Picture", "There is no picture of yours with this number.")
}

/// A picture of this owner by the text of its number: one of somebody else's is not there.
pub(crate) async fn find(app: &SharedApp, owner: &Owner, id: &str) -> Result<PictureDetails, Failure> {
    let id = PictureId(id.parse().map_err(|_| unknown())?);
    let found = with_gallery(app, move |gallery| gallery.picture(id)).await?;
    let folder = app.folder_of(owner);
    found.filter(|it| it.summary.state == PictureState::Here && is_in(&it.summary.path, &folder)).ok_or_else(unknown)
}

/// The same, for a job that will begin with it: from now on it is not removed as an old one.
pub(crate) async fn find_start(app: &SharedApp, owner: &Owner, id: &str) -> Result<PictureDetails, Failure> {
    let found = find(app, owner, id).await?;
    app.hub.note_start(found.summary.path.clone());
    Ok(found)
}

async fn list(State(app): State<SharedApp>, Extension(owner): Extension<Owner>) -> Result<Json, Failure> {
    let folder = app.folder_of(&owner);
    let pictures = with_gallery(&app, move |gallery| {
        // The search takes a part of a path; others' folders may have this one's name in them.
        let query = Query::parse(&field_term("folder", &folder.to_string_lossy()));
        let ids = gallery.search(&query, Order::Newest)?;
        let mut own = Vec::new();
        for ids in ids.chunks(MAX_LISTED) {
            let found = gallery.pictures(ids)?;
            own.extend(found.into_iter().filter(|it| it.state == PictureState::Here && is_in(&it.path, &folder)));
            if own.len() >= MAX_LISTED {
                break;
            }
        }
        own.truncate(MAX_LISTED);
        Ok(own)
    });
    let pictures: Vec<Value> = pictures
        .await?
        .iter()
        .map(|it| {
            json!({"id": it.id.0.to_string(), "prompt": it.prompt_start, "width": it.width, "height": it.height,
                "created": it.created_ms / 1000, "rating": it.rating})
        })
        .collect();
    Ok(Json(json!({"pictures": pictures})))
}

fn image(bytes: Vec<u8>, kind: &'static str) -> Response {
    ([(header::CONTENT_TYPE, kind)], bytes).into_response()
}

async fn picture(State(app): State<SharedApp>, Extension(owner): Extension<Owner>, Path(id): Path<String>) -> Result<Response, Failure> {
    let path = find(&app, &owner, &id).await?.summary.path;
    let bytes = blocking(move || file_bytes(&path, ExportFormat::Png)).await??;
    Ok(image(bytes.bytes, "image/png"))
}

async fn thumbnail(State(app): State<SharedApp>, Extension(owner): Extension<Owner>, Path(id): Path<String>) -> Result<Response, Failure> {
    let found = find(&app, &owner, &id).await?.summary;
    let paths = app.paths.clone();
    let bytes = app.decode(move || {
        let refused = |error: &dyn std::fmt::Display| {
            tracing::warn!("a thumbnail could not be made: {error}");
            Failure::Failed(Advice::new("The thumbnail cannot be made now.", "Try again."))
        };
        let thumbnails = Thumbnails::open(&paths.thumbnails_file()).map_err(|error| refused(&error))?;
        let marks = ReadingMarks::open(&paths.reading_marks());
        let small = thumbnails.thumbnail(&marks, &found.path, found.file_hash, ThumbnailSize::Small).map_err(|error| refused(&error))?;
        export_pixels(&small, THUMBNAIL).map_err(|error| refused(&error))
    });
    Ok(image(bytes.await?, "image/jpeg"))
}

/// The fields of a route's body, where it has any.
pub(crate) fn describe(path: &str) -> Option<Description> {
    (path == "/atelier/v1/pictures/{id}/rating").then(|| Fields::describe(read_rating))
}

/// The rating, and the note on what nobody read.
fn read_rating(mut fields: Fields) -> Result<(u8, Option<String>), Failure> {
    let rating = fields.within("rating", 0..=BEST_RATING.into()).and_then(|it| u8::try_from(it).ok());
    if rating.is_none() {
        fields.missing("rating");
    }
    Ok((rating.unwrap_or_default(), fields.finish()?))
}

async fn rate(
    State(app): State<SharedApp>,
    Extension(owner): Extension<Owner>,
    Path(id): Path<String>,
    Payload(body, _): Payload,
) -> Result<Json, Failure> {
    let (rating, note) = read_rating(Fields::read(&body)?)?;
    let id = find(&app, &owner, &id).await?.summary.id;
    with_gallery(&app, move |gallery| {
        gallery.set_rating(&[id], rating)?;
        gallery.write_journals()
    })
    .await?;
    let notes: Vec<String> = note.into_iter().collect();
    Ok(Json(json!({"id": id.0.to_string(), "rating": rating, "notes": notes})))
}

async fn upscale(
    State(app): State<SharedApp>,
    Extension(owner): Extension<Owner>,
    Path(id): Path<String>,
    Payload(body, _): Payload,
) -> Result<Response, Failure> {
    let note = Fields::read(&body)?.finish()?;
    let mut made = enlarge(&app, &owner, &id, SCALE).await?;
    made.notes.extend(note);
    Ok(accepted(&app.add(&owner, made, Previews::Never, Lane::Interactive).await?.leave_alone()))
}

/// A recipe that enlarges a picture: it starts from it, and paints nothing over it.
pub(crate) async fn enlarge(app: &SharedApp, owner: &Owner, id: &str, scale: f32) -> Result<ResolvedWish, Failure> {
    let PictureDetails { summary, settings, .. } = find_start(app, owner, id).await?;
    let (source, first) = (ImageSource::File(summary.path), app.models().await?.upscalers.first().map(|it| it.name.clone()));
    let start = source.clone();
    let pixels = app.decode(move || read_image(&start).map_err(|_| unknown())).await?;
    let upscaler = first.map_or_else(UpscalerName::default, UpscalerName::Model);
    let wish = Wish {
        prompt: settings.prompt.unwrap_or_default(),
        has_chosen_words: true,
        ..Wish::enlarging(pixels, HiresWish { scale, upscaler, ..HiresWish::default() }, Vec::new())
    };
    let mut made = app.make(owner, wish).await?;
    // By its file, so that the new picture says what it was made from.
    made.recipe.init = Some(InitImage { image: source, strength: 0.0 });
    Ok(made)
}
