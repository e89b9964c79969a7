//! Download speed of a file, hashed, written and flushed, beside `curl | sha256sum` from the same
//! server in the same run.

use std::io::{BufRead, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use atelier_downloads::{DownloadJob, Downloads, Event, FileRequest, Options, ProxyChoice, Source};
use atelier_library::{FileName, Sha256};

use super::Outcome;

/// Longer than a round takes on any machine.
const LIMIT: Duration = Duration::from_mins(10);
const BYTES: usize = 1 << 30;

pub(super) fn measure(rounds: usize) -> Outcome<()> {
    let body: Arc<Vec<u8>> =
        Arc::new((0..BYTES / 8).flat_map(|at| (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()).collect());
    let began = Instant::now();
    let sum = Sha256::of(body.as_slice())?;
    let hash = began.elapsed().as_secs_f64();
    let url = serve(Arc::clone(&body))?;
    let (mut curl, mut bare, mut ours) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        curl.push(piped(&url, &sum)?);
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        ours.push(download(&url, sum, folder.path())?);
        bare.push(copied(&url, &folder.path().join("curl"))?);
    }
    println!("| a file of 1 GiB over loopback | GB/s | of `curl \\| sha256sum` |\n|---|---|---|");
    let usual = median(&mut curl);
    let rows = [
        ("`curl | sha256sum`, not written to the disk", usual),
        ("`curl -o`, written, neither hashed nor flushed", median(&mut bare)),
        ("Atelier: written, hashed, flushed, renamed", median(&mut ours)),
        ("only the hash, from memory", hash),
    ];
    for (name, secs) in rows {
        println!("| {} | {:.2} | {:.2} |", name.replace('|', "\\|"), BYTES as f64 / secs / 1e9, usual / secs);
    }
    #[cfg(target_arch = "x86_64")]
    println!("\nThe processor has instructions for SHA-256, which the hash then uses: {}.", std::arch::is_x86_feature_detected!("sha"));
    Ok(())
}

fn median(secs: &mut [f64]) -> f64 {
    secs.sort_by(f64::total_cmp);
    secs.get(secs.len() / 2).copied().unwrap_or(f64::NAN)
}

fn serve(body: Arc<Vec<u8>>) -> Outcome<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}/file", listener.local_addr()?);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let body = Arc::clone(&body);
            // A client that goes away is its own affair.
            std::thread::spawn(move || answer(&stream, &body).ok());
        }
    });
    Ok(url)
}

fn answer(mut stream: &TcpStream, body: &[u8]) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    while reader.read_line(&mut line)? > 2 {
        line.clear();
    }
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len())?;
    stream.write_all(body)
}

fn piped(url: &str, sum: &Sha256) -> Outcome<f64> {
    let began = Instant::now();
    let output = Command::new("sh").args(["-c", &format!("curl --silent --noproxy '*' {url} | sha256sum")]).output()?;
    let secs = began.elapsed().as_secs_f64();
    if !String::from_utf8_lossy(&output.stdout).starts_with(&sum.to_string()) {
        return Err("curl and sha256sum are needed, and gave no right answer".into());
    }
    Ok(secs)
}

fn copied(url: &str, path: &std::path::Path) -> Outcome<f64> {
    let began = Instant::now();
    let status = Command::new("curl").args(["--silent", "--noproxy", "*", "-o"]).arg(path).arg(url).status()?;
    if !status.success() {
        return Err("curl could not write the file".into());
    }
    Ok(began.elapsed().as_secs_f64())
}

fn download(url: &str, sum: Sha256, folder: &std::path::Path) -> Outcome<f64> {
    let options = Options { proxy: ProxyChoice::None, token: None, ..Options::new(folder.join("journal"), folder.join("models")) };
    let downloads = Downloads::start(options, || {})?;
    let filename = FileName::try_from("model.gguf".to_owned())?;
    let file = FileRequest { source: Source::Url(url.into()), filename, size: Some(BYTES as u64), sha256: Some(sum), unpack: None };
    let job = DownloadJob { id: "a".into(), name: "A".into(), folder: "a".into(), files: vec![file], manifest: None, licence_url: None };
    let began = Instant::now();
    downloads.add(job)?;
    loop {
        match downloads.next_within(LIMIT).ok_or("the download takes too long")? {
            Event::Done { .. } => return Ok(began.elapsed().as_secs_f64()),
            Event::Failed { failure, .. } => return Err(failure.advice.sentence.into()),
            _ => {}
        }
    }
}
